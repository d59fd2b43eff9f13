"""A ball joint: turns any way; its coordinates are a rotation vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pliant.joints.kind import (
    NOT_MOVED,
    JointCoordinate,
    JointKind,
    JointPlace,
    JointSymbol,
    Resistance,
    SeatMotion,
    unit,
)
from pliant.joints.rows import SHIFTS, ClosureRow
from pliant.spatial.attitude import Attitude, attitude
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import Vector, add, dot, scale, times, transpose_times

ROTATION_VECTOR = tuple(JointCoordinate(f".r{axis}", "rad", f"rotation vector, {axis}") for axis in "xyz")


@dataclass(frozen=True, slots=True)
class Spherical(JointKind):
    """Turns any way about a point; a spring pulls the rotation vector to zero, a damper feels the angular velocity."""

    name = "spherical"
    meaning = "turns any way; its coordinates are a rotation vector in the joint frame"
    closes = "spherical"
    holds = "two points together, all turns free"
    coordinates = ROTATION_VECTOR
    keys = ("friction", "spring")
    undriven = "hold it by its spring, act on its link by a moment on a frame, or use three revolute joints"
    symbol = JointSymbol(ball=True)
    rotation_vector = 0

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return SHIFTS

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        return JointPlace(None, attitude(list(q), [0.0] * 3).R, list(NOT_MOVED))

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still, at = list(NOT_MOVED), attitude(list(q), list(v))
        return SeatMotion(JointPlace(None, at.R, still), still, still, at.omega, still, at.bias, at)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        return [unit(3 + k) for k in range(3)]

    @property
    def axes(self) -> tuple[int, ...]:
        return (3, 4, 5)

    # omega' = T theta'' + bias

    def along(self, state: Attitude, x: Vector) -> Vector:
        return times(state.T, x)

    def coordinates_of(self, state: Attitude, along: Vector) -> Vector:
        return state.solve(along)

    def forces(self, state: Attitude, along: Vector) -> Vector:
        return transpose_times(state.T, along)

    def efforts(self, state: Attitude, forces: Vector) -> Vector:
        return state.solve_transposed(forces)

    def resistance(self, by: Resistance, state: Attitude) -> Vector:
        return add(scale(by.stiffness, state.theta), scale(by.damping, state.omega))

    def stored(self, by: Resistance, q: Vector) -> Scalar:
        return 0.5 * by.stiffness * dot(q, q)

    def lost(self, by: Resistance, q: Vector, v: Vector) -> Scalar:
        if is_zero(by.damping):
            return 0.0
        spin = attitude(list(q), list(v)).omega
        return by.damping * dot(spin, spin)
