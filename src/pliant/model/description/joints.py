"""Joints: where a link is attached, how it may move, and what acts along its motion.

Gear pairs give the ratio of two meshing wheels by teeth or radii, and the force between their teeth. A gear is a way
to write how a joint follows another (``mimic``); the wheel of the joint that follows comes first. Both joints turn on
the same link. Wheels that mesh outside turn in opposite senses, a ring and what runs in it in the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.errors import show
from pliant.joints import CLOSURES, KINDS
from pliant.joints.kind import JointKind
from pliant.joints.revolute import Revolute
from pliant.joints.rows import ClosureKind, ClosureRow, in_plane
from pliant.joints.universal import AXES as CROSS_AXES
from pliant.joints.universal import SUFFIXES, Universal
from pliant.model.description.placement import AXES, Placement, turn_about
from pliant.model.element import Array, Element, Name, at, of_value, peek, refuse, sequence
from pliant.model.units import (
    POSITIVE,
    Coordinate,
    Effort,
    FrictionEffort,
    GearRatio,
    JointDamping,
    JointStiffness,
    Number,
    PositiveLength,
    Quantity,
    RotorInertia,
    Speed,
)
from pliant.spatial.rounding import nearest_axis
from pliant.spatial.vectors import FactoredRotation

Teeth = Annotated[float, Quantity("", POSITIVE)]


class Gear(Element):
    """A pair of gear wheels, that of the joint which follows first.

    Pitch radii, or numbers of teeth with their module, also tell the force between the teeth.
    """

    teeth: Annotated[tuple[Teeth, Teeth], BeforeValidator(sequence(2))] | None = Field(
        default=None, description="numbers of teeth: of this joint's wheel, and of the other"
    )
    radii: Annotated[tuple[PositiveLength, PositiveLength], BeforeValidator(sequence(2))] | None = Field(
        default=None, description="pitch radii: of this joint's wheel, and of the other"
    )
    module: PositiveLength | None = Field(default=None, description="pitch diameter of a wheel over its teeth")
    internal: StrictBool = Field(default=False, description="whether one wheel is a ring around the other")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        problems = []
        if (self.teeth is None) == (self.radii is None):
            problems.append(at(message="a gear has either teeth or radii, those of this joint's wheel first"))
        if self.radii is not None and self.module is not None:
            problems.append(at("module", message="radii are given; leave module out"))
        for pair in (self.teeth, self.radii):
            if pair is not None and self.internal and pair[0] == pair[1]:
                problems.append(at("internal", message="a ring is larger than the wheel that runs in it"))
        refuse(problems)
        return self

    @property
    def sizes(self) -> tuple[float, float]:
        """Teeth or radii of this joint's wheel and of the other."""
        pair = self.radii if self.teeth is None else self.teeth
        assert pair is not None
        return pair

    @property
    def ratio(self) -> float:
        """Turn of this joint over that of the other."""
        own, other = self.sizes
        return (1.0 if self.internal else -1.0) * other / own

    @property
    def pitch_radii(self) -> tuple[float, float] | None:
        """Radii at which the wheels roll on each other, m; None where they are not known."""
        if self.radii is not None or self.module is None:
            return self.radii
        own, other = self.sizes
        return 0.5 * self.module * own, 0.5 * self.module * other

    def __str__(self) -> str:
        own, other = self.sizes
        return f"{own:g}:{other:g}{' internal' if self.internal else ''}"


def tooth_force(joint: str, mimics: Mapping[str, Mimic], effort: Callable[[str], Array]) -> Array:
    """Force between the teeth along the pitch circle, N: positive where it turns the joint that follows forward.

    effort  of the tie on a joint that follows. What drives further wheels goes through the same teeth.
    """

    def through(name: str) -> Array:
        behind = (mimic.ratio * through(k) for k, mimic in mimics.items() if mimic.joint == name)
        return np.asarray(sum(behind, start=effort(name)))

    gear = mimics[joint].gear
    assert gear is not None
    assert gear.pitch_radii is not None
    return through(joint) / gear.pitch_radii[0]


if TYPE_CHECKING:
    JointType = str
    ClosureType = str
else:
    JointType = Literal[(*KINDS, Universal.name)]
    ClosureType = Literal[tuple(CLOSURES)]
