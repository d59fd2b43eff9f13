"""Which integrator `auto` takes: a reason for every robot, whatever its slowest and its fastest motions are."""

import numpy as np
import pytest

import zoo
from pliant import PID, Beam, Cycloidal, Damping, Dynamics, Joint, Link, Modes, Properties, Rigid, Robot, Study
from pliant.analysis.modes import held_squares, modes
from pliant.drives.given import NoDrive
from pliant.simulation.choice import LinearStart, choose, estimated_steps, fastest_rate, followed
from pliant.simulation.integrators.compiled import compilable
from pliant.simulation.integrators.compiled_systems import inertia_and_stiffness
from pliant.simulation.run import Run, simulate
from pliant.simulation.start import Start
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import IntegratorOptions
from pliant.trajectories.path import Surroundings

NO_GRAVITY = (0.0, 0.0, 0.0)
CHAIN = 160
"""Links whose states are more than those that a choice makes a matrix of."""


def flexible(name, EI, parent=None, **joint):
    properties = Properties(mass_per_length=1.0, EIy=EI, EIz=EI, GJ=EI, EA=1e6)
    beam = Beam(length=0.7, properties=properties, modes=Modes(shape="clamped-free", bend_y=2))
    return Link(name=name, joint=Joint(name=f"{name}_joint", **joint), beam=beam)


def satellite():
    """Six motions without any stiffness, and an antenna."""
    body = Link(name="body", joint=Joint(name="free", type="free"), rigid=Rigid(mass=3.0, inertia=(0.1, 0.2, 0.3)))
    return Robot(name="satellite", gravity=NO_GRAVITY, links=[body, flexible("antenna", 40.0, type="fixed")])


def passive_elbow():
    links = [flexible("upper", 1e4, axis="z"), flexible("fore", 1e4, axis="z", actuated=False)]
    return Robot(name="passive", gravity=NO_GRAVITY, links=links)


def uneven():
    """Stiffnesses that differ by twelve decades."""
    return Robot(name="uneven", gravity=NO_GRAVITY, links=[flexible("soft", 1e-4), flexible("hard", 1e8)])


def equations_of(robot):
    arm = Dynamics(robot)
    return StateEquations(arm, NoDrive(len(arm.inputs))), Start().state(arm)


@pytest.mark.parametrize(("make", "until"), [(satellite, 1e4), (passive_elbow, 20.0), (uneven, 50.0)])
def test_motions_without_frequency_do_not_matter(make, until):
    equations, state = equations_of(make())
    for time in (until, 1e5 * until):
        with np.errstate(all="raise"):
            method, reason = choose(IntegratorOptions(), equations, *state, time)
        assert method in ("dop853", "gauss", "esdirk")
        assert "inf" not in reason
        assert "nan" not in reason


@pytest.mark.parametrize("make", [satellite, passive_elbow, uneven, lambda: zoo.robot("clamped-free")])
def test_the_fastest_rate_by_iteration(make, monkeypatch):
    """Without a matrix of all states, to the digits that a choice needs."""
    equations, state = equations_of(make())
    by_matrix = fastest_rate(equations, *state)
    monkeypatch.setattr("pliant.simulation.choice.ITERATED", 2)
    assert fastest_rate(equations, *state) == pytest.approx(by_matrix, rel=0.05)


@pytest.mark.filterwarnings("ignore:torsion of 'l0' and elongation of")  # both sides lack them
@pytest.mark.parametrize("make", [satellite, passive_elbow, lambda: zoo.robot("clamped-free")])
def test_natural_frequencies_from_the_code_of_implicit_steps(make):
    """The same as those of modes, whose derivatives are not compiled for a choice; feedback holds what drives hold."""
    arm = Dynamics(make())
    gains = {"kp": 70.0, "kd": 3.0} if arm.inputs else None
    drive = NoDrive(0) if gains is None else PID(**gains).bind(Surroundings(arm, arm.q()), arm.q() @ arm.B)
    equations = StateEquations(arm, drive)
    M, K = inertia_and_stiffness(equations, compilable(equations), arm.q())
    assert pytest.approx(arm.mass_matrix(arm.q()), rel=1e-9, abs=1e-12 * np.abs(M).max()) == M
    wanted = modes(arm, arm.q()).squares
    assert held_squares(arm, M, K) == pytest.approx(wanted, rel=1e-8, abs=1e-10 * np.abs(wanted).max())


