"""Linear models against the nonlinear dynamics."""

import sys

import numpy as np
import pytest

from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.modes import modes
from pliant.control.linear_model import linearise
from pliant.dynamics import Dynamics

ROBOTS = ("two-link-flexible", "de-luca-siciliano", "lin-lewis-tank-turret", "single-flexible-link")

STEP = 1e-6
"""Central differences of accelerations: relative error about 1e-9 of the largest entry."""


def differences(function, x):
    columns = []
    for i in range(len(x)):
        e = np.zeros(len(x))
        e[i] = STEP
        columns.append((function(x + e) - function(x - e)) / (2 * STEP))
    return np.array(columns).T


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # any state will do
@pytest.mark.parametrize("robot", ROBOTS)
def test_state_matrix_is_the_derivative_of_the_accelerations(robot):
    arm = Dynamics(robot, compile="never")
    rng = np.random.default_rng(1)
    n = arm.size
    q, v = arm.reference_pose() + 0.02 * rng.normal(size=n), 0.1 * rng.normal(size=n)
    tau = rng.normal(size=len(arm.inputs))
    model = linearise(arm, q, v, tau=tau, dry_friction=True)
    numeric_q = differences(lambda x: arm.forward(x, v, tau), q)
    numeric_v = differences(lambda x: arm.forward(q, x, tau), v)
    numeric_tau = differences(lambda x: arm.forward(q, v, x), tau)
    A, B = model.A, model.B
    # what differences of accelerations can tell
    rounding = 1e-8 * np.abs(model.a).max()
    assert np.array_equal(A[:n], np.hstack([np.zeros((n, n)), np.eye(n)]))
    assert A[n:, :n] == pytest.approx(numeric_q, abs=rounding + 1e-6 * np.abs(numeric_q).max())
    assert A[n:, n:] == pytest.approx(numeric_v, abs=rounding + 1e-6 * np.abs(numeric_v).max())
    assert B[n:] == pytest.approx(numeric_tau, abs=rounding + 1e-6 * np.abs(numeric_tau).max())
    assert model.a == pytest.approx(arm.forward(q, v, tau))


def test_names():
    model = linearise(Dynamics("two-link-flexible", compile="never"))
    assert model.names[:3] == ("shoulder", "upper.bend_y.1", "upper.bend_y.2")
    assert model.names[6] == "shoulder.rate"
    assert model.inputs == ("shoulder", "elbow")
    assert model.outputs == model.names[:6]
    assert model.C.shape == (6, 12)
    assert not model.D.any()


def test_default_is_the_state_of_rest():
    arm = Dynamics("two-link-flexible", compile="never")
    model, rest = linearise(arm), equilibrium(arm)
    assert model.q == pytest.approx(rest.q)
    assert model.tau == pytest.approx(rest.tau)
    assert np.abs(model.a).max() < 1e-6


def test_poles_are_the_free_modes_with_their_damping():
    arm = Dynamics("single-flexible-link", compile="never")
    poles = linearise(arm).poles
    free = modes(arm, np.zeros(arm.size), locked=False)
    vibrating = poles[poles.imag > 1e-3]
    # damping of a few per cent shifts a frequency in second order only
    assert np.abs(vibrating) == pytest.approx(free.frequencies[1:], rel=1e-3)
    assert -vibrating.real / np.abs(vibrating) == pytest.approx(free.damping_ratios[1:], rel=0.05)
    direct = np.linalg.eigvals(linearise(arm).A)
    assert np.sort(poles.imag) == pytest.approx(np.sort(direct.imag), rel=1e-6, abs=1e-6)
    assert np.sort(poles.real) == pytest.approx(np.sort(direct.real), rel=1e-6, abs=1e-6)


def test_outputs():
    arm = Dynamics("two-link-flexible", compile="never")
    model = linearise(arm, outputs=("tip.x", "tip.ry", "elbow.motor", "upper.bend_y.2", "upper.tip.z"))
    J = arm.jacobian("tip", model.q)
    assert np.array_equal(model.C[0, :6], J[0])
    assert np.array_equal(model.C[1, :6], J[4])
    assert np.array_equal(model.C[2, :6], arm.B[:, 1])
    assert model.C[3, 2] == 1.0
    assert np.array_equal(model.C[4, :6], arm.jacobian("upper.tip", model.q)[2])
    # what the outputs mean: small motions of the frame
    step = 1e-6 * np.random.default_rng(0).normal(size=6)
    moved = arm.pose("tip", model.q + step).position - arm.pose("tip", model.q).position
    assert model.C[0, :6] @ step == pytest.approx(moved[0], abs=1e-10)


@pytest.mark.parametrize(
    ("name", "words"), [("elbo", "did you mean 'elbow'"), ("tp.y", "no frame 'tp'"), ("wobble", "FRAME.x")]
)
def test_an_unknown_output_is_named(name, words):
    model = linearise(Dynamics("two-link-flexible", compile="never"))
    with pytest.raises(ValueError, match=words):
        model.with_outputs(name)


def test_dry_friction_is_left_out_unless_asked_for():
    arm = Dynamics("single-flexible-link", compile="never")
    without, with_it = linearise(arm).tangent.D[0, 0], linearise(arm, dry_friction=True).tangent.D[0, 0]
    joint = arm.robot.joint("shoulder")
    assert without == pytest.approx(joint.friction.viscous)
    assert with_it == pytest.approx(joint.friction.viscous + joint.friction.coulomb / joint.friction.smoothing)


def test_handing_over_to_python_control():
    control = pytest.importorskip("control")
    model = linearise(Dynamics("single-flexible-link", compile="never"), outputs=("tip.y",))
    system = model.to_control()
    assert isinstance(system, control.StateSpace)
    assert np.array_equal(system.A, model.A)
    assert system.output_labels == ["tip_y"]
    assert system.input_labels == ["shoulder"]


def test_without_python_control(monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(ImportError, match=r"pip install control"):
        linearise(Dynamics("single-flexible-link", compile="never")).to_control()


def test_loops_are_linearised_in_independent_coordinates():
    arm = Dynamics("five-bar", compile="never")
    model = linearise(arm)
    assert model.tangent.names == arm.independent
    found = modes(arm, model.q, locked=False)
    frequencies = np.sort(np.abs(model.poles))[::2]
    assert frequencies[2:6] == pytest.approx(found.frequencies[2:6], rel=2e-3)
    with pytest.raises(ValueError, match=r"would come apart at .* arm\.project"):
        linearise(arm, model.q, np.ones(arm.size))


def test_wrong_shapes_are_named():
    with pytest.raises(ValueError, match=r"v has shape \(2,\)"):
        linearise(Dynamics("two-link-flexible", compile="never"), np.zeros(6), [0.0, 0.0])
