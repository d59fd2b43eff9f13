"""The robots of the benchmarks, built through the public classes; no number in them is special."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import pliant

FAMILIES = {
    1: {"bend_y": 1},
    4: {"bend_y": 2, "bend_z": 2},
    6: {"bend_y": 2, "bend_z": 2, "torsion": 2},
    12: {"bend_y": 6, "bend_z": 6},
}
"""Elastic coordinates per link -> modes per family (clamped-free)."""


def rigid_chain(n: int) -> pliant.Robot:
    """A chain with full inertia tensors, offsets and general rotations between the joints."""
    return _rigid(f"{n} rigid links", [i - 1 for i in range(n)])


def rigid_tree(n: int = 30) -> pliant.Robot:
    """Every link carries two others until there are n."""
    return _rigid(f"tree of {n} rigid links", [(i - 1) // 2 for i in range(n)])


def _rigid(name: str, parents: list[int]) -> pliant.Robot:
    random = np.random.default_rng(7)
    links = []
    for i, parent in enumerate(parents):
        # the inertia of a cloud of points is always that of a possible body
        cloud = random.normal(size=(6, 3)) * (0.1, 0.15, 0.2)
        inertia = sum(0.3 * (p @ p * np.eye(3) - np.outer(p, p)) for p in cloud)
        placement = pliant.Placement(
            position=tuple(random.normal(size=3) * 0.2),
            rotation=pliant.Rotation(matrix=rows(random_rotation(random))),
        )
        links.append(
            pliant.Link(
                name=f"link{i}",
                joint=pliant.Joint(parent=_root(parent), placement=placement),
                rigid=pliant.Rigid(mass=1 + random.random(), com=tuple(cloud[0]), inertia=rows(inertia)),
            )
        )
    return pliant.Robot(name=name, links=tuple(links))


def _root(i: int) -> str:
    return f"link{i}.root" if i >= 0 else "base"


def random_rotation(random: np.random.Generator) -> NDArray[np.float64]:
    Q, _ = np.linalg.qr(random.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def rows(matrix: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())


def flexible_chain(n: int, modes: dict[str, int], twists: str = "right", bending: str = "second-order") -> pliant.Robot:
    """Equal aluminium tubes; joints twisted about x by +-90 degrees ("right") or by any angle ("general")."""
    links = []
    for i in range(n):
        right = 0.0 if i == 0 else (90.0 if i % 2 else -90.0)
        twist = right if twists == "right" else 17.3 + 3.71 * i
        links.append(
            pliant.Link(
                name=f"link{i}",
                joint=pliant.Joint(placement=pliant.Placement(rotation=pliant.Rotation(x=np.deg2rad(twist)))),
                beam=pliant.Beam(
                    length=0.9,
                    material="aluminium",
                    section=pliant.Tube(outer=0.05, thickness=0.003),
                    bending=bending,
                    modes=pliant.Modes(**modes),
                ),
            )
        )
    return pliant.Robot(name=f"{n} flexible links", links=tuple(links))


def state(size: int, count: int = 3, scale: float = 0.1, seed: int = 0) -> list[NDArray[np.float64]]:
    """Inputs of an evaluation: small enough for elastic coordinates, far from any special configuration."""
    return list(np.random.default_rng(seed).normal(size=(count, size)) * scale)
