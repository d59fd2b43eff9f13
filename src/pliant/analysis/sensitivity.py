"""Derivatives of the dynamics by a parameter of the description: a length, a stiffness, a payload.

A parameter acts only through the constants of the links. The derivative of the forces by the constants is exact (the
tangents of the compiled code); that of the constants by the parameter is a difference of sixth order, which is exact to
rounding where a constant is linear in it, as it is in every stiffness, density and mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Carrier
from pliant.engine.trace.structure import fill, split_tree
from pliant.model.description.actuators import refuse_lines
from pliant.model.paths import value_at, with_value

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

STENCIL = {k: np.sign(k) * w / 60.0 for k, w in zip((-3, -2, -1, 1, 2, 3), (1, -9, 45, 45, -9, 1), strict=True)}
RELATIVE_STEP = 1e-3


def force_sensitivity(arm: Dynamics, parameter: str, q: States, v: States, a: States) -> Floats:
    """d forces / d parameter (n,) at given q, v, a.

    parameter  a place as in ``robot.set``: ``upper.beam.length``, ``hand.payloads[0].mass``,
               ``forearm.joint.spring.stiffness``
    """
    refuse_lines(arm.robot, "derivatives by parameters do not know")
    from pliant.dynamics import Dynamics
    from pliant.tree.function import make_evaluator

    value = value_at(arm.robot, parameter)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"parameter '{parameter}' is {value!r}; a derivative needs a number")
    step = RELATIVE_STEP * abs(value) if value else RELATIVE_STEP
    robots = {k: with_value(arm.robot, parameter, value + k * step, check=False) for k in STENCIL}
    traced = {k: Dynamics(robot, method=arm.method.name).traced("inverse") for k, robot in robots.items()}
    trees = {k: each.carrier for k, each in traced.items()}
    # constants that are equal only at the given value must move apart: take the structure of a changed robot
    patterns = [split.pattern for split in split_tree(trees[1])]
    derivative = sum(weight / step * _values(trees[k], patterns, parameter) for k, weight in STENCIL.items())
    evaluator = make_evaluator(traced[1], ("constants",), arm.compiled)
    evaluator.constants[:] = _values(arm.traced("inverse").carrier, patterns, parameter)
    state = (np.ascontiguousarray(arm.labels.states(name, x)) for name, x in zip("qva", (q, v, a), strict=True))
    return np.asarray(evaluator(*state) @ derivative, dtype=float)


def acceleration_sensitivity(arm: Dynamics, parameter: str, q: States, v: States, tau: States | None = None) -> Floats:
    """d forward / d parameter (n,) at given q, v, tau."""
    a = arm.forward(q, v, tau)
    change = force_sensitivity(arm, parameter, q, v, a)
    if arm.loops.rows:
        q, v = arm.labels.states("q", q), arm.labels.states("v", v)
        return _with_loops(arm, parameter, change, q, v, a, tau)
    solved: Floats = np.asarray(np.linalg.solve(arm.mass_matrix(q), change))
    return -solved


def _with_loops(
    arm: Dynamics, parameter: str, change: Floats, q: Floats, v: Floats, a: Floats, tau: States | None
) -> Floats:
    """The parameter also moves the closures: their forces and accelerations change by differences of sixth order."""
    from pliant.dynamics import Dynamics
    from pliant.formulations.loops.dense_forms import kkt_solve

    loops = arm.loops
    f = arm.tau(tau) @ arm.B.T
    multipliers = loops.kept_multipliers(q, v, a, f)
    value = value_at(arm.robot, parameter)
    step = RELATIVE_STEP * abs(value) if value else RELATIVE_STEP
    pull, rows = np.zeros_like(q), np.zeros(len(loops.rows))
    for k, weight in STENCIL.items():
        robot = with_value(arm.robot, parameter, value + k * step, check=False)
        other = Dynamics(robot, compile="never", stabilise=loops.stabilise).loops
        J = other.jacobian(q)
        pull += weight / step * (J.T @ multipliers)
        rows += weight / step * (J @ a + other.bias(q, v))
    kept = loops.kept_at(q)
    return kkt_solve(arm.mass_matrix(q), loops.jacobian(q)[kept], pull - change, -rows[kept])[0]


def _values(tree: Carrier, patterns: list[Any], parameter: str) -> Floats:
    try:
        filled = [fill(p, link.constants) for p, link in zip(patterns, tree.links, strict=True)]
    except ValueError:
        raise ValueError(
            f"parameter '{parameter}' changes which constants of the robot are zero: there is no derivative"
        ) from None
    return np.concatenate(filled)
