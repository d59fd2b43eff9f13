"""Shape functions: high-precision values, boundary conditions, orthogonality, published modes."""

from math import pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from pliant.bodies.profile import gauss
from pliant.bodies.shapes import Clamped, Given, Power, bending_shapes, clamped_mass, clamped_sigma, rod_shapes

EIGENFUNCTIONS = ["clamped-free", "pinned-free", "free-free", "pinned-pinned"]
# the argument beta x / L of mode 40 is known to 126 * eps, and so are its cosine and the shape
ROUNDING = 4e-14


@pytest.mark.parametrize("kind", ["clamped-free", "free-free", "pinned-free"])
def test_values_up_to_mode_40(kind, exact_shapes):
    length, xi = 1.3, np.array(exact_shapes["xi"])
    shapes = bending_shapes(kind, 40, length)
    for number, rows in exact_shapes["modes"][kind.replace("-", "_")].items():
        for order, row in enumerate(rows):
            expected = np.array([float(value) for value in row]) / length**order
            amplitude = shapes[int(number) - 1].beta ** order / length**order
            assert shapes[int(number) - 1](length * xi, order) == pytest.approx(expected, abs=ROUNDING * amplitude)


@pytest.mark.parametrize("kind", EIGENFUNCTIONS)
def test_forty_modes_are_orthogonal(kind):
    length = 2.0
    shapes = bending_shapes(kind, 40, length)
    x, weights = gauss((0.0, length), max(shape.points for shape in shapes))
    for order in (0, 2):
        rows = np.array([shape(x, order) for shape in shapes]) * np.sqrt(weights)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        assert np.abs(rows @ rows.T - np.eye(40)).max() < ROUNDING


@pytest.mark.parametrize("kind", EIGENFUNCTIONS)
def test_forty_modes_satisfy_rayleigh(kind):
    length = 0.7
    for shape in bending_shapes(kind, 40, length):
        x, weights = gauss((0.0, length), shape.points)
        quotient = (weights @ shape(x, 2) ** 2) / (weights @ shape(x) ** 2)
        assert quotient == pytest.approx((shape.beta / length) ** 4, rel=ROUNDING)


@pytest.mark.parametrize(("mu", "J"), [(1.0, 0.0), (1.0, 0.1), (0.0, 0.1), (12.0, 5.0), (1e5, 1e3), (1e-4, 0.0)])
def test_tip_conditions_and_orthogonality_with_tip_inertia(mu, J):
    shapes = bending_shapes("clamped-mass", 20, 1.0, mu=mu, J=J)
    for shape in shapes:
        beta, amplitude = shape.beta, max(1.0, abs(float(shape(1.0))))
        force, moment = -mu * beta**4 * float(shape(1.0)), J * beta**4 * float(shape(1.0, 1))
        assert float(shape(1.0, 3)) == pytest.approx(force, abs=ROUNDING * amplitude * (beta**3 + mu * beta**4))
        assert float(shape(1.0, 2)) == pytest.approx(moment, abs=ROUNDING * amplitude * (beta**2 + J * beta**5))
    x, weights = gauss((0.0, 1.0), max(shape.points for shape in shapes))
    value, slope = (np.array([float(shape(1.0, order)) for shape in shapes]) for order in (0, 1))
    rows = np.array([shape(x) for shape in shapes])
    gram = (rows * weights) @ rows.T + mu * np.outer(value, value) + J * np.outer(slope, slope)
    scale = np.sqrt(np.diag(gram))
    # rounding of the nearly fixed tip and of its slope, times the roots of their inertia
    tolerance = ROUNDING * (1 + np.sqrt(mu) + np.sqrt(J) * shapes[-1].beta)
    assert np.abs(gram / scale / scale[:, None] - np.eye(20)).max() < tolerance


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("kind", [*EIGENFUNCTIONS, "clamped-mass", "polynomial"])
def test_derivatives(kind, order):
    shape = bending_shapes(kind, 3, 1.7, mu=0.8, J=0.2)[2]
    x, step = np.linspace(0.1, 1.6, 9), 1e-5
    slope = (shape(x + step, order) - shape(x - step, order)) / (2 * step)
    assert slope == pytest.approx(shape(x, order + 1), rel=1e-7, abs=1e-7 * np.abs(slope).max())


@pytest.mark.parametrize("kind", ["clamped-free", "clamped-mass", "pinned-pinned", "pinned-free", "polynomial"])
def test_boundary_conditions_are_exact_zeros(kind):
    length = 0.9
    for shapes in (bending_shapes(kind, 25, length, mu=0.3), rod_shapes(kind, 25, length, ratio=0.3)):
        for shape in shapes:
            assert all(float(shape(0.0, order)) == 0.0 for order in shape.root_zeros)
            assert all(float(shape(length, order)) == 0.0 for order in shape.tip_zeros)
    for shape in bending_shapes(kind, 25, length):
        assert float(shape(0.0)) == 0.0
        if kind == "pinned-pinned":
            assert float(shape(length)) == 0.0
        elif kind != "pinned-free":
            assert float(shape(0.0, 1)) == 0.0


def test_signs_and_classical_tip_values():
    tips = [float(shape(1.0)) for shape in bending_shapes("clamped-free", 40, 1.0)]
    assert tips == pytest.approx([2.0 * (-1) ** k for k in range(40)], rel=1e-14)
    for kind in ("clamped-free", "clamped-mass", "polynomial"):
        assert all(float(s(1e-3)) > 0 for s in bending_shapes(kind, 6, 1.0, mu=2.0, J=0.1))
    for kind in ("pinned-pinned", "pinned-free"):
        assert all(float(s(0.0, 1)) > 0 for s in bending_shapes(kind, 20, 1.0))
    assert all(float(s(0.0)) == pytest.approx(2.0) for s in bending_shapes("free-free", 20, 1.0))


