"""Actuators along lines in analyses of rest: lengths, pushes, and how pushes change with the configuration.

A line of length l(q) pushes with F, which acts on the coordinates as F (dl/dq)^T. Springs push as their length says.
Cylinders and commanded forces hold their length, and push as much as that takes. The change of F (dl/dq)^T with q has
two parts: that of F, and that of the line, which turns and whose ends turn with their links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError
from pliant.model.actuators.line import AtRest
from pliant.model.description.actuators import Actuator

if TYPE_CHECKING:
    from pliant.analysis.statics import FrameLoad
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

SHORTEST = 1e-9
"""Length, m, below which a line has no direction."""
MOVING = 1e-9
"""Rate of a line, of the robot's own rates and lengths, above which it is not at rest."""


class LineAt(NamedTuple):
    """A line at a configuration.

    length  m
    along   unit vector from its first to its second end, base axes (3,)
    moved   velocity of the second end against the first per rate of each coordinate (3, n)
    """

    length: float
    along: Floats
    moved: Floats

    @property
    def row(self) -> Floats:
        """dl/dq (n,)."""
        return self.along @ self.moved

    def turning(self) -> Floats:
        """Change of the force on the coordinates by the turn of the line, per unit push (n, n)."""
        across = self.moved - np.outer(self.along, self.row)
        return across.T @ across / self.length


@dataclass(frozen=True, eq=False)
class RestingLines:
    """The actuators of a robot where it rests."""

    arm: Dynamics

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """All of them."""
        return self.arm.robot.actuators

    @cached_property
    def holding(self) -> tuple[int, ...]:
        """Actuators that hold their length, by their place in the list."""
        every = enumerate(self.actuators)
        return tuple(k for k, each in every if each.pushes.at_rest(1.0) is None)

    @property
    def held_names(self) -> tuple[str, ...]:
        """Names of those that hold their length."""
        return tuple(self.actuators[k].name for k in self.holding)

    def at(self, q: Floats) -> list[LineAt]:
        """All lines at a configuration (n,)."""
        return [self._line(each, q) for each in self.actuators]

    def _line(self, actuator: Actuator, q: Floats) -> LineAt:
        ends = []
        for place in actuator.places:
            if isinstance(place, str):
                ends.append((self.arm.pose(place, q).position, self.arm.jacobian(place, q)[:3]))
            else:
                ends.append((np.array(place), np.zeros((3, self.arm.size))))
        (first, J_first), (second, J_second) = ends
        d = second - first
        length = float(np.linalg.norm(d))
        if length < SHORTEST:
            raise ModelError(f"actuator '{actuator.name}': both of its ends are at one place, so it has no direction")
        return LineAt(length, d / length, J_second - J_first)

    def rest(self, lines: Sequence[LineAt], held: Floats) -> list[AtRest]:
        """Pushes of all lines and how they change, where those that hold push as given (holding,)."""
        pushes = dict(zip(self.holding, held.tolist(), strict=True))
        found = (each.pushes.at_rest(line.length) for each, line in zip(self.actuators, lines, strict=True))
        return [AtRest(pushes[k], 0.0) if own is None else own for k, own in enumerate(found)]

    def size(self, q: Floats) -> float:
        """Largest stiffness times length of those that push as their length says, N."""
        lines = self.at(q)
        rest = self.rest(lines, np.zeros(len(self.holding)))
        return max((abs(own.slope) * line.length for line, own in zip(lines, rest, strict=True)), default=0.0)

    def force(self, lines: Sequence[LineAt], rest: Sequence[AtRest]) -> Floats:
        """Generalised forces (n,) of all pushes."""
        pairs = zip(lines, rest, strict=True)
        return sum((own.push * line.row for line, own in pairs), np.zeros(self.arm.size))

    def stiffness(self, q: Floats, lines: Sequence[LineAt], rest: Sequence[AtRest]) -> Floats:
        """Derivative of ``force`` by q (n, n), exact."""
        from pliant.analysis.statics import wrench_stiffness

        n = self.arm.size
        total = wrench_stiffness(self.arm, q, self.wrenches(lines, rest))
        pairs = zip(lines, rest, strict=True)
        own = (each.slope * np.outer(line.row, line.row) + each.push * line.turning() for line, each in pairs)
        return sum(own, np.zeros((n, n))) + total

    def damping(self, lines: Sequence[LineAt], rest: Sequence[AtRest]) -> Floats:
        """Damping of the coordinates (n, n)."""
        pairs = zip(lines, rest, strict=True)
        return sum((own.damping * np.outer(line.row, line.row) for line, own in pairs), np.zeros((self.arm.size,) * 2))

    def wrenches(self, lines: Sequence[LineAt], rest: Sequence[AtRest]) -> list[FrameLoad]:
        """The pushes as forces on frames of links."""
        from pliant.analysis.statics import FrameLoad

        out = []
        for actuator, line, own in zip(self.actuators, lines, rest, strict=True):
            for place, sign in zip(actuator.places, (-1.0, 1.0), strict=True):
                if isinstance(place, str):
                    force = np.concatenate([sign * own.push * line.along, np.zeros(3)])
                    out.append(FrameLoad(place, force, follows=False, grows=False))
        return out

    def vibrating(self, lines: Sequence[LineAt], held: Floats) -> list[AtRest]:
        """As ``rest``, where lines that hold their length give way as their oil does, valves shut."""
        out = []
        for actuator, line, own in zip(self.actuators, lines, self.rest(lines, held), strict=True):
            oil = actuator.pushes.spring_of(line.length)
            out.append(own if oil is None else oil._replace(push=own.push))
        return out

    def rigid_rows(self, lines: Sequence[LineAt]) -> dict[str, Floats]:
        """dl/dq (n,) of those that hold their length without giving way, by name."""
        return {
            self.actuators[k].name: lines[k].row
            for k in self.holding
            if self.actuators[k].pushes.spring_of(lines[k].length) is None
        }

    def require_rest(self, q: Floats, v: Floats) -> None:
        """Refuse rates at which a line changes its length."""
        for actuator, line in zip(self.actuators, self.at(q) if v.any() else (), strict=False):
            if abs(line.row @ v) > MOVING * float(np.abs(line.moved @ np.diag(v)).max(initial=0.0)):
                raise ModelError(f"actuator '{actuator.name}' changes its length at these rates: it is not at rest")


