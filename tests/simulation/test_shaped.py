"""Shaped motions: sums of copies, their breaks, where the frequencies come from, and what is refused."""

import json
from math import pi
from pathlib import Path

import numpy as np
import pytest

from pliant import PID, Circle, Line, PrescribedMotion, Quintic, Sequence, Shaped, Start, Steps, Study, Trapezoidal
from pliant.control.linear_model import linearise
from pliant.control.path_vibrations import Feedback, pose_vibrations, rest_at
from pliant.control.shapers import shaper
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.model.readers.library import read_text
from pliant.simulation.run import Run
from pliant.simulation.study import load_study
from pliant.trajectories.path import Surroundings

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())
START = np.array([0.4, 1.4])
TO = {"shoulder": 1.1, "elbow": 0.5}
HERTZ, RATIO = 2.8, 0.01
JUMP = Trapezoidal(to=TO, duration=0.35)
CLOSE = 1e-9
"""m: what inverse kinematics leave."""


@pytest.fixture(scope="module")
def two_link():
    return Dynamics(read_text(REFERENCE["robots"]["two-link"]))


@pytest.fixture(scope="module")
def around(two_link):
    return Surroundings(two_link, rest_at(two_link, START, two_link.reference_pose()))


def given(motion, kind="zvd"):
    return Shaped(motion=motion, shaper=kind, frequencies=[HERTZ], damping=[RATIO])


@pytest.mark.parametrize(
    "motion", [JUMP, Quintic(to=TO, duration=0.35, start=0.2), Steps(points=[{"time": 0.1, "to": TO}])]
)
def test_a_shaped_motion_is_the_sum_of_its_copies(around, motion):
    plain, path = motion.bind(around, START, 0.3), given(motion).bind(around, START, 0.3)
    made = shaper("zvd", 2 * pi * HERTZ, RATIO)
    times = np.random.default_rng(1).uniform(0.3, 1.6, 200)
    for k, found in enumerate(path.many(times)):
        wanted = sum(a * plain.many(times - t)[k] for a, t in zip(made.amplitudes, made.times, strict=True))
        assert found == pytest.approx(wanted, abs=1e-12)
    assert path.end == pytest.approx(plain.end + made.duration)
    assert path.breaks == pytest.approx(sorted({b + t for b in plain.breaks for t in made.times}))
    assert path.at(path.end).q == pytest.approx(list(TO.values()), abs=1e-12)


def test_each_side_of_a_break_is_its_own(around):
    """Accelerations jump at the breaks, whatever rounding makes of the time less the delay."""
    for t0 in np.random.default_rng(2).uniform(0.0, 3.0, 12):
        path = given(JUMP, "ei2").bind(around, START, float(t0))
        for t in path.breaks:
            below, above = (path.at(float(np.nextafter(t, side))).a for side in (-np.inf, np.inf))
            away = 1e-6
            assert below == pytest.approx(path.at(t - away).a, abs=1e-9)
            assert above == pytest.approx(path.at(t + away).a, abs=1e-9)
            assert np.abs(above - below).max() > 1.0


def test_breaks_that_nearly_meet_are_one(around):
    """A motion half a period long: the end of a copy is the start of the next but for rounding."""
    half = shaper("zvd", 2 * pi * HERTZ, RATIO).times[1]
    path = given(Quintic(to=TO, duration=half * (1 + 1e-12))).bind(around, START, 0.0)
    assert path.breaks == pytest.approx([0.0, half, 2 * half, 3 * half])
    assert path.at(float(np.nextafter(half, 1.0))).q == pytest.approx(path.at(half).q, abs=1e-9)


def test_curves_are_shaped_in_space(around):
    """The frame of the rigid robot is at the sum of its delayed places; a line stays a line."""
    line, circle = Line(by=[-0.1, 0.15, 0], duration=0.35), Circle(centre=[0.3, 0.4, 0], turns=0.3, duration=0.5)
    twin, made = around.twin, shaper("zvd", 2 * pi * HERTZ, RATIO)
    p0 = twin.pose("tip", START).position
    for motion in (line, Sequence(parts=[circle, line])):
        plain, path = motion.bind(around, START, 0.0), given(motion).bind(around, START, 0.0)
        for t in np.linspace(0.0, path.end, 11):
            wanted = sum(
                a * twin.pose("tip", plain.at(max(t - u, 0.0)).q).position
                for a, u in zip(made.amplitudes, made.times, strict=True)
            )
            off = twin.pose("tip", path.at(t).q).position
            assert off == pytest.approx(wanted, abs=CLOSE)
            if motion is line:
                assert np.abs(np.cross(off - p0, line.by)).max() < CLOSE
                assert "leaves its curve" not in path.words


