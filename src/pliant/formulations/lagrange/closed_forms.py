"""Modal integrals of uniform beams in closed form.

With xi = x/l every integral is a number times mass per length or stiffness times a power of the length. The number is

- exact where the shape is a sum of products of powers, exponentials, sines and cosines (also hyperbolic) of multiples
  of x: pinned-pinned shapes, polynomials, and the users' own;
- for the vibration shapes of a uniform beam, phi'''' = beta^4 phi, a combination of values at the two ends:
  int phi = [phi''']/beta^4,  int xi phi = [xi phi''' - phi'']/beta^4,
  int phi_i phi_k = [phi_i''' phi_k - phi_i'' phi_k' + phi_i' phi_k'' - phi_i phi_k''']/(beta_i^4 - beta_k^4),
  int phi^2 = [xi phi^2 - 2 xi phi' phi'''/beta^4 + (xi phi''^2 + 3 phi phi''' - phi' phi'')/beta^4]/4  (Rayleigh).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sympy

from pliant.bodies.beam_modes import BeamModes
from pliant.bodies.build import shape_sets
from pliant.bodies.shapes import Clamped, Given, Power, Shape, Wave
from pliant.formulations.lagrange.expression import latex_number, short_number
from pliant.formulations.lagrange.names import Constant, Origin
from pliant.model.errors import ModelError, Problem

if TYPE_CHECKING:
    from pliant.model.links import Link
    from pliant.model.robot import Robot

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

STIFFNESS = {"bend_y": "EIz", "bend_z": "EIy", "torsion": "GJ", "axial": "EA"}

KINDS = "powers of x, and exp, sin, cos, sinh and cosh of multiples of x"


def with_closed_forms(robot: Robot, constants: Mapping[int, Constant]) -> dict[int, Constant]:
    """The constants with the closed forms of those that are modal integrals."""
    shapes = link_shapes(robot)
    numbers = {link.name: number for number, link in enumerate(robot.links, start=1)}
    out = {}
    for variable, constant in constants.items():
        origin = constant.origin
        if origin is not None and (own := shapes[origin.link]) and (found := own.closed(origin)) is not None:
            number = numbers[origin.link]
            constant = replace(constant, closed=found.latex(number), closed_text=found.text(number))
        out[variable] = constant
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

    def value(self, link: Link) -> float:
        """Its value."""
        beam = link.beam
        assert beam is not None
        known = beam.at(0.0)
        constant = 1.0 if not self.constant else float(getattr(known, self.constant))
        return float(self.number.subs(L, beam.length)) * constant * beam.length**self.power

    def text(self, link: int) -> str:
        """It as plain text, with the number of the link."""
        value = sympy.simplify(self.number.subs(L, sympy.Symbol(f"l_{link}")))
        parts = [short_number(float(value)) if value.is_Float else f"({_rounded(value)})"]
        if self.constant:
            parts.append(f"rho_{link}" if self.constant == "mass_per_length" else f"{self.constant}_{link}")
        if self.power:
            parts.append(f"l_{link}**{self.power}")
        return "*".join(parts)

    def latex(self, link: int) -> str:
        """It as LaTeX, with the number of the link."""
        value = sympy.simplify(self.number.subs(L, sympy.Symbol(f"l_{link}")))
        text = latex_number(float(value)) if value.is_Float else sympy.latex(_rounded(value))
        constant = {name: latex.format(link) for name, latex in LATEX.items()}.get(self.constant, "")
        length = {0: "", 1: f"l_{{{link}}}"}.get(abs(self.power), f"l_{{{link}}}^{{{abs(self.power)}}}")
        units = [part for part in (constant, length if self.power > 0 else "") if part]
        above = r" \, ".join(units if units and text == "1" else [text, *units])
        return above if self.power >= 0 else f"{above} / {length}"


@dataclass(frozen=True, slots=True)
class _OneShape:
    """A shape of one family: the numeric shape, and its formula in XI and L where there is an exact one."""

    family: str
    shape: Shape
    formula: Any | None


@dataclass(frozen=True, slots=True)
class LinkShapes:
    """All shapes of a link, in the order of its coordinates."""

    shapes: tuple[_OneShape, ...]
    length: float
    has_sections: bool

    def closed(self, origin: Origin) -> ClosedForm | None:
        """The closed form of an integral; None where the sections have inertia, and for frames between the ends."""
        own = [self.shapes[k] for k in origin.shapes]
        family = own[0].family
        if origin.quantity in ("value", "slope"):
            return self._end(own[0], origin) if origin.frame in ("tip", "root") else None
        if origin.quantity == "stiffness":
            is_rod = family in ("torsion", "axial")
            return ClosedForm(self._integral(own, 1 if is_rod else 2, 0), STIFFNESS[family], -1 if is_rod else -3)
        if self.has_sections and origin.quantity != "first":
            return None
        lever = int(origin.quantity == "moment")
        return ClosedForm(self._integral(own, 0, lever), "mass_per_length", 1 + lever)

    def _integral(self, own: list[_OneShape], order: int, power: int) -> Any:
        """int_0^1 xi^power prod(phi^(order)) dxi."""
        if all(s.formula is not None for s in own):
            product = XI**power
            for s in own:
                product *= sympy.diff(s.formula, XI, order)
            return integrate(product)
        return sympy.Float(_by_ends([s.shape for s in own], order, power))

    def _end(self, own: _OneShape, origin: Origin) -> ClosedForm:
        at = 1 if origin.frame == "tip" else 0
        order = 1 if origin.quantity == "slope" and own.family != "torsion" else 0
        if own.formula is not None:
            value = sympy.simplify(sympy.diff(own.formula, XI, order).subs(XI, at))
        else:
            value = sympy.Float(float(own.shape(at * self.length, order)) * self.length**order)
        return ClosedForm(value, "", -order)


def _link_shapes(robot: Robot, number: int, link: Link) -> LinkShapes | None:
    """The shapes of a flexible link; a link whose integrals have no closed form is refused."""
    if not link.is_flexible:
        return None
    element = f"links[{number}] '{link.name}'"
    way = "leave closed forms out; the constants then have their values by Gauss quadrature"
    beam = link.beam
    if beam is None or beam.modes is None or not beam.is_uniform:
        what = (
            "modal data" if beam is None else "a beam of elements" if beam.is_uniform else "a beam that is not uniform"
        )
        raise ModelError(Problem(element, f"the integrals of {what} have no closed form; {way}"))
    shapes: list[_OneShape] = []
    families = beam.modes.families()
    for shape_set in shape_sets(link, robot):
        assert isinstance(shape_set, BeamModes)
        expressions = families[shape_set.family].expressions or ()
        for k, shape in enumerate(shape_set.shapes):
            formula = _formula(shape, expressions[k] if isinstance(shape, Given) else None)
            if isinstance(shape, Given) and (formula is None or not is_integrable(formula)):
                text = expressions[k] if isinstance(expressions[k], str) else "Python function"
                message = (
                    f"{shape_set.family}: the shape '{text}' cannot be integrated in closed form, which takes sums "
                    f"of products of {KINDS}; {way}"
                )
                raise ModelError(Problem(element, message))
            shapes.append(_OneShape(shape_set.family, shape, formula))
    return LinkShapes(tuple(shapes), beam.length, bool(beam.rotary_inertia) or "torsion" in families)


def _formula(shape: Shape, text: object) -> Any | None:
    """A shape in XI and L where it is exact: sines, powers and the users' own; scaled as it was normalised."""
    match shape:
        case Power():
            raw = XI**shape.degree
        case Wave(c=0.0, d=0.0):
            # beta of a sine is a multiple of pi/2 unless a tip mass makes it another number
            beta = sympy.nsimplify(shape.beta / sympy.pi.evalf(20), rational=True, tolerance=1e-13) * sympy.pi
            if abs(float(beta) - shape.beta) > 1e-12 * shape.beta or sympy.denom(beta / sympy.pi) > 2:
                return None
            raw = shape.a * sympy.cos(beta * XI) + shape.b * sympy.sin(beta * XI)
        case Given():
            if not isinstance(text, str):
                return None
            raw = parse(text)
        case _:
            return None
    return _exact(shape.scale) * sympy.nsimplify(raw, rational=True)


