"""What a run reached: the errors of its steps, carried on to its end, against its tolerance.

A tolerance is kept step by step. Errors of vibrations that last add up, and vibrations that are faster than implicit steps
are erased by them: the run may then be off by much more than its tolerance. Implicit methods carry the errors of their
steps along (``Integrator.errors``); where these become large, the run says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.simulation.choice import kinks
from pliant.simulation.integrators.integrator import Integrator, Piece, Tolerance
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import FINEST

Floats = NDArray[np.float64]

SPOKEN_OF = 20.0
"""Errors, in units of the tolerance, from which a run speaks of them. The estimates are within a factor of four."""
FINER = 0.3
"""Margin of the tolerance that is proposed."""


class AccuracyWatch:
    """Follows how large the coordinates of a run become, and compares its errors with what is allowed of them.

    The error of a coordinate is measured in absolute + relative tolerance times its largest value in the run.
    """

    def __init__(self, equations: StateEquations, tolerance: Tolerance) -> None:
        self.equations, self.tolerance = equations, tolerance
        self._largest = np.zeros(equations.count)

    def take(self, piece: Piece) -> None:
        """Follow a piece."""
        q = piece.knot_states[:, self.equations.layout.q]
        self._largest = np.maximum(self._largest, np.abs(q).max(axis=0, initial=0.0))

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
        times, k, error = self.reached(integrator)
        if integrator is None or times <= SPOKEN_OF:
            return ""
        arm, i = self.equations.arm, int(self.equations.moving[k])
        finer = max(self.tolerance.relative * FINER * SPOKEN_OF / times, FINEST)
        unit = arm.mechanism.units[i]
        unit = f" {unit}" if unit else ""
        return (
            f"the run is off by about {times:.2g} times the tolerance in '{arm.names[i]}' ({error:.1e}{unit} of "
            f"{self._largest[k]:.1e}{unit}): errors of {integrator.name} add up where vibrations last, and its steps "
            f"erase those that are faster; method: {' or '.join(self._better)} follows them, or tolerance: {finer:.0e}"
        )

    @property
    def _better(self) -> list[str]:
        """Methods that follow vibrations; gauss passes over kinks."""
        return ["dop853"] if kinks(self.equations) else ["gauss", "dop853"]

    def memory(self) -> Floats:
        """What must be kept for a resumption."""
        return self._largest

    def recall(self, kept: Any) -> None:
        """Go on from what ``memory`` gave."""
        self._largest = np.array(kept)
