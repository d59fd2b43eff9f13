"""Drives with states of their own in runs: as few steps as without, tolerances, and poles that the choice sees."""

import numpy as np
import pytest

from pliant import Quintic, Start
from pliant.drives.drive import DriveLaw
from pliant.drives.feed_forward import FeedForward
from pliant.drives.pid import PID
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.laws import Action, LawState
from pliant.simulation.choice import LinearStart, fastest_motion, fastest_rate
from pliant.simulation.integrators.by_name import make_integrator
from pliant.simulation.integrators.integrator import Settings, Tolerance
from pliant.simulation.monitoring.watches import fastest_growth, linear_model
from pliant.simulation.run import simulate
from pliant.simulation.state_equations import StateEquations
from pliant.trajectories.path import Surroundings

FEEDBACK = {"trajectory": Quintic(to={"shoulder": 1.15, "elbow": -1.4}, duration=0.25), "kp": 400.0, "kd": 30.0}


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible")


@pytest.mark.filterwarnings("ignore::pliant.simulation.run.SimulationWarning")
@pytest.mark.parametrize(("method", "most"), [("esdirk", 1.2), ("generalised-alpha", 1.6), ("gauss", 1.2)])
def test_elastic_feed_forward_takes_as_few_steps_as_feedback(arm, method, most):
    """Its model's coordinates and rates are states, which fixed-point iterations followed in ten to a hundred times as
    many steps."""
    options = {"until": 1.0, "start": Start(links="equilibrium"), "tolerance": 1e-6}
    plain = simulate(arm, drive=PID(**FEEDBACK), method=method, **options)
    run = simulate(arm, drive=FeedForward(**FEEDBACK, model="elastic"), method=method, **options)
    exact = simulate(arm, drive=FeedForward(**FEEDBACK, model="elastic"), method="dop853", **options)
    counted, beside = run.info.statistics, plain.info.statistics
    assert counted["steps"] < most * beside["steps"]
    assert counted["matrices"] < 1.5 * beside["matrices"] + 10
    assert np.abs(run.q - exact.q).max() < 1e-4


@pytest.mark.filterwarnings("ignore::pliant.simulation.run.SimulationWarning")
@pytest.mark.parametrize("method", ["esdirk", "generalised-alpha", "gauss"])
def test_loops_with_states(method):
    """An integral in a closed loop; the run without it takes as many steps."""
    arm = Dynamics("five-bar")
    q0 = arm.assemble()
    move = Quintic(to={each: q0[arm.names.index(each)] + 0.05 for each in arm.inputs[:2]}, duration=0.1)
    feedback = {"trajectory": move, "kp": 400.0, "kd": 30.0}
    options = {"until": 0.15, "tolerance": 1e-5}
    plain = simulate(arm, drive=PID(**feedback), method=method, **options)
    run = simulate(arm, drive=PID(**feedback, ki=500.0), method=method, **options)
    exact = simulate(arm, drive=PID(**feedback, ki=500.0), method="dop853", **options)
    assert run.info.statistics["steps"] < 1.2 * plain.info.statistics["steps"] + 5
    assert run.info.statistics["matrices"] < 1.5 * plain.info.statistics["matrices"] + 10
    assert np.abs(run.q - exact.q).max() < 1e-3


# ---------------------------------------------------------------- tolerances, poles


class Filtered(DriveLaw):
    """A spring on the first input through a first-order filter; with states of any unit and size."""

    def __init__(self, arm, rate, scale=1.0):
        self.B, self.rate = arm.B, rate
        self.states = (LawState("filter.shoulder", scale=scale),)

    @property
    def structure(self):
        return "filtered", self.rate, self.B.tobytes()

    def efforts(self, q, v, z, signals, gains):
        return Action([-50.0 * z[0], *[0.0] * (self.B.shape[1] - 1)], [self.rate * (q[0] - z[0])])


