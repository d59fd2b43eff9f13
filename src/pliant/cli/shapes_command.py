"""``pliant shapes``: how the single links vibrate."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import ForceOption, RobotArgument, check_picture, emit, number, plain, refuse, table

# rows of one family
SHOWN = 20


def shapes(
    robot: RobotArgument,
    plot: Annotated[Path | None, typer.Option(help="Draw the shapes into this PNG, SVG or PDF file.")] = None,
    force: ForceOption = False,
) -> None:
    """Mode shapes of every flexible link, with their frequencies."""
    import pliant
    from pliant.bodies.families import family_word
    from pliant.bodies.words import link_modes

    check_picture(plot)
    loaded = pliant.load(robot)
    if not any(link.is_flexible for link in loaded.links):
        refuse(f"{loaded.name}: no link of this robot bends, so there are no shapes")
    rows = table("link", "family", "held", "mode", "Hz", "rad/s", words=3)
    for link in loaded.links:
        for family, group in groupby(link_modes(link, loaded), key=lambda mode: mode.family):
            modes = list(group)
            words = (link.name, family_word(family), modes[0].support)
            for mode in modes[:SHOWN]:
                rows.add_row(*words, str(mode.number), number(mode.frequency), number(mode.rate))
                words = ("", "", "")
            if len(modes) > SHOWN:
                rows.add_row("", "", f"and {len(modes) - SHOWN} more", "", "", "")
    emit(f"[bold]{plain(loaded.name)}[/]: vibrations of the single links", rows)
    if plot is not None:
        from pliant.pictures.vibration_plots import draw_shapes

        draw_shapes(loaded, plot)
        typer.echo(f"\ndrawn in {plot}")
