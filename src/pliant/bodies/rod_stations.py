"""Where a rod is followed: stations, the rows that give positions from the tangents there, moments of the strains."""

from __future__ import annotations

from collections.abc import Sequence
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
        self.breaks, self.points = profile.breaks, points
        parts = [gauss((a, b), n) for a, b, n in zip(self.breaks[:-1], self.breaks[1:], points, strict=True)]
        self.x = np.concatenate([p[0] for p in parts])
        self.weights = np.concatenate([p[1] for p in parts])
        self.bending = [s for s in sets if MOTIONS[s.family].shear is not None]
        self.roots = [s.sample(np.zeros(1)) for s in self.bending]
        found = [s.sample(self.x).rotation - r.rotation for s, r in zip(self.bending, self.roots, strict=True)]
        self.sizes = [np.abs(each).max(axis=1, keepdims=True) for each in found]
        scaled = (each / size for each, size in zip(found, self.sizes, strict=True))
        self.slopes = np.vstack([np.ones((1, len(self.x))), *scaled])
        weighted = self.slopes * np.sqrt(self.weights)
        # slopes that the stations cannot tell apart are left to the polynomials
        self.inverse = np.linalg.pinv(weighted @ weighted.T, rcond=DISTINCT, hermitian=True)

    def __call__(self, x: Array) -> Array:
        rows = self._interpolating(x)
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

    def _interpolating(self, x: Array) -> Array:
        """int_0^x l_k dX: l_k = sum_n (n + 1/2) w_k P_n(x_k) P_n, int P_n = (P_n+1 - P_n-1) / (2 n + 1)."""
        parts, start = [], 0
        for a, b, n in zip(self.breaks[:-1], self.breaks[1:], self.points, strict=True):
            own = slice(start, start + n)
            at_nodes = legvander((2 * self.x[own] - a - b) / (b - a), n - 1)
            P = legvander(np.clip((2 * x - a - b) / (b - a), -1.0, 1.0), n)
            # 2 n + 1 times the integrals of P_n
            steps = np.hstack([P[:, :1] + P[:, 1:2], P[:, 2:] - P[:, :-2]])
            parts.append(steps @ (at_nodes.T * self.weights[own]) / 2)
            start += n
        return np.hstack(parts)


def strain_moments(
    sets: Sequence[ShapeSet], profile: BeamProfile, curvature: Curve | None, ends: Sequence[float]
) -> tuple[Array, Array]:
    """b0, b1 (intervals, 2, 3, n) and c0, c1 (intervals, 2, 3) of the intervals between successive ends."""
    n, a, b = sum(s.size for s in sets), np.array(ends[:-1]), np.array(ends[1:])
    moments, reference = np.zeros((len(a), 2, 3, n)), np.zeros((len(a), 2, 3))
    inner = merge_breaks(profile.breaks, *(s.breaks for s in sets), length=profile.length)
    cuts = sorted({*ends, *(e for e in inner if ends[0] < e < ends[-1])})
    if len(cuts) < 2:
        return moments, reference
    x, weights = gauss(cuts, max((s.points for s in sets), default=2) + MOMENT_POINTS)
    # the interval of every point; those without length have none
    inside = (x[:, None] > a) & (x[:, None] < b)
    lever = np.where(inside, x[:, None] - (a + b) / 2, 0.0) / np.where(b > a, b - a, 1.0)
    first, second = weights[:, None] * inside, weights[:, None] * lever
    start = 0
    for s in sets:
        motion = MOTIONS[s.family]
        if motion.rotation is not None:
            axis, sign = motion.rotation
            strain = sign * s.sample(x).strain
            moments[:, 0, axis, start : start + s.size] = (strain @ first).T
            moments[:, 1, axis, start : start + s.size] = (strain @ second).T
        start += s.size
    if curvature is None:
        return moments, reference
    bent = curvature(x)
    reference[:, 0], reference[:, 1] = first.T @ bent, second.T @ bent
    # what only rounding left of a constant curvature is zero
    reference[:, 1][np.abs(reference[:, 1]) < 1e-14 * np.abs(reference[:, 0])] = 0.0
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
