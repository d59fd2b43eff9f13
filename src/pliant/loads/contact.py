"""Contact of a frame, a ball of some radius, with a plane, a sphere or a cylinder, on the base or on a link.

At the depth d the surfaces push each other apart with N = k d^p (1 + loss d'), never pulling (Hunt & Crossley, 1975):
the force has no jump at the touch. Friction -mu N u/sqrt(u^2 + slip^2) acts against the sliding velocity u. Both sides
feel the same force at the same place, where the ball is deepest: no momentum is made.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.laws import Floats
from pliant.loads.load import LoadElement
from pliant.loads.point_forces import PointAction, PointForce, PointLoads
from pliant.model.element import Direction, Element, Position, rule
from pliant.model.units import NON_NEGATIVE, POSITIVE, PositiveLength, Quantity
from pliant.spatial.scalars import Scalar, exp, log, ramp, sqrt
from pliant.spatial.vectors import Vector, add, cross, dot, scale, subtract, times, transpose_times
from pliant.tree.kinematics import Motion
from pliant.tree.points import Place, PointWrench

BASE = "base"
TINY = 1e-40
"""Depth, m, below which powers of it have no slope: that of a root has none at zero."""
USUAL_DEPTH = 1e-3
"""Depth, m, at which a contact that hardens counts with its stiffness in the choice of a method."""


class Surface(Element):
    """What a frame touches: numbers, and its outward normal at a place, in its own axes."""

    @abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """All numbers of its text."""

    @staticmethod
    @abstractmethod
    def outward(p: Vector, numbers: Vector) -> tuple[Vector, Scalar]:
        """Unit normal that points to a place p, and the distance of p from the surface along it."""


class TouchedPlane(Surface):
    """A plane that fills everything below it."""

    point: Position = Field(default=(0.0, 0.0, 0.0), description="a point of it")
    normal: Direction = Field(default=(0.0, 0.0, 1.0), description="direction out of it; of any length")

    @model_validator(mode="after")
    def _has_direction(self) -> Self:
        _direction(self.normal, "normal")
        return self

    def numbers(self) -> tuple[float, ...]:
        return (*self.point, *_direction(self.normal, "normal"))

    @staticmethod
    def outward(p: Vector, numbers: Vector) -> tuple[Vector, Scalar]:
        normal = list(numbers[3:])
        return normal, dot(normal, subtract(p, numbers[:3]))


class TouchedSphere(Surface):
    """A sphere that is touched from outside."""

    point: Position = Field(default=(0.0, 0.0, 0.0), description="its centre")
    radius: PositiveLength = Field(description="its radius")

    def numbers(self) -> tuple[float, ...]:
        return (*self.point, self.radius)

    @staticmethod
    def outward(p: Vector, numbers: Vector) -> tuple[Vector, Scalar]:
        return _from_centre(subtract(p, numbers[:3]), numbers[3])


class TouchedCylinder(Surface):
    """An endless round bar that is touched from outside."""

    point: Position = Field(default=(0.0, 0.0, 0.0), description="a point of its axis")
    axis: Direction = Field(description="direction of its axis; of any length")
    radius: PositiveLength = Field(description="its radius")

    @model_validator(mode="after")
    def _has_direction(self) -> Self:
        _direction(self.axis, "axis")
        return self

    def numbers(self) -> tuple[float, ...]:
        return (*self.point, *_direction(self.axis, "axis"), self.radius)

    @staticmethod
    def outward(p: Vector, numbers: Vector) -> tuple[Vector, Scalar]:
        d, axis = subtract(p, numbers[:3]), list(numbers[3:6])
        return _from_centre(subtract(d, scale(dot(d, axis), axis)), numbers[6])


def _direction(given: Sequence[float], what: str) -> tuple[float, ...]:
    length = float(np.linalg.norm(given))
    if not length:
        raise rule("{what} is [0, 0, 0], which is no direction; write [0, 0, 1], say", what=what)
    return tuple(x / length for x in given)


def _from_centre(d: Vector, radius: Scalar) -> tuple[Vector, Scalar]:
    distance = sqrt(dot(d, d))
    return scale(1.0 / distance, d), distance - radius


SURFACES = ("plane", "sphere", "cylinder")


class Contact(LoadElement):
    """A frame that a surface holds off: N = stiffness d^exponent (1 + loss d'), and friction."""

    kind: ClassVar[str] = "contact"
    frame: str = Field(description="LINK.FRAME, LINK (its tip) or tip: the centre of a ball")
    radius: Annotated[float, Quantity("m", NON_NEGATIVE)] = Field(default=0.0, description="of the ball; 0: a point")
    on: str = Field(default=BASE, description="what carries the surface: base, or a frame of a link, in its axes")
    plane: TouchedPlane | None = Field(default=None, description="touches a plane: point, normal")
    sphere: TouchedSphere | None = Field(default=None, description="or a sphere: point, radius")
    cylinder: TouchedCylinder | None = Field(default=None, description="or an endless cylinder: point, axis, radius")
    stiffness: Annotated[float, Quantity("", POSITIVE)] = Field(description="N/m, or N/m^exponent")
    exponent: Annotated[float, Quantity("", POSITIVE)] = Field(
        default=1.0, description="of the depth, 1 or more; 1.5: Hertz"
    )
    loss: Annotated[float, Quantity("s/m", NON_NEGATIVE)] = Field(
        default=0.0, description="damping: part of the force per speed of the approach"
    )
    friction: Annotated[float, Quantity("", NON_NEGATIVE)] = Field(default=0.0, description="coefficient of friction")
    slip: Annotated[float, Quantity("m/s", POSITIVE)] = Field(
        default=1e-3, description="speed of sliding from which friction is nearly full"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        given = [key for key in SURFACES if getattr(self, key) is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)} are" if given else "none is"
            raise rule("a contact is with one of {keys}; {found} given", keys=", ".join(SURFACES), found=found)
        if self.exponent < 1:
            raise rule("exponent is {p}; it must be 1 or more: 1 linear, 1.5 Hertz", p=f"{self.exponent:g}")
        return self

    @property
    def surface(self) -> Surface:
        """What is touched."""
        found: Surface = next(part for key in SURFACES if (part := getattr(self, key)) is not None)
        return found

    def bind(self, arm: Dynamics) -> ContactLoad:
        """The contact of a robot."""
        owners = list[str]()
        for key, name in (("frame", self.frame), ("on", self.on)):
            if key == "on" and name == BASE:
                owners.append(BASE)
                continue
            try:
                owners.append(arm.mechanism.members[arm.mechanism.frame(name)[0]].name)
            except KeyError as error:
                raise ModelError(f"{key} is '{name}': {error.args[0]}") from None
        if owners[0] == owners[1] and not arm.robot.link(owners[0]).is_flexible:
            raise ModelError(f"frame '{self.frame}' and its surface are both on the rigid link '{owners[0]}'")
        return ContactLoad(arm, ContactForce(self))


class Touch(NamedTuple):
    """Ball and surface at an instant: depth and its rate, normal, the deepest place of the ball, relative velocity."""

    depth: Scalar
    rate: Scalar
    normal: Vector
    place: Vector
    sliding: Vector


class ContactForce(PointForce):
    """The force of one contact on its frame and on what carries the surface."""

    kinks = ("contacts",)

    def __init__(self, keys: Contact) -> None:
        self.keys, self.surface = keys, keys.surface
        carrier: Place = (0.0, 0.0, 0.0) if keys.on == BASE else keys.on
        self.places = (keys.frame, carrier)
        own = keys.radius, keys.stiffness, keys.exponent, keys.loss, keys.friction, keys.slip
        self.gains = (*own, *self.surface.numbers())

    @property
    def structure(self) -> Hashable:
        return "contact", type(self.surface).__name__, self.keys.exponent != 1, bool(self.keys.friction)

    def touch(self, points: Sequence[Motion], gains: Vector) -> Touch:
        """How the ball meets the surface."""
        ball, carrier = points
        from_carrier = subtract(ball.p, carrier.p)
        normal, distance = self.surface.outward(transpose_times(carrier.R, from_carrier), list(gains[6:]))
        normal, radius = times(carrier.R, normal), gains[0]
        arm = scale(-radius, normal)
        relative = subtract(add(ball.v, cross(ball.w, arm)), add(carrier.v, cross(carrier.w, add(from_carrier, arm))))
        along = dot(normal, relative)
        sliding = subtract(relative, scale(along, normal))
        return Touch(radius - distance, -1.0 * along, normal, arm, sliding)

    def act(self, points: Sequence[Motion], z: Vector, signals: Vector, gains: Vector) -> PointAction:
        _, stiffness, exponent, loss, friction, slip = gains[:6]
        at = self.touch(points, gains)
        depth = ramp(at.depth)
        spring, stored = stiffness * depth, 0.5 * stiffness * depth * depth
        if self.keys.exponent != 1:
            spring = spring * exp((exponent - 1.0) * log(depth + TINY))
            stored = spring * depth / (exponent + 1.0)
        push = ramp(spring * (1.0 + loss * at.rate))
        force = scale(push, at.normal)
        lost = (push - spring) * at.rate
        if self.keys.friction:
            u = at.sliding
            drag = friction * push / sqrt(dot(u, u) + slip * slip)
            force, lost = subtract(force, scale(drag, u)), lost + drag * dot(u, u)
        ball, carrier = points
        lever = subtract(add(ball.p, at.place), carrier.p)
        on_carrier = scale(-1.0, force)
        wrenches = [PointWrench(force, cross(at.place, force)), PointWrench(on_carrier, cross(lever, on_carrier))]
        return PointAction(wrenches, [], stored, lost)


class ContactLoad(PointLoads):
    """A contact on a known robot."""

    touched: ClassVar[str] = "contact"

    def __init__(self, arm: Dynamics, part: ContactForce) -> None:
        super().__init__(arm, [part])
        self.part = part

    def _touch(self, q: Floats, v: Floats) -> tuple[Touch, Floats]:
        """How ball and surface meet at a state, and generalised forces of a unit push."""
        at = self.points.at(q.tolist(), v.tolist())
        found = self.part.touch(at.motions, list(self.part.gains))
        opposite = scale(-1.0, found.normal)
        lever = subtract(add(at.motions[0].p, found.place), at.motions[1].p)
        pair = [PointWrench(found.normal, [0.0] * 3), PointWrench(opposite, cross(lever, opposite))]
        return found, np.array(at.forces(pair), dtype=float)

    def rate(self, q: Floats, mobility: Callable[[Floats], float]) -> float:
        keys = self.part.keys
        _, direction = self._touch(q, 0.0 * q)
        slope = keys.stiffness * keys.exponent * USUAL_DEPTH ** (keys.exponent - 1.0)
        return float(np.sqrt(slope * max(mobility(direction), 0.0)))

    def touches(self, q: Floats) -> NDArray[np.bool_]:
        columns = list(np.ascontiguousarray(q.T))
        at = self.points.at(columns, [0.0] * len(columns))
        depth = self.part.touch(at.motions, list(self.part.gains)).depth
        return np.broadcast_to(np.asarray(depth, dtype=float) > 0, len(q))
