"""Linear-quadratic regulators and Kalman filters of linear models, continuous or as a computer runs them.

What cannot be brought to rest, or cannot be told from the measurements, is refused by the name of the motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.control.linear_model import LinearModel
from pliant.control.output_rows import DIRECTIONS, require_unfiltered
from pliant.control.riccati import DesignError, SampledCost, continuous_riccati, discrete_riccati, symmetric
from pliant.control.state_space import NamedMatrices, SampledModel
from pliant.errors import did_you_mean, require_number

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

HIDDEN = 1e-9
"""Smallest singular value of a scaled pencil [A - s 1, B] below which a motion at s is not reached."""
DECAYS = 1e-9
"""Decay of a motion, of its own rate, that counts as none."""
MOST_STATES = 200
"""States of a sampled design: a delay of so many periods that there are more wants slower samples."""
ENDINGS = (*DIRECTIONS, "rate", "motor", "link", "acceleration", "accelerometer", "gyro")
"""How names of outputs end that are none of coordinates and sensors."""
GROUPS = ("coordinates", "rates")
EFFORT = "effort"


@dataclass(frozen=True, eq=False)
class Regulator:
    """u = -K x brings small deviations x of a model to rest at the least cost.

    K        gains (inputs, states)
    P        cost of a deviation: x^T P x (states, states)
    model    what it was designed for: a StateSpace, or a SampledModel whose last states are commands that wait
    period   time between samples; None: it acts continuously
    delay    from a sample until its command takes effect, s
    """

    K: Floats
    P: Floats
    model: NamedMatrices
    period: float | None
    delay: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the states."""
        return self.model.names

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the efforts."""
        return self.model.inputs

    @property
    def poles(self) -> Complexes:
        """Poles of the closed loop, 1/s; of a sampled one its eigenvalues per period."""
        return _sorted(np.linalg.eigvals(self.model.A - self.model.B @ self.K))

    @property
    def rates(self) -> Complexes:
        """Poles of the closed loop in 1/s, of sampled ones too; motions that end within a period are left out."""
        return _per_second(self.poles, self.period)


@dataclass(frozen=True, eq=False)
class Observer:
    """Estimates the states of a model from measured outputs: an innovation e corrects the estimate by L e.

    L        gains (states, outputs); sampled: of the correction at a sample, which is followed by a prediction
    P        covariance of the error (states, states); sampled: right after a correction
    model    what it was designed for; its outputs are what is measured
    noise    standard deviation of each output in one sample
    period   time between samples; None: it acts continuously
    """

    L: Floats
    P: Floats
    model: NamedMatrices
    noise: Floats
    period: float | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the states."""
        return self.model.names

    @property
    def outputs(self) -> tuple[str, ...]:
        """What is measured."""
        return self.model.outputs

    @property
    def sigma(self) -> Floats:
        """Standard deviation of the estimate of each state."""
        return np.asarray(np.sqrt(np.diag(self.P).clip(0.0)))

    @property
    def poles(self) -> Complexes:
        """Poles of the error of the estimate, 1/s; of a sampled one its eigenvalues per period."""
        A, C = self.model.A, self.model.C
        error = A - self.L @ C if self.period is None else A @ (np.eye(len(A)) - self.L @ C)
        return _sorted(np.linalg.eigvals(error))

    @property
    def rates(self) -> Complexes:
        """Poles of the error in 1/s, of sampled ones too; motions that end within a period are left out."""
        return _per_second(self.poles, self.period)


def _sorted(given: Any) -> Complexes:
    found = np.asarray(given, dtype=np.complex128)
    return np.asarray(found[np.lexsort((found.imag, found.real, np.abs(found).round(9)))], dtype=np.complex128)


def _per_second(poles: Complexes, period: float | None) -> Complexes:
    if period is None:
        return poles
    kept = poles[np.abs(poles) > 1e-6]
    return _sorted(np.log(kept) / period)


# ---------------------------------------------------------------- regulators


