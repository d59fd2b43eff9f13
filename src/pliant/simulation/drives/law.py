"""A drive in a form that can be compiled: a function of time minus linear feedback, computed torque, or a motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.engine.structure import from_slots, split_tree
from pliant.formulations.passes import INVERSE
from pliant.simulation.drives.controllers import ActiveComputedTorque
from pliant.spatial.vectors import Vector, dot

if TYPE_CHECKING:
    from pliant.simulation.equations import Equations
    from pliant.simulation.mechanism import Mechanism

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


@dataclass(frozen=True, slots=True)
class ComputedTorqueLaw:
    """tau = ID_r(q, v, a_d + kd (v_d - v) + kp (q_d - q)): the inverse dynamics of the rigid twin, traced.

    The twin's constants and gravity follow the gains, so that robots of one structure share the code.
    """

    B: Floats
    kp: Floats
    kd: Floats
    model: Mechanism
    motion: Callable[[Floats], Floats]
    driven: tuple[int, ...] = ()

    @property
    def channels(self) -> int:
        return 3 * int(self.B.shape[1])

    @property
    def gains(self) -> tuple[float, ...]:
        tree = self.model.twin.tree
        constants = (x for split in split_tree(tree) for x in split.values)
        return (*self.kp.tolist(), *self.kd.tolist(), *tree.gravity.tolist(), *constants)

    def signals(self, t: Floats) -> Floats:
        """Desired positions, rates and accelerations at several times (times, 3 inputs)."""
        return self.motion(t)

    def force(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Generalised forces (n,)."""
        m = len(self.kp)
        tree = self.model.twin.tree
        columns = [[float(x) for x in column] for column in self.B.T]
        state: dict[str, Vector] = {"q": self.model.q.tolist(), "v": [0.0] * tree.size, "a": [0.0] * tree.size}
        for k, i in enumerate(self.model.driven):
            measured, rate = dot(columns[k], q), dot(columns[k], v)
            feedback = gains[m + k] * (r[m + k] - rate) + gains[k] * (r[k] - measured)
            state["q"][i], state["v"][i], state["a"][i] = measured, rate, r[2 * m + k] + feedback
        gravity = [gains[2 * m + k] if g else 0.0 for k, g in enumerate(tree.gravity.tolist())]
        constants, start = [], 2 * m + 3
        for split in split_tree(tree):
            constants.append(from_slots(split.pattern, gains[start : start + len(split.values)].__getitem__))
            start += len(split.values)
        tau = INVERSE.evaluate(tree, state, constants, gravity)
        out: Vector = [0.0] * len(q)
        for column, i in zip(columns, self.model.driven, strict=True):
            out = [f + b * tau[i] if b else f for f, b in zip(out, column, strict=True)]
        return out


AnyLaw = CompiledLaw | ComputedTorqueLaw | PrescribedLaw


def compiled_law(equations: Equations) -> AnyLaw | None:
    """The law of a drive that needs no Python during a step; None for all others."""
    drive, arm, path = equations.drive, equations.arm, equations.path

    def motion(t: Floats) -> Floats:
        assert path is not None
        return np.hstack(path.many(equations.clocks(t)))

    if isinstance(drive, ActiveComputedTorque) and drive.model.loops is None:
        return ComputedTorqueLaw(arm.B, drive.kp, drive.kd, drive.model, motion)
    if equations.constrained is not None:
        return PrescribedLaw(tuple(int(k) for k in equations.constrained.driven), motion)
    gains = drive.linear_gains(len(arm.inputs))
    if gains is None or drive.states:
        return None

    def efforts(t: Floats) -> Floats:
        rest = np.zeros((len(t), arm.size))
        return drive.efforts(equations.clocks(t), rest, rest, rest[:, :0])

    return CompiledLaw(arm.B, *gains, efforts)
