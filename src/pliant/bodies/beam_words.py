"""The words of a beam: outline, sections, tables, vibrations, limits of its bending, other models of the same beam."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import pi
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.bodies.auto_counts import yielding_families
from pliant.bodies.beam_modes import BeamModes
from pliant.bodies.build import beam_body, beam_in, build_body, curved_inertia, kept, shape_sets
from pliant.bodies.carried import CarriedMass, carried
from pliant.bodies.families import FAMILIES, BeamFamily, ShapeSamples
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.profile import TAPER_POINTS, beam_profile, gauss
from pliant.bodies.rod import Rod
from pliant.bodies.section_forces import SectionForces
from pliant.bodies.sections_along import (
    AxialShapes,
    BentBeam,
    Station,
    beam_station,
    beam_stations,
    shapes_of_beam,
)
from pliant.bodies.shapes import Given, Shape
from pliant.bodies.shortfall import station_words, turns_along
from pliant.bodies.words import (
    AxisElements,
    BentAxis,
    BodyWords,
    ClosedShape,
    CoordinateWord,
    LinkMode,
    OutlinePiece,
    TableRow,
    number_word,
)
from pliant.model.description.beams import NEEDED, OF_ITSELF
from pliant.model.description.discretisation import Family, Reduction
from pliant.model.description.materials import Material
from pliant.model.once import once_per_element
from pliant.model.sections.section_shapes import Rings, has_outline, outermost_strain, segment_rings

if TYPE_CHECKING:
    from pliant.model.description.beams import Beam, Segment
    from pliant.model.description.discretisation import Damping
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot
    from pliant.model.sections.sections import Section

STATIONS = 161
"""Places at which the shapes of vibrations are drawn."""
INSIDE = 9
"""Places at which the largest motion inside a beam is looked for."""
ROUNDING = 1e-12
"""Of an inertia, relative to the mass times the square of the length of the link."""
MORE_MODES = 2
"""Modes that a refinement adds to every family; it doubles the number of elements and nodes."""
LATERAL = 0.2
"""Bending stiffness across over that of the loaded plane below which a beam is a strip that may buckle laterally."""
SMALL_TURN = 0.5
"""Turn along an exact beam (rad) up to which any number of stations does."""
COLUMNS = ("section", "kg/m", "EIy N m²", "EIz N m²", "GJ N m²", "EA N")
NOTE = "sections: width along y of the link (bend_y), height along z (bend_z)"


class SegmentOutline(OutlinePiece):
    """A segment of a beam with its outline."""

    def __init__(self, part: Segment) -> None:
        self.part = part

    @property
    def length(self) -> float:
        return self.part.length

    @property
    def modulus(self) -> float | None:
        """E, Pa; None where the segment is given by constants."""
        return self.part.material.E if isinstance(self.part.material, Material) else None

    @property
    def strength(self) -> float | None:
        """Yield strength, Pa; None where the material does not tell it."""
        return self.part.material.yield_strength if isinstance(self.part.material, Material) else None

    @property
    def tapers(self) -> bool:
        return self.part.varies

    def rings(self, fraction: float) -> Rings:
        return segment_rings(self.part, fraction)

    def has_outline(self) -> bool:
        return has_outline(self.part)

    def outermost_strain(self, fraction: float, strains: Array) -> Array:
        return outermost_strain(self.part, fraction, strains)


class BeamWords(BodyWords):
    """A beam, straight or curved, of any bending and discretisation."""

    knows_sections = True

    has_bending_key: ClassVar[bool] = True
    cures: ClassVar[Mapping[str, str]] = {
        "linear": "write bending: second-order or exact, or split the beam with pieces:",
        "second-order": "write bending: exact, or split the beam with pieces:",
    }
    cure_prefix: ClassVar[str] = ""

    @property
    def beam(self) -> Beam:
        """Its description, with materials by name as they are."""
        assert self.link.beam is not None
        return self.link.beam

    @property
    def known(self) -> Beam:
        """Its description with the materials of the robot."""
        return self.beam if self.robot is None else self.beam.with_materials(self.robot.materials)

    @property
    def own_robot(self) -> Robot:
        """The robot that has the link."""
        assert self.robot is not None
        return self.robot

    # ---- constants of the dynamics

    def constants(self) -> ModalBody:
        return beam_body(self.link, self.robot)

    def rest(self) -> CarriedMass:
        """The undeformed beam as a rigid mass in the link frame."""
        if self.beam.is_curved:
            turning = bool(self.beam.rotary_inertia)
            return CarriedMass.from_inertia(*curved_inertia(self.beam, section_inertia=turning))
        return straight_mass(self.beam)

    # ---- tables

    def summary(self) -> str:
        beam = self.beam
        bends = beam.is_flexible and beam.bending != "second-order"
        kind = self._chosen() if beam.is_left_open else _discretised(beam)
        return kind + (f", {beam.bending} bending" if bends else "")

    def _chosen(self) -> str:
        """The families of a beam about which nothing is written, with the number of their coordinates."""
        families = [name.partition(".")[0] for name in build_body(self.link, self.robot).names]
        return f"beam, chosen: {', '.join(f'{name} {families.count(name)}' for name in dict.fromkeys(families))}"

    def table_row(self) -> TableRow:
        """Section and constants at the root."""
        root = self.beam.at(0.0)
        constants = (root.mass_per_length, root.EIy, root.EIz, root.GJ, root.EA)
        cells = tuple(None if c is None else float(c) for c in constants)
        note = NOTE if any(hasattr(part.section, "height") for part in self.beam.parts()) else ""
        return TableRow("beam", COLUMNS, _section_words(self.beam), cells, note)

    def centre(self) -> tuple[float, Array]:
        """Mass and first moment of the undeformed beam, which its rigid twin has as well."""
        # a rigid twin has the same centre and is computed at once
        rigid = self.beam.model_copy(update={"modes": None, "elements": None, "lumped": None})
        body = build_body(self.link.with_body(rigid))
        return body.mass, body.first

    # ---- coordinates

    @property
    def families(self) -> tuple[BeamFamily, ...]:
        return tuple(FAMILIES[name] for name in self.beam.families)

    def coordinate(self, name: str) -> CoordinateWord:
        """Unit and word of an elastic coordinate: a strain where Legendre shapes are not normalised."""
        family = FAMILIES[name.partition(".")[0]]
        if self.beam.modes is not None and family.name in self.beam.families:
            given = self.beam.modes.resolve(family.name)
            if given.shape == "legendre" and given.normalise == "none":
                return CoordinateWord(*family.strain, strain=True)
        return super().coordinate(name)

    def vibrations(self) -> tuple[LinkMode, ...]:
        """The vibrations of each family by itself: the root held as its shapes hold it.

        Shapes of clamped-mass carry their load at the tip; all others are free there. The exact shapes of a uniform
        beam come out as they are.
        """
        body, modes = build_body(self.link, self.robot), list[LinkMode]()
        x = np.linspace(0.0, self.beam.length, STATIONS)
        start = 0
        for shapes in shape_sets(self.link, self.robot):
            family, own = FAMILIES[shapes.family], slice(start, start + shapes.size)
            start += shapes.size
            support, M_tip = self._tip(family, shapes.sample(x[-1:]))
            squares, V = _vibrations(body.K_ee[own, own], body.straight_mass[own, own] + M_tip)
            samples = shapes.sample(x)
            values = samples.rotation if family.is_angle else samples.value
            for k, square in enumerate(squares):
                # the sign that the description gives its first coordinate
                sign = np.sign(V[np.argmax(np.abs(V[:, k])), k])
                hertz, aside = float(np.sqrt(square)) / (2 * pi), family.value if family.bends else None
                shape = sign * (V[:, k] @ values)
                modes.append(LinkMode(body.names[own][k], family.name, k + 1, hertz, x, shape, support, aside))
        return tuple(modes)

    def _tip(self, family: BeamFamily, tip: ShapeSamples) -> tuple[str, Array]:
        """The support of a family in words, and the inertia that its tip carries, in its coordinates."""
        n = len(tip.value)
        if self.beam.modes is None:
            return "clamped-free", np.zeros((n, n))
        data = self.beam.modes.resolve(family.name)
        if data.shape != "clamped-mass":
            return str(data.shape), np.zeros((n, n))
        load = carried(self.own_robot, self.link.name)
        mass = load.mass if data.tip_mass == "auto" else float(data.tip_mass or 0.0)
        about = family.turns_about
        inertia = float(load.inertia[about, about]) if data.tip_inertia == "auto" else float(data.tip_inertia or 0.0)
        w, psi = tip.value[:, 0], tip.rotation[:, 0]
        # what is left of a point mass far from the place where inertias were added up is rounding
        shown = inertia if inertia > ROUNDING * mass * self.link.length**2 else 0.0
        parts = [] if family.value is None else [f"{mass:.3g} kg"]
        parts += [] if family.rotation is None else [f"{shown:.3g} kg m²"]
        return f"clamped, tip {', '.join(parts)}", mass * np.outer(w, w) + inertia * np.outer(psi, psi)

    def largest_motions(self, length: float) -> Array | None:
        if not self.beam.is_flexible:
            return None
        x = np.linspace(0.0, self.link.length, INSIDE)
        found = list[float]()
        for shapes in shape_sets(self.link, self.robot):
            family, shape = FAMILIES[shapes.family], shapes.sample(x)
            if family.is_angle:
                found += np.abs(shape.value).max(axis=1).tolist()
                continue
            turn = 0.0 if family.value == 0 else np.abs(shape.rotation).max(axis=1)
            found += np.maximum(np.abs(shape.value).max(axis=1) / length, turn).tolist()
        return np.array(found)

    def is_damped(self, body: ModalBody) -> bool:
        return self.beam.damping is not None

    @property
    def damping(self) -> Damping | None:
        return self.beam.damping

    # ---- outline

    @property
    def is_curved(self) -> bool:
        return self.beam.is_curved

    def pieces(self) -> Sequence[OutlinePiece]:
        """Its segments with their outlines."""
        return [SegmentOutline(part) for part in self.known.parts()]

    def bent(self, x: Array) -> BentAxis:
        return BentBeam(self.link, self.own_robot, x)

    def section_forces(self, x: Array) -> SectionForces:
        key = "section forces", self.link.name, x.tobytes()
        return kept(self.own_robot, *key, make=lambda: SectionForces(self.link, self.own_robot, x))

    def stations(self) -> list[Station]:
        return beam_stations(self.link, self.own_robot)

    def station(self, x: float) -> Station:
        return beam_station(self.link, self.own_robot, x)

    # ---- limits of the model

    @property
    def bending(self) -> str:
        return self.beam.bending

    @property
    def has_axial_limits(self) -> bool:
        """Whether it bends, but not exactly: second-order bending does not know where a buckled beam comes to rest."""
        return self.beam.bending != "exact" and any(family.bends for family in self.families)

    def overlooks_lateral_buckling(self, bent: Collection[str]) -> bool:
        """A beam of second order whose other plane is much softer than the one in which a load bends it."""
        if self.beam.bending != "second-order":
            return False
        root = self.known.at(0.0)
        planes = {"bend_y": (root.EIz, root.EIy), "bend_z": (root.EIy, root.EIz)}
        known = ((own, other) for name, (own, other) in planes.items() if name in bent and own and other)
        return any(float(other) < LATERAL * float(own) for own, other in known)

    def axial_shapes(self, body: ModalBody) -> AxialShapes:
        return shapes_of_beam(self.link, self.own_robot, body)

    def limits(self, body: ModalBody, q_e: Array, when: Callable[[int], str]) -> Iterator[str]:
        """Stations of an exact beam that are too few in the state where it bends most."""
        rod = body.large
        if not isinstance(rod, Rod):
            return
        turns = turns_along(rod, q_e)
        k = int(np.argmax(turns))
        if turns[k] > SMALL_TURN:
            yield from station_words(self.own_robot, self.link, body, q_e[k], float(turns[k]), when(k))

    # ---- other models of the same beam

    def missing_families(self, *, all_of_them: bool = False) -> tuple[str, ...]:
        """Families without coordinates although what the robot does needs them, or whose constants are known."""
        yields = yielding_families(self.own_robot).get(self.link.name)
        if yields is None:
            return ()
        beam = beam_in(self.link, self.robot)
        has = {name.partition(".")[0] for name in build_body(self.link, self.robot).names}
        known = [name for name in OF_ITSELF if all_of_them and beam.knows(NEEDED[name])]
        return tuple(name for name in known or yields if name not in has)

    def with_families(self, names: Sequence[str]) -> Link:
        """The link of a checked robot with some families added: elements as they are, or a few modes."""
        beam = beam_in(self.link, self.robot)
        method: Any = beam.elements or beam.lumped
        if method is not None:
            key = "elements" if beam.elements is not None else "lumped"
            return self._with(beam, {key: method.model_copy(update=dict.fromkeys(names, True))})
        assert beam.modes is not None
        new = {name: Family(count=3 if FAMILIES[name].bends else 1, shape="legendre") for name in names}
        return self._with(beam, {"modes": beam.modes.model_copy(update=new)})

    def _with(self, beam: Beam, changes: dict[str, Any]) -> Link:
        return self.link.with_body(beam.model_copy(update=changes))

    def family_remedy(self, name: str) -> str:
        beam, count = self.beam, 2 if FAMILIES[name].bends else 1
        if beam.elements is not None or beam.lumped is not None:
            return f"add {name}: true"
        return f"write modes: with {name}: {count}" if beam.is_left_open else f"add {name}: {count}"

    def shape_remedy(self) -> str:
        if self.beam.elements is not None:
            return "take more elements"
        if self.beam.bending == "exact":
            several = len(self.beam.parts()) > 1
            return "take more modes, or one link for each segment" if several else "take more modes"
        return "leave out modes: and shapes that do are chosen, or write elements: or more modes"

    def refined(self, level: int) -> Link:
        """The link with more modes or elements; shapes of a user stay as they are."""
        beam = beam_in(self.link, self.robot)
        changes: dict[str, Any] = {}
        if beam.modes is not None:
            own = {name: family.count for name, family in beam.modes.families().items() if family.shape != "user"}
            counts = {name: int(n or 0) + MORE_MODES * level for name, n in own.items()}
            changes["modes"] = beam.modes.with_counts(counts)
        elif beam.elements is not None:
            finer: dict[str, Any] = {"number": beam.elements.number * 2**level}
            if beam.elements.reduce.method != "none":
                modes = beam.elements.reduce.modes + MORE_MODES * level
                finer["reduce"] = Reduction(method="craig_bampton", modes=modes)
            changes["elements"] = beam.elements.model_copy(update=finer)
        elif beam.lumped is not None:
            changes["lumped"] = beam.lumped.model_copy(update={"nodes": beam.lumped.nodes * 2**level})
        return self._with(beam, changes) if changes else self.link

    def with_bending(self, bending: str) -> Link:
        return self.link.with_changes(beam=self.beam.with_changes(bending=bending))

    def elements(self) -> AxisElements | None:
        """Nodes along its axis; None where it bends exactly."""
        beam = self.known
        if beam.bending == "exact":
            return None
        number = beam.lumped.nodes if beam.lumped else beam.elements.number if beam.elements else None
        timoshenko = beam.elements is not None and beam.elements.timoshenko
        return AxisElements(
            beam_profile(beam), beam.families, number, timoshenko, beam.sections_turn, str(beam.bending)
        )

    # ---- closed forms

    @property
    def is_uniform(self) -> bool:
        return self.beam.is_uniform

    def no_closed_form(self) -> tuple[str, str] | None:
        beam = self.beam
        if beam.rotary_inertia == "exact" and beam.is_flexible:
            return "rotary_inertia is exact", "write rotary_inertia: true"
        if beam.is_flexible and beam.bending == "exact":
            return "bending is exact", "write bending: linear or second-order"
        return None

    def closed_shapes(self) -> list[ClosedShape] | str:
        """Its shapes, where the integrals over a uniform beam have closed forms; or what it is instead."""
        if self.beam.modes is None or not self.beam.is_uniform:
            return "a beam of elements" if self.beam.is_uniform else "a beam that is not uniform"
        families, out = self.beam.modes.families(), list[ClosedShape]()
        for shapes in shape_sets(self.link, self.robot):
            assert isinstance(shapes, BeamModes)
            given, rule = families[shapes.family].expressions or (), families[shapes.family].normalise
            for k, shape in enumerate(shapes.shapes):
                text = given[k] if isinstance(shape, Given) else None
                loaded = families[shapes.family].shape == "clamped-mass"
                out.append(ClosedShape(shapes.family, shape, text, rule, loaded))
        return out

    def assumed_shapes(self) -> list[tuple[str, Shape]]:
        if self.beam.modes is None or not self.link.is_flexible:
            return []
        sets = shape_sets(self.link, self.robot)
        return [(own.family, shape) for own in sets if isinstance(own, BeamModes) for shape in own.shapes]

    def section_constant(self, name: str) -> float:
        return float(getattr(self.beam.at(0.0), name))

    @property
    def sections_turn(self) -> bool:
        return self.beam.sections_turn


@once_per_element
def straight_mass(beam: Beam) -> CarriedMass:
    """A straight beam as a rigid mass in its link frame."""
    profile = beam_profile(beam)
    P = np.zeros((4, 4))
    P[3, 3], P[0, 3], P[0, 0] = profile.moments
    P[3, 0] = P[0, 3]
    if beam.rotary_inertia:
        # what is beside the axis
        x, weights = gauss(profile.breaks, 2 + TAPER_POINTS)
        P[:3, :3] += np.diag([(weights * density).sum() for density in profile.at(x).lever_densities()])
    return CarriedMass(P)


def _discretised(beam: Beam) -> str:
    if beam.elements is not None:
        method = beam.elements.reduce.method.replace("_", "-")
        reduced = "" if method == "none" else f", {method}"
        return f"beam, {number_word(beam.elements.number, 'element')}{reduced}"
    if beam.lumped is not None:
        return f"beam, {number_word(beam.lumped.nodes, 'lump')}"
    return "beam, assumed modes" if beam.modes is not None else "rigid beam"


def _section_words(beam: Beam) -> tuple[str | float, ...]:
    if beam.segments:
        return f"{len(beam.segments)} segments; at the root: ", *_sizes(beam.segments[0].section)
    material = getattr(beam.material, "name", None)
    return *_sizes(beam.section), f", {material}" if material else ""


def _sizes(section: Section | None) -> tuple[str | float, ...]:
    """The kind of a section with its dimensions in mm."""
    if section is None:
        return ("as given",)
    if section.kind == "general":
        return ("general",)
    keys = ("outer", "thickness") if section.kind == "tube" else tuple(section.dimensions())
    sizes = [1e3 * float(getattr(section, key)) for key in keys]
    between = [part for size in sizes for part in (" x ", size)][1:]
    return f"{section.kind.replace('_', '-')} ", *between, " mm"


def _vibrations(K: Array, M: Array) -> tuple[Array, Array]:
    """Squares of the frequencies, lowest first, and shapes as columns."""
    from scipy.linalg import eigh

    squares, V = eigh(K, M)
    return np.maximum(squares, 0.0), V
