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
    matlab = "matlab"
    casadi = "casadi"
    fmu = "fmu"
    listing = "listing"


def export(
    robot: RobotArgument,
    to: Annotated[Target, typer.Option(help="Language of the code.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The file: NAME.c (and NAME.h beside it), NAME.py, NAME.m, NAME.casadi, NAME.fmu; a listing: .c, .py "
            "or .m. Of several casadi functions or listings each has a file of its own, NAME_FUNCTION.",
        ),
    ],
    function: Annotated[
        list[str] | None,
        typer.Option(
            "--function",
            "--functions",
            help="Names with commas, may be repeated: forward, inverse, bias, mass_matrix, energy, pose, jacobian, "
            "efforts, reactions; of loops closure, closure_rate, closure_acceleration, closure_jacobian, multipliers, "
            "assemble, project; derivatives such as forward_by_q, _by_v, _by_f, _by_p; for c also rk4 and esdirk "
            "(steps in time), for casadi deflection and strain; all. Default: the first seven, for casadi and listing "
            "forward.",
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
    bench: Annotated[
        bool,
        typer.Option(
            "--bench", help="Compile the C with cc here, time every function and print median and longest times."
        ),
    ] = False,
    force: ForceOption = False,
) -> None:
    """Write the functions of a robot as C, Python, MATLAB, CasADi, FMU or a readable listing; or a controller."""
    from pliant.dynamics import Dynamics
    from pliant.errors import ModelError

    if controller:
        if to is not Target.c or function or frame or strain or bench or dynamics != "recursive":
            refuse(
                "--controller writes a controller as C: --to c, without --function, --frame, --strain, --dynamics and "
                "--bench"
            )
        _controller(robot, output)
        return
    wanted = tuple(name.strip() for text in function or () for name in text.split(",") if name.strip())
    of_frames = any(name.startswith(("pose", "jacobian", "deflection", "all")) for name in wanted)
    if frame and wanted and not of_frames:
        refuse(f"--frame: {', '.join(wanted)} asks for no frame; it is for pose, jacobian and deflection")
    if strain and not (to is Target.casadi and wanted == ("strain",)):
        refuse("--strain: it is for --to casadi --function strain")
    if bench and to is not Target.c:
        refuse("--bench times compiled C: --to c")
    frames = tuple(frame or ("tip",))
    try:
        arm = Dynamics(robot, method=dynamics)
        written = _write(arm, to, output, wanted, frames, _places(strain))
    except ModelError:
        # the program prints the list of its problems
        raise
    except (ValueError, ImportError) as error:
        refuse(str(error))
    typer.echo(f"written: {', '.join(map(str, written))}")
    if to is Target.c:
        from pliant.export.c import compile_line

        typer.echo(f"link it with: {compile_line(written[0].stem)}")
    if bench:
        from pliant.export.function_times import timed
        from pliant.export.signatures import FUNCTIONS

        try:
            typer.echo(timed(arm, written[0], wanted or FUNCTIONS, frames))
        except ValueError as error:
            refuse(str(error))


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
    from pliant.export.functions import functions_of
    from pliant.export.signatures import FUNCTIONS

    several = to in (Target.casadi, Target.listing)
    wanted = functions or (("forward",) if several else FUNCTIONS)
    named = functions_of(arm, wanted) if several else wanted
    paths = [output]
    if several and len(named) > 1:
        paths = [output.with_name(f"{output.stem}_{name}{output.suffix}") for name in named]
    for path in (*paths, *([output.with_suffix(".h")] if to is Target.c and output.name else [])):
        check_replaced(path)
    if to is Target.c:
        from pliant.export.c import generate_c

        return generate_c(arm, output, wanted, frames=frames)
    if to is Target.python:
        from pliant.export.python import generate_python

        return (generate_python(arm, output, wanted, frames=frames),)
    if to is Target.matlab:
        from pliant.export.matlab import generate_matlab

        return (generate_matlab(arm, output, wanted, frames=frames),)
    if to is Target.fmu:
        from pliant.export.fmu import generate_fmu

        if functions:
            raise ValueError("--function: an FMU has the functions that FMI asks for")
        return (generate_fmu(arm, output, frames=frames),)
    if to is Target.casadi:
        from pliant.export.casadi import generate_casadi

        each = zip(named, paths, strict=True)
        return tuple(generate_casadi(arm, path, name, frames=frames, strains=strains) for name, path in each)
    from pliant.export.listing import generate_listing

    return tuple(generate_listing(arm, path, name, frames=frames) for name, path in zip(named, paths, strict=True))
