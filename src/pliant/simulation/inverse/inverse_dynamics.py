"""Inverse dynamics of a study: the drives that keep a frame of the flexible robot on the path of the rigid one.

By stable inversion, or by successive approximation, whose runs are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.lumped.frequencies import SLOW
from pliant.analysis.lumped.led_frames import FramePoses, LedFrames
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.node_equations import Variant
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.lumped.successive import (
    ITERATIONS,
    TOLERANCE,
    Feedback,
    PathSolution,
    led_by,
    lowest_frequency,
    step_times,
    successive_approximation,
)
from pliant.analysis.statics import NoEquilibriumError, wrench_force, wrench_stiffness, wrenches
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, require_count, require_number, show
from pliant.results.result import Result
from pliant.simulation.inverse.confirmation import Confirmation
from pliant.simulation.inverse.frame_path import FramePath
from pliant.simulation.inverse.inversion_run import InversionRun
from pliant.simulation.inverse.inverted_study import LOOKS, invert, keeps_orientation
from pliant.simulation.inverse.inverted_study import TOLERANCE as PATH_TOLERANCE
from pliant.simulation.inverse.node_loads import node_loads
from pliant.simulation.inverse.path_window import require_smooth
from pliant.simulation.inverse.replay_study import Replay, slow_gains
from pliant.simulation.inverse.stable_inversion import Report
from pliant.simulation.inverse.study_path import bound_path, require_start_rates, straight_start, trajectory_of
from pliant.simulation.monitoring.checks import joint_limit_words
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import run_study
from pliant.simulation.start import Start
from pliant.simulation.study import Study
from pliant.trajectories.joint_moves import Spline
from pliant.trajectories.ongoing import TableMotion
from pliant.trajectories.path import Path as JointPath

if TYPE_CHECKING:
    from pliant.analysis.statics import FrameLoad

Floats = NDArray[np.float64]

InverseMethod = Literal["inversion", "successive"]
METHODS: tuple[InverseMethod, ...] = ("inversion", "successive")
ROUNDS = 4
"""Corrections of a path by the nonlinear model."""


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

    def trajectory(self) -> Spline | TableMotion:
        """The corrected motion of the drives."""
        times, rows = tuple(self.solution.times.tolist()), self.solution.motion.q.tolist()
        if not self._rests:
            return TableMotion(time=times, positions=tuple(tuple(row) for row in rows), ends="free")
        points = tuple(dict(zip(self.inputs, row, strict=True)) for row in rows)
        return Spline(times=times, points=points, degree="quintic")

    @property
    def _rests(self) -> bool:
        """Whether the path begins and ends at rest."""
        return bool(np.abs(self.solution.motion.v[[0, -1]]).max(initial=0.0) < SLOW)

    def start(self) -> Start:
        """Where the corrected motion begins, the links in balance with what they carry and with what acts on them."""
        q, v = balanced_start(self.arm, self.study, self.solution)
        return Start(q=tuple(q.tolist()), v=tuple(v.tolist()))

    def confirm(self, **changes: Any) -> tuple[Result, Floats]:
        """Simulate the corrected motion on the full nonlinear model; distances of the frame from its path (N,).

        Samples are those of the solution. Events of the study, and limits at which it would stop, are left out.
        changes  other keys of the study, such as ``integrator``
        """
        given = {
            "drive": PrescribedMotion(trajectory=self.trajectory()),
            "start": self.start(),
            "outputs": self._outputs(),
            "events": (),
            "limits": "ignore",
            **changes,
        }
        run = run_study(self.study.with_changes(**given), self.arm)
        if not run.info.finished:
            raise ModelError(
                f"study '{self.study.name}': the full model follows the motion up to {run.time[-1]:.4g} s only: "
                f"{run.info.ended}"
            )
        return run, self.solution.led.distances(self.off_path(run)[1])

    def off_path(self, run: Result) -> tuple[Floats, Floats]:
        """How far the frames are from their path in a run (N, rows), m; and that in directions that drives move."""
        s = self.solution
        rigid = s.model.nominal(JointMotion(*self.path.many(run.time)), s.nominal.q[0])
        poses = run.arm.poses(s.led.names, run.q)
        off = s.led.rows(s.led.apart(FramePoses(poses.position, poses.rotation), s.led.poses(rigid.q)))
        return off, s.led.led(rigid.q, off)

    def error(self, run: Result) -> Floats:
        """How far the first frame is from its path in a run (N, 3), m."""
        return self.off_path(run)[0][:, :3]

    def tilt(self, run: Result) -> float:
        """rad: the most by which orientations of the frames differ from those of their path in a run."""
        s = self.solution
        rigid = s.model.nominal(JointMotion(*self.path.many(run.time)), s.nominal.q[0])
        poses = run.arm.poses(s.led.names, run.q)
        apart = s.led.apart(FramePoses(poses.position, poses.rotation), s.led.poses(rigid.q))
        return float(np.linalg.norm(apart[..., 3:], axis=2).max())

    def confirmed(
        self, tolerance: float = TOLERANCE, *, rounds: int = ROUNDS, **changes: Any
    ) -> SuccessiveConfirmation:
        """Confirm the motion on the full nonlinear model, and correct it by what that says until it is near enough.

        tolerance  m: distance from the path that is good enough
        rounds     the most corrections
        changes    other keys of the study, such as ``integrator``
        """
        require_number("tolerance", tolerance, "m", positive=True)
        require_count("rounds", rounds, least=0)
        best = SuccessiveConfirmation(self, *self.confirm(**changes), 0)
        last = best
        for k in range(rounds):
            if best.distance <= tolerance:
                break
            again = replace(last.run, solution=led_by(last.run.solution, last.error))
            last = SuccessiveConfirmation(again, *again.confirm(**changes), k + 1)
            if not last.distance < best.distance:
                break
            best = last
        return best

    def _outputs(self) -> Outputs:
        frames, times = self.solution.led.names, self.solution.times
        return Outputs(step=float(times[1] - times[0]), frames=tuple(name for name in frames if name != "tip"))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Limits of the joints that the corrected motion and its efforts pass, in words."""
        s = self.solution
        return tuple(joint_limit_words(self.arm, s.times, s.motion.q, s.motion.v, s.efforts))

    def gains(self) -> tuple[Floats, Floats]:
        """Feedback gains (inputs,) of a slow, well damped loop around each drive of the rigid robot."""
        return slow_gains(self.arm, self.start().state(self.arm)[0], self.solution.frequency)

    def write(self, folder: Path, name: str) -> list[Path]:
        """Motion, efforts and reactions as tables, and two studies that run them on the full model."""
        s = self.solution
        found, motion = s.reactions(), s.motion.q
        axes = ("fx", "fy", "fz", "mx", "my", "mz")
        columns = {f"{joint}.{axis}": w[:, k] for joint, w in found.joints.items() for k, axis in enumerate(axes)}
        table = {"ends": "rest" if self._rests else "free"}
        return Replay(
            self.study,
            self.inputs,
            s.times,
            motion,
            motion,
            found.efforts,
            {**columns, **found.loops},
            self.start(),
            self.gains(),
            table,
        ).write(folder, name)


