"""``pliant export-link``: a flexible link for another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import ForceOption, RobotArgument, check_folder, refuse


def export_link(
    robot: RobotArgument,
    link: Annotated[str, typer.Argument(metavar="LINK", help="The flexible link.")],
    format: Annotated[str, typer.Option("-f", "--format", help="simscape (.mat), sid (text) or newton (.npz).")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file; default LINK with its ending.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a flexible link for another program: beams, solids and modal data alike."""
    import pliant
    from pliant.export.link_writers import ENDINGS
    from pliant.export.link_writers import export_link as write

    if format not in ENDINGS:
        refuse(f"--format {format!r}: it must be one of {', '.join(ENDINGS)}")
    file = output or Path(f"{link}{ENDINGS[format]}")
    check_folder(file, (ENDINGS[format],), "the file of a link")
    write(pliant.load(robot), link, file, format)  # type: ignore[arg-type]
    typer.echo(f"{link} of {robot} is in {file}")
