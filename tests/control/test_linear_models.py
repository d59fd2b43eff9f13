"""Linear models beside an independent code and beside differences of the nonlinear robot."""

import json
from pathlib import Path

import numpy as np
import pytest

from closed_robots import five_bar
from pliant.control.linear_model import linearise, linearise_along
from pliant.control.state_space import ReductionWarning
from pliant.control.zeros import zeros
from pliant.dynamics import Dynamics
from pliant.model.readers.library import read_text

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "data" / "control.json").read_text())
"""An independent NumPy model of planar arms: Lagrange's equations, point masses at Gauss points."""
DIGITS = 1e-8
"""What both codes agree on, relative to the largest entry."""
HANKEL = 2e-7
"""Of the reference's Hankel values: it takes roots of a product of gramians, which lose half of their digits ..."""
SMALLEST = {"two-link": (4.4846631885971e-7, 4.27713635965522e-7)}
"""... so that its smallest ones (4.4959e-7, 4.2891e-7) differ from these, which were found with forty digits."""
STEP = 1e-6
"""Central differences: relative error about 1e-9 of the largest entry."""


def complex_of(pairs):
    pairs = np.asarray(pairs, dtype=float)
    return pairs[..., 0] + 1j * pairs[..., 1]


@pytest.fixture(scope="module")
def arms():
    return {name: Dynamics(read_text(text), compile="never") for name, text in REFERENCE["robots"].items()}


CASES = [(name, k) for name, cases in REFERENCE["linear"].items() for k in range(len(cases))]


def case_of(arms, name, k):
    case = REFERENCE["linear"][name][k]
    return case, arms[name], linearise(arms[name], np.array(case["q"]))


@pytest.mark.parametrize(("name", "k"), CASES)
def test_matrices_and_poles(arms, name, k):
    case, _, model = case_of(arms, name, k)
    assert model.tau == pytest.approx(case["holding_torque"], abs=1e-8)
    for ours, wanted in ((model.tangent.M, case["M"]), (model.tangent.K, case["K"]), (model.tangent.D, case["D"])):
        assert ours == pytest.approx(np.array(wanted), abs=DIGITS * np.abs(wanted).max())
    wanted = complex_of(case["poles"])
    for pole in wanted[np.abs(wanted) > 1e-6]:
        assert np.abs(model.poles - pole).min() < DIGITS * abs(pole)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_zeros(arms, name, k):
    case, arm, model = case_of(arms, name, k)
    found = zeros(model, case["zeros_outputs"], arm.inputs)
    for zero in complex_of(case["zeros"]):
        assert np.abs(found - zero).min() < DIGITS * abs(zero)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_frequency_responses(arms, name, k):
    case, _, model = case_of(arms, name, k)
    names = {key: key.replace(" velocity", ".rate").replace(" ", ".") for key in case["frf"] if key != "strain"}
    assert {"tip.y", "tip.y.rate", "tip.y.acceleration", "shoulder"} <= set(names.values())
    for key, output in names.items():
        wanted = complex_of(case["frf"][key])
        found = model.frf(case["frf_omega"], output)
        assert found == pytest.approx(wanted, abs=DIGITS * np.abs(wanted).max())
        assert model.with_outputs(output).state_space.frf(case["frf_omega"])[:, 0] == pytest.approx(
            wanted, abs=1e-7 * np.abs(wanted).max()
        )


@pytest.mark.parametrize("name", list(REFERENCE["robots"]))
def test_hankel_values_and_the_bound(arms, name):
    case, arm, model = case_of(arms, name, 0)
    known = case["hankel"]
    loop = model.with_outputs(*case["zeros_outputs"]).closed(
        dict(zip(arm.inputs, known["kp"], strict=True)), dict(zip(arm.inputs, known["kd"], strict=True))
    )
    wanted = np.array(known["hankel"])
    omega = np.geomspace(0.01, 2e3, 4000)
    whole = loop.frf(omega)
    found = loop.reduced(2).hankel
    assert found[: len(wanted)] == pytest.approx(wanted, abs=HANKEL * wanted.max())
    if name in SMALLEST:
        assert found[-2:] == pytest.approx(SMALLEST[name], rel=DIGITS)
    for each in known.get("truncation", []):
        small = loop.reduced(each["order"])
        assert small.order == each["order"]
        assert small.bound == pytest.approx(each["bound"], rel=1e-5)
        error = np.linalg.norm(whole - small.frf(omega), ord=2, axis=(1, 2)).max()
        assert 0.0 < error <= small.bound * (1 + 1e-9)


