"""Largest and least values of a motion, between the samples too.

A vibration has its peak between two samples more often than not. The integrator's own steps are looked at, and what is
between their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.unbent import unbending
from pliant.bodies.centre_line import axial_strain
from pliant.bodies.constants import deflection
from pliant.drives.off import NoDrive
from pliant.dynamics import Dynamics
from pliant.mechanism import Member
from pliant.results.channels import effort_names
from pliant.results.samples import Extreme, LateExtremes, Strain
from pliant.simulation.climbs import Pending, TopsAsk, Values
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.integrators.lockstep import Steps, alone
from pliant.simulation.recorder import InstantsAsk
from pliant.simulation.state_equations import Moments, StateEquations
from pliant.simulation.summits import Points, Tops
from pliant.simulation.tracks import StepEnds

Floats = NDArray[np.float64]

MANY = 4096
"""Steps of which each group of quantities has its own ones looked at."""
PENDING, WORTH = 500_000, 4096
"""Numbers, and steps at the least, that are kept before they are looked at: the more steps together, the fewer of them
need a look. Checkpoints hold what is kept, for where it is looked at must not depend on where a run was cut."""
WAITING = 500_000
"""Numbers of states that a result may keep until its extremes are asked for: 8 MB with their rates."""


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
            strains = tuple(strain for strain in strains if f"strain.{strain.name}" in wanted)
        possible = _groups(equations.arm, strains, frames)
        self.groups = [each for each in possible if wanted is None or not set(wanted).isdisjoint(each.names)]
        efforts = effort_names(equations.arm)
        self.names = (*(name for group in self.groups for name in group.names), *efforts)
        self.efforts = slice(len(self.names) - len(efforts), None)
        # least value, its time, largest value, its time
        self.found = np.tile([np.inf, 0.0, -np.inf, 0.0], (len(self.names), 1))
        self.wanted = np.array([wanted is None or name in wanted for name in self.names], dtype=bool)
        lengths = [group.lengths for group in self.groups for _ in group.names]
        self.lengths = np.array([*lengths, *(False for _ in efforts)], dtype=bool)
        # of motors that are off nothing is to be found
        self.driven = bool(self.wanted[self.efforts].any()) and not isinstance(equations.drive, NoDrive)
        self._moved, self._driven = Pending(), Pending()
        self._kept = 0

    def look(self, piece: Piece, end: float) -> None:
        """Take note of a piece up to a time."""
        times, states, rates = piece.knots, piece.knot_states, piece.knot_rates
        if end < piece.end:
            inside, state = times < end, piece(end)
            times, states = np.append(times[inside], end), np.vstack([states[inside], state])
            rates = np.vstack([rates[inside], self.equations.rates(end, state)])
        n, span = self.equations.count, self.equations.span
        if self.driven:
            self._driven.add(StepEnds(times, states, rates), span)
        if self.groups:
            self._moved.add(StepEnds(times, states[:, : 2 * n], rates[:, : 2 * n]), span)
        self._kept += states.size
        if self._kept > max(PENDING, WORTH * states.shape[1]):
            alone(self.finishing())

    def settling(self) -> Steps[None]:
        """The equations go on to another interval: efforts belong to the one that they are in, and may jump."""
        self._driven.jump()
        if not self.equations.can_wait:
            yield from self._climbing_efforts()

    def interrupt(self) -> None:
        """Coordinates jump."""
        self._driven.jump()
        self._moved.jump()

    def finishing(self) -> Steps[None]:
        """Look at everything that is left; it may be found together with what other runs ask for."""
        yield from self._climbing_efforts()
        moved = self._moved
        # a few steps are looked at in one go, of many each group has its own ones
        steps = sum(len(part.times) for part in moved.parts)
        first = 0
        for groups in [self.groups] if steps < MANY else [[group] for group in self.groups]:
            part = slice(first, first := first + sum(len(group.names) for group in groups))
            yield from self._climbing(part, moved, partial(self._followed, groups), self.wanted)
        # not before: where that was interrupted it is begun again
        self._moved, self._kept = Pending(), 0

    def near(self, ranges: Mapping[str, tuple[float, float]]) -> set[str]:
        """Names of those that may leave their ranges, between the ends of steps too.

        There the coordinates are polynomials of fifth degree, which stay in the hull of their Bezier points (Farin,
        Curves and Surfaces for CAGD, section 7.5); what is linear in them adds up at the most.
        """
        parts, n = self._moved.parts, self.equations.count
        if not parts or self.equations.constrained is not None:
            return set(ranges)
        reach = np.zeros(n)
        for times, states, rates in parts:
            h = float(np.diff(times).max(initial=0.0))
            q, v, a = (np.abs(x).max(axis=0) for x in (states[:, :n], rates[:, :n], rates[:, n:]))
            reach = np.maximum(reach, q + 2 * h / 5 * v + h * h / 20 * a)
        found = set(ranges).difference(*(group.names for group in self.groups if group.asks is None))
        for group in self.groups:
            if group.asks is None and not set(group.names).isdisjoint(ranges):
                sizes = np.abs(group.values(np.diag(reach))).sum(axis=0)
                for name, size in zip(group.names, sizes.tolist(), strict=True):
                    low, high = ranges.get(name, (-np.inf, np.inf))
                    # what is not a number is in no range
                    if not (low <= -size and size <= high):
                        found.add(name)
        return found

    def concluding(self, names: Collection[str] | None = None) -> Steps[Mapping[str, Extreme]]:
        """What was found, by name; if names are given these alone, and the others when they are asked for."""
        if names is None or self._kept > WAITING:
            yield from self.finishing()
            return self.extremes()
        wanted, first = np.array([name in names for name in self.names], dtype=bool), 0
        for group in self.groups:
            part = slice(first, first := first + len(group.names))
            if wanted[part].any():
                yield from self._climbing(part, self._moved, partial(self._followed, [group]), wanted)
        return LateExtremes(self._known(wanted), self.extremes)

    def _climbing_efforts(self) -> Steps[None]:
        driven = self._driven
        yield from self._climbing(self.efforts, driven, partial(self._efforts, driven), self.wanted)
        self._driven = Pending()

    def extremes(self) -> dict[str, Extreme]:
        """What was found, by name."""
        alone(self.finishing())
        return self._known(np.ones(len(self.names), dtype=bool))

    def _known(self, wanted: NDArray[np.bool_]) -> dict[str, Extreme]:
        known = np.flatnonzero(wanted & np.isfinite(self.found).all(axis=1)).tolist()
        return {self.names[k]: Extreme(*self.found[k].tolist()) for k in known}

    def memory(self) -> dict[str, Any]:
        """What must be kept to go on: what was found, and what is still to be looked at."""
        pending = (("moved", self._moved), ("driven", self._driven))
        waiting = {f"{name}.{key}": x for name, each in pending for key, x in each.memory().items()}
        return {"found": self.found.copy(), "kept": np.array(self._kept), **waiting}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what ``memory`` gave."""
        if memory["found"].shape == self.found.shape:
            self.found, self._kept = np.array(memory["found"]), int(memory["kept"])
            self._moved, self._driven = (
                Pending.recalled({key.partition(".")[2]: x for key, x in memory.items() if key.startswith(f"{name}.")})
                for name in ("moved", "driven")
            )

    def _climbing(self, part: slice, pending: Pending, values: Values, names: NDArray[np.bool_]) -> Steps[None]:
        """Take note of the tops of some of the names, those of a part that are asked for."""
        if not pending.parts:
            return
        found, wanted = self.found[part], np.flatnonzero(names[part])
        columns, signs, place = np.tile(wanted, 2), *(np.repeat(x, len(wanted)) for x in ([1.0, -1.0], [2, 0]))
        # the least length of a vector is where it crosses its zero, and of no interest
        smooth = (signs > 0) | ~self.lengths[part][columns]
        tops = Tops(columns, signs, smooth, (signs * found[columns, place])[None], found[columns, place + 1][None])
        yield TopsAsk(tops, pending, self.equations.count, values)
        found[columns, place], found[columns, place + 1] = signs * tops.best[0], tops.when[0]

    def _efforts(self, pending: Pending, points: Points) -> Steps[Floats]:
        found: Moments = yield InstantsAsk(self.equations, pending.clocks(points), points.states)
        return found.tau

    def _followed(self, groups: list[_Group], points: Points) -> Steps[Floats]:
        """What follows from the coordinates alone (times, names)."""
        q = points.states[:, : self.equations.count]
        constrained, path = self.equations.constrained, self.equations.path
        if constrained is not None and path is not None:
            q = constrained.expand(path.many(points.times).q, q)
        found = []
        for group in groups:
            found.append(group.values(q if group.asks is None else (yield group.asks(q))))
        return np.hstack(found)


