"""Rows of closures: what a joint that closes a loop holds, one scalar constraint each, on any scalars.

A loop is closed between a first frame A and a second one B. A row is a function of where they are that must stay zero;
its rate is ``f . u + m . w`` for the velocity u and the angular velocity w of A relative to B, and its multiplier x is
a force ``x f`` and a moment ``x m`` on A, with their opposites on B. Rows in base axes (shifts, turns, a distance) act
at the origin of each frame. All others are seen from A: d leads from B to A in the axes of A, u is its rate seen there,
and the force acts at the origin of B, so that A also feels the moment ``f x d``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import ClassVar, NamedTuple, Protocol

from pliant.spatial.scalars import Scalar, cos, sin, sqrt
from pliant.spatial.vectors import (
    AFTER,
    ZERO3,
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    product,
    scale,
    subtract,
    times,
    transpose,
    transpose_times,
)

AXES = "xyz"
Pull = tuple[Vector, Vector]
"""Force and moment."""


class MovingFrame(Protocol):
    """A frame in the base: its axes, origin, velocity and angular velocity, base axes."""

    @property
    def R(self) -> Matrix: ...
    @property
    def p(self) -> Vector: ...
    @property
    def v(self) -> Vector: ...
    @property
    def w(self) -> Vector: ...


class FramesSeen(NamedTuple):
    """Two frames seen from the first one, in its axes.

    R    of the second frame
    d    from the second origin to the first
    u    rate of d, for an observer who turns with the first frame
    w    angular velocity of the first frame relative to the second
    w_A  angular velocity of the first frame
    """

    R: Matrix
    d: Vector
    u: Vector
    w: Vector
    w_A: Vector


def axes_seen(a: MovingFrame, b: MovingFrame) -> Matrix:
    """The axes of the second frame in those of the first."""
    return product(transpose(a.R), b.R)


def seen(a: MovingFrame, b: MovingFrame) -> FramesSeen:
    """Where two frames are and how they move, seen from the first one."""
    d, w_A = transpose_times(a.R, subtract(a.p, b.p)), transpose_times(a.R, a.w)
    return FramesSeen(
        R=axes_seen(a, b),
        d=d,
        u=subtract(transpose_times(a.R, subtract(a.v, b.v)), cross(w_A, d)),
        w=transpose_times(a.R, subtract(a.w, b.w)),
        w_A=w_A,
    )


@dataclass(frozen=True, slots=True)
class ClosureRow(ABC):
    """One scalar constraint of a closure.

    kind     its class in one word
    in_base  whether its directions are in base axes, or else in those of the first frame
    is_length  whether it is a length, whose multiplier is a force, or an angle
    """

    kind: ClassVar[str]
    in_base: ClassVar[bool] = False
    is_length: ClassVar[bool] = False

    @property
    @abstractmethod
    def label(self) -> str:
        """What its name adds to that of the loop; it begins with r where the row is an angle."""

    @abstractmethod
    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        """How far it is from closed: metres, or 2 tan(angle/2); zero only where it is closed."""

    @abstractmethod
    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        """f and m: force and moment on the first frame for a unit multiplier."""

    def change(self, a: MovingFrame, b: MovingFrame, at: FramesSeen) -> Scalar:
        """f' . velocity + m' . angular velocity, where f and m change in the axes in which they are given."""
        return 0.0

    # ---- what follows

    def on_frames(self, a: MovingFrame, b: MovingFrame) -> tuple[Pull, Pull]:
        """Force and moment on each frame for a unit multiplier, at its own origin and in its own axes."""
        f, m = self.direction(a, b)
        if self.in_base:
            on_a, on_b = ((transpose_times(R, f), transpose_times(R, m)) for R in (a.R, b.R))
        else:
            d, R = transpose_times(a.R, subtract(a.p, b.p)), axes_seen(a, b)
            on_a, on_b = (f, add(m, cross(f, d))), (transpose_times(R, f), transpose_times(R, m))
        return on_a, ([-x for x in on_b[0]], [-x for x in on_b[1]])

    def rate(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        """Relative velocity along the row; the derivative of the gap where the loop is closed."""
        f, m = self.direction(a, b)
        if self.in_base:
            return dot(f, subtract(a.v, b.v)) + dot(m, subtract(a.w, b.w))
        at = seen(a, b)
        return dot(f, at.u) + dot(m, at.w)

    def bias(self, a: MovingFrame, b: MovingFrame, at: FramesSeen) -> Scalar:
        """Acceleration along the row where both frames have none."""
        if self.in_base:
            return self.change(a, b, at)
        f, m = self.direction(a, b)
        # the axes of the first frame turn: f . (-2 w x u - w x (w x d)) - m . (w_A x w)
        swept = add(scale(2.0, at.u), cross(at.w_A, at.d))
        turned = dot(cross(at.w_A, f), swept) + dot(cross(at.w_A, m), at.w)
        return turned + self.change(a, b, at)


def unit3(k: int) -> Vector:
    """A unit vector of three."""
    return [1.0 if i == k else 0.0 for i in range(3)]


@dataclass(frozen=True, slots=True)
class ShiftRow(ClosureRow):
    """The origins do not part along an axis of the base."""

    kind = "shift"
    in_base, is_length = True, True
    axis: int

    @property
    def label(self) -> str:
        return AXES[self.axis]

    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        return a.p[self.axis] - b.p[self.axis]

    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        return unit3(self.axis), list(ZERO3)


@dataclass(frozen=True, slots=True)
class TurnRow(ClosureRow):
    """The frames do not turn against each other about an axis of the base; all three of them make the axes equal."""

    kind = "turn"
    in_base = True
    axis: int

    @property
    def label(self) -> str:
        return f"r{AXES[self.axis]}"

    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        # the skew part of R_A R_B^T over (1 + trace)/4: an opposite turn is no closure
        i, j = AFTER[self.axis]
        trace = dot(a.R[0], b.R[0]) + dot(a.R[1], b.R[1]) + dot(a.R[2], b.R[2])
        return 2.0 * (dot(a.R[j], b.R[i]) - dot(a.R[i], b.R[j])) / (1.0 + trace)

    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        return list(ZERO3), unit3(self.axis)


@dataclass(frozen=True, slots=True)
class ReachRow(ClosureRow):
    """The origins stay at a distance: a massless rod between two balls. Its multiplier pushes them apart."""

    kind = "reach"
    in_base, is_length = True, True
    length: float

    @property
    def label(self) -> str:
        return "push"

    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        p = subtract(a.p, b.p)
        return sqrt(dot(p, p)) - self.length

    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        p = subtract(a.p, b.p)
        return scale(1.0 / sqrt(dot(p, p)), p), list(ZERO3)

    def change(self, a: MovingFrame, b: MovingFrame, at: FramesSeen) -> Scalar:
        p, v = subtract(a.p, b.p), subtract(a.v, b.v)
        square = dot(p, p)
        along = dot(p, v)
        return (dot(v, v) - along * along / square) / sqrt(square)


@dataclass(frozen=True, slots=True)
class TiltRow(ClosureRow):
    """The axes z of both frames do not tilt against each other about an axis, x or y, of the first one."""

    kind = "tilt"
    axis: int

    @property
    def label(self) -> str:
        return f"r{AXES[self.axis]}"

    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        z = column(b.R, 2)
        tilt = (1.0, -1.0)[self.axis] * dot(column(a.R, 1 - self.axis), z)
        return 2.0 * tilt / (1.0 + dot(column(a.R, 2), z))

    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        return list(ZERO3), unit3(self.axis)


@dataclass(frozen=True, slots=True)
class SlideRow(ClosureRow):
    """The origins do not part along an axis of the first frame."""

    kind = "slide"
    is_length = True
    axis: int

    @property
    def label(self) -> str:
        return AXES[self.axis]

    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        return dot(column(a.R, self.axis), subtract(a.p, b.p))

    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        return unit3(self.axis), list(ZERO3)


@dataclass(frozen=True, slots=True)
class ThreadRow(ClosureRow):
    """Frames that turn against each other about z move along it by ``lead`` metres per radian.

    The position tells how often they have turned: the gap is that of the angle, as a way along the axis.
    """

    kind = "thread"
    is_length = True
    lead: float

    @property
    def label(self) -> str:
        return "z"

    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        x_A, y_A = column(a.R, 0), column(a.R, 1)
        x_B, y_B = column(b.R, 0), column(b.R, 1)
        # the second frame has turned by the angle (c, s) and should have by its way over the lead
        c = 0.5 * (dot(x_A, x_B) + dot(y_A, y_B))
        s = 0.5 * (dot(y_A, x_B) - dot(x_A, y_B))
        due = dot(column(a.R, 2), subtract(b.p, a.p)) * (1.0 / self.lead)
        missing = s * cos(due) - c * sin(due)
        return (2.0 * self.lead) * missing / (1.0 + c * cos(due) + s * sin(due))

    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        return unit3(2), [0.0, 0.0, -self.lead]


@dataclass(frozen=True, slots=True)
class CrossRow(ClosureRow):
    """An axis of the first frame and one of the second keep their angle: the two axes of a cross.

    Its multiplier is a moment about the normal of both.
    """

    kind = "cross"
    first: tuple[float, float, float]
    second: tuple[float, float, float]

    @property
    def label(self) -> str:
        return "rn"

    @property
    def _size(self) -> float:
        """Sine of the angle."""
        return hypot(*(float(x) for x in cross(self.first, self.second)))

    def gap(self, a: MovingFrame, b: MovingFrame) -> Scalar:
        first, second = times(a.R, list(self.first)), times(b.R, list(self.second))
        return (dot(first, second) - dot(self.first, self.second)) * (1.0 / self._size)

    def direction(self, a: MovingFrame, b: MovingFrame) -> Pull:
        return list(ZERO3), scale(1.0 / self._size, cross(self.first, self._carried(a, b)))

    def change(self, a: MovingFrame, b: MovingFrame, at: FramesSeen) -> Scalar:
        # the second axis turns by -w for an observer on the first frame
        rate = scale(-1.0 / self._size, cross(at.w, self._carried(a, b)))
        return dot(cross(self.first, rate), at.w)

    def _carried(self, a: MovingFrame, b: MovingFrame) -> Vector:
        """The second axis in the axes of the first frame."""
        return transpose_times(a.R, times(b.R, list(self.second)))


SHIFTS = tuple(ShiftRow(k) for k in range(3))
TURNS = tuple(TurnRow(k) for k in range(3))
TILTS = (TiltRow(0), TiltRow(1))
SLIDES = (SlideRow(0), SlideRow(1))
"""Across the axis z of the first frame."""


class ClosureKind(ABC):
    """A kind of joint that may close a loop.

    closes      its name as the type of a loop; empty: it closes none
    holds       one line on what it holds, for a list of kinds
    keys        of the description: ``axis`` or ``axes``, and its parameters
    parameters  numbers that it needs: name -> (unit, what it is)
    positive    those of them that must be positive; others may be anything but zero
    """

    __slots__ = ()

    closes: ClassVar[str] = ""
    holds: ClassVar[str] = ""
    keys: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[dict[str, tuple[str, str]]] = {}
    positive: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        """What it holds; the axis of a kind that has one is z of both frames.

        axes  of a kind with two: the first in the first frame, the second in the second
        """


def in_plane(rows: Sequence[ClosureRow], normal: int) -> tuple[ClosureRow, ...] | None:
    """Rows that a motion normal to a base axis may break; None: their directions are not given in base axes."""
    if any(not row.in_base and row.kind != "tilt" for row in rows):
        return None
    lost = {*(ShiftRow(k) for k in range(3) if k == normal), *(TurnRow(k) for k in range(3) if k != normal), *TILTS}
    return tuple(row for row in rows if row not in lost)
