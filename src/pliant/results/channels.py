"""The channels of a run: what follows from a sampled motion, with names, units and meanings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.analysis.along import AlongBeam, along_beam, beam_words, unbent
from pliant.analysis.link_loads import LinkLoads, closing_of, link_loads
from pliant.analysis.link_stress import LinkStresses, StressPeak, has_stress, peak_of, stresses_of, yields
from pliant.bodies.constants import deflection
from pliant.bodies.words import axial_strain, centre_line, words_of
from pliant.drives.readings import SensorReadings
from pliant.drives.sensor_filters import SensorFilters
from pliant.dynamics import Dynamics
from pliant.joints.kind import EFFORTS
from pliant.model.actuators.line import LineMotion, SupplyAt
from pliant.model.description.joints import tooth_force
from pliant.model.description.sensors import Encoder, Sensor
from pliant.results.samples import Floats, RunInfo, Samples, Strain

if TYPE_CHECKING:
    from pliant.dynamics import Pose
    from pliant.model.description.robot import Robot
    from pliant.results.result import Result


class Quantities:
    """Arrays over the samples (first axis), computed when first asked for and then kept."""

    def __init__(
        self,
        robot: Robot,
        samples: Samples,
        arm: Dynamics,
        loaded: tuple[str, ...] = (),
        states: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.robot, self.samples, self.arm, self.loaded, self.states = robot, samples, arm, loaded, states
        self._poses: dict[str, Pose] = {}
        self.known_positions: dict[str, Floats] = {}
        self._stresses: dict[str, LinkStresses] = {}

    @cached_property
    def accelerations(self) -> Floats:
        """Accelerations of the coordinates (N, n)."""
        s = self.samples
        return self.arm.forward(s.q, s.v, s.tau, force=s.force if s.force.shape[1] else None)

    @cached_property
    def energies(self) -> Floats:
        """Kinetic, strain and gravity energy (N, 3)."""
        return np.array(self.arm.energy(self.samples.q, self.samples.v)).T

    @cached_property
    def total_energy(self) -> Floats:
        """All energies of the robot (N,)."""
        total: Floats = self.energies.sum(axis=1)
        return total

    @cached_property
    def balance(self) -> Floats:
        """Energy gained by robot, drive and loads - work from outside + losses (N,): zero but for errors."""
        E, work = self.total_energy + self.samples.stored[:, 0], self.samples.work - self.samples.work[0]
        return np.asarray(E - E[0] - work[:, 0] - work[:, 1] + work[:, 2])

    @cached_property
    def power(self) -> Floats:
        """Power of the motors, W (N,)."""
        return np.asarray(np.einsum("ij,ij->i", self.samples.tau, self.samples.v @ self.arm.B))

    @cached_property
    def reactions(self) -> dict[str, Floats]:
        """Joint -> force and moment that it hands to its link, link axes (N, 6)."""
        s, arm, found = self.samples, self.arm, list[dict[str, Floats]]()
        f = s.tau @ arm.B.T + (s.force if s.force.shape[1] else 0.0)
        wrenches = s.wrenches.reshape(len(s), len(self.loaded), 6)
        for q, v, a, force, loads in zip(s.q, s.v, self.accelerations, f, wrenches, strict=True):
            closing = arm.closing_wrenches(q, v, a, force, given=True)
            found.append(arm.by_joint(q, v, a, [*zip(self.loaded, loads, strict=True), *closing]))
        return {joint: np.array([each[joint] for each in found]) for joint in found[0]}

    @cached_property
    def acting(self) -> dict[str, LinkLoads]:
        """Link -> what acts on it at each sample: inertia, what hangs on its frames, loads and closures of loops."""
        s, arm = self.samples, self.arm
        f = s.tau @ arm.B.T + (s.force if s.force.shape[1] else 0.0)
        loads = s.wrenches.reshape(len(s), len(self.loaded), 6)
        closing = closing_of(arm, s.q, s.v, self.accelerations, f, given=True)
        exerted = [*((frame, loads[:, k]) for k, frame in enumerate(self.loaded)), *closing]
        return link_loads(arm, s.q, s.v, self.accelerations, exerted)

    # ---- closed loops

    @cached_property
    def gap(self) -> Floats:
        """Largest gap of the loops, m or rad (N,)."""
        return np.asarray(np.abs(self.arm.closure(self.samples.q)).max(axis=1))

    @cached_property
    def closing_forces(self) -> Floats:
        """Forces and moments of the closures on their first frames (N, rows)."""
        s = self.samples
        return self.arm.multipliers(s.q, s.v, s.tau, force=s.force if s.force.shape[1] else None)

    # ---- frames

    def poses(self, frame: str) -> Pose:
        """Poses of a frame in the base: positions (N, 3), rotation matrices (N, 3, 3)."""
        if frame not in self._poses:
            self._poses[frame] = self.arm.pose(frame, self.samples.q)
        return self._poses[frame]

    def position(self, frame: str) -> Floats:
        """Position of a frame in the base (N, 3)."""
        return self.known_positions[frame] if frame in self.known_positions else self.poses(frame).position

    def rotation(self, frame: str) -> Floats:
        """Rotation matrices of a frame in the base (N, 3, 3)."""
        return self.poses(frame).rotation

    def velocity(self, frame: str) -> Floats:
        """Velocity of a frame's origin, base axes (N, 3)."""
        return self.arm.velocity(frame, self.samples.q, self.samples.v).linear

    def acceleration(self, frame: str) -> Floats:
        """Acceleration of a frame's origin, base axes (N, 3)."""
        return self.arm.acceleration(frame, self.samples.q, self.samples.v, self.accelerations).linear

    def deviation(self, frame: str) -> Floats:
        """What bending adds to the position of a frame of the rigid robot, base axes (N, 3)."""
        return np.asarray(self.position(frame) - self.arm.pose(frame, self.unbent).position)

    @cached_property
    def unbent(self) -> Floats:
        """The rigid robot at the same joint positions; with loops at those of the drives (N, n)."""
        return unbent(self.arm, self.samples.q)

    # ---- actuators along lines

    def _line(self, name: str) -> tuple[Floats, Floats]:
        """Unit vector along an actuator, from its first end, and its length (N, 3), (N,)."""
        first, second = (
            self.position(place) if isinstance(place, str) else np.array(place)
            for place in self.robot.actuator(name).places
        )
        d = np.broadcast_to(second - first, (len(self.samples), 3))
        length = np.linalg.norm(d, axis=1)
        return d / length[:, None], length

    def line_length(self, name: str) -> Floats:
        """Length of an actuator, m (N,)."""
        return self._line(name)[1]

    def line_rate(self, name: str) -> Floats:
        """Rate of the length of an actuator, m/s (N,)."""
        places = self.robot.actuator(name).places
        first, second = (self.velocity(place) if isinstance(place, str) else np.zeros(3) for place in places)
        moved = np.broadcast_to(second - first, (len(self.samples), 3))
        return np.asarray(np.einsum("ij,ij->i", self._line(name)[0], moved))

    def line_push(self, name: str) -> Floats:
        """Push of an actuator, N (N,), from its length and its states."""
        own = self.robot.actuator(name).pushes
        z = [self.law_state(f"{name}.{state.name}") for state in own.states()]
        # neither a command nor a supply pushes before states have followed
        line, supply = LineMotion(self.line_length(name), self.line_rate(name)), SupplyAt(0.0, 0.0)
        found = own.act(line, z, 0.0, own.numbers(), supply)
        return np.broadcast_to(np.asarray(found.push, dtype=float), len(self.samples))

    def law_state(self, name: str) -> Floats:
        """A state of a drive, a load or an actuator (N,)."""
        return self.samples.states[:, [known for known, _ in self.states].index(name)]

    # ---- links

    def elastic(self, link: str) -> Floats:
        """Elastic coordinates of a link (N, size)."""
        return self.samples.q[:, self.arm.mechanism.member(link).elastic]

    def tip_motion(self, link: str) -> tuple[Floats, Floats]:
        """Displacement and rotation vector of a link's tip against its own frame, link axes (N, 3)."""
        return deflection(self.arm.mechanism.member(link).body, "tip", self.elastic(link))

    def tip_deflection(self, link: str) -> Floats:
        """Displacement of a link's tip against its own frame, link axes (N, 3)."""
        return self.tip_motion(link)[0]

    def bending(self, link: str) -> Floats:
        """Displacement of a beam's mid-span against the line from its root to its tip, link axes (N, 3)."""
        length = self.robot.link(link).length
        stations = np.array([0.0, length / 2, length])
        root, middle, tip = np.moveaxis(
            centre_line(self.robot.link(link), self.robot, self.elastic(link), stations), -2, 0
        )
        return np.asarray(middle - (root + tip) / 2)

    def tip_slope(self, link: str) -> Floats:
        """Rotation vector of a link's tip against its own frame, link axes (N, 3)."""
        return self.tip_motion(link)[1]

    def along(self, link: str) -> AlongBeam:
        """Shape, strains, forces and stress along a beam at each sample."""
        return along_beam(beam_words(self.arm, link), self.acting[link])

    def stresses(self, link: str) -> LinkStresses:
        """The largest stress in a link at each sample, and where."""
        if link not in self._stresses:
            self._stresses[link] = stresses_of(self.arm, link, self.acting[link])
        return self._stresses[link]

    def stress(self, link: str) -> Floats:
        """Largest stress in a link, Pa (N,): axial of a beam, von Mises at nodes."""
        return self.stresses(link).values

    def utilisation(self, link: str) -> Floats:
        """Largest stress in a link over the yield strength of its material (N,)."""
        found = self.stresses(link)
        assert found.strength is not None
        return np.asarray(found.values / found.strength)

    def stress_peaks(self) -> dict[str, StressPeak]:
        """Link -> its largest stress over all samples, of the links whose stress is known."""
        return {
            link.name: peak_of(self.arm, link.name, self.acting[link.name], self.stresses(link.name))
            for link in self.robot.links
            if has_stress(self.arm, link.name)
        }

    def strain(self, place: Strain) -> Floats:
        """u' - y u_y'' - z u_z'' at a place of a beam (N,)."""
        link = self.robot.link(place.link)
        return axial_strain(link, self.robot, (place.x, place.y, place.z), self.elastic(place.link))

    def reading(self, sensor: Sensor) -> Floats:
        """Reading of a sensor of the robot, without noise and delay (N,)."""
        s, readings = self.samples, SensorReadings(self.arm, (sensor,))
        columns = [list(np.ascontiguousarray(x.T)) for x in (s.q, s.v, s.tau)]
        a = list(np.ascontiguousarray(self.accelerations.T)) if readings.needs_acceleration else None
        (found,) = readings.read(columns[0], columns[1], columns[2], list(readings.numbers), a)
        return np.asarray(found, dtype=float)

    def filtered_reading(self, sensor: Sensor, states: Sequence[str]) -> Floats:
        """Reading of a sensor behind its filter, without noise and delay (N,); names of all states of the run."""
        s = self.samples
        filters = SensorFilters(self.arm, s.q[0], s.v[0])
        own = [states.index(f"{filters.prefix}{state.name}") for state in filters.states]
        found = filters.filtered(s.q, s.v, s.states[:, own])[:, filters.sensors.index(sensor)]
        step = sensor.measures.step if isinstance(sensor.measures, Encoder) else 0.0
        return sensor.gain * (step * np.floor(found / step + 0.5) if step else found) + sensor.bias


