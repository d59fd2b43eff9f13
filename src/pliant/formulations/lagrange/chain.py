"""The bodies of a robot and the steps between them, in symbols."""

from __future__ import annotations

from dataclasses import dataclass, field

from pliant.formulations.lagrange.bodies import FlexibleInertia, Matrix, RigidInertia
from pliant.formulations.lagrange.names import Names
from pliant.formulations.lagrange.sections import Map, TurningSection
from pliant.formulations.lagrange.series import Series
from pliant.formulations.lagrange.shortening import ShortenedInertia


@dataclass(frozen=True, slots=True)
class Shift:
    """The next frame is displaced."""

    offset: list[Series]


@dataclass(frozen=True, slots=True)
class SymbolicTurn:
    """The next frame is turned: ``out`` takes components in it to components in this one."""

    out: Map


@dataclass(frozen=True, slots=True)
class Hinge:
    """A revolute joint: the next frame is turned about the axis by the coordinate."""

    coordinate: int
    axis: list[Series]
    out: Map


@dataclass(frozen=True, slots=True)
class Slide:
    """A prismatic joint: the next frame is displaced along the axis by the coordinate."""

    coordinate: int
    axis: list[Series]


Step = Shift | SymbolicTurn | Hinge | Slide


@dataclass(frozen=True, slots=True)
class SymbolicSeat:
    """Where a body sits on its parent: ``r`` from the parent's origin, moved by the parent's elastic coordinates.

    shapes   displacement per unit of each elastic coordinate of the parent
    section  how it turns with them, or None
    """

    r: list[Series]
    shapes: list[list[Series]]
    section: TurningSection | None


@dataclass(frozen=True, slots=True)
class ChainBody:
    """A body, its place on its parent (an index, or -1 for the base), and the steps from there to its own frame."""

    label: str
    parent: int
    seat: SymbolicSeat | None
    steps: tuple[Step, ...]
    inertia: RigidInertia | FlexibleInertia | ShortenedInertia | None
    elastic: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolicDrive:
    """A joint's motor, spring and friction on its motor angle: sum of (weight, coordinate)."""

    name: str
    row: tuple[tuple[Series, int], ...]
    is_actuated: bool
    inertia: Series
    stiffness: Series
    rest: Series
    damping: Series
    coulomb: Series
    smoothing: Series


@dataclass(frozen=True, slots=True)
class FollowingJoint:
    """A joint that follows another: the coordinate of its leader, and its rate over the leader's."""

    leader: int
    ratio: Series


@dataclass(slots=True)
class BodyChain:
    """The bodies of a robot, parents first, and all that acts between them."""

    names: Names
    gravity: list[Series]
    bodies: list[ChainBody] = field(default_factory=list)
    drives: list[SymbolicDrive] = field(default_factory=list)
    stiffness: list[tuple[tuple[int, ...], Matrix]] = field(default_factory=list)
    damping: list[tuple[tuple[int, ...], Matrix]] = field(default_factory=list)
    followers: dict[int, FollowingJoint] = field(default_factory=dict)

    def along_leader(self, motion: int, x: Series) -> tuple[int, Series]:
        """The coordinate that moves along a motion, and what it feels of a force or momentum x along the motion."""
        found = self.followers.get(motion)
        return (found.leader, x * found.ratio) if found else (motion, x)