class PositionsAsk(NamedTuple):
    """Asks for positions of frames (states, frames, 3)."""

    arm: Dynamics
    frames: tuple[str, ...]
    q: Floats

    def alone(self) -> Floats:
        return self.arm.positions(self.frames, self.q)


class _Group(NamedTuple):
    """Quantities that are followed together, because they are computed together.

    names    of them
    values   of those at some states (states, n) -> (states, names)
    lengths  whether they are lengths of vectors
    asks     what the values need of the states, and take instead of them, where it is more than the states
    """

    names: tuple[str, ...]
    values: Callable[[Floats], Floats]
    lengths: bool = False
    asks: Callable[[Floats], PositionsAsk] | None = None


def _groups(arm: Dynamics, strains: tuple[Strain, ...], frames: tuple[str, ...]) -> Iterator[_Group]:
    """What can be followed of the coordinates: joints, strains, bending of links, deviations of frames."""
    robot, joints = arm.robot, set(arm.robot.joint_coordinates)
    members = {member.name: member for member in arm.mechanism.members}
    rows = {name: np.eye(arm.size)[i] for i, name in enumerate(arm.names) if name in joints}
    for strain in strains:
        member, place = members[strain.link], (strain.x, strain.y, strain.z)
        row = rows[f"strain.{strain.name}"] = np.zeros(arm.size)
        row[member.elastic] = axial_strain(robot.link(strain.link), robot, place, np.eye(member.body.size))
    if rows:
        yield _Group(tuple(rows), partial(_products, np.array([*rows.values()]).T))
    bending = [members[link.name] for link in robot.links if link.is_flexible]
    if bending:
        names = tuple(f"{member.name}.{what}" for member in bending for what in ("deflection", "slope"))
        yield _Group(names, partial(_tip_motions, bending), lengths=True)
    # over-constrained loops are closed one state at a time
    if bending and frames and not arm.loops.redundant:
        names = tuple(f"{frame}.deflection" for frame in frames)
        yield _Group(names, _distances, lengths=True, asks=partial(_both_places, arm, unbending(arm), frames))


def _products(rows: Floats, q: Floats) -> Floats:
    return np.asarray(q @ rows)


def _tip_motions(members: list[Member], q: Floats) -> Floats:
    """Displacement and turn of the tips of links (states, 2 links)."""
    return _lengths(np.stack([x for each in members for x in deflection(each.body, "tip", q[:, each.elastic])], axis=1))


def _both_places(arm: Dynamics, unbent: Callable[[Floats], Floats], frames: tuple[str, ...], q: Floats) -> PositionsAsk:
    """Where frames are, and then where the rigid robot has them."""
    return PositionsAsk(arm, frames, np.vstack([q, unbent(q)]))


def _distances(both: Floats) -> Floats:
    """How far each frame is from where the rigid robot has it (states, frames)."""
    half = len(both) // 2
    return _lengths(both[:half] - both[half:])


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("...i,...i", vectors, vectors)))
