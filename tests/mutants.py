"""Break one sign, factor or comparison of the physics at a time, and see whether a test notices.

    python tests/mutants.py --count 200 --seed 1            again: goes on where it was stopped
    python tests/mutants.py --count 200 --seed 1 --again    tries those once more that no test noticed
    python tests/mutants.py --at analysis/lumped/node_equations.py:104

Mutants live in a copy of the tree; the working tree is never touched. First, once, a case of every test that computes
is run to see which lines it executes (``--map`` makes this anew). A mutant meets the tests that execute its line: a few
fast ones, then more of them, then whole files. One that no test kills is printed: a hole in the tests, or a change
without effect. Everything found is kept in out/mutants.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src") / "pliant"
OUT = ROOT / "out" / "mutants"

NEAREST = {
    "formulations/recursive": ("tests/identities", "tests/reference"),
    "formulations/loops": ("tests/loops", "tests/analysis"),
    "formulations/dual_screw": ("tests/dual_screw", "tests/reference"),
    "analysis/lumped": ("tests/lumped_fe", "tests/reference"),
    "formulations/lagrange": ("tests/equations", "tests/identities"),
    "formulations": ("tests/identities", "tests/analysis"),
    "bodies": ("tests/bodies", "tests/large_bending", "tests/identities"),
    "spatial": ("tests/spatial", "tests/identities"),
    "analysis": ("tests/analysis", "tests/reference"),
    "drives": ("tests/simulation",),
    "loads": ("tests/simulation",),
    "trajectories": ("tests/simulation",),
    "simulation": ("tests/simulation", "tests/results"),
}
"""Folders of tests by the beginning of a module's path, the longest of which counts."""

ALL = ("spatial", "bodies", "identities", "dual_screw", "loops", "analysis", "lumped_fe", "simulation", "large_bending",
       "equations", "reference", "results", "model", "verification")  # fmt: skip
"""Folders of tests that compute."""

TRACED_INTO = ("spatial", "bodies", "formulations")
"""Folders whose text decides machine code: mutants elsewhere find it ready."""

SECONDS = 600.0
"""Most time for the tests of one mutant at a time; one that makes them hang is found."""

MAPPED_SECONDS = 15.0
"""Most time for a test while its lines are found; what it executed until then counts."""

FEW, FEW_SECONDS, FEW_FILES = 10, 10.0, 5
"""The first tests that a mutant meets."""

MORE_SECONDS = 60.0
"""How long the next ones may take, by what they took while their lines were found."""

FAR = 3.0
"""A test in another folder than the nearest comes as late as one that takes this many times as long."""

LOOKED_AT = 40
"""Calls of one function in one test whose lines are looked at."""

PACKAGES = ("hypothesis", "numpy.testing", "scipy.linalg", "scipy.optimize", "scipy.integrate", "scipy.interpolate",
            "scipy.sparse.linalg", "scipy.spatial.transform", "scipy.special", "llvmlite.binding", "pydantic",
            "ruamel.yaml", "h5py")  # fmt: skip
"""What tests import and no mutant changes."""

FACTOR = 1.5
SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
COMPARISONS = {ast.Lt: ("<", ">="), ast.Gt: (">", "<="), ast.LtE: ("<=", ">"), ast.GtE: (">=", "<")}


# ---------------------------------------------------------------- what can be broken


@dataclass(frozen=True)
class Mutant:
    """A change of one place: the line, its column in bytes, what stands there and what comes instead."""

    module: Path
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.old} -> {self.new}"

    def applied(self, text: str) -> str:
        """The module with the change."""
        lines = text.splitlines(keepends=True)
        row = lines[self.line - 1].encode()
        end = self.column + len(self.old.encode())
        lines[self.line - 1] = (row[: self.column] + self.new.encode() + row[end:]).decode()
        return "".join(lines)

    @property
    def key(self) -> list[str | int]:
        """The mutant as it is written to a file."""
        return [self.module.as_posix(), self.line, self.column, self.old, self.new]


