"""The second-order displacement of a bent beam: its sections move back along the axis, which does not stretch.

A section at x is displaced by Phi q + q^T Gamma q / 2. On the axis Gamma = e_x G with

    G(x) = -int_0^x (w_y' w_y'^T + w_z' w_z'^T) dx

and what is beside the axis turns with its section. All loads along the axis, gravity, payloads and centrifugal forces,
stiffen or soften a body through the integrals of Gamma over its mass.

The displacement q^T Gamma(r) q / 2 is replaced by sum_j u_j(r) p_j with few fields u_j = t_j + G_j r, modes of a
linear body, and p_j = q^T F_j q / 2. A fit by least squares over the mass keeps int Gamma dm and int r Gamma dm, and so
the kinetic energy to second order. All of its energy is kept, a sum of squares: the mass matrix is positive at every
deflection. Where a beam stretches as well, its shapes phi of elongation are fields too, which keeps int phi . Gamma dm:
the energy has q_phi_dot p_dot in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pliant.bodies.beam_modes import gram_matrix
from pliant.bodies.elements import RigidPieces
from pliant.bodies.families import FAMILIES, ShapeSet, X
from pliant.bodies.modal_body import Array, ModalBody, cross_moments, dot_moments, tensor_moments
from pliant.bodies.modal_terms import ModalSection, ModalTerms, SecondOrderSection, SecondOrderTerms
from pliant.bodies.profile import TAPER_POINTS, BeamProfile, gauss, merge_breaks
from pliant.spatial.rounding import filled, listed, rounded

if TYPE_CHECKING:
    from pliant.model.description.modal import ModalData


# ---------------------------------------------------------------- second-order displacements as few fields that are lin


SAME_LINE = 1e-9
"""Spread of a mass beside a line, of that along it, which is rounding."""
RANK = 1e-10
"""Of the largest singular value: less is rounding of turned arrays."""
MOST_FIELDS = 8
"""Fields of a body of any shape: with more of them the code of an arm leaves the processor's cache."""
NEGLIGIBLE_FIELD = 0.03
"""Of the largest field, by the kinetic energy that it takes at unit energies of strain; only where there are many."""
IDENTITY = np.eye(3)
WIDENED = ("first_modal", "beta", "lam", "I_re", "I_ee", "M_ee", "K_ee", "D_ee")
"""The integrals of a ModalBody that get further modes."""


@dataclass(frozen=True, slots=True)
class ShorteningFields:
    """k fields u_j = t_j + G_j r + sum_m E_jm phi_m and their forms F_j, on a mass that is known by its moments.

    shifts     t    -    (k, 3)
    gradients  G    1/m  (k, 3, 3)
    forms      F    1/m or -  (k, n, n)
    modes      E    -    (k, n), None: all zero
    """

    shifts: Array
    gradients: Array
    forms: Array
    modes: Array | None = None

    def widened(self, body: Mapping[str, Array], mass: float, place: Array, spread: Array) -> dict[str, Array]:
        """Integrals of a body with n modes and these fields; its mass m, int r dm and int r r^T dm where they act."""
        n, k = body["first_modal"].shape[1], len(self.shifts)
        # with r = (1, x, y, z) a field is u_j = H_j r
        fields = np.empty((k, 3, 4))
        fields[:, :, 0], fields[:, :, 1:] = self.shifts, self.gradients
        H = fields.reshape(3 * k, 4)
        S = np.empty((4, 4))
        S[0, 0], S[0, 1:], S[1:, 0], S[1:, 1:] = mass, place, place, spread
        F = np.empty((n, 3, 4))
        F[:, :, 0], F[:, :, 1:] = body["first_modal"].T, moments(body["I_re"]).swapaxes(1, 2)
        # int a b^T dm of places r, shapes phi and fields u
        held = H @ S
        r_u = held[:, 1:].reshape(k, 3, 3).swapaxes(1, 2)
        pairs = np.zeros((n + k, n + k, 3, 3))
        pairs[:n, n:] = mixed = (F.reshape(3 * n, 4) @ H.T).reshape(n, 3, k, 3).swapaxes(1, 2)
        pairs[n:, :n] = mixed.transpose(1, 0, 3, 2)
        pairs[n:, n:] = (held @ H.T).reshape(k, 3, k, 3).swapaxes(1, 2)
        first = held[:, 0].reshape(k, 3)
        if (E := self.modes) is not None:
            own = moments(body["I_ee"])
            first = first + E @ body["first_modal"].T
            r_u = r_u + np.einsum("jm,mab->jab", E, moments(body["I_re"]))
            further = np.einsum("jm,imab->ijab", E, own)
            across = np.einsum("lm,mjab->ljab", E, pairs[:n, n:])
            pairs[n:, n:] += across + across.transpose(1, 0, 3, 2) + np.einsum("lm,mjab->ljab", E, further)
            pairs[:n, n:] += further
            pairs[n:, :n] = pairs[:n, n:].transpose(1, 0, 3, 2)
        out = {
            "first_modal": np.concatenate([body["first_modal"], first.T], axis=1),
            "beta": np.concatenate([body["beta"], cross_moments(r_u).T], axis=1),
            "lam": cross_moments(pairs),
            "I_re": np.concatenate([body["I_re"], tensor_moments(r_u)]),
            "I_ee": tensor_moments(pairs),
            "M_ee": dot_moments(pairs),
            "K_ee": np.zeros((n + k, n + k)),
            "D_ee": np.zeros((n + k, n + k)),
        }
        for name in ("lam", "I_ee", "M_ee", "K_ee", "D_ee"):
            out[name][:n, :n] = body[name]
        return out


