"""Largest and least values of a motion, between the samples too.

A vibration has its peak between two samples more often than not. The ends of the integrator's own steps are looked at;
around what may be a new peak, the polynomial through positions and rates at three of them is followed to its top.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.centre_line import axial_strain
from pliant.bodies.constants import deflection
from pliant.dynamics import Dynamics
from pliant.results.channels import effort_word
from pliant.results.quantities import Quantities
from pliant.results.samples import Extreme, Samples, Strain
from pliant.simulation.drives.kinds import NoDrive
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.state_equations import StateEquations

Floats = NDArray[np.float64]

LARGE = 1000
"""Coordinates up to which what is linear in them is a matrix."""

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
        self.watched = _Watched(equations.arm, strains, frames)
        robot = equations.arm.robot
        efforts = tuple(f"{joint}.{effort_word(robot, joint)[0]}" for joint in equations.arm.inputs)
        self.names = (*self.watched.names, *efforts)
        # least value, its time, largest value, its time
        self.found = np.tile([np.inf, 0.0, -np.inf, 0.0], (len(self.names), 1))
        self.wanted = [wanted is None or name in wanted for name in self.names]
        # of motors that are off nothing is to be found
        self.driven = any(self.wanted[len(self.watched.names) :]) and not isinstance(equations.drive, NoDrive)
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
        first = len(self.watched.names)

        def efforts(instants: Floats, states: Floats) -> Floats:
            return self.equations.moments(instants, states).tau

        found = list(self._candidates(times, efforts(times, states), first))
        self._take(found, lambda near: efforts(near.ravel(), piece(near.ravel())), first)

    def _flush(self) -> None:
        """Look at what waits; the last two step ends stay as the beginning of what comes."""
        times = np.concatenate(self._times) if self._times else np.zeros(0)
        if len(times) < 2 or not len(self.watched.names):
            return
        states = np.vstack(self._states)
        q, v = self._expanded(times, states)
        found = list(self._candidates(times, self.watched(q), 0))
        # at an end of what was computed there is no top to follow, and the least length of a vector is where it
        # crosses its zero, and of no interest
        inner = [c for c in found if 0 < c.k < len(times) - 1 and (c.sign > 0 or not self.watched.lengths[c.column])]
        self._take([c for c in found if c not in inner], None, 0)
        paths = [_Osculating(*(x[c.k - 1 : c.k + 2] for x in (times, q, v))) for c in inner]

        def values(near: Floats) -> Floats:
            return self.watched(np.vstack([path(row) for path, row in zip(paths, near, strict=True)]))

        self._take(inner, values, 0)
        self._times, self._states, self._count = [times[-2:]], [states[-2:]], 2

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


class _Watched:
    """The quantities that are followed, as a function of the coordinates: (states, n) -> (states, names)."""

    def __init__(self, arm: Dynamics, strains: tuple[Strain, ...], frames: tuple[str, ...]) -> None:
        self.arm, self.strains = arm, strains
        joints = set(arm.robot.joint_coordinates)
        self.joints = [i for i, name in enumerate(arm.names) if name in joints]
        self.links = [link.name for link in arm.robot.links if link.is_flexible]
        # over-constrained loops are closed one state at a time
        self.frames = () if arm.loops.redundant or not self.links else frames
        self.names = (
            *(arm.names[i] for i in self.joints),
            *(f"{link}.{part}" for link in self.links for part in ("deflection", "slope")),
            *(f"strain.{strain.name}" for strain in strains),
            *(f"{frame}.deflection" for frame in self.frames),
        )
        self.lengths = [False] * len(self.joints) + [True] * 2 * len(self.links) + [False] * len(strains)
        self.lengths += [True] * len(self.frames)
        # one column per unit coordinate: what linear bodies do needs no more than a product
        self.linear = arm.size <= LARGE and all(member.body.large is None for member in arm.mechanism.members)
        self.members = [member for member in arm.mechanism.members if member.name in self.links]
        self.map = self._components(np.eye(arm.size)) if self.linear else np.zeros(0)

    def __call__(self, q: Floats) -> Floats:
        return np.hstack([self._own(q), self._away(q)])

    def _own(self, q: Floats) -> Floats:
        """Joints, links and strains."""
        values = q @ self.map if self.linear else self._components(q)
        ends = 3 * 2 * len(self.links)
        lengths = np.sqrt((values[:, :ends].reshape(len(q), -1, 3) ** 2).sum(axis=2))
        return np.hstack([q[:, self.joints], lengths, values[:, ends:]])

    def _away(self, q: Floats) -> Floats:
        """How far each frame is from where the rigid robot has it."""
        if not self.frames:
            return np.zeros((len(q), 0))
        bent, rigid = (self.arm.positions(self.frames, x) for x in (q, self._given(q).unbent))
        return np.asarray(np.sqrt(((bent - rigid) ** 2).sum(axis=2)))

    def _components(self, q: Floats) -> Floats:
        """Deflections and slopes of the links, three columns each, then strains."""
        vectors = [part for m in self.members for part in deflection(m.body, "tip", q[:, m.elastic])]
        strains = [q[:, place] @ row for place, row in self._strain_rows]
        return np.column_stack([*vectors, *strains]) if vectors or strains else np.zeros((len(q), 0))

    @cached_property
    def _strain_rows(self) -> list[tuple[slice, Floats]]:
        """Where the coordinates of each strain are, and how much of it each of them makes."""
        robot, members = self.arm.robot, {member.name: member for member in self.members}
        found = []
        for strain in self.strains:
            member, at = members[strain.link], (strain.x, strain.y, strain.z)
            found.append((member.elastic, axial_strain(robot.link(strain.link), robot, at, np.eye(member.body.size))))
        return found

    def _given(self, q: Floats) -> Quantities:
        none = np.zeros((len(q), 0))
        return Quantities(self.arm.robot, Samples(np.zeros(len(q)), q, none, none, none, none, none), self.arm)
