"""Which shaper suits the motion of a study: what each leaves by the formula, and what the simulation says."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.control.path_vibrations import PathVibrations, rest_at
from pliant.control.shapers import SHAPERS, Shaper, shaper
from pliant.drives.holding import holding
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, require_number
from pliant.model.notebook import html_page, made_by
from pliant.simulation.integrators.integrator import IntegrationError
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import Progress, Run, dynamics_of
from pliant.simulation.study import Study, load_study
from pliant.trajectories.path import Path as JointPath
from pliant.trajectories.path import Surroundings, Trajectory, path_words
from pliant.trajectories.per_joint import frame_problem
from pliant.trajectories.shaped import LEAVES, Shaped, ShaperDesign

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

PERIODS = 2
"""Of the slowest mode that is shaped, over which the swing after a motion is looked at."""
SAMPLES = 100
"""In such a period ..."""
SAMPLES_OF_FAST = 12
"""... and at least so many in one of any mode that matters."""
MATTERS = 0.01
"""Share of the frame's deflection from which a mode matters."""
UNSHAPED, SLOWER = "none", "slower"
LARGE = 0.15
"""Share of a mode that is not shaped from which the user is told of it."""
GRID = 2001
"""Instants at which the largest acceleration is looked for."""
JERK_PERIODS = (1, 2)


class ShaperRow(NamedTuple):
    """One way to make the motion.

    kind       none, zv, ..., or slower: without a shaper, in the time that the recommended one takes
    added      s: by how much the motion is longer
    left       largest part of each mode that is left along the motion, by the formula (modes,)
    weighted   the same of the frame's swing: modes by their shares in its deflection
    swing      m: half the range of the frame's motion after the end, simulated
    simulated  this swing as a part of that without a shaper
    time       of the samples, s
    path       of the frame (times, 3), m
    end        s: when the motion is over
    words      about the motion
    """

    kind: str
    added: float
    left: Floats
    weighted: float
    swing: float
    simulated: float
    time: Floats
    path: Floats
    end: float
    words: str = ""


class JerkLimit(NamedTuple):
    """A limit of the jerk that does what a shaper does: acceleration that rises during whole periods of a mode.

    mode     its number
    periods  how many
    tau      s: time in which the acceleration rises
    jerk     of each input, rad/s^3 or m/s^3 (inputs,)
    left     largest part of the mode that is left along the motion, as its frequency changes
    """

    mode: int
    periods: int
    tau: float
    jerk: Floats
    left: float


@dataclass(frozen=True, eq=False)
class Shaping:
    """Shapers for the motion of a study, tried.

    study       as it was given
    base        the shaped trajectory whose shaper is varied
    design      frequencies and damping ratios that all shapers are made for
    vibrations  of the robot along the motion
    frame       whose swing counts
    rows        without a shaper, with each of them, and slower
    best        the recommended kind; none where nothing was finished
    limits      of the jerk that do the same
    accelerations  largest ones of the motion without a shaper (inputs,)
    warnings    what needs care, in words
    finished    False: it was interrupted, and rows are missing
    """

    study: Study
    base: Shaped
    design: ShaperDesign
    vibrations: PathVibrations
    frame: str
    inputs: tuple[str, ...]
    rows: tuple[ShaperRow, ...]
    best: str
    limits: tuple[JerkLimit, ...]
    accelerations: Floats
    warnings: tuple[str, ...] = ()
    finished: bool = field(default=True)

    def row(self, kind: str) -> ShaperRow:
        """The row of a kind."""
        for row in self.rows:
            if row.kind == kind:
                return row
        raise KeyError(f"there is no row '{kind}'; there are {', '.join(row.kind for row in self.rows)}")

    def shaper(self, kind: str) -> Shaper:
        """The impulses of a kind."""
        return impulses(kind, self.design, self.base.tolerance)

    def trajectory(self) -> Trajectory:
        """The recommended motion."""
        if self.best in SHAPERS:
            return self.base.with_changes(shaper=self.best)
        return self.base.motion

    def to_yaml(self) -> str:
        """The recommended trajectory as a study writes it."""
        from ruamel.yaml import YAML

        stream, yaml = io.StringIO(), YAML()
        yaml.width, yaml.default_flow_style = 100, None
        motion = self.trajectory()
        yaml.dump({"trajectory": {motion.kind: motion.model_dump(mode="json", exclude_unset=True)}}, stream)
        return stream.getvalue()

    def plot(self, path: str | Path | None = None) -> Figure:
        """The swing over time with and without the recommended shaper, and what shapers leave over the frequency."""
        figure: Figure = made_by("pictures.shaping_plot", "shaping_figure")(self, path)
        return figure

    def _repr_html_(self) -> str:
        rows = [
            (r.kind, f"{r.added:.3g}", f"{100 * r.weighted:.3g}", f"{1e3 * r.swing:.4g}", f"{100 * r.simulated:.3g}")
            for r in self.rows
        ]
        return html_page(repr(self), ("shaper", "longer, s", "left (formula) %", "swing, mm", "left %"), rows)

    def __repr__(self) -> str:
        return f"Shaping({self.study.name!r}, best {self.best!r} of {', '.join(r.kind for r in self.rows)})"


