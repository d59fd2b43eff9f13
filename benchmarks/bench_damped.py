"""(l) Slow and stiff motion: a well damped arm against Exudyn at three accuracies, and stiff elements.

On the slow arm a few implicit steps are enough. For every accuracy each program takes the cheapest of many settings
that stay within it of the refined motion, set-up included; ours leaves the choice of the integrator to ``auto``. Both
get the same numbers every time, and ours finds the bodies that it has built from them; a further line has other ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import NamedTuple, cast

import exudyn_arm
import ringing_arm
from peers import NoPeerError
from report import Goal, Options, Row, Section, Sheet, alone, digits
from ringing_arm import RINGING, Floats, PlanarArm, Solve, difference
from timing import once, turns

import pliant

ARM = PlanarArm(
    "slow arm",
    RINGING.bars,
    until=10.0,
    samples=100,
    move=4.0,
    to=(0.6, -0.8),
    kp=(2e4, 5e3),
    kd=(2e3, 5e2),
    damping=5e-3,
)
LIMITS = (1e-5, 1e-6, 1e-7)
"""Largest distance of the tip from the refined motion, m."""
AHEAD, WELL_CHOSEN = Goal(">=", 1.0), Goal("<=", 1.2)
ROUNDS = 25
OURS = {"modes": (1, 2, 3), "tolerance": (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)}
THEIRS = {"elements": (1, 2, 3), "steps": (200, 300, 400, 600, 800, 1200, 1600, 2400), "tolerance": (1e-3, 1e-4, 1e-5)}
"""Settings that are tried."""


class Tried(NamedTuple):
    """Settings, what prepares a run with them, and its error."""

    name: str
    prepare: Callable[[], Solve]
    error: float
    seconds: float


def _ours(method: str, modes: int, tolerance: float) -> Callable[[], Solve]:
    return partial(ringing_arm.prepare, modes, method=method, tolerance=tolerance, arm=ARM, bending="second-order")


def measure(options: Options) -> Section:
    section = Section("damped", "Slow and stiff motion (processor time)")
    refined = _ours("dop853", 5, 1e-10)()()
    coarser = difference(_ours("dop853", 4, 1e-9)()(), refined)
    section.notes.append(
        f"Refined motion: 5 modes per link, tolerance 1e-10; 4 modes and 1e-9 are {coarser:.0e} m away."
    )
    ours = [
        _tried(f"modes per link {modes}, tolerance {tolerance:.0e}", _ours("auto", modes, tolerance), refined)
        for modes in OURS["modes"]
        for tolerance in OURS["tolerance"]
    ]
    theirs: list[Tried] = []
    try:
        fine, half = (exudyn_arm.tip(8, steps, tolerance=1e-6, arm=ARM) for steps in (16000, 8000))
        # of second order in the steps
        common = fine + (fine - half) / 3
        section.notes.append(
            f"Exudyn's refined motion (8 elements, extrapolated) is {difference(common, refined):.0e} m away."
        )
        theirs = [
            _tried(
                f"elements per link {elements}, {steps} steps, Newton {tolerance:.0e}",
                partial(exudyn_arm.prepare, elements, steps, tolerance=tolerance, arm=ARM),
                common,
            )
            for elements in THEIRS["elements"]
            for steps in THEIRS["steps"]
            for tolerance in THEIRS["tolerance"]
        ]
    except NoPeerError as missing:
        section.notes.append(f"Exudyn left out: {missing}")
    lines = []
    for limit in LIMITS:
        found = {"Pliant auto": _cheapest(ours, limit)}
        if theirs:
            found["Exudyn"] = _cheapest(theirs, limit)
        racers = {name: each.prepare for name, each in found.items()}
        raced = turns({**racers, OTHER: _with_other_numbers(found["Pliant auto"].prepare)}, ROUNDS)
        for name, each in {**found, OTHER: found["Pliant auto"]}.items():
            spent = (digits(1e3 * x) for x in (*raced[name], sum(raced[name])))
            lines.append((f"{limit:.0e}", name, each.name, f"{each.error:.1e}", *spent))
        peer = (f"Exudyn, {found['Exudyn'].name}", sum(raced["Exudyn"])) if theirs else ("", None)
        took = sum(raced["Pliant auto"])
        section.add(Row(f"slow arm to {limit:.0e} m", "set-up included", took, "s", *peer, goal=AHEAD))
    columns = ("wanted, m", "program", "settings", "tip error, m", "set-up, ms", "run, ms", "both, ms")
    section.sheets.append(Sheet(f"slow arm, {ARM.until:g} s, {ARM.samples} tip positions", columns, lines))
    section.add(_chosen(), *_stiff())
    return section


OTHER = "Pliant auto, other loads every time"


def _with_other_numbers(prepare: Callable[[], Solve]) -> Callable[[], Solve]:
    """The same arm with a slightly heavier load every time: no body of it was built before."""
    assert isinstance(prepare, partial)
    turn = count(1)

    def prepared() -> Solve:
        bars = tuple(replace(bar, tip_mass=bar.tip_mass * (1 + 1e-9 * next(turn))) for bar in ARM.bars)
        arm = replace(ARM, bars=bars)
        return cast(Solve, partial(prepare, arm=arm)())

    return prepared


def _tried(name: str, prepare: Callable[[], Solve], refined: Floats) -> Tried:
    try:
        # also loads what is loaded only once
        error = difference(prepare()(), refined)
        return Tried(name, prepare, error, once(lambda: prepare()(), rounds=6))
    except RuntimeError:
        # the peer's Newton method does not converge with few steps
        return Tried(name, prepare, float("inf"), float("inf"))


def _cheapest(tried: list[Tried], limit: float) -> Tried:
    good = [each for each in tried if each.error < limit]
    if not good:
        raise SystemExit(f"no settings of the slow arm stay within {limit:.0e} m")
    return min(good, key=lambda each: each.seconds)


def _chosen() -> Row:
    """The integrator that ``auto`` takes against the best one, at the default tolerance."""
    tolerance = ringing_arm.DEFAULT_TOLERANCE
    methods = ("auto", "dop853", "esdirk")
    raced = turns({method: _ours(method, 2, tolerance) for method in methods}, ROUNDS)
    runs = {method: raced[method][1] for method in methods}
    best = min(methods[1:], key=lambda method: runs[method])
    what = f"run with auto, tolerance {tolerance:.0e}"
    return Row(
        "slow arm", what, runs["auto"], "s", f"{best}, chosen by hand", runs[best], faster=False, goal=WELL_CHOSEN
    )


# ---------------------------------------------------------------- stiff elements

STIFF_TOLERANCE = 1e-8
STIFF_UNTIL = 0.5


def _stiff() -> list[Row]:
    """Twenty elements that also stretch: the fastest vibration is a thousand times that of bending."""
    beam = pliant.Beam(
        length=1.0,
        material="aluminium",
        section=pliant.Rectangle(width=0.02, height=0.03),
        elements=pliant.Elements(number=20, bend_y=True, bend_z=False, torsion=False, axial=True),
        damping=pliant.Damping(rayleigh={"stiffness": 1e-4}),
    )
    arm = pliant.Dynamics(
        pliant.Robot(name="elements", links=(pliant.Link(name="arm", joint=pliant.Joint(), beam=beam),))
    )
    move = pliant.Quintic(to={arm.inputs[0]: 0.5}, duration=0.3)
    drive = pliant.PID(trajectory=move, kp=2000.0, kd=100.0)

    def run(method: str, tolerance: float) -> Floats:
        done = pliant.simulate(arm, until=STIFF_UNTIL, drive=drive, method=method, tolerance=tolerance)
        return done["tip.position"][:, :2]

    refined = run("esdirk", 1e-2 * STIFF_TOLERANCE)
    methods = ("esdirk", "generalised-alpha")
    errors = {method: difference(run(method, STIFF_TOLERANCE), refined) for method in methods}
    took = {method: once(partial(run, method, STIFF_TOLERANCE), rounds=2) for method in methods}
    told = {method: f"{method} (error {errors[method]:.0e} m)" for method in methods}
    what = f"{STIFF_UNTIL:g} s at {STIFF_TOLERANCE:.0e}, {told['esdirk']}"
    peer = told["generalised-alpha"]
    return [Row("20 elements that stretch", what, took["esdirk"], "s", peer, took["generalised-alpha"], goal=AHEAD)]


if __name__ == "__main__":
    alone(measure)
