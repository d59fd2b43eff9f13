"""An arm whose upper link is a welded lattice girder with the matrices of a finite-element program.

No single beam describes it: its rails bend between the rungs, and it shears.

    python examples/05_lattice_arm.py [FOLDER]

writes the three files that 05_lattice_arm.yaml names, as a finite-element program would, and lattice-arm.png: the
lowest vibrations of the arm, with its drives held.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.io import mmwrite
from scipy.linalg import eigh
from scipy.sparse import coo_array

import pliant

E, G, DENSITY = 70e9, 26e9, 2700.0
LENGTH, WIDTH, BAYS = 1.2, 0.12, 6
OUTER, WALL = 0.025, 0.0015


def tube():
    """Area, second moment and polar moment of the round tubes."""
    a, b = OUTER / 2, OUTER / 2 - WALL
    return np.pi * (a**2 - b**2), np.pi / 4 * (a**4 - b**4), np.pi / 2 * (a**4 - b**4)


def girder():
    """Nodes (n, 3), and the pairs of nodes that a tube joins."""
    x = np.linspace(0.0, LENGTH, BAYS + 1)
    nodes = np.array([(a, side * WIDTH / 2, 0.0) for a in x for side in (-1, 1)])
    bars = [(0, 1)]
    for k in range(0, 2 * BAYS, 2):
        bars += [(k, k + 2), (k + 1, k + 3), (k + 2, k + 3), (k, k + 3) if k % 4 else (k + 1, k + 2)]
    return nodes, bars


def bar_matrices(h):
    """Stiffness and consistent mass (12, 12) of a tube of length h along x: displacements and turns of two nodes."""
    A, second, J = tube()
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    m = DENSITY * A * h
    pair, swing = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 2.0]]) / 6
    K[np.ix_([0, 6], [0, 6])], M[np.ix_([0, 6], [0, 6])] = E * A / h * pair, m * swing
    K[np.ix_([3, 9], [3, 9])], M[np.ix_([3, 9], [3, 9])] = G * J / h * pair, DENSITY * J * h * swing
    bend = [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
            [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]  # fmt: skip
    move = [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
            [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]]  # fmt: skip
    for places, sign in (([1, 5, 7, 11], 1.0), ([2, 4, 8, 10], -1.0)):
        turn = np.diag([1.0, sign, 1.0, sign])
        K[np.ix_(places, places)] = turn @ np.array(bend) @ turn * E * second / h**3
        M[np.ix_(places, places)] = turn @ np.array(move) @ turn * m / 420
    return K, M


def matrices():
    """K, M (6 n, 6 n) and the nodes of the girder."""
    nodes, bars = girder()
    K, M = np.zeros((2, 6 * len(nodes), 6 * len(nodes)))
    for i, j in bars:
        along = nodes[j] - nodes[i]
        h = np.linalg.norm(along)
        x = along / h
        R = np.array([x, np.cross([0.0, 0.0, 1.0], x), [0.0, 0.0, 1.0]])
        T = np.kron(np.eye(4), R)
        places = np.r_[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
        for whole, part in zip((K, M), bar_matrices(h), strict=True):
            whole[np.ix_(places, places)] += T.T @ part @ T
    return K, M, nodes


def write(folder):
    """The three files."""
    K, M, nodes = matrices()
    for name, A in (("stiffness", K), ("mass", M)):
        mmwrite(folder / f"{name}.mtx", coo_array(A), symmetry="symmetric", precision=12)
    np.savetxt(folder / "nodes.csv", nodes, fmt="%.6f", delimiter=",", header="x,y,z", comments="")


def main(folder: Path) -> dict[str, float]:
    """Figures by name and unit."""
    robot = pliant.load(Path(__file__).with_suffix(".yaml"))
    K, M, _ = matrices()
    # nodes 0 and 1 are welded to the shoulder
    whole = np.sqrt(eigh(K[12:, 12:], M[12:, 12:], eigvals_only=True)[0]) / (2 * np.pi)
    girder = pliant.build_body(robot.link("girder"), robot)
    reduced = np.sqrt(eigh(girder.K_ee, girder.M_ee, eigvals_only=True)[0]) / (2 * np.pi)
    modes = pliant.modes(pliant.Dynamics(robot))
    modes.draw(folder / "lattice-arm.png")
    return {
        "unknowns of the girder": K.shape[0],
        "coordinates that are kept": len(girder.names),
        "first frequency of the girder, Hz": float(reduced),
        "of all its unknowns, Hz": float(whole),
        "first frequency of the arm, Hz": float(modes.hertz[0]),
    }


if __name__ == "__main__":
    write(Path(__file__).with_suffix(""))
    for name, value in main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")).items():
        print(f"{name:36s} {value:.5g}")
