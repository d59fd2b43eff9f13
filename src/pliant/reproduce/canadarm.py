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
    study = load_study("canadarm", changes={"until": UNTIL})
    study = study.with_changes(robot=planar_canadarm())
    run = run_study(study)
    _forced_run(run, out, console)
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
    _figure_6_to_8(best, out / "canadarm-figures-6-to-8.png")
    console.print(f"Drawn: {out}/canadarm-figures-6-to-8.png")


def power_difference(run: Result) -> Floats:
    """Power at the simulated joint rates less power at the desired ones, W (N,)."""
    desired = np.gradient(run.samples.reference, run.time, axis=0)
    return np.asarray(run["power"] - np.einsum("ij,ij->i", run.tau, desired))


def _figure_6_to_8(found: Comparison, path: Path) -> None:
    figure, axes = _figure(1, 3)

    def draw(panel: Any, title: str, recursive: Floats, dense: Floats) -> None:
        lines(panel, found.recursive.time, {"recursive": recursive, "dense": dense}, title)
        # one lies on the other: the dense solution is dotted, so that both are seen
        panel.get_lines()[1].set(linestyle=":", linewidth=2.2)

    pair = (found.recursive, found.dense)
    draw(axes[0, 0], "6: joint 1 less desired, rad", *(run["shoulder"] - run["shoulder.desired"] for run in pair))
    draw(axes[0, 1], "7: power difference, W", *(power_difference(run) for run in pair))
    draw(axes[0, 2], "8: acceleration of joint 1, rad/s²", *(run["shoulder.acceleration"] for run in pair))
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
