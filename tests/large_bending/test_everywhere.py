"""Every path of the program takes links that bend far, in a tree and in a closed loop.

Exports, forms of closed loops and identities have their own tables, in which such robots stand; here is the rest.
"""

import numpy as np
import pytest

import pliant
from closed_robots import four_bar
from pliant import Beam, Dynamics, Joint, Link, Modes, Properties, Rectangle, RigidPart, Robot
from pliant.analysis.sensitivity import acceleration_sensitivity
from pliant.engine.trace.structure import structure_key
from pliant.simulation.run import Run
from pliant.simulation.study import IntegratorOptions, Outputs, Study

KINDS = ("second-order", "exact")
CASES = [(shape, kind) for shape in ("tree", "loop") for kind in KINDS]
DIFFERENCED = 1e-6
"""Central differences, relative to the largest entry."""
ROUNDING = 1e-10
DRIFT = 1e-9
"""Of the energy, over a run at tolerance 1e-11."""
POWER = 1e-9


def tree(kind):
    """Two soft bars in a vertical plane, the second with a load; their tips sag to slopes of a quarter radian."""
    properties = Properties(mass_per_length=0.4, EIz=16.0)
    beam = Beam(length=0.8, properties=properties, bending=kind, modes=Modes(bend_y=2))
    links = [
        Link(
            name=name,
            joint=Joint(name=f"{name}_joint"),
            hub=RigidPart(mass=0.1, inertia=1e-3),
            beam=beam,
            payloads=load,
        )
        for name, load in (("upper", ()), ("lower", (RigidPart(mass=0.2),)))
    ]
    return Robot(name="arm", links=links, gravity=(0, -9.81, 0))


def loop(kind):
    """A four-bar of thin strips."""
    section = Rectangle(width=0.002, height=0.02)
    made = four_bar()
    links = [
        link.with_changes(
            beam=Beam(length=link.length, material="steel", section=section, bending=kind, modes=Modes(bend_y=1))
        )
        for link in made.links
    ]
    return made.with_changes(links=links)


@pytest.fixture(scope="module", params=CASES, ids=["-".join(case) for case in CASES])
def arm(request):
    shape, kind = request.param
    return Dynamics({"tree": tree, "loop": loop}[shape](kind))


@pytest.fixture(scope="module")
def motion(arm):
    """A state that closes the loops, with deflections that matter."""
    rng = np.random.default_rng(4)
    joints = np.isin(arm.names, arm.robot.joint_coordinates)
    start = arm.assemble(hold=[]) if arm.loops.rows else np.zeros(arm.size)
    q = start + np.where(joints, 0.02, 0.01) * rng.standard_normal(arm.size)
    v = np.where(joints, 1.0, 0.1) * rng.standard_normal(arm.size)
    return arm.project(q, v) if arm.loops.rows else (q, v)


@pytest.fixture(scope="module")
def tau(arm):
    return np.linspace(0.3, -0.2, len(arm.inputs))


def close(found, wanted, tolerance):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


def test_inverse_and_batches(arm, motion, tau):
    q, v = motion
    a = arm.forward(q, v, tau)
    driven = [arm.names.index(name) for name in arm.inputs]
    found, _ = arm.inverse(q, v, a[driven])
    close(found, tau, 1e-8)
    many = arm.forward(np.stack([q, q]), np.stack([v, 0.5 * v]), np.stack([tau, -tau]))
    close(many, [a, arm.forward(q, 0.5 * v, -tau)], ROUNDING)


def test_power_balance(arm, motion, tau):
    """The energy changes by what the drives give; differences of order eight along the motion."""
    q, v = motion
    a = arm.forward(q, v, tau)
    lost = v @ arm.damping @ v
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}

    def energy(s):
        return arm.energy(q + s * v, v + s * a).total

    step = 2e-4
    rate = sum(w / step * (energy(k * step) - energy(-k * step)) for k, w in weights.items())
    size = np.abs(v @ arm.mass_matrix(q) @ a)
    assert rate == pytest.approx(tau @ (arm.B.T @ v) - lost, abs=POWER * size)


def test_rest_modes_and_linear_model(arm):
    """At rest nothing accelerates; modes and the poles of the linear model about it are the same."""
    found = pliant.equilibrium(arm)
    nothing = np.zeros(arm.size)
    weight = np.abs(arm.forward(arm.assemble(hold=[]) if arm.loops.rows else nothing, nothing, found.tau)).max()
    assert np.abs(arm.forward(found.q, nothing, found.tau)).max() < 1e-8 * weight
    free = pliant.modes(arm, found.q, locked=False).squares
    poles = np.linalg.eigvals(pliant.linearise(arm, found.q).A)
    wanted = np.sort(-(poles**2).real)[::2]
    np.testing.assert_allclose(np.sort(free), wanted, rtol=1e-6, atol=1e-6 * wanted[-1])


def test_sensitivity(arm, motion, tau):
    q, v = motion
    parameter = f"{arm.robot.links[1].name}.beam.length"
    value = arm.robot.get(parameter)
    step = 1e-4 * value
    ahead, behind = (
        Dynamics(arm.robot.set(parameter, value + s), compile="never").forward(q, v, tau) for s in (step, -step)
    )
    close(acceleration_sensitivity(arm, parameter, q, v, tau), (ahead - behind) / (2 * step), DIFFERENCED)


def test_other_values_need_no_other_code(arm):
    """A sweep over lengths and stiffness compiles nothing."""
    name = arm.robot.links[1].name
    changed = arm.robot.set(f"{name}.beam.length", 1.01 * arm.robot.get(f"{name}.beam.length"))
    stiffness = f"{name}.beam.properties.EIz" if arm.robot.link(name).beam.properties else f"{name}.beam.section.width"
    changed = changed.set(stiffness, 1.1 * changed.get(stiffness))
    assert structure_key(Dynamics(changed, compile="never").tree) == structure_key(arm.tree)


def study(arm, until=0.3, tolerance=1e-11):
    return Study(
        name="free",
        robot=arm.robot,
        until=until,
        integrator=IntegratorOptions(method="dop853", tolerance=tolerance, max_step=until / 3000),
        outputs=Outputs(step=until / 10),
    )


def test_energy_and_going_on(arm):
    """Without drives and damping the energy stays; a run that was interrupted goes on to the last bit."""
    whole, first, second = (Run(study(arm), arm) for _ in range(3))
    whole.go()
    result = whole.result()
    energy = result["energy.total"]
    moved = np.abs(result["energy.kinetic"]).max()
    assert moved > 0
    assert np.ptp(energy) < DRIFT * moved
    # machine code comes back after some thousand steps
    first.go(lambda at: True)
    assert 0 < first.t < whole.t
    second.recall(first.memory(), first.recorder.samples())
    second.go()
    assert second.recorder.samples() == whole.recorder.samples()
