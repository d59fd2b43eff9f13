"""The looks of links as triangles: meshes in STL, OBJ and COLLADA files, boxes, cylinders and spheres.

Drawings show them pale behind the strokes. A file that is missing or cannot be read is left out with one warning.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.errors import ModelError
from pliant.model.readers.urdf_values import XmlNode, parse_xml
from pliant.solid_mechanics.stl_file import read_stl

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.placement import Visual

MOST_TRIANGLES = 20_000
"""Of one mesh: more cannot be told apart in a picture; corners are then put together on a grid."""
ROUND = 24
"""Corners of what is round."""


class MeshWarning(UserWarning):
    """A mesh that a drawing has to leave out."""


def link_triangles(link: Link) -> Array:
    """What a link looks like, triangles (n, 3, 3) in its own frame; none where it has no looks."""
    parts = [visual_triangles(visual) for visual in link.visuals]
    return np.concatenate([np.zeros((0, 3, 3)), *parts])


def visual_triangles(visual: Visual) -> Array:
    """The triangles of one shape in the frame of its link."""
    if visual.mesh is not None:
        own = _mesh(visual.mesh) * np.array(visual.scale or (1.0, 1.0, 1.0))
    elif visual.box is not None:
        own = _prism(np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2) * np.array(visual.box)
    elif visual.cylinder is not None:
        radius, length = visual.cylinder.radius, visual.cylinder.length
        own = _prism(_circle(ROUND)) * np.array([radius, radius, length])
    else:
        own = _sphere() * float(visual.sphere or 0.0)
    placed: Array = visual.vector() + own @ visual.matrix().T
    return placed


def _circle(n: int) -> Array:
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _prism(outline: Array) -> Array:
    """Over an outline (n, 2), from z = -1/2 to 1/2."""
    n = len(outline)
    low, high = (np.column_stack([outline, np.full(n, z)]) for z in (-0.5, 0.5))
    after = np.roll(np.arange(n), -1)
    walls = [np.stack([low, low[after], high[after]], axis=1), np.stack([low, high[after], high], axis=1)]
    caps = [
        np.stack([np.tile([0.0, 0.0, z], (n, 1)), ring[order[0]], ring[order[1]]], axis=1)
        for z, ring, order in ((-0.5, low, (after, np.arange(n))), (0.5, high, (np.arange(n), after)))
    ]
    return np.concatenate([*walls, *caps])


_UNREADABLE = (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError, MemoryError, StopIteration)
"""What a file that is no mesh may raise in its reader."""


def _sphere() -> Array:
    """Triangles of a sphere of radius one."""
    around = np.append(_circle(ROUND), [[1.0, 0.0]], axis=0)
    polar = np.pi * np.arange(ROUND // 2 + 1) / (ROUND // 2)
    height = np.broadcast_to(np.cos(polar)[:, None, None], (len(polar), len(around), 1))
    grid = np.concatenate([np.sin(polar)[:, None, None] * around, height], axis=2)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    return np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)


# ---------------------------------------------------------------- files


@lru_cache(maxsize=256)
def _mesh(name: str) -> Array:
    """The triangles of a file in its own units of length, m."""
    path, none = Path(name), np.zeros((0, 3, 3))
    reader = READERS.get(path.suffix.lower())
    try:
        if reader is None:
            raise ValueError(f"only {', '.join(READERS)} are read")
        if not path.is_file():
            raise ValueError("there is no such file")
        found = np.asarray(reader(path), dtype=float).reshape(-1, 3, 3)
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        RecursionError,
        MemoryError,
        StopIteration,
    ) as error:
        why = error.problems[0].message if isinstance(error, ModelError) else str(error)
        warnings.warn(f"mesh '{name}' is not drawn: {why}", MeshWarning, stacklevel=2)
        return none
    return coarser(found[np.isfinite(found).all(axis=(1, 2))])


def coarser(triangles: Array, most: int = MOST_TRIANGLES) -> Array:
    """No more than a picture can show: corners move to the points of a grid, and triangles without area go."""
    cells = 128
    while len(triangles) > most and cells >= 4:
        low = triangles.min(axis=(0, 1))
        step = float((triangles.max(axis=(0, 1)) - low).max()) / cells or 1.0
        places = np.rint((triangles - low) / step).astype(np.int64)
        pairs = ((0, 1), (1, 2), (0, 2))
        flat = np.any([(places[:, a] == places[:, b]).all(axis=1) for a, b in pairs], axis=0)
        kept = np.unique(places[~flat], axis=0)
        if len(kept) <= most:
            return np.asarray(low + step * kept)
        cells //= 2
    return triangles[:most]


def _read_obj(path: Path) -> Array:
    points: list[list[float]] = []
    faces: list[list[int]] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, *words = line.split() or [""]
        if key == "v":
            points.append([float(x) for x in words[:3]])
        elif key == "f":
            # counted from one, or backwards from the last
            corners = [int(word.partition("/")[0]) for word in words]
            corners = [k - 1 if k > 0 else len(points) + k for k in corners]
            faces += [[corners[0], corners[k], corners[k + 1]] for k in range(1, len(corners) - 1)]
    wrong = next((k for face in faces for k in face if not 0 <= k < len(points)), None)
    if wrong is not None:
        raise ValueError(f"a face has the index {wrong + 1}; there are {len(points)} points")
    return np.asarray(np.array(points)[np.array(faces, dtype=int).reshape(-1, 3)])


def _read_collada(path: Path) -> Array:
    root = parse_xml(path.read_bytes(), str(path))
    unit = next((float(node.attributes.get("meter", "1")) for node in root.everywhere("unit")), 1.0)
    meshes = {f"#{node.attributes.get('id')}": _collada_mesh(node) for node in root.everywhere("geometry")}
    placed: list[Array] = []

    def walk(node: XmlNode, T: Array) -> None:
        for step in node.all("matrix"):
            T = T @ np.array(step.words, dtype=float).reshape(4, 4)
        for used in node.all("instance_geometry"):
            placed.append(meshes[used.attributes["url"]] @ T[:3, :3].T + T[:3, 3])
        for child in node.all("node"):
            walk(child, T)

    for scene in root.everywhere("visual_scene"):
        walk(scene, np.eye(4))
    return unit * np.concatenate(placed or list(meshes.values()))


def _collada_mesh(geometry: XmlNode) -> Array:
    """The triangles of a geometry; polygons are cut from their first corner."""
    arrays = {
        f"#{source.attributes.get('id')}": np.array(array.words, dtype=float)
        for source in geometry.everywhere("source")
        for array in source.all("float_array")
    }
    vertices = (use for node in geometry.everywhere("vertices") for use in node.all("input"))
    source = next(use.attributes["source"] for use in vertices if use.attributes.get("semantic") == "POSITION")
    points = arrays[source].reshape(-1, 3)
    parts = [np.zeros((0, 3, 3))]
    for node in (*geometry.everywhere("triangles"), *geometry.everywhere("polylist")):
        offsets = {use.attributes.get("semantic"): int(use.attributes.get("offset", "0")) for use in node.all("input")}
        stride = 1 + max(int(use.attributes.get("offset", "0")) for use in node.all("input"))
        corners = np.array([n for p in node.all("p") for n in p.words], dtype=int)[offsets["VERTEX"] :: stride]
        counts = [int(n) for each in node.all("vcount") for n in each.words]
        if counts and set(counts) != {3}:
            starts = np.cumsum([0, *counts[:-1]])
            rows = [[s, s + k, s + k + 1] for s, n in zip(starts, counts, strict=True) for k in range(1, n - 1)]
            corners = corners[np.array(rows, dtype=int).ravel()]
        parts.append(points[corners.reshape(-1, 3)])
    return np.concatenate(parts)


READERS = {".stl": read_stl, ".obj": _read_obj, ".dae": _read_collada}
