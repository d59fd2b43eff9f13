"""What a run is watched for: motions that grow, errors that add up, and singular configurations that it passes.

Growth: implicit methods damp whatever is much faster than their steps, also what grows (L-stability). A run with one of
them is therefore linearised where it begins and now and then on its way, drive and loads included.

Accuracy: a tolerance is kept step by step. Errors of vibrations that last add up, and vibrations that are faster than
implicit steps are erased by them: the run may then be off by much more than its tolerance. Implicit methods carry the
errors of their steps along (``Integrator.errors``); where these become large, the run says so.

Passages: where loops lose a constraint for an instant, a motion may go on in several ways (a parallelogram that lies
flat), and the smallest slip of a step decides which one the equations follow. A run that changes its way there, or that
tears a loop open because it has none, is ended before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.drives.saturated import SaturatedLaw
from pliant.engine.stepping.steppers import STEPPERS
from pliant.formulations.loops.dense_forms import condition_of
from pliant.simulation.integrators.integrator import Integrator, Piece, Tolerance
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import FINEST

Floats = NDArray[np.float64]

DIFFERENCE = 1e-6
"""Step of central difference quotients."""
SLOW_GROWTH = 20.0
"""Rates, 1/s, at which things fall over: nothing needs to be said of them. A pendulum of 2.5 cm falls at this one."""
CLEARLY = 1e-4
"""Part of a pole that is real, from which on it is not the noise of difference quotients."""
PASSED_OVER = 2.0
"""Step times rate of growth beyond which implicit steps of any kind have lost the motion; the esdirk method blows it up
until 8 and erases it beyond."""
JOINTS_FIRST = 10.0
"""Factor of the rates of joints where the coordinate is sought that a growing motion is named after."""
NEXT_LOOK = 10
"""Steps until a run is looked at for the second time; then after twice as many each time."""
LARGE = 300
"""States up to which a run is looked at."""
ERASING = (
    *(stepper.name for stepper in STEPPERS.values() if stepper.erases),
    *("sundials", "scipy:Radau", "scipy:BDF", "scipy:LSODA"),
)
"""Methods that damp what is faster than their steps."""


class Growth(NamedTuple):
    """The motion of a linear model that grows fastest: its pole, 1/s, and the coordinate that moves most in it."""

    pole: complex
    name: str

    @property
    def rate(self) -> float:
        """1/s; zero where nothing grows."""
        return self.pole.real if self.pole.real > CLEARLY * abs(self.pole) else 0.0

    @property
    def words(self) -> str:
        """What grows, and how fast."""
        about = f"{self.pole.real:.3g}"
        if abs(self.pole.imag) > CLEARLY * abs(self.pole):
            about += f" +- {abs(self.pole.imag):.3g} i"
        return f"a motion, mostly of '{self.name}', grows at {self.pole.real:.3g} 1/s (pole {about} 1/s)"


STILL = Growth(0j, "")


def linear_model(equations: StateEquations, t: float, y: Floats) -> Floats:
    """A of x' = A x for coordinates, rates and states of the drive, by central difference quotients."""
    moved = differences(equations, y)
    with np.errstate(all="ignore"):
        columns = [(equations.rates(t, y + e) - equations.rates(t, y - e)) / (2 * e.sum()) for e in moved]
    return np.array(columns).T[: len(columns)]


def differences(equations: StateEquations, y: Floats) -> Floats:
    """Small changes of coordinates, rates and states of the drive, one in each row; such states may be of any size."""
    n, own = equations.layout.drive.stop, equations.layout.drive
    steps = DIFFERENCE * np.eye(n, len(y))
    steps[own, own] *= np.maximum(1.0, np.abs(y[own]))
    return steps


def fastest_growth(equations: StateEquations, A: Floats) -> Growth:
    """The rightmost pole of a linear model whose states begin with coordinates and rates."""
    m = equations.layout.q.stop
    if not m or not np.isfinite(A).all():
        return STILL
    poles, vectors = np.linalg.eig(A)
    which = int(np.argmax(poles.real))
    shares = np.abs(vectors[m : 2 * m, which])
    # joints, where feedback and friction act, come before the links that they shake
    names = [equations.arm.names[i] for i in equations.moving]
    shares[[name in equations.arm.robot.joint_coordinates for name in names]] *= JOINTS_FIRST
    return Growth(complex(poles[which]), names[int(np.argmax(shares))])


SAMPLED = "a sampled controller"


def kinks(equations: StateEquations) -> list[str]:
    """What in the equations is not smooth of its own."""
    there = {
        "dry friction": has_dry_friction(equations),
        **{what: True for load in equations.loads for what in load.kinks},
        "limits of efforts": isinstance(equations.drive, SaturatedLaw),
        SAMPLED: equations.drive.next_tick(0.0) < inf,
    }
    return [what for what, is_there in there.items() if is_there]


