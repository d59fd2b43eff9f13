"""Beams: constants along the axis, steps, tapers, and what the chosen coordinates need."""

import numpy as np
import pytest

from pliant.model import (
    MATERIALS,
    Beam,
    Damping,
    Elements,
    Family,
    GeneralSection,
    Lumped,
    Material,
    ModelError,
    Modes,
    Properties,
    Rayleigh,
    Rectangle,
    Reduction,
    Round,
    Segment,
    Tube,
)

ROUNDING = 1e-12
STRIP = Rectangle(width=0.003, height=0.04)


def strip(**keys):
    return Beam(**{"length": 0.5, "material": "aluminium", "section": STRIP, **keys})


def test_uniform_beam():
    beam, aluminium = strip(), MATERIALS["aluminium"]
    at = beam.at(0.2)
    assert at.mass_per_length == pytest.approx(aluminium.density * STRIP.A, rel=ROUNDING)
    assert at.EIy == pytest.approx(aluminium.E * STRIP.Iy, rel=ROUNDING)
    assert at.EIz == pytest.approx(aluminium.E * STRIP.Iz, rel=ROUNDING)
    assert pytest.approx(aluminium.E * STRIP.A, rel=ROUNDING) == at.EA
    assert pytest.approx(aluminium.G * STRIP.J, rel=ROUNDING) == at.GJ
    assert at.rhoJ == pytest.approx(at.rhoIy + at.rhoIz, rel=ROUNDING)
    assert at.kGAy == pytest.approx(5 / 6 * aluminium.G * STRIP.A, rel=ROUNDING)
    assert beam.mass == pytest.approx(0.5 * at.mass_per_length, rel=ROUNDING)
    assert beam.is_uniform
    assert beam.is_flexible
    assert not strip(rigid=True).is_flexible
    assert beam.breakpoints == pytest.approx([0, 0.5])


def test_constants_have_the_shape_of_the_places():
    for x in (0.1, [0.1, 0.2], np.ones((2, 3)) * 0.1):
        assert strip().at(x).EIy.shape == np.shape(x)


def test_properties():
    beam = Beam(length=2, properties=Properties(mass_per_length=0.2, EIz=1.0, rhoIy=1e-5, rhoIz=2e-5))
    at = beam.at([0.0, 1.0])
    assert at.EIz == pytest.approx([1, 1])
    assert at.rhoJ == pytest.approx([3e-5, 3e-5])
    assert at.EIy is None
    assert beam.mass == pytest.approx(0.4)
    shared = Beam(length=1, properties=Properties(mass_per_length=1, rhoJ=4e-5), rigid=True).at(0.5)
    assert shared.rhoIy == shared.rhoIz == pytest.approx(2e-5)


def stepped(**keys):
    return Beam(
        material="steel",
        segments=(
            Segment(length=0.2, section=Tube(outer=0.03, thickness=0.002), taper_to=Tube(outer=0.02, inner=0.016)),
            Segment(length=0.3, section=Round(diameter=0.01), material="brass"),
            Segment(length=0.1, properties=Properties(mass_per_length=0.5, EIy=1.0, EIz=1.0, EA=1e6)),
        ),
        **keys,
    )


def test_steps_and_tapers():
    beam = stepped()
    assert beam.length == beam.total_length == pytest.approx(0.6, rel=ROUNDING)
    assert beam.breakpoints == pytest.approx([0, 0.2, 0.5, 0.6])
    assert not beam.is_uniform
    middle = Tube(outer=0.025, inner=0.021)
    steel, brass = MATERIALS["steel"], MATERIALS["brass"]
    at = beam.at([0.0, 0.1, 0.2, 0.35, 0.5, 0.6])
    wanted = [
        steel.E * Tube(outer=0.03, thickness=0.002).Iy,
        steel.E * middle.Iy,
        brass.E * Round(diameter=0.01).Iy,
        brass.E * Round(diameter=0.01).Iy,
        1.0,
        1.0,
    ]
    assert at.EIy == pytest.approx(wanted, rel=ROUNDING)
    assert at.GJ is None


def test_mass_of_a_taper_is_exact():
    beam = stepped()
    x, w = np.polynomial.legendre.leggauss(60)
    mass = 0.0
    for a, b in zip(beam.breakpoints[:-1], beam.breakpoints[1:], strict=True):
        mass += (b - a) / 2 * w @ beam.at(a + (b - a) * (x + 1) / 2).mass_per_length
    assert beam.mass == pytest.approx(mass, rel=ROUNDING)


