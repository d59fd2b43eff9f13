"""A cross: a turn about an axis, then one about a second axis that the first one turns.

On a link it is read as two revolute joints with a massless cross between them
(``model/description/derived_links.py``); in a loop its two axes keep their angle.
"""

from __future__ import annotations

from collections.abc import Sequence

from pliant.joints.rows import SHIFTS, ClosureKind, ClosureRow, CrossRow

SUFFIXES = ("_1", "_2")
"""What the names of its two turns add to its own."""

AXES = ("x", "y")
"""Its axes where none are given."""


class Universal(ClosureKind):
    """A cross."""

    name = "universal"
    meaning = "turns about two axes"
    closes = "universal"
    holds = "all but turns about the first of its `axes` in the first frame and the second in the second"
    keys = ("axes",)
    acting = ("motor", "friction", "spring", "limits")
    """Keys of what acts along each of its two turns."""

    @classmethod
    def rows(cls, parameters: Sequence[float], axes: tuple[Sequence[float], Sequence[float]]) -> tuple[ClosureRow, ...]:
        first, second = ((float(x), float(y), float(z)) for x, y, z in axes)
        return (*SHIFTS, CrossRow(first, second))
