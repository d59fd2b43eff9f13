"""Mohan & Saha's Table 1 and "two modes are enough", against counts by hand and a finite-element frame of our own."""

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant.reproduce import canadarm
from pliant.reproduce import canadarm_tables as tables
from pliant.reproduce import operation_counts as counts
from pliant.simulation.run import run_study
from pliant.simulation.study import load_study

BEAMS = ((6.0, 140.0), (7.0, 85.0), (2.0, 95.0))
EI = 1e5
SAME_FRAME = 1e-6
"""The same elements in another code: rounding, times the ratio of squared frequencies."""


def frame_frequencies(elements, *, free):
    """Three collinear beams in a row, hinged (free) or welded (locked) to each other and the ground: cubic elements."""
    w_count = len(BEAMS) * elements + 1
    size, blocks = w_count, []
    shared = None
    for b, (length, mass) in enumerate(BEAMS):
        h = length / elements
        K = EI / h**3 * np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4.0]])
        M = mass / length * h / 420 * np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]])  # fmt: skip  # noqa: E501
        scale = np.diag([1, h, 1, h])
        K, M = scale @ K @ scale, scale @ M @ scale
        turns = []
        for k in range(elements + 1):
            if k == 0 and not free and shared is not None:
                turns.append(shared)
            else:
                turns.append(size)
                size += 1
        shared = turns[-1]
        for e in range(elements):
            n = b * elements + e
            blocks.append(([n, turns[e], n + 1, turns[e + 1]], K, M))
        if b == 0:
            root_turn = turns[0]
    K_all, M_all = np.zeros((size, size)), np.zeros((size, size))
    for places, K, M in blocks:
        K_all[np.ix_(places, places)] += K
        M_all[np.ix_(places, places)] += M
    kept = np.setdiff1d(np.arange(size), [0] if free else [0, root_turn])
    squares = eigh(K_all[np.ix_(kept, kept)], M_all[np.ix_(kept, kept)], eigvals_only=True)
    return np.sqrt(np.abs(squares))[3 if free else 0 :]


@pytest.mark.parametrize("free", [True, False], ids=["free", "locked"])
def test_converged_frequencies_are_those_of_a_frame(free):
    robot = tables.with_elements(canadarm.planar_canadarm(), tables.FINE)
    np.testing.assert_allclose(
        tables.frequencies(robot, free=free)[:5], frame_frequencies(tables.FINE, free=free)[:5], rtol=SAME_FRAME
    )


def test_two_modes_miss_the_third_frequency():
    """60 % too high with free joints, as a frame has it, and 1 % with three modes."""
    limit = frame_frequencies(24, free=True)
    two, three = (
        tables.frequencies(tables.with_modes(canadarm.planar_canadarm(), k), free=True)[2] / limit[2] for k in (2, 3)
    )
    assert two == pytest.approx(1.603, abs=2e-3)
    assert three == pytest.approx(1.0094, abs=5e-4)
    # the table says the same
    found = next(each for each in tables.mode_convergence(canadarm.planar_canadarm()) if each.modes == 2)
    assert found.excess(2, free=True) == pytest.approx(two - 1, abs=1e-4)


def test_table_1_and_its_crossovers():
    assert counts.jain_rodriguez(8, 2) == pytest.approx((10568, 8344))
    # the branch by links makes a step between 7 and 8 links that the one by modes has not
    assert counts.jain_rodriguez(8, 2).total - counts.jain_rodriguez(7, 2).total == pytest.approx(7033)
    assert counts.jain_rodriguez_by_modes(8, 2).total - counts.jain_rodriguez_by_modes(7, 2).total == pytest.approx(
        1697
    )
    assert counts.cyril(8, 2) == pytest.approx((13990 + 1 / 3, 12683 + 1 / 3))
    assert counts.cyril_as_printed(8, 2).additions == pytest.approx(10675 + 1 / 3)
    assert counts.gains(counts.mohan_saha, counts.jain_rodriguez, 2) == [(1, 2), (8, 91)]
    assert counts.gains(counts.mohan_saha, counts.jain_rodriguez_by_modes, 2) == [(1, 2)]
    assert counts.gains(counts.mohan_saha, counts.cyril, 2) == [(6, counts.FARTHEST)]
    # from 91 to 92 links by hand: 2380 n - 1467 against 2364 n
    assert counts.mohan_saha(91, 2).total == pytest.approx(2380 * 91 - 1467)
    assert counts.jain_rodriguez(92, 2).total == pytest.approx(2364 * 92)


def test_both_solutions_have_residuals_of_rounding_and_both_powers_are_there():
    study = load_study("canadarm", changes={"until": 1.0})
    run = run_study(study.with_changes(robot=canadarm.planar_canadarm()))
    for method in ("recursive", "dense"):
        errors = tables.solve_errors(run, method)
        assert errors.residual < 1e-14
        assert errors.forward < 1e-10
    simulated, desired = canadarm.powers(run)
    # (44): the desired rates are k (1 - cos(pi t / T))
    t = run.time[1:-1]
    rates = np.column_stack([k * (1 - np.cos(np.pi * t / T)) for k, T in ((0.075, 10), (0.05, 5), (0.1, 5))])
    wanted = np.einsum("ij,ij->i", run.tau[1:-1], rates)
    assert np.abs(desired[1:-1] - wanted).max() < 1e-4 * np.abs(wanted).max()
    torque_times_rate = sum(run.tau[:, j] * run[f"{name}.rate"] for j, name in enumerate(canadarm.JOINTS))
    np.testing.assert_allclose(simulated, torque_times_rate, rtol=1e-9, atol=1e-12)
