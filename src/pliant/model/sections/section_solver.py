"""Torsion constant and shear flexibility of a section by quadratic triangles.

Torsion (Saint-Venant): Prandtl's stress function, ``-div grad phi = 2``, zero on the outline and constant on every
hole; J is twice the volume below it. Shear without Poisson's effect: ``-div grad Phi = y / Iz`` (and z / Iy) without
flux through the surface; the shear stresses of a unit force are grad Phi, and their energy is its flexibility 1/(k A).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pliant.model.element import Array

Points = Sequence[Sequence[float]]
Ints = NDArray[np.int64]
# elements across a wall, and the largest one relative to the section
ACROSS = 6
LARGEST_CELL = 0.04
# how often a mesh is made finer until its sides follow the outline
FINER = 6
SAME = 1e-10


def solve_section(rings: Sequence[Points], second: Array) -> tuple[float, Array]:
    """J, and the flexibility (2, 2) of shear forces along y and z, for an outline about its centroid.

    second  [[int y^2 dA, int y z dA], [.., int z^2 dA]]
    """
    nodes, triangles = mesh(rings)
    nodes, triangles = _with_midpoints(nodes, triangles)
    K, weights, by_y, by_z = _assemble(nodes, triangles)
    return _torsion(rings, nodes, triangles, K, weights), _shear(K, np.column_stack([by_y, by_z]), second)


# ---------------------------------------------------------------- the two problems


def _torsion(rings: Sequence[Points], nodes: Array, triangles: Ints, K: object, weights: Array) -> float:
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    # unknowns: inner nodes, then one for every hole; nodes of the outline have none
    number = np.full(len(nodes), -1)
    edge = _boundary(triangles)
    hole_areas = [abs(_area(np.array(ring))) for ring in rings[1:]]
    for k, ring in enumerate(rings[1:]):
        on = edge[_on_ring(nodes[edge], np.array(ring))]
        number[on] = -2 - k
    inner = np.setdiff1d(np.arange(len(nodes)), edge)
    number[inner] = np.arange(len(inner))
    for k in range(len(rings) - 1):
        number[number == -2 - k] = len(inner) + k
    kept = np.flatnonzero(number >= 0)
    shape = (len(nodes), len(inner) + len(rings) - 1)
    P = coo_array((np.ones(len(kept)), (kept, number[kept])), shape=shape).tocsc()
    load = P.T @ (2 * weights)
    load[len(inner) :] += 2 * np.array(hole_areas)
    phi = splu((P.T @ K @ P).tocsc()).solve(load)
    # twice the volume below phi, holes included
    return float(load @ phi)


def _shear(K: object, loads: Array, second: Array) -> Array:
    from scipy.sparse import block_array, csc_array
    from scipy.sparse.linalg import splu

    # the equilibrium with the bending stresses: tau of a unit force balances (y, z) S^-1
    b = loads @ np.linalg.inv(second)
    n = len(b)
    ones = csc_array(np.ones((n, 1)))
    # the constant is fixed by a vanishing sum
    whole = block_array([[K, ones], [ones.T, None]]).tocsc()
    Phi = splu(whole).solve(np.vstack([b, np.zeros((1, 2))]))[:n]
    flexibility: Array = b.T @ Phi
    return (flexibility + flexibility.T) / 2


# ---------------------------------------------------------------- quadratic triangles

# three inner points, exact for quadratic integrands; products of gradients are quadratic
_POINTS = np.array([[2 / 3, 1 / 6, 1 / 6], [1 / 6, 2 / 3, 1 / 6], [1 / 6, 1 / 6, 2 / 3]])


def _assemble(nodes: Array, triangles: Ints) -> tuple[object, Array, Array, Array]:
    """Stiffness, and the loads of 1, y and z."""
    from scipy.sparse import coo_array

    corners = nodes[triangles[:, :3]]
    d1, d2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area2 = d1[:, 0] * d2[:, 1] - d1[:, 1] * d2[:, 0]
    # gradients of the area coordinates
    opposite = np.roll(corners, -1, axis=1) - np.roll(corners, -2, axis=1)
    grad = np.stack([opposite[..., 1], -opposite[..., 0]], axis=-1) / area2[:, None, None]
    K = np.zeros((len(triangles), 6, 6))
    loads = np.zeros((3, len(triangles), 6))
    for L in _POINTS:
        N = np.array([*(L * (2 * L - 1)), 4 * L[0] * L[1], 4 * L[1] * L[2], 4 * L[2] * L[0]])
        g = np.empty((len(triangles), 6, 2))
        for i in range(3):
            j = (i + 1) % 3
            g[:, i] = (4 * L[i] - 1) * grad[:, i]
            g[:, 3 + i] = 4 * (L[j] * grad[:, i] + L[i] * grad[:, j])
        w = area2 / 6
        K += w[:, None, None] * g @ np.swapaxes(g, 1, 2)
    # the loads of y and z are cubic: four points
    for weight, L in _CUBIC:
        N = np.array([*(L * (2 * L - 1)), 4 * L[0] * L[1], 4 * L[1] * L[2], 4 * L[2] * L[0]])
        at = np.einsum("i,kia->ka", L, corners)
        w = weight * area2 / 2
        loads += w[None, :, None] * np.stack([np.ones(len(at)), at[:, 0], at[:, 1]])[:, :, None] * N
    rows = np.repeat(triangles, 6, axis=1).ravel()
    columns = np.tile(triangles, (1, 6)).ravel()
    stiffness = coo_array((K.ravel(), (rows, columns)), shape=(len(nodes), len(nodes))).tocsc()
    ones, by_y, by_z = np.zeros((3, len(nodes)))
    for out, load in zip((ones, by_y, by_z), loads, strict=True):
        np.add.at(out, triangles, load)
    return stiffness, ones, by_y, by_z


_CUBIC = [
    (-27 / 48, np.array([1 / 3, 1 / 3, 1 / 3])),
    *((25 / 48, np.array(L)) for L in ([0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6])),
]


def _edges(triangles: Ints) -> tuple[Ints, Ints, Ints]:
    """Distinct edges (e, 2), their number in each triangle (t, 3), and how many triangles share each."""
    pairs = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    edges, which, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    return edges, which.reshape(3, -1).T, count


def _with_midpoints(nodes: Array, triangles: Ints) -> tuple[Array, Ints]:
    edges, which, _ = _edges(triangles)
    middles = nodes[edges].mean(axis=1)
    return np.vstack([nodes, middles]), np.hstack([triangles, which + len(nodes)])


def _boundary(triangles: Ints) -> Ints:
    """Nodes of edges that belong to one triangle, of quadratic triangles."""
    edges, which, count = _edges(triangles[:, :3])
    middle = np.empty(len(edges), dtype=np.int64)
    middle[which.ravel()] = triangles[:, 3:].ravel()
    outer = count == 1
    return np.unique(np.concatenate([edges[outer].ravel(), middle[outer]]))


# ---------------------------------------------------------------- meshes


def mesh(rings: Sequence[Points]) -> tuple[Array, Ints]:
    """Nodes (n, 2) and triangles (t, 3), counter-clockwise: a grid for sections of right angles, else Delaunay's."""
    corners = np.vstack([np.array(ring, dtype=float) for ring in rings])
    steps = np.vstack([np.roll(np.array(ring), -1, axis=0) - np.array(ring) for ring in rings])
    size = float(np.ptp(corners, axis=0).max())
    if (np.abs(steps).min(axis=1) < SAME * size).all():
        return _grid(rings, corners, size)
    loops = [np.array(ring, dtype=float) for ring in rings]
    area = abs(_area(loops[0])) - sum(abs(_area(loop)) for loop in loops[1:])
    # a wall is about twice as thick as area over circumference
    wall = 2 * area / float(np.linalg.norm(steps, axis=1).sum())
    step = min(LARGEST_CELL * size, 2 * wall / ACROSS)
    for _ in range(FINER):
        nodes, triangles = _delaunay(loops, step)
        if abs(_areas(nodes, triangles).sum() / area - 1) < SAME:
            return nodes, triangles
        # some line of the outline is no side of a triangle yet
        step /= 1.5
    raise ValueError("the outline cannot be divided into triangles; are some of its corners very sharp?")


