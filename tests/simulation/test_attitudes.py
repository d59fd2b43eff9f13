"""Bodies that turn any way: tumbling runs conserve what nature conserves, tops and pendulums move as solved by hand."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import zoo
from pliant import Dynamics, Event, Friction, Joint, Link, Rigid, Robot, Spring, simulate
from pliant.engine.stepping.called_system import CalledSystem
from pliant.simulation.integrators.compiled import CompiledIntegrator
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import Run
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import IntegratorOptions, Start, Study
from pliant.spatial.attitude import FARTHEST, attitude, recentred

# tolerances of these tests are their own
pytestmark = pytest.mark.filterwarnings("ignore:the run is off by")

CONSERVED = 1e-9
"""Drift of momenta and energy over hundreds of turns, of their own size, at a tolerance of 1e-13."""
EXACT = 1e-9
"""Of solutions by hand at a tolerance of 1e-12, over some tens of turns."""
ROUNDING = 1e-13


def floating(inertia, com=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0)):
    body = Rigid(mass=3.0, com=com, inertia=inertia)
    return Robot(
        name="body", gravity=gravity, links=[Link(name="body", joint=Joint(name="base", type="free"), rigid=body)]
    )


@pytest.fixture(scope="module")
def racket():
    """A body with three different moments of inertia, whose origin is not its centre of mass."""
    return Dynamics(floating((0.1, 0.2, 0.3), com=(0.05, -0.02, 0.03)))


@pytest.fixture(scope="module")
def pendulum():
    """A slender body on a ball, symmetric about its own x axis."""
    body = Rigid(mass=2.0, com=(0.5, 0.0, 0.0), inertia=(0.02, 0.1, 0.1), length=1.0)
    return Dynamics(
        Robot(name="pendulum", links=[Link(name="rod", joint=Joint(name="ball", type="spherical"), rigid=body)])
    )


def drift(values):
    """Largest change of columns over a run, of the largest entry."""
    return np.ptp(values, axis=0).max() / np.abs(values).max()


def conserved(run):
    """Drifts of energy, linear momentum, and angular momentum about the base's origin."""
    arm = run.arm
    momentum = arm.momentum(run.q, run.v)
    return drift(arm.energy(run.q, run.v).total[:, None]), drift(momentum.linear), drift(momentum.angular)


def spun(arm, **rates):
    """About the intermediate axis, a little disturbed."""
    return arm.q(base=[0, 0, 0, 0.3, -0.2, 0.1]), arm.v(base=[0.02, -0.01, 0.03, 0.01, 5.0, 0.02], **rates)


# ---------------------------------------------------------------- tumbling


def test_a_racket_flips_for_hundreds_of_turns_and_keeps_its_momenta(racket):
    run = simulate(racket, until=300.0, start=spun(racket), method="dop853", tolerance=1e-13, output_step=0.5)
    assert max(conserved(run)) <= CONSERVED
    # about 240 turns; the second axis turns over against the momentum again and again (Dzhanibekov)
    axes = racket.pose("body.root", run.q).rotation
    along = np.einsum("tij,i->tj", axes, racket.momentum(run.q, run.v).angular[0])[:, 1]
    assert np.count_nonzero(np.diff(np.sign(along))) > 20
    assert np.linalg.norm(run.q[:, 3:], axis=1).max() < FARTHEST + 0.5


@pytest.mark.parametrize(
    ("method", "options", "bound"),
    [
        ("scipy:Radau", {"tolerance": 1e-9}, 1e-6),
        ("rk4", {"step": 2e-3}, 1e-7),
        ("generalised-alpha", {"tolerance": 1e-6}, 2e-3),
        ("esdirk", {"tolerance": 1e-8}, 1e-5),
        ("gauss", {"tolerance": 1e-10}, 1e-8),
    ],
)
def test_every_kind_of_step_crosses_half_turns(racket, method, options, bound):
    run = simulate(racket, until=4.0, start=spun(racket), method=method, output_step=0.1, **options)
    assert max(conserved(run)) <= bound
    exact = simulate(racket, until=4.0, start=spun(racket), method="dop853", tolerance=1e-12, output_step=0.1)
    miss = racket.pose("body.root", run.q).rotation - racket.pose("body.root", exact.q).rotation
    assert np.abs(miss).max() <= 10 * bound


