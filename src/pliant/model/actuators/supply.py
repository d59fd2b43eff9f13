"""A pump that feeds the valves of several cylinders through one volume of oil."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from pliant.model.actuators.line import SupplyAt
from pliant.model.actuators.oil import Oil
from pliant.model.element import Element, Name
from pliant.model.units import POSITIVE, Quantity
from pliant.spatial.scalars import Scalar, clip

DROOP = 0.05
"""Part of its pressure by which a pump falls short where it gives all of its flow, unless that is said."""


class Supply(Element):
    """A pump with pressure control: it gives flow in proportion to the pressure that is missing, up to its largest."""

    name: Name = Field(description="name of the supply")
    pressure: Annotated[float, Quantity("Pa", POSITIVE)] = Field(description="pressure that it keeps without flow")
    flow: Annotated[float, Quantity("m^3/s", POSITIVE)] = Field(description="largest flow")
    volume: Annotated[float, Quantity("m^3", POSITIVE)] = Field(description="oil between pump and valves")
    droop: Annotated[float, Quantity("Pa", POSITIVE)] | None = Field(
        default=None, description="pressure missing at which it gives its largest flow; default: 5 % of its pressure"
    )
    bulk: Annotated[float, Quantity("Pa", POSITIVE)] = Field(default=1.2e9, description="bulk modulus of that oil")
    feeds: tuple[str, ...] = Field(description="names of the cylinders that it feeds")

    @property
    def oil(self) -> Oil:
        """Its oil."""
        return Oil(self.bulk)

    def numbers(self) -> dict[str, float]:
        """All numbers of its text by name."""
        droop = DROOP * self.pressure if self.droop is None else self.droop
        own = {"pset": self.pressure, "Qmax": self.flow, "V": self.volume, "gain": self.flow / droop}
        return own | self.oil.numbers()

    def rest(self) -> float:
        """Pressure without flow, Pa."""
        return self.pressure

    def at(self, p: Scalar, numbers: Mapping[str, Scalar]) -> SupplyAt:
        """What its valves see."""
        return SupplyAt(p, p + Oil.at(p, numbers)[1])

    def act(self, p: Scalar, drawn: Scalar, numbers: Mapping[str, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Rate of its pressure, energy that it holds, J, and power that the pump gives to the oil, W."""
        missing = numbers["pset"] - p
        given = clip(numbers["gain"] * missing, 0.0, numbers["Qmax"])
        bulk, energy = Oil.at(p, numbers)
        # the drawn oil takes its energy along, which the valves lose or hand on
        return bulk / numbers["V"] * (given - drawn), numbers["V"] * energy, given * (p + energy)
