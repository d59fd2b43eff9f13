"""Stable inversion: beside an independent code, on the nonlinear model, and in what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from pliant import Dynamics, ModelError, Robot, Study, load_study
from pliant.model.readers.library import read_text
from pliant.simulation.inverse.inverse_dynamics import inverse_dynamics
from pliant.simulation.inverse.path_window import BrakedPath
from pliant.simulation.inverse.spline_least_squares import Levels, SplineSpace
from pliant.simulation.run import run_study
from pliant.trajectories.joint_moves import SmoothPath
from pliant.trajectories.path import Desired

DATA = Path(__file__).parents[1] / "reference" / "data"
REFERENCE = json.loads((DATA / "inversion.json").read_text())
"""An independent NumPy model of planar arms, its inversion and the simulation that proves it."""
ROBOTS = json.loads((DATA / "control.json").read_text())["robots"]
MICROMETRE = 1e-6
SAME_JOINTS = 2e-6
"""rad: the bounded inverse is unique up to lightly damped zeros."""
DIFFERENCE = 1e-6
LINE = {"line": {"by": [0.1, 0.2, 0.0], "duration": 0.6, "start": 0.2}}
BENT = {"position": {"shoulder": -1.2, "elbow": 1.8}}
FORCES = [{"frame": "tip", "force": ["3*sin(2*t)^2", 1.0, 0.0], "moment": [0, 0, "0.1*cos(3*t)"]}]


def nonic(t, T):
    u = np.clip(np.asarray(t) / T, 0.0, 1.0)
    return u**5 * (126 + u * (-420 + u * (540 + u * (-315 + 70 * u))))


def joint_spline(times, rows, names):
    points = [dict(zip(names, row, strict=True)) for row in np.atleast_2d(rows).tolist()]
    return {"spline": {"times": times.tolist(), "points": points, "degree": "quintic"}}


def arm_text(**changes):
    """The two-link arm of the reference; ``changes`` are texts that take the places of others."""
    text = ROBOTS["two-link"]
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return text


def study(trajectory, robot=None, until=1.0, start=BENT, **keys):
    robot = read_text(ROBOTS["two-link"]) if robot is None else robot
    drive = {"prescribed": {"trajectory": trajectory}}
    return Study(name="path", robot=robot, until=until, start=start, drive=drive, **keys)


def within(found, t):
    """Driven coordinates at times of the study."""
    arm = found.arm
    return found.solution.levels(np.asarray(t)).q[:, [arm.names.index(name) for name in arm.inputs]]


# ---- beside an independent code


def test_one_link_of_the_reference():
    case = REFERENCE["inversion_one_link"]
    times = np.linspace(0.0, case["T"], 81)
    move = joint_spline(times, case["amplitude"] * nonic(times, case["T"])[:, None], ["shoulder"])
    found = inverse_dynamics(study(move, read_text(ROBOTS["one-link"]), until=case["T"], start={}))
    t = np.array(case["t"])
    assert np.abs(within(found, t)[:, 0] - case["hub"]).max() < 1e-6
    assert np.abs(found.solution.efforts(t)[:, 0] - case["torque"]).max() < 1e-3
    certain = found.confirmed()
    assert certain.distance < MICROMETRE
    # the joint moves before the path does
    assert found.lead.time > 0.01
    assert found.before > found.lead.time


def line_of_the_reference():
    """The rigid arm's joints along the line, with the smoothest profile."""
    case = REFERENCE["inversion_two_link"]
    a, b = np.array(case["path"]["start"]), np.array(case["path"]["end"])
    times = np.linspace(0.0, case["T"], 161)
    x, y = (a + nonic(times, case["T"])[:, None] * (b - a)).T
    l1, l2 = 0.5, 0.45
    elbow = np.arccos((x * x + y * y - l1 * l1 - l2 * l2) / (2 * l1 * l2))
    shoulder = np.arctan2(y, x) - np.arctan2(l2 * np.sin(elbow), l1 + l2 * np.cos(elbow))
    joints = np.column_stack([shoulder, elbow])
    start = {"position": dict(zip(("shoulder", "elbow"), joints[0].tolist(), strict=True))}
    return case, start, joint_spline(times, joints, ("shoulder", "elbow"))


def test_two_links_of_the_reference_and_no_swing():
    case, start, move = line_of_the_reference()
    found = inverse_dynamics(study(move, until=case["T"], start=start))
    t = np.array(case["t"])
    assert np.abs(within(found, t) - case["joints"]).max() < SAME_JOINTS
    assert np.abs(found.solution.efforts(t) - case["torque"]).max() < 5e-3
    certain = found.confirmed()
    assert certain.distance < MICROMETRE
    rigid_run, rigid = found.as_if_rigid()
    assert rigid.max() == pytest.approx(case["as_if_rigid"]["largest_tip_error_m"], rel=0.02)
    swing = rigid[rigid_run.time - found.before > case["T"]]
    assert certain.swing < 1e-4 * np.ptp(swing)


