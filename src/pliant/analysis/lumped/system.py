"""The assembled equations M z_ddot + C z_dot + K z + f = 0 of the independent displacements along a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, coo_array, csr_array

from pliant.analysis.lumped.displacements import Jet
from pliant.analysis.lumped.mesh import LinkMesh
from pliant.analysis.lumped.node_equations import Floats, Variant, block_diagonal, motion_basis, motion_weights
from pliant.analysis.lumped.nominal_motion import LinkMotion


class Matrices(NamedTuple):
    """M, C, K and f at one instant (n, n), (n,), dense or sparse, or at several (times, n, n), (times, n)."""

    M: Any
    C: Any
    K: Any
    f: Any


@dataclass(frozen=True, eq=False, slots=True)
class LinkEquations:
    """Equations of one link on s = (displacement of the root, own displacements): constant parts, sparse.

    spread  (6 n, s)     nodal displacements by s
    M       (s, s)       (7.1)
    D, K    (s, s)       (9)
    C_w     3 x (s, s)   (7.2), by the components of the angular velocity
    K_w     12 x (s, s)  (7.3), by ``motion_weights``
    F_w     (12, s)
    F_n     (12, 6 n)    the same at the nodes
    """

    spread: csr_array
    M: csr_array
    D: csr_array
    K: csr_array
    C_w: tuple[csr_array, ...]
    K_w: tuple[csr_array, ...]
    F_w: Floats
    F_n: Floats

    @classmethod
    def of(cls, mesh: LinkMesh, variant: Variant = "complete") -> LinkEquations:
        """The equations of a meshed link."""
        S = mesh.spread()
        basis = motion_basis(mesh.bodies, variant)

        def onto(blocks: Floats) -> csr_array:
            whole = csr_array(S.T @ block_diagonal(blocks) @ S)
            whole.eliminate_zeros()
            return whole

        return cls(
            S,
            onto(mesh.bodies.mass_matrices()),
            csr_array(S.T @ mesh.D0 @ S),
            csr_array(S.T @ mesh.K0 @ S),
            tuple(onto(C) for C in basis.C),
            tuple(onto(K) for K in basis.K),
            np.stack([S.T @ F.ravel() for F in basis.F]),
            basis.F.reshape(len(basis.F), -1),
        )

    @property
    def size(self) -> int:
        """Number of displacements of the link, its root's included."""
        return int(self.M.shape[0])

    def dense(self) -> DenseLink:
        """The same constants as full matrices."""
        return DenseLink(
            self.M.toarray(),
            self.D.toarray(),
            self.K.toarray(),
            np.stack([C.toarray() for C in self.C_w]),
            np.stack([K.toarray() for K in self.K_w]),
            self.F_w,
        )

    def sparse_at(self, motion: LinkMotion, t: int) -> Matrices:
        """At one instant."""
        weights = motion_weights(motion.w[t : t + 1], motion.w_dot[t : t + 1], motion.a[t : t + 1])[0]
        C, K = self.D, self.K
        for factor, part in zip(motion.w[t], self.C_w, strict=True):
            C = C + factor * part if factor else C
        for factor, part in zip(weights, self.K_w, strict=True):
            K = K + factor * part if factor else K
        return Matrices(self.M, C, K, weights @ self.F_w)


@dataclass(frozen=True, eq=False, slots=True)
class DenseLink:
    """Constants of a link as full matrices, for robots of few displacements."""

    M: Floats
    D: Floats
    K: Floats
    C_w: Floats
    K_w: Floats
    F_w: Floats

    def at(self, motion: LinkMotion) -> Matrices:
        """At all instants of a motion."""
        weights = motion_weights(motion.w, motion.w_dot, motion.a)
        s = len(self.M)
        C = self.D + (motion.w @ self.C_w.reshape(3, -1)).reshape(-1, s, s)
        K = self.K + (weights @ self.K_w.reshape(12, -1)).reshape(-1, s, s)
        return Matrices(np.broadcast_to(self.M, C.shape), C, K, weights @ self.F_w)


