"""``pliant sweep``: a robot or a study with many values, as a table and a picture."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.simulate import INTERRUPTED
from pliant.cli.terminal import (
    FAILED,
    PAGE_WIDTH,
    ProgressBar,
    check_folder,
    check_picture,
    emit,
    number,
    plain,
    refuse,
    replacing,
    table,
    tell,
    warn,
)

if TYPE_CHECKING:
    from pliant.sweeps.sweep import SweepProgress
    from pliant.sweeps.table import Sweep

SHOWN_ROWS, SHOWN_FAILURES = 12, 3


def sweep(
    subject: Annotated[str, typer.Argument(metavar="STUDY|ROBOT", help="A study or robot file, or a bundled name.")],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="What varies: PLACE=VALUES, such as 'forearm.payloads[0].mass=0:2:11 kg' (first, last, how many), "
            "'drive.kp[0]=100, 200, 400', or to draw from '0..2', '1e-3..1 log', 'normal(1, 0.1)'."
        ),
    ] = None,
    do: Annotated[
        str | None, typer.Option(help="simulate (default for a study), modes (for a robot) or equilibrium.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="What is kept: 'max(tip.deflection)', 'final(elbow)', 'elbow' (history), 'frequency.1'."),
    ] = None,
    sample: Annotated[
        str | None, typer.Option(help="grid (default), zip, random:N or latin:N (evenly drawn in each place).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of what is drawn; default 0.")] = None,
    jobs: Annotated[str, typer.Option(help="Processes; auto: one per processor.")] = "auto",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Table as HDF5 or Parquet; default: NAME-sweep.h5.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the numbers to this CSV file too.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the sweep into this PNG, SVG or PDF file.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://HOST:PORT.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted sweep.")] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            callback=replacing,
            help="Start anew although an interrupted sweep is there, and replace files that Pliant did not write.",
        ),
    ] = False,
    allow_python: Annotated[bool, typer.Option("--allow-python", help="Let the study run Python code.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,
) -> None:
    """Compute a robot or a study many times with other numbers; Ctrl-C keeps what is done, and --resume goes on."""
    from pliant.files import file_name, is_foreign
    from pliant.results.storage import seal_words
    from pliant.sweeps.sweep import SweepInterruptedError
    from pliant.sweeps.sweep import sweep as run_sweep
    from pliant.sweeps.table import SEALED_AS
    from pliant.sweeps.variation import subject_of

    check_picture(plot)
    places = _places(vary)
    if csv is not None:
        check_folder(csv, (".csv",), beginning=",".join(places))
    given = subject_of(subject, do, python=allow_python)
    path = output or Path(f"{file_name(given.name)}-sweep.h5")
    ours = seal_words(SEALED_AS) if path.suffix.lower() == ".h5" else ""
    if ours and not force and is_foreign(path, ours.encode()):
        refuse(f"{path} exists and is no sweep; name another file with -o, or --force replaces it")
    check_folder(path, (".h5", ".parquet"), beginning=ours)
    options: dict[str, Any] = {"do": do, "outputs": keep or (), "sample": sample, "seed": seed, "cluster": cluster}
    options["python"] = allow_python
    with _SweepBar(quiet) as bar:
        try:
            found = run_sweep(
                given, places, jobs=jobs, file=path, resume=resume, force=force, report=bar.update, **options
            )
        except SweepInterruptedError as error:
            bar.bar.stop()
            command = shlex.join(["pliant", *(word for word in sys.argv[1:] if word not in ("--resume", "--force"))])
            typer.secho(f"{error}; go on with: {command} --resume", fg="yellow", err=True)
            raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        _summary(found)
        typer.echo(f"written to {path}")
    for file, write in ((csv, found.to_csv), (plot, found.plot)):
        if file is not None:
            write(file)
            if not quiet:
                typer.echo(f"written to {file}")
    if found.failed:
        shown = [f"case {k}: {found.reasons[k]}" for k in found.failures[:SHOWN_FAILURES]]
        more = found.failed - len(shown)
        warn([*shown, *([f"and {more} more cases failed; the table has their reasons"] if more > 0 else [])])
    noted = [note for note in found.notes if note]
    if noted:
        warn([f"{len(noted)} of {len(found)} cases need care, the first because: {noted[0]}"])
    if found.failed == len(found):
        tell("every case failed")
        raise typer.Exit(FAILED)


def _places(vary: list[str] | None) -> dict[str, str]:
    places = {}
    for text in vary or ():
        place, equals, values = text.partition("=")
        if not equals:
            refuse(f"--vary {text!r}: write it as PLACE=VALUES, such as 'forearm.payloads[0].mass=0:2:11 kg'")
        if place.strip() in places:
            refuse(f"--vary {place.strip()} is given twice; list all its values in one: {place.strip()}=1, 2, 3")
        places[place.strip()] = values.strip()
    return places


def _summary(found: Sweep) -> None:
    names = [*found.varied, *found.numbers]
    # two blanks between columns
    crowded = sum(len(name) + 2 for name in names) > PAGE_WIDTH
    rows = table(*(_titled(found, name, crowded) for name in names), words=0)
    step = max(1, -(-len(found) // SHOWN_ROWS))
    columns = [found[name][::step] for name in names]
    shown = [[number(x) if isinstance(x, float) else plain(str(x)) for x in column] for column in columns]
    for column, entries in zip(rows.columns, shown, strict=True):
        # a heading may be broken, a number never
        column.min_width, column.overflow = max(map(len, entries), default=0), "fold"
    for row in zip(*shown, strict=True):
        rows.add_row(*row)
    every = f", one case in {step} shown" if step > 1 else ""
    failed = f", {found.failed} failed" if found.failed else ""
    title = f"[bold]{plain(found.info.name)}[/]: {plain(found.info.action)}"
    emit(f"{title}, {len(found)} cases, {found.info.how}{failed}{every}", rows)
    for reason, count in found.info.alone.items():
        typer.echo(f"{count} of {len(found)} cases were stepped one by one: {reason}")


def _titled(found: Sweep, name: str, crowded: bool) -> str:
    """A name and its unit; where there is little room in several lines, broken behind points and brackets."""
    unit = found.unit(name)
    broken = re.sub(r"([.(])(?=\S)", r"\1\n", name) if crowded else name
    return plain(f"{broken}\n({unit})" if unit else broken)


class _SweepBar(ProgressBar):
    """Where a sweep is."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet, None, "{task.fields[words]}", words="starting")

    def update(self, at: SweepProgress) -> bool:
        """Show where the sweep is; True if it shall end."""
        failed = f", {at.failed} failed" if at.failed else ""
        alone = f", one by one: {at.alone}" if at.alone else ""
        words = f"{at.done} of {at.total} cases{failed}, {at.left:.0f} s left{alone}"
        self.bar.update(self.task, completed=at.done, total=at.total, words=words)
        return self.interrupted