def factors(A: Array) -> tuple[Array, Array]:
    """Orthonormal columns of A (rank, rows) and what multiplies them (rank, columns)."""
    filled = np.asarray(A.any(axis=1)).nonzero()[0]
    if not len(filled):
        return np.zeros((0, len(A))), np.zeros((0, A.shape[1]))
    if len(filled) == 1:
        # a straight beam shortens along its axis alone
        U = np.zeros((1, len(A)))
        U[0, filled] = 1.0
        return U, A[filled]
    U, sizes, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, sizes > RANK * sizes[0]].T
    largest = np.take_along_axis(U, np.abs(U).argmax(axis=1)[:, None], axis=1)
    U = U * np.sign(largest)
    return U, U @ A


def inverse_of_spread(A: Array) -> Array:
    """Inverse of a symmetric (3, 3) where it has one: mass along a line has no spread beside it."""
    moments = A.diagonal().tolist()
    if np.count_nonzero(A) > 3 - moments.count(0.0):
        return np.asarray(np.linalg.pinv(A, rcond=SAME_LINE, hermitian=True), dtype=float)
    least = SAME_LINE * max(map(abs, moments))
    out = np.zeros((3, 3))
    for k, moment in enumerate(moments):
        if abs(moment) > least:
            out[k, k] = 1.0 / moment
    return out


def moments(tensor: Array) -> Array:
    """int a b^T dm of int a~^T b~ dm = (int a . b dm) 1 - int b a^T dm, whose trace is 2 int a . b dm (..., 3, 3)."""
    return np.asarray(np.swapaxes((dot_moments(tensor) / 2)[..., None, None] * IDENTITY - tensor, -1, -2))


# ---------------------------------------------------------------- the second-order displacement of a bent beam


