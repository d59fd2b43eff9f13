"""The decoupled natural orthogonal complement of Mohan & Saha, as explicit matrices.

Twists of the links t_i = (velocity of the origin, angular velocity, elastic rates), in own axes, follow from the
joint rates by t = N_l N_d q_dot with N_l block lower triangular (twist propagation, (14)) and N_d block diagonal
(joint propagation). The inertia matrix is N_d^T N_l^T M N_l N_d and has the block factorisation U D U^T. These dense
forms explain and check the recursive ones; they are not the fast path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import views
from pliant.spatial.vectors import Matrix
from pliant.tree.connection import joint_acceleration
from pliant.tree.passes import CONNECT
from pliant.tree.views import TreeView

if TYPE_CHECKING:
    from pliant.tree.tree import Tree

Array = NDArray[np.float64]


class Complement(NamedTuple):
    """N_l, N_d and the masses M of the free links; the inertia matrix is N_d^T N_l^T M N_l N_d + motors."""

    N_l: Array
    N_d: Array
    M: Array
    motors: Array

    def inertia(self) -> Array:
        N = self.N_l @ self.N_d
        return N.T @ self.M @ N + self.motors


def complement(tree: Tree, q: Array) -> Complement:
    """The matrices at a configuration."""
    links = views(tree, {"q": list(map(float, q)), "v": [0.0] * tree.size})
    sizes = [6 + link.kind.size for link in tree.links]
    start = np.concatenate([[0], np.cumsum(sizes)])
    N_l, N_d = np.eye(start[-1]), np.zeros((start[-1], tree.size))
    M, motors = np.zeros((start[-1], start[-1])), np.zeros((tree.size, tree.size))
    for i, (view, link) in enumerate(zip(links, tree.links, strict=True)):
        view.store.update(CONNECT.step(view))
        rows = slice(start[i], start[i + 1])
        if link.parent >= 0:
            # A_{i,p} times the parent's whole row of N_l
            above = slice(start[link.parent], start[link.parent + 1])
            N_l[rows, : start[link.parent + 1]] = propagation(view) @ N_l[above, : start[link.parent + 1]]
        N_d[rows, link.own] = joint_propagation(view)
        M[rows, rows] = free_mass(view)
        if link.kind.is_driven:
            row = np.array([1.0, *link.constants.drive.row])
            motors[link.own, link.own] = link.constants.drive.inertia * np.outer(row, row)
    return Complement(N_l, N_d, M, motors)


def propagation(view: TreeView) -> Array:
    """A_{i,p}: the twist of a link that its parent's twist causes; elastic rates of the link are its own."""
    c = view.connection
    R, r, s = np.array(c.R, dtype=float).T, np.array(c.r, dtype=float), np.array(c.s, dtype=float)
    n = 0 if view.parent is None else view.parent.kind.size
    slide = _matrix(c.frame.J_v, n)
    turn = np.zeros((3, n)) if c.frame.spin is None else _matrix(c.frame.spin.J_w, n)
    A = np.zeros((6 + view.kind.size, 6 + n))
    A[:3] = R @ np.hstack([np.eye(3), -_hat(r + s), slide - _hat(s) @ turn])
    A[3:6] = R @ np.hstack([np.zeros((3, 3)), np.eye(3), turn])
    return A


def joint_propagation(view: TreeView) -> Array:
    """P_i: the twist that the link's own coordinates cause."""
    kind = view.kind
    P = np.zeros((6 + kind.size, kind.coordinates))
    for k in range(kind.held):
        unit = np.eye(kind.held)[k].tolist()
        P[:6, k] = np.concatenate(joint_acceleration(kind, view.link, view.connection, unit))
    P[6:, kind.coordinates - kind.size :] = np.eye(kind.size)
    return P


def free_mass(view: TreeView) -> Array:
    """M_i: the mass matrix of one free link."""
    b, _ = view.link.body.inertia(view.kind.elastic(view.q), [0.0] * view.kind.size, [0.0] * 3)
    B = np.array(b.B, dtype=float)
    n = view.kind.size
    E_v, E_w, M_e = _matrix(b.E_v, n), _matrix(b.E_w, n), _matrix(b.M_e, n)
    return np.block([[np.array(b.A), B, E_v], [B.T, np.array(b.C), E_w], [E_v.T, E_w.T, M_e]])


def block_udu(tree: Tree, M: Array) -> tuple[Array, Array]:
    """U (unit upper block triangular) and D (block diagonal) with M = U D U^T, one link per block, tips first."""
    U, D = np.eye(len(M)), np.zeros_like(M)
    rest = M.copy()
    for link in reversed(tree.links):
        own = link.own
        if own.start == own.stop:
            continue
        D[own, own] = rest[own, own]
        column = np.linalg.solve(D[own, own], rest[own, : own.start]).T
        U[: own.start, own] = column
        rest[: own.start, : own.start] -= column @ D[own, own] @ column.T
    return U, D


def _matrix(rows: Matrix, columns: int) -> Array:
    return np.array(rows, dtype=float).reshape(len(rows), columns)


def _hat(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
