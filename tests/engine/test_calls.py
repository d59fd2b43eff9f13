"""Built-in functions at the border: what they take, what they decline, and that the general way gives the same."""

import gc
import pickle
import sys

import numpy as np
import pytest

import closed_robots
import pliant.engine.call.border as border
import pliant.states as states
import pliant.tree.slope_calls as slope_calls
import zoo
from pliant.algorithm import Traced
from pliant.dynamics import Dynamics
from pliant.engine.call.calls import QuickCall, padded_rows
from pliant.formulations.loops.loop_calls import LoopSlopes
from pliant.tree.composite import ARM_SIZE, COMPOSITES, MOMENTUM, mass_plan
from pliant.tree.frames import COLUMN

TOLERANCE = 1e-11
"""Of the largest entry: other operations, or the same contracted differently."""
SOLVED = 1e-9
"""The same behind a mass matrix with light elastic coordinates."""

FRAME = -1
WRENCH = np.array([0.3, -1.2, 0.7, 0.2, 0.5, -0.4])
CALLS = {
    "forward": lambda arm, q, v, a: arm.forward(q, v, a[: len(arm.inputs)]),
    "forward without tau": lambda arm, q, v, a: arm.forward(q, v),
    "forward with forces": lambda arm, q, v, a: arm.forward(q, v, force=a),
    "forward with a wrench": lambda arm, q, v, a: arm.forward(
        q, v, a[: len(arm.inputs)], force=a, wrenches={arm.frames[FRAME]: WRENCH, arm.frames[0]: -WRENCH}
    ),
    "inverse": lambda arm, q, v, a: np.concatenate(arm.inverse(q, v, a[: len(arm.inputs)])),
    "derivatives": lambda arm, q, v, a: np.hstack(arm.derivatives(q, v, a[: len(arm.inputs)])),
    "inverse derivatives": lambda arm, q, v, a: np.hstack(arm.inverse_derivatives(q, v, a)),
    "mass matrix": lambda arm, q, v, a: arm.mass_matrix(q),
    "energy": lambda arm, q, v, a: np.array(arm.energy(q, v)),
    "position": lambda arm, q, v, a: arm.pose(arm.frames[FRAME], q).position,
    "rotation": lambda arm, q, v, a: arm.pose(arm.frames[FRAME], q).rotation,
    "velocity": lambda arm, q, v, a: np.array(arm.velocity(arm.frames[FRAME], q, v)),
    "jacobian": lambda arm, q, v, a: arm.jacobian(arm.frames[FRAME], q),
}
LISTED = {"lists": list, "tuples": tuple, "plain lists": lambda x: x.tolist()}
DECLINED = {
    "another length": lambda q: q[:-1],
    "a batch": lambda q: q[None],
    "a column": lambda q: q[:, None],
    "big-endian": lambda q: q.astype(">f8"),
    "strided": lambda q: np.repeat(q, 2)[::2],
    "single": lambda q: q.astype(np.float32),
    "integers": lambda q: np.arange(len(q)),
    "a short list": lambda q: q.tolist()[:-1],
    "text": lambda q: ["1.0"] * len(q),
    "truths": lambda q: [True] * len(q),
    "a huge integer": lambda q: [10**400, *q.tolist()[1:]],
    "nested": lambda q: [[x] for x in q.tolist()],
    "nothing": lambda q: None,
    "names": lambda q: {},
    "no number": lambda q: np.full(len(q), np.nan),
    "no numbers in a list": lambda q: [float("inf")] * len(q),
}


def close(left, right, tolerance=TOLERANCE):
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    return np.abs(left - right).max(initial=0.0) <= tolerance * max(np.abs(right).max(initial=0.0), 1e-300)


def strided(x):
    """The same numbers, which the quick way does not take."""
    return np.repeat(x, 2)[::2]


@pytest.fixture(scope="module", params=["pinned", "branches-exponential"])
def arm(request):
    return Dynamics(zoo.robot(request.param))


@pytest.fixture(scope="module")
def closed():
    return Dynamics(closed_robots.four_bar())


