"""The equations for readers: a LaTeX document, a Markdown or HTML page, and plain text, in lines that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from pliant.formulations.lagrange.algebra.symbols import latex_text
from pliant.formulations.lagrange.typesetting.expression import (
    Factor,
    Product,
    Sum,
    latex_number,
    latex_symbol_to_mathml,
    short_number,
    to_latex,
    to_mathml,
    to_text,
)

if TYPE_CHECKING:
    from pliant.formulations.lagrange.algebra.system_matrices import SymbolicClosure
    from pliant.formulations.lagrange.equations import Equations

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


# ---- the equations for readers

# letters per line of a page
LATEX_WIDTH, PAGE_WIDTH = 78, 90

EQUATION = r"M(q)\,\ddot q + D(q, \dot q)\,\dot q + U q + F \dot q + G(q) = B\,\tau"


def _law(eq: Equations) -> str:
    return EQUATION + (r" + J^T \lambda, \qquad c(q) = 0" if eq.system.closure else "")


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One equation of a page: what stands left of the sign, in LaTeX and as text, and the sum on its right."""

    latex: str
    text: str
    value: Sum


@dataclass(frozen=True, slots=True)
class PagePart:
    """A matrix or a step of a page: title, remark, a formula (LaTeX and text) and the entries that are not zero."""

    title: str
    remark: str
    entries: tuple[PageEntry, ...]
    formula: str = ""
    formula_text: str = ""


def _parts(eq: Equations, steps: bool = False) -> Iterator[PagePart]:
    writer = eq.writer(expanded=False)
    system = eq.system
    n = range(len(eq.coordinates))

    def matrix(letter: str, rows: list[list[Sum]], upper: bool = False) -> tuple[PageEntry, ...]:
        return tuple(
            PageEntry(f"{letter}_{{{_pair(i, k)}}}", f"{letter}[{i + 1},{k + 1}]", x)
            for i, row in enumerate(rows)
            for k, x in enumerate(row)
            if x and not (upper and k < i)
        )

    def vector(letter: str, values: list[Sum]) -> tuple[PageEntry, ...]:
        return tuple(PageEntry(f"{letter}_{{{i + 1}}}", f"{letter}[{i + 1}]", x) for i, x in enumerate(values) if x)

    short = eq.abbreviations()
    if short:
        entries = tuple(PageEntry(a.latex, a.name, value) for a, value in short)
        yield PagePart(
            "Abbreviations",
            "Deflections and turns of frames on deformed links, and joints that follow others.",
            entries,
        )
    if defined := eq.defined():
        entries = tuple(PageEntry(c.latex, c.name, value) for c, value in defined)
        yield PagePart("Modal integrals", "By the parameters of their links.", entries)
    if steps:
        from pliant.formulations.lagrange.typesetting.derivation_steps import steps_before, steps_between

        yield from steps_before(eq)
    remark = "Entries not listed are zero"
    M = [[writer.entry(x) for x in row] for row in system.M]
    yield PagePart("Inertia M", f"{remark}; M is symmetric.", matrix("M", M, upper=True))
    if steps:
        yield from steps_between(eq)
    D = [[writer.velocity_entry(system.christoffel[i][k], eq.rates) for k in n] for i in n]
    skew = r"\dot M - 2 D is skew-symmetric"
    yield PagePart("Coriolis and centrifugal terms D", f"{remark}; {skew}.", matrix("D", D))
    for title, letter, rows in (("Stiffness U", "U", system.U), ("Damping F", "F", system.F)):
        sums = [[writer.entry(x) for x in row] for row in rows]
        if entries := matrix(letter, sums, upper=True):
            yield PagePart(title, f"{remark}; {letter} is symmetric.", entries)
    if preload := vector("P", [writer.entry(x) for x in system.preload]):
        yield PagePart("Preload P of the springs", "Added to the left-hand side.", preload)
    yield PagePart("Gravity G", f"{remark}.", vector("G", [writer.entry(x) for x in system.G]))
    B = [[writer.entry(x) for x in row] for row in system.B]
    if (loops := system.closure) is not None:
        yield from _closure(eq, loops)
    drives = ", ".join(f"tau_{k + 1} drives {name}" for k, name in enumerate(eq.inputs))
    yield PagePart("Inputs B", f"{remark}; {drives}." if drives else "No joint is driven.", matrix("B", B))


