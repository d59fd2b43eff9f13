"""Gauss's collocation: its coefficients, what it converges to, how far a step goes, and where `auto` takes it."""

import numpy as np
import pytest

import pliant
import zoo
from pliant import (
    PID,
    Dynamics,
    Event,
    Friction,
    Joint,
    Limits,
    Link,
    Quintic,
    Rigid,
    Robot,
    Spring,
    Start,
    load_study,
    simulate,
)
from pliant.drives.given import NoDrive
from pliant.engine.stepping.gauss import Gauss
from pliant.engine.stepping.gauss_legendre import STAGES, gauss_legendre, integrals, legendre
from pliant.engine.stepping.stage_modes import StageModes
from pliant.simulation.choice import _state_matrix, choose
from pliant.simulation.integrators import compiled
from pliant.simulation.integrators.compiled import CompiledIntegrator
from pliant.simulation.run import Run, SimulationWarning, run_study
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import IntegratorOptions

NO_GRAVITY = (0.0, 0.0, 0.0)
ROUNDING = 1e-13
"""Of sums of sixteen products of numbers below one."""


# ---------------------------------------------------------------- coefficients


def test_the_stages_integrate_polynomials():
    c, b, A, AA, coefficients, *_ = gauss_legendre()
    for k in range(STAGES):
        assert A @ c**k == pytest.approx(c ** (k + 1) / (k + 1), abs=ROUNDING)
        assert coefficients @ legendre(2 * c - 1)[:, k] == pytest.approx(np.eye(STAGES)[k], abs=ROUNDING)
    # the order of the whole step is twice the number of stages, and no higher
    for k in range(2 * STAGES):
        assert b @ c**k == pytest.approx(1 / (k + 1), abs=ROUNDING)
    x = legendre(2 * c - 1)[:, -1]
    assert np.abs(x).max() < ROUNDING
    assert pytest.approx(A @ A, abs=ROUNDING) == AA
    s = np.array([0.0, 0.3, 1.0])
    assert integrals(s) @ coefficients @ c**5 == pytest.approx(s**6 / 6, abs=ROUNDING)


@pytest.mark.parametrize("turned", [0.1, 3.0, 12.0, 40.0])
@pytest.mark.parametrize("ratio", [0.0, 0.02, 0.7])
def test_filters_invert_the_matrices_of_vibrations(turned, ratio):
    gauss = gauss_legendre()
    modes = StageModes(np.eye(1), np.eye(1), np.array([4.0]), np.array([2 * ratio * 2.0]))
    h = turned / 2.0
    matrix = np.eye(STAGES) + h * modes.damping[0] * gauss.A + h**2 * modes.squares[0] * gauss.AA
    # the eigenvectors of the coefficients are far from orthogonal, and Newton's method needs two digits
    assert modes.filters(h)[0] @ matrix == pytest.approx(np.eye(STAGES), abs=1e-6)


def test_vibrations_of_matrices():
    random = np.random.default_rng(3)
    S = random.normal(size=(5, 5))
    K = S @ np.diag([0.0, 1.0, 4.0, 9.0, 1e6]) @ np.linalg.inv(S)
    modes = StageModes.of(K, 0.3 * np.eye(5))
    assert np.sort(modes.squares) == pytest.approx([0.0, 1.0, 4.0, 9.0, 1e6], rel=1e-6, abs=1e-6)
    assert modes.inverse @ K @ modes.shapes == pytest.approx(np.diag(modes.squares), abs=1e-6)
    assert modes.damping == pytest.approx(np.full(5, 0.3))
    # pairs of complex ones keep their plane, and their real part
    turning = StageModes.of(np.array([[2.0, -1.0], [1.0, 2.0]]), np.zeros((2, 2)))
    assert turning.squares == pytest.approx([2.0, 2.0])
    assert turning.inverse @ turning.shapes == pytest.approx(np.eye(2))
    # what cannot be taken apart is left as it is: steps are then short
    for useless in (np.full((2, 2), np.nan), np.array([[1.0, 1.0], [0.0, 1.0]])):
        assert np.array_equal(StageModes.of(useless, np.zeros((2, 2))).shapes, np.eye(2))