def lqr(
    model: LinearModel,
    weights: Mapping[str, float],
    *,
    period: float | None = None,
    delay: float = 0.0,
) -> Regulator:
    """The linear-quadratic regulator of a linear model about a state of rest.

    weights  cost of squares: of a frame's position (``tip``), of any output that is a position or rate (``tip.y``,
             ``elbow``, ``tip.y.rate``, a strain gauge by its name), of all ``coordinates`` or ``rates``, and of the
             efforts (``effort``, or ``effort.JOINT``), which is needed
    period   time between samples, s: a regulator for a computer, with the same cost, integrated between the samples;
             default: one that acts continuously
    delay    from a sample until its command takes effect, s; commands that wait are states of the regulator
    """
    model = model.without_filters
    Q, R = weight_matrices(model, weights)
    _require_rest(model)
    if delay and period is None:
        raise ValueError(f"delay is {delay:g} s: a continuous regulator has none; give a period")
    _require_reached(model, np.asarray(model.B), "no effort reaches")
    _require_reached_by_weights(model, Q)
    if period is None:
        plant = model.state_space
        P = continuous_riccati(plant.A, plant.B, Q, R, _scales(model))
        return Regulator(np.asarray(np.linalg.solve(R, plant.B.T @ P), dtype=float), P, plant, None)
    _require_few(model, period, delay)
    plant_k, cost = _sampled_cost(model, Q, R, period, delay)
    return _sampled_regulator(plant_k, cost, period, delay)


