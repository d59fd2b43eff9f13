"""Proportional valves with square-root flow, and counterbalance valves.

The flow through an edge is k u s(dp) with s(x) = x/(x^2 + e^2)^(1/4): the square root of the pressure drop, which is
linear below the smoothing pressure e, so that its slope is finite where the drop changes its sign.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pliant.laws import LawState
from pliant.model.element import Element
from pliant.model.units import NON_NEGATIVE, POSITIVE, Quantity, Ratio
from pliant.spatial.scalars import Scalar, clip, ramp, sqrt

PositiveFlow = Annotated[float, Quantity("m^3/s", POSITIVE)]
PositivePressure = Annotated[float, Quantity("Pa", POSITIVE)]
Pressure = Annotated[float, Quantity("Pa", NON_NEGATIVE)]
PositiveTime = Annotated[float, Quantity("s", POSITIVE)]
Volume = Annotated[float, Quantity("m^3", POSITIVE)]
PRESSURES = 1e5
"""Scale of the absolute error of pressures, Pa: that of a study is meant for angles and metres."""


class Counterbalance(Element):
    """A valve that lets oil into the chamber A freely, and out of it only where both pressures together open it.

    It opens by (p_A + ratio p_B - crack)/span, between 0 and 1. Oil between it and the proportional valve is a state.
    """

    ratio: Annotated[float, Quantity("", NON_NEGATIVE)] = Field(
        default=3.0, description="pilot ratio: how p_B opens it"
    )
    crack: PositivePressure = Field(description="pressure at which it begins to open")
    span: PositivePressure = Field(description="pressure beyond that at which it is open")
    flow: PositiveFlow = Field(description="flow out of the chamber through the open valve at the given drop")
    check: PositiveFlow = Field(description="flow into the chamber at the given drop")
    drop: PositivePressure = Field(default=35e5, description="pressure drop of both flows")
    line: Volume = Field(description="oil between it and the proportional valve")

    def numbers(self) -> dict[str, float]:
        """All numbers of its text by name."""
        root = self.drop**0.5
        return {
            "ratio": self.ratio,
            "crack": self.crack,
            "span": self.span,
            "k_out": self.flow / root,
            "k_check": self.check / root,
            "V_L": self.line,
        }


class Valve(Element):
    """A 4/3 proportional valve: an opening u > 0 joins supply and A, B and tank; u < 0 the other way round."""

    flow: PositiveFlow = Field(description="flow through an edge that is fully open (u = 1) at the given drop")
    drop: PositivePressure = Field(default=35e5, description="pressure drop over one edge at that flow")
    supply: PositivePressure | None = Field(
        default=None, description="supply pressure that nothing changes; without it one of the supplies feeds the valve"
    )
    tank: Pressure = Field(default=0.0, description="pressure of the tank")
    lag: PositiveTime | None = Field(
        default=None, description="time constant of the spool; default: it follows at once"
    )
    rate: Annotated[float, Quantity("1/s", POSITIVE)] | None = Field(
        default=None, description="largest rate of the spool's opening; with lag"
    )
    overlap: Ratio = Field(default=0.0, description="opening up to which the edges are shut")
    smoothing: PositivePressure = Field(default=1e5, description="pressure drop below which the flow is linear in it")
    counterbalance: Counterbalance | None = Field(default=None, description="a counterbalance valve at the chamber A")

    def numbers(self) -> dict[str, float]:
        """All numbers of its text by name."""
        own = {"supply": self.supply, "lag": self.lag, "spool_rate": self.rate, "overlap": self.overlap or None}
        given = {name: x for name, x in own.items() if x is not None}
        more = {} if self.counterbalance is None else self.counterbalance.numbers()
        return {"k": self.flow / self.drop**0.5, "tank": self.tank, "eps": self.smoothing, **given, **more}

    def states(self) -> tuple[LawState, ...]:
        """The opening of the spool, if it lags, and the pressure of the line before a counterbalance valve."""
        spool = () if self.lag is None else (LawState("u"),)
        line = () if self.counterbalance is None else (LawState("pL", "Pa", self.tank, PRESSURES),)
        return (*spool, *line)


def rooted(x: Scalar, eps: Scalar) -> Scalar:
    """The square root of a pressure drop with its sign, linear below eps."""
    return x / sqrt(sqrt(x * x + eps * eps))


def openings(u: Scalar, overlap: Scalar) -> tuple[Scalar, Scalar]:
    """How far the edges towards A and towards B are open, 0 to 1 - overlap."""
    return ramp(u - overlap), ramp(-u - overlap)


def spool_rate(u: Scalar, command: Scalar, lag: Scalar, most: Scalar | None) -> Scalar:
    """Rate of the spool's opening."""
    rate = (command - u) / lag
    return rate if most is None else clip(rate, -most, most)
