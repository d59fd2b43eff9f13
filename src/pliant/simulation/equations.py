"""The equations of motion with their drive as a first-order system y' = f(t, y).

y = [q, v, x, W_drive, W_loads, D]: coordinates and rates that are integrated, the drive's own states, the work of the
motors and of the loads, and the energy that friction and damping took. So every run carries its own energy balance

    E(t) - E(0) = W_drive + W_loads - D.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.simulation.constrained import ConstrainedDynamics
from pliant.simulation.drives.drive import ActiveDrive
from pliant.simulation.drives.prescribed import PrescribedJoints
from pliant.simulation.loads import Load
from pliant.simulation.trajectories.path import Path

Floats = NDArray[np.float64]

BALANCES = 3
"""Number of energies at the end of y."""
DIFFERENCE = 1e-6
"""Relative step of the difference quotients of forces."""


@dataclass(frozen=True)
class Friction:
    """The power that the robot loses: v D v and dry friction."""

    D: Floats
    rows: Floats
    coulomb: Floats
    smoothing: Floats

    @classmethod
    def of(cls, arm: Dynamics) -> Friction:
        rows, coulomb, smoothing = [], [], []
        for link in arm.tree.links:
            joint = link.constants.joint
            if link.kind.joint != "fixed" and joint.coulomb:
                row = np.zeros(arm.size)
                row[link.own] = [link.kind.sign, *link.constants.motor_row]
                rows.append(row)
                coulomb.append(float(joint.coulomb))
                smoothing.append(float(joint.smoothing))
        D = arm.damping if arm.damping.any() else np.zeros((0, 0))
        return cls(D, np.array(rows).reshape(-1, arm.size), np.array(coulomb), np.array(smoothing))

    def power(self, v: Floats) -> float:
        """What is lost per second."""
        lost = float(v @ (self.D @ v)) if self.D.size else 0.0
        if self.coulomb.size:
            rates = self.rows @ v
            lost += float((self.coulomb * np.tanh(rates / self.smoothing)) @ rates)
        return lost


class Moment(NamedTuple):
    """Everything about one instant: coordinates, rates, efforts and forces of loads."""

    q: Floats
    v: Floats
    tau: Floats
    force: Floats


class Equations:
    """The system that integrators advance; ``size`` entries in y, the first ``count`` of them coordinates."""

    def __init__(self, arm: Dynamics, drive: ActiveDrive, loads: Sequence[Load] = ()) -> None:
        self.arm, self.drive, self.loads = arm, drive, tuple(loads)
        self.friction = Friction.of(arm)
        self.constrained: ConstrainedDynamics | None = None
        self.path: Path | None = drive.path
        if isinstance(drive, PrescribedJoints):
            self.constrained = ConstrainedDynamics(arm)
        self.moving = np.arange(arm.size) if self.constrained is None else self.constrained.free
        self.count = len(self.moving)
        self.states = drive.states
        self.size = 2 * self.count + self.states + BALANCES
        self._x = slice(2 * self.count, 2 * self.count + self.states)
        self._earliest, self._latest = -np.inf, np.inf

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which the equations are not smooth."""
        times = {*self.drive.breaks, *(t for load in self.loads for t in load.breaks)}
        return tuple(sorted(times))

    def start(self, q: Floats, v: Floats) -> Floats:
        """y at the start."""
        y = np.zeros(self.size)
        y[: self.count], y[self.count : 2 * self.count] = q[self.moving], v[self.moving]
        y[self._x] = self.drive.initial()
        return y

    def enter(self, start: float, end: float) -> None:
        """Times are now seen from inside an interval: at its ends, the values are those within it."""
        self._earliest, self._latest = start, float(np.nextafter(end, start))

    def clock(self, t: float) -> float:
        """A time, kept inside the interval."""
        return min(max(t, self._earliest), self._latest)

    # ---- first order

    def rates(self, t: float, y: Floats) -> Floats:
        """f(t, y); not finite where the robot is not."""
        n = self.count
        out = np.empty(self.size)
        if self.constrained is not None:
            return self._constrained_rates(t, y, out)
        q, v, x = y[:n], y[n : 2 * n], y[self._x]
        t = self.clock(t)
        tau, x_dot = self.drive.act(t, q, v, x)
        f = self.arm.B @ tau
        out[-3], out[-2] = float(f @ v), 0.0
        if self.loads:
            loads = self._loads(t, q, v)
            out[-2] = float(loads @ v)
            f = f + loads
        out[:n] = v
        try:
            out[n : 2 * n] = self.arm.forward(q, v, force=f)
        except (FloatingPointError, ValueError):
            # a trial step went astray; the integrator sees it and takes a smaller one
            out.fill(np.nan)
            return out
        out[self._x] = x_dot
        out[-1] = self.friction.power(v)
        return out

    def _constrained_rates(self, t: float, y: Floats, out: Floats) -> Floats:
        n = self.count
        moment, a = self._prescribed(t, y)
        out[:n], out[n : 2 * n] = y[n : 2 * n], a
        out[-3] = float((self.arm.B @ moment.tau) @ moment.v)
        out[-2] = float(moment.force @ moment.v)
        out[-1] = self.friction.power(moment.v)
        return out

    def _prescribed(self, t: float, y: Floats) -> tuple[Moment, Floats]:
        assert self.constrained is not None
        assert self.path is not None
        n, t = self.count, self.clock(t)
        desired = self.path.at(t)
        q = self.constrained.expand(desired.q, y[:n])
        v = self.constrained.expand(desired.v, y[n : 2 * n])
        force = self._loads(t, q, v)
        tau, a = self.constrained.solve(q, v, desired.a, force)
        return Moment(q, v, tau, force), a

    def _loads(self, t: float, q: Floats, v: Floats) -> Floats:
        force = np.zeros(self.arm.size)
        for load in self.loads:
            load.add(t, q, v, force)
        return force

    # ---- looking at a state

    def coordinates(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """All coordinates and rates (n,)."""
        n = self.count
        if self.constrained is None:
            return y[:n], y[n : 2 * n]
        assert self.path is not None
        desired = self.path.at(self.clock(t))
        expand = self.constrained.expand
        return expand(desired.q, y[:n]), expand(desired.v, y[n : 2 * n])

    def moment(self, t: float, y: Floats) -> Moment:
        """Coordinates, rates, efforts and forces at an instant."""
        if self.constrained is not None:
            return self._prescribed(t, y)[0]
        q, v = self.coordinates(t, y)
        t = self.clock(t)
        tau = self.drive.act(t, q, v, y[self._x]).tau
        return Moment(q, v, tau, self._loads(t, q, v))

    def reference(self, t: float) -> Floats | None:
        """Desired positions of the inputs, if there are any."""
        return None if self.path is None else self.path.at(self.clock(t)).q

    # ---- second order: residual and its derivatives, for implicit methods

    def expand(self, t: float, y: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
        """All coordinates, rates and accelerations (n,) from those that move."""
        n = self.count
        if self.constrained is None:
            return y[:n], y[n : 2 * n], a
        assert self.path is not None
        desired = self.path.at(self.clock(t))
        parts = zip(desired, (y[:n], y[n : 2 * n], a), strict=True)
        q, v, full = (self.constrained.expand(driven, free) for driven, free in parts)
        return q, v, full

    def residual(self, t: float, y: Floats, a: Floats) -> tuple[Floats, Floats]:
        """What is missing to M a + h = f (count,), and the rates of the drive's states."""
        q, v, full = self.expand(t, y, a)
        f, x_dot = self._applied(t, q, v, y[self._x])
        return self._reduce(self.arm.forces(q, v, full) - f), x_dot

    def matrices(self, t: float, y: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
        """Derivatives of the residual by the coordinates, rates and accelerations that move (count, count)."""
        q, v, full = self.expand(t, y, a)
        d = self.arm.inverse_derivatives(q, v, full)
        f_q, f_v = self.force_derivatives(t, q, v, y[self._x])
        m = self.moving
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
        f = self._loads(t, q, v)
        if self.constrained is not None:
            return f, x
        tau, x_dot = self.drive.act(t, q, v, x)
        return f + self.arm.B @ tau, x_dot

    def force_derivatives(self, t: float, q: Floats, v: Floats, x: Floats | None = None) -> tuple[Floats, Floats]:
        """Derivatives of the applied forces by q and v (n, n), as difference quotients."""
        n = self.arm.size
        f_q, f_v = np.zeros((n, n)), np.zeros((n, n))
        if not (self.drive.feedback or self.loads):
            return f_q, f_v
        x = self.drive.initial() if x is None else x
        f0 = self._applied(t, q, v, x)[0]
        for i in range(n):
            for z, out in ((q, f_q), (v, f_v)):
                step = DIFFERENCE * max(abs(z[i]), 1e-2)
                moved = z.copy()
                moved[i] += step
                pair = (moved, v) if z is q else (q, moved)
                out[:, i] = (self._applied(t, *pair, x)[0] - f0) / step
        return f_q, f_v
