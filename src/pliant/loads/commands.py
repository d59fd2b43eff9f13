"""What commands an actuator in a study: a signal of time, or a controller of its length.

A command stands under ``commands`` with the name of the actuator: ``lift: '0.5*step(t - 1)'``, or
``lift: {length: '1.2 + 0.1*t', kp: 5}``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Annotated, Any

import numpy as np
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from pliant.laws import Floats, LawState
from pliant.model.actuators.line import LineMotion
from pliant.model.element import Element
from pliant.model.units import POSITIVE, Number, Quantity
from pliant.spatial.scalars import Scalar, clip
from pliant.spatial.vectors import Vector
from pliant.trajectories.signals import SignalForm, signal

LengthSignal = Annotated[float | str, SignalForm("m")]
PlainSignal = Annotated[float | str, SignalForm("")]


class LengthControl(Element):
    """A controller of the length of a line: command = ahead + kp (l_d - l) - kd l' + ki int (l_d - l) dt."""

    length: LengthSignal = Field(description="desired length: a number or an expression in t")
    kp: Number = Field(description="command per error of the length")
    kd: Number = Field(default=0.0, description="command per rate of the length")
    ki: Number = Field(default=0.0, description="command per integral of the error")
    ahead: PlainSignal = Field(default=0.0, description="what is commanded besides: a number or an expression in t")
    limit: Annotated[float, Quantity("", POSITIVE)] | None = Field(
        default=None, description="largest command; the integral stands still there"
    )


class _CommandForm:
    """The reading of a command: a number or an expression in t, or the keys of a controller of the length."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        control = handler.generate_schema(LengthControl)
        plain = core_schema.union_schema([core_schema.float_schema(), core_schema.str_schema()])
        return core_schema.tagged_union_schema(
            {"signal": plain, "control": control},
            discriminator=lambda value: "control" if isinstance(value, dict | LengthControl) else "signal",
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        control = handler(LengthControl.__pydantic_core_schema__)
        return {"anyOf": [{"type": "number"}, {"type": "string", "examples": ["0.5*step(t - 1)"]}, control]}


AnyCommand = Annotated[float | str | LengthControl, _CommandForm()]


def command_signal(given: float | str, unit: str) -> float | str:
    """A command in the unit of its actuator: a number in SI units, or an expression; raises PydanticCustomError."""
    return SignalForm(unit).read(given, {"units": True})


class Command:
    """A command of one actuator, bound to it: signals, own states, and its value on any scalars.

    given  a number or an expression, a controller, or None: zero
    """

    def __init__(self, given: float | str | LengthControl | None, unit: str) -> None:
        self.control = given if isinstance(given, LengthControl) else None
        if self.control is not None:
            self.parts = [signal(self.control.length), signal(self.control.ahead)]
        else:
            assert not isinstance(given, LengthControl)
            self.parts = [] if given is None else [signal(command_signal(given, unit))]
        self.channels = len(self.parts)
        self.breaks = tuple(t for part in self.parts for t in part.breaks)
        integral = self.control is not None and bool(self.control.ki)
        self.states = (LawState("integral", "m s"),) if integral else ()

    @property
    def gains(self) -> tuple[float, ...]:
        """kp, kd, ki, and the limit if there is one."""
        own = self.control
        if own is None:
            return ()
        return (own.kp, own.kd, own.ki, *(() if own.limit is None else (own.limit,)))

    @property
    def structure(self) -> Hashable:
        """What decides the code."""
        own = self.control
        return self.channels, own is not None and (bool(own.kd), bool(own.ki), own.limit is not None)

    def signals(self, t: Floats) -> Floats:
        """Signals at several times (times, channels)."""
        return np.array([[part(x) for part in self.parts] for x in t], dtype=float).reshape(len(t), self.channels)

    def value(self, line: LineMotion, z: Vector, signals: Vector, gains: Vector) -> tuple[Scalar, Vector]:
        """The command, and rates of its own states."""
        own = self.control
        if own is None:
            return (signals[0] if self.channels else 0.0), []
        kp, kd, ki, *limit = gains
        error = signals[0] - line.length
        u = signals[1] + kp * error
        if own.kd:
            u = u - kd * line.rate
        if not own.ki:
            return (clip(u, -limit[0], limit[0]) if limit else u), []
        u = u + ki * z[0]
        if not limit:
            return u, [error]
        cut = clip(u, -limit[0], limit[0])
        # what is cut off flows back into the integral, which then stands still
        return cut, [error + (cut - u) / kp if own.kp else error]
