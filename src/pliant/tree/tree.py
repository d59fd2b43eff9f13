"""The tree of links that the recursions walk: order, coordinates, constants, and a link as steps see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.algorithm import LinkView
from pliant.bodies.constants import GROUND, terms_in_arrays
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.terms import BendingBody, FrameTerms
from pliant.joints.kind import JointDrive
from pliant.spatial.rounding import as_lists
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import ZERO3, Vector, subtract, times
from pliant.tree.link import Acceleration, Connection, LinkConstants, LinkKind, Seat, lost_by


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
        """Acceleration of the parent's frame; gravity is an acceleration of the base."""
        if self.parent is None:
            return Acceleration([-g for g in self.gravity], list(ZERO3), [])
        a: Acceleration = self.parent.store["acceleration"]
        return a

    def handed(self, name: str) -> list[tuple[Any, FrameTerms]]:
        """What the children stored under a name, with where they hang."""
        return [(child.store[name], child.connection.frame) for child in self.children]


# ---- the tree of links that the recursions walk


@dataclass(frozen=True, eq=False)
class TreeLink:
    """A link in the tree: ``start`` is its first coordinate, ``parent`` an index or -1 for the base.

    seat        where it sits on its parent
    drive       what acts along its joint
    parameters  numbers of its joint's motion
    body        in the link's dynamics frame D, sections turn by ``rule``
    R_DB, p_DB  the link's own frame B in D
    drag        damping of its coordinates by the rates of all (own, n); None: by its own body alone
    """

    name: str
    joint: str
    parent: int
    kind: LinkKind
    seat: Seat
    drive: JointDrive
    parameters: tuple[float, ...]
    body: ModalBody
    rule: str
    coordinates: tuple[str, ...]
    start: int
    R_DB: Array
    p_DB: Array
    drag: Array | None = None

    @cached_property
    def constants(self) -> LinkConstants:
        """Everything in numbers that its steps read."""
        numbers = self.numbers
        return numbers._replace(body=as_lists(numbers.body))

    @cached_property
    def numbers(self) -> LinkConstants:
        """The constants with arrays in the place of nested lists: robots of one structure need no more."""
        drag = [] if self.drag is None else self.drag.tolist()
        return LinkConstants(terms_in_arrays(self.body, self.rule), self.seat, self.drive, list(self.parameters), drag)

    @property
    def own(self) -> slice:
        """Where the link's coordinates are."""
        return slice(self.start, self.start + self.kind.coordinates)

    @property
    def elastic(self) -> slice:
        """Where its elastic coordinates are."""
        return slice(self.own.stop - self.kind.size, self.own.stop)


@dataclass(frozen=True, eq=False)
class Tree:
    """Links in tree order (parents first), gravity, and named frames: LINK.FRAME -> (link, its place on it)."""

    links: tuple[TreeLink, ...]
    gravity: Array
    frames: dict[str, tuple[int, Seat]]

    view: ClassVar[type[TreeView]] = TreeView

    def with_drag(self, drag: Array | None) -> Tree:
        """This tree with its coordinates damped by a matrix (n, n) that couples them."""
        if drag is None:
            return self
        rows = [drag[link.own] for link in self.links]
        links = [replace(link, drag=own if own.any() else None) for link, own in zip(self.links, rows, strict=True)]
        return replace(self, links=tuple(links))

    @cached_property
    def drag(self) -> Array | None:
        """Damping that couples links (n, n); None without any."""
        if all(link.drag is None for link in self.links):
            return None
        none = np.zeros((0, self.size))
        rows = (np.zeros((link.kind.coordinates, self.size)) if link.drag is None else link.drag for link in self.links)
        return np.vstack([none, *rows])

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        return tuple(name for link in self.links for name in link.coordinates)

    @cached_property
    def size(self) -> int:
        return sum(link.kind.coordinates for link in self.links)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each link, the links that hang on it."""
        out: list[list[int]] = [[] for _ in self.links]
        for i, link in enumerate(self.links):
            if link.parent >= 0:
                out[link.parent].append(i)
        return tuple(tuple(c) for c in out)

    @property
    def joints(self) -> Array:
        """Indices of the joint coordinates."""
        of_links = (range(link.start, link.elastic.start) for link in self.links)
        return np.array([k for each in of_links for k in each], dtype=int)

    @cached_property
    def rotation_vectors(self) -> tuple[int, ...]:
        """First coordinates of rotation vectors that shorter ones may replace: no spring counts their turns."""
        vectors = ((link, link.kind.joint.rotation_vector) for link in self.links)
        return tuple(link.start + k for link, k in vectors if k is not None and not link.drive.stiffness)

    def lost_power(self, constants: Sequence[LinkConstants], q: Vector, v: Vector) -> Scalar:
        """Power that damping and friction take at coordinates q and rates v, on any scalars."""
        power: Scalar = 0.0
        for link, found in zip(self.links, constants, strict=True):
            drag = times(found.drag, v) if found.drag else []
            power = power + lost_by(link.kind, found, q[link.own], v[link.own], drag)
        return power
