"""The integrals of a ModalBody over the volume of a beam.

A material point r = (x, y, z) moves by phi_k = value + rotation x (0, y, z), which is linear in the
levers y and z. With the centroid on the axis and principal section axes the volume integrals split into
line integrals: one over the axis (weight rhoA) and one for each lever (weights rhoIz = int rho y^2 dA,
rhoIy = int rho z^2 dA). In each of them every field has one direction and one scalar function of x. So
all second moments

    S[i, k, a, b] = int phi_i^a phi_k^b dm      (field 0 is r itself)

are Gram matrices of scalar functions, and all invariants are sums of entries of S. What vanishes by
orthogonality of directions is never added to, so it stays exactly zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pliant.bodies.families import MOTIONS, ShapeSet, X, Y, Z
from pliant.bodies.modal_body import Array, Attachment, ModalBody, hat
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import TAPER_POINTS, gauss, merge_breaks

# an inner product this far below its Cauchy-Schwarz bound is the rounding error of an orthogonality
ROUNDING = 1e-13
# how well sections that turn exactly give the rotary inertia of a straight beam
SECTIONS = 1e-10
# more functions than this are multiplied by blocks: much faster, but equal entries may differ in the last bit
LARGE = 200


def assemble(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    frames: Mapping[str, Attachment],
    *,
    section_inertia: bool,
    elastic_sets: Sequence[ShapeSet] | None = None,
) -> ModalBody:
    """The body of a beam with these shapes, without damping.

    ``elastic_sets`` carry the strain where it does not belong to the shapes that carry the mass.
    """
    integrals = inertia(sets, profile, section_inertia=section_inertia)
    return ModalBody.from_integrals(
        names=coordinate_names(sets),
        mass=float(integrals.pop("mass")),
        first=integrals.pop("first"),
        I_rr=integrals.pop("I_rr"),
        frames=frames,
        K_ee=stiffness(elastic_sets or sets, profile),
        **integrals,
    )


def with_turning_sections(body: ModalBody, sets: Sequence[ShapeSet], profile: BeamProfile) -> ModalBody:
    """The body with its section inertia as discs that turn by their finite rotation.

    Every disc costs time: there are as few as give the rotary inertia of the straight beam to ``SECTIONS``.
    """
    slender = inertia(sets, profile, section_inertia=False)
    breaks = merge_breaks(profile.breaks, *(shapes.breaks for shapes in sets), length=profile.length)
    most = max((shapes.points for shapes in sets), default=2) + TAPER_POINTS
    wanted = _rotary(*_discs(sets, profile, breaks, most))
    scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    for points in range(2, most + 1):
        moments, turn = _discs(sets, profile, breaks, points)
        if np.all(np.abs(_rotary(moments, turn) - wanted) <= SECTIONS * scale):
            break
    return replace(
        body,
        **slender,  # type: ignore[arg-type]
        section_inertia=moments,
        section_turn=turn,
    )


def _discs(sets: Sequence[ShapeSet], profile: BeamProfile, breaks: Sequence[float], points: int) -> tuple[Array, Array]:
    """Moments of inertia (s, 3) and rotation shapes (s, 3, n) of sections at Gauss points."""
    x, weights = gauss(breaks, points)
    section = profile.at(x)
    moments = np.stack(np.broadcast_arrays(section.polar, section.rhoIy, section.rhoIz), axis=1)
    turn = np.stack([attachment(sets, station).Phi_r for station in x])
    return weights[:, None] * moments, turn


def _rotary(moments: Array, turn: Array) -> Array:
    """Rotary inertia of the elastic coordinates, and of the beam itself in the first three lines (n + 3, n + 3)."""
    fields = np.concatenate([np.broadcast_to(np.eye(3), (len(moments), 3, 3)), turn], axis=2)
    return np.asarray(np.einsum("sa,sai,sak->ik", moments, fields, fields))


def coordinate_names(sets: Sequence[ShapeSet]) -> tuple[str, ...]:
    """``family.k`` for every shape."""
    return tuple(f"{shapes.family}.{k}" for shapes in sets for k in range(1, shapes.size + 1))


def inertia(sets: Sequence[ShapeSet], profile: BeamProfile, *, section_inertia: bool) -> dict[str, Array]:
    """All inertia integrals, by their names in ModalBody."""
    x, weights = _rule(sets, profile)
    section = profile.at(x)
    n = sum(shapes.size for shapes in sets)
    axis, *levers = _layers(sets, x)

    S = np.zeros((n + 1, n + 1, 3, 3))
    # the constant 1 joins the axis layer for the mass and the first moments
    gram = gram_matrix(np.vstack([np.ones_like(x), *axis.rows]), weights * section.rhoA)
    axis.scatter(S, gram[1:, 1:])
    first = np.zeros((3, n + 1))
    first[axis.directions, axis.fields] = gram[0, 1:]
    if section_inertia:
        for lever, density in zip(levers, section.lever_densities(), strict=True):
            if np.any(density):
                lever.scatter(S, gram_matrix(np.vstack(lever.rows), weights * density))

    R, S_ee = S[0, 1:], S[1:, 1:]
    trace = np.einsum("ikaa->ik", S)
    return {
        "mass": gram[0, 0],
        "first": first[:, 0],
        "first_modal": first[:, 1:],
        "beta": _cross(R).T,
        "lam": _cross(S_ee),
        # a~^T b~ = (a . b) 1 - b a^T
        "I_rr": trace[0, 0] * np.eye(3) - S[0, 0].T,
        "I_re": trace[0, 1:, None, None] * np.eye(3) - np.swapaxes(R, -1, -2),
        "I_ee": trace[1:, 1:, None, None] * np.eye(3) - np.swapaxes(S_ee, -1, -2),
        "M_ee": trace[1:, 1:],
    }


def mass_matrix(shapes: ShapeSet, profile: BeamProfile, *, section_inertia: bool) -> Array:
    """M_ee of one family alone, without the other integrals."""
    x, weights = _rule([shapes], profile)
    section, samples = profile.at(x), shapes.sample(x)
    motion = MOTIONS[shapes.family]
    M = np.zeros((shapes.size, shapes.size))
    if motion.value is not None:
        M += gram_matrix(samples.value, weights * section.rhoA)
    if section_inertia and motion.rotation is not None:
        about = (section.polar, section.rhoIy, section.rhoIz)[motion.rotation[0]]
        M += gram_matrix(samples.rotation, weights * about)
    return M


def stiffness(sets: Sequence[ShapeSet], profile: BeamProfile) -> Array:
    """Strain energy: int EI psi'^2 + GA (w' - psi)^2, int GJ a'^2, int EA u'^2."""
    x, weights = _rule(sets, profile)
    section = profile.at(x)
    n = sum(shapes.size for shapes in sets)
    K = np.zeros((n, n))
    start = 0
    for shapes in sets:
        motion, samples = MOTIONS[shapes.family], shapes.sample(x)
        block = slice(start, start + shapes.size)
        K[block, block] = gram_matrix(samples.strain, weights * getattr(section, motion.stiffness))
        if motion.shear is not None and samples.shear.any():
            # where the shear stiffness is infinite the shear strain is zero
            GA = getattr(section, motion.shear)
            K[block, block] += gram_matrix(samples.shear, weights * np.where(np.isfinite(GA), GA, 0.0))
        start += shapes.size
    return K


def attachment(
    sets: Sequence[ShapeSet], x: float, offset: Array | None = None, rotation: Array | None = None
) -> Attachment:
    """A frame on the section at x, its origin ``offset`` from the axis and turned by ``rotation``."""
    s = np.zeros(3) if offset is None else np.asarray(offset, dtype=float)
    n = sum(shapes.size for shapes in sets)
    Phi_d, Phi_r = np.zeros((3, n)), np.zeros((3, n))
    start = 0
    for shapes in sets:
        motion, samples = MOTIONS[shapes.family], shapes.sample(np.array([float(x)]))
        block = slice(start, start + shapes.size)
        if motion.value is not None:
            Phi_d[motion.value, block] = samples.value[:, 0]
        if motion.rotation is not None:
            direction, sign = motion.rotation
            Phi_r[direction, block] = sign * samples.rotation[:, 0]
        start += shapes.size
    # the offset point turns with its section: theta x s
    Phi_d = Phi_d - hat(s) @ Phi_r
    R_BA = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    return Attachment(np.array([float(x), 0.0, 0.0]) + s, R_BA, Phi_d + 0.0, Phi_r + 0.0)


def _rule(sets: Sequence[ShapeSet], profile: BeamProfile) -> tuple[Array, Array]:
    breaks = merge_breaks(profile.breaks, *(shapes.breaks for shapes in sets), length=profile.length)
    return gauss(breaks, max((shapes.points for shapes in sets), default=2) + TAPER_POINTS)


@dataclass(slots=True)
class _Layer:
    """Scalar functions of x with one weight: which field each belongs to, and its direction."""

    fields: list[int]
    directions: list[int]
    rows: list[Array]

    def add(self, field: int, direction: int, row: Array) -> None:
        self.fields.append(field)
        self.directions.append(direction)
        self.rows.append(row)

    def scatter(self, S: Array, gram: Array) -> None:
        fields, directions = np.array(self.fields), np.array(self.directions)
        S[fields[:, None], fields, directions[:, None], directions] += gram


def _layers(sets: Sequence[ShapeSet], x: Array) -> tuple[_Layer, ...]:
    # the axis and the levers along x, y and z; field 0 is r = x e_x + s
    one = np.ones_like(x)
    axis = _Layer([0], [X], [x])
    levers = tuple(_Layer([0], [direction], [one]) for direction in (X, Y, Z))
    field = 0
    for shapes in sets:
        motion, samples = MOTIONS[shapes.family], shapes.sample(x)
        for value, rotation in zip(samples.value, samples.rotation, strict=True):
            field += 1
            if motion.value is not None:
                axis.add(field, motion.value, value)
            for layer, lever in zip(levers, motion.levers, strict=True):
                if lever is not None:
                    direction, sign = lever
                    layer.add(field, direction, sign * rotation)
    return axis, *levers


def gram_matrix(rows: Array, weights: Array) -> Array:
    # roots of the weights on both factors: equal shapes give equal entries to the bit
    scaled = rows * np.sqrt(np.abs(weights))
    signed = scaled * np.sign(weights)
    gram: Array = signed @ scaled.T if len(rows) > LARGE else np.einsum("ip,jp->ij", signed, scaled)
    norm = np.sqrt(np.einsum("ip,ip->i", scaled, scaled))
    return np.where(np.abs(gram) <= ROUNDING * norm[:, None] * norm, 0.0, gram)


def _cross(S: Array) -> Array:
    # int a x b dm from int a^p b^q dm
    return np.stack([S[..., 1, 2] - S[..., 2, 1], S[..., 2, 0] - S[..., 0, 2], S[..., 0, 1] - S[..., 1, 0]], axis=-1)
