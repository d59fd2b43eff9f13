"""(n) What control costs: stable inversion of a path against one simulation of the motion that it finds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from math import pi
from typing import Any

from report import Goal, Options, Row, Section
from timing import turns

import pliant

ESTIMATORS = Goal("<=", 3.0)
"""Runs with a sampled PID that a run with an observer at the same rate takes."""
CONTINUOUS = {"regulator": Goal("<=", 1.2), "regulator and Kalman filter": Goal("<=", 1.2)}
"""Runs with a PD law that a run with a continuous regulator takes. The filter misses it: its fastest pole is twice that
of the PD loop, which takes 1.6 times as many steps, each with twice as many states."""
INVERSION = Goal("<=", 8.0)
"""Simulations in compiled code that an inversion takes; with one thread of BLAS it is one to five."""


def circle_without_dry_friction() -> pliant.Study:
    """The DualEMPS on its circle with a smooth start, its passive joints without dry friction."""
    study = pliant.load_study("dualemps-circle")
    links = []
    for link in study.robot.links:
        friction = link.joint.friction
        if friction is not None and not link.joint.actuated:
            link = link.with_changes(joint=link.joint.with_changes(friction=friction.with_changes(coulomb=0.0)))
        links.append(link)
    circle = {
        "frame": "tip",
        "centre": [0.28, 0, 0.9],
        "normal": [0, -1, 0],
        "turns": 2,
        "duration": 6.38,
        "start": 0.5,
    }
    return study.with_changes(
        robot=study.robot.with_changes(links=links), drive={"prescribed": {"trajectory": {"circle": circle}}}
    )


def paths() -> dict[str, pliant.Study]:
    """Name -> study whose path is inverted."""
    line = {"line": {"by": [0.19, 0.0, 0.3], "duration": 0.8}}
    arm = pliant.load("two-link-flexible")
    drive = {"prescribed": {"trajectory": line}}
    start = {"position": {"shoulder": -0.6, "elbow": 1.6}}
    return {
        "two links, line": pliant.Study(name="line", robot=arm, until=0.8, start=start, drive=drive),
        "two-link-circle": pliant.load_study("two-link-circle"),
        "five-bar-circle": pliant.load_study("five-bar-circle"),
        "DualEMPS, smooth circle": circle_without_dry_friction(),
    }


def estimators(section: Section) -> None:
    """Regulators with observers at 1 kHz against a PID at 1 kHz, continuous ones against a PD; without their design."""
    from payload_runs import ROBOT

    from pliant.model.readers.library import read_text
    from pliant.simulation.run import Run

    arm = pliant.Dynamics(read_text(ROBOT))
    sampled: dict[str, Any] = {"sampling": pliant.Sampling(period=1e-3)}
    swing = pliant.ExpressionMotion(joints={"shoulder": "0.4*sin(2*pi*0.7*t)"})
    weights: dict[str, Any] = {
        "trajectory": swing,
        "weights": {"tip": 1e3, "coordinates": 1.0, "rates": 0.01, "effort": 1.0},
    }
    quiet: dict[str, Any] = {"process": {"effort": 0.01, "states": 1e-5}}
    believed = ({"place": "upper.payloads[0].mass", "start": 0.15, "sigma": 0.02, "walk": 1e-3},)
    groups = {
        "one link, continuous": {
            "PD law": pliant.PID(trajectory=swing, kp=40.0, kd=4.0),
            "regulator": pliant.LQR(**weights),
            "regulator and Kalman filter": pliant.LQR(**weights, **quiet, estimator="kalman"),
        },
        "one link, 1 kHz": {
            "PID law": pliant.PID(trajectory=swing, kp=40.0, kd=4.0, ki=5.0, **sampled),
            "regulator and Kalman filter": pliant.LQR(**weights, **quiet, estimator="kalman", **sampled),
            "regulator and extended filter with payload": pliant.LQR(
                **weights, **quiet, estimator="ekf", parameters=believed, **sampled
            ),
        },
    }
    start = pliant.Start(velocity={"shoulder": 0.4 * 2 * pi * 0.7})
    for name, drives in groups.items():

        def prepared(drive: Any) -> Callable[[], Any]:
            study = pliant.Study(name="run", robot=arm.robot, until=2.0, drive=drive, start=start)
            run = Run(study, arm)
            run.choice  # noqa: B018
            return run.go

        for drive in drives.values():
            prepared(drive)()
        spent = {
            what: done for what, (_, done) in turns({k: partial(prepared, d) for k, d in drives.items()}, 5).items()
        }
        (first, base), *others = spent.items()
        section.add(Row(name, first, 1e3 * base, "ms"))
        for what, seconds in others:
            goal = ESTIMATORS if "kHz" in name else CONTINUOUS[what]
            section.add(Row(name, what, 1e3 * seconds, "ms", first, 1e3 * base, faster=False, goal=goal))


def measure(options: Options) -> Section:
    section = Section("control", "Control (processor time)")
    estimators(section)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pliant.SimulationWarning)
        for name, study in paths().items():
            found = pliant.inverse_dynamics(study)
            certain = found.confirmed()
            work: dict[str, Callable[[], Any]] = {
                "simulation": found.confirm,
                "stable inversion": partial(pliant.inverse_dynamics, study),
            }
            spent = {what: sum(pair) for what, pair in turns({k: partial(_same, f) for k, f in work.items()}).items()}
            base = spent["simulation"]
            section.add(
                Row(
                    name,
                    f"stable inversion, {1e6 * certain.distance:.2g} micrometres off in the simulation",
                    1e3 * spent["stable inversion"],
                    "ms",
                    "one simulation",
                    1e3 * base,
                    faster=False,
                    goal=INVERSION,
                )
            )
    return section


def _same(work: Callable[[], Any]) -> Callable[[], Any]:
    return work