FRAME_PARTS = {
    "position": ("m", "position in the base frame (3)", (3,)),
    "rotation": ("", "rotation matrix in the base frame (3, 3)", (3, 3)),
    "velocity": ("m/s", "velocity in base axes (3)", (3,)),
    "acceleration": ("m/s^2", "acceleration in base axes, without gravity (3)", (3,)),
    "deflection": ("m", "what bending adds to the position of the rigid robot, base axes (3)", (3,)),
}
ENERGIES = ("kinetic", "strain", "gravity")
WORKS = {
    "work": "work of the motors since the start",
    "work.loads": "work that loads brought from outside since the start",
    "dissipated": "energy lost by friction, damping and stops since the start",
}

GIMBAL = 1e-9
"""Cosine of the pitch below which roll and yaw are not told apart."""


OWNERS = {"drive.": "the drive", "load.": "a load", "sensor.": "the filter of a sensor"}
"""What has the states whose names begin so."""


class Channel(NamedTuple):
    """A named quantity of a run; ``shape`` is that of one sample."""

    name: str
    unit: str
    meaning: str
    compute: Callable[[], Floats]
    shape: tuple[int, ...] = ()

    def entry(self, part: str, name: str) -> Channel | None:
        """One entry of a vector, called x, y, z or 1, 2, ..., as a channel with a name; None where there is none."""
        count = prod(self.shape)
        known = [text[1:] for text in parts(count)]
        if not self.shape or part not in known:
            return None
        k = known.index(part)
        units = self.unit.split(", ")
        unit, meaning = units[k * len(units) // count], f"entry {part} of: {self.meaning}"
        return Channel(name, unit, meaning, lambda: self.compute().reshape(-1, count)[:, k])


def all_channels(quantities: Quantities, info: RunInfo) -> dict[str, Channel]:
    """The channels that are listed, by name."""
    found = [
        *coordinate_channels(quantities),
        *_attitudes(quantities),
        *_inputs(quantities),
        *_frames(quantities, info),
        *_links(quantities),
        *_strains(quantities, info),
        *_sensors(quantities, info),
        *_energies(quantities),
        *_lines(quantities),
        *_law_states(quantities, info),
        *_reactions(quantities),
        *_loops(quantities),
    ]
    return {channel.name: channel for channel in found}


def frame_channel(quantities: Quantities, frame: str, part: str) -> Channel:
    """A channel of any frame; raises KeyError if there is no such frame."""
    quantities.arm.mechanism.frame(frame)
    unit, meaning, shape = FRAME_PARTS[part]
    compute = getattr(quantities, "deviation" if part == "deflection" else part)
    return Channel(f"{frame}.{part}", unit, meaning, partial(compute, frame), shape)


def _per_time(unit: str, time: str) -> str:
    """``rad/s``, ``1/m/s`` as ``1/(m s)``, ``1/s``."""
    above, _, below = unit.partition("/")
    return f"{above}/({below} {time})" if below else f"{unit or 1}/{time}"


def effort_word(robot: Robot, joint: str) -> tuple[str, str]:
    """What the motor of a joint makes, and its unit."""
    return EFFORTS["m" if robot.joint(joint).mechanics.slides() else "rad"]


def effort_names(arm: Dynamics) -> list[str]:
    """Names of the channels with the torques and forces of the motors."""
    return [f"{joint}.{effort_word(arm.robot, joint)[0]}" for joint in arm.inputs]


def _column(array: Floats, i: int) -> Callable[[], Floats]:
    return lambda: array[:, i]


def coordinate_channels(given: Quantities) -> Iterator[Channel]:
    """Every coordinate, its rate and its acceleration."""
    s, joints = given.samples, set(given.robot.joint_coordinates)
    for i, name in enumerate(given.arm.names):
        unit, word, _ = given.arm.mechanism.words[name]
        yield Channel(name, unit, "joint position" if name in joints else word, _column(s.q, i))
        yield Channel(f"{name}.rate", _per_time(unit, "s"), "its rate", _column(s.v, i))
        acceleration = partial(_acceleration, given, i)
        yield Channel(f"{name}.acceleration", _per_time(unit, "s^2"), "its acceleration", acceleration)


ATTITUDE = {
    "roll": "about the x axis of the link",
    "pitch": "about y, before it",
    "yaw": "about z, first of the three",
}


def _attitudes(given: Quantities) -> Iterator[Channel]:
    """Attitude of floating bases: R = Rz(yaw) Ry(pitch) Rx(roll) of the joint's rotation vector."""
    for link in given.robot.links:
        if link.joint.mechanics.symbol.floats:
            first = given.arm.names.index(link.joint.coordinates[3])
            for k, (word, meaning) in enumerate(ATTITUDE.items()):
                text = f"{word} angle of the floating base, {meaning}"
                yield Channel(f"{link.joint.name}.{word}", "rad", text, partial(_attitude, given, first, k))


def _attitude(given: Quantities, first: int, k: int) -> Floats:
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_rotvec(given.samples.q[:, first : first + 3]).as_matrix()
    # at a pitch of 90 degrees roll and yaw are one turn, which counts as yaw
    level = np.hypot(turns[:, 0, 0], turns[:, 1, 0])
    upright = level < GIMBAL
    if k == 1:
        return np.asarray(np.arctan2(-turns[:, 2, 0], level))
    if k == 0:
        return np.where(upright, 0.0, np.unwrap(np.arctan2(turns[:, 2, 1], turns[:, 2, 2])))
    angles = np.where(upright, np.arctan2(-turns[:, 0, 1], turns[:, 1, 1]), np.arctan2(turns[:, 1, 0], turns[:, 0, 0]))
    return np.asarray(np.unwrap(angles))


def _acceleration(given: Quantities, i: int) -> Floats:
    return given.accelerations[:, i]


def _inputs(given: Quantities) -> Iterator[Channel]:
    s = given.samples
    for j, name in enumerate(given.arm.inputs):
        word, unit = effort_word(given.robot, name)
        yield Channel(f"{name}.{word}", unit, f"{word} of the motor", _column(s.tau, j))
        if s.reference.shape[1]:
            own = given.arm.mechanism.words[name].unit
            yield Channel(f"{name}.desired", own, "desired position", _column(s.reference, j))


def _links(given: Quantities) -> Iterator[Channel]:
    meaning = "of the tip against the link's own frame, link axes (3)"
    for link in given.robot.links:
        if link.is_flexible:
            name = link.name
            yield Channel(f"{name}.deflection", "m", f"deflection {meaning}", partial(given.tip_deflection, name), (3,))
            if link.has_axis:
                between = "displacement of mid-span against the line from root to tip, link axes (3)"
                yield Channel(f"{name}.bending", "m", between, partial(given.bending, name), (3,))
            yield Channel(f"{name}.slope", "rad", f"rotation {meaning}", partial(given.tip_slope, name), (3,))
            if has_stress(given.arm, name):
                words = words_of(link, given.robot)
                nodes = "largest von Mises stress at its nodes, without those next to rigid faces"
                most = "largest axial stress along the beam, of bending and pull" if words.has_axis else nodes
                yield Channel(f"{name}.stress", "Pa", most, partial(given.stress, name))
                if yields(words):
                    share = "largest stress over the yield strength of the material"
                    yield Channel(f"{name}.utilisation", "", share, partial(given.utilisation, name))


def _frames(given: Quantities, info: RunInfo) -> Iterator[Channel]:
    for frame in info.frames:
        for part in FRAME_PARTS:
            yield frame_channel(given, frame, part)


def _strains(given: Quantities, info: RunInfo) -> Iterator[Channel]:
    for place in info.strains:
        where = f"strain along the beam '{place.link}' at x = {place.x:g} m"
        yield Channel(f"strain.{place.name}", "", where, partial(given.strain, place))


def _sensors(given: Quantities, info: RunInfo) -> Iterator[Channel]:
    for sensor in given.robot.sensors:
        meaning = f"reading of the {sensor.measures.key} sensor '{sensor.name}', without noise and delay"
        compute = partial(given.reading, sensor)
        if sensor.filter is not None:
            compute = partial(given.filtered_reading, sensor, tuple(name for name, _ in info.states))
        yield Channel(f"sensor.{sensor.name}", sensor.unit(given.robot), meaning, compute)


def _law_states(given: Quantities, info: RunInfo) -> Iterator[Channel]:
    for k, (name, unit) in enumerate(info.states):
        named = f"'{name.partition('.')[0]}'"
        owner = next((words for start, words in OWNERS.items() if name.startswith(start)), named)
        meaning = f"state of {owner}"
        yield Channel(name, unit, meaning, _column(given.samples.states, k))


def _lines(given: Quantities) -> Iterator[Channel]:
    for actuator in given.robot.actuators:
        name = actuator.name
        yield Channel(f"{name}.length", "m", "length of the actuator", partial(given.line_length, name))
        yield Channel(f"{name}.rate", "m/s", "rate of its length", partial(given.line_rate, name))
        if actuator.pushes.pushes_by_states:
            yield Channel(f"{name}.push", "N", "force that drives its ends apart", partial(given.line_push, name))


def _energies(given: Quantities) -> Iterator[Channel]:
    for k, part in enumerate(ENERGIES):
        yield Channel(f"energy.{part}", "J", f"{part} energy", partial(_energy, given, k))
    yield Channel("energy.total", "J", "all energies of the robot", lambda: given.total_energy)
    if given.samples.stored.any():
        held = "energy that the drive, loads and stops hold"
        yield Channel("energy.stored", "J", held, _column(given.samples.stored, 0))
    for k, (name, meaning) in enumerate(WORKS.items()):
        yield Channel(name, "J", meaning, _column(given.samples.work, k))
    balance = "energy gained - work + losses: zero but for errors"
    yield Channel("energy.balance", "J", balance, lambda: given.balance)
    yield Channel("power", "W", "power of the motors", lambda: given.power)


def _energy(given: Quantities, k: int) -> Floats:
    return given.energies[:, k]


def _reactions(given: Quantities) -> Iterator[Channel]:
    meaning = "force and moment that the joint hands to its link, link axes (6)"
    for link in given.arm.tree.links:
        if link.joint:
            yield Channel(f"{link.joint}.reaction", "N, N m", meaning, partial(_reaction, given, link.joint), (6,))


def _reaction(given: Quantities, joint: str) -> Floats:
    return given.reactions[joint]


def _loops(given: Quantities) -> Iterator[Channel]:
    if not given.arm.loops.rows:
        return
    yield Channel("loops.gap", "m, rad", "largest gap of the closed loops", lambda: given.gap)
    for i, row in enumerate(given.arm.loops.rows):
        loop, _, label = row.rpartition(".")
        if label == "tie":
            _, unit = effort_word(given.robot, loop)
            yield Channel(
                f"{row}.effort", unit, "of the tie on the joint that follows", partial(_closing_force, given, i)
            )
            mimic = given.robot.joint(loop).mimic
            if mimic is not None and mimic.gear is not None and mimic.gear.pitch_radii is not None:
                meaning = f"between the teeth of '{loop}' and '{mimic.joint}', along the pitch circle"
                yield Channel(f"{loop}.tooth.force", "N", meaning, partial(_tooth_force, given, loop))
            continue
        turn = label.startswith("r")
        word, unit = ("moment", "N m") if turn else ("force", "N")
        meaning = f"{word} of the closure on its first frame"
        yield Channel(f"{row}.{word}", unit, meaning, partial(_closing_force, given, i))


def _tooth_force(given: Quantities, joint: str) -> Floats:
    rows = given.arm.loops.rows
    return tooth_force(joint, given.robot.mimics, lambda name: _closing_force(given, rows.index(f"{name}.tie")))


def _closing_force(given: Quantities, i: int) -> Floats:
    return given.closing_forces[:, i]


def default_channels(run: Result) -> list[str]:
    """What a table of a run shows without being asked: what the study names, or the usual."""
    if run.info.channels:
        return list(run.info.channels)
    names = run.arm.names
    links = [f"{link.name}.deflection" for link in run.robot.links if link.is_flexible]
    frames = [f"{frame}.{part}" for frame in run.info.frames for part in ("position", "deflection")]
    strains = [f"strain.{strain.name}" for strain in run.info.strains]
    held = ["energy.stored"] if run.samples.stored.any() else []
    energies = [*(f"energy.{part}" for part in ENERGIES), *held, *WORKS, "energy.balance"]
    return [*names, *(f"{name}.rate" for name in names), *run.efforts, *links, *frames, *strains, *energies]


def parts(n: int) -> list[str]:
    """What is added to the name of a channel for each of its entries."""
    return [""] if n == 1 else [f".{axis}" for axis in "xyz"] if n == 3 else [f".{k + 1}" for k in range(n)]