@pytest.mark.parametrize("what", CALLS)
def test_the_quick_way_gives_what_the_general_way_gives(arm, what):
    q, v, a = zoo.state(arm)
    quick, general = CALLS[what](arm, q, v, a), CALLS[what](arm, strided(q), v, a)
    assert close(quick, general, SOLVED if what == "derivatives" else TOLERANCE)


@pytest.mark.parametrize("form", LISTED)
@pytest.mark.parametrize("what", CALLS)
def test_lists_are_taken_as_they_are(arm, what, form):
    q, v, a = zoo.state(arm)
    assert np.array_equal(CALLS[what](arm, *map(LISTED[form], (q, v)), a), CALLS[what](arm, q, v, a))


def test_plain_calls_are_quick(arm):
    """They never take the general way, which would hide that they decline."""
    q, v, a = zoo.state(arm)
    tau, frame = a[: len(arm.inputs)], arm._frame_calls[arm.frames[FRAME]]
    for given in (q, q.tolist(), tuple(q)):
        for found in (
            arm._quick_forward(given, v),
            arm._quick_forward(given, v, None, a),
            arm._quick_derivatives(given, v, tau),
            arm._quick_slopes(given, v, a),
            arm._quick_energy(given, v),
            arm._quick_mass(given),
            frame.quick_pose(given),
            frame.quick_twist(given, v),
            frame.quick_jacobian(given),
            frame.quick_pull(given, WRENCH),
        ):
            assert found is not None


@pytest.mark.parametrize("form", DECLINED)
def test_what_is_unusual_is_declined(arm, form):
    q, v, _ = zoo.state(arm)
    odd = DECLINED[form](q)
    assert arm._quick_energy(odd, v) is None
    assert arm._quick_energy(q, odd) is None
    assert arm._frame_calls[arm.frames[FRAME]].quick_jacobian(odd) is None
    if form not in ("nothing",):
        assert arm._quick_forward(q, v, None, odd) is None


def test_numbers_of_lists():
    """Whole ones, negative ones and those of NumPy; -1 is also how a conversion says that it failed."""
    arm = Dynamics(zoo.robot("rigid-2"))
    whole = [-1, 2]
    assert np.array_equal(arm.forward(whole, [np.float64(0.5), -1]), arm.forward([-1.0, 2.0], np.array([0.5, -1.0])))
    assert arm._quick_forward(whole, [np.float64(0.5), -1]) is not None


def test_wrong_numbers_of_arguments_are_declined(arm):
    q, v, a = zoo.state(arm)
    assert arm._quick_energy() is None
    assert arm._quick_energy(q) is None
    assert arm._quick_energy(q, v, a) is None


def test_results_are_named_tuples_of_their_own(arm):
    q, v, _ = zoo.state(arm)
    pose, energy = arm.pose(arm.frames[FRAME], q), arm.energy(q, v)
    assert type(pose) is states.Pose
    assert type(energy) is states.Energies
    assert energy.total == energy.kinetic + energy.strain + energy.gravity
    assert all(type(x) is float for x in energy)
    kept = pickle.loads(pickle.dumps(pose))
    arm.pose(arm.frames[FRAME], 0 * q)
    assert np.array_equal(kept.rotation, pose.rotation)
    assert pose.rotation.flags.owndata
    assert pose.rotation.flags.writeable


def test_nothing_is_left_behind(arm):
    """References of types, arrays and numbers, whether a call succeeds or declines."""
    q, v, _ = zoo.state(arm)
    frame, wrong = arm.frames[FRAME], np.full(arm.size, np.nan)
    at = arm._frame_calls[frame]

    def counts():
        gc.collect()
        return sys.getrefcount(states.Pose), sys.getrefcount(np.dtype(float)), len(gc.get_objects())

    arm.pose(frame, q)
    before = counts()
    for _ in range(300):
        arm.pose(frame, q)
        at.quick_pose(wrong)
        at.quick_pose([*q.tolist()[1:], None])
        arm._quick_energy(q, wrong)
        arm._quick_energy(q.tolist(), v)
    # other tests' leftovers may go meanwhile
    assert all(after <= first + 20 for first, after in zip(before, counts(), strict=True))


