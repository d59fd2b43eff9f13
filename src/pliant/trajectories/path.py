"""What a trajectory becomes when the robot and the start are known."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.control.path_vibrations import FeedbackAt
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, Problem
from pliant.model.description.robot import rigid_twin
from pliant.model.element import Element

Floats = NDArray[np.float64]


class Desired(NamedTuple):
    """Desired position, rate and acceleration of the inputs, each (inputs,)."""

    q: Floats
    v: Floats
    a: Floats


class Path(Protocol):
    """A motion of all inputs.

    breaks  times at which it is not smooth, in order
    end     when it has come to rest for good; infinite if never
    """

    @property
    def breaks(self) -> tuple[float, ...]: ...
    @property
    def end(self) -> float: ...
    def at(self, t: float) -> Desired: ...
    def many(self, times: Floats) -> Desired: ...


def knots_after(path: Path | None, t: float) -> tuple[float, float]:
    """The first even knot of a path after a time, and their distance; endless where there are none.

    A path that has a function of this name may have even knots between its breaks, which steps need not end on.
    """
    own: Callable[[float], tuple[float, float]] | None = getattr(path, "knots_after", None)
    return (inf, inf) if own is None else own(t)


@dataclass(frozen=True)
class Surroundings:
    """What a trajectory may ask: the robot, its first configuration (n,), its rigid twin, the end of the run (s).

    feedback  how the drive holds the joints at a configuration; None: they do not give way
    """

    arm: Dynamics
    start: Floats
    until: float = inf
    feedback: FeedbackAt | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.arm.inputs

    @cached_property
    def twin(self) -> Dynamics:
        """The robot with links that do not bend."""
        return Dynamics(rigid_twin(self.arm.robot), compile="auto" if self.arm.compiled else "never")

    def twin_indices(self) -> NDArray[np.int_]:
        """Where the inputs stand among the coordinates of the twin."""
        return np.array([self.twin.names.index(name) for name in self.inputs], dtype=int)


class Trajectory(Element):
    """A desired motion, before the robot is known."""

    kind: ClassVar[str]

    @abstractmethod
    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        """The motion from the joint positions q0 (inputs,), beginning at time t0."""

    def fault(self, message: str) -> ModelError:
        """Why the robot cannot follow; a drive has its trajectory under this key."""
        return ModelError(Problem("", message, path=("trajectory", self.kind)))


@contextmanager
def within(*place: int | str) -> Iterator[None]:
    """Problems of a trajectory that stands inside another one name the place where it stands."""
    try:
        yield
    except ModelError as error:
        raise ModelError(
            replace(each, path=("trajectory", *place, *each.path[1:])) if each.path[:1] == ("trajectory",) else each
            for each in error.problems
        ) from None


def path_words(path: Path | None) -> str:
    """What a user should know of a motion that was made for the robot; nothing of most."""
    own: str = getattr(path, "words", "")
    return own


@dataclass(frozen=True)
class Rest:
    """No motion."""

    q: Floats
    breaks: tuple[float, ...] = ()
    end: float = -inf

    def at(self, t: float) -> Desired:
        still = np.zeros_like(self.q)
        return Desired(self.q, still, still)

    def many(self, times: Floats) -> Desired:
        """Desired motion at several times."""
        q = np.tile(self.q, (len(times), 1))
        return Desired(q, np.zeros_like(q), np.zeros_like(q))


@dataclass(frozen=True)
class Chain:
    """Paths one after the other; path i is followed from starts[i] on."""

    paths: Sequence[Path]
    starts: Sequence[float]

    @property
    def breaks(self) -> tuple[float, ...]:
        inner = [b for path in self.paths for b in path.breaks]
        return tuple(sorted({*inner, *self.starts[1:]}))

    @property
    def end(self) -> float:
        return self.paths[-1].end

    def knots_after(self, t: float) -> tuple[float, float]:
        """The first knot after a time, and the spacing of knots, of the path that is followed then."""
        return knots_after(self.paths[int(np.searchsorted(self.starts[1:], t, side="right"))], t)

    @property
    def words(self) -> str:
        """Breaks of all its paths, each once."""
        return "; ".join(dict.fromkeys(filter(None, map(path_words, self.paths))))

    def at(self, t: float) -> Desired:
        i = int(np.searchsorted(self.starts[1:], t, side="right"))
        return self.paths[i].at(t)

    def many(self, times: Floats) -> Desired:
        """The motion at several times, each from the path that is followed then."""
        place = np.searchsorted(self.starts[1:], times, side="right")
        size = (len(times), len(self.paths[0].at(self.starts[0]).q))
        out = Desired(*(np.empty(size) for _ in range(3)))
        for i in np.unique(place):
            for target, values in zip(out, self.paths[i].many(times[place == i]), strict=True):
                target[place == i] = values
        return out
