"""(f) The wait at the start: imports, and the first evaluation with an empty cache and with a filled one.

Every figure comes from a process of its own, which reports the processor time of what it did.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from report import Goal, Options, Row, Section, alone

ROUNDS = 3
TIMED = """
import time
start = time.process_time()
{work}
print(time.process_time() - start)
"""
FIRST_CALL = """
import numpy, pliant
robot = pliant.load({robot!r})
arm = pliant.Dynamics(robot)
zero = numpy.zeros(arm.size)
tau = numpy.zeros(len(arm.inputs))
start = time.process_time()
arm.forward(zero, zero, tau)
"""
ROBOTS = ("canadarm", "seven-joint-arm")
ANALYSES = {
    "coriolis": "arm.coriolis(zero, zero)",
    "equilibrium": "pliant.equilibrium(arm)",
}
ANALYSIS = """
import numpy, pliant
arm = pliant.Dynamics(pliant.load("cibicik-4dof"))
zero = numpy.zeros(arm.size)
start = time.process_time()
{work}
"""
ELEMENTS = """
import numpy, pliant
bar = {{"length": 1.0, "material": "aluminium", "section": {{"rectangle": {{"width": 0.02, "height": 0.03}}}}}}
links = [
    {{"name": "arm", "joint": {{"name": "root", "axis": "z"}}, "beam": {{**bar, "elements": {{"number": 24}}}}}},
    {{"name": "hand", "joint": {{"name": "hinge", "axis": "y"}}, "beam": {{**bar, "modes": {{"bend_y": 1}}}}}},
]
arm = pliant.Dynamics(pliant.Robot(name="elements", links=links[:{links}]))
zero = numpy.zeros(arm.size)
start = time.process_time()
{work}
"""
"""An unreduced link of 96 coordinates that bends to second order, alone or with a link that it carries."""
UNREDUCED = {
    "forward": "arm.forward(zero, zero)",
    "forces": "arm.forces(zero, zero, zero)",
    "mass_matrix": "arm.mass_matrix(zero)",
}
LARGE = """
import numpy, pliant
bar = {{"length": 1.0, "material": "aluminium", "section": {{"rectangle": {{"width": 0.02, "height": 0.03}}}}}}
def beams(number, joints, bend_z):
    elements = {{"number": number, "bend_z": bend_z}}
    links = [{{"name": j, "joint": {{"name": f"j{{j}}"}}, "beam": {{**bar, "elements": elements}}}} for j in joints]
    return pliant.Robot(name="beams", links=links)
def frame(modes):
    import runpy
    girder = runpy.run_path({girder!r})
    girder["girder"].__globals__["BAYS"] = 18
    K, M, nodes = girder["matrices"]()
    ends = [len(nodes) - 2, len(nodes) - 1]
    data = pliant.finite_elements(K, M, nodes).reduced([0, 1], {{"tip": ends}}, modes)
    return pliant.Robot(name="frame", links=[{{"name": "girder", "joint": {{"name": "j"}}, "modal": data}}])
start = time.process_time()
arm = pliant.Dynamics({robot})
zero = numpy.zeros(arm.size)
{work}
"""
"""Links of finite elements, from the description to the first result."""
GIRDER = str(Path(__file__).parents[1] / "examples" / "05_lattice_arm.py")
FIRST_RUNS = (
    ("two links, 62 coordinates", 'beams(15, "ab", False)', "run", 3.0),
    ("two links, 122 coordinates", 'beams(15, "ab", True)', "run", 6.0),
    ("a frame of 190 coordinates", "frame(184)", "run", 4.0),
    ("a beam of 200 elements", 'beams(200, "a", False)', "forward", 3.0),
)
"""Name, robot, what is done for the first time, the seconds that it may take."""
FIRST = {"run": "pliant.simulate(arm, until=0.01)", "forward": "arm.forward(zero, zero)"}
SECOND_RUN = """
import pliant
from pliant.simulation.run import Run
study = pliant.Study(name="run", robot=pliant.load("two-link-flexible"), until=0.01)
Run(study).go()
best = 1.0
for _ in range(20):
    start = time.process_time()
    Run(study)
    best = min(best, time.process_time() - start)
start = time.process_time() - best
"""
OTHER_PAYLOAD = """
import pliant
from pliant.simulation.run import Run
base = pliant.load("two-link-flexible")
move = pliant.Quintic(to={"shoulder": 0.6, "elbow": -0.5}, duration=1.0)
drive = pliant.PID(trajectory=move, kp=[400, 120], kd=[40, 8], gravity="desired")
best = 1.0
for k in range(1, 21):
    robot = base.set("forearm.payloads[0].mass", 0.5 + 0.001 * k)
    arm = pliant.Dynamics(robot)
    start = time.process_time()
    study = pliant.Study(name="run", robot=robot, until=2.0, drive=drive, start=pliant.Start(links="equilibrium"))
    Run(study, arm)._begin()
    if k > 3:
        best = min(best, time.process_time() - start)
