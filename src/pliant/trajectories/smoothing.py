"""Rates and accelerations of measured positions: a zero-phase low-pass filter, and what noise it leaves.

Differences of noisy positions are worthless: 1 um at 1 kHz is an acceleration of 2.4 m/s^2. Positions are filtered
forwards and backwards by a Butterworth filter, so that nothing is delayed, and a quintic spline through them gives
their derivatives. White noise of rms s in the positions leaves

    s_k = s sqrt(1/pi int_0^pi |H(w)|^2 (w/dt)^(2k) dw)

in the k-th derivative, which is told.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, model_validator

from pliant.errors import require_number
from pliant.model.element import Element, rule
from pliant.model.units import POSITIVE, Quantity

Floats = NDArray[np.float64]

ORDER = 4
"""Of the filter, which runs twice."""
UNEVEN = 1e-6
"""Part of a step by which equal times may differ."""
FEWEST = 16
"""Samples that a filter needs."""
MORE = 1.05
"""How many times the noise may be left beside a filtered motion that is chosen by its noise."""
TRIED = 60
"""Cutoffs that are tried then."""
HIGHEST = 0.45
"""The highest of them, as a part of the sampling rate."""


class Smoothing(Element):
    """A zero-phase filter of measured positions: give its cutoff, or the noise of the positions."""

    cutoff: Annotated[float, Quantity("Hz", POSITIVE)] | None = Field(
        default=None, description="frequency, Hz, at which the motion is smaller by 3 dB; above it is taken as noise"
    )
    noise: Annotated[float, Quantity("", POSITIVE)] | None = Field(
        default=None,
        description="rms noise of the positions, rad or m: the lowest cutoff is taken that leaves no more aside",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.cutoff is None) == (self.noise is None):
            raise rule("give either cutoff or noise")
        return self


class FilteredMotion(NamedTuple):
    """Measured positions without what is above the cutoff, and their derivatives.

    times   s, at equal steps (count,)
    q, v, a positions, rates and accelerations (count, joints)
    cutoff  Hz, at which the motion is smaller by 3 dB
    noise   rms of what was taken away, as noise of the positions (joints,)
    floor   rms noise that is left in q, v and a (3, joints), if it is white
    """

    times: Floats
    q: Floats
    v: Floats
    a: Floats
    cutoff: float
    noise: Floats
    floor: Floats


def filtered(
    times: ArrayLike, positions: ArrayLike, *, cutoff: float | None = None, noise: float | None = None
) -> FilteredMotion:
    """Smooth positions, rates and accelerations of a measured motion, without delay, and the noise that is left.

    times      s, increasing (count,); uneven ones are put onto equal steps
    positions  (count, joints), or (count,) of one
    cutoff     Hz: what is slower is motion, what is faster noise
    noise      instead: rms noise of the positions; the lowest cutoff is taken that leaves no more than that aside
    """
    t, y = np.asarray(times, dtype=float), np.asarray(positions, dtype=float)
    y = y[:, None] if y.ndim == 1 else y
    if t.ndim != 1 or len(t) < FEWEST or y.shape[:1] != t.shape or not np.isfinite(y).all():
        raise ValueError(
            f"times have shape {t.shape} and positions {y.shape}; a filter needs at least {FEWEST} finite samples of "
            "both, as many of one as of the other"
        )
    if not np.all(np.diff(t) > 0):
        raise ValueError("times must increase")
    if (cutoff is None) == (noise is None):
        raise ValueError("give either cutoff (Hz) or noise (rms of the positions, rad or m)")
    t, y = _even(t, y)
    step = float(t[1] - t[0])
    if cutoff is None:
        assert noise is not None
        require_number("noise", noise, "rad or m", positive=True)
        cutoff = _by_noise(y, step, noise)
    require_number("cutoff", cutoff, "Hz", positive=True)
    if cutoff >= HIGHEST / step:
        raise ValueError(
            f"cutoff is {cutoff:g} Hz; positions every {step:g} s have motions up to {0.5 / step:g} Hz, and a filter "
            f"needs less than {HIGHEST / step:g} Hz"
        )
    return _filtered(t, y, step, cutoff)


def _even(t: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Positions at equal steps."""
    steps = np.diff(t)
    if np.ptp(steps) <= UNEVEN * steps.mean():
        return t, y
    from scipy.interpolate import CubicSpline

    even = np.linspace(t[0], t[-1], len(t))
    return even, np.asarray(CubicSpline(t, y)(even))


