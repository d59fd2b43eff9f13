"""A traced function of a robot as users call it: one state or a batch, compiled or in NumPy, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.model.once import quick_property
from pliant.states import Labels, States

Floats = NDArray[np.float64]
Variant = Literal["", "weightless", "conservative"]


def make_evaluator(traced: Traced, seeds: tuple[str, ...] = (), compiled: bool = True) -> Any:
    """A traced function as a callable: machine code, or its replay in NumPy."""
    if compiled:
        from pliant.engine.call.evaluator import Evaluator, Program

        return Evaluator(Program(*traced, seeds))
    from pliant.engine.call.replay import ReplayEvaluator

    return ReplayEvaluator(*traced, seeds)


class Function:
    """A function of (q, v, ...), or with a seed its derivative by one of them.

    labels   names of the coordinates
    variant  "weightless": without gravity; "conservative": without damping and friction
    nothing  zeros (n,): an input that is this very array is zero, also in a batch
    """

    def __init__(
        self,
        traced: Traced,
        labels: Labels,
        nothing: Floats,
        *,
        compiled: bool,
        seed: str = "",
        variant: Variant = "",
    ) -> None:
        self.traced, self.labels, self.nothing = traced, labels, nothing
        self.compiled, self.seed, self.variant = compiled, seed, variant
        self.size = len(nothing)
        self._derivatives: dict[str, Function] = {}

    def by(self, seed: str) -> Function:
        """The derivative by an input: (outputs, n) for each state."""
        if seed not in self._derivatives:
            self._derivatives[seed] = Function(
                self.traced, self.labels, self.nothing, compiled=self.compiled, seed=seed, variant=self.variant
            )
        return self._derivatives[seed]

    def __call__(self, *inputs: States) -> Floats:
        """Evaluate one state, inputs (n,) each, or a batch, (count, n) each."""
        fast: Floats | None = self.quick(*inputs)
        return self._general(inputs) if fast is None else fast

    @cached_property
    def evaluator(self) -> Any:
        """What evaluates."""
        evaluator = make_evaluator(self.traced, (self.seed,) if self.seed else (), self.compiled)
        if self.variant == "weightless":
            evaluator.gravity[:] = 0.0
        elif self.variant == "conservative":
            from pliant.engine.trace.structure import dissipative_slots

            evaluator.constants[dissipative_slots(self.traced.carrier)] = 0.0
        return evaluator

    @property
    def is_quick(self) -> bool:
        """Whether built-in functions can be made of it."""
        from pliant.engine.call.border import layout_is_known

        return self.compiled and self.size > 0 and layout_is_known()

    @quick_property
    def quick(self) -> Callable[..., Any]:
        """The built-in function on plain arrays of one state; it gives None for all else."""
        return self.built()

    def built(self) -> Callable[..., Any]:
        """That function, new and ready."""
        if not self.is_quick:
            return declined
        from pliant.engine.call.calls import quick

        return quick(self.evaluator, [self.size] * len(self.traced.algorithm.inputs))

    def _general(self, inputs: tuple[States, ...]) -> Floats:
        names = self.traced.algorithm.inputs
        q = self.labels.states(names[0], inputs[0])
        arrays = [q]
        for name, x in zip(names[1:], inputs[1:], strict=True):
            array = np.zeros_like(q) if x is self.nothing else self.labels.states(name, x)
            if array.shape != q.shape:
                raise ValueError(f"q has shape {q.shape} and {name} {array.shape}; they must be the same")
            arrays.append(array)
        out = self._evaluated(arrays)
        with np.errstate(invalid="ignore", over="ignore"):
            total = out.sum()
        # the sum is no number if one of them is none
        if not np.isfinite(total):
            for name, array in zip(names, arrays, strict=True):
                self.labels.require_finite(name, array)
        return out

    def _evaluated(self, arrays: list[Floats]) -> Floats:
        if arrays[0].ndim == 1:
            one: Floats = self.evaluator(*arrays)
            return one
        if self.seed:
            return np.array([self.evaluator(*state) for state in zip(*arrays, strict=True)])
        many: Floats = self.evaluator.batch(*arrays)
        return many


def declined(*state: States) -> None:
    """There is no fast way."""
