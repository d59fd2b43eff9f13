"""Cibicik & Egeland: the manoeuvre of the four-joint arm with two elastic links, nonlinear and linearised.

The paper gives neither the gains of its controller nor the boundary mass and normalisation of its modes, nor damping:
the gains here are our own, so shapes and sizes of the curves can be compared, digits cannot.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.modes import modes
from pliant.drives.pid import PID
from pliant.dynamics import Dynamics
from pliant.model.readers.library import load
from pliant.pictures.canvas import save
from pliant.reproduce.claim import Claim
from pliant.results.plots import lines
from pliant.results.result import Result
from pliant.simulation.integrators.integrator import IntegrationError
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import Run
from pliant.simulation.study import IntegratorOptions, Study
from pliant.trajectories.joint_moves import SetPoint, Steps

if TYPE_CHECKING:
    from rich.console import Console

Floats = NDArray[np.float64]

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
FIRST = 1e-3
STEP = 1e-4
"""s between samples: the fastest vibration of the arm, at 1064 Hz, has nine in a period, and rates have their peaks."""
# processor seconds of the paper: nonlinear, linearised, linearised with optimised code
OPTIMISED_SECONDS = 14.0
PAPER_SECONDS = {"recursive": "3901", "dual_screw": f"314; {OPTIMISED_SECONDS:g} with optimised code"}
MODELS = {
    "recursive": "nonlinear",
    "dual_screw": "linearised, M symmetric",
    "dual_screw_frozen": "linearised, M of the straight arm",
    "dual_screw_literal": "linearised as printed",
}
# rigid motion, flexure in xy, torsion, flexure in xz: the paper's figures and our families
FIGURES = {7: ("bend_y", "flexure in xy, mm"), 8: ("torsion", "torsion, mrad"), 9: ("bend_z", "flexure in xz, mm")}
GROUPS = {"joints": "", "flexure in xy": "bend_y", "torsion": "torsion", "flexure in xz": "bend_z"}
GROWTH_EVERY = 0.05
"""s between the states at which small motions are looked at."""
LAST = 0.1
"""s of the printed model's run that are drawn."""


@dataclass(frozen=True, slots=True)
class ManoeuvreRun:
    """One model's run of the manoeuvre.

    operations  of one evaluation of its forward dynamics
    seconds     of the processor for the run, and for reading and compiling before it
    trouble     why it ended early; empty if it did not
    jumps       time of a set point -> efforts (inputs,) right after it, which last less than a sample
    """

    result: Result
    operations: int
    seconds: float
    prepared: float
    trouble: str
    jumps: Mapping[float, Floats]

    def torques(self) -> tuple[Floats, Floats]:
        """Times, and efforts (times, inputs) on both sides of set points that jump."""
        at = np.searchsorted(self.result.time, [*self.jumps], side="right")
        times = np.insert(self.result.time, at, [*self.jumps])
        return times, np.insert(self.result.tau, at, list(self.jumps.values()), axis=0) if len(at) else self.result.tau


def main(out: Path, console: Console) -> None:
    """Run the manoeuvre with all models, print the tables and draw figures like those of the paper into a folder."""
    console.print("[bold]Cibicik & Egeland, kinematics and dynamics of flexible manipulators using dual screws[/]")
    runs = {method: simulate(method) for method in MODELS}
    exact, linear = runs["recursive"].result, runs["dual_screw"].result
    _costs(runs, console)
    _differences(runs, console)
    _ends(exact, console)
    _peaks(runs["recursive"], console)
    _frequencies(exact.arm, console)
    growth = growth_rates(exact)
    _literal(runs["dual_screw_literal"], growth, console)
    for text in (
        "The gains are our own (the paper omits its controller); so are boundary mass and normalisation of the modes.",
        f"Energy against work and losses: within {np.abs(exact['energy.balance']).max():.1e} J (nonlinear); the "
        f"linearised model keeps it to {np.abs(linear['energy.balance']).max():.1e} J, which is its own error.",
    ):
        console.print(text)
    _draw(runs, out)
    _draw_literal(runs, growth, out)
    exact.report(out / "cibicik.html")
    console.print(f"Drawn: {out}/cibicik-figure-6.png to -10.png (solid linearised, dashed nonlinear),")
    console.print(f"{out}/cibicik-printed.png; report: {out}/cibicik.html")


