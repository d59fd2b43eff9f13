"""The three rules for the rotation of a section: proper rotations with their true rates, at any angle."""

from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import STEP, section_rotation
from pliant.spatial.attitude import MAPS
from pliant.spatial.scalars import stumpff

ROUNDING = 2e-14
"""A few dozen operations on numbers of order one (rates up to ten)."""

LARGEST = 3.0
"""Angle up to which the truncated series must be good to rounding; a linear beam stays far below."""

components = st.tuples(*[st.floats(-1.0, 1.0)] * 3).map(np.array)


def rotated(theta, size):
    norm = np.linalg.norm(theta)
    return theta * (size / norm) if norm else theta


@pytest.mark.parametrize("rule", MAPS)
@given(direction=components, size=st.floats(0.0, LARGEST), rate=components)
@settings(max_examples=25, deadline=None)
def test_a_proper_rotation_with_its_true_rate(rule, direction, size, rate):
    theta, rate = rotated(direction, size), 3 * rate
    turn = MAPS[rule](theta.tolist(), rate.tolist())
    R, T, omega, bias = (np.array(x, dtype=float) for x in turn)
    assert pytest.approx(section_rotation(rule, theta), abs=ROUNDING) == R
    assert pytest.approx(np.eye(3), abs=ROUNDING) == R.T @ R
    assert np.linalg.det(R) == pytest.approx(1.0, abs=ROUNDING)
    assert T @ rate == pytest.approx(omega, abs=10 * ROUNDING)

    # along theta + rate t: omega~ = R_dot R^T, and the bias is omega_dot
    moved = MAPS[rule](list(theta + 1j * STEP * rate), list(rate + 0j))
    spin = np.array(moved.R).imag / STEP @ R.T
    assert spin == pytest.approx(-spin.T, abs=10 * ROUNDING)
    assert [spin[2, 1], spin[0, 2], spin[1, 0]] == pytest.approx(omega, abs=10 * ROUNDING)
    assert np.array(moved.omega).imag / STEP == pytest.approx(bias, abs=100 * ROUNDING)


@pytest.mark.parametrize("rule", MAPS)
def test_no_rotation_at_rest(rule):
    rate = [1.0, -2.0, 0.5]
    turn = MAPS[rule]([0.0, 0.0, 0.0], rate)
    assert np.array_equal(turn.R, np.eye(3))
    assert np.array_equal(turn.T, np.eye(3))
    assert np.array_equal(turn.omega, rate)


@pytest.mark.parametrize(("rule", "order"), [("exponential", None), ("cayley", 3), ("xyz", 2)])
def test_how_far_the_rules_are_from_the_exponential(rule, order):
    direction = np.array([0.6, -0.5, 0.4])
    sizes = np.array([0.2, 0.1, 0.05])
    errors = []
    for theta in sizes[:, None] * direction:
        R = np.array(MAPS[rule](theta.tolist(), [0.0] * 3).R)
        errors.append(np.abs(R - section_rotation("exponential", theta)).max())
    if order is None:
        assert max(errors) <= ROUNDING
    else:
        assert np.diff(np.log(errors)) / np.diff(np.log(sizes)) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("k", range(4, 8))
def test_entire_functions(k):
    """Those that the exponential map uses: c_k + s c_(k+2) = 1/k!, the value at zero, the slope."""
    s = np.linspace(0.0, LARGEST**2, 30)
    assert stumpff(k, s) + s * stumpff(k + 2, s) == pytest.approx(np.full(30, 1 / factorial(k)), rel=1e-14)
    assert stumpff(k, 0.0) == 1 / factorial(k)
    slope = stumpff(k, s + 1j * STEP).imag / STEP
    assert slope == pytest.approx((k * stumpff(k + 2, s) - stumpff(k + 1, s)) / 2, rel=1e-12)
