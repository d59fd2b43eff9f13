"""Regulators and Kalman filters beside an independent code, and by what defines them."""

import json
from pathlib import Path

import numpy as np
import pytest

from closed_robots import five_bar
from pliant import DesignError, Dynamics, gain_schedule, kalman, linearise, lqr, spillover
from pliant.control.regulator import observed_model, process_matrix, weight_matrices
from pliant.control.spillover import closed_loop
from pliant.model.readers.library import read_text

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())
"""An independent NumPy model of planar arms: gains and poles by scipy on its own matrices."""
DIGITS = 1e-8
"""What both codes agree on, relative to the largest entry."""
FILTER_DIGITS = {"one-link": 1e-8, "two-link": 2e-7}
"""Gains of filters in the reference: those of two links are 3e-8 off from what forty digits give, ours 2e-14."""
WEIGHTS = {"tip": 1e4, "coordinates": 1.0, "rates": 0.01}
PROCESS = {"effort": 0.02, "states": 1e-4}
SENSORS = """
sensors:
  - {name: gauge, strain: {link: upper, x: 30 mm, y: 3 mm}, noise: 1e-6, delay: 2 ms}
  - {name: push, accelerometer: {frame: tip, axis: y}, noise: 0.05}
  - {name: hub, encoder: {joint: shoulder}, noise: 1e-4}
  - {name: wrist, encoder: {joint: elbow, counts: 10000}}
"""
CRANE = """
name: crane
links:
  - {name: cart, joint: {name: cart, type: prismatic, axis: x}, rigid: {mass: 2}}
  - name: load
    joint: {name: swing, axis: y, actuated: false, parent: cart.root}
    rigid: {mass: 1, com: [0, 0, -1], inertia: 0.01}
  - name: other
    joint: {name: sway, axis: x, actuated: false, parent: cart.root}
    rigid: {mass: 1, com: [0, 0, -1], inertia: 0.01}
"""


def complex_of(pairs):
    return np.asarray(pairs, dtype=float) @ (1, 1j)


def case_of(name):
    case = REFERENCE["linear"][name][0]
    place = case["gauge"]
    link = ("upper", "fore")[place["link"]]
    gauge = f"\nsensors:\n  - {{name: g, strain: {{link: {link}, x: {place['x']}, y: {place['y']}}}}}\n"
    arm = Dynamics(read_text(REFERENCE["robots"][name] + gauge), compile="never")
    return case["lqr"], arm, linearise(arm, np.array(case["q"]))


@pytest.fixture(scope="module")
def two_link():
    return Dynamics(read_text(REFERENCE["robots"]["two-link"] + SENSORS), compile="never")


@pytest.mark.parametrize("name", list(REFERENCE["robots"]))
def test_gains_and_poles_beside_an_independent_code(name):
    case, arm, model = case_of(name)
    found = lqr(model, {**WEIGHTS, "effort": case["R"][0][0]})
    wanted = np.array(case["gain"])
    assert pytest.approx(wanted, abs=DIGITS * np.abs(wanted).max()) == found.K
    for pole in complex_of(case["closed_loop_poles"]):
        assert np.abs(found.poles - pole).min() < DIGITS * abs(pole)
    noise = {**dict.fromkeys(arm.inputs, 1e-4), "strain.g": 1e-6}
    observer = kalman(model, noise, process=PROCESS, every=1.0)
    wanted = np.array(case["kalman"]["gain"])
    assert pytest.approx(wanted, abs=FILTER_DIGITS[name] * np.abs(wanted).max()) == observer.L
    for pole in complex_of(case["kalman"]["estimator_poles"]):
        assert np.abs(observer.poles - pole).min() < FILTER_DIGITS[name] * abs(pole)
    # the equation of the covariance, of entries of very different size
    W, V = process_matrix(model, PROCESS), np.diag(observer.noise**2)
    A, C, P = observer.model.A, observer.model.C, observer.P
    left = A @ P + P @ A.T + W - P @ C.T @ np.linalg.solve(V, C @ P)
    size = np.sqrt(np.diag(P))
    assert np.abs(left / np.outer(size, size)).max() < 1e-9 * np.abs(A).max()


