"""Approximate forward dynamics: Di Gregorio, section 5.2.

The rigid robot moves under the given efforts, the links bend along that motion, and the efforts of the flexible robot
in that motion are computed again. The paper judges the result by how far these are from the given ones. That does not
bound the error of positions: both are reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.lumped.displacements import NO_LOADS, AppliedLoads
from pliant.analysis.lumped.elastic_motion import (
    ElasticMotion,
    ElasticState,
    elastic_motion,
    frame_displacement,
    solve_static,
)
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.lumped.successive import frame_positions, lowest_frequency, reactions_along, step_times
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.model.description.robot import rigid_twin
from pliant.results.result import Result
from pliant.simulation.inverse.inverse_dynamics import node_loads
from pliant.simulation.outputs import Outputs
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

    Samples are taken as the lowest vibration asks for them, whatever the study's outputs say.

    study     its robot, drive, disturbances and time; it begins with straight links or in equilibrium
    elements  of every bending link; default: as described
    """
    for key in ("shape", "loads"):
        if getattr(study.start, key) is not None:
            raise ModelError(
                f"study '{study.name}': start.{key}: the approximate forward dynamics begins with straight links, or "
                "with links: equilibrium"
            )
    arm = Dynamics(study.robot, compile="auto" if study.compile else "never")
    model = LumpedModel(study.robot, elements=elements)
    loads, jumps = node_loads(model, arm, study)
    twin = study.with_changes(robot=rigid_twin(study.robot))
    coarse = run_study(twin.with_changes(outputs=Outputs()))
    q = np.column_stack([coarse[name] for name in model.joints])
    times = step_times(float(coarse.time[-1]), lowest_frequency(model, q))
    outputs = Outputs(step=float(times[1] - times[0]))
    rigid, full = run_study(twin.with_changes(outputs=outputs)), run_study(study.with_changes(outputs=outputs), arm)
    nominal = _SampledRun(model, rigid)
    motion, loading = nominal(times), NO_LOADS if loads is None else loads(times)
    # loops leave fewer displacements, which the first instant shows
    model.assemble(JointMotion(*(x[:1] for x in motion)), loading.at(0))
    still = np.zeros(model.size)
    start = still if study.start.links == "straight" else _at_rest(model, motion, loading)
    grid = with_jumps(times, jumps)
    whole = elastic_motion(model, nominal, grid, (start, still), loads=loads)
    at = np.searchsorted(grid, times)
    elastic = ElasticMotion(
        times, ElasticState(*(x[at] for x in (whole.state.z, whole.state.z_dot, whole.state.z_ddot)))
    )
    assembled, none = model.assemble(motion, loading), np.zeros_like(elastic.state.z)
    moved = frame_displacement(model, assembled, ElasticState(elastic.state.z, none, none), "tip")[:, :3]
    return ApproximateForward(
        times,
        motion.q,
        frame_positions(model, motion.q, "tip") + moved,
        np.column_stack([np.interp(times, rigid.time, column) for column in rigid.tau.T]),
        reactions_along(model, nominal, elastic, loads).efforts,
        full,
    )


def with_jumps(times: Floats, jumps: Iterable[float]) -> Floats:
    """Ends of steps, and between them the times at which loads jump: no step goes over a jump."""
    return np.union1d(times, [b for b in jumps if times[0] < b < times[-1]])


def _at_rest(model: LumpedModel, motion: JointMotion, loads: AppliedLoads) -> Floats:
    """Displacements in balance before anything moves."""
    first = JointMotion(motion.q[:1], 0 * motion.v[:1], 0 * motion.a[:1])
    return solve_static(model, model.assemble(first, loads.at(0)), 0)


class _SampledRun:
    """The motion of all joints in a run of the rigid robot, joined by quintic splines."""

    def __init__(self, model: LumpedModel, run: Result) -> None:
        from scipy.interpolate import make_interp_spline

        q, v, a = (
            np.column_stack([run[f"{name}{kind}"] for name in model.joints]) for kind in ("", ".rate", ".acceleration")
        )
        ends = tuple([(1, v[k]), (2, a[k])] for k in (0, -1))
        self.curve: Any = make_interp_spline(run.time, q, k=5, bc_type=ends)
        self.model = model

    def __call__(self, t: Floats) -> JointMotion:
        every = [np.asarray(self.curve(t, k)) for k in range(3)]
        driven = self.model.skeleton.driven
        return self.model.nominal(JointMotion(*(x[:, driven] for x in every)), start=every[0])