def test_the_implicit_method_converges_across_half_turns(racket):
    """Of second order, with a local error of the third: a hundredth of the tolerance leaves 1/21 of the error."""
    exact = simulate(racket, until=2.0, start=spun(racket), method="dop853", tolerance=1e-12, output_step=1.0)
    expected = racket.pose("body.root", exact.q[-1]).rotation
    errors = []
    for tolerance in (1e-6, 1e-8):
        given = {"method": "generalised-alpha", "tolerance": tolerance, "output_step": 1.0}
        run = simulate(racket, until=2.0, start=spun(racket), **given)
        errors.append(np.abs(racket.pose("body.root", run.q[-1]).rotation - expected).max())
    assert errors[0] > 10 * errors[1]
    assert errors[1] <= 1e-4


@pytest.mark.filterwarnings("ignore:link '")
def test_a_tumbling_flexible_satellite_keeps_its_momenta():
    arm = Dynamics(zoo.robot("satellite"))
    v = arm.v({"bus.x": 0.1, "bus.rx": 0.3, "bus.ry": 3.0, "bus.rz": -0.5, "left_drive": 0.2, "wrist": -0.4})
    run = simulate(arm, until=5.0, start=(arm.q(), v), method="dop853", tolerance=1e-12, output_step=0.25)
    assert np.abs(run["left.deflection"]).max() > 1e-3
    momentum, energy = arm.momentum(run.q, run.v), run["energy.balance"]
    assert drift(momentum.linear) <= CONSERVED
    assert drift(momentum.angular) <= CONSERVED
    assert np.abs(energy).max() <= CONSERVED * np.abs(arm.energy(run.q, run.v).kinetic).max()


# ---------------------------------------------------------------- solved by hand


def test_a_symmetric_top_without_torque_turns_as_euler_found():
    """R = exp(L t/I) R_0 exp(e_z n t), n = (1 - I_z/I) w_z: samples on both sides of every half turn."""
    transverse, axial = 0.25, 0.1
    arm = Dynamics(floating((transverse, transverse, axial)))
    q, v = arm.q(base=[0, 0, 0, 0.4, -0.3, 1.0]), arm.v(base=[0, 0, 0, 1.0, -2.0, 4.0])
    run = simulate(arm, until=20.0, start=(q, v), method="dop853", tolerance=1e-12, output_step=0.05)
    R = arm.pose("body.root", run.q).rotation
    L = arm.momentum(q, v).angular
    spin = (R[0].T @ arm.velocity("body.root", q, v).angular)[2] * (1 - axial / transverse)
    precession = Rotation.from_rotvec(np.outer(run.time, L / transverse))
    own = Rotation.from_rotvec(np.outer(run.time, [0.0, 0.0, spin]))
    expected = (precession * Rotation.from_matrix(R[0]) * own).as_matrix()
    assert np.abs(R - expected).max() <= EXACT


def tilted(arm, angle, turn=0.0):
    """The rod's axis at an angle from straight down, turned about the vertical."""
    hanging = Rotation.from_rotvec([0.0, 0.0, turn]) * Rotation.from_rotvec([0.0, np.pi / 2 - angle, 0.0])
    return arm.q(ball=hanging.as_rotvec())


def rates(arm, q, w):
    """Rates of the rotation vector for an angular velocity in base axes."""
    return np.linalg.solve(arm.jacobian("rod.root", q)[3:], w)


def test_a_conical_pendulum_turns_about_the_vertical(pendulum):
    """Omega^2 = m g l / ((I - I_x) cos(angle)): the rod keeps its angle and makes turn after turn."""
    angle, transverse = 0.9, 0.1 + 2.0 * 0.25
    speed = np.sqrt(2.0 * 9.81 * 0.5 / ((transverse - 0.02) * np.cos(angle)))
    q = tilted(pendulum, angle)
    start = (q, rates(pendulum, q, [0.0, 0.0, speed]))
    run = simulate(pendulum, until=10.0, start=start, method="dop853", tolerance=1e-12, output_step=0.1)
    tip = run["tip.position"]
    assert tip[:, 2] == pytest.approx(-np.cos(angle), abs=EXACT)
    around = np.exp(1j * speed * run.time) * (tip[0, 0] + 1j * tip[0, 1])
    assert np.abs(tip[:, 0] + 1j * tip[:, 1] - around).max() <= EXACT
    # more than half a turn, so that the coordinates were changed on the way
    assert speed * run.time[-1] > 4 * np.pi