def test_sampled_model(arms):
    case, _, model = case_of(arms, "one-link", 0)
    known = case["sampled"]
    found = model.sampled(known["period"])
    for ours, key in ((found.A, "A"), (found.B, "B")):
        assert ours == pytest.approx(np.array(known[key]), abs=DIGITS * np.abs(known[key]).max())


# ---------------------------------------------------------------- states in motion, outputs, loops


def spatial_arm():
    """Two beams that bend and twist, about two axes, under gravity."""
    return Dynamics("cibicik-4dof", compile="never")


OUTPUTS = [
    *(f"tip.{d}{level}" for d in ("x", "z", "ry") for level in ("", ".rate", ".acceleration")),
    *("tip.y.accelerometer", "tip.z.accelerometer", "tip.x.gyro", "tip.z.gyro"),
]


def seen(arm, output, q, v, tau):
    """An output of the nonlinear robot; turns are left to their rates."""
    frame, direction, *level = output.split(".")
    a = arm.forward(q, v, tau)
    R, p = arm.pose(frame, q).rotation, arm.pose(frame, q).position
    k = "xyz".index(direction[-1])
    turning = direction.startswith("r")
    if not level:
        return p[k]
    if level == ["rate"]:
        twist = arm.velocity(frame, q, v)
        return (twist.angular if turning else twist.linear)[k]
    if level == ["acceleration"]:
        found = arm.acceleration(frame, q, v, a)
        return (found.angular if turning else found.linear)[k]
    if level == ["gyro"]:
        return (R.T @ arm.velocity(frame, q, v).angular)[k]
    return (R.T @ (arm.acceleration(frame, q, v, a).linear - np.array(arm.robot.gravity)))[k]


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # any state will do
@pytest.mark.parametrize("output", [name for name in OUTPUTS if name != "tip.ry"])
def test_outputs_in_motion_are_derivatives(output):
    arm = spatial_arm()
    rng = np.random.default_rng(3)
    n = arm.size
    scale = np.where([name in arm.robot.joint_coordinates for name in arm.names], 0.5, 0.01)
    q, v = arm.reference_pose() + scale * rng.normal(size=n), scale * rng.normal(size=n)
    tau = 5.0 * rng.normal(size=len(arm.inputs))
    model = linearise(arm, q, v, tau=tau, outputs=output, dry_friction=True)
    x = np.concatenate([q, v, tau])

    def value(x):
        return seen(arm, output, x[:n], x[n : 2 * n], x[2 * n :])

    numeric = np.array([(value(x + e) - value(x - e)) / (2 * STEP) for e in STEP * np.eye(len(x))])
    exact = np.concatenate([model.C[0], model.D[0]])
    assert exact == pytest.approx(numeric, abs=2e-6 * np.abs(numeric).max() + 1e-8)


