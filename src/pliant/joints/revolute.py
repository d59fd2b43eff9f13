"""A turn about one axis."""

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
from pliant.joints.rows import SHIFTS, TILTS, ClosureRow
from pliant.spatial.scalars import Scalar, cos, sin
from pliant.spatial.vectors import AxisTurn, Vector


@dataclass(frozen=True, slots=True)
class Revolute(JointKind):
    """A turn about one axis."""

    name = "revolute"
    meaning = "a turn about its axis"
    closes = "revolute"
    holds = "all but turns about `axis`"
    coordinates = (JointCoordinate("", "rad", "angle"),)
    keys = ("axis", "motor", "friction", "spring", "limits", "mimic")
    symbol = JointSymbol(drum=True)

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return (*SHIFTS, *TILTS)

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        turned = self.sign * q[0] + angle
        return JointPlace(AxisTurn(self.axis, cos(turned), sin(turned)), None, list(NOT_MOVED))

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still, spin = list(NOT_MOVED), along_axis(self.axis, self.sign * v[0])
        return SeatMotion(self.place(q, angle, parameters), still, still, spin, still, still, None)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        return [unit(3 + self.axis)]

    @property
    def axes(self) -> tuple[int, ...]:
        return (3 + self.axis,)
