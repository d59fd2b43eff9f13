"""Maxima of a motion of many steps are those of a very fine sampling of it, and few step ends are looked at."""

import numpy as np
import pytest

from pliant import PID, Dynamics, Quintic, Start
from pliant.simulation.monitoring.extreme_search import Maxima, Points, StepEnds, Track
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import Run
from pliant.simulation.study import Study

CLOSE = 1e-6
"""What is found against a very fine sampling, as part of the range."""
HIDDEN = 1e-3
"""The same where steps are as long as a radian of the fastest vibration: its interpolation is no better."""
FINE = 40
"""Points of that sampling in each step."""


def track_of(motion, times):
    """A motion with one coordinate, q, v, a = motion(t), as its integrator leaves it."""
    q, v, a = motion(times)
    return Track([StepEnds(times, np.column_stack([q, v]), np.column_stack([v, a]))], 1)


def steps(count, until=1.0):
    """Ends of steps of unequal size."""
    sizes = np.random.default_rng(count).uniform(0.5, 1.5, count)
    return np.append(0.0, np.cumsum(sizes) * until / sizes.sum())


def vibrations(*parts):
    """Sum of damped vibrations: amplitude, rate, phase, decay."""

    def motion(t):
        z = [A * np.exp((1j * w - d) * t + 1j * phase) for A, w, phase, d in parts]
        rates = [1j * w - d for _, w, _, d in parts]
        return tuple(np.real(sum(r**k * x for r, x in zip(rates, z, strict=True))) for k in range(3))

    return motion


class Searcher:
    """Largest and least value of the coordinate, and how often it was asked for."""

    def __init__(self, runs=1):
        self.asked = 0
        best, when = np.full((runs, 2), -np.inf), np.zeros((runs, 2))
        self.maxima = Maxima(np.zeros(2, dtype=int), np.array([1.0, -1.0]), np.ones(2, dtype=bool), best, when)

    def search(self, track, runs=(0,)):
        def look(points):
            motion, times, states = points
            assert (np.diff(motion) >= 0).all()
            self.asked += len(times)
            return states[:, :1]

        self.maxima.search(track, np.array(runs), look)
        return self


def check(searcher, track, tolerance):
    within = np.concatenate([np.linspace(a, b, FINE) for a, b in zip(track.times[:-1], track.times[1:], strict=True)])
    q = track(within)[:, 0]
    span = tolerance * np.ptp(q)
    for sign, top, when in zip((1, -1), searcher.maxima.best[0], searcher.maxima.when[0], strict=True):
        assert -span <= top - (sign * q).max() <= span
        assert sign * track(np.array([when]))[0, 0] == pytest.approx(top, abs=span)


MOTIONS = {
    "slow": vibrations((1.0, 5.0, 0.3, 0.0)),
    "decaying": vibrations((1.0, 60.0, 0.0, 2.0), (0.3, 190.0, 1.0, 1.0)),
    "beating": vibrations((1.0, 150.0, 0.0, 0.0), (1.0, 157.0, 1.0, 0.0), (0.01, 390.0, 0.0, 0.0)),
    "ripple": vibrations((1.0, 3.0, 0.0, 0.0), (0.02, 300.0, 0.5, 0.0)),
}


@pytest.mark.parametrize("count", [450, 900, 3000, 6000])
@pytest.mark.parametrize("name", MOTIONS)
def test_maxima_are_those_of_a_fine_sampling(name, count):
    track = track_of(MOTIONS[name], steps(count))
    check(Searcher().search(track), track, HIDDEN if count < 900 else CLOSE)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_few_steps(count):
    track = track_of(vibrations((1.0, 1.3, -0.4, 0.0)), steps(count))
    check(Searcher().search(track), track, HIDDEN)


def test_few_ends_of_steps_are_looked_at():
    track = track_of(MOTIONS["decaying"], steps(6000))
    assert Searcher().search(track).asked < 0.15 * 6000


def test_a_short_burst_is_seen():
    """Some forty steps among many, as a contact takes them."""
    times, n = steps(6000), 40
    push = np.zeros_like(times)
    push[3503 : 3503 + n] = np.sin(np.pi * np.arange(n) / n) ** 2
    q, v, a = MOTIONS["slow"](times)
    q = q + 3.0 * push
    v, a = (np.gradient(x, times) for x in (q, v))
    track = Track([StepEnds(times, np.column_stack([q, v]), np.column_stack([v, a]))], 1)
    found = Searcher().search(track)
    assert found.maxima.best[0, 0] >= q.max()
    assert times[3503] < found.maxima.when[0, 0] < times[3503 + n]


