"""Pictures of a run: the moving robot, and curves in groups of one unit: joints, torques, deflections, energies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.pictures.animation import exaggerated, make_film, view_of
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
from pliant.pictures.picture_words import as_written
from pliant.results.channels import ENERGIES, WORKS, parts
from pliant.results.samples import Floats
from pliant.results.spectrum import Spectrum, residual_spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.analysis.lumped.successive import PathSolution
    from pliant.results.result import Result

ROUNDING = 1e-12
"""Of the largest quantity of its kind: what is below this is what is left of a thousand roundings."""
MOST_PASSIVE = 8
"""So many joints without motor are drawn, those that travel most."""
NEGLIGIBLE = 1e-9
"""Components below this part of the largest one are not drawn."""


class Panel(NamedTuple):
    """Curves over time by name; dashed curves belong to those of the same name."""

    title: str
    unit: str
    curves: dict[str, Floats]
    dashed: dict[str, Floats]

    @property
    def heading(self) -> str:
        """Title, unit, and what dashes mean."""
        return f"{self.title}, {self.unit}{' (dashed: desired)' if self.dashed else ''}"


def panels(run: Result) -> list[Panel]:
    """All that have curves, in the order in which they are read."""
    links = [link.name for link in run.robot.links if link.is_flexible]
    strains = {strain.name: 1e6 * run[f"strain.{strain.name}"] for strain in run.info.strains}
    return [
        *_joints(run),
        *_efforts(run),
        *_some("deflection of the link tips in link axes", "mm", _deflections(run, links)),
        *_some("bending of links between their ends, link axes", "mm", _between(run, links)),
        *_some("deviation from the rigid robot in base axes", "mm", _deflections(run, run.info.frames)),
        *_some("strain", "µm/m", strains),
        *_some("energy and work since the start", "J", _energies(run)),
        *_some("gap of the closed loops", "m or rad", _audible(run, "rad", ("loops.gap",))),
        *_some("energy balance: gained - work + losses", "J", _audible(run, "J", ("energy.balance",))),
    ]


def noise(run: Result, unit: str) -> float:
    """What of a quantity with this unit is rounding: lengths by the size of the robot, forces by the largest one."""
    length = run.arm.reach
    weight = run.robot.mass * float(np.linalg.norm(run.robot.gravity))
    efforts = [float(np.abs(run[name]).max()) for name in run.efforts]
    energies = (*(f"energy.{part}" for part in ENERGIES), *WORKS)
    scale = {
        "m": lambda: length,
        "N": lambda: max(weight, *efforts, 0.0),
        "N m": lambda: max(weight * length, *efforts, 0.0),
        "J": lambda: max(float(np.abs(run[name]).max()) for name in energies),
    }
    return ROUNDING * scale.get(unit, lambda: 1.0)()


def _audible(run: Result, unit: str, names: Iterable[str]) -> dict[str, Floats]:
    """Channels that are in the run and above rounding; what is not is zero, and zero needs no plot."""
    present = [name for name in names if name in run]
    level = noise(run, unit) if present else 0.0
    return {name.rpartition(".")[2]: run[name] for name in present if np.abs(run[name]).max() > level}


def _some(title: str, unit: str, curves: dict[str, Floats], dashed: dict[str, Floats] | None = None) -> Iterator[Panel]:
    if curves:
        yield Panel(title, unit, curves, dashed or {})


def _joints(run: Result) -> Iterator[Panel]:
    """Joints with a motor first; the others, which may be many, in panels of their own."""
    inputs = set(run.arm.inputs)
    for title, unit in (("joint angles", "rad"), ("joint shifts", "m")):
        names = [name for name in run.robot.joint_coordinates if run.unit(name) == unit]
        driven = [name for name in names if name in inputs or not inputs]
        passive = [name for name in names if name not in driven]
        desired = {name: run[f"{name}.desired"] for name in driven if f"{name}.desired" in run.channels}
        yield from _some(title, unit, {name: run[name] for name in driven}, desired)
        travel = {name: float(np.ptp(run[name])) for name in passive}
        shown = sorted(passive, key=lambda name: -travel[name])[:MOST_PASSIVE]
        cut = f" ({len(shown)} of {len(passive)}, those that travel most)" if len(shown) < len(passive) else ""
        kept = {name: run[name] for name in passive if name in shown}
        yield from _some(f"{title.replace('joint', 'passive joint')}{cut}", unit, kept)


def _efforts(run: Result) -> Iterator[Panel]:
    for title, unit in (("motor torques", "N m"), ("motor forces", "N")):
        names = [name for name in run.efforts if run.unit(name) == unit]
        # what is rounding is drawn as the zero that it is
        level = noise(run, unit) if names else 0.0
        values = {name.rpartition(".")[0]: _without(run[name], level) for name in names}
        yield from _some(title, unit, values if any(np.any(x) for x in values.values()) else {})


def _deflections(run: Result, names: Iterable[str]) -> dict[str, Floats]:
    """Deflections of links or frames in mm: the components that are not negligible."""
    curves = {}
    level = 1e3 * noise(run, "m")
    for name in names:
        values = _without(1e3 * run[f"{name}.deflection"], level)
        size = np.abs(values).max(axis=0)
        shown = np.flatnonzero(size > NEGLIGIBLE * max(float(size.max()), NEGLIGIBLE))
        curves.update({f"{name} {'xyz'[k]}": values[:, k] for k in shown})
    return curves


def _between(run: Result, links: Iterable[str]) -> dict[str, Floats]:
    """Bending at mid-span in mm of rods of loops, and of other links whose tips show less of it."""
    curves = {}
    level = noise(run, "m")
    for name in links:
        if f"{name}.bending" not in run:
            continue
        bending = run[f"{name}.bending"]
        size = np.abs(bending).max(axis=0)
        # the tip of a rod also moves as its root turns in its hinge
        tip = 0.0 if run.robot.loops else float(np.abs(run[f"{name}.deflection"]).max())
        if size.max() > max(level, tip):
            shown = np.flatnonzero(size > NEGLIGIBLE * size.max())
            curves.update({f"{name} {'xyz'[k]}": 1e3 * bending[:, k] for k in shown})
    return curves


def _without(values: Floats, level: float) -> Floats:
    """Columns that never leave the rounding are zero."""
    return np.where(np.abs(values).max(axis=0) > level, values, 0.0)


def _energies(run: Result) -> dict[str, Floats]:
    """Without those that stay zero; the gravity energy counts from its start."""
    named = {part: run[f"energy.{part}"] for part in ENERGIES} | {name: run[name] for name in WORKS}
    named["stored"] = run.samples.stored[:, 0]
    named["gravity"] = named["gravity"] - named["gravity"][0]
    return {name: values for name, values in named.items() if np.any(values)}


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
