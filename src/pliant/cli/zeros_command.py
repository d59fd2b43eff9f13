"""``pliant zeros``: can a robot's motion be inverted, and which of its zeros are those of its model alone?"""

from __future__ import annotations

from typing import Annotated

import typer

from pliant.cli.frf import AtOption
from pliant.cli.modes_command import joint_values
from pliant.cli.terminal import RateOption, RobotArgument, emit, number, plain, rates_of, refuse, table, warn


def zeros(
    robot: RobotArgument,
    output: Annotated[
        list[str], typer.Option(help="A position or turn, such as tip.y, elbow or elbow.motor; may be repeated.")
    ],
    input: Annotated[
        list[str] | None,
        typer.Option(help="Actuated joints, as many as outputs; default: those named as outputs, or all."),
    ] = None,
    at: AtOption = None,
    rate: RateOption = None,
    refine: Annotated[bool, typer.Option(help="Look at finer links, too, and tell zeros that move.")] = True,
) -> None:
    """Transmission zeros of a robot about a pose, and whether its inverse is stable (minimum phase)."""
    import numpy as np

    import pliant
    from pliant.control.zeros import zero_dynamics
    from pliant.dynamics import Dynamics

    arm = Dynamics(pliant.load(robot), compile="never")
    try:
        found = zero_dynamics(
            arm,
            tuple(output),
            tuple(input) if input else None,
            q=joint_values(arm.robot, at or []),
            v=rates_of(arm, "--rate", rate or []),
            refine=refine,
        )
    except ValueError as error:
        refuse(str(error))
    rows = table("zero, real part 1/s", "imaginary part", "Hz", "moves with finer links, %", words=0)
    shown = [k for k, zero in enumerate(found.zeros) if zero.imag >= 0]
    for k in shown:
        zero = found.zeros[k]
        hertz = number(abs(zero) / (2 * np.pi)) if zero.imag > 0 else ""
        moved = number(100 * float(found.moved[k]), 3) if len(found.moved) else ""
        rows.add_row(number(float(zero.real), 6), number(float(zero.imag), 6), hertz, moved)
    emit(f"[bold]{plain(arm.robot.name)}[/]: {plain(found.verdict)}", rows)
    warn(found.warnings)
