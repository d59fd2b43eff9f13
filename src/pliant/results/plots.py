"""Pictures of a run: joints, deflections, torques, energies, and the spectrum of the vibration that is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.results.canvas import GREY, INK, PALE, head, save
from pliant.results.spectrum import residual_spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.results.result import Result

COLOURS = ("#2563eb", "#dc2626", "#16a34a", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
WIDTH, ROW, HEAD = 11.0, 2.6, 0.9


def plot_run(run: Result, path: Path | None = None) -> Figure:
    """One page about a run; written to a PNG, SVG or PDF file if a path is given."""
    from matplotlib.figure import Figure

    panels = [_joints, _torques, _deflections, _tip, _energies, _balance, _spectrum]
    if run.info.strains:
        panels.insert(4, _strains)
    rows = -(-len(panels) // 2)
    height = rows * ROW + HEAD
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    grid: Any = figure.subplots(rows, 2, squeeze=False)
    cells = list(grid.ravel())
    for panel, axes in zip(panels, cells, strict=False):
        panel(run, axes)
        _tidy(axes)
    for axes in cells[len(panels) :]:
        axes.axis("off")
    figure.subplots_adjust(
        left=0.075, right=0.985, bottom=0.45 / height, top=1 - (HEAD + 0.1) / height, hspace=0.55, wspace=0.2
    )
    head(figure, run.info.name, f"{run.robot.name}, {run.time[-1]:g} s, {run.info.method}")
    if path is not None:
        save(figure, path)
    return figure


def _tidy(axes: Any) -> None:
    axes.grid(color="#e2e8f0", lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(PALE)
    axes.tick_params(colors=GREY, labelsize=8)
    axes.xaxis.label.set(fontsize=8, color=GREY)
    axes.title.set(fontsize=10, color=INK)
    legend = axes.get_legend()
    if legend is not None:
        legend.get_frame().set(linewidth=0, alpha=0.7)


def lines(axes: Any, time: Any, curves: dict[str, Any], title: str, dashed: dict[str, Any] | None = None) -> None:
    """Curves over time in one panel; dashed curves take the colours of the others."""
    for k, (label, y) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(time, y, color=colour, lw=1.3, label=label)
        if dashed and label in dashed:
            axes.plot(time, dashed[label], color=colour, lw=0.9, ls="--", alpha=0.7)
    axes.set_title(title, loc="left")
    axes.set_xlabel("time, s")
    axes.margins(x=0.01)
    if curves:
        axes.legend(fontsize=7, loc="best", ncols=1 + (len(curves) > 4))


def _joints(run: Result, axes: Any) -> None:
    names = list(run.robot.joint_coordinates)
    desired = {name: run[f"{name}.desired"] for name in names if f"{name}.desired" in run.channels}
    units = {run.unit(name) for name in names}
    dashed = ", dashed: desired" if desired else ""
    lines(axes, run.time, {n: run[n] for n in names}, f"joints, {' and '.join(sorted(units))}{dashed}", desired)


def _torques(run: Result, axes: Any) -> None:
    efforts = {n.rpartition(".")[0]: run[n] for n in run.channels if n.endswith((".torque", ".force"))}
    units = {run.unit(n) for n in run.channels if n.endswith((".torque", ".force"))}
    lines(axes, run.time, efforts, f"motor efforts, {' and '.join(sorted(units)) or 'none'}")


def moving_components(run: Result, name: str, axes: str = "xyz") -> dict[str, Any]:
    """The components of a vector channel that are not negligible, by axis."""
    values = run[name]
    size = np.abs(values).max(axis=0)
    return {axis: values[:, k] for k, axis in enumerate(axes) if size[k] > 1e-9 * max(size.max(), 1e-12)}


def _deflections(run: Result, axes: Any) -> None:
    curves = {
        f"{link.name} {axis}": 1e3 * y
        for link in run.robot.links
        if link.is_flexible
        for axis, y in moving_components(run, f"{link.name}.deflection").items()
    }
    lines(axes, run.time, curves, "deflection of the link tips, mm (link axes)")


def _tip(run: Result, axes: Any) -> None:
    curves = {
        f"{frame} {axis}": 1e3 * y
        for frame in run.info.frames
        for axis, y in moving_components(run, f"{frame}.deflection").items()
    }
    lines(axes, run.time, curves, "deviation from the rigid robot, mm (base axes)")


def _strains(run: Result, axes: Any) -> None:
    lines(axes, run.time, {s.name: 1e6 * run[f"strain.{s.name}"] for s in run.info.strains}, "strain, 1e-6")


def _energies(run: Result, axes: Any) -> None:
    names = ["energy.kinetic", "energy.strain", "energy.gravity", "work", "work.loads", "dissipated"]
    curves = {n.removeprefix("energy."): run[n] - (run[n][0] if n == "energy.gravity" else 0.0) for n in names}
    shown = {label: y for label, y in curves.items() if np.abs(y).max() > 0}
    lines(axes, run.time, shown, "energy and work, J")


def _balance(run: Result, axes: Any) -> None:
    lines(axes, run.time, {"energy - work + losses": run["energy.balance"]}, "energy balance, J")


def _spectrum(run: Result, axes: Any) -> None:
    spectrum = residual_spectrum(run)
    axes.set_title(f"vibration of the tip after {spectrum.start:.3g} s", loc="left")
    axes.set_xlabel("frequency, Hz")
    if not len(spectrum.frequency):
        axes.text(0.5, 0.5, "nothing vibrates", transform=axes.transAxes, ha="center", color=GREY)
        return
    axes.semilogy(spectrum.frequency, spectrum.amplitude, color=COLOURS[0], lw=1.2)
    top = spectrum.frequency[-1]
    for f in spectrum.natural[spectrum.natural < top]:
        axes.axvline(f, color=COLOURS[1], lw=0.8, ls=":")
    axes.set_ylabel("m", fontsize=8, color=GREY)
    axes.set_xlim(0, top)
