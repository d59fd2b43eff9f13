"""A controller that the user writes in Python."""

from __future__ import annotations

import ast
import os
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from math import inf
from pathlib import Path as FilePath
from types import ModuleType
from typing import Annotated, Any

import numpy as np
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError, core_schema

from pliant.drives.drive import Drive, DriveLaw, Period
from pliant.drives.sampled import SampledLaw
from pliant.errors import ModelError, show
from pliant.files import content_of
from pliant.laws import Action, Actions, Floats
from pliant.model.units import Time
from pliant.spatial.vectors import Vector
from pliant.states import Labels
from pliant.trajectories.path import Surroundings
from pliant.trajectories.study_file import require_file

Law = Callable[[float, Floats, Floats], Any]
MOST_CODE = 5_000_000
"""Bytes of Python that are read."""


LOOK = 20_000
"""Calls of a continuous law after which its pace is looked at."""
MOST_CALLS = 2e7
"""Calls that a run may still need at its present pace; they take minutes."""


class SlowLawWarning(UserWarning):
    """A continuous law that jumps, so that the steps of a run come to a halt."""


class AllowedCode(str):
    """``FILE.py:FUNCTION`` that the user has allowed to run; plain text never runs."""

    __slots__ = ()


class UnrunLaw:
    """The place of a law whose code is looked at but never run: it gives no effort.

    text  ``FILE.py:FUNCTION`` with the path of the file
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, t: float, q: Floats, v: Floats) -> Any:
        return {}


class _LawForm:
    """The reading of a control law: a function, or in a file ``FILE.py:FUNCTION``."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(self.write)
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "examples": ["control.py:law"]}

    @staticmethod
    def read(value: Any) -> Any:
        if callable(value) or (isinstance(value, str) and ".py:" in value):
            return value
        raise PydanticCustomError(
            "value",
            "is {given}; it must be a function of (t, q, v), in a file written as 'control.py:law'",
            {"given": show(value)},
        )

    @staticmethod
    def write(value: Any) -> str:
        if isinstance(value, UnrunLaw):
            return value.text
        return str(value) if isinstance(value, str) else f"python function {getattr(value, '__qualname__', value)}"


class Callback(Drive):
    """tau = function(t, q, v), called once per period; the command is held until the next one takes effect.

    q and v (n,) are all coordinates and rates; the function returns one effort per input. Without a period it is a
    continuous law, called whenever the integrator asks: it must then depend on t, q and v alone, and smoothly.
    """

    kind = "callback"
    function: Annotated[str | Law, _LawForm()] = Field(description="the control law, in a file 'control.py:law'")
    period: Period | None = Field(default=None, description="time between calls; default: a continuous law")
    delay: Time = Field(default=0.0, description="time from a call until its command takes effect")

    @field_validator("function")
    @classmethod
    def _allowed(cls, value: Any, info: ValidationInfo) -> Any:
        """Code in a study runs only if the user said so; it stands beside the study.

        Context: ``python`` is True where the user has allowed it and None where it is only looked at.
        """
        if not isinstance(value, str) or isinstance(value, AllowedCode):
            return value
        context = info.context if isinstance(info.context, dict) else {}
        python = context.get("python", False)
        if python is False:
            remedy = "look at it, then allow it with --allow-python, or in a program with load_study(..., python=True)"
            words = "is {given}: the study wants to run Python code; {remedy}"
            raise PydanticCustomError("value", words, {"given": show(value), "remedy": remedy})
        file, _, name = value.rpartition(":")
        path = os.path.join(context.get("folder", ""), file)
        require_file(path, value)
        text = f"{path}:{name}"
        return AllowedCode(text) if python else UnrunLaw(text)

    @property
    def files(self) -> tuple[str, ...]:
        """What is read besides the study."""
        return (self.function.rpartition(":")[0],) if isinstance(self.function, str) else ()

    def bind(self, around: Surroundings, q0: Floats) -> DriveLaw:
        law = _law(self.function)
        called = CalledLaw(law, around.arm.input_labels, around.until if self.period is None else inf)
        if self.period is None:
            return called
        return SampledLaw(called, self.period, self.delay, around)