def test_an_unknown_interpreter_takes_the_general_way(monkeypatch):
    robot = zoo.robot("pinned")
    usual = Dynamics(robot)
    monkeypatch.setattr(border, "layout_is_known", lambda: False)
    careful = Dynamics(robot)
    q, v, a = zoo.state(usual)
    for what in ("forward with a wrench", "jacobian", "energy", "velocity"):
        assert close(CALLS[what](careful, q, v, a), CALLS[what](usual, q, v, a))
    assert careful._quick_energy(q, v) is None


# ---------------------------------------------------------------- frames


def test_velocities_and_forces_are_those_of_the_jacobian(arm):
    q, v, _ = zoo.state(arm)
    for name in arm.frames:
        J = arm.jacobian(name, q)
        assert close(np.concatenate(arm.velocity(name, q, v)), J @ v)
        assert close(arm._frame_calls[name].quick_pull(q, WRENCH), J.T @ WRENCH)


def test_jacobians_are_the_slopes_of_poses(arm):
    q, v, _ = zoo.state(arm)
    step = 1e-6
    for name in arm.frames:
        ahead, behind = (arm.pose(name, q + s * step * v) for s in (1, -1))
        J, R = arm.jacobian(name, q), arm.pose(name, q).rotation
        turn = (ahead.rotation - behind.rotation) / (2 * step) @ R.T
        spin = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
        moved = np.concatenate([(ahead.position - behind.position) / (2 * step), spin])
        # central differences of smooth functions
        assert close(J @ v, moved, 1e-8)


def test_batches_of_frames_are_their_states(arm):
    several = [zoo.state(arm, k) for k in range(3)]
    q, v = (np.array([state[k] for state in several]) for k in range(2))
    name = arm.frames[FRAME]
    assert close(arm.jacobian(name, q), [arm.jacobian(name, x) for x in q])
    assert close(arm.pose(name, q).rotation, [arm.pose(name, x).rotation for x in q])
    assert close(arm.velocity(name, q, v).linear, [arm.velocity(name, *x).linear for x in zip(q, v, strict=True)])
    assert close(arm.positions(arm.frames, q), [arm.positions(arm.frames, x) for x in q])


# ---------------------------------------------------------------- matrices


def mass_matrix_of(plan, flat):
    """M (n, n) from the results of all links; the readable twin of the compiled step."""
    n = len(plan.order)
    M, F, N = np.zeros((n, n)), np.zeros((n, 3)), np.zeros((n, 3))
    for arm, momenta, block, first_at, bends, columns, own, first, last in plan.rows.tolist():
        mine = slice(first, first + own)
        M[mine, mine] = flat[block : block + own * own].reshape(own, own)
        F[mine], N[mine] = flat[momenta : momenta + MOMENTUM * own].reshape(own, 2, 3).swapaxes(0, 1)
        for c in range(columns):
            v, w = flat[arm + ARM_SIZE + COLUMN * c :][:COLUMN].reshape(2, 3)
            i = plan.at[first_at + c]
            # the link's own block is known; what its parent's bending moves is the link itself, too
            taken = slice(first if c < bends else first + own, last)
            M[i, taken] = M[taken, i] = F[taken] @ v + N[taken] @ w
        carried = slice(first, last)
        N[carried] += np.cross(flat[arm : arm + ARM_SIZE], F[carried])
    out = np.zeros((n, n))
    out[np.ix_(plan.order, plan.order)] = M
    return out


