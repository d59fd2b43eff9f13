"""Cuts: places where the last bending link of a leg holds the rest by tip coordinates of its own, and what they solve.

A plan says where a robot is cut and which closures the cuts solve. The tip coordinates that follow from a closure are
the paper's choice of dependent coordinates, with a Jacobian that is a transport, (34)-(35) of Briot & Khalil.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.loops.closure import Closure
from pliant.formulations.loops.elimination import is_unit, vanishes
from pliant.joints.rows import ShiftRow, TurnRow
from pliant.mechanism import Mechanism
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import (
    AFTER,
    ZERO3,
    Matrix,
    Vector,
    add,
    cross,
    identity3,
    product,
    subtract,
    times,
    zeros,
)
from pliant.tree.kinematics import CONNECT, MOVE, Motion
from pliant.tree.link import carried_acceleration
from pliant.tree.tree import Tree, TreeView


class Solved(NamedTuple):
    """A closure that the cut below ``link`` solves: ``near`` is its frame beyond the cut, ``far`` the other one."""

    closure: int
    link: int
    near: int
    far: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How to take the robot apart.

    cuts    links whose seat on a bending parent is an unknown of its own
    solved  closures that such a cut solves; all others have multipliers
    late    coordinates below a link up to which it is handed on before its own coordinates are eliminated
    weights inertia of shifts (kg) and turns (kg m2) that each row with a multiplier adds along itself: the motion stays
            the same, because the row does not move, and coordinates that have no inertia of their own get some
    """

    cuts: tuple[int, ...] = ()
    solved: tuple[Solved, ...] = ()
    late: int = 0
    weights: tuple[float, float] = (0.0, 0.0)


def move_frames(links: Sequence[TreeView], note: Callable[[str], None] = lambda text: None) -> None:
    """Positions, velocities and connections of all links; ``note`` is told which step begins."""
    for number, (each, what) in enumerate(((CONNECT, "where it sits"), (MOVE, "twist"))):
        for view in links:
            note(f"step {number}, {what}: {view.name}")
            view.store.update(each.step(view))


# ---- the structure of a robot


def seat_rows(view: TreeView) -> list[dict[tuple[str, int], Scalar]]:
    """Acceleration of a link's seat (linear, angular; parent axes) over the parent's frame and elastic coordinates."""
    assert view.parent is not None
    c = view.connection
    rows: list[dict[tuple[str, int], Scalar]] = [{("body", k): 1.0} for k in range(6)]
    for k, (i, j) in enumerate(AFTER):
        # a_w x r
        rows[k]["body", 3 + i] = c.r[j]
        rows[k]["body", 3 + j] = -c.r[i]
    turn = zeros(3, view.parent.kind.size) if c.frame.spin is None else c.frame.spin.J_w
    for k in range(3):
        for e in range(view.parent.kind.size):
            rows[k]["elastic", e] = c.frame.J_v[k][e]
            rows[3 + k]["elastic", e] = turn[k][e]
    return [{x: value for x, value in row.items() if not vanishes(value)} for row in rows]


def tip_coordinates(view: TreeView) -> dict[int, int]:
    """Components of a link's seat that an elastic coordinate of the parent alone moves, by one unit: the tip's own."""
    rows = seat_rows(view)
    found: dict[int, int] = {}
    for k, row in enumerate(rows):
        modes = [index for part, index in row if part == "elastic"]
        if len(modes) == 1 and is_unit(row["elastic", modes[0]]):
            e = modes[0]
            if all(("elastic", e) not in other for m, other in enumerate(rows) if m != k):
                found[k] = e
    return found


class Along(NamedTuple):
    """A frame beyond a cut, seen in the axes of the cut: from the seat, and what the joints between add.

    lever           from the attachment point to the frame
    shifts, turns   linear and angular acceleration of the frame per unit acceleration of each joint on the way
    bias_v, bias_w  acceleration without that of the seat and of the joints
    """

    lever: Vector
    shifts: dict[int, Vector]
    turns: dict[int, Vector]
    bias_v: Vector
    bias_w: Vector


def along(links: Sequence[TreeView], path: Sequence[int]) -> Along:
    R: Matrix = identity3()
    lever: Vector = list(ZERO3)
    origins: dict[int, Vector] = {}
    columns: dict[int, tuple[Vector, Vector]] = {}
    a_v: Vector = list(ZERO3)
    a_w: Vector = list(ZERO3)
    for step, i in enumerate(path):
        view = links[i]
        c = view.connection
        lever = add(lever, times(R, c.s if step == 0 else add(c.r, c.s)))
        R = product(R, c.R)
        if view.kind.held == 1:
            (N,) = view.kind.joint.columns(view.link.joint)
            origins[i], columns[i] = lever, (times(R, N[:3]), times(R, N[3:]))
        if step == 0:
            a_v, a_w = list(c.h_v), list(c.h_w)
        else:
            a_v, a_w = carried_acceleration(c, a_v, a_w, [])
    shifts, turns = {}, {}
    for i, (slide, spin) in columns.items():
        turns[i], shifts[i] = spin, add(slide, cross(spin, subtract(lever, origins[i])))
    return Along(lever, shifts, turns, times(R, a_v), times(R, a_w))


