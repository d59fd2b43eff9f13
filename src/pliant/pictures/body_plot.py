"""Pictures of links made of CAD files: the mesh with its root and frames, and how its lowest modes move."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.pictures.canvas import FLEXIBLE_EDGE, GREY, INK, LOAD, corner_view, head, new_figure, save
from pliant.solid_mechanics.mode_words import told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.model.readers.cad_links import SolidBody

SHOWN, COLUMNS = 8, 3
SWING = 0.12
"""Largest displacement in a picture, of the link's extent."""
SUN = np.array([0.3, -0.5, 0.8])


def draw_body(body: SolidBody, path: str | Path | None = None) -> Figure:
    """Draw mesh and modes; written to a PNG, SVG or PDF file if a path is given."""
    reduced = body.reduced
    mesh, shapes = reduced.solid.mesh, reduced.basis.shapes
    n = min(SHOWN, shapes.shape[1])
    rows = -(-(n + 1) // COLUMNS)
    figure = new_figure(10.5, 0.9 + 2.5 * rows)
    head(
        figure,
        body.name,
        f"{body.mass:.4g} kg, {3 * len(mesh.nodes)} unknowns; modes of the clamped link, not to scale",
    )
    extent = float(np.ptp(mesh.nodes, axis=0).max())
    top = 0.9 / (0.9 + 2.5 * rows)
    for k in range(n + 1):
        row, column = divmod(k, COLUMNS)
        height = (1 - top) / rows
        axes = figure.add_axes((column / COLUMNS, 1 - top - (row + 1) * height, 1 / COLUMNS, 0.86 * height))
        if k == 0:
            _panel(axes, mesh.nodes, mesh.surface[:, :3], _parts(body), edges=True)
            title = "mesh: root grey, frames yellow"
        else:
            u = shapes[:, k - 1].reshape(-1, 3)
            size = np.linalg.norm(u, axis=1)
            moved = mesh.nodes + SWING * extent / size.max() * u
            _panel(axes, moved, mesh.surface[:, :3], _coloured(size[mesh.surface[:, :3]].mean(axis=1) / size.max()))
            title = f"{told(reduced.names[k - 1])}, {reduced.basis.hz[k - 1]:.4g} Hz"
        axes.set_title(title, fontsize=8.5, color=INK)
    if path is not None:
        save(figure, Path(path))
    return figure


def _parts(body: SolidBody) -> Any:
    """Colours of the triangles: the root, the frames, the rest."""
    from matplotlib.colors import to_rgb

    link, triangles = body.reduced.link, body.reduced.solid.mesh.surface
    colours = np.tile(to_rgb("#93c5fd"), (len(triangles), 1))
    for nodes, colour in [(link.root, GREY), *((face.nodes, LOAD) for face in link.interfaces)]:
        colours[np.isin(triangles[:, 3:], nodes).all(axis=1)] = to_rgb(colour)
    return colours


def _coloured(values: Array) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](values)[:, :3]


def _panel(axes: Any, nodes: Array, triangles: Any, colours: Any, *, edges: bool = False) -> None:
    """Triangles seen from a corner, far ones first, shaded by a lamp."""
    from matplotlib.collections import PolyCollection

    view = corner_view()
    x = nodes[triangles]
    normals = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    front = normals @ view.towards > 0
    order = np.argsort((x.mean(axis=1) @ view.towards)[front])
    light = 0.55 + 0.45 * np.clip(normals[front] @ SUN / np.linalg.norm(SUN), 0, 1)
    shaded = (colours[front] * light[:, None])[order]
    line = {"edgecolors": FLEXIBLE_EDGE, "linewidths": 0.15} if edges else {"edgecolors": shaded, "linewidths": 0.2}
    axes.add_collection(PolyCollection(list(view.project(x[front][order])), facecolors=shaded, **line))
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.axis("off")
