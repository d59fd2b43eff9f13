"""Figures of Cibicik & Egeland's manoeuvre like theirs: three poses, coordinates and rates with zooms, torques."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.pictures.canvas import GREY, INK, PALE, save
from pliant.pictures.vibration_plots import robot_lines
from pliant.results.plots import COLOURS, lines
from pliant.results.result import Result

Floats = NDArray[np.float64]

# rigid motion, flexure in xy, torsion, flexure in xz: the paper's figures and our families
FIGURES = {7: ("bend_y", "flexure in xy, mm"), 8: ("torsion", "torsion, mrad"), 9: ("bend_z", "flexure in xz, mm")}
UNTIL = {7: 3.0, 10: 4.0}
"""s that the paper shows of some figures; all of the run in the others."""
ZOOMS = {7: (0.53, 0.56), 8: (3.03, 3.06), 9: (3.08, 3.11), 10: (0.505, 0.525)}
"""s of the parts that are shown larger, so that both models can be told apart."""
LOWER_RIGHT = (0.58, 0.1, 0.4, 0.34)
CORNERS = {7: (0.5, 0.3, 0.46, 0.26), 10: (0.3, 0.6, 0.36, 0.32)}
"""Where in a panel they are shown, where it is not the lower right: left, bottom, width, height."""
POSES = {0.0: (PALE, "--", "start"), 3.0: (GREY, "-", "before the slew"), 6.0: (INK, "-", "end")}
"""Times of figure 5 -> colour, line, words."""


class CurvePanel(NamedTuple):
    """Curves over time: solid of the linearised model, dashed of the nonlinear one; a part may be shown larger."""

    title: str
    time: Floats
    solid: Mapping[str, Floats]
    dashed: Mapping[str, Floats] | None = None
    zoom: tuple[float, float] | None = None
    corner: tuple[float, float, float, float] = LOWER_RIGHT


def draw_page(path: Path, panels: list[CurvePanel]) -> None:
    """Panels side by side, with a legend of what is solid and dashed."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(14.0, 4.0), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        lines(axes, panel.time, dict(panel.solid), panel.title, dict(panel.dashed) if panel.dashed else None)
        if panel.zoom is not None:
            _zoom(axes, panel)
    if any(panel.dashed for panel in panels):
        styles = {"linearised": ("-", 1.3), "nonlinear": ("--", 0.9)}
        keys = [Line2D([], [], color=INK, ls=style, lw=width, label=name) for name, (style, width) in styles.items()]
        figure.legend(handles=keys, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    save(figure, path)


def _zoom(axes: Any, panel: CurvePanel) -> None:
    """The largest curve between two times, larger, in a corner; a dashed frame where it is from."""
    from matplotlib.patches import Rectangle

    assert panel.zoom is not None
    first, last = panel.zoom
    shown = (panel.time >= first) & (panel.time <= last)
    if shown.sum() < 2:
        return
    names = list(panel.solid)
    k = int(np.argmax([np.abs(panel.solid[name][shown]).max() for name in names]))
    curves = [part[names[k]][shown] for part in (panel.solid, panel.dashed) if part is not None]
    inset = axes.inset_axes(panel.corner)
    for y, style in zip(curves, ("-", "--"), strict=False):
        inset.plot(panel.time[shown], y, color=COLOURS[k % len(COLOURS)] if style == "-" else INK, lw=1.1, ls=style)
    inset.set_title(names[k], fontsize=6, pad=2)
    inset.tick_params(labelsize=6)
    inset.margins(x=0.0)
    low, high = min(float(y.min()) for y in curves), max(float(y.max()) for y in curves)
    size = last - first, high - low
    axes.add_patch(Rectangle((first, low), *size, fill=False, ls="--", lw=0.9, edgecolor=INK, zorder=5))


def draw_poses(run: Result, path: Path) -> None:
    """Figure 5: the arm at its start, before the slew and at the end, in space."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d")
    for when, (colour, style, words) in POSES.items():
        k = int(np.argmin(np.abs(run.time - when)))
        *links, _ = robot_lines(run.arm, run.q[k])
        # the column stands on the ground
        links[0] = np.vstack([np.zeros(3), links[0]])
        for j, points in enumerate(links):
            label = f"{words}, {run.time[k]:.3g} s" if j == 0 else None
            axes.plot(*points.T, color=colour, ls=style, lw=2.2, label=label)
    axes.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    axes.set_aspect("equal")
    axes.legend(fontsize=8, loc="upper left")
    save(figure, path)


def draw_figures(
    exact: Result,
    linear: Result,
    torques: tuple[Floats, Mapping[str, Floats], Mapping[str, Floats]],
    out: Path,
) -> None:
    """Figures 5 to 10 into a folder; ``torques`` are their times and those of both models by joint."""

    def pair(number: int, names: list[str], title: str, factor: float) -> list[CurvePanel]:
        shown, corner = exact.time <= UNTIL.get(number, np.inf), CORNERS.get(number, LOWER_RIGHT)
        panels = []
        for end, words in (("", title), (".rate", f"{title}/s")):
            solid, dashed = ({name: factor * run[f"{name}{end}"][shown] for name in names} for run in (linear, exact))
            panels.append(CurvePanel(words, exact.time[shown], solid, dashed, ZOOMS.get(number), corner))
        return panels

    draw_poses(exact, out / "cibicik-figure-5.png")
    joints = list(exact.arm.inputs)
    draw_page(out / "cibicik-figure-6.png", pair(6, joints, "joint angles, deg", 180 / np.pi))
    for number, (family, title) in FIGURES.items():
        names = [name for name in exact.arm.names if f".{family}." in name]
        draw_page(out / f"cibicik-figure-{number}.png", pair(number, names, title, 1e3))
    times, solid, dashed = torques
    shown = times <= UNTIL[10]
    ours, theirs = ({name: y[shown] for name, y in each.items()} for each in (solid, dashed))
    draw_page(
        out / "cibicik-figure-10.png",
        [CurvePanel("motor torques, N m", times[shown], ours, theirs, ZOOMS[10], CORNERS[10])],
    )
