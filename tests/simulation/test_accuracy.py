"""What a run reached: errors that are carried along against tight runs, and words where they are many."""

from copy import deepcopy

import numpy as np
import pytest

import pliant
from pliant.engine.stepping.esdirk import CARRIED, DIAGONAL, OF_ESTIMATE, esdirk4
from pliant.engine.stepping.generalised_alpha import PHASE
from pliant.loads.stops import Stops
from pliant.simulation.monitoring.watches import SPOKEN_OF
from pliant.simulation.run import Run, SimulationWarning, run_study
from pliant.simulation.study import Study
from simulation.random_studies import BEYOND, outcome, random_study

FACTOR = 3.0
"""Between an error and its estimate, in motions without kinks."""
# a beam that rings on its motor: bending and stretch, little damping
RINGING = {
    "name": "ringing",
    "gravity": [0, 0, 0],
    "links": [
        {
            "name": "l",
            "joint": {"name": "j", "axis": "z"},
            "hub": {"mass": 1.0, "inertia": 0.02},
            "beam": {
                "length": 0.5,
                "material": "aluminium",
                "section": {"rectangle": {"width": 0.005, "height": 0.02}},
                "modes": {"bend_y": 2},
                "damping": {"ratio": 0.001},
            },
            "payloads": [{"frame": "tip", "mass": 0.2}],
        }
    ],
}
PUSH = {"given": {"joints": {"j": "0.5 - step(t - 0.05)"}}}


def ringing(method, *, until=0.2, **changes):
    """A study of it: its motor pushes one way, then the other."""
    integrator = {"method": method, "tolerance": 1e-7, **changes.pop("integrator", {})}
    return Study.model_validate(
        {"robot": RINGING, "until": until, "drive": PUSH, "integrator": integrator, "limits": "ignore", **changes}
    )


def finished(study):
    run = Run(study)
    run.go()
    return run


@pytest.mark.parametrize("number", [6, 24, 33, 35])
@pytest.mark.parametrize("method", ["auto", "esdirk", "generalised-alpha"])
def test_random_studies_say_how_far_off_they_are(number, method):
    """Half of the runs of esdirk were off by more than a hundred times their tolerance, in silence."""
    found = outcome(random_study(0, number, method=method))
    assert found.error <= BEYOND or found.told
    if found.method not in ("esdirk", "generalised-alpha"):
        assert found.error < 1.0


@pytest.mark.parametrize("method", ["esdirk", "generalised-alpha"])
@pytest.mark.parametrize("tolerance", [1e-5, 1e-8])
def test_estimates_are_near_the_errors(method, tolerance):
    found = outcome(ringing(method, integrator={"tolerance": tolerance}))
    assert found.error / FACTOR < found.estimate < found.error * FACTOR


@pytest.mark.parametrize("z", [0.03j, 0.3j, 1j, 3j, 7j, 30j, 1e3j, -0.3, -3.0, -1 + 2j])
def test_the_error_of_a_step_from_that_of_the_embedded_method(z):
    """On x' = J x the step and the exact motion differ by 15.2 G of the embedded error, within a factor of 2.5."""
    A, _, error, _ = esdirk4()
    slopes = np.linalg.solve(np.eye(len(A)) - z * A, z * np.ones(len(A)))
    lost = abs(1 + A[-1] @ slopes - np.exp(z))
    p = DIAGONAL * z
    assert lost / 2.5 < abs(OF_ESTIMATE * p / (1 - p) * (error @ slopes)) < 2.5 * lost


def test_carried_errors_keep_size_and_phase_and_forget_what_is_fast():
    def carried(z):
        G = DIAGONAL * z / (1 - DIAGONAL * z)
        return 1 + sum(weight * G ** (k + 1) for k, weight in enumerate(CARRIED))

    # of third order
    errors = [abs(carried(1j * y) - np.exp(1j * y)) for y in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.1)
    rates = np.logspace(-2, 6, 400)
    assert abs(carried(1j * rates)).max() <= 1.0 + 1e-12
    assert abs(carried(1j * 1e6)) == pytest.approx(2 / 3, abs=1e-3)


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8])
def test_the_error_of_a_step_of_generalised_alpha(radius):
    """The vibration q'' = -y^2 q over a step of 1: its amplification is off by c y^3."""
    alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    gamma = 0.5 + alpha_f - alpha_m
    beta, y = 0.25 * (gamma + 0.5) ** 2, 0.02
    left = [[1, 0, 0, -beta], [0, 1, 0, -gamma], [0, 0, alpha_f - 1, 1 - alpha_m], [y * y, 0, 1, 0]]
    right = [[1, 1, 0, 0.5 - beta], [0, 1, 0, 1 - gamma], [0, 0, alpha_f, -alpha_m], [0, 0, 0, 0]]
    roots = np.linalg.eigvals(np.linalg.solve(left, right))
    off = np.abs(roots - np.exp(1j * y)).min() / y**3
    assert off == pytest.approx(PHASE[0] + PHASE[1] * (alpha_f - alpha_m) ** 2, rel=1e-2)


