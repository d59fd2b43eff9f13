"""A picture of natural frequencies over the speed of a joint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.pictures.canvas import head, save

if TYPE_CHECKING:
    from pliant.analysis.lumped.frequencies import SpeedFrequencies

Floats = NDArray[np.float64]

STIFF, SOFT = "#2563eb", "#dc2626"


def draw_speed(
    found: SpeedFrequencies,
    title: str,
    path: Path,
    *,
    unit: tuple[float, str] = (1 / (2 * np.pi), "Hz"),
    speed_unit: tuple[float, str] = (30 / np.pi, "rpm"),
    known: Mapping[str, tuple[Floats, Floats]] | None = None,
) -> None:
    """Write the curves; units are (factor, word), ``known`` are values from elsewhere: speeds and frequencies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.6), facecolor="white")
    axes = figure.subplots(gridspec_kw={"top": 0.84, "left": 0.11, "right": 0.97, "bottom": 0.12})
    speeds = speed_unit[0] * found.speeds
    for k in range(found.stiffened.shape[1]):
        first = not k
        axes.plot(
            speeds, unit[0] * found.stiffened[:, k], color=STIFF, lw=1.5, label="second-order links" if first else None
        )
        axes.plot(
            speeds,
            unit[0] * found.softened[:, k],
            color=SOFT,
            lw=1.2,
            ls="--",
            label="dynamic stiffness alone" if first else None,
        )
    for label, (at, values) in (known or {}).items():
        axes.plot(speed_unit[0] * at, unit[0] * values, "o", mfc="none", mec="#0f172a", ms=5, label=label)
    axes.set_xlabel(f"speed of {found.joint}, {speed_unit[1]}")
    axes.set_ylabel(f"natural frequency, {unit[1]}")
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0.01)
    axes.grid(color="#e2e8f0", lw=0.6)
    axes.legend(fontsize=7)
    head(figure, title, "natural frequencies over the speed of a joint")
    save(figure, path)
