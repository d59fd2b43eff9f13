"""``pliant doctor``: what Pliant runs on here, what is missing, and how to get it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import NamedTuple

import typer

from pliant.cli.terminal import emit, plain, table


class ExtraPackages(NamedTuple):
    """An extra of the package: what it is for, and its packages as (name to install, version here or none)."""

    extra: str
    words: str
    packages: tuple[tuple[str, str], ...]


WORDS = {
    "sympy": "equations to read",
    "casadi": "optimal moves, export to CasADi",
    "control": "linear models for python-control",
    "sundials": "SUNDIALS integrators",
    "tables": "tables of pandas, xarray and Parquet",
    "viewer": "robots and runs in the browser",
    "cluster": "sweeps on several machines",
    "cad": "links from STEP and STL files",
}
"""What extras are for; those without words are for developers."""


def doctor() -> None:
    """Versions, processor, cache, and what is missing, with the command that adds it; for reports of errors, too."""
    import platform

    from pliant import __version__
    from pliant.engine.compile import jit

    facts = table("", "", words=2)
    python = f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})"
    facts.add_row("pliant", __version__)
    facts.add_row("python", python)
    facts.add_row("system", f"{platform.system()} {platform.release()}")
    for name in _base():
        facts.add_row(plain(name), _version(name) or "missing")
    if jit.has_llvm():
        facts.add_row("processor", f"{jit.host()[1]}, vectors of {jit.lanes()} numbers, LLVM {jit.host()[0]}")
    else:
        facts.add_row("processor", "no machine code: llvmlite is missing, and NumPy computes")
    facts.add_row("machine code is kept in", plain(_kept()))
    parts = _parts()
    rows = table("extra", "for", "packages", words=3)
    for part in parts:
        shown = ", ".join(f"{name} {number}" if number else f"{name} missing" for name, number in part.packages)
        rows.add_row(plain(part.extra), part.words, plain(shown))
    emit(facts, "", rows)
    wanted = [name for part in parts for name, number in part.packages if not number]
    if wanted:
        typer.echo(f"\nwhat is missing: pip install {' '.join(wanted)}")


def _version(name: str) -> str:
    """Version of an installed package; empty if it is not."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _base() -> list[str]:
    """Packages that Pliant always needs."""
    return [_name(text) for text in requires("pliant") or () if "extra ==" not in text]


def _parts() -> list[ExtraPackages]:
    """The extras that users may want, each with its packages."""
    listed = requires("pliant") or ()
    out = []
    for extra in metadata("pliant").get_all("Provides-Extra") or ():
        if extra not in WORDS:
            continue
        marks = (f'extra == "{extra}"', f"extra == '{extra}'")
        names = [_name(text) for text in listed if text.rstrip().endswith(marks)]
        out.append(ExtraPackages(extra, WORDS[extra], tuple((name, _version(name)) for name in names)))
    return out


def _name(requirement: str) -> str:
    """The name of a package in a requirement such as ``numpy>=1.26; extra == "x"``."""
    end = next((k for k, sign in enumerate(requirement) if not (sign.isalnum() or sign in "-_.")), len(requirement))
    return requirement[:end]


def _kept() -> str:
    """The folder of machine code, and how much is in it."""
    from pliant.engine.compile.cache import folder, private_folder

    try:
        pieces = [path.stat().st_size for path in private_folder().glob("*.bin")]
    except FileNotFoundError:
        return f"{folder()} (nothing yet)"
    except (OSError, RuntimeError) as error:
        return f"nowhere: {error}"
    return f"{folder()} ({len(pieces)} pieces, {sum(pieces) / 1e6:.1f} MB)"
