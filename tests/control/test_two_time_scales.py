"""Slow and fast parts of flexible robots: beside the poles of the whole, and their errors as links get stiffer."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pliant.control.two_time_scales import slow_state, two_time_scales
from pliant.dynamics import Dynamics
from pliant.model.description.robot import rigid_twin
from pliant.model.readers.library import read_text

ROBOTS = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())["robots"]
GAINS = {"one-link": (3.0, 1.0), "two-link": ({"shoulder": 60.0, "elbow": 20.0}, {"shoulder": 12.0, "elbow": 4.0})}


def stiffer(name, factor, *, damped=True):
    """A robot with stiffer links; their Rayleigh damping, in proportion to the stiffness, would grow with them."""
    text = re.sub(r"EI(y|z): ([0-9.]+)", lambda found: f"EI{found[1]}: {float(found[2]) * factor}", ROBOTS[name])
    text = text if damped else re.sub(r"stiffness: [0-9.]+", "stiffness: 0", text)
    return Dynamics(read_text(text), compile="never")


def by_size(poles):
    """One of each pair, in an order that rounding leaves alone."""
    upper = poles[poles.imag >= 0]
    return upper[np.argsort(np.abs(upper))]


def errors(name, factor, order):
    """Ratio of time scales, and largest relative errors of slow and of fast poles."""
    kp, kd = GAINS[name]
    split = two_time_scales(stiffer(name, factor, damped=False), order=order, kp=kp, kd=kd)
    exact = split.model.poles
    return split.epsilon, *(
        max(np.abs(exact - pole).min() / abs(pole) for pole in part.poles) for part in (split.slow, split.fast)
    )


@pytest.mark.parametrize("name", list(ROBOTS))
@pytest.mark.parametrize("order", [0, 1])
def test_errors_of_poles_fall_with_the_ratio_of_time_scales(name, order):
    """Links 16 times as stiff are 4 times as fast: epsilon^2 of the rigid robot, epsilon^4 with one correction."""
    soft, stiff = (errors(name, factor, order) for factor in (16, 256))
    assert stiff[0] == pytest.approx(soft[0] / 4, rel=0.02)
    for k in (1, 2):
        power = np.log(soft[k] / stiff[k]) / np.log(soft[0] / stiff[0])
        assert power > 2 * (order + 1) - 0.4
        # with the rigid robot the error is of that size, not below it
        assert order or power < 2.2


@pytest.mark.parametrize("name", list(ROBOTS))
def test_the_exact_split_is_the_whole(name):
    """Both parts together answer as the whole model does, and have its poles."""
    kp, kd = GAINS[name]
    outputs = ("tip.y", "tip.y.acceleration", "shoulder")
    split = two_time_scales(stiffer(name, 4.0), order=None, kp=kp, kd=kd, outputs=outputs)
    assert by_size(split.poles) == pytest.approx(by_size(split.model.poles), rel=1e-9)
    omega = np.array([0.3, 7.0, 90.0])
    whole = split.model.frf(omega)
    assert split.slow.frf(omega) + split.fast.frf(omega) == pytest.approx(whole, abs=1e-9 * np.abs(whole).max())
    # the fast part has no answer to constant efforts: what links give at once belongs to the slow one
    assert np.abs(split.fast.frf(0.0)).max() < 1e-9 * np.abs(whole).max()
    # eta = fast + L slow and xi = slow - H eta leave no coupling
    model, n = split.model, len(split.slow.names)
    order = [model.names.index(name) for name in (*split.slow.names, *split.fast.names)]
    A = model.A[np.ix_(order, order)]
    one = np.eye(len(A))
    to_fast, to_slow = one.copy(), one.copy()
    to_fast[n:, :n], to_slow[:n, n:] = split.L, -split.H
    T = to_slow @ to_fast
    apart = T @ A @ np.linalg.inv(T)
    size = np.abs(A).max()
    assert np.abs(apart[:n, n:]).max() < 1e-9 * size
    assert np.abs(apart[n:, :n]).max() < 1e-9 * size


def test_fast_frequencies_are_those_of_links_on_free_joints():
    arm = stiffer("one-link", 1.0)
    split = two_time_scales(arm, order=0)
    M, K = arm.mass_matrix(np.zeros(3)), arm.stiffness
    # M_ee - M_er M_rr^-1 M_re: the joint gives way
    felt = M[1:, 1:] - np.outer(M[1:, 0], M[0, 1:]) / M[0, 0]
    free = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(felt, K[1:, 1:])).real))
    assert split.fast_frequencies == pytest.approx(free, rel=1e-9)
    # slow and rigid: M_rr alone
    assert split.slow.B[1] == pytest.approx([1 / M[0, 0]], rel=1e-9)
    # the sag of the links under constant efforts, without vibration
    tip = two_time_scales(arm, order=1, outputs="tip.y")
    lever = arm.jacobian("tip", np.zeros(3))[1]
    bend = -np.linalg.solve(K[1:, 1:], M[1:, 0] / M[0, 0])
    turn = -M[0, 1:] @ bend / M[0, 0]
    assert tip.compliance[0, 0] == pytest.approx(lever[0] * turn + lever[1:] @ bend, rel=1e-6)


def test_the_slow_manifold_of_the_nonlinear_robot():
    """Stiff links: accelerations of the rigid twin; and the balance holds with whatever stiffness."""
    tau = {"shoulder": 2.0, "elbow": -1.0}
    q, v = {"shoulder": 0.4, "elbow": -0.7}, {"shoulder": 1.0, "elbow": -2.0}
    far = []
    for factor in (10.0, 160.0):
        arm = stiffer("two-link", factor)
        found = slow_state(arm, q, v, tau)
        twin = Dynamics(rigid_twin(arm.robot), compile="never")
        far.append(np.abs(found.a - twin.forward(twin.q(q), twin.v(v), twin.tau(tau))).max())
        a = np.zeros(arm.size)
        a[arm.mechanism.joints] = found.a
        left = arm.forces(found.q, arm.v(v), a) - arm.B @ arm.tau(tau)
        assert np.abs(left).max() < 1e-8 * np.abs(arm.forces(found.q, arm.v(v), a)).max()
    # compliance, thus error, falls with the stiffness: epsilon^2
    assert far[0] / far[1] == pytest.approx(16.0, rel=0.05)


def test_other_poses_and_refusals():
    arm = stiffer("two-link", 1.0)
    split = two_time_scales(arm, {"shoulder": -1.0}, outputs="tip.x")
    other = split.at({"shoulder": -1.0, "elbow": 1.5})
    assert other.fast_frequencies[0] != pytest.approx(split.fast_frequencies[0], rel=1e-3)
    assert other.model.outputs == ("tip.x",)
    assert "fast from" in repr(other)
    for order in (-1, 0.5):
        with pytest.raises(ValueError, match=f"order is {order}"):
            two_time_scales(arm, order=order)
    with pytest.raises(ValueError, match="no links that bend"):
        two_time_scales(Dynamics(rigid_twin(arm.robot), compile="never"))
    with pytest.raises(ValueError, match=r"cannot be told apart: the ratio of time scales is"):
        two_time_scales(arm, order=None, kp=3e5, kd=1e3)


def test_closed_loops_by_their_independent_coordinates():
    arm = Dynamics("five-bar", compile="never")
    split = two_time_scales(arm, order=None, kp=50.0, kd=5.0)
    assert split.slow.names == ("left_motor", "right_motor", "left_motor.rate", "right_motor.rate")
    assert by_size(split.poles) == pytest.approx(by_size(split.model.poles), rel=1e-7)
    with pytest.raises(ValueError, match="slow_state: robot 'five-bar' has closed loops"):
        slow_state(arm, {}, {}, {})
