"""Positions, rotations, Jacobians and energies of an arm as SymPy expressions: the steps of Lin & Lewis (3)-(16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError, did_you_mean
from pliant.formulations.lagrange.algebra.motions import (
    BodyEnergy,
    SymbolicMotion,
    body_motions,
    energies,
    frame_motion,
)
from pliant.formulations.lagrange.algebra.series import Series

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations


@dataclass(frozen=True)
class SymbolicFrame:
    """A frame in base axes, as SymPy matrices.

    p    position of its origin; of a rigid body its centre of mass   (3, 1)
    R    rotation, columns are its axes                               (3, 3)
    J_v  velocity of p per rate of each coordinate                    (3, n)
    J_w  angular velocity per rate                                    (3, n)

    ``values`` has all constants, those of the equations and those that only this frame has.
    """

    name: str
    p: Any
    R: Any
    J_v: Any
    J_w: Any
    values: Mapping[str, float]


@dataclass(frozen=True)
class SymbolicEnergy:
    """Energies of one body: kinetic v^T H v / 2, and potential in gravity; ``values`` has all constants."""

    name: str
    H: Any
    potential: Any
    values: Mapping[str, float]


class SymbolicKinematics:
    """Where the bodies of an arm are, how they move and what energies they have, in the symbols of its equations."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations

    @cached_property
    def motions(self) -> list[SymbolicMotion]:
        """Frames of all bodies, as series."""
        return body_motions(self.equations.chain)

    @cached_property
    def parts(self) -> list[BodyEnergy]:
        """Energies of all bodies, as series."""
        return energies(self.equations.chain)

    @cached_property
    def bodies(self) -> tuple[SymbolicFrame, ...]:
        """The frames of all bodies, links and the parts that they carry, from the base on."""
        return tuple(self._written(motion) for motion in self.motions)

    @cached_property
    def energies(self) -> tuple[SymbolicEnergy, ...]:
        """What each body adds to the energies."""
        eq = self.wide([x for part in self.parts for row in part.H for x in row] + [p.potential for p in self.parts])
        out = []
        for part in self.parts:
            H = eq._matrix(part.H)
            out.append(SymbolicEnergy(part.label, H, eq._matrix([[part.potential]])[0, 0], eq.values))
        return tuple(out)

    @cached_property
    def complete(self) -> Equations:
        """The equations with all constants that the steps of their derivation have."""
        rows = [x for m in self.motions for part in (m.R, m.J_v, m.J_w) for row in part for x in row]
        series = [*rows, *(x for m in self.motions for x in m.p)]
        series += [x for part in self.parts for row in part.H for x in row] + [part.potential for part in self.parts]
        out = self.wide(series)
        out.__dict__["kinematics"] = self
        return out

    def frame(self, name: str) -> SymbolicFrame:
        """A frame of a link, LINK.FRAME; LINK alone is its tip."""
        chain = self.equations.chain
        known = chain.frame_names
        key = name if name in known else f"{name}.tip"
        if key not in known:
            hint = did_you_mean(name, set(known)) or f"; there are {', '.join(known)}"
            raise ModelError(f"robot '{self.equations.robot}' has no frame '{name}'{hint}")
        link, _, frame = key.rpartition(".")
        return self._written(frame_motion(chain, link, frame))

    def _written(self, motion: SymbolicMotion) -> SymbolicFrame:
        rows = (*motion.R, *motion.J_v, *motion.J_w)
        eq = self.wide([*motion.p, *(x for row in rows for x in row)])
        p = eq._matrix([[x] for x in motion.p])
        R, J_v, J_w = (eq._matrix(x) for x in (motion.R, motion.J_v, motion.J_w))
        return SymbolicFrame(motion.label, p, R, J_v, J_w, eq.values)

    def wide(self, series: list[Series]) -> Equations:
        """The equations with the constants that some more series have."""
        eq = self.equations
        used = eq.names.needed([*series, *eq.system.all_series()])
        # further constants have their long names, whatever else is asked for
        more = {v: c for v, c in eq.names.constants.items() if v in used and v not in eq.table}
        table = {**more, **eq.table}
        numbers = dict(eq.numbers)
        if numbers:
            numbers |= {v: c.value for v, c in table.items() if v not in eq.table}
        wide = replace(eq, table=table, numbers=numbers)
        if not eq.definitions or eq.source is None:
            return wide
        from pliant.formulations.lagrange.typesetting.definitions import definitions

        found = definitions(*eq.source, eq.names, table)
        new = {v: s for v, s in found.sums.items() if v not in eq.definitions and v not in numbers}
        return replace(wide, table={**found.table, **eq.table}, definitions={**new, **eq.definitions})
