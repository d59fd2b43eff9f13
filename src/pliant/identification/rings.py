"""Vibrations that die out: frequency, damping, size and phase of the strongest one in a stretch of samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_SAMPLES = 12
LEAST_CYCLES = 1.5
"""Of a vibration that is found in a window."""
PADDING = 8
"""Points of the spectrum for each sample: where its peak is, is then known well enough to begin with."""


class Ring(NamedTuple):
    """A damped sine, size * exp(-zeta w t) * cos(wd t + phase) with w = wd / sqrt(1 - zeta^2), t from the start.

    hertz     frequency of its oscillation wd / 2 pi, Hz
    zeta      damping ratio; below zero it grows
    size      amplitude at the start, in the unit of the samples
    phase     rad
    explained part of the variation of the samples that it explains, 0 to 1
    """

    hertz: float
    zeta: float
    size: float
    phase: float
    explained: float


def find_ring(t: Floats, y: Floats) -> Ring | None:
    """The strongest damped sine beside a straight line in samples at increasing times; None where there is none.

    t  times (N,), increasing, s
    y  samples (N,); those that are missing are NaN

    The spectrum says where to begin, nonlinear least squares do the rest; size, phase and line are linear in it.
    """
    good = np.isfinite(y)
    t, y = t[good], y[good]
    if len(t) < LEAST_SAMPLES or np.ptp(y) <= 0:
        return None
    from scipy.optimize import least_squares

    start, span = float(t[0]), float(t[-1] - t[0])
    x = (t - start) / span

    def basis(p: Floats) -> Floats:
        decay = np.exp(-p[1] * x)
        return np.column_stack([decay * np.cos(p[0] * x), -decay * np.sin(p[0] * x), np.ones_like(x), x])

    def left(p: Floats) -> Floats:
        A = basis(p)
        coefficients = np.linalg.lstsq(A, y, rcond=None)[0]
        return np.asarray((A @ coefficients - y) / np.std(y))

    first = _peak(x, y)
    tries = [least_squares(left, [first, decay], x_scale=[1.0, 1.0], max_nfev=200) for decay in (0.3, 3.0)]
    best = min(tries, key=lambda each: each.cost)
    turns, decay = float(abs(best.x[0])), float(best.x[1])
    if turns < 2 * np.pi * LEAST_CYCLES:
        return None
    a, b, *_ = np.linalg.lstsq(basis(np.array([turns, decay])), y, rcond=None)[0]
    line = np.column_stack([np.ones_like(x), x])
    flat = y - line @ np.linalg.lstsq(line, y, rcond=None)[0]
    remains = float(np.sum(best.fun**2) * np.var(y) / max(float(np.sum(flat**2)), 1e-300))
    omega = np.hypot(turns, decay)
    return Ring(
        hertz=turns / span / (2 * np.pi),
        zeta=decay / omega,
        size=float(np.hypot(a, b)),
        phase=float(np.arctan2(b, a)),
        explained=1.0 - remains,
    )


def _peak(x: Floats, y: Floats) -> float:
    """Angle through which the strongest vibration turns while x goes from 0 to 1."""
    even = np.linspace(0.0, 1.0, len(x))
    values = np.interp(even, x, y)
    line = np.polyfit(even, values, 1)
    values = (values - np.polyval(line, even)) * np.hanning(len(x))
    spectrum = np.abs(np.fft.rfft(values, PADDING * len(x)))
    # the line that was taken away has left its mark at the lowest frequencies
    lowest = int(PADDING * LEAST_CYCLES)
    k = lowest + int(np.argmax(spectrum[lowest:]))
    return 2 * np.pi * k / PADDING * (len(x) - 1) / len(x)
