"""The vibration that is left when the motion is over: its spectrum, beside the natural frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.modes import vibration_modes
from pliant.analysis.vibrations import IndefiniteMassError

if TYPE_CHECKING:
    from pliant.results.result import Result

Floats = NDArray[np.float64]

AT_REST = 1e-9
"""Desired positions that change less than this (relative to their range) no longer move."""
LEAST_SAMPLES = 32
NOTHING = 1e-30
"""Amplitudes below this cannot be told from zero, m."""


class Spectrum(NamedTuple):
    """Amplitudes of the tip's deviation over frequency.

    start      when the desired motion had ended (half of the run if it never does), s
    frequency  Hz
    amplitude  m, of all three directions together
    locked     natural frequencies of the robot at the end while the drives hold its joints, Hz
    free       the same with free joints, without those of motions that do not vibrate, Hz
    """

    start: float
    frequency: Floats
    amplitude: Floats
    locked: Floats
    free: Floats


def residual_spectrum(run: Result) -> Spectrum:
    """The spectrum of the deviation of the tip from the rigid robot after the motion."""
    start = _rest_begins(run)
    try:
        locked, free = (vibration_modes(run.arm, run.q[-1], locked=held).hertz for held in (True, False))
    except IndefiniteMassError:
        # the warnings of the run say how far its links bend
        locked = free = np.zeros(0)
    natural = locked, free[free > 0]
    deviation = run["tip.deflection"][start:]
    time = run.time[start:]
    nothing = Spectrum(float(time[0]), np.zeros(0), np.zeros(0), *natural)
    if len(time) < LEAST_SAMPLES or np.ptp(deviation, axis=0).max() == 0:
        return nothing
    # samples on a uniform grid: the last one may be off it
    step = float(time[1] - time[0])
    n = len(time) - (abs(time[-1] - time[-2] - step) > 1e-6 * step)
    # a parabola is the rest of the slow motion
    x = time[:n] - time[:n].mean()
    slow = np.polynomial.polynomial.polyfit(x, deviation[:n], 2)
    fast = deviation[:n] - np.polynomial.polynomial.polyval(x, slow).T
    window = np.hanning(n)
    lines = np.abs(np.fft.rfft(fast * window[:, None], n=4 * n, axis=0)) * 2 / window.sum()
    amplitude = np.sqrt((lines**2).sum(axis=1))
    frequency: Floats = np.asarray(np.fft.rfftfreq(4 * n, step)[1:], dtype=np.float64)
    return Spectrum(float(time[0]), frequency, np.maximum(amplitude[1:], NOTHING), *natural)


def _rest_begins(run: Result) -> int:
    """The first sample after the desired motion; half of the run if there is none or it does not end."""
    half = len(run) // 2
    reference = run.samples.reference
    if not reference.shape[1]:
        return half
    moving = np.abs(reference - reference[-1]).max(axis=1) > AT_REST * max(float(np.ptp(reference)), 1e-9)
    last = int(np.flatnonzero(moving)[-1]) + 1 if moving.any() else half
    return last if len(run) - last >= LEAST_SAMPLES else half
