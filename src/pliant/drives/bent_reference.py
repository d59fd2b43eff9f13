"""The state that a regulator keeps a robot in: drives as desired, links as gravity and the desired motion bend them.

Bending is quasi-static: what the desired accelerations of the drives bend, at no rate and without vibrations, which a
regulator damps. It drifts with these accelerations, which an observer must know. Loops are bent as gravity bends them,
and their efforts are those of the desired accelerations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from pliant.analysis.equilibrium import settle
from pliant.analysis.statics import NoEquilibriumError
from pliant.drives.prescribed import PrescribedDynamics
from pliant.errors import ModelError
from pliant.laws import Floats
from pliant.trajectories.path import Path, Surroundings

GRID = 0.01
"""Time between the instants at which bending is found, s; between them it is interpolated."""
LEAST, MOST = 24, 4000
"""Instants of a piece of the motion."""
NEWTON = 12
"""Newton steps of an instant; its neighbour is the start."""
BALANCED = 1e-10
"""Force that is left, of the largest."""
LATE = 1e-9
"""Part of a piece by which its ends are seen from inside."""


class BentReference:
    """Coordinates, rates and efforts of a desired motion over time."""

    def __init__(self, around: Surroundings, path: Path) -> None:
        self.arm, self.path, self.start = around.arm, path, around.start
        self.prescribed = PrescribedDynamics(around.arm)
        end = min(path.end, around.until)
        self.end = end if np.isfinite(end) else 0.0
        inner = [t for t in path.breaks if 0 < t < self.end]
        self.edges = np.array([0.0, *inner, self.end]) if self.end > 0 else np.zeros(1)

    def rest(self, driven: Floats) -> Floats:
        """The bent robot at rest (n,) with its drives at given positions."""
        arm = self.arm
        q = self.start.copy() if arm.loops.rows else arm.reference_pose()
        q[self.prescribed.driven] = driven
        try:
            return settle(arm, q).q
        except NoEquilibriumError as error:
            raise ModelError(str(error)) from None

    @cached_property
    def _pieces(self) -> list[Any]:
        """For each piece between edges: free coordinates, their rates and the efforts, as one spline of time."""
        from scipy.interpolate import make_interp_spline

        pieces = []
        before: Floats | None = None
        for a, b in zip(self.edges[:-1], self.edges[1:], strict=True):
            count = int(np.clip(np.ceil((b - a) / GRID), LEAST, MOST))
            inside = (b - a) * LATE
            t = np.linspace(a + inside, b - inside, count + 1)
            desired = self.path.many(t)
            free = self.prescribed.free
            q, still = np.empty((len(t), self.arm.size)), np.zeros((len(t), len(free)))
            v, a_d = self.prescribed.expand(desired.v, still), self.prescribed.expand(desired.a, still)
            for k in range(len(t)):
                q[k] = before = self._bent(desired.q[k], v[k], a_d[k], before)
            if self.arm.loops.rows:
                rates = make_interp_spline(t, q[:, free], k=5).derivative()(t)
                v = self.prescribed.expand(desired.v, rates)
                q, v = self.arm.loops.corrected(q, v, tuple(self.prescribed.driven.tolist()))
            tau = np.array([self._efforts(*row) for row in zip(q, v, a_d, strict=True)])
            pieces.append(make_interp_spline(t, np.hstack([q[:, free], v[:, free], tau]), k=5))
        return pieces

    def _bent(self, q_d: Floats, v: Floats, a: Floats, near: Floats | None) -> Floats:
        """Coordinates (n,) of the robot that rates and accelerations (n,) bend, from those of an instant before."""
        if self.arm.loops.rows or near is None:
            rest = self.rest(q_d)
            if self.arm.loops.rows:
                return rest
            near = rest
        arm, free, driven = self.arm, self.prescribed.free, self.prescribed.driven
        q = near.copy()
        q[driven] = q_d
        B = arm.B[free]
        for _ in range(NEWTON):
            f = arm.forces(q, v, a)
            # efforts of the drives are no part of it
            left = f[free] - B @ f[driven]
            if np.abs(left).max(initial=0.0) <= BALANCED * max(np.abs(f).max(initial=0.0), 1e-9):
                return q
            K = arm.inverse_derivatives(q, v, a).q
            q[free] -= np.linalg.solve(K[np.ix_(free, free)] - B @ K[np.ix_(driven, free)], left)
        raise ModelError(
            f"robot '{arm.robot.name}' cannot follow the desired motion: its links, or joints without a drive, find no "
            "balance under the accelerations of the drives; move slower"
        )

    def _efforts(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Efforts of the inputs for accelerations (n,); of loops, for those of the drives."""
        if self.arm.loops.rows:
            return self.prescribed.solve(q, v, a[self.prescribed.driven])[0]
        return np.asarray(self.arm.forces(q, v, a)[self.prescribed.driven])

    @cached_property
    def _last(self) -> Floats:
        """Free coordinates, rates and efforts of the rest at the end."""
        q = self.rest(self.path.at(self.end).q)
        still = np.zeros(self.arm.size)
        tau = self._efforts(q, still, still)
        return np.concatenate([q[self.prescribed.free], still[self.prescribed.free], tau])

    def at(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        """Coordinates, rates (times, n) and efforts (times, inputs)."""
        t = np.asarray(times, dtype=float)
        free = len(self.prescribed.free)
        out = np.tile(self._last, (len(t), 1))
        moving = (t < self.end) | (self.path.end > self.end) & (self.end > 0)
        if moving.any():
            place = np.clip(np.searchsorted(self.edges, t, side="right") - 1, 0, len(self.edges) - 2)
            for k, piece in enumerate(self._pieces):
                own = moving & (place == k)
                if own.any():
                    out[own] = piece(np.clip(t[own], self.edges[k], self.edges[k + 1]))
        desired = self.path.many(np.clip(t, 0.0, None))
        q = self.prescribed.expand(desired.q, out[:, :free])
        v = self.prescribed.expand(desired.v, out[:, free : 2 * free])
        return q, v, out[:, 2 * free :]

    def drift(self, times: Floats) -> Floats:
        """Rates at which bending changes with the desired accelerations (times, n), which are no part of its rates."""
        out = np.zeros((len(times), self.arm.size))
        if self.arm.loops.rows or not self.moves:
            return out
        free = self.prescribed.free
        place = np.searchsorted(self.edges, times, side="right") - 1
        for k, slope in enumerate(self._slopes):
            own = (place == k) & (times < self.end)
            if own.any():
                out[np.ix_(own, free)] = slope(times[own])[:, : len(free)]
        return out

    @cached_property
    def _slopes(self) -> list[Any]:
        return [piece.derivative() for piece in self._pieces]

    @cached_property
    def _travel(self) -> tuple[Floats, Floats, list[Callable[[Floats], Floats]]]:
        """Times, the way that the drives have gone until then as a part of the whole, and smooth curves of it."""
        from scipy.interpolate import CubicHermiteSpline

        times, ways, curves, gone = [np.zeros(1)], [np.zeros(1)], [], 0.0
        for a, b in zip(self.edges[:-1], self.edges[1:], strict=True):
            inside = (b - a) * LATE
            t = np.linspace(a + inside, b - inside, 257)
            speed = np.linalg.norm(self.path.many(t).v, axis=1)
            # Simpson's rule between every second place
            step = (t[2:] - t[:-2])[::2] / 6 * (speed[:-2] + 4 * speed[1:-1] + speed[2:])[::2]
            way = gone + np.concatenate([[0.0], np.cumsum(step)])
            curves.append(CubicHermiteSpline(t[::2], way, speed[::2]))
            times.append(t[::2])
            ways.append(way)
            gone = float(way[-1])
        return np.concatenate(times), np.concatenate(ways), curves

    @property
    def moves(self) -> bool:
        """Whether the drives go anywhere."""
        return bool(self._travel[1][-1] > 0)

    def part(self, times: Floats) -> Floats:
        """The part of the way that is done at times (times,), 0 to 1."""
        _, way, curves = self._travel
        out = np.full(len(times), float(way[-1]))
        place = np.searchsorted(self.edges, times, side="right") - 1
        for k, curve in enumerate(curves):
            own = place == k
            out[own] = curve(times[own])
        return np.clip(out / (way[-1] or 1.0), 0.0, 1.0)

    def when(self, part: float) -> float:
        """The time at which a part of the way is done."""
        t, way, _ = self._travel
        return float(np.interp(part * way[-1], way, t)) if way[-1] > 0 else float(t[-1])
