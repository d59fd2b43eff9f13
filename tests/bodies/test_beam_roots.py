"""Roots of the frequency equations against published tables and high-precision arithmetic."""

from math import cos, cosh, exp, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.bodies import shapes as roots

# the tables print ten decimals
PRINTED = 1e-9
# a root is a double: its last digit, and a few for the evaluation of the equation
LAST_DIGITS = 4e-16


def test_published_roots(published):
    printed = published["roots"]
    assert roots.clamped_free(4) == pytest.approx(printed["clamped_free"], abs=PRINTED)
    assert roots.pinned_free(2) == pytest.approx(printed["pinned_free"], abs=PRINTED)
    assert roots.free_free(2) == pytest.approx(printed["clamped_clamped"], abs=PRINTED)


@pytest.mark.parametrize("kind", ["clamped_free", "free_free", "pinned_free"])
def test_forty_roots_to_the_last_digits(kind, exact_roots):
    computed = getattr(roots, kind)(40)
    assert computed == pytest.approx([float(root) for root in exact_roots[kind]], rel=LAST_DIGITS, abs=0)


def test_tip_mass_table_to_six_digits(published):
    for case in published["tip_mass"]:
        omega = np.square(roots.clamped_mass(len(case["omega"]), case["mu"], case["J"]))
        assert omega == pytest.approx(case["omega"], abs=5.1e-7)


def test_no_tip_inertia_is_clamped_free():
    assert roots.clamped_mass(12, 0.0, 0.0) == roots.clamped_free(12)
    assert roots.clamped_mass(12, 1e-18, 1e-18) == pytest.approx(roots.clamped_free(12), rel=1e-15)


def test_heavy_tip_is_a_spring_with_a_mass():
    # beta^4 = 3 / mu: the static stiffness 3 EI / L^3 under the mass alone
    for mu in (1e4, 1e8, 1e16):
        assert roots.clamped_mass(1, mu, 0.0)[0] ** 4 * mu / 3 == pytest.approx(1.0, rel=0.25 / mu)


def test_infinite_tip_is_clamped_clamped():
    assert roots.clamped_mass(8, 1e14, 1e12)[2:] == pytest.approx(roots.free_free(6), rel=1e-9)


@settings(deadline=None)
@given(
    mu=st.floats(0, 1e6),
    J=st.floats(0, 1e4),
    more=st.floats(1e-6, 10),
    which=st.sampled_from(["mass", "inertia"]),
)
def test_more_inertia_never_raises_a_frequency(mu, J, more, which):
    before = np.array(roots.clamped_mass(8, mu, J))
    after = np.array(roots.clamped_mass(8, mu + more * (which == "mass"), J + more * (which == "inertia")))
    assert np.all(after <= before * (1 + 1e-13))
    # none is lost and none counted twice
    assert np.all(after[1:] > 1.1 * after[:-1])


@settings(deadline=None)
@given(ratio=st.floats(0, 1e6))
def test_rod_with_tip_inertia(ratio):
    beta = np.array(roots.rod_clamped_mass(12, ratio))
    assert np.all((beta > np.arange(12) * np.pi) & (beta <= (np.arange(12) + 0.5) * np.pi))
    assert np.cos(beta) - ratio * beta * np.sin(beta) == pytest.approx(np.zeros(12), abs=1e-14 * (1 + ratio * 40) * 40)


@pytest.mark.parametrize(
    ("equation", "low", "high"),
    [
        (lambda b: cos(b) + 1 / cosh(b), 0.0, pi),
        (lambda b: cos(b) + 1 / cosh(b), pi, 2 * pi),
        (lambda b: b**3 - 2.0, 0.0, 2.0),
        (lambda b: exp(b) - 5.0, 0.0, 4.0),
    ],
)
def test_a_root_takes_few_steps(equation, low, high):
    """Halves alone would take fifty evaluations; quadratic steps leave about ten, and end within rounding."""
    asked = []

    def counted(b):
        asked.append(b)
        assert len(asked) <= 13
        return equation(b)

    found = roots._root(counted, low, high)
    assert equation(found * (1 - 1e-15)) * equation(found * (1 + 1e-15)) <= 0.0
