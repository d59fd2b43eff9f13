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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array, csr_array

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
    """C and K (n, 6, 6) and the wrench F (n, 6) of the nominal motion, at every node."""

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
        C[:, :3, 3:] = -m * (2 * w_ @ G_ - G_ @ w_)
        C[:, 3:, 3:] = w_ @ I - tilde(Iw)
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


def _both(A: Floats) -> Floats:
    """A matrix on displacement and turn alike (6, 6)."""
    return np.asarray(np.kron(np.eye(2), A))


class MotionBasis(NamedTuple):
    """The terms as linear combinations, so that many instants of a motion cost one product.

    C  (3, n, 6, 6)   by the components of w
    K  (12, n, 6, 6)  by those of a, w_dot and the products w_i w_j of ``PAIRS``
    F  (12, n, 6)
    """

    C: Floats
    K: Floats
    F: Floats


def motion_basis(bodies: NodeBodies, variant: Variant = "complete") -> MotionBasis:
    """Terms of unit motions."""
    unit, none = np.eye(3), np.zeros(3)

    def at(w: Floats = none, w_dot: Floats = none, a: Floats = none) -> NodeTerms:
        return node_terms(bodies, w, w_dot, a, variant)

    spins = [at(w=e) for e in unit]
    parts = [*(at(a=e) for e in unit), *(at(w_dot=e) for e in unit)]
    K, F = [t.K for t in parts], [t.F for t in parts]
    for i, j in PAIRS:
        if i == j:
            K.append(spins[i].K)
            F.append(spins[i].F)
        else:
            both = at(w=unit[i] + unit[j])
            K.append(both.K - spins[i].K - spins[j].K)
            F.append(both.F - spins[i].F - spins[j].F)
    return MotionBasis(np.stack([t.C for t in spins]), np.stack(K), np.stack(F))


def motion_weights(w: Floats, w_dot: Floats, a: Floats) -> Floats:
    """Factors (times, 12) of K and F at nominal motions (times, 3)."""
    return np.hstack([a, w_dot, np.stack([w[:, i] * w[:, j] for i, j in PAIRS], axis=1)])
