"""Actuators along lines where a robot rests: derivatives, equilibria and modes against differences and other models."""

import numpy as np
import pytest

import pliant
from boom_robots import REFERENCE, bending_boom, rigid_boom
from pliant import Dynamics, Robot
from pliant.analysis.equilibrium import state_of_rest
from pliant.analysis.line_forces import RestingLines
from pliant.analysis.modes import vibration_modes
from pliant.errors import ModelError
from pliant.loads.lines import robot_forces
from pliant.model.description.plausible import cuts_proposed

# of differences of sixth order in forces
DIFFERENCES = 1e-8
STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


def with_spring(name, frames, stiffness=2000.0, length=0.5):
    robot = pliant.load(name)
    spring = {"name": "line", "frames": frames, "spring": {"stiffness": stiffness, "length": length, "damping": 3.0}}
    data = {key: getattr(robot, key) for key in robot.model_fields_set}
    return Dynamics(Robot.model_validate({**data, "actuators": [spring]}))


ROBOTS = {
    "two-link-flexible": [{"frame": "base", "position": [0.2, 0.4, 0.3]}, "fore.tip"],
    "four-bar": [{"frame": "base", "position": [0.1, 0.9, 0.2]}, "coupler.tip"],
}


def frames_of(name):
    robot = pliant.load(name)
    return [ROBOTS[name][0], f"{robot.links[1].name}.tip"]