class CalledLaw(DriveLaw):
    """A law that is called in Python; ``until`` is the end of a run whose steps its jumps may bring to a halt."""

    in_python = True

    def __init__(self, law: Law, inputs: Labels, until: float) -> None:
        self.law, self.inputs, self.until = law, inputs, until
        self.calls, self.reached = 0, 0.0

    def _watch(self, t: float) -> None:
        """Warn where the steps are so small that the end is out of reach."""
        pace = (t - self.reached) / LOOK
        self.reached = max(t, self.reached)
        if self.until < inf and (self.until - t) > MOST_CALLS * max(pace, 0.0):
            self.until = inf
            warnings.warn(
                f"the control law was called {self.calls} times up to t = {t:.6g} s, and steps are so small that the "
                "end is out of reach: a law without a period must be smooth. One that switches, such as a relay, needs "
                "a period, or a steep smooth curve such as tanh(v/v0) instead of its jump",
                SlowLawWarning,
                stacklevel=2,
            )

    @property
    def structure(self) -> Hashable:
        return "called", id(self.law)

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        raise TypeError("a function of the user has no law on other scalars than floats")

    def along(self, times: Floats, q: Floats, v: Floats, z: Floats) -> Actions:
        found = [self.at(float(t), *row).efforts for t, *row in zip(times, q, v, z, strict=True)]
        none = np.zeros(len(times))
        return Actions(np.array(found, dtype=float).reshape(len(times), -1), np.zeros((len(times), 0)), none, none)

    def at(self, t: float, q: Floats, v: Floats, z: Floats) -> Action:
        self.calls += 1
        if self.calls % LOOK == 0:
            self._watch(t)
        try:
            given = self.law(t, q.copy(), v.copy())
            tau = self.inputs.states("tau", given) if isinstance(given, Mapping) else np.atleast_1d(_floats(given))
        except Exception as error:
            raise ModelError(f"the control law failed at t = {t:.6g} s: {_told(error)}") from error
        if tau.shape != (len(self.inputs.names),) or not np.isfinite(tau).all():
            raise ModelError(
                f"the control law returned {show(tau.tolist())} at t = {t:.6g} s; "
                f"it must return {len(self.inputs.names)} finite numbers, one per input"
            )
        return Action(tau.tolist())


def _floats(given: Any) -> Floats:
    return np.asarray(given, dtype=float)


def _law(given: str | Law) -> Law:
    """The function itself; one in a file is loaded if the user allowed it, and looked for if it shall not run."""
    if isinstance(given, AllowedCode):
        return _load(given)
    if isinstance(given, str):
        raise ModelError(f"{show(given)} is Python code that nobody allowed to run; give the function itself")
    if isinstance(given, UnrunLaw):
        _look_at(given.text)
    return given


def _load(text: str) -> Law:
    """The function in ``FILE.py:FUNCTION``.

    The text of the file is what the user has looked at: bytecode that lies beside it is neither read nor written.
    """
    file, _, name = text.rpartition(":")
    module = ModuleType(FilePath(file).stem)
    module.__file__ = file
    try:
        exec(compile(content_of(file, MOST_CODE), file, "exec"), module.__dict__)
    except Exception as error:
        raise ModelError(f"{file} cannot be loaded: {_told(error)}") from error
    law = getattr(module, name, None)
    if not callable(law):
        raise ModelError(f"{file} has no function '{name}'")
    found: Law = law
    return found


def _look_at(text: str) -> None:
    """Whether a file has a function, as far as its text tells without being run."""
    file, _, name = text.rpartition(":")
    try:
        parts = ast.parse(content_of(file, MOST_CODE), file)
    except SyntaxError as error:
        raise ModelError(f"{file} cannot be loaded: {_told(error)}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ModelError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from None
    if name not in (names := set(_names(parts))) and "*" not in names:
        raise ModelError(f"{file} has no function '{name}'")


def _names(parts: ast.AST) -> Iterator[str]:
    """Names that a module may have when it is loaded; those of the insides of functions and classes do no harm."""
    for part in ast.walk(parts):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.alias):
            yield part.asname or part.name.partition(".")[0]


def _told(error: Exception) -> str:
    """An error of the user's code, with its line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = "" if isinstance(error, SyntaxError) else f" ({FilePath(place.filename).name}, line {place.lineno})"
    return f"{type(error).__name__}: {error}{where}"
