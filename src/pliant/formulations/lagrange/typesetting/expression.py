"""Expressions for readers: sums of products in a chosen order, written as LaTeX, MathML, plain text or SymPy.

SymPy sorts the terms of a sum and the factors of a product its own way; a textbook puts the mass first, then lengths,
then the cosine. These few classes keep the order that they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from html import escape
from typing import Any

from pliant.spatial.scalars import Scalar, cos, sin, stumpff

# coefficients of a derivation are multiples of powers of 1/2; a larger denominator is a measured number
LARGEST_DENOMINATOR = 1 << 12

# digits of numbers in pages for people; code and plain text get all of them
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol."""

    text: str
    latex: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of a sum: cos, sin, a function c_k of a squared angle, or the Cayley factor."""

    function: str
    latex: str
    argument: Sum


@dataclass(frozen=True, slots=True)
class Product:
    """A number times powers of factors."""

    coefficient: Number
    factors: tuple[tuple[Factor, int], ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of products; without any it is zero."""

    parts: tuple[Product, ...]

    def __bool__(self) -> bool:
        return bool(self.parts)


Factor = Name | Call | Sum
Number = Fraction | float
ZERO = Sum(())


def product_of(coefficient: Number | int, *factors: Factor) -> Product:
    """A product; a sum of a single product is multiplied out, a sum that starts with a minus changes its sign."""
    out: dict[Factor, int] = {}
    if isinstance(coefficient, int):
        coefficient = Fraction(coefficient)
    for factor in factors:
        if isinstance(factor, Sum) and len(factor.parts) > 1 and factor.parts[0].coefficient < 0:
            factor, coefficient = Sum(tuple(Product(-p.coefficient, p.factors) for p in factor.parts)), -coefficient
        if isinstance(factor, Sum) and len(factor.parts) == 1:
            (inner,) = factor.parts
            coefficient = times(coefficient, inner.coefficient)
            for base, power in inner.factors:
                out[base] = out.get(base, 0) + power
        else:
            out[factor] = out.get(factor, 0) + 1
    return Product(coefficient, tuple(item for item in out.items() if item[1]))


def exact(value: float) -> Number:
    """A coefficient as a fraction where it is one."""
    fraction = Fraction(value)
    return fraction if fraction.denominator <= LARGEST_DENOMINATOR else value


def times(a: Number, b: Number) -> Number:
    """A product that stays exact where both numbers are."""
    return a * b if isinstance(a, Fraction) and isinstance(b, Fraction) else float(a) * float(b)


def names_in(node: Factor | Product) -> set[str]:
    """The symbols that occur."""
    match node:
        case Name():
            return {node.text}
        case Call():
            return names_in(node.argument)
        case Sum():
            return {name for part in node.parts for name in names_in(part)}
    return {name for factor, _ in node.factors for name in names_in(factor)}


def with_values(node: Sum, values: Mapping[str, float]) -> Sum:
    """A sum without calls, with numbers for some of its symbols."""
    out = []
    for part in node.parts:
        coefficient, factors = part.coefficient, list[tuple[Factor, int]]()
        for factor, power in part.factors:
            inner = with_values(factor, values) if isinstance(factor, Sum) else factor
            if isinstance(inner, Name) and inner.text in values:
                coefficient = float(coefficient) * values[inner.text] ** power
            elif isinstance(inner, Sum) and not names_in(inner):
                coefficient = float(coefficient) * float(sum(float(p.coefficient) for p in inner.parts)) ** power
            else:
                factors.append((inner, power))
        out.append(Product(coefficient, tuple(factors)))
    return Sum(tuple(out))


# ---------------------------------------------------------------- plain text


def to_text(node: Factor | Product) -> str:
    """Plain text that Python and SymPy read."""
    match node:
        case Name():
            return node.text
        case Call():
            return f"{node.function}({to_text(node.argument)})"
        case Sum():
            return "".join(_signed(part, i, _text_product) for i, part in enumerate(node.parts)) or "0"
    return _signed(node, 0, _text_product)


def _text_product(node: Product) -> str:
    number = node.coefficient
    above, below = [], []
    if isinstance(number, Fraction):
        above = [str(number.numerator)] if number.numerator != 1 else []
        below = [str(number.denominator)] if number.denominator != 1 else []
    else:
        above = [repr(number)]
    for factor, power in node.factors:
        text = f"({to_text(factor)})" if isinstance(factor, Sum) else to_text(factor)
        (above if power > 0 else below).append(text if abs(power) == 1 else f"{text}**{abs(power)}")
    return "/".join(["*".join(above) or "1", *below])


