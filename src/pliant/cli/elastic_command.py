"""``pliant elastic``: what links do beside a nominal motion: nodes, frames, reactions and efforts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from pliant.cli.inverse import EQUATIONS
from pliant.cli.simulate import INTERRUPTED
from pliant.cli.terminal import (
    ForceOption,
    LoadOption,
    ProgressBar,
    check_folder,
    check_picture,
    emit,
    loads_of,
    number,
    plain,
    refuse,
    study_names,
    table,
    tell,
    warn,
)

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.analysis.lumped.node_equations import Variant
    from pliant.results.result import Result
    from pliant.simulation.inverse.elastic_run import ElasticRun

SHOWN = 9
"""Instants of a table of frequencies."""


def elastic(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="A study file or the name of a bundled study.", autocompletion=study_names
        ),
    ],
    frame: Annotated[
        list[str] | None, typer.Option(help="A frame, or a node as LINK.NUMBER; default: tip. More: give it again.")
    ] = None,
    load: LoadOption = None,
    forward: Annotated[
        bool,
        typer.Option(
            "--forward",
            help="The nominal motion is that of the rigid robot under the study's drive: approximate forward dynamics; "
            "default where the drive has no trajectory.",
        ),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Simulate the full nonlinear model beside it, and tell the difference.")
    ] = False,
    elements: Annotated[int | None, typer.Option(min=1, max=1000, help="Elements of every bending link.")] = None,
    equations: Annotated[
        str, typer.Option(help="Of the nodes: complete; for study absolute or printed, as the paper.")
    ] = "complete",
    stiffening: Annotated[
        bool | None,
        typer.Option(
            "--stiffening/--no-stiffening",
            help="Geometric stiffness of internal forces; default: of beams with second-order bending.",
        ),
    ] = None,
    balanced: Annotated[
        bool,
        typer.Option("--balanced", help="Begin at rest in balance with loads, too; default: as the study's start."),
    ] = False,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps; default: 60 in a period of the lowest.")] = None,
    frequencies: Annotated[
        int | None, typer.Option(min=1, max=50, help="Tell so many natural frequencies along the motion.")
    ] = None,
    matrices: Annotated[
        str | None,
        typer.Option(help="Print the matrices of a node (LINK.NUMBER), a link or `robot` at --at, and nothing else."),
    ] = None,
    at: Annotated[float | None, typer.Option(min=0.0, help="The instant of --matrices, s; default: 0.")] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Tell the largest displacement of every node.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write everything, nodes too, to this HDF5 file.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write frames, efforts and reactions to this CSV file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it into this PNG, SVG or PDF file.")] = None,
    force: ForceOption = False,
    allow_python: Annotated[bool, typer.Option("--allow-python", help="Let the study run Python code.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,
) -> None:
    """Elastic displacements of a robot along the motion that a study gives its joints, by linear equations of nodes.

    Disturbances of the study and loads act on frames and nodes. `pliant simulate` has the nonlinear robot, `pliant
    inverse` the drives that keep a frame on its path.
    """
    from pliant.analysis.lumped.elastic_motion import InterruptedMotionError
    from pliant.results.storage import FIRST_COLUMN, seal_words
    from pliant.simulation.inverse.elastic_run import elastic_run
    from pliant.simulation.study import load_study

    if equations not in EQUATIONS:
        refuse(f"equations are '{equations}'; they must be one of {', '.join(EQUATIONS)}")
    if at is not None and matrices is None:
        refuse("--at is the instant of --matrices; name what they belong to, or leave it out")
    others = {"--frame": frame, "--full": full, "--frequencies": frequencies, "--nodes": nodes, "--output": output,
              "--csv": csv, "--plot": plot, "--quiet": quiet}  # fmt: skip
    if matrices is not None and (given := [name for name, value in others.items() if value]):
        refuse(f"--matrices prints matrices and nothing else; leave {', '.join(given)} out")
    check_picture(plot)
    if output is not None:
        check_folder(output, (".h5", ".hdf5"), beginning=seal_words("elastic motion"))
    if csv is not None:
        check_folder(csv, (".csv",), beginning=FIRST_COLUMN)
    job, frames = load_study(study, python=allow_python), tuple(frame or ["tip"])
    with _ElasticBar(job.until, quiet) as bar:
        try:
            run = elastic_run(
                job,
                nominal="rigid" if forward else None,
                wrenches=loads_of("--load", load or []),
                elements=elements,
                variant=cast("Variant", equations),
                stiffening=stiffening,
                balanced=balanced,
                steps=steps,
                report=bar.update,
            )
        except InterruptedMotionError as error:
            bar.bar.stop()
            tell(f"{error}; there is nothing to keep", "yellow", err=True)
            raise typer.Exit(INTERRUPTED) from None
    if matrices is not None:
        _print_matrices(run, matrices, at or 0.0)
        return
    beside = run.simulated() if full else None
    for name in frames:
        # a frame that is not there is refused before anything is written
        run.frame(name)
    if not quiet:
        emit(*_tables(run, frames, beside, nodes, frequencies))
    if output is not None:
        run.save(output, frames)
    if csv is not None:
        run.to_csv(csv, frames)
    if plot is not None:
        run.plot(plot, frames, beside)
    for path in (output, csv, plot):
        if path is not None and not quiet:
            typer.echo(f"written to {path}")
    warn(run.warnings)


def _tables(
    run: ElasticRun, frames: tuple[str, ...], beside: Result | None, nodes: bool, frequencies: int | None
) -> list[str | Table]:
    import numpy as np

    model = run.model
    kind = "under its drive, as if rigid" if run.given is not None else "as its trajectory says"
    head = (
        f"[bold]{plain(run.study.name)}[/]: {plain(model.robot.name)} moves {kind}; {model.size} displacements, "
        f"{len(run.times) - 1} steps, lowest natural frequency {number(run.lowest / (2 * np.pi))} Hz"
    )
    moved = table("frame", "largest displacement, mm", "at, s", "rms, mm", "largest turn, mrad", "at the end, mm")
    for name in frames:
        at = run.frame(name)
        size, turn = (np.linalg.norm(x, axis=1) for x in (at.displacement, at.turn))
        k = int(size.argmax())
        rms = float(np.sqrt((size**2).mean()))
        row = (1e3 * size[k], run.times[k], 1e3 * rms, 1e3 * turn.max(), 1e3 * size[-1])
        moved.add_row(plain(name), *(number(float(x)) for x in row))
    efforts = table("drive", "largest effort, N m or N", "rms", *(["largest given"] if run.given is not None else []))
    for k, (name, column) in enumerate(zip(run.inputs, run.efforts.T, strict=True)):
        given = [] if run.given is None else [number(float(np.abs(run.given[:, k]).max()))]
        efforts.add_row(plain(name), number(abs(column).max()), number(float((column**2).mean() ** 0.5)), *given)
    reactions = table("joint", "largest force, N", "largest moment, N m")
    for name, w in run.reactions().joints.items():
        sizes = (float(np.linalg.norm(w[:, k : k + 3], axis=1).max()) for k in (0, 3))
        reactions.add_row(plain(name), *(number(x) for x in sizes))
    for name, w in run.reactions().loops.items():
        reactions.add_row(plain(name), number(float(abs(w).max())), "")
    parts: list[str | Table] = [head, moved, efforts, reactions]
    if nodes:
        parts.append(_node_table(run))
    if frequencies is not None:
        parts.append(_frequency_table(run, frequencies))
    if (off := run.effort_error) is not None:
        words = f"the motion needs efforts within {number(100 * off, 3)} % of those given"
        parts.append(f"approximate forward dynamics: {words}, which does not bound the error of positions")
    if beside is not None:
        exact = np.column_stack([np.interp(run.times, beside.time, x) for x in beside["tip.position"].T])
        distance = float(np.linalg.norm(run.frame("tip").reached - exact, axis=1).max())
        size = float(np.linalg.norm(run.frame("tip").displacement, axis=1).max())
        how = "the full model with these motions of the joints" if run.given is None else "the full model"
        parts.append(
            f"simulated on {how}: the tip is {number(1e3 * distance)} mm off at the most, of "
            f"{number(1e3 * size)} mm of displacement"
        )
    return parts


def _print_matrices(run: ElasticRun, of: str, at: float) -> None:
    """The matrices of the paper at an instant of the nominal motion, as plain text of any width."""
    import numpy as np

    from pliant.analysis.lumped.matrices import labelled_matrices

    if at > run.times[-1]:
        refuse(f"--at is {at:g} s; the motion ends at {run.times[-1]:g} s")
    for k, each in enumerate(labelled_matrices(run.model, of, run.nominal(np.array([at])))):
        typer.echo(f"{'' if not k else chr(10)}{each}")


def _node_table(run: ElasticRun) -> Table:
    import numpy as np

    rows = table("node", "largest displacement, mm", "largest turn, mrad")
    for link in run.model.robot.link_names:
        moved = run.nodes(link)
        for k in range(moved.shape[1]):
            sizes = (float(np.linalg.norm(moved[:, k, i : i + 3], axis=1).max()) for i in (0, 3))
            rows.add_row(f"{plain(link)}.{k}", *(number(1e3 * x) for x in sizes))
    return rows


def _frequency_table(run: ElasticRun, count: int) -> Table:
    import numpy as np

    found = run.frequencies(count, SHOWN)
    names = [f"{k + 1}" for k in range(found.moving.shape[1])]
    rows = table("at, s", *(f"{k}, Hz" for k in names), *(f"{k} at rest" for k in names), words=0)
    for t, moving, rest in zip(found.times, found.moving, found.rest, strict=True):
        rows.add_row(number(float(t)), *(number(float(x) / (2 * np.pi)) for x in (*moving, *rest)))
    return rows


class _ElasticBar(ProgressBar):
    """Progress of the elastic motion."""

    def __init__(self, until: float, quiet: bool) -> None:
        super().__init__(quiet, until, "{task.fields[time]} of {task.fields[until]} s", time="0", until=f"{until:g}")

    def update(self, t: float) -> bool:
        """Show where it is; True if it shall end."""
        self.bar.update(self.task, completed=t, time=f"{t:.3f}")
        return self.interrupted
