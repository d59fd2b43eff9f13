"""Steps in time in generated C: a twin in NumPy, their order, stiff links, loops that stay closed, `simulate`."""

import ctypes

import numpy as np
import pytest

import pliant
from pliant.engine.stepping.esdirk import esdirk4

TWIN = 1e-9
"""Of the largest change: the same steps, with another solution of the same linear equations."""

EFFORT = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 3, ctypes.c_void_p)


class Stepped:
    """An instance of a generated robot."""

    def __init__(self, c):
        n, m = c.define("SIZE"), max(c.define("INPUTS"), 1)

        class Instance(ctypes.Structure):
            _fields_ = (
                ("parameters", ctypes.c_double * c.define("PARAMETERS")),
                ("tau", ctypes.c_double * m),
                ("force", ctypes.c_double * n),
                ("effort", EFFORT),
                ("user", ctypes.c_void_p),
                ("workspace", ctypes.c_double * c.define("WORKSPACE")),
                ("stepping", ctypes.c_double * c.define("STEPPING")),
                ("pivots", ctypes.c_int * n),
            )

        self.c, self.n, self.own = c, n, Instance()
        # nothing may count on what is in the work space
        for array in (self.own.workspace, self.own.stepping):
            array[:] = [np.nan] * len(array)
        c.library.arm_start(ctypes.byref(self.own))

    def run(self, stepper, q, v, h, steps, t=0.0):
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        step = getattr(self.c.library, f"arm_{stepper}")
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v)]
        for k in range(steps):
            status = step(ctypes.byref(self.own), ctypes.c_double(t + k * h), ctypes.c_double(h), *pointers)
            if status:
                return status
        return q, v


def rk4(f, t, q, v, h):
    """Kutta's classic step."""
    k1 = v, f(t, q, v)
    k2 = v + h / 2 * k1[1], f(t + h / 2, q + h / 2 * k1[0], v + h / 2 * k1[1])
    k3 = v + h / 2 * k2[1], f(t + h / 2, q + h / 2 * k2[0], v + h / 2 * k2[1])
    k4 = v + h * k3[1], f(t + h, q + h * k3[0], v + h * k3[1])
    return tuple(x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))


def esdirk(f, t, q, v, h):
    """The same tableau on the state as a whole, its stages by Newton's method on difference quotients."""
    A, c, n = esdirk4().A, esdirk4().c, len(q)
    x = np.concatenate([q, v])

    def g(t, x):
        return np.concatenate([x[n:], f(t, x[:n], x[n:])])

    J = np.array([(g(t, x + d) - g(t, x - d)) / 2e-6 for d in 1e-6 * np.eye(2 * n)]).T
    S = np.eye(2 * n) - h * A[1, 1] * J
    K = [g(t, x)]
    for s in range(1, len(A)):
        base = x + h * sum(A[s, j] * K[j] for j in range(s))
        y = base + h * A[s, s] * K[-1]
        for _ in range(40):
            change = np.linalg.solve(S, base + h * A[s, s] * g(t + c[s] * h, y) - y)
            y = y + change
            if np.abs(change).max() < 1e-13 * np.abs(y).max():
                break
        K.append((y - base) / (h * A[s, s]))
    return y[:n], y[n:]


TWINS = {"rk4": rk4, "esdirk": esdirk}


def pushed(t, q, v, n_inputs):
    """Efforts of drives that depend on time and state."""
    return np.array([np.sin(3.0 * t + k) - 0.1 * v[0] - 0.2 * q[0] for k in range(n_inputs)])


@pytest.fixture(scope="module")
def arms(arm, build):
    """C with both steps of a tree and of a robot with a loop."""
    return {name: (arm(name), build(arm(name), "rk4", "esdirk")) for name in ("two-link-flexible", "four-bar-rigid")}


def start(robot):
    q = robot.assemble() if robot.loops.rows else robot.reference_pose()
    q, v = robot.project(q, np.zeros(robot.size)) if robot.loops.rows else (q, np.zeros(robot.size))
    return q, v


@pytest.mark.parametrize("stepper", TWINS)
def test_a_step_equals_its_twin(arms, stepper):
    """With efforts by a function of the user, which are no part of the exact derivatives."""
    robot, c = arms["two-link-flexible"]
    m = len(robot.inputs)
    made = Stepped(c)

    @EFFORT
    def effort(t, q, v, tau, user):
        for k, x in enumerate(pushed(t, q, v, m)):
            tau[k] = x

    made.own.effort = effort

    def f(t, q, v):
        return robot.forward(q, v, pushed(t, q, v, m))

    q0, v0 = start(robot)
    v0[0] = 0.3
    q, v, h = q0, v0, 2e-4
    for k in range(5):
        q, v = TWINS[stepper](f, k * h, q, v, h)
    found = made.run(stepper, q0, v0, h, 5)
    for x, y, z in zip(found, (q, v), (q0, v0), strict=True):
        assert np.abs(x - y).max() < TWIN * np.abs(y - z).max()


