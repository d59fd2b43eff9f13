"""``pliant view``: look at a robot or at runs that were kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.report_command import PAGES, check_number, page_path, write_page
from pliant.cli.terminal import ForceOption, check_film, check_folder, refuse, robot_names, said

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
    channels: Annotated[
        str | None, typer.Option(help="Of plots and tables: their channels, such as tip.z,shoulder.torque.")
    ] = None,
    looks: Annotated[
        str | None,
        typer.Option("--view", help="Of films: xy, xz, yz, corner, or AZIMUTH,ELEVATION in degrees."),
    ] = None,
    size: Annotated[str | None, typer.Option(help="WIDTHxHEIGHT: of films in pixels, of plots in inches.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Length of a film, s.")] = None,
    exaggeration: Annotated[float | None, typer.Option(help="Of films: factor of what bending does.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the report or the scene in the browser.")] = True,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Of the scene of --live: default 8080; the next free one if it is taken."),
    ] = None,
) -> None:
    """Write the report of stored runs and open it, write plots, a film or a table, or look at all of it --live."""
    asked: dict[str, Any] = {
        "channels": channels, "view": looks, "size": size, "seconds": seconds, "exaggeration": exaggeration
    }  # fmt: skip
    asked = {name: value for name, value in asked.items() if value is not None}
    if live:
        if output is not None:
            refuse("--live shows a scene and writes nothing; leave --output out")
        _require_none(asked, "the scene in the browser")
        scene = _scene(shown, PORT if port is None else port, browser)
        typer.echo(f"{scene.url} until Ctrl-C")
        scene.wait()
        return
    if port is not None:
        refuse("--port is that of the scene of --live; a file needs none")
    if any(not _is_run(name) for name in shown):
        other = next(name for name in shown if not _is_run(name))
        refuse(
            f"{other} is no run; a robot is shown by: pliant view {other} --live, or: pliant show {other} --plot FILE"
        )
    runs = [Path(name) for name in shown]
    path = page_path(runs, output)
    if path.suffix.lower() in PAGES:
        _require_none(asked, "a report")
        path = write_page(runs, output)
        typer.echo(f"written to {path}")
        if browser:
            import webbrowser

            webbrowser.open(path.resolve().as_uri())
        return
    _write(runs, path, asked)
    typer.echo(f"written to {path}")


def _is_run(name: str) -> bool:
    return Path(name).suffix.lower() in RUNS


def _require_none(asked: Mapping[str, Any], what: str) -> None:
    if asked:
        name = next(iter(asked))
        takers = " and ".join(kind for kind, taken in TAKEN.items() if name in taken)
        refuse(f"--{name}: {what} takes none; it is for {takers}")


PORT = 8080
TAKEN = {"plots": ("channels", "size"), "films": ("view", "size", "seconds", "exaggeration"), "tables": ("channels",)}


def _options(asked: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What a kind of output was asked for, as its function takes it."""
    _require_none({name: value for name, value in asked.items() if name not in TAKEN[kind]}, f"a {kind[:-1]}")
    out = dict(asked)
    if "channels" in out:
        out["channels"] = [name.strip() for name in out["channels"].split(",") if name.strip()]
    if "size" in out:
        out["size"] = _pair("size", out["size"], "x", int if kind == "films" else float)
    if "view" in out and "," in out["view"]:
        out["view"] = _pair("view", out["view"], ",", float)
    return out


def _pair(name: str, text: str, mark: str, kind: Callable[[str], Any]) -> tuple[Any, Any]:
    first, _, second = text.partition(mark)
    try:
        return kind(first), kind(second)
    except ValueError:
        refuse(f"--{name} is '{text}'; it must be two numbers, such as {'800x600' if mark == 'x' else '-60,20'}")


def _write(runs: list[Path], path: Path, asked: Mapping[str, Any]) -> None:
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
    kind = "plots" if ending in PICTURES else "films" if ending in FILMS else "tables"
    options = _options(asked, kind)
    result = Result.load(runs[0])
    try:
        for name in options.get("channels", ()):
            result.channel(name)
        if kind == "plots":
            result.plot(path, **options)
        elif kind == "films":
            result.animate(path, **options)
        else:
            result.to_csv(path, **options)
    except KeyError as error:
        refuse(said(error))
    except ValueError as error:
        refuse(str(error))


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
