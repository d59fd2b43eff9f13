"""A beam with assumed modes as a rod: the strains of its shapes, without limit of deflection."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pliant.bodies.curved_axis import Curve
from pliant.bodies.families import ShapeSamples, ShapeSet
from pliant.bodies.modal_body import Array, Attachment, ModalBody
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import TAPER_POINTS, gauss
from pliant.bodies.rod import Rod, RodFrame
from pliant.bodies.rod_stations import AxisRows, station_numbers, strain_moments, stretches
from pliant.bodies.rod_terms import RodTerms


@dataclass(frozen=True, slots=True)
class RootedSet:
    """The shapes of another set with the motion of their root taken off: the same strains on a clamped root."""

    base: ShapeSet

    @property
    def family(self) -> str:
        return self.base.family

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.base.breaks

    @property
    def points(self) -> int:
        return self.base.points

    def sample(self, x: Array) -> ShapeSamples:
        here, root = self.base.sample(x), self.base.sample(np.zeros(1))
        value = here.value - root.value - root.rotation * x
        return replace(here, value=value, rotation=here.rotation - root.rotation)


def rooted(shapes: ShapeSet) -> ShapeSet:
    """The shapes on a clamped root."""
    root = shapes.sample(np.zeros(1))
    return RootedSet(shapes) if root.value.any() or root.rotation.any() else shapes


def rod(
    sets: Sequence[ShapeSet],
    profile: BeamProfile,
    frames: Mapping[str, tuple[float, Array]],
    *,
    section_inertia: bool,
    stations: int | None = None,
    curvature: Curve | None = None,
) -> Rod:
    """The rod of a beam; its shapes must not move the root.

    ``frames`` gives the place x and the offset from the axis of each frame; ``curvature`` is that of the undeformed
    rod; ``stations`` the number per piece.
    """
    axis = AxisRows(sets, profile, station_numbers(sets, profile, curvature, stations))
    x, N = axis.x, len(axis.x)
    fine, weights = gauss(profile.breaks, N + max((s.points for s in sets), default=2) + TAPER_POINTS)
    ends = [0.0, *x.tolist()]
    places = [at for at, _ in frames.values()]
    before = [bisect_left(ends, at, lo=1) - 1 for at in places]
    # from station to station, and from the last one to each frame
    intervals = [*pairwise(ends), *((ends[k], at) for k, at in zip(before, places, strict=True))]
    moments, reference = strain_moments(sets, profile, curvature, intervals)
    rows = axis(np.concatenate([fine, places]))
    bare = Rod(
        x=x,
        moments=moments[:N],
        reference=reference[:N],
        strains=stretches(sets, x),
        masses=weights * profile.at(fine).rhoA,
        rows=rows[: len(fine)],
        sections=profile.at(x).discs(axis.weights) if section_inertia else np.zeros((N, 3)),
    )
    made = {}
    found = zip(places, before, rows[len(fine) :], moments[N:], reference[N:], strict=True)
    for (name, (_, offset)), (at, stations_before, row, after, bent) in zip(frames.items(), found, strict=True):
        frame = RodFrame(at, offset, np.eye(3), row, stations_before, after, bent)
        if curvature is not None:
            turned = undeformed_axes(bare, frame)
            frame = replace(frame, offset=turned @ offset, turned=turned)
        made[name] = frame
    return replace(bare, frames=made)


def undeformed_axes(bare: Rod, at: RodFrame) -> Array:
    """The axes of a section of a curved or twisted rod, before it is loaded (3, 3)."""
    n = bare.moments.shape[-1]
    nothing = [0.0] * n
    frame = bare_terms(bare).frame(bare.section_at(at), nothing, nothing)
    return np.array(frame.R, dtype=float)


def about_its_shape(body: ModalBody, rod: Rod) -> ModalBody:
    """The linear body of a rod about its undeformed shape, which is curved: mass, Jacobians and places of frames."""
    terms, still = bare_terms(rod), [0.0] * body.size
    blocks, _ = terms.inertia(still, still, [0.0] * 3)
    frames = dict(body.frames)
    for name, at in rod.frames.items():
        if at.moves:
            here = terms.frame(rod.section_at(at), still, still)
            assert here.spin is not None
            turns = np.array(here.spin.J_w, dtype=float)
            frames[name] = Attachment(
                point=np.array(here.r),
                rotation=at.turned @ body.frames[name].rotation,
                slides=np.array(here.J_v),
                Phi_r=turns,
                offset=at.offset,
            )
    return replace(
        body,
        first=np.array([blocks.B[1][2], blocks.B[2][0], blocks.B[0][1]], dtype=float),
        I_rr=np.array(blocks.C, dtype=float),
        first_modal=np.array(blocks.E_v, dtype=float),
        beta=np.array(blocks.E_w, dtype=float),
        M_ee=np.array(blocks.M_e, dtype=float),
        frames=frames,
    )


def bare_terms(rod: Rod) -> RodTerms:
    """The terms of a rod without stiffness: its geometry and its mass."""
    n = rod.moments.shape[-1]
    return rod.inertial_terms(np.zeros((n, n)).tolist(), np.zeros((n, n)).tolist())
