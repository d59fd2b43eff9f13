"""The second-order displacement of a bent beam: its sections move back along the axis, which does not stretch.

A section at x is displaced by Phi q + q^T Gamma q / 2. On the axis Gamma = e_x G with

    G(x) = -int_0^x (w_y' w_y'^T + w_z' w_z'^T) dx

and a point at a lever s from the axis moves by theta x (theta x s) / 2 more. All loads along the axis, gravity,
payloads and centrifugal forces, stiffen or soften a body through the integrals of Gamma over its mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pliant.bodies.elements import BendingElements
from pliant.bodies.families import MOTIONS, ShapeSet, X
from pliant.bodies.invariants import ROUNDING, attachment
from pliant.bodies.lumped import RigidPieces
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import TAPER_POINTS, gauss, merge_breaks


@dataclass(frozen=True, slots=True)
class Foreshortening:
    """Integrals of the second-order displacement q^T Gamma q / 2 of a body with n coordinates, in its frame B.

    first   int Gamma dm       kg/m    (3, n, n)
    second  int r_a Gamma_b dm kg      (3, 3, n, n)
    frames  Gamma of its frames  1/m   (3, n, n)
    """

    first: Array
    second: Array
    frames: Mapping[str, Array] = field(default_factory=dict)

    @property
    def inertia(self) -> Array:
        """What the inertia tensor gains per q_i q_k (n, n, 3, 3): the symmetric part of int r~^T Gamma~ dm."""
        trace = np.einsum("aaik->ik", self.second)
        turned = np.moveaxis(self.second + np.swapaxes(self.second, 0, 1), (0, 1), (2, 3)) / 2
        return np.asarray(trace[:, :, None, None] * np.eye(3) - turned)

    @property
    def moment(self) -> Array:
        """int r x Gamma dm (3, n, n); zero for a straight beam whose axis goes through the origin."""
        S = self.second
        return np.stack([S[1, 2] - S[2, 1], S[2, 0] - S[0, 2], S[0, 1] - S[1, 0]])

    def reframed(self, R: Array, p: Array) -> Foreshortening:
        """In a frame where a point at r is at R r + p."""
        first = np.einsum("ab,bik->aik", R, self.first)
        second = np.einsum("ac,bd,cdik->abik", R, R, self.second) + np.einsum("a,bik->abik", p, first)
        frames = {name: np.einsum("ab,bik->aik", R, Gamma) for name, Gamma in self.frames.items()}
        return Foreshortening(first, second, frames)

    def with_point(self, mass: float, position: Array, Gamma: Array) -> Foreshortening:
        """With a point mass."""
        return replace(
            self,
            first=self.first + mass * Gamma,
            second=self.second + mass * np.einsum("a,bik->abik", position, Gamma),
        )

    def combined(self, V: Array) -> Foreshortening:
        """In the coordinates p of q = V p."""

        def both(A: Array) -> Array:
            return np.asarray(np.einsum("ip,...ik,kq->...pq", V, A, V))

        return Foreshortening(both(self.first), both(self.second), {k: both(G) for k, G in self.frames.items()})


def foreshortening(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    frames: Mapping[str, tuple[float, Array]],
    *,
    mass_sets: Sequence[ShapeSet] | None = None,
) -> Foreshortening:
    """The integrals of a beam; ``frames`` are the places x and the offsets from the axis of its frames.

    ``mass_sets`` are the rigid pieces of a lumped beam, which carry its mass.
    """
    shortening = _Shortening(sets, profile)
    x, weights = gauss(shortening.breaks, shortening.points)
    if mass_sets is not None:
        pieces = [s for s in mass_sets if isinstance(s, RigidPieces)]
        breaks = merge_breaks(profile.breaks, *(s.breaks for s in pieces), length=profile.length)
        x, weights = gauss(breaks, 2 + TAPER_POINTS)
    masses = weights * profile.at(x).rhoA
    G = shortening(x) if mass_sets is None else _of_pieces(shortening, sets, mass_sets, x)
    n = G.shape[1]
    first, second = np.zeros((3, n, n)), np.zeros((3, 3, n, n))
    first[X] = np.einsum("p,pik->ik", masses, G)
    second[X, X] = np.einsum("p,p,pik->ik", masses, x, G)
    made = {name: _of_frame(shortening, sets, at, offset) for name, (at, offset) in frames.items()}
    return Foreshortening(first, second, made)


class _Shortening:
    """G(x) of the axis: integrals of products of slopes, panel by panel and exact to rounding."""

    def __init__(self, sets: Sequence[ShapeSet], profile: BeamProfile) -> None:
        self.sets = sets
        self.breaks = merge_breaks(profile.breaks, *(s.breaks for s in sets), length=profile.length)
        self.points = max((s.points for s in sets), default=2) + TAPER_POINTS
        self.size = sum(s.size for s in sets)
        self.to_break = [np.zeros((self.size, self.size))]
        for a, b in zip(self.breaks[:-1], self.breaks[1:], strict=True):
            self.to_break.append(self.to_break[-1] + self._between(a, b))

    def __call__(self, x: Array) -> Array:
        """G at places x (places, n, n)."""
        panel = np.searchsorted(np.asarray(self.breaks[1:-1]), x, side="right")
        return np.stack([self.to_break[k] + self._between(self.breaks[k], float(at)) for k, at in zip(panel, x)])

    def _between(self, a: float, b: float) -> Array:
        if b <= a:
            return np.zeros((self.size, self.size))
        x, weights = gauss((a, b), self.points)
        G = np.zeros((self.size, self.size))
        start = 0
        for s in self.sets:
            if MOTIONS[s.family].shear is not None:
                samples = s.sample(x)
                # of the axis: a shear-flexible section turns by less
                slope = samples.rotation + samples.shear
                G[start : start + s.size, start : start + s.size] = -np.einsum("ip,p,kp->ik", slope, weights, slope)
            start += s.size
        return G


def _of_frame(shortening: _Shortening, sets: Sequence[ShapeSet], x: float, offset: Array) -> Array:
    """Gamma of a frame (3, n, n)."""
    n = shortening.size
    Gamma = np.zeros((3, n, n))
    if n:
        Gamma[X] = shortening(np.array([x]))[0]
        Gamma += _lever(attachment(sets, x).Phi_r, offset)
    return Gamma


def _lever(Phi_r: Array, s: Array) -> Array:
    """theta x (theta x s) = theta (theta . s) - s theta^2 as a form in q, symmetric in its two factors."""
    along = np.einsum("ai,bk,b->aik", Phi_r, Phi_r, s)
    square = np.einsum("bi,bk->ik", Phi_r, Phi_r)
    return np.asarray((along + np.swapaxes(along, 1, 2)) / 2 - s[:, None, None] * square)


def _of_pieces(
    shortening: _Shortening, sets: Sequence[ShapeSet], pieces: Sequence[ShapeSet], x: Array
) -> Array:
    """G of the rigid pieces: that of the node, and the tilt of the lever from it."""
    nodes = next((np.asarray(s.nodes) for s in pieces if isinstance(s, RigidPieces)), np.zeros(1))
    edges = (nodes[:-1] + nodes[1:]) / 2
    node = nodes[np.searchsorted(edges, x, side="right")]
    at_node = dict(zip(nodes.tolist(), shortening(nodes), strict=True))
    G = np.stack([at_node[float(k)] for k in node])
    start = 0
    for s in pieces:
        if MOTIONS[s.family].shear is not None:
            turn = s.sample(x).rotation
            block = slice(start, start + s.size)
            G[:, block, block] -= np.einsum("p,ip,kp->pik", x - node, turn, turn)
        start += s.size
    return G
