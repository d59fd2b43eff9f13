"""First-order expansion of bodies and their frames: their own terms, evaluated on dual numbers.

A body is asked only through its contract, so every kind of body whose terms are smooth has its linearised equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.bodies.terms import Body
from pliant.formulations.dual_screw.constants import DualSeat, LinearBody
from pliant.spatial.dual_numbers import Dual, dual_part, real_part
from pliant.spatial.rounding import listed
from pliant.tree.link import Seat

# angular velocities from whose forces a quadratic form is read: none, the axes, and their sums
PAIRS = ((0, 1), (0, 2), (1, 2))
SPINS = np.array([np.zeros(3), *np.eye(3), *(np.eye(3)[a] + np.eye(3)[b] for a, b in PAIRS)])

ROUNDING = 1e-12
"""Of a body's angular Jacobian: less than this is not left unexplained by its section angles."""


def directions(size: int) -> list[Any]:
    """Elastic coordinates along all directions at once: the dual part is a batch (n, 1)."""
    return [Dual(0.0, unit[:, None]) for unit in np.eye(size)]


def expand_body(terms: Body, size: int) -> LinearBody:
    """The linearised body of a body's terms."""
    n = size
    still = [0.0] * n
    q = directions(n)
    w = [SPINS[:, a] for a in range(3)]
    at_rest, _ = terms.inertia(still, still, [0.0] * 3)
    bent, forces = terms.inertia(q, still, w)
    _, rates = terms.inertia(still, q, w)
    quadratic = _forms(np.array([_spread(real_part(f), (7,)) for f in forces.elastic]).reshape(n, 7))
    moved = np.array([_spread(dual_part(f), (n, 7)) for f in forces.elastic]).reshape(n, n, 7)
    flowing = np.array([_spread(dual_part(f), (n, 7)) for f in rates.elastic]).reshape(n, n, 7)
    moments = np.array([_spread(dual_part(f), (n, 7)) for f in rates.moment])
    values = {
        "mass": at_rest.A[0][0],
        "first": [at_rest.B[1][2], at_rest.B[2][0], at_rest.B[0][1]],
        "first_modal": _real(at_rest.E_v, (3, n)),
        "E_v1": _dual(bent.E_v, (3, n), n),
        "C0": _real(at_rest.C, (3, 3)),
        "C1": _dual(bent.C, (3, 3), n),
        "E_w0": _real(at_rest.E_w, (3, n)),
        "E_w1": _dual(bent.E_w, (3, n), n),
        "M_e0": _real(at_rest.M_e, (n, n)),
        "M_e1": _dual(bent.M_e, (n, n), n),
        # the moment is linear in w: column b belongs to the axis b
        "G": np.moveaxis(moments[:, :, 1:4], 1, 0),
        "N0": -quadratic,
        "N1": -np.moveaxis(_forms(moved), 0, 1),
        "L": np.moveaxis(flowing[:, :, 1:4] - flowing[:, :, :1], 0, 1),
        "K": moved[:, :, 0],
        "D": flowing[:, :, 0],
    }
    return LinearBody(**{name: listed(value) for name, value in values.items()})


def expand_seat(seat: Seat, parent: Body, size: int) -> DualSeat:
    """The linearised place of a joint on a body."""
    n = size
    at_rest = parent.frame(seat.section, [0.0] * n, [0.0] * n)
    bent = parent.frame(seat.section, directions(n), [0.0] * n)
    angles, turn, wind = np.zeros((3, n)), np.zeros((3, 3, 3)), np.zeros((n, 3, n))
    if at_rest.spin is not None and bent.spin is not None and n:
        axes = _real(at_rest.spin.axes, (3, 3))
        angles = axes @ _real(at_rest.spin.angles, (3, n))
        change = np.einsum("iab,cb->iac", _dual(bent.spin.axes, (3, 3), n), axes)
        # the axes change with the section angles: change_i = sum_j angles_ji turn_j; what is left is wind
        turn = (np.linalg.pinv(angles.T) @ change.reshape(n, 9)).reshape(3, 3, 3)
        explained = np.einsum("ji,jab,bk->iak", angles, turn, angles)
        left = _dual(bent.spin.J_w, (3, n), n) - explained
        if np.abs(left).max() > ROUNDING * max(np.abs(explained).max(), 1.0):
            wind = left
    return DualSeat(
        position=_real([at_rest.r], (1, 3))[0].tolist(),
        offset=list(seat.offset),
        R0=[list(row) for row in seat.R0],
        angle=seat.angle,
        slides=_exact(_real(at_rest.J_v, (3, n))),
        angles=_exact(angles),
        turn=_exact(turn),
        curl=listed(_dual(bent.J_v, (3, n), n)),
        wind=listed(wind),
    )


def _exact(a: Array) -> list[Any]:
    """Nested lists without what rounding left beside zeros, ones and halves."""
    nearest = np.rint(2.0 * a) / 2.0
    return listed(np.where(np.abs(a - nearest) < 1e-13, nearest, a) + 0.0)  # type: ignore[no-any-return]


def _spread(x: Any, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.asarray(x, dtype=float), shape)


def _real(rows: Any, shape: tuple[int, int]) -> Array:
    return np.array([[float(real_part(x)) for x in row] for row in rows]).reshape(shape)


def _dual(rows: Any, shape: tuple[int, int], n: int) -> Array:
    """Derivatives of a matrix by every elastic coordinate, (n, *shape)."""
    parts = [[_spread(dual_part(x), (n, 1))[:, 0] for x in row] for row in rows]
    return np.moveaxis(np.array(parts).reshape(*shape, n), -1, 0)


def _forms(values: Array) -> Array:
    """Symmetric matrices (..., 3, 3) of quadratic forms known at SPINS (..., 7)."""
    f = values - values[..., :1]
    out = np.zeros((*values.shape[:-1], 3, 3))
    for a in range(3):
        out[..., a, a] = f[..., 1 + a]
    for k, (a, b) in enumerate(PAIRS):
        out[..., a, b] = out[..., b, a] = 0.5 * (f[..., 4 + k] - f[..., 1 + a] - f[..., 1 + b])
    return out
