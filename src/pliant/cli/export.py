"""``pliant export``: code for others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.terminal import ForceOption, RobotArgument, check_replaced, refuse

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics


class Target(StrEnum):
    """What to write."""

    c = "c"
    python = "python"
    casadi = "casadi"
    listing = "listing"


def export(
    robot: RobotArgument,
    to: Annotated[Target, typer.Option(help="Language of the code.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The file: NAME.c (and NAME.h beside it), NAME.py, NAME.casadi; a listing: .c, .py or .m.",
        ),
    ],
    function: Annotated[
        list[str] | None,
        typer.Option(
            help="forward, inverse, bias, mass_matrix, energy, pose or jacobian; may be repeated; for casadi also "
            "closure, closure_rate, closure_acceleration, closure_jacobian, deflection and strain. Default: all of the "
            "first ones, for casadi and listing forward."
        ),
    ] = None,
    frame: Annotated[
        list[str] | None, typer.Option(help="Frame of pose, jacobian and deflection; may be repeated. Default: tip.")
    ] = None,
    strain: Annotated[
        list[str] | None,
        typer.Option(help="Place of strain, LINK,X,Y,Z in m along a beam and beside its axis; may be repeated."),
    ] = None,
    dynamics: Annotated[
        str, typer.Option(help="What computes the equations of motion: recursive, dual_screw (linearised), ...")
    ] = "recursive",
    controller: Annotated[
        bool,
        typer.Option(
            "--controller", help="ROBOT is a study: write its sampled controller and observer, one C function per tick."
        ),
    ] = False,
    force: ForceOption = False,
) -> None:
    """Write the dynamics of a robot as C, a Python module, a CasADi function or a readable listing; or a controller."""
    from pliant.dynamics import Dynamics
    from pliant.errors import ModelError

    if controller:
        if to is not Target.c or function or frame or strain or dynamics != "recursive":
            refuse(
                "--controller writes a controller as C: --to c, without --function, --frame, --strain and --dynamics"
            )
        _controller(robot, output)
        return
    if frame and function and not {"pose", "jacobian", "deflection"} & set(function):
        refuse(f"--frame: {', '.join(function)} asks for no frame; it is for pose, jacobian and deflection")
    if strain and not (to is Target.casadi and function == ["strain"]):
        refuse("--strain: it is for --to casadi --function strain")
    for path in (output, output.with_suffix(".h")) if to is Target.c and output.name else (output,):
        check_replaced(path)
    try:
        written = _write(
            Dynamics(robot, method=dynamics),
            to,
            output,
            tuple(function or ()),
            tuple(frame or ("tip",)),
            _places(strain),
        )
    except ModelError:
        # the program prints the list of its problems
        raise
    except (ValueError, ImportError) as error:
        refuse(str(error))
    typer.echo(f"written: {', '.join(map(str, written))}")
    if to is Target.c:
        from pliant.export.c import compile_line

        typer.echo(f"link it with: {compile_line(written[0].stem)}")


def _controller(study: str, output: Path) -> None:
    from pliant.errors import ModelError
    from pliant.export.controller import written_controller

    for path in (output, output.with_suffix(".h"), output.with_name(f"{output.stem}_reference.csv")):
        check_replaced(path)
    try:
        written = written_controller(study, output)
    except ModelError:
        raise
    except ValueError as error:
        refuse(str(error))
    typer.echo(f"written: {', '.join(map(str, written))}")


def _places(given: list[str] | None) -> list[tuple[str | float, ...]]:
    """(link, x, y, z) of texts LINK,X,Y,Z."""
    found: list[tuple[str | float, ...]] = []
    for text in given or []:
        link, *place = text.split(",")
        try:
            found.append((link.strip(), *(float(x) for x in place)))
        except ValueError:
            place = []
        if not 1 <= len(place) <= 3:
            refuse(f"--strain {text!r}: write it as LINK,X,Y,Z with numbers in m")
    return found


def _write(
    arm: Dynamics,
    to: Target,
    output: Path,
    functions: tuple[str, ...],
    frames: tuple[str, ...],
    strains: list[tuple[str | float, ...]],
) -> tuple[Path, ...]:
    from pliant.export.functions import FUNCTIONS

    if to is Target.c:
        from pliant.export.c import generate_c

        return generate_c(arm, output, functions or FUNCTIONS, frames=frames)
    if to is Target.python:
        from pliant.export.python import generate_python

        return (generate_python(arm, output, functions or FUNCTIONS, frames=frames),)
    if len(functions) > 1:
        raise ValueError(f"{to} holds one function; give one --function instead of {len(functions)}")
    one = functions[0] if functions else "forward"
    if to is Target.casadi:
        from pliant.export.casadi import generate_casadi

        return (generate_casadi(arm, output, one, frames=frames, strains=strains),)
    from pliant.export.listing import generate_listing

    return (generate_listing(arm, output, one, frames=frames),)
