"""A beam with assumed modes as a rod: stations, moments of the strains between them, masses along it, its places."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander

from pliant.bodies.families import FAMILIES, ShapeSamples, ShapeSet
from pliant.bodies.modal_body import Array, Attachment, ModalBody, reframe
from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.profile import TAPER_POINTS, BeamProfile, Curve, gauss, merge_breaks
from pliant.bodies.rod_terms import RodSection, RodStation, RodStep, RodTerms
from pliant.spatial.rounding import clean, listed
from pliant.spatial.vectors import Matrix

# moments of inertia that differ by less, of the largest, are equal
DISTINCT = 1e-12


@dataclass(frozen=True, slots=True)
class RodFrame:
    """A frame on the section at x.

    offset     from the axis to the frame, in the body's axes  m    (3,)
    turned     axes of the section in the undeformed rod       -    (3, 3)
    row        its position from the tangents                  m    (N,)
    before     number of stations before it
    moments    b0 and b1 from the last of these                rad  (2, 3, n)
    reference  the same of the undeformed curvature            rad  (2, 3)
    """

    x: float
    offset: Array
    turned: Array
    row: Array
    before: int
    moments: Array
    reference: Array

    @property
    def moves(self) -> bool:
        """Whether it is not at the root."""
        return self.x > 0.0


@dataclass(frozen=True, slots=True)
class RigidRoot:
    """Rigid parts at the root of a rod: mass (kg), first moment (kg m) and inertia (kg m^2) about the body's origin."""

    mass: float = 0.0
    first: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def with_part(self, mass: float, com: Array, inertia: Array) -> RigidRoot:
        """With a further part; ``inertia`` about its centre of mass."""
        part = ModalBody.rigid(mass, com, inertia)
        return RigidRoot(self.mass + part.mass, self.first + part.first, self.inertia + part.I_rr)

    def reframed(self, R: Array, p: Array) -> RigidRoot:
        """In a frame where a point at r is at R r + p."""
        part = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
        part = reframe(replace(part, mass=self.mass, first=self.first, I_rr=self.inertia), R, p)
        return RigidRoot(part.mass, part.first, part.I_rr)


