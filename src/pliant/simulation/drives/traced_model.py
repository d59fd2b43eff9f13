"""Models that a drive computes with, traced: their numbers are among its gains, so that robots of one structure share
the code."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pliant.algorithm import Traced
from pliant.engine.trace.structure import constants_from, numbers_of, structure_key
from pliant.spatial.scalars import Scalar, frozen, step
from pliant.spatial.vectors import Vector

if TYPE_CHECKING:
    from pliant.simulation.driven_twin import DrivenTwin

CLOSING_STEPS = 4
"""Newton steps from the passive joints of the bent robot to those of its rigid twin. An error e becomes about e^2/2:
0.1 rad ends below rounding."""

LARGEST_CLOSING = 1e-5
"""Scaled change of the last of them: what is left is its square."""


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A function of a robot that takes its gravity and constants from a row of numbers."""

    traced: Traced

    @property
    def numbers(self) -> tuple[float, ...]:
        tree = self.traced.carrier
        return (*tree.gravity.tolist(), *numbers_of(tree))

    @property
    def structure(self) -> Hashable:
        """What decides the code."""
        return self.traced.algorithm.name, structure_key(self.traced.carrier)

    def __call__(self, inputs: Mapping[str, Vector], numbers: Vector, *, weight: bool = True) -> Vector:
        """The results for inputs by their names; without weight, as if there were no gravity."""
        algorithm, tree = self.traced
        gravity = [numbers[k] if g and weight else 0.0 for k, g in enumerate(tree.gravity.tolist())]
        return algorithm.evaluate(tree, inputs, constants_from(tree, numbers[3:]), gravity)


class TracedTwin:
    """The inverse dynamics of the rigid twin; its passive joints follow by the loops, or stay at the robot's pose."""

    def __init__(self, model: DrivenTwin) -> None:
        self.model, self.inverse = model, TracedModel(model.traced_inverse)
        self.correction = TracedModel(model.traced_correction) if model.is_closed else None

    @property
    def may_refuse(self) -> bool:
        """Whether its results are no numbers where the twin cannot be closed from the robot's own joints."""
        return self.correction is not None

    @property
    def structure(self) -> Hashable:
        """What decides the code; the pose of passive joints, and the sizes of their changes, are numbers in it."""
        model, own = self.model, (self.inverse.structure, self.model.driven)
        if self.correction is None:
            return own, model.q.tobytes()
        scale = model.loops.column_scale.tobytes()
        return own, self.correction.structure, tuple(model.passive), tuple(model.places), scale

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        return self.inverse.numbers

    def efforts(self, near: Vector, q: Vector, v: Vector, a: Vector, numbers: Vector) -> Vector:
        """Of the inputs, for their positions, rates and accelerations; ``near`` are the robot's coordinates."""
        return self._efforts(*self._state(near, q, v, numbers), a, numbers)

    def gravity(self, near: Vector, q: Vector, numbers: Vector) -> Vector:
        """Efforts of the inputs that hold the twin against gravity."""
        rest: Vector = [0.0] * len(q)
        full, still = self._state(near, q, rest, numbers)
        whole, springs = (self._efforts(full, still, rest, numbers, weight=weight) for weight in (True, False))
        return [x - y for x, y in zip(whole, springs, strict=True)]

    def _spread(self, x: Vector, others: Vector) -> Vector:
        """Values of the inputs among those of all coordinates of the twin."""
        out = list(others)
        for i, value in zip(self.model.driven, x, strict=True):
            out[i] = value
        return out

    def _state(self, near: Vector, q: Vector, v: Vector, numbers: Vector) -> tuple[Vector, Vector]:
        full, rate = self._spread(q, self.model.q.tolist()), self._spread(v, [0.0] * len(self.model.q))
        if self.correction is None:
            return full, rate
        for i, k in zip(self.model.passive, self.model.places, strict=True):
            full[i] = near[k]
        n = len(full)
        left: Scalar = 1.0
        for _ in range(CLOSING_STEPS):
            # a step from closed loops has their exact derivatives: those of the steps before have no part in it
            before = self._spread(q, [frozen(x) for x in full])
            out = self.correction({"q": before, "v": rate}, numbers, weight=False)
            full = out[:n]
        for i, scale in zip(self.model.passive, self.model.loops.column_scale[self.model.passive], strict=True):
            change = frozen((full[i] - before[i]) / scale)
            left = left * step(LARGEST_CLOSING**2 - change * change)
        # no number where the twin is too far from the robot to be closed like this
        return full, [x / left for x in out[n:]]

    def _efforts(self, full: Vector, rate: Vector, a: Vector, numbers: Vector, *, weight: bool = True) -> Vector:
        inputs = {"q": full, "v": rate, "a": self._spread(a, [0.0] * len(full))}
        tau = self.inverse(inputs, numbers, weight=weight)
        return tau[: len(a)] if self.correction is not None else [tau[i] for i in self.model.driven]
