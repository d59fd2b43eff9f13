"""Planar joints of URDF files, as joints of one coordinate with massless links between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.model.attach import Plain
from pliant.model.joints import axis_vector

# for a normal along an axis: the two directions of the plane, so that they and the normal are right-handed
_PLANES = {"x": ("y", "z"), "y": ("z", "x"), "z": ("x", "y"), "-x": ("z", "y"), "-y": ("x", "z"), "-z": ("y", "x")}


def planar(normal: str | list[float]) -> dict[str, tuple[str, str | list[float]]]:
    """Two slides in the plane and a turn about its normal: coordinate -> type and axis."""
    if isinstance(normal, str):
        first, second = _PLANES[normal]
        return {"x": ("prismatic", first), "y": ("prismatic", second), "turn": ("revolute", normal)}
    n = axis_vector((normal[0], normal[1], normal[2]))
    # the coordinate axis that the plane contains best, laid into it
    e = np.eye(3)[int(np.argmin(np.abs(n)))]
    u = e - (e @ n) * n
    u /= np.linalg.norm(u)
    w = np.cross(n, u)
    return {"x": ("prismatic", u.tolist()), "y": ("prismatic", w.tolist()), "turn": ("revolute", n.tolist())}


def chain(
    name: str, parts: dict[str, tuple[str, str | list[float]]], parent: str, child: str, placement: Plain
) -> Sequence[tuple[str, str, Plain, Plain]]:
    """(parent, child, placement, joint) of a row of joints ``NAME_PART``; links between are called alike."""
    rows = []
    last = list(parts)[-1]
    for part, (kind, axis) in parts.items():
        outer = child if part == last else f"{name}_{part}"
        rows.append((parent, outer, placement, {"name": f"{name}_{part}", "type": kind, "axis": axis}))
        parent, placement = outer, {}
    return rows
