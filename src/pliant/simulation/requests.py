"""What a run needs and what may be found for many runs at once: steps in lanes, equilibria, efforts in batches.

A run asks for ``request.value``, which is then found for it alone. Whoever makes many runs side by side
(``sweeps/together.py``) finds the values of all of them before, as far as it can do that together, and puts them there.
"""

from __future__ import annotations

from functools import cached_property
from typing import Generic, TypeVar

T = TypeVar("T")


class Request(Generic[T]):
    """Something that a run needs."""

    @cached_property
    def value(self) -> T:
        """What was asked for; found for this run alone unless it was put here before."""
        raise NotImplementedError

    @property
    def is_known(self) -> bool:
        """Whether the value is there already."""
        return "value" in self.__dict__
