"""The equations of motion of an arm in symbols, by Lagrange with assumed modes (Lin & Lewis).

M(q) a + D(q, v) v + U q + F v + preload + G(q) + friction = B tau
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from pliant.bodies.words import stiffens_by_load, words_of
from pliant.errors import ModelError, did_you_mean
from pliant.files import write_generated
from pliant.formulations.lagrange.algebra.chain import BodyChain
from pliant.formulations.lagrange.algebra.derivation import MOST_TERMS, WayOut, derive
from pliant.formulations.lagrange.algebra.series import Series
from pliant.formulations.lagrange.algebra.symbolic_lowering import TipRotation
from pliant.formulations.lagrange.algebra.symbols import Abbreviation, Constant, Coordinate, Names, identifier
from pliant.formulations.lagrange.algebra.system_matrices import SymbolicSystem
from pliant.formulations.lagrange.typesetting.expression import Name, Sum, evaluate, names_in, to_sympy, with_values
from pliant.formulations.lagrange.typesetting.writing import EquationWriter
from pliant.formulations.robot_damping import damped
from pliant.model.description.actuators import refuse_lines
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.formulations.lagrange.algebra.bounds import Neglected
    from pliant.formulations.lagrange.closed_loop import ClosedLoop
    from pliant.formulations.lagrange.code.printed import EquationFunctions
    from pliant.formulations.lagrange.neglect import Limits
    from pliant.formulations.lagrange.partition import Partition
    from pliant.formulations.lagrange.symbolic_kinematics import SymbolicKinematics
    from pliant.formulations.lagrange.zero_dynamics import Outputs, SymbolicZeroDynamics
    from pliant.mechanism import Mechanism
    from pliant.model.description.robot import Robot

Format = Literal[
    "latex", "markdown", "html", "text", "python", "c", "fortran", "matlab", "julia", "mathematica"
]  # fmt: skip
BOUND = (
    "the integrals over the shapes of that link were taken with it, and a new value would leave them behind; derive "
    "with integrals='inside' (--inside) where the shapes have closed forms, or change the robot and derive its "
    "equations anew"
)
ENDINGS = {
    ".tex": "latex", ".md": "markdown", ".html": "html", ".txt": "text",
    ".py": "python", ".c": "c", ".f90": "fortran", ".m": "matlab", ".jl": "julia", ".wl": "mathematica",
}  # fmt: skip
FORMATS = tuple(ENDINGS.values())


def equations(
    robot: Robot | str,
    *,
    parameters: Literal["symbols", "numbers"] | Sequence[str] = "symbols",
    tip_rotation: TipRotation = "slope",
    bending: Literal["as-described", "linear"] = "as-described",
    integrals: Literal["values", "closed", "inside"] = "values",
    order: int | None = None,
    most_terms: int = MOST_TERMS,
    progress: Callable[[float, str], None] | None = None,
) -> Equations:
    """Closed-form equations of motion of a robot without loops, or with a small one of pins (see ``closure``).

    robot         a Robot, or the name or path of one
    parameters    "symbols"; "numbers"; or the names of those constants that are to stay symbols
    tip_rotation  "slope": the next link turns with the tip's section; "chord": with the line from root to tip, as in
                  Lin & Lewis, for studies of that approximation
    bending       "linear": all links as if they bent little, which gives much shorter equations for links that bend to
                  second order; "as-described": all terms of the robot
    integrals     "closed" adds the modal integrals in closed form to the table of constants, where they exist; "inside"
                  writes them by lengths, masses per length and stiffnesses, which stay symbols that may change
    order         entries of M, D and G up to this order in the elastic coordinates, 1: linear; None: all terms
    most_terms    arms whose equations would have more terms are refused
    progress      called with the part that is done (0 to 1) and what is being done
    """
    require_sympy()
    from pliant.model.description.robot import Robot
    from pliant.model.readers.library import load

    loaded = robot if isinstance(robot, Robot) else load(robot)
    if tip_rotation not in ("slope", "chord"):
        raise ValueError(f"tip_rotation is {tip_rotation!r}; it must be 'slope' or 'chord'")
    if integrals not in ("values", "closed", "inside"):
        raise ValueError(f"integrals is {integrals!r}; it must be 'values', 'closed' or 'inside'")
    if bending not in ("as-described", "linear"):
        raise ValueError(f"bending is {bending!r}; it must be 'as-described' or 'linear'")
    bent = tuple(link.name for link in loaded.links if stiffens_by_load(link)) if bending == "linear" else ()
    loaded = _bending_little(loaded) if bent else loaded
    refuse_lines(loaded, "closed-form equations do not know")
    mechanism = damped(loaded)
    names, system, chain = derive(
        mechanism,
        _way_out(loaded, robot),
        tip_rotation=tip_rotation,
        most_terms=most_terms,
        progress=progress,
        tied=True,
        small_loops=True,
    )
    all_terms = system.sizes
    if order is not None:
        if isinstance(order, bool) or not isinstance(order, int) or order < 0:
            raise ValueError(f"order is {order!r}; it must be 0, 1, 2, ...")
        from pliant.formulations.lagrange.algebra.truncation import truncated

        system = truncated(names, system, order)
    constants = names.final(names.needed(system.all_series()))
    if integrals == "closed":
        from pliant.formulations.lagrange.typesetting.closed_forms import with_closed_forms

        constants = with_closed_forms(loaded, constants)
    whole = Equations(
        loaded.name, tip_rotation, system, names, constants, chain, shortened=bent, shorter=_shorter(loaded),
        order=order, all_terms=all_terms,
    )  # fmt: skip
    if integrals == "inside":
        from pliant.formulations.lagrange.typesetting.definitions import definitions

        found = definitions(loaded, mechanism, names, constants)
        whole = replace(
            whole, table=found.table, definitions=found.sums, loaded=found.loaded, source=(loaded, mechanism)
        )
    if parameters == "symbols":
        return whole
    return whole.with_numbers(keep=() if parameters == "numbers" else parameters)


def _bending_little(robot: Robot) -> Robot:
    """The robot with beams of linear bending."""
    links = [words_of(link).with_bending("linear") if stiffens_by_load(link) else link for link in robot.links]
    return robot.with_changes(links=links)


def require_sympy() -> None:
    """Say how to get SymPy where it is missing."""
    try:
        import sympy  # noqa: F401
    except ImportError:
        raise ImportError("equations in symbols need SymPy; install it with: pip install sympy") from None


def _shorter(robot: Robot) -> tuple[str, ...]:
    """What would make the equations of a robot shorter without another robot."""
    families = [words_of(link).families for link in robot.links]
    turning = any(sum(family.rotation is not None for family in own) > 1 for own in families)
    out = []
    if turning and robot.attachment_rotation != "xyz":
        out.append("`attachment_rotation: xyz` in the robot, with cosines and sines, gives about a sixth of the terms")
    if any(map(stiffens_by_load, robot.links)):
        out.append("--bending linear (in Python bending='linear') leaves out what only far bending needs")
    return tuple(out)


def _way_out(robot: Robot, given: Robot | str) -> WayOut:
    # a file is named as the user did; a robot made in Python has to be written to one first
    source = quote(given) if isinstance(given, str) else robot.name if _is_bundled(robot) else "FILE"
    stem = identifier(
        robot.name if source == "FILE" else Path(given if isinstance(given, str) else source).stem
    ).replace("_", "-")
    listing = f"`pliant export {source} --to listing -o {stem}.c`"
    if source == "FILE":
        listing += " after robot.save(FILE)"
    shorter = "".join(f"{way}; " for way in _shorter(robot))
    return WayOut(
        other=f"{listing} writes the recursive model of it",
        smaller=f"{shorter}or use fewer modes or links, or write the recursive model, whose length grows with the "
        f"number of links only: {listing}",
    )


def _is_bundled(robot: Robot) -> bool:
    from pliant.model.readers.library import robots

    return any(known.name == robot.name for known in robots())


@dataclass(eq=False)
class Equations:
    """M(q) a + D(q, v) v + U q + F v + preload + G(q) + friction = B tau, as SymPy matrices.

    Joints that follow others have no coordinates here: they are written by those of their leaders.

    M    inertia (n, n)                          D   Christoffel matrix (n, n): dM/dt - 2 D is skew
    U    stiffness of links and springs (n, n)   F   damping of links and joints (n, n)
    G    gravity (n, 1)                          B   input matrix (n, inputs)

    Every constant is a symbol with a value in ``constants``, or a number.
    """

    robot: str
    tip_rotation: TipRotation
    system: SymbolicSystem
    names: Names
    table: dict[int, Constant]
    chain: BodyChain
    numbers: dict[int, float] = field(default_factory=dict)
    definitions: dict[int, Sum] = field(default_factory=dict)
    """Modal constants that are written by the parameters of their links."""
    source: tuple[Robot, Mechanism] | None = None
    """What the definitions are made of."""
    loaded: tuple[str, ...] = ()
    """Links whose shapes belong to a load on the tip, and stay as they are where parameters change."""
    shortened: tuple[str, ...] = ()
    """Links that bend to second order or exactly in the robot, but little in these equations."""
    shorter: tuple[str, ...] = ()
    """What would make them shorter."""
    order: int | None = None
    """Order in the elastic coordinates up to which entries have terms; None: all."""
    all_terms: Mapping[str, int] = field(default_factory=dict)
    """Terms of M, D and G of all orders."""
    neglected: tuple[str, ...] = ()
    """What small terms were left out, in words."""

    def __repr__(self) -> str:
        n, terms = len(self.coordinates), self.system.terms
        return f"Equations({self.robot!r}, {n} coordinates, {len(self.constants)} constants, {terms} terms)"

    def _repr_html_(self) -> str:
        """Coordinates, efforts and constants, as all tables of notebooks; the equations themselves may fill pages."""
        units = {c.robot_name: c.unit for c in self.coordinates}
        rows = [(c.name, "", c.unit, f"coordinate {c.robot_name}") for c in self.coordinates]
        rows += [
            (effort.text, "", "N" if units.get(joint) == "m" else "N m", f"effort of {joint}")
            for effort, joint in zip(self.efforts, self.inputs, strict=True)
        ]
        rows += [(c.name, f"{c.value:.6g}", c.unit, c.meaning) for c in self.constants]
        law = "M(q) a + D(q, v) v + U q + F v + preload + G(q) + friction = B tau"
        return html_page(repr(self), ("symbol", "value", "unit", "meaning"), rows, (law, *self.scope))

    # ---- symbols

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates in the order of the robot's."""
        return tuple(self.names.coordinates[q] for q in self.system.coordinates)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the actuated joints, in the order of tau."""
        return self.system.inputs

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The constants that are symbols, with their values and meanings."""
        return tuple(c for v, c in self.table.items() if v not in self.numbers and v not in self.definitions)

    @property
    def parameters(self) -> tuple[Constant, ...]:
        """The constants that may have other values: all but those with which the shapes of a link were integrated."""
        return tuple(c for c in self.constants if not c.bound)

    @property
    def values(self) -> dict[str, float]:
        """Values of the constants by name."""
        return {c.name: c.value for c in self.constants}

    @cached_property
    def q(self) -> tuple[Any, ...]:
        """Symbols of the coordinates."""
        return tuple(to_sympy(Name(c.name, c.latex)) for c in self.coordinates)

    @cached_property
    def v(self) -> tuple[Any, ...]:
        """Symbols of the velocities."""
        return tuple(to_sympy(name) for name in self.rates)

    @cached_property
    def tau(self) -> tuple[Any, ...]:
        """Symbols of the efforts of the actuated joints."""
        return tuple(to_sympy(name) for name in self.efforts)

    @property
    def rates(self) -> tuple[Name, ...]:
        """Names of the velocities."""
        return tuple(Name(c.rate, c.rate_latex) for c in self.coordinates)

    @property
    def efforts(self) -> tuple[Name, ...]:
        """Names of the efforts."""
        return tuple(Name(f"tau_{k + 1}", rf"\tau_{{{k + 1}}}") for k in range(len(self.inputs)))

    def symbol(self, name: str) -> Any:
        """The symbol of a constant, a coordinate, a velocity or an effort."""
        known = {c.name for c in self.constants} | {str(s) for s in (*self.q, *self.v, *self.tau)}
        self._must_be_known((name,), known)
        return to_sympy(Name(name, name))

    # ---- the equations as SymPy

    @cached_property
    def M(self) -> Any:
        """Inertia matrix."""
        return self._matrix(self.system.M)

    @cached_property
    def D(self) -> Any:
        """Coriolis and centrifugal matrix by Christoffel symbols."""
        import sympy

        writer = self.writer(expanded=True)
        rows = self.system.christoffel
        return sympy.ImmutableMatrix([[to_sympy(writer.velocity_entry(x, self.rates)) for x in row] for row in rows])

    @cached_property
    def U(self) -> Any:
        """Stiffness matrix."""
        return self._matrix(self.system.U)

    @cached_property
    def F(self) -> Any:
        """Damping matrix."""
        return self._matrix(self.system.F)

    @cached_property
    def G(self) -> Any:
        """Forces of gravity."""
        return self._matrix([[x] for x in self.system.G])

    @cached_property
    def preload(self) -> Any:
        """Forces of the joint springs where all coordinates are zero."""
        return self._matrix([[x] for x in self.system.preload])

    @cached_property
    def B(self) -> Any:
        """Input matrix: the motor acts on the tangent of the root, which pinned shapes turn."""
        return self._matrix(self.system.B)

    @property
    def Q(self) -> Any:
        """Generalised forces B tau."""
        import sympy

        return self.B * sympy.Matrix(self.tau)

    @cached_property
    def friction(self) -> Any:
        """Smoothed dry friction of the joints, f tanh(r/e) of the motor rate r."""
        import sympy

        writer = self.writer(expanded=True)
        out = [sympy.Integer(0)] * len(self.coordinates)
        place = {q: i for i, q in enumerate(self.system.coordinates)}
        for drive in self.system.friction:
            row = {place[q]: to_sympy(writer.entry(weight)) for weight, q in drive.row}
            rate = sum(weight * self.v[i] for i, weight in row.items())
            coulomb, smoothing = (to_sympy(writer.entry(x)) for x in (drive.coulomb, drive.smoothing))
            for i, weight in row.items():
                out[i] += weight * coulomb * sympy.tanh(rate / smoothing)
        return sympy.ImmutableMatrix(len(out), 1, out)

    @cached_property
    def bias(self) -> Any:
        """Everything on the left-hand side but M a."""
        import sympy

        q, v = sympy.Matrix(self.q), sympy.Matrix(self.v)
        return (self.D + self.F) * v + self.U * q + self.preload + self.G + self.friction

    def christoffel(self, i: int, j: int, k: int) -> Any:
        """The factor of v_k in D_ij, counted from 0: (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i)/2."""
        zero = self.names.algebra.number(0.0)
        return to_sympy(self.writer(expanded=True).entry(self.system.christoffel[i][j].get(k, zero)))

    def _matrix(self, rows: Sequence[Sequence[Series]]) -> Any:
        import sympy

        writer = self.writer(expanded=True)
        entries = [to_sympy(writer.entry(x)) for row in rows for x in row]
        return sympy.ImmutableMatrix(len(rows), len(rows[0]) if rows else 0, entries)

    # ---- for pages and code

    @property
    def scope(self) -> tuple[str, ...]:
        """What these equations leave out or keep fixed, line by line; none unless it was asked for."""
        from pliant.formulations.lagrange.typesetting.scope import scope

        return scope(self)

    def writer(self, *, expanded: bool, named: bool = False) -> EquationWriter:
        """Writes entries as expressions; ``expanded`` writes abbreviations out, ``named`` no constant that is one."""
        inside = {} if named else {v: s for v, s in self._defined.items() if expanded or len(s.parts) == 1}
        return EquationWriter(self.names, self.table, self.numbers, expanded, inside)

    @property
    def _defined(self) -> dict[int, Sum]:
        """The definitions that are left where some symbols became numbers."""
        values = {self.table[v].name: x for v, x in self.numbers.items()}
        kept = {v: s for v, s in self.definitions.items() if v not in self.numbers}
        return {v: with_values(s, values) for v, s in kept.items()} if values else kept

    def defined(self, *, written: bool = True) -> list[tuple[Constant, Sum]]:
        """Modal constants with what they are made of; ``written``: only those that entries do not write out."""
        return [(self.table[v], s) for v, s in self._defined.items() if not written or len(s.parts) > 1]

    def abbreviations(self, *, named: bool = False) -> list[tuple[Abbreviation, Sum]]:
        """Deflections and slopes of tips that pages write as one letter."""
        return self.writer(expanded=True, named=named).abbreviations(self.system.all_series())

    # ---- other numbers

    def with_values(self, values: Mapping[str, float]) -> Equations:
        """These equations with other values of some constants.

        Lengths and masses of links that bend are refused unless the integrals over their shapes are inside: these were
        taken with them.
        """
        for v, s in self.definitions.items():
            if (name := self.table[v].name) in values:
                raise ModelError(f"{name} follows from {', '.join(sorted(names_in(s)))}; change these")
        self._must_be_known(values, {c.name for c in self.constants})
        for c in self.constants:
            if c.bound and c.name in values and float(values[c.name]) != c.value:
                raise ModelError(f"{c.name} is the {c.meaning}, {c.value:g} {c.unit}; {BOUND}")
        table = {v: replace(c, value=float(values.get(c.name, c.value))) for v, c in self.table.items()}
        new = {c.name: c.value for c in table.values()}
        table |= {v: replace(table[v], value=float(evaluate(s, new.__getitem__))) for v, s in self.definitions.items()}
        numbers = {v: table[v].value for v in self.numbers}
        return replace(self, table=table, numbers=numbers)

    def with_numbers(self, keep: Iterable[str] = ()) -> Equations:
        """These equations with numbers instead of constants, but for those that are kept."""
        kept = {keep} if isinstance(keep, str) else set(keep)
        self._must_be_known(kept, {c.name for c in self.constants})
        depends = {v for v, s in self.definitions.items() if names_in(s) & kept}
        numbers = {v: c.value for v, c in self.table.items() if c.name not in kept and v not in depends}
        return replace(self, numbers=numbers)

    def _must_be_known(self, names: Iterable[str], known: set[str]) -> None:
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known) or f"; there are {', '.join(sorted(known)) or 'none'}"
                raise ModelError(f"the equations of '{self.robot}' have no symbol '{name}'{hint}")

    # ---- the steps between

    @cached_property
    def closure(self) -> ClosedLoop:
        """What closes the loops of the robot, and its equations without the coordinates that follow from them."""
        from pliant.formulations.lagrange.closed_loop import ClosedLoop

        return ClosedLoop(self)

    @cached_property
    def kinematics(self) -> SymbolicKinematics:
        """Positions, rotations and Jacobians of all bodies and frames, and the energies of each body, as SymPy."""
        from pliant.formulations.lagrange.symbolic_kinematics import SymbolicKinematics

        return SymbolicKinematics(self)

    @cached_property
    def kinetic_energy(self) -> Any:
        """T = v^T M v / 2."""
        import sympy

        v = sympy.Matrix(self.v)
        return (v.T * self.M * v)[0, 0] / 2

    @cached_property
    def potential_energy(self) -> Any:
        """V of gravity, of links that are strained, and of springs.

        Constants that it has beyond those of the equations are in ``kinematics.complete.values``.
        """
        import sympy

        q = sympy.Matrix(self.q)
        gravity, rest = self._matrix([[self.system.potential, self.system.rest_energy]])
        return gravity + rest + (q.T * self.U * q)[0, 0] / 2 + (self.preload.T * q)[0, 0]

    # ---- parts and approximations

    def partition(self) -> Partition:
        """Blocks of rigid and elastic coordinates in the order of Lin & Lewis: M_RR, M_RF, M_FF and so on."""
        from pliant.formulations.lagrange.partition import partition

        return partition(self)

    def neglecting(
        self, tolerance: float, q: Mapping[str, Limits], v: Mapping[str, float]
    ) -> tuple[Equations, Neglected]:
        """These equations without small terms, and bounds of the errors while the coordinates stay in a box.

        tolerance  the largest error of an entry of M, as a part of sqrt(M_ii M_jj) in the middle of the box; of a row
                   of D v or G, as a part of the bound of its largest term
        q          limits of coordinates by name: (low, high), or one number for -x to x; joint angles may be left out,
                   and then have any value
        v          largest rates of all coordinates by name

        Bounds hold for every state of the box (interval arithmetic, nothing is sampled) and for the values that the
        constants have now.
        """
        from pliant.formulations.lagrange.neglect import neglecting

        return neglecting(self, tolerance, q, v)

    def zero_dynamics(
        self, outputs: Outputs = "joints", at: Mapping[str, float] | None = None, *, gravity: bool = False
    ) -> SymbolicZeroDynamics:
        """What can move while the outputs are kept, in symbols, about the straight robot at a pose.

        outputs  "joints": the coordinates of the driven joints, as in Lin & Lewis; "motors": the motor angles, which
                 pinned shapes make different; or as many expressions of ``eq.q`` as there are inputs
        at       values of coordinates by name; others are zero
        gravity  whether the stiffness that gravity gives counts; the paper leaves it out
        """
        from pliant.formulations.lagrange.zero_dynamics import zero_dynamics

        return zero_dynamics(self, outputs, at, gravity=gravity)

    # ---- output

    def functions(self) -> EquationFunctions:
        """The equations as Python functions of q and v that return NumPy arrays."""
        from pliant.formulations.lagrange.code.printed import EquationFunctions

        return EquationFunctions(self)

    def to(self, form: Format, *, steps: bool = False) -> str:
        """The equations as a LaTeX document, a Markdown or HTML page, plain text, or code of a language.

        steps  whether pages have the derivation step by step, from positions to the equations
        """
        from pliant.formulations.lagrange.code.printed import LANGUAGES
        from pliant.formulations.lagrange.typesetting import pages

        if form not in FORMATS:
            raise ValueError(f"the format is {form!r}; it must be one of {', '.join(FORMATS)}")
        if form in LANGUAGES:
            if steps:
                raise ValueError(f"the steps of a derivation are for pages; {form} has the equations alone")
            return LANGUAGES[form].text(self)
        write = {
            "latex": pages.to_latex_document,
            "markdown": pages.to_markdown,
            "html": pages.to_html,
            "text": pages.to_plain_text,
        }
        if steps and (self.order is not None or self.neglected):
            raise ModelError("the steps of a derivation lead to equations with all terms; leave order and neglect out")
        return write[form](self.kinematics.complete if steps else self, steps)

    def save(self, path: str | Path) -> None:
        """Write a file; its ending (.tex, .md, .html, .txt, .py, .c, .f90, .m, .jl, .wl) says in which form."""
        target = Path(path)
        form = ENDINGS.get(target.suffix.lower())
        if form is None:
            raise ValueError(f"{target}: the name must end in one of {', '.join(ENDINGS)}")
        write_generated(target, self.to(form), next(key for key, value in ENDINGS.items() if value == form))  # type: ignore[arg-type]
