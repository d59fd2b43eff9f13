"""A controller on a computer: sample, compute, wait, hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.drives.drive import DriveLaw, Tick
from pliant.drives.given import GivenLaw
from pliant.dynamics import Dynamics
from pliant.laws import Floats, LawState
from pliant.spatial.vectors import Vector

SAME = 1e-9
"""Instants closer than this part of a period are one."""


class SampledLaw(GivenLaw):
    """Another law that is evaluated at multiples of a period; its commands take effect after a delay and are held.

    Between the ticks it is a law whose signals are the held command. Its discrete states are the ``sampled_states`` of
    the other law, which its ``computed`` advances: those of an integrator, say, by Euler steps of one period, as they
    would on a computer.
    """

    def __init__(self, inner: DriveLaw, period: float, delay: float, arm: Dynamics) -> None:
        self.inner, self.period, self.delay = inner, period, delay
        self.path, self.channels, self.size = inner.path, len(arm.inputs), arm.size
        self.is_compiled = arm.compiled and not inner.in_python
        self.x = np.array([state.initial for state in inner.sampled_states])
        self.held = np.zeros(self.channels)
        self.count = 0
        self.waiting: list[tuple[float, Floats]] = []

    @property
    def breaks(self) -> tuple[float, ...]:
        # what the controller sees between samples does not matter
        return ()

    def next_tick(self, t: float) -> float:
        sample = self.count * self.period
        return min(sample, self.waiting[0][0]) if self.waiting else sample

    def tick(self, t: float, q: Floats, v: Floats) -> None:
        close = SAME * self.period
        if t >= self.count * self.period - close:
            self.x, command = self._computed(t, q, v)
            self.waiting.append((self.count * self.period + self.delay, command))
            self.count += 1
        while self.waiting and t >= self.waiting[0][0] - close:
            self.held = self.waiting.pop(0)[1]

    def computed(self, q: Vector, v: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        """The text of a tick, on any scalars."""
        return self.inner.computed(q, v, discrete, signals, gains, period)

    @property
    def discrete(self) -> tuple[LawState, ...]:
        return self.inner.sampled_states

    def discrete_at(self, times: Floats) -> Floats:
        return self.x[None].repeat(len(times), axis=0)

    def _computed(self, t: float, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """New discrete states and the command at an instant, in one call of machine code where there is one."""
        inner = self.inner
        if self.is_compiled:
            signals = inner.signals(np.array([t]))[0]
            (out,) = self._kernel(q, v, self.x, signals, np.array([*inner.gains, 0.0]), np.array([self.period]))
            if np.isfinite(out).all() or not inner.may_refuse:
                return out[: len(self.x)].copy(), out[len(self.x) :].copy()
        if inner.in_python:
            return self.x, np.array(inner.at(t, q, v, self.x).efforts, dtype=float)
        (signals,) = inner.signals(np.array([t])).tolist()
        found = inner.computed(q.tolist(), v.tolist(), self.x.tolist(), signals, list(inner.gains), [self.period])
        return np.array(found.discrete, dtype=float), np.array(found.command, dtype=float)

    @property
    def _kernel(self) -> Any:
        from pliant.engine.call.row_kernel import RowKernel

        inner, n = self.inner, self.size
        sizes = {"q": n, "v": n, "x": len(self.x), "r": inner.channels, "gains": len(inner.gains) + 1, "period": 1}

        def text(*given: Vector) -> Vector:
            found = self.computed(*given)
            return [*found.discrete, *found.command]

        return RowKernel.of(("tick", inner.structure), text, sizes)

    def signals(self, t: Floats) -> Floats:
        return self.held[None].repeat(len(t), axis=0)

    def memory(self) -> dict[str, Any]:
        return {
            "x": self.x,
            "held": self.held,
            "count": np.array(self.count),
            "waiting_times": np.array([t for t, _ in self.waiting]),
            "waiting": np.array([tau for _, tau in self.waiting]).reshape(-1, len(self.held)),
        }

    def recall(self, memory: dict[str, Any]) -> None:
        self.x, self.held, self.count = memory["x"], memory["held"], int(memory["count"])
        self.waiting = [(float(t), tau) for t, tau in zip(memory["waiting_times"], memory["waiting"], strict=True)]
