"""``pliant modes --spin``: how natural frequencies change with the speed of a joint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pliant.cli.terminal import emit, number, refuse, table, warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pliant.model.description.robot import Robot

STEPS = 24
"""Steps of the speed; a picture shows all of them, a table every fourth."""
SHOWN = 4
TURN = 6.283185307179586


def over_speed(
    robot: Robot, given: str, at: Mapping[str, float], count: int, plot: Path | None, csv: Path | None
) -> None:
    """Print, and draw, frequencies from rest to the speed of ``given``, JOINT=SPEED."""
    import numpy as np

    from pliant.analysis.lumped.frequencies import frequencies_over_speed, turning_limits

    joint, equals, speed = given.partition("=")
    if not equals:
        refuse(f"--spin {given!r}: write it as joint=speed, such as hub=600rpm")
    speeds = np.linspace(0.0, _speed(given, speed), STEPS + 1)
    found = frequencies_over_speed(robot, joint.strip(), speeds, count=count, at=at)
    size = found.softened.shape[1]
    columns = [f"{k + 1}: {word}" for k in range(size) for word in ("dynamic", "stiffened")]
    rows = table(f"{found.joint}, rpm", "rad/s", *columns, words=0)
    for i in range(0, STEPS + 1, SHOWN):
        pairs = zip(found.softened[i], found.stiffened[i], strict=True)
        hertz = [number(float(f) / TURN) for pair in pairs for f in pair]
        rows.add_row(number(60 * speeds[i] / TURN), number(speeds[i]), *hertz)
    emit(
        f"[bold]{robot.name}[/]: natural frequencies, Hz, while '{found.joint}' turns and the other drives hold",
        rows,
        "dynamic: dynamic stiffness alone, links of linear bending; stiffened: with the geometric stiffness of\n"
        "internal forces, as second-order links have it. 0: it does not swing, a displacement runs away",
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
        from pliant.pictures.speed_plot import draw_speed

        draw_speed(found, robot.name, plot)
        typer.echo(f"\ndrawn in {plot}")


def _speed(given: str, text: str) -> float:
    """A speed with its unit, read like those of robot files."""
    from pydantic_core import PydanticCustomError

    from pliant.model.units import POSITIVE, Quantity

    try:
        return float(Quantity("rad/s", POSITIVE).read(text.strip(), {"units": True}))
    except PydanticCustomError as error:
        refuse(f"--spin {given!r}: the speed {error.message()}")