def has_dry_friction(equations: StateEquations) -> bool:
    """Whether there is friction that jumps where a joint comes to rest."""
    return any(link.drive.coulomb for link in equations.arm.tree.links)


class GrowthWatch:
    """Looks for growing motions that the steps of a run pass over: at its start, now and then, and at its end.

    found  what was found first, in words; empty: nothing
    """

    def __init__(self, equations: StateEquations, method: str) -> None:
        self.equations, self.method = equations, method
        self.found = ""
        self._steps, self._next = 0, 0
        # size, time, state and rates of the longest step since the last look
        self._longest: tuple[float, float, Floats, Floats] | None = None
        self._looks = method in ERASING and 0 < equations.layout.drive.stop <= LARGE

    def take(self, piece: Piece, integrator: Integrator) -> None:
        """Follow a piece, and look where it is time to."""
        if not self._looks or self.found:
            return
        knots = piece.knots
        sizes = np.diff(knots)
        self._steps += len(sizes)
        k = int(np.argmax(sizes))
        h, states, rates = float(sizes[k]), piece.knot_states, piece.knot_rates
        if self._longest is None or h > self._longest[0]:
            self._longest = h, float(knots[k]), states[k], rates[k]
        if self._steps > self._next:
            if not self._next:
                self._look(integrator, h, float(knots[0]), states[0], rates[0])
            self._look(integrator, *self._longest)
            self._look(integrator, float(sizes[-1]), float(knots[-1]), states[-1], rates[-1])
            self._next, self._longest = 2 * self._steps + NEXT_LOOK, None

    def finish(self, integrator: Integrator) -> None:
        """Look at what was not looked at yet."""
        if self._longest is not None and not self.found:
            self._look(integrator, *self._longest)

    def _look(self, integrator: Integrator, h: float, t: float, y: Floats, f: Floats) -> None:
        """Look for growing motions at a state with its rates, beside a step of size h."""
        A = integrator.linear_model(t, y, f)
        growth = fastest_growth(self.equations, linear_model(self.equations, t, y) if A is None else A)
        if not self.found and growth.rate > SLOW_GROWTH and growth.rate * h > PASSED_OVER:
            step = f"{0.1 * PASSED_OVER / growth.rate:.1g}"
            self.found = (
                f"{growth.words} at {t:.4g} s, and steps of {self.method}, up to {h:.2g} s long, erase it: look at the "
                f"sign of feedback, damping and friction; method: dop853 follows it, or max_step: {step} s"
            )

    def memory(self) -> bytes:
        """What must be kept for a resumption."""
        longest = self._longest and (*self._longest[:2], *(x.tolist() for x in self._longest[2:]))
        return json.dumps([self.found, self._steps, self._next, longest]).encode()

    def recall(self, kept: Any) -> None:
        """Go on from what ``memory`` gave."""
        self.found, self._steps, self._next, longest = json.loads(bytes(kept))
        self._longest = longest and (*longest[:2], *(np.array(x) for x in longest[2:]))


SPOKEN_OF = 20.0
"""Errors, in units of the tolerance, from which a run speaks of them: estimates are within a factor of four ..."""
WITH_KINKS = 5.0
"""... and where forces have kinks, as dry friction has, they may be a tenth of the errors."""
FINER = {stepper.name: stepper.finer for stepper in STEPPERS.values() if stepper.finer}
"""Exponent of the tolerance by an error: local errors fall with the tolerance, those that add up by less steps ..."""
LOST = 1e6
"""... until nothing is left of the digits that were asked for."""