def line_pushes(arm: Dynamics, q: States, v: States | None = None, a: States | None = None) -> dict[str, float]:
    """Pushes, N, of the actuators along lines that hold their length, or give its motion, at a state (n,).

    q     coordinates (n,), or by name
    v, a  rates and accelerations of all coordinates; default: at rest

    Joints balance: with pushes and efforts of motors (and closures) as unknowns, the generalised forces of the joint
    coordinates are met. Raises ModelError where nothing else than these lines could hold a joint and they do not.
    """
    q = arm.labels.states("q", q)
    v, a = (np.zeros(arm.size) if x is None else arm.labels.states(name, x) for name, x in (("v", v), ("a", a)))
    lines = RestingLines(arm)
    at = lines.at(q)
    rest = lines.rest(at, np.zeros(len(lines.holding)))
    needed = arm.forces(q, v, a) - lines.force(at, rest) + lines.damping(at, rest) @ v
    rows = np.array([at[k].row for k in lines.holding]).reshape(len(lines.holding), arm.size)
    columns = np.vstack([rows, arm.B.T, arm.loops.jacobian(q)]).T
    joints = arm.mechanism.joints
    found, left = _balanced(columns[joints], needed[joints])
    if left > UNBALANCED * float(np.abs(needed[joints]).max(initial=0.0)):
        raise ModelError(
            f"the actuators of robot '{arm.robot.name}' cannot hold it in this pose: {left:.3g} N m (N) are left on "
            "its joints; hold the other joints by motors or springs, or begin in another pose"
        )
    return dict(zip(lines.held_names, found[: len(rows)].tolist(), strict=True))


UNBALANCED = 1e-6
"""Part of the forces of the joints that pushes may leave."""


def _balanced(columns: Floats, needed: Floats) -> tuple[Floats, float]:
    """Least solution of columns x = needed, with columns of like size, and the largest force that is left."""
    size = np.abs(columns).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    x = np.linalg.lstsq(columns / size, needed, rcond=1e-12)[0] / size
    return x, float(np.abs(columns @ x - needed).max(initial=0.0))