def mutants_of(module: Path, text: str) -> Iterator[Mutant]:
    """Everything in a module that can be broken, but for what makes messages."""
    rows = [line.encode() for line in text.splitlines()]

    def between(left: ast.expr, right: ast.expr, pair: tuple[str, str]) -> Iterator[Mutant]:
        if left.end_lineno != right.lineno or left.end_lineno is None or left.end_col_offset is None:
            return
        gap = rows[left.end_lineno - 1][left.end_col_offset : right.col_offset].decode()
        if gap.strip() == pair[0]:
            yield Mutant(module, left.end_lineno, left.end_col_offset + gap.index(pair[0]), *pair)

    tree = ast.parse(text)
    words = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in words:
            continue
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS and not _is_text(node.left):
            yield from between(node.left, node.right, SIGNS[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield Mutant(module, node.lineno, node.col_offset, "-", "+")
        elif isinstance(node, ast.Constant) and type(node.value) is float and node.value not in (0.0, 1.0):
            old = rows[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            yield Mutant(module, node.lineno, node.col_offset, old, repr(node.value * FACTOR))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            yield from between(node.left, node.comparators[0], COMPARISONS[type(node.ops[0])])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def physics() -> list[Path]:
    """The modules whose mutants count, as paths below the package."""
    folders = {name.partition("/")[0] for name in NEAREST}
    found = (path for folder in folders for path in (ROOT / PACKAGE / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT / PACKAGE) for path in found if path.name != "__init__.py")


def nearest(module: Path) -> tuple[str, ...]:
    """The folders of tests that know a module best."""
    name = module.as_posix()
    return NEAREST[max((key for key in NEAREST if name.startswith(key)), key=len)]


def chosen(count: int, seed: int, at: str) -> list[Mutant]:
    """Mutants at random, of which fewer are the first of more; or those of one line."""
    if at:
        name, _, line = at.rpartition(":")
        return [m for m in mutants_of(Path(name), _text(name)) if m.line == int(line)]
    shuffled = list(_everything())
    random.Random(seed).shuffle(shuffled)
    return shuffled[:count]


@cache
def _everything() -> tuple[Mutant, ...]:
    return tuple(mutant for path in physics() for mutant in mutants_of(path, _text(path.as_posix())))


@cache
def _text(module: str) -> str:
    return (ROOT / PACKAGE / module).read_text(encoding="utf-8")


# ---------------------------------------------------------------- which tests execute a line


def executed(module: Path, line: int) -> list[tuple[str, int]]:
    """The lines, any of which runs with that of a mutant: those of its statement, or of all that read what it names."""
    tree = ast.parse(_text(module.as_posix()))
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= line <= _end(node)]
    inmost = statements[-1]
    functions = [node for node in statements if isinstance(node, ast.FunctionDef)]
    if any(line >= node.body[0].lineno for node in functions):
        return [(module.as_posix(), k) for k in range(inmost.lineno, _head_end(inmost) + 1)]
    if functions:
        # what a function is given when nothing is said
        return [(module.as_posix(), k) for k in range(functions[-1].lineno, functions[-1].body[0].lineno)]
    names = {node.id for node in ast.walk(inmost) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return [place for name in names for place in _readers().get(name, ())]


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _head_end(node: ast.stmt) -> int:
    """The last line of a statement without the block below it."""
    body = getattr(node, "body", None)
    return max(node.lineno, body[0].lineno - 1) if body else _end(node)


@cache
def _readers() -> dict[str, list[tuple[str, int]]]:
    """The lines of physics that read a name, or an attribute of that name."""
    found = defaultdict[str, list[tuple[str, int]]](list)
    for path in physics():
        for node in ast.walk(ast.parse(_text(path.as_posix()))):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found[node.id].append((path.as_posix(), node.lineno))
            elif isinstance(node, ast.Attribute):
                found[node.attr].append((path.as_posix(), node.lineno))
    return found


@dataclass(frozen=True)
class Mapped:
    """A test whose lines are known: how long it took, and whether it passed in that time."""

    test: str
    seconds: float
    passed: bool

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    @property
    def folder(self) -> str:
        return self.file.rpartition("/")[0]


class LineFinder:
    """A plugin of pytest that writes which lines of physics a test executes, a row of JSON for each."""

    def __init__(self, tree: Path, file: Path) -> None:
        self.root, self.file = str(tree / PACKAGE) + os.sep, file
        folders = tuple(self.root + name.partition("/")[0] for name in NEAREST)
        self._counts = lambda path: path.startswith(folders)
        self._foreign: dict[int, Any] = {}
        self._begin()

    def _begin(self) -> None:
        self._calls: dict[int, int] = {}
        self._lines = defaultdict[str, set[int]](set)
        self._failed = False
        self._start = time.monotonic()

    def pytest_runtest_logstart(self) -> None:
        self._begin()
        sys.settrace(self._call)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._failed |= report.failed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.settrace(None)
        lines = {path.removeprefix(self.root): sorted(found) for path, found in self._lines.items()}
        row = {"test": nodeid, "seconds": time.monotonic() - self._start, "passed": not self._failed, "lines": lines}
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")

    def _call(self, frame: Any, event: str, argument: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if id(code) in self._foreign:
            return None
        calls = self._calls.get(id(code), 0)
        if calls >= LOOKED_AT:
            return None
        if not self._counts(code.co_filename):
            # kept, so that no other code gets its number
            self._foreign[id(code)] = code
            return None
        self._calls[id(code)] = calls + 1
        lines = self._lines[code.co_filename]
        lines.add(code.co_firstlineno)

        def line(frame: Any, event: str, argument: Any) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line


class Map:
    """Which tests execute a line, kept with the text that was run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def missing(self) -> list[str]:
        """Folders of tests that have not been looked at."""
        return [name for name in ALL if (ROOT / "tests" / name).exists() and not self._rows(name).exists()]

    def make(self, trial: Trial) -> None:
        """Run a case of every test that computes, folder by folder."""
        if not (self.folder / "text").exists():
            shutil.copytree(ROOT / PACKAGE, self.folder / "text", ignore=shutil.ignore_patterns("__pycache__"))
        for name in self.missing():
            begun, start = self._rows(name).with_suffix(".part"), time.monotonic()
            begun.unlink(missing_ok=True)
            begun.touch()
            options = ["--cases", "1", "--timeout", f"{MAPPED_SECONDS}", f"tests/{name}"]
            _, what = trial.run(options, seconds=3600.0, plugins=[LineFinder(trial.tree, begun)], first=False)
            if not begun.stat().st_size:
                raise RuntimeError(f"tests/{name} cannot be run: {what}")
            begun.rename(self._rows(name))
            tell(f"lines that tests/{name} executes: found in {time.monotonic() - start:.0f} s")

    def _rows(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"

    @cached_property
    def _tests(self) -> dict[str, dict[int, list[Mapped]]]:
        """By module and line."""
        found: dict[str, dict[int, list[Mapped]]] = defaultdict(lambda: defaultdict(list))
        for name in ALL:
            if not self._rows(name).exists():
                continue
            for text in self._rows(name).read_text(encoding="utf-8").splitlines():
                row = json.loads(text)
                test = Mapped(row["test"], row["seconds"], row["passed"])
                for module, lines in row["lines"].items():
                    for line in lines:
                        found[module][line].append(test)
        return found

    @cache  # noqa: B019
    def _then(self, module: str) -> dict[int, int]:
        """Lines of a module when tests were run, by those of today; changed ones are missing."""
        path = self.folder / "text" / module
        before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        same = difflib.SequenceMatcher(None, before, _text(module).splitlines(), autojunk=False).get_matching_blocks()
        return {block.b + k + 1: block.a + k + 1 for block in same for k in range(block.size)}

    def tests_of(self, mutant: Mutant) -> list[Mapped]:
        """The tests that execute a mutant, the fast ones of the nearest folders first, and of all files in turn."""
        found = {
            test.test: test
            for module, line in executed(mutant.module, mutant.line)
            for test in self._tests[module].get(self._then(module).get(line, 0), ())
            if (ROOT / test.file).exists()
        }
        near, turns = nearest(mutant.module), defaultdict[str, int](int)
        by_time = sorted(found.values(), key=lambda test: _lateness(test, near))
        order = list[tuple[int, int, Mapped]]()
        for k, test in enumerate(by_time):
            order.append((turns[test.file], k, test))
            turns[test.file] += 1
        return [test for _, _, test in sorted(order, key=lambda each: each[:2])]


def _lateness(test: Mapped, near: Sequence[str]) -> float:
    return test.seconds * (1.0 if test.folder in near else FAR)


def first_ones(tests: Sequence[Mapped]) -> list[Mapped]:
    """A few fast tests of a few files; of many files those come first that are fast."""
    some, total, files = list[Mapped](), 0.0, set[str]()
    for test in tests:
        fits = total + test.seconds <= FEW_SECONDS and len(files | {test.file}) <= FEW_FILES
        if not some or (test.passed and fits and len(some) < FEW):
            some.append(test)
            files.add(test.file)
            total += test.seconds
    return some


def next_ones(tests: Sequence[Mapped], had: Sequence[Mapped]) -> list[Mapped]:
    """As many of the others as there is time for."""
    some, total = list[Mapped](), 0.0
    for test in tests:
        if test not in had and total + test.seconds <= MORE_SECONDS:
            some.append(test)
            total += test.seconds
    return some


# ---------------------------------------------------------------- a mutant meets tests


class SharedCode:
    """A plugin of pytest: machine code is kept in a folder of its own instead of that of one run of the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """After the tests have chosen a folder, this one is used."""
        made = yield
        if fixturedef.argname == "_own_cache":
            os.environ["PLIANT_CACHE"] = str(self.folder)
        return made


class Trial:
    """A copy of the tree in which one module at a time is broken."""

    def __init__(self, folder: Path, map_: Map, seconds: float = SECONDS) -> None:
        self.tree, self.folder, self.map, self.seconds = folder / "tree", folder, map_, seconds
        skipped = shutil.ignore_patterns(".git", ".venv", "out", "__pycache__", "*.pyc")
        shutil.copytree(ROOT, self.tree, ignore=skipped)

    def outcome(self, mutant: Mutant, *, wide: bool) -> tuple[str, str]:
        """killed, hung or survived, and by which test; unsure where that test fails without the mutant, too.

        A line that none of the tests executed whose lines are known is said to be blank, unless it is met by those of
        the nearest folders with all their cases.
        """
        tests = self.map.tests_of(mutant)
        few = first_ones(tests)
        more = next_ones(tests, few)
        stages = [[test.test for test in few], [test.test for test in more]]
        if wide:
            files = list(dict.fromkeys(test.file for test in tests))
            stages.append(files or [name for name in nearest(mutant.module) if (ROOT / name).exists()])
        path = self.tree / PACKAGE / mutant.module
        whole = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(whole), encoding="utf-8")
        share = mutant.module.parts[0] not in TRACED_INTO
        found, which = "survived" if tests else "blank", "" if tests else "no known test executes it"
        try:
            for stage in filter(None, stages):
                noticed = self.run(stage, seconds=self.seconds, plugins=self._shared() if share else ())
                if noticed[0] != "survived":
                    found, which = noticed
                    break
        finally:
            path.write_text(whole, encoding="utf-8")
        return ("unsure", which) if found == "killed" and self._fails_anyway(which, stage, tests) else (found, which)

    def _fails_anyway(self, which: str, stage: Sequence[str], tests: Sequence[Mapped]) -> bool:
        """Whether what is said to kill a mutant fails without it, too."""
        test = which.split(" - ")[0].partition(" ")[2]
        if which.startswith(("FAILED tests", "ERROR tests")) and "::" in test:
            known = any(test == each.test and each.passed for each in tests)
            return not known and self.run([test], seconds=self.seconds)[0] != "survived"
        # a module that cannot be imported
        return self.run([*stage, "--collect-only"], seconds=self.seconds)[0] != "survived"

    def _shared(self) -> list[Any]:
        return [SharedCode(OUT / "code")]

    def run(
        self, tests: Sequence[str], *, seconds: float, plugins: Sequence[Any] = (), first: bool = True
    ) -> tuple[str, str]:
        """What tests say, in a process that finds the packages of others loaded."""
        printed = self.folder / "printed"
        options = ["-q", "-p", "no:cacheprovider", "--basetemp", str(self.folder / "temporary"), *["-x"] * first]
        # plugins that are loaded before pytest are those of others
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        child = os.fork()
        if not child:
            code = 70
            try:
                os.setsid()
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                with printed.open("wb") as stream:
                    os.dup2(stream.fileno(), 1)
                    os.dup2(stream.fileno(), 2)
                code = _tests(self.tree, [*options, *tests], plugins)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        try:
            code = ended(child, seconds)
        finally:
            # also after an interrupt: the tests and their own processes
            end_group(child)
        if code is None:
            return "hung", f"no end within {seconds:g} s"
        if code == 0:
            return "survived", ""
        text = printed.read_text(encoding="utf-8", errors="replace")
        failed = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "killed", failed[-1] if failed else text[-200:].strip()


def _tests(tree: Path, arguments: list[str], plugins: Sequence[Any]) -> int:
    """Run pytest in a copy of the tree, here; its exit code."""
    source = str(tree / "src")
    os.environ["PYTHONPATH"], sys.path[0:0] = source, [source]
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(tree)
    return int(pytest.main(arguments, plugins=list(plugins)))


def ended(child: int, seconds: float) -> int | None:
    """The exit code of a process, or None if it takes longer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    return None


def end_group(child: int) -> None:
    """End a process that leads a group, and the group."""
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        # waited for already
        return


def load_packages() -> None:
    """What all tests import and no mutant changes, once for all processes."""
    for library in ("OPENBLAS", "MKL", "OMP"):
        # said before anything loads NumPy: a process that is forked must have no threads
        os.environ[f"{library}_NUM_THREADS"] = "1"
    for name in PACKAGES:
        try:
            __import__(name)
        except ImportError:
            # tests that need it say so
            continue


# ---------------------------------------------------------------- the program


class Journal:
    """Outcomes of the mutants of one seed, a row of JSON each; the last of a mutant counts."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[tuple[str | int, ...], str]:
        """The outcomes that are known."""
        rows = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        return {tuple(row["mutant"]): row["found"] for row in map(json.loads, rows)}

    def add(self, mutant: Mutant, found: str, which: str, seconds: float) -> None:
        row = {"mutant": mutant.key, "found": found, "by": which, "seconds": round(seconds, 1)}
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")


def tell(line: str) -> None:
    """A line at once, also through a pipe."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


LIVE = ("survived", "blank")


def main() -> int:
    """Try mutants one after another; the exit code tells whether one survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20, help="mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--at", default="", help="all mutants of one line, MODULE:LINE below src/pliant")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most time for some tests of one")
    parser.add_argument("--near", action="store_true", help="no whole files of tests")
    parser.add_argument("--again", action="store_true", help="those once more that no test noticed")
    parser.add_argument("--map", action="store_true", help="find anew which lines tests execute")
    given = parser.parse_args()
    # ended from elsewhere as by the keyboard: nothing stays behind
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    map_ = Map(OUT / "map")
    if given.map:
        shutil.rmtree(map_.folder, ignore_errors=True)
    map_.folder.mkdir(parents=True, exist_ok=True)
    load_packages()
    wanted = chosen(given.count, given.seed, given.at)
    journal = Journal(OUT / (f"seed-{given.seed}.jsonl" if not given.at else "at.jsonl"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        try:
            trial = Trial(Path(folder), map_, given.seconds)
            map_.make(trial)
            for k, mutant in enumerate(wanted):
                known = journal.read().get(tuple(mutant.key)) if not given.at else None
                if known is not None and not (given.again and known in LIVE):
                    continue
                start = time.monotonic()
                found, which = trial.outcome(mutant, wide=not given.near)
                journal.add(mutant, found, which, time.monotonic() - start)
                tell(f"{k + 1:4d} {found:<9}{time.monotonic() - start:6.0f} s  {mutant}  {which[:110]}")
        except KeyboardInterrupt:
            tell("stopped; the same command goes on")
    return summary(wanted, journal.read())


def summary(wanted: Sequence[Mutant], outcomes: dict[tuple[str | int, ...], str]) -> int:
    """Say how many of the mutants were tried and noticed; 1 if one was not."""
    known = [(mutant, outcomes[tuple(mutant.key)]) for mutant in wanted if tuple(mutant.key) in outcomes]
    counts = {found: sum(1 for _, each in known if each == found) for _, found in known}
    tell(f"{len(known)} mutants of {len(wanted)}: " + ", ".join(f"{n} {found}" for found, n in sorted(counts.items())))
    living = [mutant for mutant, found in known if found in LIVE]
    for mutant in living:
        tell(f"  {mutant}")
    return 1 if living else 0


if __name__ == "__main__":
    sys.exit(main())
