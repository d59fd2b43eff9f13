"""Mohan & Saha in numbers: Table 1 with its crossovers, how many modes are enough, and residuals of the solve."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.modes import vibration_modes
from pliant.dynamics import Dynamics
from pliant.model import Elements, Family, Robot
from pliant.reproduce.operation_counts import (
    FARTHEST,
    Method,
    cyril,
    cyril_as_printed,
    gains,
    jain_rodriguez,
    jain_rodriguez_by_modes,
    mohan_saha,
)
from pliant.simulation.run import SimulationWarning, run_study

if TYPE_CHECKING:
    from rich.console import Console

    from pliant.results.result import Result
    from pliant.simulation.study import Study

Floats = NDArray[np.float64]

# n* = 8, m = 2: multiplications and additions as Table 1 prints them
PRINTED = {"Proposed": (9874, 7699), "Jain & Rodriguez": (10568, 8344), "Cyril": (13990, 12683)}
METHODS: dict[str, Method] = {
    "Proposed": mohan_saha,
    "Jain & Rodriguez": jain_rodriguez,
    "Jain & Rodriguez, branch by modes": jain_rodriguez_by_modes,
    "Cyril, A_3c with +251m/3": cyril,
    "Cyril, A_3c as printed": cyril_as_printed,
}
LINKS, MODES = (2, 3, 7, 8, 20, 100), (1, 2, 3, 4)
AT_LINKS, AT_MODES = 8, 2
"""n* and m of Table 1."""
COUNTS, FINE = (1, 2, 3, 4, 6), 12
"""Modes per link, and elements per link of the converged frequencies."""
RUN_COUNTS, RUN_ELEMENTS = (1, 2, 3, 4), 6


# ---------------------------------------------------------------- section 6, table 1


def print_table_1(console: Console) -> None:
    """Counts of all methods at the printed place, over n and m, and where one becomes cheaper than another."""
    from rich.table import Table

    rows = Table(title=f"Table 1: operations of forward dynamics, n = {AT_LINKS} links, m = {AT_MODES} modes per plane")
    for column in ("method", "multiplications", "printed", "additions", "printed"):
        rows.add_column(column, justify="left" if column == "method" else "right")
    for name, method in METHODS.items():
        known = PRINTED[name.partition(",")[0]]
        count = method(AT_LINKS, AT_MODES)
        cells = (f"{count[0]:.0f}", str(known[0]), f"{count[1]:.0f}", str(known[1]))
        rows.add_row(name, *cells)
    console.print(rows)
    rows = Table(title="The same formulas over n and m: multiplications and additions together")
    rows.add_column("method, m")
    for n in LINKS:
        rows.add_column(f"n = {n}", justify="right")
    for m in MODES:
        for name, method in METHODS.items():
            rows.add_row(f"{name}, m = {m}", *(f"{method(n, m).total:.0f}" for n in LINKS))
    console.print(rows)
    rows = Table(title="Links n for which the proposed method needs fewer operations than ...")
    rows.add_column("m")
    others = list(METHODS)[1:]
    for name in others:
        rows.add_column(name, justify="right")
    for m in MODES:
        rows.add_row(str(m), *(_ranges(gains(mohan_saha, METHODS[name], m)) for name in others))
    console.print(rows)
    own = Dynamics("canadarm", compile="never").operations("forward").total
    console.print(
        "n* = 8 is where the printed branch of Jain & Rodriguez changes, n <= 7 or not: their count jumps there. If "
        "the branch is on the number of modes, theirs is the cheaper one for two modes from three links on, and there "
        "is no n*. As printed, the formulas of two modes meet again at 92 links, and with four modes the proposed "
        "method is never the cheaper one. Its count grows as n m^3, since m^3 is inside the factor of n: not O(n) + "
        f"O(m^3/3). Pliant's own recursion counts {own} operations for the Canadarm (n = 3, m = 2), where the formula "
        f"gives {mohan_saha(3, 2).total:.0f}."
    )


def _ranges(found: list[tuple[int, int]]) -> str:
    if not found:
        return "none"
    return ", ".join(f"{a}" if a == b else f"{a} ..." if b == FARTHEST else f"{a} to {b}" for a, b in found)


# ---------------------------------------------------------------- section 7.1: two modes are enough


def with_modes(robot: Robot, count: int) -> Robot:
    """The robot with another number of in-plane modes per link."""
    links = []
    for link in robot.links:
        assert link.beam is not None
        assert link.beam.modes is not None
        modes = link.beam.modes.with_changes(bend_y=Family(count=count))
        links.append(link.with_changes(beam=link.beam.with_changes(modes=modes)))
    return robot.with_changes(links=tuple(links))


def with_elements(robot: Robot, number: int) -> Robot:
    """The robot with cubic elements in the place of its modes: the same beams, converged."""
    elements = Elements(number=number, bend_y=True, bend_z=False)
    links = []
    for link in robot.links:
        assert link.beam is not None
        links.append(link.with_changes(beam=link.beam.with_changes(modes=None, elements=elements)))
    return robot.with_changes(links=tuple(links))


def frequencies(robot: Robot, *, free: bool) -> Floats:
    """Natural frequencies of the straight arm in rad/s, joints free or locked; rigid motions left out."""
    arm = Dynamics(robot, compile="never")
    straight = np.zeros(arm.size)
    found = vibration_modes(arm, straight, locked=()) if free else vibration_modes(arm, straight)
    joints = len(arm.inputs) if free else 0
    return np.asarray(np.sort(found.frequencies)[joints:])


class Converged(NamedTuple):
    """A number of modes per link: the lowest frequencies with free and locked joints, and those of many elements."""

    modes: int
    free: Floats
    locked: Floats
    free_limit: Floats
    locked_limit: Floats

    def excess(self, k: int, *, free: bool) -> float:
        """By how much frequency k (from 0) is too high, as a share; nan where the model has no such frequency."""
        ours, limit = (self.free, self.free_limit) if free else (self.locked, self.locked_limit)
        return float(ours[k] / limit[k] - 1) if k < len(ours) else float("nan")


def mode_convergence(robot: Robot) -> list[Converged]:
    """Frequencies over the number of modes per link."""
    fine = with_elements(robot, FINE)
    limits = [frequencies(fine, free=free) for free in (True, False)]
    out = []
    for count in COUNTS:
        own = with_modes(robot, count)
        out.append(Converged(count, *(frequencies(own, free=free) for free in (True, False)), *limits))
    return out


def print_modes(study: Study, console: Console) -> None:
    """How far frequencies and the forced run are from converged with each number of modes."""
    from rich.table import Table

    found = mode_convergence(study.robot)
    rows = Table(title="Frequencies of the straight arm in rad/s, and by how much they are too high")
    rows.add_column("modes per link")
    for state in ("free", "locked"):
        for k in range(4):
            rows.add_column(f"{k + 1}, {state}", justify="right")
    for each in found:
        cells = []
        for free, values in ((True, each.free), (False, each.locked)):
            for k in range(4):
                off = each.excess(k, free=free)
                cells.append(f"{values[k]:.4g} ({100 * off:+.1f}%)" if k < len(values) else "-")
        rows.add_row(str(each.modes), *cells)
    rows.add_row(f"{FINE} elements", *(f"{x:.4g}" for x in (*found[0].free_limit[:4], *found[0].locked_limit[:4])))
    console.print(rows)
    two = next(each for each in found if each.modes == AT_MODES)
    console.print(
        "Clamped-free modes are those of a link alone, not of a chain: with two of them the third frequency of the arm "
        f"with free joints is {two.free[2]:.1f} rad/s instead of {two.free_limit[2]:.1f}, "
        f"{100 * two.excess(2, free=True):.0f} % too high."
    )
    runs = {count: run_study(study.with_changes(robot=with_modes(study.robot, count))) for count in RUN_COUNTS}
    with warnings.catch_warnings():
        # vibrations of elements far above the run's are erased by implicit steps, as a warning would say
        warnings.simplefilter("ignore", SimulationWarning)
        finest = run_study(study.with_changes(robot=with_elements(study.robot, RUN_ELEMENTS)))
    rows = Table(title=f"Forced run over the modes per link: largest difference from {RUN_ELEMENTS} elements per link")
    joints = finest.arm.inputs
    for column in ("modes per link", *(f"{name}, rad" for name in joints), "tip of link 1, m"):
        rows.add_column(column, justify="right")
    apart = {count: run_difference(run, finest) for count, run in runs.items()}
    for count, gaps in apart.items():
        rows.add_row(str(count), *(f"{gaps[name]:.1e}" for name in (*joints, "upper.deflection")))
    console.print(rows)
    largest, off = float(np.abs(finest["upper.deflection"][:, 1]).max()), apart[AT_MODES]["upper.deflection"]
    console.print(
        f"Two modes are enough for this run to {100 * off / largest:.0f} % of the deflection of link 1 (at most "
        f"{largest:.3f} m) and {1e3 * max(apart[AT_MODES][name] for name in joints):.1f} mrad of a joint: its torques "
        "hardly reach the frequencies that the modes miss."
    )


def run_difference(run: Result, other: Result) -> dict[str, float]:
    """Largest difference of each joint angle and of the first link's tip deflection between two runs."""
    out = {name: float(np.abs(run[name] - other[name]).max()) for name in run.arm.inputs}
    name = "upper.deflection"
    return {**out, name: float(np.abs(run[name] - other[name]).max())}