@dataclass(frozen=True, slots=True)
class Rod:
    """Everything the dynamics may know of a rod beyond the linear beam (n elastic coordinates, N stations).

    x          stations                                  m        (N,)
    moments    b0 and b1 of the curvatures up to each    rad      (N, 2, 3, n)
    reference  those of the undeformed rod               rad      (N, 2, 3)
    strains    stretch at the stations                   -        (N, 3, n)
    masses     of points along the axis                  kg       (p,)
    rows       their positions from the tangents         m        (p, N)
    sections   rotary inertia of the stations            kg m^2   (N, 3)
    root       rigid parts there
    root_R, root_p   axes and origin of the root in the body

    The mass points are those of a fine quadrature rule, and added ones: their number costs nothing, see rod_terms.
    """

    x: Array
    moments: Array
    reference: Array
    strains: Array
    masses: Array
    rows: Array
    sections: Array
    frames: Mapping[str, RodFrame] = field(default_factory=dict)
    root: RigidRoot = field(default_factory=RigidRoot)
    root_R: Array = field(default_factory=lambda: np.eye(3))
    root_p: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def plane(self) -> str:
        """The one axis about which sections turn; empty if there are several."""
        turning = [k for k in range(3) if self.moments[:, :, k].any() or self.reference[:, :, k].any()]
        return "xyz"[turning[0]] if len(turning) == 1 else "" if turning else "z"

    def terms(self, linear: ModalTerms) -> RodTerms:
        """The terms of the rod; stiffness and damping are those of the linear beam."""
        return self.inertial_terms(linear.K_ee, linear.D_ee)

    def inertial_terms(self, K_ee: Matrix, D_ee: Matrix) -> RodTerms:
        """The terms with a given stiffness and damping."""
        gathered = np.cumsum if self.plane else _as_they_are
        moments, reference = gathered(self.moments, axis=0), gathered(self.reference, axis=0)
        G = mass_gram(self.masses, self.rows)
        return RodTerms(
            mass=self.root.mass + float(self.masses.sum()),
            first=listed(self.root.first),
            I_rr=listed(self.root.inertia),
            root_R=clean(self.root_R),
            root_p=clean(self.root_p),
            axis_mass=float(G[0, 0]),
            stations=[
                RodStation(_step(b, c), strain, masses, disc)
                for b, c, strain, masses, disc in zip(
                    moments, reference, _if_any(self.strains), G[1:].tolist(), _if_any(self._discs()), strict=True
                )
            ],
            K_ee=K_ee,
            D_ee=D_ee,
            plane=self.plane,
        )

    def _discs(self) -> Array:
        """J_x - J_z, J_y - J_z and J_z of every station; what only rounding tells apart is equal."""
        x, y, z = self.sections.T
        near = DISTINCT * np.abs(self.sections).max(axis=1)
        return np.stack([np.where(np.abs(d) > near, d, 0.0) for d in (x - z, y - z, z)], axis=1)

    def section(self, frame: str, linear: ModalSection) -> RodSection | ModalSection:
        """What the terms need to know of a frame: at the root, that it does not move."""
        at = self.frames[frame]
        return self.section_at(at) if at.moves else linear

    def section_at(self, at: RodFrame) -> RodSection:
        """The section of a frame."""
        if self.plane:
            moments = self.moments[: at.before].sum(axis=0) + at.moments
            step = _step(moments, self.reference[: at.before].sum(axis=0) + at.reference)
        else:
            step = _step(at.moments, at.reference)
        return RodSection(at.row.tolist(), step, str(at.before), clean(at.turned.T))

    def offset(self, frame: str) -> Array:
        """From the section's point to the frame, turning with it (3,)."""
        at = self.frames[frame]
        return at.offset if at.moves else np.zeros(3)

    def place(self, frame: str, q_e: Array) -> tuple[Array, Array]:
        """Where a frame is: position (..., 3) and axes (..., 3, 3) of its section, without any derivative.

        At the root it stays; axes are against those of the undeformed section.
        """
        at, lanes = self.frames[frame], q_e.shape[:-1]
        if not at.moves:
            return np.broadcast_to(self.root_p, (*lanes, 3)), np.broadcast_to(np.eye(3), (*lanes, 3, 3))
        positions, axes = self.sections_at([at], q_e)
        return positions[..., 0, :], axes[..., 0, :, :] @ at.turned.T

    def sections_at(self, frames: Sequence[RodFrame], q_e: Array) -> tuple[Array, Array]:
        """Positions (..., frames, 3) and axes (..., frames, 3, 3) of the sections of some frames."""
        from scipy.spatial.transform import Rotation

        b0, b1 = np.moveaxis(np.concatenate([self.moments, [at.moments for at in frames]]), 1, 0)
        c0, c1 = np.moveaxis(np.concatenate([self.reference, [at.reference for at in frames]]), 1, 0)
        u0, u1 = (np.einsum("jak,...k->...ja", b, q_e) + c for b, c in ((b0, c0), (b1, c1)))
        theta = u0 + np.cross(u0, u1)
        turns = Rotation.from_rotvec(theta.reshape(-1, 3)).as_matrix().reshape(*theta.shape, 3)
        axes = [np.broadcast_to(self.root_R, (*q_e.shape[:-1], 3, 3))]
        for j in range(len(self.x)):
            axes.append(axes[-1] @ turns[..., j, :, :])
        strain = np.einsum("jak,...k->...ja", self.strains, q_e) + np.eye(3)[0]
        tangents = np.einsum("...jab,...jb->...ja", np.stack(axes[1:], axis=-3), strain)
        R = np.stack([axes[at.before] for at in frames], axis=-3) @ turns[..., len(self.x) :, :, :]
        rows = np.stack([at.row for at in frames])
        return self.root_p + np.einsum("fj,...ja->...fa", rows, tangents), np.asarray(R)

    def reframed(self, R: Array, p: Array) -> Rod:
        """In a frame where a point at r is at R r + p."""
        frames = {
            name: replace(at, offset=R @ at.offset, turned=R @ at.turned) for name, at in self.frames.items()
        }  # fmt: skip
        return replace(
            self, root=self.root.reframed(R, p), root_R=R @ self.root_R, root_p=R @ self.root_p + p, frames=frames
        )

    def with_rigid(self, mass: float, com: Array, inertia: Array) -> Rod:
        """With a rigid part welded to the root; ``com`` in the body's frame, ``inertia`` about it."""
        return replace(self, root=self.root.with_part(mass, com, inertia))

    def with_point(self, mass: float, frame: str, position: Array) -> Rod | None:
        """With a point mass at a frame; None where it is not on the axis."""
        at = self.frames[frame]
        if at.offset.any():
            return None
        return replace(self, masses=np.append(self.masses, mass), rows=np.vstack([self.rows, at.row]))