def impulses(kind: str, design: ShaperDesign, tolerance: float) -> Shaper:
    """The shaper of a kind for the modes of a design; one impulse without a shaper."""
    if kind not in SHAPERS:
        return Shaper(np.zeros(1), np.ones(1))
    return shaper(kind, design.omega.tolist(), design.damping.tolist(), tolerance=tolerance)


def recommend_shaper(
    study: Study | str | Path,
    *,
    frame: str | None = None,
    modes: Sequence[int] | None = None,
    at: Any = None,
    tolerance: float | None = None,
    kinds: Sequence[str] = tuple(SHAPERS),
    report: Callable[[str, float], object] | None = None,
) -> Shaping:
    """Try shapers on the motion of a study, by the formula and in the simulation, and recommend one.

    study      with a drive that has a trajectory; what a shaped one says is the default of what follows
    frame      whose swing counts; default: the one that the trajectory leads, else the tip
    modes      numbers of the vibrations that are shaped; default: the lowest
    at         pose whose frequencies are taken: "start", "end" (default), "middle", or joint positions by name
    tolerance  part of the swing that may be left, above 0 and below 1; default 0.05
    kinds      shapers that are tried
    report     called with what is simulated and the part of all that is done; True ends it

    Recommended is the shortest shaper with which the simulated swing is within the tolerance, else the one with the
    least swing.
    """
    job = study if isinstance(study, Study) else load_study(study)
    base = _base(job, modes, at, tolerance)
    place = frame or base.frame or "tip"
    if wrong := frame_problem(job.robot, place):
        raise ModelError(f"frame is '{place}'; {wrong}")
    for kind in kinds:
        if kind not in SHAPERS:
            raise ModelError(f"there is no shaper '{kind}'; there are {', '.join(SHAPERS)}")
    arm = dynamics_of(job)
    with job.placed("start"):
        q0, _ = job.start.state(arm)
    around = holding(job.drive, Surroundings(arm, q0, job.until))
    pose = q0 @ arm.B
    with job.placed("drive"):
        path = base.unshaped(around, pose, 0.0)
        design = base.with_changes(shaper=kinds[0]).design(around, pose, 0.0)
        along = base.vibrations(around, path, pose, 0.0, frame=place, whole=True)
    longest = max(impulses(kind, design, base.tolerance).duration for kind in kinds)
    trial = _Trial(job, arm, base, design, along, place, path, longest)
    rows: list[ShaperRow] = []
    every = [UNSHAPED, *kinds]
    count = len(every) + trial.can_be_slower
    finished = True
    for k, kind in enumerate(every):
        row = trial.row(kind, rows[0] if rows else None, _reporter(report, kind, k, count))
        if row is None:
            finished = False
            break
        rows.append(row)
    best = _recommended(rows, base.tolerance)
    if finished and trial.can_be_slower and best in SHAPERS:
        row = trial.slower(
            next(r for r in rows if r.kind == best), rows[0], _reporter(report, SLOWER, count - 1, count)
        )
        rows += [] if row is None else [row]
        finished = row is not None
    most = _largest_accelerations(path)
    told = tuple(_cautions(trial, rows, best, q0))
    limits = tuple(_jerk_limits(trial, most))
    return Shaping(job, base, design, along, place, arm.inputs, tuple(rows), best, limits, most, told, finished)


