"""Derivatives of the Jacobian of rotation vectors along a path, against complex steps of what they are derived from."""

import numpy as np
import pytest

from pliant.spatial.attitude import attitude, jacobian_rates

STEP = 1e-30
ANGLES = (1e-9, 0.3, 2.0, 4.0, 6.0)


@pytest.mark.parametrize("angle", ANGLES)
def test_both_derivatives_are_slopes_along_the_path(angle):
    rng = np.random.default_rng(4)
    theta, rate, acceleration = rng.normal(size=(3, 3))
    theta *= angle / np.linalg.norm(theta)
    # a moment later: theta + rate dt, with a rate that has changed as well
    later = theta + 1j * STEP * rate, rate + 1j * STEP * acceleration, acceleration + 0j
    first, second = (np.array(each) for each in jacobian_rates(*(x.tolist() for x in (theta, rate, acceleration))))
    T = np.array(attitude(later[0].tolist(), later[1].tolist()).T)
    assert first == pytest.approx(T.imag / STEP, rel=0, abs=1e-12 * np.abs(first).max())
    once = np.array(jacobian_rates(*(x.tolist() for x in later))[0])
    assert second == pytest.approx(once.imag / STEP, rel=0, abs=1e-12 * np.abs(second).max())
