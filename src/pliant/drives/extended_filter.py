"""An extended Kalman filter of the nonlinear robot at ticks, with numbers of the robot as further states.

Between ticks the estimate moves by exponential Euler steps, x + h phi_1(h F) f(x), which are exact for linear motions
however fast they swing, with the Jacobian F of the forward dynamics at the estimate (dual numbers on the same text);
exp(h F) carries the covariance. Readings correct it one after the other in Joseph's form, which stays positive whatever
the gain is. Parameters walk at random: a filter without walk becomes sure of a wrong value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from math import factorial
from typing import Annotated

import numpy as np
from pydantic import Field

from pliant.control.output_rows import encoder_row, gauge_row
from pliant.control.regulator import Observer, process_matrix, sensor_noise
from pliant.drives.drive import Tick
from pliant.drives.readings import SensorReadings
from pliant.drives.regulated import ReferenceFollower, minus, plus, product, split, stacked
from pliant.drives.sampled import DiscreteLaw, noise
from pliant.drives.traced_model import TracedModel
from pliant.dynamics import Dynamics
from pliant.engine.trace.tape import Node, tangents
from pliant.errors import ModelError
from pliant.laws import Floats, LawState, applied
from pliant.model.description.sensors import Encoder, Sensor, StrainGauge
from pliant.model.element import Element, Text
from pliant.model.units import POSITIVE, Number, Quantity
from pliant.spatial.dual_numbers import Dual, dual_part
from pliant.spatial.scalars import Scalar, sqrt
from pliant.spatial.vectors import Vector

FASTEST = 4.0
"""Angle, rad, by which the fastest motion may swing between two ticks: beyond half a turn samples cannot tell it."""
ENOUGH = {"estimate": 1e-7, "covariance": 1e-3}
"""Size of the first term of an exponential that is left out; no noise is known to a thousandth."""
ALIKE = 1e-8
"""Curvature of the robot's constants over a parameter, of their change, that is rounding."""
NO_WALK = (
    "; a filter that holds a parameter for constant becomes sure of a wrong value and stops looking. Give how far it "
    "may wander in the root of a second, such as a hundredth of what it is"
)

Walk = Annotated[float, Quantity("", POSITIVE, remedy=NO_WALK)]
Sigma = Annotated[float, Quantity("", POSITIVE)]


class EstimatedParameter(Element):
    """A number of the robot that an extended Kalman filter estimates beside its states."""

    place: Text = Field(description="where it stands in the robot, such as fore.payloads[0].mass")
    start: Number = Field(description="what is believed at first; the robot's own number is the truth")
    sigma: Sigma = Field(description="standard deviation of that belief")
    walk: Walk = Field(description="how far it may wander at random, per root of a second; needed")


class ParameterSlots:
    """Constants of the forward dynamics as linear functions of parameters.

    slots   places among the numbers of the model that parameters move
    slopes  change of each of them per unit of each parameter (slots, parameters)
    """

    def __init__(self, arm: Dynamics, parameters: Sequence[EstimatedParameter]) -> None:
        model = TracedModel(arm.loops.traced_forward())
        self.numbers = np.array(model.numbers)
        slopes = np.zeros((len(self.numbers), len(parameters)))
        for k, each in enumerate(parameters):
            if not each.start:
                raise ModelError(
                    f"parameter '{each.place}' starts at 0, where it is no part of the equations; start beside it"
                )
            step = 0.25 * abs(each.start)
            ends = []
            for sign in (1.0, -1.0):
                other = arm.set(each.place, each.start + sign * step)
                moved = TracedModel(other.loops.traced_forward())
                if moved.structure != model.structure:
                    raise ModelError(
                        f"parameter '{each.place}' changes the structure of the equations, not numbers in them"
                    )
                ends.append(np.array(moved.numbers))
            slopes[:, k] = (ends[0] - ends[1]) / (2 * step)
            bend = np.abs(ends[0] + ends[1] - 2 * self.numbers).max()
            if bend > ALIKE * max(np.abs(ends[0] - ends[1]).max(), 1e-300):
                raise ModelError(
                    f"the model is not linear in parameter '{each.place}': shapes or damping of its links depend on it."
                    " Give them some that do not, such as modes: {shape: clamped-free} and damping: {rayleigh: ...}"
                )
            if not slopes[:, k].any():
                raise ModelError(
                    f"parameter '{each.place}' is no part of the equations of motion: it cannot be estimated"
                )
        self.slots = np.flatnonzero(np.abs(slopes).any(axis=1)).tolist()
        self.slopes = slopes[self.slots]
        self.model, self.starts = model, [each.start for each in parameters]

    def at(self, p: Vector, numbers: Vector, slopes: Vector) -> Vector:
        """The numbers of the model for parameters p, which may be dual."""
        out, count = list(numbers), len(p)
        for row, slot in enumerate(self.slots):
            for k, (value, start) in enumerate(zip(p, self.starts, strict=True)):
                if self.slopes[row, k]:
                    out[slot] = out[slot] + slopes[row * count + k] * (value - start)
        return out