def test_a_circle_that_becomes_smaller_is_told_of(around):
    """Copies a radians apart lie inside by 1 - cos(a/2) of the radius."""
    circle = Circle(centre=[0.36, 0.5, 0], turns=1.0, duration=4.0)
    path = given(circle, "zv").bind(around, START, 0.0)
    radius = float(np.linalg.norm(around.twin.pose("tip", START).position - np.array(circle.centre)))
    # a quintic is fastest in its middle: 15/8 of the mean rate
    apart = 15 / 8 * 2 * pi / 4.0 * shaper("zv", 2 * pi * HERTZ, RATIO).duration
    (told,) = [float(part.split()[-2]) for part in path.words.split(";") if "leaves its curve" in part]
    assert told == pytest.approx(1e3 * radius * (1 - np.cos(apart / 2)), rel=0.02)


# ---- frequencies


def bound(arm, drive, until=1.0):
    start = Start(position=dict(zip(arm.inputs, START.tolist(), strict=True)), links="equilibrium")
    return Run(Study(robot=arm.robot, until=until, start=start, drive=drive), arm).equations.path


def test_frequencies_are_those_of_the_pose(two_link):
    motion = Quintic(to=TO, duration=0.35)
    for at, pose in (("start", START), ("end", [1.1, 0.5]), ({"elbow": 1.0}, [0.4, 1.0])):
        path = bound(two_link, PrescribedMotion(trajectory=Shaped(motion=motion, shaper="zv", modes=[1, 2], at=at)))
        model = linearise(two_link, rest_at(two_link, np.array(pose, dtype=float), two_link.reference_pose()))
        stiff = model.closed(1e9, 0.0).poles
        held = np.sort(np.abs(stiff[(stiff.imag > 0) & (np.abs(stiff) < 200)]))[:2]
        assert path.shaper.times[[1, 2]] == pytest.approx(pi / held[::-1], rel=1e-4)
        assert "with held joints" in path.words


def test_soft_drives_are_shaped_for_their_closed_loop(two_link):
    motion, gains = Quintic(to=TO, duration=0.35), {"kp": 60.0, "kd": 6.0, "gravity": "desired"}
    path = bound(two_link, PID(trajectory=Shaped(motion=motion, shaper="zv"), **gains))
    model = linearise(two_link, rest_at(two_link, np.array([1.1, 0.5]), two_link.reference_pose()))
    # the weight at the desired pose stays as it is
    poles = model.closed(60.0, 6.0).poles
    swinging = poles[(poles.imag > 0) & (-poles.real < 0.5 * np.abs(poles))]
    assert path.shaper.times[1] == pytest.approx(pi / swinging[np.argmin(np.abs(swinging))].imag, rel=1e-6)
    assert path.words.endswith("mode 1 at the end of the motion with the loops of the drive closed")
    stiff = bound(two_link, PID(trajectory=Shaped(motion=motion, shaper="zv"), kp=1e6, kd=1e3))
    assert stiff.words.endswith("with held joints")
    assert stiff.shaper.times[1] == pytest.approx(pi / (2 * pi * 2.8003), rel=1e-3)


def test_modes_answer_slow_accelerations(two_link):
    """All modes together are the static deflection, and stiff loops answer as held joints do."""
    pose, step = np.array([1.1, 0.5]), 1e-4
    q = rest_at(two_link, pose, two_link.reference_pose())
    held = pose_vibrations(two_link, q)
    # where slow motions of the inputs take all coordinates, sag included
    moved = [(rest_at(two_link, pose + d, q) - rest_at(two_link, pose - d, q)) / (2 * step) for d in step * np.eye(2)]
    elastic = [k for k, name in enumerate(two_link.names) if name not in two_link.inputs]
    t = linearise(two_link, q).tangent
    wanted = np.linalg.solve(t.K[np.ix_(elastic, elastic)], (t.M @ np.array(moved).T)[elastic])
    assert (held.shapes @ held.answer).real[elastic] == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    stiff = Feedback(-1e7 * two_link.B.T, -1e3 * two_link.B.T, *(np.zeros(x) for x in ((2, 0), (0, 6), (0, 6), (0, 0))))
    driven = pose_vibrations(two_link, q, stiff).moves(two_link, "tip")[:2]
    wanted = held.moves(two_link, "tip")[:2]
    assert driven / driven[0] == pytest.approx(wanted / wanted[0], rel=1e-3)


