"""What varies in a sweep, and in what: lists of values, ranges to draw from, the cases that they make together.

The subject of a sweep is a robot or a study; cases have other values at places of either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.errors import ModelError, show
from pliant.model.description.robot import Robot
from pliant.model.paths import inside, is_index, replaced, steps_of
from pliant.model.readers.library import load
from pliant.simulation.study import Study, bundled_studies, file_kind, load_study
from pliant.trajectories.per_joint import JointMap

Floats = NDArray[np.float64]

MOST_CASES = 10_000_000
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_STEPS = re.compile(rf"({_NUMBER})\s*:\s*({_NUMBER})\s*:\s*(\d+)\s*(.*)")
_NO_COUNT = re.compile(rf"({_NUMBER})\s*:\s*({_NUMBER})(?!\s*:)(.*)")
_BETWEEN = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})\s*(log\b)?\s*(.*)")
_NORMAL = re.compile(rf"normal\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)\s*(.*)")
_ONE = re.compile(rf"({_NUMBER})\s*(.*)")


@dataclass(frozen=True)
class Between:
    """Any value from low to high, each as likely as the others; with ``log`` each of its orders of magnitude is.

    unit  of the two numbers; default SI
    """

    low: float
    high: float
    log: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.low < self.high or not np.isfinite([self.low, self.high]).all():
            raise ModelError(f"Between({self.low:g}, {self.high:g}): the first number must be below the second")
        if self.log and self.low <= 0:
            raise ModelError(f"Between({self.low:g}, {self.high:g}, log=True): both numbers must be positive")

    def at(self, u: float) -> float:
        """The value below which a part u of all values lies."""
        if self.log:
            return exp(log(self.low) + u * (log(self.high) - log(self.low)))
        return self.low + u * (self.high - self.low)


@dataclass(frozen=True)
class Normal:
    """Values scattered about a mean with a standard deviation.

    unit  of the two numbers; default SI
    """

    mean: float
    deviation: float
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.deviation > 0 or not np.isfinite([self.mean, self.deviation]).all():
            raise ModelError(f"Normal({self.mean:g}, {self.deviation:g}): the deviation must be positive")

    def at(self, u: float) -> float:
        """The value below which a part u of all values lies."""
        from scipy.special import ndtri

        return self.mean + self.deviation * float(ndtri(u))


@dataclass(frozen=True)
class Listed:
    """Values one after the other; ``unit`` is that of numbers without one."""

    values: tuple[Any, ...]
    unit: str = ""

    def at(self, u: float) -> Any:
        """The value below which a part u of them lies."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]


Varied = Between | Normal | Listed


@dataclass(frozen=True)
class Cases:
    """All combinations that are computed.

    places   what varies, as paths
    units    of the numbers, place by place; empty: SI
    columns  one list of values per place
    how      how they came about, in words, with the seed
    """

    places: tuple[str, ...]
    units: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]
    how: str

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def case(self, k: int) -> dict[str, Any]:
        """Place -> value of one case; numbers with another unit than SI as text."""
        rows = zip(self.places, self.units, self.columns, strict=True)
        return {
            place: f"{column[k]!r} {unit}" if unit and not isinstance(column[k], str) else column[k]
            for place, unit, column in rows
        }


def make_cases(vary: Mapping[str, Any], sample: str | None = None, seed: int | None = None) -> Cases:
    """The cases of a sweep.

    vary    place -> values (list, array, text as on the command line), Between or Normal
    sample  None or "grid": all combinations of lists; "zip": the lists side by side; "random:N" and "latin:N":
            N cases drawn from ranges and lists, Latin: evenly in each of them
    seed    of what is drawn
    """
    if not vary:
        raise ModelError("nothing varies; name a place and its values, such as {'forearm.payloads[0].mass': [0, 1, 2]}")
    varied = {place: read_varied(place, values) for place, values in vary.items()}
    kind, count = _read_sample(sample)
    if seed is not None and seed < 0:
        raise ModelError(f"seed is {seed}; it must be a whole number from 0 on")
    if seed is not None and count is None:
        raise ModelError(f"seed is {seed}, but sample is '{kind}', which draws nothing: take random:N or latin:N")
    units = tuple(one.unit for one in varied.values())
    if count is not None:
        seed = 0 if seed is None else seed
        columns = _drawn(list(varied.values()), count, kind == "latin", seed)
        return Cases(tuple(varied), units, columns, f"{kind}:{count}, seed {seed}")
    lists = [_only_list(place, one, kind) for place, one in varied.items()]
    sizes = [len(values) for values in lists]
    if kind == "zip":
        if len(set(sizes)) > 1:
            lengths = ", ".join(f"{place}: {n}" for place, n in zip(varied, sizes, strict=True))
            raise ModelError(f"sample 'zip' takes lists of one length; there are {lengths}")
        return Cases(tuple(varied), units, tuple(lists), kind)
    total = float(np.prod(np.array(sizes, dtype=float)))
    if total > MOST_CASES:
        raise ModelError(
            f"these lists make {total:.3g} combinations; at most {MOST_CASES:.0e} are made. Draw some: latin:1000"
        )
    rows = list(product(*lists))
    return Cases(tuple(varied), units, tuple(zip(*rows, strict=True)), f"grid {' x '.join(map(str, sizes))}")


