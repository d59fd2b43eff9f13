"""The algebra of polynomial times trigonometric terms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.formulations.lagrange.algebra.series import Algebra, TooLargeError, cross, inner, powers

ROUNDING = 1e-12
"""Some dozen terms of order one."""


class World:
    """Three angles (two in one group), two coordinates and a parameter, and values for them."""

    def __init__(self):
        self.algebra = Algebra()
        self.q = [self.algebra.coordinate() for _ in range(2)]
        self.p = self.algebra.variable()
        one = {0: 1.0}
        self.angles = [
            self.algebra.angle(0, {self.q[0]: one}),
            # a turn that both coordinates cause
            self.algebra.angle(0, {self.q[0]: {0: 2.0}, self.q[1]: {0: -0.5}}),
            self.algebra.angle(1, {self.q[1]: one}),
        ]

    def atoms(self):
        a = self.algebra
        waves = [f(x) for x in self.angles for f in (a.cosine, a.sine)]
        return [*waves, *(a.monomial(v) for v in (*self.q, self.p)), a.number(1.5)]

    def value(self, series, q, p=0.7):
        variables = {self.q[0]: q[0], self.q[1]: q[1], self.p: p}
        angles = [q[0], 2 * q[0] - 0.5 * q[1], q[1]]
        total = 0.0
        for t, polynomial in series.terms.items():
            trig = math.prod(
                (math.sin if is_sine else math.cos)(sum(m * angles[a] for a, m in harmonic))
                for _, harmonic, is_sine in self.algebra.trig(t)
            )
            total += trig * sum(c * math.prod(variables[i] ** k for i, k in powers(m)) for m, c in polynomial.items())
        return total


WORLD = World()
numbers = st.lists(st.integers(0, len(WORLD.atoms()) - 1), min_size=1, max_size=5)
states = st.tuples(st.floats(-2, 2), st.floats(-2, 2))


def product(indices):
    out = WORLD.algebra.number(1.0)
    for i in indices:
        out = out * WORLD.atoms()[i]
    return out


@given(numbers, numbers, states)
@settings(deadline=None)
def test_products_and_sums_have_the_right_values(a, b, q):
    x, y = product(a), product(b)
    assert WORLD.value(x * y, q) == pytest.approx(WORLD.value(x, q) * WORLD.value(y, q), abs=ROUNDING)
    assert WORLD.value(x - y, q) == pytest.approx(WORLD.value(x, q) - WORLD.value(y, q), abs=ROUNDING)
    assert WORLD.value(x * 2.5, q) == pytest.approx(2.5 * WORLD.value(x, q), abs=ROUNDING)


@given(numbers, numbers)
@settings(deadline=None)
def test_the_normal_form_is_one(a, b):
    """Equal expressions are equal term by term, whatever the order of their making."""
    x, y = product(a), product(b)
    assert not (x * y - y * x)
    assert not ((x + y) * (x - y) - (x * x - y * y))


@given(numbers, states, st.integers(0, 1))
@settings(deadline=None)
def test_derivatives(a, q, which):
    x, step = product(a), 1e-6
    slope = WORLD.value(x.by(WORLD.q[which]), q)
    ahead, behind = (list(q), list(q))
    ahead[which] += step
    behind[which] -= step
    assert slope == pytest.approx((WORLD.value(x, ahead) - WORLD.value(x, behind)) / (2 * step), abs=1e-6)


def test_squares_of_cosine_and_sine_add_to_one():
    a = WORLD.algebra
    for angle in WORLD.angles:
        total = a.cosine(angle) * a.cosine(angle) + a.sine(angle) * a.sine(angle)
        assert total.terms == {0: {0: 1.0}}


def test_angles_of_one_group_add_up():
    a, (first, second, other) = WORLD.algebra, WORLD.angles
    together = a.cosine(first) * a.cosine(second) - a.sine(first) * a.sine(second)
    assert len(together) == 1
    assert len(a.cosine(first) * a.cosine(other)) == 1


def test_vectors():
    a = WORLD.algebra
    x, y = ([a.number(v) for v in values] for values in ((1.0, 2.0, 3.0), (-4.0, 5.0, 0.5)))
    assert [WORLD.value(c, (0, 0)) for c in cross(x, y)] == list(np.cross([1, 2, 3], [-4, 5, 0.5]))
    assert WORLD.value(inner(x, y), (0, 0)) == 7.5


def test_rules_are_applied_until_none_fits():
    algebra = Algebra()
    x, y = algebra.variable(), algebra.variable()
    # x^2 = 1 - y
    algebra.rule(algebra.monomial(x, x), algebra.number(1.0) - algebra.monomial(y))
    fifth = algebra.monomial(x, x, x, x, x)
    expected = algebra.monomial(x) - algebra.monomial(x, y, factor=2.0) + algebra.monomial(x, y, y)
    assert not (fifth.reduced() - expected)


def test_work_is_bounded():
    algebra = Algebra(most=5)
    many = algebra.total(algebra.monomial(algebra.variable()) for _ in range(4))
    with pytest.raises(TooLargeError):
        many * many
