"""The solvers of scipy.integrate, as alternatives and cross-checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    IntegrationError,
    Integrator,
    Piece,
    Settings,
)
from pliant.simulation.state_equations import StateEquations

Rates = Callable[[float, Floats], Floats]

HUGE = 1e300
"""Absolute tolerance of what is not controlled; scipy takes no infinity."""
IMPLICIT = ("Radau", "BDF")
"""Solvers that take df/dy from outside; LSODA finds its own."""
DIFFERENCE = float(np.sqrt(np.finfo(float).eps))
"""Part of the size of a state by which it is moved to see what depends on it."""


class ScipySolver(Integrator):
    """``scipy:RK45``, ``scipy:DOP853``, ``scipy:Radau``, ``scipy:BDF``, ``scipy:LSODA`` ...

    Solvers with a history begin it anew after a jump of the equations and after a resumption.
    """

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings, kind: str) -> None:
        super().__init__(equations, t, y, settings)
        self.name, self.kind = f"scipy:{kind}", kind
        self.solver: Any = None
        self.until = t
        self.h: float | None = settings.step

    @property
    def step(self) -> float:
        size = self.solver.step_size if self.solver is not None else None
        return float(size) if size else float(self.h or 0.0)

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y, self.solver = t, y, None

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.solver = None

    def _begin(self, until: float) -> None:
        import scipy.integrate

        settings = self.settings
        absolute = np.minimum(settings.tolerance.absolute, HUGE)
        first = None if self.h is None else min(self.h, until - self.t)
        self.solver = getattr(scipy.integrate, self.kind)(
            self.rates,
            self.t,
            self.y,
            until,
            rtol=settings.tolerance.relative,
            atol=absolute,
            max_step=settings.max_step,
            first_step=first,
            **({"jac": self._slopes} if self.kind in IMPLICIT else {}),
        )
        self.until = until

    def _slopes(self, t: float, y: Floats) -> Floats:
        """df/dy by differences: those of scipy are ten times as wide with every look at a state that acts on nothing.

        Nothing depends on balances, which are not controlled.
        """
        f, tolerance = self.rates(t, y), self.settings.tolerance
        out = np.zeros((len(y), len(y)))
        for k in np.flatnonzero(np.isfinite(tolerance.absolute)):
            moved = y.copy()
            moved[k] += DIFFERENCE * max(abs(y[k]), tolerance.absolute[k] / tolerance.relative)
            out[:, k] = (self.rates(t, moved) - f) / (moved[k] - y[k])
        return out

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        if self.solver is None or until != self.until:
            self._begin(until)
        try:
            message = self.solver.step()
        except ValueError as error:
            # what its linear algebra says of a Jacobian that is none
            if "infs or NaNs" not in str(error):
                raise
            raise IntegrationError(f"{self.name}: the motion diverges at t = {self.t:.6g} s") from None
        if self.solver.status == "failed":
            raise IntegrationError(f"{self.name}: {message or 'a step failed'} at t = {self.t:.6g} s")
        ends = self.t, float(self.solver.t), self.y, self.solver.y.copy()
        piece = ScipyPiece(self.equations.rates, *ends, self.solver.dense_output())
        self.statistics.accepted(piece.end - piece.start)
        self.statistics.matrices = int(self.solver.nlu)
        self.t, self.y = piece.end, piece.y1
        self.h = self.solver.step_size
        if not np.isfinite(self.y).all():
            raise IntegrationError(f"{self.name}: the motion diverges at t = {self.t:.6g} s")
        return piece


class ScipyPiece(Piece):
    """One step of a solver with its dense output."""

    def __init__(self, rates: Rates, start: float, end: float, y0: Floats, y1: Floats, dense: Any) -> None:
        self.rates, self.start, self.end, self.y0, self.y1, self.dense = rates, start, end, y0, y1, dense

    @property
    def knot_states(self) -> Floats:
        return np.stack([self.y0, self.y1])

    @property
    def knot_rates(self) -> Floats:
        return np.stack([self.rates(self.start, self.y0), self.rates(self.end, self.y1)])

    def __call__(self, t: ArrayLike) -> Floats:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        out = np.asarray(self.dense(times).T).copy()
        out[times <= self.start], out[times >= self.end] = self.y0, self.y1
        return out[0] if np.ndim(t) == 0 else out
