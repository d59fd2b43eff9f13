"""``pliant singularity``: where a robot loses a direction, or its drives the hold of its platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.frf import AtOption
from pliant.cli.modes_command import configuration_of
from pliant.cli.stiffness import FrameOption
from pliant.cli.terminal import RobotArgument, emit, number, plain, refuse, said, table

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.analysis.singularity import Singularity
    from pliant.dynamics import Dynamics

AxesOption = Annotated[
    str | None,
    typer.Option(help="Components of the frame that count, such as x,y,rz; default: those that its motion has."),
]
LengthOption = Annotated[
    float | None, typer.Option(help="Characteristic length, m, by which shifts are divided; default: the extent.")
]


def axes_of(given: str | None) -> tuple[str, ...] | None:
    """Components of a frame as an option gives them."""
    return None if given is None else tuple(part.strip() for part in given.split(","))


def singularity(
    robot: RobotArgument,
    at: AtOption = None,
    frame: FrameOption = "tip",
    axes: AxesOption = None,
    length: LengthOption = None,
    along: Annotated[
        str | None, typer.Option(help="A drive: list the singular configurations as it moves, all others held.")
    ] = None,
) -> None:
    """Singularities of type 1 (serial) and 2 (parallel): how near they are, and the direction that is lost."""
    import pliant
    from pliant.analysis.singularity import singularities_along
    from pliant.analysis.singularity import singularity as find
    from pliant.dynamics import Dynamics

    arm = Dynamics(pliant.load(robot), compile="never")
    try:
        q = configuration_of(arm, at or [])
        chosen = axes_of(axes)
        found = find(arm, q, frame=frame, axes=chosen, length=length)
        listed = [] if along is None else singularities_along(arm, along, q, frame=frame, axes=chosen, length=length)
    except (ValueError, KeyError) as error:
        refuse(said(error))
    emit(
        f"[bold]{plain(arm.robot.name)}[/]: {plain(frame)}, {', '.join(found.axes)}; characteristic length "
        f"{number(found.length)} m",
        _rows(found),
        "\n".join(found.words) or "regular: every direction is kept",
    )
    if along is not None:
        typer.echo("")
        emit(_along(arm, along, listed) if listed else f"no singular configuration on the way of {plain(along)}")


def _rows(found: Singularity) -> Table:
    rows = table("type", "least rate", "condition", "determinant", words=1)
    for each, name in ((found.serial, "1, serial"), (found.parallel, "2, parallel")):
        determinant = "" if each.determinant != each.determinant else number(each.determinant)
        condition = "infinite" if each.condition > 1e12 else number(each.condition)
        rows.add_row(name, number(each.least), condition, determinant)
    return rows


def _along(arm: Dynamics, joint: str, listed: list[Singularity]) -> Table:
    from math import degrees

    from pliant.analysis.singularity import motion_words

    index = arm.names.index(joint)
    slides = arm.mechanism.units[index] == "m"
    rows = table(f"{joint} at", "type", "what is lost", words=3)
    for each in listed:
        value = float(each.q[index])
        for lost in (each.serial, each.parallel):
            if lost.singular:
                where = f"{number(value, 6)} m" if slides else f"{number(degrees(value), 6)} deg"
                rows.add_row(where, str(lost.type), motion_words(lost.direction))
    return rows