def _base(study: Study, modes: Sequence[int] | None, at: Any, tolerance: float | None) -> Shaped:
    """The shaped trajectory whose shaper is varied."""
    trajectory = getattr(study.drive, "trajectory", None)
    if trajectory is None:
        raise ModelError(
            f"study '{study.name}': a shaper needs a drive with a trajectory, such as "
            "prescribed: {trajectory: {quintic: ...}}"
        )
    base = trajectory if isinstance(trajectory, Shaped) else Shaped(motion=trajectory)
    changes: dict[str, Any] = {"modes": modes, "at": at, "tolerance": tolerance}
    given = {key: value for key, value in changes.items() if value is not None}
    if tolerance is not None:
        require_number("tolerance", tolerance, "parts of the swing", positive=True)
    return base.with_changes(**given) if given else base


def _reporter(report: Callable[[str, float], object] | None, kind: str, k: int, count: int) -> Any:
    if report is None:
        return None
    return lambda at: report(kind, (k + at.t / at.until) / count)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Everything that the rows share.

    path     the motion without a shaper
    longest  s: by how much the longest shaper makes it longer; all runs take as long
    """

    study: Study
    arm: Dynamics
    base: Shaped
    design: ShaperDesign
    along: PathVibrations
    frame: str
    path: JointPath
    longest: float

    @property
    def can_be_slower(self) -> bool:
        """Whether the motion has a duration that can be longer."""
        return getattr(self.base.motion, "duration", None) is not None

    @property
    def window(self) -> float:
        """s: how long the swing after a motion is looked at."""
        return PERIODS * 2 * pi / float(self.design.omega.min())

    def row(self, kind: str, plain: ShaperRow | None, report: Any) -> ShaperRow | None:
        """The motion with a shaper, or without; None if it was interrupted."""
        made = impulses(kind, self.design, self.base.tolerance)
        motion = self.base.motion if kind == UNSHAPED else self._given(kind)
        return self._measured(kind, motion, made.duration, made, plain, report)

    def slower(self, best: ShaperRow, plain: ShaperRow, report: Any) -> ShaperRow | None:
        """Without a shaper, but as long as with the best one."""
        motion: Any = self.base.motion
        longer = motion.with_changes(duration=motion.duration + best.added)
        return self._measured(SLOWER, longer, best.added, None, plain, report)

    def _given(self, kind: str) -> Shaped:
        """A shaped motion of the frequencies that were found already."""
        return Shaped(
            motion=self.base.motion,
            shaper=kind,
            frequencies=tuple((self.design.omega / (2 * pi)).tolist()),
            damping=tuple(self.design.damping.tolist()),
            tolerance=self.base.tolerance,
        )

    def _measured(
        self, kind: str, motion: Trajectory, added: float, made: Shaper | None, plain: ShaperRow | None, report: Any
    ) -> ShaperRow | None:
        simulated = self._simulated(kind, motion, added, report)
        if simulated is None:
            return None
        time, path, end, words = simulated
        swing = residual_swing(time, path, end, self.window)
        left, weighted = np.full(self.along.hertz.shape[1], np.nan), float("nan")
        if made is not None:
            parts = made.remaining(self.along.omega, self.along.damping)
            left, weighted = parts.max(axis=0), float((parts * self.along.shares).sum(axis=1).max())
        part = 1.0 if plain is None else swing / plain.swing if plain.swing else float("nan")
        return ShaperRow(kind, added, left, weighted, swing, part, time, path, end, words)

    def _simulated(
        self, kind: str, motion: Trajectory, added: float, report: Callable[[Progress], bool | None] | None
    ) -> tuple[Floats, Floats, float, str] | None:
        fast = self.along.hertz[:, (self.along.shares > MATTERS).any(axis=0)].max(initial=0.0)
        step = min(self.window / (PERIODS * SAMPLES), 1 / (SAMPLES_OF_FAST * fast) if fast else np.inf)
        assert self.study.drive is not None
        study = self.study.with_changes(
            until=max(self.path.end, 0.0) + max(added, self.longest) + self.window,
            drive=self.study.drive.with_changes(trajectory=motion),
            outputs=Outputs(step=step, frames=() if self.frame == "tip" else (self.frame,)),
            events=(),
            limits="ignore",
        )
        run = Run(study, self.arm, follow=())
        try:
            if not run.go(report):
                return None
        except IntegrationError as error:
            raise ModelError(f"study '{self.study.name}' with {kind}: stopped at {run.t:.4g} s: {error}") from None
        result = run.result()
        end = max(run.equations.path.end if run.equations.path is not None else 0.0, 0.0)
        return result.time, result[f"{self.frame}.position"], end, path_words(run.equations.path)


def residual_swing(time: Floats, path: Floats, end: float, window: float) -> float:
    """m: half the range of a frame's motion (times, 3) during a window (s) after the end of what its drives do."""
    after = path[(time >= end) & (time <= end + window)]
    return float(np.linalg.norm(np.ptp(after, axis=0))) / 2 if len(after) else 0.0


