"""What a sweep changes: a robot or a study, with other values at places of either."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.model.description.robot import Robot
from pliant.model.paths import inside, is_index, replaced, steps_of
from pliant.model.readers.library import load
from pliant.simulation.study import Study, bundled_studies, file_kind, load_study
from pliant.trajectories.per_joint import JointMap

Subject = Robot | Study


def subject_of(given: Subject | Dynamics | str | os.PathLike[str], do: Any = None, *, python: bool = False) -> Subject:
    """A robot or a study from what a user names; of a name that both have, the study is what is simulated.

    python  whether Python code that a study names may run
    """
    if isinstance(given, Robot | Study):
        return given
    if isinstance(given, Dynamics):
        return given.robot
    text = os.fspath(given)
    if do in (None, "simulate") and text in dict(bundled_studies()):
        return load_study(text, python=python)
    return load_study(text, python=python) if file_kind(text) == "study" else load(text)


def changed(subject: Subject, values: Mapping[str, Any], *, python: bool = False) -> Subject:
    """The subject with other values at its places; raises ModelError where a place or a value is wrong.

    python  whether Python code that the values name may run
    """
    if isinstance(subject, Robot):
        for place, value in values.items():
            subject = subject.set(place, value)
        return subject
    study, robot = subject, subject.robot
    own: dict[str, Any] = {}
    for place, value in values.items():
        inner = _in_robot(place)
        if inner is None:
            own[place] = value
        else:
            robot = robot.set(inner, value)
    # the study is checked once with the new robot and its first own value, and again for every further one
    changes = {} if robot is study.robot else {"robot": robot}
    for place, value in own.items():
        steps, whole = _in_study(study, place, value)
        study = _checked({**replaced(study, steps, whole, place), **changes}, python)
    return _checked({**study.given(), **changes}, python) if changes and not own else study


def _checked(data: Any, python: bool) -> Study:
    return Study.model_validate(data, context={"units": True, "python": python})


def _in_robot(place: str) -> str | None:
    """The place inside the robot, or None for one of the study's own keys."""
    first, _, rest = place.partition(".")
    word = steps_of(first)[0]
    if word == "robot":
        if not rest:
            raise ModelError("'robot' as a whole cannot vary; name a place in it, such as robot.forearm.beam.length")
        return rest
    return None if word in Study.model_fields else place


def _in_study(study: Study, place: str, value: Any) -> tuple[tuple[str, ...], Any]:
    """The steps of a place in a study, and what is put there.

    ``kp[0]`` is the gain of the first input whether the gains are a list, one for all, or given by joint names.
    """
    inputs = [str(link.joint.name) for link in study.robot.links if link.joint.actuated]
    steps = list(steps_of(place))
    node: Any = study
    for k, step in enumerate(steps):
        if isinstance(node, JointMap | float | int) and is_index(step):
            if not -len(inputs) <= int(step) < len(inputs):
                raise ModelError(f"'{place}': there is no input {step}; the robot has {len(inputs)}, counted from 0")
            if not isinstance(node, JointMap):
                each = [node] * len(inputs)
                each[int(step)] = value
                return tuple(steps[:k]), each
            step = steps[k] = inputs[int(step)]
        if isinstance(node, JointMap) and step not in node and k == len(steps) - 1 and step in inputs:
            break
        node, _ = inside(node, (step,), place)
    return tuple(steps), value
