"""``pliant report``: the page of a run, or a comparison of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import ForceOption, check_folder, refuse

PAGES = (".html", ".htm")

Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="HDF5 files of runs; several are compared.")]


def report(
    runs: Runs,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page to write; default: beside the first run."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write one page about a run, or one that lays several over each other: films, curves, differences."""
    typer.echo(f"written to {write_page(runs, output)}")


def page_path(runs: list[Path], output: Path | None) -> Path:
    """Where the page of runs goes if nothing else is said."""
    if output is not None:
        return output
    return runs[0].with_name("-".join(dict.fromkeys(run.stem for run in runs)) + PAGES[0])


def check_number(runs: list[Path]) -> None:
    """Refuse more runs than can be told apart."""
    from pliant.results.comparison import MOST_RUNS

    if len(runs) > MOST_RUNS:
        refuse(f"{len(runs)} runs are given; at most {MOST_RUNS} can be compared")


def write_page(runs: list[Path], output: Path | None) -> Path:
    """Write the page of one run or of several; returns where it is."""
    from pliant.results.comparison import named, write_comparison
    from pliant.results.result import Result

    path = page_path(runs, output)
    check_folder(path, PAGES)
    check_number(runs)
    results = [Result.load(run) for run in runs]
    if len(results) == 1:
        results[0].report(path)
    else:
        own = [result.info.name for result in results]
        write_comparison(named(results, own if len(set(own)) == len(own) else [run.stem for run in runs]), path)
    return path