start = time.process_time() - best
"""
"""From a robot with another payload to the first step of its run: bent start, rigid model of the drive, code."""
README_RUN = """
import pliant, sys
arm = pliant.Dynamics("two-link-flexible")
move = pliant.Quintic(to={"shoulder": 0.6, "elbow": -0.5}, duration=1.0)
drive = pliant.PID(trajectory=move, kp=[400, 120], kd=[40, 8], gravity="desired")
run = pliant.simulate(arm, until=2.0, drive=drive, start=pliant.Start(links="equilibrium"))
run["energy.balance"], run["tip.position"]
start -= start
print(*sorted(name for name in sys.modules if name != "__main__"))
"""
"""The first simulation of the README in a process of its own, the start of Python included."""
IMPORTS = """
import contextlib, importlib
for name in {names!r}.split():
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
start -= start
"""
CLOSED = """
import numpy, pliant
arm = pliant.Dynamics(pliant.load("three-prs"))
q = arm.assemble()
start = time.process_time()
arm.forward(q, numpy.zeros(arm.size))
"""
COLD_WITHIN, WARM_WITHIN = Goal("<=", 4.0), Goal("<=", 2.0)
UNIT, UNIT_SECONDS = "import numpy", 0.108
"""What goals in seconds are measured by, and its processor time where they were set."""


def within(seconds: float) -> Goal:
    """A goal in seconds, in units of this machine."""
    return Goal("<=", seconds / UNIT_SECONDS)


def measure(options: Options) -> Section:
    section = Section("latency", "The wait at the start (processor time)")
    with tempfile.TemporaryDirectory() as folder:
        numpy_time = _smallest("import numpy", folder)
        section.add(
            Row(
                "imports",
                "import pliant",
                _smallest("import pliant", folder),
                "s",
                "import numpy",
                numpy_time,
            ),
            Row(
                "imports",
                "pliant --help",
                _smallest("import sys; sys.argv = ['pliant', '--help']\n" + HELP, folder),
                "s",
                "import numpy",
                numpy_time,
                faster=False,
            ),
        )
    for robot in ROBOTS:
        work = FIRST_CALL.format(robot=robot)
        cold, warm = [], []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_run(work, folder))
                warm.append(_run(work, folder))
        section.add(
            Row(robot, "first call, compiled before (disk cache)", min(warm), "s", "empty cache", min(cold)),
            Row(robot, "load the file and assemble", _smallest(LOAD.format(robot=robot), ""), "s"),
        )
    section.add(*_readme())
    unit = (UNIT, numpy_time)
    took = _smallest(CLOSED, "")
    label = "first forward with loops, empty cache"
    section.add(Row("three-prs", label, took, "s", *unit, faster=False, goal=within(1.0)))
    for what, work in ANALYSES.items():
        took = _smallest(ANALYSIS.format(work=work), "")
        label = f"first {what}, empty cache, sections that turn exactly"
        section.add(Row("cibicik-4dof", label, took, "s", *unit, faster=False, goal=within(1.0)))
    for links, case in ((1, "24 elements"), (2, "24 elements and a link on them")):
        for what, work in UNREDUCED.items():
            took = _smallest(ELEMENTS.format(work=work, links=links), "")
            label = f"first {what}, empty cache, 96 coordinates to second order"
            section.add(Row(case, label, took, "s", *unit, faster=False, goal=within(2.0)))
    for case, robot, what, seconds in FIRST_RUNS:
        took, beside = _beside_unit(LARGE.format(girder=GIRDER, robot=robot, work=FIRST[what]))
        label = f"first {what} of finite elements, empty cache"
        section.add(Row(case, label, took, "s", UNIT, beside, faster=False, goal=within(seconds)))
    took = _smallest(SECOND_RUN, "")
    section.add(Row("two-link-flexible", "set-up of a further run", took, "s", *unit, faster=False, goal=within(3e-3)))
    took, label = _smallest(OTHER_PAYLOAD, ""), "set-up of a run with another payload"
    section.add(Row("two-link-flexible", label, took, "s", *unit, faster=False, goal=within(5e-3)))
    section.notes.append(
        f"Goals in seconds are given where {UNIT} takes {UNIT_SECONDS:g} s: 1, 2, 0.003 and 0.005 s, and 3 to 6 s of "
        "finite elements."
    )
    return section


def _readme() -> list[Row]:
    """A whole process, cold and warm, in units of the imports alone."""
    cold, warm, imports = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            names, seconds = _lines(README_RUN, folder)[-2:]
            cold.append(float(seconds))
            warm.append(_run(README_RUN, folder))
        imports.append(_run(IMPORTS.format(names=names), ""))
    unit = ("its imports alone", min(imports))
    return [
        Row("first run of the README", "whole process, empty cache", min(cold), "s", *unit, False, COLD_WITHIN),
        Row("first run of the README", "whole process, compiled before", min(warm), "s", *unit, False, WARM_WITHIN),
    ]


HELP = """
import contextlib, io
from pliant.cli.app import app
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app()
"""
LOAD = """
import pliant
pliant.Dynamics(pliant.load({robot!r}))
"""


def _smallest(work: str, cache: str) -> float:
    return min(_run(work, cache) for _ in range(ROUNDS))


def _beside_unit(work: str) -> tuple[float, float]:
    """The same of what takes so long that the processor's pace changes meanwhile, and of the unit, in turns."""
    rounds = [(_run(work, ""), _run(UNIT, "")) for _ in range(ROUNDS)]
    took, unit = (min(each) for each in zip(*rounds, strict=True))
    return took, unit


def _run(work: str, cache: str) -> float:
    """Seconds of processor time of some statements in a new process."""
    return float(_lines(work, cache)[-1])


def _lines(work: str, cache: str) -> list[str]:
    """What a new process prints, the seconds of processor time last."""
    environment = {**os.environ, "PLIANT_CACHE": cache or os.devnull}
    script = TIMED.format(work=work)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    alone(measure)
