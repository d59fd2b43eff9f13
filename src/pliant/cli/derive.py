"""``pliant derive``: equations of motion that a person can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import FAILED, ForceOption, RobotArgument, check_folder, refuse, tell

PAGES = ("latex", "markdown", "html", "text")
LONG = 1000
"""Terms from which on it is told how they would be fewer: about seven pages."""


class Form(StrEnum):
    """How to write the equations."""

    latex = "latex"
    markdown = "markdown"
    html = "html"
    python = "python"
    c = "c"
    fortran = "fortran"
    matlab = "matlab"
    julia = "julia"
    mathematica = "mathematica"
    text = "text"


class BendingTerms(StrEnum):
    """How far links bend."""

    as_described = "as-described"
    linear = "linear"


class TipRotation(StrEnum):
    """How the next link follows the tip of a bent one."""

    slope = "slope"
    chord = "chord"


def derive(
    robot: RobotArgument,
    form: Annotated[
        Form | None, typer.Option("--format", "-f", help="Default: by the ending of the file, otherwise text.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write: .tex, .md, .html, .txt, .py, .c, .f90, .m, .jl, .wl."),
    ] = None,
    force: ForceOption = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="Numbers instead of parameters and constants.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="A symbol that stays one, all others become numbers; may be repeated.")
    ] = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="Add the closed forms of the modal integrals to the table of constants.")
    ] = False,
    inside: Annotated[
        bool,
        typer.Option(
            "--inside", help="Write modal integrals by length, mass per length and stiffness, which stay symbols."
        ),
    ] = False,
    tip_rotation: Annotated[
        TipRotation, typer.Option(help="slope: exact; chord: the approximation of Lin & Lewis.")
    ] = TipRotation.slope,
    bending: Annotated[
        BendingTerms, typer.Option(help="linear: short equations of small deflections, for all links.")
    ] = BendingTerms.as_described,
    steps: Annotated[
        bool,
        typer.Option("--steps", help="The derivation step by step: places, Jacobians, energies, then the equations."),
    ] = False,
    order: Annotated[
        int | None, typer.Option(min=0, help="Entries up to this order in the elastic coordinates; 1: linear in them.")
    ] = None,
    neglect: Annotated[
        float | None, typer.Option(help="Leave out terms that change an entry by less than this part of it: 1e-3.")
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            help="With --neglect: limits NAME=0.02, NAME=-0.1:0.3 or NAME.rate=2 of the states; may be repeated."
        ),
    ] = None,
    most_terms: Annotated[
        int | None, typer.Option(min=1, help="Equations with more terms than this are refused.")
    ] = None,
) -> None:
    """Derive the equations of motion in closed form and write them for people or as code."""
    from pliant.formulations.lagrange.algebra.derivation import MOST_TERMS, TERMS_PER_PAGE
    from pliant.formulations.lagrange.equations import ENDINGS, equations

    if form is None:
        ending = output.suffix.lower() if output is not None else ".txt"
        if ending not in ENDINGS:
            refuse(f"{output}: give --format, or a name that ends in {', '.join(ENDINGS)}")
        form = Form(ENDINGS[ending])
    if (neglect is None) != (not within):
        refuse("--neglect leaves out what is small in the limits of --within: give both")
    if inside and closed:
        refuse("--inside and --closed: closed forms are written either inside the equations or in the table")
    if steps and form.value not in PAGES:
        refuse(f"--steps is for pages ({', '.join(PAGES)}); {form.value} has the equations alone")
    if output is not None:
        check_folder(output, ())
    try:
        with _progress() as report:
            found = equations(
                robot,
                parameters=tuple(keep) if keep else "numbers" if numbers else "symbols",
                tip_rotation=tip_rotation.value,
                bending=bending.value,
                integrals="inside" if inside else "closed" if closed else "values",
                order=order,
                most_terms=most_terms or MOST_TERMS,
                progress=report,
            )
            if neglect is not None:
                found, _ = found.neglecting(neglect, *_limits(robot, within or []))
            report(0.9, "writing")
            text = found.to(form.value, steps=steps)
    except ImportError as error:
        tell(str(error))
        raise typer.Exit(FAILED) from None
    if found.system.terms > LONG:
        for way in found.shorter:
            tell(
                f"{found.system.terms:,} terms, some {found.system.terms // TERMS_PER_PAGE} pages; shorter: {way}",
                "yellow",
            )
    if output is None:
        typer.echo(text, nl=False)
        return
    from pliant.files import write_generated

    write_generated(output, text, next(key for key, value in ENDINGS.items() if value == form.value))
    typer.echo(f"{output}: {len(found.coordinates)} coordinates, {found.system.terms} terms")


def _limits(robot: str, given: list[str]) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Limits of coordinates and of their rates, with units, from NAME=0.02, NAME=-0.1:0.3 and NAME.rate=2."""
    import pliant
    from pliant.dynamics import Dynamics

    arm = Dynamics(pliant.load(robot), compile="never")
    q, v = dict[str, tuple[float, float]](), dict[str, float]()
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            refuse(f"--within {text!r}: write it as NAME=0.02, NAME=-0.1:0.3 or NAME.rate=2")
        try:
            if name.endswith(".rate"):
                own = name.removesuffix(".rate")
                v[own] = float(arm.v({own: value})[arm.names.index(own)])
            else:
                low, colon, high = value.partition(":")
                ends = [
                    float(arm.q({name: end.strip()})[arm.names.index(name)]) for end in (low, high if colon else low)
                ]
                q[name] = (ends[0], ends[1]) if colon else (-abs(ends[0]), abs(ends[0]))
        except ValueError as error:
            refuse(f"--within {text!r}: {error.args[0]}")
    return q, v


@contextmanager
def _progress() -> Iterator[Callable[[float, str], None]]:
    """A bar on the terminal, gone when the work is done; nothing where the output is no terminal."""
    import sys

    if not sys.stderr.isatty():
        yield lambda part, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda part, text: bar.update(task, completed=part, description=text)
