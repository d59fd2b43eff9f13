"""Which integrator fits: how fast the fastest motion of the model is, against the motions that matter."""

from __future__ import annotations

from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.modes import held_squares, modes
from pliant.analysis.statics import NoEquilibriumError
from pliant.bodies.families import family_of
from pliant.engine.stepping.steppers import STEPPERS
from pliant.simulation.monitoring.watches import (
    SAMPLED,
    SLOW_GROWTH,
    STILL,
    Growth,
    differences,
    fastest_growth,
    has_dry_friction,
    kinks,
    linear_model,
)
from pliant.simulation.requests import Request
from pliant.simulation.state_equations import DIFFERENCE, StateEquations
from pliant.simulation.study import IntegratorOptions

Floats = NDArray[np.float64]

RELEVANT = 3
"""The lowest frequencies that a motion is taken to excite ..."""
SPREAD = 30.0
"""... unless they are so many times the lowest one."""
EXPLICIT_REACH = 4.0
"""Step times fastest rate that the explicit method can take: its region of stability, with a margin."""
EXPLICIT_STEPS = 10_000
"""So many explicit steps are taken without a second thought."""
STIFF = 200.0
"""Ratio of the fastest to the relevant rate from which implicit steps pay at a tolerance of 1e-8: each costs some
explicit ones, and they follow the relevant motion at a lower order: they pay sooner where fewer digits are wanted."""
STIFF_DAMPED = 70.0
"""Ratio where the fastest motion is damped away: implicit steps may pass over it, explicit ones may not."""
FEW_STEPS = 3000
"""So many explicit steps are done before implicit ones could be compiled."""
STRIDE = 6.0
"""Step times fastest rate that explicit steps reach where nothing but stability limits them."""
PER_RADIAN, AT_TOLERANCE, ORDER = 0.6, 1e-8, STEPPERS["esdirk"].order
"""Implicit steps per radian of the fastest motion that is still there, at a tolerance, and their order."""
AFTER_BREAK = 25
"""Implicit steps that grow from a small one, at the start and wherever the motion is not smooth."""
IMPLICIT_COST, FULL_MATRIX = 4.0, 130
"""An implicit step in explicit ones, with a margin, and the coordinates from which its matrices count."""
FINE_STRIDE, FINE_ORDER = 1.2, STEPPERS["dop853"].order
"""Step times rate that explicit steps take where they follow a vibration at the tolerance above, and their order."""
COLLOCATED_STRIDE, COLLOCATED_ORDER = 12.0, 17
"""Step times rate that collocation takes there, and the order of its error ..."""
COLLOCATED_COST, COLLOCATED_MATRIX = 3.0, 32
"""... whose steps cost so many explicit ones, and the coordinates from which its matrices count."""
COLLOCATED_BREAK = 20
"""Steps of it that are lost wherever the motion is not smooth."""
SLOWEST_CONVERGENCE = 0.1
"""What Newton's method may leave of an error, by damping that is not each vibration's own."""
MOVING = 1.0
"""Rates, 1/s, at which dry friction does no longer act like damping."""

LARGE = 800
"""States up to which the linearised model is a matrix."""
ITERATED = 300
"""States from which on the fastest rate is found by iteration, which is sooner done than all of them ..."""
ROUGHLY = 1e-2
"""... to so many digits."""
MOST_IMPLICIT = 4000
"""Coordinates up to which the matrices of implicit steps fit into a common memory."""

UNSTABLE = "implicit steps would erase it, explicit ones follow it; look at the sign of feedback, damping and friction"
"""What is said of a motion that grows too fast for implicit steps."""