def _recommended(rows: Sequence[ShaperRow], tolerance: float) -> str:
    """The shortest within the tolerance, else the one with the least swing; of equally long ones the better one."""
    tried = [row for row in rows if row.kind in SHAPERS]
    if not tried or not np.isfinite(tried[0].simulated):
        return UNSHAPED
    good = [row for row in tried if row.simulated <= tolerance]
    if not good:
        return min(tried, key=lambda row: row.simulated).kind
    shortest = min(row.added for row in good)
    return min((row for row in good if row.added <= shortest * (1 + 1e-9)), key=lambda row: row.simulated).kind


def _largest_accelerations(path: JointPath) -> Floats:
    times = np.linspace(0.0, max(path.end, 0.0), GRID)
    return np.asarray(np.abs(path.many(times).a).max(axis=0))


def ramp_remaining(tau: float, omega: Floats, damping: Floats) -> Floats:
    """Part of a mode that is left where the acceleration rises during tau: |sinc(w tau/2)| without damping.

    The vibration of a unit impulse that is spread over tau, at its end.
    """
    pole = omega * (damping + 1j * np.sqrt(1 - damping**2))
    return np.asarray(np.abs(-np.expm1(-pole * tau) / (pole * tau)))


def _jerk_limits(trial: _Trial, accelerations: Floats) -> Iterator[JerkLimit]:
    """Ramps of whole periods of the modes that are shaped."""
    design, along = trial.design, trial.along
    for k, (w, z) in enumerate(zip(design.omega, design.damping, strict=True)):
        omega, damping = np.array([w]), np.array([z])
        if design.modes:
            omega, damping = (table[:, design.modes[k] - 1] for table in (along.omega, along.damping))
        for periods in JERK_PERIODS:
            tau = periods * 2 * pi / float(w * np.sqrt(1 - z**2))
            left = float(ramp_remaining(tau, omega, damping).max())
            yield JerkLimit(design.modes[k] if design.modes else k + 1, periods, tau, accelerations / tau, left)


def _cautions(trial: _Trial, rows: Sequence[ShaperRow], best: str, q0: Floats) -> Iterator[str]:
    arm, frame, plain = trial.arm, trial.frame, rows[0] if rows else None
    if plain is None:
        return
    if not plain.swing:
        yield f"frame '{frame}' does not swing after the motion: there is nothing to shape"
    bent = rest_at(arm, q0 @ arm.B, q0)
    drop = float(np.linalg.norm(arm.pose(frame, bent).position - arm.pose(frame, q0).position))
    if drop > MATTERS * plain.swing:
        yield (
            f"the links do not begin at rest: frame '{frame}' falls by {1e3 * drop:.3g} mm and swings before it moves, "
            "which no shaper removes; write start: {links: equilibrium}"
        )
    shares = trial.along.shares.max(axis=0)
    others = [k for k in np.flatnonzero(shares > LARGE).tolist() if k + 1 not in trial.base.modes]
    if others and trial.base.frequencies is None:
        listed = ", ".join(f"{k + 1} ({100 * shares[k]:.0f} %)" for k in others)
        yield f"modes that are not shaped have large shares of the deflection of frame '{frame}': {listed}"
    found = next((row for row in rows if row.kind == best), None)
    if found is not None and LEAVES in found.words:
        yield f"with {best} {found.words[found.words.index(LEAVES) :]}, where it is between its delayed copies"
    if found is not None and best in SHAPERS and found.simulated > trial.base.tolerance:
        yield (
            f"no shaper leaves {100 * trial.base.tolerance:.3g} % or less; {best} leaves the least. Frequencies change "
            "along the motion: move slower, or shape more modes"
        )
