"""A controller on a computer: sample, compute, wait, hold.

Any ``DriveLaw`` can be sampled. Its computer calls

    law.computed(q, v, discrete, signals, gains, period) -> Tick(discrete states from now on, command)

at the times k * period. That is one text on any scalars, as ``efforts`` is: it is traced once and runs in machine code
between the steps of every integrator, which end at the ticks. By default it is ``efforts`` with Euler steps of the
states. A law that knows better (an observer, a filter in discrete form) overrides ``computed``; one that exists in
discrete form alone is a ``DiscreteLaw``.

    discrete  its discrete states: ``sampled_states`` tells their names, units and first values; results have them as
              channels ``drive.NAME``, checkpoints keep them
    signals   what is known before the run, a row of ``law.at_ticks(first, count, period)`` (count, channels):
              references, and noise. Rows are asked for in blocks, and must depend on the number of the tick alone: so
              a run that was killed goes on bit by bit. ``noise`` gives such columns.
    period    one number, in a list
    command   efforts of the inputs. It takes effect after the delay and is held until the next one does; a law that
              needs to know what it commanded before keeps that as a state.

A sensor is a function of q and v inside ``computed``: ``floor`` of ``pliant.spatial.scalars`` counts the lines of an
encoder, ``atan2`` gives angles, noise comes in as a signal times its root mean square.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from pliant.drives.drive import DriveLaw, Tick
from pliant.drives.given import GivenLaw
from pliant.engine.call.row_kernel import RowKernel
from pliant.engine.stepping.ticks import Ticks
from pliant.laws import Action, Floats, LawState
from pliant.spatial.vectors import Vector
from pliant.trajectories.path import Surroundings

WORDS_PER_TICK = 4
"""Random words that a tick of a channel has to itself."""


def noise(seed: int, channels: int, first: int, count: int) -> Floats:
    """Independent normal numbers of mean 0 and variance 1 for the ticks first, first + 1, ... (count, channels).

    Each follows from the seed, its channel and the number of its tick (Philox: Salmon et al., SC 2011), so that the
    same numbers come in whatever blocks they are asked for.
    """
    out = np.empty((count, channels))
    for k in range(channels):
        words = np.random.Philox(key=[seed, k], counter=[first, 0, 0, 0]).random_raw(WORDS_PER_TICK * count)
        # Box and Muller, of numbers in (0, 1)
        u, angle = ((words.reshape(count, -1)[:, :2] >> np.uint64(11)) + 0.5).T * 2.0**-53
        out[:, k] = np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * angle)
    return out


class DiscreteLaw(DriveLaw):
    """A law that exists at ticks alone."""

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        raise TypeError(f"{type(self).__name__} computes at ticks alone; it needs a sampling period")

    @abstractmethod
    def computed(self, q: Vector, v: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        """The text of a tick, on any scalars: its states from now on, and its command."""


class SampledLaw(GivenLaw):
    """Another law that is evaluated at multiples of a period; its commands take effect after a delay and are held.

    Between the ticks its efforts are the held command. It has no continuous states: those of the other law (an
    integrator, say) are discrete ones.

    ticks  what its computer knows, as integrators advance it
    """

    def __init__(self, inner: DriveLaw, period: float, delay: float, around: Surroundings) -> None:
        self.inner, self.period, self.delay = inner, period, delay
        arm = around.arm
        self.path, self.channels, self.size = inner.path, len(arm.inputs), arm.size
        self.is_compiled = arm.compiled and not inner.in_python
        self.feels = inner.feels
        initial = np.array([state.initial for state in inner.sampled_states])
        self.ticks = Ticks(
            self._table, initial, self.channels, inner.channels, period=period, delay=delay, until=around.until
        )
        self.ticks.may_refuse = inner.may_refuse

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.inner.cautions

    @property
    def breaks(self) -> tuple[float, ...]:
        # what the controller sees between samples does not matter
        return ()

    @property
    def discrete(self) -> tuple[LawState, ...]:
        return self.inner.sampled_states

    def discrete_at(self, times: Floats) -> Floats:
        return self.ticks.states(times)

    def next_tick(self, t: float) -> float:
        return self.ticks.upcoming

    def tick(self, t: float, q: Floats, v: Floats) -> None:
        self.ticks.take(t, lambda: self._computed(t, q, v))

    def _table(self, first: int, count: int) -> Floats:
        return self.inner.at_ticks(first, count, self.period)

    def _computed(self, t: float, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """New discrete states and the command at an instant, in one call of machine code where there is one."""
        inner, z, count = self.inner, self.ticks.discrete, len(self.ticks.discrete)
        if inner.in_python:
            return z, np.array(inner.at(t, q, v, z).efforts, dtype=float)
        signals = self.ticks.signals()
        if self.kernel is not None:
            (out,) = self.kernel(q, v, z, signals, self.gains_in_code)
            if np.isfinite(out).all() or not inner.may_refuse:
                return out[:count].copy(), out[count:].copy()
        found = inner.computed(q.tolist(), v.tolist(), z.tolist(), signals.tolist(), list(inner.gains), [self.period])
        return np.array(found.discrete, dtype=float), np.array(found.command, dtype=float)

    @property
    def gains_in_code(self) -> Floats:
        """What the kernel takes: the gains of the other law, then the period."""
        return np.array([*self.inner.gains, self.period])

    def in_steps(self) -> Ticks:
        """What integrators advance; with a kernel where there is one."""
        if self.kernel is not None and self.ticks.kernel is None:
            self._gains = self.gains_in_code
            state = np.zeros(2 * self.size)
            arrays = (state, state, self.ticks.discrete, self.ticks.table, self._gains)
            self.ticks.kernel = self.kernel.bound(*arrays)
        return self.ticks

    @cached_property
    def kernel(self) -> RowKernel | None:
        """A tick in machine code, (q, v, discrete states, signals, gains and period) -> (states, command)."""
        if not self.is_compiled:
            return None
        inner, n = self.inner, self.size
        sizes = {"q": n, "v": n, "z": len(inner.sampled_states), "r": inner.channels, "gains": len(inner.gains) + 1}

        def text(q: Vector, v: Vector, z: Vector, r: Vector, gains: Vector) -> Vector:
            found = inner.computed(q, v, z, r, gains[:-1], gains[-1:])
            return [*found.discrete, *found.command]

        return RowKernel.of(("tick", inner.structure), text, sizes)

    def signals(self, t: Floats) -> Floats:
        """The commands in force at several times; at a tick, the one before."""
        return self.ticks.commands(t)

    def at(self, t: float, q: Floats, v: Floats, z: Floats) -> Action:
        # as steps see it that have just begun or are about to end
        return Action(self.ticks.held.tolist())

    def held_within(self, start: float, end: float) -> tuple[Floats, Floats]:
        return self.ticks.within(start, end)

    def memory(self) -> dict[str, Any]:
        return self.ticks.memory()

    def recall(self, memory: dict[str, Any]) -> None:
        self.ticks.recall(memory)
