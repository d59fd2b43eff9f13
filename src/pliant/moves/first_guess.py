"""The problem of a move in its own sizes, and the motion from which its solution is looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError
from pliant.formulations.loops.loops import LoopError
from pliant.moves.collocation import Ends, Guess, MoveProblem, Objective, Solution

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.moves.move_limits import Bounds

Floats = NDArray[np.float64]


class MoveError(ModelError):
    """There is no such move, or none was found."""


def move_problem(
    arm: Dynamics,
    first: Ends,
    last: Ends,
    bounds: Bounds,
    objective: Objective,
    duration: float | None,
    chatter: float,
) -> MoveProblem:
    rows = tuple(arm.loops.kept_at(last.q)) if arm.loops.rows else ()
    fixed = tuple(arm.names.index(name) for name in arm.independent)
    guess, sizes = _guessed(arm, first, last, bounds, duration, rows)
    return MoveProblem(arm, first, last, bounds, objective, duration, *sizes, fixed, rows, chatter, guess)


SAMPLES = 41
"""Instants of the first guess."""


def _guessed(
    arm: Dynamics, first: Ends, last: Ends, bounds: Bounds, duration: float | None, rows: tuple[int, ...]
) -> tuple[Guess, tuple[Floats, Floats, Floats]]:
    """A quintic of all drives, slow enough for their limits; sizes of coordinates, efforts and closing forces."""
    from scipy.interpolate import CubicSpline

    s, fastest = np.linspace(0.0, 1.0, SAMPLES), duration is None
    smooth = 10 * s**3 - 15 * s**4 + 6 * s**5
    q = first.q + smooth[:, None] * (last.q - first.q)
    if arm.loops.rows:
        try:
            q[1:-1] = arm.assemble(q[1:-1])
        except LoopError as error:
            raise MoveError(f"the loops do not close between start and end: {error}") from None
    curve = CubicSpline(s, q, bc_type="clamped")
    still = np.zeros_like(q)
    weight = arm.forces(q, still, still)
    holding = _balanced(arm, q, weight, rows)
    moving = _balanced(arm, q, arm.forces(q, still, curve(s, 2)) - weight, rows)
    if duration is None:
        duration = _slow_enough(bounds, holding.efforts, moving.efforts, curve(s, 1))
    wanted, pulling, load = (x + y / duration**2 for x, y in zip(holding, moving, strict=True))
    largest = np.abs(wanted).max(axis=0)
    limits = np.abs(bounds.effort).max(axis=0)
    # the fastest move is at its limits, one of least effort far below them
    known = np.isfinite(limits) if fastest else limits < largest
    efforts = np.where(known, limits, np.maximum(largest, 1e-9 + 1e-3 * largest.max()))
    pulls = np.abs(pulling).max(axis=0)
    pulls = np.maximum(pulls, 1e-3 * pulls.max(initial=0.0) + 1e-9)
    # links bend by what inertia, weight and closures do to them
    stiffness = np.diag(arm.stiffness)
    moved = np.abs(q - q[0]).max(axis=0)
    bent = np.abs(load).max(axis=0) / np.where(stiffness > 0, stiffness, 1.0)
    scale = np.maximum(moved, np.where(stiffness > 0, bent, 0.0))
    joints = arm.mechanism.joints
    elastic = np.setdiff1d(np.arange(arm.size), joints)
    scale[joints] = np.maximum(scale[joints], 0.1 * max(scale[joints].max(initial=0.0), 1e-6))
    # a shape that nothing bends now may be bent by what others do
    scale[elastic] = np.maximum(scale[elastic], 1e-2 * np.abs(load).max() / np.maximum(stiffness[elastic], 1e-300))
    clipped = np.clip(wanted, *bounds.effort)
    guess = Guess(curve, lambda x: curve(x, 1) / duration, CubicSpline(s, clipped), CubicSpline(s, pulling), duration)
    return guess, (scale, efforts, pulls)


class _Balance(NamedTuple):
    """Efforts (times, inputs), closing forces (times, rows) and what they leave on the coordinates (times, n)."""

    efforts: Floats
    pulling: Floats
    left: Floats


def _balanced(arm: Dynamics, q: Floats, forces: Floats, rows: tuple[int, ...]) -> _Balance:
    """Efforts and closing forces that balance forces (times, n) on the joints."""
    joints, m = arm.mechanism.joints, len(arm.inputs)
    found = []
    for each, f in zip(q, forces, strict=True):
        acting = np.hstack([arm.B, arm.loops.jacobian(each)[list(rows)].T])
        x = np.linalg.lstsq(acting[joints], f[joints], rcond=None)[0]
        found.append((x[:m], x[m:], f - acting @ x))
    return _Balance(*(np.array(part) for part in zip(*found, strict=True)))


def _slow_enough(bounds: Bounds, holding: Floats, moving: Floats, rates: Floats) -> float:
    """A duration at which the efforts of a quintic, and its rates, are within their limits."""
    room = np.minimum(bounds.effort[1] - holding, holding - bounds.effort[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.sqrt(np.abs(moving) / np.maximum(room, 0.05 * np.abs(bounds.effort).max(axis=0)))
        fastest = np.abs(rates).max(axis=0) / np.abs(bounds.rate).min(axis=0)
        # an effort that may only ramp takes a jerk over a quarter of the time
        ramp = np.cbrt(4 * np.abs(moving).max(axis=0) / bounds.effort_rate)
    known = np.concatenate([each[np.isfinite(each)].ravel() for each in (needed, fastest, ramp)])
    return float(known.max(initial=1e-3))


def as_guess(problem: MoveProblem, solution: Solution) -> Guess:
    """A solution as the guess of a finer one."""
    from scipy.interpolate import interp1d

    n, N = problem.arm.size, len(solution.nodes) - 1
    s, states = dense_states(problem, solution)
    motion = interp1d(s, states, axis=0)
    nodes = np.linspace(0.0, 1.0, N + 1)
    kind = "linear" if problem.bounds.ramps else "previous"
    efforts = interp1d(nodes, solution.tau, axis=0, kind=kind)
    pulls = interp1d(s, np.vstack([solution.closing[:1, 0], solution.closing.reshape(len(s) - 1, -1)]), axis=0)
    return Guess(lambda x: motion(x)[:, :n], lambda x: motion(x)[:, n:], efforts, pulls, solution.duration)


def dense_states(problem: MoveProblem, solution: Solution) -> tuple[Floats, Floats]:
    """States at the start and at all Radau points, with their parts of the time."""
    at, _ = problem.points
    N, n = len(solution.nodes) - 1, problem.arm.size
    s = np.concatenate([[0.0], ((np.arange(N)[:, None] + at) / N).ravel()])
    return s, np.vstack([solution.nodes[:1], solution.inside.reshape(-1, 2 * n)])
