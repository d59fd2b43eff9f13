"""``pliant inverse``: the motion and the efforts of the drives that keep a flexible robot's frame on its path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

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
    from pliant.analysis.lumped.node_equations import Variant
    from pliant.analysis.lumped.successive import Approximation, Feedback, PathSolution
    from pliant.simulation.inverse.inverse_dynamics import InverseRun, SuccessiveConfirmation
    from pliant.simulation.inverse.inversion_run import InversionConfirmation, InversionRun
    from pliant.simulation.study import Study

METHODS = ("inversion", "successive")
FEEDBACKS = ("band", "static", "full")
EQUATIONS = ("complete", "absolute", "printed")
OF_METHODS = {
    "inversion": ("spacing",),
    "successive": ("feedback", "band", "iterations", "elements", "equations"),
}
"""Options that one of the methods has and the other has not."""
TOLERANCES = {"inversion": 1e-6, "successive": 5e-6}
MICRO = 1e6
TILT = 1e-9
"""rad: turn that is rounding."""


def inverse(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study file or the name of a bundled study.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for tables and studies; default: nothing is written.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="inversion (exact, the full nonlinear model), or successive approximation.")
    ] = "inversion",
    frame: Annotated[
        list[str] | None,
        typer.Option(help="The frame that keeps the path; default: the trajectory's. More than one: give it again."),
    ] = None,
    orientation: Annotated[
        bool | None,
        typer.Option(
            "--orientation/--no-orientation",
            help="Whether the frame keeps its orientation, too; default: as the trajectory.",
        ),
    ] = None,
    spacing: Annotated[
        float | None, typer.Option(help="Of inversion: distance of knots, ms; default: as fine as it takes.")
    ] = None,
    feedback: Annotated[
        str | None, typer.Option(help="Of successive: band (default), static, or full (which mostly diverges).")
    ] = None,
    band: Annotated[float | None, typer.Option(help="Of successive: band of the feedback, Hz, above zero.")] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, max=100, help="Of successive: the most iterations; default 10.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Distance from the path that is good enough, m; default 1e-6, of successive 5e-6."),
    ] = None,
    elements: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Of successive: elements of every bending link.")
    ] = None,
    equations: Annotated[
        str | None,
        typer.Option(help="Of successive, of the nodes: complete; for study absolute or printed, as the paper."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the solution into this PNG, SVG or PDF file.")] = None,
    force: ForceOption = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm/--no-confirm",
            help="Simulate the result on the full nonlinear model, and make it better until that agrees.",
        ),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outcome only.")] = False,
) -> None:
    """Keep a frame of the flexible robot on the path of the rigid one.

    By stable inversion the frame follows exactly, and the drives begin before the path does. Disturbances of the study
    act on the robot. It has converged if the full nonlinear model keeps the path; else the exit code is 1.

    Ctrl-C ends successive approximation with the best of the iterations that are done, which is written as usual.
    """
    if method not in METHODS:
        refuse(f"method is '{method}'; it must be one of {', '.join(METHODS)}")
    given = {
        "spacing": spacing,
        "feedback": feedback,
        "band": band,
        "iterations": iterations,
        "elements": elements,
        "equations": equations,
    }
    for other, names in OF_METHODS.items():
        for name in names:
            if other != method and given[name] is not None:
                refuse(f"--{name} belongs to --method {other}, and the method is {method}: leave one of them out")
    if feedback is not None and feedback not in FEEDBACKS:
        refuse(f"feedback is '{feedback}'; it must be one of {', '.join(FEEDBACKS)}")
    if equations is not None and equations not in EQUATIONS:
        refuse(f"equations are '{equations}'; they must be one of {', '.join(EQUATIONS)}")
    if band is not None and not 0 < band < float("inf"):
        refuse(f"--band is {band}; it must be a number above zero, in Hz")
    if spacing is not None and not 0 < spacing < float("inf"):
        refuse(f"--spacing is {spacing}; it must be a number above zero, in ms")
    if output is not None and output.exists() and not output.is_dir():
        refuse(f"{output}: this is a file; --output names a folder")
    check_picture(plot)
    from pliant.files import file_name, refuse_foreign
    from pliant.simulation.inverse.replay_study import output_files
    from pliant.simulation.study import unrun_study

    job = unrun_study(study)
    if output is not None:
        for file in output_files(output, file_name(job.name)).values():
            refuse_foreign(file, b"t," if file.suffix == ".csv" else b"")
    good = TOLERANCES[method] if tolerance is None else tolerance
    wanted = _Wanted(output, plot, confirm, quiet, good)
    if method == "inversion":
        _inversion(job, wanted, frame, orientation, spacing)
    else:
        _successive(job, wanted, frame, orientation, feedback, band, iterations, elements, equations)


class _Wanted:
    """What the user wants of any method."""

    def __init__(self, output: Path | None, plot: Path | None, confirm: bool, quiet: bool, tolerance: float) -> None:
        self.output, self.plot, self.confirm, self.quiet, self.tolerance = output, plot, confirm, quiet, tolerance

    def write(self, run: InverseRun | InversionRun) -> None:
        """Tables and studies, if a folder is given."""
        from pliant.files import file_name

        if self.output is not None:
            self.output.mkdir(parents=True, exist_ok=True)
            for path in run.write(self.output, file_name(run.study.name)):
                typer.echo(f"written to {path}")

    def end(self, outcome: str, words: str) -> None:
        """Tell the outcome; what has not converged is a failure."""
        good = outcome == "converged"
        tell(f"{outcome}: {words}", "green" if good else "red", err=not good)
        if not good:
            raise typer.Exit(INTERRUPTED if outcome == "interrupted" else FAILED)


# ---- stable inversion


def _inversion(
    job: Study, wanted: _Wanted, frame: list[str] | None, orientation: bool | None, spacing: float | None
) -> None:
    from pliant.simulation.inverse.inverse_dynamics import inverse_dynamics
    from pliant.simulation.inverse.stable_inversion import InterruptedInversionError

    with _InverseBar(job.until, wanted.quiet) as bar:
        try:
            run = inverse_dynamics(
                job,
                frame=frame,
                orientation=orientation,
                spacing=None if spacing is None else spacing / 1e3,
                tolerance=wanted.tolerance,
                report=bar.update,
            )
        except InterruptedInversionError:
            bar.bar.stop()
            tell("interrupted before there was a solution: there is nothing to keep", "yellow", err=True)
            raise typer.Exit(INTERRUPTED) from None
    certain = run.confirmed() if wanted.confirm else None
    run = run if certain is None else certain.run
    if not wanted.quiet:
        _inversion_tables(run, certain)
    wanted.write(run)
    if wanted.plot is not None:
        run.plot(wanted.plot, certain)
        typer.echo(f"written to {wanted.plot}")
    warn(run.warnings)
    wanted.end(*_inversion_outcome(run, certain, wanted.tolerance))


def _inversion_outcome(run: InversionRun, certain: InversionConfirmation | None, tolerance: float) -> tuple[str, str]:
    """How it ended, and why: the nonlinear simulation decides."""
    s = run.solution
    knots = f"on knots {1e3 * s.spacing:.3g} ms apart"
    if certain is None:
        return "unconfirmed", (
            f"the inversion is within {s.excess:.2e} m {knots}; the full nonlinear model tells whether the frame keeps "
            "its path: leave --no-confirm out"
        )
    words = f"the frame is within {certain.distance:.1e} m of its path on the full nonlinear model, {knots}"
    if certain.distance <= tolerance:
        return "converged", words
    why = run.hindrances()
    return "not confirmed", f"{words}; the tolerance is {tolerance:.1e} m" + (f". {why}" if why else "")


def _inversion_tables(run: InversionRun, certain: InversionConfirmation | None) -> None:
    s, lead = run.solution, run.lead
    rows = table("drive", "largest effort, N m or N", "rms", "moved when the path begins, rad or m")
    for name, column in zip(run.inputs, run.efforts.T, strict=True):
        rows.add_row(
            name, number(abs(column).max()), number(float((column**2).mean() ** 0.5)), f"{lead.moved[name]:.3e}"
        )
    frames = ", ".join(f"'{name}'" for name in run.frames)
    what = "position and orientation of " if s.equations.path.turned else ""
    steps = len(s.steps) - 1
    emit(
        f"{plain(run.study.name)}: {what}{frames} of {plain(run.study.robot.name)} by stable inversion; {s.unknowns} "
        f"unknowns, {steps} step{'' if steps == 1 else 's'} of Gauss and Newton",
        rows,
    )
    if lead.time > 0:
        emit(f"the drives begin to move {1e3 * lead.time:.3g} ms before the path, which no causal controller does")
    if run.before > 0:
        emit(
            f"tables and studies begin {run.before:.4g} s earlier than this study: its instant 0 is there at "
            f"{run.before:.4g} s"
        )
    if certain is None:
        return
    _, rigid = run.as_if_rigid()
    emit(
        f"simulated on the full model: {_length(certain.distance)} from the path at the most, "
        f"{_length(certain.swing)} after its end; as if rigid {_length(float(rigid.max()))}"
    )
    if certain.aside > run.tolerance:
        emit(f"in directions that no drive moves it is {_length(certain.aside)} off")


def _length(x: float) -> str:
    """A length in words."""
    return f"{1e3 * x:.3g} mm" if x >= 1e-3 else f"{MICRO * x:.2g} micrometres"


# ---- successive approximation


def _successive(
    job: Study,
    wanted: _Wanted,
    frame: list[str] | None,
    orientation: bool | None,
    feedback: str | None,
    band: float | None,
    iterations: int | None,
    elements: int | None,
    equations: str | None,
) -> None:
    from math import pi

    from pliant.analysis.lumped.elastic_motion import InterruptedMotionError
    from pliant.simulation.inverse.inverse_dynamics import inverse_dynamics

    with _InverseBar(job.until, wanted.quiet) as bar:
        try:
            run = inverse_dynamics(
                job,
                method="successive",
                frame=frame,
                orientation=orientation,
                feedback=cast("Feedback | None", feedback),
                band=None if band is None else 2 * pi * band,
                iterations=iterations,
                tolerance=wanted.tolerance,
                elements=elements,
                variant=cast("Variant | None", equations),
                report=bar.update,
            )
        except InterruptedMotionError:
            bar.bar.stop()
            tell("interrupted before the first iteration was done: there is nothing to keep", "yellow", err=True)
            raise typer.Exit(INTERRUPTED) from None
    simulated: tuple[Any, Any] | None = None
    solution, certain = run.solution, None
    if wanted.confirm and solution.outcome not in ("interrupted", "diverged"):
        certain = run.confirmed(wanted.tolerance)
        run = certain.run
        simulated = (certain.result.time, certain.distances)
    if not wanted.quiet:
        _tables(run)
    if certain is not None:
        emit(f"simulated on the full model: {MICRO * certain.distance:.2f} micrometres from the path at the most")
        _left_over(run, certain, wanted.tolerance)
    wanted.write(run)
    if wanted.plot is not None:
        from pliant.results.plots import plot_inverse

        plot_inverse(run.solution, job.name, wanted.plot, simulated)
        typer.echo(f"written to {wanted.plot}")
    warn(run.warnings)
    wanted.end(*_outcome(solution, certain, wanted.tolerance))


def _left_over(run: InverseRun, certain: SuccessiveConfirmation, tolerance: float) -> None:
    """What drives do not correct: turns of a frame that keeps its position only, and directions that none moves."""
    tilt = certain.tilt
    kept = "with it" if run.solution.led.turned else "--orientation corrects it where the drives can"
    if tilt > TILT:
        emit(f"orientation: {1e3 * tilt:.3g} mrad off that of the path at the most; {kept}")
    if certain.aside > tolerance:
        emit(f"in directions that no drive moves it is {_length(certain.aside)} off")


def _outcome(solution: PathSolution, certain: SuccessiveConfirmation | None, tolerance: float) -> tuple[str, str]:
    """How it ended, and why; what the nonlinear model says comes before what the linear one hopes."""
    if certain is None:
        remedy = "; the full nonlinear model tells it: leave --no-confirm out" * (solution.outcome == "unconfirmed")
        return solution.outcome, f"{solution.words}{remedy}"
    done = len(solution.iterations) - 1
    words = f"the frame is within {certain.distance:.1e} m of its path on the full nonlinear model, after {done} "
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
    frames = ", ".join(f"'{plain(name)}'" for name in s.led.names)
    what = "position and orientation of " if s.led.turned else "frame " if len(s.led.names) == 1 else "frames "
    emit(f"{plain(run.study.name)}: {what}{frames} of {plain(run.study.robot.name)}; {frequency}", rows, efforts)


class _InverseBar(ProgressBar):
    """Progress of the iterations."""

    def __init__(self, until: float, quiet: bool) -> None:
        super().__init__(quiet, until, "iteration {task.fields[k]}", "{task.fields[at]}", k=0, at="")

    def update(self, k: int, t: float, at: Approximation | None) -> bool:
        """Show where the solution is; True if it shall end."""
        text: dict[str, Any] = {} if at is None else {"at": f"{1e3 * at.largest:.4g} mm from the path"}
        self.bar.update(self.task, completed=t, k=k, **text)
        return self.interrupted
