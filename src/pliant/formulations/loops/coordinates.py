"""Rank of the loops and the split into independent and dependent coordinates, with names for what is singular."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.loops.constraints import Constraints
from pliant.formulations.loops.cuts import corresponding, last_elastic, named_indices, preferences
from pliant.formulations.loops.dense_forms import (
    WORST,
    Selection,
    condition_of,
    dependent_columns,
    independent_rows,
    rank_of,
)
from pliant.formulations.loops.loops import LoopError, SingularConfigurationError

Floats = NDArray[np.float64]
Choice = Literal["auto", "elastic"] | Sequence[str]
"""How to choose the independent coordinates: automatically, as Briot & Khalil, or these."""

SAMPLES = 4
"""Configurations at which the rank is looked at: the reference pose may be a special one."""

FIT = 100.0
"""Condition number of the kept rows of over-constrained loops from which others are looked for ..."""

BETTER = 0.1
"""... that are better by so much."""

NEARBY = 0.05
"""Their scaled distance from the reference pose."""


class Coordinates:
    """The split of a robot's coordinates, found around its reference pose; where it is unfit, others are found."""

    def __init__(self, constraints: Constraints, choice: Choice) -> None:
        self.constraints = constraints
        self.arm = constraints.arm
        self.choice = choice
        if not isinstance(choice, str):
            named_indices(self.arm.names, choice, "independent")
        elif choice not in ("auto", "elastic"):
            raise ValueError(f"independent is {choice!r}; it must be 'auto', 'elastic' or names of coordinates")

    @cached_property
    def selection(self) -> Selection:
        """Rows kept and dependent coordinates, found around the reference pose."""
        scaled = [self.constraints.scaled(q) for q in self.samples]
        rank = max(rank_of(J) for J in scaled)
        best = min(scaled, key=lambda J: condition_of(J, rank))
        return self._split(best, rank)

    def kept_at(self, q: Floats) -> tuple[int, ...]:
        """The rows that are used at q: those of the selection, or others where they say the same much better."""
        kept = self.selection.kept
        if not self.selection.redundant:
            return kept
        if not np.isfinite(q).all():
            return kept
        J = self.constraints.scaled(q)
        condition = condition_of(J[list(kept)], len(kept))
        if condition <= FIT:
            return kept
        others = independent_rows(J, len(kept))[0]
        return others if condition_of(J[list(others)], len(kept)) < BETTER * condition else kept

    def names(self, coordinates: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.arm.names[k] for k in coordinates)

    @cached_property
    def samples(self) -> list[Floats]:
        """The reference configuration and random ones around it, all closed."""
        rng = np.random.default_rng(0)
        reference = self.constraints.reference
        away = NEARBY * self.constraints.column_scale * rng.standard_normal((SAMPLES - 1, self.arm.size))
        reached = self.constraints.approach(reference + away, [])
        return [reference, *reached.q[reached.closed]]

    def _split(self, J: Floats, rank: int) -> Selection:
        kept, redundant = independent_rows(J, rank)
        dependent = self._dependent(J[list(kept)])
        return Selection(kept, redundant, dependent, self._rest(dependent))

    def _rest(self, some: Sequence[int]) -> tuple[int, ...]:
        return tuple(k for k in range(self.arm.size) if k not in some)

    def _dependent(self, J: Floats) -> tuple[int, ...]:
        """The dependent coordinates that the choice gives for kept, scaled rows."""
        if isinstance(self.choice, str):
            weights = preferences(self.arm.mechanism)
            if self.choice == "elastic":
                # what the last bending link of the closing legs does follows from the rest
                weights = 1e-3 * weights
                weights[self.leg_ends(1)] = 1.0
            return dependent_columns(J, weights, corresponding(self.arm.tree))
        dependent = self._complement(self.choice, len(J))
        condition = condition_of(J[:, list(dependent)], len(J))
        if condition > WORST:
            raise ValueError(
                f"independent: {', '.join(self.choice)} do not determine the configuration of robot "
                f"'{self.arm.mechanism.name}' (condition number {condition:.3g})"
            )
        return dependent

    def _complement(self, independent: Sequence[str], rank: int) -> tuple[int, ...]:
        """All coordinates but the named ones, whose number must fit."""
        free = set(named_indices(self.arm.names, independent, "independent"))
        if len(free) != self.arm.size - rank:
            raise ValueError(
                f"independent has {len(free)} coordinates; the loops of robot '{self.arm.mechanism.name}' "
                f"leave {self.arm.size - rank}"
            )
        return self._rest(tuple(free))

    def leg_ends(self, *sides: int) -> list[int]:
        """Elastic coordinates of the last bending links of the legs (side 0: first frame, 1: second frame)."""
        c = self.constraints
        loops = [closure for closure in c.closures if not closure.is_tie]
        found = (k for side in sides for closure in loops for k in last_elastic(c.tree, closure, side))
        return list(dict.fromkeys(c.order[k] for k in found))

    # ---- at a configuration

    def condition(self, q: Floats) -> float:
        """Condition number of the scaled constraints at q: infinite where a loop is singular."""
        return condition_of(self.constraints.scaled(q), len(self.selection.kept))

    def fit_at(self, q: Floats, independent: Sequence[str] | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dependent and independent coordinates that are fit at q; an automatic choice changes where it must."""
        J = self.constraints.scaled(q)[list(self.kept_at(q))]
        if independent is not None:
            dependent = self._complement(independent, len(J))
        else:
            dependent = self.selection.dependent
        condition = condition_of(J[:, list(dependent)], len(J))
        if condition > WORST:
            self.require_regular(q)
            if independent is not None or not isinstance(self.choice, str):
                names = ", ".join(self.names(self._rest(dependent)))
                self._raise(
                    f"{names} do not determine the motion of robot '{self.arm.mechanism.name}' at this configuration",
                    J[:, list(dependent)],
                    "take other independent coordinates, or leave the choice open",
                )
            dependent = dependent_columns(J, preferences(self.arm.mechanism), [])
        return dependent, self._rest(dependent)

    def at_leg_ends(self, q: Floats, J_p: Floats) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dependent elastic coordinates at the ends of the legs, for the loops and for rates J_p v of a platform."""
        c = self.constraints
        shifts = np.where(np.arange(len(J_p)) < 3, c.size, 1.0)
        A = np.vstack([c.scaled(q)[list(self.kept_at(q))], J_p * c.column_scale / shifts[:, None]])
        ends = self.leg_ends(0, 1)
        weights = np.zeros(self.arm.size)
        weights[ends] = 1.0
        if rank_of(A[:, ends]) < len(A):
            raise ValueError(
                f"the platform form of robot '{self.arm.mechanism.name}' needs {len(A)} elastic coordinates at the "
                f"ends of its legs that move them independently; of the {len(ends)} there, {rank_of(A[:, ends])} do"
            )
        dependent = dependent_columns(A, weights, corresponding(self.arm.tree))
        return dependent, self._rest(dependent)

    def require_regular(self, q: Floats) -> None:
        """Raise where the loops lose a constraint."""
        if self.condition(q) > WORST:
            self._raise(
                f"robot '{self.arm.mechanism.name}' is singular at this configuration",
                self.constraints.scaled(q),
                "a constraint is lost there and the accelerations are not determined; keep away from it",
            )

    def excess(self, driven: Sequence[int]) -> int:
        """How many drives the loops make follow from the others."""
        others, kept = list(self._rest(driven)), list(self.selection.kept)
        return len(kept) - max(rank_of(self.constraints.scaled(q)[kept][:, others]) for q in self.samples)

    def require_drivable(self, driven: Sequence[int]) -> None:
        """Raise where the accelerations of drives cannot all be given, because the loops make some follow others."""
        excess = self.excess(driven)
        if excess:
            raise LoopError(
                f"robot '{self.arm.mechanism.name}': the motions of {', '.join(self.names(driven))} cannot all be "
                f"given: the loops let {excess} of them follow from the others, and their efforts are not determined; "
                f"leave {excess} of them free (actuated: false, or no motion for it)"
            )

    def require_driven(self, q: Floats, driven: Sequence[int]) -> None:
        """Raise where given accelerations of the drives do not determine those of the other coordinates."""
        others = list(self._rest(driven))
        J = self.constraints.scaled(q)[list(self.kept_at(q))][:, others]
        if condition_of(J, len(J)) > WORST:
            self._raise(
                f"robot '{self.arm.mechanism.name}' is in a singular pose of its drives "
                f"{', '.join(self.names(driven))}",
                J,
                "the others can move while these are held, or cannot follow them; efforts are not determined there",
            )

    def _raise(self, what: str, J: Floats, remedy: str) -> NoReturn:
        """Name the loops whose rows are dependent in J."""
        rank = len(self.selection.kept)
        rows = range(len(J)) if len(J) == len(self.constraints.rows) else self.selection.kept
        left = np.linalg.svd(J)[0]
        lost = np.abs(left[:, rank - 1])
        loop_of = [self.constraints.loop_of[k] for k in rows]
        loops = tuple(dict.fromkeys(name for name, part in zip(loop_of, lost, strict=True) if part > 0.1))
        condition = condition_of(J, rank)
        quoted = ", ".join(f"'{name}'" for name in loops)
        raise SingularConfigurationError(
            f"{what}: {'loop' if len(loops) == 1 else 'loops'} {quoted}, condition number {condition:.3g}; {remedy}",
            loops,
            condition,
        )
