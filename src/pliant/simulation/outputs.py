"""Samples of a run: what a study asks for, when they are taken, and what is kept of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import InitErrorDetails

from pliant.model.description.derived_links import pieces_of, place_along
from pliant.model.description.robot import Robot
from pliant.model.description.sensors import gauge_problems
from pliant.model.element import Element, Title, within
from pliant.model.units import Length
from pliant.results.samples import Floats, Samples, Strain
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.requests import Request
from pliant.simulation.state_equations import Moments, StateEquations
from pliant.trajectories.joint_moves import Duration


class StrainPoint(Element):
    """A place on a beam where the strain along the beam is wanted, such as a strain gauge."""

    name: Title = Field(description="what its channel is called: strain.NAME")
    link: str = Field(description="name of the link")
    x: Length = Field(description="place along the beam")
    y: Length = Field(default=0.0, description="distance from the axis in y")
    z: Length = Field(default=0.0, description="distance from the axis in z")

    def on(self, robot: Robot) -> Strain:
        """The place on a robot whose beam may be in pieces."""
        link, x = place_along(pieces_of(robot, self.link), self.x)
        return Strain(self.name, link.name, x, self.y, self.z)


NAMES_SCHEMA = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
"""One name, or a list of them."""
OneOrMore = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": NAMES_SCHEMA}),
]


class Outputs(Element):
    """What the result holds."""

    step: Duration | None = Field(default=None, description="time between samples; default: a thousand in the run")
    frames: OneOrMore = Field(default=(), description="frames beside the tip that plots and tables show")
    strains: tuple[StrainPoint, ...] = Field(default=(), description="places where strains are wanted")
    channels: OneOrMore = Field(
        default=(), description="channels that tables show, such as tip.z; default: the usual ones"
    )


def as_channels(value: Any) -> Any:
    """Names alone are those of channels."""
    names = [value] if isinstance(value, str) else value
    alone = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return {"channels": names} if alone else value


def strain_problems(robot: Robot, point: StrainPoint, place: tuple[Any, ...]) -> Iterator[InitErrorDetails]:
    """Why a place has no strain, each reason with its place in a file."""
    yield from within(place, gauge_problems(robot, point.link, point.x))


SAME = 1e-9
"""Sample times closer than this part of the sample step are one."""


def sample_times(step: float, until: float) -> Floats:
    """The multiples of a step and the end of the run, which is one of them if it is close to one."""
    times: Floats = np.asarray(np.arange(int(np.ceil(until / step)) + 2) * step, dtype=np.float64)
    times[times > until - SAME * step] = until
    return times[: int(np.searchsorted(times, until)) + 1]


@dataclass(eq=False)
class InstantsRequest(Request[Moments]):
    """Asks for everything about several instants, each seen from inside its own interval.

    clocks  times kept inside their intervals (times,)
    states  (times, size)
    """

    equations: StateEquations
    clocks: Floats
    states: Floats

    @cached_property
    def value(self) -> Moments:
        with self.equations.anywhere():
            return self.equations.moments(self.clocks, self.states)


class Recorder:
    """Samples a solution at the multiples of a step and at the end."""

    def __init__(self, equations: StateEquations, step: float, until: float) -> None:
        self.equations, self.step = equations, step
        self.times = sample_times(step, until)
        self.next = 0
        self.parts: list[Samples] = []
        self.blocks: list[Samples] = []
        # what depends on times and states alone is found for many samples at once
        self.can_wait = equations.can_wait
        self._waiting: list[tuple[Floats, Floats, Floats]] = []
        self._request: InstantsRequest | None = None

    def upcoming(self, end: float) -> Floats:
        """Sample times that are left, up to a time."""
        return self.times[self.next : int(np.searchsorted(self.times, end, side="right"))]

    def first(self, t: float, y: Floats) -> None:
        """The sample at the start."""
        self._keep(np.array([t]), y[None])
        self.next = 1

    def take(self, piece: Piece, end: float, last: bool = False) -> None:
        """The samples inside a piece up to a time; with ``last`` also that time itself."""
        times = self.upcoming(end)
        times = times[times > piece.start] if self.next else times
        self.next += len(times)
        if last and (not len(times) or times[-1] < end):
            times = np.append(times, end)
        if len(times):
            self._keep(times, piece(times))

    def _keep(self, times: Floats, states: Floats) -> None:
        self._waiting.append((times, self.equations.clocks(times), states))
        self._request = None
        if not self.can_wait:
            self.catch_up()

    def request(self) -> InstantsRequest | None:
        """What is needed of the samples that wait, to be found together with those of other runs; None without any."""
        if self._request is None and self._waiting:
            _, clocks, states = (np.concatenate(each) for each in zip(*self._waiting, strict=True))
            self._request = InstantsRequest(self.equations, clocks, states)
        return self._request

    def catch_up(self) -> None:
        """Find everything about the samples that wait."""
        request = self.request()
        if request is None:
            return
        q, v, tau, force, reference, wrenches, stored = request.value
        times, layout = np.concatenate([each[0] for each in self._waiting]), self.equations.layout
        work = request.states[:, layout.balances].copy()
        laws = np.hstack([request.states[:, layout.drive], self.equations.drive.discrete_at(request.clocks)])
        self._waiting, self._request = [], None
        self.blocks.append(Samples(times, q, v, tau, force, work, reference, wrenches, laws, stored))

    def fresh(self) -> Samples | None:
        """The samples since the last call."""
        self.catch_up()
        if not self.blocks:
            return None
        part = Samples.join(self.blocks)
        self.blocks = []
        self.parts.append(part)
        return part

    def samples(self) -> Samples:
        """All samples."""
        self.fresh()
        return Samples.join(self.parts)

    def recall(self, samples: Samples) -> None:
        """Go on after samples that were kept."""
        self.parts, self.blocks = [samples], []
        self.next = int(samples.time[-1] / self.step + SAME) + 1
