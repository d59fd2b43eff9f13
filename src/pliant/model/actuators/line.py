"""What pushes along a line between two places of a robot: the contract of its kinds.

The line has a length l and a rate l'. A kind gives the push F along it, positive where it drives its ends apart, as one
text on any scalars; generalised forces are F (dl/dq)^T. It also tells what analyses of rest need: its push at a length
and how that changes, or that it holds its length.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from pydantic_core import InitErrorDetails

from pliant.laws import LawState
from pliant.model.element import Element
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector


class LineMotion(NamedTuple):
    """Length of a line, m, and its rate, m/s."""

    length: Scalar
    rate: Scalar


class LineAction(NamedTuple):
    """What a kind does at an instant, on the scalars that it was given.

    push      force along the line, N, positive where it drives the ends apart
    rates     of its own states
    stored    energy that it holds, J
    lost      power that it turns into heat, W
    supplied  power that comes to it from outside, W, but for what it draws from a supply
    drawn     flow out of its supply, m^3/s
    """

    push: Scalar
    rates: Vector = []  # noqa: RUF012
    stored: Scalar = 0.0
    lost: Scalar = 0.0
    supplied: Scalar = 0.0
    drawn: Scalar = 0.0


class SupplyAt(NamedTuple):
    """A shared supply: pressure, Pa, and energy that a volume of its oil brings along, J/m^3."""

    pressure: Scalar
    carried: Scalar


class AtRest(NamedTuple):
    """Push of a line that rests, N, how it changes with the length, N/m, and damping, N s/m."""

    push: float
    slope: float
    damping: float = 0.0


class CommandWord(NamedTuple):
    """What commands an actuator: unit and meaning."""

    unit: str
    meaning: str


class LineKind(Element):
    """A kind of line actuator: one key of files.

    key      under which it stands
    command  what commands it; None: nothing does
    kinks    what of it is not smooth, in words
    """

    key: ClassVar[str]
    command: ClassVar[CommandWord | None] = None
    kinks: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def numbers(self) -> dict[str, float]:
        """All numbers of its text by name; which of them there are decides its code."""

    @property
    def structure(self) -> Hashable:
        """What decides the code of its text."""
        return self.key, tuple(self.numbers())

    def states(self) -> tuple[LawState, ...]:
        """Its continuous states, named without the name of the actuator."""
        return ()

    @abstractmethod
    def act(
        self,
        line: LineMotion,
        z: Vector,
        command: Scalar,
        numbers: Mapping[str, Scalar],
        supply: SupplyAt | None = None,
    ) -> LineAction:
        """The text: motion of the line, own states, command, numbers by name, a shared supply."""

    @abstractmethod
    def at_rest(self, length: float) -> AtRest | None:
        """What it does at a length; None: it holds its length, and pushes as much as that takes."""

    def spring_of(self, length: float) -> AtRest | None:
        """How a line that holds its length gives way to small vibrations; the push counts for nothing. None: not."""
        return None

    @property
    def fastest(self) -> float:
        """Rate at which its own states may die away somewhere, 1/s; zero: as fast as they do at the start."""
        return 0.0

    @property
    def pushes_by_states(self) -> bool:
        """Whether its push follows from length, rate and states, without its command."""
        return True

    def range(self) -> tuple[float, float] | None:
        """Shortest and longest length, m; None: any."""
        return None

    def problems(self) -> Iterator[InitErrorDetails]:
        """What is wrong in its keys besides single values."""
        return iter(())
