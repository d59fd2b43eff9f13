"""Robots of one structure as one: batches in which every state belongs to one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Algorithm, Carrier, Traced
from pliant.dynamics import Dynamics
from pliant.engine.call.evaluator import Program
from pliant.engine.call.flock_evaluator import FlockEvaluator
from pliant.engine.trace.structure import constants_of, dissipative_slots, structure_key
from pliant.formulations.loops.loops import Loops
from pliant.formulations.method import What
from pliant.tree.function import Function, Variant

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

WHATS: tuple[What, ...] = ("forward", "inverse", "motion", "acceleration", "energy", "reaction")


def likeness(arm: Dynamics) -> object | None:
    """What robots of one flock have in common; None: a robot that is in none (loops, NumPy, no tapes)."""
    if not arm.compiled or arm.loops.rows or not arm.size or arm.mechanism.is_closed:
        return None
    traced = [arm.method.function(what) for what in WHATS]
    carriers = {id(each.carrier): each.carrier for each in traced if each is not None}
    if None in traced:
        return None
    keys = tuple(structure_key(carrier) for carrier in carriers.values())
    return type(arm.method), keys, arm.mechanism.tip, arm.names, arm.inputs, arm.B.tobytes()


def likeness_of_frames(arm: Dynamics) -> str:
    """What robots have in common whose frames can be found together."""
    return structure_key(arm._framed)


class Flock(Dynamics):
    """Several robots with the dynamics of one: methods take batches of states of the robots ``of`` which they are.

    What is no function of states (pose, bodies, description) is that of the first robot.
    """

    def __init__(self, arms: Sequence[Dynamics]) -> None:
        first = arms[0]
        self.members = tuple(arms)
        self.robot, self.mechanism, self.tree, self.method = first.robot, first.mechanism, first.tree, first.method
        # nothing is quick for one state
        self.compiled, self.options = False, first.options
        self._evaluators = {}
        self.loops = Loops(self)
        self._who: Numbers = np.zeros(0, dtype=np.int64)

    @contextmanager
    def of(self, who: Numbers) -> Iterator[Flock]:
        """Inside, state k of every batch is one of robot who[k]."""
        before, self._who = self._who, who
        try:
            yield self
        finally:
            self._who = before

    def evaluator(self, traced: Traced, seed: str = "") -> Any:
        key = (traced.algorithm.name, seed, id(traced.carrier))
        if key not in self._evaluators:
            self._evaluators[key] = (_Rows(self, self._bound(traced, seed, "")), traced)
        return self._evaluators[key][0]

    def _function(self, what: What, variant: Variant = "") -> Function:
        return _FlockFunction(self, self.traced(what), variant=variant)

    def _kinematics(self, algorithm: Algorithm, variant: Variant = "") -> Function:
        return _FlockFunction(self, Traced(algorithm, self._framed), variant=variant)

    def _bound(self, traced: Traced, seed: str, variant: Variant) -> FlockEvaluator:
        carriers = self._carriers(traced)
        constants = np.array([constants_of(carrier) for carrier in carriers]).reshape(len(carriers), -1)
        gravity = np.array([carrier.gravity for carrier in carriers], dtype=float)
        if variant == "weightless":
            gravity[:] = 0.0
        elif variant == "conservative":
            constants[:, dissipative_slots(traced.carrier)] = 0.0
        return FlockEvaluator(Program(*traced, (seed,) if seed else ()), list(constants), list(gravity))

    def _carriers(self, traced: Traced) -> list[Carrier]:
        """What holds the constants of each robot."""
        if traced.carrier is self._framed:
            if len(set(map(likeness_of_frames, self.members))) > 1:
                raise ValueError("the frames of these robots are of several structures")
            return [arm._framed for arm in self.members]
        for what in WHATS:
            found = self.method.function(what)
            if found is not None and found.carrier is traced.carrier and found.algorithm.name == traced.algorithm.name:
                return [arm.traced(what).carrier for arm in self.members]
        raise ValueError(f"a flock does not know '{traced.algorithm.name}'")


class _Rows:
    """The evaluator of a flock as that of one robot: batches only."""

    def __init__(self, flock: Flock, inner: FlockEvaluator) -> None:
        self._flock, self._inner = flock, inner

    def batch(self, *inputs: Floats) -> Floats:
        return self._inner.batch(self._flock._who, *inputs)


class _FlockFunction(Function):
    """A function of the states of a flock."""

    def __init__(self, flock: Flock, traced: Traced, *, seed: str = "", variant: Variant = "") -> None:
        super().__init__(traced, flock.labels, flock._nothing, compiled=False, seed=seed, variant=variant)
        self._flock = flock
        self.__dict__["evaluator"] = flock._bound(traced, seed, variant)

    def by(self, seed: str) -> Function:
        if seed not in self._derivatives:
            self._derivatives[seed] = _FlockFunction(self._flock, self.traced, seed=seed, variant=self.variant)
        return self._derivatives[seed]

    def _evaluated(self, arrays: list[Floats]) -> Floats:
        found: Floats = self.evaluator.batch(self._flock._who, *arrays)
        return found
