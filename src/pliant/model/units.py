"""Quantities: plain SI numbers inside, numbers with a unit in a file.

``Quantity("m", POSITIVE)`` in an ``Annotated`` type makes pydantic read ``0.03`` everywhere and ``30 mm``
where the validation context says ``{"units": True}``, and refuse NaN, infinity, a wrong dimension or sign.
A unit expression is a product: ``5 kg m^2``, ``80 N s/m``, ``pi/2 rad``. Nothing in it is ever executed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from pliant.errors import show

LONGEST_TEXT = 80
LARGEST_EXPONENT = 6
# beyond any robot; products such as E times the fourth power of a length stay finite
LARGEST = 1e30
SMALLEST = 1e-30

Rule = Literal["any", "positive", "non-negative"]
POSITIVE: Rule = "positive"
NON_NEGATIVE: Rule = "non-negative"


class Dimension(NamedTuple):
    """Exponents of kg, m, s and rad, and of the cycle (so that Hz is never read as rad/s)."""

    mass: int = 0
    length: int = 0
    time: int = 0
    angle: int = 0
    cycle: int = 0

    def power(self, n: int) -> Dimension:
        return Dimension(*(n * e for e in self))

    def times(self, other: Dimension) -> Dimension:
        return Dimension(*(a + b for a, b in zip(self, other, strict=True)))

    def fits(self, wanted: Dimension) -> bool:
        """Whether a value of this dimension may stand where `wanted` is needed."""
        if self[:3] != wanted[:3]:
            return False
        # 1/s may stand for rad/s and N m for N m/rad, but a cycle is not a radian
        if self.cycle and (self.angle or wanted.angle):
            return False
        return self.angle in (0, wanted.angle)


_MASS, _LENGTH, _TIME, _ANGLE = Dimension(1), Dimension(0, 1), Dimension(0, 0, 1), Dimension(0, 0, 0, 1)
_FORCE, _PRESSURE = Dimension(1, 1, -2), Dimension(1, -1, -2)
_POUND, _INCH = 0.45359237, 0.0254
_POUND_FORCE = _POUND * 9.80665

UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, _LENGTH),
    "mm": (1e-3, _LENGTH),
    "cm": (1e-2, _LENGTH),
    "km": (1e3, _LENGTH),
    "um": (1e-6, _LENGTH),
    "in": (_INCH, _LENGTH),
    "ft": (12 * _INCH, _LENGTH),
    "l": (1e-3, Dimension(0, 3)),
    "kg": (1.0, _MASS),
    "g": (1e-3, _MASS),
    "mg": (1e-6, _MASS),
    "t": (1e3, _MASS),
    "lb": (_POUND, _MASS),
    "s": (1.0, _TIME),
    "ms": (1e-3, _TIME),
    "min": (60.0, _TIME),
    "h": (3600.0, _TIME),
    "rad": (1.0, _ANGLE),
    "mrad": (1e-3, _ANGLE),
    "deg": (math.pi / 180, _ANGLE),
    "°": (math.pi / 180, _ANGLE),
    "rev": (2 * math.pi, _ANGLE),
    "rpm": (2 * math.pi / 60, Dimension(0, 0, -1, 1)),
    "Hz": (1.0, Dimension(0, 0, -1, 0, 1)),
    "kHz": (1e3, Dimension(0, 0, -1, 0, 1)),
    "N": (1.0, _FORCE),
    "mN": (1e-3, _FORCE),
    "kN": (1e3, _FORCE),
    "MN": (1e6, _FORCE),
    "lbf": (_POUND_FORCE, _FORCE),
    "kgf": (9.80665, _FORCE),
    "Pa": (1.0, _PRESSURE),
    "kPa": (1e3, _PRESSURE),
    "MPa": (1e6, _PRESSURE),
    "GPa": (1e9, _PRESSURE),
    "bar": (1e5, _PRESSURE),
    "psi": (_POUND_FORCE / _INCH**2, _PRESSURE),
    "Nm": (1.0, Dimension(1, 2, -2)),
    "Nmm": (1e-3, Dimension(1, 2, -2)),
    "mNm": (1e-3, Dimension(1, 2, -2)),
    "kNm": (1e3, Dimension(1, 2, -2)),
    "J": (1.0, Dimension(1, 2, -2)),
    "%": (0.01, Dimension()),
    "pi": (math.pi, Dimension()),
}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z]+|°|%)|(?P<sign>\*\*|[-+*/^()]))"
)
_TIDY = str.maketrans({"²": "^2", "³": "^3", "⁴": "^4", "·": "*", "−": "-", "µ": "u", "μ": "u"})


class UnitError(ValueError):
    """A unit expression that cannot be read."""


class _Parser:
    """Recursive descent over ``[sign] factor {[* or /] factor}``; a factor is number, unit or parentheses."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_TEXT:
            raise UnitError(f"it is longer than {LONGEST_TEXT} characters")
        self.tokens = self._split(text.translate(_TIDY))
        self.next = 0

    @staticmethod
    def _split(text: str) -> list[tuple[str, str]]:
        tokens, place, end = [], 0, len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise UnitError(f"{text[place:].strip()[:12]!r} is not part of a number with a unit")
            kind = match.lastgroup or ""
            tokens.append((kind, match[kind]))
            place = match.end()
        return tokens

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.next] if self.next < len(self.tokens) else ("end", "")

    def take(self, *signs: str) -> bool:
        kind, text = self.peek()
        if kind == "sign" and text in signs:
            self.next += 1
            return True
        return False

    def product(self) -> tuple[float, Dimension]:
        negative = self.take("-")
        if not negative:
            self.take("+")
        value, dimension = self.factor()
        while True:
            if self.take("/"):
                by, other = self.factor()
                if by == 0:
                    raise UnitError("it divides by zero")
                value, dimension = value / by, dimension.times(other.power(-1))
            elif self.take("*") or self.peek()[0] in ("number", "name") or self.peek()[1] == "(":
                by, other = self.factor()
                value, dimension = value * by, dimension.times(other)
            else:
                return (-value if negative else value), dimension

    def factor(self) -> tuple[float, Dimension]:
        kind, text = self.peek()
        self.next += 1
        if kind == "number":
            value, dimension = float(text), Dimension()
        elif kind == "name":
            if text not in UNITS:
                raise UnitError(f"'{text}' is not a unit that is known here")
            value, dimension = UNITS[text]
        elif text == "(":
            value, dimension = self.product()
            if not self.take(")"):
                raise UnitError("a ')' is missing")
        else:
            raise UnitError("it ends too early" if kind == "end" else f"'{text}' stands in the wrong place")
        if self.take("^", "**"):
            n = self.exponent()
            if value == 0 and n < 0:
                raise UnitError("it divides by zero")
            try:
                value = value**n
            except OverflowError:
                value = math.inf
            dimension = dimension.power(n)
        return value, dimension

    def exponent(self) -> int:
        sign = -1 if self.take("-") else 1
        kind, text = self.peek()
        if kind != "number" or not text.isdigit() or int(text) > LARGEST_EXPONENT:
            raise UnitError(f"an exponent must be a whole number up to {LARGEST_EXPONENT}")
        self.next += 1
        return sign * int(text)


