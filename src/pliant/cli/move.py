"""``pliant move``: the best move of a robot from rest to rest, within limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.modes_command import joint_values
from pliant.cli.terminal import (
    FAILED,
    ForceOption,
    RobotArgument,
    check_picture,
    emit,
    number,
    plain,
    refuse,
    table,
    tell,
    warn,
)


def move(
    robot: RobotArgument,
    to: Annotated[list[str], typer.Option(help="Joint values of the end, such as elbow=60deg; may be repeated.")],
    start: Annotated[
        list[str] | None,
        typer.Option("--from", help="Joint values of the start; default: the robot's pose; may be repeated."),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="time: the fastest; energy: the least integral of squared efforts.")
    ] = "time",
    duration: Annotated[float | None, typer.Option(help="Duration of the objective energy, s.")] = None,
    effort: Annotated[
        list[str] | None,
        typer.Option(help="Largest effort, JOINT=VALUE in N m or N, or a number for all; may be repeated."),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option(help="Largest joint rate, JOINT=VALUE in rad/s or m/s; may be repeated.")
    ] = None,
    position: Annotated[
        list[str] | None, typer.Option(help="Range of a joint, JOINT=LOW,HIGH in rad or m; may be repeated.")
    ] = None,
    effort_rate: Annotated[
        list[str] | None, typer.Option(help="How fast efforts may change, JOINT=VALUE in N m/s or N/s.")
    ] = None,
    deflection: Annotated[
        list[str] | None, typer.Option(help="How far bending may move a frame on its link, FRAME=VALUE in m.")
    ] = None,
    strain: Annotated[
        list[str] | None,
        typer.Option(help="Largest strain at a place of a beam, LINK,X,Y,Z=VALUE with X, Y, Z in m; may be repeated."),
    ] = None,
    intervals: Annotated[int, typer.Option(min=2, max=2000, help="Intervals of the collocation.")] = 40,
    tolerance: Annotated[float, typer.Option(help="Distance of the simulated frame that is good enough, m.")] = 1e-4,
    frame: Annotated[str, typer.Option(help="The frame whose simulated path is compared.")] = "tip",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for tables and studies; default: nothing is written.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the move into this PNG, SVG or PDF file.")] = None,
    force: ForceOption = False,
) -> None:
    """The fastest move of a robot, or the one of least effort, from rest to rest and without vibration at its end.

    By collocation through CasADi and IPOPT (pip install casadi); its efforts are simulated on the nonlinear robot. It
    has converged if the simulation agrees; else the exit code is 1.
    """
    check_picture(plot)
    if output is not None and output.exists() and not output.is_dir():
        refuse(f"{output}: this is a file; --output names a folder")
    limits = _limits(effort, rate, position, effort_rate, deflection, strain)
    import warnings

    import pliant
    from pliant.dynamics import Dynamics
    from pliant.files import file_name, refuse_foreign
    from pliant.moves.move_replay import move_files
    from pliant.moves.optimal_move import optimal_move
    from pliant.simulation.run import SimulationWarning

    arm = Dynamics(pliant.load(robot))
    name = f"{file_name(arm.robot.name)}-move"
    if output is not None:
        for file in move_files(output, name).values():
            refuse_foreign(file, b"t," if file.suffix == ".csv" else b"")
    with warnings.catch_warnings():
        # they are told below, with the outcome
        warnings.simplefilter("ignore", SimulationWarning)
        found = optimal_move(
            arm,
            joint_values(arm.robot, start or []),
            joint_values(arm.robot, to),
            objective,  # type: ignore[arg-type]
            limits,
            duration=duration,
            intervals=intervals,
            tolerance=tolerance,
            frame=frame,
        )
    rows = table("drive", "from", "to", "largest rate", "largest effort", "limits of effort")
    for j, drive in enumerate(arm.inputs):
        k = arm.names.index(drive)
        low, high = found.bounds.effort[:, j]
        rows.add_row(
            drive, number(found.q[0, k]), number(found.q[-1, k]), number(abs(found.dense[2][:, k]).max()),
            number(abs(found.tau[:, j]).max()), f"{low:.4g} to {high:.4g}",
        )  # fmt: skip
    sizes = f"{found.solution.variables} unknowns, IPOPT: {found.solution.status}"
    emit(f"[bold]{plain(arm.robot.name)}[/]: {objective}, {found.duration:.6g} s; {sizes}", rows)
    if found.active:
        typer.echo(f"\nlimits that it reaches: {', '.join(found.active)}")
    if output is not None:
        for path in found.write(output, name):
            typer.echo(f"written to {path}")
    if plot is not None:
        found.plot(plot)
        typer.echo(f"drawn in {plot}")
    warn([*found.notes, *found.replay.result.warnings])
    tell(found.words, "green" if found.converged else "red", err=not found.converged)
    if not found.converged:
        raise typer.Exit(FAILED)


def _limits(
    effort: list[str] | None,
    rate: list[str] | None,
    position: list[str] | None,
    effort_rate: list[str] | None,
    deflection: list[str] | None,
    strain: list[str] | None,
) -> dict[str, Any]:
    """The limits as a program would give them."""
    found: dict[str, Any] = {}
    for name, given in (("effort", effort), ("rate", rate), ("effort_rate", effort_rate)):
        option = f"--{name.replace('_', '-')}"
        if given and len(given) == 1 and "=" not in given[0]:
            found[name] = _number(option, given[0], given[0])
        elif given:
            found[name] = {
                key: _value(option, text, x, units=name != "effort_rate") for key, x, text in _pairs(option, given)
            }
    if position:
        found["position"] = {}
        for key, x, text in _pairs("--position", position):
            ends = x.split(",")
            if len(ends) != 2:
                refuse(f"--position {text!r}: write it as JOINT=LOW,HIGH")
            found["position"][key] = tuple(_value("--position", text, end.strip()) for end in ends)
    if deflection:
        found["deflection"] = {
            key: _number("--deflection", text, x) for key, x, text in _pairs("--deflection", deflection)
        }
    if strain:
        found["strain"] = []
        for key, x, text in _pairs("--strain", strain):
            link, *place = key.split(",")
            if not 1 <= len(place) <= 3:
                refuse(f"--strain {text!r}: write it as LINK,X,Y,Z=VALUE with places in m")
            where = [_number("--strain", text, each) for each in place]
            found["strain"].append(((link, *where), _number("--strain", text, x)))
    return found


def _pairs(option: str, given: list[str]) -> list[tuple[str, str, str]]:
    """(name, value, text) of options NAME=VALUE."""
    found = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            refuse(f"{option} {text!r}: write it as NAME=VALUE")
        found.append((name.strip(), value.strip(), text))
    return found


def _value(option: str, text: str, value: str, *, units: bool = True) -> float | str:
    """A number, or a text with a unit that the limits read."""
    try:
        return float(value)
    except ValueError:
        if units:
            return value
        refuse(f"{option} {text!r}: {value!r} is no number")


def _number(option: str, text: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        refuse(f"{option} {text!r}: {value!r} is no number")