def test_many_segments():
    n = 200
    beam = Beam(
        material="steel", segments=[Segment(length=0.01, section=Round(diameter=0.001 * (k + 1))) for k in range(n)]
    )
    x = 0.01 * (np.arange(n) + 0.5)
    wanted = [MATERIALS["steel"].E * Round(diameter=0.001 * (k + 1)).Iy for k in range(n)]
    assert beam.at(x).EIy == pytest.approx(wanted, rel=1e-9)


def test_the_same_beam_in_pieces_is_the_same_beam():
    whole = strip(modes=Modes(bend_y=1))
    pieces = Beam(
        material="aluminium", segments=[Segment(length=0.25, section=STRIP), Segment(length=0.25, section=STRIP)]
    )
    x = np.linspace(0, 0.5, 11)
    for key in ("mass_per_length", "EIy", "EIz", "EA", "GJ", "rhoJ", "kGAy"):
        assert getattr(pieces.at(x), key) == pytest.approx(getattr(whole.at(x), key), rel=ROUNDING)


def test_families():
    assert strip(modes=Modes(torsion=1, bend_y=2, bend_z=0)).families == ("bend_y", "torsion")
    assert strip(elements=Elements(number=3)).families == ("bend_y", "bend_z")
    assert strip(lumped=Lumped(nodes=3, bend_z=False, axial=True)).families == ("bend_y", "axial")
    assert strip(modes=Modes(bend_y=0)).families == ()


def test_common_keys_of_modes_fill_the_families():
    modes = Modes(
        shape="clamped-mass", tip_mass=1.2, bend_y=2, bend_z=Family(count=1, shape="pinned-pinned", normalise="none")
    )
    y, z = modes.resolve("bend_y"), modes.resolve("bend_z")
    assert (y.count, y.shape, y.normalise, y.tip_mass, y.tip_inertia) == (2, "clamped-mass", "mass", 1.2, "auto")
    assert (z.count, z.shape, z.normalise) == (1, "pinned-pinned", "none")
    assert modes.resolve("axial").count == 0
    assert list(modes.families()) == ["bend_y", "bend_z"]


def test_user_shapes_are_counted_by_their_expressions():
    modes = Modes(shape="user", expressions=("x^2", "x^3", "x^4"), bend_y=Family(), bend_z=2)
    assert modes.resolve("bend_y").count == 3
    assert modes.resolve("bend_z").count == 2
    beam = strip(modes=modes)
    assert beam.families == ("bend_y", "bend_z")


def test_user_shapes_may_be_functions():
    def parabola(x, L):
        return (x / L) ** 2, 2 * x / L**2, 2 / L**2 + 0 * x

    beam = strip(modes=Modes(shape="user", bend_y=Family(expressions=(parabola,))))
    assert beam.modes.resolve("bend_y").expressions == (parabola,)
    assert isinstance(hash(beam), int)


@pytest.mark.parametrize(
    ("given", "method", "modes"),
    [
        ("none", "none", 0),
        (None, "none", 0),
        ("static", "static", 0),
        ({"static": True}, "static", 0),
        ({"craig_bampton": 3}, "craig_bampton", 3),
        (Reduction(method="craig_bampton", modes=2), "craig_bampton", 2),
    ],
)
def test_forms_of_a_reduction(given, method, modes):
    assert Elements(number=4, reduce=given).reduce == Reduction(method=method, modes=modes)


