"""Bode pictures: magnitude and phase of frequency responses over the frequency, measured ones laid over them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.pictures.canvas import head, save

if TYPE_CHECKING:
    from pliant.control.measured_response import MeasuredResponse

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2")


def draw_bode(
    hertz: Floats,
    curves: Mapping[str, Complexes],
    title: str,
    path: Path,
    *,
    measured: MeasuredResponse | None = None,
) -> None:
    """Write the curves, by their labels, as one picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.6), facecolor="white")
    above, below = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"top": 0.86, "left": 0.12, "right": 0.97, "bottom": 0.1, "hspace": 0.08}
    )
    for k, (label, values) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        above.plot(hertz, decibels(values), color=colour, lw=1.4, label=label)
        below.plot(hertz, phase(values), color=colour, lw=1.4)
    if measured is not None:
        dots = {"ls": "", "marker": "o", "ms": 3, "mfc": "none", "mec": "#0f172a"}
        above.plot(measured.hertz, decibels(measured.value), label="measured", **dots)
        below.plot(measured.hertz, phase(measured.value), **dots)
    above.set_xscale("log")
    above.set_ylabel("magnitude, dB")
    below.set_ylabel("phase, deg")
    below.set_xlabel("frequency, Hz")
    for axes in (above, below):
        axes.grid(color="#e2e8f0", lw=0.6, which="both")
        axes.margins(x=0.0)
    above.legend(fontsize=7)
    head(figure, title, "frequency response: output per unit of effort")
    save(figure, path)


def decibels(values: Complexes) -> Floats:
    """20 log10 of the magnitude; zeros have none."""
    with np.errstate(divide="ignore"):
        return np.asarray(20 * np.log10(np.abs(values)))


def phase(values: Complexes) -> Floats:
    """Degrees without jumps of a whole turn, the first between -180 and 180."""
    return np.asarray(np.rad2deg(np.unwrap(np.angle(values))))
