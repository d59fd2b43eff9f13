"""Assumed modes, a set of shapes for each family with their normalisation, and the integrals of a ModalBody over them.

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
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.families import FAMILIES, ShapeSamples, ShapeSet, X, Y, Z
from pliant.bodies.modal_body import Array, Attachment, ModalBody, cross_moments, dot_moments, tensor_moments
from pliant.bodies.profile import TAPER_POINTS, BeamProfile, equal_breaks, gauss, merge_breaks
from pliant.bodies.shapes import Given, Shape, ShapeFunction, bending_shapes, rod_shapes, sampled

# an inner product this far below its Cauchy-Schwarz bound is the rounding error of an orthogonality
ROUNDING = 1e-13
# more functions than this are multiplied by blocks: much faster, but equal entries may differ in the last bit
LARGE = 200
# places in a block
PLACES = 112
# families and sizes of links whose layers are kept
MOST_LAYERS = 64


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

    Half the usual number of points is enough: the integrand has no factor x^2, and every disc costs time.
    """
    slender = inertia(sets, profile, section_inertia=False)
    breaks = merge_breaks(profile.breaks, *(shapes.breaks for shapes in sets), length=profile.length)
    x, weights = gauss(breaks, max((shapes.points for shapes in sets), default=2) // 2 + 2)
    turn = np.stack([attachment(sets, station).Phi_r for station in x])
    return replace(
        body,
        **slender,  # type: ignore[arg-type]
        section_inertia=profile.at(x).discs(weights),
        section_turn=turn,
    )


def coordinate_names(sets: Sequence[ShapeSet]) -> tuple[str, ...]:
    """``family.k`` for every shape."""
    return tuple(f"{shapes.family}.{k}" for shapes in sets for k in range(1, shapes.size + 1))


def inertia(sets: Sequence[ShapeSet], profile: BeamProfile, *, section_inertia: bool) -> dict[str, Array]:
    """All inertia integrals, by their names in ModalBody."""
    x, weights = beam_rule(sets, profile)
    section = profile.at(x)
    axis, *levers = _layers(tuple((shapes.family, shapes.size) for shapes in sets))
    samples = [shapes.sample(x) for shapes in sets]
    n = sum(shapes.size for shapes in sets)

    S: Array = np.zeros((n + 1, n + 1, 3, 3))
    one = np.ones((1, len(x)))
    # the constant 1 joins the axis layer for the mass and the first moments
    rows = [one, x[None], *(samples[k].value for k, _ in axis.sets)]
    gram = gram_matrix(np.concatenate(rows), weights * section.rhoA)
    axis.scatter(S, gram[1:, 1:])
    first = np.zeros((3, n + 1))
    first[axis.directions, axis.fields] = gram[0, 1:]
    if section_inertia:
        for lever, density in zip(levers, section.lever_densities(), strict=True):
            if np.any(density):
                rows = [one, *(sign * samples[k].rotation for k, sign in lever.sets)]
                lever.scatter(S, gram_matrix(np.concatenate(rows), weights * density))

    dots, inertias, crossed = dot_moments(S), tensor_moments(S), cross_moments(S)
    return {
        "mass": gram[0, 0],
        "first": first[:, 0],
        "first_modal": first[:, 1:],
        "beta": crossed[0, 1:].T,
        "lam": crossed[1:, 1:],
        "I_rr": inertias[0, 0],
        "I_re": inertias[0, 1:],
        "I_ee": inertias[1:, 1:],
        "M_ee": dots[1:, 1:],
    }


def mass_matrix(shapes: ShapeSet, profile: BeamProfile, *, section_inertia: bool) -> Array:
    """M_ee of one family alone, without the other integrals."""
    x, weights = beam_rule([shapes], profile)
    section, samples = profile.at(x), shapes.sample(x)
    motion = FAMILIES[shapes.family]
    M = np.zeros((shapes.size, shapes.size))
    if motion.value is not None:
        M += gram_matrix(samples.value, weights * section.rhoA)
    if section_inertia and motion.rotation is not None:
        about = (section.polar, section.rhoIy, section.rhoIz)[motion.rotation[0]]
        M += gram_matrix(samples.rotation, weights * about)
    return M


def stiffness(sets: Sequence[ShapeSet], profile: BeamProfile) -> Array:
    """Strain energy: int EI psi'^2 + GA (w' - psi)^2, int GJ a'^2, int EA u'^2."""
    x, weights = beam_rule(sets, profile)
    section = profile.at(x)
    n = sum(shapes.size for shapes in sets)
    K = np.zeros((n, n))
    start = 0
    for shapes in sets:
        motion, samples = FAMILIES[shapes.family], shapes.sample(x)
        block = slice(start, start + shapes.size)
        K[block, block] = gram_matrix(samples.strain, weights * getattr(section, motion.stiffness))
        if motion.shear is not None and np.count_nonzero(samples.shear):
            # where the shear stiffness is infinite the shear strain is zero
            GA = getattr(section, motion.shear)
            K[block, block] += gram_matrix(samples.shear, weights * np.where(np.isfinite(GA), GA, 0.0))
        start += shapes.size
    return K


def attachment(
    sets: Sequence[ShapeSet], x: float, offset: Array | None = None, rotation: Array | None = None
) -> Attachment:
    """A frame on the section at x, its origin ``offset`` from the axis and turned by ``rotation``.

    The offset turns with the section; beside one that nothing turns the frame is a point of its own.
    """
    position = np.array([float(x), 0.0, 0.0])
    n = sum(shapes.size for shapes in sets)
    Phi_d, Phi_r = np.zeros((3, n)), np.zeros((3, n))
    start = 0
    for shapes in sets:
        motion, samples = FAMILIES[shapes.family], shapes.sample(position[:1])
        block = slice(start, start + shapes.size)
        if motion.value is not None:
            Phi_d[motion.value, block] = samples.value[:, 0]
        if motion.rotation is not None:
            direction, sign = motion.rotation
            Phi_r[direction, block] = sign * samples.rotation[:, 0]
        start += shapes.size
    lever = np.zeros(3) if offset is None else np.asarray(offset, dtype=float)
    if np.count_nonzero(lever) and not np.count_nonzero(Phi_r):
        position, lever = position + lever, np.zeros(3)
    R_BA = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    # no zero has a sign
    return Attachment(position, R_BA, Phi_d + 0.0, Phi_r + 0.0, lever)


def beam_rule(sets: Sequence[ShapeSet], profile: BeamProfile) -> tuple[Array, Array]:
    """Places and weights of the integrals over a beam with these shapes."""
    breaks = merge_breaks(profile.breaks, *(shapes.breaks for shapes in sets), length=profile.length)
    return gauss(breaks, max((shapes.points for shapes in sets), default=2) + TAPER_POINTS)


@dataclass(frozen=True, slots=True)
class _Layer:
    """Scalar functions of x with one weight: the sets they are of, with a sign, and of each its field and direction."""

    sets: tuple[tuple[int, float], ...]
    fields: NDArray[np.intp]
    directions: NDArray[np.intp]

    def scatter(self, S: Array, gram: Array) -> None:
        S[self.fields[:, None], self.fields, self.directions[:, None], self.directions] += gram


@lru_cache(maxsize=MOST_LAYERS)
def _layers(sets: tuple[tuple[str, int], ...]) -> tuple[_Layer, ...]:
    # the axis and the levers along x, y and z; field 0 is r = x e_x + s
    motions = [FAMILIES[family] for family, _ in sets]
    moved = [None if motion.value is None else (motion.value, 1.0) for motion in motions]
    levers = [[motion.levers[direction] for motion in motions] for direction in (X, Y, Z)]
    return _layer(X, moved, sets), *(_layer(along, own, sets) for along, own in zip((X, Y, Z), levers, strict=True))


def _layer(along: int, moves: Sequence[tuple[int, float] | None], sets: Sequence[tuple[str, int]]) -> _Layer:
    """The layer of r's part along a direction and of the sets that move so."""
    taken, fields, directions, start = [], [0], [along], 1
    for k, ((_, size), move) in enumerate(zip(sets, moves, strict=True)):
        if move is not None:
            taken.append((k, move[1]))
            fields += range(start, start + size)
            directions += [move[0]] * size
        start += size
    return _Layer(tuple(taken), np.array(fields), np.array(directions))


def gram_matrix(rows: Array, weights: Array) -> Array:
    """int w_i w_j of functions (n, places) with the weights (..., places) of rules, in arrays (..., n, n).

    Products that vanish by orthogonality are exact zeros.
    """
    # roots of the weights on both factors: equal shapes give equal entries to the bit
    roots = np.sqrt(np.abs(weights))
    scaled = signed = rows * roots[..., None, :]
    squares = None
    if np.count_nonzero(weights < 0.0):
        signed = rows * np.copysign(roots, weights)[..., None, :]
        squares = np.einsum("...ip,...ip->...i", scaled, scaled)
    if len(rows) > LARGE:
        gram = _local_products(signed, scaled)
    else:
        gram = np.einsum("...ip,...jp->...ij", signed, scaled)
    norm = np.sqrt(np.einsum("...ii->...i", gram) if squares is None else squares)
    gram[np.abs(gram) <= ROUNDING * (norm[..., None] * norm[..., None, :])] = 0.0
    return gram


def _local_products(left: Array, right: Array) -> Array:
    """left right^T of functions (..., n, places) of which most vanish at most places, as those of elements do."""
    n, places = right.shape[-2:]
    out = np.zeros((*right.shape[:-1], n))
    for first in range(0, places, PLACES):
        near = slice(first, first + PLACES)
        here = np.flatnonzero(right[..., near].any(axis=-1).reshape(-1, n).any(axis=0))
        out[..., here[:, None], here] += left[..., here, near] @ np.swapaxes(right[..., here, near], -1, -2)
    return out


# ---- beam modes


MOST_SEEN = 16
"""Sets of places at which the shapes of a family are kept."""
ROWS = {"bend_y": slice(0, 3), "bend_z": slice(0, 3), "torsion": slice(1, 3)}
"""Which of value, rotation and strain the derivatives of a shape are; of all others value and strain."""


@dataclass(frozen=True, slots=True)
class BeamModes:
    """Assumed modes of one family."""

    family: str
    shapes: tuple[Shape, ...]
    breaks: tuple[float, ...] = field(init=False, repr=False, compare=False)
    points: int = field(init=False, repr=False, compare=False)
    # value, rotation, strain and shear (4, shapes, places) at several sets of places, and where in it each set stands
    _seen: dict[bytes, tuple[Array, slice]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        panels = max((shape.panels for shape in self.shapes), default=1)
        breaks = equal_breaks(self.shapes[0].length, panels) if self.shapes else ()
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "points", max((shape.points for shape in self.shapes), default=2))

    @property
    def size(self) -> int:
        return len(self.shapes)

    def sample(self, x: Array) -> ShapeSamples:
        x = np.asarray(x, dtype=float)
        # all integrals over a beam ask at the same places
        found = self._seen.get(x.tobytes())
        if found is None:
            self.prepare(x)
            found = self._seen[x.tobytes()]
        table, at = found
        return ShapeSamples(*table[:, :, at])

    def prepare(self, *places: Array) -> None:
        """Sample the shapes at several sets of places at once."""
        if len(self._seen) + len(places) > MOST_SEEN:
            self._seen.clear()
        x = places[0] if len(places) == 1 else np.concatenate(places)
        table = np.zeros((4, self.size, len(x)))
        if self.shapes:
            rows = ROWS.get(self.family, slice(0, 3, 2))
            table[rows] = sampled(self.shapes, x, range(len(table[rows])))
        table.flags.writeable = False
        start = 0
        for each in places:
            self._seen[each.tobytes()] = table, slice(start, start + len(each))
            start += len(each)

    def scaled(self, factors: Array) -> BeamModes:
        """The shapes times a factor each."""
        out = BeamModes(self.family, tuple(s.scaled(float(f)) for s, f in zip(self.shapes, factors, strict=True)))
        tables: dict[int, Array] = {}
        for key, (table, at) in self._seen.items():
            own = tables.get(id(table))
            if own is None:
                own = tables[id(table)] = factors[:, None] * table
                own.flags.writeable = False
            out._seen[key] = own, at
        return out


def mode_set(
    family: str,
    kind: str,
    count: int,
    profile: BeamProfile,
    *,
    normalise: str = "mass",
    tip_mass: float = 0.0,
    tip_inertia: float = 0.0,
    functions: Sequence[ShapeFunction] = (),
) -> BeamModes:
    """The first modes of one family, normalised on their own.

    ``tip_mass`` (kg) and ``tip_inertia`` (kg m^2, about the axis of the family) are read by clamped-mass
    only. ``functions`` are the shapes of kind user. On a beam that is not uniform the shapes are those of
    the uniform beam of the same length and mass; they stay admissible, and all integrals take the true
    section.
    """
    modes = raw_modes(family, kind, count, profile, tip_mass=tip_mass, tip_inertia=tip_inertia, functions=functions)
    if kind != "clamped-mass":
        tip_mass = tip_inertia = 0.0
    return normalised(modes, normalise, profile, tip_mass=tip_mass, tip_inertia=tip_inertia)


def raw_modes(
    family: str,
    kind: str,
    count: int,
    profile: BeamProfile,
    *,
    tip_mass: float = 0.0,
    tip_inertia: float = 0.0,
    functions: Sequence[ShapeFunction] = (),
) -> BeamModes:
    """Modes of a family as their formulas give them, before they are normalised."""
    length, own = profile.length, family_inertia(family, profile)
    if kind == "user":
        # bending strains are second derivatives, all others first ones
        order = 2 if family in ("bend_y", "bend_z") else 1
        given = (Given(length=length, function=function) for function in functions[:count])
        shapes: list[Shape] = [shape.resolved(order) for shape in given]
    elif family == "torsion":
        shapes = rod_shapes(kind, count, length, ratio=tip_inertia / own)
    elif family in ("bend_y", "bend_z"):
        shapes = bending_shapes(kind, count, length, mu=tip_mass / own, J=tip_inertia / (own * length**2))
    else:
        shapes = rod_shapes(kind, count, length, ratio=tip_mass / own)
    return BeamModes(family, tuple(shapes))


def normalised(
    modes: BeamModes,
    rule: str,
    profile: BeamProfile,
    *,
    tip_mass: float = 0.0,
    tip_inertia: float = 0.0,
    others: Sequence[BeamModes] = (),
) -> BeamModes:
    """The shapes scaled by one of the rules.

    All families of a beam, ``others`` too, are integrated at the same places: what is equal in two of them is equal to
    the last digit, and remains one constant of compiled code.

    mass  int rhoA phi^2 dx + tip_mass phi(L)^2 + tip_inertia phi'(L)^2 = mass of the beam; for torsion
          int rhoJ phi^2 dx + tip_inertia phi(L)^2 = polar inertia of the beam
    tip   phi(L) = 1
    unit  largest |phi| = 1
    none  the raw formula
    """
    match rule:
        case "none":
            return modes
        case "tip":
            return modes.scaled(1.0 / np.array([_tip_value(shape) for shape in modes.shapes]))
        case "unit":
            return modes.scaled(1.0 / _not_zero(np.array([peak(shape) for shape in modes.shapes])))
        case "mass":
            return modes.scaled(
                _mass_factors(modes, beam_rule([modes, *others], profile), profile, tip_mass, tip_inertia)
            )
    raise ValueError(f"unknown normalisation {rule!r}")


def family_inertia(family: str, profile: BeamProfile) -> float:
    """The mass of the beam, kg; for torsion its polar inertia, kg m^2."""
    if family != "torsion":
        return profile.moments[0]
    x, weights = gauss(profile.breaks, 2 + TAPER_POINTS)
    return float((weights * profile.at(x).polar).sum())


def peak(shape: Shape) -> float:
    """The largest |phi| on the beam."""
    x = np.linspace(0.0, shape.length, 16 * shape.points * shape.panels + 1)
    values = np.abs(shape(x))
    best = int(np.argmax(values))
    largest = float(values[best])
    if 0 < best < len(x) - 1:
        # the grid is fine enough for one Newton step on the slope, repeated for the last digits
        at = x[best : best + 1]
        for _ in range(3):
            curvature = shape(at, 2)
            if not np.all(curvature):
                break
            at = np.clip(at - shape(at, 1) / curvature, x[best - 1], x[best + 1])
        largest = max(largest, float(np.abs(shape(at))[0]))
    return largest


def _mass_factors(
    modes: BeamModes, rule: tuple[Array, Array], profile: BeamProfile, tip_mass: float, tip_inertia: float
) -> Array:
    x, weights = rule
    root, tip = np.zeros(1), np.array([profile.length])
    # the integrals and the frames of the beam ask at these places again
    modes.prepare(root, x, tip)
    section, along = profile.at(x), modes.sample(x)
    density, motion = (section.polar, along.rotation) if modes.family == "torsion" else (section.rhoA, along.value)
    density = weights * density
    # row by row: matrix products round in another way where there are more rows
    own = (motion * motion * density).sum(axis=1)
    if tip_mass or tip_inertia:
        end = modes.sample(tip)
        own += tip_mass * end.value[:, 0] ** 2 + tip_inertia * end.rotation[:, 0] ** 2
    return np.asarray(np.sqrt(density.sum() / _not_zero(own)))


def _not_zero(values: Array) -> Array:
    if np.count_nonzero(values) < len(values):
        raise ValueError("the shape is zero all along the beam and cannot be normalised")
    return values


def _tip_value(shape: Shape) -> float:
    value = float(shape(shape.length))
    if abs(value) <= 1e-12 * peak(shape):
        raise ValueError("the shape is zero at the tip and cannot be normalised to a unit tip value")
    return value
