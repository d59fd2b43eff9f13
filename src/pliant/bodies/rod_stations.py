"""Where a rod is followed: stations, the rows that give positions from the tangents there, moments of the strains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.polynomial.legendre import legvander

from pliant.bodies.curved_axis import Curve
from pliant.bodies.families import MOTIONS, ShapeSet
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import gauss, merge_breaks

# stations beyond the most modes of a family: more change nothing, one less costs up to a third of the accuracy
SPARE_STATIONS = 2
# a link that turns further than this (rad) in its undeformed shape needs more
WIDE_TURN = 2.0
# Gauss points for the turn of a piece
TURN_POINTS = 8
# Gauss points for the moments of the strains between two stations, beyond those of the shapes
MOMENT_POINTS = 4
# smallest eigenvalue, of the largest, with which the stations tell the slopes of two shapes apart
DISTINCT = 1e-10
# an integral this close (of the largest) to that of the polynomials is the same
ROUNDING = 1e-12
# a first moment of a curvature this far below its mean
CONSTANT = 1e-14
# tables that are kept: beams of all stiffnesses ask at the same places
MOST_ROWS = 64


def station_numbers(
    sets: Sequence[ShapeSet], profile: BeamProfile, curvature: Curve | None, stations: int | None
) -> list[int]:
    """Stations of every piece."""
    if stations is not None:
        return [stations] * len(profile.pieces)
    most = max((s.size for s in sets), default=0)
    shares = [piece.length / profile.length for piece in profile.pieces]
    turns = [_turn(curvature, a, b) for a, b in pairwise(profile.breaks)]
    return [
        ceil(most * share) + SPARE_STATIONS + ceil(turn / WIDE_TURN) for share, turn in zip(shares, turns, strict=True)
    ]


def _turn(curvature: Curve | None, a: float, b: float) -> float:
    """The angle through which the undeformed axis turns between two places, rad."""
    if curvature is None:
        return 0.0
    x, weights = gauss((a, b), TURN_POINTS)
    return float(weights @ np.linalg.norm(curvature(x), axis=1))


class AxisRows:
    """Rows s(x) that give the position of the axis at x from the tangents at the stations, r = sum_k s_k t_k.

    They integrate the polynomials through the stations of each piece, s_k = int_0^x l_k dX, and are then changed as
    little as possible so that 1 and the slopes of the shapes are integrated exactly: for small deflections the rod is
    the linear beam of the same shapes, whatever the number of stations is.
    """

    def __init__(self, sets: Sequence[ShapeSet], profile: BeamProfile, points: Sequence[int]) -> None:
        self.breaks, self.points = profile.breaks, tuple(points)
        self.x, self.weights = _stations(self.breaks, self.points)
        self.bending = [s for s in sets if MOTIONS[s.family].shear is not None]
        self.roots = [s.sample(np.zeros(1)) for s in self.bending]
        found = [s.sample(self.x).rotation - r.rotation for s, r in zip(self.bending, self.roots, strict=True)]
        self.sizes = [np.abs(each).max(axis=1, keepdims=True) for each in found]
        scaled = (each / size for each, size in zip(found, self.sizes, strict=True))
        self.slopes = np.vstack([np.ones((1, len(self.x))), *scaled])
        weighted = self.slopes * np.sqrt(self.weights)
        # slopes that the stations cannot tell apart are left to the polynomials
        sizes, V = np.linalg.eigh(weighted @ weighted.T)
        V = V[:, sizes > DISTINCT * sizes[-1]]
        self.inverse = (V / sizes[sizes > DISTINCT * sizes[-1]]) @ V.T

    def __call__(self, x: Array) -> Array:
        rows = _interpolating(self.breaks, self.points, x.tobytes())
        integrals = self._integrals(x)
        missing = integrals - self.slopes @ rows.T
        missing[np.abs(missing) < ROUNDING * np.abs(integrals).max(axis=1, keepdims=True)] = 0.0
        return np.asarray(rows + (self.weights[:, None] * self.slopes.T @ (self.inverse @ missing)).T)

    def _integrals(self, x: Array) -> Array:
        """Of 1 and of the slopes that grow from a clamped root, scaled as at the stations, from 0 to x."""
        out = [x[None]]
        for s, root, size in zip(self.bending, self.roots, self.sizes, strict=True):
            out.append((s.sample(x).value - root.value - root.rotation * x) / size)
        return np.vstack(out)


@lru_cache(maxsize=MOST_ROWS)
def _stations(breaks: tuple[float, ...], points: tuple[int, ...]) -> tuple[Array, Array]:
    """Gauss points of every piece and their weights."""
    parts = [gauss(ends, n) for ends, n in zip(pairwise(breaks), points, strict=True)]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


@lru_cache(maxsize=MOST_ROWS)
def _interpolating(breaks: tuple[float, ...], points: tuple[int, ...], places: bytes) -> Array:
    """int_0^x l_k dX: l_k = sum_n (n + 1/2) w_k P_n(x_k) P_n, int P_n = (P_n+1 - P_n-1) / (2 n + 1)."""
    x = np.frombuffer(places)
    parts = []
    for (a, b), n in zip(pairwise(breaks), points, strict=True):
        nodes, weights = gauss((a, b), n)
        at_nodes = legvander((2 * nodes - a - b) / (b - a), n - 1)
        P = legvander(np.clip((2 * x - a - b) / (b - a), -1.0, 1.0), n)
        # 2 n + 1 times the integrals of P_n
        steps = np.hstack([P[:, :1] + P[:, 1:2], P[:, 2:] - P[:, :-2]])
        parts.append(steps @ (at_nodes.T * weights) / 2)
    return np.hstack(parts)


@lru_cache(maxsize=MOST_ROWS)
def _moment_rule(
    breaks: tuple[float, ...], intervals: tuple[tuple[float, float], ...], points: int
) -> tuple[Array, Array, Array]:
    """Places, and the weights (places, intervals) of the two moments over every interval."""
    a, b = np.array(intervals).T
    cuts = sorted({*a.tolist(), *b.tolist(), *(e for e in breaks if a.min() < e < b.max())})
    if len(cuts) < 2:
        return np.zeros(0), np.zeros((0, len(a))), np.zeros((0, len(a)))
    x, weights = gauss(cuts, points)
    # the intervals of every point; those without length have none
    inside = (x[:, None] > a) & (x[:, None] < b)
    lever = np.where(inside, x[:, None] - (a + b) / 2, 0.0) / np.where(b > a, b - a, 1.0)
    return x, weights[:, None] * inside, weights[:, None] * lever


def strain_moments(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    curvature: Curve | None,
    intervals: Sequence[tuple[float, float]],
) -> tuple[Array, Array]:
    """b0, b1 (intervals, 2, 3, n) and c0, c1 (intervals, 2, 3) of intervals along the axis."""
    n = sum(s.size for s in sets)
    moments, reference = np.zeros((len(intervals), 2, 3, n)), np.zeros((len(intervals), 2, 3))
    inner = merge_breaks(profile.breaks, *(s.breaks for s in sets), length=profile.length)
    points = max((s.points for s in sets), default=2) + MOMENT_POINTS
    x, first, second = _moment_rule(inner, tuple(intervals), points)
    if not len(x):
        return moments, reference
    start = 0
    for s in sets:
        motion = MOTIONS[s.family]
        if motion.rotation is not None:
            axis, sign = motion.rotation
            strain = sign * s.sample(x).strain
            moments[:, 0, axis, start : start + s.size] = (strain @ first).T
            moments[:, 1, axis, start : start + s.size] = (strain @ second).T
        start += s.size
    if curvature is not None:
        bent = curvature(x)
        reference[:, 0], reference[:, 1] = first.T @ bent, second.T @ bent
    for each in (moments, reference) if curvature is not None else (moments,):
        # what only rounding left of a constant curvature is zero
        each[:, 1][np.abs(each[:, 1]) < CONSTANT * np.abs(each[:, 0])] = 0.0
    return moments, reference


def stretches(sets: Sequence[ShapeSet], x: Array) -> Array:
    """Stretch and shear of the axis at places x per elastic coordinate (places, 3, n)."""
    n = sum(s.size for s in sets)
    out = np.zeros((len(x), 3, n))
    start = 0
    for s in sets:
        motion = MOTIONS[s.family]
        if motion.rotation is None and motion.value is not None:
            out[:, motion.value, start : start + s.size] = s.sample(x).strain.T
        start += s.size
    return out
