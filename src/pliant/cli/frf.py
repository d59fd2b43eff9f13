"""``pliant frf``: how an output answers efforts that swing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.modes_command import joint_values
from pliant.cli.terminal import (
    ForceOption,
    RateOption,
    RobotArgument,
    check_folder,
    check_picture,
    emit,
    number,
    plain,
    rates_of,
    refuse,
    table,
    warn,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from pliant.control.linear_model import LinearModel

AtOption = Annotated[
    list[str] | None,
    typer.Option(help="Joint values of the configuration, such as elbow=-60deg; may be repeated."),
]
SHOWN = 12
"""Resonances that a page has room for."""


def frf(
    robot: RobotArgument,
    output: Annotated[
        list[str],
        typer.Option(help="An output, such as tip.y, tip.y.acceleration, elbow, elbow.motor; may be repeated."),
    ],
    input: Annotated[str | None, typer.Option(help="The joint whose effort swings; default: the only input.")] = None,
    at: AtOption = None,
    rate: RateOption = None,
    kp: Annotated[float, typer.Option(min=0.0, help="Position feedback at all motors, N m/rad or N/m.")] = 0.0,
    kd: Annotated[float, typer.Option(min=0.0, help="Rate feedback at all motors, N m s/rad or N s/m.")] = 0.0,
    lowest: Annotated[float | None, typer.Option("--from", help="Lowest frequency, Hz.")] = None,
    highest: Annotated[float | None, typer.Option("--to", help="Highest frequency, Hz.")] = None,
    points: Annotated[int, typer.Option(min=2, max=100_000, help="Frequencies of picture and file.")] = 800,
    measured: Annotated[
        Path | None,
        typer.Option(help="A measured response to lay over it: CSV with frequency [Hz], magnitude, phase [deg]."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw magnitude and phase into this PNG, SVG or PDF file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the response as a CSV file.")] = None,
    force: ForceOption = False,
) -> None:
    """Frequency response of a robot about a pose, bent as gravity bends it: outputs per unit of a joint's effort."""
    import numpy as np

    import pliant
    from pliant.control.linear_model import linearise
    from pliant.control.measured_response import read_response
    from pliant.dynamics import Dynamics

    check_picture(plot)
    if csv is not None:
        check_folder(csv, (".csv",), beginning=HEADS)
    arm = Dynamics(pliant.load(robot), compile="never")
    given = None if measured is None else read_response(measured)
    if given is not None and len(output) != 1:
        refuse("--measured: one measured response is laid over one output; give --output once")
    try:
        model = linearise(
            arm, joint_values(arm.robot, at or []), rates_of(arm, "--rate", rate or []), outputs=tuple(output)
        ).closed(kp, kd)
        joint = _input(model, input)
        hertz = _range(model, lowest, highest, points)
        response = model.frf(2 * np.pi * hertz, output, joint)
    except ValueError as error:
        refuse(str(error))
    curves = {f"{name} / {joint}": response[:, k] for k, name in enumerate(output)}
    emit(f"[bold]{plain(arm.robot.name)}[/]: {', '.join(plain(name) for name in curves)}", _rows(model, output, joint))
    if given is not None:
        apart = given.difference(model.frf(2 * np.pi * given.hertz, output[0], joint))
        typer.echo(f"\nmagnitudes are {apart:.3g} dB from the measured ones (root mean square)")
    if kp == 0 and kd == 0 and np.any(model.poles.real > 1e-6 * np.abs(model.poles)):
        warn(
            ["the robot is not stable in this pose without feedback: a response that can be measured needs --kp, --kd"]
        )
    if silent := [name for k, name in enumerate(output) if not np.abs(response[:, k]).max() > 0]:
        warn([f"{name} does not answer {joint} at all: it moves in another plane, or not" for name in silent])
    if csv is not None:
        _write(csv, hertz, curves)
        typer.echo(f"\nwritten to {csv}")
    if plot is not None:
        from pliant.pictures.vibration_plots import draw_bode

        draw_bode(hertz, curves, arm.robot.name, plot, measured=given)
        typer.echo(f"\ndrawn in {plot}")


HEADS = "frequency [Hz],"
"""How a file of ours begins."""


def _input(model: LinearModel, given: str | None) -> str:
    if given is not None:
        return model.chosen_inputs(given)[0]
    if len(model.inputs) != 1:
        refuse(f"--input: which joint? The robot has {', '.join(model.inputs)}")
    return model.inputs[0]


def _range(model: LinearModel, lowest: float | None, highest: float | None, points: int) -> NDArray[np.float64]:
    """Frequencies in Hz; by default from a tenth of the lowest vibration to three times the third."""
    import numpy as np

    swinging = np.sort(np.abs(model.poles[model.poles.imag > 1e-9])) / (2 * np.pi)
    low = lowest if lowest is not None else (float(swinging[0]) / 10 if len(swinging) else 0.1)
    high = highest if highest is not None else (3 * float(swinging[:3][-1]) if len(swinging) else 100 * low)
    if not 0 < low < high < float("inf"):
        raise ValueError(f"frequencies from {low:g} to {high:g} Hz: they must be positive and increase")
    # every resonance has its own point: a narrow peak must not fall between two
    inside = swinging[(swinging > low) & (swinging < high)]
    return np.unique(np.concatenate([np.geomspace(low, high, points), inside]))


def _rows(model: LinearModel, outputs: list[str], joint: str) -> Table:
    """The static answer, and resonances with their size."""
    import numpy as np

    rows = table("resonance", "Hz", "damping %", *(f"|{name}| there" for name in outputs), words=1)
    still = np.linalg.cond(model.tangent.K) < 1e12
    if still:
        rows.add_row("at rest", "0", "", *(number(float(abs(x))) for x in model.frf(0.0, outputs, joint)))
    poles = model.poles[model.poles.imag > 1e-9]
    for k, pole in enumerate(poles[:SHOWN]):
        sizes = np.abs(model.frf(abs(pole), outputs, joint))
        ratio = -100 * pole.real / abs(pole)
        rows.add_row(
            str(k + 1), number(abs(pole) / (2 * np.pi)), number(float(ratio), 3), *(number(float(x)) for x in sizes)
        )
    return rows


def _write(path: Path, hertz: NDArray[np.float64], curves: dict[str, NDArray[np.complex128]]) -> None:
    """Magnitude and phase of every curve beside the frequencies."""
    import numpy as np

    from pliant.files import write_file
    from pliant.pictures.vibration_plots import phase

    heads = [part for name in curves for part in (f"{name} magnitude", f"{name} phase [deg]")]
    columns = [hertz, *(part for values in curves.values() for part in (np.abs(values), phase(values)))]
    if len(curves) == 1:
        heads = ["magnitude", "phase [deg]"]
    lines = [HEADS + ",".join(heads), *(",".join(f"{x:.9g}" for x in row) for row in zip(*columns, strict=True))]
    write_file(path, "\n".join(lines) + "\n")