@pytest.mark.parametrize("name", ROBOTS)
def test_their_stiffness_is_the_derivative_of_their_forces(name):
    arm = with_spring(name, frames_of(name))
    rng = np.random.default_rng(5)
    q = arm.reference_pose() + 0.03 * rng.normal(size=arm.size)
    lines, load = RestingLines(arm), robot_forces(arm)
    at = lines.at(q)
    rest = lines.rest(at, np.zeros(0))
    still = np.zeros(arm.size)

    def force(x):
        return np.array(load.at(0.0, x, still, np.zeros(0)).efforts, dtype=float)

    assert lines.force(at, rest) == pytest.approx(force(q), rel=1e-10, abs=1e-10)
    K, h = lines.stiffness(q, at, rest), 1e-2
    for k, unit in enumerate(np.eye(arm.size)):
        change = sum(w * (force(q + j * h * unit) - force(q - j * h * unit)) for j, w in STENCIL.items()) / h
        assert K[:, k] == pytest.approx(change, abs=1e-6 * np.abs(K).max())
    D, h = lines.damping(at, rest), 1e-3
    v = rng.normal(size=arm.size)
    moving = np.array(load.at(0.0, q, v, np.zeros(0)).efforts, dtype=float)
    assert force(q) - moving == pytest.approx(D @ v, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_at_rest_nothing_accelerates(name):
    arm = with_spring(name, frames_of(name))
    found = state_of_rest(arm)
    force = np.array(robot_forces(arm).at(0.0, found.q, 0 * found.q, np.zeros(0)).efforts, dtype=float)
    a = arm.forward(found.q, 0 * found.q, found.tau, force=force)
    bare = arm.forward(found.q, 0 * found.q, found.tau, force=0 * force)
    assert np.abs(a).max() < 1e-6 * np.abs(bare).max()


def test_a_spring_along_a_line_is_one_of_the_joint():
    """A spring across a hinge and one in it, of the same stiffness about it, vibrate alike."""
    robot = rigid_boom()
    del robot["actuators"][0]["cylinder"]
    robot["gravity"] = [0, 0, 0]
    eye, base = np.array([1.6, -0.15]), np.array([0.6, -1.0])
    c, s = np.cos(0.2), np.sin(0.2)
    d = np.array([c * eye[0] - s * eye[1], s * eye[0] + c * eye[1]]) - base
    length = float(np.hypot(*d))
    lever = d @ np.array([-s * eye[0] - c * eye[1], c * eye[0] - s * eye[1]]) / length
    robot["actuators"][0]["spring"] = {"stiffness": 5e5, "length": length}
    found = vibration_modes(Dynamics(Robot.model_validate(robot)))
    J = 400 * 36 / 3 + 500 * 36
    assert found.frequencies[0] == pytest.approx(np.sqrt(5e5 * lever**2 / J), rel=1e-9)


def test_a_commanded_force_holds_as_a_motor_does():
    robot = rigid_boom()
    del robot["actuators"][0]["cylinder"]
    robot["actuators"][0]["force"] = {}
    arm = Dynamics(Robot.model_validate(robot))
    assert len(vibration_modes(arm)) == 0
    assert len(vibration_modes(arm, locked=False)) == 1
    with pytest.raises(ModelError, match="have commands and states that a linear model does not know"):
        pliant.linearise(arm)


def test_springs_are_part_of_linear_models():
    arm = with_spring("two-link-flexible", frames_of("two-link-flexible"))
    model = pliant.linearise(arm)
    free = vibration_modes(arm, locked=False)
    poles = np.linalg.eigvals(model.state_space.A)
    fastest = np.sort(np.abs(poles))[::-1][0]
    assert fastest == pytest.approx(free.frequencies.max(), rel=1e-3)
    bare = vibration_modes(Dynamics("two-link-flexible"), arm.reference_pose(), locked=False)
    assert abs(bare.frequencies - free.frequencies).max() > 1e-3 * free.frequencies.max()


@pytest.mark.parametrize("what", ["export", "lumped", "regressor"])
def test_what_does_not_know_them_says_so(what, tmp_path):
    arm = with_spring("two-link-flexible", frames_of("two-link-flexible"))
    q = arm.reference_pose()
    ways = {
        "export": lambda: pliant.generate_c(arm, tmp_path / "arm.c"),
        "lumped": lambda: pliant.LumpedModel(arm.robot),
        "regressor": lambda: pliant.regressor(arm, q, q, q),
    }
    with pytest.raises(ModelError, match="has actuators along lines"):
        ways[what]()


# ---------------------------------------------------------------- beams that are cut where something acts


def test_a_cut_at_the_eye_finds_the_frequency_on_the_oil_spring():
    wanted = REFERENCE["oil_spring_boom_frequencies"]["Hz"]

    def lowest(**keys):
        arm = Dynamics(Robot.model_validate(bending_boom(**keys)))
        return vibration_modes(arm, arm.reference_pose()).hertz

    # smooth shapes of the whole boom, and of both parts
    assert lowest(modes=2)[0] == pytest.approx(1.036 * wanted[0], rel=1e-3)
    assert lowest(modes=2, pieces={"at": [1.5]})[0] == pytest.approx(wanted[0], rel=1e-5)
    fine = bending_boom(pieces={"at": [1.5]})
    fine["links"][0]["beam"]["modes"] = {"shape": "legendre", "bend_z": 10}
    arm = Dynamics(Robot.model_validate(fine))
    assert vibration_modes(arm, arm.reference_pose()).hertz[:5] == pytest.approx(wanted, rel=1e-6)


def test_unequal_pieces_keep_mass_frames_and_names():
    robot = bending_boom(pieces={"at": [1.5, 4.0]})
    robot["links"][0]["frames"] += [{"name": "pad", "x": 2.5}, {"name": "far", "x": 5.9}]
    read = Robot.model_validate(robot)
    assert read.link_names == ("boom_1", "boom_2", "boom_3")
    assert [link.length for link in read.links] == pytest.approx([1.5, 2.5, 2.0])
    assert read.mass == pytest.approx(980.0)
    assert read.aliases["boom.eye"] == "boom_1.eye"
    assert (read.aliases["boom.pad"], read.link("boom_2").frame("pad").x) == ("boom_2.pad", pytest.approx(1.0))
    assert (read.aliases["boom.far"], read.link("boom_3").frame("far").x) == ("boom_3.far", pytest.approx(1.9))
    # equal pieces are the same, written one way or the other
    equal, cut = (Robot.model_validate(bending_boom(pieces=x)) for x in (3, {"at": [2.0, 4.0]}))
    for one, other in zip(equal.links, cut.links, strict=True):
        assert one.beam.length == pytest.approx(other.beam.length, rel=1e-15)
    for places in ([0.0], [7.0], [3.0, 2.0], [6.0], []):
        with pytest.raises(ModelError):
            Robot.model_validate(bending_boom(pieces={"at": places}))


def test_cuts_are_proposed_where_something_acts_inside_a_span():
    (text,) = cuts_proposed(Robot.model_validate(bending_boom()))
    assert "actuator 'lift' acts inside its span" in text
    assert "pieces: {at: [1.5 m]}" in text
    assert not list(cuts_proposed(Robot.model_validate(bending_boom(pieces={"at": [1.5]}))))
