"""``pliant workspace``: where a frame of a robot comes, how well, and where it is singular."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.frf import AtOption
from pliant.cli.modes_command import configuration_of
from pliant.cli.singularity_command import LengthOption
from pliant.cli.stiffness import FrameOption
from pliant.cli.terminal import (
    ForceOption,
    RobotArgument,
    check_folder,
    check_picture,
    emit,
    number,
    plain,
    refuse,
    said,
    table,
)

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.analysis.workspace import FrameWorkspace


def workspace(
    robot: RobotArgument,
    over: Annotated[
        list[str],
        typer.Option(help="A component of the pose with its range, x=-0.3:0.3 or rz=-30deg:30deg:61; twice or so."),
    ],
    frame: FrameOption = "tip",
    pose: Annotated[
        list[str] | None, typer.Option(help="Another component of the pose that is held, such as rz=0; repeatable.")
    ] = None,
    at: AtOption = None,
    branches: Annotated[str, typer.Option(help="start: the assembly mode of the start; all: every one.")] = "start",
    limits: Annotated[bool, typer.Option(help="Whether joints keep their limits.")] = True,
    colour: Annotated[str, typer.Option(help="dexterity, or stiffness of the frame.")] = "dexterity",
    length: LengthOption = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it into this PNG, SVG or PDF file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the poses that are reached as a CSV file.")] = None,
    force: ForceOption = False,
) -> None:
    """The workspace of a frame over a grid of poses: reachable, dexterous, stiff, singular."""
    import pliant
    from pliant.analysis.workspace import workspace as find
    from pliant.dynamics import Dynamics

    check_picture(plot)
    if csv is not None:
        check_folder(csv, (".csv",), beginning="branch,")
    arm = Dynamics(pliant.load(robot))
    try:
        held = dict(_named("--pose", text) for text in pose or [])
        found = find(
            arm,
            dict(_range(text) for text in over),
            frame=frame,
            at=held,
            start=configuration_of(arm, at or []),
            branches=branches,  # type: ignore[arg-type]  # refused where it is another
            limits=limits,
            colour=colour,  # type: ignore[arg-type]
            length=length,
        )
    except (ValueError, KeyError) as error:
        refuse(said(error))
    emit(_head(found), _rows(found))
    if csv is not None:
        _write(csv, found)
        typer.echo(f"written to {csv}")
    if plot is not None:
        try:
            found.draw(plot, colour=colour)  # type: ignore[arg-type]
        except ValueError as error:
            refuse(str(error))
        typer.echo(f"drawn in {plot}")


def _named(option: str, text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        refuse(f"{option} {text!r}: write it as COMPONENT=VALUE, such as rz=30deg")
    return name.strip(), value.strip()


def _range(text: str) -> tuple[str, tuple[str, str] | tuple[str, str, int]]:
    name, values = _named("--over", text)
    parts = [part.strip() for part in values.split(":")]
    if not (len(parts) == 2 or (len(parts) == 3 and parts[2].isdigit())):
        refuse(f"--over {text!r}: write it as COMPONENT=FIRST:LAST, with :COUNT if you like, such as x=-0.3:0.3:61")
    return name, (parts[0], parts[1]) if len(parts) == 2 else (parts[0], parts[1], int(parts[2]))


def _head(found: FrameWorkspace) -> str:
    sizes = " x ".join(str(len(tick)) for tick in found.ticks)
    units = {"x": "m", "y": "m", "z": "m"}
    power: dict[str, int] = {}
    for name in found.axes:
        unit = units.get(name, "rad")
        power[unit] = power.get(unit, 0) + 1
    unit = " ".join(f"{key}^{count}" if count > 1 else key for key, count in power.items())
    share = 100.0 * float(found.reached.mean())
    return (
        f"[bold]{plain(found.arm.robot.name)}[/]: {plain(found.frame)} reaches {number(share, 3)} % of {sizes} poses "
        f"over {', '.join(found.axes)}, {number(found.area)} {unit}; characteristic length {number(found.length)} m"
    )


def _rows(found: FrameWorkspace) -> Table:
    import numpy as np

    stiff = found.branches[0].stiffness is not None
    rows = table(
        "branch", "poses", "best dexterity", "passes type 2", *(["softest N/mm", "stiffest N/mm"] if stiff else [])
    )
    for each in found.branches:
        signs = np.sign(each.parallel[each.reached])
        crosses = "yes" if {-1.0, 1.0} <= set(signs.tolist()) else "" if np.isnan(signs).all() else "no"
        best = float(np.nanmax(np.where(each.reached, each.dexterity, np.nan)))
        more = []
        if each.stiffness is not None:
            held = each.stiffness[each.reached]
            more = ["rigid" if np.isinf(x) else number(1e-3 * float(x)) for x in (held.min(), held.max())]
        rows.add_row(
            plain(each.name), str(int(each.reached.sum())), "" if best != best else number(best), crosses, *more
        )
    return rows


def _write(path: Path, found: FrameWorkspace) -> None:
    import numpy as np

    from pliant.results.tables import write_rows

    drives = [found.arm.names.index(name) for name in found.arm.inputs]
    rows: list[tuple[str | float, ...]] = []
    for each in found.branches:
        for index in np.argwhere(each.reached):
            at = tuple(index)
            pose = [float(tick[k]) for tick, k in zip(found.ticks, at, strict=True)]
            numbers = [each.dexterity[at], each.serial[at], each.parallel[at], *each.q[at][drives]]
            rows.append((each.name, *pose, *(float(x) for x in numbers)))
    head = ("branch", *found.axes, "dexterity", "serial determinant", "parallel determinant", *found.arm.inputs)
    write_rows(path, head, rows)