def test_states_name_their_tolerances(arm):
    equations = StateEquations(arm, Filtered(arm, 10.0))
    at = equations.layout
    assert Tolerance.of(equations, 1e-6).absolute[at.drive] == pytest.approx([1e-8])
    own = StateEquations(arm, Filtered(arm, 10.0, scale=2.5e10))
    assert Tolerance.of(own, 1e-6).absolute[at.drive] == pytest.approx([250.0])
    # what a study says of it by name comes last
    groups = Tolerance.of(own, 1e-6, None, {"drive.filter.*": 3.0, "joints": 1e-3})
    assert groups.absolute[at.drive] == pytest.approx([3.0])
    assert groups.absolute[0] == pytest.approx(1e-3)
    with pytest.raises(ModelError, match="tolerance of 'pump'"):
        Tolerance.of(own, 1e-6, None, {"pump": 3.0})


@pytest.mark.parametrize("rate", [10.0, 1e7])
def test_the_choice_sees_poles_of_states(arm, rate):
    still = np.zeros(arm.size)
    equations = StateEquations(arm, Filtered(arm, rate))
    held = StateEquations(arm, PID(**FEEDBACK).bind(Surroundings(arm, still), np.zeros(len(arm.inputs))))
    found = fastest_rate(equations, still, still)
    if rate < 1e6:
        assert found < 1e6
        return
    assert found == pytest.approx(rate, rel=1e-3)
    assert fastest_rate(held, still, still) < 1e6
    words, damped = fastest_motion(LinearStart(equations, still, still), still)
    assert words == ", of the drive's own states"
    assert damped


def test_growing_states_are_seen(arm):
    equations = StateEquations(arm, Filtered(arm, -300.0))
    y = equations.start(np.zeros(arm.size), np.zeros(arm.size))
    assert LinearStart(equations, y[: arm.size], y[arm.size : 2 * arm.size]).growth.rate > 250.0
    assert fastest_growth(equations, linear_model(equations, 0.0, y)).rate > 250.0


@pytest.mark.parametrize("law", ["pid", "elastic"])
def test_the_linear_model_of_implicit_steps_has_the_states(arm, law):
    """From exact tangents, against differences of the equations in Python."""
    drive = PID(**FEEDBACK, ki=900.0) if law == "pid" else FeedForward(**FEEDBACK, model="elastic")
    q0 = np.zeros(arm.size)
    equations = StateEquations(arm, drive.bind(Surroundings(arm, q0), q0 @ arm.B))
    equations.enter(0.0, 0.25)
    y = equations.start(q0, np.zeros(arm.size))
    integrator = make_integrator("esdirk", equations, 0.0, y, Settings(Tolerance.of(equations, 1e-6)), 100.0)
    f = equations.rates(0.0, y)
    found, wanted = integrator.linear_model(0.0, y, f), linear_model(equations, 0.0, y)
    assert found.shape == wanted.shape == (equations.layout.controlled,) * 2
    scale = np.maximum(np.abs(wanted).max(axis=1, keepdims=True), 1.0)
    # central differences with steps of 1e-6
    np.testing.assert_allclose(found / scale, wanted / scale, rtol=0, atol=1e-5)


# ---------------------------------------------------------------- equations in Python


@pytest.mark.parametrize("method", ["dop853", "rk4", "semi-implicit", "esdirk", "generalised-alpha"])
def test_what_a_law_raises_ends_the_run(arm, method):
    """From within machine code, at once and as it is; the next run knows nothing of it."""
    asked = []

    def law(t, q, v):
        if t > 0.005:
            asked.append(t)
            raise KeyboardInterrupt
        return np.zeros(2)

    with pytest.raises(KeyboardInterrupt):
        simulate(arm, until=0.02, drive=law, method=method, step=1e-4)
    assert len(asked) == 1


@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_laws_are_called_in_the_usual_floating_point_mode(arm, method):
    """Machine code takes denormal numbers for zero, and a user's function must not."""
    seen = []

    def law(t, q, v):
        seen.append(np.float64(1e-310) * np.float64(0.5))
        return np.zeros(2)

    simulate(arm, until=1e-3, drive=law, method=method)
    assert min(seen) > 0
