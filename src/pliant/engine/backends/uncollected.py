"""Work without searches for cycles of dead objects.

A trace makes very many objects that live until its code is written, and to look through all of them again and again
for some that are dead takes a good part of its time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_BEFORE: list[bool] = []
"""Whether cycles were searched for, before each piece of such work that goes on; several threads may do some."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave the search to what comes after."""
    _BEFORE.append(gc.isenabled())
    gc.disable()
    try:
        yield
    finally:
        # the last to end finds what the first has found
        if _BEFORE.pop():
            gc.enable()


def end_all() -> None:
    """After a fork: threads that would end such work stayed with the parent."""
    if _BEFORE and _BEFORE[0]:
        gc.enable()
    _BEFORE.clear()
