"""A film of solids for a page: what stays (solids, places) and what moves (links, and what bending does to places)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.pictures.canvas import best_view
from pliant.pictures.robot_solids import RobotSolids, joined
from pliant.pictures.solids import Kind
from pliant.pictures.vibration_plots import joint_axes

if TYPE_CHECKING:
    from pliant.results.result import Result

Floats = NDArray[np.float64]

LARGEST = 1e38
"""A run that diverged is still drawn."""
STEPS = 32767


def packed(values: ArrayLike) -> str:
    """Numbers of single precision as text."""
    finite = np.clip(np.nan_to_num(values), -LARGEST, LARGEST)
    return base64.b64encode(finite.astype("<f4").tobytes()).decode()


def packed_whole(values: ArrayLike) -> str:
    """Whole numbers from zero to 2^32."""
    return base64.b64encode(np.asarray(values).astype("<u4").tobytes()).decode()


def packed_steps(values: ArrayLike) -> dict[str, Any]:
    """Numbers (..., k) in steps of a 32767th of the largest of each of the k columns."""
    finite = np.clip(np.nan_to_num(np.asarray(values, dtype=float)), -LARGEST, LARGEST)
    most = np.abs(finite).max(axis=tuple(range(finite.ndim - 1)), initial=0.0)
    steps = np.rint(finite * (STEPS / np.where(most > 0, most, 1.0)))
    return {"unit": (most / STEPS).tolist(), "steps": base64.b64encode(steps.astype("<i2").tobytes()).decode()}


STATIONS = 13
"""Sections along a flexible beam."""
MOST_PICTURES = 600
LEAST_PICTURES = 60
MOST_NUMBERS = 500_000
"""Numbers of two bytes in all films of a page, which keeps it below three megabytes."""
MOST_TRIANGLES = 1500
"""Of the meshes of a link; a page is no place for more."""
BESIDE = 0.28
"""rad: beside the plane of a plane motion."""
DIRECTIONS = 200
SEEN = 40
"""Pictures of which every corner is looked at for what the window has to hold."""
STILL = 1e-12
"""Of the size of the robot: places that move by less do not move."""


def film_data(run: Result, films: int = 1) -> dict[str, Any]:
    """The film of a run on a page with so many films."""
    drawn = RobotSolids(run.arm, STATIONS, MOST_TRIANGLES)
    arm, skeleton = run.arm, drawn.skeleton
    # a place takes nine steps per picture, a link seven numbers of twice the size
    each = 9 * len(skeleton) + 14 * len(run.robot.links)
    pictures = int(np.clip(MOST_NUMBERS / films / each, LEAST_PICTURES, MOST_PICTURES))
    rows = np.unique(np.linspace(0, len(run) - 1, min(pictures, len(run))).round().astype(int))
    q = run.q[rows]
    at = skeleton.at(q)
    moving = np.abs(at.shifts).max(axis=(0, 2)) + drawn.size * np.abs(at.turns).max(axis=(0, 2)) > STILL * drawn.size
    strained = np.abs(at.strains).max(axis=(0, 2)) > 0
    moved = np.flatnonzero(moving | strained)
    positions, axes = at.moved()
    some = slice(None, None, max(1, len(rows) // SEEN))
    corners = np.concatenate([s.vertices(positions[some], axes[some]).reshape(-1, 3) for s in drawn.solids])
    turn, tilt = _first_view(np.concatenate([positions.reshape(-1, 3), np.zeros((1, 3))]), joint_axes(arm, q[0]))
    return {
        "name": run.info.name,
        "time": packed(run.time[rows]),
        "links": packed(np.concatenate([at.links[0], _quaternions(at.links[1])], axis=-1)),
        "places": {
            "link": packed_whole(skeleton.link_of),
            "at": packed(np.array(skeleton.local_p)),
            "axes": packed(_quaternions(np.array(skeleton.local_R))),
        },
        "moved": packed_whole(moved),
        "shifts": packed_steps(at.shifts[:, moved]),
        "turns": packed_steps(_continuous(at.turns[:, moved])),
        "strains": packed_steps(at.strains[:, moved]),
        "solids": _solids(drawn),
        "lines": [places.tolist() for each in skeleton.beams.values() for places in each.pieces],
        "tip": packed(arm.pose("tip", q).position),
        "cloud": packed(_outermost(corners)),
        "gravity": list(run.robot.gravity),
        "turn": turn,
        "tilt": tilt,
    }


def _outermost(points: Floats) -> Floats:
    """The points that lie farthest in many directions: what a window has to hold from wherever one looks."""
    k = np.arange(DIRECTIONS) + 0.5
    height, angle = 1 - 2 * k / DIRECTIONS, np.pi * (1 + 5**0.5) * k
    around = np.sqrt(1 - height**2)
    directions = np.stack([around * np.cos(angle), around * np.sin(angle), height])
    return np.asarray(points[np.unique((points @ directions).argmax(axis=0))])


def _first_view(points: Floats, axes: Floats) -> tuple[float, float]:
    """Angles of the eye about z and above the plane; beside the plane of a plane motion, so that depth is seen."""
    view = best_view(points, axes)
    turn, tilt = float(np.arctan2(-view.right[0], view.right[1])), float(np.arcsin(np.clip(view.towards[2], -1.0, 1.0)))
    if not view.is_flat:
        return turn, tilt
    return turn + BESIDE, tilt - 2 * BESIDE if tilt > 1 else tilt + BESIDE


def _solids(drawn: RobotSolids) -> list[dict[str, Any]]:
    """One of every kind, and beams apart by their materials."""
    out = []
    for kind in get_args(Kind):
        own = [solid for solid in drawn.solids if solid.kind == kind]
        for modulus in dict.fromkeys(solid.modulus for solid in own):
            one = joined([solid for solid in own if solid.modulus == modulus], (kind,))
            out.append(
                {
                    "kind": kind,
                    "modulus": modulus,
                    "places": packed_whole(one.places),
                    "offsets": packed(one.offsets),
                    "faces": packed_whole(one.faces),
                }
            )
    return out


def _quaternions(matrices: Floats) -> Floats:
    """x, y, z, w (..., 4), along the first axis without jumps."""
    from scipy.spatial.transform import Rotation

    q = np.asarray(Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_quat()).reshape(*matrices.shape[:-2], 4)
    if q.ndim == 3:
        # q and -q are the same rotation
        flips = np.sign(np.einsum("tki,tki->tk", q[1:], q[:-1]))
        q[1:] *= np.cumprod(np.where(flips < 0, -1.0, 1.0), axis=0)[..., None]
    return q


def _continuous(turns: Floats) -> Floats:
    """Rotation vectors (pictures, places, 3) without jumps of a whole turn."""
    out = turns.copy()
    for k in range(1, len(out)):
        angle = np.linalg.norm(turns[k], axis=-1, keepdims=True)
        unit = turns[k] / np.where(angle > 0, angle, 1.0)
        before = np.einsum("pi,pi->p", out[k - 1], unit)[:, None]
        out[k] = turns[k] + 2 * np.pi * np.round((before - angle) / (2 * np.pi)) * unit
    return out