def _delaunay(loops: Sequence[Array], step: float) -> tuple[Array, Ints]:
    """Triangles on points along the outlines and on a hexagonal grid between them."""
    from scipy.spatial import Delaunay, cKDTree

    border = []
    for loop in loops:
        for p, q in zip(loop, np.roll(loop, -1, axis=0), strict=True):
            n = max(1, int(np.ceil(np.linalg.norm(q - p) / step)))
            border.append(p + (q - p) * np.arange(n)[:, None] / n)
    edge = np.vstack(border)
    low, high = loops[0].min(axis=0), loops[0].max(axis=0)
    y, z = np.meshgrid(np.arange(low[0], high[0], step), np.arange(low[1], high[1], step * np.sqrt(0.75)))
    y = y + step / 2 * (np.arange(len(y)) % 2)[:, None]
    inner = np.column_stack([y.ravel(), z.ravel()])
    inner = inner[_inside(loops, inner)]
    if len(inner):
        inner = inner[cKDTree(edge).query(inner)[0] > 0.6 * step]
    nodes = np.vstack([edge, inner])
    triangles = np.array(Delaunay(nodes).simplices, dtype=np.int64)
    areas = _areas(nodes, triangles)
    triangles = np.where((areas < 0)[:, None], triangles[:, ::-1], triangles)
    kept = (np.abs(areas) > SAME * step**2) & _inside(loops, nodes[triangles].mean(axis=1))
    used, triangles = np.unique(triangles[kept], return_inverse=True)
    return nodes[used], triangles.reshape(-1, 3)


def _areas(nodes: Array, triangles: Ints) -> Array:
    a, b, c = (nodes[triangles[:, k]] for k in range(3))
    return np.asarray((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])) / 2