def mass_gram(masses: Array, rows: Array) -> Array:
    """[1, S]^T diag(m) [1, S], symmetric to the last digit."""
    fields = np.hstack([np.ones((len(masses), 1)), rows])
    G = fields.T @ (masses[:, None] * fields)
    return np.asarray((G + G.T) / 2)


def _as_they_are(a: Array, axis: int) -> Array:
    return a


def _if_any(arrays: Array) -> list[Any]:
    """An array of each station, or none where all of them are zero."""
    return arrays.tolist() if arrays.any() else [[]] * len(arrays)


def _step(moments: Array, reference: Array) -> RodStep:
    return RodStep(moments[0].tolist(), moments[1].tolist(), reference[0].tolist(), reference[1].tolist())


# ---------------------------------------------------------------- where a rod is followed


# stations beyond the most modes of a family: more change nothing, one less costs up to a third of the accuracy
SPARE_STATIONS = 2
# a link that turns further than this (rad) in its undeformed shape needs more
WIDE_TURN = 2.0
# Gauss points for the turn of a piece
TURN_POINTS = 8
# Gauss points for the moments of the strains between two stations, beyond those of the shapes
MOMENT_POINTS = 4
# smallest eigenvalue, of the largest, with which the stations tell the slopes of two shapes apart
DISTINCT = 1e-10
# an integral this close (of the largest) to that of the polynomials is the same
ROUNDING = 1e-12
# a first moment of a curvature this far below its mean
CONSTANT = 1e-14
# tables that are kept: beams of all stiffnesses ask at the same places
MOST_ROWS = 64


def station_numbers(
    sets: Sequence[ShapeSet], profile: BeamProfile, curvature: Curve | None, stations: int | None
) -> list[int]:
    """Stations of every piece."""
    if stations is not None:
        return [stations] * len(profile.pieces)
    most = max((s.size for s in sets), default=0)
    shares = [piece.length / profile.length for piece in profile.pieces]
    turns = [_turn(curvature, a, b) for a, b in pairwise(profile.breaks)]
    return [
        ceil(most * share) + SPARE_STATIONS + ceil(turn / WIDE_TURN) for share, turn in zip(shares, turns, strict=True)
    ]


def _turn(curvature: Curve | None, a: float, b: float) -> float:
    """The angle through which the undeformed axis turns between two places, rad."""
    if curvature is None:
        return 0.0
    x, weights = gauss((a, b), TURN_POINTS)
    return float(weights @ np.linalg.norm(curvature(x), axis=1))


