"""A link of the tree in one evaluation, as the steps of algorithms see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pliant.algorithm import LinkView
from pliant.bodies.constants import GROUND
from pliant.bodies.terms import BendingBody, FrameTerms
from pliant.spatial.vectors import ZERO3, Vector, subtract, times
from pliant.tree.attachment import Acceleration
from pliant.tree.connection import Connection

if TYPE_CHECKING:
    from pliant.tree.link import LinkConstants, LinkKind


@dataclass(slots=True)
class TreeView(LinkView):
    """A link with its body, its seat on the parent and its joint."""

    kind: LinkKind
    constants: LinkConstants | Callable[[], LinkConstants]
    parent: TreeView | None = None
    children: list[TreeView] = field(default_factory=list)

    @property
    def bent(self) -> LinkConstants:
        """Its constants, with the body at the state of the link where that has been found."""
        own: LinkConstants = self.link
        known, body = self.store.get("bent"), own.body
        if not known or not isinstance(body, BendingBody):
            return own
        return own._replace(body=body.at(known, self.store.get("sums", [])))

    @property
    def q(self) -> Vector:
        return self.inputs["q"]

    @property
    def v(self) -> Vector:
        """Zeros where no rates are given."""
        return self.inputs["v"] if "v" in self.inputs else [0.0] * self.kind.coordinates

    @property
    def force(self) -> Vector:
        """Given forces on its coordinates, less what damping that couples links takes of them."""
        f, drag = self.inputs["f"], self.drag
        return subtract(f, drag) if drag else f

    @property
    def drag(self) -> Vector:
        """Forces against the motion of its coordinates by damping that couples links; empty without any."""
        if not self.structure.drag or "v" not in self.inputs:
            return []
        return times(self.link.drag, self.whole("v"))

    @property
    def seat_motion(self) -> FrameTerms:
        """Motion of the parent's section on which the link sits, relative to the parent."""
        section = self.link.seat.section
        if self.parent is None:
            return GROUND.frame(section, [], [])
        q_e, v_e = (self.parent.kind.elastic(x) for x in (self.parent.q, self.parent.v))
        return self.parent.bent.body.frame(section, q_e, v_e)

    @property
    def connection(self) -> Connection:
        c: Connection = self.store["connection"]
        return c

    @property
    def parent_acceleration(self) -> Acceleration:
        """Of the parent's frame; gravity is an acceleration of the base."""
        if self.parent is None:
            return Acceleration([-g for g in self.gravity], list(ZERO3), [])
        a: Acceleration = self.parent.store["acceleration"]
        return a

    def handed(self, name: str) -> list[tuple[Any, FrameTerms]]:
        """What the children stored under a name, with where they hang."""
        return [(child.store[name], child.connection.frame) for child in self.children]
