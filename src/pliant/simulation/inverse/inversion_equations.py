"""The equations of stable inversion at instants: motions that need no forces but those of the drives, on a path.

    N^T (M a + h - Jc^T lambda - f) = 0,   p(q) = y(t),   phi(q) = 0

N spans what no drive acts on. All residuals are in metres: forces count by the motion of the frame that they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.loads.disturbance import FrameWrench
from pliant.loads.load import Load
from pliant.simulation.inverse.frame_path import FramePath, WantedFrames
from pliant.simulation.inverse.spline_least_squares import Levels

Floats = NDArray[np.float64]

WITH_PASSIVE = 50.0
"""rad/s: vibration by which inertia counts beside stiffness where joints are passive."""
INDEFINITE = 1e-12
"""Least eigenvalue of the weights, of the largest, that needs no ridge ..."""
RIDGE = 1e-4
"""... and the ridge, of the median diagonal."""
DIFFERENCE = 1e-6
"""Change of a coordinate for derivatives of loads, of its size."""


class Instants(NamedTuple):
    """Times with what is known there: where frames shall be, and values of signals of each load."""

    wanted: WantedFrames
    signals: tuple[Floats, ...]

    @property
    def times(self) -> Floats:
        return self.wanted.times


class Slopes(NamedTuple):
    """Derivatives of residuals by q, v, a and by forces of closures, each (count, rows, ...)."""

    q: Floats
    v: Floats
    a: Floats
    closing: Floats


class InversionEquations:
    """Residuals and their derivatives.

    arm     the flexible robot
    path    where its frames shall be
    loads   laws that act beside the drives
    span    (s, s): signals of loads hold their first value before it, and their last one after it
    pose    a configuration (n,) near the path, for sizes
    rate    rad/s: by which inertia counts beside stiffness
    """

    def __init__(
        self,
        arm: Dynamics,
        path: FramePath,
        loads: Sequence[Load],
        span: tuple[float, float],
        pose: Floats,
        rate: float,
    ) -> None:
        self.arm, self.path, self.loads, self.span = arm, path, tuple(loads), span
        self.kept = arm.loops.kept_at(pose) if arm.loops.rows else []
        self.driven = [arm.names.index(name) for name in arm.inputs]
        self.passive = self._passive()
        self.N = _null_space(arm.B.T)
        self.weight = self._weight(pose, WITH_PASSIVE if self.passive else rate)
        if arm.loops.rows:
            self.row_scale = np.where(arm.loops.row_is_length, 1.0, path.length)[self.kept]

    @property
    def unknowns(self) -> int:
        """Coordinates and forces of closures."""
        return self.arm.size + len(self.kept)

    def _passive(self) -> tuple[str, ...]:
        """Joints that neither a drive nor a spring holds."""
        arm = self.arm
        held = np.abs(arm.B).any(axis=1) | (np.diag(arm.stiffness) > 0)
        return tuple(arm.names[k] for k in arm.mechanism.joints if not held[k])

    def _weight(self, pose: Floats, rate: float) -> Floats:
        """s C^-1 N^T with C C^T = N^T (K + w0^2 M) N: forces as motions of the frames, m (n - inputs, n)."""
        from scipy.linalg import solve_triangular

        arm, N = self.arm, self.N
        A = N.T @ (arm.stiffness + rate**2 * arm.mass_matrix(pose)) @ N
        if not len(A):
            return np.asarray(N.T)
        size = 1.0 / np.sqrt(np.maximum(np.diag(A), RIDGE**2 * np.median(np.diag(A))))
        if np.linalg.eigvalsh(A * np.outer(size, size))[0] < INDEFINITE:
            A = A + RIDGE * np.median(np.diag(A)) * np.eye(len(A))
        C = np.linalg.cholesky(A)
        J = np.concatenate([self.path.scaled(arm.jacobian(name, pose[None]))[0] for name in self.path.frames])
        shown = float(np.linalg.norm(solve_triangular(C, (J @ N).T, lower=True), 2))
        return np.asarray((shown or 1.0) * solve_triangular(C, N.T, lower=True))

    def at(self, times: Floats) -> Instants:
        """What is known at times."""
        return Instants(self.path.at(times), self._signals(times))

    def wrenches(self, time: float) -> dict[str, Floats]:
        """Frame -> force and moment (6,) on it at a time."""
        out: dict[str, Floats] = {}
        for load, signals in zip(self.loads, self._signals(np.array([time])), strict=True):
            if isinstance(load, FrameWrench):
                out[load.frame] = out.get(load.frame, np.zeros(6)) + signals[0]
        return out

    def _signals(self, times: Floats) -> tuple[Floats, ...]:
        inside = np.clip(times, self.span[0], np.nextafter(self.span[1], self.span[0]))
        return tuple(load.signals(inside) for load in self.loads)

    # ---- residuals

    def missing(self, at: Instants, x: Levels, closing: Floats) -> Floats:
        """Forces that nothing but the drives can give (count, n)."""
        out = self.arm.forces(*x) - self.acting(at, x.q, x.v)
        if self.kept:
            out -= np.einsum("krn,kr->kn", self.arm.loops.jacobian(x.q)[:, self.kept], closing)
        return np.asarray(out)

    def efforts(self, at: Instants, x: Levels, closing: Floats) -> Floats:
        """What the drives do (count, inputs)."""
        return np.asarray(self.missing(at, x, closing) @ np.linalg.pinv(self.arm.B).T)

    def acting(self, at: Instants, q: Floats, v: Floats) -> Floats:
        """Generalised forces of loads (count, n)."""
        from pliant.laws import on_columns

        total, none = np.zeros_like(q), np.zeros((len(q), 0))
        for load, signals in zip(self.loads, at.signals, strict=True):
            total += on_columns(load, q, v, none, signals, list(load.gains)).efforts
        return total

    def off_path(self, at: Instants, q: Floats) -> Floats:
        """How far the frames are from where they shall be, m (count, rows)."""
        found, wanted = self.arm.poses(self.path.frames, q), at.wanted
        out = []
        for k in range(len(self.path.frames)):
            out.append(found.position[:, k] - wanted.positions[:, k])
            if self.path.turned:
                E = found.rotation[:, k] @ np.swapaxes(wanted.rotations[:, k], 1, 2)
                turn = [E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]]
                out.append(0.5 * self.path.length * np.stack(turn, axis=1))
        return np.concatenate(out, axis=1)

    def led(self, at: Instants, q: Floats) -> Floats:
        """How far the frames are off, in directions that drives move, m (count, rank)."""
        return np.asarray(np.einsum("kri,kr->ki", at.wanted.led, self.off_path(at, q)))

    def residuals(self, at: Instants, x: Levels, closing: Floats) -> Floats:
        """All residuals, m (count, unknowns)."""
        parts = [self.missing(at, x, closing) @ self.weight.T, self.led(at, x.q)]
        if at.wanted.idle.shape[2]:
            # drives that the frames leave a choice move as those of the rigid robot
            beside = x.q[:, self.driven] - at.wanted.joints
            parts.append(self.path.length * np.einsum("kmi,km->ki", at.wanted.idle, beside))
        if self.kept:
            parts.append(self.arm.loops.gaps(x.q)[:, self.kept] * self.row_scale)
        return np.concatenate(parts, axis=1)

    # ---- derivatives

    def slopes(self, at: Instants, x: Levels, closing: Floats) -> Slopes:
        """Their derivatives; those of loads by differences."""
        arm, n, count = self.arm, self.arm.size, len(x.q)
        by = [np.empty((count, n, n)) for _ in range(3)]
        for k, state in enumerate(zip(*x, strict=True)):
            for out, slope in zip(by, arm.inverse_derivatives(*state), strict=True):
                out[k] = slope
        if self.kept:
            J = arm.loops.jacobian(x.q)[:, self.kept]
            by[0] -= arm.loops.closing_slopes(x.q, closing, self.kept)
        for out, slope in zip(by, self._load_slopes(at, x.q, x.v), strict=False):
            out -= slope
        path = np.concatenate([self.path.scaled(arm.jacobian(name, x.q)) for name in self.path.frames], axis=1)
        rows = [np.einsum("kri,krn->kin", at.wanted.led, path)]
        if at.wanted.idle.shape[2]:
            rows.append(self.path.length * np.swapaxes(at.wanted.idle, 1, 2) @ np.eye(n)[self.driven])
        if self.kept:
            rows.append(J * self.row_scale[:, None])
        geometry = np.concatenate(rows, axis=1)
        nothing = np.zeros_like(geometry)
        forces = [self.weight @ slope for slope in by]
        whole = [np.concatenate([f, g], axis=1) for f, g in zip(forces, (geometry, nothing, nothing), strict=True)]
        pull = np.zeros((count, self.unknowns, len(self.kept)))
        if self.kept:
            pull[:, : len(self.weight)] = -self.weight @ np.swapaxes(J, 1, 2)
        return Slopes(whole[0], whole[1], whole[2], pull)

    def _load_slopes(self, at: Instants, q: Floats, v: Floats) -> tuple[Floats, ...]:
        """Derivatives of the forces of loads by q and v (count, n, n); nothing where none depends on them."""
        if not self.loads:
            return ()
        n, count = self.arm.size, len(q)
        signals = tuple(np.repeat(x, n, axis=0) for x in at.signals)
        out = []
        for seed in range(2):
            sides = []
            for sign in (1.0, -1.0):
                state = [np.repeat(x, n, axis=0) for x in (q, v)]
                state[seed] += sign * np.tile(np.diag(self.sizes), (count, 1))
                spread = at._replace(signals=signals)
                sides.append(self.acting(spread, *state).reshape(count, n, n))
            out.append(np.swapaxes((sides[0] - sides[1]) / (2 * self.sizes[:, None]), 1, 2))
        return tuple(out)

    @cached_property
    def sizes(self) -> Floats:
        """Changes of coordinates for differences (n,)."""
        from pliant.analysis.statics import coordinate_sizes

        return DIFFERENCE * coordinate_sizes(self.arm, self.arm.reference_pose())


def _null_space(A: Floats) -> Floats:
    """Orthonormal columns that A (rows, n) maps to zero; unit vectors where it has zero columns."""
    n = A.shape[1]
    unit, mixed = np.flatnonzero(~A.any(axis=0)), np.flatnonzero(A.any(axis=0))
    _, sigma, Vt = np.linalg.svd(A[:, mixed])
    rank = int((sigma > 1e-12 * sigma.max(initial=0.0)).sum())
    out = np.zeros((n, len(unit) + len(mixed) - rank))
    out[unit, np.arange(len(unit))] = 1.0
    out[np.ix_(mixed, np.arange(len(unit), out.shape[1]))] = Vt[rank:].T
    return out
