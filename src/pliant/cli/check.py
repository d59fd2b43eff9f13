"""``pliant check``: is this a robot or a study, and will it run?"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.terminal import WRONG_INPUT, tell
from pliant.pictures.picture_words import counted

if TYPE_CHECKING:
    from pliant.errors import ModelError, Problem
    from pliant.model.description.robot import Robot
    from pliant.simulation.run import Run
    from pliant.simulation.study import Study

YAML_ENDINGS = (".yaml", ".yml")
ENDINGS = (*YAML_ENDINGS, ".urdf")
# a robot of more coordinates is not computed for a check
MOST_COORDINATES = 300

# nor its state of rest for one of more, which takes longer
MOST_AT_REST = 60

# least eigenvalue of the mass matrix, scaled to a unit diagonal, with which the dynamics can be solved
SINGULAR = 1e-13


def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Robot and study files, folders of them, or names of bundled robots and studies."
        ),
    ],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse what would be repaired in URDF files.")] = False,
) -> None:
    """Check robots and studies and list every problem with its line; exit code 2 if there is any.

    Python code that a study names is looked at, and never run.
    """
    results = []
    for given in files:
        found = _files(given)
        if not found:
            tell(f"{given}: no robot files ({', '.join(ENDINGS)}) in this folder", err=False)
        folder = found != [given]
        results.extend([_passes(file, quiet, strict, folder) for file in found] or [False])
    wrong = results.count(False)
    if len(results) > 1 and not quiet:
        typer.echo(f"{len(results)} files, {f'{wrong} with problems' if wrong else 'all OK'}")
    if wrong:
        raise typer.Exit(WRONG_INPUT)


def _files(given: str) -> list[str]:
    """A file as it is, or the robot and study files below a folder."""
    folder = Path(given)
    if not folder.is_dir():
        return [given]
    return sorted(str(file) for file in folder.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())


def _passes(file: str, quiet: bool, strict: bool, in_folder: bool) -> bool:
    """Read one file, try what it describes, and say how it went."""
    import pliant
    from pliant.errors import RepairWarning
    from pliant.simulation.study import file_kind

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            kind = file_kind(file)
            if kind == "overlay" or (kind == "other" and in_folder):
                if not quiet:
                    overlay = "an overlay of a URDF file; write `urdf: FILE` into it to check them together"
                    words = overlay if kind == "overlay" else "neither a robot nor a study"
                    typer.echo(f"{typer.style('--', fg='yellow')} {file}: {words}")
                return True
            summary = _study(file) if kind == "study" else _robot(file, strict)
        except pliant.ModelError as error:
            tell(str(error), err=False)
            return False
    for warning in told:
        repairs = warning.message.repairs if isinstance(warning.message, RepairWarning) else ()
        for text in [f"repaired: {repair}" for repair in repairs] or [f"warning: {warning.message}"]:
            tell(text, "yellow", err=False)
    if not quiet:
        typer.echo(f"{typer.style('OK', fg='green')} {file}: {summary}")
    return True


def _study(file: str) -> str:
    from pliant.drives.callback import Callback, UnrunLaw
    from pliant.model.description.plausible import cuts_proposed
    from pliant.simulation.monitoring.checks import planned_turns
    from pliant.simulation.study import unrun_study
    from pliant.trajectories.per_joint import turn_limits

    study = unrun_study(file)
    for problem in _refusals(study.robot):
        raise _located(problem, file)
    run = _begin(study, file)
    fast = planned_turns(run.equations, run.v0, study.until)
    known = (*turn_limits(study.robot, study.start, study.drive), *run.equations.drive.cautions)
    pushed = {each.frame: "a disturbance" for each in study.disturbances if each.frame is not None}
    for text in (*known, *cuts_proposed(study.robot, pushed), *_at_rest(study.robot), *fast):
        warnings.warn(f"{file}: {text}", stacklevel=2)
    words = f"a study of {study.robot.name} until {study.until:g} s"
    law = study.drive.function if isinstance(study.drive, Callback) else None
    return f"{words}; its Python code was not run: {law.text}" if isinstance(law, UnrunLaw) else words


def _begin(study: Study, file: str) -> Run:
    """What shows only when the drive, the loads and the wanted channels meet the robot: tried without a step."""
    import pliant
    from pliant.simulation.run import Run

    try:
        return Run(study)
    except pliant.ModelError:
        raise
    except ValueError as error:
        raise _located(pliant.ModelError(str(error)), file) from None


def _robot(file: str, strict: bool) -> str:
    import pliant
    from pliant.bodies.words import words_of
    from pliant.model.description.plausible import cuts_proposed, description_limits

    robot = pliant.load(file, strict=strict)
    elastic = 0
    for link in robot.links:
        try:
            elastic += pliant.build_body(link, robot).size
        except pliant.ModelError as error:
            raise _located(error, file, link.name) from None
    for problem in _refusals(robot):
        raise _located(problem, file)
    for text in (*description_limits(robot), *cuts_proposed(robot), *_at_rest(robot)):
        warnings.warn(f"{file}: {text}", stacklevel=2)
    joints = len(robot.joint_coordinates)
    words = f"{counted(len(robot.links), 'link')}, {joints} joint and {elastic} elastic coordinates"
    if Path(file).suffix.lower() == ENDINGS[-1] and robot.tip is not None:
        words += f", tip {robot.tip.removesuffix('.tip')}"
    linear = [link.name for link in robot.links if words_of(link).shortens_by_data is False]
    if linear:
        words += f"; modal data without Gamma_first bends linearly: {', '.join(linear)}"
    return words


def _refusals(robot: Robot) -> Iterator[ModelError]:
    """What the dynamics refuse: tried by asking for them in the reference pose."""
    import numpy as np

    import pliant

    try:
        arm = pliant.Dynamics(robot, compile="never")
        if not 0 < arm.size <= MOST_COORDINATES:
            return
        q = arm.assemble()
        arm.forward(q, np.zeros(arm.size), force=np.zeros(arm.size))
    except pliant.ModelError as error:
        yield error
    except (ValueError, FloatingPointError) as error:
        yield pliant.ModelError(str(error))
    else:
        if not arm.loops.rows:
            yield from _singular(arm.names, arm.mass_matrix(q))


def _at_rest(robot: Robot) -> Iterator[str]:
    """What is beyond the limits of the model where gravity alone bends the robot in its reference pose."""
    import pliant
    from pliant.analysis.equilibrium import state_of_rest
    from pliant.analysis.left_out import left_out, too_stiff

    if not any(link.is_flexible for link in robot.links):
        return
    arm = pliant.Dynamics(robot, compile="never")
    if arm.size > MOST_AT_REST:
        return
    yield from left_out(robot)
    yield from too_stiff(robot)
    if not any(robot.gravity):
        return
    try:
        yield from (f"at rest {text}" for text in state_of_rest(arm).warnings)
    except (pliant.NoEquilibriumError, pliant.LoopError) as error:
        yield str(error)


def _singular(names: Sequence[str], M: Any) -> Iterator[ModelError]:
    """A mass matrix whose inverse is only rounding."""
    import numpy as np

    from pliant.errors import ModelError

    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    if not size.all():
        rule = "a link at the end of the robot needs mass, or inertia about its joint"
        yield ModelError(f"the coordinate '{names[int(np.argmin(size))]}' moves no mass; {rule}")
    elif np.linalg.eigvalsh(M / np.outer(size, size))[0] < SINGULAR:
        why = "links that turn or slide about the same line need mass of their own"
        yield ModelError(f"its mass matrix is singular in the reference pose; {why}")


def _located(error: ModelError, file: str, link: str | None = None) -> ModelError:
    """A problem that shows only when a link is computed, with the line where the link stands."""
    from pliant.errors import ModelError

    return ModelError(problem.at(file, _line(problem, file, link)) for problem in error.problems)


def _line(problem: Problem, file: str, link: str | None) -> int | None:
    from pliant.model.readers.library import read_document
    from pliant.model.readers.yaml_data import line_at

    if problem.line is not None or Path(file).suffix.lower() not in YAML_ENDINGS:
        return problem.line
    data = read_document(file).data
    named = re.search(r"link '([^']+)'", str(problem))
    name = link or (named[1] if named else None)
    links = data.get("links")
    if name is None or not isinstance(links, dict | list):
        return None
    names = links if isinstance(links, dict) else [part.get("name") for part in links if isinstance(part, dict)]
    if name not in names:
        return None
    return line_at(data, ("links", name if isinstance(links, dict) else list(names).index(name)))
