"""Values for each joint of a robot: one for all, a list in the order of the inputs, or a mapping by name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from math import pi
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.errors import ModelError, did_you_mean, show
from pliant.model.description.outline import BASE
from pliant.model.description.plausible import turn_words
from pliant.model.description.robot import Robot
from pliant.model.element import Element, FrozenDict, at, of_value, path_text, refuse
from pliant.model.units import NON_NEGATIVE, POSITIVE, Quantity
from pliant.trajectories.signals import EffortSignal, SignalForm

Floats = NDArray[np.float64]
PerJointValue = float | str | Sequence[float] | Mapping[str, Any]
"""What a user may give; what is kept is a number, a JointList or a JointMap."""


class JointMap(FrozenDict[str, Any]):
    """Joint names to values; the names are checked when the robot is known."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (JointMap, (dict(self),))


class JointList(tuple[Any, ...]):
    """One value per input; their number is checked when the robot is known."""


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
        """A number, a JointList, or a JointMap."""
        context = given if isinstance(given, dict) else {}
        lengths = context.get("lengths", ())
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, list | tuple):
            entries = [(i, entry, False) for i, entry in enumerate(value)]
            return JointList(self._entries(entries, context).values())
        if isinstance(value, Mapping):
            return JointMap(self._entries([(k, entry, k in lengths) for k, entry in value.items()], context))
        if not self.single:
            raise PydanticCustomError(
                "value",
                "is {given}; it must be a mapping of joint names to values",
                {"given": show(value)},
            )
        return self.reading.read(value, {**context, "slides": False})

    def _entries(self, entries: list[tuple[Any, Any, bool]], context: dict[str, Any]) -> dict[Any, Any]:
        read: dict[Any, Any] = {}
        problems = []
        for key, entry, sliding in entries:
            try:
                read[key] = self.reading.read(entry, {**context, "slides": sliding})
            except PydanticCustomError as error:
                loc = key if isinstance(key, int) else str(key)
                problems.append(InitErrorDetails(type=error, loc=(loc,), input=entry))
        refuse(problems)
        return read


class PerCoordinate(PerJoint):
    """The pydantic reading of numbers by the names of elastic coordinates, each in the unit that it has."""

    def __init__(self) -> None:
        super().__init__(Quantity(""), single=False)

    def read(self, value: Any, given: Any) -> FrozenDict[str, Any]:
        if not isinstance(value, Mapping):
            words = "is {given}; it must be a mapping of elastic coordinates, such as arm.bend_y.1, to numbers"
            raise PydanticCustomError("value", words, {"given": show(value)})
        context = given if isinstance(given, dict) else {}
        return FrozenDict(self._entries([(k, entry, False) for k, entry in value.items()], context))


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
            raise ModelError(f"{what} {wrong_count(value, names)}")
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


def unknown_joint(name: object, names: Sequence[str], kind: str = "actuated joint") -> str:
    hint = did_you_mean(name, names) or f"; it has {', '.join(names)}"
    return f"the robot has no {kind} '{name}'{hint}"


def undriven(robot: Robot) -> dict[str, str]:
    """Joints and coordinates that no drive acts on -> why, and what to do."""
    found = {}
    for link in robot.links:
        joint = link.joint
        if joint.actuated:
            continue
        if joint.mimic is not None:
            why = f"follows '{joint.mimic.joint}'; drive that one"
        elif joint.mechanics.undriven:
            why = f"belongs to a {joint.type} joint, which has no drive; {joint.mechanics.undriven}"
        else:
            why = "has no drive; write `actuated: true` into its joint"
        found.update({name: f"'{name}' {why}" for name in (str(joint.name), *joint.coordinates)})
    return found


def wrong_count(values: Sequence[Any], names: Sequence[str]) -> str:
    return f"is a list of {len(values)}; it must have one entry for each input of the robot: {', '.join(names)}"


def frame_problem(robot: Robot, name: str) -> str:
    """Why a name is none of a moving frame of the robot; nothing if it is one."""
    name = robot.aliases.get(name, name)
    if name == "tip":
        return ""
    if name.partition(".")[0] == BASE:
        return "the base does not move; name a frame of a link"
    link, _, frame = name.partition(".")
    if link not in robot.link_names:
        hint = did_you_mean(link, ["tip", *robot.link_names]) or f"; it has {', '.join(robot.link_names)}"
        return f"the robot has no link '{link}'{hint}"
    frames = robot.link(link).frame_names
    if "." in name and frame not in frames:
        hint = did_you_mean(frame, frames) or f"; it has {', '.join(frames)}"
        return f"link '{link}' has no frame '{frame}'{hint}"
    return ""


