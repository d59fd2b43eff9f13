"""``pliant inverse``: the motion and the efforts of the drives that keep a flexible robot's frame on its path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.simulate import INTERRUPTED
from pliant.cli.terminal import (
    FAILED,
    ForceOption,
    ProgressBar,
    check_picture,
    emit,
    number,
    plain,
    refuse,
    table,
    tell,
    warn,
)

if TYPE_CHECKING:
    from pliant.analysis.lumped.successive import Approximation, PathSolution
    from pliant.simulation.inverse.inverse_dynamics import Confirmation, InverseRun

FEEDBACKS = ("band", "static", "full")
EQUATIONS = ("complete", "absolute", "printed")


def inverse(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study file or the name of a bundled study.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for tables and studies; default: nothing is written.")
    ] = None,
    frame: Annotated[str | None, typer.Option(help="The frame that keeps the path; default: the trajectory's.")] = None,
    feedback: Annotated[str, typer.Option(help="band, static, or full (which diverges on most paths).")] = "band",
    band: Annotated[float | None, typer.Option(help="Band of the feedback, Hz, above zero.")] = None,
    iterations: Annotated[int, typer.Option(min=1, max=100, help="The most iterations.")] = 10,
    tolerance: Annotated[float, typer.Option(help="Distance from the path that is good enough, m.")] = 5e-6,
    elements: Annotated[int | None, typer.Option(min=1, max=1000, help="Elements of every bending link.")] = None,
    equations: Annotated[
        str, typer.Option(help="Of the nodes: complete; for study absolute or printed, as the paper has them.")
    ] = "complete",
    plot: Annotated[Path | None, typer.Option(help="Draw the solution into this PNG, SVG or PDF file.")] = None,
    force: ForceOption = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm/--no-confirm",
            help="Simulate the result on the full nonlinear model, and correct it by what that says.",
        ),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outcome only.")] = False,
) -> None:
    """Keep a frame of the flexible robot on the path of the rigid one: by successive approximation.

    Disturbances of the study act on the robot. It has converged if the full nonlinear model keeps the path, too; else
    the exit code is 1.

    Ctrl-C ends the iterations; the best of those that are done is written as usual.
    """
    if feedback not in FEEDBACKS:
        refuse(f"feedback is '{feedback}'; it must be one of {', '.join(FEEDBACKS)}")
    if equations not in EQUATIONS:
        refuse(f"equations are '{equations}'; they must be one of {', '.join(EQUATIONS)}")
    if band is not None and not 0 < band < float("inf"):
        refuse(f"--band is {band}; it must be a number above zero, in Hz")
    if output is not None and output.exists() and not output.is_dir():
        refuse(f"{output}: this is a file; --output names a folder")
    check_picture(plot)
    from math import pi

    from pliant.analysis.lumped.elastic_motion import InterruptedMotionError
    from pliant.files import file_name, refuse_foreign
    from pliant.simulation.inverse.inverse_dynamics import inverse_dynamics, output_files
    from pliant.simulation.study import unrun_study

    job = unrun_study(study)
    if output is not None:
        for file in output_files(output, file_name(job.name)).values():
            refuse_foreign(file, b"t," if file.suffix == ".csv" else b"")
    with _InverseBar(job.until, quiet) as bar:
        try:
            run = inverse_dynamics(
                job,
                frame=frame,
                feedback=feedback,  # type: ignore[arg-type]
                band=None if band is None else 2 * pi * band,
                iterations=iterations,
                tolerance=tolerance,
                elements=elements,
                variant=equations,  # type: ignore[arg-type]
                report=bar.update,
            )
        except InterruptedMotionError:
            bar.bar.stop()
            tell("interrupted before the first iteration was done: there is nothing to keep", "yellow", err=True)
            raise typer.Exit(INTERRUPTED) from None
    simulated: tuple[Any, Any] | None = None
    solution, certain = run.solution, None
    if confirm and solution.outcome not in ("interrupted", "diverged"):
        certain = run.confirmed(tolerance)
        run = certain.run
        simulated = (certain.result.time, certain.distances)
    if not quiet:
        _tables(run)
    if certain is not None:
        emit(f"simulated on the full model: {1e6 * certain.distance:.2f} micrometres from the path at the most")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for path in run.write(output, file_name(job.name)):
            typer.echo(f"written to {path}")
    if plot is not None:
        from pliant.results.plots import plot_inverse

        plot_inverse(run.solution, job.name, plot, simulated)
        typer.echo(f"written to {plot}")
    warn(run.warnings)
    outcome, words = _outcome(solution, certain, tolerance)
    good = outcome == "converged"
    tell(f"{outcome}: {words}", "green" if good else "red", err=not good)
    if not good:
        raise typer.Exit(INTERRUPTED if outcome == "interrupted" else FAILED)


def _outcome(solution: PathSolution, certain: Confirmation | None, tolerance: float) -> tuple[str, str]:
    """How it ended, and why; what the nonlinear model says comes before what the linear one hopes."""
    if certain is None:
        remedy = "; the full nonlinear model tells it: leave --no-confirm out" * (solution.outcome == "unconfirmed")
        return solution.outcome, f"{solution.words}{remedy}"
    done = len(solution.iterations) - 1
    words = f"the frame is within {certain.distance:.2e} m of its path on the full nonlinear model, after {done} "
    words += f"iteration{'' if done == 1 else 's'}"
    if certain.rounds:
        words += f" and {certain.rounds} correction{'' if certain.rounds == 1 else 's'} by that model"
    if certain.distance <= tolerance:
        return "converged", words
    outcome = "not confirmed" if solution.outcome in ("converged", "unconfirmed") else solution.outcome
    return outcome, f"{words}; the tolerance is {tolerance:.1e} m. Without it: {solution.words}"


def _tables(run: InverseRun) -> None:
    s = run.solution
    rows = table("iteration", "largest distance, mm", "rms, mm")
    for k, at in enumerate(s.iterations):
        rows.add_row(f"{k}" if k else "0 (as if rigid)", number(1e3 * at.largest), number(1e3 * at.rms))
    efforts = table("drive", "largest effort, N m or N", "rms")
    for name, column in zip(run.inputs, s.efforts.T, strict=True):
        efforts.add_row(name, number(abs(column).max()), number(float((column**2).mean() ** 0.5)))
    frequency = f"lowest natural frequency along the path: {s.frequency / 6.283185307179586:.4g} Hz"
    emit(f"{plain(run.study.name)}: frame '{s.frame}' of {plain(run.study.robot.name)}; {frequency}", rows, efforts)


class _InverseBar(ProgressBar):
    """Progress of the iterations."""

    def __init__(self, until: float, quiet: bool) -> None:
        super().__init__(quiet, until, "iteration {task.fields[k]}", "{task.fields[at]}", k=0, at="")

    def update(self, k: int, t: float, at: Approximation | None) -> bool:
        """Show where the solution is; True if it shall end."""
        text: dict[str, Any] = {} if at is None else {"at": f"{1e3 * at.largest:.4g} mm from the path"}
        self.bar.update(self.task, completed=t, k=k, **text)
        return self.interrupted