def test_a_sampled_regulator_has_the_cost_of_its_samples(two_link):
    """Its P is the integral of the continuous cost along the closed loop with delay, found by small steps."""
    model = linearise(two_link, {"shoulder": 0.4, "elbow": 0.7})
    weights = {**WEIGHTS, "effort": 0.01}
    Q, R = weight_matrices(model, weights)
    period, delay, parts = 4e-3, 6e-3, 400
    found = lqr(model, weights, period=period, delay=delay)
    assert found.names[-4:] == ("shoulder.waiting1", "elbow.waiting1", "shoulder.waiting2", "elbow.waiting2")
    rng = np.random.default_rng(1)
    x, waiting = rng.normal(size=12) * np.r_[np.full(6, 1e-2), np.full(6, 0.1)], [np.zeros(2), np.zeros(2)]
    z = np.concatenate([x, *waiting])
    step = model.sampled(period / parts)
    cost = 0.0
    for _ in range(250):
        u = -found.K @ np.concatenate([x, *waiting])
        cost += period * u @ R @ u
        for k in range(parts):
            # the older of the two waits for half a period more
            acting = waiting[1] if k < parts // 2 else waiting[0]
            ahead = step.A @ x + step.B @ acting
            cost += period / parts * 0.5 * (x @ Q @ x + ahead @ Q @ ahead)
            x = ahead
        waiting = [u, waiting[0]]
    assert cost == pytest.approx(z @ found.P @ z, rel=1e-4)


def test_a_filter_is_as_sure_as_it_is_right(two_link):
    """Late, noisy readings of a linear plant: errors of the estimates have the covariance that the filter tells."""
    model = linearise(two_link, {"shoulder": 0.4, "elbow": 0.7})
    names, period, delay = ("gauge", "push", "hub", "wrist"), 1e-3, 1e-3
    loop = lqr(model, {**WEIGHTS, "effort": 0.01}, period=period, delay=delay)
    filters = kalman(model, names, process={"effort": 0.1, "states": 1e-3}, period=period, delay=delay)
    plant = observed_model(model.with_outputs(*names), period, delay)
    assert plant.names[-2:] == ("gauge.late1", "gauge.late2")
    W = process_matrix(model, {"effort": 0.1, "states": 1e-3})
    fine = model.sampled(period / 16).A
    step, gram = np.eye(12), np.zeros((12, 12))
    for _ in range(16):
        gram += step @ W @ step.T * period / 16
        step = step @ fine
    rng = np.random.default_rng(2)
    root = np.zeros((plant.order, 12))
    root[:12] = np.linalg.cholesky(gram)
    runs, K = 200, np.zeros((2, plant.order))
    K[:, : len(loop.names)] = loop.K
    x, estimate = np.zeros((runs, plant.order)), np.zeros((runs, plant.order))
    for _ in range(1200):
        y = x @ plant.C.T + rng.normal(size=(runs, 4)) * filters.noise
        estimate = estimate + (y - estimate @ plant.C.T) @ filters.L.T
        error = x - estimate
        u = -estimate @ K.T
        x = x @ plant.A.T + u @ plant.B.T + rng.normal(size=(runs, 12)) @ root.T
        estimate = estimate @ plant.A.T + u @ plant.B.T
    # 200 samples tell a variance to 10 %
    assert error[:, :12].std(axis=0) == pytest.approx(filters.sigma[:12], rel=0.3)
    assert filters.sigma[plant.names.index("elbow.waiting1")] < 1e-9


def test_poles_of_a_loop_are_those_of_its_parts(two_link):
    """Regulator and observer do not move each other's poles, continuous or sampled with late readings."""
    model = linearise(two_link, {"shoulder": 0.4, "elbow": 0.7})
    names = ("push", "hub", "wrist")
    weights = {**WEIGHTS, "effort": 0.01}
    for period, delay, own in ((None, 0.0, names), (1e-3, 0.0, names), (1e-3, 1e-3, (*names, "gauge"))):
        loop = lqr(model, weights, period=period, delay=delay)
        observer = kalman(model, own, process=PROCESS, period=period, delay=delay)
        found = np.linalg.eigvals(closed_loop(observer.model, loop, observer))
        for pole in (*loop.poles, *observer.poles):
            assert np.abs(found - pole).min() < 1e-6 * max(abs(pole), 0.1)
        told = spillover(model, loop, observer)
        assert told.is_stable
        assert "stable with finer links" in str(told)


def test_feedback_of_states_meets_modes_that_it_does_not_know():
    arm = Dynamics(read_text(REFERENCE["robots"]["one-link"]), compile="never")
    model = linearise(arm)
    gentle = spillover(model, lqr(model, {"tip": 1.0, "effort": 1.0}, period=5e-3))
    harsh = spillover(model, lqr(model, {"tip": 1e6, "effort": 1e-4}, period=5e-3))
    assert gentle.worst < 0 < harsh.worst
    assert "unstable with finer links" in str(harsh)


