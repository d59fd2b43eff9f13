"""What a run reached: the errors of its steps, carried on to its end, against its tolerance.

A tolerance is kept step by step. Errors of vibrations that last add up, and vibrations that are faster than implicit
steps are erased by them: the run may then be off by much more than its tolerance. Implicit methods carry the errors of
their steps along (``Integrator.errors``); where these become large, the run says so.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.engine.stepping.steppers import STEPPERS
from pliant.simulation.choice import kinks
from pliant.simulation.integrators.integrator import Integrator, Piece, Tolerance
from pliant.simulation.loads import ElasticStops
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import FINEST

Floats = NDArray[np.float64]

SPOKEN_OF = 20.0
"""Errors, in units of the tolerance, from which a run speaks of them: estimates are within a factor of four ..."""
WITH_KINKS = 5.0
"""... and where forces have kinks, as dry friction has, they may be a tenth of the errors."""
FINER = {stepper.name: stepper.finer for stepper in STEPPERS.values() if stepper.finer}
"""Exponent of the tolerance by an error: local errors fall with the tolerance, those that add up by less steps ..."""
LOST = 1e6
"""... until nothing is left of the digits that were asked for."""


class AccuracyWatch:
    """Follows how large the coordinates of a run become, and compares its errors with what is allowed of them.

    The error of a coordinate is measured in absolute + relative tolerance times its largest value in the run.
    """

    def __init__(self, equations: StateEquations, tolerance: Tolerance, method: str) -> None:
        self.equations, self.tolerance = equations, tolerance
        self._looks = method in FINER
        self._largest = np.zeros(equations.count)
        self._touched = inf
        place = {int(i): k for k, i in enumerate(equations.moving)}
        stops = (load.limits for load in equations.loads if isinstance(load, ElasticStops))
        self._stops = [(place[i], low, high) for limits in stops for i, low, high in limits if i in place]

    def take(self, piece: Piece) -> None:
        """Follow a piece."""
        if not self._looks:
            return
        q = piece.knot_states[:, self.equations.layout.q]
        self._largest = np.maximum(self._largest, np.abs(q).max(axis=0, initial=0.0))
        for k, low, high in self._stops:
            beyond = (q[:, k] < low) | (q[:, k] > high)
            if beyond.any():
                self._touched = min(self._touched, float(piece.knots[np.argmax(beyond)]))

    def reached(self, integrator: Integrator | None) -> tuple[float, int, float]:
        """The largest error in units of the tolerance, of which moving coordinate, and that error; zeros if unknown."""
        errors = None if integrator is None else integrator.errors
        if errors is None or not len(errors):
            return 0.0, 0, 0.0
        allowed = self.tolerance.absolute[self.equations.layout.q] + self.tolerance.relative * self._largest
        k = int(np.argmax(errors / allowed))
        return float(errors[k] / allowed[k]), k, float(errors[k])

    def words(self, integrator: Integrator | None) -> str:
        """How far off the run is, where that is much more than its tolerance, and what to do; else nothing."""
        if integrator is None or integrator.errors is None or not self._looks:
            return ""
        if self._touched < inf:
            return (
                f"a stop is touched at {self._touched:.4g} s: what steps of {integrator.name} lose at such kinks is "
                "not estimated, and may be hundreds of times the tolerance; compare with method: dop853, or with "
                f"tolerance: {max(0.1 * self.tolerance.relative, FINEST):.0e}"
            )
        times, k, error = self.reached(integrator)
        rough = kinks(self.equations)
        if times <= (WITH_KINKS if rough else SPOKEN_OF):
            return ""
        arm, i, name = self.equations.arm, int(self.equations.moving[k]), integrator.name
        unit = " ".join(["", *filter(None, [arm.mechanism.units[i]])])
        if times > LOST:
            reached = f"more than {LOST:.0e} times the tolerance in '{arm.names[i]}'"
        else:
            reached = f"about {times:.2g} times the tolerance in '{arm.names[i]}' ({error:.1e}{unit})"
        # gauss passes over kinks
        remedy = f"method: {'dop853' if rough else 'gauss or dop853'} follows both"
        finer = self.tolerance.relative * times ** -FINER[name]
        if finer > FINEST:
            remedy += f", and {name} comes down to this tolerance with tolerance: {finer:.0e}"
        return (
            f"the run is off by {reached}: errors of {name} add up in vibrations that last, and its steps erase those "
            f"that are faster than they are; {remedy}"
        )

    def memory(self) -> Floats:
        """What must be kept for a resumption."""
        return np.array([self._touched, *self._largest])

    def recall(self, kept: Any) -> None:
        """Go on from what ``memory`` gave."""
        self._touched, self._largest = float(kept[0]), np.array(kept[1:])
