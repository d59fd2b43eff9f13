"""Dynamics of a robot with closed loops: what ``Dynamics`` asks for where the tree alone is not enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.loops.algorithms import (
    ClosingForce,
    ClosingWrench,
    FrameAcceleration,
    LoopCorrection,
    LoopForward,
    LoopInverse,
    driving_link,
)
from pliant.formulations.loops.closure import Closure, close
from pliant.formulations.loops.constraints import Constraints
from pliant.formulations.loops.coordinates import Choice, Coordinates
from pliant.formulations.loops.cuts import Plan, move_frames, plans
from pliant.formulations.loops.forms import Reduced, complement, kkt_solve, platform_complement, reduce, solve_reduced
from pliant.formulations.loops.legs import preferences
from pliant.formulations.loops.merging import with_frame
from pliant.formulations.loops.selection import RANK, SINGULAR
from pliant.formulations.recursive.passes import Algorithm, views

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.engine.trace.tape import Operations
    from pliant.formulations.recursive.tree import Tree

Floats = NDArray[np.float64]

TWIST = ("x", "y", "z", "rx", "ry", "rz")

DECAY = 10.0
"""1/s: rate at which gaps decay in simulations; too slow to limit the steps that follow a robot's motion."""

CORRECTED = 1e-14
"""Scaled change at which corrections end."""

CORRECTIONS = 6
"""Newton steps that a state may need which is nearly closed."""