def simulate(method: str) -> ManoeuvreRun:
    """The manoeuvre by one method."""
    began = time.process_time()
    study = manoeuvre()
    with warnings.catch_warnings():
        # that the printed model is not fit for this is what is shown here
        warnings.simplefilter("ignore")
        arm = Dynamics(study.robot, method=method)
    # a first step compiles
    Run(study.with_changes(until=FIRST), arm).go()
    job = Run(study, arm)
    prepared = time.process_time()
    trouble = ""
    try:
        job.go()
    except IntegrationError as error:
        job.give_up(error)
        trouble = str(error)
    seconds = time.process_time() - prepared
    result, jumps = job.result(), {}
    for point in MANOEUVRE.points:
        k = int(np.searchsorted(result.time, point.time - STEP / 2))
        if k < len(result.time):
            found = job.equations.drive.at(point.time, result.q[k], result.v[k], np.zeros(0))
            jumps[point.time] = np.array(found.efforts)
    return ManoeuvreRun(result, arm.operations("forward").total, seconds, prepared - began, trouble, jumps)


def manoeuvre() -> Study:
    """The study: start undeformed, hold, fold, slew."""
    drive = PID(trajectory=MANOEUVRE, kp=KP, kd=KD, gravity="desired")
    return Study(
        name="cibicik",
        robot=load("cibicik-4dof"),
        until=UNTIL,
        drive=drive,
        integrator=IntegratorOptions(tolerance=1e-7),
        outputs=Outputs(step=STEP),
    )


def difference(run: Result, exact: Result, family: str) -> tuple[float, float]:
    """Largest difference of a family of coordinates (joints: empty) from another run, and their largest value there."""
    names = [name for name in exact.arm.names if (f".{family}." in name if family else name in JOINTS)]
    n = len(run.time)
    apart = max(float(np.abs(run[name] - exact[name][:n]).max()) for name in names)
    return apart, max(float(np.abs(exact[name]).max()) for name in names)