def _closure(eq: Equations, loops: SymbolicClosure) -> Iterator[PagePart]:
    """Loops that are cut open: what must be zero, and its derivatives."""
    writer = eq.writer(expanded=False)
    gaps, rates, changes = [], [], []
    for i in range(len(loops.names)):
        gaps.append(PageEntry(f"c_{{{i + 1}}}", f"c[{i + 1}]", writer.entry(loops.gaps[i])))
        for k, x in enumerate(loops.J[i]):
            if x:
                rates.append(PageEntry(f"J_{{{_pair(i, k)}}}", f"J[{i + 1},{k + 1}]", writer.entry(x)))
            if loops.rates[i][k]:
                value = writer.velocity_entry(loops.rates[i][k], eq.rates)
                changes.append(PageEntry(rf"\dot{{J}}_{{{_pair(i, k)}}}", f"Jdot[{i + 1},{k + 1}]", value))
    words = ", ".join(f"c_{i + 1} is {name}" for i, name in enumerate(loops.names))
    yield PagePart("Closure c(q) = 0", f"{words}.", tuple(gaps))
    yield PagePart("Jacobian J = dc/dq", "Entries not listed are zero.", tuple(rates))
    yield PagePart("Rate of J", "Entries not listed are zero.", tuple(changes))


def _pair(i: int, k: int) -> str:
    return f"{i + 1}{k + 1}" if max(i, k) < 9 else f"{i + 1},{k + 1}"


@dataclass(frozen=True, slots=True)
class _Note:
    """A line below the matrices: as text, and in LaTeX between words."""

    text: str
    latex: str


def _notes(eq: Equations) -> Iterator[_Note]:
    """What the functions in the entries are, and dry friction."""
    used = {f for i, f in eq.names.functions.items() if i in eq.names.needed(eq.system.all_series())}
    if any(f.order is not None for f in used):
        yield _Note(
            "c_k(s) = 1/k! - s/(k+2)! + s^2/(k+4)! - ... of the squared angle s of a turn: with x = sqrt(s) these are "
            "c_1 = sin(x)/x, c_2 = (1 - cos(x))/x^2, c_3 = (x - sin(x))/x^3, c_4 = (x^2/2 - 1 + cos(x))/x^4, and "
            "c_(k+2) = (1/k! - c_k)/s.",
            r"$c_k(s) = \frac{1}{k!} - \frac{s}{(k+2)!} + \frac{s^2}{(k+4)!} - \dots$ of the squared angle $s$ of a "
            r"turn: with $x = \sqrt{s}$ these are $c_1 = \frac{\sin x}{x}$, $c_2 = \frac{1 - \cos x}{x^2}$, "
            r"$c_3 = \frac{x - \sin x}{x^3}$, $c_4 = \frac{x^2/2 - 1 + \cos x}{x^4}$, and "
            r"$c_{k+2} = (1/k! - c_k)/s$.",
        )
    if any(f.order is None for f in used):
        yield _Note(
            "cay(s) = 4/(4 + s) of the squared angle s of a turn.",
            r"$\mathrm{cay}(s) = \frac{4}{4 + s}$ of the squared angle $s$ of a turn.",
        )
    if eq.system.friction:
        yield _Note(
            "Dry friction f_c tanh(r/eps) of the motor rate r of each joint that has it acts in addition.",
            r"Dry friction $f_c \tanh(r/\varepsilon)$ of the motor rate $r$ of each joint that has it acts too.",
        )


# ---------------------------------------------------------------- LaTeX

_LATEX_HEAD = r"""\documentclass[a4paper,10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=18mm]{geometry}
\usepackage{amsmath}
\usepackage{longtable}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\begin{document}
"""