@pytest.mark.parametrize("beta", [0.01, 0.3, 2.0, 2.499999])
def test_low_form_keeps_its_digits_near_the_root(beta):
    # z^2 - sigma z^3 / 3 + z^6 / 360 ... for small z
    shape = Clamped(length=1.0, beta=beta, sigma=0.9)
    z = np.array([1e-6, 1e-4, 1e-3])
    expected = z**2 - 0.9 * z**3 / 3
    assert shape(z / beta) == pytest.approx(expected, rel=1e-14, abs=0)


def test_both_forms_agree_where_they_meet():
    for mu in np.linspace(0.0, 0.05, 6):
        for shape in bending_shapes("clamped-mass", 2, 1.0, mu=mu, J=0.02):
            sigma = clamped_sigma(shape.beta, mu)
            classical = Clamped(length=1.0, beta=shape.beta, sigma=sigma)
            x = np.linspace(0, 1, 7)
            for order in range(4):
                assert classical(x, order) == pytest.approx(shape(x, order), abs=1e-12 * shape.beta**order)


def test_rod_shapes():
    length, x = 1.4, np.linspace(0, 1.4, 5)
    for k in range(1, 4):
        angle = (2 * k - 1) * pi * x / (2 * length)
        assert rod_shapes("clamped-free", k, length)[-1](x) == pytest.approx(np.sin(angle), abs=1e-14)
        assert rod_shapes("pinned-free", k, length)[-1](x) == pytest.approx(np.cos(k * pi * x / length), abs=1e-14)
        assert rod_shapes("pinned-pinned", k, length)[-1](x) == pytest.approx(np.sin(k * pi * x / length), abs=1e-14)
        assert rod_shapes("polynomial", k, length)[-1](x) == pytest.approx((x / length) ** k)
    for shape in rod_shapes("clamped-mass", 4, length, ratio=0.6):
        # G J phi' = omega^2 J_tip phi
        tip = float(shape(length)) * 0.6 * shape.beta**2 / length
        assert float(shape(length, 1)) == pytest.approx(tip)


def test_given_functions_and_polynomials():
    given = Given(length=2.0, function=lambda x, L: (x**3, 3 * x**2, 6 * x))
    power = Power(length=2.0, degree=3).scaled(8.0)
    x = np.linspace(0, 2, 5)
    for order in range(3):
        assert given(x, order) == pytest.approx(power(x, order))
    assert power(x, 3) == pytest.approx(6.0)
    assert Power(length=2.0, degree=2)(x, 3) == pytest.approx(0.0)
    constant = Given(length=2.0, function=lambda x, L: (1.0, 0.0, 0.0))
    assert constant(x).shape == x.shape
    with pytest.raises(ValueError, match="2 derivatives; number 3"):
        given(x, 3)


@pytest.mark.parametrize("make", [bending_shapes, rod_shapes])
def test_unknown_kind_is_refused(make):
    with pytest.raises(ValueError, match="sliding"):
        make("sliding", 1, 1.0)


def test_canadarm_modes(reference_modes):
    reference = reference_modes["canadarm"]
    shapes = bending_shapes("clamped-free", 4, 1.0)
    x, weights = gauss((0.0, 1.0), 60)
    rows = np.array([shape(x) for shape in shapes])
    assert [shape.beta for shape in shapes] == pytest.approx(reference["beta"], rel=1e-14)
    assert [clamped_sigma(shape.beta) for shape in shapes] == pytest.approx(reference["sigma"], rel=1e-13)
    assert [float(shape(1.0)) for shape in shapes] == pytest.approx(reference["tip_value"], rel=1e-13)
    assert [float(shape(1.0, 1)) for shape in shapes] == pytest.approx(reference["L_times_tip_slope"], rel=1e-13)
    assert rows @ weights == pytest.approx(reference["mean_int_phi_over_L"], rel=1e-13)
    assert rows @ (weights * x) == pytest.approx(reference["int_x_phi_over_L2"], rel=1e-13)


def test_lin_lewis_appendix_mode(reference_modes):
    mode = reference_modes["lin_lewis_appendix"]
    shape = Clamped(length=1.0, beta=mode["b"], sigma=mode["sigma"])
    x, weights = gauss((0.0, 1.0), shape.points)
    assert float(shape(1.0)) == pytest.approx(mode["phi_L"], rel=1e-14)
    assert weights @ shape(x) == pytest.approx(mode["int_phi_over_L"], rel=1e-14)
    assert weights @ (x * shape(x)) == pytest.approx(mode["int_yphi_over_L2"], rel=1e-14)
    assert weights @ shape(x) ** 2 == pytest.approx(mode["int_phi2_over_L"], rel=1e-14)
    # the mass ratio behind the printed b, and the sigma that belongs to it
    mu = mode["mass_ratio_implied"]
    assert clamped_mass(1, mu, 0.0)[0] == pytest.approx(mode["b"], abs=1e-9)
    assert clamped_sigma(mode["b"], mu) == pytest.approx(mode["sigma_exact_for_free_moment"], abs=1e-9)


def test_points_suffice_for_the_hardest_product():
    shape = bending_shapes("clamped-free", 20, 1.0)[-1]
    x, weights = gauss((0.0, 1.0), shape.points)
    reference = quad(lambda t: t**2 * float(shape(t)) ** 2, 0, 1, limit=400, epsabs=1e-13)[0]
    assert weights @ (x**2 * shape(x) ** 2) == pytest.approx(reference, abs=1e-12)
    assert sqrt(weights @ shape(x) ** 2) == pytest.approx(1.0, rel=1e-13)
