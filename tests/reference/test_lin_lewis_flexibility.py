"""Lin & Lewis, section 4.3: the flexible motion changes D much and M hardly."""

import numpy as np

from pliant import Dynamics
from pliant.reproduce.lin_lewis import flexibility_changes, turret, turret_states
from small_arms import linear

MANY = 20
"""D changes at least so many times as much as M."""


def test_flexibility_changes_d_and_hardly_m():
    changes = flexibility_changes()
    at_one_percent = next(change for change in changes if change.deflection == 0.01)
    assert 0.0005 < at_one_percent.M < 0.005
    assert 0.04 < at_one_percent.D < 0.2
    for change in changes:
        assert change.D > MANY * change.M
        assert change.h > MANY * change.M


def test_the_same_by_the_recursion():
    """M and D v of the recursive model at the same states."""
    arm, changes = Dynamics(linear(turret()), compile="never"), []
    rigid = np.arange(6) < 2
    for q, v in turret_states(0.02):
        M, straight = (arm.mass_matrix(x)[:2, :2] for x in (q, np.where(rigid, q, 0.0)))
        h = [(arm.coriolis(x, y) @ y)[:2] for x, y in ((q, v), (np.where(rigid, q, 0.0), np.where(rigid, v, 0.0)))]
        changes.append([np.linalg.norm(M - straight) / np.linalg.norm(straight),
                        np.linalg.norm(h[0] - h[1]) / np.linalg.norm(h[1])])  # fmt: skip
    ours = next(change for change in flexibility_changes() if change.deflection == 0.02)
    theirs = np.sqrt(np.mean(np.square(changes), axis=0))
    assert np.abs(theirs / [ours.M, ours.h] - 1).max() < 1e-9