AXIS_WORDS = (*AXES, *(f"-{axis}" for axis in AXES))
KindClass = type[JointKind]
ClosingKind = type[ClosureKind]
CROSS = Universal.name
CROSS_KEYS = (*Universal.keys, *Universal.acting)
"""Keys of a universal joint, which is read as two revolute ones."""
KEYS = ("axis", "axes", "motor", "friction", "spring", "limits", "mimic")
"""Keys that not every type of joint has; with those of their motion."""
PARALLEL = 1e-6
"""Sine of the angle between two axes below which they are one."""
DEFAULT_SMOOTHING = 1e-3
RACK = "a rack follows its pinion by a ratio, the pitch radius"


class _AxisForms:
    """The reading of an axis: one of six words, or a vector of any length but zero."""

    number = Quantity("")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        vector = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
        return {"anyOf": [{"enum": list(AXIS_WORDS)}, vector]}

    def read(self, value: Any, info: ValidationInfo) -> str | tuple[float, ...]:
        if isinstance(value, str):
            if value not in AXIS_WORDS:
                raise PydanticCustomError(
                    "value",
                    "is {given}; it must be one of {words} or a vector",
                    {"given": show(value), "words": ", ".join(AXIS_WORDS)},
                )
            return value
        vector = tuple(float(self.number.read(entry, info.context)) for entry in sequence(3)(value))
        if not any(vector):
            raise PydanticCustomError("value", "is {given}; it must not be zero", {"given": show(value)})
        return vector


Axis = Annotated[str | tuple[float, float, float], _AxisForms()]


def coordinates_of(name: str, kind: str) -> tuple[str, ...]:
    """The names of the coordinates of a joint."""
    if kind == CROSS:
        return tuple(f"{name}{part}" for part in SUFFIXES)
    # a kind that is not known is told elsewhere
    return KINDS.get(kind, Revolute).names(name)


def axis_vector(axis: str | tuple[float, float, float]) -> Array:
    """The unit vector (3,) of an axis."""
    if isinstance(axis, str):
        vector = np.array(AXES[axis[-1]])
        return -vector if axis.startswith("-") else vector
    # scaled first, so that tiny and huge vectors keep their direction
    scaled = np.array(axis, dtype=float) / max(abs(entry) for entry in axis)
    return scaled / math.sqrt(scaled @ scaled)


def _parallel(axes: tuple[str | tuple[float, float, float], ...]) -> list[InitErrorDetails]:
    """What is wrong with the two axes of a cross."""
    first, second = (axis_vector(axis) for axis in axes)
    if np.linalg.norm(np.cross(first, second)) < PARALLEL:
        return [of_value("axes", message="are parallel; the axes of a universal joint must differ")]
    return []


class Motor(Element):
    """The drive of a joint. A rotor behind a gear adds ``rotor_inertia * gear_ratio**2`` to the joint."""

    rotor_inertia: RotorInertia = Field(default=0.0, description="inertia of the rotor about its own axis")
    gear_ratio: GearRatio = Field(default=1.0, description="rotor speed over joint speed (rad/m for a prismatic joint)")
    max_effort: Effort | None = Field(default=None, description="largest torque or force at the joint")

    @property
    def reflected_inertia(self) -> float:
        """Rotor inertia as felt at the joint."""
        return self.rotor_inertia * self.gear_ratio**2


class Friction(Element):
    """Joint friction ``viscous v + coulomb tanh(v / smoothing)``."""

    viscous: JointDamping = Field(default=0.0, description="friction per velocity")
    coulomb: FrictionEffort = Field(default=0.0, description="dry friction")
    smoothing: Speed = Field(default=DEFAULT_SMOOTHING, description="velocity at which dry friction is fully developed")


class Spring(Element):
    """A spring and damper along the joint coordinate, beside the motor of the joint if it has one.

    A joint that twists behind its motor is two joints: the motor's on a link without a body, and a passive one with the
    spring.
    """

    stiffness: JointStiffness = Field(description="effort per displacement")
    rest: Coordinate = Field(default=0.0, description="joint coordinate without effort")
    damping: JointDamping = Field(default=0.0, description="effort per velocity")


class Limits(Element):
    """The range of a joint, as data."""

    position: Annotated[tuple[Coordinate, Coordinate], BeforeValidator(sequence(2))] | None = Field(
        default=None, description="smallest and largest joint coordinate"
    )
    velocity: Speed | None = Field(default=None, description="largest velocity")
    effort: Effort | None = Field(default=None, description="largest torque or force")

    @field_validator("position")
    @classmethod
    def _ordered(cls, position: tuple[float, float] | None) -> tuple[float, float] | None:
        if position is not None and position[0] > position[1]:
            raise PydanticCustomError(
                "value",
                "is {given}; the first limit must not exceed the second",
                {"given": show(list(position))},
            )
        return position


