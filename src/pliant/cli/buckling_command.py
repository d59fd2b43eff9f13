"""``pliant buckling``: the load at which a robot gives way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.modes_command import configuration_of
from pliant.cli.terminal import (
    FollowerOption,
    RobotArgument,
    check_picture,
    emit,
    loads_of,
    number,
    plain,
    refuse,
    said,
    table,
    warn,
)

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.analysis.buckling import Buckling


def _replacing(given: bool) -> bool:
    """As ``--force`` of other commands, which is a load here."""
    from pliant.files import allow_replacing

    allow_replacing("--replace", allowed=given)
    return given


def buckling(
    robot: RobotArgument,
    force: Annotated[
        list[str] | None,
        typer.Option(
            help="A load FRAME=FX,FY,FZ[,MX,MY,MZ] along base axes, in N and N m, that grows; may be repeated. "
            "Without any, gravity grows."
        ),
    ] = None,
    follower: FollowerOption = None,
    dead: Annotated[list[str] | None, typer.Option(help="A load that acts from the beginning.")] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(help="Joint values of the configuration, such as elbow=-60deg; may be repeated."),
    ] = None,
    most: Annotated[float | None, typer.Option(help="Load factor up to which to look.")] = None,
    count: Annotated[int, typer.Option(min=1, help="How many factors of the linear problem to list.")] = 4,
    plot: Annotated[Path | None, typer.Option(help="Draw the shapes into this PNG, SVG or PDF file.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", callback=_replacing, help="Replace a file that Pliant did not write.")
    ] = False,
) -> None:
    """The factor of a load at which a robot buckles or snaps through, and the shape in which it does."""
    import pliant
    from pliant.analysis.buckling import critical_load
    from pliant.dynamics import Dynamics
    from pliant.model.description.plausible import description_limits

    check_picture(plot)
    loaded = pliant.load(robot)
    arm = Dynamics(loaded, compile="never")
    growing, following = loads_of("--force", force or []), loads_of("--follower", follower or [])
    try:
        found = critical_load(
            arm,
            growing,
            configuration_of(arm, at or []),
            followers=following,
            dead=loads_of("--dead", dead or []),
            count=count,
            most=most,
        )
    except (ValueError, KeyError) as error:
        refuse(said(error))
    what = "the loads" if growing or following else "gravity"
    emit(f"[bold]{plain(loaded.name)}[/]: {_words(found, what)}", _rows(found))
    warn([*description_limits(loaded), *found.warnings])
    if plot is not None:
        found.draw(plot)
        typer.echo(f"\ndrawn in {plot}")


def _words(found: Buckling, what: str) -> str:
    if found.kind == "none":
        return f"no critical state up to {number(float(found.path.factors.max()))} times {what}"
    if found.kind == "linear":
        return (
            f"buckles at {number(found.factor, 6)} times {what} by the linear problem, mostly along {found.leading()}"
        )
    how = "buckles" if found.kind == "bifurcation" else "snaps through"
    return f"{how} at {number(found.factor, 6)} times {what} ({found.kind}), mostly along {found.leading()}"


def _rows(found: Buckling) -> Table:
    rows = table("linear problem", "load factor", "mostly", words=1)
    for k, factor in enumerate(found.factors):
        rows.add_row(str(k + 1), number(float(factor), 6), found.leading(k))
    return rows
