"""CVODE of SUNDIALS through scikit-sundae, as an alternative and cross-check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.simulation.integrators.integrator import (
    NO_TIMES,
    Floats,
    HermitePiece,
    IntegrationError,
    Integrator,
    Piece,
    Settings,
)
from pliant.simulation.integrators.scipy_solver import HUGE
from pliant.simulation.state_equations import StateEquations

MOST_STEPS = 1_000_000


class Sundials(Integrator):
    """Variable-order backward differences (BDF) with error control; it begins anew after a jump."""

    name = "sundials"

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        try:
            import sksundae  # noqa: F401
        except ImportError:
            raise ModuleNotFoundError("the method 'sundials' needs scikit-sundae: pip install scikit-sundae") from None
        self.solver: Any = None
        self.f = self.rates(t, y)
        self.h = settings.step or 0.0

    @property
    def step(self) -> float:
        return self.h

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y, self.f, self.solver = t, y, self.rates(t, y), None

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.f, self.solver = self.rates(self.t, self.y), None

    def _begin(self) -> None:
        from sksundae.cvode import CVODE

        def rates(t: float, y: Floats, out: Floats) -> None:
            out[:] = self.rates(t, y)

        settings = self.settings
        options: dict[str, Any] = {
            "method": "BDF",
            "rtol": settings.tolerance.relative,
            "atol": np.minimum(settings.tolerance.absolute, HUGE),
            "max_num_steps": MOST_STEPS,
        }
        if np.isfinite(settings.max_step):
            options["max_step"] = settings.max_step
        self.solver = CVODE(rates, **options)
        self.solver.init_step(self.t, self.y)

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        if self.solver is None:
            self._begin()
        done = self.solver.step(until, method="onestep", tstop=until)
        # it answers with a short result instead of an exception
        if not done.success:
            raise IntegrationError(f"sundials: {done.message} at t = {self.t:.6g} s")
        t, y = float(done.t), np.array(done.y, dtype=float)
        f = self.rates(t, y)
        piece = HermitePiece(self.t, t, self.y, y, self.f, f, self.equations.count)
        self.h = t - self.t
        self.t, self.y, self.f = t, y, f
        self.statistics.accepted(self.h)
        return piece
