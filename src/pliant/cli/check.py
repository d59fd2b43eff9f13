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
# least eigenvalue of the mass matrix, scaled to a unit diagonal, with which the dynamics can be solved
SINGULAR = 1e-13


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
    """Load one robot, try its links and its dynamics, and say how it went; exit codes tell of problems only."""
    import pliant
    from pliant.model.plausible import description_limits

    try:
        robot = pliant.load(file)
        elastic = sum(_elastic(file, link, robot) for link in robot.links)
        _moves(file, robot)
    except pliant.ModelError as error:
        typer.secho(str(error), fg="red")
        return False
    if not quiet:
        typer.echo(f"{typer.style('OK', fg='green')} {file}: {_summary(robot, elastic)}")
    for text in description_limits(robot):
        typer.secho(f"warning: {file}: {text}", fg="yellow")
    return True


def _moves(file: str, robot: Robot) -> None:
    """Refuse a robot whose equations of motion cannot be set up or solved in its reference pose."""
    import numpy as np

    from pliant.dynamics import Dynamics
    from pliant.model.errors import ModelError, Problem

    try:
        arm = Dynamics(robot, compile="never")
        q = arm.reference_pose()
        if not arm.size:
            return
        if arm.loops.rows:
            # a leaf without mass may be moved by its loop
            arm.forward(arm.assemble(q), np.zeros(arm.size))
            return
        M = arm.mass_matrix(q)
    except ModelError as error:
        raise ModelError(problem.at(problem.file or file, problem.line) for problem in error.problems) from None
    except (ValueError, FloatingPointError) as error:
        raise ModelError(Problem("", str(error), file)) from None
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    for name, inertia in zip(arm.names, size, strict=True):
        if not inertia > 0:
            rule = "a link at the end of the robot needs mass, or inertia about its joint"
            raise ModelError(Problem("", f"the coordinate '{name}' moves no mass; {rule}", file))
    least = float(np.linalg.eigvalsh(M / np.outer(size, size))[0])
    if least < SINGULAR:
        why = "links that turn or slide about the same line need mass of their own"
        raise ModelError(Problem("", f"its mass matrix is singular in the reference pose; {why}", file))


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