class Mimic(Element):
    """A joint tied to another one: ``q = ratio q_leader + offset``, in the SI units of both joints.

    The ratio may be that of a pair of gear wheels.
    """

    joint: str = Field(description="name of the joint that this one follows")
    ratio: Number = Field(default=1.0, description="motion of this joint over that of the other (m/rad and the like)")
    offset: Coordinate = Field(default=0.0, description="coordinate of this joint where that of the other is zero")
    gear: Gear | None = Field(default=None, description="the pair of gear wheels that gives the ratio")

    @field_validator("ratio")
    @classmethod
    def _moves(cls, ratio: float) -> float:
        if ratio == 0:
            raise PydanticCustomError("value", "is 0; a joint that does not follow is a fixed one")
        return ratio

    @model_validator(mode="after")
    def _ratio_of_gear(self) -> Self:
        if self.gear is not None:
            if "ratio" in self.model_fields_set and not math.isclose(self.ratio, self.gear.ratio):
                message = f"is {show(self.ratio)}; the gear {self.gear} makes it {self.gear.ratio:g}: leave it out"
                refuse([of_value("ratio", message=message)])
            self.__dict__["ratio"] = self.gear.ratio
        return self


if TYPE_CHECKING:

    class _Parameters(Element):
        """Numbers of the motion of joints, as their kinds tell."""

    class _LoopParameters(Element):
        """Numbers of closures, as their kinds tell."""
else:

    def _with_parameters(name: str, kinds: Mapping[str, type[ClosureKind]]) -> type[Element]:
        """A description with the numbers that kinds need, each optional; ``kinds`` by the names that files write."""
        fields: dict[str, Any] = {}
        for key, (unit, meaning) in {k: told for kind in kinds.values() for k, told in kind.parameters.items()}.items():
            having = ", ".join(word for word, kind in kinds.items() if key in kind.parameters)
            field = Field(default=None, description=f"{meaning} ({having})")
            fields[key] = (Annotated[float, Quantity(unit)] | None, field)
        return create_model(name, __base__=Element, **fields)

    _Parameters = _with_parameters("_Parameters", KINDS)
    _LoopParameters = _with_parameters("_LoopParameters", CLOSURES)


