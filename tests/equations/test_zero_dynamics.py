"""Zero dynamics in symbols against published numbers and the linear model."""

import numpy as np
import pytest
import sympy

from pliant import Dynamics, ModelError, linearise, zeros
from pliant.formulations.lagrange.equations import equations
from pliant.reproduce.lin_lewis import one_link, turret, turret_zeros

PUBLISHED = {
    # section 4.2 with two modes, computed a second time with other software; printed 1.0914 and 76.98
    "clamped-free": (1.0914429j, 76.95351j),
    # printed as a complex quadruple, which no second derivation finds
    "pinned-pinned": (56.423985, 163.960699),
}


@pytest.mark.parametrize("shape", PUBLISHED)
def test_one_link(shape):
    eq = equations(one_link(2, shape), bending="linear", integrals="inside")
    left = eq.zero_dynamics()
    assert [name.rpartition("bend_y")[2] for name in left.coordinates] == [".1", ".2"]
    found = sorted(left.zeros, key=abs)
    for zero, printed in zip(found[::2], PUBLISHED[shape], strict=True):
        assert abs(zero) == pytest.approx(abs(printed), rel=1e-7)
        assert (abs(zero.real) < 1e-9 * abs(zero)) == isinstance(printed, complex)
    # the polynomial in symbols has the same roots
    numbers = {sympy.Symbol(name): value for name, value in left.values.items()}
    roots = np.roots([complex(c.subs(numbers)) for c in left.polynomial.all_coeffs()])
    assert sorted(abs(roots)) == pytest.approx(sorted(abs(left.zeros)), rel=1e-7)


def test_lengths_stay_symbols():
    """All zeros of a beam with nothing at its tip go as sqrt(EI/rho)/l^2."""
    eq = equations(one_link(2, "pinned-pinned"), bending="linear", integrals="inside")
    before = eq.zero_dynamics().zeros
    after = eq.with_values({"l_1": 2 * eq.values["l_1"], "EIz_1": 3 * eq.values["EIz_1"]}).zero_dynamics().zeros
    assert sorted(abs(after)) == pytest.approx(sorted(abs(before) * np.sqrt(3.0) / 4), rel=1e-9)


@pytest.mark.parametrize("shape", ["clamped-free", "pinned-pinned"])
def test_turret(shape):
    ours, theirs = equations(turret(shape), bending="linear").zero_dynamics().zeros, turret_zeros(shape)
    assert sorted(abs(ours)) == pytest.approx(sorted(abs(theirs)), rel=1e-7)
    # pinned shapes leave real ones, one of each pair on the right
    assert (ours.real.max() > 1.0) == (theirs.real.max() > 1.0) == (shape == "pinned-pinned")


def test_motors_and_expressions():
    """A motor on a pinned root is where it acts: what is left is stable. A tip is not."""
    eq = equations(one_link(2, "pinned-pinned"), bending="linear")
    motors = eq.zero_dynamics("motors")
    assert np.abs(motors.zeros.real).max() < 1e-6 * np.abs(motors.zeros).max()
    assert sympy.simplify(motors.M - motors.M.T) == sympy.zeros(2, 2)
    arm = Dynamics(one_link(2, "clamped-free"), compile="never")
    eq = equations(one_link(2, "clamped-free"), bending="linear")
    tip = eq.symbol("l_1") * sympy.sin(eq.q[0]) + sympy.cos(eq.q[0]) * sum(
        eq.symbol(f"phi_1_{k}") * eq.q[k] for k in (1, 2)
    )
    theirs = zeros(linearise(arm, np.zeros(arm.size)), "tip.y", "shoulder")
    assert sorted(abs(eq.zero_dynamics([tip]).zeros)) == pytest.approx(sorted(abs(theirs)), rel=1e-6)


def test_what_has_none():
    eq = equations(one_link(2), bending="linear")
    with pytest.raises(ModelError, match="2 outputs and 1 inputs"):
        eq.zero_dynamics([eq.q[0], eq.q[1]])
    with pytest.raises(ModelError, match="'joints', 'motors'"):
        eq.zero_dynamics("tip")
    with pytest.raises(ModelError, match="no coordinate 'elbow'"):
        eq.zero_dynamics(at={"elbow": 1.0})
    with pytest.raises(ModelError, match="do not determine"):
        eq.zero_dynamics([eq.q[1]])
    many = equations(one_link(7), bending="linear").zero_dynamics()
    assert len(many.zeros) == 14
    with pytest.raises(ModelError, match="7 coordinates are left"):
        _ = many.polynomial
