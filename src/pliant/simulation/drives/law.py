"""A drive in a form that can be compiled: efforts that are a function of time minus linear feedback, or a motion."""

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
    efforts: Callable[[Floats], Floats]
    driven: tuple[int, ...] = ()

    @property
    def channels(self) -> int:
        return int(self.B.shape[1])

    @property
    def gains(self) -> tuple[float, ...]:
        return (*map(float, self.kp), *map(float, self.kd))

    def signals(self, t: Floats) -> Floats:
        """Efforts of the undeflected, resting robot at several times (times, inputs)."""
        return self.efforts(t)

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


@dataclass(frozen=True, slots=True)
class PrescribedLaw:
    """Coordinates that follow a path: positions, rates, accelerations as signals, the last in the place of forces."""

    driven: tuple[int, ...]
    motion: Callable[[Floats], Floats]
    gains: tuple[float, ...] = ()

    @property
    def channels(self) -> int:
        return 3 * len(self.driven)

    def signals(self, t: Floats) -> Floats:
        """Positions, rates and accelerations at several times (times, 3 driven)."""
        return self.motion(t)

    def force(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Accelerations of the driven coordinates (n,)."""
        out: Vector = [0.0] * len(q)
        for k, i in enumerate(self.driven):
            out[i] = r[2 * len(self.driven) + k]
        return out


AnyLaw = CompiledLaw | PrescribedLaw


def compiled_law(equations: Equations) -> AnyLaw | None:
    """The law of a drive that needs no Python during a step; None for all others."""
    drive, arm = equations.drive, equations.arm
    if equations.constrained is not None:
        path = equations.path
        assert path is not None

        def motion(t: Floats) -> Floats:
            return np.hstack(path.many(equations.clocks(t)))

        return PrescribedLaw(tuple(int(k) for k in equations.constrained.driven), motion)
    gains = drive.linear_gains(len(arm.inputs))
    if gains is None or drive.states:
        return None

    def efforts(t: Floats) -> Floats:
        rest = np.zeros((len(t), arm.size))
        return drive.efforts(equations.clocks(t), rest, rest, rest[:, :0])

    return CompiledLaw(arm.B, *gains, efforts)
