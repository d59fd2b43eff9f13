"""The equations of a run for machine code: what acts in them, implicit steps, and how they change with a state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pliant.drives.drive import AppliedLaw
from pliant.engine.stepping.called_system import CalledImplicitSystem, CalledSystem
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.gauss_system import CalledStages, GaussSystem
from pliant.engine.stepping.implicit import OVERWHELMING
from pliant.engine.stepping.implicit_system import ImplicitSystem
from pliant.engine.stepping.stepper import SteppedEquations
from pliant.simulation.integrators.integrator import Floats
from pliant.simulation.monitoring.watches import differences
from pliant.simulation.state_equations import StateEquations


def driving_of(equations: StateEquations, law: AppliedLaw) -> Driving:
    """What acts on a robot: the law of its drive, and loads."""
    states, held = equations.layout.states, 0 if equations.drive.in_steps() is None else law.channels
    return Driving(law.force, law.gains, law.channels, states, equations.loads, law.driven, law.structure, held)


def equations_of(
    kind: str, equations: StateEquations, driving: Driving | None, rates: Callable[[float, Floats], Floats]
) -> SteppedEquations:
    """Equations of a kind for steps; without what acts in machine code Python finds their rates."""
    layout, turning = equations.layout, equations.turning
    if driving is None:
        if kind == "residual":
            return CalledImplicitSystem(rates, partial(newton_matrix, equations), layout, turning)
        return (CalledSystem if kind == "rates" else CalledStages)(rates, layout, turning)
    if kind == "residual":
        return implicit_system(equations, driving)
    made = ExplicitSystem if kind == "rates" else GaussSystem
    return made(equations.arm.tree, driving, equations.traced_forward)


def implicit_system(equations: StateEquations, driving: Driving) -> ImplicitSystem:
    """The machine code of implicit steps."""
    tree = equations.arm.tree
    # the inverse dynamics of a tree cost less; loops and prescribed joints need the forward ones
    if equations.loops.rows:
        return ImplicitSystem(tree, driving, forward=equations.traced_forward)
    return ImplicitSystem(tree, driving, inverse=equations.arm.traced("inverse"))


def inertia_and_stiffness(equations: StateEquations, law: AppliedLaw, q: Floats) -> tuple[Floats, Floats] | None:
    """M and K (n, n) of a tree and its drive at rest, from the code of implicit steps; None where there are none."""
    if equations.loops.rows or equations.constrained is not None:
        return None
    system, still = implicit_system(equations, driving_of(equations, law)), np.zeros(len(q))
    y = equations.start(q, still)
    n = system.layout.count
    K, M = system.matrix(0.0, y, still)[:n, :n], _by_accelerations(system, 0.0, y, still)
    return (M, K) if np.isfinite(K).all() else None


def _by_accelerations(system: ImplicitSystem, t: float, y: Floats, a: Floats) -> Floats:
    """Derivative of the residual by accelerations (count, count)."""
    n = system.layout.count
    return system.matrix(t, y, a, c_a=OVERWHELMING)[:n, :n] / OVERWHELMING


def system_matrix(system: ImplicitSystem, t: float, y: Floats, a: Floats) -> Floats | None:
    """A of x' = A x for small changes of coordinates, rates and the drive's states; None where inertia is singular."""
    n, m = system.layout.count, system.layout.states
    # rows of the residual, then those of -g: by coordinates and states, by rates
    by_q = system.matrix(t, y, a, c_z=1.0)
    by_v = system.matrix(t, y, a, c_v=OVERWHELMING, c_z=1.0)[:, :n] / OVERWHELMING
    by_q[n:, n:] -= np.eye(m)
    A = np.zeros((2 * n + m, 2 * n + m))
    A[:n, n : 2 * n] = np.eye(n)
    for rows, target in ((slice(n), slice(n, 2 * n)), (slice(n, n + m), slice(2 * n, None))):
        A[target] = -np.hstack([by_q[rows, :n], by_v[rows], by_q[rows, n:]])
    try:
        A[n : 2 * n] = np.linalg.solve(_by_accelerations(system, t, y, a), A[n : 2 * n])
    except np.linalg.LinAlgError:
        return None
    return A


def newton_matrix(
    equations: StateEquations, t: float, y: Floats, a: Floats, c_v: float, c_a: float, c_z: float
) -> Floats:
    """The matrix of implicit steps from what Python knows of the equations, for the residual a - accelerations.

    Derivatives by and of the drive's states are difference quotients; see ``implicit_system.newton_ir`` for the blocks.
    """
    n, m, at = equations.count, equations.states, equations.layout
    K, D, M = equations.matrices(t, y, a)
    S = np.zeros((n + m, n + m))
    S[:n, :n] = np.linalg.solve(M, K + c_v * D) + c_a * np.eye(n)
    if m:
        f, steps = equations.rates(t, y), differences(equations, y)
        for k, e in enumerate(steps[at.drive]):
            by_z = (equations.rates(t, y + e) - f) / e.sum()
            S[:n, n + k], S[n:, n + k] = -by_z[at.v], -c_z * by_z[at.drive]
        for k, size in enumerate(np.diag(steps)[:n]):
            # along a change of a coordinate and its rate, the larger of which is small
            e = np.zeros(len(y))
            e[[k, n + k]] = size / max(c_v, 1.0), size * c_v / max(c_v, 1.0)
            S[n:, k] = -c_z * (equations.rates(t, y + e) - f)[at.drive] / e[k]
        S[n:, n:] += np.eye(m)
    return S
