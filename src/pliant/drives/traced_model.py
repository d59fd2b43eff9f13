"""Models that the text of a law computes with: on tapes and stacked gains their traced functions, on plain numbers the
models themselves.

Their numbers are among the gains of the law, so that robots of one structure share the code.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.algorithm import Traced
from pliant.engine.trace.structure import constants_from, numbers_of, structure_key
from pliant.spatial.scalars import Scalar, frozen, step
from pliant.spatial.vectors import Vector

if TYPE_CHECKING:
    from pliant.drives.prescribed import PrescribedDynamics
    from pliant.formulations.loops.loops import Rows
    from pliant.laws import Floats
    from pliant.trajectories.driven_twin import DrivenTwin

CLOSING_STEPS = 4
"""Newton steps from the passive joints of the bent robot to those of its rigid twin. An error e becomes about e^2/2:
0.1 rad ends below rounding."""

LARGEST_CLOSING = 1e-5
"""Scaled change of the last of them: what is left is its square."""


def are_own(numbers: Vector) -> bool:
    """Whether gains are plain floats, and so a model's own numbers: neither traced nor those of many runs."""
    return type(numbers[0]) is float


def as_rows(columns: Vector) -> Floats:
    """Columns or floats as an array (rows, ...) or of one state."""
    return np.stack(np.broadcast_arrays(*columns), axis=-1) if columns else np.zeros(0)


def as_columns(found: Floats) -> Vector:
    """An array of one state or several as floats or columns."""
    return list(found.tolist() if found.ndim == 1 else found.T)


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
        self.model = model

    @cached_property
    def inverse(self) -> TracedModel:
        return TracedModel(self.model.traced_inverse)

    @cached_property
    def correction(self) -> TracedModel | None:
        return TracedModel(self.model.traced_correction) if self.model.is_closed else None

    @property
    def may_refuse(self) -> bool:
        """Whether its results are no numbers where the twin cannot be closed from the robot's own joints."""
        return self.model.is_closed

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
        """Efforts of the inputs, for their positions, rates and accelerations; ``near`` are the robot's coordinates."""
        if are_own(numbers):
            return as_columns(self.model.efforts(as_rows(q), as_rows(v), as_rows(a), as_rows(near)))
        return self._efforts(*self._state(near, q, v, numbers), a, numbers)

    def gravity(self, near: Vector, q: Vector, numbers: Vector) -> Vector:
        """Efforts of the inputs that hold the twin against gravity."""
        if are_own(numbers):
            return as_columns(self.model.gravity(as_rows(q), as_rows(near)))
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


class TracedPrescribed:
    """The robot with its inputs prescribed: efforts of the inputs, and accelerations of the other coordinates.

    rows  of over-constrained loops, that machine code keeps
    """

    def __init__(self, model: PrescribedDynamics, rows: Rows | None) -> None:
        self.model = model
        self.inverse = TracedModel(model.loops.traced_forward(tuple(model.driven.tolist()), rows))

    @property
    def structure(self) -> Hashable:
        return self.inverse.structure

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        return self.inverse.numbers

    def solve(self, q: Vector, v: Vector, a_driven: Vector, numbers: Vector) -> tuple[Vector, Vector]:
        """Efforts of the inputs and accelerations of the free coordinates, at coordinates and rates of all."""
        if are_own(numbers):
            tau, a_free = self.model.solve(*map(as_rows, (q, v, a_driven)))
            return as_columns(tau), as_columns(a_free)
        given: Vector = [0.0] * len(q)
        for i, a in zip(self.model.driven.tolist(), a_driven, strict=True):
            given[i] = a
        inverse, m = self.inverse, len(a_driven)
        out = inverse(dict(zip(inverse.traced.algorithm.inputs, (q, v, given), strict=True)), numbers)
        return out[:m], [out[m + i] for i in self.model.free.tolist()]