class AxisRows:
    """Rows s(x) that give the position of the axis at x from the tangents at the stations, r = sum_k s_k t_k.

    They integrate the polynomials through the stations of each piece, s_k = int_0^x l_k dX, and are then changed as
    little as possible so that 1 and the slopes of the shapes are integrated exactly: for small deflections the rod is
    the linear beam of the same shapes, whatever the number of stations is.
    """

    def __init__(self, sets: Sequence[ShapeSet], profile: BeamProfile, points: Sequence[int]) -> None:
        self.breaks, self.points = profile.breaks, tuple(points)
        self.x, self.weights = _stations(self.breaks, self.points)
        self.bending = [s for s in sets if FAMILIES[s.family].bends]
        self.roots = [s.sample(np.zeros(1)) for s in self.bending]
        found = [s.sample(self.x).rotation - r.rotation for s, r in zip(self.bending, self.roots, strict=True)]
        self.sizes = [np.abs(each).max(axis=1, keepdims=True) for each in found]
        scaled = (each / size for each, size in zip(found, self.sizes, strict=True))
        self.slopes = np.vstack([np.ones((1, len(self.x))), *scaled])
        weighted = self.slopes * np.sqrt(self.weights)
        # slopes that the stations cannot tell apart are left to the polynomials
        sizes, V = np.linalg.eigh(weighted @ weighted.T)
        V = V[:, sizes > DISTINCT * sizes[-1]]
        self.inverse = (V / sizes[sizes > DISTINCT * sizes[-1]]) @ V.T

    def __call__(self, x: Array) -> Array:
        rows = _interpolating(self.breaks, self.points, x.tobytes())
        integrals = self._integrals(x)
        missing = integrals - self.slopes @ rows.T
        missing[np.abs(missing) < ROUNDING * np.abs(integrals).max(axis=1, keepdims=True)] = 0.0
        return np.asarray(rows + (self.weights[:, None] * self.slopes.T @ (self.inverse @ missing)).T)

    def _integrals(self, x: Array) -> Array:
        """Integrals of 1 and of the slopes that grow from a clamped root, scaled as at the stations, from 0 to x."""
        out = [x[None]]
        for s, root, size in zip(self.bending, self.roots, self.sizes, strict=True):
            out.append((s.sample(x).value - root.value - root.rotation * x) / size)
        return np.vstack(out)


@lru_cache(maxsize=MOST_ROWS)
def _stations(breaks: tuple[float, ...], points: tuple[int, ...]) -> tuple[Array, Array]:
    """Gauss points of every piece and their weights."""
    parts = [gauss(ends, n) for ends, n in zip(pairwise(breaks), points, strict=True)]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


@lru_cache(maxsize=MOST_ROWS)
def _interpolating(breaks: tuple[float, ...], points: tuple[int, ...], places: bytes) -> Array:
    """int_0^x l_k dX: l_k = sum_n (n + 1/2) w_k P_n(x_k) P_n, int P_n = (P_n+1 - P_n-1) / (2 n + 1)."""
    x = np.frombuffer(places)
    parts = []
    for (a, b), n in zip(pairwise(breaks), points, strict=True):
        nodes, weights = gauss((a, b), n)
        at_nodes = legvander((2 * nodes - a - b) / (b - a), n - 1)
        P = legvander(np.clip((2 * x - a - b) / (b - a), -1.0, 1.0), n)
        # 2 n + 1 times the integrals of P_n
        steps = np.hstack([P[:, :1] + P[:, 1:2], P[:, 2:] - P[:, :-2]])
        parts.append(steps @ (at_nodes.T * weights) / 2)
    return np.hstack(parts)


@lru_cache(maxsize=MOST_ROWS)
def _moment_rule(
    breaks: tuple[float, ...], intervals: tuple[tuple[float, float], ...], points: int
) -> tuple[Array, Array, Array]:
    """Places, and the weights (places, intervals) of the two moments over every interval."""
    a, b = np.array(intervals).T
    cuts = sorted({*a.tolist(), *b.tolist(), *(e for e in breaks if a.min() < e < b.max())})
    if len(cuts) < 2:
        return np.zeros(0), np.zeros((0, len(a))), np.zeros((0, len(a)))
    x, weights = gauss(cuts, points)
    # the intervals of every point; those without length have none
    inside = (x[:, None] > a) & (x[:, None] < b)
    lever = np.where(inside, x[:, None] - (a + b) / 2, 0.0) / np.where(b > a, b - a, 1.0)
    return x, weights[:, None] * inside, weights[:, None] * lever


