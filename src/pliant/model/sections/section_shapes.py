"""Sections by their outline: box, channel, angle, C and Z profiles, and polygons by points.

Area and second moments are exact. Torsion constant and shear factors come from finite elements on the section
(`section_solver`), relative error below 1e-3; along a taper they are interpolated between five sections. Bending in y
and z is taken as uncoupled and the shear centre at the centroid, so the section lies with its centroid on the axis of
the beam and its principal axes along y and z: angles and Z profiles are turned about x by `turn`.

An outline is a list of rings of points (y, z): the outer one counter-clockwise about x, holes clockwise. Along a taper
every ring keeps its number of points. The fibres that bending stretches most are found on it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    StrictBool,
    Tag,
    WrapSerializer,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from pliant.errors import did_you_mean, listing, show
from pliant.model.element import Array, one_key_schema, rule
from pliant.model.sections.sections import (
    Ellipse,
    GeneralSection,
    IBeam,
    Rectangle,
    Round,
    Section,
    SectionConstants,
    ShapedSection,
    Tube,
)
from pliant.model.units import Length, PositiveLength

if TYPE_CHECKING:
    from pliant.model.description.beams import Segment

Ring = tuple[tuple[float, float], ...]
# sections along a taper between which the slow constants are interpolated
TAPER_NODES = 0.5 - 0.5 * np.cos(np.pi * np.arange(5) / 4)
# product of inertia, relative to the second moments, from which a polygon counts as turned
ALIGNED = 1e-6
MOST_POINTS = 200


def moments(rings: Sequence[Ring]) -> tuple[float, Array, Array]:
    """Area, centroid (2,) and second moments about it, [[yy, yz], [yz, zz]], of an outline minus its holes."""
    A, first, second = 0.0, np.zeros(2), np.zeros((2, 2))
    for k, ring in enumerate(rings):
        p = np.array(ring)
        q = np.roll(p, -1, axis=0)
        cross = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
        # holes are subtracted, whichever way they are walked
        sign = math.copysign(1.0, cross.sum()) * (1.0 if k == 0 else -1.0)
        A += sign * cross.sum() / 2
        first += sign * (cross[:, None] * (p + q)).sum(axis=0) / 6
        for i in range(2):
            for j in range(2):
                terms = p[:, i] * p[:, j] + q[:, i] * q[:, j] + (p[:, i] * q[:, j] + q[:, i] * p[:, j]) / 2
                second[i, j] += sign * (cross * terms).sum() / 12
    c = first / A
    return A, c, second - A * np.outer(c, c)


def principal_angle(second: Array) -> float:
    """The angle in [-45 deg, 45 deg] by which a section is turned about x so that its principal axes are y and z."""
    product, difference = second[0, 1], second[0, 0] - second[1, 1]
    if abs(product) <= ALIGNED * (second[0, 0] + second[1, 1]):
        return 0.0
    # equal moments: half a right angle, towards the larger one along y
    angle = math.pi / 4 if difference == 0 else math.atan(2 * product / difference) / 2
    return -math.copysign(angle, product) if difference == 0 else -angle


@lru_cache(maxsize=512)
def _solved(rings: tuple[Ring, ...]) -> tuple[float, float, float, float, float, float]:
    """A, Iy, Iz, J, ky, kz of a section in principal axes, from its outline of unit size."""
    from pliant.model.sections.section_solver import solve_section

    A, c, second = moments(rings)
    placed = [tuple((y - c[0], z - c[1]) for y, z in ring) for ring in rings]
    J, flexibility = solve_section(placed, second)
    angle = principal_angle(second)
    R = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    turned, shear = R @ second @ R.T, R @ flexibility @ R.T
    return A, float(turned[1, 1]), float(turned[0, 0]), J, 1 / (A * shear[0, 0]), 1 / (A * shear[1, 1])


class Outlined(ShapedSection):
    """A section by one or more closed lines of points (y, z): the outline, then holes."""

    @classmethod
    @abstractmethod
    def rings(cls, dimensions: dict[str, Any]) -> tuple[Ring, ...]:
        """The outline and its holes for dimensions."""

    @property
    def turn(self) -> float:
        """Angle (rad) about x by which the section as described is turned to have its principal axes along y and z."""
        return principal_angle(moments(self.rings(self.dimensions()))[2])

    @classmethod
    def formulas(cls, dimensions: dict[str, Any]) -> SectionConstants:
        return _constants(cls.rings, dimensions)

    def constants(self, to: Section | None = None, s: Array | float = 0.0) -> SectionConstants:
        if to is None or to == self:
            values = self.formulas(self.dimensions())
            shape = np.shape(s)
            return SectionConstants(*(np.broadcast_to(v, shape) for v in values if v is not None))
        return _along(self, to, np.asarray(s, dtype=float))


def _constants(rings_of: Callable[[dict[str, Any]], tuple[Ring, ...]], dimensions: dict[str, Any]) -> SectionConstants:
    """Constants of one section: of its outline at unit size, scaled."""
    rings = rings_of(dimensions)
    size = max(abs(x) for ring in rings for point in ring for x in point)
    # a rounded outline lets equal sections of different size share one solution
    unit = tuple(tuple((round(y / size, 12), round(z / size, 12)) for y, z in ring) for ring in rings)
    A, Iy, Iz, J, ky, kz = _solved(unit)
    return SectionConstants(*(np.asarray(v) for v in (A * size**2, Iy * size**4, Iz * size**4, J * size**4, ky, kz)))


def _along(start: Outlined, end: Section, s: Array) -> SectionConstants:
    """Constants along a taper, interpolated in the fourth roots of what grows with the fourth power of the size."""
    a, b = start.dimensions(), end.dimensions()
    nodes = []
    for t in TAPER_NODES:
        between = {key: np.asarray(a[key]) * (1 - t) + np.asarray(b[key]) * t for key in a if a[key] is not None}
        nodes.append(type(start).formulas(between))
    powers = (2, 4, 4, 4, 1, 1)
    out = []
    for k, power in enumerate(powers):
        values = np.array([float(node[k]) ** (1 / power) for node in nodes])  # type: ignore[arg-type]
        out.append(_interpolate(values, s) ** power)
    return SectionConstants(*out)


def _interpolate(values: Array, s: Array) -> Array:
    """The polynomial through values at `TAPER_NODES`."""
    return np.asarray(np.polyval(np.polyfit(TAPER_NODES, values, len(TAPER_NODES) - 1), s))


def _corners(*points: tuple[float, float]) -> Ring:
    return tuple((float(y), float(z)) for y, z in points)


class Box(Outlined):
    """A hollow rectangle with a wall of one thickness."""

    kind = "box"
    width: PositiveLength = Field(description="outer dimension along y")
    height: PositiveLength = Field(description="outer dimension along z")
    thickness: PositiveLength = Field(description="thickness of the wall")

    @model_validator(mode="after")
    def _wall(self) -> Self:
        _thinner(self.thickness, 2, width=self.width, height=self.height)
        return self

    @classmethod
    def rings(cls, dimensions: dict[str, Any]) -> tuple[Ring, ...]:
        w, h, t = (float(dimensions[key]) for key in ("width", "height", "thickness"))
        return tuple(_corners((-a, -b), (a, -b), (a, b), (-a, b)) for a, b in ((w / 2, h / 2), (w / 2 - t, h / 2 - t)))


class ChannelProfile(Outlined):
    """A channel (U profile): the web stands along z, the flanges point along +y at its two ends."""

    kind = "channel"
    width: PositiveLength = Field(description="width of the flanges with the web, along y")
    height: PositiveLength = Field(description="full height, along z")
    flange: PositiveLength = Field(description="thickness of a flange")
    web: PositiveLength = Field(description="thickness of the web")

    @model_validator(mode="after")
    def _proportions(self) -> Self:
        _thinner(self.flange, 2, key="flange", height=self.height)
        _thinner(self.web, 1, key="web", width=self.width)
        return self

    @classmethod
    def rings(cls, dimensions: dict[str, Any]) -> tuple[Ring, ...]:
        w, h, f, t = (float(dimensions[key]) for key in ("width", "height", "flange", "web"))
        return (_corners((0, 0), (w, 0), (w, f), (t, f), (t, h - f), (w, h - f), (w, h), (0, h)),)


class AngleProfile(Outlined):
    """An angle (L profile): one leg along y, one along z, turned about x to its principal axes."""

    kind = "angle"
    width: PositiveLength = Field(description="length of the leg along y")
    height: PositiveLength = Field(description="length of the leg along z")
    thickness: PositiveLength = Field(description="thickness of the legs")

    @model_validator(mode="after")
    def _legs(self) -> Self:
        _thinner(self.thickness, 1, width=self.width, height=self.height)
        return self

    @classmethod
    def rings(cls, dimensions: dict[str, Any]) -> tuple[Ring, ...]:
        w, h, t = (float(dimensions[key]) for key in ("width", "height", "thickness"))
        return (_corners((0, 0), (w, 0), (w, t), (t, t), (t, h), (0, h)),)


class CProfile(Outlined):
    """A channel with lips of one thickness, cold formed: the web along z, flanges along +y, lips towards each other."""

    kind = "c_profile"
    width: PositiveLength = Field(description="width of the flanges, along y")
    height: PositiveLength = Field(description="full height, along z")
    lip: PositiveLength = Field(description="full length of a lip, along z")
    thickness: PositiveLength = Field(description="thickness of the sheet")

    @model_validator(mode="after")
    def _sheet(self) -> Self:
        _thinner(self.thickness, 2, width=self.width, height=self.height)
        _thinner(self.thickness, 1, lip=self.lip)
        if 2 * self.lip >= self.height:
            raise rule("lip is {l} m; it must be less than half the height {h} m", l=self.lip, h=self.height)
        return self

    @classmethod
    def rings(cls, dimensions: dict[str, Any]) -> tuple[Ring, ...]:
        w, h, lip, t = (float(dimensions[key]) for key in ("width", "height", "lip", "thickness"))
        outer = ((0, 0), (w, 0), (w, lip), (w - t, lip), (w - t, t), (t, t))
        inner = ((t, h - t), (w - t, h - t), (w - t, h - lip), (w, h - lip), (w, h), (0, h))
        return (_corners(*outer, *inner),)


class ZProfile(Outlined):
    """A Z profile of one thickness: the web along z, one flange along +y, one along -y; turned to principal axes."""

    kind = "z_profile"
    width: PositiveLength = Field(description="width of each flange with the web, along y")
    height: PositiveLength = Field(description="full height, along z")
    thickness: PositiveLength = Field(description="thickness of the sheet")

    @model_validator(mode="after")
    def _sheet(self) -> Self:
        _thinner(self.thickness, 2, height=self.height)
        _thinner(self.thickness, 1, width=self.width)
        return self

    @classmethod
    def rings(cls, dimensions: dict[str, Any]) -> tuple[Ring, ...]:
        w, h, t = (float(dimensions[key]) for key in ("width", "height", "thickness"))
        low, high = (t - w, t), (0.0, w)
        return (
            _corners(
                *((low[0], 0), (low[1], 0), (low[1], h - t), (high[1], h - t)),
                *((high[1], h), (high[0], h), (high[0], t), (low[0], t)),
            ),
        )


def _point(value: Any) -> Any:
    from pliant.model.element import sequence

    return sequence(2)(value)


Point = Annotated[tuple[Length, Length], BeforeValidator(_point)]


class Polygon(Outlined):
    """A section by the points of its outline, and of holes; centroid and principal axes are computed."""

    kind = "polygon"
    points: tuple[Point, ...] = Field(description="corners (y, z) of the outline, in order")
    holes: tuple[tuple[Point, ...], ...] = Field(default=(), description="outlines of holes")
    principal: StrictBool = Field(
        default=False, description="whether a section with other principal axes is turned about x to have them in y, z"
    )

    @model_validator(mode="after")
    def _drawable(self) -> Self:
        from pliant.model.sections.section_solver import contains, crossing

        rings = self.rings(self.dimensions())
        for name, ring in zip(("points", *(f"holes[{i}]" for i in range(len(self.holes)))), rings, strict=True):
            if not 3 <= len(ring) <= MOST_POINTS or len(set(ring)) != len(ring):
                raise rule("{name}: give 3 to {most} different points", name=name, most=MOST_POINTS)
            if (where := crossing([ring])) is not None:
                raise rule("{name}: its lines cross at ({y}, {z})", name=name, y=f"{where[0]:.4g}", z=f"{where[1]:.4g}")
        if crossing(rings) is not None or not all(contains(rings[0], point) for ring in rings[1:] for point in ring):
            raise rule("holes must lie inside the outline and apart from each other")
        angle = math.degrees(self.turn)
        if angle and not self.principal:
            raise rule(
                "its principal axes are not y and z; turn the points by {angle} deg about x, or write principal: true "
                "to have that done",
                angle=f"{angle:.6g}",
            )
        return self

    def dimensions(self) -> dict[str, Any]:
        data: dict[str, Any] = {"points": np.array(self.points)}
        return {**data, **{f"hole{k}": np.array(hole) for k, hole in enumerate(self.holes)}}

    @classmethod
    def rings(cls, dimensions: dict[str, Any]) -> tuple[Ring, ...]:
        return tuple(_corners(*np.asarray(ring)) for ring in dimensions.values())

    def constants(self, to: Section | None = None, s: Array | float = 0.0) -> SectionConstants:
        if isinstance(to, Polygon):
            mine, other = self.dimensions(), to.dimensions()
            if [len(ring) for ring in mine.values()] != [len(ring) for ring in other.values()]:
                from pliant.errors import ModelError

                raise ModelError("a taper between polygons needs the same number of points in each of their outlines")
        return super().constants(to, s)


def _thinner(thickness: float, times: int, key: str = "thickness", **limits: float) -> None:
    """A wall must leave something of what it is taken from."""
    for name, limit in limits.items():
        if times * thickness >= limit:
            what = f"half the {name}" if times == 2 else f"the {name}"
            raise rule("{key} is {t} m; it must be less than {what} {l} m", key=key, t=thickness, what=what, l=limit)


SECTIONS: dict[str, type[Section]] = {
    section.kind: section
    for section in (
        *(Rectangle, Box, Tube, Round, Ellipse, IBeam),
        *(ChannelProfile, AngleProfile, CProfile, ZProfile, Polygon, GeneralSection),
    )
}


def _check_kind(value: Any) -> Any:
    """A section in a file is a mapping with one key, the kind."""
    kinds = listing(SECTIONS)
    if isinstance(value, Section):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise PydanticCustomError(
            "value",
            "is {given}; it must be a mapping with one key, one of {kinds}, for example {example}",
            {"given": show(value), "kinds": kinds, "example": "{round: {diameter: 20 mm}}"},
        )
    kind = next(iter(value))
    if kind not in SECTIONS:
        raise PydanticCustomError(
            "rule",
            "unknown section '{kind}'; it must be {kinds}{hint}",
            {"kind": str(kind)[:40], "kinds": kinds, "hint": did_you_mean(kind, SECTIONS)},
        )
    return value


def _kind(value: Any) -> str:
    return value.kind if isinstance(value, Section) else str(next(iter(value)))


def _unwrap(value: Any) -> Any:
    return value if isinstance(value, Section) else next(iter(value.values()))


def _wrap(value: Section, handler: Any) -> dict[str, Any]:
    return {value.kind: handler(value)}


class _OneKey:
    """The JSON schema of the form with the kind as the only key."""

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return one_key_schema(SECTIONS, handler)


AnySection = Annotated[
    Annotated[Rectangle, BeforeValidator(_unwrap), Tag("rectangle")]
    | Annotated[Tube, BeforeValidator(_unwrap), Tag("tube")]
    | Annotated[Round, BeforeValidator(_unwrap), Tag("round")]
    | Annotated[Ellipse, BeforeValidator(_unwrap), Tag("ellipse")]
    | Annotated[Box, BeforeValidator(_unwrap), Tag("box")]
    | Annotated[IBeam, BeforeValidator(_unwrap), Tag("i_beam")]
    | Annotated[ChannelProfile, BeforeValidator(_unwrap), Tag("channel")]
    | Annotated[AngleProfile, BeforeValidator(_unwrap), Tag("angle")]
    | Annotated[CProfile, BeforeValidator(_unwrap), Tag("c_profile")]
    | Annotated[ZProfile, BeforeValidator(_unwrap), Tag("z_profile")]
    | Annotated[Polygon, BeforeValidator(_unwrap), Tag("polygon")]
    | Annotated[GeneralSection, BeforeValidator(_unwrap), Tag("general")],
    Discriminator(_kind),
    BeforeValidator(_check_kind),
    WrapSerializer(_wrap),
    _OneKey(),
]


# ---- outlines


ROUND = 20
"""Corners of what is round."""
SLENDER = 1 / 100
"""Radius per length of a beam of which nothing tells how thick it is."""
Rings = list[Array]


def segment_rings(part: Segment, fraction: float) -> Rings:
    """The outline at a fraction of a segment.

    Of constants, the ellipse that has their radii of gyration; where these are not known, a slender round bar.
    """
    if part.section is None:
        return [_ellipse(*_gyration(part))]
    return section_rings(part.section, _between(part.section, part.taper_to or part.section, fraction))


def has_outline(part: Segment) -> bool:
    """Whether the outline of a segment is known, not only constants of the section."""
    return part.section is not None and not isinstance(part.section, GeneralSection)


def outermost_strain(part: Segment, fraction: float, strains: Array) -> Array:
    """The largest |u' - y u_y'' - z u_z''| of a section with an outline, from u', u_y'', u_z'' (..., 3): (...).

    On straight sides it is at their ends.
    """
    assert part.section is not None
    given = _between(part.section, part.taper_to or part.section, fraction)
    axes = _half_axes(part.section, given)
    if axes is not None:
        return np.asarray(np.abs(strains[..., 0]) + np.hypot(axes[0] * strains[..., 1], axes[1] * strains[..., 2]))
    corners = section_rings(part.section, given)[0]
    fibres = np.column_stack([np.ones(len(corners)), -corners])
    return np.asarray(np.abs(strains @ fibres.T).max(axis=-1))


def _between(start: Section, end: Section, fraction: float) -> dict[str, Array]:
    """Dimensions at a fraction of a taper."""
    last = end.dimensions()
    return {
        key: (1 - fraction) * np.asarray(a) + fraction * np.asarray(last[key])
        for key, a in start.dimensions().items()
        if a is not None and last[key] is not None
    }


def section_rings(section: Section, given: dict[str, Array]) -> Rings:
    """The outline of a section with these dimensions."""
    if isinstance(section, Outlined):
        return _principal([np.array(ring) for ring in section.rings(given)])
    d = {key: float(value) for key, value in given.items()}
    if section.kind == "rectangle":
        return [_rectangle(d["width"], d["height"])]
    axes = _half_axes(section, given)
    if axes is not None:
        hole = [_ellipse(d["inner"] / 2, d["inner"] / 2)[::-1]] if section.kind == "tube" else []
        return [_ellipse(*axes), *hole]
    if section.kind == "i_beam":
        return [_i_beam(d["width"] / 2, d["height"] / 2, d["flange"], d["web"] / 2)]
    constants = section.formulas(given)
    return [_ellipse(2 * float(constants.Iz / constants.A) ** 0.5, 2 * float(constants.Iy / constants.A) ** 0.5)]


def _half_axes(section: Section, given: dict[str, Array]) -> tuple[float, float] | None:
    """Half-widths of a round outline along y and z; None where it is not round."""
    widths = {"round": ("diameter", "diameter"), "tube": ("outer", "outer"), "ellipse": ("width", "height")}
    if section.kind not in widths:
        return None
    y, z = widths[section.kind]
    return float(given[y]) / 2, float(given[z]) / 2


def finer(rings: Rings, least: int) -> Rings:
    """The outline with sides divided evenly, so that every ring has at least so many points."""
    out = []
    for ring in rings:
        parts = np.arange(-(-least // len(ring))) / -(-least // len(ring))
        after = np.roll(ring, -1, axis=0)
        out.append((ring[:, None] + parts[:, None] * (after - ring)[:, None]).reshape(-1, 2))
    return out


def _gyration(part: Segment) -> tuple[float, float]:
    """Half axes of the ellipse of a segment by its constants: of a solid one they are two radii of gyration."""
    p, out = part.properties, []
    assert p is not None
    for EI, rhoI in ((p.EIz, p.rhoIz), (p.EIy, p.rhoIy)):
        if EI and p.EA:
            out.append(2 * (EI / p.EA) ** 0.5)
        elif rhoI:
            out.append(2 * (rhoI / p.mass_per_length) ** 0.5)
    radii = out or [SLENDER * part.length]
    return radii[0], radii[-1]


def _rectangle(width: float, height: float) -> Array:
    return np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * (width / 2, height / 2)


def _ellipse(y: float, z: float) -> Array:
    angle = 2 * np.pi * np.arange(ROUND) / ROUND
    return np.stack([y * np.cos(angle), z * np.sin(angle)], axis=1)


def _i_beam(w: float, h: float, f: float, t: float) -> Array:
    """Outline of an I-beam from half its width and height, its flange and half its web."""
    right = [(w, -h), (w, f - h), (t, f - h), (t, h - f), (w, h - f), (w, h)]
    return np.array(right + [(-y, -z) for y, z in right])


def _principal(rings: Rings) -> Rings:
    """Centred, with principal axes along y and z, each ring in its sense."""
    listed = [tuple((float(y), float(z)) for y, z in ring) for ring in rings]
    _, centre, second = moments(listed)
    angle = principal_angle(second)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    out = [(ring - centre) @ turn.T for ring in rings]
    return [ring if (_area(ring) > 0) == (k == 0) else ring[::-1] for k, ring in enumerate(out)]


def _area(ring: Array) -> float:
    after = np.roll(ring, -1, axis=0)
    return float(np.sum(ring[:, 0] * after[:, 1] - after[:, 0] * ring[:, 1])) / 2
