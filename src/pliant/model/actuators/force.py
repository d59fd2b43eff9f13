"""A force along a line that a command sets: an electric cylinder, or a muscle, with its limit and its lag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from pliant.laws import LawState
from pliant.model.actuators.line import CommandWord, LineAction, LineKind, LineMotion, SupplyAt
from pliant.model.units import NON_NEGATIVE, POSITIVE, Force, PositiveLength, Quantity
from pliant.spatial.scalars import Scalar, clip
from pliant.spatial.vectors import Vector


class LineForce(LineKind):
    """The commanded push, cut at a limit, less viscous friction; it may follow its command with a lag."""

    key: ClassVar[str] = "force"
    command: ClassVar[CommandWord] = CommandWord("N", "push along its line")
    limit: Force | None = Field(default=None, description="largest push and pull")
    lag: Annotated[float, Quantity("s", POSITIVE)] | None = Field(
        default=None, description="time constant with which the push follows its command"
    )
    damping: Annotated[float, Quantity("N s/m", NON_NEGATIVE)] = Field(default=0.0, description="friction per rate")
    retracted: PositiveLength | None = Field(default=None, description="shortest length")
    stroke: PositiveLength | None = Field(default=None, description="how much longer it gets; with retracted")

    def numbers(self) -> dict[str, float]:
        own = {"c": self.damping, "limit": self.limit, "lag": self.lag}
        return {name: x for name, x in own.items() if x is not None}

    def states(self) -> tuple[LawState, ...]:
        return () if self.lag is None else (LawState("force", "N", 0.0, 1e3),)

    def act(
        self,
        line: LineMotion,
        z: Vector,
        command: Scalar,
        numbers: Mapping[str, Scalar],
        supply: SupplyAt | None = None,
    ) -> LineAction:
        if "limit" in numbers:
            command = clip(command, -numbers["limit"], numbers["limit"])
        push, rates = (z[0], [(command - z[0]) / numbers["lag"]]) if "lag" in numbers else (command, [])
        drag = numbers["c"] * line.rate
        return LineAction(push - drag, rates, 0.0, drag * line.rate, push * line.rate)

    def at_rest(self, length: float) -> None:
        return None

    @property
    def pushes_by_states(self) -> bool:
        return self.lag is not None

    def range(self) -> tuple[float, float] | None:
        if self.retracted is None or self.stroke is None:
            return None
        return self.retracted, self.retracted + self.stroke
