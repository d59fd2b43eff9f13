"""A drive in a form that can be compiled: feedback on signals of time, models, limits, or a motion."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.simulation.drives.controllers import ActiveComputedTorque, ActivePID
from pliant.simulation.drives.drive import ActiveDrive
from pliant.simulation.drives.feed_forward import ActiveElasticFeedForward
from pliant.simulation.drives.saturated import SaturatedDrive
from pliant.simulation.drives.traced_model import TracedModel, TracedTwin
from pliant.spatial.scalars import Scalar, ramp
from pliant.spatial.vectors import Vector, dot

if TYPE_CHECKING:
    from pliant.formulations.loops.loops import Rows
    from pliant.simulation.prescribed_dynamics import PrescribedDynamics
    from pliant.simulation.state_equations import StateEquations

Floats = NDArray[np.float64]
Signal = Callable[[Floats], Floats]


def applied(B: Floats, tau: Vector) -> Vector:
    """Generalised forces (n,) of efforts of the inputs."""
    out: Vector = [0.0] * len(B)
    for column, effort in zip(B.T.tolist(), tau, strict=True):
        out = [f + b * effort if b else f for f, b in zip(out, column, strict=True)]
    return out


def measured(B: Floats, x: Vector) -> Vector:
    """What the motors see of coordinates or rates (inputs,)."""
    columns: list[Vector] = B.T.tolist()
    return [dot(column, x) for column in columns]


def _numbers_in_code(array: Floats) -> Hashable:
    """An array whose numbers are written into the code."""
    return array.shape, array.tobytes()


class Efforts(NamedTuple):
    """Efforts of the inputs, and the rates of the law's own states."""

    tau: Vector
    rates: Vector


