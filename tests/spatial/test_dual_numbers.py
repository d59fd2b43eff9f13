"""Dual numbers: their functions are the first two terms of Taylor's series."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.spatial.dual_numbers import Dual, dual_part, real_part
from pliant.spatial.scalars import cos, sin, sqrt, stumpff, tanh

RATIONAL = (
    lambda x: (1.0 - x * x) / (2.0 + x) - 3.0 / x,
    lambda x: abs(x - 5.0) * +x - 2.0 * (-x),
    lambda x: x**3 + x**-2 + x**0.5 + 2.0**x + x**x + x**0,
)
NUMPY = ("sin", "cos", "tan", "arcsin", "arctan", "arccos", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "exp", "log",
         "sqrt")  # fmt: skip
FUNCTIONS = {
    **{name: getattr(np, name) for name in NUMPY},
    "arccosh": lambda x: np.arccosh(1.0 + x),
    "arctan2": lambda x: np.arctan2(x, 2.0) + np.arctan2(2.0, x) + np.arctan2(x, 1.0 + x * x),
    "scalars": lambda x: sin(x) * cos(x) + sqrt(x) * tanh(x),
    **{f"rational {k}": f for k, f in enumerate(RATIONAL)},
}
STEP = 1e-30
"""Of the complex step, which has no cancellation."""


@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.floats(0.2, 0.9), st.floats(-2.0, 2.0))
@settings(max_examples=20, deadline=None)
def test_derivative(name, x, dx):
    """Against the complex step; abs and arctan2, which are not analytic, against differences."""
    f = FUNCTIONS[name]
    y = f(Dual(x, dx))
    assert real_part(y) == pytest.approx(float(f(x)), rel=1e-13, abs=1e-15)
    if name in ("arctan2", "rational 1"):
        h = 1e-6
        slope, tolerance = (f(x + h) - f(x - h)) / (2 * h), 1e-8
    else:
        slope, tolerance = np.imag(f(complex(x, STEP))) / STEP, 1e-12
    assert dual_part(y) == pytest.approx(float(slope * dx), rel=tolerance, abs=tolerance)


@given(*[st.floats(-3.0, 3.0)] * 6)
@settings(max_examples=30, deadline=None)
def test_a_commutative_ring(a, b, c, d, e, f):
    x, y, z = Dual(a, b), Dual(c, d), Dual(e, f)

    def close(p, q):
        return real_part(p) == pytest.approx(real_part(q)) and dual_part(p) == pytest.approx(dual_part(q))

    assert close(x * y, y * x)
    assert close((x * y) * z, x * (y * z))
    assert close(x * (y + z), x * y + x * z)
    assert close(x + (-x), Dual(0.0, 0.0))
    assert close(x * x.conjugate(), a * a)
    if abs(c) > 0.1:
        assert close((x / y) * y, x)


def test_equality_and_what_dual_numbers_are_not():
    x = Dual(0.5, 2.0)
    assert x == Dual(0.5, 2.0)
    assert x != 0.5
    assert Dual(0.5, 0.0) == 0.5
    with pytest.raises(TypeError, match="no plain number; take its real_part"):
        float(x)
    with pytest.raises(TypeError):
        np.floor(x)
    with pytest.raises(TypeError, match="the dual part is 'a'"):
        Dual(1.0, "a")
    with pytest.raises(TypeError, match="the real part is Dual"):
        Dual(x, 1.0)
    with pytest.raises(TypeError):
        x < Dual(1.0, 0.0)  # noqa: B015


def test_matrices():
    rng = np.random.default_rng(2)
    A, dA, B, dB, c = (rng.normal(size=(3, 3)) for _ in range(5))
    product = Dual(A, dA) @ Dual(B, dB)
    assert np.allclose(product.dual, np.imag((A + 1j * STEP * dA) @ (B + 1j * STEP * dB)) / STEP)
    assert np.allclose((c @ Dual(A, dA)).dual, c @ dA)
    assert np.allclose((Dual(A, dA) @ c).real, A @ c)
    assert np.allclose((c - Dual(A, dA)).dual, -dA)


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