class AccuracyWatch:
    """Follows how large the coordinates of a run become, and compares its errors with what is allowed of them.

    The error of a coordinate is measured in absolute + relative tolerance times its largest value in the run.
    """

    def __init__(self, equations: StateEquations, tolerance: Tolerance, method: str) -> None:
        self.equations, self.tolerance = equations, tolerance
        self._looks = method in FINER
        self._largest = np.zeros(equations.count)
        self._touched = inf
        self._stops = [load for load in equations.loads if load.touched]

    def take(self, piece: Piece) -> None:
        """Follow a piece."""
        if not self._looks:
            return
        q = piece.knot_states[:, self.equations.layout.q]
        self._largest = np.maximum(self._largest, np.abs(q).max(axis=0, initial=0.0))
        if not self._stops or self._touched < inf:
            return
        whole, _, _ = self.equations.motions(piece.knots, piece.knot_states)
        beyond = np.any([load.touches(whole) for load in self._stops], axis=0)
        if beyond.any():
            self._touched = float(piece.knots[np.argmax(beyond)])

    def reached(self, integrator: Integrator | None) -> tuple[float, int, float]:
        """The largest error in units of the tolerance, of which moving coordinate, and that error; zeros if unknown."""
        errors = None if integrator is None else integrator.errors
        if errors is None or not len(errors):
            return 0.0, 0, 0.0
        allowed = self.tolerance.absolute[self.equations.layout.q] + self.tolerance.relative * self._largest
        k = int(np.argmax(errors / allowed))
        return float(errors[k] / allowed[k]), k, float(errors[k])

    def words(self, integrator: Integrator | None) -> str:
        """How far off the run is, where that is much more than its tolerance, and what to do; else nothing."""
        if integrator is None or integrator.errors is None or not self._looks:
            return ""
        if self._touched < inf:
            what = " or ".join(sorted({load.touched for load in self._stops}))
            return (
                f"a {what} is touched at {self._touched:.4g} s: what steps of {integrator.name} lose at such kinks is "
                "not estimated, and may be hundreds of times the tolerance; compare with method: dop853, or with "
                f"tolerance: {max(0.1 * self.tolerance.relative, FINEST):.0e}"
            )
        times, k, error = self.reached(integrator)
        rough = kinks(self.equations)
        if times <= (WITH_KINKS if rough else SPOKEN_OF):
            return ""
        arm, i, name = self.equations.arm, int(self.equations.moving[k]), integrator.name
        unit = " ".join(["", *filter(None, [arm.mechanism.units[i]])])
        if times > LOST:
            reached = f"more than {LOST:.0e} times the tolerance in '{arm.names[i]}'"
        else:
            reached = f"about {times:.2g} times the tolerance in '{arm.names[i]}' ({error:.1e}{unit})"
        # gauss passes over kinks
        remedy = f"method: {'dop853' if rough else 'gauss or dop853'} follows both"
        finer = self.tolerance.relative * times ** -FINER[name]
        if finer > FINEST:
            remedy += f", and {name} comes down to this tolerance with tolerance: {finer:.0e}"
        return (
            f"the run is off by {reached}: errors of {name} add up in vibrations that last, and its steps erase those "
            f"that are faster than they are; {remedy}"
        )

    def memory(self) -> Floats:
        """What must be kept for a resumption."""
        return np.array([self._touched, *self._largest])

    def recall(self, kept: Any) -> None:
        """Go on from what ``memory`` gave."""
        self._touched, self._largest = float(kept[0]), np.array(kept[1:])


SUDDEN = 5.0
"""Factor of the mean accelerations of a run, over time, from which they may be those of a jump."""
NEAR = 30.0
"""Factor of the condition number around the reference pose from which a configuration counts as nearly singular."""
JUMP = 1e-3
"""Part of the rates by which they may differ from what the accelerations beside a passage give, and from what a change
of these gives."""
OPENED = 0.02
"""Gap, relative to the size of the robot (or in radians), of a loop that is torn."""


class Jump(NamedTuple):
    """The last time before a jump, and what happened."""

    time: float
    words: str


class _Moment(NamedTuple):
    """A time with scaled rates and accelerations."""

    time: float
    v: Floats
    a: Floats


class _Worst(NamedTuple):
    """The largest scaled acceleration since the last calm moment; condition and names of loops that lost a row."""

    acceleration: float = 0.0
    condition: float = 0.0
    loops: tuple[str, ...] = ()


_NOTHING = _Worst()