def test_the_fast_line_on_which_successive_approximation_stalls():
    case, start, _ = line_of_the_reference()
    fast = {"line": {"to": [*case["path"]["end"], 0.0], "duration": 0.8}}
    certain = inverse_dynamics(study(fast, until=0.8, start=start)).confirmed()
    assert certain.distance < MICROMETRE
    assert len(certain.run.solution.steps) <= 8
    # the drives give what the simulation needs
    efforts = certain.run.solution.efforts(certain.result.time - certain.run.before)
    inner = slice(20, -20)
    assert np.abs(efforts - certain.result.tau)[inner].max() < 2e-3 * np.abs(efforts).max()


# ---- robots of all kinds, on the nonlinear model

FORE = ROBOTS["two-link"].partition("  - name: fore\n")[2]
KINDS = {
    "second order": {"bending": ("bending: linear", "bending: second-order")},
    "exact": {
        "bending": ("bending: linear", "bending: exact"),
        "modes": ("modes: {shape: polynomial, normalise: none, bend_y: 2}", "modes: {bend_y: 1}"),
    },
    "elements": {
        "modes": (
            "modes: {shape: polynomial, normalise: none, bend_y: 2}",
            "elements: {number: 1, bend_y: true, bend_z: false, torsion: false, axial: false}",
        )
    },
    "dry friction of drives": {"friction": ("{viscous: 0.2}", "{viscous: 0.2, coulomb: 0.5}")},
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_links(kind):
    certain = inverse_dynamics(study(LINE, read_text(arm_text(**KINDS[kind])))).confirmed()
    assert certain.distance < MICROMETRE


@pytest.fixture(scope="module")
def five_bar():
    return inverse_dynamics(load_study("five-bar-circle"))


def test_a_closed_chain_with_its_forces(five_bar):
    certain = five_bar.confirmed()
    assert certain.distance < MICROMETRE
    times, reactions = five_bar.times + five_bar.before, five_bar.reactions()
    for name in ("tool.x", "tool.y"):
        force = certain.result[f"{name}.force"]
        carried = np.interp(certain.result.time, times, reactions[name])
        assert np.abs(carried - force).max() < 5e-3 * np.abs(force).max()


def test_directions_that_no_drive_moves_are_told():
    """Gravity across the plane of an arm bends it out of the plane: that is left, and the rest is exact."""
    changes = {"modes": ("bend_y: 2}", "bend_y: 1, bend_z: 1}"), "gravity": ("[0.0, -9.81, 0]", "[0, 0, -9.81]")}
    certain = inverse_dynamics(study(LINE, read_text(arm_text(**changes)))).confirmed()
    assert certain.distance < MICROMETRE
    assert certain.aside > 1e-3


def three_links():
    """The arm with a third link like its second: a choice of joints for a position, none for a pose."""
    hand = FORE.replace("elbow", "wrist").replace("0.45", "0.3")
    text = f"{ROBOTS['two-link']}  - name: hand\n{hand}"
    return read_text(text.replace("gravity: [0.0, -9.81, 0]", "gravity: [0.0, -2.0, 0]"))


REACHING = {"position": {"shoulder": -1.2, "elbow": 1.4, "wrist": 0.6}}


@pytest.mark.parametrize("orientation", [False, True])
def test_poses_and_idle_drives(orientation):
    move = {"quintic": {"to": {"shoulder": -1.0, "elbow": 1.5, "wrist": 0.3}, "duration": 0.6, "start": 0.2}}
    # zeros that hardly decay at one end and grow at the other leave some micrometres of a position
    good = MICROMETRE if orientation else 3 * MICROMETRE
    found = inverse_dynamics(study(move, three_links(), start=REACHING), orientation=orientation, tolerance=good)
    certain = found.confirmed()
    assert certain.distance < good
    path = found.solution.equations.path
    assert path.rank == (3 if orientation else 2)
    run, rigid = certain.result, found.path.many(certain.result.time - found.before).q
    turn = [pose[1, 0] for pose in found.arm.pose("tip", run.q).rotation]
    off = np.abs(np.sin(rigid.sum(axis=1)) - turn).max()
    assert (off < 10 * MICROMETRE) == orientation


def test_two_frames_at_once():
    """Two arms on one base: both tips follow, each with its own drives."""
    first = ROBOTS["one-link"]
    second = first.partition("links:\n")[2].replace("upper", "lower").replace("shoulder", "other")
    robot = read_text(first + second.replace("axis: z", "axis: z\n      parent: base"))
    move = {"quintic": {"to": {"shoulder": 0.3, "other": -0.2}, "duration": 0.6, "start": 0.2}}
    job = study(move, robot, start={})
    certain = inverse_dynamics(job, frame=["upper.tip", "lower.tip"]).confirmed()
    assert certain.distance < MICROMETRE
    # each arm alone does the same
    alone = inverse_dynamics(job, frame="upper.tip")
    t = np.linspace(0.0, 1.0, 21)
    assert within(alone, t)[:, 0] == pytest.approx(within(certain.run, t)[:, 0], abs=1e-5)


def test_joints_that_follow_others():
    text = arm_text(
        elbow=("name: elbow\n", "name: elbow\n      mimic: {joint: shoulder, ratio: -1.4}\n"),
        motor=("      motor: {rotor_inertia: 0.08, gear_ratio: 1}\n", ""),
    )
    move = {"quintic": {"to": {"shoulder": -0.9}, "duration": 0.6, "start": 0.2}}
    certain = inverse_dynamics(study(move, read_text(text), start={"position": {"shoulder": -1.2}})).confirmed()
    assert certain.distance < MICROMETRE


# ---- forces, files, ends


def test_forces_that_change_act_later_in_a_replay(tmp_path):
    """The drives begin before the study does; its forces come later by as much, in the files, too."""
    job = study({"line": {"by": [0.1, 0.2, 0.0], "duration": 0.6}}, until=0.7, disturbances=FORCES)
    found = inverse_dynamics(job)
    certain = found.confirmed()
    assert certain.distance < MICROMETRE
    assert found.before > 0
    files = certain.run.write(tmp_path, "pushed")
    names = [file.name.partition("pushed-")[2] for file in files]
    assert names == ["motion.csv", "efforts.csv", "reactions.csv", "robot.yaml", "prescribed.yaml", "feed-forward.yaml"]
    for file, near in ((files[-2], 3 * MICROMETRE), (files[-1], 1e-4)):
        again = run_study(load_study(file))
        assert certain.run.distances(again).max() < near


def test_a_study_that_ends_before_its_path():
    certain = inverse_dynamics(study(LINE, until=0.5)).confirmed()
    assert certain.distance < MICROMETRE
    assert certain.result.time[-1] > 0.7


def test_a_path_without_an_end_is_braked_along_itself():
    sines = {"expression": {"joints": {"shoulder": "-1.2+0.1*sin(3*t)^4", "elbow": "1.8-0.2*sin(2*t)^4"}}}
    found = inverse_dynamics(study(sines))
    assert found.confirmed().distance < MICROMETRE
    own = SmoothPath(lambda t: Desired(*(x[:, None] for x in (np.sin(t), np.cos(t), -np.sin(t)))))
    braked = BrakedPath(own, 1.0, 0.5)
    t = np.linspace(0.9, 1.6, 41)
    q, v, a = braked.many(t)
    h = 1e-5
    assert (braked.many(t + h).q - braked.many(t - h).q) / (2 * h) == pytest.approx(v, abs=1e-8)
    assert (braked.many(t + h).v - braked.many(t - h).v) / (2 * h) == pytest.approx(a, abs=1e-7)
    assert q[-1] == pytest.approx(np.sin(1.25), abs=1e-12)


def test_limits_that_the_drives_pass_are_told():
    robot = read_text(arm_text(joint=("name: elbow\n", "name: elbow\n      limits: {effort: 0.5, velocity: 0.1}\n")))
    told = "\n".join(inverse_dynamics(study(LINE, robot)).warnings)
    assert "joint 'elbow' is driven with" in told
    assert "above its limit of 0.1 rad/s" in told


# ---- the equations


def test_slopes_are_those_of_the_residuals(five_bar):
    """Loops, forces and the path together, at a state that solves nothing."""
    job = load_study("five-bar-circle").with_changes(disturbances=FORCES)
    eq = inverse_dynamics(job, spacing=0.1).solution.equations
    rng = np.random.default_rng(3)
    at = eq.at(np.array([0.4, 0.9]))
    q = eq.path.configurations(at.times) + 0.01 * rng.normal(size=(2, eq.arm.size))
    state = [q, rng.normal(size=q.shape), 5 * rng.normal(size=q.shape), rng.normal(size=(2, len(eq.kept)))]
    slopes = eq.slopes(at, Levels(*state[:3]), state[3])
    for k, slope in enumerate(slopes):
        for j in range(slope.shape[2]):
            sides = []
            for sign in (1, -1):
                moved = [x.copy() for x in state]
                moved[k][:, j] += sign * DIFFERENCE
                sides.append(eq.residuals(at, Levels(*moved[:3]), moved[3]))
            found = (sides[0] - sides[1]) / (2 * DIFFERENCE)
            assert slope[:, :, j] == pytest.approx(found, abs=1e-6 * np.abs(slope).max())


def test_splines_of_many_knots():
    """Values and derivatives beside those of SciPy, knots that stand twice among them."""
    from scipy.interpolate import BSpline

    space = SplineSpace(np.array([0.0, 0.5, 1.0, 1.0, 1.7, 2.0, 2.6]))
    t = np.linspace(0.0, 2.6, 37)
    c = np.random.default_rng(0).normal(size=(space.size, 2))
    for nu, found in enumerate(space.levels(space.basis(t), c)):
        wanted = BSpline(space.full, c, 7)(t, nu)
        assert found == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max())


