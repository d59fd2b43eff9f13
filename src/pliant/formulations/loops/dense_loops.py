"""Closed loops in dense matrices: redundant, minimal and platform form, their forces and derivatives.

They explain and check the recursive elimination, serve where it does not, and never change what they know of the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.algorithm import Traced
from pliant.formulations.loops.algorithms import ClosingForce
from pliant.formulations.loops.closure import Closure, axis_to_z, rows_of
from pliant.formulations.loops.constraints import Constraints, end_names
from pliant.formulations.loops.coordinates import Coordinates
from pliant.formulations.loops.dense_forms import (
    RANK,
    Reduced,
    complement,
    condition_of,
    kkt_solve,
    platform_complement,
    reduce,
    solve_reduced,
)
from pliant.formulations.loops.loops import ClosureSlopes, DenseForm, Floats, Loops
from pliant.tree.kinematics import Motion

TWIST = ("x", "y", "z", "rx", "ry", "rz")


class DenseLoops(Loops):
    """Loops with rows, as far as dense matrices serve; how the robot is taken apart is left open.

    constraints  the rows as numbers
    coordinates  which rows are used and which coordinates depend on the others
    stabilise    1/s: rate at which gaps decay in the accelerations (Baumgarte)
    """

    def __init__(self, constraints: Constraints, coordinates: Coordinates, stabilise: float) -> None:
        super().__init__(constraints.arm)
        self.constraints, self.coordinates, self.stabilise = constraints, coordinates, stabilise
        self.rows = constraints.rows

    def __repr__(self) -> str:
        names = ", ".join(closure.name for closure in self.constraints.closures)
        return f"{type(self).__name__}({names}: {len(self.rows)} constraints, rank {self.rank})"

    # ---- what there is

    @property
    def rank(self) -> int:
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

    @property
    def column_scale(self) -> Floats:
        return self.constraints.column_scale

    @property
    def extent(self) -> float:
        return self.constraints.size

    def scaled(self, q: Floats) -> Floats:
        return self.constraints.scaled(q)[self.kept_at(q)]

    def require_regular(self, q: Floats) -> None:
        self.coordinates.require_regular(q)

    def require_planes(self) -> None:
        self.constraints.require_planes()

    def require_drivable(self, driven: Sequence[int]) -> None:
        self.coordinates.require_drivable(driven)

    def require_driven(self, q: Floats, driven: Sequence[int]) -> None:
        self.coordinates.require_driven(q, driven)

    @cached_property
    def excess_drives(self) -> int:
        return self.coordinates.excess(self.driven)

    def kept_at(self, q: Floats) -> list[int]:
        """The rows that are used at a configuration: those of the reference pose, others where they are dependent."""
        return list(self.coordinates.kept_at(q))

    # ---- levels

    def condition(self, q: Floats) -> float:
        return self.coordinates.condition(q)

    def least_condition(self, moving: Sequence[int]) -> float:
        kept = list(self.coordinates.selection.kept)
        rows = (self.constraints.scaled(q)[kept][:, list(moving)] for q in self.coordinates.samples)
        return min(condition_of(J, len(kept)) for J in rows)

    @property
    def row_is_length(self) -> tuple[bool, ...]:
        return self.constraints.is_length

    def jacobian(self, q: Floats) -> Floats:
        return self.constraints.jacobian(q)

    def gaps(self, q: Floats) -> Floats:
        return self.constraints.gaps(q)

    def rates(self, q: Floats, v: Floats) -> Floats:
        return self.constraints.closing(q, v)[1]

    def bias(self, q: Floats, v: Floats) -> Floats:
        gap, rate, acceleration = self.constraints.closing(q, v)
        k = self.stabilise
        return acceleration + 2 * k * rate + k**2 * gap

    def used_rows(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        kept = self.kept_at(q)
        return self.jacobian(q)[kept], self.bias(q, v)[kept]

    def open_by(self, q: Floats) -> dict[str, tuple[float, float]]:
        return self.constraints.open_by(q)

    def largest_gap(self, q: Floats) -> float:
        return float(np.abs(self.gaps(q) / self.constraints.row_scale).max(initial=0.0))

    def slipping(self, q: Floats, v: Floats, tolerance: float) -> str | None:
        c = self.constraints
        rate = np.abs(self.rates(q, v)) / c.row_scale
        size = float(np.abs(v / c.column_scale).max(initial=0.0))
        worst = int(np.argmax(rate))
        return c.loop_of[worst] if rate[worst] > tolerance * max(size, 1.0) else None

    def assemble(self, q: Floats, hold: Sequence[str] | None = None, bend: bool | None = None) -> Floats:
        return self.constraints.assemble(q, hold, bend)

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        self.coordinates.require_regular(q)
        return self.constraints.project(q, v, self.kept_at(q))

    # ---- three forms

    def reduced(
        self, q: Floats, v: Floats, independent: Sequence[str] | None = None, platform: str | None = None
    ) -> Reduced:
        J, b = self.used_rows(q, v)
        M, h = self.arm.mass_matrix(q), self.arm.bias(q, v)
        if platform is None:
            dependent, rest = self.coordinates.fit_at(q, independent)
            return reduce(M, h, *complement(J, b, dependent, rest), self.coordinates.names(rest))
        J_p, b_p = self.arm.jacobian(platform, q), np.hstack(self.arm.acceleration(platform, q, v, np.zeros_like(q)))
        # a platform that no leg carries by bending moves by coordinates of its own
        moved = np.abs(J_p * self.column_scale).max(axis=1) > 1e-9 * self.constraints.size
        active = np.flatnonzero(moved) if self.coordinates.leg_ends(0) else np.zeros(0, dtype=int)
        dependent, rest = self.coordinates.at_leg_ends(q, J_p[active])
        names = (*self.coordinates.names(rest), *(f"{platform}.{TWIST[k]}" for k in active))
        return reduce(M, h, *platform_complement(J, b, J_p[active], b_p[active], dependent, rest), names)

    @cached_property
    def platform(self) -> str:
        """The frame that the platform form moves: the first frame of the first loop."""
        member, frame = self.arm.mechanism.loops[0].frames[0]
        return f"{self.arm.mechanism.members[member].name}.{frame}"

    def forward_dense(self, form: DenseForm, q: Floats, v: Floats, f: Floats) -> Floats:
        """Accelerations of one state with multipliers, in independent coordinates, or with the platform's twist."""
        if form == "minimal":
            return solve_reduced(self.reduced(q, v), f)
        if form == "platform":
            return solve_reduced(self.reduced(q, v, platform=self.platform), f)
        if str(form) != "dense":
            choices = "'recursive', 'dense', 'minimal' or 'platform'"
            raise ValueError(f"solver is {form!r}; it must be {choices}")
        self.coordinates.require_regular(q)
        J, b = self.used_rows(q, v)
        return kkt_solve(self.arm.mass_matrix(q), J, f - self.arm.bias(q, v), -b)[0]

    # ---- forces of the closures

    def multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """Forces and moments of the closures along their rows (rows,).

        Of an over-constrained loop the smallest ones that do it: its own stresses depend on more than the motion.
        """
        return self._multipliers(q, v, a, f, list(range(len(self.rows))))

    def kept_multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """Forces of the closures (rows,) with none along redundant rows, as the accelerations are computed."""
        out, kept = np.zeros(len(self.rows)), self.kept_at(q)
        out[kept] = self._multipliers(q, v, a, f, kept)
        return out

    def _multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats, used: list[int]) -> Floats:
        """Along some of the rows."""
        missing = (self.arm.forces(q, v, a) - f) * self.column_scale
        scaled = np.linalg.lstsq(self.constraints.scaled(q)[used].T, missing, rcond=RANK)[0]
        out: Floats = scaled / self.constraints.row_scale[used]
        return out

    def multipliers_beside_drives(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """Forces of the closures (rows,) where f has no efforts of the drives: these give what the motion needs.

        Where efforts and closures can take turns, both stay small.
        """
        c = self.constraints
        # M a + h - f = [B, J^T] (tau, lambda), in units of work
        B = self.arm.B * c.column_scale[:, None]
        B /= np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
        missing = (self.arm.forces(q, v, a) - f) * c.column_scale
        found = np.linalg.lstsq(np.hstack([B, c.scaled(q).T]), missing, rcond=RANK)[0]
        return np.asarray(found[B.shape[1] :] / c.row_scale)

    def closing_wrenches(self, q: Floats, multipliers: Floats) -> list[tuple[str, Floats]]:
        out = list[tuple[str, Floats]]()
        # rows of joints that follow others come first, and act on no frame
        start = len(self.arm.mechanism.ties)
        for loop in self.arm.mechanism.loops:
            rows, wrenches = rows_of(loop), (np.zeros(6), np.zeros(6))
            ends = end_names(self.arm, loop)
            a, b = (self._at_rest(end, q, axis_to_z(loop.axis)) for end in ends)
            for row, x in zip(rows, multipliers[start : start + len(rows)], strict=True):
                for wrench, frame, pulls in zip(wrenches, (a, b), row.on_frames(a, b), strict=True):
                    wrench += x * np.concatenate([np.array(frame.R) @ pull for pull in pulls])
            start += len(rows)
            out += [(end, wrench) for end, wrench in zip(ends, wrenches, strict=True) if end]
        return out

    def _at_rest(self, end: str, q: Floats, R: Floats) -> Motion:
        """A frame of a closure at q, turned by R in its own axes."""
        pose = self.arm.pose(end, q) if end else None
        axes, p = (np.eye(3), np.zeros(3)) if pose is None else (pose.rotation, pose.position)
        return Motion((axes @ R).tolist(), p.tolist(), [0.0] * 3, [0.0] * 3)

    def closures(self, kept: Sequence[int]) -> tuple[Closure, ...]:
        """The closures with some of their rows."""
        out, start = [], 0
        for closure in self.constraints.closures:
            rows = tuple(row for k, row in enumerate(closure.rows) if start + k in kept)
            out.append(replace(closure, rows=rows))
            start += len(closure.rows)
        return tuple(out)

    # ---- derivatives

    def closing_stiffness(self, q: Floats, multipliers: Floats) -> Floats:
        """Derivative by q (n, n) of the closing forces J^T lambda at constant ``kept_multipliers`` (rows,)."""
        kept = self.kept_at(q)
        return np.asarray(self.closing_slopes(q[None], multipliers[None, kept], kept)[0])

    def closing_slopes(self, q: Floats, multipliers: Floats, kept: Sequence[int]) -> Floats:
        # the compiled code takes them as a vector like q: there are never more of them
        held = np.zeros_like(q)
        held[:, : len(kept)] = multipliers
        pull = self.arm.evaluator(self.traced_pull(kept), "q")
        return np.array([pull(*state) for state in zip(q, held, strict=True)])

    def traced_pull(self, kept: Sequence[int]) -> Traced:
        """(q, multipliers of some rows) -> J^T lambda."""
        return Traced(ClosingForce.of(self.constraints.order, self.closures(kept)), self.constraints.tree)

    def resistance(self, rows: Sequence[int]) -> Floats:
        """The largest diagonal of J M^-1 J^T of some rows around the reference pose (rows,)."""
        return np.asarray(np.max([self.row_mobility(q, rows) for q in self.coordinates.samples], axis=0))

    def row_mobility(self, q: Floats, rows: Sequence[int]) -> Floats:
        """The diagonal of J M^-1 J^T (rows,)."""
        J = self.jacobian(q)[list(rows)]
        mobility = np.linalg.pinv(self.arm.mass_matrix(q), hermitian=True)
        return np.asarray(np.einsum("ri,ij,rj->r", J, mobility, J))

    def closure_slopes(self, q: Floats, v: Floats, a: Floats) -> ClosureSlopes:
        kept = self.kept_at(q)
        by_q, by_v = (np.split(self.arm.evaluator(self.constraints.levels, seed)(q, v, a), 3) for seed in "qv")
        return ClosureSlopes(by_q[1][kept], by_q[2][kept], by_v[2][kept])

    def sensitivities(
        self, q: Floats, v: Floats, a: Floats, f: Floats, driven: Sequence[int] = ()
    ) -> tuple[Floats, Floats, Floats]:
        kept, n, k, c = self.kept_at(q), self.arm.size, self.stabilise, self.constraints
        d: Any = self.arm.inverse_derivatives(q, v, a)
        pull = self.closing_stiffness(q, self.kept_multipliers(q, v, a, f))
        rows = []
        for seed in "qv":
            gap, rate, acceleration = np.split(self.arm.evaluator(c.levels, seed)(q, v, a), 3)
            rows.append((acceleration + 2 * k * rate + k**2 * gap)[kept])
        top = np.hstack([pull - d.q, -d.v, np.eye(n)])
        bottom = np.hstack([-rows[0], -rows[1], np.zeros((len(kept), n))])
        free = [i for i in range(n) if i not in driven]
        x = np.zeros((n, 3 * n))
        x[free], _ = kkt_solve(d.a[np.ix_(free, free)], self.jacobian(q)[kept][:, free], top[free], bottom)
        return x[:, :n], x[:, n : 2 * n], x[:, 2 * n :]