class Loops:
    """The loops of a robot.

    rows       names of the constraints: LOOP.x, .y, .z shifts along base axes, .rx, .ry, .rz turns
    redundant  names of those that follow from the others (an over-constrained loop)
    """

    def __init__(self, arm: Dynamics, independent: Choice, stabilise: float) -> None:
        self.arm = arm
        self.stabilise = stabilise
        self.constraints = Constraints(arm)
        self.coordinates = Coordinates(self.constraints, independent)
        self.driven = tuple(arm.names.index(name) for name in arm.inputs)
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._correctors: dict[tuple[Any, ...], Any] = {}
        self._frames: dict[str, Tree] = {}
        self._whole: tuple[Tree, tuple[Closure, ...]] | None = None
        self._ready: dict[tuple[int, ...], Any] = {}
        self._least_pivots: dict[tuple[int, ...], Floats] = {}

    def __repr__(self) -> str:
        names = ", ".join(closure.name for closure in self.constraints.closures)
        return f"ClosedLoops({names}: {len(self.rows)} constraints, rank {self.rank})"

    # ---- what there is

    @property
    def rows(self) -> tuple[str, ...]:
        return self.constraints.rows

    @property
    def rank(self) -> int:
        """Number of independent constraints."""
        return len(self.coordinates.selection.kept)

    @property
    def redundant(self) -> tuple[str, ...]:
        return tuple(self.rows[k] for k in self.coordinates.selection.redundant)

    @property
    def independent(self) -> tuple[str, ...]:
        return self.coordinates.names(self.coordinates.selection.independent)

    @property
    def dependent(self) -> tuple[str, ...]:
        return self.coordinates.names(self.coordinates.selection.dependent)

    def condition(self, q: Floats) -> float:
        """Condition number of the scaled constraints at q; infinite where a loop is singular."""
        return self.coordinates.condition(q)

    def jacobian(self, q: Floats) -> Floats:
        """J (rows, n): relative velocities of the closures' frames per unit rate of each coordinate."""
        return self.constraints.jacobian(q)

    def gaps(self, q: Floats) -> Floats:
        """How far the closures are open (rows,)."""
        return self.constraints.gaps(q)

    def rates(self, q: Floats, v: Floats) -> Floats:
        """Relative velocities of the closures' frames (rows,), J v."""
        return self.constraints.closing(q, v)[1]

    def bias(self, q: Floats, v: Floats) -> Floats:
        """What J a must cancel (rows,): J' v, and what stabilisation adds."""
        gap, rate, acceleration = self.constraints.closing(q, v)
        k = self.stabilise
        return acceleration + 2 * k * rate + k**2 * gap

    def assemble(self, q: Floats, hold: Sequence[str] | None = None, bend: bool = False) -> Floats:
        """A configuration near q that closes all loops."""
        return self.constraints.assemble(q, hold, bend)

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The nearest state on the constraints."""
        self.coordinates.require_regular(q)
        return self.constraints.project(q, v, self.coordinates.kept)

    def stabilised(self) -> Loops:
        """The same loops with gaps that decay in ``forward`` and ``inverse`` (Baumgarte), for simulations."""
        if self.stabilise:
            return self
        other = copy(self)
        other.stabilise = DECAY
        other._ready, other._least_pivots = {}, {}
        return other

    def corrected(self, q: Floats, v: Floats, driven: tuple[int, ...] = ()) -> tuple[Floats, Floats]:
        """A state that is nearly closed, or a batch of them, put onto the loops; ``driven`` coordinates stay.

        Passive joints take what they can: the gaps of a simulation are no reason to bend a link.
        """
        evaluator = self._corrector(driven)
        n, limit = self.arm.size, CORRECTED * self.constraints.column_scale
        for _ in range(CORRECTIONS):
            out = evaluator.batch(q, v) if q.ndim == 2 else evaluator(q, v)
            moved = np.abs(out[..., :n] - q)
            q, v = out[..., :n], out[..., n:]
            if (moved <= limit).all():
                break
        return q, v

    def _corrector(self, driven: tuple[int, ...]) -> Any:
        key = (driven, self.coordinates.selection.kept)
        if key not in self._correctors:
            weights = preferences(self.arm.tree) ** 2
            weights[list(driven)] = 0.0
            algorithm = LoopCorrection.of(self.constraints.order, self._closures(), tuple(weights.tolist()))
            self._correctors[key] = self.constraints.evaluator(algorithm)
        return self._correctors[key]

    # ---- recursive dynamics

    def _closures(self) -> tuple[Closure, ...]:
        """The closures with the rows that are kept."""
        kept, out, start = set(self.coordinates.kept), [], 0
        for closure in self.constraints.closures:
            rows = tuple(row for k, row in enumerate(closure.rows) if start + k in kept)
            out.append(replace(closure, rows=rows))
            start += len(closure.rows)
        return tuple(out)

    def plan(self, driven: tuple[int, ...] = ()) -> Plan:
        """How to take the robot apart at the least cost; ``driven`` coordinates have given accelerations."""
        key = (driven, self.coordinates.selection.kept)
        if key not in self._plans:
            self._plans[key] = self._cheapest(driven)
        return self._plans[key]

    def _cheapest(self, driven: tuple[int, ...]) -> Plan:
        from pliant.engine.trace.rolled import whole

        # structure shows in any configuration that is not special
        tree, rng = self.constraints.tree, np.random.default_rng(0)
        q, v = (rng.uniform(0.1, 1.0, tree.size).tolist() for _ in range(2))
        links = views(tree, {"q": q, "v": v})
        move_frames(links)
        given = [driving_link(tree, self.constraints.order, k) for k in driven]
        candidates = plans(links, self._closures(), given)
        if len(candidates) == 1:
            return candidates[0]
        counts = [whole(self._algorithm(plan, driven), tree).operations.total for plan in candidates]
        return candidates[int(np.argmin(counts))]

    def _algorithm(self, plan: Plan, driven: tuple[int, ...] = (), *, pivots: bool = True) -> Algorithm:
        order, closures, rate = self.constraints.order, self._closures(), self.stabilise
        if driven:
            return LoopInverse.of(order, closures, plan, driven, stabilise=rate, forces=True, pivots=pivots)
        return LoopForward.of(order, closures, plan, stabilise=rate, pivots=pivots)

    def forward_algorithm(self, *, driven: tuple[int, ...] = (), pivots: bool = False) -> tuple[Algorithm, Tree]:
        """The forward dynamics (q, v, f) -> accelerations and the tree that it runs over.

        ``driven`` coordinates have their accelerations in f, and their efforts come first in the result.
        """
        return self._algorithm(self.plan(driven), driven, pivots=pivots), self.constraints.tree

    @property
    def has_multipliers(self) -> bool:
        """Whether some loop is closed by multipliers; if not, no configuration is singular."""
        return len(self.plan().solved) < len(self.constraints.closures)

    def fast_forward(self, driven: NDArray[np.int_]) -> Callable[..., Any] | None:
        """``forward`` of one state as a built-in function, where nothing needs to be watched."""
        if self.has_multipliers:
            return None
        fast: Callable[..., Any] | None = self.constraints.evaluator(self._algorithm(self.plan())).fast(driven)
        return fast

    def forward(self, q: Floats, v: Floats, f: Floats) -> Floats:
        """Accelerations of all coordinates, consistent with the loops."""
        return self._watched((), q, v, f)

    def inverse(self, q: Floats, v: Floats, a: Floats, force: Floats | None = None) -> tuple[Floats, Floats]:
        """Efforts of the drives and accelerations of all coordinates, from those of the driven ones.

        ``force`` are further generalised forces (n,).
        """
        others = np.zeros_like(q) if force is None else force
        if self._drives_bend:
            return self._dense_inverse(q, v, a, others)
        driven, m = list(self.driven), len(self.driven)
        given = others.copy()
        given[..., driven] = a
        out = self._watched(self.driven, q, v, given)
        return out[..., :m] - others[..., driven], out[..., m:]

    @cached_property
    def _drives_bend(self) -> bool:
        """Whether a motor also acts on elastic coordinates (pinned modes)."""
        return bool(np.count_nonzero(self.arm.B) > len(self.driven))

    def _watched(self, driven: tuple[int, ...], q: Floats, v: Floats, x: Floats) -> Floats:
        """Evaluate; a state in which a multiplier's row is lost goes the careful way."""
        if driven not in self._ready:
            self._ready[driven] = self.constraints.evaluator(self._algorithm(self.plan(driven), driven))
            self._least_pivots[driven] = SINGULAR * self._pivot_scale(self.plan(driven))
        evaluator = self._ready[driven]
        # a vanishing pivot comes with the results, and its quotient is never used
        with np.errstate(divide="ignore", invalid="ignore"):
            out: Floats = evaluator.batch(q, v, x) if q.ndim == 2 else evaluator(q, v, x)
        head = self.arm.size + len(driven)
        pivots = out[..., head:]
        if not pivots.shape[-1] or (pivots > self._least_pivots[driven]).all():
            return out[..., :head]
        if q.ndim == 2:
            for k in np.flatnonzero(~(pivots > self._least_pivots[driven]).all(axis=1)):
                out[k, :head] = self._watched(driven, q[k], v[k], x[k])
            return out[:, :head]
        if self._must_reselect(q, driven):
            return self._watched(driven, q, v, x)
        return self._dense(driven, q, v, x)

    def _pivot_scale(self, plan: Plan) -> Floats:
        """The diagonal of J M^-1 J^T around the reference pose, for the rows that have multipliers."""
        solved = {self.constraints.closures[each.closure].name for each in plan.solved}
        rows = [k for k in self.coordinates.kept if self.constraints.loop_of[k] not in solved]
        scale = np.zeros(len(rows))
        for q in self.coordinates.samples:
            J = self.jacobian(q)[rows]
            mobility = np.linalg.pinv(self.arm.mass_matrix(q), hermitian=True)
            scale = np.maximum(scale, np.einsum("ri,ij,rj->r", J, mobility, J))
        return scale

    def _must_reselect(self, q: Floats, driven: tuple[int, ...]) -> bool:
        """Whether other rows have to be kept from q on; raises if there are none."""
        if not np.isfinite(q).all():
            bad = int(np.argmin(np.isfinite(q)))
            raise ValueError(f"q of '{self.arm.names[bad]}' is {q[bad]}")
        self.coordinates.require_regular(q)
        if self.coordinates.reselect(q):
            self._ready.clear()
            return True
        if driven:
            self.coordinates.require_driven(q, driven)
        return False

    def _dense(self, driven: tuple[int, ...], q: Floats, v: Floats, x: Floats) -> Floats:
        """What ``_watched`` gives, through dense matrices that are scaled first."""
        if not driven:
            return self.forward_dense("dense", q, v, x)
        others = x.copy()
        others[list(driven)] = 0.0
        return np.concatenate(self._dense_inverse(q, v, x[list(driven)], others))

    # ---- dense forms

    def reduced(
        self, q: Floats, v: Floats, independent: Sequence[str] | None = None, platform: str | None = None
    ) -> Reduced:
        """M_r, c_r and N; see ``Dynamics.reduced``."""
        kept = self.coordinates.kept
        J, b = self.jacobian(q)[kept], self.bias(q, v)[kept]
        M, h = self.arm.mass_matrix(q), self.arm.bias(q, v)
        if platform is None:
            dependent, rest = self.coordinates.fit_at(q, independent)
            return reduce(M, h, *complement(J, b, dependent, rest), self.coordinates.names(rest))
        J_p, b_p = self._frame(platform, q, v)
        # a platform that no leg carries by bending moves by coordinates of its own
        moved = np.abs(J_p * self.constraints.column_scale).max(axis=1) > 1e-9 * self.constraints.size
        active = np.flatnonzero(moved) if self.coordinates.leg_ends(0) else np.zeros(0, dtype=int)
        dependent, rest = self.coordinates.at_leg_ends(q, J_p[active])
        names = (*self.coordinates.names(rest), *(f"{platform}.{TWIST[k]}" for k in active))
        return reduce(M, h, *platform_complement(J, b, J_p[active], b_p[active], dependent, rest), names)

    def _frame(self, frame: str, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Jacobian of a frame and its acceleration at zero acceleration of the coordinates, base axes."""
        if frame not in self._frames:
            tree = self.constraints.plain_tree
            index, seat = tree.frame(frame)
            self._frames[frame] = with_frame(tree, frame, index, seat, np.eye(3))
        algorithm = FrameAcceleration.of(self.constraints.order)
        bias: Floats = self.constraints.evaluator(algorithm, tree=self._frames[frame])(q, v, np.zeros_like(q))
        return self.arm.jacobian(frame, q), bias

    @cached_property
    def platform(self) -> str:
        """The frame that the platform form moves: the first frame of the first loop."""
        return ".".join(self.arm.robot.resolve_frame(self.arm.robot.loops[0].frames[0]))

    def forward_dense(self, form: Literal["dense", "minimal", "platform"], q: Floats, v: Floats, f: Floats) -> Floats:
        """Accelerations of one state with multipliers, in independent coordinates, or with the platform's twist."""
        if form == "minimal":
            return solve_reduced(self.reduced(q, v), f)
        if form == "platform":
            return solve_reduced(self.reduced(q, v, platform=self.platform), f)
        self.coordinates.require_regular(q)
        kept = self.coordinates.kept
        J, b = self.jacobian(q)[kept], self.bias(q, v)[kept]
        return kkt_solve(self.arm.mass_matrix(q), J, f - self.arm.bias(q, v), -b)[0]

    def _dense_inverse(self, q: Floats, v: Floats, a: Floats, force: Floats) -> tuple[Floats, Floats]:
        """The inverse dynamics by one dense system, for motors that also act on elastic coordinates."""
        if q.ndim == 2:
            pairs = [self._dense_inverse(*state) for state in zip(q, v, a, force, strict=True)]
            return np.array([t for t, _ in pairs]), np.array([x for _, x in pairs])
        self.coordinates.require_driven(q, self.driven)
        kept, driven = self.coordinates.kept, list(self.driven)
        J, b = self.jacobian(q)[kept], self.bias(q, v)[kept]
        M, h, B = self.arm.mass_matrix(q), self.arm.bias(q, v), self.arm.B
        others = [k for k in range(self.arm.size) if k not in driven]
        nothing = np.zeros((len(J), B.shape[1] + len(J)))
        A = np.block([[M[:, others], -B, -J.T], [J[:, others], nothing]])
        x = np.linalg.solve(A, -np.concatenate([h + M[:, driven] @ a - force, b + J[:, driven] @ a]))
        every = np.zeros(self.arm.size)
        every[driven], every[others] = a, x[: len(others)]
        return x[len(others) : len(others) + B.shape[1]], every

    def multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """Forces and moments of the closures along their rows (rows,).

        Of an over-constrained loop the smallest ones that do it: its own stresses depend on more than the motion.
        """
        return self._multipliers(q, v, a, f, list(range(len(self.rows))))

    def kept_multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """The same forces without any along redundant rows, as the accelerations are computed."""
        out = np.zeros(len(self.rows))
        out[self.coordinates.kept] = self._multipliers(q, v, a, f, self.coordinates.kept)
        return out

    def _multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats, used: list[int]) -> Floats:
        """Along some of the rows."""
        missing = (self.arm.forces(q, v, a) - f) * self.constraints.column_scale
        scaled = np.linalg.lstsq(self.constraints.scaled(q)[used].T, missing, rcond=RANK)[0]
        out: Floats = scaled / self.constraints.row_scale[used]
        return out

    def wrenches(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Force and moment of the closures on each link with all that it carries (links, 6), own axes and origin.

        The drives give what the motion needs; where efforts and closures can take turns, both stay small.
        """
        if self._whole is None:
            self._whole = close(self.arm.tree, self.arm.robot)
        tree, closures = self._whole
        kept, c = self.coordinates.kept, self.constraints
        # M a + h = [B, J^T] (tau, lambda), in units of work
        B = self.arm.B * c.column_scale[:, None]
        B /= np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
        sources = np.hstack([B, c.scaled(q)[kept].T])
        found = np.linalg.lstsq(sources, self.arm.forces(q, v, a) * c.column_scale, rcond=RANK)[0]
        held = np.zeros(self.arm.size)
        held[: len(kept)] = found[B.shape[1] :] / c.row_scale[kept]
        rows = tuple(replace(whole, rows=used.rows) for whole, used in zip(closures, self._closures(), strict=True))
        algorithm = ClosingWrench.of(tuple(range(self.arm.size)), rows)
        out: Floats = c.evaluator(algorithm, tree=tree)(q, held).reshape(-1, 6)
        return out[: len(self.arm.tree.links)]

    def pull_derivative(self, q: Floats, multipliers: Floats) -> Floats:
        """Derivative by q (n, n) of the generalised forces J^T lambda at constant ``kept_multipliers`` (rows,)."""
        c, kept = self.constraints, self.coordinates.kept
        # the compiled code takes them as a vector like q: there are never more of them
        held = np.zeros(self.arm.size)
        held[: len(kept)] = multipliers[kept]
        pull: Floats = c.evaluator(ClosingForce.of(c.order, self._closures()), seeds=("q",))(q, held)
        return pull

    def derivatives(self, q: Floats, v: Floats, a: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Derivatives of the accelerations of one state by q, v and the efforts."""
        by_q, by_v, by_f = self.sensitivities(q, v, a, f)
        return by_q, by_v, by_f @ self.arm.B

    def sensitivities(
        self, q: Floats, v: Floats, a: Floats, f: Floats, driven: Sequence[int] = ()
    ) -> tuple[Floats, Floats, Floats]:
        """Derivatives (n, n) of the accelerations a of one state under the forces f by q, v and the forces.

        Accelerations of ``driven`` coordinates are given; f then holds what drives them.
        """
        kept, n, k, c = self.coordinates.kept, self.arm.size, self.stabilise, self.constraints
        d = self.arm.inverse_derivatives(q, v, a)
        pull = self.pull_derivative(q, self.kept_multipliers(q, v, a, f))
        rows = []
        for seed in "qv":
            gap, rate, acceleration = np.split(c.evaluator(c.levels, seeds=(seed,))(q, v, a), 3)
            rows.append((acceleration + 2 * k * rate + k**2 * gap)[kept])
        top = np.hstack([pull - d.q, -d.v, np.eye(n)])
        bottom = np.hstack([-rows[0], -rows[1], np.zeros((len(kept), n))])
        free = [i for i in range(n) if i not in driven]
        x = np.zeros((n, 3 * n))
        x[free], _ = kkt_solve(d.a[np.ix_(free, free)], self.jacobian(q)[kept][:, free], top[free], bottom)
        return x[:, :n], x[:, n : 2 * n], x[:, 2 * n :]

    def operations(self, what: Literal["forward", "inverse"]) -> Operations:
        """Operations of one evaluation with efforts of the drives alone, the solution included."""
        from pliant.engine.trace.rolled import whole

        c = self.constraints
        if what == "inverse":
            inverse = LoopInverse.of(c.order, self._closures(), self.plan(self.driven), self.driven, pivots=False)
            return whole(inverse, c.tree).operations
        counted = LoopForward.of(c.order, self._closures(), self.plan(), driven=self.driven, pivots=False)
        return whole(counted, c.tree).operations
