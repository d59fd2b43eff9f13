"""Names for everything that occurs in the equations: parameters, modal constants, coordinates, abbreviations."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pliant.formulations.lagrange.algebra.series import Algebra, Polynomial, Series

Kind = Literal["geometry", "inertia", "modal", "stiffness", "damping", "gravity"]
KINDS: tuple[Kind, ...] = ("geometry", "inertia", "modal", "stiffness", "damping", "gravity")

AXES = "xyz"


def identifier(name: str) -> str:
    """A name as Python and C allow it: letters, digits and underscores of ASCII."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)


@dataclass(frozen=True, slots=True)
class Origin:
    """An integral over a beam, or the value of a shape: which one, of which link, shapes (counted from 0) and frame.

    first: int phi dm; moment: int x phi dm; mass: int phi phi dm; stiffness: strain energy; value, slope: at a frame
    whole: mass, first moment or inertia of a beam with the points on it, which ``frame`` names; of second-order bending
    form: what a further mode (``frame``: s1, s2) moves; shortening: of a frame along the axis
    """

    quantity: Literal["first", "moment", "mass", "stiffness", "value", "slope", "whole", "form", "shortening"]
    link: str
    shapes: tuple[int, ...]
    frame: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A parameter or a modal constant: its symbol, how it is printed, its value and what it is.

    ``short`` and ``short_latex`` are used where no other constant of the same ``family`` occurs: the only inertia of
    a plane link is I_1, not I_1_zz. ``scales`` tells that every term of the mass matrix has one such factor.
    ``bound``: the shapes of the link were integrated with this value, so it cannot change alone.
    ``origin`` of a modal constant says which integral it is; ``closed`` (LaTeX) and ``closed_text`` are what it is.
    """

    name: str
    latex: str
    value: float
    unit: str
    meaning: str
    kind: Kind
    scales: bool = False
    family: str = ""
    short: str = ""
    short_latex: str = ""
    bound: bool = False
    origin: Origin | None = None
    closed: str = ""
    closed_text: str = ""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A coordinate: its name in the robot, its symbol, that of its rate, and their LaTeX."""

    robot_name: str
    name: str
    latex: str
    unit: str
    meaning: str
    elastic: bool = False

    @property
    def rate(self) -> str:
        """The symbol of the velocity."""
        return f"{self.name}_dot"

    @property
    def rate_latex(self) -> str:
        """The velocity in LaTeX."""
        letter, underscore, index = self.latex.partition("_")
        return rf"\dot{{{letter}}}{underscore}{index}"


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A named sum of constants times coordinates, such as the deflection or the slope of a tip."""

    name: str
    latex: str
    meaning: str
    parts: tuple[tuple[float, tuple[int, ...]], ...]
    """(factor, variables) of each term."""


@dataclass(frozen=True, slots=True)
class SpecialFunction:
    """c_k(s) = 1/k! - s/(k+2)! + ... of the squared angle s of a rotation, or the Cayley factor 4/(4 + s)."""

    order: int | None
    components: tuple[int, ...]
    """Variables whose squares add up to s."""


@dataclass(slots=True)
class Names:
    """The variables and angles of an algebra with their names, in the order of their creation."""

    algebra: Algebra
    constants: dict[int, Constant] = field(default_factory=dict)
    coordinates: dict[int, Coordinate] = field(default_factory=dict)
    abbreviations: dict[int, Abbreviation] = field(default_factory=dict)
    functions: dict[int, SpecialFunction] = field(default_factory=dict)
    inverses: dict[int, int] = field(default_factory=dict)
    fractions: dict[int, int] = field(default_factory=dict)
    angle_parts: dict[int, tuple[tuple[float, tuple[int, ...]], ...]] = field(default_factory=dict)
    angle_names: dict[int, Abbreviation] = field(default_factory=dict)
    _by_name: dict[str, int] = field(default_factory=dict)
    _angle_by_name: dict[str, int] = field(default_factory=dict)

    # ---- constants

    def constant(self, constant: Constant) -> Series:
        """A constant as a series; zero for a constant that is zero."""
        if not constant.value:
            return self.algebra.number(0.0)
        return self.algebra.monomial(self.variable(constant))

    def variable(self, constant: Constant) -> int:
        """The variable of a constant, made when it is first asked for."""
        number = self._by_name.get(constant.name)
        if number is None:
            number = self._by_name[constant.name] = self.algebra.variable()
            self.constants[number] = replace(constant, name=self._unique(constant.name))
        return number

    def _unique(self, name: str) -> str:
        """A name that code can use and that nothing else has."""
        plain = identifier(name)
        taken = {c.name for c in self.constants.values()} | {c.name for c in self.coordinates.values()}
        taken |= {a.name for a in (*self.abbreviations.values(), *self.angle_names.values())}
        number = 2
        unique = plain
        while unique in taken:
            unique, number = f"{plain}_{number}", number + 1
        return unique

    def inverse(self, variable: int) -> int:
        """The variable that stands for one over a constant."""
        for number, base in self.inverses.items():
            if base == variable:
                return number
        number = self.algebra.variable()
        self.inverses[number] = variable
        return number

    def fraction(self, denominator: int) -> Series:
        """One over a whole number, kept exact."""
        if denominator & (denominator - 1) == 0:
            return self.algebra.number(1.0 / denominator)
        for number, known in self.fractions.items():
            if known == denominator:
                return self.algebra.monomial(number)
        number = self.algebra.variable()
        self.fractions[number] = denominator
        return self.algebra.monomial(number)

    # ---- coordinates and what depends on them

    def coordinate(self, coordinate: Coordinate) -> int:
        """A new coordinate."""
        number = self.algebra.coordinate()
        self.coordinates[number] = replace(coordinate, name=self._unique(coordinate.name))
        return number

    def sum_of(
        self, name: str, latex: str, meaning: str, parts: Iterable[tuple[float, tuple[int, ...], int]]
    ) -> Series:
        """sum of factor * constants * coordinate: abbreviated by a variable where it has several terms."""
        terms = tuple(parts)
        if len(terms) < 2:
            return self.algebra.total(self.algebra.monomial(*c, q, factor=f) for f, c, q in terms)
        return self.algebra.monomial(self.abbreviated(name, latex, meaning, terms))

    def abbreviated(
        self, name: str, latex: str, meaning: str, parts: Iterable[tuple[float, tuple[int, ...], int]]
    ) -> int:
        """The variable that stands for such a sum."""
        if name in self._by_name:
            return self._by_name[name]
        terms = tuple(parts)
        slopes = {q: self.algebra.monomial(*c, factor=f) for f, c, q in terms}
        number = self._by_name[name] = self.algebra.variable(slopes)
        all_parts = tuple((f, (*c, q)) for f, c, q in terms)
        self.abbreviations[number] = Abbreviation(self._unique(name), latex, meaning, all_parts)
        return number

    def as_variable(self, short: Abbreviation) -> Series:
        """What an abbreviation stands for as a variable of its name, or as its one term."""
        if len(short.parts) == 1:
            ((factor, variables),) = short.parts
            return self.algebra.monomial(*variables, factor=factor)
        for number, known in self.abbreviations.items():
            if known == short:
                return self.algebra.monomial(number)
        slopes = {v[-1]: self.algebra.monomial(*v[:-1], factor=f) for f, v in short.parts}
        number = self.algebra.variable(slopes)
        self.abbreviations[number] = short
        return self.algebra.monomial(number)

    def joint_angle(self, coordinate: int, group: int) -> int:
        """The angle that is a joint coordinate."""
        number = self.algebra.angle(group, {coordinate: {0: 1.0}})
        self.angle_parts[number] = ((1.0, (coordinate,)),)
        return number

    def fixed_angle(self, constant: Constant, group: int) -> int:
        """An angle that does not move."""
        variable = self.variable(constant)
        for number, parts in self.angle_parts.items():
            if parts == ((1.0, (variable,)),):
                return number
        number = self.algebra.angle(group, {})
        self.angle_parts[number] = ((1.0, (variable,)),)
        return number

    def elastic_angle(
        self, group: int, name: str, latex: str, meaning: str, parts: Iterable[tuple[float, tuple[int, ...], int]]
    ) -> int:
        """The angle by which a section turns: sum of factor * constants * coordinate."""
        terms = tuple(parts)
        if name in self._angle_by_name:
            return self._angle_by_name[name]
        slopes: dict[int, Polynomial] = {}
        for f, c, q in terms:
            (poly,) = self.algebra.monomial(*c, factor=f).terms.values()
            slopes[q] = poly
        number = self._angle_by_name[name] = self.algebra.angle(group, slopes)
        self.angle_parts[number] = tuple((f, (*c, q)) for f, c, q in terms)
        self.angle_names[number] = Abbreviation(self._unique(name), latex, meaning, self.angle_parts[number])
        return number

    def function(
        self, order: int | None, components: tuple[int, ...], slopes: Mapping[int, Series] | None = None
    ) -> int:
        """The variable of a function of the squared angle whose components are given."""
        wanted = SpecialFunction(order, components)
        for number, known in self.functions.items():
            if known == wanted:
                return number
        number = self.algebra.variable(slopes)
        self.functions[number] = wanted
        return number

    # ---- at the end

    def needed(self, series: Iterable[Series]) -> set[int]:
        """The variables that occur in some series, with those behind inverses, abbreviations and angles."""
        found: set[int] = set()
        angles: set[int] = set()
        for s in series:
            found |= s.variables()
            angles |= s.angles()
        found |= {v for a in angles for _, variables in self.angle_parts[a] for v in variables}
        for number in list(found):
            if number in self.functions:
                found |= set(self.functions[number].components)
        for number in list(found):
            if number in self.abbreviations:
                found |= {v for _, variables in self.abbreviations[number].parts for v in variables}
        return found | {self.inverses[v] for v in found if v in self.inverses}

    def final(self, used: set[int]) -> dict[int, Constant]:
        """The constants that are used, under the short names that are free, sorted by kind."""
        chosen = {v: c for v, c in self.constants.items() if v in used}
        members: dict[str, int] = {}
        for c in chosen.values():
            members[c.family] = members.get(c.family, 0) + 1
        final = {
            v: replace(c, name=c.short, latex=c.short_latex) if c.short and members[c.family] == 1 else c
            for v, c in chosen.items()
        }
        return dict(sorted(final.items(), key=lambda item: KINDS.index(item[1].kind)))


# ---- names and words of a user in LaTeX

SPECIAL = {
    "\\": r"\textbackslash{}", "_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "^": r"\^{}",
    "{": r"\{", "}": r"\}", "~": r"\~{}",
}  # fmt: skip

GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip
CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
"""Those that differ from Latin ones."""

LATIN = 0x250
"""First letter beyond those of the languages that pdflatex knows with utf8."""


def latex_text(text: str) -> str:
    """Words for the text of a page."""
    return "".join(SPECIAL.get(x) or (x if ord(x) < LATIN else f"${command(x)}$") for x in text)


def latex_index(name: str) -> str:
    """A name as an index in a formula, where letters have no accents."""
    plain = "".join(x for x in unicodedata.normalize("NFKD", name) if not unicodedata.combining(x))
    marks = {**SPECIAL, "\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}
    return "".join(marks.get(x) or (x if x.isascii() else f"{command(x)} ") for x in plain)


def command(letter: str) -> str:
    """The command of a Greek letter; other letters are written by their number."""
    words = unicodedata.name(letter, "").replace("LAMDA", "LAMBDA").split()
    last = words[-1] if words else ""
    if words[:2] == ["GREEK", "SMALL"] and last.lower() in GREEK:
        return f"\\{last.lower()}"
    if words[:2] == ["GREEK", "CAPITAL"]:
        return f"\\{last.title()}" if last.title() in CAPITALS else rf"\mathrm{{{last[:1]}}}"
    return rf"\mathrm{{U{ord(letter):X}}}"
