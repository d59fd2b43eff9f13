"""Sections: constants against textbook values and against integration over the area."""

import numpy as np
import pytest

from pliant.model import GeneralSection, IBeam, ModelError, Rectangle, Round, Tube

ROUNDING = 1e-12
# the torsion series is cut off after forty terms
TORSION = 1e-8

SECTIONS = {
    "rectangle": Rectangle(width=0.003, height=0.04),
    "tall": Rectangle(width=0.02, height=0.01),
    "round": Round(diameter=0.02),
    "tube": Tube(outer=0.05, inner=0.04),
    "thin": Tube(outer=0.05, thickness=0.0005),
    "i_beam": IBeam(width=0.05, height=0.1, flange=0.006, web=0.004),
}


def inside(section, y, z):
    if isinstance(section, Rectangle):
        return (np.abs(y) < section.width / 2) & (np.abs(z) < section.height / 2)
    if isinstance(section, IBeam):
        flange = np.abs(z) > section.height / 2 - section.flange
        return (np.abs(z) < section.height / 2) & (np.abs(y) < np.where(flange, section.width, section.web) / 2)
    r = np.hypot(y, z)
    if isinstance(section, Tube):
        return (r < section.outer / 2) & (r > section.inner / 2)
    return r < section.diameter / 2


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_area_and_second_moments_are_integrals(section):
    half = 0.6 * max(v for v in section.dimensions().values() if v)
    n = 2000
    s = (np.arange(n) + 0.5) / n * 2 * half - half
    y, z = np.meshgrid(s, s, indexing="ij")
    cell = (2 * half / n) ** 2 * inside(section, y, z)
    # cells at the border of a curved or thin section are counted whole or not at all
    border = 0.03
    assert pytest.approx(cell.sum(), rel=border) == section.A
    assert section.Iy == pytest.approx((z**2 * cell).sum(), rel=border)
    assert section.Iz == pytest.approx((y**2 * cell).sum(), rel=border)


def test_rectangle():
    section = SECTIONS["rectangle"]
    assert pytest.approx(0.003 * 0.04, rel=ROUNDING) == section.A
    assert section.Iy == pytest.approx(0.003 * 0.04**3 / 12, rel=ROUNDING)
    assert section.Iz == pytest.approx(0.04 * 0.003**3 / 12, rel=ROUNDING)
    assert section.ky == section.kz == 5 / 6


@pytest.mark.parametrize(("ratio", "factor"), [(1, 0.1406), (1.5, 0.1958), (2, 0.2287), (10, 0.3123)])
def test_torsion_of_a_rectangle(ratio, factor):
    """Against the printed factors of a b^3, and the double sine series of Prandtl's stress function."""
    n = np.arange(1, 400, 2.0)
    m2, n2 = np.meshgrid(n**2, n**2)
    series = 256 / np.pi**6 * ratio**3 * (1 / (m2 * n2 * (m2 + ratio**2 * n2))).sum()
    for width, height in [(1.0, ratio), (ratio, 1.0)]:
        J = Rectangle(width=width, height=height).J
        assert J / ratio == pytest.approx(factor, abs=5e-5)
        assert pytest.approx(series, rel=1e-6) == J


def test_torsion_of_a_thin_strip_tends_to_one_third():
    J = Rectangle(width=1.0, height=1e4).J
    assert pytest.approx(1e4 / 3 * (1 - 0.630249e-4), rel=TORSION) == J


def test_round_and_tube():
    bar, tube = Round(diameter=0.02), Tube(outer=0.05, inner=0.04)
    assert pytest.approx(np.pi * 0.02**4 / 32, rel=ROUNDING) == bar.J
    assert bar.ky == pytest.approx(6 / 7, rel=ROUNDING)
    assert tube.Iy == tube.Iz == pytest.approx(np.pi * (0.05**4 - 0.04**4) / 64, rel=ROUNDING)
    assert pytest.approx(2 * tube.Iy, rel=ROUNDING) == tube.J
    assert pytest.approx(tube.A, rel=ROUNDING) == Tube(outer=0.05, thickness=0.005).A
    # a thin wall carries shear half as well as its area suggests
    assert Tube(outer=1.0, thickness=1e-6).kz == pytest.approx(0.5, rel=1e-5)


def test_i_beam_limits():
    """Without flanges an I-beam is a plate; Cowper's factor tends to that of the rectangle."""
    thin = IBeam(width=0.01, height=0.1, flange=1e-9, web=0.01)
    plate = Rectangle(width=0.01, height=0.1)
    for key in ("A", "Iy", "Iz", "kz"):
        assert getattr(thin, key) == pytest.approx(getattr(plate, key), rel=1e-6)
    heavy = SECTIONS["i_beam"]
    assert heavy.kz < 0.6
    assert heavy.ky < 5 / 6


def test_general_section():
    section = GeneralSection(A=1e-4, Iy=2e-9, Iz=3e-9)
    assert (section.A, section.Iy, section.Iz, section.J, section.ky) == (1e-4, 2e-9, 3e-9, None, None)
    constants = section.constants(GeneralSection(A=3e-4, Iy=4e-9, Iz=5e-9), np.array([0.0, 0.5]))
    assert pytest.approx([1e-4, 2e-4]) == constants.A
    assert constants.J is None


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_a_taper_starts_and_ends_at_its_sections(section):
    end = type(section)(**{key: 0.7 * value for key, value in section.given().items()})
    along = section.constants(end, np.array([0.0, 1.0]))
    for key in ("A", "Iy", "Iz", "J", "ky", "kz"):
        assert getattr(along, key) == pytest.approx([getattr(section, key), getattr(end, key)], rel=ROUNDING)


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_unit_scaling(section):
    """In millimetres every area is 1e6 and every second moment 1e12 times as large."""
    large = type(section)(**{key: 1000 * value for key, value in section.given().items()})
    assert pytest.approx(1e6 * section.A, rel=ROUNDING) == large.A
    for key in ("Iy", "Iz", "J"):
        assert getattr(large, key) == pytest.approx(1e12 * getattr(section, key), rel=ROUNDING)
    assert (large.ky, large.kz) == pytest.approx((section.ky, section.kz), rel=ROUNDING)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tube(outer=0.02), "give either inner"),
        (lambda: Tube(outer=0.02, inner=0.01, thickness=0.005), "give either inner"),
        (lambda: Tube(outer=0.02, inner=0.03), "less than the outer diameter"),
        (lambda: Tube(outer=0.02, thickness=0.01), "less than half the outer diameter"),
        (lambda: IBeam(width=0.05, height=0.1, flange=0.05, web=0.004), "less than half the height"),
        (lambda: IBeam(width=0.05, height=0.1, flange=0.01, web=0.06), "must not exceed the width"),
        (lambda: Round(diameter=0), "Round: diameter is 0 m; it must be positive"),
        (lambda: GeneralSection(A=1.0, Iy=-1.0, Iz=1.0), "GeneralSection: Iy is -1.0 m\\^4; it must be positive"),
    ],
)
def test_impossible_sections(make, words):
    with pytest.raises(ModelError, match=words):
        make()
