"""All trajectories, motions one after the other, and how files write them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pliant.simulation.tagged import OneOf
from pliant.simulation.trajectories.cartesian import Circle, Line
from pliant.simulation.trajectories.joint_moves import (
    Cycloidal,
    Hold,
    MohanSaha,
    Quintic,
    Spline,
    Steps,
    Trapezoidal,
)
from pliant.simulation.trajectories.path import Chain, Floats, Path, Surroundings, Trajectory
from pliant.simulation.trajectories.table import Tabulated

Part = Annotated[
    Cycloidal | Quintic | Trapezoidal | Spline | Line | Circle | Hold,
    OneOf("trajectory", Cycloidal, Quintic, Trapezoidal, Spline, Line, Circle, Hold),
]


class Sequence(Trajectory):
    """Motions one after the other, each from where the one before it ended."""

    kind = "sequence"
    parts: Annotated[tuple[Part, ...], Field(min_length=1)] = Field(description="the motions, in order")

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        paths: list[Path] = []
        starts: list[float] = []
        for part in self.parts:
            path = part.bind(around, q0, t0)
            paths.append(path)
            starts.append(t0)
            t0 = max(path.end, t0)
            q0 = path.at(t0).q
        return Chain(tuple(paths), tuple(starts))


AnyTrajectory = Annotated[
    Cycloidal | Quintic | Trapezoidal | Spline | Line | Circle | Hold | Steps | Tabulated | MohanSaha | Sequence,
    OneOf("trajectory", Cycloidal, Quintic, Trapezoidal, Spline, Line, Circle, Hold, Steps, Tabulated, MohanSaha, Sequence),
]
