"""Mohan & Saha: forced run of the flexible Canadarm, and their comparison of recursive and dense solutions.

The paper shows curves and no numbers, so the tables set our numbers beside what its text says. Eq. (44) as printed is
not a motion from rest to rest; the runs have no gravity (on the ground the first link alone would sag by 3.5 m).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.model.description.robot import Robot
from pliant.model.readers.library import load
from pliant.pictures.canvas import save
from pliant.reproduce.canadarm_tables import (
    AT_LINKS,
    AT_MODES,
    METHODS,
    PRINTED,
    frequencies,
    print_modes,
    print_table_1,
    solve_errors,
    with_elements,
)
from pliant.reproduce.claim import Claim
from pliant.reproduce.operation_counts import mohan_saha
from pliant.results.plots import lines
from pliant.results.result import Result
from pliant.simulation.run import run_study
from pliant.simulation.study import Study, load_study

if TYPE_CHECKING:
    from rich.console import Console

Floats = NDArray[np.float64]

JOINTS = ("shoulder", "elbow", "wrist")
UNTIL = 10.0
# integrators of the comparison; each is used once with the recursive and once with the dense solution
SETTINGS: dict[str, dict[str, Any]] = {
    "rk4, 2 ms": {"method": "rk4", "step": 2e-3},
    "DOP853, 1e-6": {"method": "scipy:DOP853", "tolerance": 1e-6},
    "LSODA, 1e-8": {"method": "scipy:LSODA", "tolerance": 1e-8},
}


class Comparison(NamedTuple):
    """One integrator with both solutions: largest difference of a joint angle (rad), largest energy error (J)."""

    name: str
    angle: float
    balance_recursive: float
    balance_dense: float
    recursive: Result
    dense: Result


def main(out: Path, console: Console) -> None:
    """Run both studies, print the tables and draw figures like those of the paper into a folder."""
    console.print("[bold]Mohan & Saha, recursive DeNOC simulation of serial robots with flexible links[/]")
    print_table_1(console)
    study = load_study("canadarm", changes={"until": UNTIL})
    study = study.with_changes(robot=planar_canadarm())
    run = run_study(study)
    _forced_run(run, out, console)
    print_modes(study, console)
    _stability(study, out, console)


def planar_canadarm() -> Robot:
    """The robot with its two in-plane modes per link, as in the paper's runs."""
    robot = load("canadarm")
    links = []
    for link in robot.links:
        assert link.beam is not None
        assert link.beam.modes is not None
        modes = link.beam.modes.with_changes(bend_z=None)
        links.append(link.with_changes(beam=link.beam.with_changes(modes=modes)))
    return robot.with_changes(links=tuple(links))


# ---------------------------------------------------------------- section 7.1, figures 4 and 5


def _forced_run(run: Result, out: Path, console: Console) -> None:
    from rich.table import Table

    rows = Table(title="Forced run (section 7.1): simulated joint angles, desired ones in brackets (rad)")
    for column in ("t, s", *JOINTS, "tip of link 1, m"):
        rows.add_column(column, justify="right")
    for second in range(1, int(UNTIL) + 1):
        k = int(np.argmin(np.abs(run.time - second)))
        angles = [f"{run[name][k]:.6f} ({run[f'{name}.desired'][k]:.6f})" for name in JOINTS]
        rows.add_row(str(second), *angles, f"{run['upper.deflection'][k, 1]:.5f}")
    console.print(rows)
    balance = np.abs(run["energy.balance"]).max()
    console.print(f"Energy against work of the motors: within {balance:.1e} J of {run['work'].max():.1f} J.")
    console.print("The paper shows these curves in its figures 4 and 5 without numbers; compare shapes and sizes.")
    _figure_4(run, out / "canadarm-figure-4.png")
    _figure_5(run, out / "canadarm-figure-5.png")
    run.report(out / "canadarm.html")
    console.print(f"Drawn: {out}/canadarm-figure-4.png, canadarm-figure-5.png; report: {out}/canadarm.html")


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * columns, 2.8 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _figure_4(run: Result, path: Path) -> None:
    figure, axes = _figure(2, 3)
    for j, name in enumerate(JOINTS):
        desired = run[f"{name}.desired"]
        rate = np.gradient(desired, run.time)
        lines(axes[0, j], run.time, {"simulated": run[name], "desired": desired}, f"angle of joint {j + 1}, rad")
        curves = {"simulated": run[f"{name}.rate"], "desired": rate}
        lines(axes[1, j], run.time, curves, f"rate of joint {j + 1}, rad/s")
    save(figure, path)