def read_varied(place: str, values: Any) -> Varied:
    """The values of one place, as Python objects or as text of the command line."""
    if isinstance(values, Between | Normal | Listed):
        return values
    if isinstance(values, str):
        return _read_text(place, values)
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, Sequence):
        values = [values]
    if not len(values):
        raise ModelError(f"'{place}' has no values to take")
    return Listed(tuple(values))


def _read_text(place: str, text: str) -> Varied:
    """``0:2:11 kg`` (steps), ``1, 2, 5 kg`` (list), ``0..2 kg``, ``1e-3..1 log``, ``normal(1, 0.1) kg``."""
    text = text.strip()
    if found := _STEPS.fullmatch(text):
        count = int(found[3])
        if not 1 <= count <= MOST_CASES:
            raise ModelError(f"'{place}' is {show(text)}; its third number says how many, 1 to {MOST_CASES:.0e}")
        return Listed(tuple(np.linspace(float(found[1]), float(found[2]), count).tolist()), found[4])
    if found := _NO_COUNT.fullmatch(text):
        first, last, unit = found.groups()
        raise ModelError(
            f"'{place}' is {show(text)}, which does not say how many; write {first}:{last}:11{unit} for eleven values, "
            f"or {first}..{last}{unit} to draw from"
        )
    if found := _BETWEEN.fullmatch(text):
        return Between(float(found[1]), float(found[2]), bool(found[3]), found[4])
    if found := _NORMAL.fullmatch(text):
        return Normal(float(found[1]), float(found[2]), found[3])
    entries = [entry.strip() for entry in text.split(",")]
    read = [_ONE.fullmatch(entry) for entry in entries]
    unit = read[-1][2] if read[-1] is not None else ""
    if all(one is not None and one[2] in ("", unit) for one in read):
        return Listed(tuple(float(one[1]) for one in read if one is not None), unit)
    if not all(entries):
        raise ModelError(
            f"'{place}' is {show(text)}; write it like 0:2:11 (first, last, how many), 1, 2, 5 or, to draw from, "
            "0..2 or normal(1, 0.1), with a unit behind it where it is not SI"
        )
    return Listed(tuple(entries))


def _read_sample(sample: str | None) -> tuple[str, int | None]:
    kind, colon, count = (sample or "grid").partition(":")
    if kind in ("grid", "zip") and not colon:
        return kind, None
    if kind in ("random", "latin") and count.isdigit() and 1 <= int(count) <= MOST_CASES:
        return kind, int(count)
    raise ModelError(f"sample is {show(sample)}; it must be grid, zip, random:N or latin:N")


def _only_list(place: str, one: Varied, kind: str) -> tuple[Any, ...]:
    if isinstance(one, Listed):
        return one.values
    raise ModelError(f"'{place}' is a range to draw from, and sample is '{kind}'; draw with sample latin:N or random:N")


def _drawn(varied: list[Varied], count: int, latin: bool, seed: int) -> tuple[tuple[Any, ...], ...]:
    """Latin: in each place every of ``count`` equal parts is met once, in an order of its own."""
    rng = np.random.default_rng(seed)
    u = rng.random((count, len(varied)))
    if latin:
        u = (np.stack([rng.permutation(count) for _ in varied], axis=1) + u) / count
    return tuple(tuple(one.at(float(x)) for x in column) for one, column in zip(varied, u.T, strict=True))


# ---- subject


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
