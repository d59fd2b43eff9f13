"""Sections at places along a link, in its own frame B: where they are when it bends, their mass, their slopes.

A bent beam is known by its sections at any stations (drawings, strains), by those at the Gauss points of its integrals
(procedures that go section by section), and by the slopes on which the force along its axis acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.bodies.beam_modes import attachment
from pliant.bodies.build import shape_sets
from pliant.bodies.families import FAMILIES, X
from pliant.bodies.foreshortening import shortening_of
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.profile import TAPER_POINTS, beam_profile, curve_of, gauss, merge_breaks
from pliant.bodies.rod import rod
from pliant.model.description.beams import undeformed_pose

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

POINTS = 4
"""Gauss points of a cubic: they integrate squares of its slope."""
AHEAD = 1e-3
"""Change of the strains of a rod, m or rad, of differences in time."""
TINY = 1e-300
NO_STIFFNESS = 1e-12
"""Eigenvalue of a stiffness, over the largest, of a motion without strain."""


# ---------------------------------------------------------------- the bent axis


class BentBeam:
    """The sections of a beam at stations x (stations,), for any elastic coordinates q_e (..., n).

    Sections of linear and second-order beams turn by the exponential of their angles.
    """

    def __init__(self, link: Link, robot: Robot, x: Array) -> None:
        assert link.beam is not None
        beam, sets = link.beam.with_materials(robot.materials), shape_sets(link, robot)
        self.x, n = np.asarray(x, dtype=float), sum(family.size for family in sets)
        bends = any(FAMILIES[s.family].bends for s in sets)
        self._slides, self._turns, self._strains = (np.zeros((len(self.x), 3, n)) for _ in range(3))
        self._twists = np.zeros((len(self.x), n))
        start = 0
        for family in sets:
            own, motion, samples = slice(start, start + family.size), FAMILIES[family.family], family.sample(self.x)
            if motion.value is not None:
                self._slides[:, motion.value, own] = samples.value.T
            if motion.rotation is not None:
                axis, sign = motion.rotation
                self._turns[:, axis, own] = sign * samples.rotation.T
            if motion.fibre is not None:
                self._strains[:, motion.fibre, own] = samples.strain.T
            if motion.is_angle:
                self._twists[:, own] = samples.strain.T
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
            points[..., X] += 0.5 * np.einsum("sik,...i,...k->...s", self._shortening, q_e, q_e, optimize=True)
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

    def motion(self, q_e: Array, v_e: Array) -> tuple[Array, Array]:
        """Velocities of the points in B, and their accelerations where those of the elastic coordinates are zero."""
        if not np.count_nonzero(v_e):
            none = np.zeros((*q_e.shape[:-1], len(self.x), 3))
            return none, none
        if self._rod is not None:
            # along straight lines of coordinates, by central differences
            step = AHEAD / np.abs(v_e).max()
            before, here, after = (self.line(q_e + h * v_e) for h in (-step, 0.0, step))
            return (after - before) / (2 * step), (after - 2 * here + before) / step**2
        rate = np.einsum("sdk,...k->...sd", self._slides, v_e)
        bias = np.zeros_like(rate)
        if self._shortening is not None:
            rate[..., X] += np.einsum("sik,...i,...k->...s", self._shortening, q_e, v_e, optimize=True)
            bias[..., X] = np.einsum("sik,...i,...k->...s", self._shortening, v_e, v_e, optimize=True)
        return rate, bias

    def vibration(self, q_e: Array, a_e: Array) -> tuple[Array, Array]:
        """Accelerations of points and sections in B that those of the elastic coordinates make (..., stations, 3)."""
        turned = np.einsum("sdk,...k->...sd", self._turns, a_e)
        if self._rod is not None:
            step = AHEAD / max(float(np.abs(a_e).max()), TINY)
            before, after = (self.line(q_e + h * a_e) for h in (-step, step))
            return (after - before) / (2 * step), turned
        moved = np.einsum("sdk,...k->...sd", self._slides, a_e)
        if self._shortening is not None:
            moved[..., X] += np.einsum("sik,...i,...k->...s", self._shortening, q_e, a_e, optimize=True)
        return moved, turned

    def twists(self, q_e: Array) -> Array:
        """Twist per length (..., stations), rad/m."""
        return np.asarray(np.einsum("sk,...k->...s", self._twists, q_e))

    def strains(self, q_e: Array) -> Array:
        """u', u_y'' and u_z'' (..., stations, 3): a fibre at (y, z) is stretched by u' - y u_y'' - z u_z''."""
        return np.asarray(np.einsum("sdk,...k->...sd", self._strains, q_e))


# ---------------------------------------------------------------- stations with mass


@dataclass(frozen=True, slots=True)
class Station:
    """A section of a beam, or the centre of mass of a rigid link: where it is, how it moves, and what it weighs.

    mass      kg      of the piece that it stands for
    J         kg m^2  (3, 3), link axes
    position  m       (3,) in the link frame
    slides            (3, n) displacement per elastic coordinate
    turns     rad     (3, n) section angles per elastic coordinate
    """

    mass: float
    J: Array
    position: Array
    slides: Array
    turns: Array


GROUND_STATION = Station(0.0, np.zeros((3, 3)), np.zeros(3), np.zeros((3, 0)), np.zeros((3, 0)))
"""A place on the base."""


def station_of(body: ModalBody, frame: str) -> tuple[Station, Array, Array]:
    """The section that carries a frame of a body, without mass; place (3,) and axes (3, 3) of the frame on it."""
    at = body.frames[frame]
    return Station(0.0, np.zeros((3, 3)), at.point, at.slides, at.Phi_r), at.offset, at.rotation


def rigid_station(body: ModalBody) -> Station:
    """The centre of mass of a rigid body."""
    com = body.first / body.mass
    J = body.I_rr - body.mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Station(body.mass, J, com, np.zeros((3, 0)), np.zeros((3, 0)))


def beam_station(link: Link, robot: Robot, x: float) -> Station:
    """The section at x of a beam, without mass."""
    at = attachment(shape_sets(link, robot), x)
    return Station(0.0, np.zeros((3, 3)), at.position, at.Phi_d, at.Phi_r)


def beam_stations(link: Link, robot: Robot) -> list[Station]:
    """Sections of a beam at the Gauss points of its integrals; their inertia where the beam has rotary inertia."""
    assert link.beam is not None
    sets, profile = shape_sets(link, robot), beam_profile(link.beam.with_materials(robot.materials))
    breaks = merge_breaks(profile.breaks, *(shapes.breaks for shapes in sets), length=profile.length)
    x, weights = gauss(breaks, max((shapes.points for shapes in sets), default=2) + TAPER_POINTS)
    section = profile.at(x)
    masses, moments = weights * section.rhoA, section.discs(weights) * float(link.beam.sections_turn)
    places = [attachment(sets, each) for each in x]
    return [
        Station(float(m), np.diag(J), at.position, at.Phi_d, at.Phi_r)
        for m, J, at in zip(masses, moments, places, strict=True)
    ]


# ---------------------------------------------------------------- slopes on which axial forces act


class AxialShapes(NamedTuple):
    """What the force along the axis of a bending link acts on: the slopes of its shapes, at places along its axis.

    x, weights  places and weights of a rule of integration over it   m  (places,)
    rhoA        mass per length there                                 kg/m  (places,)
    slopes      of the shapes of each plane of bending, combined to unit stiffness  (shapes, places)
    slowest     first frequency of bending, rad/s
    """

    x: Array
    weights: Array
    rhoA: Array
    slopes: list[Array]
    slowest: float


def shapes_of_beam(link: Link, robot: Robot, body: ModalBody) -> AxialShapes:
    """The slopes of the bending shapes of a beam, whose body in its mechanism is ``body``."""
    assert link.beam is not None
    profile, shapes = beam_profile(link.beam), shape_sets(link, robot)
    breaks = merge_breaks(profile.breaks, *(s.breaks for s in shapes), length=profile.length)
    x, weights = gauss(breaks, max(s.points for s in shapes) + TAPER_POINTS)
    start, slowest, slopes = 0, np.inf, list[Array]()
    for s in shapes:
        place = slice(start, start + s.size)
        start += s.size
        if not FAMILIES[s.family].bends:
            continue
        K, M = body.K_ee[place, place], body.M_ee[place, place]
        size = 1.0 / np.sqrt(np.maximum(np.diag(K), np.finfo(float).tiny))
        both = np.outer(size, size)
        # a pinned shape without strain has no bending stiffness of its own
        if np.linalg.eigvalsh(K * both)[0] < NO_STIFFNESS:
            continue
        # of G x = k K x by the factors of K = L L^T; a solver package would take longer to import
        inverse = np.linalg.inv(np.linalg.cholesky(K * both))
        slopes.append(inverse @ (size[:, None] * s.sample(x).rotation))
        slowest = min(slowest, _slowest(inverse @ (M * both) @ inverse.T))
    return AxialShapes(x, weights, np.broadcast_to(profile.at(x).rhoA, x.shape), slopes, slowest)


def _slowest(compliances: Array) -> float:
    """First frequency of shapes of unit stiffness, rad/s."""
    most = float(np.linalg.eigvalsh(compliances)[-1])
    return 1.0 / float(np.sqrt(most)) if most > 0 else np.inf


def shapes_of_frames(body: ModalBody) -> AxialShapes:
    """The slopes of a body that is known at its frames alone, roughly: its mass is spread evenly up to the last one."""
    found = frame_slopes(body)
    values, vectors = np.linalg.eigh(body.K_ee)
    # motions without stiffness are no vibrations
    stiff = values > NO_STIFFNESS * values.max(initial=0.0)
    unit = (vectors[:, stiff] / np.sqrt(values[stiff])).T
    slowest = _slowest(unit @ body.M_ee @ unit.T) if stiff.any() else np.inf
    rhoA = np.full(len(found.x), body.mass / found.weights.sum() if len(found.x) else 0.0)
    # of many shapes at few places no more than so many combinations have slopes there
    slopes = [np.asarray(np.linalg.qr(unit @ slope, mode="r")) for slope in found.planes if stiff.any()]
    return AxialShapes(found.x, found.weights, rhoA, slopes, slowest)


class FrameSlopes(NamedTuple):
    """Slopes along the x-axis of a body that is known at some frames only, per elastic coordinate.

    x, weights  places and weights of a rule of integration up to the last frame   m  (places,)
    planes      slopes of the displacements along y and along z                     (n, places) each
    """

    x: Array
    weights: Array
    planes: tuple[Array, ...]


def frame_slopes(body: ModalBody) -> FrameSlopes:
    """Cubics through displacements and turns of the frames of a body whose root does not move.

    Without any frame beyond the root there is no place.
    """
    ahead = (frame for frame in body.frames.values() if frame.position[0] > 0)
    at = list({float(frame.position[0]): frame for frame in ahead}.values())
    at.sort(key=lambda frame: float(frame.position[0]))
    if not at:
        return FrameSlopes(np.zeros(0), np.zeros(0), ())
    ends = np.array([0.0, *(float(frame.position[0]) for frame in at)])
    x, weights = gauss(ends.tolist(), POINTS)
    k = np.repeat(np.arange(len(at)), POINTS)
    h = np.diff(ends)[k]
    u = (x - ends[k]) / h
    rise, first, last = 6 * u * (1 - u) / h, (1 - u) * (1 - 3 * u), u * (3 * u - 2)
    planes = []
    # a section that turns about z leans towards y, one that turns about y away from z
    for along, about, sign in ((1, 2, 1.0), (2, 1, -1.0)):
        w = np.vstack([np.zeros(body.size), *(frame.Phi_d[along] for frame in at)])
        t = np.vstack([np.zeros(body.size), *(sign * frame.Phi_r[about] for frame in at)])
        planes.append((w[k + 1] - w[k]).T * rise + t[k].T * first + t[k + 1].T * last)
    return FrameSlopes(x, weights, tuple(planes))
