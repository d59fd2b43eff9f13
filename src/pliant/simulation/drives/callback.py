"""A controller that the user writes in Python."""

from __future__ import annotations

import importlib.util
import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any

import numpy as np
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError, core_schema

from pliant.model.errors import ModelError, show
from pliant.model.units import Time
from pliant.simulation.drives.drive import NO_RATES, Action, ActiveDrive, Drive, Period
from pliant.simulation.drives.sampled import SampledDrive
from pliant.simulation.study_file import require_file
from pliant.simulation.trajectories.path import Floats, Surroundings
from pliant.states import Labels

Law = Callable[[float, Floats, Floats], Any]


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
        return value if isinstance(value, str) else f"python function {getattr(value, '__qualname__', value)}"


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
        """Code in a study runs only if the user said so; it stands beside the study."""
        if not isinstance(value, str):
            return value
        context = info.context if isinstance(info.context, dict) else {}
        if not context.get("python", True):
            raise PydanticCustomError(
                "value",
                "is {given}: the study wants to run Python code; look at it, then allow it with --allow-python",
                {"given": show(value)},
            )
        file, _, name = value.rpartition(":")
        path = os.path.join(context.get("folder", ""), file)
        require_file(path, value)
        return f"{path}:{name}"

    @property
    def files(self) -> tuple[str, ...]:
        """What is read besides the study."""
        return (self.function.rpartition(":")[0],) if isinstance(self.function, str) else ()

    def bind(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        law = _load(self.function) if isinstance(self.function, str) else self.function
        called = _Called(law, around.arm.input_labels)
        if self.period is None:
            return called
        return SampledDrive(called, self.period, self.delay, len(around.inputs))


class _Called(ActiveDrive):
    def __init__(self, law: Law, inputs: Labels) -> None:
        self.law, self.inputs = law, inputs

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
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
        return Action(tau, NO_RATES)


def _floats(given: Any) -> Floats:
    return np.asarray(given, dtype=float)


def _load(text: str) -> Law:
    """The function in ``FILE.py:FUNCTION``."""
    file, _, name = text.rpartition(":")
    spec = importlib.util.spec_from_file_location(FilePath(file).stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError(f"{file} cannot be loaded: {_told(error)}") from error
    law = getattr(module, name, None)
    if not callable(law):
        raise ModelError(f"{file} has no function '{name}'")
    found: Law = law
    return found


def _told(error: Exception) -> str:
    """An error of the user's code, with its line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = "" if isinstance(error, SyntaxError) else f" ({FilePath(place.filename).name}, line {place.lineno})"
    return f"{type(error).__name__}: {error}{where}"
