"""Break one sign, factor or comparison of the physics at a time, and see whether a test notices.

    python tests/mutants.py --count 20 --seed 1
    python tests/mutants.py --at formulations/lumped_fe/node_matrices.py:104

Mutants live in a copy of the tree; the working tree is never touched. The tests nearest to a module run first, then,
for what survives them, all that compute. A mutant that no test kills is printed: a hole in the tests, or a change
without effect.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src") / "pliant"

NEAREST = {
    "formulations/recursive": ("tests/identities", "tests/reference"),
    "formulations/loops": ("tests/loops", "tests/analysis"),
    "formulations/dual_screw": ("tests/dual_screw", "tests/reference"),
    "formulations/lumped_fe": ("tests/lumped_fe", "tests/reference"),
    "formulations/lagrange": ("tests/equations", "tests/identities"),
    "formulations": ("tests/identities", "tests/analysis"),
    "bodies": ("tests/bodies", "tests/large_bending", "tests/identities"),
    "spatial": ("tests/spatial", "tests/identities"),
    "analysis": ("tests/analysis", "tests/reference"),
    "simulation": ("tests/simulation", "tests/results"),
}
"""Folders of tests by the beginning of a module's path, the longest of which counts."""

ALL = ("identities", "reference", "loops", "bodies", "analysis", "simulation", "large_bending", "results", "dual_screw",
       "lumped_fe", "equations", "model", "verification")  # fmt: skip
"""What survives the nearest tests meets these."""

SECONDS = 600.0
"""Most time for the tests of one mutant; one that makes them hang is found."""

FACTOR = 1.5
SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
COMPARISONS = {ast.Lt: ("<", ">="), ast.Gt: (">", "<="), ast.LtE: ("<=", ">"), ast.GtE: (">=", "<")}


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


class Trial:
    """A copy of the tree in which one module at a time is broken."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.tree, self.cache, self.seconds = folder / "tree", folder / "cache", seconds
        skipped = shutil.ignore_patterns(".git", ".venv", "out", "__pycache__", "*.pyc")
        shutil.copytree(ROOT, self.tree, ignore=skipped)

    def outcome(self, mutant: Mutant, *, wide: bool) -> tuple[str, str]:
        """killed, hung or survived, and by which test; unsure where that test fails without the mutant, too."""
        path = self.tree / PACKAGE / mutant.module
        whole = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(whole), encoding="utf-8")
        try:
            found, which = self._run(nearest(mutant.module))
            if found == "survived" and wide:
                found, which = self._run(tuple(f"tests/{name}" for name in ALL))
        finally:
            path.write_text(whole, encoding="utf-8")
            # machine code of a mutant is not for the next one
            shutil.rmtree(self.cache, ignore_errors=True)
        if which.startswith(("FAILED", "ERROR")):
            test = which.split(" - ")[0].split(maxsplit=1)[1]
            if self._run((test,))[0] != "survived":
                return "unsure", which
        return found, which

    def _run(self, folders: tuple[str, ...]) -> tuple[str, str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.tree / "src"),
            "PLIANT_CACHE": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += [name for name in folders if (self.tree / name.partition("::")[0]).exists()]
        process = subprocess.Popen(
            command, cwd=self.tree, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            printed, _ = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            return "hung", f"no end within {self.seconds:g} s"
        finally:
            # also after an interrupt: the tests and their own processes
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode == 0:
            return "survived", ""
        failed = [line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "killed", failed[-1] if failed else printed[-200:].strip()


def chosen(count: int, seed: int, at: str) -> list[Mutant]:
    """Mutants at random, or those of one line."""
    if at:
        name, _, line = at.rpartition(":")
        text = (ROOT / PACKAGE / name).read_text(encoding="utf-8")
        return [m for m in mutants_of(Path(name), text) if m.line == int(line)]
    texts = {path: (ROOT / PACKAGE / path).read_text(encoding="utf-8") for path in physics()}
    everything = [mutant for path, text in texts.items() for mutant in mutants_of(path, text)]
    return random.Random(seed).sample(everything, min(count, len(everything)))


def tell(line: str) -> None:
    """A line at once, also through a pipe."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Try mutants one after another; the exit code tells whether one survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20, help="mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--at", default="", help="all mutants of one line, MODULE:LINE below src/pliant")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most time for the tests of one")
    parser.add_argument("--near", action="store_true", help="only the nearest tests")
    given = parser.parse_args()
    # ended from elsewhere as by the keyboard: nothing stays behind
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tried, survived = 0, list[Mutant]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trial = Trial(Path(folder), given.seconds)
        try:
            for mutant in chosen(given.count, given.seed, given.at):
                start = time.monotonic()
                found, which = trial.outcome(mutant, wide=not given.near)
                tried += 1
                survived += [mutant] if found == "survived" else []
                tell(f"{found:<9}{time.monotonic() - start:6.0f} s  {mutant}  {which[:110]}")
        except KeyboardInterrupt:
            tell("stopped")
    tell(f"{tried} mutants, {len(survived)} survived")
    for mutant in survived:
        tell(f"  {mutant}")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