def growth_rates(run: Result) -> dict[str, Floats]:
    """Largest growth of undamped small motions about states of a run, 1/s, by the linearised models; and the times.

    Joints are held by the controller's springs: M x'' + K x = 0.
    """
    step = max(1, round(GROWTH_EVERY / float(run.time[1] - run.time[0])))
    out = {"time": np.asarray(run.time[::step])}
    for method in ("dual_screw", "dual_screw_literal"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arm = Dynamics(run.robot, method=method)
        springs = arm.B @ np.diag(KP) @ arm.B.T
        out[method] = np.array([_growth(arm.mass_matrix(q), arm.stiffness + springs) for q in run.q[::step]])
    return out


def _growth(M: Floats, K: Floats) -> float:
    squares = np.linalg.eigvals(np.linalg.solve(M, K)).astype(complex)
    return float(np.abs(np.sqrt(-squares).real).max())


def _costs(runs: dict[str, ManoeuvreRun], console: Console) -> None:
    from rich.table import Table

    rows = Table(title=f"Manoeuvre of {UNTIL:g} s")
    for column in ("model", "operations, forward", "processor time, s", "before the run, s", "paper, s", "ended"):
        rows.add_column(column, justify="right" if column != "model" else "left")
    for method, run in runs.items():
        times = (f"{run.seconds:.2f}", f"{run.prepared:.2f}", PAPER_SECONDS.get(method, "-"))
        rows.add_row(MODELS[method], str(run.operations), *times, f"{run.result.time[-1]:.3g} s")
    console.print(rows)
    console.print("Operations are additions, multiplications and divisions of one evaluation; compiled code is kept.")


def _differences(runs: dict[str, ManoeuvreRun], console: Console) -> None:
    from rich.table import Table

    exact = runs["recursive"].result
    rows = Table(title="Largest difference from the nonlinear model, and its share of the largest value")
    rows.add_column("model")
    for group in GROUPS:
        rows.add_column(group, justify="right")
    for method, run in runs.items():
        if method == "recursive" or run.trouble:
            continue
        found = [difference(run.result, exact, family) for family in GROUPS.values()]
        # before the slew nothing moves sideways
        shares = (f"{apart:.2g} ({apart / largest:.1%})" if largest else "0" for apart, largest in found)
        rows.add_row(MODELS[method], *shares)
    console.print(rows)
    console.print("Joints and torsion in rad, flexure in m at the tip (shapes have unit tip values).")


def _literal(run: ManoeuvreRun, growth: dict[str, Floats], console: Console) -> None:
    worst = int(np.argmax(growth["dual_screw_literal"]))
    fastest, at = growth["dual_screw_literal"][worst], growth["time"][worst]
    ended = f"ended at {run.result.time[-1]:.3f} s: {run.trouble}" if run.trouble else "reached the end of this run"
    console.print(
        "As printed, the elastic columns of M are of order zero and all others of order one: M is not symmetric. Small "
        f"motions about the states of the nonlinear run then grow at up to {fastest:.3g} 1/s (at {at:.2f} s); with all "
        f"blocks of M to first order at {growth['dual_screw'].max():.1g} 1/s. The run of the printed model {ended}."
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


def _peaks(run: ManoeuvreRun, console: Console) -> None:
    """Largest rates and efforts of the nonlinear run, which its figures show."""
    result = run.result
    rates = {}
    for family, unit in (("bend_y", "m/s"), ("torsion", "rad/s"), ("bend_z", "m/s")):
        names = [name for name in result.arm.names if f".{family}." in name]
        rates[family] = f"{max(float(np.abs(result[f'{name}.rate']).max()) for name in names):.3g} {unit}"
    efforts = np.abs(run.torques()[1]).max(axis=0)
    console.print(
        f"Largest rates: {', '.join(f'{family} {value}' for family, value in rates.items())}; largest torques: "
        f"{', '.join(f'{name} {x:.4g}' for name, x in zip(JOINTS, efforts, strict=True))} N m, those right after a set "
        "point jumps included."
    )


def _frequencies(arm: Dynamics, console: Console) -> None:
    joints = {name: arm.robot.pose.get(name, 0.0) for name in JOINTS}
    straight = np.array([joints.get(name, 0.0) for name in arm.names])
    # joints by name: the links bend as gravity bends them
    bent, unbent = (", ".join(f"{f:.3f}" for f in modes(arm, q).hertz[:4]) for q in (joints, straight))
    console.print(
        f"Natural frequencies in the first pose, joints locked: {bent} Hz about the arm that gravity bends, {unbent} "
        "Hz about the straight one, with which the run begins; none printed."
    )


def _page(path: Path, panels: list[tuple[str, Floats, dict[str, Any], dict[str, Any] | None]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.0, 3.6), layout="constrained")
    for axes, (title, t, curves, dashed) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        lines(axes, t, curves, title, dashed)
    save(figure, path)


def _draw(runs: dict[str, ManoeuvreRun], out: Path) -> None:
    """Figures 6 to 10: solid lines linearised, dashed nonlinear, as in the paper; torques side by side."""
    exact, linear = runs["recursive"].result, runs["dual_screw"].result

    def panel(title: str, channels: dict[str, str], factor: float) -> Any:
        solid, dashed = ({name: factor * run[c] for name, c in channels.items()} for run in (linear, exact))
        return title, linear.time, solid, dashed

    def pair(names: list[str], title: str, factor: float) -> list[Any]:
        rates = {name: f"{name}.rate" for name in names}
        return [panel(title, {name: name for name in names}, factor), panel(f"{title}/s", rates, factor)]

    _page(out / "cibicik-figure-6.png", pair(list(JOINTS), "joint angles, deg", 180 / np.pi))
    for number, (family, title) in FIGURES.items():
        names = [name for name in exact.arm.names if f".{family}." in name]
        _page(out / f"cibicik-figure-{number}.png", pair(names, title, 1e3))
    panels: list[Any] = []
    for title, run in (("linearised", runs["dual_screw"]), ("nonlinear", runs["recursive"])):
        times, tau = run.torques()
        panels.append((f"motor torques, N m: {title}", times, dict(zip(JOINTS, tau.T, strict=True)), None))
    _page(out / "cibicik-figure-10.png", panels)


def _draw_literal(runs: dict[str, ManoeuvreRun], growth: dict[str, Floats], out: Path) -> None:
    """What becomes of the printed model: growth of small motions, and the elastic coordinates of its own run."""
    run, exact = runs["dual_screw_literal"].result, runs["recursive"].result
    rates = {"as printed": growth["dual_screw_literal"], "M symmetric": growth["dual_screw"]}
    names = [name for name in exact.arm.names if ".bend_z." in name]
    n = len(run.time)
    shown = run.time > run.time[-1] - LAST
    solid = {name: 1e3 * run[name][shown] for name in names}
    dashed = {name: 1e3 * exact[name][:n][shown] for name in names}
    _page(
        out / "cibicik-printed.png",
        [
            ("growth of small motions, 1/s", growth["time"], rates, None),
            ("end of the printed model's run: flexure in xz, mm", run.time[shown], solid, dashed),
        ],
    )


# ---------------------------------------------------------------- the numbers


def claims() -> Iterator[Claim]:
    """The literal model of the paper is not symmetric; the completed one is."""
    robot = load("cibicik-4dof")
    for method, wrong in (
        ("dual_screw", ""),
        ("dual_screw_literal", "elastic columns of M to order zero, all others to order one: the model is unstable"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arm = Dynamics(robot, method=method, compile="never")
        q = arm.reference_pose()
        elastic = np.setdiff1d(np.arange(arm.size), list(arm.mechanism.joints))
        q[elastic] = 1e-3 * np.linspace(-1.0, 1.0, len(elastic))
        M = arm.mass_matrix(q)
        size = np.sqrt(np.abs(np.outer(np.diag(M), np.diag(M))))
        yield Claim(
            f"published.cibicik.symmetry.{method}",
            f"how far M of the linearised 4-DOF arm is from symmetric, {method}",
            float(np.abs((M - M.T) / size).max()),
            0.0,
            1e-9,
            "Cibicik & Egeland",
            wrong=wrong,
        )
