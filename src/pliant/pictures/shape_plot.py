"""The mode shapes of the flexible links of a robot, one panel per link and family."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.pictures.canvas import GREY, HEAD, INK, PALE, PAPER, head, save
from pliant.pictures.link_modes import LinkMode, link_modes
from pliant.pictures.words import FAMILY_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

# more shapes than this in a panel cannot be told apart
SHOWN = 20
FAMILY_COLOURS = {
    "bend_y": "#1d4ed8",
    "bend_z": "#0f766e",
    "torsion": "#b45309",
    "axial": "#7c3aed",
    "shear_y": "#0369a1",
    "shear_z": "#4d7c0f",
}


def draw_shapes(robot: Robot, path: Path) -> None:
    """Draw the mode shapes of every flexible beam into a PNG, SVG or PDF file."""
    from matplotlib.figure import Figure

    panels: list[list[tuple[Link, list[LinkMode]]]] = []
    for link in robot.links:
        if link.is_flexible and link.beam is not None:
            groups = groupby(link_modes(link, robot), key=lambda mode: mode.family)
            panels.append([(link, list(modes)[:SHOWN]) for _, modes in groups])
    columns = max(len(row) for row in panels)
    # inches: rows by their largest number of shapes, with room for titles above and the scale below
    heights = [0.42 * max(len(modes) for _, modes in row) + 1.2 for row in panels]
    width, height = max(4.4 * columns, 6.5), sum(heights) + HEAD
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    head(figure, robot.name, "mode shapes of the single links, each to its own scale")
    bottom = height - HEAD
    for row, row_height in zip(panels, heights, strict=True):
        bottom -= row_height
        for column, (link, modes) in enumerate(row):
            left = column * width / columns + 0.45
            box = (
                left / width,
                (bottom + 0.5) / height,
                1 / columns - 1.35 / width,
                (row_height - 1.1) / height,
            )
            _draw_panel(figure.add_axes(box), link, modes)
    save(figure, path)


def _draw_panel(axes: Axes, link: Link, modes: list[LinkMode]) -> None:
    """The shapes one above the other, the lowest frequency at the bottom, each around its own line."""
    family, colour = modes[0].family, FAMILY_COLOURS[modes[0].family]
    for level, mode in enumerate(modes):
        u = 0.42 * mode.shape / np.abs(mode.shape).max()
        axes.axhline(level, color=PALE, lw=0.6, zorder=1)
        axes.fill_between(mode.x, level, level + u, color=colour, alpha=0.16, lw=0, zorder=2)
        axes.plot(mode.x, level + u, color=colour, lw=1.7, zorder=3, solid_capstyle="round")
        text: dict[str, Any] = {"va": "center", "fontsize": 8.5, "transform": axes.get_yaxis_transform()}
        axes.text(1.03, level, f"{mode.frequency:.4g} Hz", color=INK, **text)
        axes.text(-0.03, level, f"{mode.number}", color=GREY, ha="right", **text)
    axes.set_xlim(0.0, modes[0].x[-1])
    axes.set_ylim(-0.6, len(modes) - 0.4)
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    title = f"{link.name}: {FAMILY_WORDS[family]}"
    axes.annotate(title, (0, 1), (0, 16), fontsize=9.5, color=colour, weight="bold", **above)
    axes.annotate(modes[0].support, (0, 1), (0, 5), fontsize=8, color=GREY, **above)
    axes.set_yticks([])
    axes.set_xlabel("x / m", fontsize=8, labelpad=1, color=GREY)
    axes.tick_params(labelsize=8, colors=GREY, length=3)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(PALE)
