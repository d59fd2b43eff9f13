"""Motions one after the other."""

from __future__ import annotations

from math import inf
from typing import Annotated

from pydantic import Field

from pliant.model.tagged import OneOf
from pliant.trajectories.cartesian import Circle, Line
from pliant.trajectories.joint_moves import Cycloidal, Hold, Nonic, Quintic, Septic, Spline, Trapezoidal
from pliant.trajectories.ongoing import ConstantRate, ExpressionMotion, TableMotion
from pliant.trajectories.path import Chain, Floats, Path, Surroundings, Trajectory, within

PARTS = (
    *(Cycloidal, Quintic, Septic, Nonic, Trapezoidal, Spline, Line, Circle),
    *(Hold, ConstantRate, ExpressionMotion, TableMotion),
)
"""Kinds of motions that may follow one another."""
Part = Annotated[Trajectory, OneOf("trajectory", *PARTS)]


class Sequence(Trajectory):
    """Motions one after the other, each from where the one before it ended."""

    kind = "sequence"
    parts: Annotated[tuple[Part, ...], Field(min_length=1)] = Field(description="the motions, in order")

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        paths: list[Path] = []
        starts: list[float] = []
        for i, part in enumerate(self.parts):
            with within("sequence", "parts", i):
                path = part.bind(around, q0, t0)
            paths.append(path)
            starts.append(t0)
            if path.end == inf and part is not self.parts[-1]:
                remedy = "end it at rest" if isinstance(part, Spline) else "give it a duration"
                raise self.fault(f"parts: '{part.kind}' goes on for ever; {remedy}, or put it last")
            t0 = max(path.end, t0)
            q0 = path.at(t0).q if t0 < inf else q0
        return Chain(tuple(paths), tuple(starts))
