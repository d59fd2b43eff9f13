"""Gauss's collocation of order 32 with error control, for vibrations that are followed over many periods.

``engine.stepping.gauss`` says how a step is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre, integrals, legendre
from pliant.engine.stepping.gauss_numbers import (
    CONVERGED,
    DIFFERENCE,
    FASTEST,
    FOUND,
    GUESS,
    ITERATIONS,
    JUMP,
    KEEP_FROM,
    KEEP_TO,
    LAST,
    MARGIN,
    MEMORY,
    ORDER,
    RELAXED,
    RENEWAL,
    SAFETY,
    SHRINK,
    SLOW,
    SLOWEST,
    SMALL,
    SUBSTEPS,
    YOUNG,
)
from pliant.engine.stepping.stage_modes import StageModes
from pliant.simulation.integrators.integrator import NO_TIMES, Floats, Integrator, Piece, Settings, fitting_step
from pliant.simulation.state_equations import StateEquations

PARTS = np.linspace(0.0, 1.0, SUBSTEPS + 1)
"""Places in a step at which its state and slope are handed out."""


class Stages(NamedTuple):
    """What was found at the stages of a step.

    slopes      (stages, size)
    remainder   what acts on the vibrations beside their stiffness and damping (n, stages)
    iterations  Newton steps that it took
    """

    slopes: Floats
    remainder: Floats
    iterations: int


class Gauss(Integrator):
    """The method for lasting vibrations at small tolerances.

    modes      the vibrations about an earlier state, found ``age`` steps ago; None: they must be found
    remainder  (n, stages) of the step before, of size ``before``; where that is zero it is a guess
    """

    name = "gauss"

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        super().__init__(equations, t, y, settings)
        self.h = settings.first_step
        self.restart(t, y)

    @property
    def step(self) -> float:
        return min(self.h, self.settings.max_step)

    def restart(self, t: float, y: Floats) -> None:
        self.t, self.y, self.f = t, y, self.rates(t, y)
        self.modes: StageModes | None = None
        self.places, self.slopes = y[None], self.f[None]
        self.before, self.rate, self.age, self.limit = 0.0, 1.0, 0, np.inf
        self.owed, self.fewest = 0, ITERATIONS

    def memory(self) -> dict[str, Any]:
        own = np.array([self.h, self.before, self.rate, self.limit, self.age, self.owed, self.fewest])
        kept = {"f": self.f, "own": own, "places": self.places, "slopes": self.slopes}
        if self.modes is not None:
            kept |= {"remainder": self.remainder, **{f"modes.{k}": x for k, x in self.modes._asdict().items()}}
        return {**super().memory(), **kept}

    def recall(self, memory: Mapping[str, Any]) -> None:
        super().recall(memory)
        self.f, self.places, self.slopes = (np.array(memory[name]) for name in ("f", "places", "slopes"))
        self.h, self.before, self.rate, self.limit = (float(x) for x in memory["own"][:4])
        self.age, self.owed, self.fewest = (int(x) for x in memory["own"][4:])
        self.modes = None
        if "remainder" in memory:
            self.remainder = np.array(memory["remainder"])
            self.modes = StageModes(*(np.array(memory[f"modes.{name}"]) for name in StageModes._fields))

    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        left, largest = until - self.t, FASTEST
        while True:
            modes = self.modes or self._renewed()
            h, cut = fitting_step(self.step, left)
            # a trial step may diverge; it is then refused
            with np.errstate(over="ignore", invalid="ignore"):
                found = self._stages(modes, h)
                error = np.inf if found is None else self._error(found.slopes, h)
            if found is not None and error <= 1.0:
                break
            self.statistics.rejected += 1
            largest = 1.0
            if found is None and self.age > YOUNG:
                # vibrations about another state may be to blame
                self.modes, self.before, self.places, self.slopes = None, 0.0, self.y[None], self.f[None]
                continue
            self.h = h * (SHRINK if found is None else max(_allowed(error), SLOWEST))
            if found is None:
                self.limit = MARGIN * h
            self.refuse_step(self.h)
        self.age += 1
        self.fewest = min(self.fewest, found.iterations)
        self.owed += found.iterations - self.fewest
        factor = min(_allowed(error), largest)
        size = min(h if KEEP_FROM < factor < KEEP_TO else h * factor, max(self.limit, h))
        # a step that was shortened by an end says nothing against the size before it
        self.h = max(self.h, size) if cut else size
        self.limit *= RELAXED
        piece = CollocationPiece(self.t, until if cut else self.t + h, self.y, found.slopes)
        self.places, self.slopes = self.y + h * (gauss_legendre().A @ found.slopes), found.slopes
        self.remainder, self.before = found.remainder, h
        self.t, self.y, self.f = piece.end, piece.knot_states[-1], piece.knot_rates[-1]
        if self.owed > RENEWAL:
            self.modes = None
        self.statistics.accepted(h)
        return piece

    def _renewed(self) -> StageModes:
        """Find the vibrations about the state."""
        n = self.equations.count
        moved = np.tile(self.y, (2 * n + 1, 1))
        moved[1:, : 2 * n] += DIFFERENCE * np.eye(2 * n)
        a = self.equations.accelerations(self.t, moved)
        J = (a[1:] - a[0]).T / DIFFERENCE
        self.modes = modes = StageModes.of(-J[:, :n], -J[:, n:])
        self.statistics.matrices += 1
        self.age, self.owed, self.fewest = 0, 0, ITERATIONS
        parts = self.slopes[:, n : 2 * n], self.places[:, :n], self.places[:, n : 2 * n]
        a, q, v = (modes.inverse @ part.T for part in parts)
        acting = a + modes.squares[:, None] * q + modes.damping[:, None] * v
        self.remainder = np.broadcast_to(acting, (n, STAGES)).copy()
        return modes

    def _guess(self, modes: StageModes, h: float) -> tuple[Floats, Floats]:
        """What acts beside the vibrations, as in the step before (n, stages), and what acts with them."""
        gauss, n = gauss_legendre(), self.equations.count
        x = 1 + (2 * gauss.c * h / self.before if self.before else 0 * gauss.c)
        remainder = self.remainder @ gauss.coefficients[:GUESS].T @ legendre(x)[:, :GUESS].T
        q, v = ((modes.inverse @ part)[:, None] for part in (self.y[:n], self.y[n : 2 * n]))
        held_back = modes.squares[:, None] * (q + h * gauss.c * v) + modes.damping[:, None] * v
        return remainder, remainder - held_back

    def _weights(self, h: float) -> Floats:
        """What a change of an acceleration makes of a rate and of a coordinate, in units of their tolerances."""
        tolerance, n = self.settings.tolerance, self.equations.count
        scale = tolerance.absolute + tolerance.relative * np.abs(self.y)
        return np.maximum(h / scale[n : 2 * n], h * h / scale[:n])

    def _stages(self, modes: StageModes, h: float) -> Stages | None:
        """The slopes of a step; None if they are not found."""
        gauss, n, weights = gauss_legendre(), self.equations.count, self._weights(h)
        filters, (remainder, acting) = modes.filters(h), self._guess(modes, h)
        slopes = np.broadcast_to(self.slopes[-1], (STAGES, len(self.y))).copy()
        if len(self.slopes) > 1:
            slopes[:] = self.slopes
        a = slopes[:, n : 2 * n]
        a[:] = (modes.shapes @ _filtered(filters, acting)).T
        before, rate = 0.0, self.rate
        self.rate = 1.0
        for k in range(1, ITERATIONS + 1):
            new = self._evaluated(slopes, h)
            residual = modes.inverse @ (new[:, n : 2 * n] - a).T
            remainder = remainder + residual
            change = (modes.shapes @ _filtered(filters, residual)).T
            a += change
            slopes[:, 2 * n :] = new[:, 2 * n :]
            size = float(np.sqrt(np.mean((change * weights) ** 2)))
            if not np.isfinite(size):
                return None
            if k > 1:
                rate = size / max(before, 1e-300)
            is_near = size < SMALL and size * rate < CONVERGED * (1 - rate)
            if rate < 1 and (is_near or size < FOUND):
                self.rate = max(rate, 1e-6) ** MEMORY
                # rates, and energies that follow them
                slopes[:, :n] = self.y[n : 2 * n] + h * (gauss.A @ a)
                slopes[:, 2 * n :] = self._evaluated(slopes, h)[:, 2 * n :]
                return Stages(slopes, remainder, k)
            if k > 1 and rate >= SLOW:
                return None
            before = size
        return None

    def _evaluated(self, slopes: Floats, h: float) -> Floats:
        """The equations at the stages that accelerations and slopes of further states lead to."""
        gauss, n, at = gauss_legendre(), self.equations.count, self.equations.layout.drive
        slopes[:, :n] = self.y[n : 2 * n] + h * (gauss.A @ slopes[:, n : 2 * n])
        times = (self.t + gauss.c * h).tolist()
        if self.equations.states:
            # their rates belong to these places: those of the places before would come an iteration too late
            states = self.y + h * (gauss.A @ slopes)
            slopes[:, at] = [self.rates(t, y)[at] for t, y in zip(times, states, strict=True)]
        states = self.y + h * (gauss.A @ slopes)
        return np.array([self.rates(t, y) for t, y in zip(times, states, strict=True)])

    def _error(self, slopes: Floats, h: float) -> float:
        """How far the polynomial through the stages may be from the motion; 1 is just acceptable.

        The first coefficient that is left out is smaller than the last ones, by as much as they are than those before.
        """
        n, weights = self.equations.count, self._weights(h)
        coefficients = gauss_legendre().coefficients @ slopes[:, n : 2 * n]
        last = coefficients[-LAST:] * weights
        start = legendre(np.array([-1.0]))[0, :-1] @ coefficients - self.f[n : 2 * n]
        parts = last[: LAST // 2], last[LAST // 2 :], start * weights
        low, high, jump = (float(np.sqrt(np.mean(part**2))) for part in parts)
        worst = max(high * min(1.0, high / max(low, 1e-300)), JUMP * jump)
        return worst / (2 * (2 * STAGES + 1)) if np.isfinite(jump) else np.inf


def _filtered(filters: Floats, x: Floats) -> Floats:
    """Every vibration by its own matrix."""
    return np.asarray((filters @ x[:, :, None])[:, :, 0])


def _allowed(error: float) -> float:
    """Factor of a step that its error alone would allow."""
    return float(SAFETY * max(error, 1e-30) ** (-1 / ORDER))


class CollocationPiece(Piece):
    """One step: the polynomial through its stages, from their slopes (stages, size)."""

    def __init__(self, start: float, end: float, y0: Floats, slopes: Floats) -> None:
        self.start, self.end, self.y0 = start, end, y0
        self._coefficients = gauss_legendre().coefficients @ slopes

    @property
    def knots(self) -> Floats:
        knots = self.start + (self.end - self.start) * PARTS
        knots[-1] = self.end
        return knots

    @property
    def knot_states(self) -> Floats:
        return self._states(PARTS)

    @property
    def knot_rates(self) -> Floats:
        return np.asarray(legendre(2 * PARTS - 1)[:, :-1] @ self._coefficients)

    def __call__(self, t: ArrayLike) -> Floats:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        out = self._states((times - self.start) / (self.end - self.start))
        return out[0] if np.ndim(t) == 0 else out

    def _states(self, s: Floats) -> Floats:
        return np.asarray(self.y0 + (self.end - self.start) * (integrals(s) @ self._coefficients))
