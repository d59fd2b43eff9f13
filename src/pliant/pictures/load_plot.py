"""Pictures of robots under a growing load: critical shapes, and the path of equilibria."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.pictures.canvas import GREY, INK, LOAD, LOAD_EDGE, PALE, PAPER, Viewpoint, best_view, head, new_figure, save
from pliant.pictures.vibration_plots import BLUE, SWING, joint_axes, robot_lines, swings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.analysis.buckling import Buckling
    from pliant.analysis.load_path import LoadPath

PANELS = 4
# states of a path that are drawn
STATES = 9
MARKS = {"limit point": "o", "bifurcation": "D"}


def buckling_figure(found: Buckling, path: str | Path | None = None) -> Figure:
    """The critical state with its shape, then the shapes of the linear problem; a path: the file to write."""
    arm = found.arm
    shapes = [(f"{found.kind} at {found.factor:.5g}", found.q, found.shape)] if found.kind != "none" else []
    start = found.path.q[0]
    linear = zip(found.factors, found.shapes.T, strict=True)
    shapes += [(f"linear {k + 1}: {factor:.5g}", start, shape) for k, (factor, shape) in enumerate(linear)]
    shown = shapes[:PANELS]
    figure = new_figure(2.6 * max(len(shown), 2), 3.8)
    head(figure, arm.robot.name, "critical load factors and shapes, not to scale")
    view = best_view(np.concatenate(robot_lines(arm, start)), joint_axes(arm, start))
    for place, (title, q, shape) in enumerate(shown):
        axes = figure.add_axes((place / len(shown) + 0.01, 0.02, 1 / len(shown) - 0.02, 0.72))
        rest = robot_lines(arm, q)
        for colour, width, lines in swings(arm, q, shape, rest):
            _robot(axes, view, lines, colour, width, filled=colour == BLUE)
        _fit(axes, view.project(np.concatenate(rest)), SWING + 0.02)
        axes.set_title(title, fontsize=9.5, color=INK)
    if path is not None:
        save(figure, Path(path))
    return figure


def path_figure(found: LoadPath, frame: str = "tip", path: str | Path | None = None) -> Figure:
    """Load against the way of a frame, and the robot on its way; written to a file if a path is given."""
    figure = new_figure(9.6, 4.4)
    head(figure, found.arm.robot.name, "equilibria under a growing load; dashed: unstable")
    chart = figure.add_axes((0.085, 0.13, 0.4, 0.66))
    moved = found.positions(frame) - found.positions(frame)[0]
    axis = int(np.argmax(np.ptp(moved, axis=0)))
    for k, (a, b) in enumerate(pairwise(range(len(found)))):
        stable = found.unstable[a] == 0 and found.unstable[b] == 0
        style: dict[str, Any] = {"color": BLUE, "lw": 1.8, "ls": "-" if stable else (k % 2, (1, 1))}
        chart.plot(moved[[a, b], axis], found.factors[[a, b]], solid_capstyle="round", **style)
    for c in found.critical:
        at = found.arm.pose(frame, c.q).position[axis] - found.positions(frame)[0, axis]
        chart.plot([at], [c.factor], marker=MARKS[c.kind], ms=6, mfc=LOAD, mec=LOAD_EDGE, ls="none", zorder=5)
        chart.annotate(f" {c.factor:.4g}", (at, c.factor), fontsize=8.5, color=INK, va="bottom")
    chart.set_xlabel(f"displacement of {frame} along {'xyz'[axis]}, m", fontsize=9, color=INK)
    chart.set_ylabel("load factor", fontsize=9, color=INK)
    chart.tick_params(labelsize=8, colors=GREY)
    chart.grid(color=PALE, lw=0.4, alpha=0.5)
    for side in ("top", "right"):
        chart.spines[side].set_visible(False)
    _states(figure.add_axes((0.53, 0.04, 0.46, 0.78)), found, frame)
    if path is not None:
        save(figure, Path(path))
    return figure


def _states(axes: Axes, found: LoadPath, frame: str) -> None:
    """The robot at some places of the path, from pale to dark."""
    from matplotlib.colors import LinearSegmentedColormap

    arm = found.arm
    shades = LinearSegmentedColormap.from_list("way", [PALE, BLUE])
    # equal distances along the path, not equal numbers of steps
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(found.positions(frame), axis=0), axis=1))])
    wanted = np.linspace(0.0, way[-1], STATES)
    chosen = sorted({int(np.argmin(np.abs(way - x))) for x in wanted})
    drawn = [robot_lines(arm, found.q[k]) for k in chosen]
    points = np.concatenate([line for lines in drawn for line in lines])
    view = best_view(points, joint_axes(arm, found.q[0]))
    for place, lines in enumerate(drawn):
        _robot(axes, view, lines, shades(place / max(len(drawn) - 1, 1)), 1.8, filled=place == len(drawn) - 1)
    _fit(axes, view.project(points), 0.04)


def _robot(axes: Axes, view: Viewpoint, lines: list[Array], colour: Any, width: float, *, filled: bool) -> None:
    *links, loads = lines
    for line in links:
        axes.plot(*view.project(line).T, color=colour, lw=width, solid_capstyle="round", zorder=1 + width)
    face = LOAD if filled else PAPER
    axes.plot(*view.project(loads).T, ls="none", marker="o", ms=6, mfc=face, mec=colour, zorder=1.1 + width)


def _fit(axes: Axes, flat: Array, margin: float) -> None:
    """All points in sight, with a margin of the largest extent."""
    low, high = flat.min(axis=0), flat.max(axis=0)
    more = margin * float((high - low).max())
    axes.set_xlim(low[0] - more, high[0] + more)
    axes.set_ylim(low[1] - more, high[1] + more)
    axes.set_aspect("equal")
    axes.axis("off")
