"""``pliant shapes``: how the single links vibrate."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import ForceOption, RobotArgument, check_picture, emit, number, plain, refuse, table

# rows of one family, and of assumed shapes
SHOWN, MOST_SHAPES = 20, 60


def shapes(
    robot: RobotArgument,
    plot: Annotated[Path | None, typer.Option(help="Draw the shapes into this PNG, SVG or PDF file.")] = None,
    force: ForceOption = False,
) -> None:
    """Mode shapes of every flexible link, with their frequencies and the constants of assumed shapes."""
    import pliant
    from pliant.bodies.families import family_word
    from pliant.bodies.shape_constants import shape_constants
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
    if found := shape_constants(loaded):
        rows = table("shape", "βl", "β 1/m", "σ", "c₁", "c₂", "c₃", "c₄")
        for shape in found[:MOST_SHAPES]:
            sigma = "" if shape.sigma is None else f"{shape.sigma:.7g}"
            rows.add_row(shape.coordinate, f"{shape.root:.8g}", f"{shape.beta:.7g}", sigma, *map(_factor, shape.c))
        formula = "φ = c₁ cos βx + c₂ cosh βx + c₃ sin βx + c₄ sinh βx; clamped: cosh − cos − σ (sinh − sin)"
        more = f"; {len(found) - MOST_SHAPES} more" if len(found) > MOST_SHAPES else ""
        emit(f"\nassumed shapes, {formula}{more}", rows)
    if plot is not None:
        from pliant.pictures.vibration_plots import draw_shapes

        draw_shapes(loaded, plot)
        typer.echo(f"\ndrawn in {plot}")


def _factor(value: float) -> str:
    """A factor of a shape; what is rounding beside one is zero."""
    return "0" if abs(value) < 1e-13 else f"{value:.7g}"
