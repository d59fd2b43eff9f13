"""``pliant simulate``: run a study, show how it goes, keep what comes out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.terminal import (
    FAILED,
    ProgressBar,
    check_film,
    check_folder,
    check_picture,
    emit,
    number,
    plain,
    refuse,
    replacing,
    study_names,
    table,
    tell,
    warn,
)

if TYPE_CHECKING:
    from pliant.results.result import Result
    from pliant.simulation.run import Progress, Run
    from pliant.simulation.study import Study

# exit code of a program that an interrupt ended
INTERRUPTED = 130
# seconds between checkpoints, and between updates of the progress bar
CHECKPOINT, REFRESH = 10.0, 0.1
DAY = 86400.0


def simulate(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY",
            help="A study file, the name of a bundled study, or a run to be resumed.",
            autocompletion=study_names,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The run's HDF5 file; default: NAME.h5 in this folder.")
    ] = None,
    until: Annotated[float | None, typer.Option(help="Another end of the simulated time, in s.")] = None,
    method: Annotated[str | None, typer.Option(help="Another integrator.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Another relative error of a step.")] = None,
    dynamics: Annotated[
        str | None, typer.Option(help="Another way to the equations of motion, such as dual_screw (linearised).")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report: one HTML page with plots and a film.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the run into this PNG, SVG or PDF file.")] = None,
    film: Annotated[Path | None, typer.Option(help="Show the motion in this GIF, MP4 or HTML file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the main channels to this CSV file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run was interrupted or ended.")] = False,
    force: Annotated[
        bool, typer.Option("--force", callback=replacing, help="Start anew, and replace files that are there.")
    ] = False,
    checkpoint: Annotated[
        float, typer.Option(min=0.0, max=DAY, help="Seconds of computing between checkpoints.")
    ] = CHECKPOINT,
    allow_python: Annotated[bool, typer.Option("--allow-python", help="Let the study run Python code.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,
    list_studies: Annotated[bool, typer.Option("--list", help="List the bundled studies.")] = False,
) -> None:
    """Simulate a study and keep the run; Ctrl-C keeps what is there, and --resume goes on."""
    if list_studies:
        others = {
            study: study,
            "--until": until,
            "--method": method,
            "--output": output,
            "--plot": plot,
            "--film": film,
        }
        if given := [str(name) for name, value in others.items() if value is not None]:
            refuse(f"--list shows the bundled studies and runs none; leave {', '.join(given)} out")
        _list()
        return
    if study is None:
        refuse("name a study: a file, or one of those that `pliant simulate --list` shows")
    from pliant.cli.simulation_job import Job

    _check_outputs(report, plot, film, csv)
    changes: dict[str, Any] = {}
    if until is not None:
        changes["until"] = until
    if dynamics is not None:
        changes["dynamics"] = dynamics
    options = {key: value for key, value in (("method", method), ("tolerance", tolerance)) if value is not None}
    if options:
        changes["integrator"] = options
    job = Job.prepare(study, output, changes, resume=resume, force=force, python=allow_python)
    if not quiet:
        _introduce(job.run, job.study, job.resumed_at)
    with _RunBar(job.run, quiet) as screen:
        outcome = job.go(screen.update, checkpoint)
    if outcome.trouble:
        tell(outcome.trouble)
    if outcome.result is not None:
        if not quiet:
            _summary(outcome.result)
        if not outcome.trouble:
            warn([*outcome.result.warnings, *_left_out(outcome.result)])
        if outcome.written and not quiet:
            typer.echo(f"written to {job.path}")
        for path in _write(outcome.result, report, plot, film, csv):
            if not quiet:
                typer.echo(f"written to {path}")
    if outcome.interrupted:
        tell(
            f"interrupted at {job.run.t:.6g} s of {job.study.until:g} s; go on with: {job.resume_command}",
            "yellow",
            err=False,
        )
        raise typer.Exit(INTERRUPTED)
    if outcome.trouble:
        raise typer.Exit(FAILED)


def _list() -> None:
    from pliant.simulation.study import bundled_studies

    rows = table("study", "description", words=2)
    for name, description in bundled_studies():
        rows.add_row(f"[bold]{plain(name)}[/]", plain(description))
    emit(rows)


def _check_outputs(report: Path | None, plot: Path | None, film: Path | None, csv: Path | None) -> None:
    """Refuse what cannot be written before anything is computed."""
    from pliant.results.storage import FIRST_COLUMN

    check_picture(plot)
    check_film(film)
    if report is not None:
        check_folder(report, (".html", ".htm"))
    if csv is not None:
        check_folder(csv, (".csv",), beginning=FIRST_COLUMN)


def _introduce(run: Run, study: Study, resumed_at: float | None) -> None:
    from pliant.trajectories.path import path_words

    arm = run.arm
    lines = [f"[bold]{plain(study.name)}[/]{plain(f': {study.description}' if study.description else '')}"]
    sizes = f"{arm.size} coordinates, {len(arm.inputs)} inputs"
    lines.append(f"robot {plain(study.robot.name)}: {sizes}; {study.until:g} s")
    if words := path_words(run.equations.path):
        lines.append(f"motion: {words}")
    lines.append(f"integrator {run.method}: {run.reason}")
    if resumed_at is not None:
        lines.append(f"resumed at {resumed_at:.6g} s")
    emit("\n".join(lines))


def _summary(result: Result) -> None:
    from pliant.pictures.picture_words import engineering
    from pliant.results.plots import noise

    info, s = result.info, result.info.statistics
    seconds = max(info.seconds, 1e-9)
    rows = table("", "", words=2)
    rows.show_header = False
    t = result.time[-1]
    speed = f"{t:.6g} s in {info.seconds:.3g} s: {t / seconds:.3g} times real time"
    rows.add_row("simulated", f"{speed}; {plain(info.ended)}")
    steps = f"{s['steps']:.0f} steps of {s['smallest_step']:.2g} to {s['largest_step']:.2g} s"
    rows.add_row("integrator", f"{steps}, {s['rejected']:.0f} rejected, {s['evaluations']:.0f} evaluations")
    energy = result["energy.total"]
    level = noise(result, "J")
    held = result.samples.stored[:, 0]
    ends = energy[-1] - energy[0], held[-1] - held[0]
    gained, stored, motors, loads, lost, off = (
        engineering(0.0 if abs(x) <= level else x, "J")
        for x in (*ends, *result.samples.work[-1], abs(result["energy.balance"]).max())
    )
    by_laws = f", {stored} stored by drive and loads" if held.any() else ""
    from_loads = f", {loads} from loads" if result.samples.work[-1, 1] else ""
    what = f"{gained} gained{by_laws}, {motors} from motors{from_loads}, {lost} lost; balance within {off}"
    rows.add_row("energy", what)
    for name in result.efforts:
        found = result.extreme(name)
        largest = found.most if found.most >= -found.least else found.least
        rows.add_row(name, f"up to {engineering(largest, result.unit(name))}")
    for link in result.robot.links:
        if link.is_flexible:
            bent = result.extreme(f"{link.name}.deflection")
            rows.add_row(link.name, f"tip deflection up to {engineering(bent.most, 'm')}, at {bent.most_at:.4g} s")
    for t, name, value in info.events:
        rows.add_row("event", f"at {t:.6g} s: {plain(name)} (value {number(value)})")
    emit(rows)


def _left_out(result: Result) -> list[str]:
    """Families of shapes that would change the robot where the run began, and shapes that are too stiff."""
    from pliant.analysis.left_out import left_out, too_stiff

    joints = result.robot.joint_coordinates
    begin = {name: float(result.q[0][result.arm.names.index(name)]) for name in joints}
    return [*left_out(result.robot, begin), *too_stiff(result.robot)]


def _write(
    result: Result, report: Path | None, plot: Path | None, film: Path | None, csv: Path | None
) -> Iterator[Path]:
    """Write what was asked for, one file after the other."""
    writers = ((plot, result.plot), (csv, result.to_csv), (film, result.animate), (report, result.report))
    for path, write in writers:
        if path is not None:
            write(path)
            yield path


class _RunBar(ProgressBar):
    """Where a run is."""

    def __init__(self, run: Run, quiet: bool) -> None:
        columns = (
            "{task.fields[time]} of {task.fields[until]} s",
            "step {task.fields[step]}",
            "{task.fields[factor]} x real time",
            "{task.fields[left]}",
        )
        until = run.study.until
        super().__init__(quiet, until, *columns, time="0", until=f"{until:g}", step="", factor="", left="")
        self.started, self.shown = run.t, 0.0

    def update(self, at: Progress) -> bool:
        """Show where the run is; True if it shall end."""
        now = time.monotonic()
        if now - self.shown > REFRESH:
            self.shown = now
            factor = (at.t - self.started) / max(at.seconds, 1e-9)
            left = (at.until - at.t) / factor if factor > 0 else 0.0
            self.bar.update(
                self.task,
                completed=at.t,
                time=f"{at.t:.3f}",
                step=f"{at.step:.1e} s",
                factor=f"{factor:.2g}",
                left=f"{left:.0f} s left",
            )
        return self.interrupted
