"""``pliant shape``: which shaper lets a motion end without a swing, and what is left with each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.modes_command import joint_values
from pliant.cli.simulate import INTERRUPTED
from pliant.cli.terminal import ForceOption, ProgressBar, check_picture, emit, number, plain, refuse, table, tell, warn

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.simulation.shaping import ShaperRow, Shaping

WORDS = ("start", "end", "middle")
SHOWN = 0.01
"""Share of the frame's deflection from which a mode that is not shaped has a column."""


def shape(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study file or the name of a bundled study.")],
    frame: Annotated[
        str | None, typer.Option(help="The frame whose swing counts; default: the one led, or tip.")
    ] = None,
    modes: Annotated[
        str | None, typer.Option(help="Numbers of the vibrations to shape, such as 1,2; default 1.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="Pose whose frequencies are taken: start, end (default), middle, or elbow=40deg,..."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Part of the swing that may be left, such as 0.05 (default).")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw swing and sensitivity into this PNG, SVG or PDF file.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Print the recommended trajectory as YAML.")] = False,
    force: ForceOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the recommendation only.")] = False,
) -> None:
    """Recommend an input shaper for the motion of a study: what each leaves, by the formula and simulated.

    Ctrl-C ends the simulations; the table has those that are done.
    """
    check_picture(plot)
    from pliant.simulation.shaping import recommend_shaper
    from pliant.simulation.study import unrun_study

    job = unrun_study(study)
    pose: Any = at if at is None or at in WORDS else joint_values(job.robot, [at])
    with _ShapeBar(quiet) as bar:
        found = recommend_shaper(
            job, frame=frame, modes=_numbers(modes), at=pose, tolerance=tolerance, report=bar.update
        )
    if not found.rows:
        tell("interrupted before the first run was done: there is nothing to tell", "yellow", err=True)
        raise typer.Exit(INTERRUPTED)
    if not quiet:
        _tables(found)
    if plot is not None:
        found.plot(plot)
        typer.echo(f"written to {plot}")
    warn(found.warnings)
    tell(_outcome(found), "green", err=False)
    if write:
        typer.echo(found.to_yaml().rstrip())
    if not found.finished:
        tell("interrupted: shapers that are missing above were not tried", "yellow", err=True)
        raise typer.Exit(INTERRUPTED)


def _numbers(given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        refuse(f"--modes {given!r}: write numbers of vibrations, such as 1,2")


def _columns(found: Shaping) -> list[int]:
    """Modes that have a column, counted from 1: the shaped ones, and others that move the frame."""
    shares = found.vibrations.shares.max(axis=0)
    return [k + 1 for k, share in enumerate(shares) if k + 1 in found.design.modes or share > SHOWN]


def _tables(found: Shaping) -> None:
    head = f"[bold]{plain(found.study.name)}[/]: {plain(found.study.robot.name)}, frame {plain(found.frame)}; "
    along = found.vibrations
    bands = table("mode", "at start, Hz", "at end", "lowest", "highest", "damping, %", "share, %")
    for mode in _columns(found):
        k, shaped = mode - 1, "*" if mode in found.design.modes else ""
        ends = (along.hertz[0, k], along.hertz[-1, k], *along.band(mode))
        share = 100 * along.shares[:, k].max()
        bands.add_row(f"{mode}{shaped}", *map(number, ends), number(100 * along.damping[-1, k], 3), number(share, 3))
    limits = table("mode", "rises in, s", "left, %", *(f"jerk of {name}" for name in found.inputs))
    for limit in found.limits:
        left = number(100 * limit.left, 3)
        limits.add_row(str(limit.mode), number(limit.tau), left, *(number(x) for x in limit.jerk))
    made = " and ".join(f"{w / 6.283185307179586:.4g}" for w in found.design.omega)
    emit(
        f"{head}frequencies along the motion {along.words} (* shaped, for {made} Hz; share of the frame's deflection)",
        bands,
        "shapers: by how much the motion is longer, the largest part that is left of each mode along it (formula),\n"
        "the same of the frame by the shares of the modes, and the simulated swing after the end",
        _rows(found),
        "jerk limits that do the same: acceleration that rises in one or two periods of a mode hardly excites it\n"
        "(what is left along the motion by the formula; rad/s^3 or m/s^3, for the largest accelerations)",
        limits,
    )


def _rows(found: Shaping) -> Table:
    modes = _columns(found)
    heads = [f"mode {mode}, %" for mode in modes]
    rows = table("shaper", "longer, s", *heads, "frame, %", "swing, mm", "left, %")
    for row in found.rows:
        best = row.kind == found.best
        rows.add_row(f"[bold]{row.kind}[/]" if best else row.kind, *_cells(row, modes))
    return rows


def _cells(row: ShaperRow, modes: list[int]) -> list[str]:
    formula = [*(row.left[mode - 1] for mode in modes), row.weighted]
    known = [number(100 * x, 3) if x == x else "" for x in formula]
    left = number(100 * row.simulated, 3) if row.simulated == row.simulated else ""
    return [number(row.added), *known, number(1e3 * row.swing), left]


def _outcome(found: Shaping) -> str:
    row = found.row(found.best)
    if row.kind == found.rows[0].kind:
        return "recommended: no shaper"
    return (
        f"recommended: {row.kind}, {row.added:.4g} s longer; the frame swings by {1e3 * row.swing:.4g} mm after the "
        f"motion, {100 * row.simulated:.3g} % of what it does without"
    )


class _ShapeBar(ProgressBar):
    """Which shaper is simulated."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet, 1.0, "{task.fields[kind]}", kind="")

    def update(self, kind: str, part: float) -> bool:
        """Show what is done; True if it shall end."""
        self.bar.update(self.task, completed=part, kind=f"simulating: {kind}")
        return self.interrupted
