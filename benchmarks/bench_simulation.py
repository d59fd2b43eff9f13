"""(g) Motion in time: a ringing arm against Exudyn, MuJoCo and scipy, and the bundled runs against published times.

The programs must first agree: each is refined until it does not change any more, and the results are compared. Then
each takes its cheapest settings (found by trial, see the lists below) whose tip stays within LIMIT of the refined
motion. That motion is Exudyn's where it is installed, as its elements know most about large bending.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import exudyn_arm
import mujoco_arm
import ringing_arm
from peers import NoPeerError
from report import Goal, Options, Row, Section, Sheet, alone, digits
from ringing_arm import SAMPLES, UNTIL, Floats, Solve, difference
from robots import FAMILIES, flexible_chain
from timing import turns

from pliant import Dynamics, load_study
from pliant.reproduce.cibicik import OPTIMISED_SECONDS, manoeuvre
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import SimulationWarning, run_study
from pliant.simulation.study import IntegratorOptions, Study, bundled_studies

LIMIT = 1e-5
"""Distance of the tip from the common motion that is allowed, m."""
FASTER = Goal(">=", 20.0)
ROUNDS = 3
# the search of Exudyn's settings: 1 to 8 elements per link, 10000 to 160000 steps, Newton tolerances 1e-2 to 1e-8,
# generalised-alpha with spectral radii 0.5 to 0.99 and the trapezoidal rule, three linear solvers, full and modified
# Newton, both orders of integration over an element, control as a symbolic or a Python function
CASE = f"ringing arm, {UNTIL:g} s"
PICTURE = "work-precision.png"
UNIT, UNIT_SECONDS = "Exudyn's ringing arm", 0.322
"""What goals in seconds are measured by, and its processor time where they were set."""
LONG_ENOUGH = 2.0
"""Processor seconds for the rounds of a run, if it is short."""
FALLS = {2: 2.0, 5: 1.0, 10: 0.5, 20: 0.25}
"""Links of undamped chains, of four elastic coordinates each -> how long they fall, s."""
DUALEMPS_SECONDS = 365.0
"""What Briot & Khalil's program took for 25 s of the DualEMPS."""


@dataclass(frozen=True)
class Contender:
    """A program with settings; ``family`` joins the points of one curve."""

    family: str
    settings: str
    prepare: Callable[[], Solve]

    @property
    def name(self) -> str:
        return f"{self.family}, {self.settings}"


def _pliant(method: str, modes: int, tolerance: float) -> Contender:
    prepare = partial(ringing_arm.prepare, modes, method=method, tolerance=tolerance)
    family = f"Pliant {method}" if ":" not in method else f"scipy {method.partition(':')[2]} on our equations"
    return Contender(family, f"{modes} modes per link, tolerance {tolerance:.0e}", prepare)


def _exudyn(elements: int, steps: int, tolerance: float) -> Contender:
    prepare = partial(exudyn_arm.prepare, elements, steps, tolerance=tolerance)
    settings = f"{elements} ANCF elements per link, {steps} steps, Newton {tolerance:.0e}"
    return Contender("Exudyn", settings, prepare)


def _mujoco(springs: int, steps: int) -> Contender:
    prepare = partial(mujoco_arm.prepare, springs, steps)
    return Contender("MuJoCo", f"chains of {springs} springs per link, {steps} steps", prepare)


OURS = _pliant("dop853", 2, 1e-4)
THEIRS = _exudyn(2, 22000, 1e-4)
CONTENDERS = (
    OURS,
    _pliant("auto", 2, 1e-8),
    _pliant("generalised-alpha", 2, 1e-9),
    THEIRS,
    _exudyn(3, 30000, 1e-4),
    _mujoco(4, 20000),
    _mujoco(16, 200000),
    _pliant("scipy:LSODA", 2, 1e-7),
    _pliant("scipy:Radau", 2, 1e-4),
)
# the other points of the picture
CURVES = (
    *(_pliant("dop853", modes, 1e-7) for modes in (1, 3, 4)),
    *(_pliant("generalised-alpha", 2, tolerance) for tolerance in (1e-6, 1e-7, 1e-8)),
    *(_pliant("scipy:Radau", 2, tolerance) for tolerance in (1e-2, 1e-3)),
    *(_exudyn(3, steps, 1e-4) for steps in (2500, 5000, 10000, 20000)),
    _exudyn(4, 40000, 1e-5),
    _mujoco(2, 10000),
    _mujoco(8, 100000),
)


def measure(options: Options) -> Section:
    section = Section("simulation", "Motion in time (processor time)")
    common = _common(section)
    raced, tips = _race(CONTENDERS, section)
    errors = {name: difference(tip, common) for name, tip in tips.items()}
    for contender in (OURS, THEIRS):
        if errors.get(contender.name, 0.0) > LIMIT:
            found = f"{contender.name} misses the common motion by {errors[contender.name]:.1e} m"
            raise SystemExit(f"{found}; the limit is {LIMIT:.0e} m")
    section.sheets.append(_sheet(raced, errors))
    section.add(*_comparisons(raced, errors))
    section.add(*_processes(section))
    section.add(*_bundled(sum(raced[THEIRS.name]) if THEIRS.name in raced else None))
    section.add(*_lasting())
    section.notes.append(f"Goals of the bundled runs: 0.02, 0.3 and 0.2 s where {UNIT} takes {UNIT_SECONDS:g} s.")
    _draw(raced, errors, common, options.out / PICTURE, section)
    return section


