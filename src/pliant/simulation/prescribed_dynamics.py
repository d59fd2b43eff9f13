"""The robot with some coordinates moved as prescribed: the others follow, and the motor efforts result.

Briot & Khalil's inverse model over a trajectory: the drives' accelerations are given, (41)-(44) give their efforts and
the accelerations of all other coordinates. Trees go the same way, as robots without loops to close.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics, make_evaluator
from pliant.formulations.loops.algorithms import LoopInverse
from pliant.formulations.loops.cuts import Plan
from pliant.formulations.loops.merging import merged

if TYPE_CHECKING:
    from pliant.formulations.recursive.passes import Algorithm
    from pliant.formulations.recursive.tree import Tree

Floats = NDArray[np.float64]

LARGEST = 150
"""Coordinates of a tree up to which the recursion, whose code grows with the tree, is worth its compilation."""


class PrescribedDynamics:
    """Dynamics with the inputs prescribed.

    loops   those of the robot, if it has any; their gaps decay
    driven  indices of the coordinates that are prescribed (the inputs)
    free    indices of all others: elastic coordinates and passive joints
    """

    def __init__(self, arm: Dynamics) -> None:
        self.arm = arm
        self.loops = None if arm.loops is None else arm.loops.stabilised()
        self.driven = np.array([arm.names.index(name) for name in arm.inputs], dtype=int)
        self.free = np.setdiff1d(np.arange(arm.size), self.driven)

    @cached_property
    def recursive(self) -> bool:
        """Whether there is an algorithm: no motor acts on elastic coordinates (pinned modes), and the tree is small."""
        drives_bend = np.count_nonzero(self.arm.B) > len(self.driven)
        return not drives_bend and (self.loops is not None or self.arm.size <= LARGEST)

    def algorithm(self) -> tuple[Algorithm, Tree]:
        """(q, v, f) -> efforts, all accelerations; f holds the accelerations of the driven coordinates."""
        driven = tuple(int(k) for k in self.driven)
        if self.loops is not None:
            return self.loops.forward_algorithm(driven=driven)
        short = merged(self.arm.tree)
        return LoopInverse.of(short.order, (), Plan(), driven, forces=True, pivots=False), short.tree

    @cached_property
    def _evaluator(self) -> Any:
        return make_evaluator(*self.algorithm(), compiled=self.arm.compiled)

    def expand(self, driven: Floats, free: Floats) -> Floats:
        """All coordinates (n,) from the two parts; both may be batches."""
        out = np.empty((*driven.shape[:-1], len(self.driven) + len(self.free)))
        out[..., self.driven], out[..., self.free] = driven, free
        return out

    def solve(self, q: Floats, v: Floats, a_driven: Floats, force: Floats | None = None) -> tuple[Floats, Floats]:
        """Efforts of the inputs and accelerations of the free coordinates; ``force`` are further forces (n,).

        All may be batches.
        """
        others = np.zeros_like(q) if force is None else force
        if self.loops is not None:
            tau, a = self.loops.inverse(q, v, a_driven, others)
            return tau, a[..., self.free]
        if not self.recursive:
            return self._dense(q, v, a_driven, others)
        given, m = others.copy(), len(self.driven)
        given[..., self.driven] = a_driven
        out = self._evaluator.batch(q, v, given) if q.ndim == 2 else self._evaluator(q, v, given)
        return out[..., :m] - others[..., self.driven], out[..., m + self.free]

    def _dense(self, q: Floats, v: Floats, a_driven: Floats, force: Floats) -> tuple[Floats, Floats]:
        """By one dense system [M_f, -B] [a_f; tau] = f - h - M_d a_d."""
        if q.ndim == 2:
            pairs = [self._dense(*state) for state in zip(q, v, a_driven, force, strict=True)]
            return np.array([t for t, _ in pairs]), np.array([a for _, a in pairs])
        arm, k = self.arm, len(self.free)
        M, h = arm.mass_matrix(q), arm.bias(q, v)
        matrix = np.hstack([M[:, self.free], -arm.B])
        try:
            unknown: Floats = np.asarray(np.linalg.solve(matrix, force - h - M[:, self.driven] @ a_driven))
        except np.linalg.LinAlgError:
            # a trial step went astray; the integrator sees it and takes a smaller one
            unknown = np.full(arm.size, np.nan)
        return unknown[k:], unknown[:k]
