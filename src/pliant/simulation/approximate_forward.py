"""Approximate forward dynamics: Di Gregorio, section 5.2.

The rigid robot moves under the given efforts, the links bend along that motion, and the efforts of the flexible robot
in that motion are computed again. The paper judges the result by how far these are from the given ones. That does not
bound the error of positions: both are reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.lumped_fe.elastic_motion import elastic_motion
from pliant.formulations.lumped_fe.model import LumpedModel
from pliant.formulations.lumped_fe.recovery import ElasticState, frame_displacement
from pliant.formulations.lumped_fe.rigid_path import SampledMotion, frame_positions
from pliant.formulations.lumped_fe.successive import lowest_frequency, reactions_along, step_times
from pliant.model.rigid_twin import rigid_twin
from pliant.results.result import Result
from pliant.simulation.run import run_study
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

    study     its robot, drive and time
    elements  of every bending link; default: as described
    """
    rigid = run_study(study.with_changes(robot=rigid_twin(study.robot)))
    model = LumpedModel(study.robot, elements=elements)
    names = model.joints
    q, v, a = (np.column_stack([rigid[f"{name}{kind}"] for name in names]) for kind in ("", ".rate", ".acceleration"))
    nominal = SampledMotion(model, rigid.time, q, ((v[0], a[0]), (v[-1], a[-1])))
    times = step_times(float(rigid.time[-1]), lowest_frequency(model, q))
    motion = nominal(times)
    # loops leave fewer displacements, which the first instant shows
    model.assemble(nominal(times[:1]))
    start = np.zeros(model.size)
    elastic = elastic_motion(model, nominal, times, (start, start) if study.start.links == "straight" else None)
    assembled, none = model.assemble(motion), np.zeros_like(elastic.state.z)
    moved = frame_displacement(model, assembled, ElasticState(elastic.state.z, none, none), "tip")[:, :3]
    given = np.column_stack([np.interp(times, rigid.time, column) for column in rigid.tau.T])
    return ApproximateForward(
        times,
        motion.q,
        frame_positions(model, motion.q, "tip") + moved,
        given,
        reactions_along(model, nominal, elastic).efforts,
        run_study(study),
    )
