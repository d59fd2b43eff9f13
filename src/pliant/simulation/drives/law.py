"""A drive in a form that can be compiled: feedback on signals of time, computed torque, or a motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.engine.trace.structure import from_slots, split_tree
from pliant.formulations.method import Traced
from pliant.simulation.drives.controllers import ActiveComputedTorque, ActivePID
from pliant.spatial.vectors import Vector, dot

if TYPE_CHECKING:
    from pliant.simulation.driven_twin import DrivenTwin
    from pliant.simulation.state_equations import StateEquations

Floats = NDArray[np.float64]


def applied(B: Floats, tau: Vector) -> Vector:
    """Generalised forces (n,) of efforts of the inputs."""
    out: Vector = [0.0] * len(B)
    for column, effort in zip(B.T.tolist(), tau, strict=True):
        out = [f + b * effort if b else f for f, b in zip(out, column, strict=True)]
    return out


@dataclass(frozen=True, slots=True)
class TracedTwin:
    """The inverse dynamics of the rigid twin of a tree, traced.

    The twin's gravity and constants are among the gains, so that robots of one structure share the code.
    """

    model: DrivenTwin

    @property
    def traced(self) -> Traced:
        """The twin's inverse dynamics."""
        return self.model.twin.traced("inverse")

    @property
    def numbers(self) -> tuple[float, ...]:
        tree = self.traced.carrier
        return (*tree.gravity.tolist(), *(x for split in split_tree(tree) for x in split.values))

    def efforts(self, q: Vector, v: Vector, a: Vector, numbers: Vector) -> Vector:
        """Of the inputs, for their positions, rates and accelerations."""
        return self._inverse(q, v, a, numbers, weight=True)

    def gravity(self, q: Vector, numbers: Vector) -> Vector:
        """Efforts of the inputs that hold the twin against gravity."""
        rest: Vector = [0.0] * len(q)
        whole, springs = (self._inverse(q, rest, rest, numbers, weight=weight) for weight in (True, False))
        return [x - y for x, y in zip(whole, springs, strict=True)]

    def _inverse(self, q: Vector, v: Vector, a: Vector, numbers: Vector, *, weight: bool) -> Vector:
        (algorithm, tree), driven = self.traced, self.model.driven
        state: dict[str, Vector] = {"q": self.model.q.tolist(), "v": [0.0] * tree.size, "a": [0.0] * tree.size}
        for name, values in zip("qva", (q, v, a), strict=True):
            for i, value in zip(driven, values, strict=True):
                state[name][i] = value
        gravity = [numbers[k] if g and weight else 0.0 for k, g in enumerate(tree.gravity.tolist())]
        constants, start = [], 3
        for split in split_tree(tree):
            constants.append(from_slots(split.pattern, numbers[start : start + len(split.values)].__getitem__))
            start += len(split.values)
        tau = algorithm.evaluate(tree, state, constants, gravity)
        return [tau[i] for i in driven]


