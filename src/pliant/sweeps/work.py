"""One case of a sweep, and a chunk of them: what a worker does, here, in another process or on another machine.

Of each run is kept what is named: ``max(tip.deflection)``, ``final(elbow)``, or the whole history of a channel.
"""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pliant.analysis.equilibrium import settle
from pliant.analysis.limits import state_limits
from pliant.analysis.modes import vibration_modes
from pliant.dynamics import Dynamics
from pliant.engine.call.uncollected import uncollected
from pliant.engine.stepping.steppers import STEPPERS
from pliant.errors import ModelError, did_you_mean, show
from pliant.model.description.robot import Robot
from pliant.results.channels import effort_names, parts
from pliant.results.result import Result
from pliant.results.samples import Floats, RunInfo, Samples, Strain
from pliant.simulation.integrators.compiled import CompiledIntegrator
from pliant.simulation.integrators.integrator import IntegrationError
from pliant.simulation.monitoring.extremes import ExtremesRequest, PositionsRequest
from pliant.simulation.requests import Request
from pliant.simulation.run import Run, dynamics_of, rest_of, strain_points
from pliant.simulation.start import RestRequest
from pliant.simulation.study import Study
from pliant.sweeps.ensemble import general_structures
from pliant.sweeps.together import Together
from pliant.sweeps.variation import Subject, changed

_CALL = re.compile(r"(\w+)\((.*)\)")
_POSITION = re.compile(r"(.+)\.position(?:\.[xyz])?")


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


REDUCTIONS: dict[str, tuple[str, Callable[[Floats], float]]] = {
    "max": ("largest value", lambda x: float(x.max())),
    "min": ("least value", lambda x: float(x.min())),
    "peak": ("largest size, whatever its sign", lambda x: float(np.abs(x).max())),
    "range": ("largest minus least value", lambda x: float(np.ptp(x))),
    "mean": ("mean over the samples", lambda x: float(x.mean())),
    "rms": ("root of the mean square over the samples", _rms),
    "final": ("value at the end", lambda x: float(x[-1])),
    "first": ("value at the start", lambda x: float(x[0])),
}
"""Name -> what it is, and how it is computed from the samples."""
FOLLOWED = ("max", "min", "peak", "range")
"""Of these the run knows the value between its samples too, where it follows the channel."""


class Kept(NamedTuple):
    """One thing that is kept of a run.

    text       as the user wrote it
    reduction  one of REDUCTIONS, or none: the whole history
    channel    of the run
    """

    text: str
    reduction: str
    channel: str


def read_outputs(texts: str | Iterable[str]) -> tuple[Kept, ...]:
    """The outputs that a user asks for; whether the channels exist is seen at the first run."""
    found = []
    for text in [texts] if isinstance(texts, str) else texts:
        call = _CALL.fullmatch(text.strip())
        reduction, channel = (call[1], call[2].strip()) if call else ("", text.strip())
        if call and reduction not in REDUCTIONS:
            hint = did_you_mean(reduction, REDUCTIONS) or f"; there are {', '.join(REDUCTIONS)}"
            raise ModelError(f"output {show(text)}: there is no '{reduction}'{hint}")
        if not channel:
            raise ModelError(f"output {show(text)} names no channel; write it like max(tip.deflection) or elbow")
        found.append(Kept(text.strip(), reduction, channel))
    return tuple(found)


def followed(kept: Iterable[Kept]) -> set[str]:
    """The channels whose values between the samples matter."""
    return {one.channel for one in kept if one.reduction in FOLLOWED}


def placed_frames(kept: Iterable[Kept], arm: Dynamics) -> tuple[str, ...]:
    """The frames whose positions are kept, as ``FRAME.position`` or an entry of it."""
    found = (_POSITION.fullmatch(one.channel) for one in kept)
    known = (*arm.frames, "tip")
    return tuple(dict.fromkeys(match[1] for match in found if match and match[1] in known))


def default_outputs(arm: Dynamics, *, still: bool = False) -> tuple[Kept, ...]:
    """What is kept without being asked: the largest deflections and efforts, and where the tip ends."""
    efforts = effort_names(arm)
    if still:
        return read_outputs(["tip.position", "tip.deflection", *efforts])
    bent = [f"{link.name}.deflection" for link in arm.robot.links if link.is_flexible]
    texts = [*(f"max({name})" for name in bent), "max(tip.deflection)", *(f"peak({name})" for name in efforts)]
    return read_outputs([*texts, "final(tip.position.x)", "final(tip.position.y)", "final(tip.position.z)"])


