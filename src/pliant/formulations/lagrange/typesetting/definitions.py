"""Modal constants of uniform beams by the parameters of their links: length, mass per length, stiffness, tip masses.

With these definitions inside the equations a length is a true symbol: it may change after the derivation. What has no
definition here (sections that turn, frames between the ends, beams that are not uniform) keeps its value, and binds
the parameters that it was integrated with.

A beam of second-order bending counts the points on its tip among its own mass. With the whole mass m, first moment S
and spread J_c about the centre of mass c = S/m, its further modes are the shift s1 = 1 and the stretch s2 = x - c along
the axis; they move by q^T F q / 2 with F_1 = int Gamma dm / m and F_2 = int (x - c) Gamma dm / J_c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pliant.bodies.words import words_of
from pliant.formulations.lagrange.algebra.link_inertia import LinkNames, with_points
from pliant.formulations.lagrange.algebra.symbols import KINDS, Constant, Names, Origin
from pliant.formulations.lagrange.typesetting.closed_forms import AGREES, LATEX, ClosedForm, LinkShapes, link_shapes
from pliant.formulations.lagrange.typesetting.expression import (
    LARGEST_DENOMINATOR,
    Name,
    Product,
    Sum,
    evaluate,
    names_in,
    product_of,
)

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism, Member, Part
    from pliant.model.description.robot import Robot

WORDS = {
    "EIy": ("N m^2", "bending stiffness about y"),
    "EIz": ("N m^2", "bending stiffness about z"),
    "EA": ("N", "stiffness along the axis"),
    "GJ": ("N m^2", "torsional stiffness"),
}
NOTHING = Sum((Product(Fraction(0), ()),))
ROUNDING, LARGEST_SHORT = 1e-14, 16
"""A decimal that misses a fraction with a small denominator by rounding is that fraction."""


@dataclass(frozen=True, slots=True)
class Definitions:
    """Modal constants that follow from parameters.

    table   all constants, parameters that had no symbol before among them; those that may change are not bound
    sums    what the variables of modal constants are
    loaded  links whose shapes belong to a load on their tip, and stay as they are
    """

    table: dict[int, Constant]
    sums: dict[int, Sum]
    loaded: tuple[str, ...]


def definitions(robot: Robot, mechanism: Mechanism, names: Names, table: Mapping[int, Constant]) -> Definitions:
    """The definitions of all modal constants that have one."""
    shapes = link_shapes(robot)
    out, sums, loaded, bound = dict(table), dict[int, Sum](), [], set[str]()
    for number, member in enumerate(mechanism.members, start=1):
        own = shapes[member.name]
        if own is None:
            continue
        link = _LinkDefinitions(number, member, own, names, out)
        for variable, constant in table.items():
            if not link.owns(constant):
                continue
            found = link.definition(constant)
            if found is None:
                # it was integrated with the length and the mass of its link
                bound.add(str(number))
            else:
                sums[variable] = found
        if own.loaded:
            loaded.append(member.name)
    used = {name for one in sums.values() for name in names_in(one)}
    for variable, constant in list(out.items()):
        letter, _, place = constant.family.partition("_")
        if variable not in table and constant.name not in used:
            del out[variable]
        elif letter in ("l", "rho") and place not in bound:
            out[variable] = replace(constant, bound=False)
    ordered = sorted(out.items(), key=lambda item: KINDS.index(item[1].kind))
    return Definitions(dict(ordered), sums, tuple(loaded))


@dataclass(slots=True)
class _LinkDefinitions:
    """The parameters of one link as factors, made when they are first needed, and its constants by them."""

    number: int
    member: Member
    shapes: LinkShapes
    names: Names
    table: dict[int, Constant]
    tip_masses: list[Sum] | None = field(init=False)
    own: LinkNames = field(init=False)

    def __post_init__(self) -> None:
        self.own = LinkNames(self.names, self.number, self.member.name, ())
        self.tip_masses = self._tip_masses()

    def owns(self, constant: Constant) -> bool:
        """Whether a constant was integrated over this link."""
        if constant.origin is not None:
            return constant.origin.link == self.member.name
        letter, _, number = constant.family.partition("_")
        return constant.bound and number == str(self.number) and letter not in ("l", "rho")

    def definition(self, constant: Constant) -> Sum | None:
        """A constant by parameters; None where it has no such form, or where that form is another number."""
        if constant.origin is None:
            return None
        found = self._of(constant.origin)
        if found is None:
            return None
        value = float(evaluate(found, self._value))
        size = max(abs(constant.value), float(evaluate(_absolute(found), self._value)))
        return found if abs(value - constant.value) <= AGREES * size else None

    # ---- by the kind of constant

    def _of(self, origin: Origin) -> Sum | None:
        n = len(self.shapes.shapes)
        match origin.quantity:
            case "value" | "slope" | "stiffness":
                return self._closed(self.shapes.closed(origin))
            case "whole":
                return self._whole(origin.frame)
            case "shortening":
                return self._gamma(origin) if origin.frame == "tip" else None
            case "form":
                return self._form(origin)
        further = [k - n for k in origin.shapes if k >= n]
        if further:
            return self._further(origin, further, [k for k in origin.shapes if k < n])
        beam = self._closed(self.shapes.closed(origin))
        if beam is None or self.tip_masses is None:
            return None
        at_tip = [self._closed(self.shapes.closed(Origin("value", origin.link, (k,), "tip"))) for k in origin.shapes]
        if not self.tip_masses:
            return beam
        if any(x is None for x in at_tip):
            return None
        lever = [self.length()] if origin.quantity == "moment" else []
        return _plus(beam, *(_times(mass, *lever, *(x for x in at_tip if x)) for mass in self.tip_masses))

    def _whole(self, which: str) -> Sum | None:
        """Mass, first moment along the axis, or inertia about the root, of the beam and the points on its tip."""
        power, part = {"mass": (0, 1), "first x": (1, 2), "inertia yy": (2, 3), "inertia zz": (2, 3)}.get(which, (0, 0))
        if not part or self.tip_masses is None or (self.shapes.has_sections and power == 2):
            return None
        lever = [self.length()] * power
        beam = _times(_number(Fraction(1, part)), self.parameter("rho"), self.length(), *lever)
        return _plus(beam, *(_times(mass, *lever) for mass in self.tip_masses))

    def _spread(self) -> Sum | None:
        """J_c = J - S^2/m about the centre of mass."""
        m, S, J = (self._whole(which) for which in ("mass", "first x", "inertia zz"))
        if m is None or S is None or J is None:
            return None
        if not self.tip_masses:
            return _times(_number(Fraction(1, 12)), self.parameter("rho"), *[self.length()] * 3)
        return _plus(J, _times(_number(-1), _over(_times(S, S), m)))

    def _centre(self) -> Sum | None:
        m, S = self._whole("mass"), self._whole("first x")
        return None if m is None or S is None else _over(S, m)

    def _further(self, origin: Origin, further: list[int], shapes: list[int]) -> Sum | None:
        """Integrals of the shift s1 = 1 and the stretch s2 = x - c along the axis, alone and with a shape."""
        if max(further) > 1 or self._has_more_fields():
            return None
        both = sorted(further)
        if not shapes:
            moment = origin.quantity == "moment"
            if both in ([1], [0, 1]) and not moment:
                return NOTHING
            if 1 in both:
                return self._spread()
            return self._whole("first x" if moment else "mass")
        first = self._of(Origin("first", origin.link, (shapes[0],)))
        if both == [0]:
            return first
        second, centre = self._of(Origin("moment", origin.link, (shapes[0],))), self._centre()
        if first is None or second is None or centre is None:
            return None
        return _plus(second, _times(_number(-1), centre, first))

    def _gamma(self, origin: Origin) -> Sum | None:
        """-int phi' phi' dx, the shortening of the tip."""
        found = self._closed(self.shapes.shortening((origin.shapes[0], origin.shapes[1]), "none"))
        return None if found is None else _times(_number(-1), found)

    def _form(self, origin: Origin) -> Sum | None:
        """F_1 = int Gamma dm/m and F_2 = int (x - c) Gamma dm/J_c."""
        pair = (origin.shapes[0], origin.shapes[1])
        if origin.frame not in ("s1", "s2") or self.tip_masses is None or self._has_more_fields():
            return None
        tip = self._gamma(origin)
        beam = [self._closed(self.shapes.shortening(pair, which)) for which in ("first", "second")]
        m, c, J = self._whole("mass"), self._centre(), self._spread()
        if tip is None or beam[0] is None or beam[1] is None or m is None or c is None or J is None:
            return None
        first = _plus(_times(_number(-1), beam[0]), *(_times(mass, tip) for mass in self.tip_masses))
        if origin.frame == "s1":
            return _over(first, m)
        second = _plus(_times(_number(-1), beam[1]), *(_times(mass, self.length(), tip) for mass in self.tip_masses))
        return _over(_plus(second, _times(_number(-1), c, first)), J)

    def _has_more_fields(self) -> bool:
        return bool(getattr(self.member.body.large, "axial", ()))

    def _closed(self, form: ClosedForm | None) -> Sum | None:
        """A closed form without the length in its number."""
        if form is None or form.number.free_symbols:
            return None
        head = _number(_exact(form.number))
        factors = (
            [self.parameter("rho" if form.constant == "mass_per_length" else form.constant)] if form.constant else []
        )
        length = Sum((Product(Fraction(1), ((self.length().parts[0].factors[0][0], form.power),)),))
        return _times(head, *factors, *([length] if form.power else []))

    # ---- parameters

    def length(self) -> Sum:
        """The length of the link."""
        return self.parameter("l")

    def parameter(self, letter: str) -> Sum:
        """A parameter of the link as a factor; it gets a symbol where it had none."""
        link, words = self.member.link, words_of(self.member.link)
        if letter == "l":
            known = self.own.described("l", "l", "", link.length, "m", "length", "geometry", bound=True)
        elif letter == "rho":
            value = words.section_constant("mass_per_length")
            known = self.own.described(
                "rho", r"\rho", "", value, "kg/m", "mass per length", "inertia", scales=True, bound=True
            )
        else:
            unit, text = WORDS[letter]
            known = self.own.described(letter, letter, "", words.section_constant(letter), unit, text, "stiffness")
            known = replace(known, latex=LATEX[letter].format(self.number))
        return self._symbol(known)

    def _symbol(self, wanted: Constant) -> Sum:
        variable = self.names.variable(wanted)
        if variable not in self.table:
            self.table[variable] = self.names.constants[variable]
        constant = self.table[variable]
        return Sum((Product(Fraction(1), ((Name(constant.name, constant.latex), 1),)),))

    def _value(self, name: str) -> float:
        return next(c.value for c in self.table.values() if c.name == name)

    def _tip_masses(self) -> list[Sum] | None:
        """Masses of points that the integrals of the beam count; None where one of them is not on its tip."""
        _, rest = with_points(self.member) if self.member.body.large is not None else (None, list(self.member.parts))
        merged = [part for part in self.member.parts if all(part is not other for other in rest)]
        if any(part.frame != "tip" for part in merged):
            return None
        return [self._mass(part) for part in merged]

    def _mass(self, part: Part) -> Sum:
        payloads = sum(other.name != "hub" for other in self.member.parts)
        mark = "p" if payloads == 1 else f"p{part.name.removeprefix('payload')}"
        text = "mass of the payload"
        return self._symbol(
            self.own.described(f"m{mark}", f"m_{{{mark}}}", "", part.mass, "kg", text, "inertia", scales=True)
        )


# ---------------------------------------------------------------- sums and quotients


def _exact(number: object) -> Fraction | float:
    """A number of SymPy as a fraction where it is a short one."""
    if getattr(number, "is_Rational", False) and int(number.q) <= LARGEST_DENOMINATOR:  # type: ignore[attr-defined]
        return Fraction(int(number.p), int(number.q))  # type: ignore[attr-defined]
    value = float(number)  # type: ignore[arg-type]
    short = Fraction(value).limit_denominator(LARGEST_SHORT)
    return short if abs(value - float(short)) <= ROUNDING * abs(value) else value


def _number(value: Fraction | float) -> Sum:
    return Sum((Product(Fraction(value) if isinstance(value, int) else value, ()),))


def _plus(*sums: Sum) -> Sum:
    return Sum(tuple(part for one in sums for part in one.parts))


def _times(*sums: Sum) -> Sum:
    return Sum((product_of(1, *sums),))


def _over(above: Sum, below: Sum) -> Sum:
    """A quotient; a divisor of one product is divided by factor by factor."""
    if len(below.parts) == 1:
        (part,) = below.parts
        c = part.coefficient
        one: Fraction | float = Fraction(c.denominator, c.numerator) if isinstance(c, Fraction) else 1.0 / c
        return _times(above, Sum((Product(one, tuple((factor, -power) for factor, power in part.factors)),)))
    return _times(above, Sum((Product(Fraction(1), ((below, -1),)),)))


def _absolute(node: Sum) -> Sum:
    """The sum with all of its numbers positive: the size of what cancels in it."""
    parts = ((p.coefficient, p.factors) for p in node.parts)
    return Sum(tuple(Product(c if c > 0 else -c, factors) for c, factors in parts))