@pytest.mark.parametrize("method", ["esdirk", "generalised-alpha"])
def test_machine_code_and_python_carry_the_same_errors(method):
    """By steps of one size: both control them a little differently."""
    steps = {"tolerance": 1e-3, "step": 1e-3, "max_step": 1e-3}
    runs = [finished(ringing(method, until=0.06, integrator=steps, compile=how)) for how in (True, False)]
    fast, slow = (run.integrator.errors for run in runs)
    assert runs[0].integrator is not runs[1].integrator
    assert [run.integrator.steps_in_python for run in runs] == [False, True]
    np.testing.assert_allclose(fast, slow, rtol=0.05)


def test_the_words_say_what_was_reached_and_what_to_do():
    with pytest.warns(
        SimulationWarning, match=r"off by about .* times the tolerance in 'l\.bend_y\..' \(.* m\)"
    ) as told:
        run = run_study(ringing("esdirk", until=1.0))
    (text,) = (str(each.message) for each in told if "off by" in str(each.message))
    assert "method: gauss or dop853 follows both" in text
    finer = float(text.rpartition("tolerance: ")[2])
    # the tolerance that it proposes reaches the accuracy that was asked for
    exact, again = (run_quietly("dop853", 1e-12), run_quietly("esdirk", finer))
    unit = 1e-9 + 1e-7 * np.abs(exact.q).max(axis=0)
    before, now = (float((np.abs(each.q - exact.q).max(axis=0) / unit).max()) for each in (run, again))
    assert before > SPOKEN_OF / FACTOR
    assert now < FACTOR


def run_quietly(method, tolerance):
    run = finished(ringing(method, until=1.0, integrator={"tolerance": tolerance}))
    return run.result()


@pytest.mark.parametrize("method", ["dop853", "gauss"])
def test_methods_that_follow_vibrations_say_nothing(method):
    assert not any("off by" in text for text in run_quietly(method, 1e-7).warnings)


def test_an_arm_that_moves_gently_says_nothing():
    """Moved from rest to rest by its motor, slowly."""
    robot = deepcopy(RINGING)
    robot["links"][0]["beam"]["damping"]["ratio"] = 0.05
    move = {"pid": {"trajectory": {"quintic": {"to": {"j": 0.5}, "duration": 0.8}}, "kp": 50.0, "kd": 5.0}}
    found = outcome(ringing("esdirk", until=1.0, drive=move, robot=robot))
    assert found.error < SPOKEN_OF
    assert not found.told


def test_touched_stops_are_spoken_of():
    robot = pliant.Robot.model_validate(RINGING).set("j.limits", {"position": (-0.002, 0.002)})
    study = ringing("esdirk", robot=robot, stops=Stops(stiffness=1e3))
    assert any("a stop is touched at" in text for text in finished(study).result().warnings)
    # and not where they are far
    far = ringing("esdirk", robot=robot.set("j.limits", {"position": (-9.0, 9.0)}), stops=Stops(stiffness=1e3))
    assert not any("a stop is touched" in text for text in finished(far).result().warnings)


@pytest.mark.parametrize("method", ["esdirk", "generalised-alpha"])
@pytest.mark.parametrize("compiled", [True, False])
def test_resumed_runs_have_reached_the_same(method, compiled, monkeypatch):
    """To the last bit, in machine code and in Python."""
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 3)
    study = ringing(method, until=0.06, integrator={"tolerance": 1e-4}, compile=compiled)
    whole, first, second = finished(study), Run(study), Run(study)
    assert not first.go(lambda at: at.t > 0.02)
    assert first.t < study.until
    memory, samples = first.memory(), first.recorder.samples()
    # what goes on must not change what was kept
    first.go()
    second.recall(memory, samples)
    second.go()
    np.testing.assert_array_equal(second.integrator.errors, whole.integrator.errors)
    assert second.accuracy.reached(second.integrator) == whole.accuracy.reached(whole.integrator)
    assert whole.integrator.errors.max() > 0
