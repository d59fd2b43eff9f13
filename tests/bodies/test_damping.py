"""Structural damping: ratios come back, zeros stay zeros."""

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant import Beam, Damping, Joint, Link, Modes, Properties, Rigid, RigidPart, Robot, Spring, load
from pliant.analysis.modes import modes
from pliant.bodies.assembled import assemble_elastic
from pliant.bodies.build import build_body, damping_ratios
from pliant.bodies.damping import modal_damping, rayleigh_damping
from pliant.bodies.elements import element_set
from pliant.bodies.invariants import assemble
from pliant.dynamics import Dynamics
from pliant.model.errors import ModelError


def ratios(M, K, D):
    squares, V = eigh(K, M)
    projected = V.T @ D @ V
    return projected / (2 * np.sqrt(squares)), np.sqrt(squares)


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.7])
def test_modal_ratio_is_recovered(ratio, tapered):
    sets = [element_set(family, tapered, 3) for family in ("bend_y", "bend_z", "torsion", "axial")]
    body = assemble(sets, tapered, {}, section_inertia=True)
    D = modal_damping(body.M_ee, body.K_ee, ratio)
    found, _ = ratios(body.M_ee, body.K_ee, D)
    assert np.diag(found) == pytest.approx(ratio, rel=1e-8)
    # the eigenvalues of the damped link say the same: -zeta omega +- i omega sqrt(1 - zeta^2)
    n = body.size
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(body.M_ee, np.hstack([body.K_ee, D]))]])
    s = np.linalg.eigvals(A)
    slowest = s[np.argmin(np.abs(s))]
    assert -slowest.real / np.abs(slowest) == pytest.approx(ratio, abs=1e-6)
    assert np.array_equal(D, D.T)
    family = np.array([name.split(".")[0] for name in body.names])
    assert not D[family[:, None] != family].any()


def test_diagonal_matrices_give_diagonal_damping():
    M, K = np.diag([2.0, 3.0, 0.5]), np.diag([8.0, 27.0, 50.0])
    D = modal_damping(M, K, 0.1)
    assert np.array_equal(D, np.diag(np.diag(D)))
    assert np.diag(D) == pytest.approx(2 * 0.1 * np.sqrt(np.diag(M) * np.diag(K)))


def test_rayleigh():
    M, K = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[9.0, -1.0], [-1.0, 4.0]])
    D = rayleigh_damping(M, K, 0.2, 0.05)
    found, omega = ratios(M, K, D)
    assert np.diag(found) == pytest.approx(0.2 / (2 * omega) + 0.05 * omega / 2)


def test_coordinates_without_stiffness_are_not_damped():
    M, K = np.eye(2), np.diag([0.0, 4.0])
    assert modal_damping(M, K, 0.1) == pytest.approx(np.diag([0.0, 0.4]))


# ---------------------------------------------------------------- with what the link carries


def carrying(*payloads, **changes):
    """A horizontal beam of 1 kg on a held joint, 1 % damping asked for."""
    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=1.0, EIz=30.0),
        modes=Modes(shape="clamped-free", bend_y=3),
        damping=Damping(ratio=0.01),
        **changes,
    )
    link = Link(name="arm", joint=Joint(name="hub"), beam=beam, payloads=payloads)
    return Robot(name="loaded", gravity=(0, 0, 0), links=[link])


@pytest.mark.parametrize("mass", [0.3, 1.0, 10.0])
def test_a_loaded_link_has_the_ratio_that_was_asked_for(mass):
    """The bare link's damping would give 0.49, 0.29 and 0.096 % in the first mode."""
    robot = carrying(RigidPart(mass=mass, com=(0.02, 0.03, 0), inertia=0.002 * mass), RigidPart(mass=0.1, frame="root"))
    assert modes(Dynamics(robot, compile="never")).damping_ratios == pytest.approx([0.01] * 3, rel=1e-9)
    assert damping_ratios(robot.links[0], robot) == pytest.approx([0.01] * 3, rel=1e-9)


def test_outboard_links_are_carried_too():
    """With all joints but the first locked, a chain vibrates as its first link with a rigid load."""
    first = carrying(RigidPart(mass=0.2)).links[0]
    rest = Link(
        name="fore",
        joint=Joint(name="elbow", type="fixed", placement={"rotation": {"z": 0.7}}),
        rigid=Rigid(mass=0.8, com=(0.3, 0.1, 0), inertia=(0.01, 0.02, 0.03)),
    )
    robot = Robot(name="chain", gravity=(0, 0, 0), links=[first, rest])
    assert modes(Dynamics(robot, compile="never")).damping_ratios == pytest.approx([0.01] * 3, rel=1e-9)


