"""Best moves: beside closed forms, beside what others computed, and in simulations of the nonlinear robot."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import fsolve

from closed_robots import five_bar
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.model.readers.library import read_text
from pliant.moves.move_limits import MoveLimits
from pliant.moves.optimal_move import MoveError, optimal_move
from pliant.simulation.run import SimulationWarning, run_study
from pliant.simulation.study import load_study

pytest.importorskip("casadi", reason="casadi is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::pliant.simulation.run.SimulationWarning")

ROBOTS = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())["robots"]
SAME = 1e-7
"""Durations with closed forms that piecewise constant efforts can have exactly; IPOPT ends at 1e-8."""
SWITCHES = 2e-3
"""Relative excess of a duration whose switches lie between the instants: of second order in the interval."""


@pytest.fixture(scope="module")
def arms():
    return {name: Dynamics(read_text(text)) for name, text in ROBOTS.items()}


def spinning(**joint):
    """A balanced body on a hinge: a double integrator of 0.5 kg m^2."""
    return Dynamics(
        read_text(
            "name: disc\ngravity: [0, 0, 0]\nlinks:\n"
            f"- {{name: disc, joint: {{name: j, axis: z{''.join(f', {k}: {v}' for k, v in joint.items())}}}, "
            "rigid: {mass: 1, com: [0, 0, 0], inertia: [0.4, 0.4, 0.5], length: 0.5}}\n"
        ),
        compile="never",
    )


def two_masses(stiffness):
    """A driven cart of 1 kg and 0.5 kg on a spring: exactly linear, with one vibration."""
    return Dynamics(
        read_text(
            "name: two-masses\ngravity: [0, 0, 0]\nlinks:\n"
            "- {name: cart, joint: {name: x, type: prismatic, axis: x}, rigid: {mass: 1, inertia: [1, 1, 1]}}\n"
            f"- {{name: load, joint: {{name: s, type: prismatic, axis: x, actuated: false, "
            f"spring: {{stiffness: {stiffness}}}}}, rigid: {{mass: 0.5, inertia: [1, 1, 1]}}}}\n"
        ),
        compile="never",
    )


# ---------------------------------------------------------------- closed forms


def test_a_double_integrator_turns_as_fast_as_it_can():
    """T = 2 sqrt(J theta / tau): full effort to the middle, then full effort against it."""
    move = optimal_move(spinning(), {"j": 0}, {"j": 1.3}, "time", {"effort": 2.0})
    assert move.duration == pytest.approx(2 * np.sqrt(0.5 * 1.3 / 2.0), rel=SAME)
    assert move.tau[:20, 0] == pytest.approx(2.0, abs=1e-4)
    assert move.tau[20:40, 0] == pytest.approx(-2.0, abs=1e-4)
    assert move.converged
    assert move.replay.error < 1e-9
    assert any("effort of j (100 % of the time)" in text for text in move.active)


def test_least_effort_of_a_double_integrator():
    """The least integral of u^2 is 12 (J theta)^2 / T^3, a parabola's; steps cost a little more."""
    move = optimal_move(spinning(), {"j": 0}, {"j": 1.0}, "energy", {"effort": (-8.0, 8.0)}, duration=1.0, chatter=0.0)
    exact = 12 * 0.5**2
    found = move.cost * move.sizes[0] ** 2
    assert exact < found < exact * (1 + 2 / 40**2)


def test_limits_of_rate_and_of_the_rate_of_effort():
    slow = optimal_move(spinning(), {"j": 0}, {"j": 1.3}, "time", {"effort": 2.0, "rate": 1.5})
    # it speeds up, coasts and slows down: theta / w + w J / tau
    assert slow.duration == pytest.approx(1.3 / 1.5 + 1.5 * 0.5 / 2.0, rel=SWITCHES)
    assert np.abs(slow.dense[2]).max() <= 1.5 * (1 + 1e-6)
    assert any("rate of j" in text for text in slow.active)
    smooth = optimal_move(spinning(), {"j": 0}, {"j": 1.3}, "time", {"effort": 2.0, "effort_rate": 20.0})
    steps = np.diff(smooth.tau[:, 0]) / np.diff(smooth.time)
    assert smooth.interpolation == "linear"
    assert np.abs(steps).max() == pytest.approx(20.0, rel=1e-5)
    assert smooth.tau[[0, -1], 0] == pytest.approx(0.0, abs=1e-9)
    assert smooth.converged
    # ramps of 2/20 s at both ends and twice that in the middle: theta = tau/J (T/2 - r)^2 - ... of trapezoids
    ramp = 2.0 / 20.0
    half = fsolve(lambda h: (2.0 / 0.5) * (h - ramp) * h - 1.3, 0.6)[0]
    assert smooth.duration == pytest.approx(2 * half, rel=SWITCHES)


