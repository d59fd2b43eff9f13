"""Work without searches for cycles of dead objects.

A trace makes very many objects that live until its code is written, and to look through all of them again and again
for some that are dead takes a good part of its time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Works:
    """Pieces of such work that go on, in any threads, and whether cycles were searched for before the first."""

    def __init__(self) -> None:
        self.lock, self.count, self.searched = Lock(), 0, False

    def begin(self) -> None:
        with self.lock:
            if not self.count:
                self.searched = gc.isenabled()
                gc.disable()
            self.count += 1

    def end(self) -> None:
        with self.lock:
            # none are left after a fork, whose end may still come
            if self.count:
                self.count -= 1
                if not self.count and self.searched:
                    gc.enable()


_works = _Works()


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave the search to what comes after."""
    _works.begin()
    try:
        yield
    finally:
        _works.end()


def end_all() -> None:
    """After a fork: threads that would end such work stayed with the parent."""
    global _works
    if _works.count and _works.searched:
        gc.enable()
    _works = _Works()
