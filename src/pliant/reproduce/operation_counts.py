"""Operations of forward dynamics by the formulas of Mohan & Saha's Table 1: three methods, n links, m modes.

Each link bends in two planes with m modes in each, so m^ = 1 + 2m coordinates belong to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Count(NamedTuple):
    """Multiplications and additions of one evaluation."""

    multiplications: float
    additions: float

    @property
    def total(self) -> float:
        return self.multiplications + self.additions


def mohan_saha(n: int, m: int) -> Count:
    """ "Proposed": M_1p n + M_2p and A_1p n + A_2p. M_1p grows with m^3: the cost is O(n m^3), not O(n) + O(m^3/3)."""
    h = 1 + 2 * m
    m3 = h**3 / 6 + (2 * m + 15 / 2) * h**2 + (2 * m**2 + 15 * m + 100 / 3) * h
    a3 = h**3 / 6 + h**2 / 2 + (6 * m**2 + 27 * m + 82 / 3) * h
    m4 = a4 = (2 * m**2 + 13 * m + 27) * h
    multiplications = (2 * m**2 + 180 * m + 299 + m3) * n - (124 * m + 229 + m4)
    additions = (6 * m**2 + 122 * m + 220 + a3) * n - (94 * m + 192 + a4)
    return Count(multiplications, additions)


def jain_rodriguez(n: int, m: int) -> Count:
    """As printed: the formula changes where the number of links passes 7."""
    return _jain_rodriguez(n, m, few=n <= 7)


def jain_rodriguez_by_modes(n: int, m: int) -> Count:
    """The other reading: the formula changes where the number of modes passes 7, so that no count jumps with n."""
    return _jain_rodriguez(n, m, few=m <= 7)


def _jain_rodriguez(n: int, m: int, *, few: bool) -> Count:
    if few:
        return Count(
            (5 * m**3 / 6 + 27 * m**2 / 2 + 893 * m / 3 + 281) * n,
            (5 * m**3 / 6 + 23 * m**2 / 2 + 677 * m / 3 + 256) * n,
        )
    return Count((13 * m**2 + 298 * m + 673) * n, (14 * m**2 + 225 * m + 537) * n)


def cyril(n: int, m: int) -> Count:
    """A_3c with + 251 m/3, which gives the printed 12683."""
    return _cyril(n, m, 251 / 3)


def cyril_as_printed(n: int, m: int) -> Count:
    """A_3c with the printed - 251 m/6, which gives 10675 and not the printed 12683."""
    return _cyril(n, m, -251 / 6)


def _cyril(n: int, m: int, per_mode: float) -> Count:
    h = 1 + 2 * m
    cubic = h**3 / 6 + h**2 * (1 - m / 2) + h * (m**2 / 2 - 2 * m) - m**3 / 6 + m**2
    m2 = -3 * h**2 / 2 + h * (3 * m + 33 / 2) - 3 * m**2 / 2 - 15 * m / 2 + 12
    m3 = 5 * h**2 - h * (10 * m + 109 / 6) + m**3 / 6 + 53 * m**2 / 6 + 233 * m / 3 + 246
    a2 = -3 * h**2 / 2 + h * (3 * m + 13) - 3 * m**2 / 2 - 17 * m / 2 + 9
    a3 = 5 * h**2 - h * (10 * m + 85 / 6) + m**3 / 6 + 53 * m**2 / 6 + per_mode * m + 228
    return Count(cubic * n**3 + m2 * n**2 + m3 * n - 123, cubic * n**3 + a2 * n**2 + a3 * n - 102)


Method = Callable[[int, int], Count]
FARTHEST = 1000
"""Links up to which counts are compared."""


def gains(cheaper: Method, other: Method, m: int) -> list[tuple[int, int]]:
    """Ranges of links (first, last) in which one method needs fewer operations than another, up to ``FARTHEST``."""
    out: list[tuple[int, int]] = []
    for n in range(1, FARTHEST + 1):
        if cheaper(n, m).total < other(n, m).total:
            out[-1:] = [(out[-1][0], n)] if out and out[-1][1] == n - 1 else [*out[-1:], (n, n)]
    return out
