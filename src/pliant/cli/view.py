"""``pliant view``: look at a robot or at runs that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.report import PAGES, check_number, page_path, write_page
from pliant.cli.terminal import ForceOption, check_film, check_folder, refuse, robot_names

if TYPE_CHECKING:
    from pliant.viewer.server import Viewer

TABLES, RUNS = (".csv",), (".h5", ".hdf5")


def view(
    shown: Annotated[
        list[str],
        typer.Argument(
            metavar="ROBOT|RUN...",
            help="HDF5 files of runs; with --live also a robot file or the name of a bundled robot.",
            autocompletion=robot_names,
        ),
    ],
    live: Annotated[
        bool, typer.Option("--live", help="An interactive scene in the browser, on this computer only (needs viser).")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="What to write: .html a report, .png .svg .pdf plots, .gif .mp4 a film, .csv numbers; "
            "default: a report beside the run.",
        ),
    ] = None,
    force: ForceOption = False,
    browser: Annotated[bool, typer.Option(help="Open the report or the scene in the browser.")] = True,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Of the scene; the next free one if it is taken.")] = 8080,
) -> None:
    """Write the report of stored runs and open it, write plots, a film or a table, or look at all of it --live."""
    if live:
        if output is not None:
            refuse("--live shows a scene and writes nothing; leave --output out")
        scene = _scene(shown, port, browser)
        typer.echo(f"{scene.url} until Ctrl-C")
        scene.wait()
        return
    if any(not _is_run(name) for name in shown):
        other = next(name for name in shown if not _is_run(name))
        refuse(
            f"{other} is no run; a robot is shown by: pliant view {other} --live, or: pliant show {other} --plot FILE"
        )
    runs = [Path(name) for name in shown]
    path = page_path(runs, output)
    if path.suffix.lower() in PAGES:
        path = write_page(runs, output)
        typer.echo(f"written to {path}")
        if browser:
            import webbrowser

            webbrowser.open(path.resolve().as_uri())
        return
    _write(runs, path)
    typer.echo(f"written to {path}")


def _is_run(name: str) -> bool:
    return Path(name).suffix.lower() in RUNS


def _write(runs: list[Path], path: Path) -> None:
    """Plots, a film or a table of one run."""
    from pliant.pictures.animation import FILMS
    from pliant.pictures.canvas import PICTURES
    from pliant.results.result import Result
    from pliant.results.storage import FIRST_COLUMN

    endings = tuple(dict.fromkeys((*PAGES, *PICTURES, *FILMS, *TABLES)))
    check_folder(path, endings, beginning=FIRST_COLUMN if path.suffix.lower() in TABLES else "")
    if len(runs) > 1:
        refuse(f"{path}: several runs are compared on a page only; it must end in {', '.join(PAGES)}")
    ending = path.suffix.lower()
    if ending in FILMS:
        check_film(path)
    result = Result.load(runs[0])
    if ending in PICTURES:
        result.plot(path)
    elif ending in FILMS:
        result.animate(path)
    else:
        result.to_csv(path)


def _scene(shown: list[str], port: int, browser: bool) -> Viewer:
    from pliant.viewer.server import view_robot, view_runs

    runs = [Path(name) for name in shown if _is_run(name)]
    if len(runs) == len(shown):
        check_number(runs)
        from pliant.results.result import Result

        results = [Result.load(run) for run in runs]
        own = [result.info.name for result in results]
        names = own if len(set(own)) == len(own) else [run.stem for run in runs]
        return view_runs(results, names, port=port, browser=browser)
    if len(shown) > 1:
        refuse("one robot, or one or more runs, are shown; not several robots")
    from pliant.dynamics import Dynamics

    return view_robot(Dynamics(shown[0]), port=port, browser=browser)
