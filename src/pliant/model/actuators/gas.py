"""A gas spring along a line: gas in a closed chamber pushes the harder the shorter it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from pliant.model.actuators.line import AtRest, LineAction, LineKind, LineMotion, SupplyAt
from pliant.model.units import NON_NEGATIVE, POSITIVE, PositiveLength, Quantity
from pliant.spatial.scalars import Scalar, exp, log
from pliant.spatial.vectors import Vector


class GasSpring(LineKind):
    """Push F0 (h / (h + l - length))^n - c l': h is the height of the gas at the length where it pushes F0."""

    key: ClassVar[str] = "gas"
    force: Annotated[float, Quantity("N", POSITIVE)] = Field(description="push at the given length")
    length: PositiveLength = Field(description="length at which it pushes so")
    column: PositiveLength = Field(description="height of the gas column at that length, its volume over the area")
    exponent: Annotated[float, Quantity("", POSITIVE)] = Field(
        default=1.4, description="of the polytrope: 1 slow, 1.4 fast"
    )
    damping: Annotated[float, Quantity("N s/m", NON_NEGATIVE)] = Field(default=0.0, description="force per rate")

    def numbers(self) -> dict[str, float]:
        # at one the energy is a logarithm
        n = {} if self.exponent == 1.0 else {"n": self.exponent}
        return {"F0": self.force, "l0": self.length, "h": self.column, "c": self.damping, **n}

    def act(
        self,
        line: LineMotion,
        z: Vector,
        command: Scalar,
        numbers: Mapping[str, Scalar],
        supply: SupplyAt | None = None,
    ) -> LineAction:
        h, drag = numbers["h"], numbers["c"] * line.rate
        left = 1.0 + (line.length - numbers["l0"]) / h
        work = numbers["F0"] * h
        if "n" in numbers:
            n = numbers["n"]
            push = numbers["F0"] * exp(-n * log(left))
            stored = (push * left * h - work) / (n - 1.0)
        else:
            push = numbers["F0"] / left
            stored = -work * log(left)
        return LineAction(push - drag, [], stored, drag * line.rate)

    def at_rest(self, length: float) -> AtRest:
        left = 1.0 + (length - self.length) / self.column
        push = self.force * left**-self.exponent
        return AtRest(push, -self.exponent * push / (left * self.column), self.damping)

    def range(self) -> tuple[float, float]:
        return self.length - self.column, float("inf")
