"""The derivation itself, without any symbols of other packages: from a robot to the entries of its equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pliant.bodies.words import words_of
from pliant.errors import ModelError, Problem
from pliant.formulations.lagrange.algebra.chain import BodyChain
from pliant.formulations.lagrange.algebra.series import Algebra, TooLargeError
from pliant.formulations.lagrange.algebra.small_loops import MOST_COORDINATES, closures, has_small_loops
from pliant.formulations.lagrange.algebra.symbolic_lowering import TipRotation, build_chain
from pliant.formulations.lagrange.algebra.symbols import Names
from pliant.formulations.lagrange.algebra.system_matrices import SymbolicSystem, assemble

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism

MOST_TERMS = 40_000
"""Terms of M and D together: about ten seconds of work, and some hundred pages."""

WORK_PER_TERM = 30
"""Products of terms that the kinetic energy may cost for each allowed term; robots that fit need a tenth of it."""

TERMS_PER_PAGE = 150


@dataclass(frozen=True, slots=True)
class WayOut:
    """What works for a robot that has no such equations, whose equations are too long, or whose sections turn."""

    other: str
    smaller: str
    exact: str = ""


class Derivation(NamedTuple):
    """What a derivation leaves."""

    names: Names
    system: SymbolicSystem
    chain: BodyChain


def derive(
    mechanism: Mechanism,
    way_out: WayOut,
    *,
    tip_rotation: TipRotation = "slope",
    most_terms: int = MOST_TERMS,
    work_per_term: int = WORK_PER_TERM,
    progress: Callable[[float, str], None] | None = None,
    with_rates: bool = True,
    tied: bool = False,
    small_loops: bool = False,
) -> Derivation:
    """The names and the entries of the equations of a mechanism, and the chain of bodies that they are of.

    tied         joints that follow others have no coordinates of their own
    small_loops  loops that are short in symbols are cut open, with what closes them
    """
    _check(mechanism, way_out, small_loops=small_loops)
    names = Names(Algebra(most=float(most_terms) * work_per_term))
    try:
        chain = build_chain(mechanism, names, tip_rotation, tied=tied)
        system = assemble(chain, progress, most_terms=most_terms, with_rates=with_rates)
    except TooLargeError as error:
        raise _too_large(mechanism, error, most_terms, way_out) from None
    if not system.coordinates:
        raise ModelError(f"nothing moves in robot '{mechanism.name}': it has neither joints nor flexible links")
    if mechanism.loops:
        system = replace(system, closure=closures(mechanism, chain))
    return Derivation(names, system, chain)


def _check(mechanism: Mechanism, way_out: WayOut, *, small_loops: bool) -> None:
    """Refuse robots that have no such equations."""
    if mechanism.loops and not (small_loops and has_small_loops(mechanism)):
        names = ", ".join(f"'{loop.name}'" for loop in mechanism.loops)
        also = f", and for pins in a plane of up to {MOST_COORDINATES} coordinates" if small_loops else ""
        raise ModelError(
            f"robot '{mechanism.name}' has closed loops ({names}); closed-form equations are for open chains{also}; "
            f"{way_out.other}"
        )
    for number, member in enumerate(mechanism.members):
        found = words_of(member.link).no_closed_form()
        if found is not None:
            message = f"{found[0]}, which has no closed form; {found[1]}{way_out.exact}"
            raise ModelError(Problem(f"links[{number}] '{member.name}'", message))


def _too_large(mechanism: Mechanism, error: TooLargeError, most: int, way_out: WayOut) -> ModelError:
    terms = error.args[0] if error.args else 0
    size = (
        f"about {terms:,} terms, some {terms // TERMS_PER_PAGE:,} pages" if terms else f"far more than {most:,} terms"
    )
    return ModelError(
        f"the closed-form equations of '{mechanism.name}' ({mechanism.size} coordinates) would have {size}; "
        f"{most:,} are the most. {way_out.smaller}"
    )