class LinearStart(Request[float]):
    """The model linearised at its start, damping and feedback included; its value is the fastest rate, rad/s."""

    def __init__(self, equations: StateEquations, q: Floats, v: Floats) -> None:
        self.equations, self.q, self.v = equations, q, v

    @cached_property
    def value(self) -> float:
        """The largest size of a pole, rad/s; endless where there is no linear model."""
        if self.states > ITERATED:
            return _largest_rate(self.equations, self.y)
        if not np.isfinite(self.matrix).all():
            return inf
        return float(np.abs(self.poles).max(initial=0.0))

    @cached_property
    def y(self) -> Floats:
        """The state at the start."""
        return self.equations.start(self.q, self.v)

    @property
    def states(self) -> int:
        """Coordinates, rates and states of the drive."""
        return int(self.equations.layout.drive.stop)

    @cached_property
    def matrix(self) -> Floats:
        """A of x' = A x."""
        return _state_matrix(self.equations, self.y)

    @cached_property
    def poles(self) -> NDArray[np.complex128]:
        """Eigenvalues of the matrix, 1/s."""
        return np.asarray(np.linalg.eigvals(self.matrix), dtype=complex)

    @cached_property
    def growth(self) -> Growth:
        """The motion that grows fastest, states of the drive included; unknown in large models."""
        if self.states > ITERATED:
            return STILL
        roughly = fastest_growth(self.equations, self.matrix)
        if roughly.rate <= SLOW_GROWTH:
            return roughly
        # one-sided quotients may only seem to grow
        return fastest_growth(self.equations, linear_model(self.equations, 0.0, self.y))


def fastest_rate(equations: StateEquations, q: Floats, v: Floats) -> float:
    """The fastest motion of the model linearised at its start, damping and feedback included, rad/s."""
    return LinearStart(equations, q, v).value


def _state_matrix(equations: StateEquations, y: Floats) -> Floats:
    """A of x' = A x for small motions, by difference quotients.

    A choice needs few digits, and no derivatives are compiled for it.
    """
    n, m = equations.layout.v.stop, equations.layout.q.stop
    if equations.states:
        moved = differences(equations, y)
        f = equations.rates(0.0, y)
        with np.errstate(all="ignore"):
            columns = [(equations.rates(0.0, y + e) - f) / e.sum() for e in moved]
        return np.array(columns).T[: len(columns)]
    # the state itself, and moved along each of its coordinates and rates
    a = equations.accelerations(0.0, y + DIFFERENCE * np.eye(n + 1, len(y), -1))
    A = np.eye(n, n, m)
    A[m:] = (a[1:] - a[0]).T / DIFFERENCE
    return A


SOFTER = " (one a hundred times as soft at a tenth of it, and costs as much less)"
"""What helps against stops that are harder than they need be."""
OWN = 2.0
"""Factor by which the drive's own states make the fastest motion faster where it is theirs."""
DAMPED = 0.7
"""Part of a pole that is real from which it is damping that makes the motion fast."""


def fastest_motion(start: LinearStart, q: Floats) -> tuple[str, bool]:
    """What the fastest motion is: the coordinate that carries most of its energy and why, and whether it is damped."""
    equations, m = start.equations, start.equations.layout.q.stop
    if 2 * m > LARGE or not m:
        return "", False
    poles, vectors = np.linalg.eig(start.matrix)
    which = int(np.argmax(np.abs(poles)))
    if equations.states and OWN * np.abs(np.linalg.eigvals(start.matrix[: 2 * m, : 2 * m])).max() < abs(poles[which]):
        return ", of the drive's own states", -poles[which].real > DAMPED * abs(poles[which])
    moving = np.zeros(equations.arm.size, dtype=complex)
    moving[list(equations.moving)] = vectors[m : 2 * m, which]
    shares = (moving.conj() * _momenta(equations, q, moving)).real
    name = equations.arm.names[int(np.argmax(np.abs(shares)))]
    pole = poles[which]
    if -pole.real > DAMPED * abs(pole):
        return f", mostly of '{name}', where damping is what makes it fast", True
    family = family_of(name.split(".")[-2]) if name.count(".") > 1 else None
    return f", mostly of '{name}'" + (f": {family.fast}" if family is not None and family.fast else ""), False