def test_a_load_in_the_plane_keeps_the_families_apart():
    """What rounding leaves of a quarter turn couples nothing."""
    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=1.0, EIz=30.0, EIy=20.0, GJ=5.0, rhoJ=1e-3),
        modes=Modes(shape="clamped-free", bend_y=2, bend_z=2, torsion=1),
        damping=Damping(ratio=0.01),
    )
    quarter = Joint(name="elbow", type="fixed", placement={"rotation": {"z": np.pi / 2}})
    links = [
        Link(name="upper", joint=Joint(name="hub"), beam=beam),
        Link(name="fore", joint=quarter, rigid=Rigid(mass=1.0, com=(0.4, 0, 0), inertia=(0.01, 0.02, 0.02))),
    ]
    body = build_body(links[0], Robot(name="elbow", links=links))
    family = np.array([name.split(".")[0] for name in body.names])
    assert not body.D_ee[(family == "bend_y")[:, None] & (family != "bend_y")].any()


# ---------------------------------------------------------------- the whole robot

SAME_SYSTEM = 1e-8
"""Frequencies of two assemblies of one robot; fifteen pinned shapes on a held root cost half of all digits."""


@pytest.mark.parametrize("name", ["two-link-flexible", "six-dof", "cibicik-4dof", "canadarm", "lin-lewis-one-link"])
def test_the_assembly_is_that_of_the_dynamics(name):
    """Mass and stiffness of the straight robot, put together twice: here and by the recursion."""
    robot = load(name).with_changes(gravity=(0, 0, 0))
    system = assemble_elastic(robot, {link.name: build_body(link, robot) for link in robot.links})
    arm = Dynamics(robot, compile="never")
    found = modes(arm, arm.reference_pose())
    assert np.sqrt(eigh(system.K, system.M, eigvals_only=True)) == pytest.approx(found.frequencies, rel=SAME_SYSTEM)


def test_passive_joints_follow_and_sprung_ones_vibrate():
    beam = Beam(length=0.8, properties=Properties(mass_per_length=1.0, EIz=30.0), modes=Modes(bend_y=2))
    hinge = Joint(name="hinge", actuated=False, placement={"rotation": {"z": 0.4}})
    sprung = Joint(name="sprung", actuated=False, axis=(0, 0.6, 0.8), spring=Spring(stiffness=40.0))
    rail = Joint(name="rail", type="prismatic", axis="y")
    links = [
        Link(name="a", joint=rail, beam=beam, hub=RigidPart(mass=0.5, inertia=0.01)),
        Link(name="b", joint=hinge, beam=beam, payloads=[RigidPart(mass=0.3, com=(0, 0.1, 0), inertia=0.01)]),
        Link(name="c", joint=sprung, rigid=Rigid(mass=0.4, com=(0.2, 0, 0.1), inertia=(0.01, 0.02, 0.02))),
    ]
    robot = Robot(name="passive", gravity=(0, 0, 0), links=links, pose={"hinge": 0.3, "sprung": -0.2, "rail": 0.1})
    system = assemble_elastic(robot, {link.name: build_body(link, robot) for link in robot.links})
    arm = Dynamics(robot, compile="never")
    found = modes(arm, arm.reference_pose())
    assert found.rigid == 1
    expected = found.frequencies[found.squares > 0]
    assert np.sqrt(eigh(system.K, system.M, eigvals_only=True)) == pytest.approx(expected, rel=SAME_SYSTEM)


def undamped(robot):
    links = [
        link if link.beam is None else link.model_copy(update={"beam": link.beam.with_changes(damping=None)})
        for link in robot.links
    ]
    return robot.with_changes(links=links)


def test_the_modes_of_a_whole_robot_have_the_ratio():
    """Two links with two modes each: both links alone would give 0.86 to 6.5 % where 1 % is asked for."""
    robot = undamped(load("two-link-flexible")).with_changes(gravity=(0, 0, 0), damping=Damping(ratio=0.01))
    arm = Dynamics(robot, compile="never")
    assert modes(arm).damping_ratios == pytest.approx([0.01] * 4, rel=0.005)
    # the links only take energy out
    assert np.linalg.eigvalsh(arm.damping).min() > -1e-12 * np.abs(arm.damping).max()


def test_the_lowest_modes_of_a_large_robot_come_first():
    robot = undamped(load("six-dof")).with_changes(gravity=(0, 0, 0), damping=Damping(ratio=0.01))
    assert modes(Dynamics(robot, compile="never")).damping_ratios[:4] == pytest.approx([0.01] * 4, rel=0.05)


def test_links_with_their_own_damping_keep_it():
    robot = load("two-link-flexible").with_changes(damping=Damping(ratio=0.05))
    kept = load("two-link-flexible")
    for link, before in zip(robot.links, kept.links, strict=True):
        assert np.array_equal(build_body(link, robot).D_ee, build_body(before, kept).D_ee)


def test_loops_have_no_ratio_as_a_whole():
    with pytest.raises(ModelError, match="damping: a robot with loops has no ratio as a whole; give it to its links"):
        load("four-bar").with_changes(damping=Damping(ratio=0.01))