class Passages:
    """Looks at the steps of a run for jumps and for loops that open."""

    def __init__(self, equations: StateEquations) -> None:
        self.equations, self.loops = equations, equations.loops
        self._sum = self._duration = 0.0
        self._calm: _Moment | None = None
        self._worst = _NOTHING

    def look(self, piece: Piece) -> Jump | None:
        """The first jump in a piece."""
        if not self.loops.rows:
            return None
        at = self.equations.layout
        scale = self.loops.column_scale[self.equations.moving]
        times, v, a = piece.knots, piece.knot_states[:, at.v] / scale, piece.knot_rates[:, at.v] / scale
        sizes = np.abs(a).max(axis=1, initial=0.0)
        # over time a jump counts little, however many steps it takes
        steps = np.diff(times)
        self._sum += float(steps @ (sizes[1:] + sizes[:-1]) / 2)
        self._duration += float(steps.sum())
        sudden = sizes * self._duration > SUDDEN * self._sum
        if not self._worst.acceleration and not sudden.any():
            self._calm = _Moment(float(times[-1]), v[-1], a[-1])
            return self._torn(piece)
        # loops are looked at where rates have not gone on as they were, and at the end of the piece
        largest, unseen = self._worst.acceleration, list[int]()
        for k in range(len(times)):
            if sudden[k]:
                if sizes[k] > largest:
                    largest = sizes[k]
                    unseen.append(k)
                continue
            is_end = k + 1 == len(times) or sudden[k + 1]
            if not (largest or is_end):
                continue
            here = _Moment(float(times[k]), v[k], a[k])
            if largest and self._calm is not None and self._has_jumped(self._calm, here):
                self._see(piece, unseen, sizes)
                if self._worst.loops:
                    return Jump(max(self._calm.time, piece.start), self._words(self._calm.time))
            self._calm, self._worst = here, _NOTHING
            largest, unseen = 0.0, []
        self._see(piece, unseen, sizes)
        return self._torn(piece)

    def _see(self, piece: Piece, places: Sequence[int], sizes: Floats) -> None:
        """Find how singular the loops are at knots of ever larger accelerations."""
        for k in places:
            self._worst = self._lost(float(piece.knots[k]), piece.knot_states[k], float(sizes[k]))

    def memory(self) -> bytes:
        """What must be kept for a resumption."""
        calm = self._calm and (self._calm.time, self._calm.v.tolist(), self._calm.a.tolist())
        return json.dumps([self._sum, self._duration, calm, self._worst]).encode()

    def recall(self, kept: Any) -> None:
        """Go on from what ``memory`` gave."""
        self._sum, self._duration, calm, (acceleration, condition, loops) = json.loads(bytes(kept))
        self._calm = calm and _Moment(calm[0], np.array(calm[1]), np.array(calm[2]))
        self._worst = _Worst(acceleration, condition, tuple(loops))

    def _has_jumped(self, before: _Moment, after: _Moment) -> bool:
        between = after.time - before.time
        expected = before.v + between * (before.a + after.a) / 2
        size = max(np.abs(before.v).max(initial=0.0), np.abs(after.v).max(initial=0.0))
        changed = between * np.abs(after.a - before.a).max(initial=0.0)
        return bool(np.abs(after.v - expected).max(initial=0.0) > JUMP * size + changed)

    def _words(self, t: float) -> str:
        quoted = ", ".join(f"'{name}'" for name in self._worst.loops)
        return (
            f"{self._what} nearly singular there (t = {t:.6g} s, {quoted}, condition number "
            f"{self._worst.condition:.3g}), and the rates do not go on as they were: several motions are possible, or "
            "none; use another tolerance or method, or keep away from that configuration"
        )

    @property
    def _what(self) -> str:
        return "the loops are" if self.equations.constrained is None else "the pose of the drives is"

    def _lost(self, t: float, y: Floats, acceleration: float) -> _Worst:
        """How singular the loops are at a state of large accelerations, and which of them."""
        q, loops = self._coordinates(t, y), self.loops
        J = loops.scaled(q)[:, self.equations.moving]
        condition = condition_of(J, len(J))
        if condition <= NEAR * self._regular:
            return self._worst._replace(acceleration=acceleration)
        lost = np.abs(np.linalg.svd(J)[0][:, -1])
        names = (loops.rows[k].rpartition(".")[0] for k, part in zip(loops.kept_at(q), lost, strict=True) if part > 0.1)
        return _Worst(acceleration, condition, tuple(dict.fromkeys(names)))

    def _coordinates(self, t: float, y: Floats) -> Floats:
        """All coordinates, as they are integrated."""
        return self.equations.expand(t, y, np.zeros(self.equations.count))[0]

    @cached_property
    def _regular(self) -> float:
        """The least condition number around the reference pose."""
        return self.loops.least_condition(self.equations.moving.tolist())

    def _torn(self, piece: Piece) -> Jump | None:
        """Where a loop has opened by the end of a piece: the last time at which it had not."""
        states, times = piece.knot_states, piece.knots

        def opened(k: int) -> dict[str, tuple[float, float]]:
            q = self._coordinates(float(times[k]), states[k])
            if not np.isfinite(q).all() or self.loops.largest_gap(q) <= OPENED:
                return {}
            return self.loops.open_by(q)

        if not opened(len(times) - 1):
            return None
        first = next(k for k in range(len(times)) if opened(k))
        name, (distance, angle) = max(opened(first).items(), key=lambda item: max(item[1]))
        words = (
            f"loop '{name}' opens by {distance:.2g} m and {angle:.2g} rad at t = {times[first]:.6g} s: {self._what} "
            "nearly singular there, and the motion cannot go on with closed loops"
        )
        return Jump(float(times[max(first - 1, 0)]), words)