ONLY_BENDING = Properties(mass_per_length=1, EIy=1, EIz=1)
NO_SHEAR = Material(name="soft", E=1e9, density=1000)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Beam(section=STRIP, material="steel"), "Beam: key 'length' is missing"),
        (lambda: Beam(length=1), "give one of section"),
        (lambda: strip(properties=ONLY_BENDING), "section and properties are given"),
        (lambda: Beam(length=1, section=STRIP), "key 'material' is missing"),
        (lambda: Beam(length=1, properties=ONLY_BENDING, material="steel"), "already contain the material"),
        (lambda: strip(section={"disc": {}}), "unknown section 'disc'"),
        (lambda: strip(section=3), "must be a mapping with one key"),
        (lambda: strip(material=3), "must be the name of a material"),
        (
            lambda: strip(modes=Modes(bend_y=1), lumped=Lumped(nodes=2)),
            "at most one of modes, elements, lumped and rigid",
        ),
        (lambda: Beam(segments=[Segment(length=1, section=STRIP)]), r"segments\[0\]: key 'material' is missing"),
        (lambda: Beam(length=2, segments=[Segment(length=1, properties=ONLY_BENDING)]), "add up to 1 m"),
        (lambda: Segment(length=1), "give either section"),
        (lambda: Segment(length=1, properties=ONLY_BENDING, taper_to=STRIP), "a taper needs a section"),
        (lambda: Segment(length=1, section=STRIP, taper_to=Round(diameter=1)), "must be a rectangle like the section"),
        (lambda: Segment(length=1, properties=ONLY_BENDING, material="steel"), "leave material out"),
        (
            lambda: Beam(length=1, properties=ONLY_BENDING, modes=Modes(axial=1)),
            "modes.axial: axial needs EA; give properties.EA",
        ),
        (
            lambda: Beam(length=1, properties=ONLY_BENDING, lumped=Lumped(nodes=2, torsion=True)),
            "lumped.torsion: torsion needs GJ",
        ),
        (lambda: Beam(length=1, properties=ONLY_BENDING, rotary_inertia=True), "rotary_inertia needs rhoIy"),
        (
            lambda: Beam(length=1, properties=ONLY_BENDING, elements=Elements(number=1, timoshenko=True)),
            "timoshenko needs kGAy; give properties.kGAy",
        ),
        (lambda: strip(material=NO_SHEAR, modes=Modes(torsion=1)), "torsion needs GJ; give G or nu"),
        (
            lambda: strip(section=GeneralSection(A=1, Iy=1, Iz=1), elements=Elements(number=1, timoshenko=True)),
            "timoshenko needs kGAy; give G or nu of the material, and ky and kz",
        ),
        (lambda: strip(rotary_inertia="yes"), "must be true, false or exact"),
        (lambda: Modes(), "no family of modes is given"),
        (lambda: Modes(bend_y=Family()), "bend_y: key 'count' is missing"),
        (lambda: Modes(bend_y=True), "must be a whole number"),
        (lambda: Modes(bend_y=1, expressions=("x",)), "expressions is read only for the shape user"),
        (lambda: Modes(bend_y=1, shape="clamped-free", tip_mass=1), "tip_mass is read only for the shape clamped-mass"),
        (
            lambda: Modes(shape="polynomial", bend_y=Family(count=1, tip_mass=1)),
            "tip_mass is read only for the shape clamped-mass",
        ),
        (lambda: Modes(bend_y=1, shape="user"), "needs expressions"),
        (lambda: Modes(bend_y=2, shape="user", expressions=("x",)), "there are only 1 expressions"),
        (lambda: Modes(bend_y=1, shape="user", expressions=(3,)), "must be an expression in x and L"),
        (lambda: Modes(bend_y=1, shape="user", expressions=("import os",)), "'import' is not known"),
        (lambda: strip(modes=Modes(bend_y=1, shape="user", expressions=("1/x",))), "not finite at x = 0 m"),
        (lambda: Modes(bend_y=1, shape="clamped-mass", tip_mass="heavy"), "'auto' or a number in kg"),
        (lambda: Elements(number=0), "must be a whole number from 1"),
        (lambda: Elements(number=3, bend_y=False, bend_z=False), "no family is switched on"),
        (lambda: Elements(number=3, reduce="guyan"), "it must be 'none', 'static' or 'craig_bampton'"),
        (lambda: Elements(number=3, reduce={"method": "static", "modes": 2}), "only by the method craig_bampton"),
        (lambda: Damping(), "give either ratio or rayleigh"),
        (lambda: Damping(ratio=0.1, rayleigh=Rayleigh()), "give either ratio or rayleigh"),
        (lambda: Damping(ratio=1), "must be less than 1"),
        (lambda: Material(E=1, density=1, nu=0.7), "Poisson's ratio must lie between"),
        (lambda: Material(E=1, density=1, nu=0.3, G=1), "not both"),
    ],
)
def test_impossible_beams(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_shear_modulus_from_poissons_ratio():
    assert pytest.approx(210e9 / 2.6) == Material(E=210e9, nu=0.3, density=7850).G


@pytest.mark.parametrize("material", MATERIALS.values(), ids=MATERIALS)
def test_common_materials_are_plausible(material):
    """Waves of sound travel between 1 and 6 km/s in solids."""
    assert 1000 < np.sqrt(material.E / material.density) < 7000
    assert material.E / 3 < material.G < material.E / 2


def test_an_unknown_material_alone():
    beam = strip(material="unobtainium")
    with pytest.raises(ModelError, match="material 'unobtainium' is not known"):
        beam.at(0.1)
