"""The linearised equations against the nonlinear ones: their exact expansion, and the order of what they leave out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from pliant.dynamics import Dynamics
from pliant.formulations.dual_screw.dual_inertia import mass_matrix
from pliant.formulations.dual_screw.dual_lowering import expand
from pliant.formulations.dual_screw.dual_methods import bias, forward, inverse
from serial_chains import chain, state

EXPANSION = 1e-9
"""Of the largest force: both sides are a few thousand operations."""
SOLVED = 1e-7
"""Of accelerations: the mass matrix has a condition of up to 1e6."""
SEEDS = st.integers(0, 10**6)
TREES = ["families", "rotary-exact-xyz", "branches-cayley", "offset", "prismatic", "imported"]
FAR = ["second-order", "rods-in-a-plane", "rod-in-space"]


class Case:
    """A robot, nonlinear (on NumPy) and linearised, and a state."""

    def __init__(self, robot, seed=0):
        self.arm = Dynamics(robot, compile="never")
        self.tree = expand(self.arm.mechanism)
        joints = set(self.arm.mechanism.joints.tolist())
        self.elastic = [k for k in range(self.arm.size) if k not in joints]
        self.q, self.v, self.a = state(self.arm.size, self.elastic, seed)
        self.constants = [link.constants for link in self.tree.links]

    def straight(self, x):
        """The same without its elastic part."""
        out = x.copy()
        out[self.elastic] = 0.0
        return out

    def call(self, function, *state, orders="full"):
        gravity = self.tree.gravity.tolist()
        return np.array(function(self.tree.links, self.constants, gravity, *(x.tolist() for x in state), orders))

    def mass(self, orders):
        return np.array(mass_matrix(self.tree.links, self.constants, self.q.tolist(), orders))

    def expansion(self):
        """The nonlinear forces of the straight robot and their derivative along the elastic state, by tangents."""
        q0, v0 = self.straight(self.q), self.straight(self.v)
        d = self.arm.inverse_derivatives(q0, v0, self.a)
        return self.arm.forces(q0, v0, self.a) + d.q @ (self.q - q0) + d.v @ (self.v - v0)


def close(a, b, tolerance=EXPANSION):
    return np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1.0)


@given(SEEDS, SEEDS)
@settings(max_examples=10, deadline=None)
def test_first_order_expansion(seed, at):
    case = Case(chain(seed), at)
    assert close(case.call(inverse, case.q, case.v, case.a), case.expansion())


@pytest.mark.parametrize("name", TREES + FAR)
def test_first_order_expansion_of_the_zoo(name):
    case = Case(zoo.robot(name))
    assert close(case.call(inverse, case.q, case.v, case.a), case.expansion())


@pytest.mark.parametrize("name", ["branches-xyz", *FAR])
def test_mass_matrix_of_the_zoo(name):
    """Composite bodies against columns of the inverse dynamics, also of bodies whose shapes are not linear."""
    case = Case(zoo.robot(name))
    h = case.call(inverse, case.q, case.v, np.zeros_like(case.q))
    columns = [case.call(inverse, case.q, case.v, e) - h for e in np.eye(len(h))]
    assert close(case.mass("full"), np.array(columns).T)


@pytest.mark.parametrize("orders", ["full", "strict", "frozen"])
@given(SEEDS, SEEDS)
@settings(max_examples=5, deadline=None)
def test_mass_matrix_and_forward(orders, seed, at):
    """M by composite bodies is that of the inverse dynamics, and forward undoes inverse."""
    case = Case(chain(seed), at)
    M = case.mass(orders)
    h = case.call(inverse, case.q, case.v, np.zeros_like(case.q), orders=orders)
    columns = [case.call(inverse, case.q, case.v, e, orders=orders) - h for e in np.eye(len(h))]
    assert close(M, np.array(columns).T)
    if orders != "strict":
        assert close(M, M.T)
    f = case.call(inverse, case.q, case.v, case.a, orders=orders)
    assert close(case.call(forward, case.q, case.v, f, orders=orders), case.a, SOLVED)


@given(SEEDS, SEEDS)
@settings(max_examples=5, deadline=None)
def test_orders_of_the_mass_matrix(seed, at):
    """Frozen is that of the straight robot; strict takes the order of its column."""
    case = Case(chain(seed), at)
    full, strict, frozen = (case.mass(orders) for orders in ("full", "strict", "frozen"))
    assert close(frozen, case.arm.mass_matrix(case.straight(case.q)))
    assert close(strict, np.where(np.isin(np.arange(len(case.q)), case.elastic), frozen, full))


@pytest.mark.parametrize("name", ["families", "rotary-exact", "branches-exponential", "branches-xyz"])
def test_what_is_left_out_is_of_second_order(name):
    """The error of the forces falls with the square of the elastic state."""
    case = Case(zoo.robot(name))
    errors = []
    for amplitude in (1.0, 0.5, 0.25):
        q, v = case.q.copy(), case.v.copy()
        q[case.elastic] *= amplitude
        v[case.elastic] *= amplitude
        errors.append(np.abs(case.arm.forces(q, v, case.a) - case.call(inverse, q, v, case.a)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2.0, 2.0], abs=0.1)


def test_bias_is_inverse_without_accelerations():
    case = Case(chain(3))
    h = bias(case.tree.links, case.constants, case.tree.gravity.tolist(), case.q.tolist(), case.v.tolist())
    assert close(np.array(h), case.call(inverse, case.q, case.v, np.zeros_like(case.q)))
