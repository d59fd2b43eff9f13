"""What a run needs and what may be found for many runs at once: steps in lanes, equilibria, efforts in batches.

A run asks for ``request.value``, which is then found for it alone. Whoever makes many runs side by side
(``sweeps/together.py``) finds the values of all of them before, as far as it can do that together, and puts them there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Generic, TypeVar

T = TypeVar("T")


class Request(ABC, Generic[T]):
    """Something that a run needs."""

    @abstractmethod
    def alone(self) -> T:
        """Find it for this run alone."""

    @cached_property
    def value(self) -> T:
        """What was asked for; found alone unless it was put here before."""
        return self.alone()

    @property
    def is_known(self) -> bool:
        """Whether it is there already."""
        return "value" in self.__dict__