def _figure_5(run: Result, path: Path) -> None:
    figure, axes = _figure(1, 3)
    for j, link in enumerate(run.robot.links):
        y = run[f"{link.name}.deflection"][:, 1]
        lines(axes[0, j], run.time, {"tip": y}, f"deflection of link {j + 1}, m")
    save(figure, path)


# ---------------------------------------------------------------- section 7.2, figures 6 to 8


def compare(study: Study, name: str) -> Comparison:
    """Run one study with one integrator and both solutions of the equations of motion."""
    integrator = study.integrator.with_changes(**SETTINGS[name])
    own = study.with_changes(integrator=integrator)
    recursive = run_study(own, Dynamics(own.robot))
    dense = run_study(own, Dynamics(own.robot, method="dense"))
    angle = max(float(np.abs(recursive[j] - dense[j]).max()) for j in JOINTS)
    errors = [float(np.abs(run["energy.balance"]).max()) for run in (recursive, dense)]
    return Comparison(name, angle, errors[0], errors[1], recursive, dense)


def _stability(study: Study, out: Path, console: Console) -> None:
    from rich.table import Table

    found = [compare(study, name) for name in SETTINGS]
    rows = Table(title=f"Numerical stability (section 7.2): recursive against dense, {UNTIL:g} s")
    for column in (
        "integrator",
        "largest difference, rad",
        "energy error, recursive, J",
        "dense, J",
        "paper says of dense",
    ):
        rows.add_column(column, justify="right")
    for c in found:
        row = (f"{c.angle:.1e}", f"{c.balance_recursive:.1e}", f"{c.balance_dense:.1e}")
        rows.add_row(c.name, *row, "fails after about 5 s")
    console.print(rows)
    best = found[0]
    rows = Table(title="Accelerations of the same states: largest errors of the solve alone")
    for column in ("solution", "residual M a + h - tau, relative", "difference from the refined solution, relative"):
        rows.add_column(column, justify="right")
    for method in ("recursive", "dense"):
        errors = solve_errors(best.recursive, method)
        rows.add_row(method, f"{errors.residual:.1e}", f"{errors.forward:.1e}")
    console.print(rows)
    power = power_difference(best.recursive)
    condition = max(float(np.linalg.cond(best.recursive.arm.mass_matrix(q))) for q in best.recursive.q[::50])
    console.print(
        "Not reproducible: the dense solution does not fail. The mass matrix has a condition number of "
        f"{condition:.1e}, which costs six digits of sixteen at most."
    )
    console.print(
        f"The paper's power difference reaches {np.abs(power).max():.1f} W in the converged solution: it measures how "
        "far the flexible arm is from the rigid one, not an error of the computation. The energy balance above does."
    )
    _figure_6_and_8(best, out / "canadarm-figures-6-and-8.png")
    _figure_7(best, out / "canadarm-figure-7.png")
    console.print(f"Drawn: {out}/canadarm-figures-6-and-8.png, canadarm-figure-7.png")


def powers(run: Result) -> tuple[Floats, Floats]:
    """Power of the motors at the simulated joint rates, and at the desired ones, W (N,) each."""
    desired = np.gradient(run.samples.reference, run.time, axis=0)
    return np.asarray(run["power"]), np.asarray(np.einsum("ij,ij->i", run.tau, desired))


def power_difference(run: Result) -> Floats:
    """Power at the simulated joint rates less power at the desired ones, W (N,)."""
    simulated, desired = powers(run)
    return simulated - desired


def _figure_6_and_8(found: Comparison, path: Path) -> None:
    figure, axes = _figure(1, 2)

    def draw(panel: Any, title: str, recursive: Floats, dense: Floats) -> None:
        lines(panel, found.recursive.time, {"recursive": recursive, "dense": dense}, title)
        # one lies on the other: the dense solution is dotted, so that both are seen
        panel.get_lines()[1].set(linestyle=":", linewidth=2.2)

    pair = (found.recursive, found.dense)
    draw(axes[0, 0], "6: joint 1 less desired, rad", *(run["shoulder"] - run["shoulder.desired"] for run in pair))
    draw(axes[0, 1], "8: acceleration of joint 1, rad/s²", *(run["shoulder.acceleration"] for run in pair))
    save(figure, path)


def _figure_7(found: Comparison, path: Path) -> None:
    """Both powers by both solutions, and their difference."""
    figure, axes = _figure(1, 3)
    for panel, name, run in zip(axes[0], ("recursive", "dense"), (found.recursive, found.dense), strict=False):
        simulated, desired = powers(run)
        lines(panel, run.time, {"simulated": simulated, "desired": desired}, f"7: power of the motors, W: {name}")
    pair = {"recursive": power_difference(found.recursive), "dense": power_difference(found.dense)}
    lines(axes[0, 2], found.recursive.time, pair, "their difference, W")
    axes[0, 2].get_lines()[1].set(linestyle=":", linewidth=2.2)
    save(figure, path)