@pytest.mark.parametrize("count", [40, 3000])
def test_parts_one_after_the_other(count):
    """Short ones are put together, long ones stay; where two meet rates may jump."""
    up, down = steps(count), 1.0 + steps(count)

    def part(times, slope):
        v = np.full(len(times), slope)
        return StepEnds(times, np.column_stack([slope * (times - 1.0), v]), np.column_stack([v, 0 * v]))

    track = Track([part(up, 2.0), part(down, -3.0)], 1)
    found = Searcher().search(track).maxima
    assert found.best[0] == pytest.approx([0.0, 3.0], abs=1e-12)
    assert found.when[0] == pytest.approx([1.0, 2.0])
    assert track(np.array([0.5, 1.0, 1.5]))[:, 0] == pytest.approx([-1.0, 0.0, -1.5])


@pytest.mark.parametrize("counts", [(7, 450, 1), (900, 40, 6000), (2, 3, 600)])
def test_motions_side_by_side_have_the_maxima_of_each(counts):
    """Of two runs, the second of which has two motions between which it jumps."""
    names, times = ("slow", "decaying", "beating"), [steps(count) for count in counts]
    each = [track_of(MOTIONS[name], t) for name, t in zip(names, times, strict=True)]
    together = Searcher(runs=2).search(Track([track.parts[0] for track in each], 1, [0, 1, 2]), (0, 1, 1)).maxima
    each_alone = [Searcher().search(track).maxima for track in each]
    later = each_alone[2].best[0] > each_alone[1].best[0]
    for what in ("best", "when"):
        first, second, third = (getattr(maxima, what)[0] for maxima in each_alone)
        assert getattr(together, what) == pytest.approx(np.array([first, np.where(later, third, second)]), abs=1e-9)


def test_a_motion_that_diverged_has_maxima_before():
    times = steps(600)
    q, v, a = MOTIONS["slow"](times)
    q[-5:] = np.nan
    track = Track([StepEnds(times, np.column_stack([q, v]), np.column_stack([v, a]))], 1)
    assert Searcher().search(track).maxima.best[0, 0] == pytest.approx(np.nanmax(q), rel=1e-4)


@pytest.fixture(scope="module")
def driven():
    """A run with all that it was looked at, and the pieces of its solution."""
    arm = Dynamics("two-link-flexible")
    shoulder, elbow = arm.reference_pose()[arm.mechanism.joints]
    move = Quintic(to={"shoulder": shoulder + 0.02, "elbow": elbow - 0.02}, duration=0.1)
    drive, still = PID(trajectory=move, kp=400.0, kd=20.0), Start(links="equilibrium")
    run = Run(Study(robot=arm.robot, until=0.25, drive=drive, start=still, outputs=Outputs(step=0.05)), arm)
    seen, look = {}, run.extremes.look

    def note(piece, end):
        look(piece, end)
        ends = zip(piece.knots[:-1], piece.knots[1:], strict=True)
        times = np.concatenate([np.linspace(a, b, FINE) for a, b in ends])
        own = run.extremes
        points = Points(np.full(len(times), own._driven.motions[-1]), times, piece(times))
        found = own._followed(own.groups, points), own._efforts(own._driven, points)
        values = np.hstack([each.numbers() for each in found])
        for name, column in zip(run.extremes.names, values.T, strict=True):
            seen.setdefault(name, []).append(column)

    run.extremes.look = note
    run.go()
    return run.result().info.extremes, {name: np.concatenate(columns) for name, columns in seen.items()}


def test_a_run_against_a_fine_sampling_of_its_own_solution(driven):
    """All quantities that are followed, joints, bending, deviations and torques."""
    extremes, fine = driven
    assert extremes.keys() == fine.keys()
    for name, values in fine.items():
        span = CLOSE * np.ptp(values)
        assert extremes[name].most == pytest.approx(values.max(), abs=span), name
        if not name.endswith(("deflection", "slope")):
            assert extremes[name].least == pytest.approx(values.min(), abs=span), name
