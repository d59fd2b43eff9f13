"""beta, sigma and c_1 to c_4 of assumed shapes against published roots and the shapes themselves."""

import numpy as np
import pytest

from pliant import Beam, Joint, Link, Modes, Properties, Robot, shape_constants
from pliant.bodies.shapes import bending_shapes, rod_shapes

CLAMPED_FREE = ((1.8751040687119611, 0.7340955137589127), (4.694091132974175, 1.0184673187592195))
"""Root and sigma of a cantilever, computed a second time with many digits."""


def robot(**modes):
    known = Properties(mass_per_length=0.6, EIz=30.0, EIy=20.0, EA=1e4)
    beam = Beam(length=0.9, properties=known, modes=Modes(**modes))
    return Robot(name="arm", links=[Link(name="arm", joint=Joint(name="j"), beam=beam)])


def test_cantilevers():
    found = shape_constants(robot(shape="clamped-free", bend_y=2, bend_z=1))
    assert [shape.coordinate for shape in found] == ["arm.bend_y.1", "arm.bend_y.2", "arm.bend_z.1"]
    for shape, (root, sigma) in zip(found, (*CLAMPED_FREE, CLAMPED_FREE[0]), strict=True):
        assert shape.root == pytest.approx(root, rel=1e-14)
        assert shape.beta == pytest.approx(root / 0.9, rel=1e-14)
        assert shape.sigma == pytest.approx(sigma, rel=1e-9)


def test_the_mode_of_the_appendix():
    """Lin & Lewis print b = 0.912224 and sigma = 1.1213; a free moment needs sigma = 1.121391943."""
    (shape,) = shape_constants("lin-lewis-rfr")
    assert shape.root == pytest.approx(0.912224, abs=5e-7)
    assert shape.sigma == pytest.approx(1.121391943, abs=1e-8)


@pytest.mark.parametrize("kind", ["clamped-free", "clamped-mass", "pinned-pinned", "pinned-free", "free-free"])
def test_factors_make_the_shapes(kind):
    x = np.linspace(0.0, 1.3, 7)
    for number, shape in enumerate(bending_shapes(kind, 5, 1.3, mu=0.4, J=0.02)):
        found = shape.scaled(1.7).harmonics()
        z = found.root * x / 1.3
        c = found.c
        value = c[0] * np.cos(z) + c[1] * np.cosh(z) + c[2] * np.sin(z) + c[3] * np.sinh(z)
        # cosh and sinh cancel at high modes
        rounding = 1e-13 * np.cosh(found.root)
        assert np.abs(value - 1.7 * shape(x)).max() < rounding + 1e-12, (kind, number)
        assert (found.sigma is None) == (not kind.startswith("clamped"))


def test_rods_and_polynomials():
    (first,) = rod_shapes("clamped-free", 1, 1.0)
    assert first.harmonics().c[1] == 0.0
    assert shape_constants(robot(shape="polynomial", bend_y=2)) == []
    assert shape_constants("canadarm") is not None
