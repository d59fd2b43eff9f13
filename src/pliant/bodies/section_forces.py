"""Force and moment in the sections of a bent beam, from what acts outboard of them.

The moment in a section is known from equilibrium: from the mass outboard of it, as the link's own frame accelerates
it, and from all that hangs on frames outboard. Curvatures of few shapes know it only as far as they can follow it: one
shape of a cantilever under its own weight misses 11 % of the moment at its root. So strains are

    shapes (q_e - q_at_once) + (force and moment of the loads) / (stiffness of the section)

where q_at_once are the elastic coordinates at which the same loads would hold the beam at rest: what shapes know of
loads is replaced by all of it, and vibrations stay with the shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.bodies.profile import beam_profile, gauss
from pliant.bodies.sections_along import BentBeam

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

POINTS = 3
"""Gauss points between two stations."""
TOGETHER = 2000
"""States that are looked at together."""


class Hung(NamedTuple):
    """A wrench on a link at one of its frames, in the link's own axes, in all states.

    frame   its name
    place   of the frame in the bent link          m     (states, 3)
    force   on the link                            N     (states, 3)
    moment  on the link, about the frame's origin  N m   (states, 3)
    """

    frame: str
    place: Array
    force: Array
    moment: Array


class SectionForces:
    """The sections of a beam at stations x (stations,), between its ends: what is in them under loads."""

    def __init__(self, link: Link, robot: Robot, x: Array) -> None:
        assert link.beam is not None
        beam = link.beam.with_materials(robot.materials)
        profile = beam_profile(beam)
        self.x, self.link = np.asarray(x, dtype=float), link
        ends = np.array([*self.x, profile.length])
        # stations at steps of the section stand twice at nearly the same place
        inner = [gauss((low, high), POINTS) for low, high in pairwise(ends.tolist())]
        places, weights = (np.concatenate([each[k] for each in inner]) for k in (0, 1))
        here, between = BentBeam(link, robot, self.x), BentBeam(link, robot, places)
        self.bent, self._between = here, between
        section = profile.at(places)
        self._mass = weights * section.rhoA
        self._discs = section.discs(weights) if beam.sections_turn else None
        known = beam.at(self.x)
        self.stiffness = tuple(_along(getattr(known, name), len(self.x)) for name in ("EA", "EIz", "EIy", "GJ"))

    def resultants(
        self,
        q_e: Array,
        v_e: Array,
        motion: tuple[Array, Array, Array],
        wrenches: Sequence[Hung],
        a_e: Array | None = None,
    ) -> tuple[Array, Array]:
        """Force and moment (states, stations, 3) of what is outboard on each section, in the section's own axes.

        motion  of the frame B: acceleration of its origin less gravity, angular velocity and acceleration (states, 3)

        The inertia of vibration is part of them only where accelerations a_e of the elastic coordinates are given.
        """
        if len(q_e) > TOGETHER:
            parts = [slice(k, k + TOGETHER) for k in range(0, len(q_e), TOGETHER)]
            found = [
                self.resultants(
                    q_e[k],
                    v_e[k],
                    (motion[0][k], motion[1][k], motion[2][k]),
                    [Hung(each.frame, each.place[k], each.force[k], each.moment[k]) for each in wrenches],
                    None if a_e is None else a_e[k],
                )
                for k in parts
            ]
            return np.concatenate([force for force, _ in found]), np.concatenate([moment for _, moment in found])
        r = self._between.line(q_e)
        rate, bias = self._between.motion(q_e, v_e)
        lift, w, alpha = (x[:, None, :] for x in motion)
        turning = np.zeros_like(r)
        if a_e is not None:
            moved, turning = self._between.vibration(q_e, a_e)
            bias = bias + moved
        felt = lift + np.cross(alpha, r) + np.cross(w, np.cross(w, r) + 2 * rate) + bias
        force = -self._mass[:, None] * felt
        moment = np.cross(r, force)
        if self._discs is not None:
            R = self._between.axes(q_e)
            own_w, own_alpha = (
                np.einsum("ksji,ksj->ksi", R, x) for x in (np.broadcast_to(w, r.shape), alpha + turning)
            )
            turned = self._discs * own_alpha + np.cross(own_w, self._discs * own_w)
            moment = moment - np.einsum("ksij,ksj->ksi", R, turned)
        S = len(self.x)
        force, moment = (
            np.cumsum(x.reshape(len(q_e), S, POINTS, 3).sum(axis=2)[:, ::-1], axis=1)[:, ::-1] for x in (force, moment)
        )
        for each in wrenches:
            beyond = (self._place(each.frame) > self.x)[None, :, None]
            force = force + beyond * each.force[:, None, :]
            moment = moment + beyond * (each.moment + np.cross(each.place, each.force))[:, None, :]
        moment = moment - np.cross(self.bent.line(q_e), force)
        R = self.bent.axes(q_e)
        return np.einsum("ksji,ksj->ksi", R, force), np.einsum("ksji,ksj->ksi", R, moment)

    def strains(self, force: Array, moment: Array) -> Array:
        """u', u_y'' and u_z'' (states, stations, 3) of sections with these forces and moments; NaN: not known."""
        EA, EIz, EIy, _ = self.stiffness
        return np.stack([force[..., 0] / EA, moment[..., 2] / EIz, -moment[..., 1] / EIy], axis=-1)

    def _place(self, frame: str) -> float:
        """Where along the beam a frame sits; the root on its inner side."""
        if frame == "root":
            return -1.0
        x = self.link.frame(frame).x
        return 0.0 if x is None else float(x)


def _along(value: object, places: int) -> Array:
    return np.full(places, np.nan) if value is None else np.broadcast_to(np.asarray(value, dtype=float), (places,))
