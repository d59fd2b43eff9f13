"""A claim: one number of ours, what it should be and how far apart they may be."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

Verdict = Literal["agrees", "differs", "known error"]


@dataclass(frozen=True)
class Claim:
    """One line of the verification.

    case       what it is called, PART.WHAT.NUMBER: other programs' results are put beside it by this name
    what       in words
    ours       our number
    theirs     the number that it is compared with; 0 for differences and identities
    tolerance  how far apart they may be: relative to ``theirs``, or in its unit where that is zero or ``absolute``
    source     where theirs is from
    unit       of both
    wrong      why a published number is wrong; ours must then differ from it
    robot      whose number it is, for other programs; none where our own methods are compared
    given      what acts on it: loads on frames (N, N m), rates or motions of joints (rad/s, formulas in t)
    """

    case: str
    what: str
    ours: float
    theirs: float
    tolerance: float
    source: str = ""
    unit: str = ""
    absolute: bool = False
    wrong: str = ""
    robot: Robot | None = None
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def deviation(self) -> float:
        """How far apart they are, in the sense of the tolerance."""
        away = abs(self.ours - self.theirs)
        return away if self.absolute or self.theirs == 0 else away / abs(self.theirs)

    @property
    def verdict(self) -> Verdict:
        """Whether ours is as it should be; a number that is not finite never is."""
        near = isfinite(self.deviation) and self.deviation <= self.tolerance
        if self.wrong:
            return "known error" if isfinite(self.ours) and not near else "differs"
        return "agrees" if near else "differs"

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "robot"}
        return {**plain, "deviation": self.deviation, "verdict": self.verdict}
