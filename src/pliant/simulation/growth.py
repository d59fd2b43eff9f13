"""Motions that grow: poles right of zero, which implicit steps erase where they are faster than the steps.

Implicit methods damp whatever is much faster than their steps, also what grows (L-stability). A run with one of them is
therefore linearised where it begins and now and then on its way, drive and loads included.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.engine.stepping.steppers import STEPPERS
from pliant.simulation.integrators.integrator import Integrator, Piece
from pliant.simulation.state_equations import StateEquations

Floats = NDArray[np.float64]

DIFFERENCE = 1e-6
"""Step of central difference quotients."""
SLOW_GROWTH = 20.0
"""Rates, 1/s, at which things fall over: nothing needs to be said of them. A pendulum of 2.5 cm falls at this one."""
CLEARLY = 1e-4
"""Part of a pole that is real, from which on it is not the noise of difference quotients."""
PASSED_OVER = 2.0
"""Step times rate of growth beyond which implicit steps of any kind have lost the motion; the esdirk method blows it up
until 8 and erases it beyond."""
JOINTS_FIRST = 10.0
"""Factor of the rates of joints where the coordinate is sought that a growing motion is named after."""
NEXT_LOOK = 10
"""Steps until a run is looked at for the second time; then after twice as many each time."""
LARGE = 300
"""States up to which a run is looked at."""
ERASING = (
    *(stepper.name for stepper in STEPPERS.values() if stepper.erases),
    *("sundials", "scipy:Radau", "scipy:BDF", "scipy:LSODA"),
)
"""Methods that damp what is faster than their steps."""


class Growth(NamedTuple):
    """The motion of a linear model that grows fastest: its pole, 1/s, and the coordinate that moves most in it."""

    pole: complex
    name: str

    @property
    def rate(self) -> float:
        """1/s; zero where nothing grows."""
        return self.pole.real if self.pole.real > CLEARLY * abs(self.pole) else 0.0

    @property
    def words(self) -> str:
        """What grows, and how fast."""
        about = f"{self.pole.real:.3g}"
        if abs(self.pole.imag) > CLEARLY * abs(self.pole):
            about += f" +- {abs(self.pole.imag):.3g} i"
        return f"a motion, mostly of '{self.name}', grows at {self.pole.real:.3g} 1/s (pole {about} 1/s)"


STILL = Growth(0j, "")


def linear_model(equations: StateEquations, t: float, y: Floats) -> Floats:
    """A of x' = A x for coordinates, rates and states of the drive, by central difference quotients."""
    moved = differences(equations, y)
    with np.errstate(all="ignore"):
        columns = [(equations.rates(t, y + e) - equations.rates(t, y - e)) / (2 * e.sum()) for e in moved]
    return np.array(columns).T[: len(columns)]


def differences(equations: StateEquations, y: Floats) -> Floats:
    """Small changes of coordinates, rates and states of the drive, one in each row; such states may be of any size."""
    n, own = equations.layout.drive.stop, equations.layout.drive
    steps = DIFFERENCE * np.eye(n, len(y))
    steps[own, own] *= np.maximum(1.0, np.abs(y[own]))
    return steps


def fastest_growth(equations: StateEquations, A: Floats) -> Growth:
    """The rightmost pole of a linear model whose states begin with coordinates and rates."""
    m = equations.layout.q.stop
    if not m or not np.isfinite(A).all():
        return STILL
    poles, vectors = np.linalg.eig(A)
    which = int(np.argmax(poles.real))
    shares = np.abs(vectors[m : 2 * m, which])
    # joints, where feedback and friction act, come before the links that they shake
    names = [equations.arm.names[i] for i in equations.moving]
    shares[[name in equations.arm.robot.joint_coordinates for name in names]] *= JOINTS_FIRST
    return Growth(complex(poles[which]), names[int(np.argmax(shares))])


class GrowthWatch:
    """Looks for growing motions that the steps of a run pass over: at its start, now and then, and at its end.

    found  what was found first, in words; empty: nothing
    """

    def __init__(self, equations: StateEquations, method: str) -> None:
        self.equations, self.method = equations, method
        self.found = ""
        self._steps, self._next = 0, 0
        # size, time, state and rates of the longest step since the last look
        self._longest: tuple[float, float, Floats, Floats] | None = None
        self._looks = method in ERASING and 0 < equations.layout.drive.stop <= LARGE

    def take(self, piece: Piece, integrator: Integrator) -> None:
        """Follow a piece, and look where it is time to."""
        if not self._looks or self.found:
            return
        knots = piece.knots
        sizes = np.diff(knots)
        self._steps += len(sizes)
        k = int(np.argmax(sizes))
        h, states, rates = float(sizes[k]), piece.knot_states, piece.knot_rates
        if self._longest is None or h > self._longest[0]:
            self._longest = h, float(knots[k]), states[k], rates[k]
        if self._steps > self._next:
            if not self._next:
                self._look(integrator, h, float(knots[0]), states[0], rates[0])
            self._look(integrator, *self._longest)
            self._look(integrator, float(sizes[-1]), float(knots[-1]), states[-1], rates[-1])
            self._next, self._longest = 2 * self._steps + NEXT_LOOK, None

    def finish(self, integrator: Integrator) -> None:
        """Look at what was not looked at yet."""
        if self._longest is not None and not self.found:
            self._look(integrator, *self._longest)

    def _look(self, integrator: Integrator, h: float, t: float, y: Floats, f: Floats) -> None:
        """At a state with its rates, beside a step."""
        A = integrator.linear_model(t, y, f)
        growth = fastest_growth(self.equations, linear_model(self.equations, t, y) if A is None else A)
        if not self.found and growth.rate > SLOW_GROWTH and growth.rate * h > PASSED_OVER:
            step = f"{0.1 * PASSED_OVER / growth.rate:.1g}"
            self.found = (
                f"{growth.words} at {t:.4g} s, and steps of {self.method}, up to {h:.2g} s long, erase it: look at the "
                f"sign of feedback, damping and friction; method: dop853 follows it, or max_step: {step} s"
            )

    def memory(self) -> bytes:
        """What must be kept for a resumption."""
        longest = self._longest and (*self._longest[:2], *(x.tolist() for x in self._longest[2:]))
        return json.dumps([self.found, self._steps, self._next, longest]).encode()

    def recall(self, kept: Any) -> None:
        """Go on from what ``memory`` gave."""
        self.found, self._steps, self._next, longest = json.loads(bytes(kept))
        self._longest = longest and (*longest[:2], *(np.array(x) for x in longest[2:]))
