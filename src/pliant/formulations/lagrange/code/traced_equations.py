"""The equations on a tape, which finds what they have in common, and the contract of a language that writes them.

A language is a class with the words around the expressions; it stands in one module and in one line of the table of
``printed``. Matrices have all entries, zeros as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pliant.engine.compile.statements import Writing, statements
from pliant.engine.trace.tape import STUMPFF, Node, Tape
from pliant.formulations.lagrange.algebra.symbols import identifier
from pliant.formulations.lagrange.typesetting.expression import Sum, evaluate
from pliant.spatial.scalars import Scalar, tanh
from pliant.spatial.vectors import add, dot, times

if TYPE_CHECKING:
    from pliant.formulations.lagrange.algebra.symbols import Constant
    from pliant.formulations.lagrange.equations import Equations

FIXED = (
    "No parameters: the integrals over the shapes of links that bend were taken with these values.",
    "For other ones change the robot and derive its equations anew.",
)
LAW = "M(q) a + D(q, v) v + U q + F v + preload + G(q) + friction = B tau, SI units."
BIAS = "everything on the left-hand side but M a: D v + U q + F v + preload + G + friction"


@dataclass(frozen=True, slots=True)
class EquationFunction:
    """One function to write: its name, what it takes (q, v or neither), its rows, and what it is."""

    name: str
    needs: tuple[str, ...]
    rows: list[list[Scalar]]
    text: str

    @property
    def is_vector(self) -> bool:
        """Whether it has one column."""
        return self.name in ("gravity", "forces", "closure", "closure_bias")


class Written(NamedTuple):
    """A function in the words of a language.

    inputs       (letter, place, name) of coordinates q, velocities v and parameters p that are needed
    fixed        constants that are no parameters
    assignments  (name, expression)
    rows         the entries
    """

    inputs: list[tuple[str, int, str]]
    fixed: list[tuple[str, str]]
    assignments: list[tuple[str, str]]
    rows: list[list[str]]

    def letters(self) -> set[str]:
        """Which of q, v and p are needed."""
        return {letter for letter, _, _ in self.inputs}


@dataclass(slots=True)
class TracedEquations:
    """The equations on a tape; abbreviations are computed where they are first needed, and keep their names."""

    eq: Equations
    short: dict[str, Sum]
    tape: Tape = field(default_factory=Tape)
    known: dict[str, Scalar] = field(default_factory=dict)
    named: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, eq: Equations) -> Self:
        """The tape of some equations, still empty."""
        defined = {c.name: s for c, s in eq.defined(written=False)}
        return cls(eq, defined | {a.name: s for a, s in eq.abbreviations(named=True)})

    def value(self, name: str) -> Scalar:
        """A symbol, or the deflection, slope or integral that an abbreviation stands for."""
        if name not in self.known and name not in self.short:
            self.known[name] = self.tape.symbol(name)
        elif name not in self.known:
            found = self.known[name] = evaluate(self.short[name], self.value)
            if isinstance(found, Node):
                self.named[found.index] = name
        return self.known[name]

    def functions(self) -> Iterator[EquationFunction]:
        """All functions of the equations."""
        eq, system = self.eq, self.eq.system
        writer = eq.writer(expanded=False, named=True)

        def matrix(rows: Sequence[Sequence[Any]]) -> list[list[Scalar]]:
            return [[evaluate(writer.entry(x), self.value) for x in row] for row in rows]

        def vector(entries: Sequence[Any]) -> list[Scalar]:
            return [evaluate(writer.entry(x), self.value) for x in entries]

        D = [[evaluate(writer.velocity_entry(x, eq.rates), self.value) for x in row] for row in system.christoffel]
        U, F, G = matrix(system.U), matrix(system.F), vector(system.G)
        q, v = ([self.value(name) for name in names] for names in state_names(eq))
        rest = add(times(F, v), times(U, q), vector(system.preload), G, self._friction(v))
        skew = "Coriolis and centrifugal matrix D(q, v); dM/dt - 2 D is skew"
        yield EquationFunction("mass_matrix", ("q",), matrix(system.M), "inertia matrix M(q)")
        yield EquationFunction("coriolis", ("q", "v"), D, skew)
        yield EquationFunction("gravity", ("q",), [[x] for x in G], "forces of gravity G(q)")
        yield EquationFunction("forces", ("q", "v"), [[x] for x in rest], "forces U q + F v + preload + G + friction")
        yield EquationFunction("stiffness", (), U, "stiffness U of links and springs")
        yield EquationFunction("damping", (), F, "damping F of links and joints")
        yield EquationFunction("input_matrix", (), matrix(system.B), "input matrix B: generalised forces are B tau")

        if (loops := system.closure) is not None:
            gaps = vector(loops.gaps)
            rates = [[evaluate(writer.velocity_entry(x, eq.rates), self.value) for x in row] for row in loops.rates]
            yield EquationFunction("closure", ("q",), [[x] for x in gaps], "way c(q) by which loops are open")
            yield EquationFunction("closure_jacobian", ("q",), matrix(loops.J), "Jacobian J = dc/dq of the loops")
            bias = [[dot(row, v)] for row in rates]
            yield EquationFunction("closure_bias", ("q", "v"), bias, "acceleration J_dot v of the loops")

    def _friction(self, v: list[Scalar]) -> list[Scalar]:
        """Smoothed dry friction of the joints."""
        writer = self.eq.writer(expanded=False, named=True)
        place = {q: i for i, q in enumerate(self.eq.system.coordinates)}
        out: list[Scalar] = [0.0] * len(v)
        for drive in self.eq.system.friction:
            row = {place[q]: evaluate(writer.entry(weight), self.value) for weight, q in drive.row}
            coulomb, smoothing = (evaluate(writer.entry(x), self.value) for x in (drive.coulomb, drive.smoothing))
            rate = dot(list(row.values()), [v[i] for i in row])
            for i, weight in row.items():
                out[i] = out[i] + weight * coulomb * tanh(rate / smoothing)
        return out

    def written(self, function: EquationFunction, language: EquationLanguage) -> Written:
        """A function in the words of a language."""
        eq, needed, names = self.eq, set[str](), language.names(self.eq)

        def symbol(name: str) -> str:
            needed.add(name)
            return names[name]

        results = [x for row in function.rows for x in row]
        found, texts = statements(
            self.tape, results, symbol, name=self._variables(names, language), writing=language.writing
        )
        width = len(function.rows[0]) if function.rows else 0
        rows = [texts[i * width : (i + 1) * width] for i in range(len(function.rows))]
        places = [*zip("qv", state_names(eq), strict=True), ("p", [c.name for c in eq.parameters])]
        inputs = [(x, i, names[name]) for x, own in places for i, name in enumerate(own) if name in needed]
        fixed = [(names[c.name], language.writing.number(c.value)) for c in fixed_constants(eq) if c.name in needed]
        return Written(inputs, fixed, [(each.name, each.expression) for each in found], rows)

    def _variables(self, names: dict[str, str], language: EquationLanguage) -> Callable[[int], str]:
        """Names of variables: those of abbreviations, else x_0, x_1, ... that no symbol has."""
        taken = {name.lower() for name in names.values()}
        free = (name for k in range(1 << 60) if (name := language.variable(k)).lower() not in taken)
        return lambda i: names[self.named[i]] if i in self.named else next(free)

    @property
    def orders(self) -> list[int]:
        """Entire functions c_k of a squared angle that are called."""
        return sorted({int(op.removeprefix(STUMPFF)) for op in self.tape.op if op.startswith(STUMPFF)})


def state_names(eq: Equations) -> tuple[list[str], list[str]]:
    """Names of the coordinates and of their rates."""
    return [c.name for c in eq.coordinates], [c.rate for c in eq.coordinates]


def fixed_constants(eq: Equations) -> list[Constant]:
    """Constants that are no parameters: the shapes of a link were integrated with them."""
    return [c for c in eq.constants if c.bound]


def code_name(name: str) -> str:
    """The name of a robot as that of functions."""
    text = identifier(name)
    return text if text[:1].isalpha() else f"robot_{text}"


def plain(text: str) -> str:
    """Text that can stand in a comment and in a docstring."""
    return text.replace("*/", "* /").replace("\\", "/").replace('"', "'").replace("*)", "* )").replace("(*", "( *")


def headings(eq: Equations, first: int = 0) -> list[str]:
    """The lines with which a file begins; ``first`` element of an array."""
    lines = [f"Equations of motion of {plain(eq.robot)} in closed form, written by `pliant derive`.", "", LAW, ""]
    if eq.scope:
        lines += [*map(plain, eq.scope), ""]
    lines += [f"q[{i}]  {c.name:<12} {plain(c.robot_name)} ({c.unit})" for i, c in enumerate(eq.coordinates, first)]
    lines += [f"tau[{i}]  {plain(name)}" for i, name in enumerate(eq.inputs, first)]
    return lines


class EquationLanguage(ABC):
    """How a language writes the equations: one file that depends on nothing."""

    name: ClassVar[str]
    ending: ClassVar[str]
    writing: ClassVar[Writing] = Writing()

    def names(self, eq: Equations) -> dict[str, str]:
        """The names of all symbols in this language."""
        return {name: name for name in every_name(eq)}

    def variable(self, k: int) -> str:
        """The name of a variable."""
        return f"x_{k}"

    @abstractmethod
    def text(self, eq: Equations) -> str:
        """The whole file."""


def every_name(eq: Equations) -> list[str]:
    """Names of all symbols: constants, those that follow from others, coordinates, rates and abbreviations."""
    constants = [c.name for c in (*eq.constants, *(c for c, _ in eq.defined(written=False)))]
    return [*constants, *(x for own in state_names(eq) for x in own), *(a.name for a, _ in eq.abbreviations())]


def distinct(names: Iterable[str], rule: Callable[[str], str]) -> dict[str, str]:
    """Names by a rule, with a number behind those that differ in large and small letters only."""
    out, taken = dict[str, str](), set[str]()
    for name in names:
        wanted = unique = rule(name)
        number = 2
        while unique.lower() in taken:
            unique, number = f"{wanted}x{number}", number + 1
        taken.add(unique.lower())
        out[name] = unique
    return out
