"""Cross-sections of a beam: area, second moments, torsion constant and shear factors.

y and z are the axes of the link: ``Iy = int z^2 dA`` resists bending in z, ``Iz = int y^2 dA`` bending in y.
Shear factors ky, kz (for a shear force along y, z) are Cowper's (1966) with Poisson's ratio zero.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import (
    Field,
    model_validator,
)

from pliant.model.element import Array, Element, rule
from pliant.model.units import POSITIVE, Area, PositiveLength, Quantity, SecondMoment

ShearFactor = Annotated[float, Quantity("", POSITIVE)]

# odd terms of the torsion series; the remainder is below 1e-9 of the constant
_TORSION_TERMS = np.arange(1, 80, 2, dtype=float)


class SectionConstants(NamedTuple):
    """The constants of a section, or of many sections along a taper; None where they are not known."""

    A: Array
    Iy: Array
    Iz: Array
    J: Array | None
    ky: Array | None
    kz: Array | None


class Section(Element):
    """A cross-section, centred on the axis of the beam, its principal axes along y and z."""

    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def formulas(cls, dimensions: dict[str, Array]) -> SectionConstants:
        """The constants of sections with these dimensions."""

    def dimensions(self) -> dict[str, float | None]:
        """The dimensions that vary along a taper."""
        return {key: getattr(self, key) for key in type(self).model_fields}

    def constants(self, to: Section | None = None, s: Array | float = 0.0) -> SectionConstants:
        """The constants at the fraction `s` of a taper from this section to another one of the same kind."""
        fraction = np.asarray(s, dtype=float)
        start, end = self.dimensions(), (to or self).dimensions()
        varied = {
            key: a * (1 - fraction) + b * fraction
            for key, a in start.items()
            if a is not None and (b := end[key]) is not None
        }
        return self.formulas(varied)


class ShapedSection(Section):
    """A section given by its dimensions; its constants are computed."""

    @property
    def A(self) -> float:
        """Area in m^2."""
        return float(self.constants().A)

    @property
    def Iy(self) -> float:
        """int z^2 dA in m^4."""
        return float(self.constants().Iy)

    @property
    def Iz(self) -> float:
        """int y^2 dA in m^4."""
        return float(self.constants().Iz)

    @property
    def J(self) -> float | None:
        """Torsion constant in m^4."""
        J = self.constants().J
        return None if J is None else float(J)

    @property
    def ky(self) -> float | None:
        """Shear factor for a force along y."""
        ky = self.constants().ky
        return None if ky is None else float(ky)

    @property
    def kz(self) -> float | None:
        """Shear factor for a force along z."""
        kz = self.constants().kz
        return None if kz is None else float(kz)


class Rectangle(ShapedSection):
    """A solid rectangle."""

    kind = "rectangle"
    width: PositiveLength = Field(description="dimension along y")
    height: PositiveLength = Field(description="dimension along z")

    @classmethod
    def formulas(cls, dimensions: dict[str, Array]) -> SectionConstants:
        w, h = np.broadcast_arrays(dimensions["width"], dimensions["height"])
        a, b = np.maximum(w, h), np.minimum(w, h)
        # Saint-Venant's series for the torsion of a rectangle
        n = _TORSION_TERMS
        series = (np.tanh(np.multiply.outer(a / b, n * np.pi / 2)) / n**5).sum(axis=-1)
        J = a * b**3 / 3 * (1 - 192 / np.pi**5 * b / a * series)
        k = np.full_like(w, 5 / 6)
        return SectionConstants(w * h, w * h**3 / 12, h * w**3 / 12, J, k, k)


def _ring(outer: Array, inner: Array) -> SectionConstants:
    A = np.pi / 4 * (outer**2 - inner**2)
    I = np.pi / 64 * (outer**4 - inner**4)  # noqa: E741  the symbol of the second moment
    m2 = (inner / outer) ** 2
    k = 6 * (1 + m2) ** 2 / (7 * (1 + m2) ** 2 + 20 * m2)
    return SectionConstants(A, I, I, 2 * I, k, k)


class Round(ShapedSection):
    """A solid round bar."""

    kind = "round"
    diameter: PositiveLength = Field(description="diameter")

    @classmethod
    def formulas(cls, dimensions: dict[str, Array]) -> SectionConstants:
        d = dimensions["diameter"]
        return _ring(d, np.zeros_like(d))


class Tube(ShapedSection):
    """A round tube; `inner` (diameter) or `thickness` (of the wall)."""

    kind = "tube"
    outer: PositiveLength = Field(description="outer diameter")
    inner: PositiveLength | None = Field(default=None, description="inner diameter; or give the thickness")
    thickness: PositiveLength | None = Field(default=None, description="wall thickness; or give the inner diameter")

    @model_validator(mode="after")
    def _wall(self) -> Self:
        by_thickness = "thickness" in self.model_fields_set and self.thickness is not None
        by_inner = "inner" in self.model_fields_set and self.inner is not None
        if by_thickness == by_inner:
            raise rule("give either inner (the inner diameter) or thickness (of the wall)")
        if by_thickness and self.thickness is not None:
            if 2 * self.thickness >= self.outer:
                raise rule(
                    "thickness is {t} m; it must be less than half the outer diameter {d} m",
                    t=self.thickness,
                    d=self.outer,
                )
            self.__dict__["inner"] = self.outer - 2 * self.thickness
        elif self.inner is not None:
            if self.inner >= self.outer:
                raise rule(
                    "inner is {i} m; it must be less than the outer diameter {d} m",
                    i=self.inner,
                    d=self.outer,
                )
            self.__dict__["thickness"] = (self.outer - self.inner) / 2
        return self

    def dimensions(self) -> dict[str, float | None]:
        return {"outer": self.outer, "inner": self.inner}

    @classmethod
    def formulas(cls, dimensions: dict[str, Array]) -> SectionConstants:
        return _ring(dimensions["outer"], dimensions["inner"])


class IBeam(ShapedSection):
    """An I-beam: the web stands along z, the flanges lie at its two ends."""

    kind = "i_beam"
    width: PositiveLength = Field(description="width of the flanges, along y")
    height: PositiveLength = Field(description="full height, along z")
    flange: PositiveLength = Field(description="thickness of a flange")
    web: PositiveLength = Field(description="thickness of the web")

    @model_validator(mode="after")
    def _proportions(self) -> Self:
        if 2 * self.flange >= self.height:
            raise rule("flange is {t} m; it must be less than half the height {h} m", t=self.flange, h=self.height)
        if self.web > self.width:
            raise rule("web is {t} m; it must not exceed the width {w} m", t=self.web, w=self.width)
        return self

    @classmethod
    def formulas(cls, dimensions: dict[str, Array]) -> SectionConstants:
        w, h, f, t = (dimensions[key] for key in ("width", "height", "flange", "web"))
        clear = h - 2 * f
        A = 2 * w * f + clear * t
        Iy = (w * h**3 - (w - t) * clear**3) / 12
        Iz = (2 * f * w**3 + clear * t**3) / 12
        # thin-walled torsion, free to warp
        J = (2 * w * f**3 + clear * t**3) / 3
        # Cowper's thin-walled I-section; across the web the two flanges act as rectangles
        middle = h - f
        m, n = 2 * w * f / (middle * t), w / middle
        kz = 10 * (1 + 3 * m) ** 2 / (12 + 72 * m + 150 * m**2 + 90 * m**3 + 30 * n**2 * (m + m**2))
        ky = 5 / 6 * 2 * w * f / A
        return SectionConstants(A, Iy, Iz, J, ky, kz)


class Ellipse(ShapedSection):
    """A solid ellipse."""

    kind = "ellipse"
    width: PositiveLength = Field(description="axis along y")
    height: PositiveLength = Field(description="axis along z")

    @classmethod
    def formulas(cls, dimensions: dict[str, Array]) -> SectionConstants:
        b, h = np.broadcast_arrays(dimensions["width"] / 2, dimensions["height"] / 2)
        A = np.pi * b * h
        J = np.pi * b**3 * h**3 / (b**2 + h**2)

        def shear(along: Array, across: Array) -> Array:
            # Cowper's ellipse
            return 3 * (3 * along**2 + across**2) / (10 * along**2 + 4 * across**2)

        return SectionConstants(A, A * h**2 / 4, A * b**2 / 4, J, shear(b, h), shear(h, b))


class GeneralSection(Section):
    """A section by its constants; they vary linearly along a taper."""

    kind = "general"
    A: Area = Field(description="area")
    Iy: SecondMoment = Field(description="int z^2 dA")
    Iz: SecondMoment = Field(description="int y^2 dA")
    J: SecondMoment | None = Field(default=None, description="torsion constant; needed for torsion only")
    ky: ShearFactor | None = Field(default=None, description="shear factor for a force along y; needed for shear only")
    kz: ShearFactor | None = Field(default=None, description="shear factor for a force along z; needed for shear only")

    @classmethod
    def formulas(cls, dimensions: dict[str, Array]) -> SectionConstants:
        return SectionConstants(
            dimensions["A"],
            dimensions["Iy"],
            dimensions["Iz"],
            dimensions.get("J"),
            dimensions.get("ky"),
            dimensions.get("kz"),
        )