def _signed(part: Product, place: int, write: Callable[[Product], str]) -> str:
    """A part of a sum with its sign before it."""
    if part.coefficient < 0:
        text = write(Product(-part.coefficient, part.factors))
        return f" - {text}" if place else f"-{text}"
    return f" + {write(part)}" if place else write(part)


# ---------------------------------------------------------------- LaTeX


def to_latex(node: Factor | Product) -> str:
    """LaTeX on one line."""
    match node:
        case Name():
            return node.latex
        case Call():
            return rf"{node.latex}{_in_parentheses(node.argument)}"
        case Sum():
            return "".join(_signed(part, i, _latex_product) for i, part in enumerate(node.parts)) or "0"
    return _signed(node, 0, _latex_product)


def _latex_product(node: Product) -> str:
    number, over = _latex_number(node.coefficient, bool(node.factors))
    factors = [number] if number else []
    for factor, power in node.factors:
        if power < 0:
            text = to_latex(factor)
            several = power < -1 or over or sum(p < 0 for _, p in node.factors) > 1
            over.append(_powered(rf"\left({text}\right)" if isinstance(factor, Sum) and several else text, -power))
        else:
            text = rf"\left({to_latex(factor)}\right)" if isinstance(factor, Sum) else to_latex(factor)
            # a prime and a power stand on different sides of a brace
            if power != 1 and "'" in text and isinstance(factor, Name):
                head, _, index = text.partition("_")
                text = f"{{{head}}}_{index}"
            factors.append(_powered(text, power, function=isinstance(factor, Call)))
    above = r" \, ".join(factors) or "1"
    return rf"\frac{{{above}}}{{{' '.join(over)}}}" if over else above


def _powered(text: str, power: int, *, function: bool = False) -> str:
    if power == 1:
        return text
    return rf"\left({text}\right)^{{{power}}}" if function else f"{text}^{{{power}}}"


def _in_parentheses(argument: Sum) -> str:
    (first, *rest) = argument.parts
    if not rest and first.coefficient == 1 and len(first.factors) == 1:
        return rf" {to_latex(argument)}"
    return rf"\left({to_latex(argument)}\right)"


def _latex_number(number: Number, has_factors: bool) -> tuple[str, list[str]]:
    if isinstance(number, Fraction):
        if number == 1 and has_factors:
            return "", []
        if number.denominator != 1 and has_factors:
            return ("" if number.numerator == 1 else str(number.numerator)), [str(number.denominator)]
        if number.denominator != 1:
            return rf"\frac{{{number.numerator}}}{{{number.denominator}}}", []
        return short_number(float(number)), []
    return latex_number(number), []


