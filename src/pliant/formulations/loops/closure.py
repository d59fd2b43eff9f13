"""Closures of kinematic loops: two frames that stay together, at the level of positions, velocities, accelerations.

Each side of a closure is a massless link of the tree (``merging.with_frame``), so that frames on the base, on rigid and
on bending links are all alike. A weld keeps the relative twist of the frames zero, (30) of Briot & Khalil for any two
frames; a revolute closure leaves the turn about the common axis z of the two frames, a spherical one all turns; in a
plane only the two displacements and the turn about its normal are kept. Rows in base axes, first frame minus second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from pliant.formulations.loops.merging import with_frame
from pliant.mechanism import BASE, LoopEnds, Mechanism
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import AFTER, Vector, column, cross, dot, subtract, times, zeros
from pliant.tree.connection import Acceleration
from pliant.tree.kinematics import Motion
from pliant.tree.lowering import fixed_seat
from pliant.tree.tree import TreeView

if TYPE_CHECKING:
    from pliant.tree.tree import Tree

AXES = "xyz"


class ClosureRow(NamedTuple):
    """One scalar constraint: a displacement or a turn along a base axis, or a tilt about an axis of the first frame."""

    kind: Literal["shift", "turn", "tilt", "tie"]
    axis: int

    @property
    def label(self) -> str:
        return "tie" if self.kind == "tie" else f"{'' if self.kind == 'shift' else 'r'}{AXES[self.axis]}"


@dataclass(frozen=True, slots=True)
class Closure:
    """A loop's closure between two massless links of the tree; or two links whose joints are tied by a ratio.

    Of a tie, the joint of the first link follows: q_first = ratio q_second + offset.
    """

    name: str
    first: int
    second: int
    rows: tuple[ClosureRow, ...]
    ratio: float = 1.0
    offset: float = 0.0

    @property
    def is_tie(self) -> bool:
        """Whether it ties two joints."""
        return any(row.kind == "tie" for row in self.rows)

    def tied(self, first: Vector, second: Vector, offset: float = 0.0) -> Scalar:
        """How far the own coordinates of two links, or their rates or accelerations, are from the tie."""
        return first[0] - self.ratio * second[0] - offset


def normal_of(planar: str) -> int:
    """Number of the base axis that is normal to a plane."""
    return next(k for k, axis in enumerate(AXES) if axis not in planar)


def rows_of(loop: LoopEnds) -> tuple[ClosureRow, ...]:
    """The constraints of a loop, in the order of the base axes."""
    shifts = [ClosureRow("shift", k) for k in range(3)]
    turns = [ClosureRow("turn", k) for k in range(3)] if loop.kind == "weld" else []
    if loop.kind == "revolute":
        turns = [ClosureRow("tilt", 0), ClosureRow("tilt", 1)]
    if loop.planar is not None:
        normal = normal_of(loop.planar)
        shifts = [row for row in shifts if row.axis != normal]
        turns = [row for row in turns if row == ClosureRow("turn", normal)]
    return (*shifts, *turns)


TIE = (ClosureRow("tie", 0),)


def close(tree: Tree, mechanism: Mechanism, order: Sequence[int]) -> tuple[Tree, tuple[Closure, ...]]:
    """Add the frames of all loops to a tree, whose coordinates are the mechanism's in an order."""
    place = {order[link.start]: i for i, link in enumerate(tree.links) if link.kind.is_driven}
    closures = [
        Closure(tie.name, place[tie.follower], place[tie.leader], TIE, tie.ratio, tie.offset) for tie in mechanism.ties
    ]
    for loop in mechanism.loops:
        R = axis_to_z(loop.axis) if loop.kind == "revolute" else np.eye(3)
        for k, (member, frame) in enumerate(loop.frames):
            parent, seat = -1, fixed_seat(np.zeros(3), np.eye(3), 0, mechanism.rule)
            if member != BASE:
                parent, seat = tree.frames[f"{mechanism.members[member].name}.{frame}"]
            tree = with_frame(tree, f"{loop.name}.{('first', 'second')[k]}", parent, seat, R)
        n = len(tree.links)
        closures.append(Closure(loop.name, n - 2, n - 1, rows_of(loop)))
    return tree, tuple(closures)


