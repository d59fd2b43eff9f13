"""What a kind of joint is: its coordinates, where it puts a link, how that moves, and the words about it.

A joint holds a link's own frame in a seat on its parent. The recursions ask the kind for the place and motion of that
frame on any scalars (Featherstone's jcalc); everyone else asks for names, units, keys and the symbol. A new kind is one
module with a subclass of ``JointKind`` and its line in ``pliant.joints``.

What acts along a joint is here too: motor inertia, spring, dampers and friction, all on the joint's motor angle
theta + b q_e: where the shapes of a link are pinned at its root, the motor feels the root's tangent.
Everything is counted along the joint's own coordinate.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from pliant.algorithm import Role
from pliant.joints.rows import ClosureKind, ClosureRow
from pliant.spatial.scalars import Scalar, is_zero, tanh
from pliant.spatial.vectors import ZERO3, AxisTurn, Matrix, Vector, dot, times

EFFORTS = {"rad": ("torque", "N m"), "m": ("force", "N")}
"""What acts on a coordinate, and its unit, by the unit of the coordinate."""


class JointCoordinate(NamedTuple):
    """A coordinate of a joint: what its name adds to that of the joint, its unit (rad or m), and what it is."""

    suffix: str
    unit: Literal["rad", "m"]
    word: str


class JointSymbol(NamedTuple):
    """What a joint looks like.

    drum    a drum about its axis
    rail    a block on a rail along its axis
    ball    a ball
    plate   a plate across its axis
    floats  nothing holds it
    """

    drum: bool = False
    rail: bool = False
    ball: bool = False
    plate: bool = False
    floats: bool = False


class Resistance(NamedTuple):
    """Spring and damper of a joint: stiffness and damping along, or about, each of its axes."""

    stiffness: Scalar
    damping: Scalar


class Elementary(NamedTuple):
    """A turn about, or a slide along, an axis of the joint frame; a joint's motion is made of them, outermost first.

    coordinate  its number among the joint's
    turns       whether it is a turn
    axis        0, 1 or 2; None: the axis of the joint
    factor      angle or way per unit of the coordinate
    """

    coordinate: int
    turns: bool
    axis: int | None = None
    factor: float = 1.0


class JointPlace(NamedTuple):
    """A link's own frame in its seat.

    turn  own axes are those of the seat turned about a coordinate axis; None: they are not, or by ``R``
    R     seat axes <- own axes, where that is no turn about a coordinate axis
    p     own origin, seat axes
    """

    turn: AxisTurn | None
    R: Matrix | None
    p: Vector


class SeatMotion(NamedTuple):
    """How a link's own frame moves in its seat.

    place
    p_rate          velocity of the own origin, seat axes: what is simpler there
    v, w            further velocity of the origin, and angular velocity, own axes
    bias_v, bias_w  accelerations, seen in the seat, where those of the coordinates are zero; own axes
    state           what maps between coordinates and columns need to know
    """

    place: JointPlace
    p_rate: Vector
    v: Vector
    w: Vector
    bias_v: Vector
    bias_w: Vector
    state: Any


NOT_MOVED = list(ZERO3)


@dataclass(frozen=True, slots=True)
class JointKind(ClosureKind):
    """A kind of joint on a link.

    axis  0, 1 or 2: the joint's axis is this axis of the link's own frame
    sign  +1 or -1: sense of the joint about (along) that axis

    A kind says of itself
    name             as files write it
    coordinates      in their order
    meaning          one line for a list of kinds
    keys             of the description that it has, beside names and placements
    parameters       those of them that are numbers of its motion: name -> (unit, what it is)
    closes, holds    its name as the type of a loop, and what it holds there (``rows``)
    undriven         what to do where no drive can act on it
    symbol           how it is drawn
    rotation_vector  first of three coordinates that are one; None: there is none
    slopes           whether its columns are fixed to the seat but for those of a rotation vector, so that derivatives
                     from composite bodies know how they change
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    coordinates: ClassVar[tuple[JointCoordinate, ...]] = ()
    undriven: ClassVar[str] = ""
    symbol: ClassVar[JointSymbol] = JointSymbol()
    rotation_vector: ClassVar[int | None] = None
    slopes: ClassVar[bool] = True

    axis: int = 2
    sign: float = 1.0

    # ---- words

    @classmethod
    def has_axis(cls) -> bool:
        """Whether the description gives an axis."""
        return "axis" in cls.keys

    @classmethod
    def is_driven(cls) -> bool:
        """Whether motor, spring and friction act along a single coordinate."""
        return "motor" in cls.keys

    @classmethod
    def slides(cls) -> bool:
        """Whether the single coordinate on which a motor acts is a length."""
        return cls.is_driven() and cls.coordinates[0].unit == "m"

    @classmethod
    def turns(cls) -> bool:
        """Whether one of its coordinates is an angle about the axis: the own origin lies on the axis then."""
        return cls.has_axis() and any(each.unit == "rad" for each in cls.coordinates)

    @classmethod
    def names(cls, joint: str) -> tuple[str, ...]:
        """Names of the coordinates of a joint."""
        return tuple(f"{joint}{each.suffix}" for each in cls.coordinates)

    @classmethod
    def elementary(cls, parameters: Sequence[float]) -> list[Elementary] | None:
        """The turns and slides that its motion is made of; None where it turns by a rotation vector."""
        if cls.rotation_vector is not None:
            return None
        turn, slide = cls.screw(parameters) or (0.0, 0.0)
        parts = [Elementary(0, False, None, slide)] if slide else []
        return [*parts, Elementary(0, True, None, turn)] if turn else parts

    @classmethod
    def screw(cls, parameters: Sequence[float]) -> tuple[float, float] | None:
        """Angle about its axis and way along it per unit of its coordinate, 0 without any; None: it has several."""
        if len(cls.coordinates) > 1:
            return None
        columns = cls().columns(parameters)
        return (float(columns[0][5]), float(columns[0][2])) if columns else (0.0, 0.0)

    # ---- motion, on any scalars

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        """None: it closes no loop, unless a kind says what it holds there."""
        return ()

    @abstractmethod
    def place(self, q: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> JointPlace:
        """The own frame at coordinates q; ``angle`` is added to a turn about the axis."""

    @abstractmethod
    def motion(self, q: Vector, v: Vector, angle: Scalar, parameters: Sequence[Scalar]) -> SeatMotion:
        """The own frame at coordinates q and rates v."""

    @abstractmethod
    def columns(self, parameters: Sequence[Scalar]) -> list[Vector]:
        """Directions (linear, angular; own axes) in which the joint lets its link accelerate, (coordinates, 6)."""

    @property
    def axes(self) -> tuple[int, ...] | None:
        """Components of an acceleration that the columns are; None: they are no unit vectors."""
        return None

    # accelerations along the columns are S x for second derivatives x of the coordinates; by default S is the sign

    def along(self, state: Any, x: Vector) -> Vector:
        """S x: along the columns from the coordinates."""
        return [self.sign * each for each in x]

    def coordinates_of(self, state: Any, along: Vector) -> Vector:
        """S^-1 x: of the coordinates from along the columns."""
        return [self.sign * each for each in along]

    def forces(self, state: Any, along: Vector) -> Vector:
        """S^T x: on the coordinates from along the columns."""
        return [self.sign * each for each in along]

    def efforts(self, state: Any, forces: Vector) -> Vector:
        """S^-T x: along the columns from on the coordinates."""
        return [self.sign * each for each in forces]

    def rates(self, state: Any, R_seat: Matrix, R: Matrix, parameters: Sequence[Scalar]) -> list[tuple[Vector, Vector]]:
        """Velocity and angular velocity of the link per unit rate of each coordinate, in the axes that R leads to.

        R_seat, R  from axes of the seat, and from own axes
        """
        n, columns, out = len(self.coordinates), self.columns(parameters), []
        for k in range(n):
            speeds = self.along(state, [1.0 if i == k else 0.0 for i in range(n)])
            v, w = combined(columns, speeds)
            out.append((times(R, v), times(R, w)))
        return out

    # ---- springs and dampers of joints without a single coordinate

    def resistance(self, by: Resistance, state: Any) -> Vector:
        """Forces of springs and dampers against the motion, along the columns."""
        return [0.0] * len(self.coordinates)

    def stored(self, by: Resistance, q: Vector) -> Scalar:
        """Energy in its springs, J."""
        return 0.0

    def lost(self, by: Resistance, q: Vector, v: Vector) -> Scalar:
        """Power that its dampers take, W."""
        return 0.0


def combined(columns: Sequence[Vector], x: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """Sum of columns times numbers: linear and angular part."""
    six = [dot([column[i] for column in columns], list(x)) if columns else 0.0 for i in range(6)]
    return six[:3], six[3:]


def projected(columns: Sequence[Vector], force: Vector, moment: Vector) -> Vector:
    """What a wrench does along each of the columns."""
    return [dot(column, [*force, *moment]) for column in columns]


def unit(k: int) -> Vector:
    """A unit vector of six."""
    return [1.0 if i == k else 0.0 for i in range(6)]


def along_axis(axis: int, x: Scalar) -> Vector:
    """A vector of length x along a coordinate axis."""
    return [x if i == axis else 0.0 for i in range(3)]


def is_still(x: Vector) -> bool:
    """Whether a vector is structurally zero."""
    return all(is_zero(each) for each in x)


# ---- joint drive


class JointDrive(NamedTuple):
    """Constants of a joint; all zero for one that nothing acts on.

    inertia    of the motor, reflected to the joint  kg m^2, kg
    stiffness  of the spring                         N m/rad, N/m
    rest       motor angle without spring force      rad, m
    damping    of spring and viscous friction        N m s/rad, N s/m
    coulomb    dry friction                          N m, N
    smoothing  rate at which it is fully developed   rad/s, m/s
    row        b (n_e,): motor angle per unit of the link's elastic coordinates
    """

    inertia: Scalar
    stiffness: Scalar
    rest: Scalar
    damping: Scalar
    coulomb: Scalar
    smoothing: Scalar
    row: Vector

    @staticmethod
    def roles() -> dict[str, Role]:
        """All but the row can be changed, or set to zero, alone."""
        alone: dict[str, Role] = dict.fromkeys(("inertia", "stiffness", "rest", "smoothing"), "alone")
        return {**alone, "damping": "loss", "coulomb": "loss"}

    @classmethod
    def none(cls, size: int) -> JointDrive:
        """Nothing acts, on a link with so many elastic coordinates."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, [0.0] * size)

    def on_motor(self, joint: Scalar, elastic: Vector) -> Scalar:
        """The motor angle, its rate or its acceleration from those of the joint and of the elastic coordinates."""
        return joint + dot(self.row, elastic)

    def force(self, angle: Scalar, rate: Scalar) -> Scalar:
        """Against the motion: spring, dampers, and dry friction smoothed as tanh(rate / smoothing)."""
        return self.stiffness * (angle - self.rest) + self._loss_force(rate)

    def power(self, rate: Scalar) -> Scalar:
        """Power lost in dampers and friction."""
        return self._loss_force(rate) * rate

    def energy(self, angle: Scalar) -> Scalar:
        """Energy of the spring."""
        stretch = angle - self.rest
        return 0.5 * self.stiffness * stretch * stretch

    def dry_slope(self, rate: Scalar) -> Scalar:
        """Derivative of the dry friction by the rate of the motor angle."""
        if is_zero(self.coulomb):
            return 0.0
        developed = tanh(rate / self.smoothing)
        return self.coulomb / self.smoothing * (1.0 - developed * developed)

    def _loss_force(self, rate: Scalar) -> Scalar:
        viscous = self.damping * rate
        return viscous if is_zero(self.coulomb) else viscous + self.coulomb * tanh(rate / self.smoothing)
