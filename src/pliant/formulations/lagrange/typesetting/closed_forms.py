"""Modal integrals of uniform beams in closed form.

With xi = x/l every integral is a number times mass per length or stiffness times a power of the length. The number is

- exact where the shapes are sums of products of powers, exponentials, sines and cosines (also hyperbolic) of multiples
  of x: pinned-pinned shapes, polynomials, and the users' own;
- a decimal, by Gauss quadrature to rounding, where one of them is a vibration shape of a beam: its root beta is one.

Every exact number is compared with the quadrature when it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import sympy

from pliant.bodies.families import FAMILIES
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import equal_breaks, gauss
from pliant.bodies.shapes import Given, Power, Shape, StrainPolynomial, Wave
from pliant.bodies.words import words_of
from pliant.errors import ModelError, Problem
from pliant.formulations.lagrange.algebra.symbols import Constant, Origin
from pliant.formulations.lagrange.typesetting.expression import latex_number, short_number

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

XI = sympy.Symbol("xi", real=True)
L = sympy.Symbol("L", positive=True)

LATEX = {
    "mass_per_length": r"\rho_{{{}}}",
    "EIy": "EI_{{y{}}}",
    "EIz": "EI_{{z{}}}",
    "EA": "EA_{{{}}}",
    "GJ": "GJ_{{{}}}",
}
"""Section constants with the number of the link to be filled in."""

POWERS = (0, 1, 2, 3, 4, 5, 6, -1, -2)
"""Powers of the length that a user's shape may have as a factor."""

PLACE = 0.734
"""Where along a beam a shape is compared with its formula: no node of any of them."""

AGREES = 1e-9
"""Relative difference of an exact integral and its quadrature."""

ROUNDING = 1e-12
"""What is left, relative to its parts, of an integral that is zero."""

SIMPLIFIED = 80
"""Operations of an expression that SymPy simplifies within a second."""

KINDS = "powers of x, and exp, sin, cos, sinh and cosh of multiples of x"


def with_closed_forms(robot: Robot, constants: Mapping[int, Constant]) -> dict[int, Constant]:
    """The constants with the closed forms of those that are modal integrals."""
    shapes = link_shapes(robot)
    numbers = {link.name: number for number, link in enumerate(robot.links, start=1)}
    out = dict(constants)
    for variable, constant in constants.items():
        origin = constant.origin
        own = shapes[origin.link] if origin is not None else None
        if origin is None or own is None or (found := own.closed(origin)) is None:
            continue
        # point masses among the integrals of a beam, or its curvature, make them other ones
        if found.is_of(robot.link(origin.link), constant.value):
            number = numbers[origin.link]
            out[variable] = replace(constant, closed=found.latex(number), closed_text=found.text(number))
    return out


def link_shapes(robot: Robot) -> dict[str, LinkShapes | None]:
    """The shapes of all links by name; None for a rigid one."""
    return {link.name: _link_shapes(robot, number, link) for number, link in enumerate(robot.links)}


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """A number (of SymPy) times a section constant (or nothing) times a power of the length."""

    number: Any
    constant: str
    power: int
    size: float
    """Size of the parts of the number, which cancel where it is small."""

    def value(self, link: Link) -> float:
        """Its value."""
        return float(self.number.subs(L, link.length)) * self._unit(link)

    def is_of(self, link: Link, value: float) -> bool:
        """Whether it has a value, but for rounding."""
        return abs(self.value(link) - value) <= AGREES * self.size * self._unit(link)

    def _unit(self, link: Link) -> float:
        constant = words_of(link).section_constant(self.constant) if self.constant else 1.0
        return constant * link.length**self.power

    def text(self, link: int) -> str:
        """It as plain text, with the number of the link."""
        if self.number == 0:
            return "0"
        value = self.number.subs(L, sympy.Symbol(f"l_{link}"))
        parts = [short_number(float(value)) if value.is_Float else f"({_rounded(value)})"]
        if self.constant:
            parts.append(f"rho_{link}" if self.constant == "mass_per_length" else f"{self.constant}_{link}")
        if self.power:
            parts.append(f"l_{link}**{self.power}")
        return "*".join(parts)

    def latex(self, link: int) -> str:
        """It as LaTeX, with the number of the link."""
        if self.number == 0:
            return "0"
        value = self.number.subs(L, sympy.Symbol(f"l_{link}"))
        text = latex_number(float(value)) if value.is_Float else sympy.latex(_rounded(value))
        constant = {name: latex.format(link) for name, latex in LATEX.items()}.get(self.constant, "")
        length = {0: "", 1: f"l_{{{link}}}"}.get(abs(self.power), f"l_{{{link}}}^{{{abs(self.power)}}}")
        units = [part for part in (constant, length if self.power > 0 else "") if part]
        above = r" \, ".join(units if units and text == "1" else [text, *units])
        return above if self.power >= 0 else f"{above} / {length}"


