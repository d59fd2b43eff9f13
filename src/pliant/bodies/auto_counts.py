"""How many modes a beam needs where that is left open (``count: auto``, or nothing about modes at all).

Each family of a beam is compared with beam elements that are fine enough to count as exact. It gets the fewest modes
with which

- forces and moments on the tip, and on every frame that carries something, move and turn it as they should,
- its own weight moves and turns these frames as it should,
- its frequencies are right up to a multiple of the robot's lowest, its root held and its load rigid.

Torsion and elongation get none where they give way by next to nothing against bending under all that the link carries,
in the reference pose and in some others: a straight reference pose loads no torsion that a bent elbow would.

Polynomials of the strain, the modes of a beam about which nothing is written, meet steps of the section slowly. Where
ten of them are not enough, elements between the steps take their place, reduced to the motion of the tip and the lowest
vibrations about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.bodies.beam_modes import attachment, beam_rule, mass_matrix, raw_modes, stiffness
from pliant.bodies.carried import CarriedMass, carried, load_mass, mounted, mounted_in_pose, own_load, tip_load
from pliant.bodies.elements import element_set, reduced_set
from pliant.bodies.families import FAMILIES, ShapeSet
from pliant.bodies.modal_body import Array, Attachment
from pliant.bodies.profile import BeamProfile, beam_profile
from pliant.model.description.beams import NEEDED, OF_ITSELF
from pliant.model.description.derived_links import frame_in_base
from pliant.model.description.discretisation import Elements, Reduction
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.description.beams import Beam
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

ERROR = 0.005
"""Part of a static deflection that may be missing, and part of bending that torsion or elongation must reach."""
FREQUENCY_ERROR = 0.01
"""Part by which a frequency may be off, that from which `pliant modes` calls a model coarse."""
BAND = 8.0
"""Frequencies of a link up to this multiple of the robot's lowest must be right; a bare beam has its second at 6.3."""
MOST = 10
"""Modes of a family that are tried."""
LEAST_ELEMENTS, PER_SEGMENT = 8, 4
"""Elements of a beam that modes do not describe well: they are reduced, and their number costs nothing later."""
ELEMENTS = 12
"""Elements of the comparison, and as many for every further four segments: the first frequencies are within 1e-5."""
IN_TAPERS = 4
"""Times as many where the section varies: twist and stretch are linear within an element, not along a taper."""
POSES = 4
"""Poses beside that of reference in which the load of a link is looked at."""
SAME_DIRECTION = 1e-6
BENDING = tuple(name for name, family in FAMILIES.items() if family.bends)
# of planar loops: direction in the base along which nothing moves
NORMALS = {"xy": 2, "yz": 0, "zx": 1}

Loads = Mapping[str, CarriedMass]
"""What the frames of a link carry, about the link's origin and in its axes."""


@dataclass(frozen=True, slots=True)
class FamilyMatrices:
    """One family of a clamped beam in some shapes.

    K, M    stiffness and own mass (n, n)
    weight  int phi dm (n,): zero for torsion
    along   direction of phi: 0, 1 or 2
    frames  where the shapes move the frames that matter
    """

    K: Array
    M: Array
    weight: Array
    along: int | None
    frames: Mapping[str, Attachment]

    def first(self, n: int) -> FamilyMatrices:
        """The matrices of the first n shapes alone."""
        frames = {name: at.combined(np.eye(len(self.weight))[:, :n]) for name, at in self.frames.items()}
        return FamilyMatrices(self.K[:n, :n], self.M[:n, :n], self.weight[:n], self.along, frames)

    def rows(self) -> Array:
        """Motions and turns of the frames (6 frames, n)."""
        return np.vstack([row for at in self.frames.values() for row in (at.Phi_d, at.Phi_r)])

    def flexibilities(self, loads: Sequence[Loads]) -> Array:
        """1/omega^2 of the vibrations with each load (loads, n), largest first."""
        M = np.array([self.M + sum((self._mass_of(load) for load in each.items()), 0.0) for each in loads])
        L = np.linalg.inv(np.linalg.cholesky(self.K))
        return np.linalg.eigvalsh(L @ M @ L.T)[:, ::-1]

    def _mass_of(self, load: tuple[str, CarriedMass]) -> Array:
        at = self.frames[load[0]]
        return load_mass(load[1], at.position, at.Phi_d, at.Phi_r)

    def statics(self) -> tuple[Array, Array]:
        """How far each motion and turn gives way to its own unit load, and to the weight of the beam."""
        rows = self.rows()
        bent = np.linalg.solve(self.K, np.column_stack([rows.T, self.weight]))
        return np.einsum("ri,ir->r", rows, bent[:, :-1]), rows @ bent[:, -1]

    def yields(self, loads: Loads, axis: int) -> float:
        """Work of the weight of the beam and of its loads on the deflection that they cause, all pulled along an axis.

        Of a pull of 1 m/s^2, in J; a deflection times the mass that makes it.
        """
        pull = np.eye(3)[axis]
        force = self.weight if self.along == axis else np.zeros(len(self.weight))
        for name, load in loads.items():
            at = self.frames[name]
            # the load is about the origin of the link, its moment about the frame
            moment = np.cross(load.first - load.mass * at.position, pull)
            force = force + load.mass * pull @ at.Phi_d + moment @ at.Phi_r
        return float(force @ np.linalg.solve(self.K, force))