@pytest.mark.parametrize("name", ["pinned", "satellite", "prismatic", "branches-exponential"])
def test_composite_bodies_give_the_mass_matrix(name, monkeypatch):
    """Three ways: tangents of the inverse dynamics, the readable sum over the links, the compiled one."""
    monkeypatch.setattr(slope_calls, "MANY_LINKS", 0)
    arm = Dynamics(zoo.robot(name))
    q, _, _ = zoo.state(arm)
    wanted = arm.force_derivative("a", q, arm._nothing, arm._nothing)
    flat = arm.evaluator(Traced(COMPOSITES, arm.tree))(q)
    assert close(mass_matrix_of(mass_plan(arm.tree), flat), wanted)
    assert close(arm._quick_mass(q), wanted)
    assert np.array_equal(arm.mass_matrix(q), arm._quick_mass(q))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 13, 20, 35])
def test_inverses_and_products(n):
    random = np.random.default_rng(n)
    A, right = random.normal(size=(n, n)), random.normal(size=(n, n + 3))
    A = A @ A.T + np.eye(n)
    # multipliers make a matrix indefinite: its last pivot is negative
    A[-1, -1] -= 2 / np.linalg.inv(A)[-1, -1] if n > 1 else 0.0
    call = QuickCall()
    call.takes(1)
    inverse, _ = call.inverted(padded_rows(A))
    call.gives(inverse, call.minus_product(inverse, padded_rows(right)))
    found, product = call.built(tuple)([0.0])
    assert close(found, np.linalg.inv(A), SOLVED)
    assert close(product, -np.linalg.inv(A) @ right, SOLVED)


# ---------------------------------------------------------------- loops


@pytest.mark.parametrize("what", ["forward", "forward with a wrench", "inverse", "derivatives"])
def test_closed_loops_are_quick_too(closed, what):
    q, v = closed_robots.state(closed)
    a = np.linspace(0.1, 0.4, closed.size)
    assert close(CALLS[what](closed, q, v, a), CALLS[what](closed, strided(q), v, a), SOLVED)
    assert closed._quick_forward(q, v) is not None


def test_a_lost_row_is_declined():
    """A folded parallelogram may go on in two ways: nothing that is compiled decides for one."""
    arm, n = Dynamics(closed_robots.four_bar(lengths=(0.4, 0.2, 0.4, 0.2))), 3
    call, still = QuickCall(), np.zeros(n)
    q = call.takes(n)
    slopes = [call.evaluates(arm.evaluator(arm.traced("inverse"), seed), q, still, still) for seed in "qv"]
    inverse, _ = LoopSlopes(arm.loops, call).closed(q, still, still, arm._slopes.mass(call, q), still, slopes)
    call.gives(inverse)
    bordered = call.built()

    def opened(angle):
        return arm.assemble(np.array([angle, -angle, angle]), hold=[arm.names[0]])

    assert bordered(opened(1.0)) is not None
    assert arm._quick_derivatives(opened(1.0), still) is not None
    # what is left of the row is squared, and still a number
    assert bordered(opened(1e-7)) is None
    assert arm._quick_derivatives(opened(1e-7), still) is None


@pytest.mark.parametrize("decay", [0.0, 4.0])
def test_derivatives_with_loops_are_slopes(decay):
    """Differences of the accelerations along the loops, with and without what closes gaps."""
    arm = Dynamics(closed_robots.five_bar(), stabilise=decay)
    q, v = closed_robots.state(arm)
    tau, step = np.array([0.3, -0.2]), 1e-6
    by_q, by_v, by_tau = arm._quick_derivatives(q, v, tau)
    for k in range(arm.size):
        unit = step * np.eye(arm.size)[k]
        along_q = arm.forward(q + unit, v, tau) - arm.forward(q - unit, v, tau)
        along_v = arm.forward(q, v + unit, tau) - arm.forward(q, v - unit, tau)
        assert np.allclose(by_q[:, k], along_q / (2 * step), rtol=1e-6, atol=1e-6 * np.abs(by_q).max())
        assert np.allclose(by_v[:, k], along_v / (2 * step), rtol=1e-6, atol=1e-6 * np.abs(by_v).max())
    pushed = arm.forward(q, v, tau + 1.0) - arm.forward(q, v, tau)
    assert close(by_tau.sum(axis=1), pushed, SOLVED)