def parts_of(element: Element, path: tuple[Any, ...]) -> Iterator[tuple[Element, tuple[Any, ...]]]:
    """An element and all elements inside it, each with its place in a file."""
    own = (*path, element.kind) if hasattr(element, "kind") else path
    yield element, own
    for place, entry in entries_of(element, own):
        if isinstance(entry, Element):
            yield from parts_of(entry, place)


def file_digests(element: Element | None) -> dict[str, str]:
    """Names of the files of an element and its parts (their ``files``), and digests of what is in them."""
    found: dict[str, str] = {}
    for part, _ in () if element is None else parts_of(element, ()):
        for file in getattr(part, "files", ()):
            content = hashlib.sha256(Path(file).read_bytes()).hexdigest()
            found[Path(file).name] = found.get(Path(file).name, "") + content
    return found


def entries_of(element: Element, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values of an element, those of its lists one by one, each with its place."""
    for key in type(element).model_fields:
        value = getattr(element, key)
        if isinstance(value, tuple) and not isinstance(value, JointList):
            yield from (((*path, key, i), entry) for i, entry in enumerate(value))
        else:
            yield (*path, key), value


def joint_problems(
    element: Element,
    path: tuple[Any, ...],
    inputs: Sequence[str],
    names: Sequence[str] | None = None,
    kind: str = "actuated joint",
    undriven: Mapping[str, str] | None = None,
) -> Iterator[InitErrorDetails]:
    """Values per joint anywhere inside an element that do not fit the robot, each with its place.

    inputs    the actuated joints, one for each entry of a list
    names     what mappings may name, of a kind; default: the inputs
    undriven  why other joints cannot be named, by name
    """
    known = inputs if names is None else names
    for part, own in parts_of(element, path):
        for place, value in entries_of(part, own):
            if isinstance(value, JointMap):
                for name in value:
                    if name not in known:
                        why = (undriven or {}).get(name) or unknown_joint(name, known, kind)
                        yield at(*place, name, message=why)
            elif isinstance(value, JointList) and len(value) != len(inputs):
                yield of_value(*place, message=wrong_count(value, inputs))


POSITIONS = ("position", "to", "points")
"""Keys of joint positions."""


def turn_limits(robot: Robot, *elements: Element | None) -> Iterator[str]:
    """Positions of turning joints anywhere inside elements that are more than a turn: degrees are easily forgotten."""
    turning = {str(link.joint.name) for link in robot.links if link.joint.mechanics.turns()}
    inputs = [str(link.joint.name) for link in robot.links if link.joint.actuated]
    told = set[str]()
    for element in elements:
        for part, own in parts_of(element, ()) if element is not None else ():
            for place, value in entries_of(part, own):
                if not isinstance(value, JointMap | JointList) or not {*place[-2:]} & {*POSITIONS}:
                    continue
                given = value.items() if isinstance(value, JointMap) else zip(inputs, value, strict=False)
                for name, x in given:
                    if name in turning and name not in told and abs(x) > 2 * pi:
                        told.add(name)
                        yield f"joint '{name}': its position under {path_text(place)} is {turn_words(x)}"


_COORDINATE = Quantity("rad", sliding="m")
Coordinates = Annotated[PerJointValue, PerJoint(_COORDINATE, single=False)]
Shapes = Annotated[Mapping[str, float], PerCoordinate()]
Speeds = Annotated[PerJointValue, PerJoint(Quantity("rad/s", sliding="m/s"), single=False)]
SpeedLimits = Annotated[PerJointValue, PerJoint(Quantity("rad/s", POSITIVE, sliding="m/s"))]
Plain = Annotated[PerJointValue, PerJoint(Quantity("", NON_NEGATIVE))]
Accelerations = Annotated[PerJointValue, PerJoint(Quantity("rad/s^2", POSITIVE, sliding="m/s^2"))]
Times = Annotated[PerJointValue, PerJoint(Quantity("s", POSITIVE))]
Stiffnesses = Annotated[PerJointValue, PerJoint(Quantity("N m/rad", NON_NEGATIVE, sliding="N/m"))]
Dampings = Annotated[PerJointValue, PerJoint(Quantity("N m s/rad", NON_NEGATIVE, sliding="N s/m"))]
Efforts = Annotated[PerJointValue, PerJoint(EffortSignal, single=False)]
