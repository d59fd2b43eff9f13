"""Beams: length, section and material along the axis, the shape before any load acts, and how they are discretised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import ceil
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BeforeValidator, Field, StrictBool, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from pliant.errors import ModelError, show
from pliant.model.description.beam_constants import CONSTANTS, BeamTable, LocalProperties, Properties
from pliant.model.description.beam_pieces import Pieces, piece_ends
from pliant.model.description.discretisation import AUTO, Damping, Elements, Lumped, Modes, user_shape
from pliant.model.description.materials import MATERIALS, Material, MaterialOrName, find_material
from pliant.model.element import Array, Element, at, of_value, refuse, rule
from pliant.model.once import once_per_element
from pliant.model.sections.section_shapes import AnySection
from pliant.model.units import (
    AddedMass,
    PositiveLength,
    Quantity,
    WholeNumber,
)

VARYING_STEPS = 200
"""Steps in which a curvature that varies along a piece is taken as constant."""

OneCurvature = Annotated[float, Quantity("rad/m")]


def _as_list(value: Any) -> Any:
    """A single value holds all along."""
    return value if isinstance(value, list | tuple) or value is None else (value,)


Curvatures = Annotated[tuple[OneCurvature, ...], BeforeValidator(_as_list)]


class Curvature(Element):
    """Curvature and twist of the unloaded axis, each one value, or a list of values at equal distances along it."""

    bend_y: Curvatures = Field(default=(), description="curvature towards +y, 1/radius")
    bend_z: Curvatures = Field(default=(), description="curvature towards +z, 1/radius")
    torsion: Curvatures = Field(default=(), description="twist about the axis per length")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(any(values) for values in (self.bend_y, self.bend_z, self.torsion)):
            raise rule("no curvature differs from zero; give bend_y, bend_z or torsion, or leave curvature out")
        return self

    @property
    def is_constant(self) -> bool:
        """Whether it is the same all along."""
        return all(len(values) < 2 for values in (self.bend_y, self.bend_z, self.torsion))

    def at(self, fraction: Array) -> Array:
        """Curvatures about x, y and z (places, 3) at fractions of the length; lists are joined by straight lines."""

        def along(values: tuple[float, ...]) -> Array:
            if len(values) < 2:
                return np.full(np.shape(fraction), values[0] if values else 0.0)
            return np.interp(fraction, np.linspace(0.0, 1.0, len(values)), values)

        return np.stack([along(self.torsion), -along(self.bend_z), along(self.bend_y)], axis=-1)


def undeformed_pose(beam: Beam, x: float) -> tuple[Array, Array]:
    """Position (3,) and axes (3, 3) of the section at x of the unloaded beam."""
    p, R = np.zeros(3), np.eye(3)
    if not beam.is_curved:
        return np.array([x, 0.0, 0.0]), R
    for part, start in zip(beam.parts(), beam.breakpoints[:-1], strict=True):
        length = min(max(x - start, 0.0), part.length)
        if part.curvature is None or not length:
            p = p + length * R[:, 0]
            continue
        constant = part.curvature.is_constant
        steps = 1 if constant else max(1, ceil(VARYING_STEPS * length / part.length))
        h = length / steps
        for kappa in part.curvature.at((np.arange(steps) + 0.5) * h / part.length):
            turn, mean = _arc(h * kappa)
            p, R = p + h * R @ mean[:, 0], R @ turn
    return p, R


def _arc(theta: Array) -> tuple[Array, Array]:
    """exp(theta~), and its mean along the arc."""
    angle, K = float(np.linalg.norm(theta)), np.cross(np.eye(3), theta)
    # sin(a)/a, (1 - cos a)/a^2 and (a - sin a)/a^3
    a = np.sinc(angle / np.pi)
    b = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    c = (1 - a) / angle**2 if angle > 1e-4 else 1 / 6
    return np.eye(3) + a * K + b * K @ K, np.eye(3) + b * K + c * K @ K


# the constants that a family of elastic coordinates cannot do without
NEEDED = {
    "bend_y": ("EIz",),
    "bend_z": ("EIy",),
    "torsion": ("GJ", "rhoJ"),
    "axial": ("EA",),
    "shear_y": ("kGAy",),
    "shear_z": ("kGAz",),
}
# what a beam does of itself where nothing is written, as far as its constants are known
OF_ITSELF = ("bend_y", "bend_z", "torsion", "axial")
_SHEAR_REMEDY = "G or nu of the material, and ky and kz of the section"
SHEAR = {"bend_y": "kGAy", "bend_z": "kGAz"}
# places along the beam where a user's expression is tried, as fractions of the length
PROBES = np.linspace(0.0, 1.0, 9)
# Gauss points per segment: exact for the mass of every taper
MASS_POINTS = 4
# stations of an exact beam, in every segment
MOST_STATIONS = 60
MOST_SEGMENTS = 1000
# lengths that are given twice must agree to this fraction
SAME_LENGTH = 1e-9


def _check_rotary(value: Any) -> Any:
    if not isinstance(value, bool) and value != "exact":
        raise PydanticCustomError("value", "is {given}; it must be true, false or exact", {"given": show(value)})
    return value


Bending = Literal["linear", "second-order", "exact"]
RotaryInertia = Annotated[StrictBool | Literal["exact"], BeforeValidator(_check_rotary)]


class Segment(Element):
    """A piece of a beam: uniform, or tapered from `section` to `taper_to`, or `properties` to `properties_to`."""

    length: PositiveLength = Field(description="length of the segment")
    section: AnySection | None = Field(default=None, description="section, at the start of a taper")
    material: MaterialOrName | None = Field(default=None, description="material; default: that of the beam")
    properties: Properties | None = Field(default=None, description="constants instead of section and material")
    taper_to: AnySection | None = Field(default=None, description="section at the end of a taper, of the same kind")
    properties_to: Properties | None = Field(
        default=None, description="constants at its end, where they are not those of its start; linear in between"
    )
    curvature: Curvature | None = Field(default=None, description="curvature and twist of the unloaded segment")
    added_mass: AddedMass = Field(
        default=0.0, description="hoses, cables and paint: mass per length that bears nothing"
    )

    @model_validator(mode="after")
    def _section_or_properties(self) -> Self:
        if (self.section is None) == (self.properties is None):
            raise rule("give either section (with material) or properties")
        if self.taper_to is not None:
            if self.section is None:
                refuse([at("taper_to", message="a taper needs a section to start from")])
            elif self.taper_to.kind != self.section.kind:
                kinds = f"is a {self.taper_to.kind}; it must be a {self.section.kind} like the section"
                refuse([of_value("taper_to", message=kinds)])
        if self.properties is not None and self.material is not None:
            refuse([at("material", message="properties already contain the material; leave material out")])
        if self.properties_to is not None:
            ends = [{key for key in CONSTANTS if getattr(p, key, None)} for p in (self.properties, self.properties_to)]
            if different := sorted(ends[0] ^ ends[1]):
                message = f"{different[0]} is known at one end only; both ends of a segment have the same constants"
                refuse([at("properties_to", message=message)])
        return self

    @property
    def varies(self) -> bool:
        """Whether its constants change along it."""
        return self.taper_to is not None or self.properties_to is not None

    def at(self, x: Array) -> dict[str, Array | None]:
        """The constants at places x from the start of the segment."""
        if self.properties is not None:
            start, end = (
                p.constants(self.added_mass) for p in (self.properties, self.properties_to or self.properties)
            )
            part = np.clip(np.asarray(x, dtype=float) / self.length, 0.0, 1.0)
            return {key: None if a is None else a + part * (end[key] - a) for key, a in start.items()}
        if self.section is None or self.material is None:
            raise ModelError("a segment needs a section and a material")
        material = self.material if isinstance(self.material, Material) else find_material(str(self.material))
        x = np.clip(np.asarray(x, dtype=float), 0.0, self.length)
        c = self.section.constants(self.taper_to, x / self.length)
        E, G, rho = material.E, material.G, material.density
        full: dict[str, Array | None] = {
            "mass_per_length": rho * c.A + self.added_mass,
            "EIy": E * c.Iy,
            "EIz": E * c.Iz,
            "EA": E * c.A,
            "GJ": None if G is None or c.J is None else G * c.J,
            "rhoIy": rho * c.Iy,
            "rhoIz": rho * c.Iz,
            "rhoJ": rho * (c.Iy + c.Iz),
            "kGAy": None if G is None or c.ky is None else c.ky * G * c.A,
            "kGAz": None if G is None or c.kz is None else c.kz * G * c.A,
        }
        return {key: None if value is None else np.broadcast_to(value, x.shape) for key, value in full.items()}

    @once_per_element
    def at_start(self) -> Mapping[str, float | None]:
        """The constants where it begins, those of all of a uniform segment."""
        known = self.at(np.zeros(()))
        return {key: None if value is None else float(value) for key, value in known.items()}


class Beam(Element):
    """A straight flexible link along +x of its frame.

    Its stiffness and mass come from `section` and `material`, from `properties`, or from `segments`.
    At most one of `modes`, `elements`, `lumped` and `rigid` says how it bends. Without any of them it bends in both
    planes and twists, with as many shapes as an error estimate asks for in the robot that has it.
    """

    has_axis: ClassVar[bool] = True
    """Frames are given by their place x along it."""

    length: PositiveLength = Field(default=0.0, description="length; with segments it is their sum")
    material: MaterialOrName | None = Field(default=None, description="name of a material, or its E, G and density")
    section: AnySection | None = Field(default=None, description="section of a uniform beam")
    properties: Properties | None = Field(default=None, description="constants of a uniform beam")
    added_mass: AddedMass = Field(
        default=0.0, description="hoses, cables and paint all along: mass per length on the axis that bears nothing"
    )
    segments: tuple[Segment, ...] = Field(default=(), description="pieces of a stepped or tapered beam, from the root")
    table: BeamTable | None = Field(default=None, description="constants by a table along x, linear between its rows")
    modes: Modes | None = Field(
        default=None, description="assumed modes; default: of all families that matter, as many as matter"
    )
    elements: Elements | None = Field(default=None, description="beam elements")
    lumped: Lumped | None = Field(default=None, description="lumped nodes")
    rigid: StrictBool = Field(default=False, description="true: it does not bend")
    rotary_inertia: RotaryInertia = Field(
        default=False,
        description="rotary inertia of the sections; torsion coordinates always bring it along. "
        "`exact` lets every section turn by its finite rotation: slower, for comparison with other codes",
    )
    bending: Bending = Field(
        default="second-order",
        description="how far it may bend: linear (small deflections only), second-order (axial loads, gravity and "
        "rotation stiffen or soften it) or exact (any deflection; the modes are read as strains)",
    )
    stations: Annotated[int, WholeNumber(2, MOST_STATIONS)] | None = Field(
        default=None,
        description="places per segment at which an exact beam is followed; default: two more than modes of a family",
    )
    curvature: Curvature | None = Field(
        default=None, description="curvature and twist of the unloaded axis; needs bending: exact"
    )
    damping: Damping | None = Field(default=None, description="structural damping")
    pieces: Pieces = Field(
        default=1, description="beams, welded end to end, that stand for this one: so many equal ones, or {at: [1.5 m]}"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_old_keys(cls, data: Any) -> Any:
        if isinstance(data, dict) and "foreshortening" in data:
            remedy = "write bending: second-order where it is wanted, bending: linear where it is not"
            refuse([at("foreshortening", message=f"the key foreshortening has become a kind of bending; {remedy}")])
        return data

    @model_validator(mode="after")
    def _complete(self) -> Self:
        self._check()
        return self

    @once_per_element
    def _check(self) -> None:
        """A beam that is part of another robot as well was checked with that one."""
        given = "segments" in self.model_fields_set
        sources = [key for key in ("section", "properties", "table") if getattr(self, key)]
        sources += ["segments"] if self.segments and given else []
        if len(sources) != 1:
            found = f"; {' and '.join(sources)} are given" if sources else ""
            raise rule("give one of section (with material), properties, segments or table{found}", found=found)
        if self.table is not None:
            if self.material is not None:
                refuse([at("material", message="a table already contains the material; leave material out")])
            self.__dict__["segments"] = tuple(
                Segment(length=length, properties=Properties(**start), properties_to=Properties(**end))
                for length, start, end in self.table.pieces()
            )
        methods = [key for key in ("modes", "elements", "lumped") if getattr(self, key) is not None]
        methods += ["rigid"] if self.rigid else []
        if len(methods) > 1:
            raise rule(
                "give at most one of modes, elements, lumped and rigid; {found} are given",
                found=" and ".join(methods),
            )
        refuse(self._material_problems())
        refuse(self._set_length())
        refuse(self._choose_modes())
        refuse(self.missing_constants())
        refuse(self._expression_problems())
        refuse(self._bending_problems())
        refuse(self._piece_problems())

    def _bending_problems(self) -> Iterator[InitErrorDetails]:
        if self.stations is not None and self.bending != "exact":
            yield at("stations", message=f"stations are those of an exact beam; bending is {self.bending}")
        yield from self._curvature_problems()
        if self.bending != "exact":
            for family in {"shear_y", "shear_z"} & set(self.families):
                remedy = "write bending: exact, or give elements with timoshenko: true"
                yield at("modes", family, message=f"modes of shear belong to exact beams; {remedy}")
            return
        for method in ("elements", "lumped"):
            if getattr(self, method) is not None:
                remedy = "give modes, or write bending: second-order"
                yield at("bending", message=f"an exact beam reads modes as strains and knows no {method}; {remedy}")

    @property
    def piece_ends(self) -> list[float]:
        """Where the beams end that stand for this one, from the root."""
        return piece_ends(self.pieces, self.length)

    def _piece_problems(self) -> Iterator[InitErrorDetails]:
        ends = [0.0, *self.piece_ends]
        for k, (before, end) in enumerate(pairwise(ends)):
            if end - before <= SAME_LENGTH * self.length:
                place = ("pieces", "at", min(k, len(ends) - 3))
                inside = f"cuts are in order, inside the beam of {self.length:g} m"
                yield of_value(*place, message=f"is {ends[1 + min(k, len(ends) - 3)]:g} m; {inside}")
                return

    def _curvature_problems(self) -> Iterator[InitErrorDetails]:
        if self.curvature is not None and self.segments:
            yield at("curvature", message="the beam has segments; give curvature in each segment that is curved")
        curved = [part.curvature for part in self.parts() if part.curvature is not None]
        bends = self.bending == "exact" and bool({"bend_y", "bend_z"} & set(self.families))
        if curved and self.is_flexible and not bends:
            remedy = "write bending: exact" + ("" if self.is_left_open else " and give modes of bend_y or bend_z")
            remedy += ", or rigid: true"
            yield at("curvature", message=f"a curved beam bends as a rod with strain modes; {remedy}")
        if len(self.piece_ends) > 1 and not all(each.is_constant for each in curved):
            remedy = "give segments of constant curvature, or leave pieces out"
            yield at("pieces", message=f"a curvature that varies along a segment cannot be cut in pieces; {remedy}")

    def _material_problems(self) -> Iterator[InitErrorDetails]:
        if self.section is not None and self.material is None:
            yield at(message="key 'material' is missing; a section needs one")
        if self.properties is not None and self.material is not None:
            yield at("material", message="properties already contain the material; leave material out")
        if len(self.segments) > MOST_SEGMENTS:
            yield of_value("segments", message=f"has {len(self.segments)} entries; there may be {MOST_SEGMENTS}")
        for i, segment in enumerate(self.segments):
            if segment.section is not None and segment.material is None and self.material is None:
                yield at("segments", i, message="key 'material' is missing, here and in the beam")

    def _set_length(self) -> Iterator[InitErrorDetails]:
        total = sum(segment.length for segment in self.segments)
        if "length" not in self.model_fields_set:
            if not self.segments:
                yield at(message="key 'length' is missing")
            self.__dict__["length"] = float(total)
        elif self.segments and abs(total - self.length) > SAME_LENGTH * total:
            yield of_value("length", message=f"is {self.length} m; the segments add up to {total:.10g} m")

    @property
    def is_left_open(self) -> bool:
        """Whether nothing says how it bends: its modes are chosen."""
        written = {"modes", "elements", "lumped"} & self.model_fields_set
        return not self.rigid and all(getattr(self, key) is None for key in written)

    def _choose_modes(self) -> Iterator[InitErrorDetails]:
        """Where nothing says how it bends: modes of every family whose constants are known."""
        if not self.is_left_open:
            return
        families = [name for name in OF_ITSELF if self.knows(NEEDED[name])]
        if not {"bend_y", "bend_z"} & {*families}:
            remedy = "give properties.EIz (bending in y) or EIy (bending in z), or write rigid: true"
            yield at(message=f"the beam bends, and its bending stiffness is not known; {remedy}")
            return
        # polynomials of the strain bend exactly as loads on the tip bend a uniform beam, whatever the load
        self.__dict__["modes"] = Modes.model_validate({"shape": "legendre", **dict.fromkeys(families, AUTO)})

    def knows(self, constants: tuple[str, ...]) -> bool:
        """Whether some constants are known all along; those of a material of the robot are, until it is there."""
        if self._waits_for_material:
            return True
        return all(part.at_start()[key] is not None for part in self.parts() for key in constants)

    @property
    def _waits_for_material(self) -> bool:
        return any(isinstance(part.material, str) and part.material not in MATERIALS for part in self.parts())

    def missing_constants(self) -> Iterator[InitErrorDetails]:
        """What the families need and the beam does not know; unknown materials are left to the robot."""
        if self._waits_for_material:
            return
        starts = [part.at_start() for part in self.parts()]
        remedies = {"GJ": "G or nu of the material and J of the section"}
        for place, family, constant in self._needs():
            if any(known[constant] is None for known in starts):
                remedy = f"properties.{constant}" if self._has_properties else remedies.get(constant, _SHEAR_REMEDY)
                yield at(*place, message=f"{family} needs {constant}; give {remedy}")

    @property
    def _has_properties(self) -> bool:
        return any(part.properties is not None for part in self.parts())

    def _needs(self) -> Iterator[tuple[tuple[str, ...], str, str]]:
        method = "modes" if self.modes else "elements" if self.elements else "lumped"
        for family in self.families:
            for constant in NEEDED[family]:
                yield (method, family), family, constant
            if self.elements and self.elements.timoshenko and family in SHEAR:
                yield ("elements", "timoshenko"), "timoshenko", SHEAR[family]
        if self.rotary_inertia:
            yield ("rotary_inertia",), "rotary_inertia", "rhoIy"
            yield ("rotary_inertia",), "rotary_inertia", "rhoIz"

    def _expression_problems(self) -> Iterator[InitErrorDetails]:
        for name, family in (self.modes.families() if self.modes else {}).items():
            own = getattr(self.modes, name).expressions
            place = ("modes", name, "expressions") if own is not None else ("modes", "expressions")
            # those of a series have no expressions
            for k, text in enumerate(family.expressions[: int(family.count or 0)] if family.expressions else ()):
                if not isinstance(text, str):
                    continue
                values = user_shape(text)(PROBES * self.length, self.length)[:3]
                bad = ~np.isfinite(values).all(axis=0)
                if bad.any():
                    x = PROBES[bad][0] * self.length
                    yield of_value(*place, k, message=f"is '{text}'; it or a derivative is not finite at x = {x:g} m")

    @property
    def families(self) -> tuple[str, ...]:
        """The elastic families of the beam, in the order of the coordinates."""
        if self.modes is not None:
            return self.modes.family_names
        method = self.elements or self.lumped
        return method.families() if method is not None else ()

    @property
    def is_flexible(self) -> bool:
        """Whether the beam has elastic coordinates."""
        return bool(self.families)

    @property
    def sections_turn(self) -> bool:
        """Whether the inertia of the sections counts: torsion would have no mass without it."""
        return bool(self.rotary_inertia) or "torsion" in self.families

    @once_per_element
    def stiffened(self) -> Self:
        """The beam without elastic coordinates; mass and inertia stay."""
        dropped = ("modes", "elements", "lumped", "damping", "bending", "stations", "rotary_inertia")
        kept = {key: value for key, value in self.given().items() if key not in dropped}
        return type(self)(**kept, rigid=True, rotary_inertia=self.sections_turn)

    @property
    def shortens(self) -> bool:
        """Whether its bent axis moves back to second order."""
        return self.bending == "second-order" and bool({"bend_y", "bend_z"} & {*self.families})

    @property
    def is_uniform(self) -> bool:
        """Whether the beam is one piece without taper."""
        parts = self.parts()
        return len(parts) == 1 and not parts[0].varies

    @property
    def is_curved(self) -> bool:
        """Whether its axis is curved or twisted before any load acts."""
        return self.curvature is not None or any(segment.curvature is not None for segment in self.segments)

    def section_pose(self, x: float) -> tuple[Array, Array]:
        """Position (3,) and axes (3, 3) of the section at x of the unloaded beam."""
        return undeformed_pose(self, x)

    @property
    def total_length(self) -> float:
        """The length, also of a beam in segments."""
        return self.length

    @property
    def breakpoints(self) -> Array:
        """The places where segments begin and end, from 0 to the length."""
        return np.concatenate([[0.0], np.cumsum([part.length for part in self.parts()])])

    @property
    def mass(self) -> float:
        """The mass of the beam in kg."""
        points, weights = np.polynomial.legendre.leggauss(MASS_POINTS)
        total = 0.0
        for part in self.parts():
            density = part.at(part.length * (points + 1) / 2)["mass_per_length"]
            total += float(weights @ np.asarray(density)) * part.length / 2
        return total

    @once_per_element
    def parts(self) -> tuple[Segment, ...]:
        """The beam as segments that stand alone; a uniform beam is one segment."""
        if not self.segments:
            return (
                Segment(
                    length=self.length,
                    section=self.section,
                    material=self.material,
                    properties=self.properties,
                    curvature=self.curvature,
                    added_mass=self.added_mass,
                ),
            )
        return tuple(self._standing_alone(segment) for segment in self.segments)

    def _standing_alone(self, segment: Segment) -> Segment:
        changes: dict[str, Any] = {}
        if segment.section is not None and segment.material is None:
            changes["material"] = self.material
        if self.added_mass:
            changes["added_mass"] = segment.added_mass + self.added_mass
        return segment.model_copy(update=changes) if changes else segment

    def at(self, x: ArrayLike) -> LocalProperties:
        """The constants of the beam at places x, each as an array of the shape of x.

        At a step the outer segment counts. A constant that one segment does not know is None.
        """
        places = np.asarray(x, dtype=float)
        parts, breaks = self.parts(), self.breakpoints
        index = np.searchsorted(breaks[1:-1], places, side="right")
        pieces = [part.at(places - start) for part, start in zip(parts, breaks[:-1], strict=True)]
        values: dict[str, Array | None] = {}
        for key in CONSTANTS:
            columns = [column for piece in pieces if (column := piece[key]) is not None]
            if len(columns) == len(pieces):
                values[key] = np.take_along_axis(np.stack(columns), index[np.newaxis], axis=0)[0]
            else:
                values[key] = None
        return LocalProperties(**values)  # type: ignore[arg-type]

    def with_materials(self, own: Mapping[str, Material]) -> Beam:
        """This beam with the names of its materials replaced by the materials."""

        def resolved(material: Material | str | None) -> Material | None:
            return find_material(material, own) if isinstance(material, str) else material

        if not any(isinstance(material, str) for material in (self.material, *(s.material for s in self.segments))):
            return self
        segments = tuple(s.model_copy(update={"material": resolved(s.material)}) for s in self.segments)
        changes = {"material": resolved(self.material), "segments": segments}
        beam = self.model_copy(update={key: value for key, value in changes.items() if value})
        refuse(beam._choose_modes())
        return beam
