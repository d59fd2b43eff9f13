"""Runs that are made one by one, or several at a time: in the lanes of vector registers, in batches of all robots.

What goes on is a generator: it hands out what it asks for and is told the answer. Whoever drives it finds the answers,
alone or together with those that other runs ask for at the same time.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Ask(Protocol):
    """Something that a run asks for, and that may be found together with what other runs ask for."""

    def alone(self) -> Any:
        """The answer for this run alone."""
        ...


Steps = Generator[Ask, Any, T]


def alone(steps: Steps[T]) -> T:
    """Answer one by one, and give what comes out in the end."""
    try:
        ask = next(steps)
        while True:
            try:
                answer = ask.alone()
            except Exception as error:
                ask = steps.throw(error)
            else:
                ask = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result
