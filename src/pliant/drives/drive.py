"""What a drive is: its keys before the robot is known, and its law once it is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from pliant.engine.stepping.ticks import Ticks
from pliant.laws import Floats, Law, LawState, applied, flattened, numbers_in_code
from pliant.model.element import Element
from pliant.model.units import POSITIVE, Quantity, Time
from pliant.spatial.vectors import Vector
from pliant.trajectories.path import Path, Surroundings

Period = Annotated[float, Quantity("s", POSITIVE)]


class Tick(NamedTuple):
    """What a sampled law computes at an instant: its discrete states from now on, and its command."""

    discrete: Vector
    command: Vector


class DriveLaw(Law):
    """The law of a drive on a known robot: its efforts are those of the inputs.

    feedback    whether its efforts depend on the state of the robot
    path        the desired motion, if it follows one
    driven      coordinates that move as the path prescribes; the efforts of the text are then their accelerations
    in_python   True: only Python finds its efforts (a user's function, dynamics without a tape), and takes the steps
    may_refuse  whether there are states in which only Python finds the efforts; compiled ones are no numbers there
    feels       sensors that it reads and that see accelerations: those that loads make are not known to it
    """

    feedback: bool = True
    path: Path | None = None
    driven: tuple[int, ...] = ()
    in_python: bool = False
    may_refuse: bool = False
    feels: tuple[str, ...] = ()

    @property
    def breaks(self) -> tuple[float, ...]:
        return () if self.path is None else self.path.breaks

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a user should know of it, in words; found when it is asked for."""
        return ()

    @property
    def within(self) -> DriveLaw:
        """The law inside of those that only limit its efforts."""
        return self

    @property
    def discrete(self) -> tuple[LawState, ...]:
        """States that change at its ticks only; results have them as channels. Continuous laws have none."""
        return ()

    def discrete_at(self, times: Floats) -> Floats:
        """These states at several times since the last piece of a run began (times, states)."""
        return np.zeros((len(times), 0))

    @property
    def sampled_states(self) -> tuple[LawState, ...]:
        """The discrete states that it has where it is sampled; default: its own ones, by Euler steps."""
        return self.states

    def computed(self, q: Vector, v: Vector, discrete: Vector, signals: Vector, gains: Vector, period: Vector) -> Tick:
        """The text of a tick where it is sampled, on any scalars; default: Euler steps of its own states.

        ``pliant.drives.sampled`` has the contract.
        """
        found = self.efforts(q, v, discrete, signals, gains)
        (h,) = period
        return Tick([x + h * rate for x, rate in zip(discrete, found.rates, strict=True)], found.efforts)

    def at_ticks(self, first: int, count: int, period: float) -> Floats:
        """Signals (count, channels) at the ticks first, first + 1, ... where it is sampled: references, noise."""
        return self.signals(period * np.arange(first, first + count, dtype=np.float64))

    def next_tick(self, t: float) -> float:
        """The next instant after t at which ``tick`` must be called; infinite for continuous drives."""
        return np.inf

    def tick(self, t: float, q: Floats, v: Floats) -> None:
        """Sample the state, or let a computed command take effect."""

    def in_steps(self) -> Ticks | None:
        """The computer that integrators in machine code advance with their steps; None for continuous drives."""
        return None

    def held_within(self, start: float, end: float) -> tuple[Floats, Floats] | None:
        """Commands (commands, inputs) that were held between two times, and since when; None for continuous drives."""
        return None

    def memory(self) -> dict[str, Any]:
        """What it remembers beyond its continuous states, as arrays, for a checkpoint."""
        return {}

    def recall(self, memory: dict[str, Any]) -> None:
        """Take up what ``memory`` gave."""


@dataclass(frozen=True, slots=True)
class AppliedLaw:
    """A drive's law as compiled steps take it: generalised forces, and times kept inside the present interval.

    B       generalised forces per unit effort of each input (n, inputs)
    clocks  keeps times inside the interval
    """

    drive: DriveLaw
    B: Floats
    clocks: Callable[[Floats], Floats]

    @property
    def gains(self) -> tuple[float, ...]:
        return self.drive.gains

    @property
    def channels(self) -> int:
        return self.drive.channels

    @property
    def states(self) -> int:
        return self.drive.state_count

    @property
    def driven(self) -> tuple[int, ...]:
        return self.drive.driven

    @property
    def may_refuse(self) -> bool:
        return self.drive.may_refuse

    @property
    def structure(self) -> Hashable:
        return numbers_in_code(self.B), self.drive.structure

    def signals(self, t: Floats) -> Floats:
        """What the law follows at several times (times, channels)."""
        return self.drive.signals(self.clocks(t))

    def force(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Generalised forces (n,), rates of the law's states, powers lost and supplied; r are signals, own states."""
        found = self.drive.efforts(q, v, list(r[self.channels :]), list(r[: self.channels]), gains)
        if not self.driven:
            return flattened(found._replace(efforts=applied(self.B, found.efforts)), v)
        out: Vector = [0.0] * len(q)
        for i, acceleration in zip(self.driven, found.efforts, strict=True):
            out[i] = acceleration
        return out


class Sampling(Element):
    """A controller on a computer: it samples, computes, and holds its command until the next one."""

    period: Period = Field(description="time between samples")
    delay: Time = Field(default=0.0, description="time from a sample until its command takes effect")


class Drive(Element):
    """What moves the joints, before the robot is known."""

    kind: ClassVar[str]

    @abstractmethod
    def bind(self, around: Surroundings, q0: Floats) -> DriveLaw:
        """The drive of a robot whose inputs start at q0 (inputs,)."""


class Controller(Drive):
    """A drive that computes its efforts; it may be sampled, and its efforts may be limited."""

    sampling: Sampling | None = Field(default=None, description="sample and hold instead of acting continuously")
    saturate: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="cut the efforts at the limits of the motors and joints"
    )

    def bind(self, around: Surroundings, q0: Floats) -> DriveLaw:
        from pliant.drives.sampled import SampledLaw
        from pliant.drives.saturated import SaturatedLaw

        law = self.law(around, q0)
        if self.saturate:
            law = SaturatedLaw(law, around.arm.effort_limits)
        if self.sampling is not None:
            law = SampledLaw(law, self.sampling.period, self.sampling.delay, around)
        return law

    @abstractmethod
    def law(self, around: Surroundings, q0: Floats) -> DriveLaw:
        """The continuous law."""
