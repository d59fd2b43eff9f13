"""What a drive is, before and after the robot is known."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from pliant.model.element import Element
from pliant.model.units import POSITIVE, Quantity, Time
from pliant.simulation.trajectories.path import Floats, Path, Surroundings

Period = Annotated[float, Quantity("s", POSITIVE)]


class Action(NamedTuple):
    """Efforts of the inputs (inputs,) and rates of the drive's own states (states,)."""

    tau: Floats
    x_dot: Floats


NO_RATES: Floats = np.zeros(0)


class ActiveDrive:
    """A drive of a known robot.

    states    number of continuous states of its own, integrated along with the robot; they may have names, and absolute
              tolerances of their own (None: those of the study)
    feedback  whether its efforts depend on the state of the robot
    path      the desired motion, if it follows one
    """

    states: int = 0
    state_names: tuple[str, ...] = ()
    state_tolerances: tuple[float | None, ...] = ()
    feedback: bool = True
    path: Path | None = None

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which its efforts are not smooth."""
        return () if self.path is None else self.path.breaks

    def initial(self) -> Floats:
        """Its own states at the start."""
        return np.zeros(self.states)

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        """Efforts and rates of its states."""
        raise NotImplementedError

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        """Efforts (times, inputs) at several instants and states."""
        rows = zip(times, q, v, x, strict=True)
        return np.array([self.act(float(t), *row).tau for t, *row in rows], dtype=float)

    def linear_gains(self, inputs: int) -> tuple[Floats, Floats] | None:
        """kp, kd (inputs,) if the efforts are a function of time minus kp B^T q and kd B^T v, else None."""
        return None if self.feedback else (np.zeros(inputs), np.zeros(inputs))

    def next_tick(self, t: float) -> float:
        """The next instant after t at which ``tick`` must be called; infinite for continuous drives."""
        return np.inf

    def tick(self, t: float, q: Floats, v: Floats) -> None:
        """Sample the state, or let a computed command take effect."""

    def memory(self) -> dict[str, Any]:
        """What it remembers beyond its continuous states, as arrays, for a checkpoint."""
        return {}

    def recall(self, memory: dict[str, Any]) -> None:
        """Take up what ``memory`` gave."""


class Sampling(Element):
    """A controller on a computer: it samples, computes, and holds its command until the next one."""

    period: Period = Field(description="time between samples")
    delay: Time = Field(default=0.0, description="time from a sample until its command takes effect")


class Drive(Element):
    """What moves the joints, before the robot is known."""

    kind: ClassVar[str]

    def bind(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        """The drive of a robot whose inputs start at q0 (inputs,)."""
        raise NotImplementedError


class Controller(Drive):
    """A drive that computes its efforts; it may be sampled."""

    sampling: Sampling | None = Field(default=None, description="sample and hold instead of acting continuously")
    saturate: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="cut the efforts at the limits of the motors and joints"
    )

    def bind(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        from pliant.simulation.drives.sampled import SampledDrive
        from pliant.simulation.drives.saturated import SaturatedDrive, effort_limits

        active = self.activate(around, q0)
        if self.saturate:
            active = SaturatedDrive(active, effort_limits(around.arm))
        if self.sampling is not None:
            active = SampledDrive(active, self.sampling.period, self.sampling.delay, len(around.inputs))
        return active

    def activate(self, around: Surroundings, q0: Floats) -> ActiveDrive:
        """The continuous law."""
        raise NotImplementedError