def strain_moments(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    curvature: Curve | None,
    intervals: Sequence[tuple[float, float]],
) -> tuple[Array, Array]:
    """b0, b1 (intervals, 2, 3, n) and c0, c1 (intervals, 2, 3) of intervals along the axis."""
    n = sum(s.size for s in sets)
    moments, reference = np.zeros((len(intervals), 2, 3, n)), np.zeros((len(intervals), 2, 3))
    inner = merge_breaks(profile.breaks, *(s.breaks for s in sets), length=profile.length)
    points = max((s.points for s in sets), default=2) + MOMENT_POINTS
    x, first, second = _moment_rule(inner, tuple(intervals), points)
    if not len(x):
        return moments, reference
    start = 0
    for s in sets:
        motion = FAMILIES[s.family]
        if motion.rotation is not None:
            axis, sign = motion.rotation
            strain = sign * s.sample(x).strain
            moments[:, 0, axis, start : start + s.size] = (strain @ first).T
            moments[:, 1, axis, start : start + s.size] = (strain @ second).T
        start += s.size
    if curvature is not None:
        bent = curvature(x)
        reference[:, 0], reference[:, 1] = first.T @ bent, second.T @ bent
    for each in (moments, reference) if curvature is not None else (moments,):
        # what only rounding left of a constant curvature is zero
        each[:, 1][np.abs(each[:, 1]) < CONSTANT * np.abs(each[:, 0])] = 0.0
    return moments, reference


def stretches(sets: Sequence[ShapeSet], x: Array) -> Array:
    """Stretch and shear of the axis at places x per elastic coordinate (places, 3, n)."""
    n = sum(s.size for s in sets)
    out = np.zeros((len(x), 3, n))
    start = 0
    for s in sets:
        motion = FAMILIES[s.family]
        if motion.rotation is None and motion.value is not None:
            out[:, motion.value, start : start + s.size] = s.sample(x).strain.T
        start += s.size
    return out


# ---------------------------------------------------------------- a beam with assumed modes as a rod


@dataclass(frozen=True, slots=True)
class RootedSet:
    """The shapes of another set with the motion of their root taken off: the same strains on a clamped root."""

    base: ShapeSet

    @property
    def family(self) -> str:
        return self.base.family

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.base.breaks

    @property
    def points(self) -> int:
        return self.base.points

    def sample(self, x: Array) -> ShapeSamples:
        here, root = self.base.sample(x), self.base.sample(np.zeros(1))
        value = here.value - root.value - root.rotation * x
        return replace(here, value=value, rotation=here.rotation - root.rotation)


def rooted(shapes: ShapeSet) -> ShapeSet:
    """The shapes on a clamped root."""
    root = shapes.sample(np.zeros(1))
    return RootedSet(shapes) if root.value.any() or root.rotation.any() else shapes


def rod(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    frames: Mapping[str, tuple[float, Array]],
    *,
    section_inertia: bool,
    stations: int | None = None,
    curvature: Curve | None = None,
) -> Rod:
    """The rod of a beam; its shapes must not move the root.

    ``frames`` gives the place x and the offset from the axis of each frame; ``curvature`` is that of the undeformed
    rod; ``stations`` the number per piece.
    """
    axis = AxisRows(sets, profile, station_numbers(sets, profile, curvature, stations))
    x, N = axis.x, len(axis.x)
    fine, weights = gauss(profile.breaks, N + max((s.points for s in sets), default=2) + TAPER_POINTS)
    ends = [0.0, *x.tolist()]
    places = [at for at, _ in frames.values()]
    before = [bisect_left(ends, at, lo=1) - 1 for at in places]
    # from station to station, and from the last one to each frame
    intervals = [*pairwise(ends), *((ends[k], at) for k, at in zip(before, places, strict=True))]
    moments, reference = strain_moments(sets, profile, curvature, intervals)
    rows = axis(np.concatenate([fine, places]))
    bare = Rod(
        x=x,
        moments=moments[:N],
        reference=reference[:N],
        strains=stretches(sets, x),
        masses=weights * profile.at(fine).rhoA,
        rows=rows[: len(fine)],
        sections=profile.at(x).discs(axis.weights) if section_inertia else np.zeros((N, 3)),
    )
    made = {}
    found = zip(places, before, rows[len(fine) :], moments[N:], reference[N:], strict=True)
    for (name, (_, offset)), (at, stations_before, row, after, bent) in zip(frames.items(), found, strict=True):
        frame = RodFrame(at, offset, np.eye(3), row, stations_before, after, bent)
        if curvature is not None:
            turned = undeformed_axes(bare, frame)
            frame = replace(frame, offset=turned @ offset, turned=turned)
        made[name] = frame
    return replace(bare, frames=made)


