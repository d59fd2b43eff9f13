"""``pliant check``: is this a robot?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.terminal import WRONG_INPUT
from pliant.pictures.words import counted

if TYPE_CHECKING:
    from pliant.model.errors import ModelError
    from pliant.model.links import Link
    from pliant.model.robot import Robot

ENDINGS = (".yaml", ".yml", ".urdf")


def check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Robot files, folders of them, or names of bundled robots."),
    ],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
) -> None:
    """Check robot files and list every problem with its line; exit code 2 if there is any."""
    results = []
    for given in files:
        found = _robot_files(given)
        if not found:
            typer.secho(f"{given}: no robot files ({', '.join(ENDINGS)}) in this folder", fg="red")
        results.extend([_passes(file, quiet) for file in found] or [False])
    wrong = results.count(False)
    if len(results) > 1 and not quiet:
        typer.echo(f"{len(results)} files, {f'{wrong} with problems' if wrong else 'all OK'}")
    if wrong:
        raise typer.Exit(WRONG_INPUT)


def _robot_files(given: str) -> list[str]:
    """A file as it is, or the robot files below a folder."""
    folder = Path(given)
    if not folder.is_dir():
        return [given]
    return sorted(str(file) for file in folder.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())


def _passes(file: str, quiet: bool) -> bool:
    """Load one robot, try the constants of its links, and say how it went."""
    import pliant

    try:
        robot = pliant.load(file)
        elastic = sum(_elastic(file, link, robot) for link in robot.links)
    except pliant.ModelError as error:
        typer.secho(str(error), fg="red")
        return False
    if not quiet:
        typer.echo(f"{typer.style('OK', fg='green')} {file}: {_summary(robot, elastic)}")
    return True


def _elastic(file: str, link: Link, robot: Robot) -> int:
    """The number of elastic coordinates of a link, whose shapes must be usable."""
    import pliant

    try:
        return pliant.build_body(link, robot).size
    except pliant.ModelError as error:
        raise _located(error, file, link) from None


def _located(error: ModelError, file: str, link: Link) -> ModelError:
    """A problem that shows only when a link is computed, with the line where the link stands."""
    from pliant.model.errors import ModelError
    from pliant.model.yaml_data import line_at
    from pliant.model.yaml_file import read_document

    line = None
    if Path(file).suffix.lower() in ENDINGS[:2]:
        data = read_document(file).data
        links = data["links"] if isinstance(data["links"], dict) else [part["name"] for part in data["links"]]
        key = link.name if isinstance(links, dict) else links.index(link.name)
        line = line_at(data, ("links", key))
    return ModelError(problem.at(file, line) for problem in error.problems)


def _summary(robot: Robot, elastic: int) -> str:
    joints = len(robot.joint_coordinates)
    return f"{counted(len(robot.links), 'link')}, {joints} joint and {elastic} elastic coordinates"
