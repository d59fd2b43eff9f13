"""Approximate forward dynamics: Di Gregorio, section 5.2.

The rigid robot moves under the given efforts, the links bend along that motion, and the efforts of the flexible robot
in that motion are computed again. The paper judges the result by how far these are from the given ones. That does not
bound the error of positions: both are reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.results.result import Result
from pliant.simulation.inverse.elastic_run import elastic_run
from pliant.simulation.study import Study

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ApproximateForward:
    """The approximate motion and its two errors.

    times             (N,)
    joints            (N, joints) of the rigid robot
    tip               (N, 3) with the elastic displacement
    given, needed     (N, inputs) efforts: what was applied, and what this motion of the flexible robot needs
    full              the same study on the full model, sampled at ``times``
    """

    times: Floats
    joints: Floats
    tip: Floats
    given: Floats
    needed: Floats
    full: Result

    @property
    def effort_error(self) -> float:
        """Largest difference of needed and given efforts, of the largest given one: the paper's measure."""
        return float(np.abs(self.needed - self.given).max() / np.abs(self.given).max())

    @property
    def position_error(self) -> float:
        """m: largest distance of the tip from that of the full model."""
        found = self.full["tip.position"]
        exact = np.column_stack([np.interp(self.times, self.full.time, x) for x in found.T])
        return float(np.linalg.norm(self.tip - exact, axis=1).max())

    @property
    def elastic_size(self) -> float:
        """m: largest elastic displacement of the tip in the full model, to compare with."""
        return float(np.linalg.norm(self.full["tip.deflection"], axis=1).max())


def approximate_forward(study: Study, *, elements: int | None = None) -> ApproximateForward:
    """Forward dynamics of a study by rigid motion and elastic displacement, and by the full model beside it.

    Samples are taken as the lowest vibration asks for them, whatever the study's outputs say.

    study     its robot, drive, disturbances and time; it begins with straight links or in equilibrium
    elements  of every bending link; default: as described
    """
    found = elastic_run(study, nominal="rigid", elements=elements)
    assert found.given is not None
    tip = found.frame("tip").reached
    return ApproximateForward(found.times, found.motion.q, tip, found.given, found.efforts, found.simulated())
