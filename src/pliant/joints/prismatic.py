"""A slide along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pliant.joints.kind import (
    NOT_MOVED,
    JointCoordinate,
    JointKind,
    JointPlace,
    JointSymbol,
    SeatMotion,
    along_axis,
    unit,
)
from pliant.joints.rows import SLIDES, TURNS, ClosureRow
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector


@dataclass(frozen=True, slots=True)
class Prismatic(JointKind):
    """A slide along one axis; own axes are those of the seat."""

    name = "prismatic"
    meaning = "a slide along its axis"
    closes = "prismatic"
    holds = "all but a slide along `axis`"
    coordinates = (JointCoordinate("", "m", "position"),)
    keys = ("axis", "motor", "friction", "spring", "limits", "mimic")
    symbol = JointSymbol(rail=True)

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return (*SLIDES, *TURNS)

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        return JointPlace(None, None, along_axis(self.axis, self.sign * q[0]))

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still, slide = list(NOT_MOVED), along_axis(self.axis, self.sign * v[0])
        return SeatMotion(self.place(q, angle, parameters), still, slide, still, still, still, None)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        return [unit(self.axis)]

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.axis,)
