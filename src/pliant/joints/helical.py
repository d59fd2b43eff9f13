"""A screw: a turn about an axis that moves the link along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import tau

from pliant.joints.kind import NOT_MOVED, JointCoordinate, JointKind, JointPlace, JointSymbol, SeatMotion, along_axis
from pliant.joints.rows import SLIDES, TILTS, ClosureRow, ThreadRow
from pliant.spatial.scalars import Scalar, cos, sin
from pliant.spatial.vectors import AxisTurn, Vector


@dataclass(frozen=True, slots=True)
class Helical(JointKind):
    """A screw with ``pitch`` metres to a whole turn; a negative one is left-handed."""

    name = "helical"
    meaning = "a screw: a turn about its axis that moves the link along it by `pitch` for a whole turn"
    closes = "helical"
    holds = "all but a turn about `axis` that moves along it by `pitch` for a whole turn"
    coordinates = (JointCoordinate("", "rad", "angle"),)
    keys = ("axis", "motor", "friction", "spring", "limits", "mimic", "pitch")
    parameters = {"pitch": ("m", "way along the axis for a whole turn; a negative one is left-handed")}  # noqa: RUF012
    symbol = JointSymbol(drum=True, rail=True)

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return (*SLIDES, *TILTS, ThreadRow(parameters[0] / tau))

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        turned = self.sign * q[0] + angle
        way = along_axis(self.axis, self._lead(parameters) * (self.sign * q[0]))
        return JointPlace(AxisTurn(self.axis, cos(turned), sin(turned)), None, way)

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still, rate = list(NOT_MOVED), self.sign * v[0]
        spin, slide = along_axis(self.axis, rate), along_axis(self.axis, self._lead(parameters) * rate)
        return SeatMotion(self.place(q, angle, parameters), still, slide, spin, still, still, None)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        slide, spin = along_axis(self.axis, self._lead(parameters)), along_axis(self.axis, 1.0)
        return [slide + spin]

    @staticmethod
    def _lead(parameters: Sequence[Scalar]) -> Scalar:
        """Way per radian."""
        return parameters[0] * (1.0 / tau)
