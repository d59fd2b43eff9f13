"""Bodies whose coordinates all act on each other: a loop over them in machine code, and straight code, are the same."""

import numpy as np
import pytest

from pliant import Robot
from pliant.bodies.constants import terms_of
from pliant.bodies.dense_terms import DenseTerms
from pliant.bodies.modal_body import point_integrals
from pliant.dynamics import Dynamics
from pliant.engine.trace.roller import rolled
from pliant.formulations.recursive.recursions import FORWARD

SIZE, POINTS = 3, 6
SAME = 1e-11
"""Both ways differ in the order of their sums, and M is inverted."""


def cloud():
    """A link of material points that all coordinates move in all directions."""
    rng = np.random.default_rng(5)
    masses, r, phi = rng.uniform(0.1, 0.5, POINTS), rng.normal(size=(POINTS, 3)), rng.normal(size=(POINTS, 3, SIZE))
    spring = rng.normal(size=(SIZE, SIZE))
    Phi = 0.3 * rng.normal(size=(2, 3, SIZE))
    tip = {"position": [0.4, 0.1, 0.0], "Phi_d": Phi[0].tolist(), "Phi_r": Phi[1].tolist()}
    arrays = {name: x.tolist() for name, x in point_integrals(masses, r, phi).items() if name != "mass"}
    stiffness = {"K_ee": (50 * spring @ spring.T).tolist(), "D_ee": (0.1 * spring @ spring.T).tolist()}
    return {"mass": float(masses.sum()), **arrays, **stiffness, "frames": {"tip": tip}}


def arm_of_a_cloud(**options):
    """One of them between two rigid links, so that it moves in all ways and carries something."""
    rigid = {"mass": 1.0, "com": [0.1, 0.02, 0.0], "inertia": [0.02, 0.03, 0.04]}
    links = [
        {"name": "bar", "joint": {"name": "a", "axis": "z"}, "rigid": rigid},
        {"name": "cloud", "joint": {"name": "b", "axis": "y"}, "modal": cloud()},
        {"name": "hand", "joint": {"name": "c", "axis": "x"}, "rigid": rigid},
    ]
    return Dynamics(Robot(name="cloud", links=links), **options)


def figures(arm):
    """Everything that is evaluated."""
    rng = np.random.default_rng(8)
    q, v, a = 0.3 * rng.normal(size=(3, 6, arm.size))
    tau = rng.normal(size=(6, len(arm.inputs)))
    state = q[0], v[0]
    return {
        "forward": arm.forward(*state, tau[0]),
        "batch": arm.forward(q, v, tau),
        "forces": arm.forces(*state, a[0]),
        "mass matrix": arm.mass_matrix(q[0]),
        "kinetic": arm.energy(q, v).kinetic,
        "derivatives": np.stack(arm.derivatives(*state, tau[0])[:2]),
    }


@pytest.fixture(scope="module")
def looped():
    """The arm with loops, however small it is, and its figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pliant.bodies.constants.LOOPED_ABOVE", 0)
        patch.setattr("pliant.engine.call.evaluator.UNROLL_BELOW", 0)
        arm = arm_of_a_cloud()
        return arm, figures(arm)


@pytest.fixture(scope="module")
def straight():
    return figures(arm_of_a_cloud(compile="never"))


def test_coordinates_are_rows_of_the_program(looped):
    arm, _ = looped
    assert isinstance(arm.tree.links[1].constants.body, DenseTerms)
    program = rolled(FORWARD, arm.tree)
    assert program.owners == [0, *[1] * (SIZE + 1), 2]
    (columns,) = (each for each in program.passes if "bend" in each.name)
    # one kernel for all columns, and nothing to do for links
    assert len(columns.kernels) == 2


@pytest.mark.parametrize(
    "what",
    ["forward", "batch", "forces", "mass matrix", "kinetic", "derivatives"],
)
def test_a_loop_and_straight_code_are_the_same(looped, straight, what):
    ours, wanted = looped[1][what], straight[what]
    assert np.abs(ours - wanted).max() < SAME * np.abs(wanted).max()


def test_small_bodies_are_straight():
    arm = arm_of_a_cloud(compile="never")
    assert not isinstance(terms_of(arm.tree.links[1].body, "exponential"), DenseTerms)