def undeformed_axes(bare: Rod, at: RodFrame) -> Array:
    """The axes of a section of a curved or twisted rod, before it is loaded (3, 3)."""
    n = bare.moments.shape[-1]
    nothing = [0.0] * n
    frame = bare_terms(bare).frame(bare.section_at(at), nothing, nothing)
    return np.array(frame.R, dtype=float)


def about_its_shape(body: ModalBody, rod: Rod) -> ModalBody:
    """The linear body of a rod about its undeformed shape, which is curved: mass, Jacobians and places of frames."""
    terms, still = bare_terms(rod), [0.0] * body.size
    blocks, _ = terms.inertia(still, still, [0.0] * 3)
    frames = dict(body.frames)
    for name, at in rod.frames.items():
        if at.moves:
            here = terms.frame(rod.section_at(at), still, still)
            assert here.spin is not None
            turns = np.array(here.spin.J_w, dtype=float)
            frames[name] = Attachment(
                point=np.array(here.r),
                rotation=at.turned @ body.frames[name].rotation,
                slides=np.array(here.J_v),
                Phi_r=turns,
                offset=at.offset,
            )
    return replace(
        body,
        first=np.array([blocks.B[1][2], blocks.B[2][0], blocks.B[0][1]], dtype=float),
        I_rr=np.array(blocks.C, dtype=float),
        first_modal=np.array(blocks.E_v, dtype=float),
        beta=np.array(blocks.E_w, dtype=float),
        M_ee=np.array(blocks.M_e, dtype=float),
        frames=frames,
    )


def bare_terms(rod: Rod) -> RodTerms:
    """The terms of a rod without stiffness: its geometry and its mass."""
    n = rod.moments.shape[-1]
    return rod.inertial_terms(np.zeros((n, n)).tolist(), np.zeros((n, n)).tolist())


# ---------------------------------------------------------------- how far the frames of a rod are from where they are i


def rod_deflection(rod: Rod, frame: str, q_e: Array) -> tuple[Array, Array]:
    """Displacement and rotation vector (..., 3) of a frame.

    In a plane the angle counts whole turns, as a strip that is rolled up makes them.
    """
    at, lanes = rod.frames[frame], q_e.shape[:-1]
    if not at.moves:
        return np.zeros((*lanes, 3)), np.zeros((*lanes, 3))
    # the undeformed rod is the last state
    states = np.vstack([q_e.reshape(-1, q_e.shape[-1]), np.zeros(q_e.shape[-1])])
    if rod.plane:
        place, turns = _in_plane(rod, at, states)
    else:
        from scipy.spatial.transform import Rotation

        place, R = rod.place(frame, states)
        turns = np.asarray(Rotation.from_matrix(R).as_rotvec())
    moved = place[:-1] - place[-1]
    if at.offset.any():
        from scipy.spatial.transform import Rotation

        moved = moved + Rotation.from_rotvec(turns[:-1]).apply(at.offset) - at.offset
    return moved.reshape(*lanes, 3), turns[:-1].reshape(*lanes, 3)


def _in_plane(rod: Rod, at: RodFrame, q_e: Array) -> tuple[Array, Array]:
    """Place of a section (states, 3) and its rotation vector: one angle per station, no products of rotations."""
    k = "xyz".index(rod.plane)
    i, j = (k + 1) % 3, (k + 2) % 3
    angles = q_e @ np.cumsum(rod.moments[:, 0, k], axis=0).T + np.cumsum(rod.reference[:, 0, k])
    c, s = np.cos(angles), np.sin(angles)
    if rod.strains.any():
        strain = np.einsum("jak,...k->...ja", rod.strains, q_e) + np.eye(3)[0]
    else:
        strain = np.eye(3)[0]
    place = np.empty((len(q_e), 3))
    place[:, i] = (c * strain[..., i] - s * strain[..., j]) @ at.row
    place[:, j] = (s * strain[..., i] + c * strain[..., j]) @ at.row
    place[:, k] = np.broadcast_to(strain[..., k], angles.shape) @ at.row
    # curvatures of the undeformed rod turn it as well, and are not counted
    turn = q_e @ (rod.moments[: at.before, 0, k].sum(axis=0) + at.moments[0, k])
    return place @ rod.root_R.T, turn[:, None] * rod.root_R[:, k]
