"""Cibicik & Egeland: the manoeuvre of the four-joint arm with two elastic links.

The paper gives neither the gains of its controller nor the boundary mass and normalisation of its modes, nor damping:
the gains here are our own, so shapes and sizes of the curves can be compared, digits cannot.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.analysis.modes import modes
from pliant.dynamics import Dynamics
from pliant.model.library import load
from pliant.pictures.canvas import save
from pliant.results.plots import lines
from pliant.results.result import Result
from pliant.simulation.drives.controllers import PID
from pliant.simulation.run import Run
from pliant.simulation.study import IntegratorOptions, Study
from pliant.simulation.trajectories.joint_moves import SetPoint, Steps

if TYPE_CHECKING:
    from rich.console import Console

JOINTS = ("q1", "q2", "q3", "q4")
# our own gains: the paper leaves its controller out
KP, KD = (1000.0, 2000.0, 600.0, 20.0), (700.0, 1000.0, 230.0, 2.0)
# section VI-B: joints 2 to 4 are sent to pi/3 at 0.5 s, joint 1 to pi/4 at 3 s
MANOEUVRE = Steps(
    points=(
        SetPoint(time=0.5, to={"q2": np.pi / 3, "q3": np.pi / 3, "q4": np.pi / 3}),
        SetPoint(time=3.0, to={"q1": np.pi / 4}),
    )
)
UNTIL = 6.0
# processor seconds of the paper: nonlinear, linearised, linearised with optimised code
PAPER_SECONDS = (3901.0, 314.0, 14.0)
# rigid motion, flexure in xy, torsion, flexure in xz: the paper's figures and our families
FIGURES = {7: ("bend_y", "flexure in xy, mm"), 8: ("torsion", "torsion, mrad"), 9: ("bend_z", "flexure in xz, mm")}


def main(out: Path, console: Console) -> None:
    """Run the manoeuvre, print the tables and draw figures like those of the paper into a folder."""
    from rich.table import Table

    console.print("[bold]Cibicik & Egeland, kinematics and dynamics of flexible manipulators using dual screws[/]")
    began = time.process_time()
    job = Run(manoeuvre())
    prepared = time.process_time()
    job.go()
    seconds = time.process_time() - prepared
    run = job.result()
    rows = Table(title=f"Manoeuvre of {UNTIL:g} s, processor time (s)")
    for column in ("ours: nonlinear", "paper: nonlinear", "paper: linearised", "paper: linearised, optimised"):
        rows.add_column(column, justify="right")
    rows.add_row(f"{seconds:.2f}", *(f"{x:g}" for x in PAPER_SECONDS))
    console.print(rows)
    _ends(run, console)
    _frequencies(run.arm, console)
    for text in (
        f"Reading and compiling the model took {prepared - began:.2f} s more; compiled code is kept on disk.",
        "The gains are our own (the paper omits its controller); so are boundary mass and normalisation of the modes.",
        "Computed with the full nonlinear model. The paper's literal first-order procedure gives an asymmetric mass "
        "matrix that becomes singular during the slew; it is not used here.",
        f"Energy against work and losses: within {np.abs(run['energy.balance']).max():.1e} J.",
    ):
        console.print(text)
    _draw(run, out)
    run.report(out / "cibicik.html")
    console.print(f"Drawn: {out}/cibicik-figure-6.png to -10.png; report: {out}/cibicik.html")


def manoeuvre() -> Study:
    """The study: start undeformed, hold, fold, slew."""
    drive = PID(trajectory=MANOEUVRE, kp=KP, kd=KD, gravity="desired")
    return Study(
        name="cibicik",
        robot=load("cibicik-4dof"),
        until=UNTIL,
        drive=drive,
        integrator=IntegratorOptions(tolerance=1e-7),
    )


def _ends(run: Result, console: Console) -> None:
    from rich.table import Table

    rows = Table(title="Joint angles (deg)")
    for column in ("joint", "at 3 s", "commanded", "at 6 s", "commanded"):
        rows.add_column(column, justify="right")
    k = int(np.argmin(np.abs(run.time - 3.0)))
    for name in JOINTS:
        angle, desired = np.degrees(run[name]), np.degrees(run[f"{name}.desired"])
        rows.add_row(name, *(f"{x:.3f}" for x in (angle[k], desired[k - 1], angle[-1], desired[-1])))
    console.print(rows)


def _frequencies(arm: Dynamics, console: Console) -> None:
    q = np.array([arm.robot.pose.get(name, 0.0) for name in arm.names])
    found = modes(arm, q).hertz[:4]
    numbers = ", ".join(f"{f:.3f}" for f in found)
    console.print(f"Natural frequencies at the start, joints locked, with gravity: {numbers} Hz; none printed.")


def _draw(run: Result, out: Path) -> None:
    from matplotlib.figure import Figure

    def page(number: int, panels: list[tuple[str, dict[str, Any]]]) -> None:
        figure = Figure(figsize=(10.0, 3.2), layout="constrained")
        for axes, (title, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            lines(axes, run.time, curves, title)
        save(figure, out / f"cibicik-figure-{number}.png")

    angles = {name: np.degrees(run[name]) for name in JOINTS}
    rates = {name: np.degrees(run[f"{name}.rate"]) for name in JOINTS}
    page(6, [("joint angles, deg", angles), ("joint rates, deg/s", rates)])
    for number, (family, title) in FIGURES.items():
        names = [name for name in run.arm.names if f".{family}." in name]
        page(
            number,
            [
                (title, {name: 1e3 * run[name] for name in names}),
                (f"{title}/s", {name: 1e3 * run[f"{name}.rate"] for name in names}),
            ],
        )
    page(10, [("motor torques, N m", {name: run[f"{name}.torque"] for name in JOINTS})])
