"""What a run asks for where its highest values are sought, alone or side by side with other runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pliant.simulation.integrators.lockstep import Steps, alone
from pliant.simulation.summits import Points, Tops
from pliant.simulation.tracks import Floats, Ints, StepEnds, Track

Values = Callable[[Points], Steps[Floats]]
"""Numbers at points (points, columns)."""


class Pending:
    """Ends of steps that are to be looked at.

    spans  first and last time that the equations of each motion know
    """

    def __init__(self) -> None:
        self.parts: list[StepEnds] = []
        self.motions: list[int] = []
        self.spans: list[tuple[float, float]] = []
        self._goes_on = False

    def add(self, part: StepEnds, span: tuple[float, float]) -> None:
        """What follows on what was there, or begins anew."""
        if not self._goes_on:
            self.spans.append(span)
        self._goes_on = True
        self.parts.append(part)
        self.motions.append(len(self.spans) - 1)

    def jump(self) -> None:
        """What comes next does not go on from here."""
        self._goes_on = False

    def memory(self) -> dict[str, Any]:
        """All of it, as arrays."""
        if not self.parts:
            return {}
        ends = {key: np.concatenate([getattr(part, key) for part in self.parts]) for key in StepEnds._fields}
        lengths = [len(part.times) for part in self.parts]
        own = {"lengths": lengths, "motions": self.motions, "spans": self.spans, "goes_on": self._goes_on}
        return {**ends, **{key: np.array(x) for key, x in own.items()}}

    @classmethod
    def recalled(cls, memory: Mapping[str, Any]) -> Pending:
        """What ``memory`` gave."""
        out = cls()
        if memory:
            cuts = np.cumsum(memory["lengths"])[:-1]
            ends = (np.split(np.array(memory[key]), cuts) for key in StepEnds._fields)
            out.parts = [StepEnds(*each) for each in zip(*ends, strict=True)]
            out.motions = [int(k) for k in memory["motions"]]
            out.spans = [(float(a), float(b)) for a, b in memory["spans"]]
            out._goes_on = bool(memory["goes_on"])
        return out

    def clocks(self, points: Points) -> Floats:
        """Times, kept inside the spans of their motions."""
        first, last = np.array(self.spans).T[:, points.motion]
        clocks: Floats = np.minimum(np.maximum(points.times, first), last)
        return clocks


class TopsAsk:
    """Asks for the highest values of a run; they are noted in its tops.

    tops    of one run
    count   positions in a state, see ``Track``
    values  what is looked at
    """

    def __init__(self, tops: Tops, pending: Pending, count: int, values: Values) -> None:
        self.tops, self.pending, self.count, self.values = tops, pending, count, values

    @property
    def likeness(self) -> tuple[object, ...]:
        """What runs have in common that are climbed side by side."""
        tops, states = self.tops, self.pending.parts[0].states
        return (*(x.tobytes() for x in (tops.columns, tops.signs, tops.smooth)), states.shape[1], self.count)

    def alone(self) -> bool:
        climb([self], lambda wanted: [alone(each) for each in wanted])
        return True


def climb(asks: Sequence[TopsAsk], found: Callable[[list[Steps[Floats]]], list[Floats]]) -> None:
    """Find the tops of runs that are alike; ``found`` answers what their values take."""
    first = asks[0].tops
    best, when = (np.vstack([getattr(ask.tops, name) for ask in asks]) for name in ("best", "when"))
    tops = Tops(first.columns, first.signs, first.smooth, best, when)
    counts = [len(ask.pending.spans) for ask in asks]
    offsets: Ints = np.cumsum([0, *counts])
    parts = [part for ask in asks for part in ask.pending.parts]
    numbers = [offset + k for ask, offset in zip(asks, offsets.tolist(), strict=False) for k in ask.pending.motions]
    looks = tops.climbing(Track(parts, asks[0].count, numbers), np.repeat(np.arange(len(asks)), counts))
    try:
        points = next(looks)
        while True:
            points = looks.send(np.concatenate(found(_each(asks, offsets, points))))
    except StopIteration:
        pass
    for ask, *own in zip(asks, best, when, strict=True):
        ask.tops.best[:], ask.tops.when[:] = own


def _each(asks: Sequence[TopsAsk], offsets: Ints, points: Points) -> list[Steps[Floats]]:
    """What the runs that have points give there."""
    bounds = np.searchsorted(points.motion, offsets).tolist()
    return [
        ask.values(Points(points.motion[a:b] - offset, points.times[a:b], points.states[a:b]))
        for ask, offset, a, b in zip(asks, offsets.tolist(), bounds, bounds[1:], strict=False)
        if b > a
    ]
