"""The fastest move, or the one of least effort, from rest to rest: efforts and motion that a simulation confirms."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import state_of_rest
from pliant.analysis.statics import NoEquilibriumError
from pliant.analysis.tangent import tangent
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, did_you_mean
from pliant.export.casadi import casadi_package
from pliant.formulations.loops.loops import LoopError
from pliant.model.notebook import html_page
from pliant.moves.collocation import Ends, Guess, MoveProblem, Objective, Solution
from pliant.moves.first_guess import MoveError, as_guess, dense_states, move_problem
from pliant.moves.move_limits import Bounds, MoveLimits, bounds_of
from pliant.moves.move_replay import MoveReplay, replayed, write_move
from pliant.simulation.run import SimulationWarning

if TYPE_CHECKING:
    from pliant.states import States

Floats = NDArray[np.float64]

INTERVALS = 40
SMOOTHING = 0.05
"""rad/s or m/s: least velocity at which dry friction is fully developed in the optimisation."""
CHATTER = 1e-4
"""Weight of the squared steps of efforts, in parts of their limits, beside the objective in parts of its size."""
ITERATIONS = 500
NEAR = 1e-4
"""m: how far the simulated frame may be from the computed one."""
AT_LIMIT = 1e-3
"""Part of its range by which something may stay away from a limit and still be at it."""
LOOSE = 1e-9
"""Stiffness, of coordinates of unit stiffness, below which nothing holds a motion."""
WORDS = {
    "Infeasible_Problem_Detected": "there is no such move near the guess",
    "Maximum_Iterations_Exceeded": "it needs more iterations",
    "Restoration_Failed": "it found no motion that obeys the equations",
    "User_Requested_Stop": "it was interrupted",
    "Invalid_Number_Detected": "the equations of motion gave no numbers on the way",
    "Solved_To_Acceptable_Level": "the objective may still be a little smaller",
}


@dataclass(frozen=True, eq=False)
class OptimalMove:
    """A move from rest to rest.

    arm         the robot
    objective   "time" or "energy"
    duration    s
    cost        s, or the integral of the squared efforts, each in parts of its size (``sizes``)
    time        instants (N + 1,)
    q, v        coordinates and rates there (N + 1, n)
    tau         efforts (N + 1, inputs): held from each instant to the next, or lines between them (``interpolation``);
                the last holds the robot at the end
    start, end  states of rest: coordinates, and the efforts that hold them
    bounds      the limits as arrays
    dense       times, coordinates and rates also at the Radau points between the instants
    active      limits that the move reaches, in words
    notes       what was changed or left out, in words
    replay      the efforts in a simulation of the nonlinear robot
    solution    what IPOPT said: status, iterations, sizes
    """

    arm: Dynamics
    objective: Objective
    duration: float
    cost: float
    sizes: Floats
    time: Floats
    q: Floats
    v: Floats
    tau: Floats
    interpolation: Literal["hold", "linear"]
    start: Ends
    end: Ends
    bounds: Bounds
    dense: tuple[Floats, Floats, Floats]
    active: tuple[str, ...]
    notes: tuple[str, ...]
    replay: MoveReplay
    solution: Solution

    @property
    def converged(self) -> bool:
        """Whether the simulated robot moves as computed."""
        return self.replay.agrees

    @property
    def intervals(self) -> int:
        """Number of intervals between the instants."""
        return len(self.time) - 1

    @cached_property
    def words(self) -> str:
        """The outcome in a sentence."""
        what = (
            f"{self.duration:.4g} s" if self.objective == "time" else f"cost {self.cost:.4g} in {self.duration:.4g} s"
        )
        return (
            f"{what} with {self.intervals} intervals after {self.solution.iterations} iterations; {self.replay.words}"
        )

    def write(self, folder: str | Path, name: str = "move") -> list[Path]:
        """Robot, efforts and motion as files, and two studies that replay them: efforts alone, and with feedback."""
        return write_move(self, Path(folder), name)

    def plot(self, path: str | Path) -> None:
        """Draw joints, rates, efforts with their limits, and the simulated swing into a PNG, SVG or PDF file."""
        from pliant.moves.move_plot import plot_move

        plot_move(self, Path(path))

    def __repr__(self) -> str:
        return f"OptimalMove({self.arm.robot.name!r}, {self.words})"

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{self.q[0, k]:.4g}", f"{self.q[-1, k]:.4g}", f"{np.abs(self.tau[:, j]).max():.4g}")
            for j, name in enumerate(self.arm.inputs)
            for k in (self.arm.names.index(name),)
        ]
        return html_page(repr(self), ("drive", "from", "to", "largest effort"), rows, (*self.active, *self.notes))


def optimal_move(
    arm: Dynamics,
    start: States | None,
    to: States,
    objective: Objective = "time",
    limits: MoveLimits | Mapping[str, Any] | None = None,
    *,
    duration: float | None = None,
    intervals: int = INTERVALS,
    frame: str = "tip",
    tolerance: float = NEAR,
    refinements: int = 2,
    smoothing: float = SMOOTHING,
    chatter: float = CHATTER,
    iterations: int = ITERATIONS,
) -> OptimalMove:
    """The best move of a robot from rest to rest, without vibration at its end. Needs casadi: pip install casadi.

    start, to    joint values by name; what is not named is that of the reference pose (start) or of the start (to). The
                 links begin and end bent as gravity bends them, at rest
    objective    "time": the shortest; "energy": the least integral of the squared efforts, over a given duration
    limits       MoveLimits, or a mapping of their names; what is not given is as the robot's description says
    duration     s, of the objective energy
    intervals    of the collocation, three Radau points each; doubled while the simulation disagrees
    frame        whose simulated path is compared
    tolerance    m: how far it may be from the computed one
    refinements  how often intervals may be doubled
    smoothing    rad/s, m/s: dry friction is made at least so smooth for the optimisation; simulated as it is
    chatter      weight of steps of the efforts
    iterations   of IPOPT

    Raises MoveError where the states cannot be held, or no move is found.
    """
    casadi_package()
    _check_arguments(arm, objective, duration, intervals, frame, tolerance, refinements, smoothing, chatter, iterations)
    bounds = bounds_of(arm, MoveLimits.of(limits))
    first = _at_rest(arm, start, None, "start", bounds)
    last = _at_rest(arm, to, first.q, "to", bounds)
    if np.abs(last.q - first.q).max(initial=0.0) < 1e-12:
        raise MoveError("to is where the robot starts: there is nothing to move")
    if objective == "time":
        _require_bounded(arm, bounds)
    smooth, notes = _smoothed(arm, smoothing)
    problem = move_problem(smooth, first, last, bounds, objective, duration, chatter)
    guess, best = problem.guess, None
    for k in range(refinements + 1):
        solution = problem.solve(intervals << k, guess, iterations)
        if not _is_solved(solution):
            if best is not None:
                break
            raise _not_found(problem, solution)
        guess = as_guess(problem, solution)
        if smooth is not arm:
            # from smooth friction to that of the robot
            sharp = replace(problem, arm=arm)
            exact = sharp.solve(intervals << k, guess, iterations)
            if _is_solved(exact):
                problem, solution, smooth, notes = sharp, exact, arm, ()
                guess = as_guess(problem, solution)
        best = _made(arm, problem, solution, notes, frame, tolerance)
        if best.converged:
            break
    assert best is not None
    for text in best.replay.result.warnings:
        warnings.warn(text, SimulationWarning, stacklevel=2)
    return best


def _is_solved(solution: Solution) -> bool:
    return solution.success or solution.status == "Solved_To_Acceptable_Level"


def _check_arguments(
    arm: Dynamics,
    objective: str,
    duration: float | None,
    intervals: int,
    frame: str,
    tolerance: float,
    refinements: int,
    smoothing: float,
    chatter: float,
    iterations: int,
) -> None:
    if objective not in ("time", "energy"):
        raise ModelError(
            f"objective is {objective!r}; it must be 'time' or 'energy'{did_you_mean(objective, ('time', 'energy'))}"
        )
    if objective == "time" and duration is not None:
        raise ModelError(f"duration is {duration:g} s; objective 'time' finds it: leave it out, or ask for 'energy'")
    if objective == "energy" and (duration is None or not 0 < duration < np.inf):
        raise ModelError(
            f"duration is {duration}; objective 'energy' needs it, in s: the longer a move may take, the less it needs"
        )
    for name, value, least in (
        ("intervals", intervals, 2),
        ("refinements", refinements, 0),
        ("iterations", iterations, 1),
    ):
        if not isinstance(value, int) or value < least:
            raise ModelError(f"{name} is {value!r}; it must be a whole number, at least {least}")
    for name, number in (("tolerance", tolerance), ("smoothing", smoothing)):
        if not 0 < number < np.inf:
            raise ModelError(f"{name} is {number!r}; it must be a positive number")
    if not 0 <= chatter < np.inf:
        raise ModelError(f"chatter is {chatter!r}; it must not be negative")
    if not arm.inputs:
        raise ModelError(f"robot '{arm.robot.name}' has no drive: nothing moves it")
    try:
        arm.mechanism.frame(frame)
    except KeyError as error:
        raise ModelError(f"frame: {error.args[0]}") from None


# ---- states of rest


def _at_rest(arm: Dynamics, given: States | None, before: Floats | None, what: str, bounds: Bounds) -> Ends:
    """A state of rest in which the drives hold what is given; what limits or loops forbid is refused."""
    try:
        q = arm.reference_pose() if before is None else before.copy()
        if isinstance(given, Mapping):
            for name in given:
                if name in arm.names and arm.names.index(name) not in arm.mechanism.joints:
                    raise ModelError(f"{what}: '{name}' is a shape of a link; name joints: links bend as they rest")
            named = arm.labels.states("q", {**arm.labels.by_name(q), **given})
        else:
            named = q if given is None else arm.labels.states("q", given)
        if named.shape != (arm.size,):
            raise ModelError(f"{what} has shape {named.shape}; robot '{arm.robot.name}' needs ({arm.size},)")
        if before is not None:
            elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
            named[elastic] = 0.0 if not isinstance(given, np.ndarray) else named[elastic]
        at = state_of_rest(arm, arm.assemble(named))
    except ModelError:
        raise
    except (NoEquilibriumError, LoopError, ValueError) as error:
        raise MoveError(f"{what}: {error}") from None
    for k in arm.mechanism.joints:
        low, high = bounds.position[:, k]
        if not low - 1e-12 <= at.q[k] <= high + 1e-12:
            raise MoveError(
                f"{what}: {arm.names[k]} is {at.q[k]:.4g} {arm.mechanism.units[k]}, beyond its limits of {low:.4g} to "
                f"{high:.4g}: it cannot be reached"
            )
    _require_held(arm, what, at.q, at.tau, bounds)
    _require_determined(arm, what, at.q, at.tau)
    return Ends(at.q, at.tau)


def _require_held(arm: Dynamics, what: str, q: Floats, tau: Floats, bounds: Bounds) -> None:
    """Refuse a state that the drives cannot hold within their limits, or in which a link is bent too far."""
    for j, name in enumerate(arm.inputs):
        low, high = bounds.effort[:, j]
        if not low <= tau[j] <= high:
            unit = arm.input_labels.units[j]
            raise MoveError(
                f"{what}: it takes {tau[j]:.4g} {unit} at {name} to hold the robot there, and its limits are {low:.4g} "
                f"to {high:.4g} {unit}"
            )
    problem = MoveProblem(
        arm, Ends(q, tau), Ends(q, tau), bounds, "time", None, np.ones(arm.size), np.ones(len(tau)), np.ones(0), (),
        (), 0.0, Guess(None, None, None, None, 1.0),
    )  # fmt: skip
    if problem.path_names:
        for name, part in zip(problem.path_names, problem.along(q), strict=True):
            if part > 1:
                raise MoveError(f"{what}: the {name} is {part:.4g} times its limit at rest there")


def _require_determined(arm: Dynamics, what: str, q: Floats, tau: Floats) -> None:
    """Refuse states in which something is free to be elsewhere: a floating base, a passive joint without weight."""
    still = np.zeros(arm.size)
    t = tangent(arm, q, still, still, tau, dry_friction=False)
    seen = arm.B.T @ t.N
    size = 1.0 / np.sqrt(np.abs(np.diag(t.M)))
    _, s, Vt = np.linalg.svd(seen * size)
    passive = Vt[int((s > 1e-12 * s.max(initial=1.0)).sum()) :].T
    K = passive.T @ (t.K * np.outer(size, size)) @ passive
    if not len(K):
        return
    K, biggest = (K + K.T) / 2, max(np.abs(t.K * np.outer(size, size)).max(), 1e-300)
    values, vectors = np.linalg.eigh(K)
    k = int(np.argmin(np.abs(values)))
    if abs(values[k]) < LOOSE * biggest:
        name = t.names[int(np.argmax(np.abs(passive @ vectors[:, k])))]
        raise MoveError(
            f"{what}: nothing holds {name} there, neither a drive nor weight nor a spring: where the robot rests is "
            "not determined (a floating base, or a passive joint without weight); drive the joint, hold it by a "
            "spring, or fix the base"
        )


def _require_bounded(arm: Dynamics, bounds: Bounds) -> None:
    for j, name in enumerate(arm.inputs):
        if not (np.isfinite(bounds.effort[:, j]).all() or np.isfinite(bounds.effort_rate[j])):
            raise ModelError(
                f"objective 'time': {name} has no limit of its effort, and without one there is no fastest move; give "
                f"limits={{'effort': {{'{name}': ...}}}}, or the joint a motor with max_effort"
            )


def _smoothed(arm: Dynamics, smoothing: float) -> tuple[Dynamics, tuple[str, ...]]:
    """The robot with dry friction that is smooth enough to be differentiated, and what was changed."""
    notes, smooth = [], arm
    for link in arm.robot.links:
        friction = link.joint.friction
        if friction is not None and friction.coulomb and friction.smoothing < smoothing:
            unit = "m/s" if link.joint.mechanics.slides() else "rad/s"
            notes.append(
                f"dry friction of {link.joint.name} is smoothed over {smoothing:g} {unit} instead of "
                f"{friction.smoothing:g} for the optimisation; the simulation has it as it is"
            )
            smooth = smooth.set(f"{link.name}.joint.friction.smoothing", smoothing)
    return smooth, tuple(notes)


# ---- what came out


def _made(
    arm: Dynamics, problem: MoveProblem, solution: Solution, notes: tuple[str, ...], frame: str, tolerance: float
) -> OptimalMove:
    n, T = arm.size, solution.duration
    s, states = dense_states(problem, solution)
    time = np.linspace(0.0, T, len(solution.nodes))
    interpolation: Literal["hold", "linear"] = "linear" if problem.bounds.ramps else "hold"
    dense = (T * s, states[:, :n], states[:, n:])
    q, v = solution.nodes[:, :n], solution.nodes[:, n:]
    lowest = problem.unresolved(len(time) - 1)
    if np.isfinite(lowest):
        notes = (
            *notes,
            f"vibrations from {lowest / (2 * np.pi):.3g} Hz on are too fast for {len(time) - 1} intervals and are not "
            "prescribed to rest at the end; the simulation tells what is left of them",
        )
    told = WORDS.get(solution.status)
    if told:
        notes = (*notes, f"IPOPT: {solution.status}: {told}")
    replay = replayed(arm, problem.start, problem.end, time, q, solution.tau, interpolation, dense, frame, tolerance)
    return OptimalMove(
        arm, problem.objective, T, solution.cost, problem.efforts, time, q, v, solution.tau, interpolation,
        problem.start, problem.end, problem.bounds, dense, tuple(_at_limits(problem, solution)), notes, replay,
        solution,
    )  # fmt: skip


def _at_limits(problem: MoveProblem, solution: Solution) -> list[str]:
    """Limits that are reached, in words."""
    arm, b, n = problem.arm, problem.bounds, problem.arm.size
    states = solution.inside.reshape(-1, 2 * n)
    efforts = solution.tau if b.ramps else solution.tau[:-1]
    tables = [
        *(("effort", name, efforts[:, j], b.effort[:, j]) for j, name in enumerate(arm.inputs)),
        *(("position", name, states[:, k], b.position[:, k]) for k, name in enumerate(arm.names)),
        *(("rate", name, states[:, n + k], b.rate[:, k]) for k, name in enumerate(arm.names)),
    ]
    found = []
    for what, name, values, (low, high) in tables:
        margin = AT_LIMIT * max(abs(x) for x in (low, high) if np.isfinite(x)) if np.isfinite([low, high]).any() else 0
        part = float(np.mean((values <= low + margin) | (values >= high - margin)))
        if part > 0:
            found.append(f"{what} of {name} ({100 * part:.0f} % of the time)")
    if problem.path_names:
        along = np.array([problem.along(q) for q in states[:, :n]])
        for k, name in enumerate(problem.path_names):
            part = float(np.mean(along[:, k] >= 1 - AT_LIMIT))
            if part > 0:
                found.append(f"{name} ({100 * part:.0f} % of the time)")
    steps = np.abs(np.diff(solution.tau, axis=0)) * (len(solution.nodes) - 1) / solution.duration
    for j, name in enumerate(arm.inputs):
        if np.isfinite(b.effort_rate[j]) and (steps[:, j] >= (1 - AT_LIMIT) * b.effort_rate[j]).any():
            found.append(f"effort rate of {name}")
    return found


def _not_found(problem: MoveProblem, solution: Solution) -> MoveError:
    """What IPOPT said, what is missed, and which limits are in the way."""
    why = WORDS.get(solution.status, "it gave up")
    missed = [f"{name} by {by:.2g}" for name, by in solution.violated if by > 1e-6]
    active = _at_limits(problem, solution)
    text = f"no move was found: IPOPT says {solution.status} after {solution.iterations} iterations: {why}"
    if missed:
        text += f"; missed (scaled): {', '.join(missed[:3])}"
    text += f"; limits that are reached: {', '.join(active[:6])}" if active else "; no limit is reached"
    remedy = "a longer duration, " if problem.objective == "energy" else ""
    return MoveError(f"{text}. Try {remedy}wider limits, more intervals or a nearer end")
