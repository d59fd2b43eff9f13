"""Shapes of a user: integrated rightly however they turn, or refused."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

from pliant import Beam, Joint, Link, ModelError, Modes, Properties, Robot, build_body
from pliant.model.description.plausible import description_limits

RIGHT = 1e-9
FACTS = Properties(mass_per_length=1.3, EIz=2.0, GJ=3.0, rhoJ=0.01)


def link(*shapes, family="bend_y"):
    modes = Modes(shape="user", normalise="none", expressions=shapes, **{family: len(shapes)})
    return Link(name="bar", joint=Joint(name="j"), beam=Beam(length=1.0, properties=FACTS, modes=modes))


def test_a_shape_that_turns_often_is_integrated():
    """int sin^2 and int (k^2 sin)^2 over 160 periods."""
    k, body = 1000.0, build_body(link("sin(1000*x) - 1000*x"))
    x = np.linspace(0.0, 1.0, 2_000_001)
    phi, strain = np.sin(k * x) - k * x, -(k**2) * np.sin(k * x)
    assert body.M_ee[0, 0] == pytest.approx(1.3 * trapezoid(phi**2, x), rel=1e-6)
    assert body.K_ee[0, 0] == pytest.approx(2.0 * trapezoid(strain**2, x), rel=1e-6)


def kink(x, L):
    return np.abs(x - 0.37) - 0.37, np.sign(x - 0.37), 0.0 * x


def jump(x, L):
    return np.where(x > 0.31, x, 0.0), np.where(x > 0.31, 1.0, 0.0), 0.0 * x


@pytest.mark.parametrize("shape", [kink, jump])
def test_kinks_and_jumps_are_refused(shape):
    with pytest.raises(ModelError, match=r"bend_y: near x = 0\.3\d* m the change .* has a kink or a jump"):
        build_body(link(shape))


def test_derivatives_of_another_function_are_refused():
    with pytest.raises(ModelError, match="is not the integral of derivative"):
        build_body(link(lambda x, L: (x**2, 2 * x, 3.0 + 0 * x)))
    assert build_body(link(lambda x, L: (x**2, 2 * x, 2.0 + 0 * x))).K_ee[0, 0] == pytest.approx(8.0, rel=RIGHT)


def test_twist_needs_one_derivative():
    """A kink of the twist is a jump of the strain, which Gauss points on both sides do not see as one."""
    assert build_body(link("sin(pi*x/(2*L))", family="torsion")).size == 1


def test_masked_arrays_are_refused():
    def shape(x, L):
        return np.ma.masked_greater(x**2, 0.5), 2 * x, 2.0 + 0 * x

    with pytest.raises(ModelError, match="masked arrays"):
        build_body(link(shape))


@pytest.mark.parametrize(
    ("shape", "told"), [("1", True), ("cos(pi*x/L)", True), ("x^2", False), ("sin(pi*x/L)", False)]
)
def test_shapes_that_leave_the_joint_are_told(shape, told):
    texts = description_limits(Robot(name="r", links=[link(shape)]))
    assert any("the link would leave its joint" in text for text in texts) == told