def _momenta(equations: StateEquations, q: Floats, v: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """M v (n,); of a tree from accelerations by unit forces, for which nothing more is compiled."""
    n, forward = equations.arm.size, equations.loops.forward
    if equations.loops.rows:
        return np.asarray(equations.arm.mass_matrix(q) @ v)
    still = np.zeros(n)
    mobility = np.array([forward(q, still, unit) for unit in np.eye(n)]) - forward(q, still, still)
    return np.asarray(np.linalg.solve(mobility, v))


def _largest_rate(equations: StateEquations, y: Floats) -> float:
    """The fastest rate by iteration, without a matrix: the directions that a few evaluations in a row blow up."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    n, f = equations.layout.drive.stop, equations.rates(0.0, y)

    def derivative(x: Floats) -> Floats:
        size = float(np.linalg.norm(x)) or 1.0
        moved = y.copy()
        moved[:n] += DIFFERENCE / size * x.ravel()
        slope: Floats = (equations.rates(0.0, moved) - f)[:n] * (size / DIFFERENCE)
        return slope

    if not np.isfinite(f).all():
        return inf
    # the same beginning every time: a run that is resumed shall choose what it chose
    first = np.cos(np.arange(n) ** 2)
    try:
        slopes = LinearOperator((n, n), derivative, dtype=float)
        found = eigs(slopes, 2, v0=first, tol=ROUGHLY, return_eigenvectors=False)
    except (ArpackError, ValueError):
        return inf
    return float(np.abs(found).max())


def _touched_rate(equations: StateEquations, q: Floats, v: Floats) -> tuple[float, str]:
    """How fast the robot rings on the hardest stop or contact that it may touch, rad/s, and what that is."""
    touched = [load for load in equations.loads if load.touched]
    if not touched or equations.constrained is not None:
        return 0.0, ""
    free = equations.loops.forward(q, v, np.zeros(len(q)))

    def mobility(f: Floats) -> float:
        return float(f @ (equations.loops.forward(q, v, f) - free))

    return max((load.rate(q, mobility), load.touched) for load in touched)


def _relevant(equations: StateEquations, q: Floats) -> float:
    """The fastest of the natural frequencies that a motion excites; endless where there are none to be found."""
    from pliant.simulation.integrators.compiled import compilable
    from pliant.simulation.integrators.compiled_systems import inertia_and_stiffness

    arm, law = equations.arm, compilable(equations)
    found = None if law is None else inertia_and_stiffness(equations, law, q)
    try:
        rates = np.sqrt(np.abs(modes(arm, q).squares if found is None else held_squares(arm, *found)))
    except NoEquilibriumError:
        # loops whose drives cannot hold them have no vibrations about a state of rest
        return inf
    # motions without stiffness have no rate; those that fall grow at theirs
    lowest = np.sort(rates[rates > 0])[:RELEVANT]
    return float(lowest[lowest <= SPREAD * lowest[0]].max()) if len(lowest) else inf


def followed(poles: NDArray[np.complex128], until: float, breaks: int, tolerance: float) -> float:
    """How far the fastest motion turns that is still there, rad, from the start to the end.

    Whatever is excited at the start and at every break dies away to the tolerance by its own damping; what is slowest
    stays to the end.
    """
    order = np.argsort(-np.abs(poles))
    rates, damping = np.abs(poles)[order], np.maximum(-poles.real[order], 0.0)
    memory = (1 + breaks) * np.log(1.0 / tolerance)
    total, reached = 0.0, 0.0
    for rate, loss in zip(rates, damping, strict=True):
        lasting = until if loss * until <= memory else memory / loss
        total += rate * max(lasting - reached, 0.0)
        reached = max(lasting, reached)
    return float(total + rates[-1] * (until - reached)) if len(rates) else 0.0


def estimated_steps(start: LinearStart, until: float, tolerance: float) -> tuple[float, float]:
    """Estimates of the steps that a run takes: explicit, limited by stability alone, and implicit; endless if unknown.

    With dry friction both are the worse of two for the comparison: at the start, and in motion, where it does not damp.
    """
    equations = start.equations
    if start.states > ITERATED or not start.states or equations.loops.rows or not np.isfinite(start.matrix).all():
        return 0.0, inf
    poles = [start.poles]
    if has_dry_friction(equations):
        moving = start.y.copy()
        moving[equations.layout.v] += MOVING
        A = _state_matrix(equations, moving)
        if not np.isfinite(A).all():
            return 0.0, inf
        poles.append(np.asarray(np.linalg.eigvals(A), dtype=complex))
    breaks = sum(0.0 < t < until for t in equations.breaks)
    radians = max(followed(found, until, breaks, tolerance) for found in poles)
    explicit = min(float(np.abs(found).max()) for found in poles) * until / STRIDE
    return explicit, AFTER_BREAK * (1 + breaks) + PER_RADIAN * _finer(tolerance) * radians


def collocated_steps(start: LinearStart, until: float, tolerance: float) -> tuple[float, float]:
    """Estimates of the steps that follow all vibrations of a run: explicit, and by collocation; endless if not at all.

    Collocation follows smooth motion alone, and converges where damping is small or each vibration's own.
    """
    from pliant.engine.stepping.gauss_legendre import gauss_legendre
    from pliant.engine.stepping.stage_modes import StageModes
    from pliant.simulation.integrators.compiled import compilable

    equations, m = start.equations, start.equations.count
    if start.states > ITERATED or kinks(equations) or compilable(equations) is None:
        return 0.0, inf
    A, rate = start.matrix[m : 2 * m], start.value
    modes = StageModes.of(-A[:, :m], -A[:, m : 2 * m])
    across = modes.inverse @ -A[:, m : 2 * m] @ modes.shapes
    np.fill_diagonal(across, 0.0)
    # the part of a step by which damping counts in an iteration
    largest = float(np.abs(gauss_legendre().eigenvalues).max())
    slowed = COLLOCATED_STRIDE / rate * largest * float(np.linalg.norm(across, 2))
    # vibrations that cannot be taken apart are not known there
    if slowed > SLOWEST_CONVERGENCE or 2 * np.abs(modes.squares).max() < rate * rate:
        return 0.0, inf
    breaks = sum(0.0 < t < until for t in equations.breaks)
    lasting = min(followed(start.poles, until, breaks, tolerance), rate * until)
    coarser = tolerance / AT_TOLERANCE
    stride = min(FINE_STRIDE * coarser ** (1.0 / FINE_ORDER), STRIDE)
    explicit = lasting / stride + (rate * until - lasting) / STRIDE
    collocated = lasting / (COLLOCATED_STRIDE * coarser ** (1.0 / COLLOCATED_ORDER))
    return explicit, collocated + COLLOCATED_BREAK * (1 + breaks)


def cautions(method: str, equations: StateEquations, reason: str) -> tuple[str, ...]:
    """What a user should know about a method that was asked for or taken for a reason, in words."""
    if UNSTABLE in reason:
        return (reason,)
    # steps end at the ticks of a sampled controller
    if method != "gauss" or not (found := [what for what in kinks(equations) if what != SAMPLED]):
        return ()
    what = f"gauss is for smooth motion, and may pass over kinks of {' and '.join(found)} unseen"
    return (f"{what}: dop853 and esdirk follow them",)


def _finer(tolerance: float) -> float:
    """Implicit steps at a tolerance, in those at the usual one."""
    return float((AT_TOLERANCE / tolerance) ** (1.0 / ORDER))


def _about(count: float) -> str:
    """A number of steps as far as it is known."""
    return f"{float(f'{count:.1g}'):.0f}"


def choose(
    options: IntegratorOptions,
    equations: StateEquations,
    q: Floats,
    v: Floats,
    until: float,
    start: LinearStart | None = None,
) -> tuple[str, str]:
    """The method to use and the reason in words; ``start`` if the model is linearised already."""
    if options.method != "auto":
        return options.method, "as asked for"
    start = LinearStart(equations, q, v) if start is None else start
    fastest = start.value
    method, why = _established(options, start, q, v, until, fastest)
    if method == "esdirk" and (growth := start.growth).rate > SLOW_GROWTH:
        relevant = _relevant(equations, q)
        # steps that pass over it follow what is slower
        if not np.isfinite(relevant) or growth.rate > relevant:
            return "dop853", f"{growth.words}: {UNSTABLE}"
    if method == "dop853" and FEW_STEPS < fastest * until / FINE_STRIDE < inf:
        explicit, collocated = collocated_steps(start, until, options.tolerance)
        fewest = 0.0 if options.max_step is None else until / options.max_step
        explicit, collocated = max(explicit, fewest), max(collocated, fewest)
        cost = COLLOCATED_COST + (equations.arm.size / COLLOCATED_MATRIX) ** 2
        # its code is compiled once: so many steps are to be saved
        if explicit - cost * collocated > FEW_STEPS:
            return (
                "gauss",
                f"the fastest motion of the model is {fastest:.4g} rad/s, and it does not die away: about "
                f"{_about(collocated)} steps of order {STEPPERS['gauss'].order} instead of {_about(explicit)} explicit "
                "ones",
            )
    return method, why


def _established(
    options: IntegratorOptions, start: LinearStart, q: Floats, v: Floats, until: float, fastest: float
) -> tuple[str, str]:
    """The method among explicit and damping implicit steps, and the reason in words."""
    equations = start.equations
    if not np.isfinite(fastest):
        return "dop853", "the model could not be linearised at its start"
    what = f"the fastest motion of the model is {fastest:.4g} rad/s"
    stops, touched = _touched_rate(equations, q, v)
    stopped = stops > fastest
    if stopped:
        fastest, what = stops, f"a touched {touched} rings at {stops:.4g} rad/s"
    # the fastest rate that lasts: friction damps at rest alone
    lasting = fastest
    # pressures behind valves follow faster in motion than at a start with shut ones
    own = max((load.fastest for load in equations.loads), default=0.0)
    if not stops and max(fastest, own) * until / STRIDE > FEW_STEPS:
        explicit, implicit = estimated_steps(start, until, options.tolerance)
        explicit = max(explicit, own * until / STRIDE)
        if own > fastest:
            what = f"states of actuators may follow at {own:.4g} 1/s"
        lasting = explicit * STRIDE / until or fastest
        cost = IMPLICIT_COST + (equations.arm.size / FULL_MATRIX) ** 2
        if explicit > max(FEW_STEPS, cost * implicit):
            whose = "" if own > fastest else fastest_motion(start, q)[0]
            return (
                "esdirk",
                f"{what}{whose}; it dies away, and what stays is slow: the model is stiff,"
                f" about {_about(implicit)} implicit steps instead of {_about(explicit)} explicit ones",
            )
    if lasting * until / EXPLICIT_REACH <= EXPLICIT_STEPS:
        return "dop853", f"{what}, which explicit steps of high order follow easily"
    if equations.arm.size > MOST_IMPLICIT:
        return "dop853", f"{what}, and implicit steps would need matrices of {equations.arm.size} rows"
    relevant = _relevant(equations, q)
    if not np.isfinite(relevant):
        return "dop853", f"{what}, and there are no vibrations to compare it with"
    why, damped = (SOFTER, False) if stopped else fastest_motion(start, q)
    if lasting <= (STIFF_DAMPED if damped else STIFF) * _finer(options.tolerance) * relevant:
        return (
            "dop853",
            f"{what}{why if stopped else ''}, only {fastest / relevant:.3g} times what matters ({relevant:.4g})",
        )
    return (
        "esdirk",
        f"{what}{why}; it is {fastest / relevant:.3g} times what matters ({relevant:.4g} rad/s): the model is stiff, "
        f"and explicit steps would have to be {EXPLICIT_REACH / fastest:.1e} s",
    )