def parents_of(links: Sequence[TreeView]) -> list[int]:
    """Index of each link's parent, -1 for the base."""
    index = {id(view): i for i, view in enumerate(links)}
    return [-1 if view.parent is None else index[id(view.parent)] for view in links]


def path_of(parents: Sequence[int], solved: Solved) -> list[int]:
    """From a cut to the closure's frame beyond it."""
    path = [solved.near]
    while path[-1] != solved.link:
        path.append(parents[path[-1]])
    return path[::-1]


def order_of_work(parents: Sequence[int], solved: Sequence[Solved]) -> Iterator[tuple[str, int]]:
    """Links tips first; a closure after all of the leg that its cut belongs to and before its far frame."""
    order: TopologicalSorter[tuple[str, int]] = TopologicalSorter()
    for i in reversed(range(len(parents))):
        order.add(("link", i))
        if parents[i] >= 0:
            order.add(("link", parents[i]), ("link", i))
    for k, each in enumerate(solved):
        order.add(("closure", k), *(("link", i) for i in branch(parents, each.near, each.far)))
        order.add(("link", each.far), ("closure", k))
    return iter(order.static_order())


def branch(parents: Sequence[int], i: int, other: int) -> list[int]:
    """The links from i down to the last one that does not carry ``other`` as well."""
    carrying = {other, -1}
    while other >= 0:
        other = parents[other]
        carrying.add(other)
    out = []
    while i not in carrying:
        out.append(i)
        i = parents[i]
    return out


def axes_of(view: TreeView) -> Matrix:
    """Rotation base <- axes of a link's seat."""
    if view.parent is None:
        return identity3()
    motion: Motion = view.parent.store["motion"]
    return motion.R


def held_axes(closure: Closure, kind: str, R_S: Matrix) -> list[int]:
    """The axes of a seat along (about) which a closure holds the frames together."""
    given = [row.axis for row in closure.rows if isinstance(row, ShiftRow | TurnRow) and row.kind == kind]
    if len(given) == 2:
        # all but the axis that is left free, if that is an axis of the seat too
        (free,) = set(range(3)) - set(given)
        rest = [k for k in range(3) if not is_unit(R_S[free][k])]
        return rest if len(rest) == 2 else []
    return [k for k in range(3) if len(given) == 3 or any(is_unit(R_S[axis][k]) for axis in given)]


def turning_joint(turns: Mapping[int, Vector], k: int) -> int | None:
    """A joint whose axis is, structurally, the axis k."""
    for link, axis in turns.items():
        if is_unit(axis[k]) and all(vanishes(axis[d]) for d in range(3) if d != k):
            return link
    return None


# ---- the choice of cuts


def plans(links: Sequence[TreeView], closures: Sequence[Closure], given: Sequence[int] = ()) -> list[Plan]:
    """Ways to take a robot apart (after ``move_frames``): multipliers only, cuts that close loops, a free platform."""
    parents = parents_of(links)
    solved: list[Solved] = []
    for c, closure in enumerate(closures):
        if closure.is_tie:
            continue
        for near, far in ((closure.second, closure.first), (closure.first, closure.second)):
            link = _cut_below(links, parents, near, far)
            if link is None or not _is_apart(links, parents, link, [each.link for each in solved]):
                continue
            candidate = Solved(c, link, near, far)
            if _can_solve(links, parents, closure, candidate, given) and _has_order(parents, [*solved, candidate]):
                solved.append(candidate)
                break
    out = [Plan(late=LATE)]
    if solved:
        cuts = [each.link for each in solved]
        out.append(Plan(tuple(cuts), tuple(solved), LATE))
        for each in solved:
            link = _cut_below(links, parents, each.far, each.near)
            if link is not None and _is_apart(links, parents, link, cuts):
                cuts.append(link)
        if len(cuts) > len(solved):
            out.append(Plan(tuple(cuts), tuple(solved), LATE))
    return out


LATE = 1
"""A link above a single coordinate (a carriage, a crank's motor) is handed on before its own coordinates are solved."""


def _cut_below(links: Sequence[TreeView], parents: Sequence[int], near: int, far: int) -> int | None:
    """The link beyond the last bending one of a closure's leg, if its seat has tip coordinates of its own."""
    leg = branch(parents, near, far)
    # the bending link itself must not carry the far frame as well
    for i, carrier in pairwise(leg):
        if links[carrier].kind.size:
            return i if tip_coordinates(links[i]) else None
    return None