def congruence(given: Matrices, N: tuple[Any, Any, Any]) -> Matrices:
    """The equations on y where s = N(t) y; batches of full matrices, or sparse ones of one instant."""
    M, C, K, f = given
    N0, N1, N2 = N
    T = np.swapaxes(N0, -1, -2) if isinstance(N0, np.ndarray) else N0.T
    MN = M @ N0
    load = (T @ f[..., None])[..., 0] if isinstance(N0, np.ndarray) else T @ f
    # s_dot = N y_dot + N_dot y, s_ddot = N y_ddot + 2 N_dot y_dot + N_ddot y
    return Matrices(T @ MN, T @ (C @ N0 + 2 * (M @ N1)), T @ (K @ N0 + C @ N1 + M @ N2), load)


def local_map(X: Jet, own: int, t: int | None = None) -> tuple[Any, Any, Any]:
    """N of a link: X on its root, its own displacements as they are. Full matrices, or sparse ones at instant t."""
    k = X[0].shape[2]
    if t is not None:
        one = coo_array(np.eye(own)) if own < 2 else _identity(own)
        return (
            _sparse_block(X[0][t], one),
            _sparse_block(X[1][t], csr_array((own, own))),
            _sparse_block(X[2][t], csr_array((own, own))),
        )
    out = []
    for order, x in enumerate(X):
        N = np.zeros((len(x), 6 + own, k + own))
        N[:, :6, :k] = x
        if not order:
            N[:, 6 + np.arange(own), k + np.arange(own)] = 1.0
        out.append(N)
    return out[0], out[1], out[2]


def _identity(n: int) -> Any:
    from scipy.sparse import eye_array

    return eye_array(n, format="csr")


def _sparse_block(top: Floats, bottom: Any) -> csr_array:
    if not top.shape[1]:
        # a root on the base moves with nothing
        empty = csr_array((6, bottom.shape[1]))
        from scipy.sparse import vstack

        return csr_array(vstack([empty, bottom]))
    return csr_array(block_diag([top, bottom], format="csr"))


class MatrixSum:
    """Equations of the robot, summed up from those of its links."""

    def __init__(self, size: int, times: int | None) -> None:
        self.size, self.times = size, times
        self.f = np.zeros((times, size) if times is not None else size)
        self.full = [np.zeros((times, size, size)) for _ in range(3)] if times is not None else []
        self.parts: list[list[tuple[Floats, NDArray[np.int_], NDArray[np.int_]]]] = [[], [], []]

    def add(self, places: NDArray[np.int_], part: Matrices) -> None:
        """Add the equations of a link, whose displacements stand at ``places``."""
        if self.times is not None:
            for whole, own in zip(self.full, part[:3], strict=True):
                whole[:, places[:, None], places] += own
            self.f[:, places] += part.f
            return
        for collected, own in zip(self.parts, part[:3], strict=True):
            entries = coo_array(own)
            collected.append((entries.data, places[entries.row], places[entries.col]))
        np.add.at(self.f, places, part.f)

    def add_stiffness(self, places: NDArray[np.int_], K: Any) -> None:
        """Add to K alone: full matrices at all instants, or a sparse or full one."""
        if self.times is not None:
            self.full[2][:, places[:, None], places] += K
            return
        entries = coo_array(K)
        self.parts[2].append((entries.data, places[entries.row], places[entries.col]))

    def result(self) -> Matrices:
        """The whole."""
        if self.times is not None:
            return Matrices(self.full[0], self.full[1], self.full[2], self.f)
        shape = (self.size, self.size)
        whole = []
        for collected in self.parts:
            data, rows, columns = (np.concatenate([part[k] for part in collected]) for k in range(3))
            whole.append(csr_array((data, (rows, columns)), shape=shape))
        return Matrices(whole[0], whole[1], whole[2], self.f)
