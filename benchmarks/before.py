"""Where users waited: what a first measurement found, what was wanted, and what this run finds.

The first measurement was made on another machine. Its figures stand here as the same ratios that the sections
measure: to a peer, to another call of the same run, or to something that both machines do (``import numpy`` took 0.108
s there, Exudyn's ringing arm 0.322 s, the steps of one run of a sweep 1.1 ms).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from report import Row, Section, Sheet


class Wait(NamedTuple):
    """One line: where it is measured, the ratio that was found first, both as costs (theirs is one)."""

    what: str
    section: str
    case: str
    row: str
    """How the row's own words begin; of several rows with a goal the one that is furthest from it counts."""
    compared: str
    first: str


PINOCCHIO, FORWARD, NUMPY, ARM = "Pinocchio's call", "forward(q, v, tau)", "import numpy", "Exudyn's ringing arm"
LANES = "single calls / what lanes attain"
WAITS = (
    Wait("drives and loads, tree", "drives", "two-link-flexible", "", "the run with a PD law", "200 to 270 in loops"),
    Wait("drives and loads, loop", "drives", "four-bar", "", "the run with a PD law", "200 to 270"),
    Wait("jacobian, 7 rigid links, from Python", "rigid", "chain of 7", "arm.jacobian", PINOCCHIO, "134"),
    Wait("pose", "rigid", "chain of 7", "arm.pose", PINOCCHIO, "38"),
    Wait("energy", "rigid", "chain of 7", "arm.energy", PINOCCHIO, "11"),
    Wait("inverse", "rigid", "chain of 7", "arm.inverse, ", PINOCCHIO, "19"),
    Wait("forward without tau", "rigid", "chain of 7", "arm.forward without tau", FORWARD, "22"),
    Wait("forward with lists", "rigid", "chain of 7", "arm.forward with lists", FORWARD, "33"),
    Wait("forward with force=", "rigid", "chain of 7", "arm.forward with force=", FORWARD, "34"),
    Wait("forward with wrenches=", "rigid", "chain of 7", "arm.forward with wrenches=", FORWARD, "410"),
    Wait("derivatives, 2 links", "rigid", "chain of 2", "arm.derivatives", PINOCCHIO, "4.7"),
    Wait("derivatives, 7 links", "rigid", "chain of 7", "arm.derivatives", PINOCCHIO, "2.1"),
    Wait("derivatives, 20 links", "rigid", "chain of 20", "arm.derivatives", PINOCCHIO, "1.3"),
    Wait("mass matrix, 2 to 50 links", "rigid", "", "mass matrix", PINOCCHIO, "1.6 from 30 links on"),
    Wait("inverse derivatives, 2 to 50 links", "rigid", "", "inverse d/d(q, v, a)", PINOCCHIO, "1.3 from 30 links on"),
    Wait("cold process", "latency", "first run", "whole process, empty", "its imports", "5.1 to 6.0"),
    Wait("warm process", "latency", "first run", "whole process, compiled", "its imports", "2.3"),
    Wait("set-up of a further run", "latency", "two-link", "set-up of a further run", NUMPY, "0.10 to 0.12"),
    Wait("elements, 62 coordinates", "latency", "two links, 62", "", NUMPY, "88"),
    Wait("elements, 122 coordinates", "latency", "two links, 122", "", NUMPY, "250"),
    Wait("a frame of 190 coordinates", "latency", "a frame of 190", "", NUMPY, "148"),
    Wait("a beam of 200 elements", "latency", "a beam of 200", "", NUMPY, "171"),
    Wait("loops, first forward of three-prs", "latency", "three-prs", "", NUMPY, "28"),
    Wait("slow arm, set-up included", "damped", "slow arm to", "", "Exudyn's slow arm", "2.2 to 2.6"),
    Wait("what auto takes", "damped", "slow arm", "run with auto", "the best integrator", "4 to 6"),
    Wait("stiff elements", "damped", "20 elements", "", "generalised-alpha", "1"),
    Wait("4-DOF manoeuvre", "simulation", "Cibicik", "the same", ARM, "2.2"),
    Wait("DualEMPS, 25 s", "simulation", "DualEMPS", "the same", ARM, "2.0"),
    Wait("Canadarm, 10 s", "simulation", "Canadarm", "the same", ARM, "0.23"),
    Wait("batches of 64", "batch", "", "batch of 64", LANES, "1.1 to 2"),
    Wait("batches of 16384", "batch", "", "batch of 16384 from Python, one", LANES, "1.1 to 2"),
    Wait("thousand runs by reuse", "sweeps", "", "sweep, one by one", "their steps", "65"),
    Wait("thousand runs in lanes", "sweeps", "", "sweep, in lanes", "their steps", "65"),
)


def compared(sections: Iterable[Section]) -> Section:
    """The waits of the sections that this run measured; costs, so less is better everywhere."""
    rows = {section.name: section.rows for section in sections}
    lines = []
    for wait in WAITS:
        found = [
            row
            for row in rows.get(wait.section, ())
            if row.goal and row.case.startswith(wait.case) and row.what.startswith(wait.row)
        ]
        if not found:
            continue
        now, wanted = max(map(_costs, found), key=lambda costs: costs[0] / costs[1])
        verdict = "met" if all(row.met for row in found) else "**missed**"
        lines.append((wait.what, wait.compared, wait.first, f"{now:.3g}", f"≤ {wanted:.3g}", verdict))
    columns = ("what", "in units of", "first found", "now", "wanted", "")
    return Section("before", "Where users waited, before and now", sheets=[Sheet("costs", columns, lines)])


def _costs(row: Row) -> tuple[float, float]:
    """The cost now and the one wanted, whichever way the row says it."""
    assert row.ratio is not None
    assert row.goal is not None
    return (1 / row.ratio, 1 / row.goal.value) if row.faster else (row.ratio, row.goal.value)