def _filtered(t: Floats, y: Floats, step: float, cutoff: float) -> FilteredMotion:
    from scipy.interpolate import make_interp_spline

    smooth = _passed(y, step, cutoff)
    w, H = _response(step, cutoff)
    noise = _left(y, smooth, step, cutoff) / np.sqrt(np.mean((1.0 - H) ** 2))
    grown = [np.sqrt(np.mean(H**2 * (w / step) ** (2 * k))) for k in range(3)]
    curve = make_interp_spline(t, smooth, k=5)
    v, a = (np.asarray(curve.derivative(k)(t)) for k in (1, 2))
    return FilteredMotion(t, smooth, v, a, cutoff, noise, np.outer(grown, noise))


def _sections(step: float, cutoff: float) -> Floats:
    """The filter of one way; both ways together are 3 dB down at the cutoff."""
    from scipy.signal import butter

    # of two passes each has half of it, at tan(pi f dt) that is smaller by this factor
    lower = (np.sqrt(2.0) - 1.0) ** (1.0 / (2 * ORDER))
    prewarped = np.arctan(np.tan(np.pi * cutoff * step) / lower) / np.pi
    return np.asarray(butter(ORDER, 2 * prewarped, output="sos"))


def _passed(y: Floats, step: float, cutoff: float) -> Floats:
    from scipy.signal import sosfiltfilt

    slow = _between_ends(y, min(len(y) // 3, int(np.ceil(1.0 / (cutoff * step)))))
    # transients at the ends die out within some periods of the cutoff
    beyond = min(len(y) - 1, int(np.ceil(3.0 / (cutoff * step))))
    return np.asarray(slow + sosfiltfilt(_sections(step, cutoff), y - slow, axis=0, padlen=beyond))


def _between_ends(y: Floats, window: int) -> Floats:
    """A quintic (count, joints) with the position, rate and acceleration of the motion at both of its ends.

    Without it the rest begins and ends at rest, where what a filter assumes beyond the ends is true. It is no noise.
    """
    count = max(window, 8)
    x = np.arange(len(y)) / (len(y) - 1.0)
    conditions, values = [], []
    for at, own in ((0.0, slice(count)), (1.0, slice(-count, None))):
        fit = np.polynomial.polynomial.polyfit(x[own] - at, y[own], 3)
        for k, factor in enumerate((1.0, 1.0, 2.0)):
            powers = np.polynomial.polynomial.polyder(np.eye(6), k, axis=1) if k else np.eye(6)
            conditions.append(np.polynomial.polynomial.polyval(at, powers.T))
            values.append(factor * fit[k])
    coefficients = np.linalg.solve(np.array(conditions), np.array(values))
    return np.asarray(np.vander(x, 6, increasing=True) @ coefficients)


def _left(y: Floats, smooth: Floats, step: float, cutoff: float) -> Floats:
    """Rms of what is beside the filtered motion (joints,), away from the ends of a long one."""
    ends = min(int(np.ceil(1.5 / (cutoff * step))), len(y) // 4)
    return np.asarray(np.sqrt(((y - smooth)[ends : len(y) - ends] ** 2).mean(axis=0)))


def _response(step: float, cutoff: float) -> tuple[Floats, Floats]:
    """Frequencies (rad per sample) and what both passes leave of them."""
    from scipy.signal import sosfreqz

    w, h = sosfreqz(_sections(step, cutoff), worN=4096)
    return np.asarray(w), np.abs(h) ** 2


def _by_noise(y: Floats, step: float, noise: float) -> float:
    """The lowest cutoff beside which no more than the noise is left."""
    lowest = 1.0 / (step * len(y))
    for cutoff in np.geomspace(lowest, 0.99 * HIGHEST / step, TRIED):
        _, H = _response(step, float(cutoff))
        # with the ends, which a filter changes most
        left = np.sqrt(((y - _passed(y, step, float(cutoff))) ** 2).mean(axis=0))
        if (left <= MORE * noise * np.sqrt(np.mean((1.0 - H) ** 2))).all():
            return float(cutoff)
    raise ValueError(
        f"noise is {noise:g}, but even above {HIGHEST / step:g} Hz the positions have more: it must be larger, or give "
        "a cutoff"
    )
