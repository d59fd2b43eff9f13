"""Briot & Khalil: natural frequencies of the DualEMPS with locked drives, their table 3.

The paper's model has one cubic element per beam; its printed frequencies carry the rounding of its table 2. With more
elements the first five hardly change, and the sixth (an internal mode of a beam) comes down to less than half.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.model import Reduction, Robot
from pliant.model.library import load

if TYPE_CHECKING:
    from rich.console import Console

DRIVES = ("q11", "q21")

# Briot & Khalil (2014), table 3, q11 = q21 = 0, Hz
PAPER_MODEL = (14.22, 25.09, 48.22, 92.37, 109.08, 423.39)
PAPER_ADAMS = (14.41, 24.92, 49.78, 97.91, 110.86, 219.60)
PAPER_MEASURED = (14.0, 25.0, 48.0, 93.0, 108.0, 163.0)

PAPER_OPERATIONS = 1555 + 1287
"""Products and quotients, sums and differences of the paper's model, section 5."""

FINE_ELEMENTS, FINE_MODES = 24, 8
"""Elements per beam, and modes with a held tip that are kept of them: the sixth frequency has converged to 0.01 Hz."""


class Frequency(NamedTuple):
    """One line of the table, in Hz: with one element per beam, converged, and the paper's three columns."""

    mode: int
    one_element: float
    converged: float
    paper_model: float
    paper_adams: float
    paper_measured: float


COLUMNS = ("mode", "one element", "converged", "paper: model", "paper: Adams", "paper: measured")


def main(out: Path, console: Console) -> None:
    """Print the table of frequencies and the operation counts, and write the table into a folder."""
    from rich.table import Table

    console.print("[bold]Briot & Khalil, Int. J. Robotics Research 33(3), 2014[/]")
    table = Table(title="Natural frequencies of the DualEMPS, drives locked at q11 = q21 = 0 (Hz)")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    rows = frequencies()
    for row in rows:
        printed = [f"{row.one_element:.3f}", f"{row.converged:.3f}", *(f"{x:.2f}" for x in row[3:])]
        table.add_row(str(row.mode), *printed)
    console.print(table)
    lines = [",".join(COLUMNS), *(",".join(f"{x:.9g}" for x in row) for row in rows)]
    (out / "dualemps-frequencies.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arm = Dynamics("dualemps", compile="never")
    forward, inverse = arm.operations("forward"), arm.operations("inverse")
    console.print(f"forward model with its solution: {forward.total} operations ({forward})")
    console.print(f"inverse model: {inverse.total} operations ({inverse})")
    console.print(f"together {forward.total + inverse.total}; the paper's model {PAPER_OPERATIONS}")


def frequencies() -> list[Frequency]:
    """The six lowest frequencies at q11 = q21 = 0, beside those of the paper."""
    robot = load("dualemps")
    coarse = locked_frequencies(robot)
    fine = locked_frequencies(with_elements(robot, FINE_ELEMENTS, FINE_MODES))
    columns = zip(coarse, fine, PAPER_MODEL, PAPER_ADAMS, PAPER_MEASURED, strict=False)
    return [Frequency(k + 1, float(a), float(b), *paper) for k, (a, b, *paper) in enumerate(columns)]


def with_elements(robot: Robot, number: int, modes: int | None = None) -> Robot:
    """The robot with another number of elements per beam, reduced to the tip and some modes if asked."""
    change: dict[str, object] = {"number": number}
    if modes is not None:
        change["reduce"] = Reduction(method="craig_bampton", modes=modes)
    links = []
    for link in robot.links:
        beam = link.beam
        if beam is not None and beam.elements is not None:
            elements = beam.elements.model_copy(update=change)
            link = link.model_copy(update={"beam": beam.model_copy(update={"elements": elements})})
        links.append(link)
    return robot.model_copy(update={"links": tuple(links)})


def locked_frequencies(robot: Robot) -> NDArray[np.float64]:
    """Natural frequencies (Hz) in the reference pose with the drives locked and nothing loaded."""
    from scipy.linalg import eigh

    arm = Dynamics(robot, compile="never")
    q = arm.assemble()
    model = arm.reduced(q, np.zeros(arm.size))
    free = [k for k, name in enumerate(model.names) if name not in DRIVES]
    N = model.N[:, free]
    # the unloaded robot has no geometric stiffness: its multipliers are zero
    stiffness, mass = N.T @ arm.stiffness @ N, model.M[np.ix_(free, free)]
    squares = eigh(stiffness, mass, eigvals_only=True)
    found: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)
    return found
