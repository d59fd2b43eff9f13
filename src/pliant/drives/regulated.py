"""Laws of linear-quadratic regulators: feedback of states, or of what an observer estimates from sensors.

Everything is a deviation from a reference: the robot as gravity and the desired motion bend it. Gains are interpolated
between poses along the motion with weights that depend on time alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

import numpy as np

from pliant.control.regulator import Observer
from pliant.control.schedule import GainSchedule
from pliant.control.spillover import spillover_warnings
from pliant.drives.bent_reference import BentReference
from pliant.drives.drive import DriveLaw, Tick
from pliant.drives.readings import SensorReadings
from pliant.drives.sampled import noise
from pliant.drives.saturated import cut
from pliant.laws import Action, Floats, LawState
from pliant.model.description.sensors import Sensor
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector


class ReferenceFollower:
    """What laws of this kind have in common: the reference, the schedule along it, limits of efforts.

    delay   from a tick until its command takes effect: the efforts of the reference are those of then
    limits  of the efforts (inputs,), or none
    """

    def __init__(self, reference: BentReference, schedule: GainSchedule, delay: float, limits: Floats | None) -> None:
        self.reference, self.schedule, self.delay, self.limits = reference, schedule, delay, limits
        arm = self.arm = reference.arm
        self.names = schedule.models[0].tangent.names
        self.places = [arm.names.index(name) for name in self.names]
        self.inputs, self.poses = len(arm.inputs), len(schedule.models)

    @property
    def structure(self) -> Hashable:
        """What decides the code."""
        limited = None if self.limits is None else np.isfinite(self.limits).tobytes()
        return tuple(self.places), self.inputs, self.poses, limited

    @property
    def numbers(self) -> tuple[float, ...]:
        """Limits of the efforts."""
        return () if self.limits is None else tuple(self.limits.tolist())

    def weights(self, times: Floats) -> Floats:
        """Shares of the poses at several times (times, poses); none where there is one pose."""
        if self.poses == 1:
            return np.zeros((len(times), 0))
        place = self.reference.part(times) * (self.poses - 1)
        return np.maximum(1.0 - np.abs(place[:, None] - np.arange(self.poses)), 0.0)

    def at_start(self, states: Sequence[LawState]) -> tuple[LawState, ...]:
        """Deviations with their first values: before the first command the motors are off."""
        (ahead,) = -self.reference.at(np.zeros(1))[2]
        efforts = dict(zip(self.arm.inputs, ahead.tolist(), strict=True))
        out = []
        for state in states:
            kind, _, name = state.name.partition(".")
            joint, _, word = name.rpartition(".")
            is_command = joint in efforts and (word == "last" or word.startswith("waiting"))
            out.append(LawState(f"{kind}.{name}", "N m", efforts[joint]) if is_command else state)
        return tuple(out)

    def spilled(self, observers: Sequence[Observer] = ()) -> tuple[str, ...]:
        """What to say where modes that the design leaves out are driven; observers are those of the schedule."""
        schedule = self.schedule
        return tuple(spillover_warnings(schedule.models, schedule.regulators, observers or schedule.observers))

    @property
    def waiting(self) -> int:
        """Commands that are computed and do not act yet."""
        return (len(self.schedule.regulators[0].names) - 2 * len(self.places)) // self.inputs

    def breaks(self) -> tuple[float, ...]:
        """Times at which a pose of the schedule is passed."""
        inner = [self.reference.when(k / (self.poses - 1)) for k in range(1, self.poses - 1)] if self.poses > 2 else []
        return tuple(sorted({*self.reference.path.breaks, *inner}))

    def mixed(self, tables: Vector, shares: Vector) -> Vector:
        """Numbers at the present pose, from those of all poses one after the other."""
        if self.poses == 1:
            return list(tables)
        count = len(tables) // self.poses
        out: Vector = []
        for i in range(count):
            total: Scalar = 0.0
            for k, share in enumerate(shares):
                total = total + share * tables[k * count + i]
            out.append(total)
        return out

    def limited(self, efforts: Vector, numbers: Vector) -> Vector:
        """Efforts within their limits."""
        if self.limits is None:
            return efforts
        known = zip(efforts, numbers, np.isfinite(self.limits), strict=True)
        return [cut(x, limit) if is_limited else x for x, limit, is_limited in known]


def product(rows: Vector, x: Vector) -> Vector:
    """A matrix, row by row in one list, times a vector."""
    n = len(x)
    out: Vector = []
    for i in range(len(rows) // n if n else 0):
        total: Scalar = 0.0
        for a, b in zip(rows[i * n : (i + 1) * n], x, strict=True):
            total = total + a * b
        out.append(total)
    return out


def stacked(matrices: Sequence[Floats]) -> list[float]:
    """Matrices of all poses, row by row."""
    return [x for matrix in matrices for x in np.asarray(matrix, dtype=float).ravel().tolist()]


def plus(a: Vector, b: Vector) -> Vector:
    """Sum of two vectors."""
    return [x + y for x, y in zip(a, b, strict=True)]


def minus(a: Vector, b: Vector) -> Vector:
    """Difference of two vectors."""
    return [x - y for x, y in zip(a, b, strict=True)]


class StateFeedbackLaw(DriveLaw):
    """tau = tau_r - K (x - x_r) of the true states; sampled with a delay, K also knows the commands that wait.

    Signals: coordinates and rates of the reference that are fed back, its efforts, shares of the poses.
    """

    def __init__(self, follower: ReferenceFollower) -> None:
        self.follower = follower
        self.path = follower.reference.path
        self.channels = 2 * len(follower.places) + follower.inputs + (follower.poses if follower.poses > 1 else 0)
        waiting = follower.schedule.regulators[0].names[2 * len(follower.places) :]
        self._waiting = follower.at_start([LawState(f"command.{name}") for name in waiting])

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        return self.follower.spilled()

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.follower.breaks()

    @property
    def sampled_states(self) -> tuple[LawState, ...]:
        return self._waiting

    @property
    def structure(self) -> Hashable:
        return "state feedback", self.follower.structure, len(self._waiting)

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        return (*self.follower.numbers, *stacked([each.K for each in self.follower.schedule.regulators]))

    def signals(self, t: Floats) -> Floats:
        q, v, _ = self.follower.reference.at(t)
        tau = self.follower.reference.at(t + self.follower.delay)[2]
        own = self.follower.places
        return np.hstack([q[:, own], v[:, own], tau, self.follower.weights(t)])

    def _command(self, q: Vector, v: Vector, waiting: Vector, signals: Vector, gains: Vector) -> tuple[Vector, Vector]:
        """Efforts, and those of the reference."""
        f, n, m = self.follower, len(self.follower.places), self.follower.inputs
        x = minus([*(q[i] for i in f.places), *(v[i] for i in f.places)], signals[: 2 * n])
        ahead, limits = signals[2 * n : 2 * n + m], len(f.numbers)
        K = f.mixed(gains[limits:], signals[2 * n + m :])
        return f.limited(minus(ahead, product(K, [*x, *waiting])), gains[:limits]), ahead

    @property
    def signal_names(self) -> tuple[str, ...]:
        """What is known of each tick beforehand."""
        f = self.follower
        names = [f.arm.names[i] for i in f.places]
        return (
            *(f"{name} of the reference" for name in (*names, *(f"{name}.rate" for name in names))),
            *(f"effort {name} of the reference" for name in f.arm.inputs),
            *(f"share of pose {k + 1}" for k in range(f.poses if f.poses > 1 else 0)),
        )

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        return Action(self._command(q, v, [], signals, gains)[0])

    def computed(self, q: Vector, v: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        tau, ahead = self._command(q, v, discrete, signals, gains)
        # the newest command is the first of those that wait
        kept = [*minus(tau, ahead), *discrete][: len(discrete)]
        return Tick(kept, tau)


class ObserverLaw(DriveLaw):
    """tau = tau_r - K x of deviations x that an observer estimates from sensors.

    Continuous: x' = (A - L C) x + (B - L D) u + L (y - y_r), u = tau - tau_r. Sampled: a correction by L at a tick, the
    command from the corrected estimate, and a prediction until the next tick. Limited efforts are what the observer
    knows of.

    Signals: readings and efforts of the reference, shares of the poses; sampled: noise of each sensor, and coordinates
    and rates of the reference for the estimates that results show.
    """

    def __init__(
        self,
        follower: ReferenceFollower,
        sensors: Sequence[Sensor],
        *,
        sampled: bool,
        seed: int = 0,
        late: Sequence[int] = (),
    ) -> None:
        self.follower, self.sensors, self.sampled, self.seed = follower, tuple(sensors), sampled, seed
        self.path = follower.reference.path
        self.readings = SensorReadings(follower.arm, sensors, steps=sampled)
        self.feels = self.readings.feels
        self._smooth = SensorReadings(follower.arm, sensors, steps=False)
        self.observers = follower.schedule.observers
        self.late = tuple(late) or (0,) * len(sensors)
        self.order = len(self.observers[0].names)
        shares = follower.poses if follower.poses > 1 else 0
        self.channels = len(sensors) + follower.inputs + shares + len(follower.places)
        if sampled:
            self.channels += len(sensors) + 2 * len(follower.places)
        else:
            self.states = tuple(self._deviations())

    def _deviations(self) -> list[LawState]:
        units = {name: word.unit for name, word in self.follower.arm.mechanism.words.items()}
        out = []
        for name in self.observers[0].names:
            own = units.get(name, "")
            base = units.get(name.removesuffix(".rate"), "")
            out.append(LawState(f"deviation.{name}", f"{base}/s" if name.endswith(".rate") and base else own))
        return out

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        return self.follower.spilled()

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.follower.breaks()

    @property
    def sampled_states(self) -> tuple[LawState, ...]:
        """Predicted deviations, efforts that act until the next tick, readings on their way, estimates, readings."""
        f = self.follower
        deviations = f.at_start(self._deviations())
        start = self._first_readings()
        waiting = [
            LawState(f"late{k + 1}.{s.name}", "", y)
            for s, y, late in zip(self.sensors, start, self.late, strict=True)
            for k in range(late)
        ]
        acting = [LawState(f"command{k + 1}.{name}") for k in range(self._ring) for name in f.arm.inputs]
        shown = [LawState(state.name.replace("deviation", "estimate", 1), state.unit) for state in deviations]
        estimates = shown[: 2 * len(f.places)]
        readings = [
            LawState(f"reading.{s.name}", s.unit(f.arm.robot), y) for s, y in zip(self.sensors, start, strict=True)
        ]
        return (*deviations, *acting, *waiting, *estimates, *readings)

    @property
    def _ring(self) -> int:
        """Commands that are kept, the oldest of which acts at the next tick; none where no sensor feels them."""
        return max(self.follower.waiting, 1) if self.readings.needs_acceleration else 0

    def _first_readings(self) -> list[float]:
        q, v, tau = (x[0].tolist() for x in self.follower.reference.at(np.zeros(1)))
        return [float(x) for x in self.readings.read(q, v, tau, list(self.readings.numbers))]

    @property
    def structure(self) -> Hashable:
        return "observer", self.sampled, self.follower.structure, self.readings.structure, self.late, self.order

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        return (*self.follower.numbers, *self.readings.numbers, *self._rms(), *self._tables())

    def _rms(self) -> tuple[float, ...]:
        return tuple(sensor.noise for sensor in self.sensors) if self.sampled else ()

    def _tables(self) -> list[float]:
        """Matrices of all poses: those of one pose stand together."""
        out: list[float] = []
        for regulator, observer in zip(self.follower.schedule.regulators, self.observers, strict=True):
            own = observer.model
            K = np.zeros((self.follower.inputs, self.order))
            K[:, [own.names.index(name) for name in regulator.names]] = regulator.K
            if self.sampled:
                out += stacked([own.A, own.B, own.C, observer.L, K])
            else:
                out += stacked([own.A - observer.L @ own.C, own.B - observer.L @ own.D, observer.L, K])
        return out

    def signals(self, t: Floats) -> Floats:
        f = self.follower
        # the reference at each of the times that matter: now, when the command acts, when readings were taken
        shifts = {f.delay, *(-sensor.delay for sensor in self.sensors)}
        known = {shift: f.reference.at(np.maximum(t + shift, 0.0)) for shift in shifts}
        expected = self._expected(len(t), known)
        return np.hstack([expected, known[f.delay][2], f.weights(t), -f.reference.drift(t)[:, f.places]])

    def _expected(self, count: int, known: Mapping[float, tuple[Floats, Floats, Floats]]) -> Floats:
        """Readings of the reference (times, sensors), smooth and as late as those of the sensors."""
        smooth = self._smooth
        out = np.empty((count, len(self.sensors)))
        for delay in {sensor.delay for sensor in self.sensors}:
            own = [k for k, sensor in enumerate(self.sensors) if sensor.delay == delay]
            columns = [list(np.ascontiguousarray(x.T)) for x in known[-delay]]
            found = smooth.read(columns[0], columns[1], columns[2], list(smooth.numbers))
            for k in own:
                out[:, k] = found[k]
        return out

    def at_ticks(self, first: int, count: int, period: float) -> Floats:
        t = period * np.arange(first, first + count, dtype=np.float64)
        f = self.follower
        q, v, _ = f.reference.at(t)
        own, known = f.places, self.signals(t)
        # by how much bending of the reference changes until the next tick; drives go on with their rates
        free = np.isin(own, f.reference.prescribed.free) & (not f.arm.loops.rows)
        known[:, known.shape[1] - len(own) :] = (q - f.reference.at(t + period)[0])[:, own] * free
        return np.hstack([known, noise(self.seed, len(self.sensors), first, count), q[:, own], v[:, own]])

    def _parts(self, gains: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Limits, numbers of the readings, noise, matrices of all poses."""
        cuts = np.cumsum([len(self.follower.numbers), len(self.readings.numbers), len(self._rms())]).tolist()
        return gains[: cuts[0]], gains[cuts[0] : cuts[1]], gains[cuts[1] : cuts[2]], gains[cuts[2] :]

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        f, n, m, p = self.follower, self.order, self.follower.inputs, len(self.sensors)
        limits, numbers, _, tables = self._parts(gains)
        count = f.poses if f.poses > 1 else 0
        expected, ahead, shares, drift = split(signals, (p, m, count, len(f.places)))
        F, G, L, K = split(f.mixed(tables, shares), (n * n, n * m, n * p, m * n))
        tau = f.limited(minus(ahead, product(K, z)), limits)
        y = self.readings.read(q, v, tau, numbers)
        rates = plus(plus(product(F, z), product(G, minus(tau, ahead))), product(L, minus(y, expected)))
        return Action(tau, [*plus(rates[: len(drift)], drift), *rates[len(drift) :]])

    def computed(self, q: Vector, v: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        m, n = self.follower.inputs, self.order
        _, numbers, rms, _ = self._parts(gains)
        commands = discrete[n : n + m * self._ring]
        draws = [signals[k] for k in self.noise_channels]
        fresh = self.readings.read(q, v, commands[-m:], numbers)
        fresh = [y + size * draw for y, size, draw in zip(fresh, rms, draws, strict=True)]
        return self.from_readings(fresh, discrete, signals, gains, period)

    @property
    def noise_channels(self) -> range:
        """Signals that are noise of the sensors."""
        shares = self.follower.poses if self.follower.poses > 1 else 0
        first = len(self.sensors) + self.follower.inputs + shares + len(self.follower.places)
        return range(first, first + len(self.sensors))

    @property
    def reading_names(self) -> tuple[str, ...]:
        """What a tick reads."""
        return tuple(sensor.name for sensor in self.sensors)

    @property
    def signal_names(self) -> tuple[str, ...]:
        """What is known of each tick beforehand."""
        f = self.follower
        names = [f.arm.names[i] for i in f.places]
        return (
            *(f"reading {sensor.name} of the reference" for sensor in self.sensors),
            *(f"effort {name} of the reference" for name in f.arm.inputs),
            *(f"share of pose {k + 1}" for k in range(f.poses if f.poses > 1 else 0)),
            *(f"change of {name} of the reference until the next tick, negative" for name in names),
            *(f"noise of {sensor.name}" for sensor in self.sensors),
            *(f"{name} of the reference" for name in (*names, *(f"{name}.rate" for name in names))),
        )

    def from_readings(self, fresh: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        """The text of a tick for readings as they come from the sensors."""
        f, n, m, p = self.follower, self.order, self.follower.inputs, len(self.sensors)
        limits, _, _, tables = self._parts(gains)
        shares_count = f.poses if f.poses > 1 else 0
        x, commands, waiting, _ = split(discrete, (n, m * self._ring, sum(self.late), 2 * len(f.places) + p))
        sizes = (p, m, shares_count, len(f.places), p, 2 * len(f.places))
        expected, ahead, shares, drift, _, reference = split(signals, sizes)
        A, B, C, L, K = split(f.mixed(tables, shares), (n * n, n * m, p * n, n * p, m * n))
        y, waiting = self._late(fresh, waiting)
        x = plus(x, product(L, minus(minus(y, expected), product(C, x))))
        tau = f.limited(minus(ahead, product(K, x)), limits)
        u = minus(tau, ahead)
        # the reference drifts: half of it before the motion, half behind it
        half = [*(0.5 * change for change in drift), *[0.0] * (n - len(drift))]
        after = plus(plus(product(A, plus(x, half)), product(B, u)), half)
        shown = plus(x[: 2 * len(f.places)], reference)
        kept = [*tau, *commands][: len(commands)]
        return Tick([*after, *kept, *waiting, *shown, *y], tau)

    def _late(self, fresh: Vector, waiting: Vector) -> tuple[Vector, Vector]:
        """Readings that arrive now, and those that are on their way from now on."""
        out, kept, place = [], [], 0
        for y, late in zip(fresh, self.late, strict=True):
            own = [y, *waiting[place : place + late]]
            out.append(own[-1])
            kept += own[:-1]
            place += late
        return out, kept


def split(row: Vector, sizes: Sequence[int]) -> list[Vector]:
    """Parts of a row one after the other."""
    out, place = [], 0
    for size in sizes:
        out.append(list(row[place : place + size]))
        place += size
    return out