@dataclass(frozen=True, slots=True)
class _Reference:
    """One family of a clamped beam as it is: in fine elements.

    flexibilities  1/omega^2 with each load (loads, n), largest first
    static, sag    see FamilyMatrices.statics
    """

    flexibilities: Array
    static: Array
    sag: Array


def own_choice(link: Link, beam: Beam) -> dict[str, Any]:
    """What a beam becomes by itself, with the payloads of its link: other modes, or elements."""
    loads = [mounted(link, None)]
    references = _references(link, beam, loads, beam.families)
    return _choice(link, beam, references, loads, own_load(link), _softest(references))


@once_per_element
def choices(robot: Robot) -> dict[str, dict[str, Any]]:
    """What the beams become whose modes are left open, by links and by what the robot does to them."""
    poses = [mounted_in_pose(robot, pose) for pose in _poses(robot)]
    beams = dict(_flexible(robot))
    references = {
        name: _references(link, beam, [pose[name] for pose in poses], beam.families)
        for name, (link, beam) in beams.items()
    }
    # Dunkerley: the flexibilities of the links, one at a time, add up to that of the robot
    robots = sum(_softest(found) for found in references.values())
    planar = _planar(robot)
    out = {}
    for name, (link, beam) in beams.items():
        if beam.modes is None or not beam.modes.automatic:
            continue
        loads = [pose[name] for pose in poses]
        known = {family: of for family, of in references[name].items() if family not in planar.get(name, ())}
        out[name] = _choice(link, beam, known, loads, carried(robot, name), robots, closed=bool(robot.loops))
    return out


