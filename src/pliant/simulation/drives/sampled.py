"""A controller on a computer: sample, compute, wait, hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.simulation.drives.drive import NO_RATES, Action, ActiveDrive
from pliant.simulation.trajectories.path import Floats

SAME = 1e-9
"""Instants closer than this part of a period are one."""


class SampledDrive(ActiveDrive):
    """Another drive that is asked at multiples of a period; its commands take effect after a delay and are held.

    Its own states (an integrator, say) advance by Euler steps of one period, as they would on a computer.
    """

    feedback = False

    def __init__(self, inner: ActiveDrive, period: float, delay: float, inputs: int) -> None:
        self.inner, self.period, self.delay = inner, period, delay
        self.path = inner.path
        self.x = inner.initial()
        self.held = np.zeros(inputs)
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
            tau, x_dot = self.inner.act(t, q, v, self.x)
            self.x = self.x + self.period * x_dot
            self.waiting.append((self.count * self.period + self.delay, np.array(tau, dtype=float)))
            self.count += 1
        while self.waiting and t >= self.waiting[0][0] - close:
            self.held = self.waiting.pop(0)[1]

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        return Action(self.held, NO_RATES)

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return self.held[None].repeat(len(times), axis=0)

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
