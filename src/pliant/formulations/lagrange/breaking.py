"""Long sums on several lines: broken between terms, and inside parentheses where a single product is too long."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from pliant.formulations.lagrange.expression import Factor, Product, Sum, to_latex, to_mathml

_COMMAND = re.compile(r"\\[a-zA-Z]+|[{}_^\\ ]")


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How one target writes products, signs and large parentheses."""

    write: Callable[[Factor | Product], str]
    plus: str
    minus: str
    opening: str
    closing: str
    space: str


LATEX = LineStyle(to_latex, "+ ", "- ", r"\bigl( ", r" \bigr)", r" \, ")
MATHML = LineStyle(to_mathml, "<mo>+</mo>", "<mo>&#x2212;</mo>", "<mo>(</mo>", "<mo>)</mo>", "")


@dataclass(slots=True)
class _Piece:
    text: str
    width: int


def width_of(node: Factor | Product) -> int:
    """About how many letters wide something is."""
    return len(_COMMAND.sub("", to_latex(node)))


def lines(entry: Sum, style: LineStyle, width: int) -> list[str]:
    """A sum on as many lines as it needs."""
    out: list[str] = []
    room = 0
    for piece in _pieces(entry, style, width, first=True):
        if out and piece.width <= room:
            out[-1] += f" {piece.text}"
            room -= piece.width
        else:
            out.append(piece.text)
            room = width - piece.width
    return out or [style.write(entry)]


def _pieces(entry: Sum, style: LineStyle, width: int, *, first: bool) -> Iterator[_Piece]:
    for part in entry.parts:
        sign = style.minus if part.coefficient < 0 else "" if first else style.plus
        first = False
        positive = Product(-part.coefficient, part.factors) if part.coefficient < 0 else part
        inner = _longest_sum(positive)
        size = width_of(positive)
        if inner is None or size <= width:
            yield _Piece(sign + style.write(positive), size + 2)
            continue
        place = next(i for i, (factor, _) in enumerate(positive.factors) if factor is inner)
        head, tail = Product(positive.coefficient, positive.factors[:place]), positive.factors[place + 1 :]
        start = style.write(head) + style.space if head.factors or head.coefficient != 1 else ""
        end = style.space + style.write(Product(Fraction(1), tail)) if tail else ""
        pieces = list(_pieces(inner, style, width, first=True))
        pieces[0].text = f"{sign}{start}{style.opening}{pieces[0].text}"
        pieces[0].width += width_of(head) + 2
        pieces[-1].text += f"{style.closing}{end}"
        pieces[-1].width += 1 + (width_of(Product(Fraction(1), tail)) if tail else 0)
        yield from pieces


def _longest_sum(product: Product) -> Sum | None:
    """The sum among the factors of a product at which it may be broken."""
    sums = [factor for factor, power in product.factors if isinstance(factor, Sum) and power == 1]
    return max(sums, key=width_of, default=None)