# ---- what is refused

FAST = {"duration": 0.6, "start": 0.2}
FLOATING = {
    "name": "bus",
    "gravity": [0, 0, 0],
    "links": [
        {"name": "bus", "joint": {"name": "bus", "type": "free"}, "rigid": {"mass": 3.0, "inertia": [0.1, 0.1, 0.1]}},
        {
            "name": "arm",
            "joint": {"name": "arm", "axis": "z"},
            "rigid": {"mass": 1.0, "com": [0.2, 0, 0], "inertia": [0, 0.01, 0.01], "length": 0.4},
        },
    ],
}


@pytest.mark.parametrize(
    ("trajectory", "options", "words"),
    [
        (LINE, {"frame": ["tip", "upper.tip"]}, "'tip' and 'upper.tip' have 3 motions, and the 2 drives"),
        (LINE, {"orientation": True}, "lead 2 at once; follow fewer frames, or leave their orientation free"),
        (LINE, {"frame": "tipp"}, "tipp"),
        (LINE, {"method": "newton"}, "method is 'newton'; it must be one of inversion, successive"),
        (LINE, {"band": 3.0}, "band belongs to method 'successive', and the method is 'inversion'"),
        (LINE, {"method": "successive", "spacing": 0.1}, "spacing belongs to method 'inversion'"),
        (LINE, {"spacing": 0.2}, "spacing is 0.2 s; a motion of 0.6 s needs at least 8 knots"),
        (LINE, {"tolerance": 0.0}, "tolerance is 0.0; it must be a number above zero"),
        ({"line": {**FAST, "by": [0.1, 0, 0], "profile": "trapezoidal"}}, {}, r"acceleration of joint .* jumps by"),
        ({"expression": {"joints": {"elbow": "1.8+sin(t)"}}}, {}, "begins with joint 'elbow' at the rate 1"),
        ({"quintic": {**FAST, "to": {"elbow": -0.9}}}, {}, r"at 0\.\d+ s, where frame 'tip' is at .* is singular"),
        ({"line": {**FAST, "by": [0.5, 0.8, 0.0]}}, {}, "at .* % of it the point .* is not reached"),
    ],
)
def test_what_cannot_be_inverted_is_told(trajectory, options, words):
    with pytest.raises(ModelError, match=words):
        inverse_dynamics(study(trajectory), **options)


def test_what_floats_has_no_state_of_rest():
    move = {"quintic": {"to": {"arm": 0.5}, **FAST}}
    with pytest.raises(ModelError, match=r"nothing holds bus.* fix floating bases"):
        inverse_dynamics(study(move, Robot(**FLOATING), start={}))


def test_a_force_that_jumps_is_named_when_the_model_does_not_agree():
    found = inverse_dynamics(study(LINE, disturbances=[{"frame": "tip", "force": [0, 3.0, 0], "start": 0.5}]))
    assert "Loads jump at 0.5 s" in found.hindrances()
    assert found.confirmed(rounds=0).distance > MICROMETRE


def test_dry_friction_of_passive_joints_is_approached_from_softer_ones():
    from pliant.simulation.inverse.inverted_study import _softened

    assert _softened(Dynamics("two-link-flexible", compile="never")) == []
    softer = _softened(Dynamics("dualemps", compile="never"))
    smooth = [each.robot.joint("q12").friction.smoothing for each in softer]
    assert smooth == pytest.approx([0.1, 0.025, 0.00625, 0.0015625])
    assert all(each.robot.joint("q11").friction.smoothing == 1e-3 for each in softer)