def keep(run: Result, kept: Iterable[Kept], *, still: bool = False) -> dict[str, float | Floats]:
    """Name -> a number, or a history (N,) over the samples; of a state of rest everything is a number."""
    found: dict[str, float | Floats] = {}
    for one in kept:
        if one.reduction:
            found[one.text] = _reduced(run, one)
            continue
        columns = run[_known(run, one.channel)].reshape(len(run), -1)
        for k, part in enumerate(parts(columns.shape[1])):
            name = f"{one.text}{part}"
            found[name] = float(columns[-1, k]) if still else np.array(columns[:, k])
    return found


def unit_of(run: Result, one: Kept) -> str:
    """The unit of an output."""
    return run.unit(_known(run, one.channel))


def _known(run: Result, name: str) -> str:
    """The name of a channel, or of an entry of one; raises ModelError."""
    if name not in run:
        hint = did_you_mean(name, run.channels) or "; `pliant view RUN --channels` lists them"
        raise ModelError(f"the run has no channel '{name}'{hint}")
    return name


def _reduced(run: Result, one: Kept) -> float:
    name = one.channel if one.channel in run.info.extremes else _known(run, one.channel)
    if one.reduction in FOLLOWED:
        found = run.extreme(name)
        return {
            "max": found.most,
            "min": found.least,
            "peak": max(found.most, -found.least),
            "range": found.most - found.least,
        }[one.reduction]
    values = run[name]
    # of a vector its length
    size = values if values.ndim == 1 else np.linalg.norm(values.reshape(len(run), -1), axis=1)
    return REDUCTIONS[one.reduction][1](size)


Values = dict[str, float | Floats]
Own = Callable[[Any], Any]
Arms = dict[tuple[int, str, bool], Dynamics]
"""Dynamics of robots that several cases have: by the robot's identity, its method, and whether it is compiled."""
ACTIONS = ("simulate", "modes", "equilibrium")
MODES = 6
"""Natural frequencies that are kept without being asked."""
LONGEST_REASON = 400
ABREAST = 24
"""Cases that are stepped together: some lanes full, so that robots of several structures find others of their kind."""


@dataclass(frozen=True)
class CaseRow:
    """What came out of a case.

    values  name -> number or history
    reason  why there is nothing, in words; empty where all went well
    notes   warnings of the run
    alone   why it could not be stepped beside others in the lanes of a processor; empty where it could
    """

    values: Values = field(default_factory=dict)
    reason: str = ""
    notes: tuple[str, ...] = ()
    alone: str = ""


