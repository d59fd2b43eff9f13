"""A derivation is a matter of seconds, in processor time, which does not depend on what else the machine does."""

import time

import pytest
import sympy  # noqa: F401

from pliant.formulations.lagrange.equations import equations

TWO_LINKS_TWO_MODES = 10.0
"""Seconds of processor time; a fraction of one is what it takes, whatever else the machine does."""

ONE_MODE = 5.0


def seconds(robot):
    start = time.process_time()
    eq = equations(robot)
    _ = eq.M, eq.D, eq.G, eq.U, eq.B, eq.to("latex")
    return time.process_time() - start


@pytest.mark.parametrize("robot", ["two-link-flexible", "de-luca-siciliano"])
def test_two_links_with_two_modes_each(robot):
    assert seconds(robot) < TWO_LINKS_TWO_MODES


def test_rigid_flexible_rigid_with_one_mode():
    assert seconds("lin-lewis-rfr") < ONE_MODE


def test_progress_is_reported():
    seen = []
    equations("lin-lewis-rfr", progress=lambda part, text: seen.append((part, text)))
    parts = [part for part, _ in seen]
    assert parts == sorted(parts)
    assert 0.0 <= parts[0] <= parts[-1] <= 1.0
    assert any("forearm" in text for _, text in seen)
