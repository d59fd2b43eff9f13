"""Di Gregorio: open and closed chains of links with lumped nodes, and paths by successive approximation.

The paper gives a formulation and no numerical example. Its open chain is computed here on a two-link arm whose numbers
were made independently, its closed chain on a five-bar; its two solution schemes are judged by the nonlinear model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.lumped.elastic_motion import ElasticState, elastic_motion, frame_displacement
from pliant.analysis.lumped.frequencies import SpeedFrequencies, frequencies_over_speed, natural_frequencies
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.node_equations import Variant
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.modes import vibration_modes
from pliant.drives.given import GivenTorque
from pliant.dynamics import Dynamics
from pliant.model.description.robot import Robot
from pliant.pictures.vibration_plots import draw_speed
from pliant.reproduce.claim import Claim
from pliant.simulation.inverse.approximate_forward import ApproximateForward, approximate_forward
from pliant.simulation.inverse.inverse_dynamics import InverseRun, inverse_dynamics
from pliant.simulation.study import Study, load_study

if TYPE_CHECKING:
    from rich.console import Console

Floats = NDArray[np.float64]

START, TURN, UNTIL, STEPS = (0.3, 0.5), (1.2, -0.9), 1.5, 1500
"""The nominal motion of the open chain: quintic in 1 s, then rest."""
ELEMENTS = (2, 4, 8, 16)
BAR_ELEMENTS = 16
ETA = np.linspace(0.0, 12.0, 25)
"""Speeds of the turning bar, in sqrt(EI / (rho A L^4))."""
# Wright, Smith, Thresher, Wang, J. Appl. Mech. 49 (1982): the two lowest frequencies out of the plane of rotation; in
# the plane their squares are smaller by that of the speed
PUBLISHED = {2.0: (4.1373, 22.6149), 6.0: (7.3604, 26.8091), 12.0: (13.1702, 37.6031)}

ERRATA = (
    "(2.1) the first term is w_dot~ delta; (3.1), (3.2), (4.3): w_dot~ + w~ w~; (1.2): m G~ N_ddot; (4.2): (I w)~.",
    "(4.2) takes the rate of alpha for an absolute one: in link axes C12 = -2 m w~ G~, C22 = w~ I + I w~ - (I w)~.",
    "(4.3) leaves the second column zero: the node's body would not turn. Complete: K12 = -m W G~, "
    "K22 = m a~ G~ + I w_dot~ - (I w_dot)~ + w~ (I w~ - (I w)~), W = w_dot~ + w~ w~.",
    "(17), (18): derivatives relative to two links differ at their joint; absolute ones must be joined.",
    "(17.2): mu is not continuous at moving joints; the loads are joined instead, B (M_f mu_ddot_f).",
    "Section 4: joining all six components at a passive joint locks it; its own motion stays free.",
    "Section 5.1: feeding back the whole elastic displacement diverges; below the first frequency it converges.",
    "Section 5.2: the effort check does not bound the error of positions.",
)


def main(out: Path, console: Console) -> None:
    """Print the tables beside what is known, tell the errata, and draw the figures into a folder."""
    from rich.table import Table

    console.print("[bold]Di Gregorio, Int. J. of Computing Anticipatory Systems 3, 1999[/]")
    console.print("The paper prints no numerical example; its equations are read with these corrections:")
    for k, line in enumerate(ERRATA, start=1):
        console.print(f"  {k}. {line}", markup=False)
    console.print(_open_chain_table(Table))
    right = tip_displacement("complete")
    words: dict[Variant, str] = {"absolute": "only (4.3) as printed", "printed": "all as printed"}
    for variant, word in words.items():
        off = np.abs(tip_displacement(variant) - right).max()
        console.print(
            f"{word}: tip off by {1e3 * off:.2f} of {1e3 * np.abs(right).max():.0f} micrometres", markup=False
        )
    closed = inverse_dynamics(load_study("five-bar-circle"), method="successive")
    opened = inverse_dynamics(load_study("two-link-circle"), method="successive")
    full = inverse_dynamics(load_study("two-link-circle"), method="successive", feedback="full", iterations=3)
    console.print(_path_table(Table, {"open chain": opened, "closed chain": closed, "open chain, full feedback": full}))
    forward = pushed_arm()
    console.print(
        f"approximate forward dynamics: efforts within {100 * forward.effort_error:.2f} %, but the tip "
        f"{1e3 * forward.position_error:.3f} mm off, where the whole elastic displacement is "
        f"{1e3 * forward.elastic_size:.3f} mm"
    )
    console.print(_turning_bar(Table, out / "di-gregorio-speed.png"))
    for name, run in (("open", opened), ("closed", closed)):
        from pliant.results.plots import plot_inverse

        plot_inverse(run.solution, f"{name} chain on a circle", out / f"di-gregorio-{name}-chain.png")
    console.print(f"Drawn: {out}/di-gregorio-speed.png, di-gregorio-open-chain.png, di-gregorio-closed-chain.png")


# ---------------------------------------------------------------- the open chain


def open_chain(nodes: int = 2) -> Robot:
    """Two aluminium bars in the plane with 0.25 kg at the tip."""
    beam = {
        "length": 0.5,
        "material": {"E": 70e9, "nu": 0.3, "density": 2700.0},
        "section": {"rectangle": {"width": 0.012, "height": 0.02}},
        "bending": "linear",
        "lumped": {"nodes": nodes, "bend_y": True, "bend_z": False, "axial": True},
    }
    links = [
        {"name": "upper", "joint": {"name": "shoulder", "axis": "z"}, "beam": beam},
        {"name": "fore", "joint": {"name": "elbow", "axis": "z"}, "beam": beam, "payloads": [{"mass": 0.25}]},
    ]
    pose = {"shoulder": START[0], "elbow": START[1]}
    return Robot.model_validate({"name": "open chain", "gravity": [0, 0, 0], "links": links, "pose": pose})


def tip_displacement(variant: Variant) -> Floats:
    """Elastic displacement of the tip (steps + 1, 2) along the nominal motion, in mm."""
    model = LumpedModel(open_chain(), variant=variant)

    def nominal(t: Floats) -> JointMotion:
        s = np.clip(t, 0.0, 1.0)[:, None]
        start, by = np.array(START), np.array(TURN)
        return model.nominal(
            JointMotion(
                start + by * s**3 * (10 - 15 * s + 6 * s**2),
                by * 30 * s**2 * (1 - s) ** 2,
                by * 60 * s * (1 - s) * (1 - 2 * s),
            )
        )

    times = np.linspace(0.0, UNTIL, STEPS + 1)
    run = elastic_motion(model, nominal, times, (np.zeros(model.size), np.zeros(model.size)))
    none = np.zeros_like(run.state.z)
    moved = frame_displacement(model, model.assemble(nominal(times)), ElasticState(run.state.z, none, none), "tip")
    return 1e3 * moved[:, :2]


def _open_chain_table(table_of: type) -> object:
    rows = table_of(title="Open chain: frequencies (Hz) over the number of elements")
    for column in ("elements", "first", "second", "third", "fourth"):
        rows.add_column(column, justify="right")
    for n in ELEMENTS:
        model = LumpedModel(open_chain(n))
        found = natural_frequencies(model, model.at_rest(), 4) / (2 * np.pi)
        rows.add_row(str(n), *(f"{x:.3f}" for x in found))
    return rows


def _path_table(table_of: type, runs: dict[str, InverseRun]) -> object:
    rows = table_of(title="Successive approximation: largest distance from the path (mm)")
    columns = ("", "as if rigid", *(f"iteration {k}" for k in (1, 2, 3)), "outcome", "nonlinear model")
    for column in columns:
        rows.add_column(column, justify="right" if column else "left")
    for name, run in runs.items():
        s = run.solution
        sizes = [f"{1e3 * at.largest:.4g}" for at in s.iterations[:4]]
        good = s.outcome == "converged"
        confirmed = f"{1e3 * run.confirm()[1].max():.4g}" if good else ""
        rows.add_row(name, *sizes, *([""] * (4 - len(sizes))), s.outcome, confirmed)
    return rows


def pushed_arm() -> ApproximateForward:
    """The open chain under given torques, by rigid motion and elastic displacement."""
    drive = GivenTorque.model_validate({"joints": {"shoulder": "0.6*sin(pi*t)^2", "elbow": "0.2*sin(pi*t)^2"}})
    return approximate_forward(Study(name="push", robot=open_chain(), until=1.0, drive=drive))


# ---------------------------------------------------------------- the turning bar


def turning_bar(plane: str) -> Robot:
    """A cantilever of unit constants that turns about its root and bends in one plane."""
    beam = {
        "length": 1.0,
        "properties": {"mass_per_length": 1.0, "EIy": 1.0, "EIz": 1.0},
        "lumped": {"nodes": BAR_ELEMENTS, "bend_y": plane == "bend_y", "bend_z": plane == "bend_z"},
    }
    links = [{"name": "bar", "joint": {"name": "hub", "axis": "z"}, "beam": beam}]
    return Robot.model_validate({"name": "turning bar", "gravity": [0, 0, 0], "links": links})


def _turning_bar(table_of: type, path: Path) -> object:
    """Table and figure: dynamic stiffness alone, second-order links, and published values."""
    eta, flap = np.array(list(PUBLISHED)), np.array(list(PUBLISHED.values()))
    chord = np.sqrt(flap**2 - eta[:, None] ** 2)
    speeds = np.append(ETA, eta)
    planes = [frequencies_over_speed(turning_bar(plane), "hub", speeds, count=2) for plane in ("bend_y", "bend_z")]
    soft, stiff = (np.hstack([getattr(found, kind) for found in planes]) for kind in ("softened", "stiffened"))
    rows = table_of(title="Turning bar, unit constants: first frequencies in its plane and out of it over the speed")
    kinds = ("dynamic stiffness", "second order", "published")
    for column in ("speed", *(f"{plane}: {kind}" for plane in ("in plane", "out of plane") for kind in kinds)):
        rows.add_column(column, justify="right")
    for k, speed in enumerate(eta, start=len(ETA)):
        known = chord[k - len(ETA), 0], flap[k - len(ETA), 0]
        numbers = (soft[k, 0], stiff[k, 0], known[0], soft[k, 2], stiff[k, 2], known[1])
        rows.add_row(f"{speed:g}", *(f"{x:.4f}" for x in numbers))
    curves = SpeedFrequencies("hub", ETA, soft[: len(ETA)], stiff[: len(ETA)])
    both = np.concatenate([chord.T, flap.T])
    published = {"published": (np.tile(eta, len(both)), both.ravel())}
    plain = (1.0, "rad/s")
    draw_speed(curves, "turning bar of unit constants", path, unit=plain, speed_unit=plain, known=published)
    return rows


# ---------------------------------------------------------------- the numbers


# of an own code of the open chain, independent of this package: frequencies of two nodes per link (Hz), displacement of
# the tip by the nonlinear equations of the same nodes 0.5 s after the start (mm)
INDEPENDENT_HERTZ = (6.332944300905386, 40.063040268057726)
INDEPENDENT_TIP = (-0.4826602749920418, 0.3574321646717526)


def claims() -> Iterator[Claim]:
    """Frequencies and displacements of the open chain beside independent ones, a turning bar beside published ones."""
    source = "an own code of the same chain"
    chain = LumpedModel(open_chain())
    found = natural_frequencies(chain, chain.at_rest(), 2) / (2 * np.pi)
    for k, hertz in enumerate(INDEPENDENT_HERTZ):
        what = f"frequency {k + 1} of the open chain, drives locked, 2 nodes per link"
        yield Claim(f"published.di-gregorio.chain.{k + 1}", what, float(found[k]), hertz, 1e-9, source, "Hz")
    tip = tip_displacement("complete")[round(0.5 / UNTIL * STEPS)]
    for axis, ours, theirs in zip("xy", tip, INDEPENDENT_TIP, strict=True):
        what = f"displacement of the tip along {axis} at 0.5 s beside the nonlinear chain, first order"
        yield Claim(f"published.di-gregorio.tip.{axis}", what, float(ours), theirs, 2e-4, source, "mm")
    bar = frequencies_over_speed(turning_bar("bend_z"), "hub", [6.0], count=1).stiffened[0, 0]
    what = "first frequency out of the plane of a bar that turns at 6, 16 nodes, second-order bending"
    wright = "Wright and others, J. Appl. Mech. 49 (1982)"
    yield Claim("published.di-gregorio.turning-bar", what, float(bar), PUBLISHED[6.0][0], 1e-4, wright, "")
    fine = LumpedModel(open_chain(32))
    arm = Dynamics(fine.robot, compile="never")
    nodes = natural_frequencies(fine, fine.at_rest(), 2)
    joints = tuple(arm.robot.joint_coordinates)
    whole = vibration_modes(arm, arm.reference_pose(), locked=joints).frequencies
    for k in range(2):
        yield Claim(
            f"published.di-gregorio.frequency.{k + 1}",
            f"frequency {k + 1} of the open chain, drives locked, 32 nodes per link, beside the recursion",
            float(nodes[k]),
            float(whole[k]),
            1e-6,
            "method recursive with the same lumped nodes",
            "rad/s",
        )