def closed_state(arm, x, rates, independent, q):
    """All coordinates and rates of closed loops from the independent ones, near q."""
    own = [arm.names.index(name) for name in independent]
    others = [k for k in range(arm.size) if k not in own]
    q = q.copy()
    q[own] = x
    for _ in range(20):
        J = arm.loops.jacobian(q)
        q[others] -= np.linalg.lstsq(J[:, others], arm.closure(q), rcond=None)[0]
    J, v = arm.loops.jacobian(q), np.zeros(arm.size)
    v[own] = rates
    v[others] = np.linalg.lstsq(J[:, others], -J[:, own] @ rates, rcond=None)[0]
    return q, v


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")
def test_loops_in_motion():
    """State matrix and outputs of a moving five-bar, beside differences of its nonlinear motion."""
    arm = Dynamics(five_bar(), compile="never")
    rng = np.random.default_rng(5)
    q0 = arm.assemble()
    q, v = arm.project(
        q0, rng.normal(size=arm.size) * np.where(np.isin(arm.names, arm.robot.joint_coordinates), 2.0, 0.02)
    )
    tau = rng.normal(size=len(arm.inputs))
    outputs = ("left_coupler.tip.x", "left_coupler.tip.y.rate", "right_elbow.rate", "left_coupler.tip.x.acceleration")
    model = linearise(arm, q, v, tau=tau, outputs=outputs, dry_friction=True)
    names = model.tangent.names
    own = [arm.names.index(name) for name in names]
    m = len(own)

    def value(x):
        state, rates = closed_state(arm, x[:m], x[m : 2 * m], names, q)
        a = arm.forward(state, rates, x[2 * m :])
        frame = "left_coupler.tip"
        twist = arm.velocity(frame, state, rates).linear
        acceleration = arm.acceleration(frame, state, rates, a).linear
        elbow = rates[arm.names.index("right_elbow")]
        return np.concatenate([a[own], [arm.pose(frame, state).position[0], twist[1], elbow, acceleration[0]]])

    x = np.concatenate([q[own], v[own], tau])
    numeric = np.array([(value(x + e) - value(x - e)) / (2 * STEP) for e in STEP * np.eye(len(x))]).T
    exact = np.vstack([np.hstack([model.A[m:], model.B[m:]]), np.hstack([model.C, model.D])])
    for ours, theirs in zip(exact, numeric, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5 * np.abs(theirs).max() + 1e-7)


def test_rates_that_open_loops_are_refused():
    arm = Dynamics(five_bar(), compile="never")
    with pytest.raises(ValueError, match=r"would come apart at .* arm\.project"):
        linearise(arm, arm.assemble(), {"left_motor": 1.0})


def test_models_along_a_motion(arms):
    arm = arms["two-link"]
    q = np.linspace([0.4, 0, 0, 0.7, 0, 0], [0.5, 0, 0, 0.9, 0, 0], 3)
    along = list(linearise_along(arm, q, np.zeros_like(q), np.zeros((3, 2)), outputs="tip.y"))
    assert [each.q.tolist() for each in along] == q.tolist()
    alone = linearise(arm, q[1], np.zeros(6), tau=np.zeros(2), outputs="tip.y")
    assert pytest.approx(alone.A) == along[1].A
    with pytest.raises(ValueError, match="q has 3 rows, v 2 and tau 3"):
        list(linearise_along(arm, q, np.zeros((2, 6)), np.zeros((3, 2))))


# ---------------------------------------------------------------- reduction


def test_rigid_motions_are_kept_as_they_are(arms):
    """The free arm has a double pole at zero: no gramian, and still a bound for all else."""
    _, _, model = case_of(arms, "one-link", 0)
    model = model.with_outputs("tip.y", "shoulder")
    omega = np.geomspace(0.1, 1e3, 2000)
    whole = model.frf(omega)
    for method in ("balanced", "residual", "modal"):
        small = model.reduced(4, method)
        error = np.linalg.norm(whole - small.frf(omega), ord=2, axis=(1, 2)).max()
        assert 0.0 < error <= small.bound * (1 + 1e-6), method
        assert np.abs(small.poles[:2]).max() < 1e-4
    assert model.reduced(6).frf(omega) == pytest.approx(whole, rel=1e-6)
    with pytest.raises(ValueError, match=r"order is 1; it must be a whole number between 2 \(its motions"):
        model.reduced(1)


def test_the_residual_form_keeps_the_sag(arms):
    _, _, model = case_of(arms, "two-link", 0)
    loop = model.with_outputs("tip.x", "tip.y").closed(400.0, 30.0)
    still = loop.frf(0.0)
    assert loop.reduced(4, "residual").frf(0.0)[0] == pytest.approx(still, rel=1e-9)
    assert np.abs(loop.reduced(4).frf(0.0)[0] / still - 1).max() > 1e-6


