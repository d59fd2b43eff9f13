"""Simulation: from a study to a result, step by step, with progress, interruption and resumption."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.drives.callback import Law
from pliant.drives.drive import Drive
from pliant.drives.given import NoDrive
from pliant.drives.holding import holding
from pliant.drives.sensor_filters import SensorFilters, filtered_sensors
from pliant.dynamics import Dynamics
from pliant.engine.call.uncollected import uncollected
from pliant.errors import ModelError
from pliant.formulations.loops.loops import LoopError
from pliant.loads.commands import LengthControl
from pliant.loads.disturbance import Disturbance
from pliant.loads.lines import robot_forces
from pliant.loads.load import LoadElement
from pliant.loads.stops import Stops
from pliant.model.description.robot import Robot
from pliant.results.result import Result
from pliant.results.samples import Extreme, RunInfo, Samples, Strain
from pliant.simulation.choice import LinearStart, cautions, choose, fastest_rate
from pliant.simulation.integrators.by_name import make_integrator, needs_step, ticks_in_steps
from pliant.simulation.integrators.integrator import IntegrationError, Integrator, Piece, Settings, Tolerance
from pliant.simulation.monitoring.checks import WarningData, allowed_ranges, range_warnings
from pliant.simulation.monitoring.events import Event, Happening, Watch, limit_events
from pliant.simulation.monitoring.extremes import Extremes
from pliant.simulation.monitoring.line_checks import line_warnings
from pliant.simulation.monitoring.watches import AccuracyWatch, GrowthWatch, Passages
from pliant.simulation.outputs import Outputs, Recorder, StrainPoint
from pliant.simulation.requests import Request
from pliant.simulation.start import RestRequest, Start
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import DEFAULT_TOLERANCE, IntegratorOptions, Study
from pliant.states import States
from pliant.trajectories.path import Surroundings
from pliant.trajectories.per_joint import file_digests, turn_limits

Floats = NDArray[np.float64]

MOST_NUMBERS = 1_000_000_000
"""Numbers in the samples of a run, 8 GB."""


class SimulationWarning(UserWarning):
    """A run whose result needs care."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is: simulated time, its end, size of the next step, seconds since this call began."""

    t: float
    until: float
    step: float
    seconds: float


Report = Callable[[Progress], bool | None]
"""Called now and then; ``True`` interrupts the run."""


