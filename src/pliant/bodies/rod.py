"""The constant data of a rod with strain modes: stations, moments of the strains between them, masses at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from pliant.bodies.families import MOTIONS, ShapeSet
from pliant.bodies.invariants import coordinate_names, stiffness
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import TAPER_POINTS, gauss, merge_breaks
from pliant.bodies.rod_terms import RodSection, RodStep, RodTerms

# stations beyond the most modes of a family: more change nothing, one less costs up to a third of the accuracy
SPARE_STATIONS = 2
# a link that turns further than this (rad) in its undeformed shape needs more
WIDE_TURN = 2.0
# Gauss points for the moments of the strains between two stations, beyond those of the shapes
MOMENT_POINTS = 4
# smallest eigenvalue, of the largest, with which the stations tell the slopes of two shapes apart
DISTINCT = 1e-10
# an integral this close (of the largest) to that of the polynomials is the same
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class RodFrame:
    """A frame A on the section at x, seen from the body's frame in the undeformed rod.

    position  p_BA                                  m    (3,)
    rotation  R_BA                                  -    (3, 3)
    Phi_d     dp/dq_e                               m    (3, n)  at q_e = 0
    Phi_r     dtheta/dq_e                           rad  (3, n)  at q_e = 0
    offset    from the axis, in the body's axes     m    (3,)
    turned    axes of the section                   -    (3, 3)
    row       int_0^x l_k dX                        m    (N,)
    before    number of stations before it
    moments   b0 and b1 from the last of these      rad  (2, 3, n)
    reference the same of the undeformed curvature  rad  (2, 3)
    """

    x: float
    position: Array
    rotation: Array
    Phi_d: Array
    Phi_r: Array
    offset: Array
    turned: Array
    row: Array
    before: int
    moments: Array
    reference: Array


@dataclass(frozen=True, slots=True)
class RodBody:
    """Everything the dynamics may know of a rod (n elastic coordinates, N stations), in the frame of its body.

    x          stations                                  m        (N,)
    moments    b0 and b1 of the curvatures up to each    rad      (N, 2, 3, n)
    reference  those of the undeformed rod               rad      (N, 2, 3)
    strains    stretch and shear at the stations         -        (N, 3, n)
    masses     of points of the axis, see below          kg       (p,)
    rows       their positions from the tangents         m        (p, N)
    sections   rotary inertia of the stations            kg m^2   (N, 3)
    rigid      mass, first moment and inertia of rigid parts at the root, about the body's origin
    root_R, root_p   axes and origin of the root in the body
    K_ee, D_ee       stiffness and damping               (n, n)

    The mass points are those of a fine quadrature rule, and added ones: their number costs nothing, see rod_terms.
    """

    names: tuple[str, ...]
    length: float
    x: Array
    moments: Array
    reference: Array
    strains: Array
    masses: Array
    rows: Array
    sections: Array
    K_ee: Array
    D_ee: Array
    frames: Mapping[str, RodFrame] = field(default_factory=dict)
    rigid: tuple[float, Array, Array] = (0.0, np.zeros(3), np.zeros((3, 3)))
    root_R: Array = field(default_factory=lambda: np.eye(3))
    root_p: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def size(self) -> int:
        """Number of elastic coordinates."""
        return len(self.names)

    @property
    def mass(self) -> float:
        """Of the rod with the parts that were added to it, kg."""
        return float(self.masses.sum()) + self.rigid[0]

    @property
    def plane(self) -> str:
        """The one axis about which sections turn; empty if there are several."""
        turning = [k for k in range(3) if self.moments[:, :, k].any() or self.reference[:, :, k].any()]
        return "xyz"[turning[0]] if len(turning) == 1 else "" if turning else "z"

    @property
    def straight_mass(self) -> Array:
        """Mass matrix of the elastic coordinates in the undeformed shape."""
        blocks, _ = self.terms().inertia([0.0] * self.size, [0.0] * self.size, [0.0] * 3)
        return np.array(blocks.M_e, dtype=float).reshape(self.size, self.size)

    def moves(self, frame: str) -> bool:
        """Whether elastic coordinates move or turn a frame."""
        at = self.frames[frame]
        return bool(at.Phi_d.any() or at.Phi_r.any())

    def turn_of(self, frame: str, axis: Array) -> Array:
        """Turn of a frame about an axis per unit of the elastic coordinates (n,), for small ones."""
        at = self.frames.get(frame)
        return np.zeros(self.size) if at is None else axis @ at.Phi_r

    def terms(self, rule: str = "exponential") -> RodTerms:
        """The terms of the body; sections always turn by their true rotation, whatever the rule of other links is."""
        mass, first, inertia = self.rigid
        planar = bool(self.plane)
        moments = np.cumsum(self.moments, axis=0) if planar else self.moments
        reference = np.cumsum(self.reference, axis=0) if planar else self.reference
        return RodTerms(
            mass=mass + float(self.masses.sum()),
            first=first.tolist(),
            I_rr=inertia.tolist(),
            root_R=clean_rotation(self.root_R),
            root_p=self.root_p.tolist(),
            steps=[_step(b, c) for b, c in zip(moments, reference, strict=True)],
            strains=self.strains.tolist() if self.strains.any() else [],
            masses=mass_rows(self.masses, self.rows).tolist(),
            sections=self.sections.tolist() if self.sections.any() else [],
            K_ee=self.K_ee.tolist(),
            D_ee=self.D_ee.tolist(),
            plane=self.plane,
        )

    def section(self, name: str) -> RodSection:
        """What the terms need to know of a frame."""
        return self._section(self.frames[name])

    def _section(self, at: RodFrame) -> RodSection:
        if self.plane:
            moments = self.moments[: at.before].sum(axis=0) + at.moments
            steps = [_step(moments, self.reference[: at.before].sum(axis=0) + at.reference)]
        else:
            empty = _step(np.zeros((2, 3, self.size)), np.zeros((2, 3)))
            steps = [empty] * at.before + [_step(at.moments, at.reference)]
        return RodSection(at.row.tolist(), steps, clean_rotation(at.turned.T))

    def reframed(self, R: Array, p: Array) -> RodBody:
        """The body in another frame: a point at r is at R r + p there."""
        part = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
        mass, first, inertia = self.rigid
        part = replace(part, mass=mass, first=first, I_rr=inertia)
        from pliant.bodies.reframe import reframe

        part = reframe(part, R, p)
        frames = {
            name: replace(
                at,
                position=R @ at.position + p,
                rotation=R @ at.rotation,
                Phi_d=R @ at.Phi_d,
                Phi_r=R @ at.Phi_r,
                offset=R @ at.offset,
                turned=R @ at.turned,
            )
            for name, at in self.frames.items()
        }
        return replace(
            self,
            rigid=(part.mass, part.first, part.I_rr),
            root_R=R @ self.root_R,
            root_p=R @ self.root_p + p,
            frames=frames,
        )

    def with_rigid(self, mass: float, com: Array, inertia: Array) -> RodBody:
        """With a rigid part welded to the root; ``com`` in the body's frame, ``inertia`` about it."""
        part = ModalBody.rigid(mass, com, inertia)
        own = self.rigid
        return replace(self, rigid=(own[0] + part.mass, own[1] + part.first, own[2] + part.I_rr))

    def with_point(self, mass: float, frame: str) -> RodBody:
        """With a point mass on the axis at a frame."""
        rows = np.vstack([self.rows, self.frames[frame].row])
        return replace(self, masses=np.append(self.masses, mass), rows=rows)


