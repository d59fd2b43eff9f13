"""Robots of one structure as one: batches in which every state belongs to one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Algorithm, Carrier, Traced
from pliant.dynamics import Dynamics
from pliant.engine.call.ensemble_evaluator import EnsembleEvaluator
from pliant.engine.call.evaluator import Program
from pliant.engine.trace.known_patterns import KnownPattern, ZerosKey, one_structure
from pliant.engine.trace.structure import constants_of, dissipative_slots
from pliant.engine.trace.structure import structure_key as carrier_key
from pliant.errors import ModelError
from pliant.formulations.loops.loops import NoLoops
from pliant.formulations.method import What
from pliant.model.description.robot import Robot, rigid_twin
from pliant.tree.function import Function, Variant

if TYPE_CHECKING:
    from pliant.sweeps.work import SweepJob

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

WHATS: tuple[What, ...] = ("forward", "inverse", "motion", "acceleration", "energy", "reaction")


def structure_key(arm: Dynamics) -> object | None:
    """What robots of one ensemble have in common; None: a robot that is in none (loops, NumPy, no tapes)."""
    if not arm.compiled or arm.loops.rows or not arm.size or arm.mechanism.is_closed:
        return None
    traced = [arm.method.function(what) for what in WHATS]
    carriers = {id(each.carrier): each.carrier for each in traced if each is not None}
    if None in traced:
        return None
    keys = tuple(carrier_key(carrier) for carrier in carriers.values())
    return type(arm.method), keys, arm.mechanism.tip, arm.names, arm.inputs, arm.B.tobytes()


def frames_key(arm: Dynamics) -> str:
    """What robots have in common whose frames can be found together."""
    return carrier_key(arm._framed)


class Ensemble(Dynamics):
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
        self.loops = NoLoops(self)
        self._who: Numbers = np.zeros(0, dtype=np.int64)

    @contextmanager
    def of(self, who: Numbers) -> Iterator[Ensemble]:
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
        return _EnsembleFunction(self, self.traced(what), variant=variant)

    def _kinematics(self, algorithm: Algorithm, variant: Variant = "") -> Function:
        return _EnsembleFunction(self, Traced(algorithm, self._framed), variant=variant)

    def _bound(self, traced: Traced, seed: str, variant: Variant) -> EnsembleEvaluator:
        carriers = self._carriers(traced)
        constants = np.array([constants_of(carrier) for carrier in carriers]).reshape(len(carriers), -1)
        gravity = np.array([carrier.gravity for carrier in carriers], dtype=float)
        if variant == "weightless":
            gravity[:] = 0.0
        elif variant == "conservative":
            constants[:, dissipative_slots(traced.carrier)] = 0.0
        return EnsembleEvaluator(Program(*traced, (seed,) if seed else ()), list(constants), list(gravity))

    def _carriers(self, traced: Traced) -> list[Carrier]:
        """What holds the constants of each robot."""
        if traced.carrier is self._framed:
            if len(set(map(frames_key, self.members))) > 1:
                raise ValueError("the frames of these robots are of several structures")
            return [arm._framed for arm in self.members]
        for what in WHATS:
            found = self.method.function(what)
            if found is not None and found.carrier is traced.carrier and found.algorithm.name == traced.algorithm.name:
                return [arm.traced(what).carrier for arm in self.members]
        raise ValueError(f"an ensemble does not know '{traced.algorithm.name}'")


class _Rows:
    """The evaluator of an ensemble as that of one robot: batches only."""

    def __init__(self, ensemble: Ensemble, inner: EnsembleEvaluator) -> None:
        self._ensemble, self._inner = ensemble, inner

    def batch(self, *inputs: Floats) -> Floats:
        return self._inner.batch(self._ensemble._who, *inputs)


class _EnsembleFunction(Function):
    """A function of the states of an ensemble."""

    def __init__(self, ensemble: Ensemble, traced: Traced, *, seed: str = "", variant: Variant = "") -> None:
        super().__init__(traced, ensemble.labels, ensemble._nothing, compiled=False, seed=seed, variant=variant)
        self._ensemble = ensemble
        self.__dict__["evaluator"] = ensemble._bound(traced, seed, variant)

    def by(self, seed: str) -> Function:
        if seed not in self._derivatives:
            self._derivatives[seed] = _EnsembleFunction(self._ensemble, self.traced, seed=seed, variant=self.variant)
        return self._derivatives[seed]

    def _evaluated(self, arrays: list[Floats]) -> Floats:
        found: Floats = self.evaluator.batch(self._ensemble._who, *arrays)
        return found


ODD = 1.01371
"""What round numbers are multiplied with, to be equal to no others."""

_last: tuple[ReferenceType[SweepJob], dict[ZerosKey, KnownPattern]] | None = None


def general_structures(job: SweepJob, case: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Inside, robots of a job have the most general structures that its robots had before.

    The first is that of a case with odd numbers: a sweep may begin with round ones.
    """
    global _last
    if _last is None or _last[0]() is not job:
        patterns: dict[ZerosKey, KnownPattern] = {}
        # odd numbers may be beyond some bound; then the structures are those of the cases as they come
        with one_structure(patterns), suppress(ModelError, ValueError, ArithmeticError):
            subject = job.changed({place: _odd(value) for place, value in case.items()})
            robot = subject if isinstance(subject, Robot) else subject.robot
            for each in (robot, rigid_twin(robot)):
                arm = Dynamics(each)
                structure_key(arm), frames_key(arm)
        _last = ref(job), patterns
    return one_structure(_last[1])


def _odd(value: Any) -> Any:
    return value * ODD if isinstance(value, float) else value
