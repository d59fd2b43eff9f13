"""Block patterns of Mohan & Saha's matrices: which block belongs to which link, and how large its entries are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.formulations.recursive.denoc import PATTERNS, Denoc
from pliant.pictures.canvas import GREY, INK, PALE, PAPER, head, new_figure, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_WITH_SYMBOLS = 8
"""Links up to which there is room for the symbols of blocks."""
DECADES = 6
"""Entries smaller than that below the largest one are as pale as the palest."""


def draw_denoc(parts: Denoc, title: str, path: str | Path | None = None) -> Figure:
    """All patterns on one page; written to a file if a path is given."""
    figure = new_figure(12.0, 6.8)
    head(
        figure,
        title,
        f"matrices of {len(parts.links)} links, {len(parts.names)} coordinates: blocks, and their entries",
    )
    values: dict[str, Array] = {
        "N_l": parts.N_l, "N_d": parts.N_d, "M": parts.M, "I": parts.inertia, "U": parts.U, "D": parts.D,
        "I^-1": parts.inverse,
    }  # fmt: skip
    shown = {name: words for name, words in PATTERNS.items() if values[name].size}
    for k, (name, words) in enumerate(shown.items()):
        axes = figure.add_axes((0.05 + 0.24 * (k % 4), 0.5 - 0.46 * (k // 4), 0.19, 0.34))
        _panel(axes, parts, name, values[name])
        axes.set_title(f"{name}: {words}", fontsize=9, color=INK)
    if path is not None:
        save(figure, Path(path))
    return figure


def _panel(axes: Any, parts: Denoc, name: str, values: Array) -> None:
    from matplotlib.patches import Rectangle

    size = np.abs(values)
    largest = float(size.max(initial=0.0)) or 1.0
    shade = np.log10(np.maximum(size, largest * 10.0**-DECADES) / largest) / DECADES + 1.0
    axes.imshow(np.where(size > 0, 0.15 + 0.6 * shade, 0.0), cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    rows, columns = parts.pattern_links(name)
    twists_down, twists_across = name in ("N_l", "N_d", "M"), name in ("N_l", "M")
    down = [parts.links[i].rows if twists_down else parts.links[i].own for i in rows]
    across = [parts.links[j].rows if twists_across else parts.links[j].own for j in columns]
    for i, row in enumerate(parts.pattern(name)):
        for j, symbol in enumerate(row):
            if not symbol:
                continue
            a, b = down[i], across[j]
            corner, extent = (b.start - 0.5, a.start - 0.5), (b.stop - b.start, a.stop - a.start)
            axes.add_patch(Rectangle(corner, *extent, fill=False, edgecolor=INK, linewidth=0.8))
            if len(parts.links) <= LARGEST_WITH_SYMBOLS:
                middle = (b.start + b.stop - 1) / 2, (a.start + a.stop - 1) / 2
                paper = {"boxstyle": "round,pad=0.15", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.8}
                axes.text(*middle, symbol, ha="center", va="center", fontsize=8, color=INK, bbox=paper)
    for put, spans, links in (("y", down, rows), ("x", across, columns)):
        getattr(axes, f"set_{put}ticks")(
            [(s.start + s.stop - 1) / 2 for s in spans], [str(k + 1) for k in links], fontsize=7, color=GREY
        )
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_color(PALE)
