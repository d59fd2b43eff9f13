"""Screws in R^6: lines, twists and wrenches, how they change with the reference point and the axes, projections.

A screw is a vector along a line and its moment about a reference point: direction and moment of a line, angular
velocity and velocity of the reference point of a twist, force and moment of a wrench. All three change alike, (2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from pliant.screws.checked_input import Array, numbers, skew
from pliant.screws.groups import SE3, SO3


@final
@dataclass(frozen=True, slots=True, eq=False)
class Screw:
    """A screw about a reference point, in some axes.

    direction  (3,) along its line: direction of a line, angular velocity (rad/s), or force (N)
    moment     (3,) about the reference point: moment of a line, velocity of that point (m/s), or moment (N m)
    """

    direction: Array
    moment: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", numbers("direction", self.direction, (3,)))
        object.__setattr__(self, "moment", numbers("moment", self.moment, (3,)))

    # ---- made from

    @classmethod
    def line(cls, direction: ArrayLike, through: ArrayLike = (0.0, 0.0, 0.0)) -> Screw:
        """The line of unit direction through a point that is seen from the reference point; a joint axis."""
        a, p = numbers("direction", direction, (3,)), numbers("through", through, (3,))
        length = float(np.linalg.norm(a))
        if length == 0:
            raise ValueError("direction is zero; a line needs one")
        return cls(a / length, np.cross(p, a / length))

    @classmethod
    def twist(cls, linear: ArrayLike, angular: ArrayLike) -> Screw:
        """The motion of a body: velocity of the reference point, and angular velocity."""
        return cls(numbers("angular", angular, (3,)), numbers("linear", linear, (3,)))

    @classmethod
    def wrench(cls, force: ArrayLike, moment: ArrayLike = (0.0, 0.0, 0.0), at: ArrayLike = (0.0, 0.0, 0.0)) -> Screw:
        """A force at a point that is seen from the reference point, and a moment of its own."""
        f, m, p = numbers("force", force, (3,)), numbers("moment", moment, (3,)), numbers("at", at, (3,))
        return cls(f, m + np.cross(p, f))

    # ---- its numbers

    @property
    def vector(self) -> Array:
        """(direction, moment) (6,): the order of the paper, (1) and (6), and of ``screw_transformation``."""
        return np.concatenate([self.direction, self.moment])

    @property
    def twist_vector(self) -> Array:
        """(linear, angular) (6,): the order of twists in Pliant and of ``SE3``."""
        return np.concatenate([self.moment, self.direction])

    @property
    def pitch(self) -> float:
        """Moment along the line per unit of direction: way per turn of a twist in m/rad; inf without a direction."""
        square = float(self.direction @ self.direction)
        return float(self.direction @ self.moment) / square if square else float("inf")

    @property
    def point(self) -> Array:
        """The point of its line that is nearest to the reference point (3,)."""
        square = float(self.direction @ self.direction)
        if square == 0:
            raise ValueError("direction is zero: a pure translation or couple has no line")
        return np.cross(self.direction, self.moment) / square

    # ---- arithmetic

    def __add__(self, other: Screw) -> Screw:
        """(5): screws about the same point in the same axes add."""
        return Screw(self.direction + other.direction, self.moment + other.moment)

    def __neg__(self) -> Screw:
        return Screw(-self.direction, -self.moment)

    def __sub__(self, other: Screw) -> Screw:
        return self + (-other)

    def __mul__(self, factor: float) -> Screw:
        return Screw(self.direction * factor, self.moment * factor)

    __rmul__ = __mul__

    def reciprocal(self, other: Screw) -> float:
        """direction . moment of the other and the other way round: power of a wrench on a twist, W."""
        return float(self.direction @ other.moment + self.moment @ other.direction)

    # ---- seen from elsewhere

    def about(self, point: ArrayLike) -> Screw:
        """This screw about another reference point, which is seen from the old one, (4)."""
        p = numbers("point", point, (3,))
        return Screw(self.direction, self.moment - np.cross(p, self.direction))

    def turned(self, R: SO3) -> Screw:
        """This screw in axes in which its own are turned by R, (3)."""
        return Screw(R.A @ self.direction, R.A @ self.moment)

    def in_frame(self, T: SE3) -> Screw:
        """This screw in the frame in which its own frame (axes and reference point) has the pose T, (2)."""
        turned = self.turned(SO3(T.A))
        return turned.about(-T.r)


def screw_transformation(T: SE3) -> Array:
    """V (6, 6), (2): takes (direction, moment) of a screw to the frame in which its own has the pose T."""
    return np.block([[T.A, np.zeros((3, 3))], [skew(T.r) @ T.A, T.A]])


def projection_matrix(screws: Sequence[Screw], count: int | None = None) -> Array:
    """P (6, count), (7): columns (direction, moment) of lines about one point in one axes, zeros behind them.

    P u is the twist of a body that the joints of these lines carry; P^T with direction and moment of a wrench
    interchanged are its efforts on the joints.
    """
    return filled(np.hstack([np.zeros((6, 0)), *(columns_of("a screw", each.vector, 6) for each in screws)]), count)


def columns_of(name: str, given: ArrayLike, rows: int) -> Array:
    """A vector (rows,) or a matrix (rows, n) as columns."""
    found = np.asarray(given, dtype=float)
    found = found[:, None] if found.ndim == 1 else found
    return numbers(name, found, (rows, found.shape[-1]))


def filled(columns: Array, count: int | None) -> Array:
    """Columns with zeros behind them up to a count."""
    if count is None:
        return columns
    if columns.shape[1] > count:
        raise ValueError(f"count is {count}; there are {columns.shape[1]} columns already")
    return np.hstack([columns, np.zeros((len(columns), count - columns.shape[1]))])
