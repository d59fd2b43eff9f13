"""Nothing holds the link: a floating base. Its position in the joint frame, then a rotation vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pliant.joints.kind import NOT_MOVED, JointCoordinate, JointKind, JointPlace, JointSymbol, SeatMotion, unit
from pliant.joints.spherical import ROTATION_VECTOR
from pliant.spatial.attitude import Attitude, attitude
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import ZERO3, Matrix, Vector, column, product, times, transpose_times

POSITION = tuple(JointCoordinate(f".{axis}", "m", f"position along {axis}") for axis in "xyz")


@dataclass(frozen=True, slots=True)
class Free(JointKind):
    """A floating base."""

    name = "free"
    meaning = "a floating base: position, then a rotation vector, both in the joint frame"
    coordinates = (*POSITION, *ROTATION_VECTOR)
    undriven = "act on its link by forces and moments on a frame"
    symbol = JointSymbol(floats=True)
    rotation_vector = 3

    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        return JointPlace(None, attitude(list(q[3:]), [0.0] * 3).R, list(q[:3]))

    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        still, at = list(NOT_MOVED), attitude(list(q[3:]), list(v[3:]))
        place = JointPlace(None, at.R, list(q[:3]))
        return SeatMotion(place, list(v[:3]), still, at.omega, still, at.bias, at)

    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        return [unit(k) for k in range(6)]

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(range(6))

    def along(self, state: Attitude, x: Vector) -> Vector:
        return transpose_times(state.R, x[:3]) + times(state.T, x[3:])

    def coordinates_of(self, state: Attitude, along: Vector) -> Vector:
        return times(state.R, along[:3]) + state.solve(along[3:])

    def forces(self, state: Attitude, along: Vector) -> Vector:
        return times(state.R, along[:3]) + transpose_times(state.T, along[3:])

    def efforts(self, state: Attitude, forces: Vector) -> Vector:
        return transpose_times(state.R, forces[:3]) + state.solve_transposed(forces[3:])

    def rates(
        self, state: Attitude, R_seat: Matrix, R: Matrix, parameters: Sequence[Scalar]
    ) -> list[tuple[Vector, Vector]]:
        # the axes of its position are those of the seat
        turns = product(R, state.T)
        return [
            *((column(R_seat, k), list(ZERO3)) for k in range(3)),
            *((list(ZERO3), column(turns, k)) for k in range(3)),
        ]
