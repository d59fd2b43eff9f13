"""Largest and least values of a motion, between the samples too.

A vibration has its peak between two samples more often than not. The ends of the integrator's own steps are looked at;
around what may be a new peak, the polynomial through positions and rates at three of them is followed to its top.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.centre_line import axial_strain
from pliant.bodies.constants import deflection
from pliant.dynamics import Dynamics
from pliant.mechanism import Member
from pliant.results.channels import effort_word
from pliant.results.quantities import Quantities
from pliant.results.samples import Extreme, Samples, Strain
from pliant.simulation.drives.kinds import NoDrive
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.state_equations import StateEquations

Floats = NDArray[np.float64]

PENDING = 256
"""Step ends that are looked at together."""
POINTS, ROUNDS = 17, 2
"""Points of a closer look, each round between the neighbours of the best one before: 1/64 of a step at last."""


SIDES = ((-1.0, 0), (1.0, 2))
"""Sign of what is sought, and where it stands in a row of what was found."""


class _Candidate(NamedTuple):
    """A column that may have a new extreme (``sign`` times it is the largest) between two instants, about row k."""

    column: int
    sign: float
    place: int
    k: int
    best: float
    when: float
    low: float
    high: float


class Peaks:
    """Extremes of joint positions, bending, strains, deviations of frames and efforts, as a run goes on.

    wanted  names of those that are looked for; None: all
    """

    def __init__(
        self,
        equations: StateEquations,
        strains: tuple[Strain, ...],
        frames: tuple[str, ...],
        wanted: Collection[str] | None = None,
    ) -> None:
        self.equations = equations
        if wanted is not None:
            frames = tuple(frame for frame in frames if f"{frame}.deflection" in wanted)
        possible = _groups(equations.arm, strains, frames)
        self.groups = [each for each in possible if wanted is None or not set(wanted).isdisjoint(each.names)]
        followed = tuple(name for group in self.groups for name in group.names)
        robot = equations.arm.robot
        efforts = tuple(f"{joint}.{effort_word(robot, joint)[0]}" for joint in equations.arm.inputs)
        self.names, self.count = (*followed, *efforts), len(followed)
        # least value, its time, largest value, its time
        self.found = np.tile([np.inf, 0.0, -np.inf, 0.0], (len(self.names), 1))
        self.wanted = [wanted is None or name in wanted for name in self.names]
        # of motors that are off nothing is to be found
        self.driven = any(self.wanted[self.count :]) and not isinstance(equations.drive, NoDrive)
        self._times: list[Floats] = []
        self._states: list[Floats] = []
        self._count = 0

    def look(self, piece: Piece, end: float) -> None:
        """Take note of a piece up to a time."""
        times, states = piece.knots, piece.knot_states
        if end < piece.end:
            inside = times < end
            times, states = np.append(times[inside], end), np.vstack([states[inside], piece(end)])
        self._look_at_efforts(piece, times, states)
        # the start is the end of the piece before
        rows = slice(1 if self._times and self._times[-1][-1] >= times[0] else 0, None)
        self._times.append(times[rows])
        self._states.append(states[rows, : 2 * self.equations.count])
        self._count += len(times)
        if self._count > PENDING:
            self._flush()

    def interrupt(self) -> None:
        """Coordinates jump: no polynomial goes on from here."""
        self._flush()
        self._times, self._states, self._count = [], [], 0

    def extremes(self) -> dict[str, Extreme]:
        """What was found, by name."""
        self._flush()
        rows = zip(self.names, self.found, strict=True)
        return {name: Extreme(*(float(x) for x in row)) for name, row in rows if np.isfinite(row).all()}

    def memory(self) -> Floats:
        """What must be kept to go on."""
        self._flush()
        return self.found

    def recall(self, found: Floats) -> None:
        """Go on from what ``memory`` gave."""
        if found.shape == self.found.shape:
            self.found = np.array(found)

    def _look_at_efforts(self, piece: Piece, times: Floats, states: Floats) -> None:
        """Efforts belong to the interval that the equations are in now: they may jump at its end."""
        if not self.driven or not np.isfinite(states).all():
            return
        first = self.count

        def efforts(instants: Floats, states: Floats) -> Floats:
            return self.equations.moments(instants, states).tau

        found = list(self._candidates(times, efforts(times, states), first))
        self._take(found, lambda near: efforts(near.ravel(), piece(near.ravel())), first)

    def _flush(self) -> None:
        """Look at what waits; the last two step ends stay as the beginning of what comes."""
        times = np.concatenate(self._times) if self._times else np.zeros(0)
        if len(times) < 2 or not self.groups:
            return
        states = np.vstack(self._states)
        q, v = self._expanded(times, states)
        first = 0
        for group in self.groups:
            self._follow(group, first, times, q[:, group.places], v[:, group.places])
            first += len(group.names)
        self._times, self._states, self._count = [times[-2:]], [states[-2:]], 2

    def _follow(self, group: _Group, first: int, times: Floats, q: Floats, v: Floats) -> None:
        """Look at one group, whose rows stand from ``first`` on, over the coordinates that it depends on."""
        found = list(self._candidates(times, group.values(q), first))
        # at an end of what was computed there is no top to follow, and the least length of a vector is where it
        # crosses its zero, and of no interest
        inner = [c for c in found if 0 < c.k < len(times) - 1 and (c.sign > 0 or not group.lengths)]
        self._take([c for c in found if c not in inner], None, first)
        paths = [_Osculating(*(x[c.k - 1 : c.k + 2] for x in (times, q, v))) for c in inner]

        def values(near: Floats) -> Floats:
            return group.values(np.vstack([path(row) for path, row in zip(paths, near, strict=True)]))

        self._take(inner, values, first)

    def _candidates(self, times: Floats, values: Floats, first: int) -> Iterator[_Candidate]:
        """Where columns (times, columns) may be beyond what was found, for those from ``first`` on."""
        for column in range(values.shape[1]):
            for sign, place in SIDES if self.wanted[first + column] else ():
                rising = sign * values[:, column]
                k = int(np.argmax(rising))
                # a parabola rises above its highest point by no more than that one above its neighbours
                near = rising[max(k - 1, 0) : k + 2]
                if 2 * rising[k] - near.min() > sign * self.found[first + column, place]:
                    ends = float(times[max(k - 1, 0)]), float(times[min(k + 1, len(times) - 1)])
                    yield _Candidate(column, sign, place, k, float(rising[k]), float(times[k]), *ends)

    def _take(self, candidates: list[_Candidate], values: Callable[[Floats], Floats] | None, first: int) -> None:
        """Keep what is beyond; ``values`` gives all columns at instants (candidates, points), to look closer."""
        if not candidates:
            return
        best, when, low, high = np.array([c[4:] for c in candidates]).T
        signs, rows = np.array([c.sign for c in candidates]), np.arange(len(candidates))
        columns = [c.column for c in candidates]
        for _ in range(ROUNDS if values is not None else 0):
            assert values is not None
            near = np.linspace(low, high, POINTS, axis=1)
            seen = values(near).reshape(len(rows), POINTS, -1)[rows, :, columns] * signs[:, None]
            j = seen.argmax(axis=1)
            better = seen[rows, j] > best
            best, when = np.where(better, seen[rows, j], best), np.where(better, near[rows, j], when)
            low, high = near[rows, np.maximum(j - 1, 0)], near[rows, np.minimum(j + 1, POINTS - 1)]
        for c, top, at in zip(candidates, best, when, strict=True):
            if top > c.sign * self.found[first + c.column, c.place]:
                self.found[first + c.column, c.place : c.place + 2] = c.sign * top, at

    def _expanded(self, times: Floats, states: Floats) -> tuple[Floats, Floats]:
        """All coordinates and rates (times, n), as they are integrated."""
        n = self.equations.count
        q, v = states[:, :n], states[:, n : 2 * n]
        constrained, path = self.equations.constrained, self.equations.path
        if constrained is None or path is None:
            return q, v
        desired = path.many(times)
        return constrained.expand(desired.q, q), constrained.expand(desired.v, v)


class _Osculating:
    """The polynomial through positions and rates (points, n) at some times, by divided differences."""

    def __init__(self, times: Floats, q: Floats, v: Floats) -> None:
        self.start = times[0]
        self.nodes = np.repeat(times - self.start, 2)
        differences = np.empty((2 * len(times) - 1, q.shape[1]))
        differences[0::2] = v
        differences[1::2] = np.diff(q, axis=0) / np.diff(times)[:, None]
        self.coefficients = [q[0], differences[0]]
        for order in range(2, len(self.nodes)):
            differences = np.diff(differences, axis=0) / (self.nodes[order:] - self.nodes[:-order])[:, None]
            self.coefficients.append(differences[0])

    def __call__(self, times: Floats) -> Floats:
        since = (times - self.start)[:, None]
        value: Floats = np.zeros((len(times), len(self.coefficients[0])))
        for coefficient, node in zip(reversed(self.coefficients), reversed(self.nodes), strict=True):
            value = value * (since - node) + coefficient
        return value


class _Group(NamedTuple):
    """Quantities that are followed together, because they are computed together.

    names    of them
    places   the coordinates that they depend on
    values   of those at some states (states, places) -> (states, names)
    lengths  whether they are lengths of vectors
    """

    names: tuple[str, ...]
    places: slice
    values: Callable[[Floats], Floats]
    lengths: bool = False


def _groups(arm: Dynamics, strains: tuple[Strain, ...], frames: tuple[str, ...]) -> Iterator[_Group]:
    """What can be followed of the coordinates: joints, bending of links, strains, deviations of frames."""
    robot, joints = arm.robot, set(arm.robot.joint_coordinates)
    for i, name in enumerate(arm.names):
        if name in joints:
            yield _Group((name,), slice(i, i + 1), lambda x: x)
    bending = {link.name for link in robot.links if link.is_flexible}
    members = {member.name: member for member in arm.mechanism.members}
    for name, member in members.items():
        if name in bending:
            yield _Group((f"{name}.deflection", f"{name}.slope"), member.elastic, partial(_tip_motion, member), True)
    for strain in strains:
        body, place = members[strain.link].body, (strain.x, strain.y, strain.z)
        row = axial_strain(robot.link(strain.link), robot, place, np.eye(body.size))
        yield _Group((f"strain.{strain.name}",), members[strain.link].elastic, partial(_product, row))
    # over-constrained loops are closed one state at a time
    if bending and frames and not arm.loops.redundant:
        names = tuple(f"{frame}.deflection" for frame in frames)
        yield _Group(names, slice(None), partial(_deviations, arm, frames), True)


def _product(row: Floats, x: Floats) -> Floats:
    return np.asarray(x @ row)[:, None]


def _tip_motion(member: Member, x: Floats) -> Floats:
    return np.column_stack([_length(vectors) for vectors in deflection(member.body, "tip", x)])


def _deviations(arm: Dynamics, frames: tuple[str, ...], q: Floats) -> Floats:
    """How far each frame is from where the rigid robot has it."""
    none = np.zeros((len(q), 0))
    given = Quantities(arm.robot, Samples(np.zeros(len(q)), q, none, none, none, none, none), arm)
    bent, rigid = (arm.positions(frames, x) for x in (q, given.unbent))
    return _length(bent - rigid)


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors**2).sum(axis=-1)))
