"""A computed move in a simulation of the nonlinear robot, and as studies that anyone can run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.drives.feed_forward import FeedForward
from pliant.drives.given import GivenTorque
from pliant.errors import ModelError
from pliant.files import write_generated, written
from pliant.simulation.run import SimulationWarning, simulate
from pliant.trajectories.ongoing import TableMotion

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.moves.collocation import Ends
    from pliant.moves.optimal_move import OptimalMove
    from pliant.results.result import Result

Floats = NDArray[np.float64]

AFTERWARDS = 0.5
"""Part of the duration that is simulated after the end, with the efforts that hold the robot."""
TIGHT = 1e-10
"""Relative error of the steps of the simulation."""
SPEED = 10.0
"""Natural frequency of the feedback, in 1/duration of the move: slow beside the vibrations, fast beside the move."""
DAMPING = 0.7
SAMPLES = 4
"""Samples of the simulation in an interval of the move."""


@dataclass(frozen=True, eq=False)
class MoveReplay:
    """The efforts of a move, simulated.

    error      m: largest distance of the frame from where it was computed, at the instants of the move
    swing      m: largest distance of the frame from its resting place after the end
    feedback   whether a slow loop around each drive was needed: without it the motion runs away from its efforts
    alone      m: the error of the efforts alone
    frame      whose path is compared
    tolerance  m: error that counts as agreement
    result     the run
    """

    error: float
    swing: float
    feedback: bool
    alone: float
    frame: str
    tolerance: float
    result: Result

    @property
    def agrees(self) -> bool:
        """Whether the simulated robot moves as computed."""
        return bool(self.error <= self.tolerance)

    @property
    def words(self) -> str:
        """What the simulation says."""
        how = "efforts with feedback" if self.feedback else "efforts alone"
        text = f"simulated with {how}, {self.frame} is {self.error:.2e} m from it at the most and swings by "
        text += f"{self.swing:.2e} m afterwards"
        if self.feedback:
            text += f" (efforts alone: {self.alone:.2e} m)"
        return text if self.agrees else f"not converged: {text}; the tolerance is {self.tolerance:.1e} m"


def replayed(
    arm: Dynamics,
    start: Ends,
    end: Ends,
    time: Floats,
    q: Floats,
    tau: Floats,
    interpolation: Literal["hold", "linear"],
    dense: tuple[Floats, Floats, Floats],
    frame: str,
    tolerance: float,
) -> MoveReplay:
    """Simulate the efforts alone; where that runs away, with a slow loop around each drive."""
    wanted = np.array([arm.pose(frame, each).position for each in q])
    rest = arm.pose(frame, end.q).position
    alone = np.inf
    best: MoveReplay | None = None
    for feedback in (False, True):
        torques = _torques(time, tau, interpolation)
        drive = _with_feedback(arm, start, torques, dense) if feedback else torques
        try:
            run = _run(arm, start, drive, time)
        except (ModelError, FloatingPointError, ValueError):
            if feedback and best is not None:
                return best
            raise
        reached = run[f"{frame}.position"]
        # samples of the run hold all instants of the move
        at = reached[: SAMPLES * (len(time) - 1) + 1 : SAMPLES]
        error = float(np.linalg.norm(at - wanted, axis=1).max())
        after = run.time >= time[-1] * (1 - 1e-12)
        swing = float(np.linalg.norm(reached[after] - rest, axis=1).max())
        alone = error if not feedback else alone
        found = MoveReplay(error, swing, feedback, alone, frame, tolerance, run)
        if best is None or found.error < best.error:
            best = found
        if best.agrees:
            break
    assert best is not None
    return best


def _run(arm: Dynamics, start: Ends, drive: GivenTorque | FeedForward, time: Floats) -> Result:
    with warnings.catch_warnings():
        # of the run that counts they are told when the move is known
        warnings.simplefilter("ignore", SimulationWarning)
        run = simulate(
            arm,
            until=(1 + AFTERWARDS) * float(time[-1]),
            drive=drive,
            start=(start.q, np.zeros(arm.size)),
            limits="ignore",
            tolerance=TIGHT,
            output_step=float(time[1]) / SAMPLES,
            name="move",
        )
    if not run.info.finished:
        raise ModelError(f"the simulation of the move ended at {run.time[-1]:.4g} s: {run.info.ended}")
    return run


def _torques(time: Floats, tau: Floats, interpolation: Literal["hold", "linear"]) -> GivenTorque:
    """Efforts of a move, and those that hold the robot after it."""
    times, rows = time, tau
    if interpolation == "linear":
        times, rows = np.append(times, 1e3 * time[-1]), np.vstack([rows, rows[-1:]])
    return GivenTorque(time=times, torque=rows, interpolation=interpolation)


def feedback_gains(arm: Dynamics, start: Ends, duration: float) -> tuple[Floats, Floats]:
    """Gains (inputs,) of a well damped loop around each drive that is slow beside vibrations."""
    inertia = np.diag(arm.B.T @ arm.mass_matrix(start.q) @ arm.B)
    w = SPEED / duration
    return inertia * w**2, 2 * DAMPING * w * inertia


def _with_feedback(
    arm: Dynamics, start: Ends, torques: GivenTorque, dense: tuple[Floats, Floats, Floats]
) -> FeedForward:
    kp, kd = (
        dict(zip(arm.inputs, each.tolist(), strict=True)) for each in feedback_gains(arm, start, float(dense[0][-1]))
    )
    motion = TableMotion(time=dense[0], positions=dense[1] @ arm.B, ends="rest")
    return FeedForward(trajectory=motion, model="given", torques=torques, kp=kp, kd=kd)


# ---- files


def move_files(folder: Path, name: str) -> dict[str, Path]:
    """The files that ``write_move`` writes."""
    tables = {kind: folder / f"{name}-{kind}.csv" for kind in ("efforts", "motion")}
    return tables | {kind: folder / f"{name}-{kind}.yaml" for kind in ("robot", "replay", "feedback")}


def write_move(move: OptimalMove, folder: Path, name: str) -> list[Path]:
    """Robot, efforts and motion as files, and two studies that replay them."""
    folder.mkdir(parents=True, exist_ok=True)
    files, arm = move_files(folder, name), move.arm
    until = (1 + AFTERWARDS) * move.duration
    times, rows = move.time, move.tau
    if move.interpolation == "linear":
        times, rows = np.append(times, 2 * until), np.vstack([rows, rows[-1:]])
    _table(files["efforts"], times, rows, arm.inputs)
    _table(files["motion"], move.dense[0], move.dense[1] @ arm.B, arm.inputs)
    write_generated(files["robot"], arm.robot.to_yaml())
    q = ", ".join(f"{x:.17g}" for x in move.start.q)
    head = f"robot: {files['robot'].name}\nuntil: {until:.17g} s\nstart: {{q: [{q}]}}\nlimits: ignore\n"
    torques = f"{{file: {files['efforts'].name}, interpolation: {move.interpolation}}}"
    kp, kd = (
        ", ".join(f"{joint}: {x:.6g}" for joint, x in zip(arm.inputs, g, strict=True))
        for g in feedback_gains(arm, move.start, move.duration)
    )
    write_generated(
        files["replay"],
        f"# the efforts of the move, and those that hold the robot after it\nname: {name}-replay\n{head}"
        f"drive:\n  given: {torques}\n",
    )
    write_generated(
        files["feedback"],
        f"# the same with a slow loop around each drive\nname: {name}-feedback\n{head}"
        f"drive:\n  feed_forward:\n    trajectory: {{table: {{file: {files['motion'].name}, ends: rest}}}}\n"
        f"    model: given\n    torques: {torques}\n    kp: {{{kp}}}\n    kd: {{{kd}}}\n",
    )
    return list(files.values())


def _table(path: Path, times: Floats, rows: Floats, names: tuple[str, ...]) -> None:
    """Columns over time, so that every digit comes back."""
    with written(path) as beside:
        np.savetxt(
            beside,
            np.column_stack([times, rows]),
            fmt="%.17g",
            delimiter=",",
            header=",".join(["t", *names]),
            comments="",
        )
