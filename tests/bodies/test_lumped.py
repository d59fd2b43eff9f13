"""Lumped links: rigid bodies at the nodes, convergence to the continuum, the paper's nodal mass matrix."""

import numpy as np
import pytest

from pliant.bodies import shapes as roots
from pliant.bodies.beam_modes import assemble, attachment
from pliant.bodies.build import frequencies
from pliant.bodies.elements import RigidPieces, element_set
from pliant.bodies.modal_body import point_integrals

FAMILIES = ("bend_y", "bend_z", "torsion", "axial")


def lumped(profile, number, families=("bend_y",), *, section_inertia=False):
    elastic = [element_set(family, profile, number) for family in families]
    masses = [RigidPieces(s.family, s.nodes) for s in elastic]
    frames = {"tip": attachment(elastic, profile.length)}
    return assemble(masses, profile, frames, section_inertia=section_inertia, elastic_sets=elastic)


def test_converges_to_the_continuum_with_order_2(uniform):
    numbers = np.array([4, 8, 16, 32])
    exact = np.square(roots.clamped_free(3)) / 1.3**2 * np.sqrt(19.0 / 1.7)
    errors = np.array([frequencies(lumped(uniform, n))[:3] / exact - 1 for n in numbers])
    for k in range(3):
        order = -np.polyfit(np.log(numbers[1:]), np.log(np.abs(errors[1:, k])), 1)[0]
        assert order == pytest.approx(2.0, abs=0.1)
    assert np.abs(errors[-1]).max() < 2e-3


def test_mass_is_that_of_the_rigid_bodies(uniform):
    # nodal mass matrix of Di Gregorio (4.1): [m, -m G~; m G~, I_N]
    rhoA, h = 1.7, 1.3 / 4
    body = lumped(uniform, 4)
    inner, tip = body.M_ee[:2, :2], body.M_ee[-2:, -2:]
    assert inner == pytest.approx(np.diag([rhoA * h, rhoA * h**3 / 12]), abs=1e-14)
    # the half element at the tip has its centre of mass a quarter element before the node
    m = rhoA * h / 2
    assert tip == pytest.approx(np.array([[m, -m * h / 4], [-m * h / 4, m * (h / 2) ** 2 / 3]]), abs=1e-14)
    node = np.arange(8) // 2
    assert not body.M_ee[node[:, None] != node].any()


def test_stiffness_is_that_of_the_elements(tapered):
    sets = [element_set(family, tapered, 3) for family in FAMILIES]
    consistent = assemble(sets, tapered, {}, section_inertia=True)
    assert np.array_equal(lumped(tapered, 3, FAMILIES, section_inertia=True).K_ee, consistent.K_ee)


def test_rigid_integrals_do_not_know_the_partition(tapered):
    whole = assemble([], tapered, {}, section_inertia=True)
    body = lumped(tapered, 5, FAMILIES, section_inertia=True)
    assert body.mass == pytest.approx(whole.mass, rel=1e-13)
    assert body.first == pytest.approx(whole.first, rel=1e-13)
    assert body.I_rr == pytest.approx(whole.I_rr, rel=1e-13)


@pytest.mark.parametrize("section_inertia", [False, True])
def test_integrals_against_points_of_the_rigid_bodies(uniform, section_inertia):
    number, length = 3, uniform.length
    h = length / number
    data = uniform.pieces[0].data
    n = 6 * number
    masses, positions, shapes = [], [], []
    # two-point rule on every half body: exact for its moments of second order
    for half in range(2 * number):
        node = (half + 1) // 2
        for offset in (-1, 1):
            x = h / 2 * (half + 0.5 + offset / (2 * np.sqrt(3)))
            for y, z in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                on = 1.0 if section_inertia else 0.0
                s = np.array([0, on * y * np.sqrt(data.rhoIz / data.rhoA), on * z * np.sqrt(data.rhoIy / data.rhoA)])
                arm = np.array([x - node * h, 0, 0]) + s
                phi = np.zeros((3, n))
                if node:
                    k, e = 2 * (node - 1), np.eye(3)
                    phi[:, k], phi[:, k + 1] = e[1], np.cross(e[2], arm)
                    phi[:, 2 * number + k], phi[:, 2 * number + k + 1] = e[2], np.cross(-e[1], arm)
                    phi[:, 4 * number + node - 1] = np.cross(e[0], arm)
                    phi[:, 5 * number + node - 1] = e[0]
                masses.append(data.rhoA * h / 16)
                positions.append(np.array([x, 0, 0]) + s)
                shapes.append(phi)
    expected = point_integrals(np.array(masses), np.array(positions), np.array(shapes))
    body = lumped(uniform, number, FAMILIES, section_inertia=section_inertia)
    for name, value in expected.items():
        assert getattr(body, name) == pytest.approx(value, abs=1e-13), name