@dataclass(frozen=True)
class Foreshortening:
    """Integrals of the second-order displacement q^T Gamma q / 2 of a body with n coordinates, in its frame B.

    mass    m of what moves so     kg      ()
    place   int r dm of it         kg m    (3,)
    spread  int r r^T dm of it     kg m^2  (3, 3)
    first   int Gamma dm           kg/m    (3, n, n)
    second  int r_a Gamma_b dm     kg      (3, 3, n, n)
    frames  Gamma of the sections of its frames    1/m    (3, n, n)
    turns   Gamma_r of those that turn by Phi_r q + q^T Gamma_r q / 2    1/m^2  (3, n, n)
    axial   the modes phi that stretch it, k of them
    along   int phi . Gamma dm     kg/m    (k, n, n)
    moved   phi of these           -       (k, 3)
    stiffness  K of the coordinates, by which a body of any shape weighs its many fields (n, n); None: all are kept
    """

    mass: float
    place: Array
    spread: Array
    first: Array
    second: Array
    frames: Mapping[str, Array] = field(default_factory=dict)
    axial: tuple[int, ...] = ()
    along: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    moved: Mapping[str, Array] = field(default_factory=dict)
    turns: Mapping[str, Array] = field(default_factory=dict)
    stiffness: Array | None = None

    def reframed(self, R: Array, p: Array) -> Foreshortening:
        """In a frame where a point at r is at R r + p."""
        first = np.einsum("ab,bik->aik", R, self.first)
        second = np.einsum("ac,bd,cdik->abik", R, R, self.second) + np.einsum("a,bik->abik", p, first)
        turned = np.outer(R @ self.place, p)
        return replace(
            self,
            place=R @ self.place + self.mass * p,
            spread=R @ self.spread @ R.T + turned + turned.T + self.mass * np.outer(p, p),
            first=first,
            second=second,
            frames={name: np.einsum("ab,bik->aik", R, Gamma) for name, Gamma in self.frames.items()},
            turns={name: np.einsum("ab,bik->aik", R, Gamma) for name, Gamma in self.turns.items()},
            moved={name: phi @ R.T for name, phi in self.moved.items()},
        )

    def with_rigid(self, mass: float, com: Array, inertia: Array) -> Foreshortening:
        """A rigid part in the body's own frame does not move in it."""
        return self

    def with_point(self, mass: float, frame: str, position: Array) -> Foreshortening | None:
        """With a point mass at a frame, which is at a position; None where it moves otherwise than the body does."""
        Gamma = self.frames[frame]
        along = mass * np.einsum("ka,aij->kij", self.moved[frame], Gamma) if self.axial else 0.0
        loaded = replace(
            self,
            mass=self.mass + mass,
            place=self.place + mass * position,
            spread=self.spread + mass * np.outer(position, position),
            first=self.first + mass * Gamma,
            second=self.second + mass * np.einsum("a,bik->abik", position, Gamma),
            along=self.along + along,
        )
        # fields that were left out are those of the body, not of what it carries
        if self.left_out or loaded.left_out:
            return None
        return loaded if len(loaded.fields.forms) <= len(self.fields.forms) else None

    @cached_property
    def fields(self) -> ShorteningFields:
        """The least squares fit of Gamma by fields that are linear in the place r: same integrals, few terms."""
        if self.stiffness is not None:
            return self._weighed[0]
        n, centre = self.first.shape[-1], self.place / self.mass
        shifts, of_shifts = factors(self.first.reshape(3, -1) / self.mass)
        stretches, of_stretches = factors(self._slopes(self._about_centre()).reshape(9, -1))
        G = np.swapaxes(stretches.reshape(-1, 3, 3), 1, 2)
        return ShorteningFields(
            np.concatenate([shifts, -(G @ centre)]),
            np.concatenate([np.zeros((len(shifts), 3, 3)), G]),
            np.concatenate([of_shifts, of_stretches]).reshape(-1, n, n),
        )

    @cached_property
    def left_out(self) -> int:
        """How many fields of a body of any shape are left out, because they move little mass for their energy."""
        return 0 if self.stiffness is None else self._weighed[1]

    def _about_centre(self) -> Array:
        """Second moments of the mass about its centre (3, 3)."""
        centre = self.place / self.mass
        return np.asarray(self.spread - self.mass * (centre[:, None] * centre))

    def _slopes(self, about: Array) -> Array:
        """By how much the fitted displacement changes along each axis (3, 3 n n)."""
        bent = self.second - (self.place / self.mass)[:, None, None, None] * self.first
        return np.asarray(inverse_of_spread(about) @ bent.reshape(3, -1))

    @cached_property
    def _weighed(self) -> tuple[ShorteningFields, int]:
        """Fields by the kinetic energy that they take at unit energies of strain, largest first; how many are left out.

        In coordinates p with K = 1 the forms of two modes are divided by omega_i omega_j.
        """
        assert self.stiffness is not None
        n, centre, about = self.first.shape[-1], self.place / self.mass, self._about_centre()
        slopes = self._slopes(about)
        values, V = np.linalg.eigh(self.stiffness)
        soft = V / np.sqrt(np.maximum(values, RANK * values[-1]))
        # rows of fields with unit kinetic energy: shifts of the mass, and gradients about its centre
        sizes, axes = np.linalg.eigh(about)
        roots = np.sqrt(np.where(sizes > SAME_LINE * sizes[-1], sizes, 0.0))
        gradients = np.einsum("ca,cbk->abk", axes, slopes.reshape(3, 3, -1)) * roots[:, None, None]
        rows = np.concatenate([self.first.reshape(3, -1) / np.sqrt(self.mass), gradients.reshape(9, -1)])
        weighed = (soft.T @ rows.reshape(-1, n, n) @ soft).reshape(12, -1)
        U, strengths, _ = np.linalg.svd(weighed, full_matrices=False)
        known = int(np.count_nonzero(strengths > RANK * strengths[0])) if strengths[0] else 0
        kept = known
        if known > MOST_FIELDS:
            kept = min(MOST_FIELDS, int(np.count_nonzero(strengths > NEGLIGIBLE_FIELD * strengths[0])))
        U = U[:, :kept].T
        with np.errstate(divide="ignore"):
            back = np.where(roots > 0, 1.0 / roots, 0.0)
        G = np.einsum("jab,a,ca->jbc", U[:, 3:].reshape(-1, 3, 3), back, axes)
        shifts = U[:, :3] / np.sqrt(self.mass) - G @ centre
        return ShorteningFields(shifts, G, (U @ rows).reshape(-1, n, n)), known - kept

    def widened(self, body: Mapping[str, Array]) -> tuple[dict[str, Array], Array]:
        """Integrals of the linear body whose further modes are the fields, and the forms of these (k, n, n)."""
        fields = self.fields if not self.axial else self._with_stretches(body)
        return fields.widened(body, self.mass, self.place, self.spread), fields.forms

    def _with_stretches(self, body: Mapping[str, Array]) -> ShorteningFields:
        """The fields, and shapes of elongation less their own fits by fields that are linear in the place."""
        own, chosen = self.fields, list(self.axial)
        centre = self.place / self.mass
        about = inverse_of_spread(self.spread - self.mass * (centre[:, None] * centre))
        first = body["first_modal"].T[chosen]
        bent = moments(body["I_re"])[chosen] - centre[:, None] * first[:, None, :]
        slopes = about @ bent
        G = slopes.swapaxes(1, 2)
        shifts = first / self.mass - G @ centre
        whole = body["M_ee"][np.ix_(chosen, chosen)]
        W = whole - first @ first.T / self.mass - np.einsum("kab,lab->kl", bent, slopes)
        # a shape that is linear in the place is among the fields already
        kept = [i for i in range(len(chosen)) if W[i, i] > SAME_LINE * whole[i, i]]
        c = self.along - np.einsum("ka,aij->kij", shifts, self.first) - np.einsum("kab,abij->kij", slopes, self.second)
        n = self.first.shape[-1]
        forms = np.linalg.solve(W[np.ix_(kept, kept)], c[kept].reshape(len(kept), n * n))
        forms = forms.reshape(len(kept), n, n)
        E = np.zeros((len(own.forms) + len(kept), n))
        E[np.arange(len(own.forms), len(E)), np.array(chosen, dtype=int)[kept]] = 1.0
        return ShorteningFields(
            np.concatenate([own.shifts, -shifts[kept]]),
            np.concatenate([own.gradients, -G[kept]]),
            np.concatenate([own.forms, forms]),
            E,
        )

    def terms(self, linear: ModalTerms) -> SecondOrderTerms:
        """The terms of the body, with arrays in the place of nested lists."""
        arrays, forms = self.widened({name: rounded(filled(getattr(linear, name))) for name in WIDENED})
        size = arrays["M_ee"].shape[0]
        turn = np.zeros((len(linear.section_turn), 3, size))
        if len(turn):
            turn[:, :, : size - len(forms)] = np.reshape(linear.section_turn, (len(turn), 3, size - len(forms)))
        given: dict[str, Any] = {**arrays, "section_turn": turn}
        return SecondOrderTerms(linear._replace(**given), cast("Any", forms))

    def section(self, frame: str, linear: ModalSection) -> SecondOrderSection | ModalSection:
        """What the terms need to know of a frame: the linear section where it is not moved any further."""
        Gamma, Gamma_r = self.frames[frame], self.turns.get(frame)
        if Gamma_r is not None:
            # about the axes of the section, in which Phi_r is given
            in_section = np.einsum("ba,bik->aik", np.asarray(linear.axes, dtype=float), Gamma_r)
            return SecondOrderSection(linear, listed(Gamma), listed(in_section))
        return SecondOrderSection(linear, listed(Gamma)) if np.count_nonzero(Gamma) else linear

    def displacement(self, frame: str, q_e: Array) -> Array:
        """q^T Gamma q / 2 (..., 3) of the section of a frame."""
        return _halved(self.frames[frame], q_e)

    def turn(self, frame: str, q_e: Array) -> Array:
        """q^T Gamma_r q / 2 (..., 3), which a frame turns beyond its rotation shapes."""
        Gamma_r = self.turns.get(frame)
        return np.zeros((*q_e.shape[:-1], 3)) if Gamma_r is None else _halved(Gamma_r, q_e)