def _common(section: Section) -> Floats:
    """The refined motion; the differences that refinement makes go to a table."""
    ours, fine = ringing_arm.tip(4, tolerance=1e-9), ringing_arm.tip(6, tolerance=1e-10)
    lines = [("Pliant", "6 modes per link, tolerance 1e-10", "4 modes per link, 1e-9", f"{difference(ours, fine):.1e}")]
    common = fine
    try:
        settings = {"tolerance": 1e-6}
        coarse = exudyn_arm.tip(8, 40000, **settings)
        steps = exudyn_arm.tip(8, 80000, **settings)
        elements = exudyn_arm.tip(4, 80000, **settings)
        # the method is of second order: what is left of the error is a third of what the last halving changed
        common = steps + (steps - coarse) / 3
        what = "8 elements per link, 80000 steps"
        lines += [
            ("Exudyn", what, "half as many elements", f"{difference(steps, elements):.1e}"),
            ("Exudyn", what, "half as many steps", f"{difference(steps, coarse):.1e}"),
            ("Exudyn", f"{what}, extrapolated", "Pliant, 6 modes per link", f"{difference(common, fine):.1e}"),
        ]
    except NoPeerError as missing:
        section.notes.append(f"{missing}; errors are distances from Pliant's own refined motion.")
    columns = ("program", "refined", "compared with", "largest distance of the tips, m")
    section.sheets.append(Sheet("Do they describe the same motion?", columns, lines))
    return common


def _race(
    contenders: Sequence[Contender], section: Section, rounds: int = ROUNDS
) -> tuple[dict[str, tuple[float, float]], dict[str, Floats]]:
    """Processor times (set-up, run) and tip motions of those that are installed."""
    tips: dict[str, Floats] = {}
    there = {}
    for contender in contenders:
        try:
            # also loads what is loaded only once
            tips[contender.name] = contender.prepare()()
            there[contender.name] = contender.prepare
        except NoPeerError as missing:
            note = f"{contender.family} left out: {missing}"
            if note not in section.notes:
                section.notes.append(note)
    return turns(there, rounds), tips


def _sheet(raced: dict[str, tuple[float, float]], errors: dict[str, float]) -> Sheet:
    fastest = sum(raced[OURS.name])
    lines = []
    for contender in CONTENDERS:
        if contender.name in raced:
            prepared, run = raced[contender.name]
            times = (digits(1e3 * x) for x in (prepared, run, prepared + run))
            ratio = f"{(prepared + run) / fastest:.2f}"
            lines.append((contender.family, contender.settings, f"{errors[contender.name]:.1e}", *times, ratio))
    columns = ("program", "settings", "tip error, m", "set-up, ms", "run, ms", "both, ms", "in units of the first")
    return Sheet(f"{CASE}, {SAMPLES} tip positions", columns, lines)


def _comparisons(raced: dict[str, tuple[float, float]], errors: dict[str, float]) -> list[Row]:
    prepared, run = raced[OURS.name]
    rows = []
    for contender in CONTENDERS[1:]:
        if contender.name in raced and not contender.family.startswith("Pliant"):
            theirs = f"{contender.name} (error {errors[contender.name]:.0e} m)"
            goal = FASTER if contender is THEIRS else None
            total = sum(raced[contender.name])
            rows.append(Row(CASE, "set-up included", prepared + run, "s", theirs, total, goal=goal))
            if contender is THEIRS:
                rows.append(Row(CASE, "after the set-up", run, "s", theirs, raced[contender.name][1]))
    return rows


# ---------------------------------------------------------------- whole processes

SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
import {module}
{module}.load() if hasattr({module}, "load") else None
start = time.process_time()
{module}.tip({arguments})
print(time.process_time() - start, time.process_time())
"""


def _processes(section: Section) -> list[Row]:
    """In processes of their own: with an empty cache, and with everything that is imported."""
    ours = {"module": "ringing_arm", "arguments": "2, tolerance=1e-4"}
    theirs = {"module": "exudyn_arm", "arguments": "2, 22000, tolerance=1e-4"}
    cold, warm, peer = [], [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(_process(folder, **ours))
            warm.append(_process(folder, **ours))
        try:
            exudyn_arm.load()
            peer.append(_process("", **theirs))
        except NoPeerError:
            peer.append((None, None))
    columns = [[min(x) if None not in x else None for x in zip(*runs, strict=True)] for runs in (cold, warm, peer)]
    (cold_run, _), (warm_run, warm_all), (peer_run, peer_all) = columns
    name = "Exudyn, the same settings"
    return [
        Row(CASE, "first run of a process, nothing compiled before", cold_run, "s", name, peer_run),
        Row(CASE, "first run of a process, compiled before (disk cache)", warm_run, "s", name, peer_run),
        Row(CASE, "whole process with imports, compiled before", warm_all, "s", name, peer_all),
    ]


def _process(cache: str, *, module: str, arguments: str) -> tuple[float, float]:
    """Processor seconds of a run in a new process, and of the whole process."""
    script = SCRIPT.format(folder=str(Path(__file__).parent), module=module, arguments=arguments)
    environment = {**os.environ, "PLIANT_CACHE": cache or os.devnull}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    run, whole = done.stdout.split()[-2:]
    return float(run), float(whole)


# ---------------------------------------------------------------- bundled runs


def _bundled(unit: float | None) -> list[Row]:
    """Runs of the papers, in units of Exudyn's ringing arm; the published times are those of other machines."""
    cases: list[tuple[str, Callable[[], Study], float, tuple[str, float]]] = [
        ("Canadarm, 10 s", partial(load_study, "canadarm"), 0.02, _lsoda()),
        # with the samples and the method (auto) where the goal comes from; the bundled study has more of both
        (
            "Cibicik & Egeland, 6 s",
            lambda: manoeuvre().with_changes(outputs={"step": 5e-3}, integrator={"tolerance": 1e-7}),
            0.3,
            ("the paper's linearised model, its machine", OPTIMISED_SECONDS),
        ),
    ]
    if any(name == "dualemps-square" for name, _ in bundled_studies()):
        theirs = ("the paper's program, its machine", DUALEMPS_SECONDS)
        cases.append(("DualEMPS, 25 s", partial(load_study, "dualemps-square"), 0.2, theirs))
    rows = []
    for name, study, wanted, theirs in cases:
        took = _seconds(study)
        rows.append(Row(name, "from the study to the result", took, "s", *theirs))
        if unit:
            goal = Goal("<=", wanted / UNIT_SECONDS)
            rows.append(Row(name, "the same", took, "s", f"{UNIT} here", unit, faster=False, goal=goal))
    return rows


def _lasting() -> list[Row]:
    """Undamped chains that fall from rest: vibrations that last, by collocation and by explicit steps."""
    rows = []
    for links, until in FALLS.items():
        arm = Dynamics(flexible_chain(links, FAMILIES[4]))
        took = {}
        for method in ("gauss", "dop853"):
            options = IntegratorOptions(method=method)
            study = Study(robot=arm.robot, until=until, integrator=options, outputs=Outputs(step=until / 100))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SimulationWarning)
                took[method] = _seconds(lambda study=study: study, dynamics=arm)
        what = f"`gauss`, {arm.size} coordinates, {until:g} s"
        rows.append(Row(f"{links} links that fall", what, took["gauss"], "s", "`dop853`", took["dop853"]))
    return rows


def _lsoda() -> tuple[str, float]:
    changes = {"integrator": {"method": "scipy:LSODA", "tolerance": 1e-6}}
    return "the same with scipy LSODA", _seconds(partial(load_study, "canadarm", changes=changes), rounds=1)


def _seconds(study: Callable[[], Study], rounds: int = 3, dynamics: Dynamics | None = None) -> float:
    """Smallest processor time from a study to its result, compiled before where there is more than one round."""
    best, spent = float("inf"), 0.0
    if rounds > 1:
        run_study(study(), dynamics)
    # short ones more often: some rounds shall not be disturbed
    while rounds > 0 or (spent < LONG_ENOUGH and best < LONG_ENOUGH / 10):
        start = time.process_time()
        run_study(study(), dynamics)
        took = time.process_time() - start
        best, spent, rounds = min(best, took), spent + took, rounds - 1
    return best


# ---------------------------------------------------------------- picture


def _draw(
    raced: dict[str, tuple[float, float]], errors: dict[str, float], common: Floats, path: Path, section: Section
) -> None:
    """Error over time, set-up included."""
    from matplotlib.figure import Figure

    others, tips = _race(CURVES, section, rounds=1)
    times = {**raced, **others}
    errors = {**errors, **{name: difference(tip, common) for name, tip in tips.items()}}
    curves: dict[str, list[tuple[float, float]]] = {}
    for contender in (*CONTENDERS, *CURVES):
        if contender.name in times:
            curves.setdefault(contender.family, []).append((sum(times[contender.name]), errors[contender.name]))
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes: Any = figure.subplots()
    for family, points in curves.items():
        ordered = sorted(points)
        axes.loglog(*zip(*ordered, strict=True), "o-", label=family, markersize=4, linewidth=1)
    axes.axhline(LIMIT, color="0.5", linewidth=0.8, linestyle="--")
    axes.set_xlabel("processor time with set-up, s")
    axes.set_ylabel("largest error of the tip, m")
    axes.set_title(f"{CASE}; below the dashed line the models agree", fontsize=10)
    axes.grid(which="both", linewidth=0.3)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    alone(measure)