# ---------------------------------------------------------------- the numbers


def claims() -> Iterator[Claim]:
    """Joint angles of the forced run, and operation counts."""
    angles = {
        1: (0.011651676, 0.021037007, 0.008950981),
        3: (0.052976260, 0.109112627, 0.152664693),
        5: (0.148186416, 0.265256829, 0.507950395),
    }
    run = run_study(load_study("canadarm", changes={"until": 5.0, "outputs": {"step": 0.01}}))
    for second, values in angles.items():
        k = int(np.argmin(np.abs(run.time - second)))
        for joint, value in zip(("shoulder", "elbow", "wrist"), values, strict=True):
            yield Claim(
                f"published.canadarm.{joint}.{second}",
                f"angle of the {joint} after {second} s of the forced run",
                float(run[joint][k]),
                value,
                1e-6,
                "brute-force integration of Mohan & Saha's Canadarm",
                "rad",
                absolute=True,
                robot=run.robot,
                given={"study": "canadarm", "time": second},
            )
    counted = Dynamics("canadarm", compile="never").operations("forward").total
    printed = sum(mohan_saha(3, 2))
    yield Claim(
        "published.mohan-saha.operations",
        f"operations of the forward dynamics of the Canadarm, {counted}, above the paper's count, {printed:.0f}",
        max(counted - printed, 0.0),
        0.0,
        0.5,
        "Mohan & Saha, table 1, three links with two modes per plane",
    )
    for name, printed_counts in PRINTED.items():
        method = METHODS["Cyril, A_3c with +251m/3" if name == "Cyril" else name]
        for what, ours, theirs in zip(
            ("multiplications", "additions"), method(AT_LINKS, AT_MODES), printed_counts, strict=True
        ):
            yield Claim(
                f"published.mohan-saha.table-1.{name.split()[0].lower()}.{what}",
                f"{what} of {name}, eight links with two modes per plane",
                ours,
                theirs,
                0.5,
                "Mohan & Saha, table 1",
                absolute=True,
            )
    yield Claim(
        "published.mohan-saha.table-1.misprint.cyril",
        "additions of Cyril by the printed A_3c",
        METHODS["Cyril, A_3c as printed"](AT_LINKS, AT_MODES).additions,
        PRINTED["Cyril"][1],
        0.5,
        "Mohan & Saha, table 1",
        absolute=True,
        wrong="-251m/6 in A_3c gives 10675; +251m/3 would give the printed 12683",
    )
    planar = planar_canadarm()
    for k, value in enumerate((0.976775650, 7.40791809, 21.7900242)):
        yield Claim(
            f"published.canadarm.locked.{k + 1}",
            f"frequency {k + 1} with locked joints and two modes per link",
            float(frequencies(planar, free=False)[k]),
            value,
            1e-8,
            "brute-force model of Mohan & Saha's Canadarm",
            "rad/s",
        )
    yield Claim(
        "published.mohan-saha.two-modes",
        "frequency 3 with free joints and two modes per link, over that of 12 elements",
        float(frequencies(planar, free=True)[2] / frequencies(with_elements(planar, 12), free=True)[2]),
        1.0,
        0.05,
        "natural frequencies are exactly reproduced, Mohan & Saha, section 1",
        wrong="clamped-free modes of single links are not those of a chain: it is 60 % too high",
    )
    study = load_study("canadarm", changes={"until": 5.0, "outputs": {"step": 1e-3}}).with_changes(robot=planar)
    flexible = run_study(study)
    bend = flexible["upper.deflection"][:, 1]
    yield Claim(
        "published.canadarm.deflection",
        "largest deflection of the tip of link 1 in the forced run",
        float(bend.min()),
        -0.152824,
        2e-6,
        "brute-force integration of Mohan & Saha's Canadarm",
        "m",
        absolute=True,
    )
    yield Claim(
        "published.mohan-saha.power-difference",
        "largest power difference of the converged forced run, which is no error",
        float(np.abs(power_difference(flexible)).max()),
        25.0,
        0.5,
        "the same integration, two digits",
        "W",
        absolute=True,
    )
    both = compare(study.with_changes(until=2.0), "rk4, 2 ms")
    yield Claim(
        "published.mohan-saha.dense",
        "difference of a joint angle between the recursive and the dense solution, equal steps",
        both.angle,
        0.0,
        1e-12,
        "both solve the same equations; Mohan & Saha, section 7.2, say that the dense one fails",
        "rad",
    )
