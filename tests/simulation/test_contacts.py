"""Contact of frames: against closed forms, an impact computed independently, momentum and energy."""

import numpy as np
import pytest

from pliant import Dynamics, Study
from pliant.errors import ModelError
from pliant.simulation.run import Run
from pliant.sweeps.work import SweepJob, run_chunk

# a bounce at a tolerance of 1e-10: steps control what the two kinks cost
BOUNCE = 1e-7
# of the energy that is turned over
BALANCE = 1e-8

# own code: 40 Hermite elements and 24 Legendre polynomials, both exact in time, agree to 7e-7
MOMENTUM_AFTER = -0.6967289491567035
LARGEST_FORCE = 3459.0755792775635
# own code and the closed form of Hunt & Crossley agree to 1e-10
RESTITUTION = {0.1: 0.9374755799498662, 0.5: 0.7484349315974345, 1.0: 0.5936242600396008}


def ball(joint="prismatic", gravity=0.0, **more):
    """A mass of 2 kg, along z or free."""
    own = {"name": "move", "type": joint, "actuated": False}
    own |= {"axis": [0, 0, 1]} if joint == "prismatic" else {}
    body = {"mass": 2.0, "inertia": [0.01, 0.01, 0.01]}
    return {
        "name": "ball",
        "gravity": [0, 0, -gravity],
        "links": [{"name": "ball", "joint": own, "rigid": body, **more}],
    }


def finished(contact, method="dop853", tolerance=1e-10, **study):
    run = Run(
        Study(
            loads=[{"contact": contact}],
            limits="ignore",
            integrator={"method": method, "tolerance": tolerance},
            **study,
        )
    )
    run.go()
    return run.result()


@pytest.mark.parametrize("loss", RESTITUTION)
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_a_bounce_loses_what_hunt_and_crossley_say(loss, exponent):
    """loss v - ln(1 + loss v) is the same before and after, whatever the stiffness and its exponent."""
    contact = {"frame": "tip", "radius": 0.05, "plane": {}, "stiffness": 1e5, "loss": loss, "exponent": exponent}
    start = {"position": {"move": 0.1}, "velocity": {"move": -1.0}}
    found = finished(contact, robot=ball(), until=0.3, start=start, outputs={"step": 0.01})
    assert found["move.rate"][-1] == pytest.approx(RESTITUTION[loss], abs=BOUNCE)
    assert np.abs(found["energy.balance"]).max() < 10 * BALANCE
    assert found["energy.stored"].max() > 0.1
    assert found["dissipated"][-1] == pytest.approx(1.0 - RESTITUTION[loss] ** 2, abs=BOUNCE)


@pytest.mark.filterwarnings("ignore:a contact is touched")
@pytest.mark.parametrize("method", ["auto", "esdirk"])
def test_a_bending_beam_strikes_with_its_tip(method):
    """Three touches; a rigid beam would come back with all its momentum."""
    beam = {
        "length": 2.0,
        "properties": {"EIy": 3e4, "EIz": 3e4, "mass_per_length": 8.0},
        "modes": {"bend_z": 8},
        "rotary_inertia": False,
        "bending": "linear",
    }
    joint = {"name": "hinge", "type": "revolute", "axis": [0, -1, 0], "actuated": False}
    robot = {"name": "beam", "gravity": [0, 0, 0], "links": [{"name": "beam", "joint": joint, "beam": beam}]}
    contact = {"frame": "tip", "plane": {}, "stiffness": 2e6}
    slow = 1e-3
    found = finished(
        contact, method, 1e-9, robot=robot, until=0.03, start={"velocity": {"hinge": -slow}}, outputs={"step": 1e-4}
    )
    momentum = [(found.arm.mass_matrix(q) @ v)[0] for q, v in zip(found.q, found.v, strict=True)]
    assert momentum[-1] / momentum[0] == pytest.approx(MOMENTUM_AFTER, rel=0.01)
    assert found.samples.wrenches[:, 2].max() / slow == pytest.approx(LARGEST_FORCE, rel=0.01)
    if method == "auto":
        assert np.abs(found["energy.balance"]).max() < 2 * BALANCE * found["energy.kinetic"][0]


SURFACES = {
    "plane": {"plane": {"point": [0, 0, 0.2], "normal": [0.3, 0, 2.0]}},
    "sphere": {"sphere": {"point": [0, 0, -0.1], "radius": 0.3}},
    "cylinder": {"cylinder": {"point": [0, 5.0, -0.1], "axis": [0, 2.0, 0], "radius": 0.3}},
}


