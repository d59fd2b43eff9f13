"""Conservation laws: momentum of floating robots along their motion, energy over a long free swing."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import zoo
from oracle import STEP
from pliant.algorithm import result, run
from pliant.dynamics import Dynamics
from pliant.tree.kinematics import ENERGY

TOLERANCE = 1e-10
"""Of the momentum's rate that one of the drives alone would cause: double precision."""

ENERGY_BALANCE = 1e-9
"""Drift over ten seconds, of the largest kinetic energy: the acceptance figure; the integrator gets 1e-12."""


def momentum_rate(arm, q, v, a):
    """d/dt of linear and angular momentum (6,) along (v, a), by complex step."""
    inputs = {"q": list(q + 1j * STEP * v), "v": list(v + 1j * STEP * a)}
    rows = np.array(result(ENERGY, run(ENERGY, arm.tree, inputs))).reshape(-1, 9)
    return rows[:, 3:].sum(axis=0).imag / STEP


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", zoo.FLOATING)
def test_internal_forces_do_not_change_the_momentum(name, number):
    robot = zoo.robot(name).with_changes(gravity=(0, 0, 0))
    arm = Dynamics(robot)
    q, v, _ = zoo.state(arm, number)
    tau = 5.0 * np.ones(len(arm.inputs))
    # forces on elastic coordinates and joints are internal, forces on the free joint are not
    base = [k for k, name in enumerate(arm.names) if name in robot.links[0].joint.coordinates]
    force = np.cos(np.arange(arm.size))
    force[base] = 0.0
    a = arm.forward(q, v, tau, force=force)
    # size of the momentum's rate without the reaction of the base
    pushed = a.copy()
    pushed[base] = 0.0
    scale = np.abs(momentum_rate(arm, q, v, pushed)).max()
    assert np.abs(momentum_rate(arm, q, v, a)).max() <= TOLERANCE * scale


@pytest.mark.parametrize("name", zoo.FLOATING)
def test_gravity_changes_it_by_the_weight(name):
    g = np.array([1.0, -2.0, -9.0])
    arm = Dynamics(zoo.robot(name).with_changes(gravity=g.tolist()))
    q, v, _ = zoo.state(arm)
    rate = momentum_rate(arm, q, v, arm.forward(q, v))
    assert rate[:3] == pytest.approx(arm.robot.mass * g, rel=TOLERANCE)
    # the moment of the weight: first moment x g, the first moment being -dV/dg
    first = [
        -Dynamics(arm.robot.with_changes(gravity=e), compile="never").energy(q, v).gravity for e in np.eye(3).tolist()
    ]
    assert rate[3:] == pytest.approx(np.cross(first, g), rel=TOLERANCE, abs=TOLERANCE)


def swinging_arm():
    """Two soft links with all kinds of bending, torsion and a loaded tip, on oblique passive joints."""
    rng = zoo.seed(95)
    links = [
        zoo.Link(
            name="upper",
            joint=zoo.Joint(name="a", axis=[1.0, 2.0, 0.5], placement=zoo.placement(rng)),
            beam=zoo.beam(modes=zoo.Modes(shape="clamped-free", bend_y=1, bend_z=1, torsion=1)),
        ),
        zoo.Link(
            name="lower",
            joint=zoo.Joint(name="b", axis=[-0.3, 1.0, 1.0]),
            beam=zoo.beam(0.7, EIy=20.0, EIz=15.0, modes=zoo.Modes(shape="clamped-free", bend_y=1, bend_z=1)),
            payloads=(zoo.part(rng, "tip"),),
        ),
    ]
    return zoo.Robot(name="swinging-arm", links=links)


def test_a_free_swing_keeps_its_energy_for_ten_seconds():
    arm = Dynamics(swinging_arm())
    n = arm.size
    start = np.zeros(2 * n)
    start[:n] = [0.9, 0.05, -0.03, 0.05, -1.2, 0.04, 0.02]

    def rate(t, x):
        return np.concatenate([x[n:], arm.forward(x[:n], x[n:])])

    run = solve_ivp(rate, (0.0, 10.0), start, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=np.linspace(0, 10, 101))
    assert run.success
    energies = [arm.energy(x[:n], x[n:]) for x in run.y.T]
    total = np.array([e.total for e in energies])
    largest = max(e.kinetic for e in energies)
    # a real swing: the arm turns, and it bends well beyond the linear range
    assert np.ptp(run.y[0]) > 1.0
    assert np.abs(run.y[[1, 2, 5, 6]]).max() > 0.05
    assert np.abs(total - total[0]).max() <= ENERGY_BALANCE * largest
