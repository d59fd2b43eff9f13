"""Words and numbers that tables, reports and pictures share."""

from __future__ import annotations

from math import degrees, floor, isfinite, log10


def as_written(text: str) -> str:
    """A text of the user for a picture, in which dollars would begin a formula."""
    from pliant.errors import printable

    return printable(text).replace("$", r"\$")


def counted(n: int, word: str) -> str:
    """``1 link``, ``2 links``."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
WHOLE = ("", "kg", "s", "rad", "deg")
"""Units that take no prefix."""


def engineering(value: float, unit: str, digits: int = 3) -> str:
    """``69.4 kN m``, ``2.5 mm``; an angle also in degrees, ``0.524 rad (30°)``."""
    number = value + 0.0
    if unit == "rad" and isfinite(number):
        return f"{number:.{digits}g} rad ({degrees(number):.{digits}g}°)" if number else "0 rad"
    if unit in WHOLE or not isfinite(number) or number == 0:
        return f"{number:.{digits}g} {unit}".strip()
    # rounding may carry into the next power: 999.9 becomes 1.00e3
    rounded = float(f"{number:.{digits - 1}e}")
    power = min(max(3 * floor(log10(abs(rounded)) / 3 + 1e-12), min(PREFIXES)), max(PREFIXES))
    scaled = rounded / 10.0**power
    # as many digits as asked for, without an exponent below a thousand
    text = f"{scaled:.{digits}g}" if abs(scaled) < 1000 else f"{scaled:.{digits - 1}e}"
    return f"{float(text):g} {PREFIXES[power]}{unit}" if abs(scaled) < 1000 else f"{text} {PREFIXES[power]}{unit}"