@pytest.mark.parametrize("surface", SURFACES)
def test_two_free_bodies_keep_momentum_and_energy(surface):
    """A ball rubs along a surface that another free body carries: no force comes from outside."""
    robot = ball("free")
    robot["links"].append(
        {
            "name": "anvil",
            "joint": {"name": "anvil_free", "type": "free", "actuated": False, "parent": "base"},
            "rigid": {"mass": 3.0, "inertia": [0.05, 0.06, 0.07]},
        }
    )
    arm = Dynamics(Study(robot=robot, until=1).robot)
    q, v = np.zeros(arm.size), np.zeros(arm.size)
    place = {name: k for k, name in enumerate(arm.names)}
    q[place["move.x"]], q[place["move.z"]] = 0.02, 0.3
    v[place["move.x"]], v[place["move.y"]], v[place["move.z"]] = 0.4, 0.3, -1.0
    contact = {"frame": "ball", "on": "anvil.root", "radius": 0.05, "stiffness": 1e5, "loss": 0.3, "friction": 0.4}
    contact |= {"slip": 0.05, **SURFACES[surface]}
    found = finished(contact, robot=robot, until=0.15, start={"q": q.tolist(), "v": v.tolist()}, outputs={"step": 0.01})

    def momenta(k):
        total = np.zeros(6)
        for link, mass, inertia in (("ball", 2.0, [0.01] * 3), ("anvil", 3.0, [0.05, 0.06, 0.07])):
            pose = arm.pose(f"{link}.root", found.q[k])
            moving = arm.velocity(f"{link}.root", found.q[k], found.v[k])
            R = pose.rotation
            total[:3] += mass * moving.linear
            total[3:] += np.cross(pose.position, mass * moving.linear) + R @ (inertia * (R.T @ moving.angular))
        return total

    assert found["dissipated"][-1] > 0.1
    assert momenta(-1) == pytest.approx(momenta(0), abs=BOUNCE)
    assert np.abs(found["energy.balance"]).max() < 10 * BALANCE


@pytest.mark.filterwarnings("ignore:a contact is touched")
@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_friction_stops_what_slides(method):
    """A body that slides at 1 m/s on a level floor comes to rest after v^2/(2 mu g), but for the smooth start."""
    robot = ball(gravity=9.81)
    robot["links"][0]["joint"] = {"name": "x", "type": "prismatic", "axis": [1, 0, 0], "actuated": False}
    robot["links"][0]["rigid"]["mass"] = 1e-3
    robot["links"].append(
        {
            "name": "load",
            "joint": {"name": "z", "type": "prismatic", "axis": [0, 0, 1], "actuated": False, "parent": "ball"},
            "rigid": {"mass": 2.0},
        }
    )
    k, mu, slip, mass = 1e6, 0.3, 1e-4, 2.001
    contact = {"frame": "load", "plane": {}, "stiffness": k, "loss": 0.5, "friction": mu, "slip": slip}
    start = {"position": {"z": -2.0 * 9.81 / k}, "velocity": {"x": 1.0}}
    found = finished(contact, method, 1e-8, robot=robot, until=0.6, start=start, outputs={"step": 0.01})
    deceleration = mu * 2.0 * 9.81 / mass
    # sqrt(u^2 + slip^2) = sqrt(1 + slip^2) - a t, and the way from there
    stopped = np.hypot(1.0, slip) / deceleration
    assert found["x"][-1] == pytest.approx(1.0 / (2 * deceleration), abs=2 * slip * stopped)
    assert abs(found["x.rate"][-1]) < 1e-3 * slip


def test_bounces_run_together_as_they_do_alone():
    contact = {"frame": "tip", "plane": {}, "stiffness": 1e5, "loss": 0.3}
    study = Study(robot=ball(gravity=9.81), until=0.6, start={"position": {"move": 0.5}}, loads=[{"contact": contact}])
    job = SweepJob(study, "simulate", ("final(move)", "final(dissipated)"))
    cases = [{"loads[0].loss": 0.1 * k, "loads[0].friction": 0.1 * (k > 1)} for k in range(4)]
    together = run_chunk(job, cases)
    for case, one in zip(cases, together, strict=True):
        assert not one.reason
        assert one.values == pytest.approx(job.rows([case])[0].values, rel=1e-6, abs=1e-8)
    assert len({row.values["final(move)"] for row in together}) == len(cases)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "a contact is with one of plane, sphere, cylinder; none is given"),
        ({"plane": {}, "sphere": {"radius": 1}}, "plane and sphere are given"),
        ({"plane": {"normal": [0, 0, 0]}}, "normal is .0, 0, 0., which is no direction"),
        ({"plane": {}, "exponent": 0.5}, "exponent is 0.5; it must be 1 or more"),
        ({"plane": {}, "stiffness": -1}, "stiffness"),
        ({"sphere": {"radius": 0}}, "radius"),
        ({"plane": {}, "friction": -0.1}, "friction"),
        ({"plane": {}, "frame": "tipp"}, "frame is 'tipp'"),
        ({"plane": {}, "on": "floor"}, "on is 'floor'"),
        ({"plane": {}, "on": "ball.root"}, "both on the rigid link 'ball'"),
    ],
)
def test_contacts_that_make_no_sense_are_refused(keys, words):
    with pytest.raises((ModelError, ValueError), match=words):
        finished({"frame": "tip", "stiffness": 1e5, **keys}, robot=ball(), until=0.1)
