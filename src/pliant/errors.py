"""What is wrong with a robot description: the thing, the value, the rule, the place and the remedy."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from numbers import Integral, Real
from typing import Any

# a hopeless file may hold thousands of problems; nobody reads more than this many lines
SHOWN_PROBLEMS = 50
MOST_PROBLEMS = 500
LONGEST_VALUE = 60

# reprlib stays quick on huge values and survives objects whose repr fails
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = LONGEST_VALUE
_SHORT.maxlist = _SHORT.maxtuple = 9
_SHORT.maxlevel = 3


# what steers a terminal instead of being seen on it
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """A text for a terminal or a picture: control characters are written out, lines and tabs stay."""
    return _STEERING.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    element  the part of the robot, such as ``links[2] 'forearm'``
    message  the value, the rule and the remedy
    file     the user's file, if there is one
    line     its line, counted from one
    path     keys that lead to the thing from the part that found it
    """

    element: str
    message: str
    file: str | None = None
    line: int | None = None
    path: tuple[int | str, ...] = ()

    def at(self, file: str | None, line: int | None) -> Problem:
        """This problem at a known place."""
        return replace(self, file=file, line=line)

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.file, f"line {self.line}" if self.line else None) if part is not None)
        return ": ".join(part for part in (place, self.element, self.message) if part)


class ModelError(ValueError):
    """A robot description that cannot be used, with all its problems."""

    def __init__(self, problems: Iterable[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = Problem("", problems)
        self.problems: tuple[Problem, ...] = (
            (problems,) if isinstance(problems, Problem) else tuple(dict.fromkeys(problems))
        )
        super().__init__(self.problems)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        if len(self.problems) > SHOWN_PROBLEMS:
            lines.append(f"... and {len(self.problems) - SHOWN_PROBLEMS} more problems")
        return "\n".join(lines)


class RepairWarning(UserWarning):
    """What was changed in a description so that it can be used, each change with its place.

    ``strict`` refuses such a description instead.
    """

    def __init__(self, repairs: Iterable[Problem]) -> None:
        self.repairs: tuple[Problem, ...] = tuple(dict.fromkeys(repairs))
        super().__init__(self.repairs)

    def __str__(self) -> str:
        count = len(self.repairs)
        head = f"{count} {'thing was' if count == 1 else 'things were'} repaired or renamed (strict refuses instead):"
        lines = [f"  {repair}" for repair in self.repairs[:SHOWN_PROBLEMS]]
        if count > SHOWN_PROBLEMS:
            lines.append(f"  ... and {count - SHOWN_PROBLEMS} more")
        return "\n".join([head, *lines])


def show(value: Any) -> str:
    """A value as the user would write it, shortened when long."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = _SHORT.repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 4]} ..."


def nearest(word: object, options: Iterable[str]) -> str | None:
    """The known word that a misspelt one most likely means."""
    if not isinstance(word, str) or len(word) > LONGEST_VALUE:
        return None
    lower_case = {option.lower(): option for option in options}
    # a word written with other separators is still the same word
    squeezed = {_squeeze(lower): option for lower, option in lower_case.items()}
    if (same := squeezed.get(_squeeze(word.lower()))) is not None:
        return same
    near = difflib.get_close_matches(word.lower(), lower_case, n=1, cutoff=0.6)
    return lower_case[near[0]] if near else None


def _squeeze(word: str) -> str:
    return word.translate(str.maketrans("", "", "-_ "))


def did_you_mean(word: object, options: Iterable[str]) -> str:
    """The end of a sentence that proposes the nearest known word, or nothing."""
    meant = nearest(word, options)
    return f"; did you mean '{meant}'?" if meant is not None else ""


def listing(words: Iterable[str]) -> str:
    """``'a', 'b' or 'c'``."""
    quoted = [f"'{word}'" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


# ---- words, numbers and counts that a caller gives


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
