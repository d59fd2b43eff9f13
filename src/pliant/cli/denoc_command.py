"""``pliant denoc``: Mohan & Saha's matrices of a robot, as patterns of blocks and as numbers to check by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.frf import AtOption
from pliant.cli.modes_command import configuration_of
from pliant.cli.terminal import (
    ForceOption,
    RateOption,
    RobotArgument,
    check_picture,
    emit,
    plain,
    rates_of,
    refuse,
    said,
    table,
    tell,
)

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.bodies.modal_body import Array
    from pliant.dynamics import Dynamics
    from pliant.formulations.recursive.denoc import Denoc

MOST = 16
"""Coordinates of robots whose numbers have room on a page."""


def denoc(
    robot: RobotArgument,
    at: AtOption = None,
    rate: RateOption = None,
    effort: Annotated[
        list[str] | None, typer.Option(help="An effort of a drive, JOINT=VALUE in N m or N; may be repeated.")
    ] = None,
    hand: Annotated[
        bool, typer.Option("--hand", help="Every matrix of every link and the solution in numbers.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the patterns: .png, .svg or .pdf.")] = None,
    force: ForceOption = False,
) -> None:
    """The matrices N_l, N_d, M, U, D of a robot by links: their patterns, and with --hand every number."""
    import numpy as np

    import pliant
    from pliant.dynamics import Dynamics

    check_picture(plot)
    loaded = pliant.load(robot)
    arm = Dynamics(loaded, compile="never")
    if hand and arm.size > MOST:
        refuse(f"--hand: '{loaded.name}' has {arm.size} coordinates; numbers of up to {MOST} are printed; leave it out")
    if hand and loaded.actuators:
        names = ", ".join(f"'{each.name}'" for each in loaded.actuators)
        refuse(
            f"--hand: actuators along lines ({names}) push with forces that these equations do not have; leave it out"
        )
    if (rate or effort) and not hand:
        refuse("--rate and --effort enter the numbers that --hand prints; give --hand, too")
    q = configuration_of(arm, at or [])
    try:
        v = arm.v(rates_of(arm, "--rate", rate or []))
        tau = arm.tau(_efforts(effort or []))
    except (ValueError, KeyError) as error:
        refuse(said(error))
    parts = arm.denoc(q, v)
    emit(f"[bold]{plain(loaded.name)}[/]: decoupled natural orthogonal complement (Mohan & Saha)", _links(parts))
    if arm.loops.rows:
        tell(f"note: '{loaded.name}' has closed loops; these are the matrices of its open tree", "yellow")
    _patterns(parts)
    M = np.array(arm.mass_matrix(q))
    N = parts.N_l @ parts.N_d
    size = max(float(np.abs(M).max(initial=0.0)), np.finfo(float).tiny)
    errors = {
        "I = N_d^T N_l^T M N_l N_d + motors": N.T @ parts.M @ N + parts.motors - M,
        "I = U D U^T": parts.U @ parts.D @ parts.U.T - M,
    }
    typer.echo("")
    for words, off in errors.items():
        # digits of rounding differ from machine to machine
        close = float(np.abs(off).max(initial=0.0)) <= 1e-12 * size
        typer.echo(f"{words}: {'to 1e-12 of the largest entry of I' if close else 'NOT the mass matrix'}")
    if hand:
        _by_hand(arm, parts, tau)
    if plot is not None:
        from pliant.pictures.denoc_plot import draw_denoc

        draw_denoc(parts, loaded.name, plot)
        typer.echo(f"\ndrawn: {plot}")


def _efforts(given: list[str]) -> dict[str, float]:
    read = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            read[name.strip()] = float(value)
        except ValueError:
            refuse(f"--effort {text!r}: write it as JOINT=VALUE with a number in N m or N")
    return read


def _links(parts: Denoc) -> Table:
    rows = table("", "link", "joint", "carried by", "coordinates", "rows of U, D", "rows of N_l", words=5)
    for i, link in enumerate(parts.links):
        parent = "base" if link.parent < 0 else str(link.parent + 1)
        own = f"{link.own.start + 1} to {link.own.stop}" if link.coordinates else ""
        twist = f"{link.rows.start + 1} to {link.rows.stop}"
        rows.add_row(
            str(i + 1), plain(link.name), plain(link.joint), parent, plain(", ".join(link.coordinates)), own, twist
        )
    return rows


def _patterns(parts: Denoc) -> None:
    """Blocks by their symbols; a dot where nothing stands."""
    from pliant.formulations.recursive.denoc import PATTERNS

    for name, words in PATTERNS.items():
        rows = parts.pattern(name)
        if not rows or not rows[0]:
            continue
        width = max(len(symbol) for row in rows for symbol in row) + 2
        typer.echo(f"\n{name}, {words}")
        for row in rows:
            typer.echo("  [" + "".join((symbol or ".").rjust(width) for symbol in row) + " ]")


def _by_hand(arm: Dynamics, parts: Denoc, tau: Array) -> None:
    """Every matrix of every link from the tips inward, and the solution of the accelerations."""
    import numpy as np

    for i, link in reversed(list(enumerate(parts.links))):
        k = i + 1
        typer.echo(f"\nlink {k}, {link.name}: twist (linear, angular, elastic rates) in its own axes")
        if link.parent >= 0:
            _show(f"A_{k}{link.parent + 1}, (8)", link.A)
        if link.coordinates:
            _show(f"P_{k}, (8)", link.P)
        _show(f"M_{k}, (24a)", link.M)
        _show(f"M~_{k} = M_{k} + sum A^T M~ A of the links that it carries, (32)", link.composite)
        _show(f"M^_{k} = M_{k} + sum A^T (M^ - Psi^ Psi^T) A of the links that it carries, (38)", link.articulated)
        if link.coordinates:
            _show(f"Psi^_{k} = M^_{k} P_{k}, (37)", link.psi_hat)
            motors = " + motor" if link.motors.any() else ""
            _show(f"I^_{k} = P_{k}^T Psi^_{k}{motors}, (36)", link.I_hat)
            _show(f"Psi_{k} = Psi^_{k} I^_{k}^-1, (37)", link.psi)
    if not parts.names:
        typer.echo("\nnothing can move: there are no coordinates, and nothing to solve")
        return
    typer.echo("")
    _show("U, (35)", parts.U)
    _show("D, (35)", parts.D)
    _show("I = U D U^T", parts.inertia)
    _show("I^-1 = U^-T D^-1 U^-1", parts.inverse)
    phi = np.asarray(arm.B @ tau) - parts.bias
    _show("h: forces where nothing is accelerated, gravity included", parts.bias)
    _show("phi = B tau - h, (33)", phi)
    steps = parts.solve(phi)
    for i, (link, step) in reversed(list(enumerate(zip(parts.links, steps, strict=True)))):
        if link.coordinates:
            typer.echo(f"  step A, link {i + 1}: phi^ = phi - P^T eta_bar = {_row(step.phi_hat)}")
    for i, (link, step) in enumerate(zip(parts.links, steps, strict=True)):
        if link.coordinates:
            typer.echo(f"  step B, link {i + 1}: phi~ = I^^-1 phi^ = {_row(step.phi_tilde)}")
    for i, (link, step) in enumerate(zip(parts.links, steps, strict=True)):
        if link.coordinates:
            typer.echo(f"  step C, link {i + 1}: q_ddot = phi~ - Psi^T mu_bar = {_row(step.q_ddot)}")


def _show(title: str, values: Array) -> None:
    import numpy as np

    column = values.ndim == 2 and values.shape[1] == 1 < len(values)
    typer.echo(f"  {title}{'; a column' if column else ''}")
    for row in values.T if column else np.atleast_2d(values):
        typer.echo("    [" + "".join(_number(x).rjust(11) for x in row) + " ]")


def _row(values: Array) -> str:
    return "[" + ", ".join(_number(x) for x in values) + "]"


def _number(value: float) -> str:
    """Five digits; what is rounding beside one is zero."""
    return f"{0.0 if abs(value) < 1e-12 else value:.5g}"