def latex_number(value: float) -> str:
    """A rounded number in LaTeX."""
    mantissa, e, exponent = short_number(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else mantissa


def short_number(value: float) -> str:
    """A number with a few digits."""
    return f"{value + 0.0:.{DIGITS}g}"


# ---------------------------------------------------------------- MathML


_MATHML_SPACE = '<mspace width="0.17em"/>'


def to_mathml(node: Factor | Product) -> str:
    """Presentation MathML, which browsers show without any script."""
    match node:
        case Name():
            return latex_symbol_to_mathml(node.latex)
        case Call():
            inner = f"<mo>(</mo>{to_mathml(node.argument)}<mo>)</mo>"
            return f"<mrow>{latex_symbol_to_mathml(node.latex)}<mo>&#x2061;</mo>{inner}</mrow>"
        case Sum():
            parts = [_mathml_signed(part, i) for i, part in enumerate(node.parts)]
            return f"<mrow>{''.join(parts)}</mrow>" if parts else "<mn>0</mn>"
    number = node.coefficient
    above: list[str] = []
    below: list[str] = []
    if isinstance(number, Fraction):
        if number.numerator != 1 or not node.factors:
            above.append(f"<mn>{number.numerator}</mn>")
        if number.denominator != 1:
            below.append(f"<mn>{number.denominator}</mn>")
    else:
        above.append(_mathml_number(number))
    for factor, power in node.factors:
        text = to_mathml(factor)
        if isinstance(factor, Sum):
            text = f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>"
        if abs(power) != 1:
            text = f"<msup>{text}<mn>{abs(power)}</mn></msup>"
        (above if power > 0 else below).append(text)
    top = f"<mrow>{_MATHML_SPACE.join(above)}</mrow>" if above else "<mn>1</mn>"
    return f"<mfrac>{top}<mrow>{''.join(below)}</mrow></mfrac>" if below else top


def _mathml_signed(part: Product, place: int) -> str:
    if part.coefficient < 0:
        return f"<mo>&#x2212;</mo>{to_mathml(Product(-part.coefficient, part.factors))}"
    return ("<mo>+</mo>" if place else "") + to_mathml(part)


def _mathml_number(value: float) -> str:
    mantissa, e, exponent = short_number(value).partition("e")
    if not e:
        return f"<mn>{mantissa}</mn>"
    return f"<mrow><mn>{mantissa}</mn><mo>&#x22C5;</mo><msup><mn>10</mn><mn>{int(exponent)}</mn></msup></mrow>"


_GREEK = {
    r"\alpha": "α", r"\gamma": "γ", r"\varepsilon": "ε", r"\zeta": "ζ", r"\eta": "η", r"\theta": "θ",
    r"\phi": "φ", r"\psi": "ψ", r"\rho": "ρ", r"\tau": "τ", r"\cos": "cos", r"\sin": "sin",
}  # fmt: skip


def latex_symbol_to_mathml(latex: str) -> str:
    r"""One of our own symbols, such as ``\dot{\theta}_{2}`` or ``\phi'_{2,1}``, in MathML."""
    head, underscore, index = latex.partition("_")
    index = index.removeprefix("{").removesuffix("}").replace(r"\_", "_")
    dotted = head.startswith(r"\dot{")
    if dotted:
        head = head.removeprefix(r"\dot{").removesuffix("}")
    prime = head.endswith("'")
    letter = head.removesuffix("'")
    text = f"<mi>{escape(_GREEK.get(letter, letter))}</mi>"
    if dotted:
        text = f"<mover>{text}<mo>&#x2D9;</mo></mover>"
    if prime:
        text = f"<msup>{text}<mo>&#x2032;</mo></msup>"
    if not underscore:
        return text
    marks = index.replace("{", "").replace("}", "")
    for latex_name, letter in _GREEK.items():
        marks = marks.replace(latex_name, letter)
    return f"<msub>{text}<mtext>{escape(marks)}</mtext></msub>"


# ---------------------------------------------------------------- SymPy


def to_sympy(node: Factor | Product) -> Any:
    """An expression as SymPy has it."""
    import sympy

    match node:
        case Name():
            return _symbol(node.text)
        case Call():
            return _called(node)
        case Sum():
            return sympy.Add(*(to_sympy(part) for part in node.parts))
    number = node.coefficient
    head = sympy.Rational(number.numerator, number.denominator) if isinstance(number, Fraction) else sympy.Float(number)
    return sympy.Mul(head, *(to_sympy(factor) ** power for factor, power in node.factors))


@cache
def _symbol(name: str) -> Any:
    import sympy

    return sympy.Symbol(name)


@lru_cache(maxsize=4096)
def _called(node: Call) -> Any:
    """A cosine stands in many terms."""
    return _sympy_function(node.function)(to_sympy(node.argument))


def _sympy_function(name: str) -> Any:
    import sympy

    if name in ("cos", "sin"):
        return getattr(sympy, name)
    from pliant.formulations.lagrange.typesetting import sympy_functions as functions

    return getattr(functions, name)


# ---------------------------------------------------------------- any scalars


def evaluate(node: Factor | Product, value: Callable[[str], Scalar]) -> Scalar:
    """The value of an expression on any scalars, from those of its symbols by name."""
    match node:
        case Name():
            return value(node.text)
        case Call():
            x = evaluate(node.argument, value)
            if node.function in ("cos", "sin"):
                return cos(x) if node.function == "cos" else sin(x)
            return 4.0 / (4.0 + x) if node.function == "cayley" else stumpff(int(node.function[1:]), x)
        case Sum():
            total: Scalar = 0.0
            for part in node.parts:
                total = total + evaluate(part, value)
            return total
    out: Scalar = 1.0
    for factor, power in node.factors:
        x = raised = evaluate(factor, value)
        # a power by itself, which other products share
        for _ in range(abs(power) - 1):
            raised = raised * x
        out = out * raised if power > 0 else out / raised
    return float(node.coefficient) * out
