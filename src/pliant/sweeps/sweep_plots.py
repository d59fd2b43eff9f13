"""Pictures of a sweep: curves over one place, maps over two, parallel coordinates over many, fans of histories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.pictures.canvas import GREY, INK, head, new_figure, save
from pliant.pictures.picture_words import counted
from pliant.sweeps.table import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, HEAD, FOOT = 11.0, 3.2, 0.9, 0.55
COLOUR, BAND = "#2563eb", "#93c5fd"
MOST = 8
"""So many outputs are drawn; a table has them all."""
SPREAD = ((5, 95, 0.35), (25, 75, 0.6))
"""Percentiles between which a fan is filled, and how strongly."""
FEW_CURVES = 4
"""Up to so many values of one of two places are a curve each over the other; more make a map."""
CURVES = ("#2563eb", "#dc2626", "#16a34a", "#d97706")
COLOUR_MAP = "viridis"
MARKED = 40
"""Up to so many points of a curve are marked."""


def plot_sweep(sweep: Sweep, path: Path | None = None) -> Figure:
    """One page about a sweep; written to a PNG, SVG or PDF file if a path is given."""
    places = [place for place in sweep.varied if sweep[place].dtype.kind == "f" and len(set(sweep[place])) > 1]
    if sweep.info.how == "zip":
        # the places move together along one path
        places = places[:1]
    numbers, histories = sweep.numbers[:MOST], sweep.histories[:MOST]
    many = len(places) > 2 and bool(numbers)
    count = (1 if many else len(numbers)) + len(histories)
    if not count:
        raise ValueError("the sweep has nothing to draw: no case gave a number or a history")
    rows = -(-count // 2) + (many and count % 2 == 0)
    height = rows * ROW + HEAD
    figure = new_figure(WIDTH, height)
    edges = {"left": 0.07, "right": 0.975, "bottom": FOOT / height, "top": 1 - (HEAD + 0.2) / height}
    grid: Any = figure.add_gridspec(rows, 2, hspace=0.45, wspace=0.2, **edges)
    cells = [grid[k // 2, k % 2] for k in range(2 * rows)]
    if many:
        _parallel(sweep, [*places, *numbers], figure.add_subplot(grid[0, :]))
        cells = cells[2:]
    else:
        for name in numbers:
            _number(sweep, places, name, figure.add_subplot(cells.pop(0)))
    for name in histories:
        _fan(sweep, name, figure.add_subplot(cells.pop(0)))
    failed = f", {counted(sweep.failed, 'failure')}" if sweep.failed else ""
    head(figure, f"{sweep.info.name}: {sweep.info.action}", f"{counted(len(sweep), 'case')}, {sweep.info.how}{failed}")
    if path is not None:
        save(figure, path)
    return figure


def _label(sweep: Sweep, name: str) -> str:
    unit = sweep.unit(name)
    return f"{name} ({unit})" if unit else name


def _number(sweep: Sweep, places: list[str], name: str, axes: Axes) -> None:
    values = sweep[name]
    if len(places) == 2:
        few = min(places, key=lambda place: len(set(sweep[place])))
        if len(set(sweep[few])) <= FEW_CURVES and _is_grid(sweep, places):
            _family(sweep, few, next(place for place in places if place != few), name, axes)
        else:
            _map(sweep, places, name, axes)
        return
    if len(places) == 1:
        x = sweep[places[0]]
        # a path may turn back
        order = np.arange(len(x)) if sweep.info.how == "zip" else np.argsort(x, kind="stable")
        axes.plot(x[order], values[order], color=COLOUR, marker="o" if len(x) <= MARKED else "", markersize=3.5)
        axes.set_xlabel(_label(sweep, places[0]))
    else:
        axes.plot(np.arange(len(values)), values, "o", color=COLOUR, markersize=4)
        axes.set_xlabel("case")
    axes.set_ylabel(_label(sweep, name))
    _tidy(axes)


def _is_grid(sweep: Sweep, places: list[str]) -> bool:
    return bool(np.prod([len(set(sweep[place])) for place in places]) == len(sweep))


def _family(sweep: Sweep, few: str, place: str, name: str, axes: Axes) -> None:
    """One curve for each value of a place that has few."""
    for value, colour in zip(np.unique(sweep[few]), CURVES, strict=False):
        own = sweep[few] == value
        x, y = sweep[place][own], sweep[name][own]
        order = np.argsort(x, kind="stable")
        marker = "o" if len(x) <= MARKED else ""
        axes.plot(x[order], y[order], color=colour, marker=marker, markersize=3.5, label=f"{few} {value:.4g}")
    axes.legend(fontsize=7, frameon=False)
    axes.set_xlabel(_label(sweep, place))
    axes.set_ylabel(_label(sweep, name))
    _tidy(axes)


def _map(sweep: Sweep, places: list[str], name: str, axes: Axes) -> None:
    """Cells of a full grid; points of scattered cases."""
    x, y, z = (sweep[one] for one in (*places, name))
    if _is_grid(sweep, places):
        xs, ys = np.unique(x), np.unique(y)
        cells = np.full((len(ys), len(xs)), np.nan)
        cells[np.searchsorted(ys, y), np.searchsorted(xs, x)] = z
        drawn: Any = axes.pcolormesh(xs, ys, cells, cmap=COLOUR_MAP, shading="nearest")
    else:
        drawn = axes.scatter(x, y, c=z, cmap=COLOUR_MAP, s=14)
    bar = axes.figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label(_label(sweep, name), fontsize=8)
    bar.ax.tick_params(labelsize=7)
    axes.set_xlabel(_label(sweep, places[0]))
    axes.set_ylabel(_label(sweep, places[1]))
    _tidy(axes)


def _fan(sweep: Sweep, name: str, axes: Axes) -> None:
    """Where the histories of most cases run, and their median."""
    values = sweep[name]
    whole = values[np.isfinite(values).any(axis=1)]
    time = sweep.time if len(sweep.time) == values.shape[1] else np.arange(values.shape[1], dtype=float)
    if len(whole):
        with np.errstate(all="ignore"):
            for low, high, strength in SPREAD:
                between = np.nanpercentile(whole, [low, high], axis=0)
                axes.fill_between(time, *between, color=BAND, alpha=strength, linewidth=0, label=f"{low} to {high} %")
            axes.plot(time, np.nanmedian(whole, axis=0), color=COLOUR, linewidth=1.3, label="median")
        axes.legend(fontsize=7, frameon=False, loc="best")
    axes.set_xlabel("time (s)" if len(sweep.time) == values.shape[1] else "entry")
    axes.set_ylabel(_label(sweep, name))
    _tidy(axes)


def _parallel(sweep: Sweep, names: list[str], axes: Axes) -> None:
    """One axis per place and output, one line per case, coloured by the first output."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    columns = np.stack([sweep[name] for name in names], axis=1)
    columns = columns[np.isfinite(columns).all(axis=1)]
    first = len(names) - len(sweep.numbers[:MOST])
    low, high = (columns.min(axis=0), columns.max(axis=0)) if len(columns) else (np.zeros(len(names)),) * 2
    scaled = (columns - low) / np.where(high > low, high - low, 1.0)
    lines: list[NDArray[np.float64]] = [np.column_stack([np.arange(len(names)), row]) for row in scaled]
    shade = colormaps[COLOUR_MAP](scaled[:, first]) if len(scaled) else []
    strength = float(np.clip(30 / max(len(lines), 1), 0.08, 0.8))
    axes.add_collection(LineCollection(lines, colors=shade, linewidths=0.9, alpha=strength))
    for k in range(len(names)):
        axes.axvline(k, color=GREY, linewidth=0.8)
        for value, height, anchor in ((low[k], -0.02, "top"), (high[k], 1.02, "bottom")):
            axes.text(k, height, f"{value:.4g}", ha="center", va=anchor, fontsize=7, color=INK)
    axes.set_xlim(-0.3, len(names) - 0.7)
    axes.set_ylim(-0.12, 1.12)
    axes.set_yticks([])
    axes.set_xticks(range(len(names)), [_label(sweep, name).replace(" (", "\n(") for name in names], fontsize=7)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def _tidy(axes: Axes) -> None:
    axes.tick_params(labelsize=7.5)
    axes.xaxis.label.set_fontsize(8)
    axes.yaxis.label.set_fontsize(8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
