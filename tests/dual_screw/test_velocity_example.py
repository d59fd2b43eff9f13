"""Appendix B of Cibicik & Egeland, symbolically: the linearised velocity (149) of a point of the second boom."""

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

from pliant import screws  # noqa: E402
from pliant.reproduce.appendix_b import STATE, boom_velocity  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    return boom_velocity()


def test_the_root_is_linear_by_itself(arm):
    """(147) is exact: positions and velocities of the tip of the first elastic link are linear in its states."""
    difference = (arm.root - arm.printed_root()).applyfunc(sympy.expand)
    assert difference.applyfunc(sympy.simplify) == sympy.zeros(3, 1)


def test_linearised_velocity(arm):
    """(149) is the first-order part of the true velocity."""
    wanted = arm.printed()
    for k in range(3):
        assert sympy.expand(arm.first_order(arm.point[k]) - arm.first_order(wanted[k])) == 0


def test_a_wrong_sign_is_seen(arm):
    """The identity is no accident of the reduction: without one term it fails."""
    wrong = arm.printed() - 2 * arm.u["t1"] * arm.x * sympy.sin(arm.q["q3"]) * arm.R02[:, 2]
    assert any(sympy.expand(arm.first_order(arm.point[k]) - arm.first_order(wrong[k])) != 0 for k in range(3))


def test_the_velocity_is_that_of_rotation_matrices(arm):
    """Numbers of the whole velocity against differences of positions by matrices of another room."""
    state = {name: value for name, value in STATE.items() if not name.startswith("d")}

    def position(h):
        at = {name: value + h * STATE.get(f"d{name}", 0.0) for name, value in state.items()}

        def turn(axis, name):
            return screws.SO3.exp(np.eye(3)[axis] * (at[name] if isinstance(name, str) else name)).A

        R02 = turn(2, "q1") @ turn(0, -np.pi / 2) @ turn(2, -np.pi / 2) @ turn(2, "q2")
        R03 = R02 @ turn(0, "t1") @ turn(1, "t2") @ turn(2, "t3") @ turn(2, "q3")
        return R03 @ [state["x"], at["k2"], at["k3"]]

    h = 1e-6
    wanted = (position(h) - position(-h)) / (2 * h)
    assert np.array(arm.point.subs(STATE), dtype=float).ravel() == pytest.approx(wanted, abs=1e-8)
    # what is left out is of second order in states of some hundredths
    first = np.array([float(arm.first_order(arm.point[k]).subs(STATE)) for k in range(3)])
    assert 1e-6 < np.abs(first - wanted).max() < 2e-2