def to_latex_document(eq: Equations, steps: bool = False) -> str:
    """A document that pdflatex turns into pages; long entries are broken over lines."""
    out = [_LATEX_HEAD, rf"\section*{{Equations of motion of {latex_text(eq.robot)}}}", ""]
    out += [r"\[", _law(eq), r"\]", ""]
    out += [latex_text(line) for line in eq.scope]
    rows = [f"${c.latex}$ & {latex_text(c.robot_name)} & {_latex_unit(c.unit)}" for c in eq.coordinates]
    out += _latex_table("lll", "symbol & coordinate & unit", rows)
    for part in _parts(eq, steps):
        remark = latex_text(part.remark).replace(r"\textbackslash{}dot M - 2 D", r"$\dot M - 2 D$")
        out += [rf"\subsection*{{{latex_text(part.title)}}}", remark]
        out += [r"\[", part.formula, r"\]"] if part.formula else []
        out += [*_latex_entries(part.entries), ""]
    for note in _notes(eq):
        out += [note.latex, ""]
    if eq.constants:
        out.append(r"\subsection*{Constants}")
        closed = any(c.closed for c in eq.constants)
        rows = [
            f"${c.latex}$ & {_latex_value(c.value)} & {_latex_unit(c.unit)} & {latex_text(c.meaning)}"
            + (f" & {f'${c.closed}$' if c.closed else ''}" if closed else "")
            for c in eq.constants
        ]
        columns = "lrlp{70mm}l" if closed else "lrll"
        heads = "symbol & value & unit & meaning" + (" & closed form" if closed else "")
        out += _latex_table(columns, heads, rows)
    return "\n".join([*out, r"\end{document}", ""])


def _latex_entries(entries: tuple[PageEntry, ...]) -> list[str]:
    out = [r"\begin{align*}"] if entries else []
    for number, entry in enumerate(entries):
        first, *rest = lines(entry.value, LATEX, LATEX_WIDTH)
        body = [f"{entry.latex} &= {first}", *(rf"&\quad {line}" for line in rest)]
        out.append(" \\\\\n".join(body) + (r" \\" if number < len(entries) - 1 else ""))
    return [*out, r"\end{align*}"] if entries else out


def _latex_table(columns: str, head: str, rows: list[str]) -> list[str]:
    body = [rf"{row} \\" for row in rows]
    return [rf"\begin{{longtable}}{{{columns}}}", rf"{head} \\ \hline", *body, r"\end{longtable}", ""]


def _latex_value(value: float) -> str:
    return f"${latex_number(value)}$"


def _latex_unit(unit: str) -> str:
    return unit.replace("^2", "$^2$").replace("^3", "$^3$")


# ---------------------------------------------------------------- Markdown


def to_markdown(eq: Equations, steps: bool = False) -> str:
    """A page for viewers that show LaTeX formulas between dollar signs."""
    out = [f"# Equations of motion of {eq.robot}", "", "$$", _law(eq), "$$", ""]
    if eq.scope:
        out += [*eq.scope, ""]
    out += ["| symbol | coordinate | unit |", "|---|---|---|"]
    out += [f"| ${c.latex}$ | `{c.robot_name}` | {c.unit} |" for c in eq.coordinates]
    for part in _parts(eq, steps):
        out += ["", f"## {part.title}", "", part.remark.replace(r"\dot M - 2 D", r"$\dot M - 2 D$"), ""]
        out += ["$$", part.formula, "$$", ""] if part.formula else []
        for entry in part.entries:
            first, *rest = lines(entry.value, LATEX, PAGE_WIDTH)
            if not rest:
                out += ["$$", f"{entry.latex} = {first}", "$$", ""]
                continue
            body = [rf"{entry.latex} &= {first} \\", *(rf"&\quad {line} \\" for line in rest)]
            out += ["$$", r"\begin{aligned}", *body, r"\end{aligned}", "$$", ""]
    for note in _notes(eq):
        out += [note.latex, ""]
    if eq.constants:
        closed = any(c.closed for c in eq.constants)
        out += ["", "## Constants", "", "| symbol | value | unit | meaning |" + (" closed form |" if closed else "")]
        out.append("|---|---:|---|---|" + ("---|" if closed else ""))
        for c in eq.constants:
            row = f"| ${c.latex}$ | {short_number(c.value)} | {c.unit} | {c.meaning} |"
            out.append(row + (f" {f'${c.closed}$' if c.closed else ''} |" if closed else ""))
    return "\n".join(out).rstrip() + "\n"


# ---------------------------------------------------------------- HTML