def rod_body(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    frames: Mapping[str, tuple[float, Array, Array]],
    *,
    section_inertia: bool,
    stations: int | None = None,
    curvature: Array | None = None,
) -> RodBody:
    """A rod whose strains are those of the shapes, without damping; its root is clamped.

    ``frames`` gives the place x, the offset from the axis and the rotation in the section of each frame; ``curvature``
    (pieces, 3) that of the undeformed rod in every piece of the profile; ``stations`` the number per piece.
    """
    n = sum(s.size for s in sets)
    bent = np.zeros((len(profile.pieces), 3)) if curvature is None else np.asarray(curvature, dtype=float)
    rows = AxisRows(sets, profile, _points(sets, profile, bent, stations))
    x = rows.x
    section = profile.at(x)
    points, weights = gauss(profile.breaks, len(x) + max((s.points for s in sets), default=2) + TAPER_POINTS)
    ends = np.concatenate([[0.0], x])
    steps = [_moments(sets, profile, bent, a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    inertia = np.stack(np.broadcast_arrays(section.polar, section.rhoIy, section.rhoIz), axis=1)
    body = RodBody(
        names=coordinate_names(sets),
        length=profile.length,
        x=x,
        moments=np.array([s[0] for s in steps]),
        reference=np.array([s[1] for s in steps]),
        strains=_stretch(sets, x),
        masses=weights * profile.at(points).rhoA,
        rows=rows(points),
        sections=rows.weights[:, None] * inertia if section_inertia else np.zeros((len(x), 3)),
        K_ee=stiffness(sets, profile),
        D_ee=np.zeros((n, n)),
    )
    made = {}
    for name, (at, offset, rotation) in frames.items():
        before = int(np.searchsorted(x, at, side="left"))
        moments, reference = _moments(sets, profile, bent, float(ends[before]), at)
        if at == 0.0:
            moments, reference = np.zeros_like(moments), np.zeros_like(reference)
        row = rows(np.array([at]))[0]
        made[name] = _placed(body, at, offset, rotation, row, before, moments, reference)
    return replace(body, frames=made)


def _placed(
    body: RodBody, x: float, offset: Array, rotation: Array, row: Array, before: int, moments: Array, reference: Array
) -> RodFrame:
    """A frame with its place in the undeformed rod."""
    none, shapes = np.zeros(3), np.zeros((3, body.size))
    given = RodFrame(x, none, rotation, shapes, shapes, none, np.eye(3), row, before, moments, reference)
    at_rest = [0.0] * body.size
    terms = body.terms().frame(body._section(given), at_rest, at_rest)
    R = np.eye(3) if terms.R is None else np.array(terms.R, dtype=float)
    J_w = shapes if terms.spin is None else np.array(terms.spin.J_w, dtype=float)
    lever = R @ offset
    J_v = np.array(terms.J_v, dtype=float) - np.cross(lever, J_w, axis=0)
    return replace(
        given,
        position=np.array(terms.r, dtype=float) + lever,
        rotation=R @ rotation,
        Phi_d=J_v,
        Phi_r=J_w,
        offset=lever,
        turned=R,
    )


def mass_rows(masses: Array, rows: Array) -> Array:
    """U with U^T U = [1, S]^T diag(m) [1, S], upper triangular with a positive diagonal."""
    weighted = np.sqrt(masses)[:, None] * np.hstack([np.ones((len(masses), 1)), rows])
    U = np.linalg.qr(weighted, mode="r")
    signs = np.where(np.diag(U) < 0, -1.0, 1.0)
    return np.triu(signs[:, None] * U)


def clean_rotation(R: Array) -> list[list[float]]:
    """Nested lists with the rounding of rotations removed: cos(90 deg) is 6e-17."""
    exact = np.rint(R) + 0.0
    out: list[list[float]] = np.where(np.abs(R - exact) < 1e-14, exact, R).tolist()
    return out


def _points(sets: Sequence[ShapeSet], profile: BeamProfile, curvature: Array, stations: int | None) -> list[int]:
    """Stations of every piece."""
    if stations is not None:
        return [stations] * len(profile.pieces)
    most = max((s.size for s in sets), default=0)
    shares = [piece.length / profile.length for piece in profile.pieces]
    turns = [float(np.linalg.norm(k)) * p.length for k, p in zip(curvature, profile.pieces, strict=True)]
    return [
        ceil(most * share) + SPARE_STATIONS + ceil(turn / WIDE_TURN) for share, turn in zip(shares, turns, strict=True)
    ]


class AxisRows:
    """Rows s(x) that give the position of the axis at x from the tangents at the stations, r = sum_k s_k t_k.

    They integrate the polynomials through the stations of each piece, s_k = int_0^x l_k dX, and are then changed as
    little as possible so that 1 and the slopes of the shapes are integrated exactly: for small deflections the rod is
    the linear beam of the same shapes, whatever the number of stations is.
    """

    def __init__(self, sets: Sequence[ShapeSet], profile: BeamProfile, points: Sequence[int]) -> None:
        self.breaks, self.points = profile.breaks, points
        parts = [gauss((a, b), n) for a, b, n in zip(self.breaks[:-1], self.breaks[1:], points, strict=True)]
        self.x = np.concatenate([p[0] for p in parts])
        self.weights = np.concatenate([p[1] for p in parts])
        self.bending = [s for s in sets if MOTIONS[s.family].shear is not None]
        slopes, _ = self._slopes(self.x)
        weighted = slopes * np.sqrt(self.weights)
        # slopes that the stations cannot tell apart are left to the polynomials
        self.slopes, self.inverse = slopes, np.linalg.pinv(weighted @ weighted.T, rcond=DISTINCT, hermitian=True)

    def __call__(self, x: Array) -> Array:
        rows = self._interpolating(x)
        _, integrals = self._slopes(x)
        missing = integrals - self.slopes @ rows.T
        missing[np.abs(missing) < ROUNDING * np.abs(integrals).max(axis=1, keepdims=True)] = 0.0
        return np.asarray(rows + (self.weights[:, None] * self.slopes.T @ (self.inverse @ missing)).T)

    def _slopes(self, x: Array) -> tuple[Array, Array]:
        """1 and the slopes that grow from a clamped root, scaled to the length, and their integrals from 0 to x."""
        slopes, integrals = [np.ones((1, len(x)))], [x[None]]
        for s in self.bending:
            root, here = s.sample(np.zeros(1)), s.sample(x)
            size = np.abs(s.sample(self.x).rotation - root.rotation).max(axis=1, keepdims=True)
            slopes.append((here.rotation - root.rotation) / size)
            integrals.append((here.value - root.value - root.rotation * x) / size)
        return np.vstack(slopes), np.vstack(integrals)

    def _interpolating(self, x: Array) -> Array:
        out = np.zeros((len(x), len(self.x)))
        start = 0
        for a, b, n in zip(self.breaks[:-1], self.breaks[1:], self.points, strict=True):
            nodes = self.x[start : start + n]
            for j, at in enumerate(x):
                if at >= b:
                    out[j, start : start + n] = self.weights[start : start + n]
                elif at > a:
                    places, weights = gauss((a, float(at)), n)
                    out[j, start : start + n] = weights @ _lagrange(nodes, places)
            start += n
        return out


def _lagrange(nodes: Array, x: Array) -> Array:
    """The Lagrange polynomials of the nodes at places x, (places, nodes)."""
    out = np.ones((len(x), len(nodes)))
    for k, node in enumerate(nodes):
        others = np.delete(nodes, k)
        out[:, k] = np.prod((x[:, None] - others) / (node - others), axis=1)
    return out


def _moments(
    sets: Sequence[ShapeSet], profile: BeamProfile, curvature: Array, a: float, b: float
) -> tuple[Array, Array]:
    """b0, b1 (2, 3, n) and c0, c1 (2, 3) of an interval."""
    n = sum(s.size for s in sets)
    moments, reference = np.zeros((2, 3, n)), np.zeros((2, 3))
    if b <= a:
        return moments, reference
    inner = merge_breaks(profile.breaks, *(s.breaks for s in sets), length=profile.length)
    ends = (a, *(e for e in inner if a < e < b), b)
    x, weights = gauss(ends, max((s.points for s in sets), default=2) + MOMENT_POINTS)
    lever = (x - (a + b) / 2) / (b - a)
    start = 0
    for s in sets:
        motion = MOTIONS[s.family]
        if motion.rotation is not None:
            axis, sign = motion.rotation
            strain = sign * s.sample(x).strain
            moments[0, axis, start : start + s.size] = strain @ weights
            moments[1, axis, start : start + s.size] = strain @ (weights * lever)
        start += s.size
    piece = np.searchsorted(np.asarray(profile.breaks[1:-1]), x, side="right")
    bent = curvature[piece]
    reference[0], reference[1] = weights @ bent, (weights * lever) @ bent
    # what only rounding left of a constant curvature is zero
    reference[1][np.abs(reference[1]) < 1e-14 * np.abs(reference[0])] = 0.0
    return moments, reference


def _stretch(sets: Sequence[ShapeSet], x: Array) -> Array:
    n = sum(s.size for s in sets)
    out = np.zeros((len(x), 3, n))
    start = 0
    for s in sets:
        if s.family == "axial":
            out[:, 0, start : start + s.size] = s.sample(x).strain.T
        start += s.size
    return out


def _step(moments: Array, reference: Array) -> RodStep:
    return RodStep(moments[0].tolist(), moments[1].tolist(), reference[0].tolist(), reference[1].tolist())