def switching(w, mass, force, distance):
    """Rest-to-rest in the least time of a rigid motion with one undamped vibration: three switches, symmetric."""

    def missing(z):
        a, h = z
        at, signs = [0.0, a, h, 2 * h - a, 2 * h], (1, -1, 1, -1)
        pieces = list(zip(signs, at[:-1], at[1:], strict=True))
        moved = sum(s * ((2 * h - t0) ** 2 - (2 * h - t1) ** 2) / 2 for s, t0, t1 in pieces)
        swing = sum(s * (np.cos(w * (t0 - h)) - np.cos(w * (t1 - h))) for s, t0, t1 in pieces)
        return moved - distance * mass / force, swing

    rigid = np.sqrt(distance * mass / force)
    starts = [(part * rigid, more * rigid) for part in np.linspace(0.4, 0.99, 12) for more in (1.01, 1.1, 1.3)]
    found = []
    for start in starts:
        (a, h), _, good, _ = fsolve(missing, start, full_output=True)
        if good == 1 and 0 < a < h and np.abs(missing((a, h))).max() < 1e-10:
            found.append(2 * h)
    return min(found)


@pytest.mark.parametrize("stiffness", [15.0, 100.0])
def test_one_vibration_is_left_at_rest_by_three_switches(stiffness):
    move = optimal_move(two_masses(stiffness), {"x": 0}, {"x": 0.3}, "time", {"effort": 4.0})
    exact = switching(np.sqrt(stiffness * (1 / 1.0 + 1 / 0.5)), 1.5, 4.0, 0.3)
    assert exact * (1 - SAME) < move.duration < exact * (1 + SWITCHES)
    # the rigid robot would be faster: the vibration costs time
    assert move.duration > 2 * np.sqrt(0.3 * 1.5 / 4.0) * 1.001
    # at rest, and it stays so
    assert move.q[-1] == pytest.approx([0.3, 0.0], abs=1e-9)
    assert move.v[-1] == pytest.approx([0.0, 0.0], abs=1e-8)
    assert move.replay.swing < 1e-6


# ---------------------------------------------------------------- flexible robots


def test_the_fastest_move_of_a_flexible_link(arms):
    """0.685 s in a program of its own by the same collocation; its tip is some micrometres off in the simulation."""
    arm = arms["one-link"]
    with pytest.warns(SimulationWarning, match="linear bending"):
        move = optimal_move(arm, {"shoulder": 0}, {"shoulder": 1.0}, "time", {"effort": 2.0})
    assert move.duration == pytest.approx(0.685, abs=5e-4)
    assert move.converged
    assert move.replay.error < 5e-5
    assert move.replay.swing < 5e-5
    # the same duration as a quintic: how the links swing then
    assert np.abs(move.q[-1, 1:]).max() < 1e-9
    assert np.abs(move.v[-1]).max() < 1e-7


@pytest.fixture(scope="module")
def hanging(arms):
    """Two links under gravity, with the least effort."""
    return optimal_move(
        arms["two-link"],
        {"shoulder": -1.2, "elbow": 0.8},
        {"shoulder": -0.5, "elbow": -0.1},
        "energy",
        duration=0.8,
    )


def test_two_links_under_gravity(arms, hanging):
    arm, move = arms["two-link"], hanging
    assert move.solution.variables == 2012
    assert move.converged
    assert not move.replay.feedback
    assert move.replay.error < 2e-5
    # in balance with gravity at both ends: no acceleration with the efforts that hold it
    for at, q in ((move.start, move.q[0]), (move.end, move.q[-1])):
        assert q == pytest.approx(at.q, abs=1e-8)
        assert np.abs(arm.forward(at.q, np.zeros(6), at.tau)).max() < 1e-6
        assert np.abs(at.q[[1, 2, 4, 5]]).max() > 1e-4
    # cheaper than a quintic of the same duration
    s = np.linspace(0, 1, 201)
    u = 10 * s**3 - 15 * s**4 + 6 * s**5
    q = move.start.q + u[:, None] * (move.end.q - move.start.q)
    rate = (30 * s**2 - 60 * s**3 + 30 * s**4)[:, None] * (move.end.q - move.start.q) / 0.8
    a = (60 * s - 180 * s**2 + 120 * s**3)[:, None] * (move.end.q - move.start.q) / 0.64
    quintic = arm.forces(q, rate, a)[:, [0, 3]] / move.sizes
    assert move.cost < trapezoid((quintic**2).sum(axis=1), 0.8 * s)