def _halved(Gamma: Array, q_e: Array) -> Array:
    """q^T Gamma q / 2 (..., 3)."""
    n = q_e.shape[-1]
    # a product of matrices first: to contract all three at once takes many times as long
    turned = (q_e @ Gamma.transpose(1, 0, 2).reshape(n, 3 * n)).reshape(*q_e.shape[:-1], 3, n)
    return np.asarray(0.5 * np.einsum("...ak,...k->...a", turned, q_e))


def foreshortening(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    frames: Mapping[str, float],
    *,
    pieces: Sequence[RigidPieces] = (),
) -> Foreshortening:
    """The integrals of a beam; ``frames`` are the places x of the sections of its frames.

    ``pieces`` are the rigid bodies of a lumped beam, which carry its mass.
    """
    n = sum(s.size for s in sets)
    first, second = np.zeros((3, n, n)), np.zeros((3, 3, n, n))
    place, spread = np.zeros(3), np.zeros((3, 3))
    # the piece of the root node belongs to the clamp
    to = {0.0: np.zeros((n, n))}
    mass, place[X], spread[X, X] = profile.moments_beyond(pieces[0].breaks[0]) if pieces else profile.moments
    if n:
        outboard = _outboard_of_pieces(profile, pieces[0]) if pieces else _outboard(profile)
        # int rhoA G dx = -int w' w'^T (mass outboard of x) dx; with nothing outboard it is the tip's own G
        rows = _slope_grams(sets, profile, profile.length, lambda x: np.array([*outboard(x), np.ones(len(x))]))
        first[X], second[X, X], to[profile.length] = rows
        for power, total in ((0, first[X]), (1, second[X, X])) if pieces else ():
            total -= _tilted(pieces, profile, power, n)
    to.update({x: shortening_to(sets, profile, x) for x in frames.values() if x not in to})
    moved = {name: _along_axis(to[x]) for name, x in frames.items()}
    bending = any(FAMILIES[s.family].bends and s.size for s in sets)
    starts = np.cumsum([0, *(s.size for s in sets)])
    stretching = [
        (s, start) for s, start in zip(sets, starts, strict=False) if FAMILIES[s.family].value == X and s.size
    ]
    if not stretching or not bending:
        return Foreshortening(mass, place, spread, first, second, moved)
    ((stretches, start),) = stretching
    axial = tuple(range(start, start + stretches.size))
    if pieces:
        beyond = _stretched_pieces(profile, pieces[0], stretches)
    else:
        beyond = _stretched_beyond(profile, stretches)
    along = _slope_grams(sets, profile, profile.length, beyond)
    if pieces:
        nodes = stretches.sample(np.asarray(pieces[0].nodes)).value
        along -= np.array([_tilted(pieces, profile, 0, n, weight) for weight in nodes])
    ends = {name: np.outer(stretches.sample(np.array([x])).value[:, 0], np.eye(3)[X]) for name, x in frames.items()}
    return Foreshortening(mass, place, spread, first, second, moved, axial, along, ends)