def parse(text: str) -> tuple[float, Dimension]:
    """Value in SI units and dimension of an expression such as ``-30 mm`` or ``5 kg m^2``."""
    parser = _Parser(text)
    if not parser.tokens:
        raise UnitError("it is empty")
    value, dimension = parser.product()
    if parser.next < len(parser.tokens):
        raise UnitError(f"'{parser.peek()[1]}' stands in the wrong place")
    return value, dimension


# what each SI unit measures, and an example of how to write it
MEANING: dict[str, tuple[str, str]] = {
    "": ("a plain number", "0.5"),
    "m": ("a length", "30 mm"),
    "m^2": ("an area", "120 mm^2"),
    "m^3": ("a volume", "0.5 l"),
    "m^3/s": ("a flow", "60 l/min"),
    "m^3/(s Pa)": ("a leakage", "2e-13 m^3/(s Pa)"),
    "m^4": ("a second moment of area", "9000 mm^4"),
    "kg": ("a mass", "1.5 kg"),
    "kg m": ("a mass times a length", "0.02 kg m"),
    "kg m^2": ("a moment of inertia", "0.01 kg m^2"),
    "kg/m": ("a mass per length", "0.2 kg/m"),
    "kg/m^3": ("a density", "2700 kg/m^3"),
    "rad": ("an angle", "30 deg"),
    "rad/m": ("a transmission ratio", "600 rad/m"),
    "rad/s": ("an angular velocity", "2 rad/s"),
    "m/s": ("a velocity", "0.5 m/s"),
    "m/s^2": ("an acceleration", "9.81 m/s^2"),
    "rad/s^2": ("an angular acceleration", "90 deg/s^2"),
    "s": ("a time", "2 ms"),
    "s/m": ("a loss per velocity", "0.5 s/m"),
    "1/s": ("a rate", "0.5 1/s"),
    "Hz": ("a frequency", "3.2 Hz"),
    "1/m": ("a curvature", "0.5 1/m"),
    "1/m/s": ("a rate of curvature", "0.5 1/m/s"),
    "rad/m/s": ("a rate of twist", "0.5 rad/m/s"),
    "Pa": ("a pressure or modulus", "210 GPa"),
    "N": ("a force", "100 N"),
    "N m": ("a torque", "5 N m"),
    "N m^2": ("a bending or torsional stiffness", "20 N m^2"),
    "N/m": ("a stiffness", "1000 N/m"),
    "N m/rad": ("a rotational stiffness", "100 N m/rad"),
    "N s/m": ("a damping constant", "250 N s/m"),
    "N m s/rad": ("a rotational damping constant", "0.1 N m s/rad"),
}
_DIMENSIONS: dict[str, Dimension] = {unit: parse(f"1 {unit}")[1] for unit in MEANING}


