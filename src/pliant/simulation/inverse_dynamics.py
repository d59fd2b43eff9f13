"""Inverse dynamics of a study: the drives that keep a frame of the flexible robot on the path of the rigid one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.formulations.lumped_fe.model import LumpedModel
from pliant.formulations.lumped_fe.node_matrices import Variant
from pliant.formulations.lumped_fe.rigid_path import frame_positions
from pliant.formulations.lumped_fe.skeleton import JointMotion
from pliant.formulations.lumped_fe.successive import (
    ITERATIONS,
    TOLERANCE,
    Approximation,
    Feedback,
    PathSolution,
    lowest_frequency,
    step_times,
    successive_approximation,
)
from pliant.model.errors import ModelError
from pliant.model.files import write_file, written
from pliant.results.result import Result
from pliant.simulation.drives.prescribed import PrescribedMotion
from pliant.simulation.run import run_study
from pliant.simulation.start import Start
from pliant.simulation.study import Study
from pliant.simulation.trajectories.joint_moves import Spline
from pliant.simulation.trajectories.path import Path as JointPath
from pliant.simulation.trajectories.path import Surroundings

Floats = NDArray[np.float64]

STIFFNESS = 0.5
"""Bandwidth of the feedback beside the feed-forward, as a part of the lowest natural frequency; damped by ..."""
DAMPING = 0.7


@dataclass(frozen=True, eq=False)
class InverseRun:
    """A solved study.

    path       the joints of the rigid robot along the desired path
    solution   what the drives of the flexible one must do
    """

    study: Study
    arm: Dynamics
    path: JointPath
    solution: PathSolution

    @property
    def inputs(self) -> tuple[str, ...]:
        """The drives."""
        return self.arm.inputs

    def trajectory(self) -> Spline:
        """The corrected motion of the drives."""
        rows = self.solution.motion.q.tolist()
        points = tuple(dict(zip(self.inputs, row, strict=True)) for row in rows)
        return Spline(times=tuple(self.solution.times.tolist()), points=points, degree="quintic")

    def start(self) -> Start:
        """Where the corrected motion begins, the links bent by what they carry."""
        first = dict(zip(self.inputs, self.solution.motion.q[0].tolist(), strict=True))
        return Start(position=first, links="equilibrium")

    def confirm(self, **changes: Any) -> tuple[Result, Floats]:
        """Simulate the corrected motion on the full nonlinear model; distances of the frame from its path (N,).

        changes  other keys of the study, such as ``integrator``
        """
        given = {"drive": PrescribedMotion(trajectory=self.trajectory()), "start": self.start(), **changes}
        run = run_study(self.study.with_changes(**given), self.arm)
        model = self.solution.model
        rigid = model.nominal(JointMotion(*self.path.many(run.time)), self.solution.nominal.q[0])
        wanted = frame_positions(model, rigid.q, self.solution.frame)
        found = run[f"{self.solution.frame}.position"]
        return run, np.asarray(np.linalg.norm(found - wanted, axis=1))

    def gains(self) -> tuple[Floats, Floats]:
        """Feedback gains (inputs,) of a slow, well damped loop around each drive of the rigid robot."""
        q = (
            self.arm.assemble(self.start().state(self.arm)[0])
            if self.study.robot.loops
            else self.start().state(self.arm)[0]
        )
        M = self.arm.B.T @ self.arm.mass_matrix(q) @ self.arm.B
        w = STIFFNESS * self.solution.frequency
        return np.diag(M) * w**2, 2 * DAMPING * w * np.diag(M)

    def write(self, folder: Path, name: str) -> list[Path]:
        """Motion, efforts and reactions as tables, and two studies that run them on the full model."""
        s = self.solution
        found = s.reactions()
        files = {kind: folder / f"{name}-{kind}.csv" for kind in ("motion", "efforts", "reactions")}
        _write_table(files["motion"], s.times, dict(zip(self.inputs, s.motion.q.T, strict=True)))
        _write_table(files["efforts"], s.times, dict(zip(self.inputs, found.efforts.T, strict=True)))
        axes = ("fx", "fy", "fz", "mx", "my", "mz")
        columns = {f"{joint}.{axis}": w[:, k] for joint, w in found.joints.items() for k, axis in enumerate(axes)}
        _write_table(files["reactions"], s.times, {**columns, **found.loops})
        robot = folder / f"{name}-robot.yaml"
        self.study.robot.save(robot)
        kp, kd = (", ".join(f"{joint}: {x:.6g}" for joint, x in zip(self.inputs, g, strict=True)) for g in self.gains())
        start = ", ".join(f"{joint}: {x:.17g}" for joint, x in zip(self.inputs, s.motion.q[0], strict=True))
        head = (
            f"robot: {robot.name}\nuntil: {s.times[-1]:.17g} s\n"
            f"start: {{position: {{{start}}}, links: equilibrium}}\nlimits: ignore\n"
        )
        table = f"trajectory: {{table: {{file: {files['motion'].name}, ends: rest}}}}"
        prescribed, driven = folder / f"{name}-prescribed.yaml", folder / f"{name}-feed-forward.yaml"
        write_file(
            prescribed,
            f"# the drives move exactly as computed; the frame must keep its path\nname: {name}-prescribed\n{head}"
            f"drive:\n  prescribed:\n    {table}\n",
        )
        write_file(
            driven,
            f"# the efforts as computed, and a slow loop around each drive\nname: {name}-feed-forward\n{head}"
            f"drive:\n  feed_forward:\n    {table}\n    model: given\n"
            f"    torques: {{file: {files['efforts'].name}, interpolation: cubic}}\n"
            f"    kp: {{{kp}}}\n    kd: {{{kd}}}\n",
        )
        return [*files.values(), robot, prescribed, driven]


def inverse_dynamics(
    study: Study,
    *,
    frame: str | None = None,
    feedback: Feedback = "band",
    band: float | None = None,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    elements: int | None = None,
    variant: Variant = "complete",
    steps: int | None = None,
    report: Callable[[int, float, Approximation | None], object] | None = None,
) -> InverseRun:
    """Efforts and motions of the drives that keep a frame on the path which the study's trajectory means.

    study       with a drive that has a trajectory
    frame       default: the one that the trajectory leads, else the tip
    feedback    "band", "static" or "full", see ``successive_approximation``; band in rad/s
    iterations  at most so many
    tolerance   m: distance from the path that ends the iteration
    elements    of every bending link; default: as described
    variant     of the node equations: "absolute" and "printed" are wrong to first order, for study
    steps       of the elastic motion; default: 60 in a period of the lowest vibration
    report      called after every iteration with its number, the distance (m) and the solution
    """
    trajectory = getattr(study.drive, "trajectory", None)
    if trajectory is None:
        raise ModelError(
            f"study '{study.name}': inverse dynamics needs a drive with a trajectory, such as "
            "prescribed: {trajectory: {circle: ...}}"
        )
    arm = Dynamics(study.robot, compile="auto" if study.compile else "never")
    q0, _ = study.start.state(arm)
    straight = Start(position=study.start.position, q=study.start.q).state(arm)[0]
    path: JointPath = trajectory.bind(Surroundings(arm, straight), q0 @ arm.B, 0.0)
    model = LumpedModel(study.robot, elements=elements, variant=variant)
    first = np.array([straight[arm.names.index(name)] for name in model.joints])
    coarse = model.nominal(JointMotion(*path.many(np.linspace(0.0, study.until, 101))), first)
    frequency = lowest_frequency(model, coarse.q)
    times = step_times(study.until, frequency) if steps is None else np.linspace(0.0, study.until, steps + 1)
    q = model.nominal(JointMotion(*path.many(times)), first).q
    name = frame or getattr(trajectory, "frame", None) or "tip"
    solution = successive_approximation(
        model,
        name,
        times,
        q,
        feedback=feedback,
        band=band,
        iterations=iterations,
        tolerance=tolerance,
        report=report,
    )
    return InverseRun(study, arm, path, solution)


def _write_table(path: Path, times: Floats, columns: dict[str, Floats]) -> None:
    """Columns over time, so that every digit comes back."""
    rows = np.column_stack([times, *columns.values()])
    with written(path) as beside:
        np.savetxt(beside, rows, fmt="%.17g", delimiter=",", header=",".join(["t", *columns]), comments="")
