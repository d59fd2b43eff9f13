"""Two points at a fixed distance: a massless rod between two balls, a two-force member."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.joints.rows import ClosureKind, ClosureRow, ReachRow


class Distance(ClosureKind):
    """A massless rod; it closes loops only, because nothing is known about the way in which it turns."""

    closes = "distance"
    holds = "two points at the distance `length`, as a massless rod between two balls does"
    keys = ("length",)
    parameters = {"length": ("m", "distance between the two frames")}  # noqa: RUF012
    positive = ("length",)

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        return (ReachRow(parameters[0]),)