class Run:
    """A run on its way. ``go`` advances it to the end, or until it is interrupted; it can then go on.

    follow  names of what is followed between the samples beside what its warnings need; None: all that can be
    rest    the state of rest that it begins in, if that was asked for already
    """

    def __init__(
        self,
        study: Study,
        arm: Dynamics | None = None,
        follow: Collection[str] | None = None,
        rest: RestRequest | None = None,
    ) -> None:
        with uncollected():
            self._set_up(study, arm, follow, rest)

    def _set_up(
        self, study: Study, arm: Dynamics | None, follow: Collection[str] | None, rest: RestRequest | None
    ) -> None:
        began = time.perf_counter()
        self.study = study
        self.arm = dynamics_of(study) if arm is None else arm
        with study.placed("start"):
            self.q0, self.v0 = study.start.state(self.arm, rest)
        around = holding(study.drive, Surroundings(self.arm, self.q0, study.until))
        with study.placed("drive"):
            drive = study.drive.bind(around, self.q0 @ self.arm.B) if study.drive else NoDrive(len(self.arm.inputs))
        loads = [load.bind(self.arm) for load in study.disturbances]
        for i, load in enumerate(study.loads):
            with study.placed("loads", i, load.kind):
                loads.append(load.bind(self.arm))
        with study.placed("commands"):
            lines = robot_forces(self.arm, study.commands)
            loads += [] if lines is None else [lines]
        with study.placed("start"):
            study.start.begin(self.arm, lines, self.q0)
        if study.stops is not None:
            with study.placed("stops"):
                loads.append(study.stops.bind(self.arm))
        if loads and drive.feels:
            names = ", ".join(f"'{name}'" for name in drive.feels)
            raise ModelError(
                f"sensor {names} feels the forces of loads, which a drive does not know: leave the loads out, or read "
                "other sensors (drive.lqr.sensors)"
            )
        if filtered_sensors(self.arm.robot.sensors):
            loads.append(SensorFilters(self.arm, self.q0, self.v0))
        with study.placed("drive"):
            try:
                self.equations = StateEquations(self.arm, drive, loads)
            except LoopError as error:
                raise ModelError(str(error)) from None
        events = [event.bind(self.arm) for event in study.events]
        if study.limits == "stop":
            events += limit_events(self.arm, stops=True)
        self.watch = Watch(self.equations, events)
        self.passages = Passages(self.equations)
        options = study.integrator
        allowed = Tolerance.of(self.equations, options.tolerance, options.absolute, options.groups)
        largest = inf if options.max_step is None else options.max_step
        self.settings = Settings(allowed, options.step, largest, options.radius)
        # what the choice of a method needs, if one is to be chosen
        auto = options.method == "auto"
        self.linear_start = LinearStart(self.equations, self.q0, self.v0) if auto else None
        self.files = file_digests(study.drive)
        self._require_room()
        self.recorder = Recorder(self.equations, study.sample_step, study.until)
        self.strains = strain_points(study)
        frames = (_whole_name(study.robot, frame) for frame in study.outputs.frames)
        self.frames = tuple(dict.fromkeys(("tip", *frames)))
        self._require_channels()
        self._followed = None if follow is None else {*allowed_ranges(self.arm), *follow}
        self.extremes = Extremes(self.equations, self.strains, self.frames, self._followed)
        self._found: Mapping[str, Extreme] = {}
        self.breaks = [t for t in self.equations.breaks if 0 < t < study.until]
        self.segment = (0.0, 0.0)
        self.happenings: list[Happening] = []
        self.integrator: Integrator | None = None
        self.stopped = self.trouble = ""
        self._warning_data: WarningData | None = None
        self._concluded: tuple[float, str, str] | None = None
        self.seconds = time.perf_counter() - began

    @cached_property
    def choice(self) -> tuple[str, str]:
        """The integration method and why it was taken."""
        began, study = time.perf_counter(), self.study
        with uncollected():
            found = choose(study.integrator, self.equations, self.q0, self.v0, study.until, self.linear_start)
        self.seconds += time.perf_counter() - began
        return found

    @property
    def method(self) -> str:
        """The integration method."""
        return self.choice[0]

    @property
    def reason(self) -> str:
        """Why the method was taken, in words."""
        return self.choice[1]

    @cached_property
    def _ticks_in_steps(self) -> bool:
        """Whether the integrator takes the ticks of a sampled law."""
        return ticks_in_steps(self.method, self.equations)

    @cached_property
    def growth(self) -> GrowthWatch:
        """Looks for motions that grow and that the steps of the method pass over."""
        return GrowthWatch(self.equations, self.method)

    @cached_property
    def accuracy(self) -> AccuracyWatch:
        """Looks at the errors that the method carries along."""
        return AccuracyWatch(self.equations, self.settings.tolerance, self.method)

    def _require_room(self) -> None:
        """Refuse samples that no memory holds, before any of them is computed."""
        samples, columns = self.study.until / self.study.sample_step, 3 * self.arm.size + 2 * len(self.arm.inputs) + 4
        if samples * columns > MOST_NUMBERS:
            step = self.study.until * columns / MOST_NUMBERS
            raise ModelError(
                f"{samples:.2g} samples of {self.arm.size} coordinates need {8e-9 * samples * columns:.3g} GB; "
                f"write outputs.step of at least {step:.2g} s"
            )

    def _require_channels(self) -> None:
        """Refuse channels that the result will not have, before it is computed."""
        if not self.study.outputs.channels:
            return
        start = Recorder(self.equations, self.study.sample_step, self.study.until)
        start.first(0.0, self.equations.start(self.q0, self.v0))
        known: dict[str, Any] = {"loaded": self.equations.loaded, "states": self.equations.state_words}
        info = RunInfo("", str, "", "", 0.0, 0.0, frames=self.frames, strains=self.strains, **known)
        first = Result(self.study.robot, start.samples(), info, self.arm)
        for i, name in enumerate(self.study.outputs.channels):
            with self.study.placed("outputs", "channels", i):
                try:
                    first.channel(name)
                except KeyError as error:
                    raise ModelError(str(error.args[0])) from None

    @property
    def t(self) -> float:
        """The time that is reached."""
        return self.integrator.t if self.integrator is not None else 0.0

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return bool(self.stopped) or self.t >= self.study.until

    # ---- going on

    def go(self, report: Report | None = None) -> bool:
        """Advance to the end; False if ``report`` interrupted the run."""
        began, before = time.perf_counter(), self.seconds
        try:
            while not self.finished:
                integrator = self.advance()
                if report is not None:
                    now = time.perf_counter() - began
                    if report(Progress(integrator.t, self.study.until, integrator.step, now)):
                        return False
            return True
        finally:
            self.seconds = before + time.perf_counter() - began

    def advance(self) -> Integrator:
        """Make the next steps and keep what they give."""
        integrator = self.entered()
        end = self.segment[1]
        self._take(integrator.advance(end, self.recorder.upcoming(end)), integrator)
        return integrator

    def call(self) -> Request[Any] | None:
        """The call of machine code by which ``advance`` makes the next steps, if it may be made in a lane."""
        return self.entered().call(self.segment[1], self.recorder.upcoming(self.segment[1]))

    def entered(self) -> Integrator:
        """The integrator, in the interval of smooth equations in which the next steps are."""
        integrator = self._begin()
        if integrator.t >= self.segment[1]:
            self._next_segment(integrator)
        return integrator

    def _begin(self) -> Integrator:
        if self.integrator is None:
            y = self.equations.start(self.q0, self.v0)
            self._tick(0.0, y)
            self._enter(0.0)
            self.integrator = self._make(0.0, y)
            self.watch.begin(0.0, y)
            self.recorder.first(0.0, y)
            self._recentre(self.integrator)
        return self.integrator

    def _make(self, t: float, y: Floats) -> Integrator:
        stepless = needs_step(self.method, self.settings)
        fastest = fastest_rate(self.equations, self.q0, self.v0) if stepless else 0.0
        return make_integrator(self.method, self.equations, t, y, self.settings, fastest)

    def _enter(self, t: float) -> None:
        """The next interval in which the equations are smooth."""
        later = next((b for b in self.breaks if b > t), self.study.until)
        tick = inf if self._ticks_in_steps else self.equations.drive.next_tick(t)
        self.segment = (t, min(later, tick, self.study.until))
        self.equations.enter(*self.segment)

    def _next_segment(self, integrator: Integrator) -> None:
        t = self.segment[1]
        self.extremes.settle()
        if not self._ticks_in_steps:
            self._tick(t, integrator.y)
        before = self.equations.prescribed_rates(t)
        self._enter(t)
        struck = self.equations.struck(t, integrator.y, before)
        if struck is not None:
            self.extremes.interrupt()
        integrator.restart(t, integrator.y if struck is None else struck)

    def _tick(self, t: float, y: Floats) -> None:
        drive = self.equations.drive
        # a command without delay takes effect at the instant of its sample
        while drive.next_tick(t) <= t:
            drive.tick(t, *self.equations.coordinates(t, y))

    def _take(self, piece: Piece, integrator: Integrator) -> None:
        """Keep the samples of a piece and look for events in it."""
        # a trial step that diverged has been made good
        self.equations.diverged = ""
        self.growth.take(piece, integrator)
        self.accuracy.take(piece)
        jump = self.passages.look(piece)
        if jump is not None:
            self.extremes.look(piece, jump.time)
            self.recorder.take(piece, jump.time, last=True)
            integrator.t, integrator.y = jump.time, piece(jump.time)
            raise IntegrationError(f"{integrator.name}: {jump.words}")
        found = self.watch.look(piece)
        self.happenings += found
        if found and found[-1].stops:
            end = found[-1]
            self.extremes.look(piece, end.time)
            self.recorder.take(piece, end.time, last=True)
            self.stopped = f"stopped at {end.time:.6g} s: {end.name}"
            integrator.t, integrator.y = end.time, piece(end.time)
            return
        self.extremes.look(piece, piece.end)
        self.recorder.take(piece, piece.end)
        self._recentre(integrator)

    def _recentre(self, integrator: Integrator) -> None:
        """Go on with shorter rotation vectors where they have become longer than half a turn."""
        found = self.equations.recentred(integrator.y)
        if found is None:
            return
        integrator.retake(*found)
        self.extremes.interrupt()
        if self.watch.before is not None:
            self.watch.begin(integrator.t, integrator.y)

    def give_up(self, error: IntegrationError) -> None:
        """The integrator cannot go on: what was computed is the result."""
        self.trouble = str(error)
        y = self.equations.start(self.q0, self.v0) if self.integrator is None or not self.t else self.integrator.y
        why = self.equations.explain(self.t, y)
        self.trouble += f"; {why}" if why else ""
        self.stopped = f"stopped at {self.t:.6g} s: the integrator could not go on"

    # ---- what is there

    def last_samples(self) -> None:
        """Find all samples so far; ``recorder.request`` is what that needs."""
        self.recorder.catch_up()
        if self.finished and self.integrator is not None and not self.trouble:
            self.growth.finish(self.integrator)

    def warning_data(self) -> WarningData | None:
        """Find extremes and what warnings are derived from; ``extremes.requests`` is what the extremes need."""
        ranges = allowed_ranges(self.arm)
        # nothing goes on that would change what is found later, and no code of others is asked
        waits = self._followed is None and self.finished and not self.trouble
        waits = waits and self.integrator is not None and not self.integrator.steps_in_python
        near: Collection[str] = self.extremes.near(ranges) if waits else ranges
        # a run that goes on looks at its steps when it would have done so anyway
        pending = None if self.finished else self.extremes.memory()
        self._found = self.extremes.conclude(near if waits else None)
        if pending is not None:
            self.extremes.recall(pending)
        # the numbers of a motion that diverged mean nothing
        known = None if self.trouble else WarningData(self.arm, self.recorder.samples(), near, self.equations.loaded)
        self._warning_data, self._concluded = known, (self.t, self.stopped, self.trouble)
        return known

    def result(self, version: str = "") -> Result:
        """Everything computed so far."""
        study = self.study
        if self._concluded != (self.t, self.stopped, self.trouble):
            with uncollected():
                self.last_samples()
                self.warning_data()
        samples, known = self.recorder.samples(), self._warning_data
        info = RunInfo(
            name=study.name,
            source=study.to_yaml,
            method=self.method,
            reason=self.reason,
            tolerance=study.integrator.tolerance,
            until=study.until,
            statistics=self.integrator.statistics.as_dict() if self.integrator is not None else {},
            finished=self.finished,
            ended=self.stopped or ("reached its end" if self.finished else f"interrupted at {self.t:.6g} s"),
            events=tuple((h.time, h.name, h.value) for h in self.happenings),
            frames=self.frames,
            loaded=self.equations.loaded,
            states=self.equations.state_words,
            strains=self.strains,
            channels=study.outputs.channels,
            seconds=self.seconds,
            version=version or str(sys.modules["pliant"].__version__),
            extremes=self._found,
            dynamics=self.arm.method.name,
        )
        result = Result(study.robot, samples, info, self.arm)
        found: tuple[str, ...] = (self.trouble,)
        if known is not None and not self.trouble:
            result.quantities.energies = known.energies
            watched = filter(None, [self.growth.found, self.accuracy.words(self.integrator)])
            warned = (*cautions(self.method, self.equations, self.reason), *watched)
            warned += (*turn_limits(study.robot, study.start, study.drive), *self.equations.drive.cautions)
            found = (*warned, *range_warnings(result, study.limits != "ignore", known), *line_warnings(result))
        result.info = replace(info, warnings=found)
        return result

    def memory(self) -> dict[str, Any]:
        """What is needed to go on, as arrays by name; the samples are kept apart."""
        assert self.integrator is not None
        kept: dict[str, Any] = {f"integrator/{k}": x for k, x in self.integrator.memory().items()}
        kept.update({f"drive/{k}": x for k, x in self.equations.drive.memory().items()})
        kept["run/segment"] = np.array(self.segment)
        kept["run/excesses"] = np.array(self.watch.before if self.watch.before is not None else [])
        kept["run/seconds"] = np.array(self.seconds)
        if self.finished:
            self.extremes.finish()
        kept.update({f"peaks/{k}": x for k, x in self.extremes.memory().items()})
        kept["run/growth"] = np.bytes_(self.growth.memory())
        kept["run/accuracy"], kept["run/passages"] = self.accuracy.memory(), np.bytes_(self.passages.memory())
        kept["run/method"], kept["run/reason"] = np.bytes_(self.method.encode()), np.bytes_(self.reason.encode())
        kept["run/files"] = np.bytes_(json.dumps(self.files).encode())
        return kept

    def recall(self, memory: Mapping[str, Any], samples: Samples, happenings: Sequence[Happening] = ()) -> None:
        """Go on from what ``memory`` and the samples gave."""

        def part(name: str) -> dict[str, Any]:
            return {key.partition("/")[2]: x for key, x in memory.items() if key.startswith(f"{name}/")}

        own, inner = part("run"), part("integrator")
        before = json.loads(bytes(own["files"]))
        changed = sorted(file for file in {*before, *self.files} if before.get(file) != self.files.get(file))
        if changed:
            raise ModelError(f"{', '.join(changed)} has changed since the run began; put it back, or start anew")
        # what auto would choose for another end is no matter: the run keeps the method that it began with
        self.choice = bytes(own["method"]).decode(), bytes(own["reason"]).decode()
        self.equations.drive.recall(part("drive"))
        start, end = (float(x) for x in own["segment"])
        self.segment = (start, min(end, max(self.study.until, float(inner["t"]))))
        self.equations.enter(*self.segment)
        self.integrator = self._make(float(inner["t"]), np.array(inner["y"]))
        self.integrator.recall(inner)
        self.recorder.recall(samples)
        if "peaks/found" in memory:
            self.extremes.recall(part("peaks"))
        self.growth = GrowthWatch(self.equations, self.method)
        self.growth.recall(own["growth"])
        self.accuracy = AccuracyWatch(self.equations, self.settings.tolerance, self.method)
        self.accuracy.recall(own["accuracy"])
        self.passages.recall(own["passages"])
        self.watch.before = own["excesses"].tolist() or None
        self.happenings = list(happenings)
        self.seconds += float(own["seconds"])


