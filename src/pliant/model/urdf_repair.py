"""Repairs of what real URDF files hold: names that are no words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pliant.model.element import LONGEST_NAME
from pliant.model.outline import BASE

BASE_FRAME = "base_frame"
_STRANGE = re.compile(r"[^\w+-]+")


def word(name: str) -> str:
    """The nearest name that is a word: what is not a letter, digit, ``_``, ``+`` or ``-`` becomes ``_``."""
    plain = _STRANGE.sub("_", name).lstrip("+-")[:LONGEST_NAME]
    if plain == BASE:
        return BASE_FRAME
    return plain if re.search(r"\w", plain) else ""


def words(names: Iterable[str]) -> dict[str, str]:
    """A word for every name, all different; names that are words already keep theirs."""
    names = list(dict.fromkeys(names))
    kept = {name for name in names if word(name) == name}
    out: dict[str, str] = {}
    for name in names:
        plain = word(name)
        choice, k = plain, 2
        while name not in kept and choice and choice in kept:
            choice, k = f"{plain[: LONGEST_NAME - 8]}_{k}", k + 1
        kept.add(choice)
        out[name] = choice
    return out
