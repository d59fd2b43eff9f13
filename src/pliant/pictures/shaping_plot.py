"""Pictures of shapers: how a robot swings with and without one, and what shapers leave where the frequency is off."""

from __future__ import annotations

from math import pi
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.control.shapers import SHAPERS
from pliant.pictures.canvas import GREY, INK, PALE, head, new_figure, save
from pliant.pictures.vibration_plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.simulation.shaping import ShaperRow, Shaping

Floats = NDArray[np.float64]

SIDES = (0.5, 1.6)
"""Frequencies over those that a shaper is made for, between which a picture shows what is left."""
ROOM = 1.35
"""Height of the upper picture over the swing without a shaper."""
POINTS = 600


def shaping_figure(shaping: Shaping, path: str | Path | None = None) -> Figure:
    """The swing of the frame over time, and the sensitivity of all shapers to the frequency of the first mode."""
    figure = new_figure(7.6, 6.4)
    above, below = figure.subplots(
        2, 1, gridspec_kw={"top": 0.87, "left": 0.11, "right": 0.97, "bottom": 0.09, "hspace": 0.32}
    )
    _swing(above, shaping)
    _sensitivity(below, shaping)
    for axes in (above, below):
        axes.grid(color="#e2e8f0", lw=0.6)
        axes.margins(x=0.0)
    told = f"shaper {shaping.best}" if shaping.best in SHAPERS else "no shaper"
    head(figure, shaping.study.name, f"{told} for {_hertz(shaping)}, frame {shaping.frame}")
    if path is not None:
        save(figure, Path(path))
    return figure


def _hertz(shaping: Shaping) -> str:
    return " and ".join(f"{w / (2 * pi):.3g}" for w in shaping.design.omega) + " Hz"


def _swing(axes: Axes, shaping: Shaping) -> None:
    plain = shaping.rows[0]
    tail = plain.path[plain.time >= plain.end]
    centre = (tail.max(axis=0) + tail.min(axis=0)) / 2
    # the direction of the largest swing
    _, _, directions = np.linalg.svd(tail - centre, full_matrices=False)
    along = directions[0]
    shown: list[tuple[ShaperRow, str, str]] = [(plain, COLOURS[1], "without a shaper")]
    for row in shaping.rows[1:]:
        if row.kind == shaping.best:
            shown.append((row, COLOURS[0], f"{row.kind}, {row.added:.3g} s longer"))
        elif row.kind == "slower":
            shown.append((row, PALE, "without a shaper, as long"))
    for row, colour, label in shown:
        axes.plot(row.time, 1e3 * (row.path - centre) @ along, color=colour, lw=1.4, label=label)
        axes.axvline(row.end, color=colour, lw=0.8, ls=":")
    room = ROOM * 1e3 * max(plain.swing, 1e-12)
    axes.set_ylim(-room, room)
    axes.set_xlim(0.0, max(row.time[-1] for row, _, _ in shown))
    axes.set_ylabel(f"{shaping.frame} about its rest, mm")
    axes.set_xlabel("time, s (dotted: end of the motion)")
    axes.legend(fontsize=7, loc="upper right")


def _sensitivity(axes: Axes, shaping: Shaping) -> None:
    first = float(shaping.design.omega[0]) / (2 * pi)
    hertz = np.linspace(SIDES[0] * first, SIDES[1] * first, POINTS)
    kinds = [row.kind for row in shaping.rows if row.kind in SHAPERS]
    for k, kind in enumerate(kinds):
        left = 100 * shaping.shaper(kind).remaining(2 * pi * hertz, float(shaping.design.damping[0]))
        best = kind == shaping.best
        axes.plot(hertz, left, color=COLOURS[k % len(COLOURS)] if k < len(COLOURS) else GREY, lw=2.2 if best else 1.0,
                  label=f"{kind}{' (recommended)' if best else ''}")  # fmt: skip
    mode = shaping.design.modes[0] if shaping.design.modes else 1
    low, high = shaping.vibrations.band(mode)
    axes.axvspan(low, max(high, low * (1 + 1e-3)), color="#fde68a", alpha=0.5, lw=0)
    axes.axhline(100 * shaping.base.tolerance, color=INK, lw=0.8, ls="--")
    axes.set_ylim(0.0, 40.0)
    axes.set_ylabel("left of the vibration, %")
    axes.set_xlabel(f"frequency, Hz (yellow: mode {mode} along the motion)")
    axes.legend(fontsize=7, ncols=2, loc="upper center")
