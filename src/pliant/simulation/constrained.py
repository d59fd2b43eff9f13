"""The robot with some coordinates moved as prescribed: the others follow, and the motor efforts result.

Briot & Khalil's inverse model over a trajectory: ``[M_f, -B] [a_f; tau] = f - h - M_d a_d``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]


class ConstrainedDynamics:
    """Dynamics with the inputs prescribed.

    driven  indices of the coordinates that are prescribed (the inputs)
    free    indices of all others: elastic coordinates and passive joints
    """

    def __init__(self, arm: Dynamics) -> None:
        self.arm = arm
        self.driven = np.array([arm.names.index(name) for name in arm.inputs], dtype=int)
        self.free = np.setdiff1d(np.arange(arm.size), self.driven)

    def expand(self, driven: Floats, free: Floats) -> Floats:
        """All coordinates (n,) from the two parts."""
        out = np.empty(self.arm.size)
        out[self.driven], out[self.free] = driven, free
        return out

    def solve(self, q: Floats, v: Floats, a_driven: Floats, force: Floats | None = None) -> tuple[Floats, Floats]:
        """Efforts of the inputs and accelerations of the free coordinates; ``force`` are further forces (n,)."""
        arm, k = self.arm, len(self.free)
        M, h = arm.mass_matrix(q), arm.bias(q, v)
        right = -h - M[:, self.driven] @ a_driven
        if force is not None:
            right = right + force
        matrix = np.hstack([M[:, self.free], -arm.B])
        try:
            unknown: Floats = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        except np.linalg.LinAlgError:
            # a trial step went astray; the integrator sees it and takes a smaller one
            unknown = np.full(arm.size, np.nan)
        return unknown[k:], unknown[:k]
