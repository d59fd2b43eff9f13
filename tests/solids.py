"""Meshed links of the tests: bars of bricks cut into tetrahedra, and the two solids of the reference table."""

import json
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from pliant.solid_mechanics.clamped_link import ClampedLink
from pliant.solid_mechanics.interfaces import make_interface
from pliant.solid_mechanics.solid_mesh import EDGES, checked_mesh
from pliant.solid_mechanics.tetrahedra import Elastic, MeshedSolid

REFERENCE = json.loads((Path(__file__).parent / "reference" / "data" / "fe.json").read_text())
# a brick as six tetrahedra around its diagonal, corners by the bits of x, y, z
SIX = [(0, 4, 6, 7), (0, 6, 2, 7), (0, 2, 3, 7), (0, 3, 1, 7), (0, 1, 5, 7), (0, 5, 4, 7)]


def bar_mesh(size, bricks):
    """A bar from x = 0, its section centred on the axis."""
    ticks = [np.linspace(0, size[0], bricks[0] + 1)]
    ticks += [np.linspace(-s / 2, s / 2, n + 1) for s, n in zip(size[1:], bricks[1:], strict=True)]
    corners = np.array(list(product(*ticks)))
    strides = np.array([(bricks[1] + 1) * (bricks[2] + 1), bricks[2] + 1, 1])
    tets = []
    for cell in product(*map(range, bricks)):
        own = [int(np.dot(np.add(cell, [k >> 2 & 1, k >> 1 & 1, k & 1]), strides)) for k in range(8)]
        tets += [[own[k] for k in four] for four in SIX]
    tets = np.array(tets)
    edges = np.sort(tets[:, EDGES].reshape(-1, 2), axis=1)
    unique, place = np.unique(edges, axis=0, return_inverse=True)
    nodes = np.concatenate([corners, corners[unique].mean(axis=1)])
    whole = np.concatenate([tets, len(corners) + place.reshape(-1, 6)], axis=1)
    # one order for both hands
    wrong = np.linalg.det(nodes[whole[:, 1:4]] - nodes[whole[:, :1]]) < 0
    whole[wrong] = whole[wrong][:, [0, 2, 1, 3, 6, 5, 4, 7, 9, 8]]
    return checked_mesh(nodes, whole)


def end(mesh, x):
    """Nodes at a place along the axis."""
    return np.flatnonzero(np.abs(mesh.nodes[:, 0] - x) < 1e-9)


@cache
def reference_solid(name):
    """bar or bracket of the reference."""
    case = REFERENCE["cases"][name]
    mesh = checked_mesh(np.array(case["nodes"]), np.array(case["tets"]))
    return case, MeshedSolid(mesh, Elastic(case["E"], case["nu"], case["rho"]))


@cache
def reference_link(name, kind):
    """The same, clamped at its root with a tip of some kind."""
    case, solid = reference_solid(name)
    tip = make_interface("tip", solid.mesh.nodes, np.array(case["tip_nodes"]), np.array(case["tip_origin"]), kind)
    return ClampedLink(solid.K, solid.M, 3, np.array(case["root_nodes"]), [tip])