def test_a_sampled_drive_holds_nothing_before_its_first_tick():
    """Between ticks a computer's command is constant: the stiffness is that of the robot alone."""
    arm = Dynamics("single-flexible-link")
    drive = PID(kp=30.0, kd=1.5, sampling={"period": 0.002, "delay": 0.001})
    drive = drive.bind(Surroundings(arm, arm.q()), arm.q() @ arm.B)
    equations = StateEquations(arm, drive)
    M, K = inertia_and_stiffness(equations, compilable(equations), np.zeros(arm.size))
    assert pytest.approx(arm.mass_matrix(np.zeros(arm.size)), abs=1e-9 * np.abs(M).max()) == M
    free = StateEquations(arm, NoDrive(1))
    _, alone = inertia_and_stiffness(free, compilable(free), np.zeros(arm.size))
    assert pytest.approx(alone, abs=1e-9 * np.abs(alone).max()) == K


def test_a_large_model_is_judged_without_its_matrices(monkeypatch):
    equations, state = equations_of(passive_elbow())
    monkeypatch.setattr("pliant.simulation.choice.ITERATED", 2)
    monkeypatch.setattr("pliant.simulation.choice.MOST_IMPLICIT", 2)
    monkeypatch.setattr("pliant.simulation.choice.modes", lambda *_: pytest.fail("asked for all modes"))
    method, reason = choose(IntegratorOptions(), equations, *state, 1e6)
    assert method == "dop853"
    assert "matrices of 6 rows" in reason


@pytest.mark.filterwarnings("ignore:.*shear counts there", "ignore:.*its spring acts beside its motor")
def test_a_run_needs_no_matrix_of_all_coordinates(monkeypatch):
    """A large robot has no room for one; what is computed instead is the same."""
    robot = zoo.robot("pinned")
    whole = simulate(robot, until=0.02, method="dop853")
    monkeypatch.setattr("pliant.simulation.choice.ITERATED", 2)
    for name in ("mass_matrix", "stiffness", "damping"):
        monkeypatch.setattr(Dynamics, name, lambda *_: pytest.fail("asked for a matrix"))
    run = simulate(robot, until=0.02, method="dop853")
    assert run.samples == whole.samples
    assert run.warnings == whole.warnings
    for name, extreme in whole.info.extremes.items():
        assert run.info.extremes[name] == pytest.approx(extreme, rel=1e-9, abs=1e-12)


def test_a_long_chain_is_run_by_iteration_and_link_by_link(monkeypatch):
    """With its real limits: nothing is asked for that grows with the square of the coordinates."""
    part = Rigid(mass=0.1, com=(0.05, 0.0, 0.0), inertia=1e-4, length=0.1)
    links = [Link(name=f"l{k}", joint=Joint(name=f"j{k}", actuated=False), rigid=part) for k in range(CHAIN)]
    arm = Dynamics(Robot(name="chain", gravity=(0.0, -9.81, 0.0), links=links))
    for owner, name in (
        (Dynamics, "mass_matrix"),
        (Dynamics, "stiffness"),
        (Dynamics, "damping"),
        (np.linalg, "eigvals"),
    ):
        monkeypatch.setattr(owner, name, lambda *_: pytest.fail("asked for a matrix"))
    monkeypatch.setattr(StateEquations, "law", property(lambda _: pytest.fail("one kernel")))
    monkeypatch.setattr("pliant.simulation.integrators.compiled.MOST_COMPILED", CHAIN - 1)
    run = simulate(arm, until=0.02, output_step=0.01)
    assert "rad/s" in run.info.reason
    # from rest, link by link: what falls is what moves
    assert run["energy.kinetic"][-1] == pytest.approx(run["energy.gravity"][0] - run["energy.gravity"][-1], rel=1e-6)
    assert not run.warnings


# ---------------------------------------------------------------- rods


