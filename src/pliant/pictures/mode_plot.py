"""Natural modes of a whole robot: how it is bent at the two ends of a vibration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.pictures.bent_links import BentLinks
from pliant.pictures.canvas import GREY, INK, LOAD, PALE, PAPER, best_view, head, new_figure, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.analysis.modes import ModeSet
    from pliant.dynamics import Dynamics

SHOWN = 6
COLUMNS = 3
STATIONS = 41
# largest displacement in a picture, as a part of the size of the robot
SWING = 0.12
# of differences, in units of shapes of unit modal mass
STEP = 1e-5
BLUE = "#1d4ed8"


def draw_modes(arm: Dynamics, modes: ModeSet, path: Path) -> None:
    """Draw the lowest vibrations into a PNG, SVG or PDF file."""
    mode_figure(arm, modes, path)


def mode_figure(arm: Dynamics, modes: ModeSet, path: str | Path | None = None) -> Figure:
    """A picture of the lowest vibrations; written to a file if a path is given."""
    rest = robot_lines(arm, modes.q)
    points = np.concatenate(rest)
    view = best_view(points, joint_axes(arm, modes.q))
    shown = [k for k in range(len(modes)) if modes.squares[k] > 0][:SHOWN]
    rows = max(1, -(-len(shown) // COLUMNS))
    figure = new_figure(10.5, 0.8 + 3.0 * rows)
    head(figure, arm.robot.name, "natural modes of the whole robot, not to scale")
    flat = view.project(points)
    middle = (flat.min(axis=0) + flat.max(axis=0)) / 2
    half = float(np.ptp(flat, axis=0).max()) * (0.5 + SWING)
    for place, k in enumerate(shown):
        row, column = divmod(place, COLUMNS)
        height = 3.0 / (0.8 + 3.0 * rows)
        axes = figure.add_axes((column / COLUMNS + 0.01, (rows - 1 - row) * height + 0.01, 0.31, 0.86 * height))
        # of a complex shape, its motion when the largest part is at its end
        for colour, width, lines in swings(arm, modes.q, modes.shapes[:, k].real, rest):
            *links, loads = lines
            for line in links:
                axes.plot(*view.project(line).T, color=colour, lw=width, solid_capstyle="round", zorder=1 + width)
            face = LOAD if colour == BLUE else PAPER
            axes.plot(*view.project(loads).T, ls="none", marker="o", ms=7, mfc=face, mec=colour, zorder=1.1 + width)
        axes.set_xlim(middle[0] - half, middle[0] + half)
        axes.set_ylim(middle[1] - half, middle[1] + half)
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set_title(f"{k + 1}:  {modes.hertz[k]:.4g} Hz", fontsize=10, color=INK)
    if path is not None:
        save(figure, Path(path))
    return figure


def swings(arm: Dynamics, q: Array, shape: Array, rest: list[Array]) -> Iterator[tuple[str, float, list[Array]]]:
    """Colour, width and lines of the robot at rest and at the two ends of a motion; displacements are linear."""
    ahead, behind = (robot_lines(arm, q + sign * STEP * shape) for sign in (1.0, -1.0))
    moved = [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]
    size = float(np.ptp(np.concatenate(rest), axis=0).max())
    swing = SWING * size / max(max(float(np.abs(d).max(initial=0.0)) for d in moved), 1e-300)
    yield PALE, 1.2, rest
    yield GREY, 1.2, [line - swing * d for line, d in zip(rest, moved, strict=True)]
    yield BLUE, 2.2, [line + swing * d for line, d in zip(rest, moved, strict=True)]


def robot_lines(arm: Dynamics, q: Array) -> list[Array]:
    """Points (k, 3) along every link, and at the end the centres of hubs and payloads, base frame."""
    at, lines = BentLinks(arm, q), []
    for link in arm.robot.links:
        if link.has_axis:
            lines.append(at.axis(link, STATIONS))
            continue
        # from the joint to every frame that something hangs on, or to the tip
        used = [arm.robot.parent_of(child)[1] for child in arm.robot.children_of(link.name)] or ["tip"]
        lines += [np.array([at.position(f"{link.name}.{end}") for end in ("root", frame)]) for frame in used]
    return [*lines, at.loads()]


def joint_axes(arm: Dynamics, q: Array) -> Array:
    """Axes of the revolute joints in the base (m, 3)."""
    at, turning = BentLinks(arm, q), [m for m in arm.mechanism.members if m.joint.kind.symbol.drum]
    return np.array([at.own(member.name).rotation @ member.joint.axis_B for member in turning]).reshape(-1, 3)
