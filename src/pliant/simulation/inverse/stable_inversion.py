"""Stable inversion: the bounded motion of a flexible robot whose frames follow a path, at rest before and after it.

The inverse of a flexible robot is unstable: integrated forward it grows without bound, and the motion that stays
bounded begins before the path does. It is found at once for the whole time, as splines whose residuals are least
squares. Unlike a boundary value problem this needs no split into stable and unstable motions, which changes along a
path: what is faster than the knots cannot be represented, so that its kind does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.lumped.successive import Approximation
from pliant.analysis.statics import NoEquilibriumError
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.simulation.inverse.inversion_equations import Instants, InversionEquations
from pliant.simulation.inverse.spline_least_squares import BandedNormal, Levels, SplineSpace

Floats = NDArray[np.float64]
Report = Callable[[int, float, Approximation | None], object]

HELD = 3
"""Coefficients at each end that are those of rest: position, rate and acceleration.

Where motions with the frames at rest last, the last ones are only drawn there: they may ring on.
"""
STEPS = 30
"""The most steps of Gauss and Newton ..."""
SETTLED = 1e-3
"""... which end where the sum of squares changes by less than this part, or residuals by this part of the tolerance."""
SHORTEST = 1 / 64
"""Part of a step below which nothing is to be gained."""
NEWTON = 50
BALANCED = 1e-13
"""Newton step of a state of rest, of the size of coordinates, that ends the search."""
LOOSE = 1e-12
"""Least singular value, of the largest, of statics that hold everything."""
REST = 12.0
"""Rest before and after the path, in time constants of the slowest zero (5 would leave a hundredth, this 1e-5) ..."""
LEAST_REST = 12
"""... and at least so many knots ..."""
MOST_REST = 2.0
"""... and at most so many durations of the motion."""
LOOKS = 200
"""Instants at which loads are looked at."""
INFINITE = 1e7
"""Zeros above this part of the lowest are those of rounding."""


class InterruptedInversionError(RuntimeError):
    """The user ended the search before there was a solution."""


class RestState(NamedTuple):
    """A state of rest with the frames on the path: coordinates (n,), forces of closures, and zeros there, 1/s."""

    time: float
    q: Floats
    closing: Floats
    zeros: NDArray[np.complex128]


def rest_state(equations: InversionEquations, time: float, guess: Floats, study: str) -> RestState:
    """The bent state of rest with the frames where they shall be at a time, by Newton on the equations themselves."""
    arm, n = equations.arm, equations.arm.size
    at, still = equations.at(np.array([time])), np.zeros((1, arm.size))
    q = bent_at_rest(arm, guess, equations.wrenches(time))
    closing = np.zeros(len(equations.kept))
    if equations.kept:
        J = arm.loops.jacobian(q)[equations.kept]
        needed = equations.missing(at, Levels(q[None], still, still), closing[None])[0]
        closing = np.linalg.lstsq((J @ equations.N).T, equations.N.T @ needed, rcond=None)[0]
    sizes = np.maximum(1.0, np.abs(q))
    residual = equations.residuals(at, Levels(q[None], still, still), closing[None])[0]
    for _ in range(NEWTON):
        slopes = equations.slopes(at, Levels(q[None], still, still), closing[None])
        A = np.hstack([slopes.q[0], slopes.closing[0]])
        _require_held(equations, A, time, study)
        step = -np.linalg.solve(A, residual)
        part, before = 1.0, float(np.linalg.norm(residual))
        while True:
            trial, forces = q + part * step[:n], closing + part * step[n:]
            residual = equations.residuals(at, Levels(trial[None], still, still), forces[None])[0]
            # a residual that is no number is no smaller one
            if float(np.linalg.norm(residual)) <= max(before, BALANCED) or part < SHORTEST:
                break
            part /= 2
        q, closing = trial, forces
        if np.abs(part * step[:n] / sizes).max() < BALANCED or not np.isfinite(residual).all():
            break
    reached = float(np.abs(residual).max())
    if not reached < 1e-9 * equations.path.length:
        place = ", ".join(f"{x:.4g}" for x in at.wanted.positions[0, 0])
        raise ModelError(
            f"study '{study}': at {time:.4g} s the robot finds no rest with frame '{equations.path.frames[0]}' at "
            f"({place}) m, bent as it is there; keep the path inside the workspace, away from stretched poses"
        )
    return RestState(time, q, closing, _zeros(equations, at, q, closing))


def bent_at_rest(arm: Dynamics, guess: Floats, loads: Mapping[str, Floats]) -> Floats:
    """Coordinates with the links bent as they are while the drives hold."""
    try:
        return settle(arm, guess, loads=dict(loads) or None).q
    except NoEquilibriumError as error:
        raise ModelError(str(error)) from None


def _require_held(equations: InversionEquations, A: Floats, time: float, study: str) -> None:
    """Name what nothing holds at rest."""
    size = 1.0 / np.maximum(np.linalg.norm(A, axis=0), np.finfo(float).tiny)
    _, sigma, Vt = np.linalg.svd(A * size)
    if sigma[-1] > LOOSE * sigma[0]:
        return
    arm = equations.arm
    part = np.abs(Vt[-1, : arm.size])
    names = [name for name, share in zip(arm.names, part, strict=True) if share > 0.3 * part.max()]
    raise ModelError(
        f"study '{study}': at rest, at {time:.4g} s, nothing holds {' and '.join(names[:6])} of robot "
        f"'{arm.robot.name}' while the frame stays where it is; stable inversion needs one state of rest: fix floating "
        "bases, give passive joints a spring or a drive, or name frames that the drives lead"
    )


def _zeros(equations: InversionEquations, at: Instants, q: Floats, closing: Floats) -> NDArray[np.complex128]:
    """Transmission zeros from efforts to frames: motions z^t of the linearised equations with the frames at rest."""
    from scipy.linalg import eig

    still = np.zeros((1, len(q)))
    s = equations.slopes(at, Levels(q[None], still, still), closing[None])
    n, k = len(q), len(closing)
    # unknowns q, lambda, v: q' = v and  M v' + D v + K q - Jc^T lambda = 0
    A = np.block([[np.zeros((n, n + k)), np.eye(n)], [-s.q[0], -s.closing[0], -s.v[0]]])
    E = np.block([[np.eye(n), np.zeros((n, n + k))], [np.zeros((n + k, n + k)), s.a[0]]])
    values: Any = eig(A, E, right=False, homogeneous_eigvals=True)
    upper, lower = values
    finite = np.abs(lower) > np.abs(upper) / INFINITE
    return np.asarray(upper[finite] / lower[finite], dtype=complex)


def slowest(zeros: NDArray[np.complex128], band: float) -> float:
    """1/s: the least rate at which motions with frames at rest decay or grow, of those within a band (rad/s)."""
    inside = zeros[np.abs(zeros.imag) < band]
    return float(np.abs(inside.real).min(initial=np.inf))


@dataclass(frozen=True, eq=False)
class InversionSolution:
    """Splines of all coordinates and of the forces of closures.

    equations     what they solve
    space         knots
    coefficients  (splines, n + closures)
    window        s, s: when the path moves
    rests         the states of rest before and after
    steps         distances (m) of the frames at the points, step by step
    excess        m: largest distance from the path, and gap of a loop, at and between knots
    unbalanced    m: root mean square there of forces that no drive gives, as motions of the frames
    settled       whether the steps came to an end
    """

    equations: InversionEquations
    space: SplineSpace
    coefficients: Floats
    window: tuple[float, float]
    rests: tuple[RestState, RestState]
    steps: tuple[Approximation, ...]
    excess: float
    unbalanced: float
    settled: bool

    @property
    def spacing(self) -> float:
        """s: distance of knots."""
        return float(np.diff(self.space.edges).max())

    @property
    def unknowns(self) -> int:
        """Number of coefficients."""
        return self.coefficients.size

    @cached_property
    def span(self) -> tuple[float, float]:
        """s, s: first and last knot."""
        return float(self.space.edges[0]), float(self.space.edges[-1])

    def levels(self, times: Floats) -> Levels:
        """All coordinates with rates and accelerations, each (times, n); at rest outside of the knots."""
        n, (first, last) = self.equations.arm.size, self.span
        found = self.space.levels(self.space.basis(np.clip(times, first, last)), self.coefficients[:, :n])
        outside = (times < first) | (times > last)
        found.v[outside] = found.a[outside] = 0.0
        return found

    def closing(self, times: Floats) -> Floats:
        """Forces of the closures in use (times, closures)."""
        n = self.equations.arm.size
        if not self.equations.kept:
            return np.zeros((len(times), 0))
        basis = self.space.basis(np.clip(times, *self.span))
        return self.space.levels(basis, self.coefficients[:, n:]).q

    def efforts(self, times: Floats) -> Floats:
        """What the drives do (times, inputs)."""
        return self.equations.efforts(self.equations.at(times), self.levels(times), self.closing(times))


class Inversion:
    """The search for a solution on finer and finer knots.

    equations  what must hold
    window     s, s: when the path moves
    last       s: up to when it must hold
    guess      configurations (times, n) along the path, for the first step
    """

    def __init__(
        self,
        equations: InversionEquations,
        window: tuple[float, float],
        last: float,
        guess: Callable[[Floats], Floats],
        study: str,
        report: Report | None = None,
    ) -> None:
        self.equations, self.window, self.last, self.guess = equations, window, last, guess
        self.study, self.report = study, report
        ends = guess(np.array([0.0, max(window[1], last)]))
        self.rests = (
            rest_state(equations, 0.0, ends[0], study),
            rest_state(equations, max(window[1], last), ends[1], study),
        )

    @property
    def duration(self) -> float:
        """s: from the first motion to the last."""
        return self.window[1] - self.window[0] or self.last

    @cached_property
    def active(self) -> tuple[float, float]:
        """s, s: between these times the path moves or loads change."""
        if not self.window[1] or self._loads_change:
            return 0.0, max(self.window[1], self.last)
        return self.window

    @property
    def _loads_change(self) -> bool:
        times = np.linspace(0.0, self.last, LOOKS, endpoint=False)
        return any(np.ptp(load.signals(times), axis=0).any() for load in self.equations.loads if load.channels)

    def knots(self, spacing: float) -> Floats:
        """Even knots from rest to rest; they meet the beginning of the motion."""
        begin, end = self.active
        before, after = (self._rest(rest, spacing) for rest in self.rests)
        if self._rings(spacing):
            after = max(after, self.last + LEAST_REST * spacing - end)
        count = int(np.ceil((end - begin) / spacing - 1e-9))
        h = (end - begin) / count
        ahead, behind = int(np.ceil(before / h)), int(np.ceil(after / h))
        return np.asarray(begin + h * np.arange(-ahead, count + behind + 1))

    def _rest(self, rest: RestState, spacing: float) -> float:
        return float(max(min(_time_of_rest(rest, spacing), MOST_REST * self.duration), LEAST_REST * spacing))

    def _rings(self, spacing: float) -> bool:
        """Whether motions of the links with the frames at rest last longer than there is time for them."""
        return _time_of_rest(self.rests[1], spacing) > MOST_REST * self.duration

    def solve(self, spacing: float, tolerance: float, before: InversionSolution | None = None) -> InversionSolution:
        """The least squares on knots of a spacing, from the rigid motion or from a solution on others."""
        eq, n = self.equations, self.equations.arm.size
        space = SplineSpace(self.knots(spacing))
        basis, at = space.basis(space.points), eq.at(space.points)
        X = space.fitted(self._first if before is None else lambda t: _whole(before, t))
        fixed, drawn, ends = np.zeros(X.shape, dtype=bool), np.zeros(X.shape, dtype=bool), X.copy()
        last = drawn if self._rings(spacing) else fixed
        for place, rest, held in zip((slice(HELD), slice(-HELD, None)), self.rests, (fixed, last), strict=True):
            ends[place, :n], held[place, :n] = rest.q, True
        X[fixed] = ends[fixed]
        normal, weights = BandedNormal(space, basis, fixed, drawn), space.weights[:, None]

        def levels(X: Floats) -> tuple[Levels, Floats, Floats]:
            x, closing = space.levels(basis, X[:, :n]), space.levels(basis, X[:, n:]).q
            return x, closing, eq.residuals(at, x, closing)

        x, closing, r = levels(X)
        cost, done, settled = float(np.linalg.norm(r * weights)), [self._distance(at, x.q)], False
        for k in range(STEPS):
            if self.report is not None and self.report(k, self.last * k / STEPS, done[-1]):
                raise InterruptedInversionError("interrupted before there was a solution")
            s = eq.slopes(at, x, closing)
            none = np.zeros_like(s.closing)
            slopes = [np.concatenate(pair, axis=2) for pair in ((s.q, s.closing), (s.v, none), (s.a, none))]
            for slope in slopes:
                slope *= weights[:, :, None]
            step, part = normal.step(r * weights, (slopes[0], slopes[1], slopes[2]), X - ends), 1.0
            while True:
                x, closing, moved = levels(X + part * step)
                less = float(np.linalg.norm(moved * weights))
                if less <= cost * (1 + 1e-9) or part < SHORTEST:
                    break
                part /= 2
            change = float(np.abs(moved - r).max())
            X, r = X + part * step, moved
            done.append(self._distance(at, x.q))
            settled = abs(cost - less) <= SETTLED * cost or change <= SETTLED * tolerance
            cost = less
            if settled or not np.isfinite(cost):
                break
        found = InversionSolution(eq, space, X, self.window, self.rests, tuple(done), np.inf, np.inf, settled)
        excess, unbalanced = self._between(found)
        return replace(found, excess=excess, unbalanced=unbalanced)

    def _first(self, times: Floats) -> Floats:
        """The rigid motion, bent as at rest."""
        begin, end = self.active
        u = np.clip((times - begin) / (end - begin), 0.0, 1.0)[:, None]
        u = u**3 * (10 - 15 * u + 6 * u * u)
        a, b = self.rests
        ends = self.guess(np.array([a.time, b.time]))
        q = self.guess(times) + (1 - u) * (a.q - ends[0]) + u * (b.q - ends[1])
        return np.hstack([q, (1 - u) * a.closing + u * b.closing])

    def _distance(self, at: Instants, q: Floats) -> Approximation:
        off = np.linalg.norm(self.equations.led(at, q), axis=1)
        return Approximation(float(off.max(initial=0.0)), float(np.sqrt(np.mean(off**2))))

    def _between(self, found: InversionSolution) -> tuple[float, float]:
        """Largest residual of the geometry and root mean square of that of forces, at and between knots, m."""
        eq, edges = self.equations, found.space.edges
        times = np.concatenate([edges, (edges[1:] + edges[:-1]) / 2])
        times = times[times <= max(self.last, self.window[1])]
        r = eq.residuals(eq.at(times), found.levels(times), found.closing(times))
        forces, geometry = np.split(r, [len(eq.weight)], axis=1)
        return float(np.abs(geometry).max(initial=0.0)), float(np.sqrt(np.mean(np.sum(forces**2, axis=1))))


def _time_of_rest(rest: RestState, spacing: float) -> float:
    """s: until motions that knots of a spacing can represent have decayed."""
    rate = slowest(rest.zeros, np.pi / spacing)
    return REST / rate if rate > 0 else np.inf


def _whole(found: InversionSolution, times: Floats) -> Floats:
    """Coordinates and forces of closures of a solution."""
    return np.hstack([found.levels(times).q, found.closing(times)])