def wire(damping=0.0, load=0.2, **modes):
    """A metre of steel wire, 2 mm thick, that bends far, with a load at its tip."""
    beam = Beam(
        length=1.0,
        material="steel",
        section={"round": {"diameter": 2e-3}},
        bending="exact",
        modes=Modes(**modes),
        damping=Damping(rayleigh={"stiffness": damping}) if damping else None,
    )
    hub = Joint(name="hub", axis="y")
    parts = [{"mass": load, "inertia": 1e-5}]
    return Robot(name="wire", gravity=NO_GRAVITY, links=[Link(name="wire", joint=hub, beam=beam, payloads=parts)])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        ({"bend_z": 1, "axial": 2}, "mostly of 'wire.axial.2': stretch, whose waves are fast"),
        ({"bend_z": 1, "torsion": 2}, "mostly of 'wire.torsion.2': torsion of a thin beam"),
        ({"bend_z": 3, "damping": 0.2}, "where damping is what makes it fast"),
    ],
)
def test_rods_with_fast_motions_that_do_not_matter_are_stepped_implicitly(make, words):
    arm = Dynamics(wire(**make), compile="never")
    equations, state = StateEquations(arm, NoDrive(1)), Start().state(arm)
    method, reason = choose(IntegratorOptions(), equations, *state, 100.0)
    assert method == "esdirk"
    assert words in reason
    # without them bending alone is followed by explicit steps
    plain = Dynamics(wire(bend_z=1), compile="never")
    assert choose(IntegratorOptions(), StateEquations(plain, NoDrive(1)), *Start().state(plain), 100.0)[0] == "dop853"


# ---------------------------------------------------------------- fast motions that die away

SLOW_MOVE = Cycloidal(to={"shoulder": 0.15}, duration=1.0)
ROUGHLY_TWICE = 2.5
"""What an estimate of steps may be off: it knows the model at its start alone, and not how much a motion excites."""


def controlled(damping, kd, friction=0.0):
    """A stiffly controlled bar that makes a slow move."""
    bar = Beam(
        length=0.6,
        properties=Properties(mass_per_length=1.3, EIy=403.0, EIz=403.0, EA=3e7),
        modes=Modes(shape="clamped-free", bend_y=2),
        bending="linear",
        damping=Damping(rayleigh={"stiffness": damping}),
    )
    joint = Joint(name="shoulder", axis="z", friction={"coulomb": friction, "smoothing": 1e-3} if friction else None)
    robot = Robot(
        name="bar",
        gravity=NO_GRAVITY,
        links=[Link(name="bar", joint=joint, hub={"mass": 0.0, "inertia": 0.05}, beam=bar)],
    )
    return robot, PID(trajectory=SLOW_MOVE, kp=(2e4,), kd=(kd,))


def run_of(method="auto", tolerance=1e-6, until=3.0, damping=1e-3, kd=500.0, **friction):
    robot, drive = controlled(damping, kd, **friction)
    options = IntegratorOptions(method=method, tolerance=tolerance)
    return Run(Study(name="move", robot=robot, drive=drive, until=until, integrator=options))


def test_a_motion_is_followed_as_long_as_it_lasts():
    poles = np.array([-1e-9 + 50j, -1e-9 - 50j])
    assert followed(poles, 2.0, 0, 1e-8) == pytest.approx(100.0)
    # to the tolerance by its damping, again after every break; then the slower one
    poles = np.array([-100.0 + 0j, -1e-9 + 3j])
    lasting = 3 * np.log(1e8) / 100.0
    assert followed(poles, 10.0, 2, 1e-8) == pytest.approx(100.0 * lasting + 3.0 * (10.0 - lasting))
    # and never longer than the run
    assert followed(poles, 0.1, 2, 1e-8) == pytest.approx(10.0)


def test_slow_well_damped_motion_is_stepped_implicitly():
    run = run_of()
    assert run.method == "esdirk"
    assert "it dies away, and what stays is slow: the model is stiff, about" in run.reason
    assert "explicit ones" in run.reason


@pytest.mark.parametrize(
    "other",
    [
        {"damping": 1e-7, "kd": 0.1},
        {"tolerance": 1e-13},
        {"until": 0.05},
        {"friction": 3.0, "kd": 30.0},
    ],
    ids=["light damping", "tight tolerance", "short", "dry friction, which damps at rest alone"],
)
def test_explicit_steps_follow_what_stays_or_is_short(other):
    assert run_of(**other).method == "dop853"


def test_the_steps_of_a_motion_are_estimated():
    """Against those that both integrators really take."""
    run = run_of()
    explicit, implicit = estimated_steps(LinearStart(run.equations, run.q0, run.v0), 3.0, 1e-6)
    for method, expected in (("dop853", explicit), ("esdirk", implicit)):
        taken = run_of(method)
        taken.go()
        steps = taken.result().info.statistics["steps"]
        assert 1 / ROUGHLY_TWICE < expected / steps < ROUGHLY_TWICE
