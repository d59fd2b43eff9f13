"""The tree of links that the recursions walk: order, coordinates, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pliant.bodies.constants import terms_in_arrays
from pliant.bodies.joint_drive import JointDrive
from pliant.bodies.modal_body import Array, ModalBody
from pliant.joints.kind import Resistance
from pliant.spatial.rounding import as_lists
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector, dot, times
from pliant.tree.link import LinkConstants, LinkKind, Seat
from pliant.tree.views import TreeView


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
        """The same tree, its coordinates damped by a matrix (n, n) that couples them."""
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
            kind, q_own, v_own = link.kind, q[link.own], v[link.own]
            power = power + found.body.loss(kind.elastic(v_own))
            if found.drag:
                power = power + dot(v_own, times(found.drag, v))
            if kind.is_driven:
                power = power + found.drive.power(found.drive.on_motor(v_own[0], kind.elastic(v_own)))
            else:
                by = Resistance(found.drive.stiffness, found.drive.damping)
                power = power + kind.joint.lost(by, q_own[: kind.held], v_own[: kind.held])
        return power