def _inside(loops: Sequence[Array], points: Array) -> NDArray[np.bool_]:
    """Inside the outline and outside its holes: holes turn inside to outside."""
    inside = np.zeros(len(points), dtype=bool)
    for loop in loops:
        inside ^= _contains(loop, points)
    return inside


def _grid(rings: Sequence[Points], corners: Array, size: float) -> tuple[Array, Ints]:
    lines = [_divided(_distinct(corners[:, k], size), size) for k in range(2)]
    y, z = (np.array(line) for line in lines)
    cy, cz = np.meshgrid((y[1:] + y[:-1]) / 2, (z[1:] + z[:-1]) / 2, indexing="ij")
    centres = np.column_stack([cy.ravel(), cz.ravel()])
    inside = _inside([np.array(ring, dtype=float) for ring in rings], centres).reshape(cy.shape)
    number = np.arange(len(y) * len(z)).reshape(len(y), len(z))
    a, b, c, d = number[:-1, :-1][inside], number[1:, :-1][inside], number[1:, 1:][inside], number[:-1, 1:][inside]
    triangles = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    used, triangles = np.unique(triangles, return_inverse=True)
    nodes = np.column_stack([grid.ravel() for grid in np.meshgrid(y, z, indexing="ij")])[used]
    return nodes, triangles.reshape(-1, 3)


def _distinct(values: Array, size: float) -> list[float]:
    out: list[float] = []
    for value in sorted(values):
        if not out or value - out[-1] > SAME * size:
            out.append(float(value))
    return out


def _divided(lines: list[float], size: float) -> list[float]:
    """Lines between the corners: some in every wall, closer together at the corners, where stresses change."""
    out = [lines[0]]
    for low, high in pairwise(lines):
        n = max(ACROSS, int(np.ceil((high - low) / (LARGEST_CELL * size))))
        graded = (1 - np.cos(np.pi * np.arange(1, n + 1) / n)) / 2
        out.extend(low + (high - low) * graded)
    return out


# ---------------------------------------------------------------- plane geometry


def _area(ring: Array) -> float:
    q = np.roll(ring, -1, axis=0)
    return float((ring[:, 0] * q[:, 1] - q[:, 0] * ring[:, 1]).sum() / 2)


def _contains(ring: Array, points: Array) -> NDArray[np.bool_]:
    """Whether points lie inside, by the number of crossings of a ray."""
    inside = np.zeros(len(points), dtype=bool)
    for (y0, z0), (y1, z1) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        between = (z0 > points[:, 1]) != (z1 > points[:, 1])
        if between.any():
            at = y0 + (points[between, 1] - z0) * (y1 - y0) / (z1 - z0)
            inside[between] ^= points[between, 0] < at
    return inside


def contains(ring: Points, point: Sequence[float]) -> bool:
    """Whether a point lies inside an outline."""
    return bool(_contains(np.array(ring, dtype=float), np.array([point], dtype=float))[0])


def _on_ring(points: Array, ring: Array) -> NDArray[np.bool_]:
    """Whether points lie on the lines of an outline."""
    on = np.zeros(len(points), dtype=bool)
    size = np.ptp(ring, axis=0).max()
    for p, q in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        along = q - p
        t = np.clip((points - p) @ along / (along @ along), 0.0, 1.0)
        on |= np.linalg.norm(points - p - t[:, None] * along, axis=1) < 1e-7 * size
    return on


def crossing(rings: Sequence[Points]) -> Array | None:
    """A point where lines of outlines cross that do not follow one another."""
    loops = [np.array(ring, dtype=float) for ring in rings]
    a, u = np.vstack(loops), np.vstack([np.roll(loop, -1, axis=0) - loop for loop in loops])
    # which outline, which of its lines, and how many it has
    where = np.concatenate([np.full(len(loop), k) for k, loop in enumerate(loops)])
    along = np.concatenate([np.arange(len(loop)) for loop in loops])
    n = np.concatenate([np.full(len(loop), len(loop)) for loop in loops])
    i, j = np.triu_indices(len(a), 1)
    apart = np.abs(along[i] - along[j])
    neighbours = (where[i] == where[j]) & ((apart == 1) | (apart == n[i] - 1))
    i, j = i[~neighbours], j[~neighbours]
    w = a[j] - a[i]
    turn = u[i, 0] * u[j, 1] - u[i, 1] * u[j, 0]
    parallel = np.abs(turn) < 1e-14 * np.linalg.norm(u[i], axis=1) * np.linalg.norm(u[j], axis=1)
    safe = np.where(parallel, 1.0, turn)
    s = (w[:, 0] * u[j, 1] - w[:, 1] * u[j, 0]) / safe
    t = (w[:, 0] * u[i, 1] - w[:, 1] * u[i, 0]) / safe
    met = np.flatnonzero(~parallel & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1))
    return None if not len(met) else np.asarray(a[i[met[0]]] + s[met[0]] * u[i[met[0]]])