def test_studies_replay_the_move(hanging, tmp_path):
    files = {path.stem.partition("-")[2]: path for path in hanging.write(tmp_path, "lift")}
    for name in ("replay", "feedback"):
        run = run_study(load_study(files[name]))
        at = run["tip.position"][run.time >= hanging.duration]
        rest = hanging.arm.pose("tip", hanging.end.q).position
        assert np.linalg.norm(at - rest, axis=1).max() < 1e-4
    hanging.plot(tmp_path / "move.png")
    assert (tmp_path / "move.png").stat().st_size > 10_000


@pytest.mark.parametrize("bending", ["second-order", "exact"])
def test_other_kinds_of_bending(bending):
    shape = "polynomial" if bending == "exact" else "clamped-free"
    text = (
        ROBOTS["one-link"]
        .replace("bending: linear", f"bending: {bending}")
        .replace("{shape: clamped-free, normalise: mass, bend_y: 2}", f"{{shape: {shape}, bend_y: 2}}")
    )
    arm = Dynamics(read_text(text))
    move = optimal_move(arm, None, {"shoulder": 0.6}, "energy", {"effort": 3.0}, duration=0.6, intervals=20)
    assert move.converged
    assert move.replay.swing < 1e-4


def test_deflections_and_strains_are_limits(arms):
    arm = arms["one-link"]
    free = optimal_move(arm, None, {"shoulder": 1.0}, "energy", {"effort": 3.0}, duration=1.0, intervals=20)
    from pliant.export import casadi_function

    moved = casadi_function(arm, "deflection")
    strained = casadi_function(arm, "strain", strains=[("upper", 0.05, 0.004, 0.0)])

    def largest(move):
        q = move.dense[1]
        return (
            max(float(np.linalg.norm(np.array(moved(each)))) for each in q),
            max(abs(float(strained(each))) for each in q),
        )

    most = largest(free)
    for k, limits in enumerate(
        (
            {"deflection": {"tip": 0.8 * most[0]}},
            MoveLimits(effort=3.0, strain=[(("upper", 0.05, 0.004), 0.8 * most[1])]),
        )
    ):
        move = optimal_move(arm, None, {"shoulder": 1.0}, "energy", limits, duration=1.0, intervals=20)
        assert largest(move)[k] == pytest.approx(0.8 * most[k], rel=1e-4)
        assert move.active
        assert (move.cost * move.sizes**2).item() > (free.cost * free.sizes**2).item()
        assert move.converged


def test_closed_loops():
    """Only independent coordinates are prescribed at the end; the loops stay closed on the way."""
    arm = Dynamics(five_bar(), compile="never")
    q = arm.by_name(arm.assemble())
    to = {"left_motor": q["left_motor"] + 0.3, "right_motor": q["right_motor"] + 0.1}
    move = optimal_move(arm, None, to, "time", {"effort": 20.0}, intervals=20)
    assert move.converged
    assert np.abs(arm.closure(move.dense[1])).max() < 1e-8
    assert np.abs(arm.closure_rate(move.dense[1], move.dense[2])).max() < 1e-6
    assert move.q[-1] == pytest.approx(arm.assemble({**q, **to}), abs=1e-7)
    assert len(move.active) == 2


