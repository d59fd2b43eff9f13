"""``pliant modes``: how a whole robot vibrates; with ``--spin`` how frequencies change with the speed of a joint."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.terminal import (
    FollowerOption,
    ForceOption,
    LoadOption,
    RateOption,
    RobotArgument,
    check_folder,
    check_picture,
    emit,
    loads_of,
    number,
    plain,
    rates_of,
    refuse,
    said,
    table,
    warn,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from pliant.analysis.lumped.frequencies import SpeedFrequencies
    from pliant.analysis.modes import ModeSet
    from pliant.dynamics import Dynamics
    from pliant.model.description.robot import Robot

    Floats = NDArray[np.float64]
    from collections.abc import Mapping

STEPS = 24
"""Steps of the speed; a picture shows all of them, a table every fourth."""
SHOWN = 4
TURN = 6.283185307179586


def over_speed(
    robot: Robot, given: str, at: Mapping[str, float], count: int, plot: Path | None, csv: Path | None
) -> None:
    """Print, and draw, frequencies from rest to the speed of ``given``, JOINT=SPEED."""
    import numpy as np

    from pliant.analysis.lumped.frequencies import turning_limits

    joint, equals, speed = given.partition("=")
    if not equals:
        refuse(f"--spin {given!r}: write it as joint=speed, such as hub=600rpm")
    speeds = np.linspace(0.0, _speed(given, speed), STEPS + 1)
    found, how = _turning(robot, joint.strip(), speeds, count, at)
    size = found.softened.shape[1]
    columns = [f"{k + 1}: {word}" for k in range(size) for word in ("dynamic", "stiffened")]
    rows = table(f"{found.joint}, rpm", "rad/s", *columns, words=0)
    for i in range(0, STEPS + 1, SHOWN):
        pairs = zip(found.softened[i], found.stiffened[i], strict=True)
        hertz = ["-" if np.isnan(f) else number(float(f) / TURN) for pair in pairs for f in pair]
        rows.add_row(number(60 * speeds[i] / TURN), number(speeds[i]), *hertz)
    emit(
        f"[bold]{robot.name}[/]: natural frequencies, Hz, while '{found.joint}' turns and the other drives hold",
        rows,
        "dynamic: dynamic stiffness alone, links of linear bending; stiffened: with the geometric stiffness of\n"
        f"internal forces, {how}.\n0: it does not swing, a displacement runs away",
    )
    warn(turning_limits(robot, joint.strip(), float(speeds[-1]), at))
    if csv is not None:
        from pliant.results.tables import write_rows

        heads = [f"{k + 1}, {word} [Hz]" for k in range(size) for word in ("dynamic", "stiffened")]
        curves = [found.softened, found.stiffened]
        rows_of = (
            (float(speed), *(float(curve[i, k]) / TURN for k in range(size) for curve in curves))
            for i, speed in enumerate(speeds)
        )
        write_rows(csv, (f"speed of {found.joint} [rad/s]", *heads), rows_of)
        typer.echo(f"\nwritten to {csv}")
    if plot is not None:
        from pliant.pictures.vibration_plots import draw_speed

        draw_speed(found, robot.name, plot)
        typer.echo(f"\ndrawn in {plot}")


def _turning(
    robot: Robot, joint: str, speeds: Floats, count: int, at: Mapping[str, float]
) -> tuple[SpeedFrequencies, str]:
    """Frequencies over speed and in words of which links: as described, or lumped nodes where all bend linearly."""
    from pliant.analysis.lumped.frequencies import frequencies_over_speed
    from pliant.analysis.spin import frequencies_in_rotation
    from pliant.analysis.statics import NoEquilibriumError
    from pliant.bodies.words import words_of

    bending = [words_of(link, robot) for link in robot.links if link.is_flexible]
    noded = all(words.elements() is not None for words in bending)
    if noded and all(words.bending == "linear" for words in bending):
        return frequencies_over_speed(robot, joint, speeds, count=count, at=at), "as second-order links have it"
    try:
        found = frequencies_in_rotation(robot, joint, speeds, count=count, at=at)
    except NoEquilibriumError as error:
        if not noded:
            refuse(f"--spin: {error}; --weightless takes gravity away")
        frozen = "as second-order links of nodes have it at this instant of the rotation"
        return frequencies_over_speed(robot, joint, speeds, count=count, at=at), frozen
    except ValueError as error:
        refuse(f"--spin: {error}")
    return found, "of the links as described, bent as the rotation bends them"


def _speed(given: str, text: str) -> float:
    """A speed with its unit, read like those of robot files."""
    from pydantic_core import PydanticCustomError

    from pliant.model.units import POSITIVE, Quantity

    try:
        return float(Quantity("rad/s", POSITIVE).read(text.strip(), {"units": True}))
    except PydanticCustomError as error:
        refuse(f"--spin {given!r}: the speed {error.message()}")


LEAST_ERROR = 1e-5
SHOWN_FREQUENCIES = 8
SHOWN_MODES = 12
SPUN = 3
"""Frequencies over a speed that a page has room for."""


def modes(
    robot: RobotArgument,
    at: Annotated[
        list[str] | None,
        typer.Option(help="Joint values of the configuration, such as elbow=-60deg; may be repeated."),
    ] = None,
    free: Annotated[bool, typer.Option("--free", help="All joints are free; default: the drives hold them.")] = False,
    count: Annotated[
        int | None, typer.Option(min=1, help="How many of the lowest modes to list; default: 12, with --spin 3.")
    ] = None,
    straight: Annotated[
        bool, typer.Option("--straight", help="Of straight links; default: bent as gravity bends them.")
    ] = False,
    weightless: Annotated[bool, typer.Option("--weightless", help="Without gravity.")] = False,
    convergence: Annotated[
        bool, typer.Option("--convergence", help="Show the frequencies with more modes and elements, too.")
    ] = False,
    load: LoadOption = None,
    follower: FollowerOption = None,
    rate: RateOption = None,
    spin: Annotated[
        str | None,
        typer.Option(help="JOINT=SPEED, such as hub=600rpm: frequencies over the speed of a joint, up to this one."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the modes into this PNG, SVG or PDF file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all modes, or frequencies over speed, as a CSV file.")] = None,
    force: ForceOption = False,
    dynamics: Annotated[
        str, typer.Option(help="What computes the equations of motion: recursive, dual_screw (linearised), ...")
    ] = "recursive",
) -> None:
    """Natural frequencies of a robot at a configuration, bent as gravity bends it."""
    import pliant
    from pliant.analysis.equilibrium import settle
    from pliant.analysis.left_out import left_out, too_stiff
    from pliant.analysis.modes import vibration_modes
    from pliant.dynamics import Dynamics
    from pliant.errors import ModelError
    from pliant.model.description.plausible import description_limits

    check_picture(plot)
    if csv is not None:
        check_folder(csv, (".csv",), beginning="mode,frequency" if spin is None else "speed of ")
    loaded = pliant.load(robot)
    if weightless:
        loaded = loaded.with_changes(gravity=(0.0, 0.0, 0.0))
    if spin is not None:
        others = {
            "--free": free,
            "--straight": straight,
            "--convergence": convergence,
            "--dynamics": dynamics != "recursive",
            "--load": bool(load),
            "--follower": bool(follower),
            "--rate": bool(rate),
        }
        if given := [name for name, is_given in others.items() if is_given]:
            refuse(
                f"--spin: it stands alone, about straight links without loads; leave {', '.join(given)} out, or take "
                "--rate JOINT=SPEED instead of --spin for one speed with loads"
            )
        over_speed(loaded, spin, joint_values(loaded, at or []), SPUN if count is None else count, plot, csv)
        return
    count = SHOWN_MODES if count is None else count
    try:
        arm = Dynamics(loaded, method=dynamics, compile="never")
    except ModelError:
        # the program prints the list of its problems
        raise
    except ValueError as error:
        refuse(str(error))
    if convergence:
        _check_convergence(loaded, {"--load": load, "--follower": follower, "--rate": rate})
    q = configuration_of(arm, at or [])
    try:
        loads, followers = loads_of("--load", load or []), loads_of("--follower", follower or [])
        rates = rates_of(arm, "--rate", rate or [])
        state = arm.assemble(q) if straight else settle(arm, q, rates=rates, loads=loads, followers=followers).q
        found = vibration_modes(arm, state, rates, locked=not free, loads=loads, followers=followers)
    except (ValueError, KeyError) as error:
        refuse(said(error))
    if not len(found):
        refuse(f"{loaded.name}: nothing can move while the drives hold the joints; use --free")
    how = ["all joints free" if free else "drives hold the joints"]
    how += [word for word, on in (("straight links", straight), ("without gravity", weightless)) if on]
    how += [f"{name} turns at {number(value)} rad/s" for name, value in rates.items()]
    title = f"[bold]{plain(loaded.name)}[/]: natural modes, {', '.join(how)}"
    where = [_configuration(arm, found)] if arm.robot.joint_coordinates else []
    emit(title, *where, _rows(found, count))
    # finer and richer links are compared at rest
    joints = joint_values(loaded, at or [])
    finer = [] if rates or loads or followers else [*_convergence(arm, joints, free, convergence, count)]
    richer = [] if rates else left_out(loaded, joints, locked=not free, loads=loads, followers=followers)
    # frequencies that move tell more than a deflection
    stiff = [] if finer else too_stiff(loaded)
    warn([*description_limits(loaded), *found.warnings, *finer, *richer, *stiff])
    if csv is not None:
        from pliant.analysis.modes import MODE_COLUMNS
        from pliant.results.tables import write_rows

        write_rows(csv, MODE_COLUMNS, found.rows())
        typer.echo(f"\nwritten to {csv}")
    if plot is not None:
        from pliant.pictures.vibration_plots import draw_modes

        draw_modes(arm, found, plot)
        typer.echo(f"\ndrawn in {plot}")


def configuration_of(arm: Dynamics, given: list[str]) -> Floats:
    """The reference pose with the joint values that a user gave."""
    q = arm.reference_pose()
    for name, value in joint_values(arm.robot, given).items():
        q[arm.names.index(name)] = value
    return q


def _check_convergence(robot: Robot, others: dict[str, list[str] | None]) -> None:
    """Refuse comparisons with finer links that nobody makes."""
    from pliant.analysis.convergence import can_be_refined

    if given := [name for name, values in others.items() if values]:
        refuse(f"--convergence: finer links are compared at rest and without loads; leave {', '.join(given)} out")
    if not can_be_refined(robot):
        refuse(f"--convergence: '{robot.name}' has no link that could be finer (rigid ones, modal data, user shapes)")


def _convergence(arm: Dynamics, joints: dict[str, float], free: bool, shown: bool, count: int) -> Iterator[str]:
    """Show the frequencies of finer links if asked; say if the lowest ones still move."""
    from pliant.analysis.convergence import MOST_COORDINATES, can_be_refined, coarse, convergence

    if not can_be_refined(arm.robot) or (arm.size > MOST_COORDINATES and not shown):
        return
    levels = 3 if shown else 1
    try:
        found = convergence(arm.robot, joints=joints, locked=not free, count=count, levels=levels, families=shown)
    except ValueError as error:
        # without a finer state of rest there is nothing to compare with
        if shown:
            yield f"--convergence: finer links cannot be compared: {error}"
        return
    if shown:
        size = min(max(len(level.hertz) for level in found), SHOWN_FREQUENCIES)
        rows = table("refined", "coordinates", *(f"{k + 1}, Hz" for k in range(size)), words=1)
        for level in found:
            name = "as it is" if not level.level else f"{level.level} times"
            name += ", with what is left out" if level.families else ""
            rows.add_row(name, str(level.size), *(number(float(f)) for f in level.hertz[:size]))
        emit("", "each refinement adds two modes to every family, or doubles the elements", rows)
    if text := coarse(found):
        yield text


def joint_values(robot: Robot, given: list[str]) -> dict[str, float]:
    """Joint values with units, read like the pose of a robot file."""
    from pliant.model.description.robot import Robot
    from pliant.model.readers.library import Document

    pose = dict[str, str | float]()
    for part in (piece for text in given for piece in text.split(",")):
        name, equals, value = part.partition("=")
        if equals:
            pose[name.strip()] = value.strip()
        elif name.strip() in robot.assembly.modes:
            pose.update(robot.assembly.modes[name.strip()])
        else:
            modes = ", ".join(robot.assembly.modes)
            also = f", or give an assembly mode ({modes})" if modes else ""
            refuse(f"--at {part!r}: write it as joint=value{also}")
    if not pose:
        return {}
    found = dict(Document("--at", {**robot.given(), "pose": pose}).build(Robot).pose)
    turning = {link.joint.name for link in robot.links if link.joint.mechanics.turns()}
    for name, text in pose.items():
        bare = isinstance(text, str) and is_number(text)
        if bare and name in turning and abs(found[name]) > 2 * pi:
            turns = f"--at {name}={text}: it is in rad, {abs(found[name]) / (2 * pi):.3g} turns"
            refuse(f"{turns}; write {text}deg, or {text}rad if so many turns are meant")
    return found


def is_number(text: str) -> bool:
    """Whether a text is a number without a unit."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _configuration(arm: Dynamics, found: ModeSet) -> str:
    from pliant.pictures.picture_words import engineering

    joints = {name for link in arm.robot.links for name in link.joint.coordinates}
    # what is left of a joint that an iteration holds at zero
    q = [0.0 if abs(x) < 1e-12 else float(x) for x in found.q]
    units = arm.mechanism.units
    values = [f"{name} {engineering(q[i], units[i], 4)}" for i, name in enumerate(arm.names) if name in joints]
    return f"at {', '.join(values)}"


