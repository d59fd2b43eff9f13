"""Odd input, endless: files with random faults, and runs that are killed at random moments.

    python tests/fuzzing.py --seconds 60 --seed 7        files of every kind in turn
    python tests/fuzzing.py --kills 200 --seed 7         kill -9, resume, compare bit by bit

A target makes a file from a number and looks at it. It may be taken or refused in words; anything else (another
exception, a content that is not what was written, more than LONGEST seconds) is a finding, which is printed with the
seed that makes it again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import numpy as np

import pliant
from pliant.cli.simulation_job import Job
from pliant.engine.compile import cache
from pliant.model.readers.library import FOLDER as ROBOTS
from pliant.model.readers.library import parse_document, read_text
from pliant.results import storage
from pliant.results.result import Result
from pliant.simulation.checkpoint import CheckpointFile, read_checkpoint
from pliant.simulation.run import Run, run_study
from pliant.simulation.study import CONTENT, load_study, study_from
from pliant.simulation.study import FOLDER as STUDIES
from pliant.sweeps.journal import Journal
from pliant.sweeps.work import CaseRow

LONGEST = 60
"""Seconds of one file; the slowest that is taken needs a few."""
COMPUTED, MOST_COORDINATES = 0.05, 12
"""Part of the robots that are also computed, if they are small."""
PIECES = [b":", b"- ", b"\n", b"    ", b"{", b"}", b"[", b"]", b"'", b'"', b"&a ", b"*a ", b"<<: ", b"!!str ", b"null"]
PIECES += [
    b"true",
    b"x^2",
    b"auto",
    b"base",
    b"tip",
    b"\t",
    b"\x00",
    b"\xff",
    b"\xe2\x80\xa8",
    b"\x1b[2J",
    b"<!--",
    b"</",
]
NUMBERS = [
    b".nan",
    b"-.inf",
    b"-1",
    b"0",
    b"1e999",
    b"1e-320",
    b"-1e300",
    b"9" * 400,
    b"3 furlong",
    b"1e9",
    b"[]",
    b"0.5",
]
NUMBER = re.compile(rb"-?\d+(\.\d*)?(e-?\d+)?")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Findings(Exception):
    """Something that must not be."""


def damaged(random: np.random.Generator, content: bytes) -> bytes:
    """The content with some faults: changed, lost, doubled and strange parts, zeros or noise at the end."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 6))):
        at = int(random.integers(len(data) + 1))
        end = min(len(data), at + int(random.integers(1, 40)))
        kind = int(random.integers(6))
        if kind == 0 and at < len(data):
            data[at] ^= 1 << int(random.integers(8))
        elif kind == 1:
            del data[at:end]
        elif kind == 2:
            data[at:at] = data[at:end]
        elif kind == 3:
            data[at:at] = random.bytes(int(random.integers(1, 70)))
        elif kind == 4:
            del data[at:]
        else:
            data += bytes(64) if random.random() < 0.5 else random.bytes(64)
    return bytes(data)


def misspelt(random: np.random.Generator, content: bytes) -> bytes:
    """A text with other numbers, lost and doubled lines, and signs where they do not belong; rarely with noise."""
    for _ in range(int(random.geometric(0.5))):
        kind = random.random()
        lines, found = content.splitlines(keepends=True), list(NUMBER.finditer(content))
        if kind < 0.6 and found:
            place = pick(random, found)
            content = content[: place.start()] + pick(random, NUMBERS) + content[place.end() :]
        elif kind < 0.85 and lines:
            at, to = int(random.integers(len(lines))), int(random.integers(len(lines)))
            lines[at : at + int(random.integers(2))] = [lines[to]] if random.random() < 0.5 else []
            content = b"".join(lines)
        elif kind < 0.95:
            at = int(random.integers(len(content) + 1))
            content = content[:at] + pick(random, PIECES) + content[at:]
        else:
            content = damaged(random, content)
    return content


def pick(random, things):
    return things[int(random.integers(len(things)))]


class Robots:
    """Robot files: refused, or read and written back the same; some are computed."""

    def __init__(self, folder: Path) -> None:
        self.texts = [file.read_bytes() for file in sorted(ROBOTS.glob("*.yaml"))]
        self.texts.append((Path(__file__).parent / "model" / "full.yaml").read_bytes())

    def case(self, random) -> bool:
        try:
            robot = read_text(misspelt(random, pick(random, self.texts)), "fuzz.yaml")
        except pliant.ModelError as error:
            if not all(problem.file for problem in error.problems):
                raise Findings(f"a problem without its file: {error}") from None
            return False
        if read_text(robot.to_yaml()) != robot:
            raise Findings("the robot does not come back")
        if random.random() < COMPUTED and len(robot.joint_coordinates) <= MOST_COORDINATES:
            return computed(robot)
        return True


