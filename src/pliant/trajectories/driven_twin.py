"""The rigid twin of a robot as a function of its drives: its passive joints follow by the loops."""

from __future__ import annotations

from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.formulations.loops.loops import LoopError, Loops, Rows
from pliant.model.description.actuators import refuse_lines
from pliant.trajectories.path import Surroundings

Floats = NDArray[np.float64]

STRIDE = 0.1
"""Scaled change of the drives in one go: the loops are followed, so that they keep their way of being closed."""
MOST_STRIDES = 1000
CLOSED = 1e-11
"""Scaled gap of a loop that is closed."""


class DrivenTwin:
    """Configurations and efforts of the rigid twin for motions of its inputs.

    Passive joints of a tree stay at the robot's pose.
    """

    def __init__(self, around: Surroundings) -> None:
        refuse_lines(around.arm.robot, "a rigid model of efforts does not know: use gains alone, or given efforts")
        self._around = around
        # welded cells of rigid links have nothing that moves
        self.is_closed = bool(around.arm.loops.rows) and self.loops.rank > 0
        if self.is_closed:
            # of the ways to close the loops, that of the start
            self.q = around.start[[around.arm.names.index(name) for name in self.twin.names]]
            self._require_determined()

    @property
    def twin(self) -> Dynamics:
        """The rigid twin, which is made when it is first needed."""
        return self._around.twin

    @cached_property
    def q(self) -> Floats:
        """Coordinates of the twin, where it was when last asked (n,)."""
        return self.twin.reference_pose()

    @cached_property
    def inputs(self) -> NDArray[np.int_]:
        """Where the inputs stand among the coordinates of the twin."""
        return self._around.twin_indices()

    @cached_property
    def driven(self) -> tuple[int, ...]:
        return tuple(int(k) for k in self.inputs)

    @cached_property
    def passive(self) -> list[int]:
        """The passive joints of the twin ..."""
        return [k for k in range(self.twin.size) if k not in self.driven]

    @cached_property
    def places(self) -> list[int]:
        """... and where they stand among the coordinates of the robot."""
        return [self._around.arm.names.index(self.twin.names[k]) for k in self.passive]

    @property
    def loops(self) -> Loops:
        return self.twin.loops

    def _require_determined(self) -> None:
        """The drives must move all, and each of them must be free to move."""
        twin, loops = self.twin, self.loops
        left, drives = twin.size - loops.rank, len(self.driven)
        if left != drives:
            raise ModelError(
                f"robot '{twin.robot.name}': its loops leave {left} motions to rigid links and it has {drives} drives; "
                "the rigid model of this drive or trajectory needs one drive per motion"
            )
        try:
            self.q = loops.assemble(self.q)
            loops.require_driven(self.q, self.driven)
        except LoopError as error:
            raise ModelError(str(error)) from None

    @property
    def traced_inverse(self) -> Traced:
        """(q, v, a) -> forces of a tree; efforts of the inputs first, with closed loops."""
        if not self.is_closed:
            return self.twin.traced("inverse")
        return self.loops.traced_forward(self.driven, self.rows)

    @property
    def rows(self) -> Rows | None:
        """Rows that over-constrained loops use in machine code."""
        return self.loops.rows_at(self.q) if self.loops.redundant else None

    @property
    def traced_correction(self) -> Traced:
        """(q, v) -> a Newton step towards closed loops, with the inputs held."""
        return self.loops.traced_correction(self.driven, None if self.rows is None else self.rows.kept)

    def configuration(self, q: Floats) -> Floats:
        """All coordinates of the twin (n,) for positions of the inputs."""
        return self.state(q, np.zeros_like(q))[0]

    def state(self, q: Floats, v: Floats, near: Floats | None = None) -> tuple[Floats, Floats]:
        """All coordinates and rates of the twin for positions and rates of the inputs, of one state or several.

        near  coordinates of the robot itself: the twin is closed as it is, and else as it was when last asked
        """
        full, rate = self._spread(q, self.q), self._spread(v, np.zeros_like(self.q))
        if not self.is_closed:
            return full, rate
        if near is not None:
            full[..., self.passive] = near[..., self.places]
            full, rate = self.loops.corrected(full, rate, self.driven)
        if near is None or not self.loops.largest_gap(full) <= CLOSED:
            full, rate = self._followed(q, v)
        full[..., self.inputs] = q
        self.q = full if q.ndim == 1 else full[-1]
        return full, rate

    def _followed(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The loops, taken along from where they were to positions of the inputs."""
        start = self.q[self.inputs]
        change = q - start
        scaled = np.abs(change / self.loops.column_scale[self.inputs])
        strides = max(float(np.ceil(scaled.max(initial=0.0) / STRIDE)), 1.0)
        if not strides <= MOST_STRIDES:
            self._refuse(q)
        full, rate = self._spread(q, self.q), self._spread(v, np.zeros_like(self.q))
        for k in range(1, int(strides) + 1):
            full[..., self.inputs] = start + change * (k / strides)
            full, rate = self.loops.corrected(full, rate, self.driven)
            if not self.loops.largest_gap(full) <= CLOSED:
                return self._one_by_one(q, v)
        return full, rate

    def _one_by_one(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """From one state to the next the way is shorter."""
        if q.ndim == 1:
            self._refuse(q)
        pairs = [self.state(*each) for each in zip(q, v, strict=True)]
        return np.array([x for x, _ in pairs]), np.array([x for _, x in pairs])

    def _spread(self, x: Floats, others: Floats) -> Floats:
        """Values of the inputs among those of all coordinates of the twin."""
        out = np.tile(others, (*x.shape[:-1], 1)) if x.ndim == 2 else others.copy()
        out[..., self.inputs] = x
        return out

    def _refuse(self, q: Floats) -> NoReturn:
        q = q.reshape(-1, len(self.driven))[-1]
        positions = ", ".join(f"{self.twin.names[i]} = {x:.4g}" for i, x in zip(self.inputs, q, strict=True))
        raise LoopError(f"the loops of the rigid robot '{self.twin.robot.name}' cannot close with {positions}")

    def jacobian(self, frame: str, q: Floats) -> Floats:
        """Velocity of a frame (6, inputs) per unit rate of each input, at coordinates q (n,) of the twin."""
        N = np.zeros((self.twin.size, len(self.inputs)))
        N[self.inputs, np.arange(len(self.inputs))] = 1.0
        if self.is_closed:
            N = self.loops.corrected(np.tile(q, (len(self.inputs), 1)), N.T, self.driven)[1].T
        out: Floats = self.twin.jacobian(frame, q) @ N
        return out

    def efforts(self, q: Floats, v: Floats, a: Floats, near: Floats | None = None) -> Floats:
        """Inverse dynamics of the inputs (inputs,), or of several states (states, inputs)."""
        if self.is_closed:
            return self.loops.inverse(*self.state(q, v, near), a)[0]
        full, rate = self.state(q, v)
        return self.twin.forces(full, rate, self._spread(a, np.zeros_like(self.q)))[..., self.inputs]

    def gravity(self, q: Floats, near: Floats | None = None) -> Floats:
        """Efforts that hold the twin against gravity, at one configuration of the inputs or several."""
        full, rest = self.state(q, np.zeros_like(q), near)
        weight = self.twin.gravity(full)
        if not self.is_closed:
            return weight[..., self.inputs]
        # the closures hold the passive joints; springs carry themselves
        springs = self.twin.forces(full, rest, rest) - weight
        return self.loops.inverse(full, rest, np.zeros_like(q), springs)[0]