@dataclass(frozen=True, slots=True)
class _OneShape:
    """A shape of one family, phi = L^power f(xi); its f in XI where there is an exact one, which L may occur in.

    power is None where a normalised shape depends on the length in another way: its integrals have no closed form.
    """

    family: str
    shape: Shape
    power: int | None
    formula: Any | None

    def sampled(self, xi: Array, order: int) -> Array:
        """The derivative of f by xi."""
        length = self.shape.length
        return self.shape(length * xi, order) * length ** (order - (self.power or 0))


@dataclass(frozen=True, slots=True)
class LinkShapes:
    """All shapes of a link, in the order of its coordinates."""

    shapes: tuple[_OneShape, ...]
    length: float
    has_sections: bool
    loaded: bool = False

    def closed(self, origin: Origin) -> ClosedForm | None:
        """The closed form of an integral; None where the sections have inertia, and for frames between the ends."""
        if not origin.shapes or any(k >= len(self.shapes) for k in origin.shapes):
            # of the whole beam, or of a further mode, by which a beam of second-order bending is shortened
            return None
        own = [self.shapes[k] for k in origin.shapes]
        family = own[0].family
        if origin.quantity in ("value", "slope"):
            return self._end(own[0], origin) if origin.frame in ("tip", "root") else None
        if origin.quantity == "stiffness":
            if any(s.family != family for s in own):
                return None
            of = FAMILIES[family]
            return self._integral(own, 2 if of.bends else 1, XI**0, of.stiffness, -3 if of.bends else -1)
        if origin.quantity in ("form", "shortening") or (self.has_sections and origin.quantity != "first"):
            return None
        lever = int(origin.quantity == "moment")
        return self._integral(own, 0, XI**lever, "mass_per_length", 1 + lever)

    def shortening(self, shapes: tuple[int, int], mass: Literal["none", "first", "second"]) -> ClosedForm | None:
        """int phi' phi' dx; times the mass outboard of x; times its first moment about the root.

        By these a beam that bends to second order moves back along its axis: tip, int dm and int x dm.
        """
        own = [self.shapes[k] for k in shapes]
        if any(s.family != own[0].family or not FAMILIES[s.family].bends for s in own):
            return None
        weight, power = {"none": (XI**0, -1), "first": (1 - XI, 0), "second": ((1 - XI**2) / 2, 1)}[mass]
        return self._integral(own, 1, weight, "" if mass == "none" else "mass_per_length", power)

    def _integral(self, own: list[_OneShape], order: int, weight: Any, constant: str, power: int) -> ClosedForm | None:
        """int_0^1 weight prod(phi^(order)) dxi times a section constant and a power of the length."""
        if any(s.power is None for s in own):
            return None
        xi, weights = gauss(equal_breaks(1.0, max(s.shape.panels for s in own)), max(s.shape.points for s in own) + 2)
        factor = np.polyval([float(c) for c in sympy.Poly(weight, XI).all_coeffs()], xi)
        integrand = weights * factor * np.prod([s.sampled(xi, order) for s in own], axis=0)
        value, size = float(integrand.sum()), float(np.abs(integrand).sum())
        number = _number(value, size)
        if all(s.formula is not None for s in own):
            product = weight
            for s in own:
                product *= sympy.diff(s.formula, XI, order)
            number = _agreeing(integrate(product), number, self.length, size)
        elif any(s.formula is not None and s.formula.has(L) for s in own):
            return None
        return ClosedForm(number, constant, power + sum(s.power or 0 for s in own), size)

    def _end(self, own: _OneShape, origin: Origin) -> ClosedForm | None:
        if own.power is None:
            return None
        at = 1 if origin.frame == "tip" else 0
        order = 1 if origin.quantity == "slope" and not FAMILIES[own.family].is_angle else 0
        xi, _ = gauss(equal_breaks(1.0, own.shape.panels), own.shape.points)
        value, size = float(own.sampled(np.array([float(at)]), order)[0]), float(np.abs(own.sampled(xi, order)).max())
        number = _number(value, size)
        if own.formula is not None:
            exact = sympy.simplify(sympy.diff(own.formula, XI, order).subs(XI, at))
            number = _agreeing(exact, number, self.length, size)
        return ClosedForm(number, "", own.power - order, size)


