"""A drive in a form that can be compiled: efforts that are a function of time minus linear feedback of the joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.spatial.vectors import Vector, dot

if TYPE_CHECKING:
    from pliant.simulation.equations import Equations

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CompiledLaw:
    """tau = efforts(t) - kp B^T q - kd B^T v, as signals of time and a law of traced scalars."""

    B: Floats
    kp: Floats
    kd: Floats
    efforts: Callable[[float], Floats]

    @property
    def channels(self) -> int:
        return int(self.B.shape[1])

    @property
    def gains(self) -> tuple[float, ...]:
        return (*map(float, self.kp), *map(float, self.kd))

    def signals(self, t: Floats) -> Floats:
        """Efforts of the undeflected, resting robot at several times (times, inputs)."""
        return np.array([self.efforts(float(x)) for x in t])

    def force(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Generalised forces (n,)."""
        m = self.channels
        out: Vector = [0.0] * len(q)
        for k in range(m):
            column = [float(x) for x in self.B[:, k]]
            tau = r[k]
            if self.kp[k]:
                tau = tau - gains[k] * dot(column, q)
            if self.kd[k]:
                tau = tau - gains[m + k] * dot(column, v)
            out = [f + b * tau if b else f for f, b in zip(out, column, strict=True)]
        return out


def compiled_law(equations: Equations) -> CompiledLaw | None:
    """The law of a drive that needs no Python during a step; None for all others."""
    drive, arm = equations.drive, equations.arm
    gains = drive.linear_gains(len(arm.inputs))
    if gains is None or drive.states:
        return None
    rest, nothing = np.zeros(arm.size), np.zeros(0)

    def efforts(t: float) -> Floats:
        return np.asarray(drive.act(equations.clock(t), rest, rest, nothing).tau, dtype=float)

    return CompiledLaw(arm.B, *gains, efforts)
