"""Tables of the theory pages beside what the program computes today."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from pliant import Dynamics, LumpedModel, Robot, load, modes
from pliant.analysis.lumped.frequencies import turning_frequencies
from pliant.reproduce.operation_counts import mohan_saha

THEORY = Path(__file__).parents[2] / "docs" / "theory"


def rows(page: str, head: str) -> list[list[str]]:
    """The cells of the table that begins with a line."""
    text = (THEORY / page).read_text(encoding="utf-8")
    lines = text.partition(f"{head}\n")[2].splitlines()[1:]
    table = lines[: next(k for k, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def printed(cell: str) -> list[str]:
    """The numbers of a cell, with their signs and digits."""
    return re.findall(r"[+-]?\d+(?:\.\d+)?", cell.replace("−", "-"))


def assert_rounds_to(value: float, text: str) -> None:
    """Whether a number is printed as its digits say; one in the last place is free, as rounding to even is."""
    unit = 10.0 ** Decimal(text).as_tuple().exponent
    assert abs(value - float(text)) <= 0.51 * unit, f"{value:.6g} is printed as {text}"


COSTS = rows(
    "dual-screw.md",
    "| robot | coordinates | forward: nonlinear | linearised | M0 | inverse: nonlinear | linearised |",
)


@pytest.mark.parametrize("row", COSTS, ids=lambda row: row[0].strip("`"))
def test_operations_of_the_linearised_method(row):
    name, *numbers = row[0].strip("`"), *map(int, row[1:])
    asked = [("recursive", "forward"), ("dual_screw", "forward"), ("dual_screw_frozen", "forward")]
    asked += [("recursive", "inverse"), ("dual_screw", "inverse")]
    arms = {method: Dynamics(name, method=method, compile="never") for method, _ in asked}
    assert numbers == [arms["recursive"].size, *(arms[method].operations(what).total for method, what in asked)]


def with_elements(robot: Robot, number: int) -> Robot:
    """Every beam in cubic elements, in the families that it has."""
    links = []
    for link in robot.links:
        if link.beam is not None:
            given = link.beam.elements or link.beam.modes
            families = {name: bool(getattr(given, name)) for name in ("bend_y", "bend_z", "torsion", "axial")}
            beam = link.beam.with_changes(modes=None, elements={"number": number, **families})
            link = link.with_changes(beam=beam)
        links.append(link)
    return robot.with_changes(links=links)


def hertz(robot: Robot, kind: str, number: int) -> np.ndarray:
    """Frequencies with locked joints: 1 and 3 are the two lowest of the Canadarm, whose planes are alike."""
    if kind.startswith("cubic"):
        found = modes(Dynamics(with_elements(robot, number), compile="never")).hertz
    else:
        joint = Dynamics(robot, compile="never").inputs[0]
        found = turning_frequencies(LumpedModel(robot, elements=number), joint, np.zeros(1), 3)[0] / (2 * np.pi)
    return found[[0, 2]]


@pytest.mark.parametrize("column", [2, 3], ids=["canadarm", "dualemps"])
def test_errors_of_nodes_and_elements(column):
    robot = load({2: "canadarm", 3: "dualemps"}[column])
    exact = hertz(robot, "cubic", 10)
    for row in rows("lumped-fe.md", "| per link | unknowns per plane | Canadarm 1, 2 | DualEMPS 1, 3 |"):
        number, kind = row[0].split(" ", 1)
        for value, text in zip(100 * (hertz(robot, kind, int(number)) / exact - 1), printed(row[column]), strict=True):
            assert_rounds_to(value, text)


def test_published_operations_are_those_of_the_formula():
    """Mohan and Saha print 9874 and 7699 for eight links; three links are not three eighths of that."""
    assert mohan_saha(8, 2) == (9874, 7699)
    assert sum(mohan_saha(3, 2)) == 5673
