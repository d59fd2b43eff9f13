"""The equations of a run for machine code: what acts in them, implicit steps, and how they change with a state."""

from __future__ import annotations

import numpy as np

from pliant.drives.drive import AppliedLaw
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.implicit_system import ImplicitSystem
from pliant.simulation.integrators.integrator import Floats
from pliant.simulation.state_equations import StateEquations

OVERWHELMING = 1e40
"""Factor of inertia and of damping beside which no stiffness is seen."""


def driving_of(equations: StateEquations, law: AppliedLaw) -> Driving:
    """What acts on a robot: the law of its drive, and loads."""
    states = equations.layout.states
    return Driving(law.force, law.gains, law.channels, states, equations.loads, law.driven, law.structure)


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
