"""Hydraulic cylinders: two chambers of oil, a valve, friction, leakage, cushions and stops at the ends of the stroke.

    p_A' = K/V_A (Q_A - A_A s' - leak),   p_B' = K/V_B (Q_B + A_B s' + leak - drain)
    push = p_A A_A - p_B A_B - friction

s is the stroke that is out, V_A = V_A0 + A_A s and V_B = V_B0 + A_B (S - s).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import pi
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import InitErrorDetails

from pliant.laws import LawState
from pliant.model.actuators.line import AtRest, CommandWord, LineAction, LineKind, LineMotion, SupplyAt
from pliant.model.actuators.oil import Oil
from pliant.model.actuators.valve import PRESSURES, Pressure, Valve, Volume, openings, rooted, spool_rate
from pliant.model.element import Element, at, of_value, refuse, sequence
from pliant.model.units import NON_NEGATIVE, POSITIVE, PositiveLength, Quantity, Ratio
from pliant.spatial.scalars import Scalar, clip, ramp, tanh
from pliant.spatial.vectors import Vector

NonNegativeForce = Annotated[float, Quantity("N", NON_NEGATIVE)]
Conductance = Annotated[float, Quantity("m^3/(s Pa)", NON_NEGATIVE)]


class CylinderFriction(Element):
    """Friction of the seals: viscous s' + (coulomb + (static - coulomb)/(1 + (s'/stribeck)^2)) tanh(s'/smoothing)."""

    viscous: Annotated[float, Quantity("N s/m", NON_NEGATIVE)] = Field(default=0.0, description="force per rate")
    coulomb: NonNegativeForce = Field(default=0.0, description="dry friction in motion")
    static: NonNegativeForce | None = Field(default=None, description="dry friction at rest; default: that in motion")
    stribeck: Annotated[float, Quantity("m/s", POSITIVE)] = Field(
        default=0.02, description="rate at which half of the difference is left"
    )
    smoothing: Annotated[float, Quantity("m/s", POSITIVE)] = Field(
        default=0.002, description="rate up to which dry friction grows"
    )

    @model_validator(mode="after")
    def _more_at_rest(self) -> Self:
        if self.static is not None and self.static < self.coulomb:
            message = f"is {self.static:g} N; friction at rest is not less than in motion, {self.coulomb:g} N"
            refuse([of_value("static", message=message)])
        return self

    def numbers(self) -> dict[str, float]:
        """All numbers of its text by name."""
        out = {"viscous": self.viscous}
        if self.coulomb or self.static:
            out |= {"coulomb": self.coulomb, "smoothing": self.smoothing}
        if self.static is not None and self.static > self.coulomb:
            out |= {"stick": self.static - self.coulomb, "stribeck": self.stribeck}
        return out


class Cushion(Element):
    """Both ends of the stroke are cushioned: over the last part of it the oil that leaves is throttled."""

    length: PositiveLength = Field(description="part of the stroke at each end")
    least: Annotated[float, Quantity("", POSITIVE, below=1.0)] = Field(
        default=0.02, description="part of the outflow that is left at the end"
    )


class CylinderStops(Element):
    """Elastic ends of the stroke, k d (1 + loss d') at the depth d (Hunt & Crossley), which never pull."""

    stiffness: Annotated[float, Quantity("N/m", POSITIVE)] = Field(default=1e8, description="of each end")
    loss: Annotated[float, Quantity("s/m", NON_NEGATIVE)] = Field(default=0.5, description="damping of each end")


class HydraulicCylinder(LineKind):
    """A hydraulic cylinder; without a valve both chambers are shut."""

    key: ClassVar[str] = "cylinder"
    command: ClassVar[CommandWord] = CommandWord("", "opening of its valve, -1 to 1")
    kinks: ClassVar[tuple[str, ...]] = ("valves",)
    bore: PositiveLength = Field(description="diameter of the piston")
    rod: PositiveLength = Field(description="diameter of the rod, in the chamber B")
    retracted: PositiveLength = Field(description="length between its ends where no stroke is out")
    stroke: PositiveLength = Field(description="largest stroke")
    dead: Annotated[tuple[Volume, Volume], BeforeValidator(sequence(2, of="volumes"))] = Field(
        description="oil behind the strokes: of A retracted, of B extended, with lines"
    )
    bulk: Annotated[float, Quantity("Pa", POSITIVE)] = Field(default=1.2e9, description="bulk modulus of the oil")
    air: Ratio = Field(default=0.0, description="volume fraction of air in the oil at the pressure of the surroundings")
    leak: Conductance = Field(default=0.0, description="leakage from A to B")
    drain: Conductance = Field(default=0.0, description="leakage from B to the tank")
    friction: CylinderFriction = Field(default_factory=lambda: CylinderFriction(), description="of its seals")
    cushion: Cushion | None = Field(default=None, description="cushions at the ends of the stroke")
    stops: CylinderStops = Field(default_factory=lambda: CylinderStops(), description="ends of the stroke")
    pressures: Annotated[tuple[Pressure, Pressure], BeforeValidator(sequence(2, of="pressures"))] | None = Field(
        default=None, description="pressures of A and B at the start; default: that of the tank"
    )
    valve: Valve | None = Field(default=None, description="what feeds it; default: both chambers are shut")

    def problems(self) -> Iterator[InitErrorDetails]:
        if self.rod >= self.bore:
            yield of_value("rod", message=f"is {self.rod:g} m; it must be thinner than the bore of {self.bore:g} m")
        if self.cushion is not None and 2 * self.cushion.length > self.stroke:
            half = f"half of the stroke of {self.stroke:g} m"
            yield of_value("cushion", "length", message=f"is {self.cushion.length:g} m, more than {half}")
        if self.valve is not None and self.valve.rate is not None and self.valve.lag is None:
            yield at("valve", "rate", message="a spool that follows its command at once has no rate; give lag too")
        if self.drain and self.valve is None:
            yield at("drain", message="there is no tank without a valve; leave it out")

    @property
    def areas(self) -> tuple[float, float]:
        """Areas of the piston towards A and B, m^2."""
        return pi / 4 * self.bore**2, pi / 4 * (self.bore**2 - self.rod**2)

    @property
    def tank(self) -> float:
        """Pressure of the tank, Pa."""
        return 0.0 if self.valve is None else self.valve.tank

    def volumes(self, length: float) -> tuple[float, float]:
        """Volumes of the chambers A and B at a length, m^3."""
        (area_A, area_B), s = self.areas, length - self.retracted
        return self.dead[0] + area_A * s, self.dead[1] + area_B * (self.stroke - s)

    def numbers(self) -> dict[str, float]:
        area_A, area_B = self.areas
        out = {
            "A_A": area_A, "A_B": area_B, "l0": self.retracted, "S": self.stroke, "V_A0": self.dead[0],
            "V_B0": self.dead[1], "stop_k": self.stops.stiffness, "stop_loss": self.stops.loss,
            **Oil(self.bulk, self.air).numbers(), **self.friction.numbers(),
        }  # fmt: skip
        if self.leak:
            out["leak"] = self.leak
        if self.drain:
            out["drain"] = self.drain
        if self.cushion is not None:
            out |= {"cushion": self.cushion.length, "least": self.cushion.least}
        return out | ({} if self.valve is None else self.valve.numbers())

    def states(self) -> tuple[LawState, ...]:
        first, second = (self.tank, self.tank) if self.pressures is None else self.pressures
        chambers = (LawState("pA", "Pa", first, PRESSURES), LawState("pB", "Pa", second, PRESSURES))
        if self.valve is None:
            return chambers
        lines = tuple(s._replace(initial=first) if s.name == "pL" else s for s in self.valve.states())
        return (*chambers, *lines)

    def act(
        self,
        line: LineMotion,
        z: Vector,
        command: Scalar,
        numbers: Mapping[str, Scalar],
        supply: SupplyAt | None = None,
    ) -> LineAction:
        n = numbers
        s, rate = line.length - n["l0"], line.rate
        p_A, p_B, *rest = z
        V_A, V_B = n["V_A0"] + n["A_A"] * s, n["V_B0"] + n["A_B"] * (n["S"] - s)
        (K_A, e_A), (K_B, e_B) = Oil.at(p_A, n), Oil.at(p_B, n)
        # energy that oil brings along, per volume
        w_A, w_B = p_A + e_A, p_B + e_B
        drag = friction(rate, n)
        stop, held, taken = _stops(s, rate, n)
        flow_A: Scalar = 0.0
        flow_B: Scalar = 0.0
        stored, lost = V_A * e_A + V_B * e_B + held, drag * rate + taken
        supplied: Scalar = 0.0
        drawn: Scalar = 0.0
        rates: Vector = []
        if "leak" in n:
            leak = n["leak"] * (p_A - p_B)
            flow_A, flow_B, lost = flow_A - leak, flow_B + leak, lost + leak * (w_A - w_B)
        if "k" in n:
            w_T = n["tank"] + Oil.at(n["tank"], n)[1]
            if "drain" in n:
                drain = n["drain"] * (p_B - n["tank"])
                flow_B, lost, supplied = flow_B - drain, lost + drain * (w_B - w_T), supplied - drain * w_T
            p_S, w_S = (n["supply"], n["supply"] + Oil.at(n["supply"], n)[1]) if supply is None else supply
            u = command
            if "lag" in n:
                u, rest = rest[0], rest[1:]
                rates.append(spool_rate(u, command, n["lag"], n.get("spool_rate")))
            to_A, to_B = openings(u, n.get("overlap", 0.0))
            out_A, out_B = _throttled(s, n)
            # beyond a counterbalance valve the proportional valve sees the line
            counter = "V_L" in n
            p_1, w_1 = (rest[0], rest[0] + Oil.at(rest[0], n)[1]) if counter else (p_A, w_A)
            in_1 = n["k"] * to_A * rooted(p_S - p_1, n["eps"])
            back_1 = n["k"] * to_B * rooted(p_1 - n["tank"], n["eps"]) * (1.0 if counter else out_A)
            in_B = n["k"] * to_B * rooted(p_S - p_B, n["eps"])
            back_B = n["k"] * to_A * rooted(p_B - n["tank"], n["eps"]) * out_B
            drawn, returned = in_1 + in_B, back_1 + back_B
            lost = lost + in_1 * (w_S - w_1) + in_B * (w_S - w_B) + back_1 * (w_1 - w_T) + back_B * (w_B - w_T)
            # a shared supply tells what its pump gives
            supplied = supplied - returned * w_T + (drawn * w_S if supply is None else 0.0)
            flow_B = flow_B + in_B - back_B
            if counter:
                opened = clip((p_A + n["ratio"] * p_B - n["crack"]) / n["span"], 0.0, 1.0)
                through = n["k_check"] * rooted(ramp(p_1 - p_A), n["eps"])
                through = through - n["k_out"] * opened * out_A * rooted(ramp(p_A - p_1), n["eps"])
                K_1, e_1 = Oil.at(p_1, n)
                rates.append(K_1 / n["V_L"] * (in_1 - back_1 - through))
                stored, lost = stored + n["V_L"] * e_1, lost + through * (w_1 - w_A)
                flow_A = flow_A + through
            else:
                flow_A = flow_A + in_1 - back_1
        p_rates = [K_A / V_A * (flow_A - n["A_A"] * rate), K_B / V_B * (flow_B + n["A_B"] * rate)]
        push = p_A * n["A_A"] - p_B * n["A_B"] - drag + stop
        return LineAction(push, [*p_rates, *rates], stored, lost, supplied, drawn)

    def at_rest(self, length: float) -> None:
        return None

    def spring_of(self, length: float) -> AtRest:
        """The oil of both chambers where no valve is open: its stiffness at constant oil."""
        (area_A, area_B), (V_A, V_B) = self.areas, self.volumes(length)
        return AtRest(0.0, -self.bulk * (area_A**2 / V_A + area_B**2 / V_B), self.friction.viscous)

    @property
    def fastest(self) -> float:
        n = self.numbers()
        # the slope of the flow where both sides of a check valve have one pressure
        return n["K"] * n["k_check"] / (n["V_L"] * n["eps"] ** 0.5) if "V_L" in n else 0.0

    def range(self) -> tuple[float, float]:
        return self.retracted, self.retracted + self.stroke


def friction(rate: Scalar, n: Mapping[str, Scalar]) -> Scalar:
    """Force of the seals against the rate."""
    drag = n["viscous"] * rate
    if "coulomb" not in n:
        return drag
    dry = n["coulomb"]
    if "stick" in n:
        x = rate / n["stribeck"]
        dry = dry + n["stick"] / (1.0 + x * x)
    return drag + dry * tanh(rate / n["smoothing"])


def _throttled(s: Scalar, n: Mapping[str, Scalar]) -> tuple[Scalar, Scalar]:
    """Parts of the outflows of A and B that cushions leave."""
    if "cushion" not in n:
        return 1.0, 1.0
    least = n["least"]
    out_A, out_B = (least + (1.0 - least) * clip(x / n["cushion"], 0.0, 1.0) for x in (s, n["S"] - s))
    return out_A, out_B


def _stops(s: Scalar, rate: Scalar, n: Mapping[str, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    """Push of the ends of the stroke, energy that they hold, power that they take."""
    k, loss = n["stop_k"], n["stop_loss"]
    inner, outer = ramp(-s), ramp(s - n["S"])
    push = ramp(k * inner * (1.0 - loss * rate)) - ramp(k * outer * (1.0 + loss * rate))
    spring = k * (inner - outer)
    return push, 0.5 * k * (inner * inner + outer * outer), (spring - push) * rate
