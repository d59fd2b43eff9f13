"""Beam elements: textbook matrices, order of convergence, tapers, shear."""

import numpy as np
import pytest
from scipy.linalg import eigh, expm
from scipy.optimize import brentq
from scipy.special import iv, jv, kv, yv

from pliant.bodies.beam_modes import BeamModes, assemble, attachment
from pliant.bodies.elements import element_nodes, element_set, elements_between
from pliant.bodies.profile import BeamPiece, BeamProfile, SectionData
from pliant.bodies.shapes import Power, clamped_free


def frequencies(sets, profile, *, section_inertia=False):
    body = assemble(sets, profile, {}, section_inertia=section_inertia)
    # the inverse problem keeps the digits of the low ones
    return 1 / np.sqrt(eigh(body.M_ee, body.K_ee, eigvals_only=True)[::-1])


def order_of(errors, numbers):
    """The exponent p of error = c / number^p, by least squares."""
    return -np.polyfit(np.log(numbers), np.log(np.abs(errors)), 1)[0]


def test_one_cubic_element_is_the_textbook_one(uniform):
    m, L, EI = 1.7 * 1.3, 1.3, 19.0
    body = assemble([element_set("bend_y", uniform, 1)], uniform, {}, section_inertia=False)
    assert body.K_ee == pytest.approx(EI / L**3 * np.array([[12, -6 * L], [-6 * L, 4 * L**2]]), rel=1e-13)
    assert body.M_ee == pytest.approx(m / 420 * np.array([[156, -22 * L], [-22 * L, 4 * L**2]]), rel=1e-13)
    rotary = assemble([element_set("bend_y", uniform, 1)], uniform, {}, section_inertia=True)
    expected = 0.005 / (30 * L) * np.array([[36, -3 * L], [-3 * L, 4 * L**2]])
    assert rotary.M_ee - body.M_ee == pytest.approx(expected, rel=1e-10)


def test_one_shear_element_is_the_textbook_one(uniform):
    L, EI = 1.3, 19.0
    phi = 12 * EI / (6e3 * L**2)
    body = assemble([element_set("bend_y", uniform, 1, timoshenko=True)], uniform, {}, section_inertia=True)
    expected = EI / (L**3 * (1 + phi)) * np.array([[12, -6 * L], [-6 * L, (4 + phi) * L**2]])
    assert body.K_ee == pytest.approx(expected, rel=1e-12)
    # consistent masses of the shear-flexible element, Przemieniecki (1968), 11.3
    m = 1.7 * L / (1 + phi) ** 2
    translation = m * np.array(
        [
            [13 / 35 + 7 / 10 * phi + phi**2 / 3, -(11 / 210 + 11 / 120 * phi + phi**2 / 24) * L],
            [-(11 / 210 + 11 / 120 * phi + phi**2 / 24) * L, (1 / 105 + phi / 60 + phi**2 / 120) * L**2],
        ]
    )
    rotation = 0.005 / (L * (1 + phi) ** 2) * np.array(
        [
            [6 / 5, (-1 / 10 + phi / 2) * L],
            [(-1 / 10 + phi / 2) * L, (2 / 15 + phi / 6 + phi**2 / 3) * L**2],
        ]
    )  # fmt: skip
    assert body.M_ee == pytest.approx(translation + rotation, rel=1e-12)


@pytest.mark.parametrize("family", ["bend_y", "bend_z"])
def test_cubic_elements_converge_with_order_4(family, uniform):
    numbers = np.array([4, 6, 8, 12, 16])
    EI = 19.0 if family == "bend_y" else 11.0
    exact = np.square(clamped_free(3)) / 1.3**2 * np.sqrt(EI / 1.7)
    errors = np.array([frequencies([element_set(family, uniform, n)], uniform)[:3] / exact - 1 for n in numbers])
    assert np.all(errors > 0)
    assert order_of(errors[:, 0], numbers) == pytest.approx(4.0, abs=0.03)
    assert order_of(errors[2:, 1], numbers[2:]) == pytest.approx(4.0, abs=0.05)
    assert order_of(errors[2:, 2], numbers[2:]) == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize("family", ["torsion", "axial"])
