"""Constants split by patterns that are known: the same as split anew, and only where the structure is the same."""

import numpy as np
import pytest

import zoo
from pliant.engine.trace import known_patterns
from pliant.engine.trace.known_patterns import KnownPattern, row_of
from pliant.engine.trace.structure import _split_as_before, constants_from, constants_of, freeze, split_constants

ROBOTS = ("second-order", "rods-in-a-plane", "rod-in-space", "families", "drives", "imported", "rigid-7", "elements")


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """An empty table."""
    table = {}
    monkeypatch.setattr(known_patterns, "_KNOWN", table)
    return table


def told_apart(link, split):
    """Whether no two numbers are so near each other that rounding, which differs between processors, makes them one."""
    _, row = row_of(link.numbers)
    return KnownPattern(split.key, split.pattern, len(row)).values(row) is not None


@pytest.mark.parametrize("name", ROBOTS)
def test_known_is_as_split_anew(name, known, monkeypatch):
    """Every link, found and found again: values, patterns and keys."""
    links = zoo.tree_of(zoo.robot(name)).links
    anew = [split_constants(link.constants) for link in links]
    assert [_split_as_before(link).values for link in links] == [split.values for split in anew]
    assert known
    monkeypatch.setattr("pliant.engine.trace.structure.split_constants", lambda _: pytest.fail("split anew"))
    for link, split in zip(links, anew, strict=True):
        if not told_apart(link, split):
            continue
        again = _split_as_before(link)
        assert again.values == split.values
        assert again.key.frozen == split.key.frozen
        assert again.key.digest(link.kind) == split.key.digest(link.kind)


class Body:
    """Constants of a link, with numbers of each role."""

    def __init__(self, *, first=2.0, second=3.0, third=-2.0, axis=0.5, zero=0.0):
        drive = zoo.tree_of(zoo.robot("rigid-1")).links[0].constants.drive
        seat = zoo.tree_of(zoo.robot("rigid-1")).links[0].constants.seat
        self.numbers = (np.array([[first, second], [third, zero]]), seat._replace(R0=[[axis, 0.0, 0.0]] * 3), drive)

    @property
    def constants(self):
        return (self.numbers[0].tolist(), *self.numbers[1:])


def split_by_known(before, after):
    """Values of the second by the pattern of the first, if it is the same."""
    key, row = row_of(before.numbers)
    other, others = row_of(after.numbers)
    split = split_constants(list(before.constants))
    found = KnownPattern(split.key, split.pattern, len(row))
    assert found.fits
    assert found.values(row) == split.values
    values = found.values(others) if key == other else None
    anew = split_constants(list(after.constants))
    if values is not None:
        assert anew.key.frozen == split.key.frozen
        assert values == anew.values
    return values is not None


@pytest.mark.parametrize(
    "other",
    [
        {"first": 5.0, "third": -5.0},
        {"first": -5.0, "third": 5.0},
        {"axis": 0.7},
        {"first": 2.0 * (1 + 1e-15)},
    ],
    ids=str,
)
def test_other_numbers(other):
    assert split_by_known(Body(), Body(**other))


@pytest.mark.parametrize(
    "other",
    [
        {"first": 5.0},
        {"third": 2.0},
        {"second": 2.0},
        {"second": 0.0},
        {"zero": 1.0},
        {"axis": 1.0},
        {"axis": -1.0},
        {"axis": 2.0},
    ],
    ids=str,
)
def test_other_structure(other):
    """Numbers that were equal and are not, or the other way round; signs, zeros and ones."""
    assert not split_by_known(Body(), Body(**other))


def test_the_table_does_not_grow(known, monkeypatch):
    monkeypatch.setattr(known_patterns, "MOST_KNOWN", 5)
    for link in zoo.tree_of(zoo.robot("rigid-20")).links:
        _split_as_before(link)
    assert 0 < len(known) <= 5


def test_numbers_of_numpy_are_numbers():
    plain, typed = (row_of((kind(2.0), [kind(3.0)], None)) for kind in (float, np.float64))
    assert plain[0] == typed[0]
    assert plain[1].tolist() == typed[1].tolist() == [2.0, 3.0, 0.0]


def test_other_numbers_are_put_in_though_the_last_ones_are_kept():
    """Laws on floats ask for the same constants again and again; others are others, on floats or not."""
    tree = zoo.tree_of(zoo.robot("drives"))
    numbers = constants_of(tree).tolist()
    own = constants_from(tree, numbers)
    assert constants_from(tree, list(numbers)) is own
    changed = [1.5 * x for x in numbers]
    assert freeze(constants_from(tree, changed)) != freeze(own)
    assert freeze(constants_from(tree, numbers)) == freeze(own)
    columns = [np.array([x, 2 * x]) for x in numbers]
    assert len(constants_from(tree, columns)) == len(own)
