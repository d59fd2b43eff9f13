"""Pictures of a run: the moving robot, joints, torques, deflections, energies, and the vibration that is left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.pictures.canvas import (
    FLEXIBLE_EDGE,
    GREY,
    INK,
    LOAD,
    LOAD_EDGE,
    PALE,
    RIGID_EDGE,
    TRACE,
    View,
    head,
    named_view,
    new_figure,
    save,
)
from pliant.pictures.film import exaggerated, make_film, view_of
from pliant.pictures.picture_words import as_written
from pliant.results.channels import parts
from pliant.results.panels import panels
from pliant.results.spectrum import Spectrum, residual_spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.analysis.lumped.successive import PathSolution
    from pliant.results.result import Result

COLOURS = ("#2563eb", "#dc2626", "#16a34a", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
WIDTH, ROW, HEAD, FOOT = 11.0, 2.7, 0.8, 0.5
FEW = 4
"""So many curves, or more, need a legend with room of its own."""
SMALLEST, LARGEST = 2.0, 60.0
"""inches: sizes of pictures that can be read, and that a computer holds."""
MOTION = 7.5
"""Width of the picture of the motion alone, inches."""
POSES = 7
"""Poses of the robot in the picture of its motion."""
SLOW_FREQUENCIES = 12
"""So many natural frequencies are marked; more would hide the spectrum."""


def plot_channels(
    run: Result, channels: Sequence[str], path: Path | None = None, size: tuple[float, float] | None = None
) -> Figure:
    """Some channels of a run over time, one panel for each, entries of vectors in one panel."""
    if isinstance(channels, str):
        channels = [channels]
    if not channels:
        raise ValueError("channels is empty; name what shall be drawn, such as tip.z")
    width, height = size_of(size, (WIDTH, len(channels) * ROW * 0.8 + HEAD))
    figure = new_figure(width, height)
    edges = {"left": 0.7 / width, "right": 1 - 0.2 / width, "bottom": FOOT / height, "top": 1 - (HEAD + 0.3) / height}
    cells: Any = figure.subplots(len(channels), 1, squeeze=False, gridspec_kw={"hspace": 0.6, **edges})
    for name, axes in zip(channels, cells[:, 0], strict=True):
        channel, values = run.channel(name), run[name].reshape(len(run), -1)
        curves = {f"{name}{part}": values[:, k] for k, part in enumerate(parts(values.shape[1]))}
        lines(axes, run.time, curves, f"{name}, {channel.unit}" if channel.unit else name)
        _tidy(axes)
    head(figure, run.info.name, f"robot {run.robot.name}, {run.time[-1]:.4g} s")
    if path is not None:
        save(figure, path)
    return figure


def size_of(given: tuple[float, float] | None, usual: tuple[float, float]) -> tuple[float, float]:
    """Width and height in inches, as asked for or as usual."""
    if given is None:
        return usual
    if len(given) != 2 or not all(SMALLEST <= x <= LARGEST for x in given):
        raise ValueError(f"size is {given}; width and height must be {SMALLEST:g} to {LARGEST:g} inches")
    return float(given[0]), float(given[1])


def plot_run(run: Result, path: Path | None = None, size: tuple[float, float] | None = None) -> Figure:
    """One page about a run; written to a PNG, SVG or PDF file if a path is given."""
    shown, spectrum = panels(run), residual_spectrum(run)
    count = 1 + len(shown) + (len(spectrum.frequency) > 0)
    rows = -(-count // 2)
    width, height = size_of(size, (WIDTH, rows * ROW + HEAD))
    figure = new_figure(width, height)
    edges = {"left": 0.06, "right": 0.985, "bottom": FOOT / height, "top": 1 - (HEAD + 0.3) / height}
    grid: Any = figure.add_gridspec(rows, 2, hspace=0.5, wspace=0.14, **edges)
    # the last one takes what is left of its row
    places = [grid[k // 2, k % 2] for k in range(count - 1)] + [grid[-1, 1] if count % 2 == 0 else grid[-1, :]]
    cells = [figure.add_subplot(place) for place in places]
    _motion(run, cells[0])
    for panel, axes in zip(shown, cells[1:], strict=False):
        lines(axes, run.time, panel.curves, panel.heading, panel.dashed)
    if len(spectrum.frequency):
        _spectrum(spectrum, cells[-1])
    for axes in cells[1:]:
        _tidy(axes)
    head(figure, run.info.name, f"robot {run.robot.name}, {run.time[-1]:.4g} s, integrator {run.info.method}")
    if path is not None:
        save(figure, path)
    return figure


def motion_figure(
    run: Result,
    path: Path | None = None,
    *,
    view: View | None = None,
    size: tuple[float, float] | None = None,
    exaggeration: float = 1.0,
) -> Figure:
    """The moving robot alone: some of its poses, and the path of its tip."""
    width, height = size_of(size, (MOTION, MOTION * 0.75))
    figure = new_figure(width, height)
    top = 1 - (HEAD + 0.3) / height
    _motion(run, figure.add_axes((0.03, 0.03, 0.94, top - 0.03)), view, exaggeration)
    head(figure, run.info.name, f"robot {run.robot.name}, {run.time[-1]:.4g} s")
    if path is not None:
        save(figure, path)
    return figure


def _tidy(axes: Any) -> None:
    axes.grid(color="#e2e8f0", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(PALE)
    axes.tick_params(colors=GREY, labelsize=8)
    axes.xaxis.label.set(fontsize=8, color=GREY)
    axes.yaxis.get_offset_text().set(fontsize=8, color=GREY)
    legend = axes.get_legend()
    if legend is not None:
        legend.get_frame().set(linewidth=0, alpha=0.7)


def _title(axes: Any, title: str) -> None:
    axes.set_title(as_written(title), loc="left", fontsize=9.5, color=INK, weight="bold", pad=9)


def lines(axes: Any, time: Any, curves: dict[str, Any], title: str, dashed: dict[str, Any] | None = None) -> None:
    """Curves over time in one panel; dashed curves take the colours of the others."""
    for k, (label, y) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(time, y, color=colour, lw=1.3, label=as_written(label))
        if dashed and label in dashed:
            axes.plot(time, dashed[label], color=colour, lw=0.9, ls="--", alpha=0.7)
    _title(axes, title)
    axes.set_xlabel("time, s")
    axes.margins(x=0.01)
    if len(curves) >= FEW:
        # room of its own above the curves
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.12 * -(-len(curves) // FEW) * (high - low))
        axes.legend(fontsize=7, loc="upper left", ncols=FEW)
    elif len(curves) > 1:
        axes.legend(fontsize=7, loc="best")


def _motion(run: Result, axes: Any, looks: View | None = None, exaggeration: float = 1.0) -> None:
    """The robot at some times, the later the darker, and the path of its tip."""
    q = exaggerated(run.arm, run.q, exaggeration)
    film = make_film(run.arm, run.time, q, POSES)
    view = view_of(run.arm, film) if looks is None else named_view(looks)
    more = f", bending {exaggeration:g} times" if exaggeration != 1 else ""
    _title(
        axes,
        f"motion: {len(film.time)} poses from {film.time[0]:g} to {film.time[-1]:.4g} s, and the path of the tip{more}",
    )
    for k in range(len(film.time)):
        strength = 0.15 + 0.85 * (k + 1) / len(film.time)
        for line in film.lines:
            colour = FLEXIBLE_EDGE if line.flexible else RIGID_EDGE
            style = {"lw": 2.5, "alpha": strength**2, "solid_capstyle": "round"}
            axes.plot(*view.project(line.bent[k]).T, color=colour, zorder=2 + k / 100, **style)
        loads = {"ls": "none", "marker": "o", "ms": 6, "mfc": LOAD, "mec": LOAD_EDGE, "alpha": strength}
        axes.plot(*view.project(film.loads[k]).T, zorder=2.005 + k / 100, **loads)
    way = run["tip.position"] if exaggeration == 1 else run.arm.pose("tip", q).position
    axes.plot(*view.project(way).T, color=TRACE, lw=1.2, zorder=3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.axis("off")


def _spectrum(spectrum: Spectrum, axes: Any) -> None:
    _title(axes, f"vibration of the tip after {spectrum.start:.3g} s, m")
    axes.set_xlabel("frequency, Hz")
    axes.semilogy(spectrum.frequency, spectrum.amplitude, color=COLOURS[0], lw=1.2)
    top = spectrum.frequency[-1]
    held = (
        ("natural, joints held", spectrum.locked, COLOURS[1], ":"),
        ("natural, joints free", spectrum.free, COLOURS[2], "--"),
    )
    for label, natural, colour, dash in held:
        seen = natural[natural < top][:SLOW_FREQUENCIES]
        for k, f in enumerate(seen):
            axes.axvline(f, color=colour, lw=0.9, ls=dash, zorder=1.5, label=label if k == 0 else None)
    axes.set_xlim(0, top)
    axes.legend(fontsize=7, loc="upper right")


def plot_inverse(solution: PathSolution, name: str, path: Path, simulated: tuple[Any, Any] | None = None) -> None:
    """Write a page about a solution; ``simulated`` are times and distances of a run on the full model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 6.6), facecolor="white")
    cells = figure.subplots(2, 2, gridspec_kw={"hspace": 0.45, "wspace": 0.2, "top": 0.86, "left": 0.07, "right": 0.98})
    plane, distance, steps, efforts = cells.ravel()
    spans = np.ptp(solution.path, axis=0)
    x, y = np.sort(np.argsort(spans)[-2:])
    plane.plot(solution.path[:, x], solution.path[:, y], color="#64748b", lw=3, alpha=0.4, label="desired")
    plane.plot(solution.reached[:, x], solution.reached[:, y], color="#2563eb", lw=1, label="reached")
    plane.set_aspect("equal", adjustable="datalim")
    plane.set_title(f"path of {solution.frame}, m", loc="left", fontsize=9.5, weight="bold")
    plane.legend(fontsize=7)
    curves = {"model": 1e6 * np.linalg.norm(solution.reached - solution.path, axis=1)}
    lines(distance, solution.times, curves, "distance from the path, micrometres")
    if simulated is not None:
        distance.plot(simulated[0], 1e6 * simulated[1], color="#dc2626", lw=0.9, label="simulated on the full model")
        distance.legend(fontsize=7)
    steps.semilogy([1e3 * at.largest for at in solution.iterations], "o-", color="#2563eb", lw=1.2, ms=4)
    steps.set_title("largest distance over the iterations, mm", loc="left", fontsize=9.5, weight="bold")
    steps.set_xlabel("iteration")
    steps.set_xticks(range(len(solution.iterations)))
    steps.grid(color="#e2e8f0", lw=0.6)
    columns = dict(zip(solution.model.inputs, solution.efforts.T, strict=True))
    lines(efforts, solution.times, columns, "efforts of the drives, N m or N")
    head(figure, name, f"inverse dynamics by successive approximation: {solution.outcome}")
    save(figure, path)
