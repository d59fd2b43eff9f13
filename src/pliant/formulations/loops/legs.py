"""What the description of a robot tells about its legs: which coordinates correspond, which come last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.loops.closure import Closure
from pliant.formulations.loops.cuts import branch
from pliant.mechanism import Mechanism
from pliant.tree.tree import Tree

PASSIVE, ELASTIC, ACTUATED = 1.0, 1e-3, 1e-6
"""Preference to be dependent: passive joints, then elastic coordinates, drives only if nothing else is left."""


def preferences(mechanism: Mechanism) -> NDArray[np.float64]:
    """How gladly each coordinate is taken as dependent."""
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
