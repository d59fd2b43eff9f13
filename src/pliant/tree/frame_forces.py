"""Generalised forces of a force and a moment on a frame, J^T w, handed from link to link down to the base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pliant.algorithm import views
from pliant.spatial.vectors import Vector, transpose_times
from pliant.tree.composite import pass_down, project
from pliant.tree.kinematics import Motion
from pliant.tree.link import LinkConstants
from pliant.tree.lowering import lower_with_frames
from pliant.tree.passes import CONNECT, FOLLOW, MOVE

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism
    from pliant.tree.tree import Tree


class FrameLink(NamedTuple):
    """A tree with a massless link at every frame, and which of these it is."""

    tree: Tree
    link: int


def frame_link(mechanism: Mechanism, frame: str) -> FrameLink:
    """Where a frame is: LINK.FRAME, LINK (its tip) or tip."""
    tree = lower_with_frames(mechanism)
    member, name = mechanism.frame(frame)
    first = len(tree.links) - len(tree.frames)
    return FrameLink(tree, first + list(tree.frames).index(f"{mechanism.members[member].name}.{name}"))


def frame_forces(
    place: FrameLink, q: Vector, force: Vector, moment: Vector, constants: Sequence[LinkConstants] | None = None
) -> Vector:
    """On all coordinates (n,), of a force and a moment (base axes) on a frame."""
    tree, tip = place
    links = views(tree, {"q": q, "v": [0.0] * tree.size}, constants, [0.0] * 3)
    carriers = [tip]
    while tree.links[carriers[-1]].parent >= 0:
        carriers.append(tree.links[carriers[-1]].parent)
    for each in (FOLLOW, CONNECT, MOVE):
        for i in reversed(carriers):
            links[i].store.update(each.step(links[i]))
    motion: Motion = links[tip].store["motion"]
    own = transpose_times(motion.R, force), transpose_times(motion.R, moment), [0.0] * links[tip].kind.size
    out: Vector = [0.0] * tree.size
    for i in carriers:
        view, start = links[i], tree.links[i].start
        part = project(view.kind, view.link, view.connection, *own)
        out[start : start + len(part)] = part
        if view.parent is not None:
            own = pass_down(view.connection, view.parent.kind.size, *own[:2])
    return out
