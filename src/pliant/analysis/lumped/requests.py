"""What users may ask of the lumped method: numbers, counts and words, refused where they mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any

from pliant.errors import ModelError, did_you_mean, show


def require_word(name: str, given: Any, known: Sequence[str]) -> None:
    """Refuse a word that is not one of those that are known."""
    if given not in known:
        hint = did_you_mean(given, known) if isinstance(given, str) else ""
        raise ModelError(f"{name} is {show(given)}{hint}; it must be one of {', '.join(known)}")


def require_number(name: str, given: Any, unit: str, *, positive: bool = False) -> None:
    """Refuse what is no finite number, or not above zero where it must be."""
    good = _is(given, Real) and isfinite(given)
    if not good or (positive and not given > 0):
        what = "a number above zero" if positive else "a finite number"
        raise ModelError(f"{name} is {show(given)}; it must be {what}, in {unit}")


def require_count(name: str, given: Any, *, least: int = 1) -> None:
    """Refuse what is no whole number of at least so many."""
    if not _is(given, Integral) or given < least:
        raise ModelError(f"{name} is {show(given)}; it must be a whole number, at least {least}")


def _is(given: Any, kind: type) -> bool:
    """True and False are numbers to Python alone."""
    return not isinstance(given, bool) and isinstance(given, kind)
