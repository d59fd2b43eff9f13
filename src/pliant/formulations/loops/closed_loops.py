"""Closed loops by recursive elimination: how the robot is taken apart, and its forward and inverse dynamics.

Whether a way to take a robot apart gives its motion is tried at one state, against the equations themselves:
accelerations and efforts must satisfy the rows of the loops, and what the forces of the open tree lack must be forces
of those rows. That asks nothing of the elimination which is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np

from pliant.algorithm import Algorithm, Traced
from pliant.formulations.loops.algorithms import LoopCorrection, LoopForward, LoopInverse, driving_link
from pliant.formulations.loops.constraints import Constraints
from pliant.formulations.loops.coordinates import Choice, Coordinates
from pliant.formulations.loops.cuts import Plan, plans, preferences
from pliant.formulations.loops.dense_algorithm import DenseLoopForward
from pliant.formulations.loops.dense_forms import SINGULAR, WORST, condition_of, independent_rows
from pliant.formulations.loops.dense_loops import DenseLoops
from pliant.formulations.loops.loops import FAINT, Elimination, Floats, LoopError, Loops, OpenTree, Rows
from pliant.formulations.method import MethodError
from pliant.formulations.recursive.recursions import INVERSE, NoInertiaError

LoopDynamics = LoopForward | LoopInverse | DenseLoopForward

FITS = 1e-8
"""Part of the largest force, or of the largest acceleration, that may be missing; a wrong plan lacks all of it."""

SPEED = 0.1
"""Scaled rates (1/s) of the state: centrifugal terms show and do not drown the rest."""

NO_INERTIA = 1e-13
"""Part of the largest scaled inertia that is rounding: of a bar that turns about its own axis, as an example."""

OVERWHELMING = 1e15
"""Scaled acceleration (1/s2) beside which no other force counts."""

TINY = float(np.finfo(float).tiny)

MOST_KEPT = 1024
"""Structures whose verdicts are kept; the oldest go first."""

MOST_ALIKE = 8
"""Verdicts of one structure that are kept."""

APART = 1.0
"""Powers of ten by which a mass, a stiffness or a damping may differ from those of a robot that was tried."""

_FIT: dict[str, list[tuple[Floats, bool]]] = {}


class PlanTrial:
    """A random state of a robot, near its reference pose and as regular as there is one, with forces on everything.

    kept  the rows of the loops that are used
    """

    def __init__(self, loops: DenseLoops, kept: Sequence[int]) -> None:
        self.loops, self.rows = loops, list(kept)

    def fits(self, algorithm: LoopDynamics) -> bool:
        """Whether an algorithm gives the robot's motion; robots of one structure and of similar numbers share it."""
        key, sizes = self.loops.arm.structure(Traced(algorithm, self.loops.constraints.tree)), self.magnitudes
        known = _FIT.setdefault(key, [])
        for other, verdict in known:
            if np.abs(other - sizes).max(initial=0.0) <= APART:
                return verdict
        verdict = self._fits(algorithm)
        known.append((sizes, verdict))
        del known[:-MOST_ALIKE]
        while len(_FIT) > MOST_KEPT:
            _FIT.pop(next(iter(_FIT)), None)
        return verdict

    def _fits(self, algorithm: LoopDynamics) -> bool:
        try:
            return (any(algorithm.plan.weights) or self.has_inertia) and self.error(algorithm) <= FITS
        except NoInertiaError:
            return False

    @cached_property
    def magnitudes(self) -> Floats:
        """Powers of ten of the masses, inertias, stiffnesses and dampings: where they lie apart, pivots drown."""
        numbers: list[float] = []
        for member in self.loops.arm.mechanism.members:
            body, drive = member.body, member.joint.drive
            numbers += [body.mass, body.I_rr.trace(), drive.inertia, drive.stiffness, drive.damping]
            numbers += [number for part in member.parts for number in (part.mass, part.inertia.trace())]
            for matrix in (body.M_ee, body.K_ee, body.D_ee):
                numbers += matrix.diagonal().tolist()
        return np.asarray(np.log10(np.maximum(np.abs(numbers), TINY)))

    def require(self, algorithm: LoopDynamics) -> None:
        """Raise where the last of all algorithms fails as well, and the state is not to blame."""
        if self.fits(algorithm):
            return
        error = self.error(algorithm)
        driven = algorithm.driven if isinstance(algorithm, LoopInverse) else ()
        free = [k for k in range(len(self.q)) if k not in driven]
        if condition_of(self.J[:, free], len(self.rows)) < WORST:
            raise LoopError(
                f"robot '{self.loops.arm.mechanism.name}': its elimination leaves {error:.2g} of the largest force "
                "unbalanced at a state near the reference pose; use solver='dense', or look for links whose masses or "
                "stiffnesses lie many powers of ten apart"
            )

    @cached_property
    def q(self) -> Floats:
        coordinates = self.loops.coordinates
        return min(reversed(coordinates.samples), key=coordinates.condition)

    @cached_property
    def J(self) -> Floats:
        """The rows without units."""
        return self.loops.constraints.scaled(self.q)[self.rows]

    @cached_property
    def v(self) -> Floats:
        """Random rates, also across the loops: one that they hold entirely would have none."""
        return SPEED * self.loops.column_scale * np.random.default_rng(1).standard_normal(len(self.q))

    @cached_property
    def given(self) -> Floats:
        """Forces on all coordinates, and accelerations of those that are driven."""
        return np.random.default_rng(2).standard_normal(len(self.q))

    @cached_property
    def has_inertia(self) -> bool:
        """Whether all motions of the straight robot move more than rounding: else it may only seem to have pivots.

        A coordinate that never has any inertia is left out: eliminations see that it has none.
        """
        some = np.abs(self._inertia(self.q)).max(axis=1) > 0.0
        found = np.linalg.eigvalsh(self._inertia(self.loops.constraints.reference)[np.ix_(some, some)])
        return not len(found) or bool(found[0] > NO_INERTIA * found[-1])

    def _inertia(self, q: Floats) -> Floats:
        """The mass matrix of the open tree without units: all columns at once."""
        n, scale = len(q), self.loops.column_scale
        state = {"q": q.tolist(), "v": [0.0] * n}
        at_rest = INVERSE.evaluate(self.loops.arm.tree, {**state, "a": [0.0] * n})
        moved = INVERSE.evaluate(self.loops.arm.tree, {**state, "a": list(OVERWHELMING * np.diag(scale))})
        M = np.array([np.broadcast_to(x - y, n) for x, y in zip(moved, at_rest, strict=True)])
        return (M * scale[:, None] + (M * scale[:, None]).T) / (2 * OVERWHELMING)

    def error(self, algorithm: LoopDynamics) -> float:
        """The largest part of an equation that the results of an algorithm lack."""
        loops, n, scale = self.loops, len(self.q), self.loops.column_scale
        inputs = {"q": self.q.tolist(), "v": self.v.tolist(), algorithm.takes[2]: self.given.tolist()}
        try:
            out = np.array(algorithm.evaluate(loops.constraints.tree, inputs))
        except ZeroDivisionError:
            return np.inf
        driven = list(algorithm.driven) if isinstance(algorithm, LoopInverse) else []
        a, f = out[len(driven) : len(driven) + n], self.given.copy()
        f[driven] = out[: len(driven)]
        if not (np.isfinite(a).all() and np.isfinite(f).all()):
            return np.inf
        bias = loops.bias(self.q, self.v)[self.rows] / loops.constraints.row_scale[self.rows]
        slip, moved = self.J @ (a / scale) + bias, max(_largest(a / scale), _largest(bias), TINY)
        parts = [self._forces(a), self._forces(np.zeros(n)), f]
        missing = (parts[0] - f) * scale
        lacking = missing - self.J.T @ np.linalg.lstsq(self.J.T, missing, rcond=None)[0]
        return max(
            _largest(a[driven] - self.given[driven]),
            _largest(slip) / moved,
            _largest(lacking) / max(max(_largest(x * scale) for x in parts), TINY),
        )

    def _forces(self, a: Floats) -> Floats:
        """Generalised forces of the open tree."""
        inputs = {"q": self.q.tolist(), "v": self.v.tolist(), "a": a.tolist()}
        return np.array(INVERSE.evaluate(self.loops.arm.tree, inputs))