def test_a_spherical_pendulum_swings_in_time_with_its_quadrature(pendulum):
    """Without spin about its own axis, u = cos(angle): u'^2 = 2 (E + W u)(1 - u^2) / I - (L / I)^2, a cubic."""
    angle, transverse, weight, speed = 1.2, 0.1 + 2.0 * 0.25, 2.0 * 9.81 * 0.5, 3.0
    q = tilted(pendulum, angle)
    # a push to the side: an angular velocity at right angles to the rod, in its vertical plane
    w = speed * np.array([np.cos(angle), 0.0, np.sin(angle)])
    E, L = 0.5 * transverse * speed**2 - weight * np.cos(angle), transverse * speed * np.sin(angle)
    cubic = np.array([-weight, -E, weight, E]) * 2 / transverse
    cubic[3] -= (L / transverse) ** 2
    third, low, high = np.sort(np.roots(cubic).real)

    def u(s):
        return low + (high - low) * np.sin(s) ** 2

    def passed(a, b):
        return quad(lambda s: 2 / np.sqrt(2 * weight / transverse * (u(s) - third)), a, b, epsabs=1e-13)[0]

    # it starts at an end of its swing; one whole swing later it passes the middle once more
    first = passed(0, np.pi / 4) if abs(np.cos(angle) - low) < ROUNDING**0.5 else passed(np.pi / 4, np.pi / 2)
    until = first + 2 * passed(0, np.pi / 2)
    run = simulate(pendulum, until=until, start=(q, rates(pendulum, q, w)), tolerance=1e-12, output_step=until)
    assert -run["tip.position"][-1, 2] == pytest.approx(u(np.pi / 4), abs=EXACT)


# ---------------------------------------------------------------- changes of coordinates


def test_a_shorter_vector_is_the_same_attitude_in_motion():
    rng = np.random.default_rng(3)
    for _ in range(5):
        theta = rng.normal(size=3)
        theta *= rng.uniform(np.pi, 4.4) / np.linalg.norm(theta)
        rate, a = rng.normal(size=(2, 3))
        long, short = attitude(theta.tolist(), rate.tolist()), recentred(theta.tolist(), rate.tolist())
        now = attitude(short.theta, short.rate)
        assert np.linalg.norm(short.theta) == pytest.approx(2 * np.pi - np.linalg.norm(theta), rel=ROUNDING)
        assert np.array(now.R) == pytest.approx(np.array(long.R), abs=10 * ROUNDING)
        assert now.omega == pytest.approx(long.omega, abs=10 * ROUNDING)
        far = recentred((theta * (1 + 4 * np.pi / np.linalg.norm(theta))).tolist(), [0.0] * 3)
        assert far.theta == pytest.approx(short.theta, abs=100 * ROUNDING)
        one, two = (np.array(x.T) @ y + x.bias for x, y in ((long, a), (now, short.acceleration(a.tolist()))))
        assert one == pytest.approx(two, abs=100 * ROUNDING)


def test_functions_of_long_rotation_vectors_are_exact():
    """Up to where a step may go beyond half a turn."""
    rng = np.random.default_rng(4)
    for length in (1e-9, 1.0, np.pi, 4.5):
        theta = rng.normal(size=3)
        theta *= length / np.linalg.norm(theta)
        found, x = attitude(theta.tolist(), [0.0] * 3), rng.normal(size=3)
        assert np.array(found.R) == pytest.approx(Rotation.from_rotvec(theta).as_matrix(), abs=ROUNDING)
        assert np.array(found.T) @ found.solve(x.tolist()) == pytest.approx(x, abs=10 * ROUNDING)
        assert np.array(found.T).T @ found.solve_transposed(x.tolist()) == pytest.approx(x, abs=10 * ROUNDING)


def test_runs_with_and_without_changes_of_coordinates_agree(racket, monkeypatch):
    """A motion beyond half a turn and back is the same; one that stays below has the same numbers."""
    near, far = ((racket.q(base=[0, 0, 0, 2.9, 0, 0]), racket.v(base=[0, 0, 0, x, 0.3, 0.1])) for x in (0.1, 1.0))

    def both():
        given = {"until": 1.0, "method": "dop853", "tolerance": 1e-12, "output_step": 0.05}
        return [simulate(racket, start=start, **given) for start in (near, far)]

    with_changes = both()
    monkeypatch.setattr(StateEquations, "recentred", lambda self, y: None)
    monkeypatch.setattr("pliant.simulation.integrators.compiled.compilable", lambda equations: None)
    # steps in machine code change coordinates themselves
    monkeypatch.setattr(
        "pliant.simulation.integrators.compiled_systems.CalledSystem",
        lambda rates, layout, turning: CalledSystem(rates, layout, ()),
    )
    plain = both()
    assert np.linalg.norm(plain[0].q[:, 3:], axis=1).max() < FARTHEST
    assert with_changes[0].q == pytest.approx(plain[0].q, abs=EXACT)
    assert np.linalg.norm(plain[1].q[-1, 3:]) > FARTHEST
    assert np.linalg.norm(with_changes[1].q[-1, 3:]) < np.pi
    poses = [racket.pose("body.root", run.q).rotation for run in (with_changes[1], plain[1])]
    assert poses[0] == pytest.approx(poses[1], abs=EXACT)


