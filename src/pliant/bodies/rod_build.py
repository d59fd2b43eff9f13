"""A beam with assumed modes as a rod: the strains of its shapes, without limit of deflection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pliant.bodies.curved_axis import Curve
from pliant.bodies.families import ShapeSamples, ShapeSet
from pliant.bodies.modal_body import Array, Attachment, ModalBody, hat
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
    rows = AxisRows(sets, profile, station_numbers(sets, profile, curvature, stations))
    x = rows.x
    fine, weights = gauss(profile.breaks, len(x) + max((s.points for s in sets), default=2) + TAPER_POINTS)
    ends = np.concatenate([[0.0], x])
    moments, reference = strain_moments(sets, profile, curvature, ends.tolist())
    bare = Rod(
        x=x,
        moments=moments,
        reference=reference,
        strains=stretches(sets, x),
        masses=weights * profile.at(fine).rhoA,
        rows=rows(fine),
        sections=profile.at(x).discs(rows.weights) if section_inertia else np.zeros((len(x), 3)),
    )
    made = {}
    for name, (at, offset) in frames.items():
        before = int(np.searchsorted(x, at, side="left"))
        (after,), (bent,) = strain_moments(sets, profile, curvature, (float(ends[before]), at))
        row = rows(np.array([at]))[0]
        straight = RodFrame(at, np.asarray(offset, dtype=float), np.eye(3), row, before, after, bent)
        turned = np.eye(3) if curvature is None else undeformed_axes(bare, straight)
        made[name] = replace(straight, offset=turned @ straight.offset, turned=turned)
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
                position=np.array(here.r) + at.offset,
                rotation=at.turned @ body.frames[name].rotation,
                Phi_d=np.array(here.J_v) - hat(at.offset) @ turns,
                Phi_r=turns,
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