def modal_shortening(body: ModalBody, modal: ModalData) -> Foreshortening:
    """Second-order integrals that were given with modal data, on all of its mass."""
    spread = np.trace(body.I_rr) / 2 * np.eye(3) - body.I_rr
    frames = {name: modal.frame_shortening(name) for name in body.frames}
    turns = {name: Gamma_r for name in body.frames if np.count_nonzero(Gamma_r := modal.frame_turning(name))}
    first, second = (modal.array(key) for key in modal.second_order_shapes())
    return Foreshortening(body.mass, body.first, spread, first, second, frames, turns=turns, stiffness=body.K_ee)


def shortening_of(sets: Sequence[ShapeSet], profile: BeamProfile, x: Array) -> Array:
    """G of the axis at places x (places, n, n)."""
    return np.stack([shortening_to(sets, profile, float(at)) for at in x])


def shortening_to(sets: Sequence[ShapeSet], profile: BeamProfile, x: float) -> Array:
    """G of the axis at a place (n, n)."""
    return np.asarray(_slope_grams(sets, profile, x, lambda at: np.ones((1, len(at))))[0])


def _slope_grams(sets: Sequence[ShapeSet], profile: BeamProfile, end: float, weight: Callable[[Array], Array]) -> Array:
    """-int_0^end weight w' w'^T dx over all bending families, for every row of the weight (rows, n, n).

    Families do not couple.
    """
    n = sum(s.size for s in sets)
    breaks = merge_breaks(profile.breaks, *(s.breaks for s in sets), length=profile.length)
    ends = (*(b for b in breaks if b < end), end)
    # nothing is inboard of the root
    if len(ends) < 2:
        return np.zeros((len(weight(np.zeros(0))), n, n))
    x, weights = gauss(ends, max((s.points for s in sets), default=2) + TAPER_POINTS)
    weighted = weights * weight(x)
    G = np.zeros((len(weighted), n, n))
    start = 0
    for s in sets:
        if FAMILIES[s.family].bends:
            samples = s.sample(x)
            # of the axis: a shear-flexible section turns by less
            slope = samples.rotation + samples.shear if np.count_nonzero(samples.shear) else samples.rotation
            block = slice(start, start + s.size)
            G[:, block, block] = -gram_matrix(slope, weighted)
        start += s.size
    return G


