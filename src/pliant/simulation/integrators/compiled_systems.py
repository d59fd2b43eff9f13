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
    K, _, M = residual_matrices(system, 0.0, y, still)
    return (M, K) if np.isfinite(K).all() else None


def residual_matrices(system: ImplicitSystem, t: float, y: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
    """Derivatives of the residual by coordinates, rates and accelerations (count, count)."""
    return (
        system.matrix(t, y, a),
        system.matrix(t, y, a, c_v=OVERWHELMING) / OVERWHELMING,
        system.matrix(t, y, a, c_a=OVERWHELMING) / OVERWHELMING,
    )