def computed(robot) -> bool:
    """Whether a robot moves: its accelerations are finite, or it is said why there are none."""
    try:
        arm = pliant.Dynamics(robot, compile="never")
        if arm.size > MOST_COORDINATES:
            return True
        q = arm.assemble()
        found = arm.forward(q, 0 * q)
    except FloatingPointError:
        return False
    except ValueError as error:
        if not type(error).__module__.startswith("pliant."):
            raise
        return False
    if not np.isfinite(found).all():
        raise Findings(f"accelerations {found}")
    return True


class Studies:
    """Study files: refused, or read and written back the same."""

    def __init__(self, folder: Path) -> None:
        self.texts = [file.read_bytes() for file in sorted(STUDIES.glob("*.yaml"))]

    def case(self, random) -> bool:
        content = misspelt(random, pick(random, self.texts))
        try:
            study = study_from(parse_document(content, "fuzz.yaml", CONTENT), str(STUDIES), python=False)
        except pliant.ModelError:
            return False
        again = study_from(
            parse_document(study.to_yaml(), "fuzz.yaml", CONTENT), "", python=False, changes={"robot": study.robot}
        )
        if again != study:
            raise Findings("the study does not come back")
        return True


class Urdfs:
    """URDF files: refused, or made a robot that can be written."""

    def __init__(self, folder: Path) -> None:
        self.texts = [file.read_bytes() for file in sorted(ROBOTS.glob("*.urdf"))]
        self.path = folder / "fuzz.urdf"

    def case(self, random) -> bool:
        self.path.write_bytes(misspelt(random, pick(random, self.texts)))
        try:
            robot = pliant.load(self.path)
        except pliant.ModelError:
            return False
        if read_text(robot.to_yaml()) != robot:
            raise Findings("the robot does not come back")
        return True


class Checkpoints:
    """Files of checkpoints: one of the states that were kept comes back to the last bit, or none."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "run.partial"
        run = Run(load_study("single-link", changes={"until": 0.06}))
        file = CheckpointFile.create(self.path, {"study": "x"})
        self.states = {}
        # runs look up every few steps
        with patch("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 7):
            for t in (0.01, 0.02, 0.03, 0.04):
                run.go(lambda at, t=t: at.t > t)
                file.append(run.recorder.fresh(), run.memory(), run.happenings)
                kept = read_checkpoint(self.path)
                self.states[float(kept.memory["integrator/t"])] = kept
        if len(self.states) < 4:
            raise Findings("the run is not cut where it should be")
        file.close()
        self.whole = self.path.read_bytes()

    def case(self, random) -> bool:
        self.path.write_bytes(damaged(random, self.whole))
        try:
            found = read_checkpoint(self.path)
        except pliant.ModelError:
            return False
        same = self.states.get(float(found.memory["integrator/t"]))
        if same is None or found.samples != same.samples or found.happenings != same.happenings:
            raise Findings("a state that was never kept")
        if any(not np.array_equal(value, found.memory[key]) for key, value in same.memory.items()):
            raise Findings("a memory that was never kept")
        return True


class Runs:
    """Run files: refused, unless nothing was changed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "run.h5"
        self.run = run_study(load_study("single-link", changes={"until": 0.02}))
        self.run.save(self.path)
        self.whole = self.path.read_bytes()

    def case(self, random) -> bool:
        content = damaged(random, self.whole)
        self.path.write_bytes(content)
        try:
            found = Result.load(self.path)
        except pliant.ModelError:
            return False
        if content != self.whole or found != self.run:
            raise Findings("a changed file was loaded")
        return True


class ForgedRuns(Runs):
    """The same with a seal that fits: refused in words, or loaded; the library must not take the process with it."""

    def case(self, random) -> bool:
        inner = self.whole[storage.SEAL_SIZE :]
        self.path.write_bytes(storage.sealed(damaged(random, inner), "run"))
        return in_a_child(lambda: Result.load(self.path))


def in_a_child(read) -> bool:
    """Whether a file is read, or refused in words, by another process."""
    child = os.fork()
    if not child:
        code = 2
        with contextlib.suppress(BaseException):
            signal.alarm(LONGEST)
            try:
                read()
                code = 0
            except pliant.ModelError:
                code = 1
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 2:
        raise Findings(f"a forged file ended its reader with status {status}")
    return os.WEXITSTATUS(status) == 0


