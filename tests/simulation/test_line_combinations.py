"""Cylinders and springs along lines on robots of every sort: the energy balances, and methods of steps agree.

A force that acts on other coordinates than its line moves, or by another lever, takes energy from nowhere.
"""

from copy import deepcopy

import numpy as np
import pytest

import pliant
from boom_robots import CYLINDER, bending_boom, rigid_boom
from pliant import Robot, Study
from pliant.analysis.line_forces import RestingLines
from pliant.simulation.run import Run

# of what is turned over, at a tolerance of 1e-8
BALANCE = 1e-8
# of the largest coordinate, between methods of steps at a tolerance of 1e-7: vibrations that last
METHODS = 2e-4


def added(name, frames, **actuator):
    """A bundled robot with an actuator."""
    robot = pliant.load(name)
    data = {key: getattr(robot, key) for key in robot.model_fields_set}
    return {**data, "actuators": [{"name": "line", "frames": frames, **actuator}]}


def fitted(length):
    """A small cylinder that is half out at a length."""
    return {
        **deepcopy(CYLINDER), "bore": 0.02, "rod": 0.01, "retracted": 0.6 * length, "stroke": 0.8 * length,
        "dead": [1e-4, 1e-4], "friction": {"viscous": 40.0}, "pressures": [5e5, 5e5],
        "valve": {"flow": 2e-5, "drop": 35e5, "supply": 30e5, "tank": 1e5, "lag": 0.01},
    }  # fmt: skip


def length_of(data):
    """Length of the first actuator in the pose of the robot."""
    spring = {**data["actuators"][0], "spring": {"stiffness": 1.0, "length": 1.0}}
    spring.pop("cylinder", None)
    arm = pliant.Dynamics(Robot.model_validate({**data, "actuators": [spring]}))
    return RestingLines(arm).at(arm.assemble())[0].length


def on(name, place, frame):
    """A bundled robot with a cylinder between a place on the base and a frame."""
    frames = [{"frame": "base", "position": place}, frame]
    data = added(name, frames, spring={"stiffness": 1.0, "length": 1.0})
    length = length_of(data)
    return added(name, frames, cylinder=fitted(length))


def boom(bending):
    robot = bending_boom(
        modes=2, pieces={"at": [1.5]}, cylinder={**CYLINDER, "retracted": 1.0, "pressures": [60e5, 30e5]}
    )
    robot["gravity"] = [0, 0, -9.81]
    robot["links"][0]["beam"]["bending"] = bending
    if bending == "exact":
        robot["links"][0]["beam"]["properties"].update({"EA": 2e9, "GJ": 1e7})
    return robot


def floating():
    """Two bodies in orbit, one on the other by a hinge, a cylinder across it."""
    body = {"mass": 40.0, "com": [0, 0, 0], "inertia": 4.0}
    eye = [{"name": "eye", "position": [0.4, 0.3, 0.1]}]
    links = [
        {"name": "bus", "joint": {"name": "root", "type": "free", "parent": "base"}, "rigid": body, "frames": eye},
        {"name": "arm", "joint": {"name": "hinge", "axis": "z", "parent": "bus.root", "actuated": False},
         "rigid": {**body, "com": [0.8, 0, 0]}, "frames": [{"name": "lug", "position": [0.9, 0, 0]}]},
    ]  # fmt: skip
    data = {"name": "orbit", "gravity": [0, 0, 0], "links": links}
    line = {"name": "line", "frames": ["bus.eye", "arm.lug"]}
    data["actuators"] = [{**line, "spring": {"stiffness": 1.0, "length": 1.0}}]
    data["actuators"] = [{**line, "cylinder": fitted(length_of(data))}]
    return data


def slewing():
    """The boom and its cylinder on a column that a motor turns."""
    robot = rigid_boom()
    column = {
        "name": "column",
        "joint": {"name": "slew", "axis": "z"},
        "rigid": {"mass": 300.0, "com": [0, 0, 0], "inertia": 50.0},
    }
    robot["links"] = [column, *robot["links"]]
    robot["links"][1]["joint"]["parent"] = "column.root"
    robot["actuators"][0]["frames"][0]["frame"] = "column.root"
    return robot


def following():
    """A second boom that a gear turns with the first."""
    robot = rigid_boom()
    robot["links"].append(
        {
            "name": "jib",
            "joint": {
                "name": "fold",
                "axis": [0, -1, 0],
                "parent": "boom.tip",
                "mimic": {"joint": "luff", "ratio": -0.5},
            },
            "rigid": {"mass": 50.0, "com": [1.0, 0, 0], "inertia": 20.0, "length": 2.0},
        }
    )
    return robot


CASES = {
    "tree": (rigid_boom, {}),
    "linear bending": (lambda: boom("linear"), {}),
    "second-order bending": (lambda: boom("second-order"), {}),
    "exact bending": (lambda: boom("exact"), {}),
    "loop": (lambda: on("four-bar", [0.2, 0.5, 0.1], "coupler.tip"), {}),
    "two bending links": (lambda: on("two-link-flexible", [0.1, 0, -0.4], "upper.tip"), {}),
    "floating base": (floating, {}),
    "joints that follow": (following, {}),
    "prescribed motion": (
        slewing,
        {"drive": {"prescribed": {"trajectory": {"quintic": {"to": {"slew": 0.3}, "duration": 0.2}}}}},
    ),
}  # fmt: skip


def run_of(name, method, tolerance=1e-8, until=0.2):
    make, options = CASES[name]
    robot = make()
    name = robot["actuators"][0]["name"]
    study = Study(
        robot=robot, until=until, commands={name: "0.6*step(t - 0.02)"}, limits="ignore", outputs={"step": 0.01},
        integrator={"method": method, "tolerance": tolerance}, **options,
    )  # fmt: skip
    run = Run(study)
    run.go()
    return run.result()


@pytest.mark.parametrize("name", CASES)
def test_the_energy_balances(name):
    found = run_of(name, "dop853")
    turned = sum(np.ptp(found[x]) for x in ("work", "work.loads", "dissipated", "energy.kinetic", "energy.gravity"))
    assert np.abs(found["energy.balance"]).max() < BALANCE * turned
    assert np.abs(found.v).max() > 1e-3


@pytest.mark.parametrize("method", ["esdirk", "generalised-alpha", "gauss"])
@pytest.mark.parametrize("name", ["tree", "loop"])
def test_methods_of_steps_agree(name, method):
    exact, found = run_of(name, "dop853", 1e-9), run_of(name, method, 1e-7)
    limit = 2e-3 if method == "generalised-alpha" else METHODS
    assert np.abs(found.q - exact.q).max() < limit * np.abs(exact.q).max()
