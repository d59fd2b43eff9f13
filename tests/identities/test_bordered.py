"""Elimination on a bordered matrix gives what elimination on the full one gives, with operations that grow linearly."""

import math

import numpy as np
import pytest

import zoo
from pliant import Robot
from pliant.dynamics import Dynamics
from pliant.engine.trace.roller import whole
from pliant.formulations.recursive.recursions import FORWARD, INVERSE
from pliant.tree import bordered
from pliant.tree.kinematics import ENERGY

TOLERANCE = 1e-10
"""Of the largest entry: nodal mass matrices have condition numbers up to 1e5."""
LINEAR = 1.1
"""Exponent of operations over coordinates that is still linear."""
NEVER = 10**9

BAR = {"length": 1.0, "material": "aluminium", "section": {"rectangle": {"width": 0.02, "height": 0.03}}}
HINGE = {"name": "hinge", "axis": "y", "parent": "arm.tip"}
# what slides along the beam has no inertia along it
SLIDE = {"name": "slide", "type": "prismatic", "axis": "x", "parent": "arm.tip"}
MIDDLE = {**HINGE, "parent": "arm.middle"}


def robot(shapes, joint=HINGE):
    """A link that bends to second order and carries another one."""
    arm = {
        "name": "arm",
        "joint": {"name": "root", "axis": "z"},
        "beam": {**BAR, **shapes},
        "frames": [{"name": "middle", "x": 0.4, "position": [0.0, 0.05, 0.02]}],
    }
    return Robot(
        name="bordered", links=[arm, {"name": "hand", "joint": joint, "beam": {**BAR, "modes": {"bend_y": 1}}}]
    )


ROBOTS = {
    "elements": robot({"elements": {"number": 2, "torsion": True, "axial": True}}),
    "nothing along the beam": robot({"elements": {"number": 2}}, SLIDE),
    "beside the axis": robot({"elements": {"number": 2}}, MIDDLE),
    "modes": robot({"modes": {"bend_y": 2, "bend_z": 1}}),
    "tree": zoo.robot("second-order"),
}


@pytest.mark.parametrize("algorithm", [FORWARD, INVERSE, ENERGY], ids=lambda each: each.name)
@pytest.mark.parametrize("bent", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("name", ROBOTS)
def test_bordered_is_full(name, bent, algorithm, monkeypatch):
    """Every row has an unknown of its own, or none."""
    tree = Dynamics(ROBOTS[name], compile="never").tree
    rng = np.random.default_rng(5)
    known = dict(zip("qvaf", rng.uniform(-1.0, 1.0, (4, tree.size)), strict=True))
    known["q"] *= bent
    inputs = {key: known[key].tolist() for key in algorithm.inputs}
    results = []
    for above, full in ((0, 0), (0, 4), (NEVER, NEVER)):
        monkeypatch.setattr(bordered, "BORDERED_ABOVE", above)
        monkeypatch.setattr(bordered, "FULL_ROW", full)
        results.append(np.array(algorithm.evaluate(tree, inputs)))
    for ours in results[:-1]:
        assert np.abs(ours - results[-1]).max() <= TOLERANCE * np.abs(results[-1]).max()


def test_pairs_of_pivots():
    """L D L^T of a matrix whose last unknowns have no pivots of their own."""
    n = 3
    rng = np.random.default_rng(1)
    M = np.zeros((n + 4, n + 4))
    A = rng.uniform(-1.0, 1.0, (n, n))
    M[:n, :n] = A @ A.T + np.eye(n)
    for z in (n, n + 2):
        M[z + 1, :n] = M[:n, z + 1] = rng.uniform(-1.0, 1.0, n)
        M[z, z + 1] = M[z + 1, z] = -1.0
    L, pivots = bordered.factor(M.tolist(), n)
    unit = np.array(L) + np.eye(n + 4)
    inverse = np.array(pivots.under(np.eye(n + 4).tolist()))
    assert np.abs(unit @ np.linalg.inv(inverse) @ unit.T - M).max() <= TOLERANCE


@pytest.mark.parametrize("algorithm", [FORWARD, INVERSE], ids=lambda each: each.name)
def test_operations_grow_linearly(algorithm):
    counts = []
    for number in (6, 12):
        tree = Dynamics(robot({"elements": {"number": number}}), compile="never").tree
        counts.append((tree.size, whole(algorithm, tree).operations.total))
    (few, least), (many, most) = counts
    assert math.log(most / least) / math.log(many / few) <= LINEAR
