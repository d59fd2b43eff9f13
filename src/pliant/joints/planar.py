"""A slide in a plane with a turn about its normal: a cart, an air bearing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pliant.joints.kind import (
    NOT_MOVED,
    Elementary,
    JointCoordinate,
    JointKind,
    JointPlace,
    JointSymbol,
    SeatMotion,
    along_axis,
    unit,
)
from pliant.joints.rows import TILTS, ClosureRow, SlideRow
from pliant.spatial.scalars import Scalar, cos, sin
from pliant.spatial.vectors import AxisTurn, Vector


class Heading(NamedTuple):
    """Cosine and sine of the turn about the normal."""

    c: Scalar
    s: Scalar


@dataclass(frozen=True, slots=True)
class Planar(JointKind):
    """Two positions along axes of the seat, and a turn about the third: its coordinates are x, y and angle."""

    name = "planar"
    meaning = "a slide in the plane x-y of the joint frame and a turn about its z axis"
    closes = "planar"
    holds = "the second frame in the plane x-y of the first"
    coordinates = (
        JointCoordinate(".x", "m", "position along x"),
        JointCoordinate(".y", "m", "position along y"),
        JointCoordinate(".angle", "rad", "angle about z"),
    )
    undriven = "act on its link by forces and moments on a frame, or use two prismatic joints and a revolute one"
    symbol = JointSymbol(plate=True)
    # the axis of the turn moves with the link
    slopes = False

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return (SlideRow(2), *TILTS)

    @classmethod
    def elementary(cls, parameters: Sequence[float]) -> list[Elementary]:
        return [Elementary(0, False, 0), Elementary(1, False, 1), Elementary(2, True, 2)]

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        return self._placed(q, Heading(cos(q[2]), sin(q[2])))

    def _placed(self, q: Vector, heading: Heading) -> JointPlace:
        return JointPlace(AxisTurn(2, *heading), None, [q[0], q[1], 0.0])

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still, heading = list(NOT_MOVED), Heading(cos(q[2]), sin(q[2]))
        place = self._placed(q, heading)
        return SeatMotion(place, [v[0], v[1], 0.0], still, along_axis(2, v[2]), still, still, heading)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        return [unit(k) for k in self.axes]

    @property
    def axes(self) -> tuple[int, ...]:
        return (0, 1, 5)

    # along the columns in own axes, which the turn takes along

    def along(self, state: Heading, x: Vector) -> Vector:
        c, s = state
        return [c * x[0] + s * x[1], c * x[1] - s * x[0], x[2]]

    def coordinates_of(self, state: Heading, along: Vector) -> Vector:
        c, s = state
        return [c * along[0] - s * along[1], s * along[0] + c * along[1], along[2]]

    # the map is a rotation: its transpose is its inverse

    def forces(self, state: Heading, along: Vector) -> Vector:
        return self.coordinates_of(state, along)

    def efforts(self, state: Heading, forces: Vector) -> Vector:
        return self.along(state, forces)
