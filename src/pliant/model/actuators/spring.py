"""A spring and damper along a line; with a stiffness EA/l it is a massless rod that two frames pull and push."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from pliant.model.actuators.line import AtRest, LineAction, LineKind, LineMotion, SupplyAt
from pliant.model.units import NON_NEGATIVE, PositiveLength, Quantity
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector


class LineSpring(LineKind):
    """Push k (free length - l) - c l'."""

    key: ClassVar[str] = "spring"
    stiffness: Annotated[float, Quantity("N/m", NON_NEGATIVE)] = Field(description="force per elongation")
    length: PositiveLength = Field(description="length at which it pushes and pulls nothing")
    damping: Annotated[float, Quantity("N s/m", NON_NEGATIVE)] = Field(default=0.0, description="force per rate")

    def numbers(self) -> dict[str, float]:
        return {"k": self.stiffness, "l0": self.length, "c": self.damping}

    def act(
        self,
        line: LineMotion,
        z: Vector,
        command: Scalar,
        numbers: Mapping[str, Scalar],
        supply: SupplyAt | None = None,
    ) -> LineAction:
        k, l0, c = numbers["k"], numbers["l0"], numbers["c"]
        short = l0 - line.length
        drag = c * line.rate
        return LineAction(k * short - drag, [], 0.5 * k * short * short, drag * line.rate)

    def at_rest(self, length: float) -> AtRest:
        return AtRest(self.stiffness * (self.length - length), -self.stiffness, self.damping)