def weight_matrices(model: LinearModel, weights: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Q (states, states) and R (inputs, inputs) of weights by name; see ``lqr``."""
    m, inputs = len(model.tangent.names), model.inputs
    Q, R = np.zeros((2 * m, 2 * m)), np.zeros(len(inputs))
    for name, value in weights.items():
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"weights: {name} is {value}; it must not be negative")
        if name == EFFORT:
            R[R == 0] = value
        elif name.startswith(f"{EFFORT}."):
            joint = name.removeprefix(f"{EFFORT}.")
            R[inputs.index(model.chosen_inputs(joint)[0])] = value
        elif name in GROUPS:
            own = slice(0, m) if name == "coordinates" else slice(m, 2 * m)
            Q[own, own] += value * np.eye(m)
        else:
            rows = _weighted_rows(model, name)
            Q += value * rows.T @ rows
    if not (R > 0).all():
        without = ", ".join(joint for joint, value in zip(inputs, R, strict=True) if value <= 0)
        raise ValueError(
            f"weights: the effort of {without} costs nothing, so it would be without bounds; give effort: 1"
        )
    return Q, np.diag(R)


def _weighted_rows(model: LinearModel, name: str) -> Floats:
    """Rows on the states (rows, 2 m) of an output, or of the three positions of a frame."""
    names = (name,) if _is_output(model, name) else tuple(f"{name}.{axis}" for axis in DIRECTIONS[:3])
    try:
        seen = model.with_outputs(*names)
    except ValueError as error:
        raise ValueError(f"weights: {error}") from None
    require_unfiltered(model.arm.robot, names, "weigh what it measures")
    if np.abs(seen.D).max(initial=0.0) > 0:
        raise ValueError(f"weights: {name} is an acceleration or a torque; weigh positions, rates and efforts")
    return seen.C


def _is_output(model: LinearModel, name: str) -> bool:
    sensors = [sensor.name for sensor in model.arm.robot.sensors]
    return name in model.arm.names or name in sensors or name.rpartition(".")[2] in ENDINGS


def _require_rest(model: LinearModel) -> None:
    if np.abs(model.v).max(initial=0.0) > 0 or np.abs(model.a).max(initial=0.0) > 1e-6:
        raise ValueError(
            "the model is not about a state of rest: its deviations would not end; take linearise(arm, {JOINT: ...})"
        )


def _sampled_cost(
    model: LinearModel, Q: Floats, R: Floats, period: float, delay: float
) -> tuple[SampledModel, SampledCost]:
    """The sampled model with its delay, and the continuous cost integrated over a period."""
    plant = model.state_space
    sampled = plant.sampled(period, delay=delay)
    n, m, size = plant.order, len(plant.inputs), sampled.order
    whole = int(np.floor(delay / period * (1 + 1e-12)))
    part = max(delay - whole * period, 0.0)
    # of x and the input that acts during a part of a period; the first part has an older input
    parts = [(part, whole + 1), (period - part, whole)] if part > 1e-12 * period else [(period, whole)]
    total = np.zeros((size + m, size + m))
    start = np.eye(n, size + m)
    for length, age in parts:
        column = size if age == 0 else n + (age - 1) * m
        pick = np.zeros((m, size + m))
        pick[:, column : column + m] = np.eye(m)
        reach = np.vstack([start, pick])
        step, gram = _held_cost(plant.A, plant.B, Q, length)
        total += reach.T @ gram @ reach
        start = (step @ reach)[:n]
    total[size:, size:] += R * period
    return sampled, SampledCost(symmetric(total), size)


def _held_cost(A: Floats, B: Floats, Q: Floats, length: float) -> tuple[Floats, Floats]:
    """exp of [[A, B], [0, 0]], and the integral of x^T Q x as a form in (x, u) at the start (Van Loan)."""
    from scipy.linalg import expm

    n, m = B.shape
    F, W = np.zeros((n + m, n + m)), np.zeros((n + m, n + m))
    F[:n, :n], F[:n, n:] = A, B
    W[:n, :n] = Q
    # halves keep exp(-F t) of fast decays from overflowing; intervals are then added
    halves = max(0, int(np.ceil(np.log2(max(float(np.linalg.norm(F * length, 1)), 1.0)))))
    short = length / 2**halves
    big = expm(np.block([[-F.T, W], [np.zeros_like(F), F]]) * short)
    step = big[n + m :, n + m :]
    gram = step.T @ big[: n + m, n + m :]
    for _ in range(halves):
        gram = gram + step.T @ gram @ step
        step = step @ step
    return step, symmetric(gram)


def _sampled_regulator(plant: SampledModel, cost: SampledCost, period: float, delay: float) -> Regulator:
    A, B = plant.A, plant.B
    P = discrete_riccati(A, B, cost)
    K = np.asarray(np.linalg.solve(cost.R + B.T @ P @ B, B.T @ P @ A + cost.N.T), dtype=float)
    return Regulator(K, symmetric(P), plant, period, delay)


# ---------------------------------------------------------------- observers


def kalman(
    model: LinearModel,
    measured: Mapping[str, float] | Sequence[str],
    *,
    process: Mapping[str, float],
    every: float = 1e-3,
    period: float | None = None,
    delay: float = 0.0,
) -> Observer:
    """The stationary Kalman filter of a linear model about a state of rest.

    measured  outputs by name, each with the standard deviation of its noise in one sample; or names of sensors of the
              robot, whose own noise (and steps) count
    process   what moves the robot unseen, as square roots of densities: of unknown ``effort`` at the drives
              (N m s^0.5), of all ``coordinates``, all ``rates`` or all ``states`` (unit of the state over s^0.5)
    every     continuous filters: time between the samples that the noise is that of; its density is rms^2 every
    period    time between samples, s: a filter for a computer; default: one that acts continuously
    delay     of commands, as for ``lqr``; those that wait are states of the filter, known without error. Readings of
              sensors that are late are, too: their delays must be whole periods
    """
    require_number("every", every, "s", positive=True)
    model = model.without_filters
    noise = measured_noise(model, measured)
    W = process_matrix(model, process)
    _require_rest(model)
    if delay and period is None:
        raise ValueError(f"delay is {delay:g} s: a continuous filter has none; give a period")
    seen = model.with_outputs(*noise)
    require_unfiltered(model.arm.robot, noise, "leave it out")
    rms = np.array(list(noise.values()))
    if period is None:
        late_ticks(seen, None)
    _require_seen(seen)
    _require_moved(seen, W)
    if not W.any():
        raise DesignError(
            "process is empty, or all of it is zero: the filter would be sure of its model and never look at its "
            "sensors; give effort: 0.1 or states: 1e-4"
        )
    if period is None:
        plant = seen.state_space
        V = np.diag(rms**2 * every)
        size, rate = _scales(seen)
        P = continuous_riccati(plant.A.T, plant.C.T, W, V, (1.0 / size, rate))
        return Observer(np.asarray(np.linalg.solve(V, plant.C @ P).T, dtype=float), P, plant, rms, None)
    _require_few(seen, period, delay)
    plant_k = observed_model(seen, period, delay)
    A, C = plant_k.A, plant_k.C
    W_k = np.zeros_like(A)
    n = len(W)
    # int exp(A s) W exp(A^T s) ds over a period
    W_k[:n, :n] = _held_cost(seen.A.T, np.zeros((n, 0)), W, period)[1]
    return _sampled_observer(plant_k, W_k, rms, period, A, C)


def _require_few(model: LinearModel, period: float, delay: float) -> None:
    """Refuse delays of very many periods: each command and reading on its way is a state."""
    require_number("period", period, "s", positive=True)
    require_number("delay", delay, "s")
    late, waiting = sum(late_ticks(model, period)), int(np.ceil(min(max(delay, 0.0) / period, 1e9)))
    if len(model.names) + waiting * len(model.inputs) + late > MOST_STATES:
        raise DesignError(
            f"delays of {waiting} periods of {period:g} s (and {late} of readings) make more than {MOST_STATES} states "
            "of commands and readings on their way; sample more slowly, or give a shorter delay"
        )


def _sampled_observer(plant: SampledModel, W: Floats, rms: Floats, period: float, A: Floats, C: Floats) -> Observer:
    V, none = np.diag(rms**2), np.zeros((len(A), len(C)))
    # of the prediction; what waits is known, which leaves its rows zero
    before = discrete_riccati(A.T, C.T, SampledCost(np.block([[W, none], [none.T, V]]), len(A)))
    L = np.asarray(np.linalg.solve(C @ before @ C.T + V, C @ before).T, dtype=float)
    keep = np.eye(len(A)) - L @ C
    return Observer(L, symmetric(keep @ before @ keep.T + L @ V @ L.T), plant, rms, period)


def observed_model(model: LinearModel, period: float, delay: float) -> SampledModel:
    """The sampled model of a filter: commands that wait, those that act on readings at once, and late readings are
    states of it."""
    return with_late_outputs(with_last_commands(model.sampled(period, delay=delay)), late_ticks(model, period))


def late_ticks(model: LinearModel, period: float | None) -> tuple[int, ...]:
    """By how many samples each output of a model is late: the delays of sensors of the robot."""
    known = {sensor.name: sensor.delay for sensor in model.arm.robot.sensors}
    out = []
    for name in model.outputs:
        delay = known.get(name, 0.0)
        if period is None and delay:
            raise ValueError(
                f"sensor '{name}' is late by {delay:g} s, which a continuous filter does not know; sample it"
            )
        ticks = 0.0 if period is None else delay / period
        if abs(ticks - round(ticks)) > 1e-6:
            raise ValueError(
                f"sensor '{name}' is late by {delay:g} s, which is no whole number of periods of {period:g} s: it "
                "would be read between two samples; change the period or the delay"
            )
        out.append(round(ticks))
    return tuple(out)


def with_late_outputs(model: SampledModel, ticks: Sequence[int]) -> SampledModel:
    """The model with outputs that come some samples late: what is on its way are further states."""
    count = sum(ticks)
    if not count:
        return model
    n = model.order
    A, B = np.zeros((n + count, n + count)), np.vstack([model.B, np.zeros((count, model.B.shape[1]))])
    C = np.hstack([model.C, np.zeros((len(model.C), count))])
    A[:n, :n] = model.A
    names, place = list(model.names), n
    for k, late in enumerate(ticks):
        if not late:
            continue
        A[place, :n] = model.C[k]
        for j in range(1, late):
            A[place + j, place + j - 1] = 1.0
        C[k] = 0.0
        C[k, place + late - 1] = 1.0
        names += [f"{model.outputs[k]}.late{j + 1}" for j in range(late)]
        place += late
    return SampledModel(A, B, C, model.D, tuple(names), model.inputs, model.outputs, model.period)


def with_last_commands(model: SampledModel) -> SampledModel:
    """The model with its last commands as states where they act on the outputs at once: a sample is taken before the
    command that follows from it."""
    if not np.abs(model.D).max(initial=0.0) > 0:
        return model
    n, m = model.order, len(model.inputs)
    A, B = np.zeros((n + m, n + m)), np.vstack([model.B, np.eye(m)])
    A[:n, :n] = model.A
    names = (*model.names, *(f"{name}.last" for name in model.inputs))
    C, D = np.hstack([model.C, model.D]), np.zeros_like(model.D)
    return SampledModel(A, B, C, D, names, model.inputs, model.outputs, model.period)


def measured_noise(model: LinearModel, measured: Mapping[str, float] | Sequence[str]) -> dict[str, float]:
    """Standard deviation of one sample of each output."""
    if isinstance(measured, str):
        measured = (measured,)
    given = dict(measured) if isinstance(measured, Mapping) else dict.fromkeys(measured)
    out: dict[str, float] = {}
    for name, value in given.items():
        rms = sensor_noise(model.arm, name) if value is None else float(value)
        if not (np.isfinite(rms) and rms > 0):
            raise ValueError(
                f"measured '{name}' has the noise {rms:g}: a filter would believe it without bounds; give what one "
                "sample is off by, such as an encoder's step over sqrt(12)"
            )
        out[name] = rms
    if not out:
        raise ValueError("nothing is measured; name sensors of the robot, or outputs with their noise")
    return out


def sensor_noise(arm: Dynamics, name: str) -> float:
    """Standard deviation of one sample of a sensor, its steps included."""
    from pliant.model.description.sensors import Encoder

    names = [sensor.name for sensor in arm.robot.sensors]
    if name not in names:
        hint = did_you_mean(name, names) or (f"; sensors: {', '.join(names)}" if names else "; it has none")
        raise ValueError(f"robot '{arm.robot.name}' has no sensor '{name}'{hint}; or give the noise of an output")
    sensor = arm.robot.sensor(name)
    own = sensor.measures
    step = sensor.gain * own.step / np.sqrt(12.0) if isinstance(own, Encoder) else 0.0
    return float(np.hypot(sensor.noise, step))


def process_matrix(model: LinearModel, process: Mapping[str, float]) -> Floats:
    """Density of what moves the states unseen (states, states); see ``kalman``."""
    m = len(model.tangent.names)
    W = np.zeros((2 * m, 2 * m))
    groups = {"coordinates": slice(0, m), "rates": slice(m, 2 * m), "states": slice(0, 2 * m)}
    for name, value in process.items():
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"process: {name} is {value}; it must not be negative")
        if name == EFFORT:
            W += value**2 * model.B @ model.B.T
        elif name in groups:
            own = groups[name]
            W[own, own] += value**2 * np.eye(own.stop - own.start)
        else:
            hint = did_you_mean(name, (EFFORT, *groups)) or f"; there are {EFFORT}, {', '.join(groups)}"
            raise ValueError(f"process: unknown '{name}'{hint}")
    return W


# ---------------------------------------------------------------- what is not reached, seen, weighed or moved


def _scales(model: LinearModel) -> tuple[Floats, float]:
    """Sizes of the states, and a rate, in which A has entries of one size."""
    _, _, K, size = model.tangent.scaled()
    rate = float(np.sqrt(np.abs(K).max(initial=0.0))) or 1.0
    return np.concatenate([size, size * rate]), rate


def _hidden_motion(
    model: LinearModel, columns: Floats, *, dual: bool, only_lasting: bool
) -> tuple[complex, str] | None:
    """A motion that does not decay and that columns do not reach (dual: do not see), by Popov, Belevitch and Hautus.

    only_lasting  whether those that grow do not count: they only must not last
    """
    T, rate = _scales(model)
    A = model.A * T / T[:, None] / rate
    B = columns / T[:, None] if not dual else columns * T[:, None]
    B = B / np.linalg.norm(B, axis=0).clip(1e-300)
    A = A.T if dual else A
    for s in np.linalg.eigvals(A):
        if s.imag < 0 or s.real < -DECAYS * max(abs(s), 1e-3):
            continue
        if only_lasting and s.real > DECAYS * max(abs(s), 1e-3):
            continue
        U, sizes, _ = np.linalg.svd(np.hstack([A - s * np.eye(len(A)), B]))
        if sizes[-1] > HIDDEN * max(1.0, float(sizes[0])):
            continue
        # dual: the left vector is the motion itself; else the motion that belongs to it
        motion = U[:, -1].conj() if dual else _motion_of(A, s, U[:, -1])
        return complex(s * rate), _named(model, motion)
    return None


def _motion_of(A: Floats, s: complex, left: Complexes) -> Complexes:
    """The motion at s whose share a left vector takes."""
    _, sizes, V = np.linalg.svd(A - s * np.eye(len(A)))
    null = V.conj()[sizes < 1e-7 * max(1.0, float(sizes[0]))].T
    if not null.size:
        null = V.conj()[-1:].T
    found = null @ (null.conj().T @ left)
    return np.asarray(found if np.linalg.norm(found) > 1e-9 else null[:, 0], dtype=np.complex128)


def _named(model: LinearModel, motion: Complexes) -> str:
    """The coordinate with the largest share of a motion."""
    m = len(model.tangent.names)
    return model.tangent.names[int(np.argmax(np.abs(motion[:m]) + np.abs(motion[m:])))]


def _told(s: complex) -> str:
    if abs(s) < 1e-3:
        return "at rest"
    return (
        f"at {abs(s.imag) / (2 * np.pi):.4g} Hz" if abs(s.imag) > abs(s.real) else f"that grows with {s.real:.4g} 1/s"
    )


def _require_reached(model: LinearModel, B: Floats, words: str) -> None:
    found = _hidden_motion(model, B, dual=False, only_lasting=False)
    if found is not None:
        raise DesignError(
            f"{words} the motion of '{found[1]}' {_told(found[0])}, which does not decay by itself: robot "
            f"'{model.arm.robot.name}' cannot be stabilised here; give it a drive, a spring with damping, or hold it"
        )


def _require_reached_by_weights(model: LinearModel, Q: Floats) -> None:
    found = _hidden_motion(model, _root(Q), dual=True, only_lasting=True)
    if found is not None:
        raise DesignError(
            f"the weights see nothing of the motion of '{found[1]}' {_told(found[0])}, which would go on for ever; add "
            "coordinates: 1, or a weight of that motion"
        )


def _require_seen(model: LinearModel) -> None:
    found = _hidden_motion(model, model.C.T, dual=True, only_lasting=False)
    if found is not None:
        raise DesignError(
            f"{', '.join(model.outputs)} tell nothing of the motion of '{found[1]}' {_told(found[0])}, which does not "
            "decay by itself: it cannot be estimated; add a sensor that sees it"
        )


def _require_moved(model: LinearModel, W: Floats) -> None:
    found = _hidden_motion(model, _root(W), dual=False, only_lasting=True)
    if found is not None:
        raise DesignError(
            f"process noise does not reach the motion of '{found[1]}' {_told(found[0])}: the filter would become sure "
            "of it and stop looking; add states: 1e-4 to process"
        )


def _root(X: Floats) -> Floats:
    """Columns whose products are a non-negative matrix."""
    values, vectors = np.linalg.eigh(X)
    keep = values > 1e-14 * max(float(values.max(initial=0.0)), 1e-300)
    return np.asarray(vectors[:, keep] * np.sqrt(values[keep]))
