"""(n) What control costs: stable inversion of a path against one simulation of the motion that it finds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from report import Goal, Options, Row, Section
from timing import turns

import pliant

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


def measure(options: Options) -> Section:
    section = Section("control", "Control (processor time)")
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