def test_auto_takes_the_shortest_that_is_good_enough(two_link):
    motion = Quintic(to=TO, duration=0.35)
    kinds = {}
    for tolerance in (0.3, 0.05, 0.01):
        shaped = Shaped(motion=motion, tolerance=tolerance)
        kinds[tolerance] = bound(two_link, PrescribedMotion(trajectory=shaped)).words.split()[2]
    assert kinds == {0.3: "zv", 0.05: "ei", 0.01: "ei2"}


# ---- what is refused

HEAD = "robot: two-link-flexible\nuntil: 2 s\ndrive:\n  prescribed:\n    trajectory:\n      shaped:\n"
QUINTIC = "motion: {quintic: {to: {elbow: 0.5}, duration: 0.3 s}}"
BAD = {
    (QUINTIC, "modes: [1, 7]"): "line 8: .*modes.*mode 7: there are 4 vibrations with held joints: .* Hz",
    (QUINTIC, "frequencies: [3.2 Hz]"): "shaper: auto needs modes of the robot; with frequencies name 'zv', 'mzv'",
    (QUINTIC, "frequencies: [3.2 kg]", "shaper: zv"): "line 8: .*3.2 kg.*a frequency",
    (QUINTIC, "frequencies: [3.2 Hz]", "shaper: zv", "modes: [1]"): "instead of modes of the robot; leave modes out",
    (QUINTIC, "shaper: zvx"): "line 8: .*shaper is 'zvx'",
    (QUINTIC, "at: finish"): "line 8: .*at is 'finish'; it must be start, end, middle, or joint positions",
    (QUINTIC, "at: {knee: 1}"): "line 8: .*no actuated joint 'knee'",
    (QUINTIC, "tolerance: 2"): "line 8: .*tolerance is 2",
    (QUINTIC, "joints: driven"): "line 8: .*this one has none, its joints do not give way: write held",
    (QUINTIC, "modes: [1, 1]"): "each mode is shaped once",
    (QUINTIC, "damping: [0.1, 0.1]"): "has 2 ratios; it must have one for each of 1 modes",
    ("motion: {rate: {rate: {elbow: 0.5}}}",): "line 7: .*'rate' goes on for ever",
    ("motion: {line: {by: [2, 0, 0], duration: 1 s}}",): "line 7: .*motion.line: .*cannot follow the curve",
    ("motion: {shaped: {}}",): "unknown trajectory 'shaped'",
    (QUINTIC, "tolerance: 1e-7"): "no shaper leaves 1e-05 % or less .* ei3 leaves the least",
}  # fmt: skip


@pytest.mark.parametrize("keys", list(BAD))
def test_what_cannot_be_shaped_is_refused_with_its_line(tmp_path, keys):
    file = tmp_path / "study.yaml"
    file.write_text(HEAD + "".join(f"        {key}\n" for key in keys), encoding="utf-8")
    with pytest.raises(ModelError, match=BAD[keys]) as caught:
        Run(load_study(file))
    assert "study.yaml, line" in str(caught.value)


def test_robots_that_do_not_vibrate_are_refused():
    rigid = Dynamics("four-bar-rigid", compile="never")
    joint = rigid.inputs[0]
    drive = PrescribedMotion(trajectory=Shaped(motion=Quintic(to={joint: 0.1}, duration=0.3)))
    with pytest.raises(ModelError, match="does not vibrate while its joints are held"):
        Run(Study(robot=rigid.robot, until=1.0, drive=drive), rigid)
    arm = Dynamics(read_text(REFERENCE["robots"]["one-link"]), compile="never")
    pushing = PID(trajectory=Shaped(motion=Quintic(to={"shoulder": 0.1}, duration=0.3)), kp=5.0, kd=-0.0)
    path = Run(Study(robot=arm.robot, until=1.0, drive=pushing), arm).equations.path
    assert "loops of the drive closed" in path.words