def test_what_cannot_be_designed_is_named(two_link):
    crane = linearise(Dynamics(read_text(CRANE), compile="never"), np.zeros(3))
    with pytest.raises(DesignError, match=r"no effort reaches the motion of 'sway' at 0.496 Hz"):
        lqr(crane, {"coordinates": 1.0, "effort": 1.0})
    with pytest.raises(DesignError, match="cart tell nothing of the motion of 'sway'"):
        kalman(crane, {"cart": 1e-3}, process={"states": 1.0})
    model = linearise(two_link)
    one = linearise(Dynamics(read_text(REFERENCE["robots"]["one-link"]), compile="never"))
    with pytest.raises(DesignError, match="the weights see nothing of the motion of 'shoulder' at rest"):
        lqr(one, {"upper.bend_y.1": 1.0, "effort": 1.0})
    with pytest.raises(DesignError, match="process noise does not reach the motion of 'shoulder'"):
        kalman(one, {"shoulder": 1e-3}, process={"effort": 0.0})
    for weights, words in (
        ({"tip": 1.0}, "the effort of shoulder, elbow costs nothing"),
        ({"tip": -1.0, "effort": 1.0}, "tip is -1.0; it must not be negative"),
        ({"tpi": 1.0, "effort": 1.0}, "has no frame 'tpi'"),
        ({"effort": 1.0, "effort.elbw": 1.0}, "did you mean 'elbow'"),
        ({"push": 1.0, "effort": 1.0}, "push is an acceleration or a torque"),
    ):
        with pytest.raises(ValueError, match=words):
            lqr(model, weights)
    for measured, words in (
        (["gauges"], "did you mean 'gauge'"),
        ({"hub": 0.0}, "a filter would believe it without bounds"),
        ((), "nothing is measured"),
    ):
        with pytest.raises(ValueError, match=words):
            kalman(model, measured, process=PROCESS)
    with pytest.raises(ValueError, match="no whole number of periods"):
        kalman(model, ["hub", "wrist", "gauge"], process=PROCESS, period=1.5e-3)
    with pytest.raises(ValueError, match="which a continuous filter does not know"):
        kalman(model, ["hub", "wrist", "gauge"], process=PROCESS)
    with pytest.raises(ValueError, match="a continuous regulator has none"):
        lqr(model, {"tip": 1.0, "effort": 1.0}, delay=1e-3)
    with pytest.raises(ValueError, match="not about a state of rest"):
        lqr(linearise(two_link, {"elbow": 0.3}, {"elbow": 1.0}), {"tip": 1.0, "effort": 1.0})


def test_a_schedule_is_checked_between_its_poses(two_link):
    weights = {"tip": 1e6, "coordinates": 1.0, "effort": 1e-4}
    poses = np.array([[0.4, -2.4], [0.4, 2.4]])
    with pytest.raises(
        DesignError, match=r"between shoulder = 0.4, elbow = -2.4 and .* is unstable: .* take more poses"
    ):
        gain_schedule(two_link, poses, weights)
    found = gain_schedule(two_link, np.linspace(poses[0], poses[1], 9), weights)
    assert found.slowest > 0
    assert len(found.regulators) == 9


def test_loops_are_regulated_in_independent_coordinates():
    arm = Dynamics(five_bar(), compile="never")
    model = linearise(arm)
    found = lqr(model, {"tip": 1e3, "coordinates": 1.0, "effort": 0.1})
    assert found.names[: len(model.tangent.names)] == model.tangent.names
    assert len(model.tangent.names) < arm.size
    assert found.poles.real.max() < 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"period": float("nan")}, "period is nan; it must be a number above zero"),
        ({"period": -1.0}, r"period is -1\.0"),
        ({"period": 1e-3, "delay": -1.0}, "delay is -1.0 s; it must not be negative"),
        ({"period": 1e-3, "delay": 0.5}, "delays of 500 periods of 0.001 s .* sample more slowly"),
    ],
)
def test_odd_samples_are_refused(two_link, given, words):
    model = linearise(two_link, {"shoulder": 0.4, "elbow": 0.7})
    with pytest.raises(ValueError, match=words):
        lqr(model, WEIGHTS | {"effort": 0.01}, **given)
    with pytest.raises(ValueError, match=words):
        kalman(model, {"shoulder": 1e-3, "elbow": 1e-3}, process=PROCESS, **given)


def test_odd_designs_are_refused(two_link):
    model = linearise(two_link, {"shoulder": 0.4, "elbow": 0.7})
    measured = {"shoulder": 1e-3, "elbow": 1e-3}
    for keys, words in (
        ({"process": {}}, "process is empty, .* never look at its sensors"),
        ({"process": PROCESS, "every": 0.0}, "every is 0.0; it must be a number above zero"),
    ):
        with pytest.raises(ValueError, match=words):
            kalman(model, measured, **keys)
    with pytest.raises(ValueError, match="poses is empty"):
        gain_schedule(two_link, np.zeros((0, 2)), WEIGHTS | {"effort": 0.01})
    with pytest.raises(ValueError, match=r"tip.y.acceleration is an acceleration or a torque"):
        lqr(model, {"tip.y.acceleration": 1.0, "effort": 1.0})
    with pytest.raises(DesignError, match="no solution that can be told from rounding"):
        lqr(model, {"tip": 1e30, "effort": 1e-30})
