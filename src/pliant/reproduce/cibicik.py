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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.modes import modes, vibration_modes
from pliant.drives.pid import PID
from pliant.dynamics import Dynamics
from pliant.model.readers.library import load
from pliant.reproduce.cibicik_figures import CurvePanel, draw_figures, draw_page
from pliant.reproduce.claim import Claim
from pliant.results.result import Result
from pliant.simulation.integrators.integrator import IntegrationError
from pliant.simulation.run import Run, run_study
from pliant.simulation.study import Study, load_study
from pliant.trajectories.joint_moves import SetPoint, Steps

if TYPE_CHECKING:
    from rich.console import Console

Floats = NDArray[np.float64]

JOINTS = ("q1", "q2", "q3", "q4")
STUDY = "cibicik"
"""The bundled study of the manoeuvre; the gains are our own: the paper leaves its controller out."""
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
    _symbols(console)
    console.print(f"Drawn: {out}/cibicik-figure-5.png to -10.png (solid linearised, dashed nonlinear),")
    console.print(f"{out}/cibicik-printed.png; report: {out}/cibicik.html")


def _symbols(console: Console) -> None:
    """Appendix B and the cost of derivatives, which need SymPy."""
    from rich.table import Table

    from pliant.reproduce.appendix_b import print_appendix_b
    from pliant.reproduce.screw_derivatives import PAPER_SECONDS as PAPER_DERIVATIVES
    from pliant.reproduce.screw_derivatives import derivative_costs

    try:
        print_appendix_b(console)
        costs = derivative_costs()
    except ImportError as error:
        console.print(f"Appendix B and the derivatives of projection matrices are left out: {error}")
        return
    rows = Table(title="Derivatives of the dual projection matrices of the four link frames, in symbols")
    for column in ("way", "processor time, s", "paper, s", "operations"):
        rows.add_column(column, justify="left" if column == "way" else "right")
    for way, seconds in costs.seconds.items():
        rows.add_row(way, f"{seconds:.2f}", f"{PAPER_DERIVATIVES[way]:g}", str(costs.operations[way]))
    console.print(rows)
    console.print(
        f"Both have the same numbers, to {costs.apart:.0e}. The paper's times are those of MATLAB, with sections and "
        "centres of mass; what screws save here is a factor, and a method that runs on numbers needs neither."
    )


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
    for point in drive()[1]:
        k = int(np.searchsorted(result.time, point.time - STEP / 2))
        if k < len(result.time):
            found = job.equations.drive.at(point.time, result.q[k], result.v[k], np.zeros(0))
            jumps[point.time] = np.array(found.efforts)
    return ManoeuvreRun(result, arm.operations("forward").total, seconds, prepared - began, trouble, jumps)


def manoeuvre() -> Study:
    """The study: start undeformed, hold, fold, slew."""
    return load_study(STUDY, changes={"until": UNTIL, "outputs": {"step": STEP}})


def drive() -> tuple[Floats, tuple[SetPoint, ...]]:
    """Proportional gains by joint, and the set points of the manoeuvre."""
    found = load_study(STUDY).drive
    assert isinstance(found, PID)
    assert isinstance(found.kp, dict)
    assert isinstance(found.trajectory, Steps)
    return np.array([found.kp[name] for name in JOINTS]), found.trajectory.points


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
        springs = arm.B @ np.diag(drive()[0]) @ arm.B.T
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


def _draw(runs: dict[str, ManoeuvreRun], out: Path) -> None:
    """Figures 5 to 10: solid lines linearised, dashed nonlinear, as in the paper."""
    exact, linear = runs["recursive"], runs["dual_screw"]
    times, tau = linear.torques()
    torques = [dict(zip(JOINTS, each.T, strict=True)) for each in (tau, exact.torques()[1])]
    draw_figures(exact.result, linear.result, (times, torques[0], torques[1]), out)


def _draw_literal(runs: dict[str, ManoeuvreRun], growth: dict[str, Floats], out: Path) -> None:
    """What becomes of the printed model: growth of small motions, and the elastic coordinates of its own run."""
    run, exact = runs["dual_screw_literal"].result, runs["recursive"].result
    rates = {"as printed": growth["dual_screw_literal"], "M symmetric": growth["dual_screw"]}
    names = [name for name in exact.arm.names if ".bend_z." in name]
    n = len(run.time)
    shown = run.time > run.time[-1] - LAST
    solid = {name: 1e3 * run[name][shown] for name in names}
    dashed = {name: 1e3 * exact[name][:n][shown] for name in names}
    title = "end of the printed model's run: flexure in xz, mm"
    panels = [
        CurvePanel("growth of small motions, 1/s", growth["time"], rates),
        CurvePanel(title, run.time[shown], solid, dashed),
    ]
    draw_page(out / "cibicik-printed.png", panels)


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
    arm = Dynamics(robot.with_changes(gravity=(0.0, 0.0, 0.0)), compile="never")
    found = vibration_modes(arm, arm.reference_pose()).hertz
    for k, value in enumerate((3.960, 4.294, 8.221, 8.483)):
        yield Claim(
            f"published.cibicik.locked.{k + 1}",
            f"frequency {k + 1} in the first pose, straight, joints locked, without gravity",
            float(found[k]),
            value,
            5e-4,
            "brute-force model of Cibicik & Egeland's arm, three decimals",
            "Hz",
            absolute=True,
        )
    costs = [
        Dynamics(robot, method=method, compile="never").operations("forward").total
        for method in ("recursive", "dual_screw")
    ]
    yield Claim(
        "published.cibicik.operations",
        "operations of the linearised forward dynamics over those of the nonlinear ones",
        costs[1] / costs[0],
        4173 / 11123,
        1e-9,
        "counted; the paper's runs take 314 s and 3901 s",
    )
    folding = run_study(manoeuvre().with_changes(until=0.6))
    growth = growth_rates(folding)
    yield Claim(
        "published.cibicik.growth.printed",
        "largest growth of small motions about the folding arm by the printed mass matrix",
        float(growth["dual_screw_literal"].max()),
        0.0,
        1.0,
        "Cibicik & Egeland, (112)",
        "1/s",
        wrong="M is not symmetric: small motions grow at some 330 1/s",
    )
    yield Claim(
        "published.cibicik.growth.symmetric",
        "the same with all blocks of M to first order",
        float(growth["dual_screw"].max()),
        0.0,
        1e-2,
        "a symmetric positive M with a positive stiffness has no growth",
        "1/s",
    )
