"""Small loops in symbols: the tree is cut open, and the frames of a pin must stay together.

c(q) is the way between two frames along axes of the base, J its derivatives by the coordinates, and J_dot v how fast
that changes: M a + ... = B tau + J^T lambda with J a + J_dot v = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pliant.formulations.lagrange.algebra.chain import BodyChain
from pliant.formulations.lagrange.algebra.motions import frame_motion
from pliant.formulations.lagrange.algebra.series import Series
from pliant.formulations.lagrange.algebra.system_matrices import SymbolicClosure
from pliant.formulations.loops.closure import rows_of
from pliant.joints.rows import ShiftRow

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism

MOST_COORDINATES, MOST_ROWS = 8, 4
"""Of robots whose loops are short enough in symbols to be read."""


def has_small_loops(mechanism: Mechanism) -> bool:
    """Whether all loops are pins in a plane or balls, and few."""
    rows = [row for loop in mechanism.loops for row in rows_of(loop)]
    few = mechanism.size <= MOST_COORDINATES and len(rows) <= MOST_ROWS
    return few and all(isinstance(row, ShiftRow) for row in rows)


def closures(mechanism: Mechanism, chain: BodyChain) -> SymbolicClosure:
    """What the loops of a mechanism hold together."""
    coordinates = tuple(chain.names.coordinates)
    names: list[str] = []
    gaps: list[Series] = []
    for loop in mechanism.loops:
        first, second = (_place(mechanism, chain, end) for end in loop.frames)
        for row in rows_of(loop):
            assert isinstance(row, ShiftRow)
            names.append(f"{loop.name}.{row.label}")
            gaps.append((first[row.axis] - second[row.axis]).reduced())
    J = [[gap.by(q).reduced() for q in coordinates] for gap in gaps]
    rates: list[list[Mapping[int, Series]]] = [
        [{k: x for k, q in enumerate(coordinates) if (x := entry.by(q).reduced())} for entry in row] for row in J
    ]
    return SymbolicClosure(tuple(names), gaps, J, rates)


def _place(mechanism: Mechanism, chain: BodyChain, end: tuple[int, str]) -> list[Series]:
    member, frame = end
    if member >= 0:
        return frame_motion(chain, mechanism.members[member].name, frame).p
    # the base has one frame, in its origin
    return [chain.names.algebra.number(0.0)] * 3