def _outboard(profile: BeamProfile) -> Callable[[Array], Array]:
    """Mass and first moment of what is outboard of places x (2, places)."""

    def beyond(x: Array) -> Array:
        out = np.zeros((2, len(x)))
        for piece, (low, high) in zip(profile.pieces, pairwise(profile.breaks), strict=True):
            # what of this piece is outboard of each place: nothing of one that ends there
            start = np.minimum(np.maximum(x, low), high)
            if not callable(piece.data):
                mass = piece.data.rhoA * (high - start)
                out[0] += mass
                out[1] += mass * ((high + start) / 2)
                continue
            nodes, weights = gauss((0.0, 1.0), 2 + TAPER_POINTS)
            places = start[:, None] + (high - start)[:, None] * nodes
            rhoA = piece.data(((places - low) / piece.length).ravel()).rhoA
            masses = (high - start)[:, None] * weights * np.reshape(rhoA, places.shape)
            out += np.stack([masses.sum(axis=1), (masses * places).sum(axis=1)])
        return out

    return beyond


def _stretched_beyond(profile: BeamProfile, stretches: ShapeSet) -> Callable[[Array], Array]:
    """int phi dm of what is outboard of places x (shapes, places)."""
    breaks = merge_breaks(profile.breaks, stretches.breaks, length=profile.length)
    nodes, weights = gauss((0.0, 1.0), stretches.points + TAPER_POINTS)

    def beyond(x: Array) -> Array:
        out = np.zeros((stretches.size, len(x)))
        for low, high in pairwise(breaks):
            start = np.minimum(np.maximum(x, low), high)
            places = (start[:, None] + (high - start)[:, None] * nodes).ravel()
            dm = ((high - start)[:, None] * weights).ravel() * profile.at(places).rhoA
            out += (stretches.sample(places).value * dm).reshape(stretches.size, len(x), -1).sum(axis=2)
        return out

    return beyond


def _stretched_pieces(profile: BeamProfile, pieces: RigidPieces, stretches: ShapeSet) -> Callable[[Array], Array]:
    """Mass beyond x that moves with each shape of elongation, the mass of every piece at its node."""
    nodes = np.asarray(pieces.nodes)
    carried = stretches.sample(nodes).value * _piece_moments(profile, pieces)[0]

    def beyond(x: Array) -> Array:
        return np.asarray(carried @ (nodes[:, None] > x))

    return beyond


def _outboard_of_pieces(profile: BeamProfile, pieces: RigidPieces) -> Callable[[Array], Array]:
    """Moments of the mass beyond x, the mass of every piece at its node."""
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


def _tilted(
    pieces: Sequence[RigidPieces], profile: BeamProfile, power: int, n: int, weight: Array | None = None
) -> Array:
    """int x^power (x - node) psi psi^T dm, the nodes with a weight: a rigid piece also tilts about its node."""
    out = np.zeros((n, n))
    start = 0
    for s in pieces:
        if FAMILIES[s.family].bends:
            psi = np.arange(start + 1, start + s.size, 2)
            # the piece of the root node belongs to the clamp
            lever = _piece_moments(profile, s)[2 + power]
            out[psi, psi] = (lever if weight is None else lever * weight)[1:]
        start += s.size
    return out


def _along_axis(G: Array) -> Array:
    """Gamma (3, n, n) of a point of the axis with this G."""
    Gamma = np.zeros((3, *G.shape))
    Gamma[X] = G
    return Gamma
