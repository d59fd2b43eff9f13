"""Structural damping: ratios come back, zeros stay zeros."""

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant import Beam, Damping, Joint, Link, Modes, Properties, Rigid, RigidPart, Robot
from pliant.analysis.modes import modes
from pliant.bodies.beam_modes import assemble
from pliant.bodies.build import build_body, damping_ratios, modal_damping, rayleigh_damping
from pliant.bodies.elements import element_set
from pliant.dynamics import Dynamics


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