@dataclass(frozen=True)
class SweepJob:
    """What is done with every case.

    subject  the robot or study that is changed
    do       "simulate", "modes", "equilibrium", or a function of the changed robot's Dynamics, or of the changed study
    outputs  what is kept; empty: the usual
    python   whether Python code that a varied value names may run
    """

    subject: Subject
    do: str | Own
    outputs: tuple[str, ...] = ()
    python: bool = False

    def __post_init__(self) -> None:
        if callable(self.do):
            return
        if self.do not in ACTIONS:
            hint = did_you_mean(self.do, ACTIONS) or f"; it must be {', '.join(ACTIONS)} or a function"
            raise ModelError(f"do is '{self.do}'{hint}")
        if self.do == "simulate" and isinstance(self.subject, Robot):
            raise ModelError("a robot alone cannot be simulated; give a study, or do 'modes' or 'equilibrium'")
        if self.do != "modes":
            read_outputs(self.outputs)

    def rows(self, cases: Sequence[Mapping[str, Any]]) -> list[CaseRow]:
        """Some cases side by side; what goes wrong in one is its reason."""
        if self.do == "simulate":
            return self._simulated(cases)
        courses = [_Case(case) for case in cases]
        each(courses, self._compute)
        return [course.noted for course in courses]

    def changed(self, case: Mapping[str, Any]) -> Subject:
        """The robot or study of a case; raises ModelError where a place or a value is wrong."""
        return changed(self.subject, case, python=self.python)

    def _compute(self, case: _Case) -> None:
        subject = self.changed(case.values)
        if callable(self.do):
            given = Dynamics(subject) if isinstance(subject, Robot) else subject
            case.row = CaseRow(own_values(self.do(given)))
            return
        arm = Dynamics(subject) if isinstance(subject, Robot) else Dynamics(subject.robot, method=subject.dynamics)
        case.row = self._modes(arm) if self.do == "modes" else self._rest(arm)

    def _simulated(self, given: Sequence[Mapping[str, Any]]) -> list[CaseRow]:
        """Runs of all cases, phase by phase: what several of them need next is found together first."""
        arms: Arms = {}
        cases, together = [_SimulatedCase(self, case, arms) for case in given], Together()
        together.find(each(cases, _SimulatedCase.begin))
        together.find(each(cases, _SimulatedCase.set_up))
        while going := [case for case in cases if case.goes_on]:
            together.find(each(going, _SimulatedCase.signals))
            together.find(each(going, _SimulatedCase.call))
            each(going, _SimulatedCase.advance)
        together.find(each(cases, _SimulatedCase.last_samples))
        together.find(flat(each(cases, _SimulatedCase.extremes)))
        together.find(flat(each(cases, _SimulatedCase.warning_data)))
        together.find(each(cases, _SimulatedCase.positions))
        each(cases, _SimulatedCase.keep)
        return [case.noted for case in cases]

    def _rest(self, arm: Dynamics) -> CaseRow:
        run = resting_run(arm)
        values = keep(run, self.kept(arm, still=True), still=True)
        return CaseRow(values, notes=tuple(state_limits(arm, run.q[0])))

    def _modes(self, arm: Dynamics) -> CaseRow:
        found = vibration_modes(arm)
        known: Values = {}
        for k, (hertz, ratio) in enumerate(zip(found.hertz, found.damping_ratios, strict=True)):
            known[f"frequency.{k + 1}"] = float(hertz)
            known[f"damping.{k + 1}"] = float(ratio)
        names = self.outputs or [f"frequency.{k + 1}" for k in range(min(MODES, len(found)))]
        for name in names:
            if name not in known:
                raise ModelError(
                    f"no '{name}' in the modes; there are frequency.1 to frequency.{len(found)} (Hz) and damping.1 ..."
                )
        return CaseRow({name: known[name] for name in names}, notes=found.warnings)

    def kept(self, arm: Dynamics, *, still: bool = False) -> tuple[Kept, ...]:
        """What is kept of a case."""
        return read_outputs(self.outputs) if self.outputs else default_outputs(arm, still=still)

    def units(self) -> dict[str, str]:
        """Name -> unit of what is kept, as far as it is known beforehand; raises ModelError for unknown channels."""
        if callable(self.do):
            return {}
        if self.do == "modes":
            return {"frequency": "Hz", "damping": ""}
        subject = self.subject
        robot = subject if isinstance(subject, Robot) else subject.robot
        strains = () if isinstance(subject, Robot) else strain_points(subject)
        arm = Dynamics(robot)
        run = still_run(arm, arm.reference_pose(), np.zeros(len(arm.inputs)), strains)
        return {one.text: unit_of(run, one) for one in self.kept(arm, still=self.do == "equilibrium")}


