"""Links to modal bodies: one function from the description to the constants of the dynamics.

What was made of a part of a link is kept with it: a robot that is described again is not built again. Structural
damping is the same ratio for the modes of a link under load, or Rayleigh's two factors: a ratio belongs to a vibration,
and a vibrating link moves all that it carries, payloads, and the links behind it with their joints held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.auto_counts import choices, own_choice
from pliant.bodies.beam_modes import BeamModes, assemble, attachment, normalised, raw_modes, with_turning_sections
from pliant.bodies.carried import CarriedMass, carried, loaded_mass, mounted, own_load, tip_load
from pliant.bodies.elements import (
    BendingElements,
    RigidPieces,
    RodElements,
    element_nodes,
    element_set,
    reduced_set,
    too_short,
)
from pliant.bodies.families import FAMILIES, ShapeSet
from pliant.bodies.foreshortening import Foreshortening, foreshortening
from pliant.bodies.modal_body import Array, ModalBody, hat
from pliant.bodies.profile import BeamProfile, beam_profile, curve_of, gauss
from pliant.bodies.rod import Rod, about_its_shape, rod, rooted
from pliant.bodies.words import words_of
from pliant.model.description.beams import undeformed_pose
from pliant.model.once import once_per_element
from pliant.spatial.rounding import exceeds

if TYPE_CHECKING:
    from pliant.model.description.beams import Beam
    from pliant.model.description.discretisation import Damping, Elements, Family
    from pliant.model.description.links import Link
    from pliant.model.description.placement import Frame
    from pliant.model.description.robot import Robot
    from pliant.model.element import Element

# of what was made of a beam, for other loads and frames, the latest; those of a robot go with it
MOST_KEPT = 12
# beams of which what was made is found by their numbers, too
MOST_ALIKE = 32
T = TypeVar("T")


def kept(part: Element, *key: Any, make: Callable[[], T]) -> T:
    """What was made of a part of a link with the same further values, or else is made now; the latest few are kept."""
    held = _made_of(part)
    # other threads may look for the same
    found: T | None = held.pop(key, None)
    if found is None:
        found = make()
    _keep(held, key, found, MOST_KEPT)
    return found


def _keep(held: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Put a value behind all others; the oldest go."""
    held[key] = value
    while len(held) > most:
        held.pop(next(iter([*held])), None)


@once_per_element
def _made_of(part: Element) -> dict[Any, Any]:
    """By what else it depends on, the latest last; beams of equal numbers share it while they are among the latest."""
    # bodies of elements and of data may be large, and go with what describes them; functions may know more than numbers
    modes = getattr(part, "modes", None)
    if modes is None or any(not isinstance(f, str) for m in modes.families().values() for f in m.expressions or ()):
        return {}
    made = _ALIKE.pop(part, {})
    _keep(_ALIKE, part, made, MOST_ALIKE)
    return made


_ALIKE: dict[Element, dict[Any, Any]] = {}


# ---- structural damping


def modal_ratios(M: Array, K: Array, D: Array) -> Array:
    """Damping ratios of the modes of (K, M), lowest first; modes without stiffness have none."""
    squares, Q, L = _modes(K, M)
    V = np.linalg.solve(L.T, Q)
    omega = np.sqrt(np.maximum(squares, 0.0))
    damped = np.einsum("ik,ij,jk->k", V, D, V)
    return np.asarray(damped[omega > 0] / (2 * omega[omega > 0]))


def modal_damping(M: Array, K: Array, ratio: float) -> Array:
    """D = M V diag(2 zeta omega) V^T M with the mass-normalised modes V of (K, M)."""
    coupled = (M != 0) | (K != 0)
    if coupled.all():
        return _whole_damping(M, K, ratio)
    D = np.zeros_like(M)
    for block in _blocks(coupled):
        at = np.ix_(block, block)
        D[at] = _whole_damping(M[at], K[at], ratio)
    return D


