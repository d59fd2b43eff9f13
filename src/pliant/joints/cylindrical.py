"""A slide along an axis with a turn about it, each free of the other: a piston, a drawer slide on a round bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from pliant.joints.rows import SLIDES, TILTS, ClosureRow
from pliant.spatial.scalars import Scalar, cos, sin
from pliant.spatial.vectors import AxisTurn, Vector


@dataclass(frozen=True, slots=True)
class Cylindrical(JointKind):
    """A position along the axis and a turn about it."""

    name = "cylindrical"
    meaning = "a slide along its axis and a turn about it"
    closes = "cylindrical"
    holds = "all but a slide along `axis` and turns about it"
    coordinates = (JointCoordinate(".x", "m", "position"), JointCoordinate(".angle", "rad", "angle"))
    keys = ("axis",)
    undriven = "act on its link by forces and moments on a frame, or use a prismatic joint and a revolute one"
    symbol = JointSymbol(drum=True, rail=True)

    @classmethod
    def elementary(cls, parameters: Sequence[float]) -> list[Elementary]:
        return [Elementary(0, False), Elementary(1, True)]

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return (*SLIDES, *TILTS)

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        turned = self.sign * q[1] + angle
        way = along_axis(self.axis, self.sign * q[0])
        return JointPlace(AxisTurn(self.axis, cos(turned), sin(turned)), None, way)

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still = list(NOT_MOVED)
        slide, spin = (along_axis(self.axis, self.sign * rate) for rate in v)
        return SeatMotion(self.place(q, angle, parameters), still, slide, spin, still, still, None)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        return [unit(k) for k in self.axes]

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.axis, 3 + self.axis)