def dynamics_of(study: Study) -> Dynamics:
    """The dynamics of the robot of a study."""
    how: Literal["auto", "never"] = "auto" if study.compile else "never"
    with study.placed("robot"):
        return Dynamics(study.robot, method=study.dynamics, compile=how)


def rest_of(study: Study, arm: Dynamics) -> RestRequest | None:
    """The state of rest that a study begins in; None if it begins in another one."""
    with study.placed("start"):
        return study.start.rest(arm)


def strain_points(study: Study) -> tuple[Strain, ...]:
    """The places where a study wants strains."""
    return tuple(point.on(study.robot) for point in study.outputs.strains)


def _whole_name(robot: Robot, frame: str) -> str:
    """``LINK.FRAME`` also for a link's tip, whose short name is that of the link."""
    return frame if frame == "tip" else ".".join(robot.resolve_frame(frame))


def simulate(
    arm: Dynamics | Robot | str,
    *,
    until: float,
    drive: Drive | Law | None = None,
    start: Start | Mapping[str, float] | tuple[States, States] | None = None,
    disturbances: Sequence[Disturbance] = (),
    loads: Sequence[LoadElement] = (),
    commands: Mapping[str, float | str | LengthControl] | None = None,
    events: Sequence[Event] = (),
    limits: Literal["ignore", "warn", "stop"] = "warn",
    stops: Stops | None = None,
    method: str = "auto",
    tolerance: float = DEFAULT_TOLERANCE,
    absolute: float | None = None,
    groups: Mapping[str, float] | None = None,
    max_step: float | None = None,
    step: float | None = None,
    radius: float = 0.8,
    output_step: float | None = None,
    frames: str | Sequence[str] = (),
    strains: Sequence[StrainPoint] = (),
    name: str = "run",
    report: Report | None = None,
) -> Result:
    """Simulate a robot and give its motion.

    arm           the robot: Dynamics, a Robot, or a name or path
    until         end of the simulated time, s
    drive         what moves the joints, or a control law tau = law(t, q, v); default: motors off
    start         Start(...), joint positions by name, or q and v; default: the robot's pose, at rest, links straight
    disturbances  forces from elsewhere
    loads         further forces that no motor makes, of registered kinds
    commands      of actuators along lines, by name: signals of time, or controllers of their lengths
    events        thresholds that stop the run or are recorded
    limits        joints that pass their limits: "ignore", "warn" or "stop"
    stops         elastic stops at the position limits
    method        "auto" or a name: dop853, gauss, esdirk, generalised-alpha, rk4, semi-implicit, sundials, scipy:NAME
    tolerance     relative error of a step; ``absolute`` is a hundredth of it by default
    groups        absolute errors of "joints", "elastic" or patterns of coordinate names
    max_step      largest step, s; ``step`` is that of fixed-step methods
    radius        numerical damping of generalised-alpha: 1 none, 0 most
    output_step   time between samples, s; default: about a thousand samples
    frames        frames beside the tip that plots show; ``strains`` places where strains are wanted
    name          of the run
    report        called now and then with a Progress; returning True ends the run early
    """
    given: dict[str, Any] = {"absolute": absolute, "max_step": max_step, "step": step}
    options = IntegratorOptions(
        method=method,
        tolerance=tolerance,
        groups=dict(groups or {}),
        radius=radius,
        **{key: value for key, value in given.items() if value is not None},
    )
    if not isinstance(arm, Dynamics):
        arm = Dynamics(arm)
    if isinstance(start, tuple):
        q, v = (tuple(arm.labels.states(name, x).tolist()) for name, x in zip("qv", start, strict=True))
        start = Start(q=q, v=v)
    elif isinstance(start, Mapping):
        start = Start(position=start)
    optional: dict[str, Any] = {"drive": drive, "start": start, "stops": stops}
    study = Study(
        name=name,
        robot=arm.robot,
        until=until,
        disturbances=tuple(disturbances),
        loads=tuple(loads),
        commands=dict(commands or {}),
        events=tuple(events),
        limits=limits,
        integrator=options,
        outputs=Outputs(
            step=output_step, frames=(frames,) if isinstance(frames, str) else tuple(frames), strains=tuple(strains)
        ),
        **{key: value for key, value in optional.items() if value is not None},
    )
    return run_study(study, arm, report)


def run_study(study: Study, arm: Dynamics | None = None, report: Report | None = None) -> Result:
    """Run a study to its end; what the result needs care with is also warned of.

    arm     the dynamics of its robot, if they are there already
    report  called now and then with the ``Progress``; ends the run if it gives True
    """
    run = Run(study, arm)
    try:
        run.go(report)
    except IntegrationError as error:
        run.give_up(error)
    result = run.result()
    for text in result.warnings:
        warnings.warn(text, SimulationWarning, stacklevel=3)
    return result
