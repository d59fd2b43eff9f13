"""Linear models from differences of the nonlinear robot: the independent way beside exact tangents."""

from typing import NamedTuple

import numpy as np

STEP = 1e-6
"""Central differences."""


class Differences(NamedTuple):
    """x' = A x + B u, y = C x of the independent coordinates and their rates."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray

    def response(self, s, inputs=slice(None)):
        """Outputs per input at complex rates s (k,)."""
        eye = np.eye(len(self.A))
        return np.array([self.C @ np.linalg.solve(each * eye - self.A, self.B[:, inputs]) for each in np.atleast_1d(s)])


def closed(arm, independent, x, rates, near):
    """All coordinates and rates from the independent ones; closures by Newton's method."""
    own = [arm.names.index(name) for name in independent]
    others = [k for k in range(arm.size) if k not in own]
    q, v = near.copy(), np.zeros(arm.size)
    q[own], v[own] = x, rates
    if others:
        for _ in range(12):
            J = arm.loops.jacobian(q)
            q[others] -= np.linalg.lstsq(J[:, others], arm.closure(q), rcond=None)[0]
        J = arm.loops.jacobian(q)
        v[others] = np.linalg.lstsq(J[:, others], -J[:, own] @ rates, rcond=None)[0]
    return q, v


def _place(arm, q, output):
    """A coordinate, or the place of a frame along an axis."""
    if output in arm.names:
        return q[arm.names.index(output)]
    frame, _, axis = output.rpartition(".")
    return arm.pose(frame, q).position["xyz".index(axis)]


def differences(model, outputs):
    """The linear model about the state of another one, by differences of forward dynamics and poses."""
    arm, names = model.arm, model.tangent.names
    own = [arm.names.index(name) for name in names]
    m = len(own)
    x0 = np.concatenate([model.q[own], model.v[own], model.tau])

    def rates(x):
        q, v = closed(arm, names, x[:m], x[m : 2 * m], model.q)
        return np.concatenate([x[m : 2 * m], arm.forward(q, v, x[2 * m :])[own]])

    def seen(x):
        q, _ = closed(arm, names, x[:m], x[m : 2 * m], model.q)
        return np.array([_place(arm, q, output) for output in outputs])

    columns = [(rates(x0 + e) - rates(x0 - e)) / (2 * STEP) for e in STEP * np.eye(len(x0))]
    table = np.array(columns).T
    C = np.array([(seen(x0 + e) - seen(x0 - e)) / (2 * STEP) for e in STEP * np.eye(len(x0))[: 2 * m]]).T
    return Differences(table[:, : 2 * m], table[:, 2 * m :], C)
