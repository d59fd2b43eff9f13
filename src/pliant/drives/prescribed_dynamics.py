"""The robot with some coordinates moved as prescribed: the others follow, and the motor efforts result.

Briot & Khalil's inverse model over a trajectory: the drives' accelerations are given, (41)-(44) give their efforts and
the accelerations of all other coordinates. Trees go the same way, as robots without loops to close.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]


class PrescribedDynamics:
    """Dynamics with the inputs prescribed; gaps of loops decay.

    driven  indices of the coordinates that are prescribed (the inputs)
    free    indices of all others: elastic coordinates and passive joints
    """

    def __init__(self, arm: Dynamics) -> None:
        self.arm = arm
        self.loops = arm.loops.stabilised()
        self.driven = np.array([arm.names.index(name) for name in arm.inputs], dtype=int)
        self.free = np.setdiff1d(np.arange(arm.size), self.driven)

    def expand(self, driven: Floats, free: Floats) -> Floats:
        """All coordinates (n,) from the two parts; both may be batches."""
        out = np.empty((*driven.shape[:-1], len(self.driven) + len(self.free)))
        out[..., self.driven], out[..., self.free] = driven, free
        return out

    def solve(self, q: Floats, v: Floats, a_driven: Floats, force: Floats | None = None) -> tuple[Floats, Floats]:
        """Efforts of the inputs and accelerations of the free coordinates; ``force`` are further forces (n,).

        All may be batches. Not finite where a trial step diverged: the integrator sees it and takes a smaller one.
        """
        try:
            tau, a = self.loops.inverse(q, v, a_driven, force)
        except np.linalg.LinAlgError:
            tau, a = np.full_like(a_driven, np.nan), np.full_like(q, np.nan)
        return tau, a[..., self.free]