def _largest(x: Floats) -> float:
    return float(np.abs(x).max(initial=0.0))


# ---- closed loops by recursive elimination

DECAY = 10.0
"""1/s: rate at which gaps decay in simulations; too slow to limit the steps that follow a robot's motion."""

PASSAGE = 1e-7
"""Part of a closure's mobility, squared, below which a row is lost for the moment: a robot passes a singular
configuration with the rates that it has. Elsewhere the square of it is nothing."""

CORRECTED = 1e-14
"""Scaled change at which corrections end."""

CLOSED = 1e-10
"""Scaled gap of redundant rows, and part of the rates by which they slip, where the kept ones hold them as well."""

CORRECTIONS = 6
"""Newton steps that a state may need which is nearly closed."""


def closed_loops(arm: OpenTree, independent: Choice = "auto", stabilise: float = 0.0, *, dense: bool = False) -> Loops:
    """The loops of a robot that has some; dense: through the whole mass matrix."""
    constraints = Constraints(arm)
    return ClosedLoops(constraints, Coordinates(constraints, independent), stabilise, dense=dense)


@final
class ClosedLoops(DenseLoops):
    """Loops with rows; caches hold compiled functions and nothing that a state decides.

    faint  see ``constrained``: for simulations, which pass singular configurations
    dense  accelerations through the whole mass matrix, without elimination of link after link
    """

    def __init__(
        self,
        constraints: Constraints,
        coordinates: Coordinates,
        stabilise: float,
        faint: float = 0.0,
        *,
        dense: bool = False,
    ) -> None:
        super().__init__(constraints, coordinates, stabilise)
        self.faint = faint
        self.dense = dense
        self._correctors: dict[tuple[Any, ...], Any] = {}
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._eliminations: dict[tuple[Any, ...], Elimination] = {}

    def stabilised(self) -> ClosedLoops:
        return ClosedLoops(self.constraints, self.coordinates, self.stabilise or DECAY, PASSAGE, dense=self.dense)

    def corrected(self, q: Floats, v: Floats, driven: tuple[int, ...] = ()) -> tuple[Floats, Floats]:
        """A state that is nearly closed, or a batch of them, put onto the loops; ``driven`` coordinates stay.

        Passive joints take what they can: the gaps of a simulation are no reason to bend a link.
        """
        if self.redundant and q.ndim == 2:
            together = self._corrected(q, v, driven, self.coordinates.selection.kept)
            if self._holds(*together):
                return together
            # each state may need rows of its own
            pairs = [self.corrected(*state, driven) for state in zip(q, v, strict=True)]
            return np.array([x for x, _ in pairs]), np.array([x for _, x in pairs])
        return self._corrected(q, v, driven, self.coordinates.kept_at(q))

    def _holds(self, q: Floats, v: Floats) -> bool:
        """Whether all rows are closed and do not slip, also those that follow from others."""
        slips = self.constraints.closing(q, v)[1]
        rates = np.abs(v / self.column_scale).max(axis=1, initial=0.0)
        slips = np.abs(slips / self.constraints.row_scale).max(axis=1, initial=0.0)
        return self.largest_gap(q) <= CLOSED and bool(np.all(slips <= CLOSED * np.maximum(rates, 1.0)))

    def _corrected(self, q: Floats, v: Floats, driven: tuple[int, ...], kept: tuple[int, ...]) -> tuple[Floats, Floats]:
        run = self._corrector(driven, kept)
        n, limit = self.arm.size, CORRECTED * self.column_scale
        for _ in range(CORRECTIONS):
            out = run.batch(q, v) if q.ndim == 2 else run(q, v)
            moved = np.abs(out[..., :n] - q)
            q, v = out[..., :n], out[..., n:]
            if (moved <= limit).all():
                break
        return q, v

    def closest(self, q: Floats, held: tuple[int, ...]) -> Floats:
        """Configurations, one or a batch, with closed loops or as nearly so as coordinates that are not held get them.

        Loops of bending links often have more constraints than their joints can obey alone: the rest is least squares.
        """
        free = [k for k in range(self.arm.size) if k not in held]
        J = self.constraints.scaled(self.constraints.reference)[list(self.coordinates.selection.kept)][:, free]
        every, found = np.atleast_2d(q), np.full_like(np.atleast_2d(q), np.nan)
        if condition_of(J, len(J)) < WORST:
            found = np.atleast_2d(self.corrected(q, np.zeros_like(q), held)[0])
        wide = ~(np.abs(self.gaps(found) / self.constraints.row_scale).max(axis=1) <= CLOSED)
        if wide.any():
            found = found.copy()
            found[wide] = self.constraints.approach(every[wide], held).q
        return found.reshape(q.shape)

    def _corrector(self, driven: tuple[int, ...], kept: tuple[int, ...]) -> Any:
        if (driven, kept) not in self._correctors:
            self._correctors[driven, kept] = self.arm.evaluator(self.traced_correction(driven, kept))
        return self._correctors[driven, kept]

    def traced_correction(self, driven: tuple[int, ...] = (), kept: tuple[int, ...] | None = None) -> Traced:
        kept = self.coordinates.selection.kept if kept is None else kept
        weights = preferences(self.arm.mechanism) ** 2
        weights[list(driven)] = 0.0
        algorithm = LoopCorrection.of(self.constraints.order, self.closures(kept), weights=tuple(weights.tolist()))
        return Traced(algorithm, self.constraints.tree)

    # ---- the way to take the robot apart

    def plan(self, driven: tuple[int, ...] = (), kept: tuple[int, ...] | None = None) -> Plan:
        """How to take the robot apart at the least cost; ``driven`` coordinates have given accelerations."""
        key = (driven, self.coordinates.selection.kept if kept is None else kept)
        if key not in self._plans:
            self._plans[key] = self._cheapest(*key)
        return self._plans[key]

    def _cheapest(self, driven: tuple[int, ...], kept: tuple[int, ...]) -> Plan:
        """The plan of the least operations among those that give the robot's motion at a state of trial."""
        if self.dense and not driven:
            return self._dense_plan(kept)
        tree = self.constraints.tree
        if driven:
            self.coordinates.require_drivable(driven)
        given = [driving_link(tree, self.constraints.order, k) for k in driven]
        candidates = plans(self.constraints.in_motion, self.closures(kept), given)
        trial = PlanTrial(self, kept)
        fit = [plan for plan in candidates if trial.fits(self._algorithm(plan, driven, kept, faint=0.0))]
        if not fit:
            held = replace(candidates[0], weights=self._weights)
            trial.require(self._algorithm(held, driven, kept, faint=0.0))
            return held
        if len(fit) == 1:
            return fit[0]
        algorithms = (self._algorithm(plan, driven, kept) for plan in fit)
        counts = [self.arm.count(Traced(algorithm, tree)).total for algorithm in algorithms]
        return fit[int(np.argmin(counts))]

    def _dense_plan(self, kept: tuple[int, ...]) -> Plan:
        """All rows with multipliers; with weights where coordinates have inertia by the loops alone."""
        trial = PlanTrial(self, kept)
        # a coordinate without inertia has no pivot, and the trial says so
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = trial.fits(self._algorithm(Plan(), (), kept))
        if plain:
            return Plan()
        held = replace(Plan(), weights=self._weights)
        trial.require(self._algorithm(held, (), kept))
        return held

    @property
    def _weights(self) -> tuple[float, float]:
        """Inertia of the order of the robot's own; whole powers of ten, so that similar robots share their code."""
        mass = sum(link.body.mass for link in self.constraints.tree.links) or 1.0
        return 10.0 ** round(np.log10(mass)), 10.0 ** round(np.log10(mass * self.extent**2))

    def _algorithm(self, plan: Plan, driven: tuple[int, ...], kept: tuple[int, ...], **decisions: Any) -> LoopDynamics:
        own = {"plan": plan, "stabilise": self.stabilise, "faint": self.faint}
        order, decided = self.constraints.order, {**own, **decisions}
        if driven:
            return LoopInverse.of(order, self.closures(kept), driven=driven, forces=True, **decided)
        if self.dense:
            return DenseLoopForward.of(order, self.closures(kept), **{k: x for k, x in decided.items() if k != "faint"})
        return LoopForward.of(order, self.closures(kept), **decided)

    def traced_forward(self, driven: tuple[int, ...] = (), rows: Rows | None = None) -> Traced:
        if self.dense and driven:
            raise MethodError(
                f"robot '{self.arm.mechanism.name}': method 'dense' has no tape of loops whose drives move as given; "
                "method 'recursive' has"
            )
        kept, bounds, _ = Rows(self.coordinates.selection.kept, ()) if rows is None else rows
        plan = self.plan(driven, kept)
        least: tuple[float, ...] = ()
        if bounds:
            rows_left = self._multiplied(plan, kept)
            mobility = np.array([bounds[kept.index(k)] for k in rows_left]) / FAINT
            least = tuple((FAINT * self._weighted(plan, rows_left, mobility)).tolist())
        return Traced(self._algorithm(plan, driven, kept, pivots=False, least=least), self.constraints.tree)

    def rows_at(self, q: Floats) -> Rows:
        kept = independent_rows(self.constraints.scaled(q), self.rank)[0]
        return Rows(kept, tuple((FAINT * self.row_mobility(q, kept)).tolist()))

    # ---- dynamics

    def elimination(self, driven: tuple[int, ...] = ()) -> Elimination:
        return self._elimination(driven, self.coordinates.selection.kept)

    def _with_driven(
        self, driven: tuple[int, ...], q: Floats, v: Floats, x: Floats, kept: tuple[int, ...] | None = None
    ) -> Floats:
        """Evaluate; a state in which a multiplier's row is lost goes the careful way."""
        if kept is None:
            fit = [self.coordinates.kept_at(each) for each in q.reshape(-1, q.shape[-1])] if self.redundant else []
            if len(set(fit)) > 1:
                return np.array([self._with_driven(driven, *each) for each in zip(q, v, x, fit, strict=True)])
            kept = fit[0] if fit else self.coordinates.selection.kept
        elimination = self._elimination(driven, kept)
        # a vanishing pivot comes with the results, and its quotient is never used
        with np.errstate(divide="ignore", invalid="ignore"):
            out: Floats = elimination.run.batch(q, v, x) if q.ndim == 2 else elimination.run(q, v, x)
        head = self.arm.size + len(driven)
        # with faint rows all pivots serve
        good = (out[..., head:] > elimination.least_pivots) | (self.faint > 0.0 and np.isfinite(out).all())
        if good.all():
            return out[..., :head]
        if q.ndim == 2:
            for k in np.flatnonzero(~good.all(axis=1)):
                out[k, :head] = self._with_driven(driven, q[k], v[k], x[k], kept)
            return out[:, :head]
        return self._careful(driven, q, v, x)

    def _careful(self, driven: tuple[int, ...], q: Floats, v: Floats, x: Floats) -> Floats:
        """Through scaled dense matrices."""
        if not np.isfinite(q).all():
            bad = int(np.argmin(np.isfinite(q)))
            raise ValueError(f"q of '{self.arm.names[bad]}' is {q[bad]}")
        self.coordinates.require_regular(q)
        if not driven:
            return self.forward_dense("dense", q, v, x)
        self.coordinates.require_driven(q, driven)
        others = x.copy()
        others[list(driven)] = 0.0
        return np.concatenate(self._dense_inverse(q, v, x[list(driven)], others))

    def _elimination(self, driven: tuple[int, ...], kept: tuple[int, ...]) -> Elimination:
        if (driven, kept) not in self._eliminations:
            plan = self.plan(driven, kept)
            run = self.arm.evaluator(Traced(self._algorithm(plan, driven, kept), self.constraints.tree))
            self._eliminations[driven, kept] = Elimination(run, SINGULAR * self._pivot_scale(plan, kept))
        return self._eliminations[driven, kept]

    def _pivot_scale(self, plan: Plan, kept: Sequence[int]) -> Floats:
        """The largest diagonal of J M^-1 J^T around the reference pose, for the rows that have multipliers."""
        rows = self._multiplied(plan, kept)
        return self._weighted(plan, rows, self.resistance(rows))

    def _weighted(self, plan: Plan, rows: Sequence[int], mobility: Floats) -> Floats:
        """What the weights W of a plan leave of the mobility S of rows: S / (1 + W S)."""
        W = np.array([plan.weights[0 if self.constraints.is_length[k] else 1] for k in rows])
        return mobility / (1.0 + W * mobility)

    def _multiplied(self, plan: Plan, kept: Sequence[int]) -> list[int]:
        """The rows that have multipliers."""
        solved = {self.constraints.closures[each.closure].name for each in plan.solved}
        return [k for k in kept if self.constraints.loop_of[k] not in solved]

    def operations(self, what: Literal["forward", "inverse"]) -> Any:
        """Operations of one evaluation with efforts of the drives alone, the solution included."""
        order, closures, driven = self.constraints.order, self.closures(self.coordinates.selection.kept), self.driven
        counted: Algorithm = LoopForward.of(order, closures, plan=self.plan(), driven=driven, pivots=False)
        if self.dense:
            counted = DenseLoopForward.of(order, closures, plan=self.plan(), pivots=False)
        if what == "inverse":
            counted = LoopInverse.of(order, closures, plan=self.plan(driven), driven=driven, pivots=False)
        return self.arm.count(Traced(counted, self.constraints.tree))
