"""A bent beam in its own frame B: where its sections are, and the strain beside its axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.build import shape_sets
from pliant.bodies.curved_axis import curve_of
from pliant.bodies.families import MOTIONS, X
from pliant.bodies.foreshortening import shortening_of
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import beam_profile
from pliant.bodies.rod_build import rod
from pliant.model.description.curvature import undeformed_pose

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

# what stretches a fibre at (y, z): u', -y u_y'' and -z u_z''
STRAINS = {"axial": 0, "bend_y": 1, "bend_z": 2}


class BentBeam:
    """The sections of a beam at stations x (stations,), for any elastic coordinates q_e (..., n).

    Sections of linear and second-order beams turn by the exponential of their angles.
    """

    def __init__(self, link: Link, robot: Robot, x: Array) -> None:
        assert link.beam is not None
        beam, sets = link.beam.with_materials(robot.materials), shape_sets(link, robot)
        self.x, n = np.asarray(x, dtype=float), sum(family.size for family in sets)
        bends = any(MOTIONS[s.family].shear is not None for s in sets)
        self._slides, self._turns, self._strains = (np.zeros((len(self.x), 3, n)) for _ in range(3))
        start = 0
        for family in sets:
            own, motion, samples = slice(start, start + family.size), MOTIONS[family.family], family.sample(self.x)
            if motion.value is not None:
                self._slides[:, motion.value, own] = samples.value.T
            if motion.rotation is not None:
                axis, sign = motion.rotation
                self._turns[:, axis, own] = sign * samples.rotation.T
            if family.family in STRAINS:
                self._strains[:, STRAINS[family.family], own] = samples.strain.T
            start = own.stop
        self._rod = self._shortening = self._rest = None
        if bends and beam.bending == "exact":
            frames = {str(k): (float(at), np.zeros(3)) for k, at in enumerate(self.x)}
            options = {"stations": beam.stations, "curvature": curve_of(beam)}
            self._rod = rod(sets, beam_profile(beam), frames, section_inertia=False, **options)  # type: ignore[arg-type]
        elif bends and beam.bending == "second-order":
            self._shortening = shortening_of(sets, beam_profile(beam), self.x)
        elif beam.is_curved:
            self._rest = [undeformed_pose(beam, float(at)) for at in self.x]

    def line(self, q_e: Array) -> Array:
        """Points (..., stations, 3) of the axis in B."""
        if self._rod is not None:
            return self._rod.sections_at(list(self._rod.frames.values()), q_e)[0]
        points = np.einsum("sdk,...k->...sd", self._slides, q_e)
        if self._rest is not None:
            return np.asarray(points + np.stack([p for p, _ in self._rest]))
        points[..., X] += self.x
        if self._shortening is not None:
            points[..., X] += 0.5 * np.einsum("sik,...i,...k->...s", self._shortening, q_e, q_e)
        return np.asarray(points)

    def axes(self, q_e: Array) -> Array:
        """Axes (..., stations, 3, 3) of the sections in B, as columns."""
        if self._rod is not None:
            return self._rod.sections_at(list(self._rod.frames.values()), q_e)[1]
        if self._rest is not None:
            rest = np.stack([R for _, R in self._rest])
            return np.broadcast_to(rest, (*q_e.shape[:-1], *rest.shape))
        from scipy.spatial.transform import Rotation

        theta = np.einsum("sdk,...k->...sd", self._turns, q_e)
        return np.asarray(Rotation.from_rotvec(theta.reshape(-1, 3)).as_matrix()).reshape(*theta.shape, 3)

    def strains(self, q_e: Array) -> Array:
        """u', u_y'' and u_z'' (..., stations, 3): a fibre at (y, z) is stretched by u' - y u_y'' - z u_z''."""
        return np.asarray(np.einsum("sdk,...k->...sd", self._strains, q_e))


def centre_line(link: Link, robot: Robot, q_e: Array, x: Array) -> Array:
    """Points (..., stations, 3) of a beam's axis at stations x (stations,) for elastic coordinates (..., n), in B."""
    return BentBeam(link, robot, x).line(q_e)


def axial_strain(link: Link, robot: Robot, place: tuple[float, float, float], q_e: Array) -> Array:
    """u' - y u_y'' - z u_z'' (...) at a place (x, y, z) of a beam."""
    x, y, z = place
    return np.asarray(BentBeam(link, robot, np.array([x])).strains(q_e)[..., 0, :] @ (1.0, -y, -z))
