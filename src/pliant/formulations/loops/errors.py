"""What can go wrong with a loop: it cannot close, or it is singular."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LoopError(ValueError):
    """A closed loop of a robot cannot be handled as asked."""


class PlaneError(LoopError):
    """A loop that is said to move in a plane, and does not."""


class AssemblyError(LoopError):
    """Loops that do not close; ``gaps`` maps their names to (distance in m, angle in rad)."""

    def __init__(self, message: str, gaps: Mapping[str, tuple[float, float]]) -> None:
        super().__init__(message)
        self.gaps = dict(gaps)

    def __reduce__(self) -> tuple[Any, ...]:
        # an exception is made anew from its message alone
        return type(self), (str(self), self.gaps)


class SingularConfigurationError(LoopError):
    """A configuration in which the motion, or what was asked for, is not determined.

    loops      names of the loops that lose a constraint
    condition  condition number there (infinite, or beyond what double precision resolves)
    """

    def __init__(self, message: str, loops: tuple[str, ...], condition: float) -> None:
        super().__init__(message)
        self.loops = loops
        self.condition = condition

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.loops, self.condition)