class Sweeps:
    """Tables of sweeps: refused, unless nothing was changed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sweep.h5"
        robot = pliant.load("single-flexible-link")
        vary = {"gravity[2]": [-9.81, 0.0, 3.7], "name": ["a", "b", "c"]}
        pliant.sweep(robot, vary, do=_numbers, sample="zip", file=self.path)
        self.whole = self.path.read_bytes()

    def case(self, random) -> bool:
        content = damaged(random, self.whole)
        self.path.write_bytes(content)
        try:
            self.read()
        except pliant.ModelError:
            return False
        if content != self.whole:
            raise Findings("a changed file was loaded")
        return True

    def read(self) -> None:
        found = pliant.Sweep.load(self.path)
        for name in (*found.varied, *found.outputs):
            found[name]


def _numbers(arm):
    if arm.robot.gravity[2] == 0:
        raise ValueError("weightless")
    return {"weight": arm.robot.gravity[2], "history": np.arange(4.0)}


class ForgedSweeps(Sweeps):
    """The same with a seal that fits."""

    def case(self, random) -> bool:
        inner = self.whole[storage.SEAL_SIZE :]
        self.path.write_bytes(storage.sealed(damaged(random, inner), "sweep"))
        return in_a_child(self.read)


class Journals:
    """Interrupted sweeps: each chunk that counts is the one that was kept."""

    def __init__(self, folder: Path) -> None:
        self.journal = Journal(folder / "sweep.h5", {"places": ["x"], "values": [1.0]})
        self.journal.open(resume=False, force=False)
        self.rows = {k: [CaseRow({"x": k + 0.1, "y": np.arange(k + 2.0)}, "", (f"note {k}",))] for k in range(4)}
        for k, rows in self.rows.items():
            self.journal.keep(k, rows)
        self.journal.close()
        self.files = {path: path.read_bytes() for path in self.journal.folder.iterdir()}

    def case(self, random) -> bool:
        for path, content in self.files.items():
            path.write_bytes(content)
        path = pick(random, sorted(self.files))
        other = random.random() < 0.2
        path.write_bytes(self.files[pick(random, sorted(self.files))] if other else damaged(random, self.files[path]))
        try:
            there = self.journal.open(resume=True, force=False)
        except pliant.ModelError:
            return False
        try:
            for k in there:
                if repr(self.journal.chunk(k)) != repr(self.rows[k]):
                    raise Findings("a chunk that was never kept")
        finally:
            self.journal.close()
        return len(there) == len(self.rows)


class Entries:
    """Cached machine code, its secret, and both in the wrong place: what was kept, or nothing."""

    def __init__(self, folder: Path) -> None:
        os.environ["PLIANT_CACHE"] = str(folder / "cache")
        random = np.random.default_rng(0)
        self.kept = {f"{k:064x}": ({"entry": f"e{k}"}, random.bytes(3000 + k)) for k in range(3)}
        for key, entry in self.kept.items():
            cache.keep(key, *entry)
        self.place = cache.private_folder()
        self.files = {path: path.read_bytes() for path in self.place.iterdir()}

    def case(self, random) -> bool:
        for path, content in self.files.items():
            path.write_bytes(content)
        path = pick(random, sorted(self.files))
        if random.random() < 0.2:
            path.write_bytes(pick(random, sorted(self.files.values())))
        else:
            path.write_bytes(damaged(random, self.files[path]))
        taken = 0
        for key, entry in self.kept.items():
            found = cache.fetch(key)
            if found is not None and found != entry:
                raise Findings("code that was never kept")
            taken += found is not None
        return taken == len(self.kept)


TARGETS = {
    "robots": Robots,
    "studies": Studies,
    "urdfs": Urdfs,
    "checkpoints": Checkpoints,
    "runs": Runs,
    "forged runs": ForgedRuns,
    "sweeps": Sweeps,
    "forged sweeps": ForgedSweeps,
    "interrupted sweeps": Journals,
    "cache entries": Entries,
}


def look(target, name: str, seed: int, number: int) -> str:
    """One file: taken, refused, or what was found."""
    random = np.random.default_rng([seed, list(TARGETS).index(name), number])

    def late(*_):
        raise Findings(f"it takes more than {LONGEST} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "taken" if target.case(random) else "refused"
    except Exception:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fuzz(seconds: float, seed: int, names, most: int = sys.maxsize) -> tuple[dict[str, Counter], list[str]]:
    """All targets in turn, each for its share of the time: what became of the files, and the findings."""
    counts, findings = {}, []
    for name in names:
        counts[name] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            target = TARGETS[name](Path(folder))
            end = time.monotonic() + seconds / len(names)
            number = 0
            while number < most and time.monotonic() < end:
                found = look(target, name, seed, number)
                if found not in ("taken", "refused"):
                    findings.append(f"{name}, --seed {seed} --only {name!r} --first {number}:\n{found}")
                    found = "findings"
                counts[name][found] += 1
                number += 1
    return counts, findings


# ---------------------------------------------------------------- kill -9

STUDY = """
name: killed
until: 400 s
start: {position: {a: 2, b: 1}}
integrator: {tolerance: 1e-11}
outputs: {step: 20 ms}
robot:
  name: double pendulum
  gravity: [0, -9.81, 0]
  links:
    - {name: upper, joint: {name: a, actuated: false}, rigid: {mass: 1, com: [0.3, 0, 0], inertia: 0.02, length: 0.6}}
    - {name: lower, joint: {name: b, actuated: false}, rigid: {mass: 1, com: [0.3, 0, 0], inertia: 0.02, length: 0.6}}
