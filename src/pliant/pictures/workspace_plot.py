"""A picture of a workspace: where a frame comes, how well, singular curves, and the robot at its start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.pictures.canvas import GREY, INK, PALE, head, new_figure, save
from pliant.pictures.vibration_plots import robot_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.analysis.workspace import FrameWorkspace, WorkspaceBranch

SERIAL, PARALLEL = "#b45309", "#be185d"
"""Curves of singularities of type 1 and 2."""
UNITS = {"x": "m", "y": "m", "z": "m", "rx": "rad", "ry": "rad", "rz": "rad"}


def workspace_figure(found: FrameWorkspace, path: str | Path | None = None, *, colour: str = "dexterity") -> Figure:
    """The first branch in colours over two axes of the grid; written to a file if a path is given."""
    if len(found.axes) != 2:
        raise ValueError(
            f"a workspace over {', '.join(found.axes)} is no picture; ask for one over two components of the pose"
        )
    branch = found.branches[0]
    values = branch.stiffness if colour == "stiffness" else branch.dexterity
    if values is None:
        raise ValueError('there is no stiffness in this workspace; ask for it with colour="stiffness"')
    figure = new_figure(7.4, 6.2)
    held = "".join(f", {name} = {value:g} {UNITS[name]}" for name, value in found.held.items())
    others = f"; grey: {len(found.branches) - 1} other branches" if len(found.branches) > 1 else ""
    head(figure, found.arm.robot.name, f"workspace of {found.frame}{held}{others}")
    axes = figure.add_axes((0.1, 0.1, 0.72, 0.76))
    _filled(figure, axes, found, values, colour)
    _curves(axes, found, branch)
    _robot(axes, found, branch)
    for name, tick, put in zip(found.axes, found.ticks, ("x", "y"), strict=True):
        getattr(axes, f"set_{put}label")(f"{name}, {UNITS[name]}", fontsize=9, color=INK)
        getattr(axes, f"set_{put}lim")(float(tick[0]), float(tick[-1]))
    if {UNITS[name] for name in found.axes} == {"m"}:
        axes.set_aspect("equal")
    axes.tick_params(labelsize=8, colors=GREY)
    if path is not None:
        save(figure, Path(path))
    return figure


def _filled(figure: Figure, axes: Axes, found: FrameWorkspace, values: Array, colour: str) -> None:
    """Cells in colours; those that only other branches reach are grey."""
    from matplotlib.colors import LogNorm

    branch = found.branches[0]
    beside = np.ma.masked_where(~found.reached | branch.reached, np.zeros(branch.reached.shape))
    axes.pcolormesh(*found.ticks, beside.T, cmap="Greys", vmin=-0.3, vmax=1.0, shading="nearest", rasterized=True)
    usable = np.isfinite(values) & (values > 0.0)
    shown = np.ma.masked_where(~usable, values)
    options: dict[str, Any] = {"cmap": "viridis", "shading": "nearest", "rasterized": True}
    if colour == "stiffness" and usable.any():
        most = float(values[usable].max())
        options["norm"] = LogNorm(max(float(values[usable].min()), 1e-3 * most), most)
    drawn = axes.pcolormesh(*found.ticks, shown.T, **options)
    word = "softest stiffness, N/m" if colour == "stiffness" else "dexterity (least over largest rate)"
    bar = figure.colorbar(drawn, cax=figure.add_axes((0.86, 0.16, 0.025, 0.6)))
    bar.set_label(word, fontsize=8.5, color=INK)
    bar.ax.tick_params(labelsize=8, colors=GREY)


def _curves(axes: Axes, found: FrameWorkspace, branch: WorkspaceBranch) -> None:
    """The rim of the branch, which is of type 1 or a limit, and where its parallel determinant vanishes."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=SERIAL, lw=1.6, label="rim: type 1, or limits of joints")]
    inside = branch.reached.astype(float)
    if inside.min() < inside.max():
        axes.contour(*found.ticks, inside.T, levels=[0.5], colors=[SERIAL], linewidths=1.6)
    parallel = np.ma.masked_invalid(branch.parallel)
    if parallel.count() and float(parallel.min()) < 0.0 < float(parallel.max()):
        axes.contour(*found.ticks, parallel.T, levels=[0.0], colors=[PARALLEL], linewidths=1.8, linestyles="--")
        lines.append(Line2D([], [], color=PARALLEL, lw=1.8, ls="--", label="type 2"))
    axes.legend(handles=lines, fontsize=8, loc="lower right", labelcolor=INK, framealpha=0.9, edgecolor="none")


def _robot(axes: Axes, found: FrameWorkspace, branch: WorkspaceBranch) -> None:
    """The robot at its best pose, where the axes of the grid are axes of the base."""
    if any(name not in "xyz" for name in found.axes):
        return
    places = ["xyz".index(name) for name in found.axes]
    best = int(np.nanargmax(np.where(branch.reached, branch.dexterity, -1.0)))
    q = branch.q.reshape(-1, found.arm.size)[best]
    *links, _ = robot_lines(found.arm, q)
    for line in links:
        axes.plot(line[:, places[0]], line[:, places[1]], color=INK, lw=2.2, solid_capstyle="round", zorder=4)
        axes.plot(
            line[[0, -1], places[0]], line[[0, -1], places[1]], ls="none", marker="o", ms=4, mfc=PALE, mec=INK, zorder=5
        )
