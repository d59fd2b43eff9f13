"""The actuators of a robot as a load: pushes along lines between two places, and supplies that several share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate

import numpy as np

from pliant.dynamics import Dynamics
from pliant.laws import Floats, LawState
from pliant.loads.commands import Command, LengthControl
from pliant.loads.point_forces import PointAction, PointForce, PointLoads
from pliant.model.actuators.line import LineMotion
from pliant.model.actuators.supply import Supply
from pliant.model.actuators.valve import PRESSURES
from pliant.model.description.actuators import Actuator
from pliant.spatial.scalars import Scalar, sqrt
from pliant.spatial.vectors import Vector, dot, scale, subtract
from pliant.tree.kinematics import Motion
from pliant.tree.points import PointWrench

Given = float | str | LengthControl
NO_MOMENT = (0.0, 0.0, 0.0)


class LineForces(PointForce):
    """One actuator with its command, or all cylinders that one supply feeds."""

    def __init__(self, lines: Sequence[tuple[Actuator, Command]], supply: Supply | None = None) -> None:
        self.lines, self.supply = tuple(lines), supply
        self.places = tuple(place for actuator, _ in lines for place in actuator.places)
        self.numbers = [actuator.pushes.numbers() for actuator, _ in lines]
        self._fed = {} if supply is None else supply.numbers()
        own = [(*numbers.values(), *command.gains) for numbers, (_, command) in zip(self.numbers, lines, strict=True)]
        self.gains = (*(x for each in own for x in each), *self._fed.values())
        self.channels = sum(command.channels for _, command in lines)
        self.breaks = tuple(t for _, command in lines for t in command.breaks)
        self.kinks = tuple(dict.fromkeys(what for actuator, _ in lines for what in actuator.pushes.kinks))
        self.fastest = max(actuator.pushes.fastest for actuator, _ in lines)
        self.states = tuple(state for actuator, command in lines for state in _states(actuator, command))
        if supply is not None:
            self.states = (*self.states, LawState(f"{supply.name}.p", "Pa", supply.rest(), PRESSURES))

    @property
    def structure(self) -> Hashable:
        each = tuple((actuator.pushes.structure, command.structure) for actuator, command in self.lines)
        return "lines", each, self.supply is not None

    def signals(self, t: Floats) -> Floats:
        return np.hstack([np.zeros((len(t), 0)), *(command.signals(t) for _, command in self.lines)])

    def act(self, points: Sequence[Motion], z: Vector, signals: Vector, gains: Vector) -> PointAction:
        fed = dict(zip(self._fed, gains[len(gains) - len(self._fed) :], strict=True))
        supply = None if self.supply is None else self.supply.at(z[-1], fed)
        wrenches: list[PointWrench] = []
        rates: Vector = []
        total: list[Scalar] = [0.0] * 4
        place = state = channel = 0
        for k, ((actuator, command), names) in enumerate(zip(self.lines, self.numbers, strict=True)):
            line, along = line_motion(*points[2 * k : 2 * k + 2])
            counts = len(names), len(command.gains), len(actuator.pushes.states()), len(command.states)
            cuts = list(accumulate(counts[:2], initial=place))
            parts = list(accumulate(counts[2:], initial=state))
            numbers = dict(zip(names, gains[cuts[0] : cuts[1]], strict=True))
            own = signals[channel : channel + command.channels]
            u, more = command.value(line, z[parts[1] : parts[2]], own, gains[cuts[1] : cuts[2]])
            found = actuator.pushes.act(line, z[parts[0] : parts[1]], u, numbers, supply)
            pushed = scale(found.push, along)
            wrenches += [PointWrench(scale(-1.0, pushed), [*NO_MOMENT]), PointWrench(pushed, [*NO_MOMENT])]
            rates += [*found.rates, *more]
            total = [a + b for a, b in zip(total, found[2:], strict=True)]
            place, state, channel = cuts[2], parts[2], channel + command.channels
        stored, lost, supplied, drawn = total
        if self.supply is not None:
            rate, held, given = self.supply.act(z[-1], drawn, fed)
            rates, stored, supplied = [*rates, rate], stored + held, supplied + given
        return PointAction(wrenches, rates, stored, lost, supplied)


def line_motion(first: Motion, second: Motion) -> tuple[LineMotion, Vector]:
    """Length and rate of the line between two places, and the unit vector from the first to the second."""
    d = subtract(second.p, first.p)
    length = sqrt(dot(d, d))
    along = scale(1.0 / length, d)
    return LineMotion(length, dot(along, subtract(second.v, first.v))), along


def _states(actuator: Actuator, command: Command) -> list[LawState]:
    """States of an actuator, then of its command, with its name."""
    own = (*actuator.pushes.states(), *command.states)
    return [state._replace(name=f"{actuator.name}.{state.name}") for state in own]


def robot_forces(arm: Dynamics, commands: Mapping[str, Given] | None = None) -> PointLoads | None:
    """The load of all actuators of a robot; None if it has none."""
    robot, given = arm.robot, commands or {}
    if not robot.actuators:
        return None
    bound = {
        each.name: (each, Command(given.get(each.name), each.pushes.command.unit if each.pushes.command else ""))
        for each in robot.actuators
    }
    fed = {name for supply in robot.supplies for name in supply.feeds}
    alone: list[PointForce] = [LineForces([pair]) for name, pair in bound.items() if name not in fed]
    together = [LineForces([bound[name] for name in supply.feeds], supply) for supply in robot.supplies if supply.feeds]
    return PointLoads(arm, [*alone, *together])
