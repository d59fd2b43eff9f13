"""Values for each joint of a robot: one for all, a list in the order of the inputs, or a mapping by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.model.element import Element, FrozenDict, refuse
from pliant.model.errors import ModelError, did_you_mean, show
from pliant.model.units import NON_NEGATIVE, POSITIVE, Quantity
from pliant.simulation.signals import EffortSignal, SignalForm

Floats = NDArray[np.float64]
PerJointValue = float | str | Sequence[float] | Mapping[str, Any]
"""What a user may give; what is kept is a number, a tuple or a JointMap."""


class JointMap(FrozenDict[str, Any]):
    """Joint names to values; the names are checked when the robot is known."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (JointMap, (dict(self),))


class PerJoint:
    """The pydantic reading of values per joint.

    reading  how one value is read; its unit follows the joint where the study knows the robot
    single   whether one value may stand for all joints
    """

    def __init__(self, reading: Quantity | SignalForm, *, single: bool = True) -> None:
        self.reading, self.single = reading, single

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(lambda value, info: self.read(value, info.context))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        one = {"type": ["number", "string"]}
        forms = [{"type": "object", "additionalProperties": one}, {"type": "array", "items": one}]
        return {"anyOf": [*([one] if self.single else []), *forms]}

    def read(self, value: Any, given: Any) -> Any:
        """A number, a tuple of numbers, or a JointMap."""
        context = given if isinstance(given, dict) else {}
        lengths = context.get("lengths", ())
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, list | tuple):
            entries = [(i, entry, False) for i, entry in enumerate(value)]
            return tuple(self._entries(entries, context).values())
        if isinstance(value, Mapping):
            return JointMap(self._entries([(k, entry, k in lengths) for k, entry in value.items()], context))
        if not self.single:
            raise PydanticCustomError(
                "value",
                "is {given}; it must be a mapping of joint names to values",
                {"given": show(value)},
            )
        return self.reading.read(value, {**context, "prismatic": False})

    def _entries(self, entries: list[tuple[Any, Any, bool]], context: dict[str, Any]) -> dict[Any, Any]:
        read: dict[Any, Any] = {}
        problems = []
        for key, entry, sliding in entries:
            try:
                read[key] = self.reading.read(entry, {**context, "prismatic": sliding})
            except PydanticCustomError as error:
                loc = key if isinstance(key, int) else str(key)
                problems.append(InitErrorDetails(type=error, loc=(loc,), input=entry))
        refuse(problems)
        return read


def spread(value: Any, names: Sequence[str], default: Any = None, what: str = "value") -> list[Any]:
    """One entry per name; joints that a mapping leaves out get the default."""
    if isinstance(value, Mapping):
        check_names(value, names)
        missing = [name for name in names if name not in value]
        if default is None and missing:
            raise ModelError(f"{what}: the joint '{missing[0]}' is missing; give one for {', '.join(names)}")
        defaults = list(default) if isinstance(default, np.ndarray) else [default] * len(names)
        return [value.get(name, other) for name, other in zip(names, defaults, strict=True)]
    if isinstance(value, tuple):
        if len(value) != len(names):
            raise ModelError(f"{what} has {len(value)} entries; the robot has the inputs {', '.join(names)}")
        return list(value)
    return [value] * len(names)


def numbers(value: Any, names: Sequence[str], default: Any = None, what: str = "value") -> Floats:
    """``spread`` as an array."""
    return np.array([float(x) for x in spread(value, names, default, what)])


def check_names(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise ModelError for a joint that does not exist."""
    for name in given:
        if name not in names:
            raise ModelError(unknown_joint(name, names))


def unknown_joint(name: object, names: Sequence[str]) -> str:
    hint = did_you_mean(name, names) or f"; it has {', '.join(names)}"
    return f"the robot has no actuated joint '{name}'{hint}"


def name_problems(element: Element, names: Sequence[str], path: tuple[Any, ...]) -> Iterator[InitErrorDetails]:
    """The wrong joint names anywhere inside an element, each with its place."""
    from pliant.model.element import at

    own = (*path, element.kind) if hasattr(element, "kind") else path
    for key in type(element).model_fields:
        value = getattr(element, key)
        entries = value if isinstance(value, tuple) else (value,)
        for i, entry in enumerate(entries):
            place = (*own, key, i) if isinstance(value, tuple) else (*own, key)
            if isinstance(entry, JointMap):
                for name in entry:
                    if name not in names:
                        yield at(*place, name, message=unknown_joint(name, names))
            elif isinstance(entry, Element):
                yield from name_problems(entry, names, place)


_COORDINATE = Quantity("rad", sliding="m")
Coordinates = Annotated[PerJointValue, PerJoint(_COORDINATE, single=False)]
Speeds = Annotated[PerJointValue, PerJoint(Quantity("rad/s", sliding="m/s"), single=False)]
SpeedLimits = Annotated[PerJointValue, PerJoint(Quantity("rad/s", POSITIVE, sliding="m/s"))]
Plain = Annotated[PerJointValue, PerJoint(Quantity("", NON_NEGATIVE))]
PositivePlain = Annotated[PerJointValue, PerJoint(Quantity("", POSITIVE))]
Times = Annotated[PerJointValue, PerJoint(Quantity("s", POSITIVE))]
Stiffnesses = Annotated[PerJointValue, PerJoint(Quantity("N m/rad", NON_NEGATIVE, sliding="N/m"))]
Dampings = Annotated[PerJointValue, PerJoint(Quantity("N m s/rad", NON_NEGATIVE, sliding="N s/m"))]
Efforts = Annotated[PerJointValue, PerJoint(EffortSignal, single=False)]
