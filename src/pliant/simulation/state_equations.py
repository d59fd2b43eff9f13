"""The equations of motion with their drive as a first-order system y' = f(t, y).

y is laid out as ``StateLayout`` says: coordinates and rates that are integrated, states of
drive and loads, and energies.

Closed loops keep all coordinates. Their accelerations close the loops, gaps that errors of the steps leave decay
(Baumgarte), and every state that is handed out is put onto the loops first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.limits import linearised_limits
from pliant.drives.drive import AppliedLaw, DriveLaw
from pliant.drives.prescribed import PrescribedDynamics
from pliant.dynamics import Dynamics
from pliant.engine.stepping.layout import StateLayout
from pliant.formulations.loops.dense_forms import condition_of
from pliant.formulations.loops.loops import LoopError
from pliant.laws import Action, LawState, on_columns, supplied_power
from pliant.loads.load import Load
from pliant.spatial.attitude import is_far, recentred
from pliant.trajectories.path import Desired, Path

if TYPE_CHECKING:
    from pliant.algorithm import Traced
    from pliant.formulations.loops.loops import Rows

Floats = NDArray[np.float64]

DIFFERENCE = 1e-6
"""Relative step of the difference quotients of forces."""
ROUNDED = 1e-10
"""Jumps of prescribed rates, rad/s or m/s and of these, that are rounding."""
WOUND = 5.5
"""Turn of a sprung spherical joint, rad, that is worth mentioning where an integration ends."""
NEARLY_SINGULAR = 1e4
"""Condition number of the loops that is worth mentioning where an integration ends."""


class Moments(NamedTuple):
    """Coordinates, rates, efforts, forces of loads, desired positions, wrenches of loads on frames, and energy that
    drive and loads hold (times, 1); rows are times, what is not there has no columns."""

    q: Floats
    v: Floats
    tau: Floats
    force: Floats
    reference: Floats
    wrenches: Floats
    stored: Floats


class Pushed(NamedTuple):
    """Generalised forces (n,) of laws at an instant, rates of their states, powers that they lose and are supplied."""

    force: Floats
    rates: Floats
    lost: float
    supplied: float


class LoadsAlong(NamedTuple):
    """What all loads do at several instants.

    force     generalised forces (times, n); without loads it has no columns
    stored    energy that they hold (times, 1), J
    wrenches  forces and moments on frames that they act on, base axes (times, 6 frames)
    """

    force: Floats
    stored: Floats
    wrenches: Floats


def _pushed(found: Action, force: Floats, v: Floats) -> Pushed:
    """What a law does, with its efforts as generalised forces (n,)."""
    supplied = supplied_power(found._replace(efforts=force.tolist()), v.tolist())
    return Pushed(force, np.array(found.rates, dtype=float), float(found.lost), float(supplied))


class StateEquations:
    """The system that integrators advance.

    layout  of y: ``size`` entries, the first ``count`` of them coordinates
    """

    def __init__(self, arm: Dynamics, drive: DriveLaw, loads: Sequence[Load] = ()) -> None:
        self.arm, self.drive, self.loads = arm, drive, tuple(loads)
        self.loops = arm.loops.stabilised()
        self.constrained: PrescribedDynamics | None = None
        self.path: Path | None = drive.path
        if drive.driven:
            self.constrained = PrescribedDynamics(arm)
        self._held = () if self.constrained is None else tuple(self.constrained.driven.tolist())
        if self._held:
            self.loops.require_drivable(self._held)
        self.moving = np.arange(arm.size) if self.constrained is None else self.constrained.free
        laws = (drive, *self.loads)
        self.layout = StateLayout(len(self.moving), sum(law.state_count for law in laws))
        self.count, self.states, self.size = self.layout.count, self.layout.states, self.layout.size
        self._q, self._v, self._x = self.layout.q, self.layout.v, self.layout.drive
        ends = np.cumsum([law.state_count for law in laws]).tolist()
        # states of each law among those of all, the drive's first
        self._own = [slice(end - law.state_count, end) for law, end in zip(laws, ends, strict=True)]
        # rotation vectors are never prescribed
        self.turning = tuple(self.moving.tolist().index(k) for k in arm.mechanism.attitudes)
        self._earliest, self._latest = -np.inf, np.inf
        self.acting = self.loads
        self.rows: Rows | None = None
        self.diverged = ""

    @property
    def law(self) -> AppliedLaw | None:
        """The drive's law for compiled steps; None: only Python finds its efforts."""
        return None if self.drive.in_python else AppliedLaw(self.drive, self.arm.B, self.clocks)

    @property
    def law_states(self) -> tuple[LawState, ...]:
        """The continuous states of the drive and of all loads, in the order in which they are integrated.

        Their names begin with ``drive``, ``load`` or the actuator that has them; those of further loads that are the
        same get a number.
        """
        own = [state._replace(name=f"drive.{state.name}") for state in self.drive.states]
        seen: dict[str, int] = {}
        for name, state in ((f"{load.prefix}{state.name}", state) for load in self.loads for state in load.states):
            seen[name] = seen.get(name, 0) + 1
            number = f".{seen[name]}" if seen[name] > 1 else ""
            own.append(state._replace(name=f"{name}{number}"))
        return tuple(own)

    @property
    def state_words(self) -> tuple[tuple[str, str], ...]:
        """Names and units of these states, then of those that change at ticks of the drive only."""
        discrete = ((f"drive.{state.name}", state.unit) for state in self.drive.discrete)
        return (*((state.name, state.unit) for state in self.law_states), *discrete)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which the equations are not smooth."""
        times = {*self.drive.breaks, *(t for load in self.loads for t in load.breaks)}
        return tuple(sorted(times))

    def start(self, q: Floats, v: Floats) -> Floats:
        """y at the start; right behind it, where prescribed joints begin with other rates than the robot has."""
        if self.constrained is not None and self.path is not None and self.loops.rows:
            # joints that follow a motion from the first instant on take the other ones of their loops with them
            q = self.constrained.expand(self.path.at(0.0).q, q[self.moving])
            q, v = self.loops.corrected(q, v, self._held)
        y = np.zeros(self.size)
        y[self._q], y[self._v] = q[self.moving], v[self.moving]
        y[self._x] = self.initial_states()
        struck = self.struck(0.0, y, v[list(self._held)])
        if struck is None:
            return y
        # energies are counted from here on
        struck[self.layout.balances] = 0.0
        return struck

    def initial_states(self) -> Floats:
        """States of the drive and of all loads at the start."""
        return np.concatenate([law.initial() for law in (self.drive, *self.loads)])

    def enter(self, start: float, end: float) -> None:
        """Times are now seen from inside an interval: at its ends, the values are those within it."""
        # nothing was before the start of a run that its first instant could still belong to
        inside = float(np.nextafter(start, end)) if start else start
        self._earliest, self._latest = inside, max(inside, float(np.nextafter(end, start)))
        self.acting = tuple(load for load in self.loads if load.state_count or load.acts(start, end))

    # ---- prescribed rates that jump

    def prescribed_rates(self, t: float) -> Floats:
        """Rates of the joints that move as prescribed (inputs,); of none without such."""
        if self.constrained is None or self.path is None:
            return np.zeros(0)
        return self.path.at(self.clock(t)).v

    def struck(self, t: float, y: Floats, before: Floats) -> Floats | None:
        """The state right after prescribed rates jumped from those of before; None if they did not.

        The motors' impulses p strike everything that is free: M dv = B p + J^T l with the given jumps of the driven
        rates, and J dv = 0 in loops. That is how accelerations follow from those of the drives, but for what does not
        depend on them. The work of an impulse is p times the mean of the rates before and after.
        """
        jump = self.prescribed_rates(t) - before
        if self.constrained is None or not np.any(np.abs(jump) > ROUNDED * (1 + np.abs(before))):
            return None
        q, v = self._expanded(t, y)
        still, none = np.zeros_like(v), np.zeros_like(jump)
        (p, dv), (p_none, dv_none) = (self.constrained.solve(q, still, a) for a in (jump, none))
        out = y.copy()
        out[self._v] += dv - dv_none
        # expanded with the rates of now; those of before are so much less
        mean = self.constrained.expand(v[self.constrained.driven] - jump / 2, (y + out)[self._v] / 2)
        out[self.layout.work] += float((self.arm.B @ (p - p_none)) @ mean)
        return out

    @property
    def span(self) -> tuple[float, float]:
        """First and last time of the interval."""
        return self._earliest, self._latest

    @property
    def can_wait(self) -> bool:
        """Whether efforts follow from times and states alone, and may be found for many intervals at once."""
        return not self.loads and self.drive.next_tick(0.0) == np.inf

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """Inside, times are taken as they are; where loads act that come and go, the interval stays."""
        before = self._earliest, self._latest
        if not self.loads:
            self._earliest, self._latest = -np.inf, np.inf
        try:
            yield
        finally:
            self._earliest, self._latest = before

    def clock(self, t: float) -> float:
        """A time, kept inside the interval."""
        return min(max(t, self._earliest), self._latest)

    def clocks(self, times: Floats) -> Floats:
        """Times, kept inside the interval."""
        return np.minimum(np.maximum(times, self._earliest), self._latest)

    @property
    def traced_forward(self) -> Traced:
        """What gives the accelerations; where joints are prescribed, their efforts first."""
        return self.loops.traced_forward(self._held, self.rows)

    def change_rows(self, t: float, y: Floats) -> bool:
        """Let ``traced_forward`` use the rows of over-constrained loops that are best at a state; False if it does."""
        if not self.loops.redundant or not np.isfinite(y).all():
            return False
        before, best = self.rows, self.loops.rows_at(self._expanded(t, y)[0])
        if before is not None and before.kept == best.kept:
            if before.is_last:
                return False
            best = before.to_the_end()
        self.rows = best
        return True

    # ---- first order

    def rates(self, t: float, y: Floats) -> Floats:
        """f(t, y); not finite where the robot is not, as in a trial step that diverges."""
        if not np.isfinite(y).all():
            # neither drives nor loads are asked about a state that is none
            return np.full(self.size, np.nan)
        try:
            return self._rates(t, y) if self.constrained is None else self._constrained_rates(t, y)
        except LoopError as error:
            self.diverged = str(error)
        except (FloatingPointError, np.linalg.LinAlgError):
            pass
        return np.full(self.size, np.nan)

    def _rates(self, t: float, y: Floats) -> Floats:
        out, at = np.empty(self.size), self.layout
        q, v, x = y[self._q], y[self._v], y[self._x]
        t = self.clock(t)
        driven, loads = self._driven(t, q, v, x), self._loads(t, q, v, x)
        out[at.work], out[at.loads] = driven.supplied, loads.supplied
        out[self._q] = v
        out[self._v] = self._forward(q, v, driven.force + loads.force if self.acting else driven.force)
        out[self._x] = np.concatenate([driven.rates, loads.rates])
        out[at.loss] = self.arm.lost_power(q, v) + driven.lost + loads.lost
        return out

    def accelerations(self, t: float, states: Floats) -> Floats:
        """Accelerations of what moves (states, count) at a time, for several states; no numbers where none exist."""
        if self.constrained is not None:
            return np.array([self.rates(t, y)[self._v] for y in states])
        q, v, times = states[:, self._q], states[:, self._v], np.full(len(states), self.clock(t))
        try:
            x = states[:, self._x]
            f = self.drive.along(times, q, v, x[:, self._own[0]]).efforts @ self.arm.B.T
            if self.acting:
                f = f + self.forces(times, q, v, x)
            if np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(f).all():
                return np.array([self.loops.forward(*each) for each in zip(q, v, f, strict=True)])
        except LoopError as error:
            self.diverged = str(error)
        except (FloatingPointError, np.linalg.LinAlgError):
            pass
        return np.full((len(states), self.count), np.nan)

    def _forward(self, q: Floats, v: Floats, f: Floats) -> Floats:
        """Accelerations of all coordinates; gaps of loops decay."""
        if not np.isfinite(q @ q + v @ v + f @ f):
            return np.full(len(q), np.nan)
        return self.loops.forward(q, v, f)

    def _constrained_rates(self, t: float, y: Floats) -> Floats:
        out, at = np.empty(self.size), self.layout
        assert self.constrained is not None
        assert self.path is not None
        t, desired = self.clock(t), self.path.at(self.clock(t))
        expand = self.constrained.expand
        q, v = expand(desired.q, y[self._q]), expand(desired.v, y[self._v])
        loads = self._loads(t, q, v, y[self._x])
        tau, a = self.constrained.solve(q, v, desired.a, loads.force)
        out[self._q], out[self._v], out[self._x] = y[self._v], a, loads.rates
        out[at.work] = float((self.arm.B @ tau) @ v)
        out[at.loads] = loads.supplied
        out[at.loss] = self.arm.lost_power(q, v) + loads.lost
        return out

    def _driven(self, t: float, q: Floats, v: Floats, x: Floats) -> Pushed:
        """What the drive does at an instant."""
        found = self.drive.at(t, q, v, x[self._own[0]])
        return _pushed(found, self.arm.B @ np.array(found.efforts, dtype=float), v)

    def _loads(self, t: float, q: Floats, v: Floats, x: Floats) -> Pushed:
        """What all loads do at an instant."""
        total = Pushed(np.zeros(self.arm.size), np.zeros(0), 0.0, 0.0)
        for load, own in zip(self.loads, self._own[1:], strict=True):
            if load in self.acting:
                found = load.at(t, q, v, x[own])
                one = _pushed(found, np.array(found.efforts, dtype=float), v)
                rates = np.concatenate([total.rates, one.rates])
                total = Pushed(total.force + one.force, rates, total.lost + one.lost, total.supplied + one.supplied)
        return total

    def forces(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        """Generalised forces (times, n) of all loads at several instants and states; without any it has no columns."""
        return self.loads_along(times, q, v, x).force

    def loads_along(self, times: Floats, q: Floats, v: Floats, x: Floats) -> LoadsAlong:
        """What all loads do at several instants and states."""
        force = np.zeros((len(times), self.arm.size if self.loads else 0))
        stored, wrenches = np.zeros((len(times), 1)), [np.zeros((len(times), 0))]
        for load, own in zip(self.loads, self._own[1:], strict=True):
            signals = load.signals(times)
            found = on_columns(load, q, v, x[:, own], signals, load.gains)
            stored[:, 0] += found.balanced
            if load in self.acting:
                force += found.efforts
            if load.frames:
                wrenches.append(load.wrenches(q, v, x[:, own], signals))
        return LoadsAlong(force, stored, np.hstack(wrenches))

    def recentred(self, y: Floats) -> tuple[Floats, Callable[[Floats], Floats]] | None:
        """A state with shorter rotation vectors, and how accelerations go over; None if none is too long."""
        far = [k for k in self.turning if is_far(y[k : k + 3].tolist())]
        if not far:
            return None
        out, n, moved = y.copy(), self.count, {}
        for k in far:
            moved[k] = recentred(y[k : k + 3].tolist(), y[n + k : n + k + 3].tolist())
            out[k : k + 3], out[n + k : n + k + 3] = moved[k].theta, moved[k].rate

        def carried(a: Floats) -> Floats:
            changed = a.copy()
            for k, each in moved.items():
                changed[k : k + 3] = each.acceleration(a[k : k + 3].tolist())
            return changed

        return out, carried

    # ---- looking at a state

    def _expanded(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """All coordinates and rates (n,), as they are integrated."""
        if self.constrained is None:
            return y[self._q], y[self._v]
        assert self.path is not None
        desired = self.path.at(self.clock(t))
        expand = self.constrained.expand
        return expand(desired.q, y[self._q]), expand(desired.v, y[self._v])

    def coordinates(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """All coordinates and rates (n,), with closed loops."""
        q, v = self._expanded(t, y)
        return self.loops.corrected(q, v, self._held)

    def motions(self, times: Floats, states: Floats) -> tuple[Floats, Floats, Desired | None]:
        """All coordinates and rates at several instants (rows, n), with closed loops, and what is desired there."""
        desired = None if self.path is None else self.path.many(times)
        q, v = states[:, self._q].copy(), states[:, self._v].copy()
        if self.constrained is not None:
            assert desired is not None
            q, v = self.constrained.expand(desired.q, q), self.constrained.expand(desired.v, v)
        return *self.loops.corrected(q, v, self._held), desired

    def moments(self, times: Floats, states: Floats) -> Moments:
        """Everything about several instants."""
        arm = self.arm
        times = self.clocks(times)
        q, v, desired = self.motions(times, states)
        x = states[:, self._x]
        loads = self.loads_along(times, q, v, x)
        force, stored = loads.force, loads.stored
        if self.constrained is not None:
            assert desired is not None
            tau, _ = self.constrained.solve(q, v, desired.a, force if self.loads else None)
        else:
            driven = self.drive.along(times, q, v, x[:, self._own[0]])
            tau, stored = driven.efforts, stored + driven.balanced[:, None]
        count = len(times)
        reference = np.zeros((count, 0)) if desired is None else desired.q
        found = q, v, tau.reshape(count, len(arm.inputs)), force, reference, loads.wrenches
        return Moments(*found, stored)

    @property
    def loaded(self) -> tuple[str, ...]:
        """The frames on which loads act, in the order of ``LoadsAlong.wrenches``."""
        return tuple(frame for load in self.loads for frame in load.frames)

    # ---- second order: residual and its derivatives, for implicit methods

    def expand(self, t: float, y: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
        """All coordinates, rates and accelerations (n,) from those that move."""
        q, v = self._expanded(t, y)
        if self.constrained is None:
            return q, v, a
        assert self.path is not None
        return q, v, self.constrained.expand(self.path.at(self.clock(t)).a, a)

    def residual(self, t: float, y: Floats, a: Floats) -> tuple[Floats, Floats]:
        """What is missing to M a + h = f (count,), and the rates of the drive's states.

        With loops it is a minus the accelerations that close them, which needs no multipliers.
        """
        if not np.isfinite(y).all():
            return np.full(self.count, np.nan), y[self._x]
        q, v, full = self.expand(t, y, a)
        f, x_dot = self._applied(t, q, v, y[self._x])
        if not self.loops.rows:
            return self._reduce(self.arm.forces(q, v, full) - f), x_dot
        try:
            return a - self._closing(q, v, full, f)[0][self.moving], x_dot
        except LoopError as error:
            self.diverged = str(error)
            return np.full(self.count, np.nan), x_dot

    def explain(self, t: float, y: Floats) -> str:
        """Why an integration could not go on, if loops or a linearised method have to do with it; else empty."""
        if not np.isfinite(y).all():
            return ""
        if wound := self._wound(self._expanded(t, y)[0]):
            return wound
        if not self.loops.rows:
            return next(iter(linearised_limits(self.arm, self._expanded(t, y)[0])), "")
        if not self.diverged:
            # machine code says only that it cannot go on; asked again, the loops say why
            self.rates(t, y)
        if self.diverged:
            return self.diverged
        q, _ = self._expanded(t, y)
        J = self.loops.scaled(q)[:, self.moving]
        condition = condition_of(J, len(J))
        if condition < NEARLY_SINGULAR:
            return ""
        what = "the loops are" if self.constrained is None else "the pose of the drives is"
        return f"{what} nearly singular there, with condition number {condition:.3g}"

    def _wound(self, q: Floats) -> str:
        """Which sprung joint has come to a full turn; else empty."""
        for member in self.arm.mechanism.ball_members:
            turn = float(np.linalg.norm(q[member.start : member.start + 3]))
            if member.joint.drive.stiffness and turn > WOUND:
                return (
                    f"spherical joint '{member.joint.name}' has turned by {turn:.3g} rad: its spring counts turns, and "
                    "a rotation vector ends at a full one"
                )
        return ""

    def _closing(self, q: Floats, v: Floats, a: Floats, f: Floats) -> tuple[Floats, Floats]:
        """Accelerations (n,) that close the loops under forces f, and all forces with those of prescribed joints."""
        if self.constrained is None:
            return self.loops.forward(q, v, f), f
        tau, found = self.loops.inverse(q, v, a[self.constrained.driven], f)
        return found, f + self.arm.B @ tau

    def matrices(self, t: float, y: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
        """Derivatives of the residual by the coordinates, rates and accelerations that move (count, count)."""
        q, v, full = self.expand(t, y, a)
        f_q, f_v = self.force_derivatives(t, q, v, y[self._x])
        m = self.moving
        if self.loops.rows:
            f = self._applied(t, q, v, y[self._x])[0]
            found, total = self._closing(q, v, full, f)
            by_q, by_v, by_f = self.loops.sensitivities(q, v, found, total, self._held)
            part = np.ix_(m, m)
            return -(by_q + by_f @ f_q)[part], -(by_v + by_f @ f_v)[part], np.eye(self.count)
        d = self.arm.inverse_derivatives(q, v, full)
        return (
            self._reduce((d.q - f_q)[:, m]),
            self._reduce((d.v - f_v)[:, m]),
            self._reduce(d.a[:, m]),
        )

    def _reduce(self, r: Floats) -> Floats:
        """The equations of the coordinates that move; efforts of prescribed joints are eliminated."""
        if self.constrained is None:
            return r
        free, driven = self.constrained.free, self.constrained.driven
        return np.asarray(r[free] - self.arm.B[free] @ r[driven])

    def _applied(self, t: float, q: Floats, v: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Generalised forces (n,) of motors and loads, and the rates of the drive's states."""
        t = self.clock(t)
        loads = self._loads(t, q, v, x)
        if self.constrained is not None:
            return loads.force, loads.rates
        driven = self._driven(t, q, v, x)
        return driven.force + loads.force, np.concatenate([driven.rates, loads.rates])

    def force_derivatives(self, t: float, q: Floats, v: Floats, x: Floats | None = None) -> tuple[Floats, Floats]:
        """Derivatives of the applied forces by q and v (n, n), as difference quotients."""
        n = self.arm.size
        f_q, f_v = np.zeros((n, n)), np.zeros((n, n))
        if not (self.drive.feedback or self.acting):
            return f_q, f_v
        x = self.initial_states() if x is None else x
        f0 = self._applied(t, q, v, x)[0]
        for i in range(n):
            for z, out in ((q, f_q), (v, f_v)):
                step = DIFFERENCE * max(abs(z[i]), 1e-2)
                moved = z.copy()
                moved[i] += step
                pair = (moved, v) if z is q else (q, moved)
                out[:, i] = (self._applied(t, *pair, x)[0] - f0) / step
        return f_q, f_v