class SuccessiveConfirmation(Confirmation[InverseRun]):
    """A motion on the full nonlinear model, each round of which is led by what the last one was off."""

    @property
    def tilt(self) -> float:
        """rad: the most by which an orientation differs from that of the path."""
        return self.run.tilt(self.result)

    @property
    def aside(self) -> float:
        """m: the most by which a frame is off in directions that no drive moves."""
        off, along = self.run.off_path(self.result)
        return float(self.run.solution.led.distances(off - along).max())

    @property
    def error(self) -> Floats:
        """How far the frames are from their path (N, rows), m, at the times of the solution."""
        times, found = self.run.solution.times, self.run.off_path(self.result)[0]
        return np.column_stack([np.interp(times, self.result.time, column) for column in found.T])


@overload
def inverse_dynamics(
    study: Study,
    *,
    method: Literal["inversion"] = "inversion",
    frame: str | Sequence[str] | None = None,
    orientation: bool | None = None,
    spacing: float | None = None,
    tolerance: float | None = None,
    report: Report | None = None,
) -> InversionRun: ...


@overload
def inverse_dynamics(
    study: Study,
    *,
    method: Literal["successive"],
    frame: str | Sequence[str] | None = None,
    orientation: bool | None = None,
    feedback: Feedback | None = None,
    band: float | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    elements: int | None = None,
    variant: Variant | None = None,
    steps: int | None = None,
    report: Report | None = None,
) -> InverseRun: ...


