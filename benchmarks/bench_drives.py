"""(j) What drives and loads cost: runs with each of them against a run with a PD law, in a tree and in a loop.

The robots have limits of position and effort, so that stops are touched and efforts are cut on the way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from report import Goal, Options, Row, Section
from timing import turns

import pliant

BUDGET = Goal("<=", 3.0)
REFERENCE = "PD law"
TOLERANCE = 1e-8


def tree() -> pliant.Robot:
    """The arm with two bending links, its elbow between stops."""
    robot = pliant.load("two-link-flexible")
    robot = robot.set("shoulder.limits", {"position": (-1.0, 3.0), "effort": 60.0})
    return robot.set("elbow.limits", {"position": (-1.6, -1.45), "effort": 8.0})


def loop() -> pliant.Robot:
    """The four-bar with bending links, its crank before a stop."""
    return pliant.load("four-bar").set("motor.limits", {"position": (0.0, 1.7), "effort": 0.5})


def cases(robot: pliant.Robot, change: float, duration: float, kp: float, kd: float) -> dict[str, dict[str, Any]]:
    """Name -> what a run is told."""
    arm = pliant.Dynamics(robot)
    q = arm.assemble()
    move = pliant.Quintic(to={each: q[arm.names.index(each)] + change for each in arm.inputs}, duration=duration)
    given: dict[str, Any] = {"trajectory": move, "kp": kp, "kd": kd}
    pull = pliant.Disturbance(frame=arm.frames[-1], force=["0.5*sin(40*t)", 0.2, 0.0])
    drives: dict[str, Any] = {
        REFERENCE: pliant.PID(**given),
        "gravity at the measured pose": pliant.PID(**given, gravity="measured"),
        "computed torque": pliant.ComputedTorque(trajectory=move, kp=400.0, kd=40.0),
        "rigid feed-forward": pliant.FeedForward(**given),
        "elastic feed-forward": pliant.FeedForward(**given, model="elastic"),
        "efforts cut at their limits": pliant.PID(**given, saturate=True),
        "prescribed motion": pliant.PrescribedMotion(trajectory=move),
        "PID law": pliant.PID(**given, ki=50.0),
        "PID law, sampled at 1 kHz": pliant.PID(**given, ki=50.0, sampling={"period": 1e-3}),
        "and late by half a period": pliant.PID(**given, ki=50.0, sampling={"period": 1e-3, "delay": 5e-4}),
    }
    out = {name: {"drive": drive} for name, drive in drives.items()}
    out["stops"] = {"drive": drives[REFERENCE], "stops": pliant.Stops()}
    out["force on a frame"] = {"drive": drives[REFERENCE], "disturbances": [pull]}
    out["force, prescribed motion"] = {"drive": drives["prescribed motion"], "disturbances": [pull]}
    return out


def over_constrained() -> dict[str, pliant.Robot]:
    """A rigid four-bar closed in its plane, and closed in space, where three of five constraints follow."""
    plane = pliant.load("four-bar-rigid")
    closure = plane.loops[0]
    space = plane.with_changes(loops=[closure.with_changes(planar=None)])
    return {"closed in its plane": plane, "closed in space": space}


def measure(options: Options) -> Section:
    section = Section("drives", "Drives and loads (processor time of a run)")
    groups: dict[str, dict[str, Callable[[], Any]]] = {}
    for name, robot, numbers in (
        ("two-link-flexible", tree(), (0.3, 0.5, 400.0, 20.0)),
        ("four-bar", loop(), (0.3, 0.1, 50.0, 1.0)),
    ):
        arm, until = pliant.Dynamics(robot), 2 * numbers[1]
        options_ = {"until": until, "method": "dop853", "tolerance": TOLERANCE, "limits": "ignore"}
        groups[name] = {
            what: partial(pliant.simulate, arm, **options_, **case) for what, case in cases(robot, *numbers).items()
        }
    start = pliant.Start(velocity={"motor": 3.0})
    groups["rigid four-bar"] = {
        what: partial(pliant.simulate, pliant.Dynamics(robot), until=1.0, start=start, method="dop853", limits="ignore")
        for what, robot in over_constrained().items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pliant.SimulationWarning)
        for name, runs in groups.items():
            for run in runs.values():
                run()
            spent = {
                what: sum(pair) for what, pair in turns({k: partial(_prepared, f) for k, f in runs.items()}).items()
            }
            (first, base), *others = spent.items()
            section.add(Row(name, first, 1e3 * base, "ms"))
            for what, seconds in others:
                section.add(Row(name, what, 1e3 * seconds, "ms", first, 1e3 * base, faster=False, goal=BUDGET))
    return section


def _prepared(run: Callable[[], Any]) -> Callable[[], Any]:
    return run
