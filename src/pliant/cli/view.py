"""``pliant view``: look at a run that was kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import check_film, check_folder, check_replaced

PAGES, TABLES = (".html", ".htm"), (".csv",)


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The HDF5 file of a run.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="What to write: .html a report, .png .svg .pdf plots, .gif .mp4 a film, .csv numbers; "
            "default: a report beside the run.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is not Pliant's.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the report in the browser.")] = True,
) -> None:
    """Write the report of a stored run and open it in the browser, or write plots, a film or a table."""
    from pliant.pictures.animation import FILMS
    from pliant.pictures.canvas import PICTURES
    from pliant.results.result import Result

    path = output or run.with_suffix(PAGES[0])
    check_folder(path, tuple(dict.fromkeys((*PAGES, *PICTURES, *FILMS, *TABLES))))
    check_replaced(path, force)
    ending = path.suffix.lower()
    if ending in FILMS:
        check_film(path)
    result = Result.load(run)
    if ending in PAGES:
        result.report(path)
    elif ending in PICTURES:
        result.plot(path)
    elif ending in FILMS:
        result.animate(path)
    else:
        result.to_csv(path)
    typer.echo(f"written to {path}")
    if browser and ending in PAGES:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
