"""The tests on every Python of the machine, with the newest packages and with the oldest that pyproject.toml allows.

    python tests/versions.py                              all of them, a case of every test but the LEFT_OUT
    python tests/versions.py --pythons 3.12 newest        some of them
    python tests/versions.py --packages oldest -- tests   one kind of packages, all tests: what follows -- is for pytest

Pythons are sought on the path (python3.11 and on) and among pyenv's. Environments are kept in .versions and made anew
when a Python or the dependencies in pyproject.toml change; `make clean` removes them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".versions"
SHOWN = ("numpy", "scipy", "llvmlite", "pydantic", "typer", "matplotlib")
"""Packages whose versions stand in the table."""
KINDS = ("newest", "oldest")
LEFT_OUT = (
    "documentation", "sweeps", "verification",
    "test_examples.py", "test_benchmarks.py", "test_fuzzing.py", "test_packaging.py",
)  # fmt: skip
"""Tests that start many runs, and use no package that the others do not."""

ASK = """import json, sys, sysconfig
print(json.dumps([list(sys.version_info), sysconfig.get_config_var("Py_GIL_DISABLED")]))"""


# ---------------------------------------------------------------- Pythons


@dataclass(frozen=True)
class Python:
    """An interpreter and its version, as (3, 12, 1)."""

    path: Path
    version: tuple[int, int, int]

    @property
    def name(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"


def pythons() -> list[Python]:
    """Every suitable Python of the machine, oldest first: one of each minor version, with its newest patch."""
    least = tuple(int(n) for n in re.findall(r"\d+", project()["requires-python"]))
    found: dict[str, Python] = {}
    for path in dict.fromkeys(_paths()):
        version = _version(path)
        if version is None or version < least:
            continue
        python = Python(path, version)
        if python.name not in found or found[python.name].version < version:
            found[python.name] = python
    return sorted(found.values(), key=lambda python: python.version)


def _paths() -> Iterator[Path]:
    yield Path(sys.executable)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield from sorted(path for path in Path(folder).glob("python3*") if re.fullmatch(r"python3(\.\d+)?", path.name))
    root = os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv"
    yield from sorted(Path(root).glob("versions/*/bin/python"))


@cache
def _version(path: Path) -> tuple[int, int, int] | None:
    """Of an interpreter that runs, has been released and is no free-threaded one."""
    try:
        answer = subprocess.run([path, "-c", ASK], capture_output=True, text=True, timeout=60)
        (major, minor, micro, level, _), threaded = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        # pyenv's stand-ins of versions that are not switched on
        return None
    return (major, minor, micro) if level == "final" and not threaded else None


def chosen(names: Sequence[str]) -> list[Python]:
    """Pythons by version or file; `newest` and `oldest` are those of the machine."""
    every = pythons()
    if not names:
        return every
    ends = {"newest": every[-1], "oldest": every[0]}
    by_name = {python.name: python for python in every}
    out = []
    for name in names:
        python = ends.get(name) or by_name.get(name.removeprefix("python"))
        if python is None and (version := _version(Path(name))):
            python = Python(Path(name), version)
        if python is None:
            raise SystemExit(f"there is no Python {name}; there are {', '.join(by_name)}")
        out.append(python)
    return out


# ---------------------------------------------------------------- packages


def project() -> dict[str, object]:
    """The table [project] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(extra: str = "dev") -> list[Requirement]:
    """Direct dependencies of the package with an extra, whose own extras are followed."""
    table = project()
    out, extras, seen = list(table["dependencies"]), [extra], set()
    while extras:
        name = extras.pop()
        if name in seen:
            continue
        seen.add(name)
        for text in table["optional-dependencies"][name]:
            requirement = Requirement(text)
            if requirement.name == table["name"]:
                extras.extend(requirement.extras)
            else:
                out.append(text)
    return [Requirement(text) for text in out]


def called(*command: str | Path) -> str:
    """What a program prints; where it fails, this one ends with its words."""
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{answer.stdout}\n{answer.stderr}")
    return answer.stdout


def oldest(python: Path) -> list[str]:
    """Direct dependencies in the oldest versions that are allowed and built for this Python, with all that they need.

    pip knows newest versions only, and with old ones pinned it tries their needs for minutes; uv has a word for it.
    """
    from uv import find_uv_bin

    command = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", python]
    wanted = ["--resolution", "lowest-direct", "--only-binary", ":all:", "--extra", "dev", ROOT / "pyproject.toml"]
    return called(*command, *wanted).splitlines()


def environment(python: Python, kind: str) -> Path:
    """The interpreter of an environment with the package, made where it is not up to date."""
    place = FOLDER / f"{python.name}-{kind}"
    inside = place / "bin" / "python"
    wanted = [*python.version, str(python.path), sorted(str(each) for each in requirements())]
    stamp = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
    mark = place / "made-for"
    if mark.is_file() and mark.read_text(encoding="utf-8") == stamp:
        return inside
    say(f"setting up {place.relative_to(ROOT)} (once)")
    shutil.rmtree(place, ignore_errors=True)
    called(python.path, "-m", "venv", place)
    pins = oldest(inside) if kind == "oldest" else []
    install = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    # most modules are never imported: none is compiled before it is
    install.append("--no-compile")
    called(*install, *pins, "--editable", f"{ROOT}[dev]")
    mark.write_text(stamp, encoding="utf-8")
    return inside


def installed(inside: Path) -> list[str]:
    """Versions of the packages in the table."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    return subprocess.run([inside, "-c", code, *SHOWN], capture_output=True, text=True, check=True).stdout.split()


# ---------------------------------------------------------------- tests


def run(inside: Path, arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> tuple[bool, str]:
    """Whether the tests pass, and pytest's last line."""
    command = [inside, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "--timeout", "300", "-q", *arguments]
    # programs that tests start by name are those of the environment
    path = f"{inside.parent}{os.pathsep}{environment.get('PATH', '')}"
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environment, "PATH": path},
    ) as tests:
        for line in tests.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    ends = [line.strip("= \n") for line in lines if re.search(r"\d+ (passed|failed|error)", line)]
    return tests.returncode == 0, ends[-1] if ends else f"ended with code {tests.returncode}"


def usual() -> list[str]:
    """What pytest is told where nothing else is asked for: minutes for each Python."""
    return ["--cases", "1", *(f"--ignore={ROOT / 'tests' / name}" for name in LEFT_OUT)]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as columns of text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pythons", nargs="*", default=[], metavar="3.12", help="versions, files, newest or oldest")
    parser.add_argument("--packages", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--besides", metavar="FILE", help="a Python whose newest packages have been tested already")
    parser.add_argument("--only-set-up", action="store_true", help="make the environments and test nothing")
    parser.add_argument("arguments", nargs="*", help="for pytest, after --; a case of most tests where none are given")
    options = parser.parse_args()
    tested = _version(Path(options.besides)) if options.besides else None
    rows, good = [("Python", "packages", *SHOWN, "tests")], True
    for python in chosen(options.pythons):
        for kind in options.packages or KINDS:
            if kind == "newest" and tested and python.version[:2] == tested[:2]:
                say(f"Python {python.name} with the newest packages has been tested")
                continue
            start = time.monotonic()
            inside = environment(python, kind)
            if options.only_set_up:
                continue
            say(f"\nPython {'.'.join(map(str, python.version))}, {kind} packages")
            passed, last = run(inside, options.arguments or usual())
            good = good and passed
            rows.append((python.name, kind, *installed(inside), last))
            say(f"{time.monotonic() - start:.0f} s")
    if not options.only_set_up:
        say("\n" + table(rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
