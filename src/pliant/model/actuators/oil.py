"""Oil under pressure: its bulk modulus, with the air in it, and the energy that compressed oil holds.

A chamber of volume V with inflow Q obeys V p' = K(p) (Q - V'). Energy e per volume of oil at the pressure p obeys
K e' = e + p: then V e + what the piston takes grows by Q (p + e), and the balance of a run closes exactly. With a
constant K it is K (exp(p/K) - 1) - p, about p^2/(2 K). Air of the volume fraction a at p = 0 is compressed slowly: the
specific volume is exp(-p/K) + a p0/(p + p0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pliant.spatial.scalars import Scalar, exp, log

ATMOSPHERE = 101325.0
"""Pressure of the surroundings, Pa; pressures of chambers are above it."""
SERIES = 12
"""Powers of p/K that are kept: rounding is left up to pressures of a third of the bulk modulus."""


@dataclass(frozen=True, slots=True)
class Oil:
    """Oil with a bulk modulus, Pa, and a volume fraction of air that is not dissolved in it at no pressure."""

    bulk: float
    air: float = 0.0

    def numbers(self) -> dict[str, float]:
        """Its numbers by name; without air there is no number for it."""
        return {"K": self.bulk, **({"air": self.air} if self.air else {})}

    @staticmethod
    def at(p: Scalar, numbers: Mapping[str, Scalar]) -> tuple[Scalar, Scalar]:
        """Bulk modulus, Pa, and energy per volume, J/m^3, at a pressure."""
        K = numbers["K"]
        x = p / K
        if "air" not in numbers:
            # exp(x) - 1 - x without cancellation
            total: Scalar = 0.0
            for k in range(SERIES, 1, -1):
                total = (1.0 + total) * (x / k)
            return K, K * x * total
        a, absolute = numbers["air"] * ATMOSPHERE, p + ATMOSPHERE
        oil, gas = exp(-x), a / absolute
        volume = oil + gas
        work = K - (p + K) * oil + a * log(absolute / ATMOSPHERE) - gas * p
        return volume / (oil / K + gas / absolute), work / volume
