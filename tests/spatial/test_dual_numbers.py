"""Dual numbers: their functions are the first two terms of Taylor's series."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.spatial.dual_numbers import Dual, dual_part, real_part
from pliant.spatial.scalars import cos, sin, sqrt, stumpff, tanh

FUNCTIONS = {
    "sin": (sin, np.cos),
    "cos": (cos, lambda x: -np.sin(x)),
    "tanh": (tanh, lambda x: 1 / np.cosh(x) ** 2),
    "sqrt": (sqrt, lambda x: 0.5 / np.sqrt(x)),
    "rational": (
        lambda x: (1.0 - x * x) / (2.0 + x) - 3.0 / x,
        lambda x: -(x * x + 4 * x + 1) / (2 + x) ** 2 + 3 / x**2,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.floats(0.2, 1.5), st.floats(-2.0, 2.0))
@settings(max_examples=20, deadline=None)
def test_derivative(name, x, dx):
    f, slope = FUNCTIONS[name]
    y = f(Dual(x, dx))
    assert real_part(y) == pytest.approx(float(f(x)), rel=1e-13, abs=1e-15)
    assert dual_part(y) == pytest.approx(float(slope(x) * dx), rel=1e-12, abs=1e-15)


def test_stumpff():
    h = 1e-6
    y = stumpff(3, Dual(0.7, 1.0))
    assert y.dual == pytest.approx((stumpff(3, 0.7 + h) - stumpff(3, 0.7 - h)) / (2 * h), rel=1e-8)


def test_structural_zeros_leave_plain_numbers():
    eps = Dual(0.0, 1.0)
    assert type(eps * eps) is float
    assert type(cos(eps)) is not Dual
    assert dual_part(3.0) == 0.0
    assert real_part(eps) == 0.0


def test_arrays_are_batches():
    x = np.array([0.3, 0.4])
    y = x * Dual(2.0, np.array([1.0, -1.0])) - x
    assert np.allclose(y.real, x)
    assert np.allclose(y.dual, x * [1.0, -1.0])
