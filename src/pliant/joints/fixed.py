"""No motion at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pliant.joints.kind import NOT_MOVED, JointKind, JointPlace, SeatMotion
from pliant.joints.rows import SHIFTS, TURNS, ClosureRow
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector


@dataclass(frozen=True, slots=True)
class Fixed(JointKind):
    """The link is held fast."""

    name = "fixed"
    meaning = "held fast"
    closes = "weld"
    holds = "everything"
    undriven = "leave it out"

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return (*SHIFTS, *TURNS)

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        return JointPlace(None, None, list(NOT_MOVED))

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still = list(NOT_MOVED)
        return SeatMotion(self.place(q, angle, parameters), still, still, still, still, still, None)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        return []

    @property
    def axes(self) -> tuple[int, ...]:
        return ()
