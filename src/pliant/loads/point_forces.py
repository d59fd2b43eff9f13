"""Forces on frames as laws: line actuators, ropes and contacts are each one class that sees how its frames move.

All of them that a load holds share one walk through the robot. A part gives forces and moments on its frames, in base
axes; generalised forces, their derivatives by machine code, reactions and the balance of energy follow from there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from pliant.dynamics import Dynamics
from pliant.laws import Action, Floats, LawState, table_of
from pliant.loads.load import Load
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector
from pliant.tree.kinematics import Motion
from pliant.tree.points import FramePoints, Place, PointWrench


class PointAction(NamedTuple):
    """What a part does at an instant, on the scalars that it was given.

    wrenches  force and moment on each of its places, base axes
    rates     of its own states
    stored    energy that it holds, J
    lost      power that it turns into heat, W
    supplied  power that comes to it from outside, W
    """

    wrenches: list[PointWrench]
    rates: Vector = []  # noqa: RUF012
    stored: Scalar = 0.0
    lost: Scalar = 0.0
    supplied: Scalar = 0.0


class PointForce(ABC):
    """What acts on frames of a robot.

    places    LINK.FRAME of each, or a place on the base; one may stand several times
    gains     numbers that the text takes
    channels  signals of time that it takes
    states    continuous states of its own
    breaks    times at which its signals are not smooth
    kinks     what of it is not smooth of its own, in words
    fastest   rate at which its own states may die away somewhere, 1/s; zero: as fast as they do at the start
    """

    places: tuple[Place, ...] = ()
    gains: tuple[float, ...] = ()
    channels: int = 0
    states: tuple[LawState, ...] = ()
    breaks: tuple[float, ...] = ()
    kinks: tuple[str, ...] = ()
    fastest: float = 0.0

    @property
    @abstractmethod
    def structure(self) -> Hashable:
        """Everything that decides the code of ``act``: all but gains and signals."""

    @abstractmethod
    def act(self, points: Sequence[Motion], z: Vector, signals: Vector, gains: Vector) -> PointAction:
        """The text, on any scalars: motion of each place, own states, values of the signals, gains."""

    def signals(self, t: Floats) -> Floats:
        """What of it depends on time alone, at several times (times, channels)."""
        return np.zeros((len(t), self.channels))


class PartPlace(NamedTuple):
    """A part, and where its places, states, signals and gains are among those of all."""

    part: PointForce
    places: slice
    states: slice
    signals: slice
    gains: slice


class PointLoads(Load):
    """Forces on frames of a robot by several parts.

    prefix  beginning of the names of their states in results
    """

    prefix: ClassVar[str] = ""

    def __init__(self, arm: Dynamics, parts: Sequence[PointForce]) -> None:
        self.parts = tuple(parts)
        places = [place for part in parts for place in part.places]
        self.points = FramePoints(arm.mechanism, places)
        self.on_links = [k for k, place in enumerate(places) if isinstance(place, str)]
        self.frames = tuple(place for place in places if isinstance(place, str))
        self.states = tuple(state for part in parts for state in part.states)
        self.gains = (*(x for part in parts for x in part.gains), *self.points.numbers)
        self.channels = sum(part.channels for part in parts)
        self.kinks = tuple(dict.fromkeys(what for part in parts for what in part.kinks))
        self.fastest = max((part.fastest for part in parts), default=0.0)
        self.shared = list(self._places())

    def begin(self, values: Mapping[str, float]) -> None:
        """Let states begin with other values, by name."""
        self.states = tuple(state._replace(initial=values.get(state.name, state.initial)) for state in self.states)

    def _places(self) -> Iterator[PartPlace]:
        ends = [0, 0, 0, 0]
        for part in self.parts:
            counts = len(part.places), len(part.states), part.channels, len(part.gains)
            begins, ends = ends, [end + count for end, count in zip(ends, counts, strict=True)]
            yield PartPlace(part, *(slice(a, b) for a, b in zip(begins, ends, strict=True)))

    @property
    def structure(self) -> Hashable:
        return "points", self.points.structure, tuple(part.structure for part in self.parts)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(sorted({t for part in self.parts for t in part.breaks if t > 0}))

    def signals(self, t: Floats) -> Floats:
        """Signals of all parts (times, channels)."""
        return np.hstack([np.zeros((len(t), 0)), *(part.signals(t) for part in self.parts)])

    def _acted(
        self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector
    ) -> tuple[list[PointAction], Vector]:
        """What each part does, and the generalised forces of all."""
        at = self.points.at(q, v, list(gains[self.shared[-1].gains.stop :]))
        found = [
            own.part.act(at.motions[own.places], z[own.states], signals[own.signals], gains[own.gains])
            for own in self.shared
        ]
        return found, at.forces([wrench for each in found for wrench in each.wrenches])

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        found, forces = self._acted(q, v, z, signals, gains)
        rates = [x for each in found for x in each.rates]
        stored, lost, supplied = (sum((each[k] for each in found), 0.0) for k in (2, 3, 4))
        return Action(forces, rates, stored, lost, supplied)

    def wrenches(self, q: Floats, v: Floats, z: Floats, signals: Floats) -> Floats:
        """Forces and moments on the frames of links, base axes (times, 6 frames)."""
        columns = [list(np.ascontiguousarray(table.T)) for table in (q, v, z, signals)]
        with np.errstate(all="ignore"):
            found, _ = self._acted(columns[0], columns[1], columns[2], columns[3], list(self.gains))
        every = [wrench for each in found for wrench in each.wrenches]
        flat = [x for k in self.on_links for part in every[k] for x in part]
        return table_of(flat, len(q))
