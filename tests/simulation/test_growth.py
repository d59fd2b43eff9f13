"""Motions that grow: implicit steps that would erase them are told, and `auto` follows them."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from pliant import PID, Dynamics
from pliant.simulation.monitoring.watches import GrowthWatch, fastest_growth, linear_model
from pliant.simulation.run import Run, simulate
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import Study

UNTIL = 0.01


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible")


def quietly(*given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(*given, **options)


def grown(run):
    return [text for text in run.warnings if "grows at" in text]


def pushing(arm, gain):
    """A law that pushes the first input the way it goes already."""
    moved = arm.names.index(arm.inputs[0])
    return lambda t, q, v: np.array([gain * v[moved], *np.zeros(len(arm.inputs) - 1)])


@pytest.mark.parametrize(("name", "gain"), [("two-link-flexible", 1e6), ("five-bar", 1e5)])
@pytest.mark.parametrize("method", ["esdirk", "generalised-alpha"])
def test_growth_that_steps_erase_is_told(name, gain, method):
    """In trees and loops: which coordinate, how fast, and what to do."""
    own = Dynamics(name)
    run = quietly(own, until=UNTIL, drive=pushing(own, gain), method=method)
    (text,) = grown(run)
    assert f"mostly of '{own.inputs[0]}'" in text
    assert "method: dop853 follows it" in text


def test_the_rate_is_that_of_the_lightest_motion(arm):
    """Beside a feedback this strong nothing else counts: gain times the mobility of the joint, from M^-1."""
    gain = 1e6
    law = pushing(arm, gain)
    run = Run(Study(robot=arm.robot, until=UNTIL, drive=law), arm)
    y = run.equations.start(run.q0, run.v0)
    mobility = np.linalg.inv(arm.mass_matrix(run.q0))[0, 0]
    growth = fastest_growth(run.equations, linear_model(run.equations, 0.0, y))
    assert growth.rate == pytest.approx(gain * mobility, rel=1e-3)
    assert growth.name == "shoulder"


def test_auto_follows_growth(arm):
    """Where it would have taken implicit steps: the same as explicit ones, and a word about it."""
    run = quietly(arm, until=0.05, drive=pushing(arm, 1e6))
    assert run.info.method == "dop853"
    assert "grows at" in grown(run)[0]
    assert np.abs(run.q).max() > 10.0


def test_growth_that_begins_on_the_way(arm):
    """A law that turns unstable when steps have become long, about a state of rest."""
    weightless = Dynamics(arm.robot.model_copy(update={"gravity": (0.0, 0.0, 0.0)}))

    def late(t, q, v):
        return np.array([(1e6 * t - 1e4) * v[0], -5.0 * v[1]])

    (text,) = grown(quietly(weightless, until=1.0, drive=late, method="esdirk"))
    assert "at 0 s" not in text


def test_integral_feedback_counts_with_its_states(arm):
    """kp and kd alone are stable; the integrals make them unstable, which coordinates and rates do not show."""
    drive = PID(kp=[2000, 500], kd=[20, 5], ki=[9e8, 10])
    run = Run(Study(robot=arm.robot, until=UNTIL, drive=drive), arm)
    y = run.equations.start(run.q0, run.v0)
    whole = linear_model(run.equations, 0.0, y)
    n = 2 * arm.size
    assert fastest_growth(run.equations, whole).rate > 100.0
    assert fastest_growth(run.equations, whole[:n, :n]).rate < 20.0


@pytest.mark.parametrize("method", ["auto", "esdirk", "generalised-alpha"])
def test_what_falls_over_is_nothing_to_speak_of(arm, method):
    """Both links upright, a bit off: they fall at some radians per second."""
    run = quietly(arm, until=1.0, start={"shoulder": np.pi / 2 - 0.1, "elbow": 0.0}, method=method)
    assert not grown(run)
    assert np.ptp(run.q[:, 0]) > 0.01


def test_linear_models_of_machine_code_and_of_difference_quotients(arm):
    """The matrices of implicit steps, damping by the drive among them, give the same small motions."""
    study = Study(robot=arm.robot, until=UNTIL, drive=PID(kp=100.0, kd=[40.0, 8.0]), integrator={"method": "esdirk"})
    run = Run(study, arm)
    run.go()
    y, equations = run.integrator.y, run.equations
    assert isinstance(equations, StateEquations)
    f = equations.rates(UNTIL, y)
    found = run.integrator.linear_model(UNTIL, y, f)
    wanted = linear_model(equations, UNTIL, y)
    # quotients of accelerations that cancel lose some digits
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-7 * np.abs(wanted).max())


def test_a_piece_is_looked_at_where_it_begins_where_its_step_is_longest_and_where_it_ends():
    knots = np.array([0.0, 0.1, 0.4, 0.5, 0.7])
    states, rates = np.arange(5.0)[:, None], 10 + np.arange(5.0)[:, None]
    seen = []
    equations = SimpleNamespace(layout=SimpleNamespace(drive=slice(0, 2)))
    watch = GrowthWatch(equations, "esdirk")
    watch._look = lambda integrator, h, t, y, f: seen.append([h, t, *y, *f])
    watch.take(SimpleNamespace(knots=knots, knot_states=states, knot_rates=rates), None)
    assert seen == pytest.approx(np.array([[0.3, 0.0, 0, 10], [0.3, 0.1, 1, 11], [0.2, 0.7, 4, 14]]))