class _Case:
    """A case on its way: what it was warned of, until its row is there."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.row: CaseRow | None = None
        self.notes: dict[str, None] = {}

    @property
    def noted(self) -> CaseRow:
        """The row with all notes; one that has no values has none either."""
        row = CaseRow() if self.row is None else self.row
        return row if row.reason else replace(row, notes=(*row.notes, *self.notes))


class _SimulatedCase(_Case):
    """The run of a case in phases; each gives what the next one needs and what may be found for many runs at once."""

    study: Study
    arm: Dynamics
    outputs: tuple[Kept, ...]
    rest: RestRequest | None
    run: Run
    result: Result
    placed: PositionsRequest | None = None

    def __init__(self, job: SweepJob, values: Mapping[str, Any], arms: Arms) -> None:
        super().__init__(values)
        self.job, self.arms = job, arms

    @property
    def goes_on(self) -> bool:
        """Whether there are steps to be made."""
        return self.row is None and not self.run.finished

    def begin(self) -> Request[Any] | None:
        study = self.job.changed(self.values)
        assert isinstance(study, Study)
        # where the study alone changes, its cases have one robot
        key = id(study.robot), study.dynamics, study.compile
        arm = self.arms.get(key)
        if arm is None:
            arm = dynamics_of(study)
            if isinstance(self.job.subject, Study) and study.robot is self.job.subject.robot:
                self.arms[key] = arm
        self.study, self.arm, self.outputs = study, arm, self.job.kept(arm)
        self.rest = rest_of(study, arm)
        return self.rest

    def set_up(self) -> Request[Any] | None:
        self.run = Run(self.study, self.arm, followed(self.outputs), self.rest)
        return self.run.linear_start

    def signals(self) -> Request[Any] | None:
        return self.run.entered().signals(self.run.segment[1])

    def call(self) -> Request[Any] | None:
        return self.run.call()

    def advance(self) -> None:
        self.run.advance()

    def last_samples(self) -> Request[Any] | None:
        return self.run.recorder.request()

    def extremes(self) -> list[ExtremesRequest]:
        self.run.last_samples()
        return self.run.extremes.requests()

    def warning_data(self) -> list[Request[Any]]:
        found = self.run.warning_data()
        return [] if found is None else found.requests

    def positions(self) -> Request[Any] | None:
        self.result = self.run.result()
        if frames := placed_frames(self.outputs, self.arm):
            self.placed = PositionsRequest(self.arm, frames, self.result.q)
        return self.placed

    def keep(self) -> None:
        if self.placed is not None:
            known = zip(self.placed.frames, np.moveaxis(self.placed.value, 1, 0), strict=True)
            self.result.quantities.known_positions.update(known)
        values = keep(self.result, self.outputs)
        self.row = CaseRow(values, notes=self.result.warnings, alone=stepped_alone(self.run))


C = TypeVar("C", bound=_Case)
T = TypeVar("T")


def each(cases: Iterable[C], do: Callable[[C], T]) -> list[T]:
    """What is done with every case that has no row yet; one in which something goes wrong ends with its reason."""
    found = []
    # what is warned of is caught for all of them: to begin with that takes as long as many a step
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for case in cases:
            if case.row is not None:
                continue
            before = len(caught)
            try:
                found.append(do(case))
            except Exception as error:
                case.row = CaseRow(reason=_reason(error))
            case.notes.update(dict.fromkeys(str(one.message) for one in caught[before:]))
    return found


def flat(lists: Iterable[Sequence[T]]) -> list[T]:
    """The entries of lists, one after the other."""
    return [entry for entries in lists for entry in entries]


def stepped_alone(run: Run) -> str:
    """Why a run that is over has no lane beside others, in words; empty where it has one."""
    integrator = run.integrator
    if run.method not in STEPPERS or not STEPPERS[run.method].lanes:
        return f"steps of {run.method} are made for one run at a time"
    if not isinstance(integrator, CompiledIntegrator):
        return "its drive needs Python at every step"
    if integrator.steps_in_python:
        return "its drive follows a signal that is not smooth"
    return str(integrator.system.without_lane)


def run_chunk(job: SweepJob, cases: Sequence[Mapping[str, Any]]) -> list[CaseRow]:
    """Some cases, few at a time: each is a whole run in memory until its row is there."""
    rows: list[CaseRow] = []
    for start in range(0, len(cases), ABREAST):
        with _collected_at_its_end(), general_structures(job, cases[0]):
            rows += job.rows(cases[start : start + ABREAST])
    return rows


@contextmanager
def _collected_at_its_end() -> Iterator[None]:
    """Robots and runs refer to each other in circles: these are sought once, when all of them are done with."""
    with uncollected():
        try:
            yield
        finally:
            # of what was made since, which is young
            gc.collect(1)


def own_values(found: Any) -> Values:
    """What a user's function gave: a number, an array, or a mapping of names to either."""
    if not isinstance(found, Mapping):
        found = {"value": found}
    values: Values = {}
    for name, value in found.items():
        array = np.asarray(value, dtype=float)
        if array.ndim > 1:
            raise ModelError(f"the function gave an array of {array.ndim} dimensions as '{name}'; it may have one")
        values[str(name)] = float(array) if array.ndim == 0 else array
    return values


def resting_run(arm: Dynamics) -> Result:
    """The state of rest that the drives hold, as a run of one sample."""
    found = settle(arm)
    return still_run(arm, found.q, found.tau)


def still_run(arm: Dynamics, q: Floats, tau: Floats, strains: tuple[Strain, ...] = ()) -> Result:
    """A state without motion as a run of one sample."""
    none = np.zeros((1, 0))
    samples = Samples(np.zeros(1), q[None], np.zeros((1, arm.size)), tau[None], none, np.zeros((1, 3)), tau[None])
    info = RunInfo("rest", lambda: "", "", "", 0.0, 0.0, strains=strains)
    return Result(arm.robot, samples, info, arm)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    # errors of ours are sentences; others say what they are
    known = isinstance(error, ModelError | IntegrationError | ValueError) and type(error).__module__.startswith(
        "pliant"
    )
    text = text if known else f"{type(error).__name__}: {text}"
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 3]}..."