@dataclass(frozen=True, slots=True)
class FeedbackLaw:
    """tau = efforts(t) - kp B^T q - kd B^T v + ki x + g(B^T q), with x' = reference(t) - B^T q.

    efforts    of the undeflected, resting robot at several times (times, inputs)
    reference  desired positions, if there is an integral
    weight     the rigid twin whose gravity g is compensated
    """

    B: Floats
    kp: Floats
    kd: Floats
    efforts: Callable[[Floats], Floats]
    ki: Floats | None = None
    reference: Callable[[Floats], Floats] | None = None
    weight: TracedTwin | None = None
    driven: tuple[int, ...] = ()

    @property
    def states(self) -> int:
        return 0 if self.ki is None else len(self.ki)

    @property
    def channels(self) -> int:
        return len(self.kp) + self.states

    @property
    def gains(self) -> tuple[float, ...]:
        own = (*self.kp.tolist(), *self.kd.tolist(), *(() if self.ki is None else self.ki.tolist()))
        return own if self.weight is None else (*own, *self.weight.numbers)

    def signals(self, t: Floats) -> Floats:
        """Efforts and desired positions at several times (times, channels)."""
        return self.efforts(t) if self.reference is None else np.hstack([self.efforts(t), self.reference(t)])

    def force(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Generalised forces (n,) and rates of the integrals; r are signals, then integrals."""
        m, tau = len(self.kp), list(r[: len(self.kp)])
        columns: list[Vector] = self.B.T.tolist()
        measured = [dot(column, q) for column in columns]
        for k, column in enumerate(columns):
            if self.kp[k]:
                tau[k] = tau[k] - gains[k] * measured[k]
            if self.kd[k]:
                tau[k] = tau[k] - gains[m + k] * dot(column, v)
            if self.ki is not None and self.ki[k]:
                tau[k] = tau[k] + gains[2 * m + k] * r[2 * m + k]
        if self.weight is not None:
            weight = self.weight.gravity(measured, gains[2 * m + self.states :])
            tau = [x + y for x, y in zip(tau, weight, strict=True)]
        rates = [r[m + k] - measured[k] for k in range(self.states)]
        return [*applied(self.B, tau), *rates]


@dataclass(frozen=True, slots=True)
class PrescribedLaw:
    """Coordinates that follow a path: positions, rates, accelerations as signals, the last in the place of forces."""

    driven: tuple[int, ...]
    motion: Callable[[Floats], Floats]
    gains: tuple[float, ...] = ()
    states: int = 0

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
    """tau = ID_r(q, v, a_d + kd (v_d - v) + kp (q_d - q)): the inverse dynamics of the rigid twin, traced."""

    B: Floats
    kp: Floats
    kd: Floats
    twin: TracedTwin
    motion: Callable[[Floats], Floats]
    states: int = 0
    driven: tuple[int, ...] = ()

    @property
    def channels(self) -> int:
        return 3 * len(self.kp)

    @property
    def gains(self) -> tuple[float, ...]:
        return (*self.kp.tolist(), *self.kd.tolist(), *self.twin.numbers)

    def signals(self, t: Floats) -> Floats:
        """Desired positions, rates and accelerations at several times (times, 3 inputs)."""
        return self.motion(t)

    def force(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Generalised forces (n,)."""
        m = len(self.kp)
        columns: list[Vector] = self.B.T.tolist()
        measured, rate = [dot(column, q) for column in columns], [dot(column, v) for column in columns]
        a = [r[2 * m + k] + gains[m + k] * (r[m + k] - rate[k]) + gains[k] * (r[k] - measured[k]) for k in range(m)]
        return applied(self.B, self.twin.efforts(measured, rate, a, gains[2 * m :]))


AnyLaw = ComputedTorqueLaw | FeedbackLaw | PrescribedLaw


def compiled_law(equations: StateEquations) -> AnyLaw | None:
    """The law of a drive that needs no Python during a step; None for all others."""
    drive, arm, path = equations.drive, equations.arm, equations.path

    def motion(t: Floats) -> Floats:
        assert path is not None
        return np.hstack(path.many(equations.clocks(t)))

    if isinstance(drive, ActiveComputedTorque) and not drive.model.is_closed:
        return ComputedTorqueLaw(arm.B, drive.kp, drive.kd, TracedTwin(drive.model), motion)
    if isinstance(drive, ActivePID):
        return _pid_law(equations, drive)
    if equations.constrained is not None:
        return PrescribedLaw(tuple(int(k) for k in equations.constrained.driven), motion)
    gains = drive.linear_gains(len(arm.inputs))
    if gains is None or drive.states:
        return None

    def efforts(t: Floats) -> Floats:
        rest = np.zeros((len(t), arm.size))
        return drive.efforts(equations.clocks(t), rest, rest, rest[:, :0])

    return FeedbackLaw(arm.B, *gains, efforts)


def _pid_law(equations: StateEquations, drive: ActivePID) -> FeedbackLaw | None:
    weight = drive.measured_weight
    if weight is not None and weight.is_closed:
        return None

    def efforts(t: Floats) -> Floats:
        return drive.pull(drive.path.many(equations.clocks(t)), 0.0, 0.0)

    def reference(t: Floats) -> Floats:
        return drive.path.many(equations.clocks(t)).q

    return FeedbackLaw(
        drive.B,
        drive.kp,
        drive.kd,
        efforts,
        drive.ki if drive.states else None,
        reference if drive.states else None,
        None if weight is None else TracedTwin(weight),
    )