def inverse_dynamics(
    study: Study,
    *,
    method: InverseMethod = "inversion",
    frame: str | Sequence[str] | None = None,
    orientation: bool | None = None,
    spacing: float | None = None,
    feedback: Feedback | None = None,
    band: float | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    elements: int | None = None,
    variant: Variant | None = None,
    steps: int | None = None,
    report: Report | None = None,
) -> InversionRun | InverseRun:
    """Efforts and motions of the drives that keep frames on the path which the study's trajectory means.

    The path is that of the rigid robot. Disturbances and loads of the study act on the links, and the drives work
    against them.

    study        with a drive that has a trajectory
    method       "inversion": stable inversion of the full nonlinear model, exact up to the spacing of its knots; the
                 drives begin before the path does. "successive": linear equations of nodes about the rigid motion,
                 corrected again and again, for paths whose accelerations jump or that begin in motion
    frame        default: the one that the trajectory leads, else the tip; or several at once
    orientation  whether the frames keep the orientation that they have on the rigid robot; default: as the trajectory
    tolerance    m: distance from the path that is good enough; default 1e-6, of successive approximation 5e-6
    report       called with iteration, time that is reached, and at its end the distance (m); ``True`` ends it

    Of the inversion alone:

    spacing      s: distance of knots; default: an eightieth of the motion, and finer where that is not enough

    Of successive approximation alone:

    feedback     "band" (default), "static" or "full", see ``successive_approximation``; band in rad/s
    iterations   at most so many; default 10
    elements     of every bending link; default: as described
    variant      of the node equations: "complete" (default); "absolute" and "printed" are wrong to first order
    steps        of the elastic motion; default: 60 in a period of the lowest vibration
    """
    if method not in METHODS:
        raise ModelError(f"method is {show(method)}; it must be one of {', '.join(METHODS)}")
    frames = (frame,) if isinstance(frame, str) else tuple(frame or ())
    own: dict[str, dict[str, object]] = {
        "inversion": {"spacing": spacing},
        "successive": {
            "feedback": feedback,
            "band": band,
            "iterations": iterations,
            "elements": elements,
            "variant": variant,
            "steps": steps,
        },
    }
    for other, options in own.items():
        given = [name for name, value in options.items() if value is not None]
        if other != method and given:
            raise ModelError(
                f"{given[0]} belongs to method '{other}', and the method is '{method}': leave one of them out"
            )
    if method == "inversion":
        return invert(
            study,
            frames=frames,
            orientation=orientation,
            tolerance=PATH_TOLERANCE if tolerance is None else tolerance,
            spacing=spacing,
            report=report,
        )
    return _by_successive_approximation(
        study,
        frames=frames,
        orientation=orientation,
        feedback="band" if feedback is None else feedback,
        band=band,
        iterations=ITERATIONS if iterations is None else iterations,
        tolerance=TOLERANCE if tolerance is None else tolerance,
        elements=elements,
        variant="complete" if variant is None else variant,
        steps=steps,
        report=report,
    )


def _by_successive_approximation(
    study: Study,
    *,
    frames: tuple[str, ...],
    orientation: bool | None,
    feedback: Feedback,
    band: float | None,
    iterations: int,
    tolerance: float,
    elements: int | None,
    variant: Variant,
    steps: int | None,
    report: Report | None,
) -> InverseRun:
    """The robot begins in balance with what acts on it: at rest, or moving on as the path begins."""
    trajectory = trajectory_of(study)
    if steps is not None:
        require_count("steps", steps)
    arm = Dynamics(study.robot, compile="auto" if study.compile else "never")
    straight = straight_start(study, arm)
    _, path = bound_path(study, arm, straight)
    model = LumpedModel(study.robot, elements=elements, variant=variant)
    first = np.array([straight[arm.names.index(name)] for name in model.joints])
    names = frames or (getattr(trajectory, "frame", None) or "tip",)
    turned = keeps_orientation(trajectory, arm) if orientation is None else orientation
    led = _led(study, model, FramePath(arm, straight, path, names, turned, study.name))
    loads, jumps = node_loads(model, arm, study)
    require_start_rates(study, arm, path)
    require_smooth(study.name, arm.inputs, path, study.until)
    coarse = model.nominal(JointMotion(*path.many(np.linspace(0.0, study.until, 101))), first)
    frequency = lowest_frequency(model, coarse.q)
    solution = successive_approximation(
        model,
        led,
        step_times(study.until, frequency, steps),
        path.many,
        first,
        loads=loads,
        breaks=tuple(sorted({*path.breaks, *jumps})),
        feedback=feedback,
        band=band,
        iterations=iterations,
        tolerance=tolerance,
        report=report,
    )
    return InverseRun(study, arm, path, solution)


