"""Things that may happen on the way: a quantity passes a threshold, a joint reaches its limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from pliant.dynamics import Dynamics
from pliant.errors import ModelError, did_you_mean, show
from pliant.model.description.robot import Robot
from pliant.model.element import Element, Title, rule
from pliant.model.units import Number
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.state_equations import StateEquations
from pliant.trajectories.per_joint import frame_problem

Floats = NDArray[np.float64]
Quantity = Callable[[Floats, Floats], float]

LOOKS = 4
"""Places inside every step at which events are looked for: a short visit beyond a threshold may be missed."""


class Event(Element):
    """A threshold for a quantity of the run."""

    name: Title | Literal[""] = Field(default="", description="what it is called in the result; default: the quantity")
    quantity: str = Field(
        description="COORDINATE, COORDINATE.rate, or FRAME.x, FRAME.y, FRAME.z for a position in the base frame"
    )
    above: Number | None = Field(default=None, description="happens when the quantity rises above this number")
    below: Number | None = Field(default=None, description="happens when the quantity falls below this number")
    action: Literal["stop", "record"] = Field(default="stop", description="stop the run, or only record the time")

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise rule("give either above or below")
        return self

    def bind(self, arm: Dynamics) -> ActiveEvent:
        """The event of a robot."""
        value = _value(arm, *read_quantity(self.quantity, arm.robot, arm.names))
        threshold = self.above if self.above is not None else self.below
        sign = 1.0 if self.above is not None else -1.0
        side = "above" if self.above is not None else "below"
        name = self.name or f"{self.quantity} {side} {threshold:g}"
        return ActiveEvent(name, value, float(threshold or 0.0), sign, self.action == "stop")


@dataclass(frozen=True)
class ActiveEvent:
    """Happens when sign (value - threshold) becomes positive."""

    name: str
    value: Quantity
    threshold: float
    sign: float
    stops: bool

    def excess(self, q: Floats, v: Floats) -> float:
        """Positive beyond the threshold."""
        return self.sign * (self.value(q, v) - self.threshold)


class Happening(NamedTuple):
    """An event that took place."""

    time: float
    name: str
    value: float
    stops: bool


def limit_events(arm: Dynamics, stops: bool) -> Iterator[ActiveEvent]:
    """One event for each position limit of the joints."""
    for i, bounds in arm.position_limits.items():
        value = _coordinate(i)
        for bound, sign, word in zip(bounds, (-1.0, 1.0), ("lower", "upper"), strict=True):
            yield ActiveEvent(f"{arm.names[i]} reaches its {word} limit", value, bound, sign, stops)


def read_quantity(text: str, robot: Robot, names: Sequence[str]) -> tuple[str, str]:
    """What a text names, and of what: ``q`` and ``v`` of a coordinate, ``x``, ``y``, ``z`` of a frame.

    Raises ModelError, whose message goes on after the name of the key.
    """
    if text in names:
        return "q", text
    head, _, last = text.rpartition(".")
    if last == "rate" and head in names:
        return "v", head
    if last in ("x", "y", "z") and head:
        wrong = frame_problem(robot, head)
        if wrong:
            raise ModelError(f"is {show(text)}; {wrong}")
        return last, head
    known = [*names, *(f"{name}.rate" for name in names), "tip.x", "tip.y", "tip.z"]
    hint = did_you_mean(text, known) or "; it must be a coordinate, its .rate, or FRAME.x, .y, .z"
    raise ModelError(f"is {show(text)}, which the robot does not have{hint}")


def _value(arm: Dynamics, kind: str, of: str) -> Quantity:
    if kind == "q":
        return _coordinate(arm.names.index(of))
    if kind == "v":
        k = arm.names.index(of)
        return lambda q, v: float(v[k])
    axis = "xyz".index(kind)
    return lambda q, v: float(arm.pose(of, q).position[axis])


def _coordinate(i: int) -> Quantity:
    return lambda q, v: float(q[i])


class Watch:
    """Looks for events in the pieces of a solution."""

    def __init__(self, equations: StateEquations, events: Sequence[ActiveEvent]) -> None:
        self.equations, self.events = equations, list(events)
        self.before: list[float] | None = None

    def excesses(self, t: float, y: Floats) -> list[float]:
        """How far every event is beyond its threshold."""
        q, v = self.equations.coordinates(t, y)
        return [event.excess(q, v) for event in self.events]

    def begin(self, t: float, y: Floats) -> None:
        """What is beyond a threshold at the start has already happened."""
        if self.events:
            self.before = self.excesses(t, y)

    def look(self, piece: Piece) -> list[Happening]:
        """The events inside a piece, in order, up to the first one that stops."""
        if not self.events:
            return []
        if self.before is None:
            self.begin(piece.start, piece(piece.start))
        assert self.before is not None
        found: list[Happening] = []
        knots = piece.knots
        times = np.unique(np.concatenate([np.linspace(a, b, LOOKS + 1) for a, b in pairwise(knots)]))
        states = piece(times)
        for k in range(1, len(times)):
            after = self.excesses(float(times[k]), states[k])
            for event, e0, e1 in zip(self.events, self.before, after, strict=True):
                if e0 <= 0 < e1:
                    t = self._instant(piece, event, float(times[k - 1]), float(times[k]))
                    q, v = self.equations.coordinates(t, piece(t))
                    found.append(Happening(t, event.name, event.value(q, v), event.stops))
            self.before = after
        found.sort()
        last = next((i for i, event in enumerate(found) if event.stops), len(found) - 1)
        return found[: last + 1]

    def _instant(self, piece: Piece, event: ActiveEvent, a: float, b: float) -> float:
        from scipy.optimize import brentq

        def excess(t: float) -> float:
            return event.excess(*self.equations.coordinates(t, piece(t)))

        # at its threshold there, or beyond it by a jump
        if excess(a) >= 0.0:
            return a
        return float(brentq(excess, a, b, xtol=1e-12 * max(abs(b), 1e-3), rtol=1e-14))
