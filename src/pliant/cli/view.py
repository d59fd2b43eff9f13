"""``pliant view``: look at a run that was kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import check_folder


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The HDF5 file of a run.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page to write; default: beside the run.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Write the report of a stored run and open it in the browser."""
    page = output or run.with_suffix(".html")
    check_folder(page, (".html", ".htm"))
    from pliant.results.result import Result

    Result.load(run).report(page)
    typer.echo(f"written to {page}")
    if browser:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