def axis_to_z(axis: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """R with R e_z = axis; a cyclic change of axes where the axis is a coordinate axis."""
    k = int(np.argmax(np.abs(axis)))
    i, _ = AFTER[k]
    x = np.eye(3)[i] - axis[i] * axis
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


# ---- one closure on the motions of its two frames


def gap(rows: Sequence[ClosureRow], a: Motion, b: Motion) -> Vector:
    """How far the frames are apart: metres, and 2 tan(angle/2) of the turns; zero only where the loop is closed."""
    out = []
    p = subtract(a.p, b.p)
    for kind, k in rows:
        i, j = AFTER[k]
        if kind == "shift":
            out.append(p[k])
        elif kind == "turn":
            # the skew part of R_A R_B^T over (1 + trace)/4: an opposite turn is no closure
            out.append(2.0 * (dot(a.R[j], b.R[i]) - dot(a.R[i], b.R[j])) / (1.0 + _trace(a, b)))
        else:
            z = column(b.R, 2)
            tilt = (1.0, -1.0)[k] * dot(column(a.R, 1 - k), z)
            out.append(2.0 * tilt / (1.0 + dot(column(a.R, 2), z)))
    return out


def _trace(a: Motion, b: Motion) -> Scalar:
    """Trace of R_A R_B^T."""
    return dot(a.R[0], b.R[0]) + dot(a.R[1], b.R[1]) + dot(a.R[2], b.R[2])


def gap_rate(rows: Sequence[ClosureRow], a: Motion, b: Motion) -> Vector:
    """Relative velocity of the frames along the rows; the derivative of the gap where the loop is closed."""
    v, w = subtract(a.v, b.v), subtract(a.w, b.w)
    return [dot(column(a.R, k), w) if kind == "tilt" else (v if kind == "shift" else w)[k] for kind, k in rows]


def gap_acceleration(rows: Sequence[ClosureRow], a: Motion, b: Motion, A: Acceleration, B: Acceleration) -> Vector:
    """Derivative of the rate: A, B are the accelerations of the frames in their own axes."""
    linear = subtract(times(a.R, A.a_v), times(b.R, B.a_v))
    angular = subtract(times(a.R, A.a_w), times(b.R, B.a_w))
    out = []
    for kind, k in rows:
        if kind == "tilt":
            x = column(a.R, k)
            out.append(dot(x, angular) + dot(cross(a.w, x), subtract(a.w, b.w)))
        else:
            out.append((linear if kind == "shift" else angular)[k])
    return out


# ---- all closures of a tree


def gaps_and_rates(closures: Sequence[Closure], links: Sequence[TreeView]) -> tuple[Vector, Vector]:
    """Gaps and their rates where the links have their motions, closure by closure."""
    gaps: Vector = []
    rates: Vector = []
    for closure in closures:
        first, second = links[closure.first], links[closure.second]
        if closure.is_tie:
            gaps.append(closure.tied(first.q, second.q, closure.offset))
            rates.append(closure.tied(first.v, second.v))
        else:
            a, b = first.store["motion"], second.store["motion"]
            gaps += gap(closure.rows, a, b)
            rates += gap_rate(closure.rows, a, b)
    return gaps, rates


def closing(closures: Sequence[Closure], links: Sequence[TreeView]) -> tuple[Vector, Vector, Vector]:
    """Gaps, their rates and their accelerations after ``FRAMES``, closure by closure."""
    accelerations: Vector = []
    for closure in closures:
        first, second = links[closure.first], links[closure.second]
        if closure.is_tie:
            accelerations.append(closure.tied(first.inputs["a"], second.inputs["a"]))
            continue
        a, b = first.store["motion"], second.store["motion"]
        accelerations += gap_acceleration(closure.rows, a, b, first.store["acceleration"], second.store["acceleration"])
    return *gaps_and_rates(closures, links), accelerations


def closing_force(
    closures: Sequence[Closure], links: Sequence[TreeView], multipliers: Vector
) -> dict[int, tuple[Vector, Vector]]:
    """Force and moment of the multipliers on the frames, own axes, by index of the massless link."""
    out: dict[int, tuple[Vector, Vector]] = {}
    start = 0
    for closure in closures:
        if closure.is_tie:
            start += 1
            continue
        a: Motion = links[closure.first].store["motion"]
        force, moment = list(zeros(1, 3)[0]), list(zeros(1, 3)[0])
        for k, row in enumerate(closure.rows):
            x = multipliers[start + k]
            if row.kind == "tilt":
                moment = [m + x * e for m, e in zip(moment, column(a.R, row.axis), strict=True)]
            else:
                target = force if row.kind == "shift" else moment
                target[row.axis] = target[row.axis] + x
        start += len(closure.rows)
        for index, sign in ((closure.first, 1.0), (closure.second, -1.0)):
            motion: Motion = links[index].store["motion"]
            columns = [column(motion.R, k) for k in range(3)]
            out[index] = ([sign * dot(c, force) for c in columns], [sign * dot(c, moment) for c in columns])
    return out


def tie_forces(closures: Sequence[Closure], multipliers: Vector) -> list[tuple[int, Scalar]]:
    """(link, effort on its joint's own coordinate) of the multipliers of ties."""
    out: list[tuple[int, Scalar]] = []
    start = 0
    for closure in closures:
        if closure.is_tie:
            out += [(closure.first, multipliers[start]), (closure.second, -(closure.ratio * multipliers[start]))]
        start += len(closure.rows)
    return out