def _rows(found: ModeSet, count: int) -> Table:
    import numpy as np

    shown = min(count, len(found))
    errors = found.errors(shown)
    told = bool(np.isfinite(errors).any())
    rows = table("mode", "Hz", "rad/s", "damping %", *(["too high by %"] if told else []), "mostly", words=1)
    for k in range(shown):
        square = found.squares[k]
        ratio = number(100 * found.damping_ratios[k]) if square > 0 else ""
        words = number(found.hertz[k]) if square >= 0 else f"falls, {number(found.growth[k])} 1/s"
        if square > 0 and found.damping_ratios[k] < 0:
            words = f"{words}, flutters, {number(found.growth[k])} 1/s"
        error = [_error(float(errors[k]))] if told else []
        rows.add_row(str(k + 1), words, number(found.frequencies[k]), ratio, *error, found.leading(k))
    if len(found) > shown:
        rows.add_row("", f"and {len(found) - shown} more", *[""] * (3 + told))
    if told:
        rows.caption = "too high by: estimated, of the shapes that its beams leave out; modal data count as exact"
    return rows


def _error(part: float) -> str:
    """An estimated error in %; what is below a thousandth of a % is none."""
    return "" if part != part else "0" if part < LEAST_ERROR else number(float(f"{100 * part:.2g}"))
