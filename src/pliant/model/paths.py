"""One language for the places in a robot: ``forearm.payloads[0].mass``, ``elbow.spring.stiffness``, ``gravity[2]``.

The first word is the name of a link, a loop, a joint or an actuator, or a key of the robot itself; the others are keys
as in a robot file. ``payloads[0]`` and ``payloads.0`` are the same place. Robots, sweeps and sensitivities all
read it here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError, did_you_mean, show
from pliant.model.element import Element, FrozenDict

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

Steps = tuple[str, ...]

_WORD = re.compile(r"([^\[\].]+)((?:\[-?\d+\])*)")
_INDEX = re.compile(r"-?\d+")


def steps_of(path: str) -> Steps:
    """The words of a path: ``a.b[0].c`` is a, b, 0, c."""
    found: list[str] = []
    for part in path.split("."):
        word = _WORD.fullmatch(part.strip())
        if word is None:
            raise ModelError(f"{show(path)} is no place in a robot; write it like 'forearm.payloads[0].mass'")
        found += [word[1], *_INDEX.findall(word[2])]
    return tuple(found)


def value_at(robot: Robot, path: str) -> Any:
    """The value at a place of a robot; raises ModelError if there is none."""
    node: Any = robot
    steps = _whole(robot, steps_of(path))
    for k in range(len(steps)):
        if node is None:
            break
        node, taken = inside(node, steps[k:], path)
        if taken > 1:
            break
    if node is None:
        raise ModelError(f"robot '{robot.name}' has no '{path}': nothing is given there")
    return node


def with_value(robot: Robot, path: str, value: Any, *, check: bool = True) -> Robot:
    """The robot with another value at a place.

    value  a number in SI units, text with a unit ("2 kg"), or a part of a robot; None takes a part away
    check  whether the new robot is checked like one from a file; a derivative may step over a bound
    """
    steps = _whole(robot, steps_of(path))
    if not check:
        changed: Robot = _copied(robot, steps, value, path)
        return changed
    if (other := _with_number(robot, steps, value, path)) is not None:
        return other
    raw = replaced(_named_material(robot, steps), steps, value, path)
    return type(robot).model_validate(raw, context={"units": True})


def _with_number(robot: Robot, steps: Steps, value: Any, path: str) -> Robot | None:
    """The robot with another number in a link, where only this link must be checked; None if all must be.

    Names stay as they are, and so does who carries whom. What is wrong is said by the check of the whole robot.
    """
    if steps[0] != "links" or len(steps) < 4 or robot.loops_are_aligned:
        return None
    i = int(steps[1])
    link = robot.links[i]
    old: Any = link
    try:
        for k in range(2, len(steps)):
            old, taken = inside(old, steps[k:], path)
            if taken > 1:
                return None
        if not isinstance(old, float) or isinstance(value, bool) or not isinstance(value, float | int | str):
            return None
        new = type(link).model_validate(replaced(link, steps[2:], value, path), context={"units": True})
    except ModelError:
        return None
    return robot.model_copy(update={"links": (*robot.links[:i], new, *robot.links[i + 1 :])})


def _whole(robot: Robot, steps: Steps) -> Steps:
    """The path from the robot itself: the first word may name a link, a loop or a joint."""
    first, *rest = steps
    actuators = [*(each.name for each in robot.actuators), *(each.name for each in robot.supplies)]
    joints = {str(link.joint.name): i for i, link in enumerate(robot.links)}
    loops = [loop.name for loop in robot.loops]
    if first in robot.link_names:
        return ("links", str(robot.link_names.index(first)), *rest)
    if first in loops:
        return ("loops", str(loops.index(first)), *rest)
    if first in actuators:
        k = actuators.index(first)
        own = len(robot.actuators)
        return ("actuators", str(k), *rest) if k < own else ("supplies", str(k - own), *rest)
    if first in joints:
        return ("links", str(joints[first]), "joint", *rest)
    known = [*robot.link_names, *joints, *loops, *actuators, *type(robot).model_fields]
    if first not in type(robot).model_fields:
        hint = did_you_mean(first, known) or f"; it has {', '.join(dict.fromkeys(known))}"
        raise ModelError(f"robot '{robot.name}' has no '{first}'{hint}")
    return steps


def is_index(step: str) -> bool:
    """Whether a step is the place of an entry in a list."""
    return _INDEX.fullmatch(step) is not None


def inside(node: Any, steps: Steps, path: str) -> tuple[Any, int]:
    """What the first steps lead to, and how many they were: a name with dots takes several."""
    key = steps[0]
    if isinstance(node, list | tuple):
        if not _INDEX.fullmatch(key) or not -len(node) <= int(key) < len(node):
            raise ModelError(f"'{path}': there is no entry '{key}' in a list of {len(node)}, counted from 0")
        return node[int(key)], 1
    if isinstance(node, Mapping):
        if key not in node and ".".join(steps) in node:
            return node[".".join(steps)], len(steps)
        if key not in node:
            raise ModelError(f"'{path}': there is no '{key}'{did_you_mean(key, node) or _listed(node)}")
        return node[key], 1
    if isinstance(node, Element):
        if key == getattr(type(node), "kind", None):
            # a file writes the kind of a section as a key
            return node, 1
        if key not in type(node).model_fields:
            known = type(node).model_fields
            raise ModelError(f"'{path}': there is no '{key}'{did_you_mean(key, known) or _listed(known)}")
        return getattr(node, key), 1
    raise ModelError(f"'{path}': {show(node)} has no parts, so there is no '{key}'")


def _listed(known: Any) -> str:
    return f"; there are {', '.join(known)}" if known else ""


def replaced(node: Any, steps: Steps, value: Any, path: str) -> Any:
    """The parts on the way as plain data, as a file holds them, with the new value; all others as they are."""
    if not steps:
        return value
    if node is None:
        raise ModelError(f"'{path}': nothing is given there yet, so '{steps[0]}' cannot be set; give the whole part")
    if isinstance(node, Mapping) and steps[0] not in node:
        # a new entry, such as a joint that the pose did not name
        return {**node, ".".join(steps): value}
    inner, taken = inside(node, steps, path)
    if inner is node:
        return replaced(node, steps[1:], value, path)
    new = replaced(inner, steps[taken:], value, path)
    if isinstance(node, list | tuple):
        entries = list(node)
        entries[int(steps[0])] = new
        return entries
    if isinstance(node, Mapping):
        return {**node, ".".join(steps[:taken]): new}
    data = {**node.given(), steps[0]: new}
    if new is None:
        del data[steps[0]]
    kind = getattr(type(node), "kind", None)
    return data if kind is None else {kind: data}


def _copied(node: Any, steps: Steps, value: Any, path: str) -> Any:
    """Copies of the parts along a path, with a new value at its end; nothing checks them."""
    if not steps:
        return value
    inner, taken = inside(node, steps, path)
    if inner is node:
        return _copied(node, steps[1:], value, path)
    new = _copied(inner, steps[taken:], value, path)
    if isinstance(node, list | tuple):
        k = int(steps[0]) % len(node)
        return (*node[:k], new, *node[k + 1 :])
    if isinstance(node, Mapping):
        return FrozenDict({**node, ".".join(steps[:taken]): new})
    return node.model_copy(update={steps[0]: new})


def _named_material(robot: Robot, steps: Steps) -> Robot:
    """Beams made of a material that is about to change say its name again, so that they follow."""
    if steps[0] != "materials" or len(steps) < 2 or steps[1] not in robot.materials:
        return robot
    old = robot.materials[steps[1]]

    def named(part: Any) -> Any:
        return part.model_copy(update={"material": steps[1]}) if part.material == old else part

    links = []
    for link in robot.links:
        if link.beam is not None:
            segments = tuple(named(segment) for segment in link.beam.segments)
            beam = link.beam.model_copy(update={"segments": segments}) if segments else link.beam
            link = link.model_copy(update={"beam": named(beam)})
        links.append(link)
    return robot.model_copy(update={"links": tuple(links)})
