"""The samples of a run: when they are taken, and what is kept of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.results.samples import Floats, Samples
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.requests import Request
from pliant.simulation.state_equations import Moments, StateEquations

SAME = 1e-9
"""Sample times closer than this part of the sample step are one."""


def sample_times(step: float, until: float) -> Floats:
    """The multiples of a step and the end of the run, which is one of them if it is close to one."""
    times: Floats = np.asarray(np.arange(int(np.ceil(until / step)) + 2) * step, dtype=np.float64)
    times[times > until - SAME * step] = until
    return times[: int(np.searchsorted(times, until)) + 1]


@dataclass(eq=False)
class InstantsRequest(Request[Moments]):
    """Asks for everything about several instants, each seen from inside its own interval.

    clocks  times kept inside their intervals (times,)
    states  (times, size)
    """

    equations: StateEquations
    clocks: Floats
    states: Floats

    def alone(self) -> Moments:
        with self.equations.anywhere():
            return self.equations.moments(self.clocks, self.states)


class Recorder:
    """Samples a solution at the multiples of a step and at the end."""

    def __init__(self, equations: StateEquations, step: float, until: float) -> None:
        self.equations, self.step = equations, step
        self.times = sample_times(step, until)
        self.next = 0
        self.parts: list[Samples] = []
        self.blocks: list[Samples] = []
        # what depends on times and states alone is found for many samples at once
        self.can_wait = equations.can_wait
        self._waiting: list[tuple[Floats, Floats, Floats]] = []
        self._request: InstantsRequest | None = None

    def upcoming(self, end: float) -> Floats:
        """Sample times that are left, up to a time."""
        return self.times[self.next : int(np.searchsorted(self.times, end, side="right"))]

    def first(self, t: float, y: Floats) -> None:
        """The sample at the start."""
        self._keep(np.array([t]), y[None])
        self.next = 1

    def take(self, piece: Piece, end: float, last: bool = False) -> None:
        """The samples inside a piece up to a time; with ``last`` also that time itself."""
        times = self.upcoming(end)
        times = times[times > piece.start] if self.next else times
        self.next += len(times)
        if last and (not len(times) or times[-1] < end):
            times = np.append(times, end)
        if len(times):
            self._keep(times, piece(times))

    def _keep(self, times: Floats, states: Floats) -> None:
        self._waiting.append((times, self.equations.clocks(times), states))
        self._request = None
        if not self.can_wait:
            self.catch_up()

    def request(self) -> InstantsRequest | None:
        """What is needed of the samples that wait, to be found together with those of other runs; None without any."""
        if self._request is None and self._waiting:
            _, clocks, states = (np.concatenate(each) for each in zip(*self._waiting, strict=True))
            self._request = InstantsRequest(self.equations, clocks, states)
        return self._request

    def catch_up(self) -> None:
        """Find everything about the samples that wait."""
        request = self.request()
        if request is None:
            return
        q, v, tau, force, reference, wrenches = request.value
        times, layout = np.concatenate([each[0] for each in self._waiting]), self.equations.layout
        work, laws = (request.states[:, part].copy() for part in (layout.balances, layout.drive))
        self._waiting, self._request = [], None
        self.blocks.append(Samples(times, q, v, tau, force, work, reference, wrenches, laws))

    def fresh(self) -> Samples | None:
        """The samples since the last call."""
        self.catch_up()
        if not self.blocks:
            return None
        part = Samples.join(self.blocks)
        self.blocks = []
        self.parts.append(part)
        return part

    def samples(self) -> Samples:
        """All samples."""
        self.fresh()
        return Samples.join(self.parts)

    def recall(self, samples: Samples) -> None:
        """Go on after samples that were kept."""
        self.parts, self.blocks = [samples], []
        self.next = int(samples.time[-1] / self.step + SAME) + 1