def _number(value: float, size: float) -> Any:
    """A decimal; zero where parts of a size cancel."""
    return sympy.Float(value) if abs(value) > ROUNDING * size else sympy.Integer(0)


def _agreeing(exact: Any, number: Any, length: float, size: float) -> Any:
    """An exact number, unless a decimal for one length says otherwise, or it is one itself in many parts."""
    if exact.has(sympy.Float) and not exact.has(L):
        return number
    return exact if abs(float(exact.subs(L, length)) - float(number)) <= AGREES * size else number


def _link_shapes(robot: Robot, number: int, link: Link) -> LinkShapes | None:
    """The shapes of a flexible link; a link whose integrals have no closed form is refused."""
    if not link.is_flexible:
        return None
    element = f"links[{number}] '{link.name}'"
    way = "leave closed forms out; the constants then have their values by Gauss quadrature"
    words = words_of(link, robot)
    given = words.closed_shapes()
    if isinstance(given, str):
        raise ModelError(Problem(element, f"the integrals of {given} have no closed form; {way}"))
    shapes: list[_OneShape] = []
    for family, shape, text, rule, _ in given:
        found = _exact_shape(family, shape, text, rule)
        if isinstance(shape, Given) and (found.formula is None or not is_integrable(found.formula)):
            message = (
                f"{family}: the shape '{text if isinstance(text, str) else 'Python function'}' cannot be "
                f"integrated in closed form, which takes sums of products of {KINDS}; {way}"
            )
            raise ModelError(Problem(element, message))
        shapes.append(found)
    return LinkShapes(tuple(shapes), link.length, words.sections_turn, any(each.loaded for each in given))


def _exact_shape(family: str, shape: Shape, text: object, rule: str | None) -> _OneShape:
    """A shape with its formula where it is exact: sines, powers and the users' own; scaled as it was normalised."""
    raw = _raw_formula(shape, text)
    if raw is None:
        # a vibration shape, which is the same at all lengths
        return _OneShape(family, shape, 0, None)
    power = next((p for p in POWERS if not sympy.simplify(raw / L**p).has(L)), None)
    if power is not None:
        f = sympy.simplify(raw / L**power)
        if rule == "none":
            return _OneShape(family, shape, power, f)
        # the normalised shape has no length in it
        at = float(shape(shape.length * PLACE)) / float(f.subs(XI, PLACE))
        return _OneShape(family, shape, 0, _exact(at) * f)
    # it is another curve at each length, and its norm another number
    return _OneShape(family, shape, 0 if rule == "none" else None, raw)


