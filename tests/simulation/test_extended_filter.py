"""The extended Kalman filter: its steps beside dense algebra, a payload that it finds, what it refuses."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

from closed_robots import five_bar
from pliant import LQR, Disturbance, Dynamics, ModelError, Sampling, kalman, linearise, simulate
from pliant.drives.extended_filter import _corrected
from pliant.model.readers.library import read_text
from pliant.trajectories.path import Surroundings

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from payload_runs import BELIEF, PLACE, ROBOT, TRUTH, drive, estimates

STEP = 1e-6
"""Central differences of accelerations; relative error about 1e-9 of the largest."""
WEIGHTS = {"tip": 1e3, "coordinates": 1.0, "effort": 1.0}


@pytest.fixture(scope="module")
def arm():
    return Dynamics(read_text(ROBOT))


def law_of(arm, given):
    q = arm.reference_pose()
    return given.bind(Surroundings(arm, q, 1.0), q @ arm.B)


def test_a_prediction_is_the_exponential_of_the_motion(arm):
    """x + h phi_1(h F) f and E (P + h Q / 2) E^T + h Q / 2, with F by differences of the robot that is believed."""
    law = law_of(arm, drive(1)).inner
    # as many terms as both need to be exact
    law.terms = dict.fromkeys(law.terms, 12)
    rng = np.random.default_rng(3)
    n, h = arm.size, 1e-3
    x = np.concatenate([0.05 * rng.normal(size=n), rng.normal(size=n), [0.13]])
    tau, root = np.array([0.4]), rng.normal(size=(7, 7))
    P = root @ root.T
    parts = law._gains
    densities = [0.3, *rng.uniform(0.1, 1.0, 7)]
    found, covariance = law._predicted(x.tolist(), P.tolist(), tau.tolist(), densities, parts[7], parts[8], h)

    def rates(x, tau):
        a = arm.set(PLACE, float(x[-1])).forward(x[:n], x[n : 2 * n], tau)
        return np.concatenate([x[n : 2 * n], a, [0.0]])

    F = np.column_stack([(rates(x + d, tau) - rates(x - d, tau)) / (2 * STEP) for d in STEP * np.eye(7)])
    G = (rates(x, tau + STEP) - rates(x, tau - STEP)) / (2 * STEP)
    big = np.zeros((8, 8))
    big[:7, :7], big[:7, 7] = h * F, h * rates(x, tau)
    whole = expm(big)
    assert np.array(found) == pytest.approx(x + whole[:7, 7], abs=1e-7 * np.abs(whole[:7, 7]).max())
    E, Q = whole[:7, :7], np.diag(densities[1:]) + 0.3 * np.outer(G, G)
    wanted = E @ (P + h / 2 * Q) @ E.T + h / 2 * Q
    assert np.array(covariance) == pytest.approx(wanted, rel=1e-6, abs=1e-7 * np.abs(wanted).max())


def test_a_correction_adds_what_a_reading_tells():
    """P^-1 + c c^T / r, and the estimate that weighs both by it."""
    rng = np.random.default_rng(4)
    root, x, c, r, y = rng.normal(size=(5, 5)), rng.normal(size=5), np.array([0.0, 2.0, 0.0, -1.0, 0.0]), 0.3, 0.7
    P = root @ root.T
    found, covariance = _corrected(x.tolist(), P.tolist(), y, {1: 2.0, 3: -1.0}, r)
    told = np.linalg.inv(P) + np.outer(c, c) / r
    assert np.linalg.inv(np.array(covariance)) == pytest.approx(told, rel=1e-8, abs=1e-8)
    assert np.array(found) == pytest.approx(np.linalg.solve(told, np.linalg.solve(P, x) + c * y / r), rel=1e-8)


def test_at_rest_it_becomes_the_stationary_filter(arm):
    """Its covariance is that of ``kalman`` for the same samples; machine code and floats give the same ticks."""
    process = {"effort": 0.05, "states": 1e-3}
    given = LQR(weights=WEIGHTS, estimator="ekf", process=process, sampling=Sampling(period=1e-3), seed=2)
    run = simulate(arm, until=1.2, drive=given, output_step=0.3)
    wanted = kalman(linearise(arm), ("hub", "gauge"), process=process, period=1e-3)
    n = arm.size
    for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (3, 3), (1, 4), (2, 5)):
        size = np.sqrt(wanted.P[i, i] * wanted.P[k, k])
        assert run[f"drive.covariance.{i + 1}.{k + 1}"][-1] == pytest.approx(wanted.P[i, k], abs=0.05 * size)
    law = law_of(arm, drive(5))
    rng = np.random.default_rng(6)
    q, v = 0.01 * rng.normal(size=n), rng.normal(size=n)
    z = np.array([state.initial for state in law.inner.sampled_states])
    signals = law.inner.at_ticks(3, 1, 1e-3)[0]
    (compiled,) = law.kernel(q, v, z, signals, law.gains_in_code)
    tick = law.inner.computed(q.tolist(), v.tolist(), z.tolist(), signals.tolist(), list(law.inner.gains), [1e-3])
    assert compiled == pytest.approx(np.array([*tick.discrete, *tick.command]), rel=1e-9, abs=1e-12)


def test_a_payload_is_found_within_its_own_uncertainty():
    """Three of the runs that ``benchmarks/payload_runs.py`` makes twenty of."""
    found = estimates(range(3), until=0.5)
    assert np.all(np.abs(found[:, 0] - TRUTH) < 3 * found[:, 1])
    assert np.all(found[:, 1] < 0.03 * TRUTH)
    assert np.all(np.abs(found[:, 0] - BELIEF) > 20 * found[:, 1])


@pytest.mark.filterwarnings("ignore::pliant.ReductionWarning")  # of a period that is refused
def test_what_an_extended_filter_refuses(arm):
    known = {"weights": WEIGHTS, "estimator": "ekf", "sampling": Sampling(period=1e-3)}
    believed = {"place": PLACE, "start": 0.1, "sigma": 0.05, "walk": 1e-3}
    for change, words in (
        ({"walk": 0.0}, "walk is 0.0; it must be positive; a filter that holds a parameter for constant becomes sure"),
        ({"place": "upper.payloads[3].mass"}, "there is no entry '3'"),
        ({"start": 0.0}, "starts at 0, where it is no part of the equations"),
        ({"place": "upper.beam.length", "start": 0.9}, "the model is not linear in parameter"),
    ):
        with pytest.raises(ModelError, match=words):
            law_of(arm, LQR(**known, parameters=({**believed, **change},)))
    with pytest.raises(ModelError, match=r"parameters\[1\].place is .*, as of another one; give it once"):
        LQR(**known, parameters=(believed, believed))
    with pytest.raises(ModelError, match="key 'walk' is missing"):
        LQR(**known, parameters=({key: x for key, x in believed.items() if key != "walk"},))
    shaped = Dynamics(read_text(ROBOT.replace("shape: clamped-free, normalise: mass, ", "")))
    with pytest.raises(ModelError, match="shapes or damping of its links depend on it"):
        law_of(shaped, LQR(**known, parameters=(believed,)))
    with pytest.raises(ModelError, match="belongs to the extended filter"):
        LQR(**{**known, "estimator": "kalman"}, parameters=(believed,))
    bar = Dynamics(five_bar())
    with pytest.raises(
        ModelError, match="has loops, or joints that follow others, which an extended filter does not know"
    ):
        simulate(bar, until=0.1, drive=LQR(**known))
    with pytest.raises(ModelError, match=r"too fast for an extended filter every 0\.1 s"):
        law_of(arm, LQR(**{**known, "sampling": Sampling(period=0.1)}))
    with pytest.raises(ModelError, match=r"knows whole periods of 0\.001 s"):
        law_of(arm, LQR(**{**known, "sampling": Sampling(period=1e-3, delay=5e-4)}))
    late = "  - {name: late, encoder: {joint: shoulder}, noise: 0.01, delay: 1 ms}\n"
    with pytest.raises(ModelError, match="sensor 'late' is late"):
        law_of(Dynamics(read_text(ROBOT + late)), LQR(**known))
    push = "  - {name: push, accelerometer: {frame: tip, axis: y}, noise: 0.01}\n"
    load = Disturbance(frame="tip", force=(0.0, 1.0, 0.0))
    with pytest.raises(ModelError, match="'push' feels the forces of loads"):
        simulate(Dynamics(read_text(ROBOT + push)), until=0.01, drive=LQR(**known), disturbances=[load])
