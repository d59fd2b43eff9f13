"""Gauss rules: exactness, panels, symmetry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.bodies.profile import equal_breaks, gauss, merge_breaks


@settings(deadline=None)
@given(points=st.integers(1, 30), cuts=st.lists(st.floats(0.05, 1.95), max_size=4))
def test_exact_for_polynomials(points, cuts):
    breaks = merge_breaks(cuts, length=2.0)
    x, weights = gauss(breaks, points)
    for degree in {0, points, 2 * points - 1}:
        assert weights @ x**degree == pytest.approx(2.0 ** (degree + 1) / (degree + 1), rel=1e-12)


def test_a_kink_on_a_break_does_no_harm():
    x, weights = gauss((0.0, 0.3, 1.0), 4)
    assert weights @ np.abs(x - 0.3) == pytest.approx((0.3**2 + 0.7**2) / 2, rel=1e-15)


def test_rules_are_symmetric_to_the_bit():
    x, weights = gauss((-1.0, 1.0), 33)
    assert np.array_equal(x, -x[::-1])
    assert np.array_equal(weights, weights[::-1])


def test_merged_breaks_join_what_rounding_separates():
    merged = merge_breaks((0.0, 0.1 + 0.2, 1.0), (0.3, 0.5, 1.0 - 1e-16), length=1.0)
    assert merged == pytest.approx((0.0, 0.3, 0.5, 1.0))
    assert merged[-1] == 1.0
    assert equal_breaks(0.7, 3)[-1] == 0.7
    assert equal_breaks(2.0, 4) == pytest.approx((0.0, 0.5, 1.0, 1.5, 2.0))