def test_joints_that_follow_others():
    """A mimic joint is a row like those of loops: two discs of 0.5 kg m^2, the second turns twice as fast."""
    text = (
        "name: geared\ngravity: [0, 0, 0]\nlinks:\n"
        "- {name: a, joint: {name: j, axis: z}, rigid: {mass: 1, inertia: [0.4, 0.4, 0.5], length: 0.5}}\n"
        "- {name: b, joint: {name: k, axis: z, parent: base, mimic: {joint: j, ratio: 2}}, "
        "rigid: {mass: 1, inertia: [0.4, 0.4, 0.5]}}\n"
    )
    arm = Dynamics(read_text(text), compile="never")
    move = optimal_move(arm, None, {"j": 0.7}, "time", {"effort": 2.0}, intervals=10, frame="a.tip")
    assert move.duration == pytest.approx(2 * np.sqrt((0.5 + 4 * 0.5) * 0.7 / 2.0), rel=1e-6)
    assert move.converged


def test_dry_friction_is_smoothed_and_told():
    arm = spinning(friction="{coulomb: 0.4, smoothing: 0.01}")
    move = optimal_move(arm, None, {"j": 1.0}, "time", {"effort": 2.0}, intervals=20)
    # against 2 N m: 1.6 to speed up, 2.4 to slow down
    speed = np.sqrt(2 * 1.0 / (0.5 / 1.6 + 0.5 / 2.4))
    assert move.duration == pytest.approx(speed * 0.5 * (1 / 1.6 + 1 / 2.4), rel=2e-2)
    assert move.converged or move.notes


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"to": {"sholder": 1.0}}, "did you mean 'shoulder'"),
        ({"to": {"upper.bend_y.1": 0.1}}, "'upper.bend_y.1' is a shape of a link"),
        ({"to": {"shoulder": 0.0}}, "nothing to move"),
        ({"objective": "speed"}, "objective is 'speed'; it must be 'time' or 'energy'"),
        ({"limits": None}, "shoulder has no limit of its effort"),
        ({"limits": {"efforts": 2.0}}, "no limit 'efforts'; did you mean 'effort'"),
        ({"limits": {"effort": {"elbow": 2.0}}}, "has no drive 'elbow'"),
        ({"limits": {"effort": (1.0, 2.0)}}, "zero must be among them"),
        ({"limits": {"effort": 2.0, "strain": [(("upper", 2.0), 1e-3)]}}, "is 0.9 m long"),
        ({"limits": {"effort": 2.0, "deflection": {"tup": 0.1}}}, "limits.deflection: .*tup"),
        ({"limits": 2.0}, "limits is 2.0; it must be MoveLimits"),
        ({"duration": 1.0}, "objective 'time' finds it"),
        ({"objective": "energy"}, "objective 'energy' needs it"),
        (
            {"limits": {"effort": 2.0, "position": {"shoulder": (-0.5, 0.5)}}},
            "to: shoulder is 1 rad, beyond its limits",
        ),
        ({"intervals": 0}, "intervals is 0"),
    ],
)
def test_wrong_requests_are_refused_in_words(arms, given, words):
    arguments = {"to": {"shoulder": 1.0}, "limits": {"effort": 2.0}, **given}
    with pytest.raises((ModelError, ValueError), match=words):
        optimal_move(arms["one-link"], None, **arguments)


def test_what_cannot_be_held_or_reached_is_told(arms):
    with pytest.raises(MoveError, match=r"to: it takes .* N m at shoulder to hold the robot there"):
        optimal_move(arms["two-link"], {"shoulder": -1.57}, {"shoulder": 0.0}, "time", {"effort": 3.0})
    with pytest.raises(MoveError, match=r"IPOPT says .*; limits that are reached: effort of j") as caught:
        optimal_move(spinning(), None, {"j": 1.0}, "energy", {"effort": 2.0}, duration=0.5, intervals=10)
    assert "a longer duration" in str(caught.value)
    floating = read_text(
        "name: floating\ngravity: [0, 0, 0]\nlinks:\n"
        "- {name: body, joint: {name: base, type: free}, rigid: {mass: 3, inertia: [1, 1, 1]}}\n"
        "- {name: a, joint: {name: j, axis: z}, rigid: {mass: 1, inertia: [0.4, 0.4, 0.5], length: 0.5}}\n"
    )
    with pytest.raises(MoveError, match="nothing holds base"):
        optimal_move(Dynamics(floating, compile="never"), None, {"j": 1.0}, "time", {"effort": 2.0})
    apart = Dynamics(five_bar(), compile="never")
    with pytest.raises(MoveError, match=r"to: .*loops cannot close"):
        optimal_move(apart, None, {"left_motor": 3.6, "right_motor": -0.5}, "time", {"effort": 20.0})
