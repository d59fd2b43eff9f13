"""Material points of links that bend far, by brute force: fine steps along the axis, nothing shared with the rods."""

from itertools import pairwise

import numpy as np

# equal steps along a link; the error is of fourth order in their length
STEPS = 320
TERMS = 9
"""Of the exponential of one step, which turns by some hundredths of a radian."""


def _exponential(A):
    """Of matrices (steps, 4, 4)."""
    term = out = np.eye(4) + 0 * A
    for k in range(1, TERMS):
        term = term @ A / k
        out = out + term
    return out


def _twist(strain):
    """Generators (steps, 4, 4) of (R, r) along the axis: R' = R kappa~, r' = R (e_x + eps)."""
    x, y, z, stretch, along_y, along_z = strain.T
    zero = 0 * x
    rows = [[zero, -z, y, 1.0 + stretch], [z, zero, -x, along_y], [-y, x, zero, along_z], [zero] * 4]
    return np.moveaxis(np.array(rows), -1, 0)


# (row of the strain, sign) of each family
STRAINS = {
    "torsion": (0, 1.0),
    "bend_y": (2, 1.0),
    "bend_z": (1, -1.0),
    "axial": (3, 1.0),
    "shear_y": (4, 1.0),
    "shear_z": (5, 1.0),
}


class BentAxis:
    """The axis of a rod whose strains are those of some shapes, at some places."""

    def __init__(self, sets, length, places):
        self.n = sum(s.size for s in sets)
        self.places = np.asarray(places, dtype=float)
        # every place ends a step
        self.ends = np.unique(np.concatenate([np.linspace(0.0, length, STEPS + 1), self.places]))
        self.index = np.searchsorted(self.ends, self.places)
        a, b = self.ends[:-1], self.ends[1:]
        self.h = b - a
        # Magnus' series of order 4 with the two Gauss points of each step
        self.nodes = [self._rows(sets, (a + b) / 2 + s * self.h / (2 * np.sqrt(3))) for s in (-1, 1)]

    def _rows(self, sets, x):
        rows = np.zeros((len(x), 6, self.n))
        start = 0
        for s in sets:
            k, sign = STRAINS[s.family]
            rows[:, k, start : start + s.size] = sign * s.sample(x).strain.T
            start += s.size
        return rows

    def __call__(self, q):
        """Positions (places, 3) and rotations (places, 3, 3)."""
        A, B = (_twist(rows @ q) for rows in self.nodes)
        h = self.h[:, None, None]
        # to the right of the pose the commutator counts with the opposite sign
        steps = _exponential(h / 2 * (A + B) + np.sqrt(3) / 12 * h**2 * (A @ B - B @ A))
        poses = [np.eye(4) + 0 * steps[0, 0, 0]]
        for step in steps:
            poses.append(poses[-1] @ step)
        found = np.array(poses)[self.index]
        return found[:, :3, 3], found[:, :3, :3]


def shortening_of_pieces(sets, x, n, nodes):
    """The same of rigid pieces: that of the nearest node, and a lever that tilts with it."""
    node = np.asarray(nodes)[np.argmin(np.abs(x[:, None] - np.asarray(nodes)), axis=1)]
    out = shortening(sets, node, n)
    start = 0
    for s in sets:
        if s.family in ("bend_y", "bend_z"):
            turn = s.sample(node).rotation.T
            block = slice(start, start + s.size)
            out[:, block, block] -= (x - node)[:, None, None] * turn[:, :, None] * turn[:, None]
        start += s.size
    return out


def shortening(sets, x, n):
    """-int_0^x w' w'^T (places, n, n) of the axis, with its own quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    out = np.zeros((len(x), n, n))
    breaks = np.unique(np.concatenate([s.breaks for s in sets]))
    for j, at in enumerate(x):
        ends = np.concatenate([[0.0], breaks[(breaks > 0) & (breaks < at)], [at]])
        for a, b in pairwise(ends):
            places, dx = (a + b) / 2 + (b - a) / 2 * nodes, (b - a) / 2 * weights
            start = 0
            for s in sets:
                if s.family in ("bend_y", "bend_z"):
                    sample = s.sample(places)
                    slope = sample.rotation + sample.shear
                    out[j, start : start + s.size, start : start + s.size] -= (slope * dx) @ slope.T
                start += s.size
    return out