def test_linear_elements_converge_with_order_2(family, uniform):
    numbers = np.array([8, 12, 16, 24])
    speed = np.sqrt(7.0 / 0.008) if family == "torsion" else np.sqrt(8e4 / 1.7)
    exact = (np.arange(2) + 0.5) * np.pi / 1.3 * speed
    errors = np.array(
        [frequencies([element_set(family, uniform, n)], uniform, section_inertia=True)[:2] / exact - 1 for n in numbers]
    )
    for k in range(2):
        assert order_of(errors[:, k], numbers) == pytest.approx(2.0, abs=0.03)


def wedge(c):
    """A beam of constant width whose height falls from 1 to 1 - c: rhoA ~ s, EI ~ s^3."""

    def data(fraction):
        s = 1 - c * fraction
        return SectionData(rhoA=s, EIy=s**3, EIz=s)

    return BeamProfile((BeamPiece(1.0, data),))


def wedge_frequency(c, bracket):
    """Exact: (s^3 w'')'' = lambda s w has the solutions Z_1(2 k sqrt s) / sqrt s, k = lambda^(1/4)."""

    def determinant(omega):
        k = (omega**2 / c**4) ** 0.25
        columns = []
        for Z, bend, shear in ((jv, 1, 1), (yv, 1, 1), (iv, 1, 1), (kv, 1, -1)):
            tip = 2 * k * np.sqrt(1 - c)
            slope = 1 if Z is iv else -1
            columns.append([Z(1, 2 * k), slope * Z(2, 2 * k), bend * Z(3, tip), shear * Z(2, tip)])
        matrix = np.array(columns)
        return np.linalg.det(matrix / np.abs(matrix).max(axis=1, keepdims=True))

    return brentq(determinant, *bracket, xtol=1e-13)


def test_tapered_elements_converge_with_order_4():
    c, numbers = 0.4, np.array([8, 12, 16, 24])
    profile = wedge(c)
    rough = frequencies([element_set("bend_z", profile, 32)], profile)[:2]
    exact = [wedge_frequency(c, (0.99 * omega, 1.01 * omega)) for omega in rough]
    errors = np.array([frequencies([element_set("bend_z", profile, n)], profile)[:2] / exact - 1 for n in numbers])
    for k in range(2):
        assert order_of(errors[:, k], numbers) == pytest.approx(4.0, abs=0.1)


def test_stepped_and_tapered_elements_converge_with_order_4(tapered):
    # a node stands on the step, and both pieces are refined alike
    numbers = np.array([10, 20, 30])
    fine = frequencies([element_set("bend_z", tapered, 80)], tapered)[:2]
    errors = np.array([frequencies([element_set("bend_z", tapered, n)], tapered)[:2] / fine - 1 for n in numbers])
    for k in range(2):
        assert order_of(errors[:, k], numbers) == pytest.approx(4.0, abs=0.1)


def test_elements_meet_polynomials_on_a_smooth_taper():
    profile = wedge(0.4)
    powers = BeamModes("bend_z", tuple(Power(length=1.0, degree=k + 1) for k in range(1, 9)))
    fine = frequencies([element_set("bend_z", profile, 40)], profile)[:2]
    assert frequencies([powers], profile)[:2] == pytest.approx(fine, rel=1e-6)


def timoshenko_frequency(data, length, bracket):
    """Exact: transfer matrix of (w, psi, M, V) of a uniform shear-flexible cantilever."""

    def determinant(omega):
        A = np.array(
            [
                [0, 1, 0, 1 / data.GAy],
                [0, 0, 1 / data.EIz, 0],
                [0, -data.rhoIz * omega**2, 0, -1],
                [-data.rhoA * omega**2, 0, 0, 0],
            ]
        )
        return np.linalg.det(expm(A * length)[2:, 2:])

    return brentq(determinant, *bracket, xtol=1e-12)