def _is_apart(links: Sequence[TreeView], parents: Sequence[int], link: int, cuts: Sequence[int]) -> bool:
    """Whether a cut takes no tip coordinate that moves the seat of another; frames at one beam end share them."""
    if link in cuts:
        return False
    beside = [cut for cut in cuts if parents[cut] == parents[link]]
    return not any(_tips(links[a]) & _moved_by(links[b]) for cut in beside for a, b in ((link, cut), (cut, link)))


def _tips(view: TreeView) -> set[int]:
    return set(tip_coordinates(view).values())


def _moved_by(view: TreeView) -> set[int]:
    """Elastic coordinates of the parent that move a link's seat."""
    return {index for row in seat_rows(view) for part, index in row if part == "elastic"}


def _can_solve(
    links: Sequence[TreeView], parents: Sequence[int], closure: Closure, solved: Solved, given: Sequence[int]
) -> bool:
    """Whether every row of a closure has an unknown of the cut, or a joint beyond it, that follows from it alone.

    Turns of the seat that move the frame by its lever must be unknowns as well: those that no tip coordinate has are
    the parent's, which is solved by then.
    """
    path = path_of(parents, solved)
    if set(path) & set(given) or any(links[i].kind.held > 1 for i in path):
        return False
    R_S = axes_of(links[solved.link])
    tips = tip_coordinates(links[solved.link])
    near = along(links, path)
    kinds = [row.kind for row in closure.rows]
    held = {kind: held_axes(closure, kind, R_S) for kind in ("shift", "turn")}
    if not set(kinds) <= set(held) or any(len(held[kind]) != kinds.count(kind) for kind in held):
        return False
    turned = all(3 + k in tips or turning_joint(near.turns, k) is not None for k in held["turn"])
    swung = {i for k in held["shift"] for i, j in (AFTER[k], AFTER[k][::-1]) if not vanishes(near.lever[j])}
    return turned and set(held["shift"]) <= set(tips) and {3 + i for i in swung} <= set(tips)


def _has_order(parents: Sequence[int], solved: Sequence[Solved]) -> bool:
    try:
        list(order_of_work(parents, solved))
    except CycleError:
        return False
    return True


# ---- what the description of a robot tells about its legs

PASSIVE, ELASTIC, ACTUATED = 1.0, 1e-3, 1e-6
"""Preference to be dependent: passive joints, then elastic coordinates, drives only if nothing else is left."""


def preferences(mechanism: Mechanism) -> NDArray[np.float64]:
    """Preference of each coordinate to be dependent, larger first."""
    weights = np.full(mechanism.size, ELASTIC)
    weights[mechanism.joints] = PASSIVE
    for member in mechanism.driven_members:
        if member.joint.is_actuated:
            weights[member.start] = ACTUATED
    return weights


def corresponding(tree: Tree) -> list[list[int]]:
    """Groups of coordinates that play the same part in identical legs."""
    signatures: list[tuple[object, ...]] = []
    for link in tree.links:
        below = signatures[link.parent] if link.parent >= 0 else ()
        body, drive = link.body, link.drive
        numbers = (*np.ravel(body.M_ee), *np.ravel(body.K_ee), body.mass, drive.damping, drive.stiffness)
        own = (link.kind.joint, link.kind.size, *(f"{x:.9g}" for x in numbers))
        signatures.append((*below, own))
    groups: dict[tuple[object, ...], list[int]] = {}
    for link, signature in zip(tree.links, signatures, strict=True):
        for k in range(link.kind.coordinates):
            groups.setdefault((signature, k), []).append(link.start + k)
    return list(groups.values())


def last_elastic(tree: Tree, closure: Closure, side: int) -> list[int]:
    """Elastic coordinates that move the end of the last bending link of one leg of a loop (``side`` 0 or 1)."""
    parents = [link.parent for link in tree.links]
    frame, other = (closure.first, closure.second) if side == 0 else (closure.second, closure.first)
    for i in branch(parents, frame, other):
        if parents[i] < 0:
            break
        moved_by = tree.links[i].seat.section.moved_by
        if moved_by:
            return [tree.links[parents[i]].elastic.start + e for e in moved_by]
    return []


def named_indices(names: Sequence[str], wanted: Sequence[str], what: str) -> list[int]:
    """Places of coordinates by their names."""
    missing = [name for name in wanted if name not in names]
    if missing:
        from difflib import get_close_matches

        close = get_close_matches(missing[0], names, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else f"; coordinates: {', '.join(names)}"
        raise ValueError(f"{what}: there is no coordinate '{missing[0]}'{hint}")
    return [list(names).index(name) for name in wanted]
