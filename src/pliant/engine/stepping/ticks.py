"""A computer beside a run: at multiples of a period it samples the state and computes, and holds its command.

Integrators end their steps at the ticks. What is known of them is in arrays that machine code reads and writes, too.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 1024
"""Ticks whose signals are found together; blocks begin at multiples of it."""
SAME = 1e-9
"""Instants closer than this part of a period are one."""


class Entry(IntEnum):
    """Entries of the array of numbers: period, delay, next tick, next one whose command takes effect, tick of the first
    row of the log, first tick of the table of signals and the one behind its last."""

    PERIOD = 0
    DELAY = 1
    COUNT = 2
    EFFECT = 3
    FIRST = 4
    TABLE = 5
    TABLE_END = 6


class Ticks:
    """What a computer knows; see ``Entry`` for its numbers.

    table  signals of some ticks (BLOCK, channels), found by ``find(first, count)``
    log    discrete states and commands, a row for each tick since the oldest command that may still be asked for
    held   the command in force
    until  end of the run: later signals are not asked for
    """

    def __init__(
        self,
        find: Callable[[int, int], Floats],
        initial: Floats,
        inputs: int,
        channels: int,
        *,
        period: float,
        delay: float = 0.0,
        until: float = inf,
    ) -> None:
        self._find, self.until = find, until
        self.numbers = np.zeros(len(Entry))
        self.numbers[[Entry.PERIOD, Entry.DELAY]] = period, delay
        self.period, self.delay = period, delay
        self.table = np.zeros((BLOCK, max(channels, 1)))
        self.channels = channels
        self.log = np.zeros((BLOCK, len(initial) + inputs))
        self.initial, self.discrete, self.held = initial, initial.copy(), np.zeros(inputs)

    def _number(self, entry: Entry) -> int:
        return int(self.numbers[entry])

    @property
    def count(self) -> int:
        """The next tick."""
        return self._number(Entry.COUNT)

    @property
    def upcoming(self) -> float:
        """When the next tick is, or a command takes effect."""
        effect = self._number(Entry.EFFECT)
        waits = effect < self.count
        return min(self.count * self.period, effect * self.period + self.delay if waits else inf)

    def signals(self) -> Floats:
        """Signals of the next tick; the block that it is in is found if need be."""
        k = self.count
        if not self.numbers[Entry.TABLE] <= k < self.numbers[Entry.TABLE_END]:
            first = k - k % BLOCK
            # a few more than there are: the end may be moved by rounding, never the numbers
            count = BLOCK if self.until == inf else min(BLOCK, max(int(self.until / self.period) + 1, k) - first + 1)
            self.table[:count, : self.channels] = self._find(first, count)
            self.numbers[[Entry.TABLE, Entry.TABLE_END]] = first, first + count
        return self.table[k - self._number(Entry.TABLE), : self.channels]

    def take(self, t: float, compute: Callable[[], tuple[Floats, Floats]]) -> None:
        """All that is due at a time; ``compute`` gives discrete states and the command of a tick."""
        close = SAME * self.period
        if t >= self.count * self.period - close:
            self.discrete[:], command = compute()
            self.make_room()
            self.log[self.count - self._number(Entry.FIRST)] = *self.discrete, *command
            self.numbers[Entry.COUNT] += 1
        while (k := self._number(Entry.EFFECT)) < self.count and t >= k * self.period + self.delay - close:
            self.held[:] = self.log[k - self._number(Entry.FIRST), len(self.discrete) :]
            self.numbers[Entry.EFFECT] += 1

    def make_room(self, rows: int = 1) -> None:
        """Forget what was before the command in force where the log has less room."""
        first, needed = self._number(Entry.FIRST), max(self._number(Entry.EFFECT) - 1, 0)
        kept = self.count - needed
        if self.count - first + rows > len(self.log):
            own = self.log[needed - first : self.count - first].copy()
            if kept + rows > len(self.log):
                self.log = np.zeros((kept + max(rows, BLOCK), self.log.shape[1]))
            self.log[:kept] = own
            self.numbers[Entry.FIRST] = needed

    # ---- what was

    def _rows(self, times: Floats, delay: float, last: int, before: Floats) -> Floats:
        """Parts of the log in force at times, up to a tick; at a tick, what was before, but for the first instant."""
        k = np.ceil((times - delay) / self.period).astype(np.int64) - 1
        # rounding of the quotient does not matter, only whether an instant was before
        k += (k + 1) * self.period + delay < times
        k -= k * self.period + delay >= times
        k = np.clip(np.where(times <= 0, 0 if delay == 0 else -1, k), -1, last - 1)
        row = k - self._number(Entry.FIRST)
        if (row[k >= 0] < 0).any():
            raise ValueError(f"what was commanded at t = {times.min():.6g} s is no longer known")
        part = slice(0, len(self.discrete)) if before is self.initial else slice(len(self.discrete), None)
        return np.where((k >= 0)[:, None], self.log[np.maximum(row, 0), part], before)

    def commands(self, times: Floats) -> Floats:
        """Commands in force at times (times, inputs)."""
        return self._rows(times, self.delay, self._number(Entry.EFFECT), np.zeros(len(self.held)))

    def states(self, times: Floats) -> Floats:
        """Discrete states at times (times, states)."""
        return self._rows(times, 0.0, self.count, self.initial)

    # ---- checkpoints

    def memory(self) -> dict[str, Any]:
        """What must be kept to go on."""
        first, needed = self._number(Entry.FIRST), max(self._number(Entry.EFFECT) - 1, 0)
        log = self.log[needed - first : self.count - first].copy()
        return {
            "x": self.discrete.copy(),
            "held": self.held.copy(),
            "count": np.array([self.count, self._number(Entry.EFFECT)]),
            "log": log,
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from what ``memory`` gave."""
        self.discrete[:], self.held[:] = memory["x"], memory["held"]
        count, effect = (int(x) for x in memory["count"])
        self.numbers[[Entry.COUNT, Entry.EFFECT, Entry.FIRST]] = count, effect, max(effect - 1, 0)
        self.numbers[[Entry.TABLE, Entry.TABLE_END]] = 0
        kept = len(memory["log"])
        if kept > len(self.log):
            self.log = np.zeros((kept + BLOCK, self.log.shape[1]))
        self.log[:kept] = memory["log"]