def study(method, **options):
    robot = floating((0.1, 0.2, 0.3))
    names = dict(zip(robot.joint_coordinates, [0, 0, 0, 0.01, 5.0, 0.02], strict=True))
    integrator = IntegratorOptions(method=method, **options)
    return Study(robot=robot, until=2.0, start=Start(velocity=names), integrator=integrator, outputs=Outputs(step=0.01))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("dop853", {}),
        ("gauss", {}),
        ("rk4", {"step": 1e-3}),
        ("generalised-alpha", {"tolerance": 1e-5}),
        ("esdirk", {"tolerance": 1e-6}),
    ],
)
def test_a_run_resumed_between_changes_is_the_same_to_the_last_bit(method, options, monkeypatch):
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 50)
    whole, first, second = (Run(study(method, **options)) for _ in range(3))
    assert whole.go()
    assert isinstance(whole.integrator, CompiledIntegrator)
    assert not first.go(lambda at: at.t > 0.9)
    assert first.t < whole.t
    second.recall(first.memory(), first.recorder.samples(), first.happenings)
    assert second.go()
    assert second.recorder.samples() == whole.recorder.samples()
    assert second.integrator.statistics == whole.integrator.statistics


def test_extremes_and_events_do_not_see_the_change(racket):
    """Extremes stay within what the samples show; an event is not set off by a coordinate that jumps."""
    stop = [
        Event(quantity="base.ry", below=-2.0, action="record"),
        Event(quantity="base.ry", above=2.0, action="record"),
    ]
    run = simulate(racket, until=2.0, start=spun(racket), events=stop, tolerance=1e-10, output_step=1e-3)
    found = run.extreme("base.ry")
    assert found.most == pytest.approx(run["base.ry"].max(), abs=0.02)
    assert found.least == pytest.approx(run["base.ry"].min(), abs=0.02)
    jumps = np.count_nonzero(np.abs(np.diff(run["base.ry"])) > 1)
    assert jumps >= 1
    assert [name for _, name, _ in run.info.events] == ["base.ry above 2"] * jumps


# ---------------------------------------------------------------- springs and dampers


def test_a_damped_ball_loses_what_it_should_and_comes_to_rest():
    body = Rigid(mass=2.0, com=(0.5, 0.0, 0.0), inertia=(0.02, 0.1, 0.1), length=1.0)
    joint = Joint(name="ball", type="spherical", friction=Friction(viscous=0.4))
    arm = Dynamics(Robot(name="damped", links=[Link(name="rod", joint=joint, rigid=body)]))
    q, v = arm.q(ball=[0.0, -0.3, 0.2]), arm.v(ball=[1.0, 2.0, -3.0])
    for compiled in (arm, Dynamics(arm.robot, compile="never")):
        run = simulate(compiled, until=2.0, start=(q, v), tolerance=1e-10, output_step=0.1)
        assert np.abs(run["energy.balance"]).max() <= 1e-8 * run["energy.kinetic"].max()
    total = arm.energy(run.q, run.v).total
    assert (np.diff(total) < 0).all()
    assert total[0] - total[-1] > 1.0


def test_a_sprung_ball_about_its_own_axis_is_an_oscillator():
    """k theta against I theta'': beyond half a turn too, where a spring remembers the way that it came."""
    joint = Joint(name="ball", type="spherical", spring=Spring(stiffness=2.0))
    body = Rigid(mass=1.0, inertia=(0.5, 0.5, 0.5))
    arm = Dynamics(Robot(name="sprung", links=[Link(name="disc", joint=joint, rigid=body)]))
    axis = np.array([1.0, -2.0, 2.0]) / 3
    run = simulate(arm, until=4.0, start=(arm.q(ball=4.0 * axis), arm.v()), tolerance=1e-11, output_step=0.1)
    assert run.q == pytest.approx(np.outer(4.0 * np.cos(2.0 * run.time), axis), abs=1e-8)
