"""What varies: texts, lists and ranges, and the cases they make."""

import numpy as np
import pytest

from pliant import Between, ModelError, Normal
from pliant.sweeps.variation import make_cases, read_varied

# rounding of one multiplication and one addition
ROUNDING = 1e-14


@pytest.mark.parametrize(
    ("text", "values", "unit"),
    [
        ("0:2:5 kg", [0, 0.5, 1, 1.5, 2], "kg"),
        ("1, 2, 5", [1, 2, 5], ""),
        ("10, 20 deg", [10, 20], "deg"),
        ("-1e-3", [-1e-3], ""),
        ("steel, aluminium", ["steel", "aluminium"], ""),
    ],
)
def test_lists_are_read(text, values, unit):
    found = read_varied("here", text)
    assert found.unit == unit
    assert list(found.values) == values


def test_ranges_are_read():
    assert read_varied("here", "0..2 kg") == Between(0, 2, unit="kg")
    assert read_varied("here", "1e-3..1 log") == Between(1e-3, 1, log=True)
    assert read_varied("here", "normal(1, 0.1) kN") == Normal(1, 0.1, "kN")


@pytest.mark.parametrize(
    ("vary", "sample", "words"),
    [
        ({}, None, "nothing varies"),
        ({"a": []}, None, "'a' has no values"),
        ({"a": "1, , 2"}, None, "first, last, how many"),
        ({"a": "0..1"}, None, "'a' is a range to draw from"),
        ({"a": [1, 2], "b": [1]}, "zip", "a: 2, b: 1"),
        ({"a": [1]}, "sobol:8", "grid, zip, random:N or latin:N"),
        ({"a": [1]}, "latin:0", "latin:N"),
        ({"a": "0:1:0"}, None, "how many"),
        ({"a": "0:2 kg"}, None, r"write 0:2:11 kg for eleven values, or 0\.\.2 kg to draw from"),
        (dict.fromkeys("abcd", "0:1:1000"), None, "1e.12 combinations"),
    ],
)
def test_what_cannot_be_varied_is_told(vary, sample, words):
    with pytest.raises(ModelError, match=words):
        make_cases(vary, sample)


@pytest.mark.parametrize("make", [lambda: Between(2, 1), lambda: Between(0, 1, log=True), lambda: Normal(0, 0)])
def test_impossible_ranges_are_refused(make):
    with pytest.raises(ModelError):
        make()


def test_a_grid_has_every_combination_once():
    cases = make_cases({"a": [1, 2, 3], "b": ["x", "y"]})
    assert {(cases.case(k)["a"], cases.case(k)["b"]) for k in range(len(cases))} == {
        (a, b) for a in (1, 2, 3) for b in "xy"
    }


def test_lists_side_by_side():
    cases = make_cases({"a": [1, 2], "b": "3, 4 deg"}, "zip")
    assert [cases.case(k) for k in range(2)] == [{"a": 1, "b": "3.0 deg"}, {"a": 2, "b": "4.0 deg"}]


def test_latin_cases_meet_every_part_once():
    count = 50
    cases = make_cases({"a": Between(2, 4), "b": Between(1e-3, 10, log=True)}, f"latin:{count}", seed=5)
    parts = (np.array(cases.columns[0]) - 2) / 2
    logs = np.log(np.array(cases.columns[1]) / 1e-3) / np.log(1e4)
    for column in (parts, logs):
        assert sorted((column * count * (1 - ROUNDING)).astype(int)) == list(range(count))


def test_what_is_drawn_depends_on_the_seed_alone():
    vary = {"a": Normal(1, 0.1), "b": [1, 2, 3]}
    first, same, other = (make_cases(vary, "random:20", seed=seed) for seed in (1, 1, 2))
    assert first == same
    assert first.columns != other.columns
    assert "seed 1" in first.how


def test_normal_values_have_their_mean_and_deviation():
    values = np.array(make_cases({"a": Normal(3, 0.5)}, "latin:2000").columns[0])
    # evenly drawn values meet the moments far better than 1/sqrt(2000)
    np.testing.assert_allclose([values.mean(), values.std()], [3, 0.5], rtol=2e-3)
