"""Equations of the rigid bodies at the nodes, to first order about a nominal motion: Di Gregorio (1) to (5).

A node sits at x in the link frame S. The link moves nominally with angular velocity w, angular acceleration w_dot and
acceleration a of its origin; the node is displaced by delta and its body turned by alpha, nu = (delta, alpha), all in
axes of S, and dots are derivatives of these components. The wrench on the node, force and moment about it, is

    S = M nu_ddot + C(w) nu_dot + K(w, w_dot, a) nu + F(w, w_dot, a).

Complete to first order, with W = w_dot~ + w~ w~ and a_N = a + W x:

    C12 = -2 m w~ G~            C22 = w~ I + I w~ - (I w)~
    K12 = -m W G~               K22 = m a_N~ G~ + I w_dot~ - (I w_dot)~ + w~ (I w~ - (I w)~)

The printed (4.2) has C12 = -m (2 w~ G~ - G~ w~) and C22 = w~ I - (I w)~, which take the rate of alpha for an absolute
one, and (4.3) leaves out the second column of K: the body's G and I would not turn with it. (17) and (18) then put
absolute derivatives in the place of the dots, where those relative to S belong.

The equations of a link follow on the displacements of its root and its own nodes, and those of the robot,
M z_ddot + C z_dot + K z + f = 0, by adding them up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, bsr_array, coo_array, csr_array

if TYPE_CHECKING:
    from pliant.analysis.lumped.displacements import Jet
    from pliant.analysis.lumped.mesh import LinkMesh
    from pliant.analysis.lumped.nominal_motion import LinkMotion
    from pliant.analysis.lumped.reduced_link import ReducedLink

Floats = NDArray[np.float64]

PAIRS = tuple((i, j) for i in range(3) for j in range(i, 3))
"""Products w_i w_j on which centrifugal terms depend."""


def tilde(v: Floats) -> Floats:
    """The matrices (..., 3, 3) of the cross products with vectors (..., 3)."""
    v = np.asarray(v)
    out = np.zeros((*v.shape, 3), dtype=v.dtype)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return out


def block_diagonal(blocks: Floats) -> csr_array:
    """The sparse matrix (n k, n k) whose diagonal is made of blocks (n, k, k)."""
    n, k, _ = blocks.shape
    out = csr_array(bsr_array((blocks, np.arange(n), np.arange(n + 1)), shape=(n * k, n * k)))
    out.eliminate_zeros()
    return out


@dataclass(frozen=True, slots=True)
class NodeBodies:
    """The second partition of a link: a rigid body at every node.

    x  (n, 3)     m        nodes in the link frame
    m  (n,)       kg       masses
    G  (n, 3)     m        centres of mass, from the node
    I  (n, 3, 3)  kg m^2   inertia about the node
    """

    x: Floats
    m: Floats
    G: Floats
    I: Floats  # noqa: E741  the paper's symbol

    def mass_matrices(self) -> Floats:
        """(4.1): M of every node (n, 6, 6)."""
        out = np.zeros((len(self.m), 6, 6))
        first = self.m[:, None, None] * tilde(self.G)
        out[:, :3, :3] = self.m[:, None, None] * np.eye(3)
        out[:, :3, 3:], out[:, 3:, :3], out[:, 3:, 3:] = -first, first, self.I
        return out


class NodeTerms(NamedTuple):
    """C and K (n, 6, 6) and the wrench F (n, 6) of the nominal motion, at every node; of a link (s, s) and (s,)."""

    C: Floats
    K: Floats
    F: Floats


Variant = Literal["complete", "absolute", "printed"]
"""Of the node equations: complete to first order; bodies that do not turn with their node; all as printed."""


def node_terms(
    bodies: NodeBodies, w: Floats, w_dot: Floats, a: Floats, variant: Variant = "complete"
) -> NodeTerms:  # fmt: skip
    """The terms of all nodes of a link at one nominal motion (3,), each in link axes.

    Gravity g enters as the acceleration a - g. For study: ``printed`` takes (4.2), (4.3) and (18) as they are printed;
    ``absolute`` has the right derivatives of nu, and only the second column of (4.3) is zero as printed.
    """
    x, G, I = bodies.x, bodies.G, bodies.I  # noqa: E741
    m = bodies.m[:, None, None]
    w_, wd_, G_ = tilde(w), tilde(w_dot), tilde(G)
    W = wd_ + w_ @ w_
    a_N = a + x @ W.T
    Iw, Iwd = I @ w, I @ w_dot
    C, K = (np.zeros((len(x), 6, 6), dtype=a_N.dtype) for _ in range(2))
    F = np.empty((len(x), 6), dtype=a_N.dtype)
    # (3): the nominal motion needs this wrench
    F[:, :3] = bodies.m[:, None] * (a_N + G @ W.T)
    F[:, 3:] = bodies.m[:, None] * np.cross(G, a_N) + Iwd + np.cross(w, Iw)
    C[:, :3, :3] = 2 * m * w_
    C[:, 3:, :3] = 2 * m * (G_ @ w_)
    K[:, :3, :3] = m * W
    K[:, 3:, :3] = m * (G_ @ W)
    M, spin = bodies.mass_matrices(), _both(w_)
    if variant == "printed":
        C, K = printed_matrices(bodies, w, w_dot)
        # (17) and (18) hand absolute derivatives to matrices that were made for those in S
        return NodeTerms(C + 2 * M @ spin, K + C @ spin + M @ _both(W), F)
    C[:, :3, 3:] = -2 * m * (w_ @ G_)
    C[:, 3:, 3:] = w_ @ I + I @ w_ - tilde(Iw)
    if variant == "absolute":
        # what is left of it when the derivatives in S are written by absolute ones
        K[:, :, 3:] = (C @ spin - M @ (spin @ spin - _both(wd_)))[:, :, 3:]
        return NodeTerms(C, K, F)
    K[:, :3, 3:] = -m * (W @ G_)
    K[:, 3:, 3:] = m * (tilde(a_N) @ G_) + I @ wd_ - tilde(Iwd) + w_ @ (I @ w_ - tilde(Iw))
    return NodeTerms(C, K, F)


def printed_matrices(bodies: NodeBodies, w: Floats, w_dot: Floats) -> tuple[Floats, Floats]:
    """C_N of (4.2) and K_N of (4.3) (n, 6, 6), letter by letter."""
    m, G_, w_ = bodies.m[:, None, None], tilde(bodies.G), tilde(w)
    W = tilde(w_dot) + w_ @ w_
    C, K = (np.zeros((len(bodies.m), 6, 6)) for _ in range(2))
    C[:, :3, :3] = 2 * m * w_
    C[:, 3:, :3] = 2 * m * (G_ @ w_)
    C[:, :3, 3:] = -m * (2 * w_ @ G_ - G_ @ w_)
    C[:, 3:, 3:] = w_ @ bodies.I - tilde(bodies.I @ w)
    K[:, :3, :3] = m * W
    K[:, 3:, :3] = m * (G_ @ W)
    return C, K


def _both(A: Floats) -> Floats:
    """A matrix on displacement and turn alike (6, 6)."""
    return np.asarray(np.kron(np.eye(2), A))


class MotionBasis(NamedTuple):
    """The terms as linear combinations, so that many instants of a motion cost one product.

    C  (3, ...)   by the components of w
    K  (12, ...)  by those of a, w_dot and the products w_i w_j of ``PAIRS``
    F  (12, ...)
    """

    C: Floats
    K: Floats
    F: Floats


def motion_basis(terms: Callable[[Floats, Floats, Floats], NodeTerms]) -> MotionBasis:
    """Terms of unit motions, from those of any motion (w, w_dot, a), each (3,)."""
    unit, none = np.eye(3), np.zeros(3)
    spins = [terms(e, none, none) for e in unit]
    parts = [*(terms(none, none, e) for e in unit), *(terms(none, e, none) for e in unit)]
    K, F = [t.K for t in parts], [t.F for t in parts]
    for i, j in PAIRS:
        if i == j:
            K.append(spins[i].K)
            F.append(spins[i].F)
        else:
            both = terms(unit[i] + unit[j], none, none)
            K.append(both.K - spins[i].K - spins[j].K)
            F.append(both.F - spins[i].F - spins[j].F)
    return MotionBasis(np.stack([t.C for t in spins]), np.stack(K), np.stack(F))


def motion_weights(w: Floats, w_dot: Floats, a: Floats) -> Floats:
    """Factors (times, 12) of K and F at nominal motions (times, 3)."""
    return np.hstack([a, w_dot, np.stack([w[:, i] * w[:, j] for i, j in PAIRS], axis=1)])


# ---- the assembled equations M z_ddot + C z_dot + K z + f = 0 of the independent displacements along a motion


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
    def reduced(cls, link: ReducedLink) -> LinkEquations:
        """The equations of a link by its own coordinates, whose wrench of the nominal motion acts at its root."""
        M, D, K = (csr_array(x) for x in link.constants())
        basis = motion_basis(link.moving_terms)
        F_n = np.zeros((len(basis.F), 6 * link.places))
        F_n[:, :6] = basis.F[:, :6]
        C_w, K_w = (tuple(csr_array(part) for part in parts) for parts in (basis.C, basis.K))
        return cls(link.spread(), M, D, K, C_w, K_w, basis.F, F_n)

    @classmethod
    def of(cls, mesh: LinkMesh, variant: Variant = "complete") -> LinkEquations:
        """The equations of a meshed link."""
        S = mesh.spread()
        basis = motion_basis(lambda w, w_dot, a: node_terms(mesh.bodies, w, w_dot, a, variant))

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
        """The constants of the link as full matrices."""
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
