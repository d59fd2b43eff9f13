"""``pliant stiffness``: how far a frame of a robot gives way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.frf import AtOption
from pliant.cli.modes_command import configuration_of
from pliant.cli.terminal import (
    FollowerOption,
    ForceOption,
    LoadOption,
    RobotArgument,
    check_folder,
    emit,
    loads_of,
    number,
    plain,
    refuse,
    said,
    table,
)

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.analysis.platform_stiffness import PlatformStiffness

FrameOption = Annotated[str, typer.Option(help="The frame, LINK.FRAME; default: the robot's tip.")]


def stiffness(
    robot: RobotArgument,
    at: AtOption = None,
    frame: FrameOption = "tip",
    load: LoadOption = None,
    follower: FollowerOption = None,
    csv: Annotated[Path | None, typer.Option(help="Write the compliance (6 x 6) as a CSV file.")] = None,
    force: ForceOption = False,
) -> None:
    """Stiffness of a frame under small forces and moments while the drives hold: links, loops, gravity."""
    import pliant
    from pliant.analysis.platform_stiffness import platform_stiffness
    from pliant.dynamics import Dynamics

    if csv is not None:
        check_folder(csv, (".csv",), beginning="base axes,fx")
    arm = Dynamics(pliant.load(robot), compile="never")
    try:
        found = platform_stiffness(
            arm,
            configuration_of(arm, at or []),
            frame=frame,
            loads=loads_of("--load", load or []),
            followers=loads_of("--follower", follower or []),
        )
    except (ValueError, KeyError) as error:
        refuse(said(error))
    head = f"[bold]{plain(arm.robot.name)}[/]: stiffness of {plain(frame)} in base axes, drives held"
    emit(head, _rows(found), _softest(found))
    if csv is not None:
        from pliant.analysis.platform_stiffness import AXES, FORCES
        from pliant.results.tables import write_rows

        rows = [(axis, *row) for axis, row in zip(AXES, found.compliance.tolist(), strict=True)]
        write_rows(csv, ("base axes", *FORCES), rows)
        typer.echo(f"written to {csv}")


def _rows(found: PlatformStiffness) -> Table:
    rows = table("axis", "gives way by", "", "stiffness, others free", "others held", "", words=1)
    for k, (axis, compliance, free, held) in enumerate(found.rows()):
        shift = k < 3
        per, unit = ("mm/kN", "N/mm") if shift else ("mrad/(kN m)", "N m/rad")
        scale = 1e-3 if shift else 1.0
        texts = ["rigid" if x == float("inf") else "" if x != x else number(scale * x) for x in (free, held)]
        rows.add_row(axis, number(1e6 * compliance), per, *texts, unit)
    return rows


def _softest(found: PlatformStiffness) -> str:
    value, way = found.principal()[0]
    if value == float("inf"):
        return "no force moves it: no link that carries it bends"
    direction = ", ".join(number(round(float(x), 6) + 0.0, 3) for x in way)
    return f"softest against a force along ({direction}): {number(1e-3 * value)} N/mm"