class ExtendedFilterLaw(DiscreteLaw):
    """tau = tau_r - K (x - x_r) of states that an extended Kalman filter estimates.

    Its states are the estimates, their covariance (upper triangle), commands that wait, readings and the standard
    deviations of the parameters. Signals: states and efforts of the reference, shares of the poses, noise of sensors,
    and 0 at the first tick, before which there is nothing to predict.
    """

    def __init__(
        self,
        follower: ReferenceFollower,
        at_rest: Sequence[Observer],
        truth: Dynamics,
        sensors: Sequence[Sensor],
        parameters: Sequence[EstimatedParameter],
        process: Mapping[str, float],
        uncertainty: Mapping[str, float],
        *,
        period: float,
        seed: int,
    ) -> None:
        self.follower, self.sensors, self.parameters, self.seed = follower, tuple(sensors), tuple(parameters), seed
        self.path, self.at_rest = follower.reference.path, at_rest
        self.arm = follower.arm
        for sensor in sensors:
            if sensor.delay:
                raise ModelError(
                    f"sensor '{sensor.name}' is late, which an extended filter does not know; estimator: kalman does"
                )
        self.readings = SensorReadings(truth, sensors)
        self.feels = self.readings.feels
        # what is expected of sensors whose readings are not linear in the coordinates
        self.curved = [k for k, each in enumerate(sensors) if not isinstance(each.measures, Encoder | StrainGauge)]
        self.expected = SensorReadings(self.arm, [sensors[k] for k in self.curved], steps=False)
        self._require_known(parameters)
        self.slots = ParameterSlots(self.arm, parameters)
        self.terms = {what: self._terms(period, enough) for what, enough in ENOUGH.items()}
        self.process, self.uncertainty = dict(process), dict(uncertainty)
        self.n, self.inputs = self.arm.size, follower.inputs
        self.order = 2 * self.n + len(parameters)
        shares = follower.poses if follower.poses > 1 else 0
        self.channels = 2 * self.n + self.inputs + shares + len(sensors) + 1
        self.rows = [sensor.gain * self._row(sensor) for sensor in sensors]
        self.densities = self._densities()

    def _require_known(self, parameters: Sequence[EstimatedParameter]) -> None:
        """Refuse parameters that move the places of sensors: what these see is taken as known but for the motion."""
        if not self.curved:
            return
        for each in parameters:
            other = SensorReadings(self.arm.set(each.place, 1.25 * each.start), self.expected.sensors, steps=False)
            if other.motion_numbers != self.expected.motion_numbers:
                raise ModelError(
                    f"parameter '{each.place}' moves what '{self.expected.sensors[0].name}' sees, which an extended "
                    "filter takes as known; leave that sensor out of sensors"
                )

    def _terms(self, period: float, enough: float) -> int:
        """Terms of the exponential of a period's motion."""
        fastest = max(float(np.abs(np.linalg.eigvals(model.A)).max()) for model in self.follower.schedule.models)
        if fastest * period > FASTEST:
            raise ModelError(
                f"the robot moves at up to {fastest:.4g} rad/s, too fast for an extended filter every {period:g} s; "
                f"sample every {FASTEST / fastest:.2g} s, or give the links fewer modes"
            )
        count = 2
        while (fastest * period) ** (count + 1) / factorial(count + 1) > enough:
            count += 1
        return count

    def _row(self, sensor: Sensor) -> Floats:
        """What of a reading is linear in the coordinates (n,); zero for those that are not."""
        own = sensor.measures
        if isinstance(own, StrainGauge):
            return gauge_row(self.arm, own)
        return encoder_row(self.arm, own) if isinstance(own, Encoder) else np.zeros(self.arm.size)

    def _densities(self) -> list[float]:
        """Process noise, variances per second: of unknown efforts, then of coordinates, rates and parameters."""
        model = self.follower.schedule.models[-1]
        own = {key: value for key, value in self.process.items() if key != "effort"}
        states = np.diag(process_matrix(model, own)).tolist()
        return [self.process.get("effort", 0.0) ** 2, *states, *(each.walk**2 for each in self.parameters)]

    # ---- words

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        return self.follower.spilled(self.at_rest)

    @cached_property
    def sampled_states(self) -> tuple[LawState, ...]:
        arm, f = self.arm, self.follower
        q, v, tau = (x[0].tolist() for x in f.reference.at(np.zeros(1)))
        words = [arm.mechanism.words[name].unit for name in arm.names]
        estimates = [LawState(f"estimate.{name}", unit, x) for name, unit, x in zip(arm.names, words, q, strict=True)]
        estimates += [
            LawState(f"estimate.{name}.rate", f"{unit}/s" if unit else "1/s", x)
            for name, unit, x in zip(arm.names, words, v, strict=True)
        ]
        estimates += [LawState(f"estimate.{each.place}", "", each.start) for each in self.parameters]
        P = np.diag(self._first_variances())
        covariance = [
            LawState(f"covariance.{i + 1}.{k + 1}", "", float(P[i, k]))
            for i in range(self.order)
            for k in range(i, self.order)
        ]
        ring = range(max(f.waiting, 1))
        # before the first command the motors are off
        commands = [LawState(f"command{k + 1}.{name}") for k in ring for name in arm.inputs]
        gone = [
            LawState(f"deviation{k + 1}.{name}", "", -x)
            for k in range(f.waiting)
            for name, x in zip(arm.inputs, tau, strict=True)
        ]
        first = self.readings.read(q, v, tau, list(self.readings.numbers))
        readings = [
            LawState(f"reading.{s.name}", s.unit(arm.robot), float(y)) for s, y in zip(self.sensors, first, strict=True)
        ]
        sigmas = [LawState(f"sigma.{each.place}", "", each.sigma) for each in self.parameters]
        return (*estimates, *covariance, *commands, *gone, *readings, *sigmas)

    def _first_variances(self) -> list[float]:
        sizes = {"coordinates": self.n, "rates": self.n}
        out: list[float] = []
        for key, count in sizes.items():
            out += [self.uncertainty[key] ** 2] * count
        return [*out, *(each.sigma**2 for each in self.parameters)]

    @property
    def structure(self) -> Hashable:
        rows = np.array(self.rows).astype(bool).tobytes()
        slots = tuple(self.slots.slots), self.slots.slopes.astype(bool).tobytes()
        own = (
            tuple(self.terms.values()),
            self.arm.B.tobytes(),
            self.slots.model.structure,
            slots,
            rows,
            tuple(self.slots.starts),
            (tuple(self.curved), self.expected.structure),
        )
        return "extended filter", self.follower.structure, self.follower.waiting, self.readings.structure, own

    @cached_property
    def _gains(self) -> list[Vector]:
        """Limits, readings, true and believed noise, rows, biases, densities, constants, slopes, gains, forecast."""
        believed = [sensor_noise(self.arm, sensor.name) ** 2 for sensor in self.sensors]
        return [
            list(self.follower.numbers),
            list(self.readings.numbers),
            [sensor.noise for sensor in self.sensors],
            believed,
            stacked(self.rows),
            [sensor.bias for sensor in self.sensors],
            self.densities,
            self.slots.numbers.tolist(),
            stacked([self.slots.slopes]),
            stacked([each.K for each in self.follower.schedule.regulators]),
            list(self.expected.numbers),
        ]

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(x for part in self._gains for x in part)

    def at_ticks(self, first: int, count: int, period: float) -> Floats:
        f = self.follower
        t = period * np.arange(first, first + count, dtype=np.float64)
        q, v, _ = f.reference.at(t)
        tau = f.reference.at(t + f.delay)[2]
        later = (np.arange(first, first + count) > 0).astype(float)[:, None]
        return np.hstack([q, v, tau, f.weights(t), noise(self.seed, len(self.sensors), first, count), later])

    # ---- the text

    @property
    def noise_channels(self) -> range:
        """Signals that are noise of the sensors."""
        return range(self.channels - 1 - len(self.sensors), self.channels - 1)

    @property
    def reading_names(self) -> tuple[str, ...]:
        """What a tick reads."""
        return tuple(sensor.name for sensor in self.sensors)

    @property
    def signal_names(self) -> tuple[str, ...]:
        """What is known of each tick beforehand."""
        f, names = self.follower, self.arm.names
        return (
            *(f"{name} of the reference" for name in (*names, *(f"{name}.rate" for name in names))),
            *(f"effort {name} of the reference" for name in self.arm.inputs),
            *(f"share of pose {k + 1}" for k in range(f.poses if f.poses > 1 else 0)),
            *(f"noise of {sensor.name}" for sensor in self.sensors),
            "0 at the first tick, else 1",
        )

    def computed(self, q: Vector, v: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        parts = split(gains, [len(part) for part in self._gains])
        # the command that acts while readings are taken is the oldest that is kept
        place = self.order + self.order * (self.order + 1) // 2
        commands = discrete[place : place + self.inputs * max(self.follower.waiting, 1)]
        fresh = self.readings.read(q, v, commands[-self.inputs :], parts[1])
        draws = [signals[k] for k in self.noise_channels]
        y = [value + size * draw for value, size, draw in zip(fresh, parts[2], draws, strict=True)]
        return self.from_readings(y, discrete, signals, gains, period)

    def from_readings(self, y: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        """The text of a tick for readings as they come from the sensors."""
        f, n, m, p, N = self.follower, self.n, self.inputs, len(self.sensors), self.order
        parts = split(gains, [len(part) for part in self._gains])
        limits, _, _, believed, rows, biases, densities, constants, slopes, K, expectations = parts
        ring = m * max(f.waiting, 1)
        x, packed, commands, gone = split(discrete, (N, N * (N + 1) // 2, ring, m * f.waiting))
        shares = f.poses if f.poses > 1 else 0
        q_r, v_r, ahead, share, _, later = split(signals, (n, n, m, shares, p, 1))
        P = [[packed[_place(min(i, k), max(i, k), N)] for k in range(N)] for i in range(N)]
        h = period[0] * later[0]
        x, P = self._predicted(x, P, commands[-m:], densities, constants, slopes, h)
        first, (seen, by_x) = x, self._expected(x, commands[-m:], constants, slopes, expectations)
        for k in range(p):
            if k in self.curved:
                j = self.curved.index(k)
                slope = {i: column[j] for i, column in enumerate(by_x) if not _nothing(column[j])}
                # linear about the prediction
                at = sum((c * first[i] for i, c in slope.items()), 0.0)
                x, P = _corrected(x, P, y[k] - seen[j] + at, slope, believed[k])
                continue
            row = {i: rows[k * n + i] for i in range(n) if self.rows[k][i]}
            x, P = _corrected(x, P, y[k] - biases[k], row, believed[k])
        deviation = minus([*(x[i] for i in f.places), *(x[n + i] for i in f.places)],
                          [*(q_r[i] for i in f.places), *(v_r[i] for i in f.places)])  # fmt: skip
        tau = f.limited(minus(ahead, product(f.mixed(K, share), [*deviation, *gone])), limits)
        upper = [P[i][k] for i in range(N) for k in range(i, N)]
        sigmas = [sqrt(P[2 * n + k][2 * n + k]) for k in range(len(self.parameters))]
        kept = [*tau, *commands][:ring]
        waiting = [*minus(tau, ahead), *gone][: len(gone)]
        return Tick([*x, *upper, *kept, *waiting, *y, *sigmas], tau)

    def _predicted(
        self, x: Vector, P: list[Vector], tau: Vector, densities: Vector, constants: Vector, slopes: Vector, h: Scalar
    ) -> tuple[Vector, list[Vector]]:
        """Estimate and covariance after a time h, during which efforts were held."""
        n, N = self.n, self.order
        a, F, G = self._slopes(x, tau, constants, slopes)
        # rows of F: rates are known, parameters stand still
        hF = [[h * y for y in row] for row in F]
        rate: Vector = [*x[n : 2 * n], *a]
        moved = self._phi(hF, [h * y for y in rate], h)
        x = [*plus(x[: 2 * n], moved), *x[2 * n :]]
        E = self._exponential(hF, h)
        effort, *own = densities
        Q = [[0.0] * N for _ in range(N)]
        for i in range(N):
            Q[i][i] = own[i]
        for i in range(n):
            for k in range(n):
                Q[n + i][n + k] = Q[n + i][n + k] + effort * sum(
                    (gi * gk for gi, gk in zip(G[i], G[k], strict=True)), 0.0
                )
        # trapezoids: half of the noise before the motion, half behind it
        half = 0.5 * h
        P = [[P[i][k] + half * Q[i][k] for k in range(N)] for i in range(N)]
        P = _congruent(E, P)
        return x, [[P[i][k] + half * Q[i][k] for k in range(N)] for i in range(N)]

    def _slopes(
        self, x: Vector, tau: Vector, constants: Vector, slopes: Vector
    ) -> tuple[Vector, list[Vector], list[Vector]]:
        """Accelerations (n,), and their slopes by coordinates, rates and parameters (n, order), and by efforts."""
        n = self.n
        names = self.slots.model.traced.algorithm.inputs

        def accelerations(given: Vector) -> Vector:
            q, v, p, tau = split(given, (n, n, len(self.parameters), self.inputs))
            numbers = self.slots.at(p, constants, slopes)
            return self.slots.model(dict(zip(names, (q, v, applied(self.arm.B, tau)), strict=True)), numbers)

        a, columns = with_slopes(accelerations, [*x, *tau])
        rows = [list(row) for row in zip(*columns, strict=True)]
        return a, [row[: self.order] for row in rows], [row[self.order :] for row in rows]

    def _expected(
        self, x: Vector, tau: Vector, constants: Vector, slopes: Vector, numbers: Vector
    ) -> tuple[Vector, list[Vector]]:
        """Readings of sensors that are not linear in the coordinates, and their slopes by each state of the filter."""
        if not self.curved:
            return [], []
        n, names = self.n, self.slots.model.traced.algorithm.inputs

        def readings(given: Vector) -> Vector:
            q, v, p = split(given, (n, n, len(self.parameters)))
            a: Vector = [0.0] * n
            if self.expected.needs_acceleration:
                own = self.slots.at(p, constants, slopes)
                a = self.slots.model(dict(zip(names, (q, v, applied(self.arm.B, tau)), strict=True)), own)
            return self.expected.read(q, v, tau, numbers, a, traced=True)

        return with_slopes(readings, x)

    def _phi(self, hF: list[Vector], b: Vector, h: Scalar) -> Vector:
        """phi_1(h F) b of the motion alone, by its series: b + h F b / 2 + ..."""
        n = self.n
        total, term = list(b), list(b)
        for k in range(2, self.terms["estimate"] + 1):
            low = [sum((y * z for y, z in zip(row[: 2 * n], term, strict=True)), 0.0) for row in hF]
            term = [y * (1.0 / k) for y in [*(h * z for z in term[n:]), *low]]
            total = plus(total, term)
        return total

    def _exponential(self, hF: list[Vector], h: Scalar) -> list[Vector]:
        """exp(h F) (order, order) by its series; rows of parameters are those of the identity."""
        n, N = self.n, self.order
        total = [[1.0 if i == k else 0.0 for k in range(N)] for i in range(N)]
        term = [list(row) for row in total]
        for power in range(1, self.terms["covariance"] + 1):
            top = [[h * y for y in term[n + i]] for i in range(n)]
            low = []
            for row in hF:
                new: Vector = [0.0] * N
                for y, old in zip(row, term, strict=True):
                    new = [s + y * z if not _nothing(z) else s for s, z in zip(new, old, strict=True)]
                low.append(new)
            # parameters act through the first power alone: their rows of higher terms are zero
            rest = [[0.0] * N for _ in range(N - 2 * n)]
            term = [[y * (1.0 / power) if not _nothing(y) else 0.0 for y in row] for row in (*top, *low, *rest)]
            total = [
                [s + y if not _nothing(y) else s for s, y in zip(a, b, strict=True)]
                for a, b in zip(total, term, strict=True)
            ]
        return total


def with_slopes(function: Callable[[Vector], Vector], x: Vector) -> tuple[Vector, list[Vector]]:
    """Values of a function, and its derivatives by each entry of x: tangents of its tape, or dual numbers."""
    if all(type(each) is Node for each in x):
        out = function(x)
        return out, [tangents(out, {each.index: 1.0}) for each in x]
    columns = []
    for k in range(len(x)):
        found = function([Dual(value, 1.0) if i == k else value for i, value in enumerate(x)])
        columns.append([dual_part(y) for y in found])
    return function(list(x)), columns


def _nothing(x: Scalar) -> bool:
    return type(x) is float and x == 0.0


def _place(i: int, k: int, order: int) -> int:
    """Where an entry of the upper triangle stands, row by row."""
    return i * order - i * (i - 1) // 2 + k - i


def _congruent(E: list[Vector], P: list[Vector]) -> list[Vector]:
    """E P E^T of a symmetric P, whose upper triangle is computed."""
    N = len(P)
    EP = [[_dot(row, P[k]) for k in range(N)] for row in E]
    out = [[0.0] * N for _ in range(N)]
    for i in range(N):
        for k in range(i, N):
            out[i][k] = out[k][i] = _dot(E[k], EP[i])
    return out


def _dot(a: Vector, b: Vector) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not _nothing(x):
            total = total + x * y
    return total


def _corrected(x: Vector, P: list[Vector], y: Scalar, row: dict[int, Scalar], r: Scalar) -> tuple[Vector, list[Vector]]:
    """Estimate and covariance after a reading y of row x with the variance r: (1 - k c) P (1 - k c)^T + k r k^T."""
    N = len(x)
    w = [sum((P[i][k] * c for k, c in row.items()), 0.0) for i in range(N)]
    s = sum((c * w[k] for k, c in row.items()), 0.0) + r
    gain = [y / s for y in w]
    error = y - sum((c * x[k] for k, c in row.items()), 0.0)
    # (1 - k c) P, then from the right
    left = [[P[i][k] - gain[i] * w[k] for k in range(N)] for i in range(N)]
    seen = [sum((left[i][k] * c for k, c in row.items()), 0.0) for i in range(N)]
    out = [[0.0] * N for _ in range(N)]
    for i in range(N):
        for k in range(i, N):
            out[i][k] = out[k][i] = left[i][k] - seen[i] * gain[k] + r * gain[i] * gain[k]
    return [value + g * error for value, g in zip(x, gain, strict=True)], out
