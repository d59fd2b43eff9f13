"""Whether a way to take a robot apart gives its motion: tried at one state, against the equations themselves.

Accelerations and efforts must satisfy the rows of the loops, and what the forces of the open tree lack must be forces
of those rows. That asks nothing of the elimination which is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.formulations.loops.algorithms import LoopForward, LoopInverse
from pliant.formulations.loops.errors import LoopError
from pliant.formulations.loops.selection import WORST, condition_of
from pliant.formulations.recursive.recursions import INVERSE, NoInertiaError

if TYPE_CHECKING:
    from pliant.formulations.loops.dense_loops import DenseLoops

Floats = NDArray[np.float64]
LoopDynamics = LoopForward | LoopInverse

FITS = 1e-8
"""Part of the largest force, or of the largest acceleration, that may be missing; a wrong plan lacks all of it."""

SPEED = 0.1
"""Scaled rates (1/s) of the state: centrifugal terms show and do not drown the rest."""

NO_INERTIA = 1e-13
"""Part of the largest scaled inertia that is rounding: of a bar that turns about its own axis, as an example."""

OVERWHELMING = 1e15
"""Scaled acceleration (1/s2) beside which no other force counts."""

TINY = float(np.finfo(float).tiny)

MOST_KEPT = 1024
"""Structures whose verdicts are kept; the oldest go first."""

MOST_ALIKE = 8
"""Verdicts of one structure that are kept."""

APART = 1.0
"""Powers of ten by which a mass, a stiffness or a damping may differ from those of a robot that was tried."""

_FIT: dict[str, list[tuple[Floats, bool]]] = {}


class PlanTrial:
    """A random state of a robot, near its reference pose and as regular as there is one, with forces on everything.

    kept  the rows of the loops that are used
    """

    def __init__(self, loops: DenseLoops, kept: Sequence[int]) -> None:
        self.loops, self.rows = loops, list(kept)

    def fits(self, algorithm: LoopDynamics) -> bool:
        """Whether an algorithm gives the robot's motion; robots of one structure and of similar numbers share it."""
        key, sizes = self.loops.arm.structure(Traced(algorithm, self.loops.constraints.tree)), self.magnitudes
        known = _FIT.setdefault(key, [])
        for other, verdict in known:
            if np.abs(other - sizes).max(initial=0.0) <= APART:
                return verdict
        verdict = self._fits(algorithm)
        known.append((sizes, verdict))
        del known[:-MOST_ALIKE]
        while len(_FIT) > MOST_KEPT:
            _FIT.pop(next(iter(_FIT)), None)
        return verdict

    def _fits(self, algorithm: LoopDynamics) -> bool:
        try:
            return (any(algorithm.plan.weights) or self.has_inertia) and self.error(algorithm) <= FITS
        except NoInertiaError:
            return False

    @cached_property
    def magnitudes(self) -> Floats:
        """Powers of ten of the masses, inertias, stiffnesses and dampings: where they lie apart, pivots drown."""
        numbers: list[float] = []
        for member in self.loops.arm.mechanism.members:
            body, drive = member.body, member.joint.drive
            numbers += [body.mass, body.I_rr.trace(), drive.inertia, drive.stiffness, drive.damping]
            numbers += [number for part in member.parts for number in (part.mass, part.inertia.trace())]
            for matrix in (body.M_ee, body.K_ee, body.D_ee):
                numbers += matrix.diagonal().tolist()
        return np.asarray(np.log10(np.maximum(np.abs(numbers), TINY)))

    def require(self, algorithm: LoopDynamics) -> None:
        """Raise where the last of all algorithms fails as well, and the state is not to blame."""
        if self.fits(algorithm):
            return
        error = self.error(algorithm)
        driven = algorithm.driven if isinstance(algorithm, LoopInverse) else ()
        free = [k for k in range(len(self.q)) if k not in driven]
        if condition_of(self.J[:, free], len(self.rows)) < WORST:
            raise LoopError(
                f"robot '{self.loops.arm.mechanism.name}': its elimination leaves {error:.2g} of the largest force "
                "unbalanced at a state near the reference pose; use solver='dense', or look for links whose masses or "
                "stiffnesses lie many powers of ten apart"
            )

    @cached_property
    def q(self) -> Floats:
        coordinates = self.loops.coordinates
        return min(reversed(coordinates.samples), key=coordinates.condition)

    @cached_property
    def J(self) -> Floats:
        """The rows without units."""
        return self.loops.constraints.scaled(self.q)[self.rows]

    @cached_property
    def v(self) -> Floats:
        """Random rates, also across the loops: one that they hold entirely would have none."""
        return SPEED * self.loops.column_scale * np.random.default_rng(1).standard_normal(len(self.q))

    @cached_property
    def given(self) -> Floats:
        """Forces on all coordinates, and accelerations of those that are driven."""
        return np.random.default_rng(2).standard_normal(len(self.q))

    @cached_property
    def has_inertia(self) -> bool:
        """Whether all motions of the straight robot move more than rounding: else it may only seem to have pivots.

        A coordinate that never has any inertia is left out: eliminations see that it has none.
        """
        some = np.abs(self._inertia(self.q)).max(axis=1) > 0.0
        found = np.linalg.eigvalsh(self._inertia(self.loops.constraints.reference)[np.ix_(some, some)])
        return not len(found) or bool(found[0] > NO_INERTIA * found[-1])

    def _inertia(self, q: Floats) -> Floats:
        """The mass matrix of the open tree without units: all columns at once."""
        n, scale = len(q), self.loops.column_scale
        state = {"q": q.tolist(), "v": [0.0] * n}
        at_rest = INVERSE.evaluate(self.loops.arm.tree, {**state, "a": [0.0] * n})
        moved = INVERSE.evaluate(self.loops.arm.tree, {**state, "a": list(OVERWHELMING * np.diag(scale))})
        M = np.array([np.broadcast_to(x - y, n) for x, y in zip(moved, at_rest, strict=True)])
        return (M * scale[:, None] + (M * scale[:, None]).T) / (2 * OVERWHELMING)

    def error(self, algorithm: LoopDynamics) -> float:
        """The largest part of an equation that the results of an algorithm lack."""
        loops, n, scale = self.loops, len(self.q), self.loops.column_scale
        inputs = {"q": self.q.tolist(), "v": self.v.tolist(), algorithm.takes[2]: self.given.tolist()}
        try:
            out = np.array(algorithm.evaluate(loops.constraints.tree, inputs))
        except ZeroDivisionError:
            return np.inf
        driven = list(algorithm.driven) if isinstance(algorithm, LoopInverse) else []
        a, f = out[len(driven) : len(driven) + n], self.given.copy()
        f[driven] = out[: len(driven)]
        if not (np.isfinite(a).all() and np.isfinite(f).all()):
            return np.inf
        bias = loops.bias(self.q, self.v)[self.rows] / loops.constraints.row_scale[self.rows]
        slip, moved = self.J @ (a / scale) + bias, max(_largest(a / scale), _largest(bias), TINY)
        parts = [self._forces(a), self._forces(np.zeros(n)), f]
        missing = (parts[0] - f) * scale
        lacking = missing - self.J.T @ np.linalg.lstsq(self.J.T, missing, rcond=None)[0]
        return max(
            _largest(a[driven] - self.given[driven]),
            _largest(slip) / moved,
            _largest(lacking) / max(max(_largest(x * scale) for x in parts), TINY),
        )

    def _forces(self, a: Floats) -> Floats:
        """Generalised forces of the open tree."""
        inputs = {"q": self.q.tolist(), "v": self.v.tolist(), "a": a.tolist()}
        return np.array(INVERSE.evaluate(self.loops.arm.tree, inputs))


def _largest(x: Floats) -> float:
    return float(np.abs(x).max(initial=0.0))
