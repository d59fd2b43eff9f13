"""Largest and least values of a motion, between the samples too: what is followed, and what was found.

A vibration has its peak between two samples more often than not. The integrator's own steps are looked at, and what is
between their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.along import unbending
from pliant.bodies.constants import deflection
from pliant.bodies.words import axial_strain
from pliant.drives.given import NoDrive
from pliant.dynamics import Dynamics
from pliant.mechanism import Member
from pliant.results.channels import effort_names
from pliant.results.samples import Extreme, Strain
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.monitoring.extreme_search import Floats, Ints, Maxima, Points, StepEnds, Track
from pliant.simulation.outputs import InstantsRequest
from pliant.simulation.requests import Request
from pliant.simulation.state_equations import StateEquations

MANY = 4096
"""Steps of which each group of quantities has its own ones looked at."""
PENDING, WORTH = 500_000, 4096
"""Numbers, and steps at the least, that are kept before they are looked at: the more steps together, the fewer of them
need a look. Checkpoints hold what is kept, for where it is looked at must not depend on where a run was cut."""
WAITING = 500_000
"""Numbers of states that a result may keep until its extremes are asked for: 8 MB with their rates."""


class Pending:
    """Ends of steps that are to be looked at.

    spans  first and last time that the equations of each motion know
    """

    def __init__(self) -> None:
        self.parts: list[StepEnds] = []
        self.motions: list[int] = []
        self.spans: list[tuple[float, float]] = []
        self._goes_on = False

    def add(self, part: StepEnds, span: tuple[float, float]) -> None:
        """What follows on what was there, or begins anew."""
        if not self._goes_on:
            self.spans.append(span)
        self._goes_on = True
        self.parts.append(part)
        self.motions.append(len(self.spans) - 1)

    def jump(self) -> None:
        """What comes next does not go on from here."""
        self._goes_on = False

    def memory(self) -> dict[str, Any]:
        """All of it, as arrays."""
        if not self.parts:
            return {}
        ends = {key: np.concatenate([getattr(part, key) for part in self.parts]) for key in StepEnds._fields}
        lengths = [len(part.times) for part in self.parts]
        own = {"lengths": lengths, "motions": self.motions, "spans": self.spans, "goes_on": self._goes_on}
        return {**ends, **{key: np.array(x) for key, x in own.items()}}

    @classmethod
    def recalled(cls, memory: Mapping[str, Any]) -> Pending:
        """What ``memory`` gave."""
        out = cls()
        if memory:
            cuts = np.cumsum(memory["lengths"])[:-1]
            ends = (np.split(np.array(memory[key]), cuts) for key in StepEnds._fields)
            out.parts = [StepEnds(*each) for each in zip(*ends, strict=True)]
            out.motions = [int(k) for k in memory["motions"]]
            out.spans = [(float(a), float(b)) for a, b in memory["spans"]]
            out._goes_on = bool(memory["goes_on"])
        return out

    def clocks(self, points: Points) -> Floats:
        """Times, kept inside the spans of their motions."""
        first, last = np.array(self.spans).T[:, points.motion]
        clocks: Floats = np.minimum(np.maximum(points.times, first), last)
        return clocks


class Evaluation(NamedTuple):
    """Numbers at some points of a motion.

    requests  what they need, as far as it may be found together with what other runs need
    numbers   gives them (points, columns)
    """

    requests: list[Request[Any]]
    numbers: Callable[[], Floats]


class ExtremesRequest(Request[tuple[Floats, Floats]]):
    """Asks for the highest values of a run and their times, each (maxima,).

    maxima  of one run, as far as they are known
    count   positions in a state, see ``Track``
    values  what is looked at
    """

    def __init__(self, maxima: Maxima, pending: Pending, count: int, values: Callable[[Points], Evaluation]) -> None:
        self.maxima, self.pending, self.count, self.values = maxima, pending, count, values

    @property
    def structure_key(self) -> tuple[object, ...]:
        """What runs have in common that are searched side by side."""
        own, states = self.maxima, self.pending.parts[0].states
        return (*(x.tobytes() for x in (own.columns, own.signs, own.smooth)), states.shape[1], self.count)

    @cached_property
    def value(self) -> tuple[Floats, Floats]:
        return search_together([self])[0]


def search_together(
    requests: Sequence[ExtremesRequest], find: Callable[[list[Request[Any]]], None] | None = None
) -> list[tuple[Floats, Floats]]:
    """Values of requests with one structure key; ``find`` may find what their evaluations need of all runs at once."""
    first = requests[0].maxima
    best, when = (np.vstack([getattr(each.maxima, name) for each in requests]) for name in ("best", "when"))
    counts = [len(each.pending.spans) for each in requests]
    offsets: Ints = np.cumsum([0, *counts])
    parts = [part for each in requests for part in each.pending.parts]
    shifted = zip(requests, offsets.tolist(), strict=False)
    motions = [offset + k for each, offset in shifted for k in each.pending.motions]

    def look(points: Points) -> Floats:
        bounds = np.searchsorted(points.motion, offsets).tolist()
        evaluations = [
            each.values(Points(points.motion[a:b] - offset, points.times[a:b], points.states[a:b]))
            for each, offset, a, b in zip(requests, offsets.tolist(), bounds, bounds[1:], strict=False)
            if b > a
        ]
        if find is not None:
            find([request for each in evaluations for request in each.requests])
        return np.concatenate([each.numbers() for each in evaluations])

    track, runs = Track(parts, requests[0].count, motions), np.repeat(np.arange(len(requests)), counts)
    Maxima(first.columns, first.signs, first.smooth, best, when).search(track, runs, look)
    return list(zip(best, when, strict=True))


class _Search(NamedTuple):
    """A request with the rows and columns of ``Extremes.found`` that its values belong to, and their signs."""

    request: ExtremesRequest
    rows: Ints
    place: Ints
    signs: Floats


class Extremes:
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
        # what is to be looked for in all of that, once it is asked
        self._searches: list[_Search] | None = None

    def look(self, piece: Piece, end: float) -> None:
        """Take note of a piece up to a time."""
        times, states, rates = piece.knots, piece.knot_states, piece.knot_rates
        if end < piece.end:
            inside, state = times < end, piece(end)
            times, states = np.append(times[inside], end), np.vstack([states[inside], state])
            rates = np.vstack([rates[inside], self.equations.rates(end, state)])
        n, span = self.equations.count, self.equations.span
        held = self.equations.drive.held_within(piece.start, end) if self.driven else None
        if held is not None:
            self._note_commands(*held)
        elif self.driven:
            self._driven.add(StepEnds(times, states, rates), span)
        if self.groups:
            self._moved.add(StepEnds(times, states[:, : 2 * n], rates[:, : 2 * n]), span)
        self._kept += states.size
        self._searches = None
        if self._kept > max(PENDING, WORTH * states.shape[1]):
            self.finish()

    def _note_commands(self, times: Floats, commands: Floats) -> None:
        """Commands that were held from times on (times,): efforts have no extremes but these."""
        own = self.found[self.efforts]
        for sign, place in ((-1.0, 0), (1.0, 2)):
            k = (sign * commands).argmax(axis=0)
            best, when = commands[k, np.arange(len(own))], times[k]
            above = self.wanted[self.efforts] & (sign * best > sign * own[:, place])
            own[above, place], own[above, place + 1] = best[above], when[above]

    def settle(self) -> None:
        """The equations go on to another interval: efforts belong to the one that they are in, and may jump."""
        self._driven.jump()
        if not self.equations.can_wait:
            self._note(self._effort_searches())
            self._driven, self._searches = Pending(), None

    def interrupt(self) -> None:
        """Coordinates jump."""
        self._driven.jump()
        self._moved.jump()

    def requests(self) -> list[ExtremesRequest]:
        """What ``finish`` needs, to be found together with what other runs need."""
        return [search.request for search in self._left()]

    def finish(self) -> None:
        """Look at everything that is left."""
        self._note(self._left())
        # not before: where that was interrupted it is begun again
        self._moved, self._driven, self._kept, self._searches = Pending(), Pending(), 0, None

    def _left(self) -> list[_Search]:
        if self._searches is None:
            self._searches = self._effort_searches()
            # a few steps are looked at in one go, of many each group has its own ones
            steps = sum(len(part.times) for part in self._moved.parts)
            first = 0
            for groups in [self.groups] if steps < MANY else [[group] for group in self.groups]:
                part = slice(first, first := first + sum(len(group.names) for group in groups))
                self._searches += self._search(part, self._moved, partial(self._followed, groups), self.wanted)
        return self._searches

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
        found = set(ranges).difference(*(group.names for group in self.groups if group.needs is None))
        for group in self.groups:
            if group.needs is None and not set(group.names).isdisjoint(ranges):
                sizes = np.abs(group.values(np.diag(reach))).sum(axis=0)
                for name, size in zip(group.names, sizes.tolist(), strict=True):
                    low, high = ranges.get(name, (-np.inf, np.inf))
                    # what is not a number is in no range
                    if not (low <= -size and size <= high):
                        found.add(name)
        return found

    def conclude(self, names: Collection[str] | None = None) -> Mapping[str, Extreme]:
        """What was found, by name; if names are given these alone, and the others when they are asked for."""
        if names is None or self._kept > WAITING:
            return self.extremes()
        wanted, first = np.array([name in names for name in self.names], dtype=bool), 0
        for group in self.groups:
            part = slice(first, first := first + len(group.names))
            self._note(self._search(part, self._moved, partial(self._followed, [group]), wanted))
        # searches begin with what is known
        self._searches = None
        return LateExtremes(self._known(wanted), self.extremes)

    def extremes(self) -> dict[str, Extreme]:
        """What was found, by name."""
        self.finish()
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
            self.found, self._kept, self._searches = np.array(memory["found"]), int(memory["kept"]), None
            self._moved, self._driven = (
                Pending.recalled({key.partition(".")[2]: x for key, x in memory.items() if key.startswith(f"{name}.")})
                for name in ("moved", "driven")
            )

    def _effort_searches(self) -> list[_Search]:
        return self._search(self.efforts, self._driven, partial(self._efforts, self._driven), self.wanted)

    def _search(
        self, part: slice, pending: Pending, values: Callable[[Points], Evaluation], names: NDArray[np.bool_]
    ) -> list[_Search]:
        """The search for the extremes of some of the names, those of a part that are wanted; none without any."""
        rows = np.arange(len(self.names))[part]
        wanted = np.flatnonzero(names[part])
        if not pending.parts or not len(wanted):
            return []
        columns, signs, place = np.tile(wanted, 2), *(np.repeat(x, len(wanted)) for x in ([1.0, -1.0], [2, 0]))
        found, rows = self.found, rows[columns]
        # the least length of a vector is where it crosses its zero, and of no interest
        smooth = (signs > 0) | ~self.lengths[rows]
        maxima = Maxima(columns, signs, smooth, (signs * found[rows, place])[None], found[rows, place + 1][None])
        return [_Search(ExtremesRequest(maxima, pending, self.equations.count, values), rows, place, signs)]

    def _note(self, searches: Iterable[_Search]) -> None:
        """Keep what searches find, when all of them have found it."""
        for (_, rows, place, signs), (best, when) in [(search, search.request.value) for search in searches]:
            self.found[rows, place], self.found[rows, place + 1] = signs * best, when

    def _efforts(self, pending: Pending, points: Points) -> Evaluation:
        request = InstantsRequest(self.equations, pending.clocks(points), points.states)
        return Evaluation([request], lambda: request.value.tau)

    def _followed(self, groups: list[_Group], points: Points) -> Evaluation:
        """What follows from the coordinates alone (times, names)."""
        q = points.states[:, : self.equations.count]
        constrained, path = self.equations.constrained, self.equations.path
        if constrained is not None and path is not None:
            q = constrained.expand(path.many(points.times).q, q)
        needs = [None if group.needs is None else group.needs(q) for group in groups]

        def numbers() -> Floats:
            each = zip(groups, needs, strict=True)
            return np.hstack([group.values(q if need is None else need.value) for group, need in each])

        return Evaluation([need for need in needs if need is not None], numbers)


class LateExtremes(Mapping[str, Extreme]):
    """Extremes that are found when the first of them is asked for: to follow a motion between its samples takes longer
    than many motions take themselves.

    known  those that are there already, by name; what was given once stays as it is
    """

    def __init__(self, known: Mapping[str, Extreme], find: Callable[[], dict[str, Extreme]]) -> None:
        self._known = dict(known)
        # it keeps the steps of the motion, and goes when they are no longer needed
        self._find: Callable[[], dict[str, Extreme]] | None = find
        self._lock = Lock()

    def _all(self) -> dict[str, Extreme]:
        with self._lock:
            if self._find is not None:
                self._known = {**self._find(), **self._known}
                self._find = None
        return self._known

    def __getitem__(self, name: str) -> Extreme:
        return self._known[name] if name in self._known else self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


@dataclass(eq=False)
class PositionsRequest(Request[Floats]):
    """Asks for positions of frames (states, frames, 3)."""

    arm: Dynamics
    frames: tuple[str, ...]
    q: Floats

    @cached_property
    def value(self) -> Floats:
        return self.arm.positions(self.frames, self.q)


class _Group(NamedTuple):
    """Quantities that are followed together, because they are computed together.

    names    names of the quantities
    values   their values at some states (states, n) -> (states, names)
    lengths  whether they are lengths of vectors
    needs    what the values take instead of the states, where that is not the states themselves
    """

    names: tuple[str, ...]
    values: Callable[[Floats], Floats]
    lengths: bool = False
    needs: Callable[[Floats], PositionsRequest] | None = None


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
        yield _Group(names, _distances, lengths=True, needs=partial(_both_places, arm, unbending(arm), frames))


def _products(rows: Floats, q: Floats) -> Floats:
    return np.asarray(q @ rows)


def _tip_motions(members: list[Member], q: Floats) -> Floats:
    """Displacement and turn of the tips of links (states, 2 links)."""
    return _lengths(np.stack([x for each in members for x in deflection(each.body, "tip", q[:, each.elastic])], axis=1))


def _both_places(
    arm: Dynamics, unbent: Callable[[Floats], Floats], frames: tuple[str, ...], q: Floats
) -> PositionsRequest:
    """Where frames are, and then where the rigid robot has them."""
    return PositionsRequest(arm, frames, np.vstack([q, unbent(q)]))


def _distances(both: Floats) -> Floats:
    """How far each frame is from where the rigid robot has it (states, frames)."""
    half = len(both) // 2
    return _lengths(both[:half] - both[half:])


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("...i,...i", vectors, vectors)))
