"""Triangles of STL files, and whether they bound one solid."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.solid_mechanics.solid_mesh import Array

HEAD = 84
ROW = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(path: Path) -> Array:
    """Triangles (n, 3, 3) of a binary or text file, in its own units; raises ValueError."""
    data = path.read_bytes()
    count = int.from_bytes(data[80:HEAD], "little") if len(data) >= HEAD else -1
    if len(data) == HEAD + count * ROW.itemsize:
        rows = np.frombuffer(data, ROW, count, HEAD)
        return np.asarray(rows["corners"], dtype=float)
    if not data.lstrip().startswith(b"solid"):
        raise ValueError("this is not an STL file, or it is cut short")
    lines = (line.split() for line in data.decode("ascii", "replace").splitlines())
    return np.array([words[1:4] for words in lines if words[:1] == ["vertex"]], dtype=float).reshape(-1, 3, 3)


def write_stl(path: Path, triangles: Array) -> None:
    """A binary file of triangles (n, 3, 3)."""
    rows = np.zeros(len(triangles), ROW)
    rows["corners"] = triangles
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    rows["normal"] = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    path.write_bytes(b"STL".ljust(80) + len(rows).to_bytes(4, "little") + rows.tobytes())


def enclosed_volume(triangles: Array, name: str) -> float:
    """Volume inside a closed surface; raises ModelError with the first edge that does not belong to two triangles."""
    if not len(triangles) or not np.isfinite(triangles).all():
        raise ModelError(Problem(name, f"has {len(triangles)} triangles, or corners that are not finite"))
    corners, place = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    faces = place.reshape(-1, 3)
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    pairs, counts = np.unique(edges, axis=0, return_counts=True)
    if len(wrong := np.flatnonzero(counts != 2)):
        ends = " and ".join("(" + ", ".join(f"{x:g}" for x in corners[k]) + ")" for k in pairs[wrong[0]])
        has = "one triangle" if counts[wrong[0]] == 1 else f"{counts[wrong[0]]} triangles"
        raise ModelError(
            Problem(
                name,
                f"is no closed surface: {len(wrong)} edges are not those of two triangles; that from {ends} has {has}. "
                "Repair it in the program that wrote it (close holes, make it manifold)",
            )
        )
    volume = float(np.einsum("na,na->", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])) / 6)
    if not volume > 0:
        raise ModelError(Problem(name, "has triangles that face inwards, or no volume; turn its normals outwards"))
    return volume
