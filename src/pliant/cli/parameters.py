"""``pliant parameters``: what can be identified of a robot from its motions and efforts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.terminal import ForceOption, RobotArgument, check_folder, emit, number, plain, table

if TYPE_CHECKING:
    from pliant.analysis.regressor import BaseParameters

LONGEST = 70
"""Letters of a combination that a page has room for."""


def parameters(
    robot: RobotArgument,
    csv: Annotated[Path | None, typer.Option(help="Write the combinations, whole, as a CSV file.")] = None,
    force: ForceOption = False,
) -> None:
    """Base parameters: combinations of masses, inertias, friction and stiffness that forces depend on."""
    import pliant
    from pliant.analysis.regressor import base_parameters
    from pliant.dynamics import Dynamics

    if csv is not None:
        check_folder(csv, (".csv",), beginning="combination,")
    arm = Dynamics(pliant.load(robot), compile="never")
    found = base_parameters(arm)
    rows = table("combination", "value", "unit", words=1)
    for k in range(found.rank):
        text = found.words(k)
        short = text if len(text) <= LONGEST else f"{text[: LONGEST - 4].rsplit(' ', 2)[0]} ..."
        rows.add_row(plain(short), number(float(found.values[k])), found.units[k])
    emit(f"[bold]{plain(arm.robot.name)}[/]: {_head(found)}", rows)
    if csv is not None:
        from pliant.results.tables import write_rows

        listed = [(found.words(k), float(found.values[k]), found.units[k]) for k in range(found.rank)]
        write_rows(csv, ("combination", "value", "unit"), listed)
        typer.echo(f"written to {csv}")


def _head(found: BaseParameters) -> str:
    idle = len(found.idle)
    grouped = len(found.all_names) - found.rank - idle
    return (
        f"{len(found.all_names)} linear parameters, of which forces show {found.rank} combinations; {grouped} are "
        f"parts of others, {idle} do not act"
    )