# ---------------------------------------------------------------- known motions


def sprung(rate, **more):
    """A wheel on a spring, of one frequency."""
    joint = Joint(name="hub", axis="z", spring=Spring(stiffness=rate**2) if rate else None, **more)
    wheel = Rigid(mass=1.0, inertia=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    return Robot(name="wheel", gravity=NO_GRAVITY, links=[Link(name="wheel", joint=joint, rigid=wheel)])


@pytest.mark.parametrize("machine", [True, False])
def test_a_vibration_over_hundreds_of_periods(machine):
    rate, until = 1000.0, 4.0 if machine else 0.5
    arm = Dynamics(sprung(rate), compile="auto" if machine else "never")
    run = simulate(arm, until=until, start=Start(position={"hub": 1e-3}), method="gauss", tolerance=1e-9)
    assert run.q[:, 0] == pytest.approx(1e-3 * np.cos(rate * run.time), abs=1e-12)
    assert run.v[:, 0] == pytest.approx(-1e-3 * rate * np.sin(rate * run.time), abs=1e-9)
    # explicit steps of order eight take one per radian
    assert run.info.statistics["steps"] < rate * until / 5
    assert np.abs(run["energy.balance"]).max() < 1e-9 * 0.5 * rate**2 * 1e-6


@pytest.mark.parametrize("machine", [True, False])
def test_newton_steps_of_a_damped_vibration_are_few(machine):
    """Its matrix is known, and so is the first guess: what a wrong sign in either would cost is seen here alone."""
    rate, damping, until = 400.0, 40.0, 0.2
    arm = Dynamics(sprung(rate, friction=Friction(viscous=damping)), compile="auto" if machine else "never")
    run = simulate(arm, until=until, start=Start(position={"hub": 1.0}), method="gauss", tolerance=1e-6)
    own = np.sqrt(rate**2 - damping**2 / 4)
    exact = np.exp(-damping / 2 * run.time) * (np.cos(own * run.time) + damping / 2 / own * np.sin(own * run.time))
    assert run.q[:, 0] == pytest.approx(exact, abs=1e-7)
    counted = run.info.statistics
    # one of them, and in Python one more for the energies
    assert counted["evaluations"] / STAGES < (2.0 if machine else 3.0) * counted["steps"]


def test_error_control_follows_the_tolerance():
    rate = 300.0
    arm, errors = Dynamics(sprung(rate)), []
    for tolerance in (1e-4, 1e-6, 1e-8):
        run = simulate(arm, until=2.0, start=Start(position={"hub": 1.0}), method="gauss", tolerance=tolerance)
        errors.append(np.abs(run.q[:, 0] - np.cos(rate * run.time)).max())
        assert errors[-1] < tolerance
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.filterwarnings("ignore:link '")
def test_free_flight_of_a_flexible_satellite_keeps_what_is_conserved():
    arm = Dynamics(zoo.robot("satellite"))
    v = arm.v({"bus.x": 0.1, "bus.rx": 0.3, "bus.ry": 3.0, "bus.rz": -0.5, "left_drive": 0.2, "wrist": -0.4})
    options = {"until": 2.0, "start": (arm.q(), v), "output_step": 0.05}
    run = simulate(arm, method="gauss", tolerance=1e-10, **options)
    momentum = arm.momentum(run.q, run.v)
    for values in (momentum.linear, momentum.angular):
        assert np.abs(values - values[0]).max() < 1e-9 * np.abs(values).max()
    assert np.abs(run["energy.balance"]).max() < 1e-9 * arm.energy(run.q[0], run.v[0]).kinetic
    exact = simulate(arm, method="dop853", tolerance=1e-12, **options)
    for frame in ("left.tip", "bus.root"):
        found, expected = (arm.pose(frame, each.q) for each in (run, exact))
        assert found.position == pytest.approx(expected.position, abs=1e-8)
        assert found.rotation == pytest.approx(expected.rotation, abs=1e-8)


# ---------------------------------------------------------------- the Canadarm


@pytest.fixture(scope="module")
def canadarm():
    """The forced run by the other method, with samples that lie within steps."""
    options = {"integrator": {"method": "dop853", "tolerance": 1e-12}, "until": 5.0, "outputs": {"step": 1e-3}}
    return run_study(load_study("canadarm", changes=options))


@pytest.mark.parametrize("tolerance", [1e-5, 1e-8])
def test_the_forced_run_of_the_canadarm(canadarm, tolerance):
    changes = {"integrator": {"method": "gauss", "tolerance": tolerance}, "until": 5.0, "outputs": {"step": 1e-3}}
    run = run_study(load_study("canadarm", changes=changes))
    counted = run.info.statistics
    assert counted["steps"] < 700
    assert counted["evaluations"] < 3.3 * STAGES * counted["steps"]
    assert np.abs(run.q - canadarm.q).max() < tolerance
    assert np.abs(run.v - canadarm.v).max() < tolerance
    if tolerance == 1e-8:
        assert np.abs(run["energy.balance"]).max() < 1e-8
        for name in ("tip.deviation", "shoulder", "upper.deflection"):
            if name in run.listed and name in canadarm.listed:
                assert run.extreme(name).value == pytest.approx(canadarm.extreme(name).value, rel=1e-6, abs=1e-9)


def test_vibrations_are_brought_up_to_date_on_the_way():
    """By perturbation: those of another place are found anew a few times at most."""
    run = Run(load_study("canadarm", changes={"integrator": {"method": "gauss"}}))
    run.go()
    n = run.arm.size
    assert run.integrator.name == "gauss"
    assert not run.integrator.steps_in_python
    assert run.integrator.statistics.matrices < 6
    shapes, inverse, _, damping = Gauss().modes(run.integrator.stepped)
    assert inverse @ shapes == pytest.approx(np.eye(n), abs=1e-4)

    def stiffness(y):
        return -_state_matrix(run.equations, y)[n:, :n]

    def coupling(modes):
        """Largest force of one vibration on another, now."""
        B = modes.inverse @ stiffness(run.integrator.y) @ modes.shapes
        return np.abs(B - np.diag(np.diag(B))).max()

    run.equations.enter(0.0, run.study.until)
    first = StageModes.of(stiffness(run.equations.start(run.q0, run.v0)), np.zeros((n, n)))
    assert coupling(StageModes(shapes, inverse, damping, damping)) < 0.1 * coupling(first)


# ---------------------------------------------------------------- what is harder


@pytest.mark.filterwarnings("ignore:gauss is for smooth motion")
@pytest.mark.parametrize("ki", [0.0, 100.0])
def test_heavy_damping_makes_it_slow_and_not_wrong(ki):
    """With states of the drive the Newton matrix knows all damping, and nothing is refused."""
    drive = PID(kp=[400.0, 120.0], kd=[60.0, 20.0], ki=[ki, 0.0])
    options = {"until": 0.3, "drive": drive, "start": Start(position={"shoulder": 0.4}), "limits": "ignore"}
    arm = Dynamics("two-link-flexible")
    exact = simulate(arm, method="dop853", tolerance=1e-12, **options)
    run = simulate(arm, method="gauss", tolerance=1e-8, **options)
    assert (run.info.statistics["rejected"] > 0) == (ki == 0.0)
    assert np.abs(run.q - exact.q).max() < 1e-9
    assert np.abs(run["energy.balance"]).max() < 1e-8


@pytest.mark.parametrize("machine", [True, False])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_integrals_of_controllers_belong_to_the_stages(machine, tolerance):
    """Their states follow from the motion of the same iteration; an iteration late they spoil convergence and more."""
    arm = Dynamics(sprung(0.0 if machine else 5.0), compile="auto" if machine else "never")
    drive = PID(kp=100.0, kd=20.0, ki=300.0, trajectory=Quintic(to={"hub": 1.0}, duration=0.5))
    options = {"until": 1.0, "drive": drive, "start": Start(position={"hub": 0.1})}
    exact = simulate(arm, method="dop853", tolerance=1e-12, **options)
    # in a single step over the whole move, powers are known at sixteen places only
    run = simulate(arm, method="gauss", tolerance=tolerance, max_step=0.25, **options)
    assert np.abs(run.q - exact.q).max() < 0.1 * tolerance
    assert np.abs(run["energy.balance"]).max() < tolerance
    counted = run.info.statistics
    assert counted["steps"] < 30
    assert counted["rejected"] < 8
    assert counted["matrices"] < 8


def test_nothing_but_prescribed_joints():
    drive = pliant.PrescribedMotion(trajectory=Quintic(to={"hub": 1.0}, duration=0.5))
    run = simulate(Dynamics(sprung(5.0)), until=0.5, drive=drive, method="gauss")
    assert run.q[-1] == pytest.approx([1.0])
    assert np.abs(run["energy.balance"]).max() < 1e-6


def test_kinks_are_warned_of():
    arm = Dynamics(sprung(20.0, friction=Friction(coulomb=0.1)))
    options = {"until": 0.05, "start": Start(position={"hub": 0.1})}
    with pytest.warns(SimulationWarning, match="kinks of dry friction unseen: dop853 and esdirk follow them"):
        simulate(arm, method="gauss", **options)
    assert not simulate(arm, method="dop853", **options).warnings


@pytest.mark.parametrize("method", ["dop853", "gauss", "esdirk"])
def test_an_interrupted_call_is_made_again(method, monkeypatch):
    """An interrupt comes when machine code has taken its steps, and before anybody has heard of them."""
    changes = {"until": 0.2, "integrator": {"method": method}}
    whole, run = (Run(load_study("canadarm", changes=changes)) for _ in range(2))
    assert whole.go()
    counted = CompiledIntegrator._counted

    def interrupted(*given):
        counted(*given)
        monkeypatch.setattr(CompiledIntegrator, "_counted", counted)
        raise KeyboardInterrupt

    monkeypatch.setattr(CompiledIntegrator, "_counted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.go()
    assert run.integrator.t == 0.0
    assert run.go()
    assert run.recorder.samples().q == pytest.approx(whole.recorder.samples().q, abs=1e-9)


@pytest.mark.filterwarnings("ignore:gauss is for smooth motion")
@pytest.mark.parametrize("robot", ["four-bar", "three-prs"])
def test_closed_loops(robot):
    arm = Dynamics(robot)
    options = {"until": 0.1, "output_step": 1e-3}
    exact = simulate(arm, method="dop853", tolerance=1e-11, **options)
    run = simulate(arm, method="gauss", tolerance=1e-8, **options)
    assert np.abs(run.q - exact.q).max() < 1e-9
    assert np.abs(arm.loops.gaps(run.q[-1])).max() < 1e-9


def test_events_are_found_within_a_step():
    arm, at = Dynamics(sprung(200.0)), 0.3
    given = {"until": 1.0, "start": Start(position={"hub": 1.0}), "events": [Event(quantity="hub", below=at)]}
    run = simulate(arm, method="gauss", **given)
    assert run.time[-1] == pytest.approx(np.arccos(at) / 200.0, abs=1e-6)


@pytest.mark.parametrize(("study", "until"), [("two-link-circle", 0.6), ("dualemps-square", 0.1)])
def test_prescribed_joints(study, until, monkeypatch):
    """Trees and loops, with the efforts and the work of their motors."""
    options = {"until": until, "outputs": {"step": until / 50}}
    fine, changes = (
        {**options, "integrator": x} for x in ({"method": "dop853", "tolerance": 1e-12}, {"method": "gauss"})
    )
    run, exact = Run(load_study(study, changes=changes)), run_study(load_study(study, changes=fine))
    assert run.go()
    assert run.integrator.name == "gauss"
    assert not run.integrator.steps_in_python
    found, scale = run.result(), np.abs(exact.tau).max()
    assert scale > 0.1
    assert np.abs(found.q - exact.q).max() < 1e-9
    assert np.abs(found.tau - exact.tau).max() < 1e-6 * scale
    assert np.abs(found["energy.balance"]).max() < 1e-9
    assert found["work"][-1] == pytest.approx(exact["work"][-1], rel=1e-8, abs=1e-12)
    # and in Python
    monkeypatch.setattr(compiled, "compilable", lambda equations: None)
    changes = {**changes, "until": until / 25}
    plain = Run(load_study(study, changes=changes))
    assert plain.go()
    assert plain.integrator.steps_in_python
    q = plain.recorder.samples().q
    assert np.abs(q - found.q[: len(q)]).max() < 1e-9


# ---------------------------------------------------------------- choice


def chosen(arm, until=30.0, tolerance=1e-8, drive=None, loads=()):
    equations = StateEquations(arm, drive or NoDrive(len(arm.inputs)), loads)
    return choose(IntegratorOptions(tolerance=tolerance), equations, *Start().state(arm), until)


def test_lasting_vibrations_are_followed_by_collocation():
    method, reason = chosen(Dynamics(sprung(1000.0)))
    assert method == "gauss"
    assert "1000 rad/s" in reason
    assert "does not die away" in reason
    assert Run(load_study("canadarm")).method == "gauss"


@pytest.mark.parametrize(
    ("more", "until"),
    [({"friction": Friction(coulomb=0.1)}, 30.0), ({}, 1.0)],
    ids=["dry friction", "soon over"],
)
def test_other_motions_are_not(more, until):
    assert chosen(Dynamics(sprung(1000.0, **more)), until)[0] == "dop853"


@pytest.mark.parametrize("kind", ["stops", "saturated", "callback", "damping across"])
def test_nor_are_those_with_kinks_and_those_that_would_not_converge(kind):
    if kind == "damping across":
        run = Run(load_study("seven-joint", changes={"until": 100.0}))
        assert run.method != "gauss"
        return
    limits = Limits(position=(-1.0, 1.0), effort=5.0)
    arm = Dynamics(sprung(1000.0, limits=limits))
    given = {
        "stops": {"stops": pliant.Stops(stiffness=1e4)},
        "saturated": {"drive": PID(kp=1.0, kd=0.0, saturate=True)},
        "callback": {"drive": lambda t, q, v: np.zeros(1)},
    }[kind]
    free = simulate(arm, until=0.01, drive=PID(kp=1.0, kd=0.0))
    assert free.info.method == "dop853"
    run = simulate(arm, until=4.0, **given)
    assert run.info.method != "gauss"


def test_the_largest_step_decides_too():
    for largest, method in ((None, "gauss"), (1e-3, "dop853")):
        study = load_study("canadarm", changes={"integrator": {"max_step": largest} if largest else {}})
        assert Run(study).method == method


def test_small_calls_and_large_ones_are_the_same(monkeypatch):
    changes = {"until": 0.5, "integrator": {"method": "gauss"}}
    whole = run_study(load_study("canadarm", changes=changes))
    monkeypatch.setattr(compiled, "STEPS_PER_CALL", 6)
    parts = run_study(load_study("canadarm", changes=changes))
    assert np.array_equal(whole.q, parts.q)
    assert whole.info.statistics == parts.info.statistics