def _led(study: Study, model: LumpedModel, path: FramePath) -> LedFrames:
    """The frames of a path; poses and several frames must be such that the drives can lead them."""
    if path.turned or len(path.frames) > 1:
        path.require_led(np.linspace(0.0, study.until, LOOKS))
    return LedFrames(model, path.frames, path.turned, path.length)


STEPS = 30
BALANCED = 1e-10
"""Newton step, of the largest coordinate or one, that ends the search."""
AHEAD = 0.1
"""Part of a step of the solution after which the balance tells how fast the links bend."""


def balanced_start(arm: Dynamics, study: Study, solution: PathSolution) -> tuple[Floats, Floats]:
    """Coordinates and rates (n,): at rest in equilibrium, or bent as the moving drives bend the links.

    Closed loops that move begin as they would rest, with the rates of the drives.
    """
    times, first = solution.times, solution.nominal(solution.times[:1])
    straight = arm.reference_pose()
    for name, value in zip(solution.model.joints, first.q[0], strict=True):
        straight[arm.names.index(name)] = value
    held = _acting(arm, study, times[0])
    loads: dict[str, Floats] = {}
    for each in held[0]:
        loads[each.frame] = loads.get(each.frame, 0.0) + each.value
    try:
        rest = settle(arm, straight, loads=loads).q
    except NoEquilibriumError as error:
        raise ModelError(f"study '{study.name}': {error}") from None
    driven = solution.model.skeleton.driven
    if np.abs(first.v).max(initial=0.0) < SLOW and not held[1].any():
        return rest, np.zeros(arm.size)
    if arm.loops.rows:
        rates = dict(zip(arm.inputs, first.v[0, driven].tolist(), strict=True))
        return Start(q=tuple(rest.tolist()), velocity=rates).state(arm)
    moving = bool(np.abs(first.v).max(initial=0.0) >= SLOW)
    h = AHEAD * float(times[1] - times[0])
    q, states = rest, []
    for t in times[0] + h * np.arange(3 if moving else 1):
        q = _balance(arm, study, solution, t, q, moving)
        states.append(q)
    v = np.zeros(arm.size)
    if moving:
        v = (-3 * states[0] + 4 * states[1] - states[2]) / (2 * h)
        v[[arm.names.index(name) for name in arm.inputs]] = first.v[0, driven]
    return states[0], v


def _acting(arm: Dynamics, study: Study, t: float) -> tuple[list[FrameLoad], Floats]:
    """Wrenches on frames at an instant, and efforts along joints (n,)."""
    found: dict[str, Floats] = {}
    efforts, still = np.zeros(arm.size), np.zeros(arm.size)
    for each in study.disturbances:
        load = each.bind(arm)
        if each.frame is not None:
            found[each.frame] = found.get(each.frame, np.zeros(6)) + load.signals(np.array([t]))[0]
        elif each.joint not in arm.inputs:
            efforts += np.array(load.at(t, still, still, load.initial()).efforts, dtype=float)
    return wrenches(found), efforts


def _balance(arm: Dynamics, study: Study, solution: PathSolution, t: float, q: Floats, moving: bool) -> Floats:
    """Coordinates at which what is free stays where it is while the drives move as they do at an instant."""
    motion = solution.nominal(np.array([t]))
    driven = [arm.names.index(name) for name in arm.inputs]
    places = solution.model.skeleton.driven
    v, a = np.zeros(arm.size), np.zeros(arm.size)
    q = q.copy()
    q[driven] = motion.q[0, places]
    if moving:
        v[driven], a[driven] = motion.v[0, places], motion.a[0, places]
    loads, efforts = _acting(arm, study, t)
    free = np.setdiff1d(np.arange(arm.size), driven)
    for _ in range(STEPS):
        residual = arm.forces(q, v, a) - wrench_force(arm, q, loads) - efforts
        slope = arm.inverse_derivatives(q, v, a).q - wrench_stiffness(arm, q, loads)
        step = np.linalg.lstsq(slope[np.ix_(free, free)], -residual[free], rcond=None)[0]
        q[free] += step
        if np.abs(step).max(initial=0.0) < BALANCED * max(1.0, float(np.abs(q).max(initial=0.0))):
            return q
    raise ModelError(
        f"study '{study.name}': the links of robot '{arm.robot.name}' find no balance where the path begins; let it "
        "begin at rest"
    )
