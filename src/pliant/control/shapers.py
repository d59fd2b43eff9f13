"""Input shapers: impulses with which a command is convolved, so that it leaves no vibration of known frequencies.

Amplitudes and times follow from conditions on the vibration that a row of impulses leaves (Singer & Seering 1990;
extra insensitive shapers: Singhose, Seering & Singer 1994). Amplitudes a_i of a shaper for an undamped mode, at the
parts u_i of its period, become those of a damped one by

    t_i = u_i 2 pi / (w sqrt(1 - z^2)),   A_i ~ a_i exp(-z w t_i),   sum A_i = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import ModelError, did_you_mean, require_number

Floats = NDArray[np.float64]

TOLERANCE = 0.05
"""Part of the vibration that extra insensitive shapers may leave, unless told otherwise."""
SAME = 1e-12
"""Times of impulses that differ by less, of the duration of the shaper, are one."""
MOST_IMPULSES = 4096
"""Of a shaper for several modes: each mode multiplies them."""


class _Impulses(NamedTuple):
    """Amplitudes of an undamped shaper, and their places as parts of the period."""

    amplitudes: tuple[float, ...]
    parts: tuple[float, ...]


def _even(*amplitudes: float) -> _Impulses:
    """Impulses half a period apart."""
    return _Impulses(amplitudes, tuple(k / 2 for k in range(len(amplitudes))))


def _modified_zero_vibration(_: float) -> _Impulses:
    r = sqrt(2.0)
    return _Impulses((1 - 1 / r, r - 1, 1 - 1 / r), (0.0, 3 / 8, 3 / 4))


def _one_hump(V: float) -> _Impulses:
    return _even((1 + V) / 4, (1 - V) / 2, (1 + V) / 4)


def _two_humps(V: float) -> _Impulses:
    X = float(np.cbrt(V**2 * (sqrt(1 - V**2) + 1)))
    a = (3 * X**2 + 2 * X + 3 * V**2) / (16 * X)
    return _even(a, 1 / 2 - a, 1 / 2 - a, a)


def _three_humps(V: float) -> _Impulses:
    a = (1 + 3 * V + 2 * sqrt(2 * V**2 + 2 * V)) / 16
    b = (1 - V) / 4
    return _even(a, b, 1 - 2 * a - 2 * b, b, a)


SHAPERS: dict[str, Callable[[float], _Impulses]] = {
    "zv": lambda _: _even(1 / 2, 1 / 2),
    "mzv": _modified_zero_vibration,
    "zvd": lambda _: _even(1 / 4, 1 / 2, 1 / 4),
    "ei": _one_hump,
    "zvdd": lambda _: _even(1 / 8, 3 / 8, 3 / 8, 1 / 8),
    "ei2": _two_humps,
    "ei3": _three_humps,
}
"""Kinds of shapers by name, the shortest first: undamped impulses for a tolerance, which only the ei kinds use."""
WORDS = {
    "zv": "zero vibration",
    "mzv": "modified zero vibration, three quarters of a period long",
    "zvd": "zero vibration and derivative: the frequency may be off",
    "ei": "extra insensitive: a part of the vibration is allowed, the frequency may be off more",
    "zvdd": "zero vibration and two derivatives",
    "ei2": "extra insensitive with two humps",
    "ei3": "extra insensitive with three humps",
}


@dataclass(frozen=True, eq=False)
class Shaper:
    """A row of impulses: a command becomes the sum of its copies, A_i times the command t_i later.

    times       t_i, s (k,), the first is zero
    amplitudes  A_i (k,), which add to one
    """

    times: Floats
    amplitudes: Floats

    @property
    def duration(self) -> float:
        """s: by how much the shaper makes a motion longer."""
        return float(self.times[-1])

    @property
    def delay(self) -> float:
        """s: by how much a shaped motion lags behind on average, the centre of the impulses."""
        return float(self.times @ self.amplitudes)

    def remaining(self, omega: ArrayLike, damping: ArrayLike = 0.0) -> Floats:
        """Part of the vibration of a mode that is left at the end of the shaper.

        omega    natural frequencies (undamped), rad/s, one or several
        damping  damping ratios
        V = |sum A_i exp(-z w (t_n - t_i)) exp(i w_d t_i)|, of that of one impulse of the same sum.
        """
        w, z = np.broadcast_arrays(np.asarray(omega, dtype=float), np.asarray(damping, dtype=float))
        decay = np.exp(-(z * w)[..., None] * (self.duration - self.times))
        turn = np.exp(1j * (w * np.sqrt(1 - z**2))[..., None] * self.times)
        return np.asarray(np.abs((self.amplitudes * decay * turn).sum(axis=-1)))

    def then(self, other: Shaper) -> Shaper:
        """Both shapers one after the other: their impulses convolved."""
        count = len(self.times) * len(other.times)
        if count > MOST_IMPULSES:
            raise ModelError(f"the shaper would have {count} impulses; at most {MOST_IMPULSES}: shape fewer modes")
        times = np.add.outer(self.times, other.times).ravel()
        amplitudes = np.multiply.outer(self.amplitudes, other.amplitudes).ravel()
        order = np.argsort(times, kind="stable")
        times, amplitudes = times[order], amplitudes[order]
        new = np.concatenate([[True], np.diff(times) > SAME * times[-1]])
        first = np.flatnonzero(new)
        return Shaper(times[first], np.add.reduceat(amplitudes, first))


def shaper(
    kind: str, omega: float | Sequence[float], damping: float | Sequence[float] = 0.0, *, tolerance: float = TOLERANCE
) -> Shaper:
    """The shaper of a kind for one mode, or for several.

    kind       zv, zvd, zvdd, mzv, ei, ei2 or ei3
    omega      natural frequencies (undamped) of the modes, rad/s
    damping    damping ratios, one for all or one for each
    tolerance  part of the vibration that ei, ei2 and ei3 may leave, above 0 and below 1
    """
    if kind not in SHAPERS:
        hint = did_you_mean(kind, SHAPERS) or f"; there are {', '.join(SHAPERS)}"
        raise ModelError(f"there is no shaper '{kind}'{hint}")
    if not 0 < tolerance < 1:
        raise ModelError(f"tolerance is {tolerance:g}; it is a part of the vibration, above 0 and below 1")
    frequencies = np.atleast_1d(np.asarray(omega, dtype=float))
    ratios = np.broadcast_to(np.asarray(damping, dtype=float), frequencies.shape)
    for w, z in zip(frequencies, ratios, strict=True):
        require_number("omega", float(w), "rad/s", positive=True)
        if not 0 <= z < 1:
            raise ModelError(f"damping is {z:g}; a mode that vibrates has a damping ratio from 0 to below 1")
    return _all_of(_one(SHAPERS[kind](tolerance), w, z) for w, z in zip(frequencies, ratios, strict=True))


def _one(undamped: _Impulses, w: float, z: float) -> Shaper:
    times = np.array(undamped.parts) * 2 * pi / (w * sqrt(1 - z**2))
    amplitudes = np.array(undamped.amplitudes) * np.exp(-z * w * times)
    return Shaper(times, amplitudes / amplitudes.sum())


def _all_of(shapers: Iterable[Shaper]) -> Shaper:
    whole = Shaper(np.zeros(1), np.ones(1))
    for each in shapers:
        whole = whole.then(each)
    return whole
