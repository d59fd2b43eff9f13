"""Generalised-alpha: implicit, second order, with numerical damping of what is too fast to be followed.

Chung & Hulbert, J. Applied Mechanics 60 (1993) 371; equations of motion satisfied at the end of every step and
accelerations filtered as in Arnold & Bruels, Multibody System Dynamics 18 (2007) 185.

    q1 = q0 + h v0 + h^2 ((1/2 - beta) s0 + beta s1)
    v1 = v0 + h ((1 - gamma) s0 + gamma s1)
    (1 - alpha_m) s1 + alpha_m s0 = (1 - alpha_f) a1 + alpha_f a0
    residual(t1, q1, v1, a1) = 0

The Newton matrix M + gamma' C + beta' K comes from the exact derivatives of the inverse dynamics and is kept as long
as it converges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from pliant.engine.stepping.generalised_alpha import PHASE
from pliant.simulation.integrators.implicit import ImplicitIntegrator
from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    HermitePiece,
    Piece,
    Settings,
    fitting_step,
)
from pliant.simulation.state_equations import StateEquations

MOST_ITERATIONS = 8
CONVERGED = 0.02
"""Weighted size of the last correction, against 1 for the error of a step."""
SLOW = 0.3
"""Ratio of successive corrections above which the matrix is renewed."""
SAFETY, LEAST_FACTOR, LARGEST_FACTOR = 0.9, 0.3, 2.0
WORTH = 1.25
"""A step grows only by at least this factor: every change costs a factorisation."""


class _Trial(NamedTuple):
    """The end of a step: state, acceleration, filtered acceleration, weighted error."""

    y: Floats
    a: Floats
    s: Floats
    error: float


class GeneralisedAlpha(ImplicitIntegrator):
    """The method for stiff models."""

    name = "generalised-alpha"

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        rho = settings.radius
        self.alpha_m = (2 * rho - 1) / (rho + 1)
        self.alpha_f = rho / (rho + 1)
        self.gamma = 0.5 + self.alpha_f - self.alpha_m
        self.beta = 0.25 * (1 + self.alpha_f - self.alpha_m) ** 2
        self._state(t, y)

    def _state(self, t: float, y: Floats) -> None:
        n = self.equations.count
        self.t, self.y, self.f = t, y, self.rates(t, y)
        self.a = self.f[n : 2 * n].copy()
        self.s = self.a.copy()
        self.factored_h = 0.0

    def restart(self, t: float, y: Floats) -> None:
        self._state(t, y)

    def retake(self, y: Floats, carried: Callable[[Floats], Floats]) -> None:
        filtered = carried(self.s)
        self._state(self.t, y)
        self.s = filtered

    def memory(self) -> dict[str, Any]:
        return {**super().memory(), "f": self.f, "a": self.a, "s": self.s}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.f, self.a, self.s = (np.array(memory[key]) for key in ("f", "a", "s"))

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        left = until - self.t
        while True:
            h, cut = fitting_step(self.step, left)
            t = until if cut else self.t + h
            trial = self._solve(t, h)
            if trial is not None and trial.error <= 1.0:
                break
            self.statistics.rejected += 1
            factor = 0.25 if trial is None else max(SAFETY * trial.error ** (-1 / 3), LEAST_FACTOR)
            self.h = h * factor
            self.refuse_step(self.h)
        factor = min(SAFETY * max(trial.error, 1e-6) ** (-1 / 3), LARGEST_FACTOR)
        if factor > WORTH or factor < 1.0:
            self.h = max(h * factor, self.h) if h < self.h else h * factor
        f = self.rates(t, trial.y)
        # drive states and energies by the trapezoidal rule
        rest = self.equations.layout.rest
        trial.y[rest] = self.y[rest] + h / 2 * (self.f[rest] + f[rest])
        piece = HermitePiece(self.t, t, self.y, trial.y, self.f, f, self.equations.count)
        moved = (trial.y - self.y)[: 2 * self.equations.count]
        self.t, self.y, self.f, self.a, self.s = t, trial.y, f, trial.a, trial.s
        self.statistics.accepted(h)
        self._carry(moved, h)
        return piece

    def _carry(self, moved: Floats, h: float) -> None:
        """Carry the error of the run over a step that was taken, and add its own."""
        # the matrix may be that of another step
        part = self.factored_h * sqrt(self.beta * (1 - self.alpha_f) / (1 - self.alpha_m))
        ratio = h / part
        own = (PHASE[0] + PHASE[1] * (self.alpha_f - self.alpha_m) ** 2) * ratio * ratio
        error, change = self.carried[: 2 * self.equations.count], self.changes(self.a, part)
        self.carry(error + change(own * change(moved) + ratio * error))

    def _solve(self, t: float, h: float) -> _Trial | None:
        """Newton iterations for one step; None if they do not converge."""
        # a step that shrinks or grows a little, as before an end, keeps its matrix
        if not self.factored_h or not 0.8 < h / self.factored_h < 1.25:
            if not self.factored_h:
                self._evaluate(self.a)
            self._factor(h)
        for fresh in (False, True):
            trial = self._iterate(t, h)
            if trial is not None or fresh:
                return trial
            self._evaluate(self.a)
            self._factor(h)
        return None

    def _matrix(self, h: float) -> Floats:
        K, C, M = self.derivatives
        ratio = (1 - self.alpha_f) / (1 - self.alpha_m)
        return np.asarray(M + h * self.gamma * ratio * C + h * h * self.beta * ratio * K)

    def _iterate(self, t: float, h: float) -> _Trial | None:
        n = self.equations.count
        m, f, gamma, beta = self.alpha_m, self.alpha_f, self.gamma, self.beta
        ratio = (1 - f) / (1 - m)
        y0, a0, s0 = self.y, self.a, self.s
        rest = self.equations.layout.drive
        a = a0.copy()
        s = (f * a0 - m * s0) / (1 - m) + ratio * a
        y = y0.copy()
        y[:n] += h * y0[n : 2 * n] + h * h * ((0.5 - beta) * s0 + beta * s)
        y[n : 2 * n] += h * ((1 - gamma) * s0 + gamma * s)
        before = np.inf
        for k in range(MOST_ITERATIONS):
            self.statistics.evaluations += 1
            r, x_dot = self.equations.residual(t, y, a)
            if not np.isfinite(r).all():
                return None
            step = self.solve(-r)
            a += step
            s += ratio * step
            y[:n] += h * h * beta * ratio * step
            y[n : 2 * n] += h * gamma * ratio * step
            if self.equations.states:
                y[rest] = y0[rest] + h / 2 * (self.f[rest] + x_dot)
            size = self._size(h * h * beta * ratio * step, y)
            rate = size / before if k else 0.0
            if size < CONVERGED and rate < 1.0:
                return _Trial(y, a, s, self._size((self.beta - 1 / 6) * h * h * (a - a0), y))
            if k > 1 and rate > SLOW and size > CONVERGED:
                return None
            before = size
        return None

    def _size(self, dq: Floats, y: Floats) -> float:
        """Weighted size of a change of the coordinates."""
        n = self.equations.count
        tolerance = self.settings.tolerance
        scale = tolerance.absolute[:n] + tolerance.relative * np.maximum(np.abs(self.y[:n]), np.abs(y[:n]))
        weighted = dq / scale
        return float(np.sqrt(weighted @ weighted / max(n, 1)))