class EffortLaw(Protocol):
    """Efforts of the inputs as a function of state, signals of time and gains; r are signals, then own states."""

    @property
    def B(self) -> Floats: ...
    @property
    def gains(self) -> tuple[float, ...]: ...
    @property
    def channels(self) -> int: ...
    @property
    def states(self) -> int: ...
    @property
    def structure(self) -> Hashable:
        """What decides its code: all but signals and gains."""
        ...

    @property
    def may_refuse(self) -> bool:
        """Whether there are states in which only Python finds the efforts; they are no numbers there."""
        ...

    def signals(self, t: Floats) -> Floats: ...
    def efforts(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Efforts: ...


@dataclass(frozen=True, slots=True)
class DriveLaw:
    """Forces of a law of efforts, cut at limits (inputs,) where they are given."""

    inner: EffortLaw
    limits: Floats | None = None
    driven: tuple[int, ...] = ()

    @property
    def channels(self) -> int:
        return self.inner.channels

    @property
    def states(self) -> int:
        return self.inner.states

    @property
    def may_refuse(self) -> bool:
        return self.inner.may_refuse

    @property
    def structure(self) -> Hashable:
        limited = None if self.limits is None else np.isfinite(self.limits).tobytes()
        return limited, self.inner.structure

    @property
    def gains(self) -> tuple[float, ...]:
        return self.inner.gains if self.limits is None else (*self.limits.tolist(), *self.inner.gains)

    def signals(self, t: Floats) -> Floats:
        """What the law follows at several times (times, channels)."""
        return self.inner.signals(t)

    def force(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Generalised forces (n,) and rates of the law's states."""
        count = 0 if self.limits is None else len(self.limits)
        tau, rates = self.inner.efforts(q, v, r, gains[count:])
        if self.limits is not None:
            known = zip(tau, gains, np.isfinite(self.limits), strict=False)
            tau = [cut(x, limit) if is_limited else x for x, limit, is_limited in known]
        return [*applied(self.inner.B, tau), *rates]


def cut(x: Scalar, limit: Scalar) -> Scalar:
    """x between -limit and limit; exactly that beyond them."""
    return ramp(limit - ramp(limit - x) + limit) - limit


@dataclass(frozen=True, slots=True)
class FeedbackLaw:
    """tau = desired(t) - kp B^T q - kd B^T v + ki x + g(B^T q), with x' = reference(t) - B^T q.

    desired    efforts of the undeflected, resting robot at several times (times, inputs)
    reference  desired positions, if there is an integral
    weight     the rigid twin whose gravity g is compensated
    """

    B: Floats
    kp: Floats
    kd: Floats
    desired: Signal
    ki: Floats | None = None
    reference: Signal | None = None
    weight: TracedTwin | None = None

    @property
    def states(self) -> int:
        return 0 if self.ki is None else len(self.ki)

    @property
    def may_refuse(self) -> bool:
        return self.weight is not None and self.weight.may_refuse

    @property
    def structure(self) -> Hashable:
        gains = tuple(gain.astype(bool).tobytes() for gain in (self.kp, self.kd, self.ki) if gain is not None)
        return "feedback", _numbers_in_code(self.B), gains, None if self.weight is None else self.weight.structure

    @property
    def channels(self) -> int:
        return len(self.kp) + self.states

    @property
    def gains(self) -> tuple[float, ...]:
        own = (*self.kp.tolist(), *self.kd.tolist(), *(() if self.ki is None else self.ki.tolist()))
        return own if self.weight is None else (*own, *self.weight.numbers)

    def signals(self, t: Floats) -> Floats:
        """Efforts and desired positions at several times (times, channels)."""
        return self.desired(t) if self.reference is None else np.hstack([self.desired(t), self.reference(t)])

    def efforts(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Efforts:
        """Efforts and rates of the integrals; r are signals, then integrals."""
        m, tau = len(self.kp), list(r[: len(self.kp)])
        seen, rate = measured(self.B, q), measured(self.B, v)
        for k in range(m):
            if self.kp[k]:
                tau[k] = tau[k] - gains[k] * seen[k]
            if self.kd[k]:
                tau[k] = tau[k] - gains[m + k] * rate[k]
            if self.ki is not None and self.ki[k]:
                tau[k] = tau[k] + gains[2 * m + k] * r[2 * m + k]
        if self.weight is not None:
            weight = self.weight.gravity(q, seen, gains[2 * m + self.states :])
            tau = [x + y for x, y in zip(tau, weight, strict=True)]
        return Efforts(tau, [r[m + k] - seen[k] for k in range(self.states)])


@dataclass(frozen=True, slots=True)
class PrescribedLaw:
    """Coordinates that follow a path: positions, rates, accelerations as signals, the last in the place of forces."""

    driven: tuple[int, ...]
    motion: Signal
    gains: tuple[float, ...] = ()
    states: int = 0
    may_refuse: bool = False

    @property
    def structure(self) -> Hashable:
        return "prescribed", self.driven

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
    motion: Signal
    states: int = 0

    @property
    def may_refuse(self) -> bool:
        return self.twin.may_refuse

    @property
    def structure(self) -> Hashable:
        return "computed torque", _numbers_in_code(self.B), self.twin.structure

    @property
    def channels(self) -> int:
        return 3 * len(self.kp)

    @property
    def gains(self) -> tuple[float, ...]:
        return (*self.kp.tolist(), *self.kd.tolist(), *self.twin.numbers)

    def signals(self, t: Floats) -> Floats:
        """Desired positions, rates and accelerations at several times (times, 3 inputs)."""
        return self.motion(t)

    def efforts(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Efforts:
        m = len(self.kp)
        seen, rate = measured(self.B, q), measured(self.B, v)
        a = [r[2 * m + k] + gains[m + k] * (r[m + k] - rate[k]) + gains[k] * (r[k] - seen[k]) for k in range(m)]
        return Efforts(self.twin.efforts(q, seen, rate, a, gains[2 * m :]), [])


@dataclass(frozen=True, slots=True)
class ElasticLaw:
    """tau = ID(q_m, v_m, a_d) + kp B^T (q_m - q) + kd B^T (v_m - v) of a model whose joints move as desired.

    Its states are the free coordinates of the model and their rates.
    """

    B: Floats
    kp: Floats
    kd: Floats
    model: PrescribedDynamics
    motion: Signal
    rows: Rows | None = None

    @property
    def inverse(self) -> TracedModel:
        return TracedModel(self.model.loops.traced_forward(tuple(self.model.driven.tolist()), self.rows))

    @property
    def states(self) -> int:
        return 2 * len(self.model.free)

    @property
    def may_refuse(self) -> bool:
        return self.rows is not None

    @property
    def structure(self) -> Hashable:
        feedback = self.kp.astype(bool).tobytes(), self.kd.astype(bool).tobytes()
        places = tuple(self.model.driven.tolist()), tuple(self.model.free.tolist())
        return "elastic", _numbers_in_code(self.B), feedback, places, self.inverse.structure

    @property
    def channels(self) -> int:
        return 3 * len(self.kp)

    @property
    def gains(self) -> tuple[float, ...]:
        return (*self.kp.tolist(), *self.kd.tolist(), *self.inverse.numbers)

    def signals(self, t: Floats) -> Floats:
        """Desired positions, rates and accelerations at several times (times, 3 inputs)."""
        return self.motion(t)

    def efforts(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Efforts:
        m, free = len(self.kp), self.model.free.tolist()
        x = r[3 * m :]
        parts = x[: len(free)], x[len(free) :], [0.0] * len(free)
        full, rate, given = (self._whole(r[k * m : (k + 1) * m], part) for k, part in enumerate(parts))
        inverse = self.inverse
        out = inverse(dict(zip(inverse.traced.algorithm.inputs, (full, rate, given), strict=True)), gains[2 * m :])
        tau = out[:m]
        for level, (model, robot, feedback) in enumerate(((full, q, self.kp), (rate, v, self.kd))):
            errors = [a - b for a, b in zip(measured(self.B, model), measured(self.B, robot), strict=True)]
            tau = [
                x + gains[level * m + k] * error if feedback[k] else x
                for k, (x, error) in enumerate(zip(tau, errors, strict=True))
            ]
        return Efforts(tau, [*parts[1], *(out[m + i] for i in free)])

    def _whole(self, driven: Vector, free: Vector) -> Vector:
        """Values of all coordinates of the model."""
        known = dict(zip([*self.model.driven.tolist(), *self.model.free.tolist()], [*driven, *free], strict=True))
        return [known[i] for i in range(len(known))]


AnyLaw = DriveLaw | PrescribedLaw


def compiled_law(equations: StateEquations) -> AnyLaw | None:
    """The law of a drive that needs no Python during a step; None for all others."""
    drive: ActiveDrive = equations.drive
    limits: Floats | None = None
    if equations.constrained is not None:
        return PrescribedLaw(tuple(int(k) for k in equations.constrained.driven), _motion(equations))
    if isinstance(drive, SaturatedDrive):
        limits, drive = drive.limits, drive.inner
    inner = _effort_law(equations, drive)
    return None if inner is None else DriveLaw(inner, limits)


def _motion(equations: StateEquations) -> Signal:
    """Desired positions, rates and accelerations of the inputs, one after the other."""
    path = equations.path

    def motion(t: Floats) -> Floats:
        assert path is not None
        return np.hstack(path.many(equations.clocks(t)))

    return motion


def _effort_law(equations: StateEquations, drive: ActiveDrive) -> EffortLaw | None:
    arm = equations.arm
    if isinstance(drive, ActiveComputedTorque):
        return ComputedTorqueLaw(arm.B, drive.kp, drive.kd, TracedTwin(drive.model), _motion(equations))
    if isinstance(drive, ActivePID):
        return _pid_law(equations, drive)
    if isinstance(drive, ActiveElasticFeedForward):
        if not drive.model.loops.inverse_is_traced:
            return None
        loops = drive.model.loops
        rows = loops.rows_at(drive.start) if loops.redundant else None
        return ElasticLaw(arm.B, drive.kp, drive.kd, drive.model, _motion(equations), rows)
    gains = drive.linear_gains(len(arm.inputs))
    if gains is None or drive.states:
        return None

    def desired(t: Floats) -> Floats:
        rest = np.zeros((len(t), arm.size))
        return drive.efforts(equations.clocks(t), rest, rest, rest[:, :0])

    return FeedbackLaw(arm.B, *gains, desired)


def _pid_law(equations: StateEquations, drive: ActivePID) -> FeedbackLaw:
    weight = drive.measured_weight

    def desired(t: Floats) -> Floats:
        return drive.pull(drive.path.many(equations.clocks(t)), 0.0, 0.0)

    def reference(t: Floats) -> Floats:
        return drive.path.many(equations.clocks(t)).q

    return FeedbackLaw(
        drive.B,
        drive.kp,
        drive.kd,
        desired,
        drive.ki if drive.states else None,
        reference if drive.states else None,
        None if weight is None else TracedTwin(weight),
    )