def _whole_damping(M: Array, K: Array, ratio: float) -> Array:
    squares, Q, L = _modes(K, M)
    # M V = L L^T L^-T Q
    MV = L @ Q
    D = (MV * (2 * ratio * np.sqrt(np.maximum(squares, 0.0)))) @ MV.T
    return np.asarray((D + D.T) / 2)


def rayleigh_damping(M: Array, K: Array, mass: float, stiffness: float) -> Array:
    """D = mass * M + stiffness * K."""
    return mass * M + stiffness * K


def _modes(K: Array, M: Array) -> tuple[Array, Array, Array]:
    """Squares of the frequencies, lowest first, Q and L of the mass-normalised modes L^-T Q with M = L L^T.

    Every robot needs them, few need scipy.
    """
    L = np.linalg.cholesky(M)
    inverse = np.linalg.inv(L)
    A = inverse @ K @ inverse.T
    squares, Q = np.linalg.eigh((A + A.T) / 2)
    return squares, Q, np.asarray(L, dtype=float)


def _blocks(coupled: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
    # coordinates that M or K couple; working by blocks keeps the zeros between them exact
    left = np.ones(len(coupled), dtype=bool)
    while left.any():
        block = np.arange(len(coupled)) == np.argmax(left)
        while (wider := block | coupled[block].any(axis=0)).sum() > block.sum():
            block = wider
        yield np.flatnonzero(block)
        left &= ~block


# ---- from links to bodies


__all__ = ["build_body", "carried", "damping_ratios", "frequencies", "shape_sets"]

# smallest eigenvalue of M_ee, scaled to a unit diagonal, that still tells the shapes apart
INDEPENDENT = 1e-13
# the integrals of a body grow with the square of its coordinates
MOST_COORDINATES = 1000
# a frame this close to an end of the beam (fraction of the length) sits on it
END = 1e-9
Mount = tuple[float, Array, Array]
"""Place of a frame along a beam, its offset from there (3,) and its axes (3, 3)."""


def build_body(link: Link, robot: Robot | None = None) -> ModalBody:
    """The constants of a link by itself; hub and payloads are not merged.

    The robot is needed where the link refers to it: materials by name, and the automatic tip mass of
    clamped-mass modes (without a robot only the payloads of the link count).
    """
    return words_of(link, robot).constants()


def damping_ratios(link: Link, robot: Robot | None = None) -> Array:
    """Damping ratios of the modes of a link that is clamped in its own frame and carries its load, lowest first."""
    body = build_body(link, robot)
    return modal_ratios(loaded_mass(body, mounted(link, robot)), body.K_ee, body.D_ee) if body.size else np.zeros(0)


def shape_sets(link: Link, robot: Robot | None = None) -> list[ShapeSet]:
    """The shapes of the elastic coordinates of a beam, one set per family, in their order."""
    if robot is not None and link.name in robot.link_names and robot.link(link.name) is link:
        return list(_own_shapes(robot, link.name))
    return list(_shapes(link, robot))


@once_per_element
def _own_shapes(robot: Robot, name: str) -> list[ShapeSet]:
    """The shapes of a beam of a robot, made once."""
    return _shapes(robot.link(name), robot)


def _shapes(link: Link, robot: Robot | None) -> list[ShapeSet]:
    beam = _resolved(link, robot)
    load = _load(link, robot) if _loaded(beam) else None
    return kept(beam, "shapes", _value(load), make=lambda: _shape_sets(link, beam, robot, load))


def frequencies(body: ModalBody) -> Array:
    """Natural frequencies of the link clamped in its own frame, rad/s, lowest first."""
    from scipy.linalg import LinAlgError, eigh

    if not body.size:
        return np.zeros(0)
    M = body.straight_mass
    try:
        # the inverse problem keeps the digits of the low ones
        squares = 1 / eigh(M, body.K_ee, eigvals_only=True)[::-1]
    except LinAlgError:
        # a coordinate without stiffness
        squares = np.maximum(eigh(body.K_ee, M, eigvals_only=True), 0.0)
    return np.asarray(np.sqrt(squares))


def beam_body(link: Link, robot: Robot | None) -> ModalBody:
    """The constants of a beam: robots that share it share them, where shapes and damping know the same loads."""
    beam = _resolved(link, robot)
    load = _load(link, robot) if _loaded(beam) else None
    key = link.frames, _value(load)
    body = kept(beam, "body", *key, make=lambda: _new_beam_body(link, beam, robot))
    damping = _damping(link, robot)
    if damping is None or not body.size:
        return body
    loads = mounted(link, robot) if damping.ratio is not None else {}
    carrying = tuple((name, _value(each)) for name, each in loads.items())
    return kept(beam, "damped", *key, damping, carrying, make=lambda: _damped(body, damping, loads))


def _value(load: CarriedMass | None) -> bytes:
    """A load as a key."""
    return b"" if load is None else load.moments.tobytes()


@once_per_element
def _loaded(beam: Beam) -> bool:
    """Whether the shapes of a beam depend on what it carries."""
    return beam.modes is not None and any(f.shape == "clamped-mass" for f in beam.modes.families().values())


def _new_beam_body(link: Link, beam: Beam, robot: Robot | None) -> ModalBody:
    profile = beam_profile(beam)
    shapes = shape_sets(link, robot)
    size = sum(s.size for s in shapes)
    if size > MOST_COORDINATES:
        remedy = "take fewer, or reduce elements with {craig_bampton: number of modes}"
        _refuse(link, robot, f"it has {size} elastic coordinates; {MOST_COORDINATES} are the most: {remedy}")
    mounts = _mounts(link, beam, profile)
    frames = {name: attachment(shapes, *mount) for name, mount in mounts.items()}
    section_inertia = beam.sections_turn
    if beam.lumped is not None:
        masses: Sequence[ShapeSet] = [
            RigidPieces(s.family, s.nodes) for s in shapes if isinstance(s, BendingElements | RodElements)
        ]
        body = assemble(masses, profile, frames, section_inertia=section_inertia, elastic_sets=shapes)
    else:
        body = assemble(shapes, profile, frames, section_inertia=section_inertia)
    for problem in _problems(body):
        _refuse(link, robot, problem)
    large = _large_bending(beam, shapes, profile, mounts)
    if isinstance(large, Rod) and beam.is_curved:
        body = about_its_shape(body, large)
    elif beam.is_curved:
        _, first, I_rr = curved_inertia(beam, section_inertia=section_inertia)
        body = replace(body, first=first, I_rr=I_rr, frames=words_of(link).rigid_frames())
    body = replace(body, large=large)
    # a rod's sections turn exactly in any case
    turning = beam.rotary_inertia == "exact" and beam.bending != "exact"
    return with_turning_sections(body, shapes, profile) if turning else body


def _large_bending(
    beam: Beam, shapes: Sequence[ShapeSet], profile: BeamProfile, mounts: Mapping[str, Mount]
) -> Foreshortening | Rod | None:
    """What the beam does beyond small deflections."""
    bends = any(FAMILIES[s.family].bends for s in shapes)
    if beam.bending == "linear" or not bends:
        return None
    if beam.bending == "second-order":
        pieces = [RigidPieces(s.family, s.nodes) for s in shapes if isinstance(s, BendingElements | RodElements)]
        sections = {name: x for name, (x, _, _) in mounts.items()}
        return foreshortening(shapes, profile, sections, pieces=pieces if beam.lumped is not None else ())
    section_inertia = beam.sections_turn
    curve, places = curve_of(beam), {name: (x, offset) for name, (x, offset, _) in mounts.items()}
    return rod(shapes, profile, places, section_inertia=section_inertia, stations=beam.stations, curvature=curve)


def rod_of(robot: Robot, name: str, stations: int) -> Rod:
    """The rod of an exact beam of a robot with another number of stations per segment, without hub and payloads."""
    link = robot.link(name)
    beam, profile = _resolved(link, robot), beam_profile(_resolved(link, robot))
    mounts = _mounts(link, beam, profile)

    def made() -> Rod:
        followed = beam.model_copy(update={"stations": stations})
        large = _large_bending(followed, shape_sets(link, robot), profile, mounts)
        assert isinstance(large, Rod)
        return large

    return kept(beam, "rod", link.frames, stations, make=made)


def _shape_sets(link: Link, beam: Beam, robot: Robot | None, load: CarriedMass | None) -> list[ShapeSet]:
    profile = beam_profile(beam)
    if beam.modes is not None:
        families = beam.modes.families()
        sets = _mode_sets(link, robot, families, profile, load)
        # the root of a rod is clamped: its coordinates are strains
        return [rooted(s) for s in sets] if beam.bending == "exact" else list(sets)
    number = beam.elements.number if beam.elements is not None else beam.lumped.nodes if beam.lumped is not None else 0
    bends = any(FAMILIES[name].bends for name in beam.families)
    if number and bends and (problem := too_short(element_nodes(profile, number))):
        _refuse(link, robot, problem)
    if beam.elements is not None:
        return [_element_set(link, robot, name, beam, profile) for name in beam.families]
    if beam.lumped is not None:
        return [element_set(name, profile, beam.lumped.nodes) for name in beam.families]
    return []


def _mode_sets(
    link: Link, robot: Robot | None, families: Mapping[str, Family], profile: BeamProfile, load: CarriedMass | None
) -> list[BeamModes]:
    loads = {name: tip_load(name, family, load) for name, family in families.items()}
    raw = []
    for name, family in families.items():
        try:
            raw.append(_raw_modes(name, family, profile, loads[name]))
        except ValueError as error:
            _refuse(link, robot, f"{name}: {error}")
    sets = []
    for modes in raw:
        rule, (mass, moment) = str(families[modes.family].normalise), loads[modes.family]
        try:
            sets.append(normalised(modes, rule, profile, tip_mass=mass, tip_inertia=moment, others=raw))
        except ValueError as error:
            _refuse(link, robot, f"{modes.family}: {error}")
    return sets


def _raw_modes(name: str, family: Family, profile: BeamProfile, tip: tuple[float, float]) -> BeamModes:
    from pliant.model.description.discretisation import user_shape

    functions = [user_shape(expression) for expression in family.expressions or ()]
    kind, count = str(family.shape), int(family.count or 0)
    return raw_modes(name, kind, count, profile, tip_mass=tip[0], tip_inertia=tip[1], functions=functions)


def _element_set(link: Link, robot: Robot | None, name: str, beam: Beam, profile: BeamProfile) -> ShapeSet:
    elements: Elements | None = beam.elements
    assert elements is not None
    nodal = element_set(name, profile, elements.number, timoshenko=elements.timoshenko)
    if elements.reduce.method == "none":
        return nodal
    section_inertia = beam.sections_turn
    try:
        return reduced_set(nodal, profile, elements.reduce.modes, section_inertia=section_inertia)
    except ValueError as error:
        _refuse(link, robot, f"{name}: {error}; use more elements or fewer modes")


def _load(link: Link, robot: Robot | None) -> CarriedMass:
    known = robot is not None and link.name in robot.link_names
    return carried(robot, link.name) if robot is not None and known else own_load(link)


def _damping(link: Link, robot: Robot | None) -> Damping | None:
    """What damps the shapes of a link by itself."""
    own = words_of(link).damping
    whole = robot.damping if robot is not None and link.name in robot.link_names else None
    # a ratio of the whole robot couples its links: see formulations/robot_damping.py
    return own or (whole if whole is not None and whole.ratio is None else None)


def _damped(body: ModalBody, damping: Damping, loads: Mapping[str, CarriedMass]) -> ModalBody:
    if damping.rayleigh is not None:
        factors = damping.rayleigh.mass, damping.rayleigh.stiffness
        return replace(body, D_ee=rayleigh_damping(body.straight_mass, body.K_ee, *factors))
    return replace(body, D_ee=modal_damping(loaded_mass(body, loads), body.K_ee, damping.ratio or 0.0))


def _mounts(link: Link, beam: Beam, profile: BeamProfile) -> dict[str, Mount]:
    """Where the frames sit on the beam."""

    def mount(frame: Frame) -> Mount:
        x = float(frame.x or 0.0)
        place = profile.length if abs(x - profile.length) <= END * profile.length else max(x, 0.0)
        return place, frame.vector(), frame.matrix()

    return kept(beam, "mounts", link.frames, make=lambda: {name: mount(link.frame(name)) for name in link.frame_names})


def _problems(body: ModalBody) -> Iterator[str]:
    """Why the elastic coordinates of a body cannot be used."""
    if not body.size:
        return
    if not all(np.isfinite(matrix).all() for matrix in (body.M_ee, body.K_ee)):
        yield "a mode shape or one of its derivatives is not finite on the beam"
        return
    masses = body.M_ee.diagonal()
    least = int(np.argmin(masses))
    if not masses[least] > 0:
        yield f"the coordinate {body.names[least]} moves no mass; its shape must not vanish"
    elif body.size > 1 and not exceeds(body.M_ee / np.sqrt(masses[:, None] * masses), INDEPENDENT):
        families = {name.partition(".")[0] for name in body.names}
        if any({f"bend_{axis}", f"shear_{axis}"} <= families for axis in "yz"):
            why = "bending and shear move the same mass alike unless sections have inertia: write rotary_inertia: true"
            yield f"the mode shapes are not independent of one another; {why}"
            return
        yield "the mode shapes are not independent of one another; use fewer of them or other shapes"


def _resolved(link: Link, robot: Robot | None) -> Beam:
    if link.beam is None:
        _refuse(link, robot, "it is not a beam and has no shapes")
    return beam_in(link, robot)


def beam_in(link: Link, robot: Robot | None) -> Beam:
    """The beam of a link with its materials, and with the modes or elements that it gets where they are left open."""
    assert link.beam is not None
    beam = link.beam.with_materials(robot.materials) if robot is not None else link.beam
    if beam.modes is None or not beam.modes.automatic:
        return beam
    if robot is not None and link.name in robot.link_names and robot.link(link.name) is link:
        return _own_beam(robot, link.name)
    return beam.model_copy(update=own_choice(link, beam))


@once_per_element
def _own_beam(robot: Robot, name: str) -> Beam:
    beam = robot.link(name).beam
    assert beam is not None
    return beam.with_materials(robot.materials).model_copy(update=choices(robot)[name])


def _refuse(link: Link, robot: Robot | None, message: str) -> NoReturn:
    words_of(link, robot).refuse(message)


MASS_POINTS = 16
"""Gauss points of a segment whose mass lies along a curve."""


def curved_inertia(beam: Beam, *, section_inertia: bool) -> tuple[float, Array, Array]:
    """Mass, first moment and inertia about the root of the unloaded beam."""
    profile = beam_profile(beam)
    x, weights = gauss(profile.breaks, MASS_POINTS)
    section = profile.at(x)
    masses = weights * section.rhoA
    moments = section.discs(weights) * float(section_inertia)
    first, about = np.zeros(3), np.zeros((3, 3))
    for place, mass, discs in zip(x.tolist(), masses.tolist(), moments, strict=True):
        p, R = undeformed_pose(beam, place)
        first = first + mass * p
        about = about - mass * hat(p) @ hat(p) + R @ np.diag(discs) @ R.T
    return float(masses.sum()), first, about