class Joint(_Parameters):
    """The inboard joint of a link.

    The joint frame sits in the parent's frame by `placement`; `axis` is given in it. The link frame sits in
    the moving side of the joint by `child_placement`.

    A spherical joint turns any way; its coordinates NAME.rx, NAME.ry, NAME.rz are a rotation vector in the joint frame.
    A free joint has them after its position NAME.x, NAME.y, NAME.z. A universal joint is a cross: a turn NAME_1 about
    the first of its `axes` and a turn NAME_2 about the second, which the first one turns.
    """

    name: Name | None = Field(
        default=None, description="name of the joint and of its coordinate; default: the link's name"
    )
    type: JointType = Field(
        default="revolute",
        description="; ".join(f"{kind.name}: {kind.meaning}" for kind in KINDS.values())
        + f"; {Universal.name}: {Universal.meaning}",
    )
    parent: str | None = Field(
        default=None, description="LINK.FRAME, LINK (its tip) or base; default: the tip of the previous link"
    )
    placement: Placement = Field(default_factory=lambda: Placement(), description="joint frame in the parent's frame")
    axis: Axis = Field(default="z", description="x, y, z, -x, -y, -z or a vector, in the joint frame")
    axes: Annotated[tuple[Axis, Axis], BeforeValidator(sequence(2, of="axes, such as [x, y]"))] | None = Field(
        default=None, description="the two axes of a universal joint, in the joint frame; default: [x, y]"
    )
    child_placement: Placement = Field(
        default_factory=lambda: Placement(), description="link frame in the moving frame of the joint"
    )
    actuated: StrictBool = Field(default=True, description="whether a drive acts on the joint")
    motor: Motor | None = Field(default=None, description="rotor inertia and gear")
    friction: Friction | None = Field(default=None, description="viscous and dry friction")
    spring: Spring | None = Field(default=None, description="spring and damper along the coordinate")
    limits: Limits | None = Field(default=None, description="range of position, velocity and effort")
    mimic: Mimic | None = Field(default=None, description="the joint that this one follows, by ratio and offset")

    @model_validator(mode="wrap")
    @classmethod
    def _units_of_type(cls, data: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Self:
        # numbers of a joint that slides are lengths and forces
        if isinstance(info.context, dict):
            name = peek(data, "type")
            kind = KINDS.get(name) if isinstance(name, str) else None
            info.context["slides"] = kind is not None and kind.slides()
        joint: Self = handler(data)
        return joint

    @model_validator(mode="after")
    def _fits_type(self) -> Self:
        kind = KINDS.get(self.type)
        own = CROSS_KEYS if kind is None else kind.keys
        parameters = [name for each in KINDS.values() for name in each.parameters]
        given = [
            key
            for key in dict.fromkeys((*KEYS, *parameters))
            if key not in own and key in self.model_fields_set and getattr(self, key) is not None
        ]
        undriven = kind.undriven if kind is not None else ""
        problems = [at(key, message=f"a {self.type} joint {self._lacks(key, undriven)}") for key in given]
        if kind is None:
            problems += _parallel(self.cross_axes)
        elif not kind.is_driven() and self.actuated and "actuated" in self.model_fields_set:
            problems.append(
                of_value("actuated", message=f"is true; a {self.type} joint cannot be actuated; {undriven}")
            )
        if kind is not None and not kind.is_driven() and "spring" in kind.keys:
            problems += self._ball_problems()
        for name, (_, meaning) in ({} if kind is None else kind.parameters).items():
            if not getattr(self, name):
                problems.append(at(message=f"a {self.type} joint needs {name}: {meaning}"))
        if self.mimic is not None and self.actuated and "actuated" in self.model_fields_set:
            problems.append(of_value("actuated", message="is true; a joint that follows another has no drive"))
        if self.mimic is not None and self.mimic.gear is not None and kind is not None and kind.slides():
            problems.append(at("mimic", "gear", message=f"a {self.type} joint has no wheel; {RACK}"))
        refuse(problems)
        passive = self.mimic is not None if kind is not None and kind.is_driven() else True
        if passive and (kind is not None or "actuated" not in self.model_fields_set):
            self.__dict__["actuated"] = False
        return self

    def _lacks(self, key: str, undriven: str) -> str:
        """What is wrong with a key that a joint of this type does not have, and what to do."""
        if key == "axes" and KINDS[self.type].has_axis():
            return "has one axis; write axis"
        return f"has no {key}; {undriven if key == 'motor' and undriven else 'leave it out'}"

    def _ball_problems(self) -> list[InitErrorDetails]:
        """What has no one direction to act along."""
        if self.friction is not None and self.friction.coulomb:
            return [at("friction", "coulomb", message="a spherical joint has viscous friction only")]
        if self.spring is not None and self.spring.rest:
            message = "the spring of a spherical joint rests at zero; turn its placement instead"
            return [at("spring", "rest", message=message)]
        return []

    def axis_vector(self) -> Array:
        """The unit vector (3,) of the axis in the joint frame."""
        return axis_vector(self.axis)

    @property
    def cross_axes(self) -> tuple[str | tuple[float, float, float], ...]:
        """The axes of a universal joint."""
        return self.axes or CROSS_AXES

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the joint coordinates."""
        return () if self.name is None else coordinates_of(self.name, self.type)

    def moved(self, values: Mapping[str, float]) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3) of the moving side in the joint frame, at joint coordinates by name."""
        q = [float(values.get(name, 0.0)) for name in self.coordinates]
        if self.type == CROSS:
            first, second = (turn_about(axis_vector(axis), x) for axis, x in zip(self.cross_axes, q, strict=True))
            return np.zeros(3), np.asarray(first @ second)
        kind = self.mechanics
        # the kind moves a frame one of whose axes is that of the joint
        k, sign, R = nearest_axis(self.axis_vector()) if kind.has_axis() else (2, 1.0, np.eye(3))
        place = kind(k, sign).place(q, 0.0, self.parameters)
        turn = place.R if place.turn is None else FactoredRotation(None, [place.turn]).to_matrix()
        own = np.eye(3) if turn is None else np.array(turn, dtype=float)
        return R @ np.array(place.p, dtype=float), R @ own @ R.T

    @property
    def mechanics(self) -> KindClass:
        """What it is; universal joints are taken apart when a robot is read."""
        return KINDS[self.type]

    @property
    def units(self) -> dict[str, str]:
        """Units of its coordinates, by their names."""
        return {name: each.unit for name, each in zip(self.coordinates, self.mechanics.coordinates, strict=True)}

    @property
    def parameters(self) -> tuple[float, ...]:
        """Numbers of its motion, in the order in which its kind tells them."""
        return tuple(getattr(self, name) for name in self.mechanics.parameters)


class Anchor(Placement):
    """A place for the end of a loop beside a frame: on the base, or on a link."""

    frame: str = Field(description="base, LINK.FRAME or LINK (its tip)")


def _read_frame(value: Any) -> Any:
    """A frame by its name, or a mapping for a place beside it."""
    if isinstance(value, str | dict | Anchor):
        return value
    raise PydanticCustomError(
        "value",
        "is {given}; it must be a frame such as left.tip, or {example}",
        {"given": show(value), "example": "{frame: base, position: [x, y, z]}"},
    )


class _FrameForms:
    """The reading of an end of a loop: a name, or a mapping."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        anchor = Anchor.__pydantic_core_schema__
        choice = core_schema.tagged_union_schema(
            {"name": core_schema.str_schema(), "place": anchor},
            discriminator=lambda value: "name" if isinstance(value, str) else "place",
        )
        return core_schema.no_info_before_validator_function(_read_frame, choice)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(Anchor.__pydantic_core_schema__)]}


LoopFrame = Annotated[str | Anchor, _FrameForms()]


class Loop(_LoopParameters):
    """A closure: a joint between two frames on two links, which its type holds together."""

    name: Name = Field(description="name of the loop")
    type: ClosureType = Field(
        default="weld",
        description="what is held: " + "; ".join(f"{name}: {kind.holds}" for name, kind in CLOSURES.items()),
    )
    frames: Annotated[
        tuple[LoopFrame, LoopFrame], BeforeValidator(sequence(2, of="frames, such as [left.tip, right.tip]"))
    ] = Field(description="the two frames: LINK.FRAME, LINK (its tip), base, or a mapping with a place beside one")
    axis: Axis = Field(
        default="z",
        description=f"axis in the first frame ({', '.join(k for k, kind in CLOSURES.items() if 'axis' in kind.keys)})",
    )
    axes: Annotated[tuple[Axis, Axis], BeforeValidator(sequence(2, of="axes, such as [x, y]"))] | None = Field(
        default=None,
        description="axes of a universal closure, the first in the first frame, the second in the second; "
        "default: [x, y]",
    )
    planar: Literal["xy", "yz", "zx"] | None = Field(
        default=None,
        description="plane (of the base frame) in which the loop moves: only its constraints are kept",
    )
    align: StrictBool = Field(
        default=False,
        description="turn the second frame so that both have the same axes in the reference pose",
    )

    @property
    def ends(self) -> tuple[str, str]:
        """The names of the two frames."""
        first, second = (end.frame if isinstance(end, Anchor) else end for end in self.frames)
        return first, second

    @property
    def kind(self) -> ClosingKind:
        """The kind of joint that closes it."""
        return CLOSURES[self.type]

    @property
    def has_axis(self) -> bool:
        """Whether it turns about an axis or slides along one."""
        return "axis" in self.kind.keys

    def rows(self) -> tuple[ClosureRow, ...]:
        """What it holds, between frames whose z is the axis of a kind that has one."""
        first, second = (axis_vector(axis).tolist() for axis in self.axes or CROSS_AXES)
        return self.kind.rows([getattr(self, name) for name in self.kind.parameters], (first, second))

    @model_validator(mode="after")
    def _fits_type(self) -> Self:
        kind, problems = self.kind, []
        for key in ("axis", "axes", *_LoopParameters.model_fields):
            if key in kind.keys or key not in self.model_fields_set or getattr(self, key) is None:
                continue
            # what a plane leaves out needs no axis, and may have one
            if key != "axis" or self.planar is None:
                problems.append(at(key, message=f"a {self.type} closure has no {key}; leave it out"))
        for name, (_, meaning) in kind.parameters.items():
            if not getattr(self, name):
                problems.append(at(message=f"a {self.type} closure needs {name}: {meaning}"))
            elif name in kind.positive and getattr(self, name) < 0:
                problems.append(of_value(name, message=f"is {show(getattr(self, name))}; it must be positive"))
        problems += _parallel(self.axes or CROSS_AXES)
        refuse(problems)
        rows = self.rows()
        if self.align and all(row.is_length and row.in_base for row in rows):
            refuse([of_value("align", message=f"is true; a {self.type} closure leaves its frames free to turn")])
        if self.planar is not None and in_plane(rows, 0) is None:
            message = (
                f"a {self.type} closure holds directions that move with its first frame; leave planar out: what the "
                "plane holds already is found by itself"
            )
            refuse([at("planar", message=message)])
        return self

    def axis_vector(self) -> Array:
        """The unit vector (3,) of the axis in the first frame."""
        return axis_vector(self.axis)
