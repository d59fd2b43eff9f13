"""(d) Exact derivatives against one evaluation of what is differentiated, in compiled loops."""

from __future__ import annotations

import numpy as np
from compiled import program_of, single
from report import Goal, Options, Row, Section, alone
from robots import FAMILIES, flexible_chain, rigid_chain, state
from timing import Looped, calls, race

import pliant
from pliant import Dynamics, Robot
from pliant.engine.compile import jit
from pliant.formulations.recursive.recursions import FORWARD, INVERSE

DERIVATIVES = Goal("<=", 128.0 / jit.lanes())
"""Directions share the lanes of a vector register: 16 evaluations with eight lanes."""
LOOPS = ("five-bar", "three-prs")


def measure(options: Options) -> Section:
    section = Section("derivatives", "Exact derivatives against one evaluation")
    robots: list[tuple[str, Robot]] = [
        ("3 links x 4", flexible_chain(3, FAMILIES[4])),
        ("7 links x 4", flexible_chain(7, FAMILIES[4])),
        ("7 rigid links", rigid_chain(7)),
        ("20 rigid links", rigid_chain(20)),
    ]
    for name, robot in robots:
        section.add(*_rows(name, Dynamics(robot), options))
    for name in LOOPS:
        section.add(_closed(name, Dynamics(pliant.load(name)), options))
    return section


def _closed(name: str, arm: Dynamics, options: Options) -> Row:
    """A robot with loops, both sides called from Python."""
    q, v, tau = arm.assemble(), np.zeros(arm.size), np.full(len(arm.inputs), 0.1)
    t = race(
        {"derivatives": calls(arm.derivatives, q, v, tau), "forward": calls(arm.forward, q, v, tau)}, options.seconds
    )
    return Row(name, "arm.derivatives with loops", t["derivatives"], "ns", "arm.forward", t["forward"], faster=False)


def _rows(name: str, arm: Dynamics, options: Options) -> list[Row]:
    inputs = state(arm.size)
    works: dict[str, Looped] = {}
    works["inverse"], _ = single(program_of(INVERSE, arm.tree), inputs)
    works["forward"], _ = single(program_of(FORWARD, arm.tree), inputs)
    for seed in "qva":
        works[seed], _ = single(program_of(INVERSE, arm.tree, seed), inputs)
    q, v, a = inputs
    works["derivatives"] = calls(arm.derivatives, q, v, a[: len(arm.inputs)].copy())
    t = race(works, 2 * options.seconds)
    by_q_v = t["q"] + t["v"]
    n = arm.size
    goal = DERIVATIVES if name == "7 links x 4" else None
    inverse, forward = ("one inverse evaluation", t["inverse"]), ("one forward evaluation", t["forward"])
    rows = [
        Row(name, f"inverse d/d(q, v), {2 * n} directions", by_q_v, "ns", *inverse, faster=False, goal=goal),
        Row(name, f"inverse d/dq, {n} directions", t["q"], "ns", *inverse, faster=False),
        Row(name, f"inverse d/dv, {n} directions", t["v"], "ns", *inverse, faster=False),
        Row(name, "mass matrix (inverse d/da)", t["a"], "ns", *inverse, faster=False),
    ]
    # those of rigid links stand beside Pinocchio's
    if arm.robot.links[0].rigid is None:
        rows.append(Row(name, "arm.derivatives, from Python", t["derivatives"], "ns", *forward, faster=False))
    return rows


if __name__ == "__main__":
    alone(measure)