def test_scales_decide_what_counts(arms):
    _, _, model = case_of(arms, "two-link", 0)
    loop = model.with_outputs("tip.y", "elbow").closed(400.0, 30.0)
    omega = np.geomspace(0.1, 300, 400)
    whole = loop.frf(omega)[:, 1]
    plain, fine = loop.reduced(4), loop.reduced(4, output_scales={"elbow": 1e-4})
    errors = [np.abs(whole - each.frf(omega)[:, 1]).max() for each in (plain, fine)]
    assert errors[1] < errors[0]
    with pytest.raises(ValueError, match="output_scales: there is no output 'elbo'; did you mean 'elbow'"):
        loop.reduced(4, output_scales={"elbo": 1.0})


def test_pairs_are_cut_with_a_warning(arms):
    _, _, model = case_of(arms, "one-link", 0)
    with pytest.warns(ReductionWarning, match="cuts between two Hankel values that are nearly equal"):
        model.with_outputs("tip.y").reduced(3)
    with pytest.raises(ValueError, match="cuts through the pair of poles"):
        model.with_outputs("tip.y").reduced(3, "modal")


# ---------------------------------------------------------------- samples


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.005, 0.0125])
def test_samples_with_delay_are_the_continuous_motion(arms, delay):
    """Held inputs that take effect late, beside an integration of the same motion in fine steps."""
    from scipy.linalg import expm

    _, _, model = case_of(arms, "one-link", 0)
    model = model.with_outputs("tip.y", "tip.y.acceleration").closed(20.0, 2.0)
    period, fine = 0.005, 0.0005
    sampled = model.sampled(period, delay=delay)
    space = model.state_space
    block = np.zeros((7, 7))
    block[:6, :6], block[:6, 6:] = space.A * fine, space.B * fine
    step = expm(block)
    inputs = np.sin(7.0 * np.arange(30))
    x, z = np.zeros(6), np.zeros(sampled.order)
    late = round(delay / fine)
    for k in range(30 * 10):
        j = (k - late) // 10
        u = inputs[j] if j >= 0 else 0.0
        if k % 10 == 0:
            y = sampled.C @ z + sampled.D @ inputs[k // 10 : k // 10 + 1]
            assert z[:6] == pytest.approx(x, abs=1e-9)
            assert y == pytest.approx(space.C @ x + space.D[:, 0] * u, abs=1e-9)
            z = sampled.A @ z + sampled.B[:, 0] * inputs[k // 10]
        x = step[:6, :6] @ x + step[:6, 6] * u


def test_slow_samples_are_told(arms):
    _, _, model = case_of(arms, "one-link", 0)
    with pytest.warns(ReductionWarning, match="swings at up to 102.4 rad/s, beyond the 62.83 rad/s"):
        model.sampled(0.05)
    with pytest.raises(ValueError, match="period is 0"):
        model.sampled(0.0)


def test_frf_of_samples_meets_the_continuous_one(arms):
    _, _, model = case_of(arms, "one-link", 0)
    model = model.with_outputs("tip.y").closed(20.0, 2.0)
    omega = np.array([1.0, 5.0, 20.0])
    errors = [
        np.abs(model.sampled(T).frf(omega) * np.exp(0.5j * omega * T)[:, None, None] - model.frf(omega)).max()
        for T in (0.004, 0.002)
    ]
    # the hold delays by half a period, and damps by its square
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.1)


def test_unknown_outputs_are_named(arms):
    arm = arms["two-link"]
    for name, words in (
        ("tip.q", "has no output 'tip.q'"),
        ("elbo", "did you mean 'elbow'"),
        ("tup.y.rate", "output 'tup.y.rate'"),
        ("elbow.gyro", "has no output 'elbow.gyro'"),
    ):
        with pytest.raises(ValueError, match=words):
            linearise(arm, outputs=name)
    with pytest.raises(ValueError, match="has no input 'wrist'"):
        linearise(arm).frf(1.0, "tip.y", "wrist")
    with pytest.raises(ValueError, match=r"zeros of 'tip.y.rate': zeros are those of positions"):
        zeros(linearise(arm), ["tip.x", "tip.y.rate"], arm.inputs)