@pytest.mark.parametrize("stepper", TWINS)
@pytest.mark.parametrize("name", ["two-link-flexible", "four-bar-rigid"])
def test_order_is_four(arms, stepper, name):
    """Halved steps leave a sixteenth of the error."""
    robot, c = arms[name]
    made = Stepped(c)
    made.own.tau[:] = [0.3] * len(made.own.tau)
    q0, v0 = start(robot)
    ends = []
    until, first = (0.02, 32) if robot.size > 3 else (0.3, 16)
    for steps in (first, 2 * first, 4 * first):
        q, v = made.run(stepper, q0, v0, until / steps, steps)
        ends.append(np.concatenate([q, v]))
    ratio = np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max()
    assert 12.0 < ratio < 22.0


def test_long_steps_of_stiff_links(arms):
    """Steps far beyond the explicit limit follow the slow motion, where explicit ones leave for infinity."""
    robot, c = arms["two-link-flexible"]
    made = Stepped(c)
    made.own.tau[:] = [0.2] * len(made.own.tau)
    q0, v0 = start(robot)
    h, steps = 5e-3, 100
    assert made.run("rk4", q0, v0, h, steps) == -1
    found = made.run("esdirk", q0, v0, h, steps)[0]
    finer = made.run("esdirk", q0, v0, h / 8, 8 * steps)[0]
    assert np.abs(found - finer).max() < 1e-3 * np.abs(finer - q0).max()


@pytest.mark.parametrize("name", ["two-link-flexible", "four-bar-rigid"])
def test_a_run_equals_simulate(arms, name):
    """Constant efforts over a quarter of a second."""
    robot, c = arms[name]
    made, tau = Stepped(c), np.linspace(0.2, 0.1, len(robot.inputs))
    made.own.tau[:] = tau.tolist()
    q0, v0 = start(robot)
    drive = pliant.GivenTorque(joints=dict(zip(robot.inputs, tau.tolist(), strict=True)))
    run = pliant.simulate(robot.robot, until=0.25, drive=drive, start=(q0, v0), tolerance=1e-11)
    q, _ = made.run("esdirk", q0, v0, 1e-4, 2500)
    moved = np.abs(run.q[-1] - q0).max()
    assert np.abs(q - run.q[-1]).max() < 1e-6 * moved
    if robot.loops.rows:
        assert np.abs(robot.closure(q)).max() < 1e-12


@pytest.mark.parametrize("stepper", TWINS)
def test_loops_stay_closed(arms, stepper):
    """Long steps, whose errors would open them."""
    robot, c = arms["four-bar-rigid"]
    made = Stepped(c)
    made.own.tau[:] = [1.0] * len(made.own.tau)
    q, v = made.run(stepper, *start(robot), 5e-3, 100)
    assert np.abs(q - start(robot)[0]).max() > 0.5
    assert np.abs(robot.closure(q)).max() < 1e-12
    assert np.abs(robot.closure_rate(q, v)).max() < 1e-10 * np.abs(v).max()


def test_dry_friction_is_taken_in_parts(build):
    """From rest through a friction whose slope is lost within a thousandth of the step's change: no whole step ends."""
    friction = {"viscous": 8.0, "coulomb": 6.0, "smoothing": 1e-4}
    rod = {"mass": 2.0, "com": [0.3, 0, 0], "inertia": [0.0, 0.05, 0.05], "length": 0.6}
    links = [
        {"name": "upper", "joint": {"name": "shoulder", "axis": "y", "friction": friction}, "rigid": rod},
        {"name": "fore", "joint": {"name": "elbow", "axis": "y", "friction": friction}, "rigid": rod},
    ]
    robot = pliant.Dynamics(pliant.Robot.model_validate({"name": "rubbing", "links": links}), compile="never")
    made = Stepped(build(robot, "esdirk"))
    still = np.zeros(robot.size)
    run = pliant.simulate(robot.robot, until=0.1, start=(still, still), tolerance=1e-10)
    found = made.run("esdirk", still, still, 5e-3, 20)
    assert not isinstance(found, int)
    assert np.abs(found[0] - run.q[-1]).max() < 1e-3 * np.abs(run.q[-1]).max()


def test_a_step_that_fails_leaves_the_state(arms):
    robot, c = arms["four-bar-rigid"]
    made = Stepped(c)
    q0, v0 = start(robot)
    made.own.force[0] = np.nan
    q, v = q0.copy(), v0.copy()
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v)]
    for stepper in TWINS:
        status = getattr(c.library, f"arm_{stepper}")(
            ctypes.byref(made.own), ctypes.c_double(0.0), ctypes.c_double(1e-3), *pointers
        )
        assert status == -1
        assert np.array_equal(q, q0)
        assert np.array_equal(v, v0)
