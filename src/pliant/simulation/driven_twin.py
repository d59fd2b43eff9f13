"""The rigid twin of a robot as a function of its drives: its passive joints follow by the loops."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.formulations.loops.errors import LoopError
from pliant.model.errors import ModelError
from pliant.simulation.trajectories.path import Surroundings

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
        self.twin: Dynamics = around.twin
        self.inputs = around.twin_indices()
        self.driven = tuple(int(k) for k in self.inputs)
        self.q = self.twin.reference_pose()
        self.loops = self.twin.loops
        # welded cells of rigid links have nothing that moves
        self.is_closed = self.loops.rank > 0
        if self.is_closed:
            # of the ways to close the loops, that of the start
            self.q = around.start[[around.arm.names.index(name) for name in self.twin.names]]
            self._require_determined()

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

    def configuration(self, q: Floats) -> Floats:
        """All coordinates of the twin (n,) for positions of the inputs."""
        return self.state(q, np.zeros_like(q))[0]

    def state(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """All coordinates and rates of the twin for positions and rates of the inputs."""
        full, rate = self.q.copy(), np.zeros(self.twin.size)
        rate[self.inputs] = v
        if not self.is_closed:
            return self._spread(q, full), rate
        change = q - full[self.inputs]
        scaled = np.abs(change / self.loops.column_scale[self.inputs])
        strides = max(float(np.ceil(scaled.max(initial=0.0) / STRIDE)), 1.0)
        if not strides <= MOST_STRIDES:
            self._refuse(q)
        start = full[self.inputs]
        for k in range(1, int(strides) + 1):
            full[self.inputs] = start + change * (k / strides)
            full, rate = self.loops.corrected(full, rate, self.driven)
            if not self.loops.largest_gap(full) <= CLOSED:
                self._refuse(q)
        full[self.inputs] = q
        self.q = full
        return full, rate

    def _spread(self, x: Floats, others: Floats) -> Floats:
        """Values of the inputs among those of all coordinates of the twin."""
        out = np.tile(others, (*x.shape[:-1], 1)) if x.ndim == 2 else others.copy()
        out[..., self.inputs] = x
        return out

    def _refuse(self, q: Floats) -> NoReturn:
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

    def efforts(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Inverse dynamics of the inputs (inputs,), or of several states (states, inputs)."""
        if self.is_closed:
            if q.ndim == 2:
                return np.array([self.efforts(*state) for state in zip(q, v, a, strict=True)])
            return self.loops.inverse(*self.state(q, v), a)[0]
        rest = np.zeros_like(self.q)
        full, rate, acceleration = self._spread(q, self.q), self._spread(v, rest), self._spread(a, rest)
        return self.twin.forces(full, rate, acceleration)[..., self.inputs]

    def gravity(self, q: Floats) -> Floats:
        """Efforts that hold the twin against gravity, at one configuration of the inputs or several."""
        if not self.is_closed:
            return self.twin.gravity(self._spread(q, self.q))[..., self.inputs]
        if q.ndim == 2:
            return np.array([self.gravity(each) for each in q])
        full = self.configuration(q)
        others = [k for k in range(self.twin.size) if k not in self.driven]
        g, J = self.twin.gravity(full), self.loops.used_rows(full, np.zeros_like(full))[0]
        # the closures hold the passive joints, g_p = J_p^T lambda
        return np.asarray(g[self.inputs] - J[:, self.inputs].T @ np.linalg.solve(J[:, others].T, g[others]))
