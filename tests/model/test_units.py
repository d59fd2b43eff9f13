"""Quantities: units, dimensions, signs, and that nothing in them runs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from pliant.model.units import (
    LONGEST_TEXT,
    MEANING,
    NON_NEGATIVE,
    POSITIVE,
    UNITS,
    Dimension,
    Quantity,
    UnitError,
    parse,
)

IN_A_FILE = {"units": True}
# products of a few conversion factors
ROUNDING = 1e-14


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("30 mm", "m", 0.03),
        ("-30mm", "m", -0.03),
        ("1 in", "m", 0.0254),
        ("2 ft", "m", 0.6096),
        ("90 deg", "rad", math.pi / 2),
        ("45°", "rad", math.pi / 4),
        ("pi/2", "rad", math.pi / 2),
        ("-pi/2 rad", "rad", -math.pi / 2),
        ("3*pi/4 rad", "rad", 3 * math.pi / 4),
        ("0.5 rev", "rad", math.pi),
        ("210 GPa", "Pa", 210e9),
        ("1 psi", "Pa", 6894.757293168361),
        ("7.85 g/cm^3", "kg/m^3", 7850.0),
        ("7.85 g/cm³", "kg/m^3", 7850.0),
        ("1 lb", "kg", 0.45359237),
        ("0.1 lbf s^2/in", "kg", 0.1 * 4.4482216152605 / 0.0254),
        ("4120 lbf in^2", "N m^2", 4120 * 4.4482216152605 * 0.0254**2),
        ("5 N*m", "N m", 5.0),
        ("5 N·m", "N m", 5.0),
        ("5 Nm", "N m", 5.0),
        ("3 N m/rad", "N m/rad", 3.0),
        ("3 N m", "N m/rad", 3.0),
        ("2 N m/deg", "N m/rad", 2 * 180 / math.pi),
        ("2 N s/m", "N s/m", 2.0),
        ("2 N/(m/s)", "N s/m", 2.0),
        ("60 rpm", "rad/s", 2 * math.pi),
        ("3 1/s", "rad/s", 3.0),
        ("5 Hz", "1/s", 5.0),
        ("2 ms", "s", 0.002),
        ("40000 mm^4", "m^4", 4e-8),
        ("1e-3", "m", 1e-3),
        ("2 %", "", 0.02),
        ("0.25", "", 0.25),
        ("3 (kg) m**2", "kg m^2", 3.0),
    ],
)
def test_reading(text, unit, value):
    assert Quantity(unit).read(text, IN_A_FILE) == pytest.approx(value, rel=ROUNDING)


@pytest.mark.parametrize("unit", MEANING)
def test_every_example_in_a_message_can_be_read(unit):
    assert math.isfinite(Quantity(unit).read(MEANING[unit][1], IN_A_FILE))


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("30 deg", "m"),
        ("3 kg", "m"),
        ("3 m", "kg m"),
        ("3 m", ""),
        ("30 deg", ""),
        ("2 Hz", "rad/s"),
        ("3 kg/m s", "kg m^2"),
        ("5 N m/rad", "N m"),
        ("5 m^2", "m"),
    ],
)
def test_wrong_dimensions(text, unit):
    with pytest.raises(PydanticCustomError, match="its unit is wrong"):
        Quantity(unit).read(text, IN_A_FILE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("3 parsec", "'parsec' is not a unit"),
        ("m.__class__", "is not part of a number with a unit"),
        ("__import__('os')", "is not part of a number with a unit"),
        ("3 m^99", "an exponent must be a whole number up to 6"),
        ("3 m^1.5", "an exponent must be a whole number up to 6"),
        ("1/0 m", "it divides by zero"),
        ("0^-1 m", "it divides by zero"),
        ("3 (m", r"a '\)' is missing"),
        ("3 m)", "stands in the wrong place"),
        ("3 m /", "it ends too early"),
        ("3 + 4 m", "stands in the wrong place"),
        ("--3 m", "stands in the wrong place"),
        ("9" * (LONGEST_TEXT + 1), "longer than"),
    ],
)
def test_texts_that_cannot_be_read(text, why):
    with pytest.raises(UnitError, match=why):
        parse(text)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "nan", "-inf", ".NaN", "1e999 m", 10**400, "(1e300 m)^6/m^5"]
)
def test_only_finite_numbers(value):
    with pytest.raises(PydanticCustomError, match="must be finite"):
        Quantity("m").read(value, IN_A_FILE)


@pytest.mark.parametrize("value", [True, None, [1.0], {"a": 1}, 1j, b"3 m", object()])
def test_only_numbers(value):
    with pytest.raises(PydanticCustomError, match="it must be a length"):
        Quantity("m").read(value, IN_A_FILE)


def test_units_are_read_from_files_only():
    with pytest.raises(PydanticCustomError, match="it must be a number in m; units are read from files only"):
        Quantity("m").read("30 mm")


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3.0), np.int64(3)])
def test_all_kinds_of_numbers_become_floats(value):
    read = Quantity("m").read(value)
    assert type(read) is float
    assert read == 3.0


def test_signs_and_bounds():
    assert Quantity("m").read(-1e-300) == -1e-300
    assert Quantity("m", NON_NEGATIVE).read(0) == 0.0
    for quantity, value, words in [
        (Quantity("m", POSITIVE), 0, "is 0 m; it must be positive"),
        (Quantity("m", NON_NEGATIVE), -0.4, "is -0.4 m; it must not be negative"),
        (Quantity("", below=1.0), 1, "is 1; it must be less than 1"),
        (Quantity("m"), -1e31, "must not be larger than 1e[+]30"),
        (Quantity("m", POSITIVE), 1e-31, "must not be smaller than 1e-30"),
    ]:
        with pytest.raises(PydanticCustomError, match=words):
            quantity.read(value)


def test_a_number_of_a_prismatic_joint_has_its_own_unit():
    limit = Quantity("rad", sliding="m")
    assert limit.read("10 mm", {"units": True, "slides": True}) == 0.01
    assert limit.read("pi", {"units": True, "prismatic": False}) == math.pi
    with pytest.raises(PydanticCustomError, match="must be a length"):
        limit.read("10 deg", {"units": True, "slides": True})


def test_words_may_stand_for_numbers():
    mass = Quantity("kg", words=("auto",))
    assert mass.read("auto") == "auto"
    with pytest.raises(PydanticCustomError, match="'auto' or a mass"):
        mass.read([])


@given(st.floats(-1e6, 1e6), st.sampled_from(sorted(UNITS)))
def test_a_unit_is_a_factor(number, unit):
    value, dimension = parse(f"{number!r} {unit}")
    factor, wanted = UNITS[unit]
    assert value == pytest.approx(number * factor, rel=ROUNDING)
    assert dimension == wanted


@given(st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(UNITS)), st.integers(-3, 3))
def test_dimensions_multiply(one, other, power):
    _, a = parse(one)
    _, b = parse(other)
    _, product = parse(f"{one} {other}^{power}")
    assert product == a.times(b.power(power))
    _, inverse = parse(f"1/({one} {other})")
    assert inverse.times(a).times(b) == Dimension()


@given(st.text(max_size=100))
def test_any_text_gives_a_number_or_a_unit_error(text):
    try:
        value, _ = parse(text)
    except UnitError:
        return
    assert isinstance(value, float)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("90 deg/s^2", "rad/s^2", math.pi / 2),
        ("90 deg/s²", "rad/s^2", math.pi / 2),
        ("90 deg s^-2", "rad/s^2", math.pi / 2),
        ("60 rpm/s", "rad/s^2", 2 * math.pi),
        ("3 1/s^2", "rad/s^2", 3.0),
        ("2 kNm", "N m", 2000.0),
        ("5 Nmm", "N m", 0.005),
        ("5 mNm", "N m", 0.005),
        ("1 kgf", "N", 9.80665),
        ("1 h", "s", 3600.0),
    ],
)
def test_units_of_drives(text, unit, value):
    assert Quantity(unit).read(text, {"units": True}) == pytest.approx(value, rel=1e-15)


def test_an_angular_acceleration_is_no_other():
    for text in ("3 deg/s", "3 m/s^2", "3 Hz/s"):
        with pytest.raises(PydanticCustomError, match="it must be an angular acceleration, for example '90 deg/s\\^2'"):
            Quantity("rad/s^2").read(text, {"units": True})


@pytest.mark.parametrize(
    ("small", "large", "ratio"),
    [("mg", "g", 1e-3), ("g", "kg", 1e-3), ("kg", "t", 1e-3), ("mm", "m", 1e-3), ("ms", "s", 1e-3), ("N", "kN", 1e-3)],
)
def test_small_units_are_parts_of_large_ones(small, large, ratio):
    (few, of_small), (many, of_large) = parse(f"1 {small}"), parse(f"1 {large}")
    assert of_small == of_large
    assert few == pytest.approx(ratio * many, rel=1e-14)
