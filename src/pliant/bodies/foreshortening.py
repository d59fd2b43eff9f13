"""The second-order displacement of a bent beam: its sections move back along the axis, which does not stretch.

A section at x is displaced by Phi q + q^T Gamma q / 2. On the axis Gamma = e_x G with

    G(x) = -int_0^x (w_y' w_y'^T + w_z' w_z'^T) dx

and a point at a lever s from the axis moves by theta x (theta x s) / 2 more. All loads along the axis, gravity,
payloads and centrifugal forces, stiffen or soften a body through the integrals of Gamma over its mass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pliant.bodies.families import MOTIONS, ShapeSet, X
from pliant.bodies.invariants import attachment, gram_matrix
from pliant.bodies.lumped import RigidPieces
from pliant.bodies.modal_body import Array
from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import TAPER_POINTS, gauss, merge_breaks
from pliant.bodies.rounding import listed
from pliant.bodies.second_order_terms import SecondOrderSection, SecondOrderTerms


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

    def with_rigid(self, mass: float, com: Array, inertia: Array) -> Foreshortening:
        """A rigid part in the body's own frame does not move in it."""
        return self

    def with_point(self, mass: float, frame: str, position: Array) -> Foreshortening:
        """With a point mass at a frame, which is at a position."""
        Gamma = self.frames[frame]
        return replace(
            self,
            first=self.first + mass * Gamma,
            second=self.second + mass * np.einsum("a,bik->abik", position, Gamma),
        )

    def terms(self, linear: ModalTerms) -> SecondOrderTerms:
        """The terms of the body."""
        I_ee = listed(np.array(linear.I_ee, dtype=float).reshape(self.inertia.shape) + self.inertia)
        return SecondOrderTerms(linear._replace(I_ee=I_ee), listed(self.first), listed(self.moment))

    def section(self, frame: str, linear: ModalSection) -> SecondOrderSection | ModalSection:
        """What the terms need to know of a frame: the linear section where it is not moved any further."""
        Gamma = self.frames[frame]
        return SecondOrderSection(linear, listed(Gamma)) if Gamma.any() else linear

    def offset(self, frame: str) -> Array:
        """Frames beside the axis are among the shapes."""
        return np.zeros(3)

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
    pieces: Sequence[RigidPieces] = (),
) -> Foreshortening:
    """The integrals of a beam; ``frames`` are the places x and the offsets from the axis of its frames.

    ``pieces`` are the rigid bodies of a lumped beam, which carry its mass.
    """
    n = sum(s.size for s in sets)
    first, second = np.zeros((3, n, n)), np.zeros((3, 3, n, n))
    if n:
        outboard = _outboard_of_pieces(profile, pieces[0]) if pieces else _outboard(profile)
        # int rhoA G dx = -int w' w'^T (mass outboard of x) dx
        first[X] = _slope_gram(sets, profile, profile.length, lambda x: outboard(x)[0])
        second[X, X] = _slope_gram(sets, profile, profile.length, lambda x: outboard(x)[1])
        for power, total in ((0, first[X]), (1, second[X, X])):
            total -= _tilted(pieces, profile, power, n)
    return Foreshortening(first, second, {name: _of_frame(sets, profile, *at) for name, at in frames.items()})


def shortening_of(sets: Sequence[ShapeSet], profile: BeamProfile, x: Array) -> Array:
    """G of the axis at places x (places, n, n)."""
    return np.stack([_slope_gram(sets, profile, float(at), np.ones_like) for at in x])


def _slope_gram(sets: Sequence[ShapeSet], profile: BeamProfile, end: float, weight: Callable[[Array], Array]) -> Array:
    """-int_0^end weight w' w'^T dx over all bending families (n, n); families do not couple."""
    n = sum(s.size for s in sets)
    G = np.zeros((n, n))
    breaks = merge_breaks(profile.breaks, *(s.breaks for s in sets), length=profile.length)
    ends = (*(b for b in breaks if b < end), end)
    if len(ends) < 2:
        return G
    x, weights = gauss(ends, max((s.points for s in sets), default=2) + TAPER_POINTS)
    start = 0
    for s in sets:
        if MOTIONS[s.family].shear is not None:
            samples = s.sample(x)
            # of the axis: a shear-flexible section turns by less
            slope = samples.rotation + samples.shear
            block = slice(start, start + s.size)
            G[block, block] = -gram_matrix(slope, weights * weight(x))
        start += s.size
    return G


def _outboard(profile: BeamProfile) -> Callable[[Array], Array]:
    """Mass and first moment of what is outboard of places x (2, places)."""

    def beyond(x: Array) -> Array:
        out = np.zeros((2, len(x)))
        for j, at in enumerate(x):
            ends = (float(at), *(b for b in profile.breaks if b > at))
            places, weights = gauss(ends, 2 + TAPER_POINTS)
            masses = weights * profile.at(places).rhoA
            out[:, j] = masses.sum(), masses @ places
        return out

    return beyond


def _outboard_of_pieces(profile: BeamProfile, pieces: RigidPieces) -> Callable[[Array], Array]:
    """The same with the mass of every piece at its node."""
    nodes, moments = np.asarray(pieces.nodes), _piece_moments(profile, pieces)[:2]

    def beyond(x: Array) -> Array:
        return np.asarray(moments @ (nodes[:, None] > x))

    return beyond


def _piece_moments(profile: BeamProfile, pieces: RigidPieces) -> Array:
    """int dm, int x dm, int (x - node) dm and int x (x - node) dm of every rigid piece (4, nodes)."""
    nodes = np.asarray(pieces.nodes)
    x, weights = gauss(merge_breaks(profile.breaks, pieces.breaks, length=profile.length), 2 + TAPER_POINTS)
    masses = weights * profile.at(x).rhoA
    owner = np.searchsorted(np.asarray(pieces.breaks), x, side="right")
    lever = x - nodes[owner]
    rows = (masses, masses * x, masses * lever, masses * x * lever)
    return np.stack([np.bincount(owner, row, minlength=len(nodes)) for row in rows])


def _tilted(pieces: Sequence[RigidPieces], profile: BeamProfile, power: int, n: int) -> Array:
    """int x^power (x - node) psi psi^T dm: a rigid piece also tilts about its node."""
    out = np.zeros((n, n))
    start = 0
    for s in pieces:
        if MOTIONS[s.family].shear is not None:
            psi = np.arange(start + 1, start + s.size, 2)
            # the piece of the root node belongs to the clamp
            out[psi, psi] = _piece_moments(profile, s)[2 + power, 1:]
        start += s.size
    return out


def _of_frame(sets: Sequence[ShapeSet], profile: BeamProfile, x: float, offset: Array) -> Array:
    """Gamma of a frame (3, n, n)."""
    n = sum(s.size for s in sets)
    Gamma = np.zeros((3, n, n))
    if n:
        Gamma[X] = _slope_gram(sets, profile, x, np.ones_like)
        Gamma += _lever(attachment(sets, x).Phi_r, np.asarray(offset, dtype=float))
    return Gamma


def _lever(Phi_r: Array, s: Array) -> Array:
    """theta x (theta x s) = theta (theta . s) - s theta^2 as a form in q, symmetric in its two factors."""
    along = np.einsum("ai,bk,b->aik", Phi_r, Phi_r, s)
    square = np.einsum("bi,bk->ik", Phi_r, Phi_r)
    return np.asarray((along + np.swapaxes(along, 1, 2)) / 2 - s[:, None, None] * square)