@dataclass(frozen=True, slots=True)
class Quantity:
    """The pydantic reading of one physical number.

    unit     SI unit of the number, a key of `MEANING`
    rule     any, positive or non-negative
    sliding  unit instead of `unit` when the number belongs to a prismatic joint
    words    words that may stand instead of the number, such as ``auto``
    below    bound that the number must not reach
    remedy   what to do when the rule is broken
    """

    unit: str
    rule: Rule = "any"
    sliding: str | None = None
    words: tuple[str, ...] = ()
    below: float | None = None
    remedy: str = ""

    def read(self, value: Any, context: Any = None) -> float | str:
        """The SI number, or one of the words; raises a PydanticCustomError that says what is wrong."""
        if type(value) is float and self._broken(value) is None:
            return value
        where: dict[str, Any] = context if isinstance(context, dict) else {}
        unit = self.sliding if self.sliding and where.get("slides") else self.unit
        meaning, example = MEANING[unit]
        given = show(value)
        if isinstance(value, str) and value in self.words:
            return value
        if isinstance(value, str) and where.get("units"):
            number = self._parse(value, unit)
            given = given.strip("'\"")
        elif isinstance(value, bool) or not isinstance(value, Real):
            remedy = f"{meaning}, for example {example}"
            if isinstance(value, str):
                remedy = f"a number in {unit or 'plain form'}; units are read from files only"
            if self.words:
                remedy = f"'{self.words[0]}' or {remedy}"
            raise PydanticCustomError("value", "is {given}; it must be {remedy}", {"given": given, "remedy": remedy})
        else:
            number = _as_float(value)
            given = f"{given} {unit}".rstrip() if not self.sliding else given
        broken = self._broken(number)
        if broken is not None:
            words = {"given": given, "broken": broken, "remedy": self.remedy}
            raise PydanticCustomError("value", "is {given}; it {broken}{remedy}", words)
        return number

    def _parse(self, text: str, unit: str) -> float:
        meaning, example = MEANING[unit]
        lower = text.strip().lower().lstrip("+-.")
        if lower in ("nan", "inf", "infinity"):
            return math.nan if lower == "nan" else math.inf
        try:
            number, dimension = parse(text)
        except UnitError as error:
            raise PydanticCustomError(
                "value",
                "is {given}, which cannot be read: {why}; write {meaning}, for example '{example}'",
                {"given": show(text), "why": str(error), "meaning": meaning, "example": example},
            ) from None
        # a bare number in quotes is the SI number
        if dimension != Dimension() and (not unit or not dimension.fits(_DIMENSIONS[unit])):
            raise PydanticCustomError(
                "value",
                "is {given}; its unit is wrong: it must be {meaning}, for example '{example}'",
                {"given": show(text), "meaning": meaning, "example": example},
            )
        return number

    def _broken(self, number: float) -> str | None:
        """The rule that a number breaks."""
        if not math.isfinite(number):
            return "must be finite"
        if abs(number) > LARGEST:
            return f"must not be larger than {LARGEST:.0e}"
        if self.rule == POSITIVE and number <= 0:
            return "must be positive"
        if self.rule == POSITIVE and number < SMALLEST:
            return f"must not be smaller than {SMALLEST:.0e}"
        if self.rule == NON_NEGATIVE and number < 0:
            return "must not be negative"
        if self.below is not None and number >= self.below:
            return f"must be less than {self.below:g}"
        return None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def read(value: Any, info: core_schema.ValidationInfo[Any]) -> float | str:
            return self.read(value, info.context)

        return core_schema.with_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        meaning, example = MEANING[self.unit]
        number: dict[str, Any] = {"type": "number"}
        if self.rule == POSITIVE:
            number["exclusiveMinimum"] = 0
        if self.rule == NON_NEGATIVE:
            number["minimum"] = 0
        if self.below is not None:
            number["exclusiveMaximum"] = self.below
        text = {"type": "string", "description": f"{meaning} with its unit", "examples": [example]}
        words = [{"enum": list(self.words)}] if self.words else []
        return {"anyOf": [number, *words, text]}


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """The pydantic reading of a count between two bounds, or of one of some words."""

    least: int
    most: int
    words: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def read(value: Any) -> int | str:
            if isinstance(value, str) and value in self.words:
                return value
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or not self.least <= value <= self.most:
                raise PydanticCustomError(
                    "value",
                    "is {given}; it must be a whole number from {least} to {most}{or_words}",
                    {
                        "given": show(value),
                        "least": self.least,
                        "most": self.most,
                        "or_words": "".join(f" or {word}" for word in self.words),
                    },
                )
            return int(value)

        return core_schema.no_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        whole = {"type": "integer", "minimum": self.least, "maximum": self.most}
        return {"anyOf": [whole, {"enum": list(self.words)}]} if self.words else whole