# ---------------------------------------------------------------- section 7.2: residuals of the solve


class SolveErrors(NamedTuple):
    """Largest errors of accelerations over states of a run.

    residual  |M a + h - tau| over |M| |a| + |h| + |tau|, row by row
    forward   |a - a_exact| over |a_exact|, largest entries; a_exact is refined in long arithmetic
    """

    residual: float
    forward: float


def solve_errors(run: Result, method: str, every: int = 20) -> SolveErrors:
    """Errors of a method's accelerations at states of a run, beside the refined solution of the same M and h."""
    from scipy.linalg import cho_factor, cho_solve

    arm, reference = Dynamics(run.robot, method=method), Dynamics(run.robot)
    worst = SolveErrors(0.0, 0.0)
    for q, v, tau in zip(run.q[::every], run.v[::every], run.tau[::every], strict=True):
        M, h = np.array(reference.mass_matrix(q)), np.array(reference.bias(q, v))
        right = np.asarray(reference.B @ tau)
        factor = cho_factor(M)
        exact = cho_solve(factor, right - h).astype(np.longdouble)
        for _ in range(3):
            exact = exact + cho_solve(factor, np.asarray(right - h - M.astype(np.longdouble) @ exact, dtype=float))
        a = np.array(arm.forward(q, v, tau))
        gap = np.abs(M.astype(np.longdouble) @ a + h - right)
        size = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(right)
        residual = float((gap / np.where(size > 0, size, 1.0)).max())
        forward = float(np.abs(a - exact).max() / max(np.abs(exact).max(), 1e-300))
        worst = SolveErrors(max(worst.residual, residual), max(worst.forward, forward))
    return worst