"""
"""A motion that forgets nothing: a difference in the last bit is a metre after a minute."""
INTERVAL = 0.02
"""Seconds between checkpoints."""
LONGER = 1.3
"""Every killed process lets the next one live so much longer."""


def started(path: Path) -> int:
    """A process that begins a run, or goes on with it where there is a checkpoint."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resume = False
        with contextlib.suppress(pliant.ModelError):
            resume = read_checkpoint(path.with_name(path.name + ".partial")) is not None
        job = Job.prepare(str(path.with_name("own.yaml")), path, {}, resume=resume, force=not resume, python=False)
        outcome = job.go(lambda at: False, INTERVAL)
        code = 0 if outcome.written and not outcome.trouble else 1
    finally:
        os._exit(code)


def kills(count: int, seed: int) -> tuple[int, int]:
    """Kill processes at random moments until there were so many, and compare every run that came to its end.

    Gives the number of kills and of finished runs; raises Findings at the first difference.
    """
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        path.with_name("own.yaml").write_text(STUDY)
        whole = run_study(load_study(path.with_name("own.yaml")))
        killed = finished = 0
        began = time.monotonic()
        os.waitpid(started(path), 0)
        usual = longest = time.monotonic() - began
        path.unlink()
        while killed < count or not finished:
            child = started(path)
            time.sleep(random.uniform(0.0, longest))
            done, status = os.waitpid(child, os.WNOHANG)
            if not done:
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status):
                killed += 1
                # on a machine that became slower a run shall come to its end too
                longest *= LONGER
                if killed % 20 == 0:
                    say(f"{killed} killed, {finished} finished")
                continue
            if status:
                raise Findings(f"after {killed} kills a run ended with status {status}")
            found = Result.load(path)
            if found.samples != whole.samples or found.info.statistics != whole.info.statistics:
                raise Findings(f"after {killed} kills a run is another one")
            if found.info.extremes != whole.info.extremes:
                raise Findings(f"after {killed} kills a run has other extremes")
            finished, longest = finished + 1, usual
            path.unlink()
        left = {name for name in os.listdir(folder) if not re.fullmatch(r"\.pliant-\w+\.tmp\.h5", name)}
        if left - {"own.yaml", "run.h5", "run.h5.partial"}:
            raise Findings(f"files are left: {left}")
    return killed, finished


def main() -> int:
    """The command line."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=None)
    words.add_argument("--only", choices=TARGETS)
    words.add_argument("--first", type=int, help="make one file again")
    words.add_argument("--kills", type=int, default=0)
    given = words.parse_args()
    seed = int.from_bytes(os.urandom(4), "little") if given.seed is None else given.seed
    say(f"seed {seed}")
    if given.kills:
        killed, finished = kills(given.kills, seed)
        say(f"SEED={seed}: {killed} processes killed, {finished} runs finished, all the same to the last bit")
        return 0
    if given.first is not None:
        with tempfile.TemporaryDirectory() as folder:
            say(look(TARGETS[given.only](Path(folder)), given.only, seed, given.first))
        return 0
    counts, findings = fuzz(given.seconds, seed, [given.only] if given.only else list(TARGETS))
    # rows of the table in docs/robustness.md
    say("| files | made | taken | refused in words |\n|---|---|---|---|")
    for name, count in counts.items():
        say(f"| {name} | {sum(count.values())} | {count['taken']} | {count['refused']} |")
    made = sum(sum(count.values()) for count in counts.values())
    say(f"SEED={seed}, {given.seconds:.0f} s: {made} files, {len(findings)} findings")
    say("\n".join(findings[:20]))
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
