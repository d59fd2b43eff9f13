"""Largest and least values of a motion, between the samples too.

A vibration has its peak between two samples more often than not. The ends of the integrator's own steps are looked at;
around what may be a new peak, the polynomial through positions and rates at three of them is followed to its top.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

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
        efforts = self.equations.moments(times, states).tau
        for column in range(efforts.shape[1]):
            if not self.wanted[first + column]:
                continue
            found = self.found[first + column]
            for sign, place in ((-1.0, 0), (1.0, 2)):
                rising = sign * efforts[:, column]
                k = int(np.argmax(rising))
                if 2 * rising[k] - rising[max(k - 1, 0) : k + 2].min() <= sign * found[place]:
                    continue
                best, when = float(rising[k]), float(times[k])
                low, high = float(times[max(k - 1, 0)]), float(times[min(k + 1, len(times) - 1)])
                for _ in range(ROUNDS):
                    near = np.linspace(low, high, POINTS)
                    seen = sign * self.equations.moments(near, piece(near)).tau[:, column]
                    j = int(np.argmax(seen))
                    if seen[j] > best:
                        best, when = float(seen[j]), float(near[j])
                    low, high = near[max(j - 1, 0)], near[min(j + 1, POINTS - 1)]
                if best > sign * found[place]:
                    found[place : place + 2] = sign * best, when

    def _flush(self) -> None:
        """Look at what waits; the last two step ends stay as the beginning of what comes."""
        times = np.concatenate(self._times) if self._times else np.zeros(0)
        if len(times) < 2 or not len(self.watched.names):
            return
        states = np.vstack(self._states)
        q, v = self._expanded(times, states)
        values = self.watched(q)
        for column, length in enumerate(self.watched.lengths):
            if not self.wanted[column]:
                continue
            for sign, place in ((-1.0, 0), (1.0, 2)):
                rising = sign * values[:, column]
                k = int(np.argmax(rising))
                near = rising[max(k - 1, 0) : k + 2]
                # a parabola rises above its highest point by no more than that one above its neighbours
                if 2 * rising[k] - near.min() <= sign * self.found[column, place]:
                    continue
                best, when = float(rising[k]), float(times[k])
                # the least length of a vector is where it crosses its zero, and of no interest
                # (and at an end of what was computed there is no top to follow)
                if (sign > 0 or not length) and 0 < k < len(times) - 1:
                    best, when = self._top(times, q, v, k, column, sign)
                if best > sign * self.found[column, place]:
                    self.found[column, place : place + 2] = sign * best, when
        self._times, self._states, self._count = [times[-2:]], [states[-2:]], 2

    def _top(self, times: Floats, q: Floats, v: Floats, k: int, column: int, sign: float) -> tuple[float, float]:
        """The highest point of the motion around a step end, and when."""
        first = min(max(k - 1, 0), max(len(times) - 3, 0))
        three = slice(first, first + 3)
        path = _Osculating(times[three], q[three], v[three])
        low, high = float(times[max(k - 1, 0)]), float(times[min(k + 1, len(times) - 1)])
        best, when = -np.inf, low
        for _ in range(ROUNDS):
            near = np.linspace(low, high, POINTS)
            seen = sign * self.watched.column(path(near), column)
            j = int(np.argmax(seen))
            if seen[j] > best:
                best, when = float(seen[j]), float(near[j])
            low, high = near[max(j - 1, 0)], near[min(j + 1, POINTS - 1)]
        return best, when

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

    def column(self, q: Floats, k: int) -> Floats:
        """One of them alone (states,)."""
        own = len(self.names) - len(self.frames)
        return self._own(q)[:, k] if k < own else self._away(q)[:, k - own]

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
