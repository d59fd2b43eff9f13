"""The program ``pliant``: its commands, and how it ends when a description is wrong."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, TextIO

import typer

from pliant.cli import (
    bench,
    check,
    compare,
    derive,
    doctor,
    export,
    export_link,
    frf,
    inverse,
    move,
    parameters,
    reproduce,
    shape,
    show,
    simulate,
    stiffness,
    view,
)
from pliant.cli import body_command as body
from pliant.cli import buckling_command as buckling
from pliant.cli import denoc_command as denoc
from pliant.cli import elastic_command as elastic
from pliant.cli import equilibrium_command as equilibrium
from pliant.cli import methods_command as methods
from pliant.cli import modes_command as modes
from pliant.cli import report_command as report
from pliant.cli import shapes_command as shapes
from pliant.cli import singularity_command as singularity
from pliant.cli import sweep_command as sweep
from pliant.cli import verify_command as verify
from pliant.cli import workspace_command as workspace
from pliant.cli import zeros_command as zeros
from pliant.cli.terminal import FAILED, WRONG_INPUT, tell

app = typer.Typer(
    name="pliant",
    help="Dynamics of robots whose links bend.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="robots")(show.robots)
app.command(name="check")(check.check)
app.command(name="show")(show.show)
app.command(name="shapes")(shapes.shapes)
app.command(name="body")(body.body)
app.command(name="schema")(show.schema)
app.command(name="export")(export.export)
app.command(name="export-link")(export_link.export_link)
app.command(name="simulate")(simulate.simulate)
app.command(name="sweep")(sweep.sweep)
app.command(name="elastic")(elastic.elastic)
app.command(name="inverse")(inverse.inverse)
app.command(name="shape")(shape.shape)
app.command(name="move")(move.move)
app.command(name="view")(view.view)
app.command(name="report")(report.report)
app.command(name="compare")(compare.compare)
app.command(name="modes")(modes.modes)
app.command(name="equilibrium")(equilibrium.equilibrium)
app.command(name="buckling")(buckling.buckling)
app.command(name="stiffness")(stiffness.stiffness)
app.command(name="singularity")(singularity.singularity)
app.command(name="workspace")(workspace.workspace)
app.command(name="parameters")(parameters.parameters)
app.command(name="frf")(frf.frf)
app.command(name="zeros")(zeros.zeros)
app.command(name="methods")(methods.methods)
app.command(name="denoc")(denoc.denoc)
app.command(name="derive")(derive.derive)
app.command(name="reproduce")(reproduce.reproduce)
app.command(name="verify")(verify.verify)
app.command(name="bench")(bench.bench)
app.command(name="doctor")(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pliant import __version__

        typer.echo(f"pliant {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    from pliant.files import guarded

    # for every command: files of others are replaced only if the user says so
    context.with_resource(guarded())


def _tell(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as a user wants to read it: without the line of the program that raised it."""
    tell(f"warning: {message}", "yellow")


def main() -> None:
    """Run the command line; a wrong description ends with its list of problems, never with a traceback."""
    warnings.showwarning = _tell
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # closed by whoever started us: the next file that is opened must not take its place
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  it stays open
    try:
        app()
    except BrokenPipeError:
        # the reader of our output has left, as in `pliant robots | head`; nothing more may be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except ModuleNotFoundError as error:
        # a package that only some commands need; the message says how to get it
        tell(str(error))
        raise SystemExit(FAILED) from None
    except OSError as error:
        tell(f"{error.filename or 'pliant'}: {error.strerror or error}")
        raise SystemExit(FAILED) from None
    except (ValueError, FloatingPointError) as error:
        # our own errors say in words what a robot cannot do; any other is a mistake of the program
        if not isinstance(error, FloatingPointError) and not type(error).__module__.startswith("pliant."):
            raise
        tell(str(error))
        raise SystemExit(WRONG_INPUT) from None