@once_per_element
def yielding_families(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Families of the flexible beams of a robot, by links, that may give way under what the robot does to them.

    Those that the beams do not have are among them, where their constants are known.
    """
    poses = [mounted_in_pose(robot, pose) for pose in _poses(robot)]
    planar, out = _planar(robot), {}
    for name, (link, beam) in _flexible(robot):
        known = [family for family in OF_ITSELF if beam.knows(NEEDED[family])]
        found = _references(link, beam, [pose[name] for pose in poses], known)
        yields = _yielding(found, closed=bool(robot.loops))
        out[name] = tuple(family for family in yields if family not in planar.get(name, ()))
    return out


def _flexible(robot: Robot) -> Iterator[tuple[str, tuple[Link, Beam]]]:
    """The links that bend, by name, with their beams."""
    for link in robot.links:
        if link.beam is not None and link.beam.is_flexible:
            yield link.name, (link, link.beam.with_materials(robot.materials))


def _poses(robot: Robot) -> list[Mapping[str, float]]:
    """The reference pose, and others in which every joint that turns has some angle."""
    turning = [name for link in robot.links for name, unit in link.joint.units.items() if unit == "rad"]
    angles = np.random.default_rng(0).uniform(-pi, pi, (POSES, len(turning)))
    at = robot.reference_coordinates()
    return [at, *(robot.with_followers({**at, **dict(zip(turning, row.tolist(), strict=True))}) for row in angles)]


def _references(link: Link, beam: Beam, loads: Sequence[Loads], families: Iterable[str]) -> dict[str, _Reference]:
    """Some families of a beam, but for shear, as they are."""
    profile, out = beam_profile(beam), {}
    for family in families:
        if not FAMILIES[family].shears:
            shapes = element_set(family, profile, comparison(profile))
            fine = family_matrices(link, beam, shapes, profile, loads)
            out[family] = _Reference(fine.flexibilities(loads), *fine.statics())
    return out


def comparison(profile: BeamProfile) -> int:
    """Elements of a beam that count as exact."""
    return ELEMENTS * -(-len(profile.pieces) // 4) * _in_tapers(profile)


def _in_tapers(profile: BeamProfile) -> int:
    return IN_TAPERS if any(callable(piece.data) for piece in profile.pieces) else 1


def family_matrices(
    link: Link, beam: Beam, shapes: ShapeSet, profile: BeamProfile, loads: Sequence[Loads]
) -> FamilyMatrices:
    """One family of a beam, clamped at its root, in some shapes; with the tip and all frames that carry something."""
    x, weights = beam_rule([shapes], profile)
    sections = bool(beam.rotary_inertia) or FAMILIES[shapes.family].is_angle
    names = dict.fromkeys(("tip", *(name for load in loads for name in load)))
    frames = [link.frame(name) for name in names]
    moved = [attachment([shapes], float(at.x or 0.0), at.vector(), at.matrix()) for at in frames]
    return FamilyMatrices(
        K=stiffness([shapes], profile),
        M=mass_matrix(shapes, profile, section_inertia=sections),
        weight=shapes.sample(x).value @ (weights * profile.at(x).rhoA),
        along=FAMILIES[shapes.family].value,
        frames=dict(zip(names, moved, strict=True)),
    )


def _softest(found: Mapping[str, _Reference]) -> float:
    """1/omega^2 of the lowest vibration of a link under its first load."""
    return max((float(each.flexibilities[0, 0]) for each in found.values()), default=0.0)


def _choice(
    link: Link,
    beam: Beam,
    references: Mapping[str, _Reference],
    loads: Sequence[Loads],
    at_tip: CarriedMass,
    robots: float,
    *,
    closed: bool = False,
) -> dict[str, Any]:
    assert beam.modes is not None
    profile, least, missed = beam_profile(beam), robots / BAND**2, False
    counts = dict.fromkeys(beam.modes.automatic, 0)
    for family in _yielding(references, closed):
        if family in counts:
            given = beam.modes.resolve(family)
            mass, moment = tip_load(family, given, at_tip)
            shapes = raw_modes(family, str(given.shape), MOST, profile, tip_mass=mass, tip_inertia=moment)
            tried = family_matrices(link, beam, shapes, profile, loads)
            good = (n for n in range(1, MOST + 1) if _is_good(tried.first(n), references[family], loads, least))
            counts[family] = next(good, 0) or MOST
            missed |= not _is_good(tried.first(counts[family]), references[family], loads, least)
    # sections turn with the torsion that a description names, needed or not
    sections = {"rotary_inertia": beam.rotary_inertia or "torsion" in beam.families}
    if missed and beam.is_left_open and beam.bending != "exact":
        return {"modes": None, "elements": _elements(link, beam, counts, references, loads, least), **sections}
    return {"modes": beam.modes.with_counts(counts), **sections}


def _elements(
    link: Link,
    beam: Beam,
    counts: Mapping[str, int],
    references: Mapping[str, _Reference],
    loads: Sequence[Loads],
    least: float,
) -> Elements:
    """Elements between the steps of a beam, with the fewest vibrations about the motion of the tip that do."""
    profile = beam_profile(beam)
    number = max(LEAST_ELEMENTS, PER_SEGMENT * len(profile.pieces)) * _in_tapers(profile)
    nodal = [element_set(family, profile, number) for family in counts if counts[family]]
    for modes in range(LEAST_ELEMENTS - 1):
        reduced = (reduced_set(each, profile, modes, section_inertia=FAMILIES[each.family].is_angle) for each in nodal)
        tried = ((each.family, family_matrices(link, beam, each, profile, loads)) for each in reduced)
        if all(_is_good(own, references[family], loads, least) for family, own in tried):
            break
    return Elements(
        number=number,
        **{family: bool(counts.get(family)) for family in OF_ITSELF},
        reduce=Reduction(method="craig_bampton", modes=modes) if modes else Reduction(method="static"),
    )


def _yielding(references: Mapping[str, _Reference], closed: bool) -> list[str]:
    """The families that give way by more than next to nothing; bending always does."""
    softness = {family: float(each.flexibilities[:, 0].max()) for family, each in references.items()}
    bends = max((softness[family] for family in BENDING if family in softness), default=0.0)
    # loops may leave a link no way to give but along its axis
    of_loops = ("axial",) if closed else ()
    return [name for name in references if name in (*BENDING, *of_loops) or softness[name] > ERROR * bends]


def _is_good(tried: FamilyMatrices, reference: _Reference, loads: Sequence[Loads], least: float) -> bool:
    """Whether shapes are as good as fine elements; vibrations must be right from 1/omega^2 of ``least`` on."""
    matters = reference.flexibilities >= least
    most = int(matters.sum(axis=1).max())
    if most > len(tried.K):
        return False
    static, sag = tried.statics()
    if np.any(np.abs(static - reference.static) > ERROR * reference.static):
        return False
    if np.any(np.abs(sag - reference.sag) > ERROR * np.abs(reference.sag)):
        return False
    off = np.abs(tried.flexibilities(loads)[:, :most] / reference.flexibilities[:, :most] - 1)
    return bool(np.all(off[matters[:, :most]] <= 2 * FREQUENCY_ERROR))


def _planar(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Families that leave the plane of loops that are closed in a plane only, by links."""
    planes = {loop.planar for loop in robot.loops if loop.planar is not None}
    if len(planes) != 1:
        return {}
    out: dict[str, tuple[str, ...]] = {}
    normal = NORMALS[planes.pop()]
    for link in robot.links:
        along = np.abs(frame_in_base(robot, f"{link.name}.root")[1][normal])
        if along[2] > 1 - SAME_DIRECTION:
            out[link.name] = ("bend_z", "torsion")
        elif along[1] > 1 - SAME_DIRECTION:
            out[link.name] = ("bend_y", "torsion")
    return out
