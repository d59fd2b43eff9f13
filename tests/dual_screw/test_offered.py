"""The linearised equations are offered wherever the nonlinear ones are, and say where they are not."""

import importlib.util

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant import Dynamics, MethodError
from pliant.analysis.limits import state_limits
from pliant.analysis.modes import modes
from pliant.cli.app import app
from pliant.control.linear_model import linearise
from pliant.export.c import generate_c
from pliant.export.python import generate_python
from pliant.simulation.run import Run, SimulationWarning, run_study
from pliant.simulation.study import IntegratorOptions, Study
from small_arms import linear

SMALL = 1e-4
"""m, rad: elastic states whose second order is below the tolerances here."""
NEAR = 1e-5
"""Of the largest value: second order of SMALL states, with the stiffness of the fastest modes."""


@pytest.fixture(scope="module")
def arms():
    robot = pliant.load("two-link-flexible")
    return Dynamics(robot), Dynamics(robot, method="dual_screw")


def bent(arm, amplitude=SMALL, seed=1):
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=(2, arm.size))
    elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
    q[elastic] *= amplitude
    v[elastic] *= amplitude
    return q, v


def near(a, b, tolerance=NEAR):
    return np.abs(a - b).max() <= tolerance * np.abs(b).max()


def test_forward_and_inverse(arms):
    exact, linear = arms
    q, v = bent(exact)
    tau = np.array([1.0, -2.0])
    assert near(linear.forward(q, v, tau), exact.forward(q, v, tau))
    assert near(linear.inverse(q, v, np.ones(2))[0], exact.inverse(q, v, np.ones(2))[0])
    batch = np.stack([q, 2 * q]), np.stack([v, v]), np.stack([tau, tau])
    assert near(linear.forward(*batch)[0], linear.forward(q, v, tau), 1e-12)


def test_derivatives(arms):
    """Exact tangents of the linearised equations, by differences."""
    _, linear = arms
    q, v = bent(linear)
    tau, h = np.array([1.0, -2.0]), 1e-6
    d = linear.derivatives(q, v, tau)
    for k in range(linear.size):
        e = h * np.eye(linear.size)[k]
        slope = (linear.forward(q + e, v, tau) - linear.forward(q - e, v, tau)) / (2 * h)
        assert near(d.q[:, k], slope, 1e-5)


def test_modes_and_linearise_at_the_straight_pose(arms):
    """Without gravity the straight arm is an equilibrium of both, and their tangents there are the same."""
    exact, linear = (
        Dynamics(arm.robot.with_changes(gravity=(0.0, 0.0, 0.0)), method=arm.method.name, compile="never")
        for arm in arms
    )
    q = exact.reference_pose()
    assert near(modes(linear, q).hertz, modes(exact, q).hertz, 1e-9)
    ours, theirs = (linearise(arm, q) for arm in (linear, exact))
    assert near(np.asarray(ours.A), np.asarray(theirs.A), 1e-9)


def test_simulation_and_exported_code(arms, tmp_path):
    _, linear = arms
    study = Study(name="fall", robot=linear.robot, until=0.05, integrator=IntegratorOptions(tolerance=1e-9))
    with pytest.warns(SimulationWarning, match="method 'dual_screw', which is approximate; method 'recursive' is not"):
        run = run_study(study, linear)
    assert run.info.finished
    file = generate_python(linear, tmp_path / "arm.py", ("forward", "inverse", "mass_matrix"))
    spec = importlib.util.spec_from_file_location("exported_arm", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    q, v = bent(linear)
    tau = np.array([0.5, 0.3])
    assert near(np.array(module.forward(q, v, linear.B @ tau)), linear.forward(q, v, tau), 1e-9)
    assert near(np.array(module.mass_matrix(q)), linear.mass_matrix(q), 1e-9)
    assert "dual" in str(linear)
    written = generate_c(linear, tmp_path / "arm.c", ("forward",))
    assert written[0].exists()


def test_fewer_operations():
    exact, linear = (Dynamics("cibicik-4dof", method=name, compile="never") for name in ("recursive", "dual_screw"))
    for what in ("forward", "inverse"):
        assert linear.operations(what).total < exact.operations(what).total


def test_closed_loops_are_refused():
    with pytest.raises(MethodError, match=r"'dual_screw' does not close; method 'recursive' does"):
        Dynamics("dualemps", method="dual_screw")


def test_large_robots_are_refused(monkeypatch):
    monkeypatch.setattr("pliant.formulations.dual_screw.method.LARGEST", 3)
    with pytest.raises(MethodError, match=r"takes 3 at the most.*method 'recursive' takes any number"):
        Dynamics("two-link-flexible", method="dual_screw")


def test_the_printed_variant_warns():
    with pytest.warns(UserWarning, match=r"'dual_screw_literal'.*not symmetric.*method 'dual_screw'"):
        Dynamics(linear(pliant.load("two-link-flexible")), method="dual_screw_literal", compile="never")
    with pytest.raises(MethodError, match=r"does not bend linearly.*bending: linear; method 'dual_screw'"):
        Dynamics("two-link-flexible", method="dual_screw_literal", compile="never")


def test_a_study_names_its_method():
    robot = pliant.load("two-link-flexible")
    study = Study(name="fall", robot=robot, until=0.01, dynamics="dual_screw", compile=False)
    assert Run(study).arm.method.name == "dual_screw"
    with pytest.raises(ValueError, match=r"'dual_scrw', which is not known.*did you mean 'dual_screw'"):
        Study(name="fall", robot=robot, until=0.01, dynamics="dual_scrw")


def test_commands_take_a_method():
    runner = CliRunner()
    told = runner.invoke(app, ["modes", "two-link-flexible", "--dynamics", "dual_screw", "--count", "2"])
    assert told.exit_code == 0
    refused = runner.invoke(app, ["modes", "dualemps", "--dynamics", "dual_screw"])
    assert refused.exit_code != 0


def test_deflections_beyond_the_linearised_equations_are_told(arms):
    exact, linear = arms
    q = np.zeros(linear.size)
    bend = linear.names.index(next(name for name in linear.names if ".bend_y.1" in name))
    assert not [text for text in state_limits(linear, q) if "linearised" in text]
    q[bend] = 0.05
    assert any("which is linearised" in text and "'recursive' is not" in text for text in state_limits(linear, q))
    assert not any("linearised" in text for text in state_limits(exact, q))
    q[linear.mechanism.joints] = 1.2
    told = []
    for deflection in (-5.0, 5.0):
        q[bend] = deflection
        told += state_limits(linear, q)
    assert any("not positive definite" in text for text in told)


@pytest.mark.parametrize("compile", ["auto", "never"])
def test_a_mass_matrix_that_is_none_is_told(compile):
    """First order in deflections that are not small: accelerations of an indefinite matrix mean nothing."""
    robot = pliant.load("two-link-flexible")
    arm = Dynamics(robot, method="dual_screw", compile=compile)
    elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
    rng = np.random.default_rng(0)
    for _ in range(200):
        q = rng.normal(size=arm.size)
        lowest = np.linalg.eigvalsh(arm.mass_matrix(q))[0]
        if lowest < -1e-3:
            break
    assert lowest < -1e-3
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(FloatingPointError) as caught:
        arm.forward(q, np.zeros(arm.size), np.zeros(2))
    assert "is not positive at this q" in str(caught.value)
    assert any(arm.names[k] in str(caught.value) for k in elastic)
    assert "use method 'recursive'" in str(caught.value)