Length = Annotated[float, Quantity("m")]
PositiveLength = Annotated[float, Quantity("m", POSITIVE)]
Mass = Annotated[float, Quantity("kg", NON_NEGATIVE)]
PositiveMass = Annotated[float, Quantity("kg", POSITIVE)]
FirstMoment = Annotated[float, Quantity("kg m")]
Inertia = Annotated[float, Quantity("kg m^2")]
RotorInertia = Annotated[float, Quantity("kg m^2", NON_NEGATIVE)]
Angle = Annotated[float, Quantity("rad")]
Number = Annotated[float, Quantity("")]
Ratio = Annotated[float, Quantity("", NON_NEGATIVE, below=1.0)]
Acceleration = Annotated[float, Quantity("m/s^2")]
Modulus = Annotated[float, Quantity("Pa", POSITIVE)]
Density = Annotated[float, Quantity("kg/m^3", POSITIVE)]
Area = Annotated[float, Quantity("m^2", POSITIVE)]
SecondMoment = Annotated[float, Quantity("m^4", POSITIVE)]
MassPerLength = Annotated[float, Quantity("kg/m", POSITIVE)]
AddedMass = Annotated[float, Quantity("kg/m", NON_NEGATIVE)]
SectionInertia = Annotated[float, Quantity("kg m", NON_NEGATIVE)]
Force = Annotated[float, Quantity("N", POSITIVE)]
BendingStiffness = Annotated[float, Quantity("N m^2", POSITIVE)]
Time = Annotated[float, Quantity("s", NON_NEGATIVE)]
Rate = Annotated[float, Quantity("1/s", NON_NEGATIVE)]

# numbers whose unit depends on whether the joint turns or slides
Coordinate = Annotated[float, Quantity("rad", sliding="m")]
Speed = Annotated[float, Quantity("rad/s", POSITIVE, sliding="m/s")]
Effort = Annotated[float, Quantity("N m", POSITIVE, sliding="N")]
FrictionEffort = Annotated[float, Quantity("N m", NON_NEGATIVE, sliding="N")]
GearRatio = Annotated[float, Quantity("", POSITIVE, sliding="rad/m")]
JointStiffness = Annotated[float, Quantity("N m/rad", NON_NEGATIVE, sliding="N/m")]
JointDamping = Annotated[float, Quantity("N m s/rad", NON_NEGATIVE, sliding="N s/m")]