def _exact(scale: float) -> Any:
    """A factor of a normalisation: the root of a fraction, or a number."""
    square = sympy.nsimplify(scale**2, rational=True, tolerance=1e-13)
    return sympy.sqrt(square) if sympy.denom(square) <= 1000 else sympy.Float(scale)


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
    return sympy.simplify(sympy.expand(sympy.expand_complex(total)))


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


# ---------------------------------------------------------------- vibration shapes by their values at the ends


def _by_ends(shapes: list[Shape], order: int, power: int) -> float:
    """int_0^1 xi^power prod(phi^(order)) dxi of vibration shapes."""
    ends = [_Ends(shape) for shape in shapes]
    if len(ends) == 1:
        return ends[0].first(power)
    a, b = ends
    if a.beta == b.beta:
        return a.square(order)
    return a.product(b, order)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Derivatives of a shape by xi at the two ends; phi'''' = beta^4 phi, or phi'' = -beta^2 phi of a rod."""

    shape: Shape

    @property
    def beta(self) -> float:
        assert isinstance(self.shape, Wave | Clamped)
        return self.shape.beta

    def d(self, end: int, order: int) -> float:
        """The derivative of any order at an end."""
        whole, rest = divmod(order, 4)
        length = self.shape.length
        return self.beta ** (4 * whole) * float(self.shape(end * length, rest)) * length**rest

    def first(self, power: int) -> float:
        """int phi or int xi phi"""
        if self._is_rod:
            slope = self.d(1, 1) - (self.d(0, 1) if not power else 0.0)
            return -(slope - (self.d(1, 0) - self.d(0, 0) if power else 0.0)) / self.beta**2
        if not power:
            return (self.d(1, 3) - self.d(0, 3)) / self.beta**4
        return (self.d(1, 3) - self.d(1, 2) + self.d(0, 2)) / self.beta**4

    @property
    def _is_rod(self) -> bool:
        return isinstance(self.shape, Wave) and not self.shape.c and not self.shape.d

    def square(self, order: int) -> float:
        """int (phi^(order))^2"""
        if self._is_rod:
            # int phi^2 = [xi phi^2 + (xi phi'^2 - phi phi')/beta^2]/2, the same for its derivatives
            out = 0.0
            for sign, end in ((1.0, 1), (-1.0, 0)):
                f, g = self.d(end, order), self.d(end, order + 1)
                out += sign * (end * f * f + (end * g * g - f * g) / self.beta**2)
            return out / 2
        out = 0.0
        for sign, end in ((1.0, 1), (-1.0, 0)):
            f, g, h, k = (self.d(end, order + i) for i in range(4))
            out += sign * (end * f * f + (-2 * end * g * k + end * h * h + 3 * f * k - g * h) / self.beta**4)
        return out / 4

    def product(self, other: _Ends, order: int) -> float:
        """int phi_i^(order) phi_k^(order)"""
        out = 0.0
        for sign, end in ((1.0, 1), (-1.0, 0)):
            a, b = ([x.d(end, order + i) for i in range(4)] for x in (self, other))
            if self._is_rod:
                out += sign * (a[1] * b[0] - a[0] * b[1])
            else:
                out += sign * (a[3] * b[0] - a[2] * b[1] + a[1] * b[2] - a[0] * b[3])
        n = 2 if self._is_rod else 4
        return (-out if self._is_rod else out) / (self.beta**n - other.beta**n)


# ---------------------------------------------------------------- writing


def _rounded(value: Any) -> Any:
    return value.xreplace({f: sympy.Float(short_number(float(f)), 6) for f in value.atoms(sympy.Float)})