_HTML_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1f2937; }}
math {{ font-size: 1.05rem; }}
.equation {{ overflow-x: auto; padding: .35rem 0; }}
mtd {{ text-align: left; padding: .15rem 0; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #e5e7eb; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
"""


def to_html(eq: Equations, steps: bool = False) -> str:
    """A page that browsers show as it is: formulas in MathML, no script and no other file."""
    title = f"Equations of motion of {eq.robot}"
    out = [_HTML_HEAD.format(title=escape(title)), f"<h1>{escape(title)}</h1>", _HTML_EQUATION]
    if eq.scope:
        out.append(f"<p>{escape(' '.join(eq.scope))}</p>")
    rows = [(_math(latex_symbol_to_mathml(c.latex)), escape(c.robot_name), escape(c.unit)) for c in eq.coordinates]
    out += _html_table(("symbol", "coordinate", "unit"), rows)
    for part in _parts(eq, steps):
        remark = escape(part.remark).replace(r"\dot M - 2 D", "dM/dt − 2D")
        out += [f"<h2>{escape(part.title)}</h2>", f"<p>{remark}</p>"]
        out += [f"<p>{escape(part.formula_text)}</p>"] if part.formula else []
        out += [_html_entry(entry) for entry in part.entries]
    out += [f"<p>{escape(note.text)}</p>" for note in _notes(eq)]
    if eq.constants:
        out.append("<h2>Constants</h2>")
        closed = any(c.closed for c in eq.constants)
        values = [
            (
                _math(latex_symbol_to_mathml(c.latex)),
                short_number(c.value),
                escape(c.unit),
                escape(c.meaning),
                *((escape(c.closed_text),) if closed else ()),
            )
            for c in eq.constants
        ]
        heads = ("symbol", "value", "unit", "meaning", *(("closed form",) if closed else ()))
        out += _html_table(heads, values, numbers=(1,))
    return "\n".join([*out, "</body>", "</html>", ""])


def _html_entry(entry: PageEntry) -> str:
    first, *rest = lines(entry.value, MATHML, PAGE_WIDTH)
    left = latex_symbol_to_mathml(entry.latex)
    rows = [f"<mtr><mtd>{left}<mo>=</mo>{first}</mtd></mtr>"]
    rows += [f'<mtr><mtd><mspace width="2em"/>{line}</mtd></mtr>' for line in rest]
    return f'<div class="equation">{_math("<mtable>" + "".join(rows) + "</mtable>")}</div>'


def _math(inner: str) -> str:
    return f"<math>{inner}</math>"


def _html_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], numbers: tuple[int, ...] = ()) -> list[str]:
    def cell(i: int, text: str) -> str:
        return f'<td class="number">{text}</td>' if i in numbers else f"<td>{text}</td>"

    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = ["<tr>" + "".join(cell(i, text) for i, text in enumerate(row)) + "</tr>" for row in rows]
    return ["<table>", f"<tr>{head}</tr>", *body, "</table>"]


def _html_sum() -> str:
    q, dot, ddot = "<mi>q</mi>", "<mover><mi>q</mi><mo>&#x2D9;</mo></mover>", "<mover><mi>q</mi><mo>&#xA8;</mo></mover>"
    return (
        f"<mi>M</mi><mo>(</mo>{q}<mo>)</mo>{ddot}<mo>+</mo><mi>D</mi><mo>(</mo>{q}<mo>,</mo>{dot}<mo>)</mo>{dot}"
        f"<mo>+</mo><mi>U</mi>{q}<mo>+</mo><mi>F</mi>{dot}<mo>+</mo><mi>G</mi><mo>(</mo>{q}<mo>)</mo>"
        "<mo>=</mo><mi>B</mi><mi>&#x3C4;</mi>"
    )


_HTML_EQUATION = f'<div class="equation">{_math(_html_sum())}</div>'


# ---------------------------------------------------------------- plain text


def to_plain_text(eq: Equations, steps: bool = False) -> str:
    """Sections of ``NAME = EXPRESSION`` lines; the expressions are Python's, one entry per line."""
    out = [
        f"equations of motion of {eq.robot}",
        f"M(q) a + D(q, v) v + U q + F v + G(q) = B tau{' + J^T lambda' if eq.system.closure else ''}",
        "",
    ]
    if eq.scope:
        out += [*(f"# {line}" for line in eq.scope), ""]
    out += ["[coordinates]", *(f"{c.name} = {c.robot_name}  # {c.unit}" for c in eq.coordinates), ""]
    for part in _parts(eq, steps):
        out += [f"[{part.title}]", *([f"# {part.formula_text}"] if part.formula else [])]
        out += [*(f"{entry.text} = {to_text(entry.value)}" for entry in part.entries), ""]
    for note in _notes(eq):
        out += [f"# {note.text}", ""]
    if eq.constants:
        out.append("[constants]")
        for c in eq.constants:
            closed_form = f" = {c.closed_text}" if c.closed_text else ""
            out.append(f"{c.name} = {c.value!r}  # {c.unit or '-'}, {c.meaning}{closed_form}")
    return "\n".join(out).rstrip() + "\n"