@pytest.mark.parametrize("GA", [50.0, 500.0, 1e5])
def test_timoshenko_elements_meet_the_exact_theory(GA):
    data = SectionData(rhoA=1.7, rhoIz=0.02, EIz=19.0, GAy=GA)
    profile = BeamProfile.uniform(1.3, data)
    numbers = np.array([24, 32, 48, 64])
    found = np.array(
        [
            frequencies([element_set("bend_y", profile, n, timoshenko=True)], profile, section_inertia=True)[:2]
            for n in numbers
        ]
    )
    exact = np.array([timoshenko_frequency(data, 1.3, (0.97 * omega, 1.001 * omega)) for omega in found[-1]])
    errors = found / exact - 1
    assert np.abs(errors[-1]).max() < 6e-4
    if GA < 1e5:
        # elements shorter than the shear length are linear in w: order 2 in the limit
        for k in range(2):
            assert order_of(errors[:, k], numbers) == pytest.approx(2.0, abs=0.1)


def test_slender_timoshenko_elements_keep_order_4(uniform):
    data = SectionData(rhoA=1.7, rhoIz=1e-9, EIz=19.0, GAy=1e9)
    profile = BeamProfile.uniform(1.3, data)
    numbers = np.array([4, 6, 8, 12])
    exact = clamped_free(1)[0] ** 2 / 1.3**2 * np.sqrt(19.0 / 1.7)
    errors = np.array(
        [frequencies([element_set("bend_y", profile, n, timoshenko=True)], profile)[0] / exact - 1 for n in numbers]
    )
    assert order_of(errors, numbers) == pytest.approx(4.0, abs=0.05)


@pytest.mark.parametrize("number", [1, 3, 10])
def test_shear_adds_to_the_static_deflection(number, uniform):
    sets = [element_set("bend_y", uniform, number, timoshenko=True)]
    body = assemble(sets, uniform, {}, section_inertia=False)
    tip = attachment(sets, 1.3).Phi_d[1]
    compliance = tip @ np.linalg.solve(body.K_ee, tip)
    assert compliance == pytest.approx(1.3**3 / (3 * 19.0) + 1.3 / 6e3, rel=1e-10)


def test_frames_at_nodes_take_the_nodal_values(uniform):
    sets = [element_set(family, uniform, 4) for family in ("bend_y", "bend_z", "torsion", "axial")]
    tip = attachment(sets, uniform.length)
    n = 24
    expected = np.zeros((3, n)), np.zeros((3, n))
    expected[0][1, 6], expected[1][2, 7] = 1, 1
    expected[0][2, 14], expected[1][1, 15] = 1, -1
    expected[1][0, 19], expected[0][0, 23] = 1, 1
    assert np.array_equal(tip.Phi_d, expected[0])
    assert np.array_equal(tip.Phi_r, expected[1])
    root = attachment(sets, 0.0)
    assert not root.Phi_d.any()
    assert not root.Phi_r.any()


def test_nodes_stand_on_the_steps(tapered):
    assert element_nodes(tapered, 3) == pytest.approx((0.0, 0.35, 0.75, 1.15))
    assert 0.35 in element_nodes(tapered, 7)
    assert element_nodes(tapered, 1) == (0.0, tapered.length)
    assert len(element_nodes(tapered, 20)) == 21


def test_elements_that_do_not_touch_are_not_coupled(uniform):
    body = assemble([element_set("bend_y", uniform, 6)], uniform, {}, section_inertia=True)
    node = np.arange(12) // 2
    apart = np.abs(node[:, None] - node) > 1
    assert not body.M_ee[apart].any()
    assert not body.K_ee[apart].any()
    assert not body.I_ee[apart].any()


def test_shear_parameters_are_those_of_the_middles():
    """12 EI / (GA h^2) of every element of a taper, its section taken half-way between its ends."""

    def taper(s):
        h = 1.0 - 0.4 * s
        return SectionData(
            rhoA=h, rhoIy=0.1, rhoIz=0.1, EIy=9.0, EIz=15.0 * h**3, EA=1e4, GJ=4.0, GAy=600.0 * h, GAz=1.0
        )

    nodes = np.array([0.0, 0.4, 1.0, 2.0])
    profile = BeamProfile((BeamPiece(2.0, taper),))
    found = elements_between("bend_y", profile, tuple(nodes), timoshenko=True).shear_parameters
    h = 1.0 - 0.4 * np.array([0.1, 0.35, 0.75])
    assert found == pytest.approx(12 * 15.0 * h**3 / (600.0 * h * np.diff(nodes) ** 2), rel=1e-12)