def _raw_formula(shape: Shape, text: object) -> Any | None:
    match shape:
        case Power():
            return XI**shape.degree
        case StrainPolynomial():
            raw = sympy.legendre(shape.degree, 2 * XI - 1)
            for _ in range(shape.integrals):
                raw = sympy.integrate(raw, (XI, 0, XI))
            return sympy.expand(L**shape.integrals * raw)
        case Wave(c=0.0, d=0.0):
            # beta of a sine is a multiple of pi/2 unless a tip mass makes it another number
            beta = sympy.nsimplify(shape.beta / sympy.pi.evalf(20), rational=True, tolerance=1e-13) * sympy.pi
            if abs(float(beta) - shape.beta) > 1e-12 * shape.beta or sympy.denom(beta / sympy.pi) > 2:
                return None
            return sympy.nsimplify(shape.a * sympy.cos(beta * XI) + shape.b * sympy.sin(beta * XI), rational=True)
        case Given():
            return sympy.nsimplify(parse(text), rational=True) if isinstance(text, str) else None
    return None


def _exact(factor: float) -> Any:
    """A factor of a normalisation: the root of a fraction, or a number."""
    square = sympy.nsimplify(factor**2, rational=True, tolerance=1e-13)
    return sympy.sign(factor) * sympy.sqrt(square) if sympy.denom(square) <= 1000 else sympy.Float(factor)


@lru_cache(maxsize=256)
def parse(text: str) -> Any:
    """A user's expression, which the model has checked, in XI and L."""
    from sympy.parsing.sympy_parser import parse_expr, rationalize, standard_transformations

    from pliant.model.expressions import parse_expression

    parse_expression(text)
    functions = {
        name: getattr(sympy, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")
    }
    names = {**functions, "pi": sympy.pi, "x": XI * L, "L": L}
    constructors = {name: getattr(sympy, name) for name in ("Symbol", "Integer", "Float", "Rational", "Function")}
    return parse_expr(
        text.replace("^", "**"),
        local_dict=names,
        global_dict={"__builtins__": {}, **constructors},
        transformations=(*standard_transformations, rationalize),
    )


# ---------------------------------------------------------------- exact integrals


def is_integrable(formula: Any) -> bool:
    """Whether a formula is a sum of powers of XI times exponentials of multiples of it."""
    try:
        _terms(formula)
    except ValueError:
        return False
    return True


def integrate(formula: Any) -> Any:
    """int_0^1 of a sum of c xi^p exp(k xi), term by term."""
    total = sympy.Integer(0)
    for c, p, k in _terms(formula):
        if k == 0:
            total += c / (p + 1)
            continue
        upper = sum((-1) ** j * sympy.ff(p, j) / k ** (j + 1) for j in range(p + 1))
        lower = (-1) ** p * sympy.factorial(p) / k ** (p + 1)
        total += c * (sympy.exp(k) * upper - lower)
    # decimals among the factors leave rounding in the imaginary part
    found = sympy.expand(sympy.expand_complex(total).as_real_imag()[0])
    return sympy.simplify(found) if sympy.count_ops(found) <= SIMPLIFIED else found


def _terms(formula: Any) -> list[tuple[Any, int, Any]]:
    """(coefficient, power, rate) of each c xi^p exp(k xi)."""
    expanded = sympy.expand(formula.rewrite(sympy.exp), power_exp=False)
    out = []
    for term in sympy.Add.make_args(sympy.expand(expanded)):
        c, rest = sympy.powsimp(term).as_independent(XI)
        power, rate = 0, sympy.Integer(0)
        for factor in sympy.Mul.make_args(rest):
            if isinstance(factor, sympy.exp):
                slope = sympy.diff(factor.args[0], XI)
                if slope.has(XI) or factor.args[0].subs(XI, 0) != 0:
                    c *= sympy.exp(factor.args[0].subs(XI, 0))
                if slope.has(XI):
                    raise ValueError
                rate += slope
            elif factor == 1:
                continue
            else:
                base, exponent = factor.as_base_exp()
                if base != XI or not exponent.is_Integer or exponent < 0:
                    raise ValueError
                power += int(exponent)
        out.append((c, power, rate))
    return out


# ---------------------------------------------------------------- writing


def _rounded(value: Any) -> Any:
    return value.xreplace({f: sympy.Float(short_number(float(f)), 6) for f in value.atoms(sympy.Float)})
