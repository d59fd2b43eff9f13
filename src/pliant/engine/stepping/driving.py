"""What acts on a robot in compiled code: the drive's law, loads, and the power that is lost.

Laws are traced like the dynamics, and run in one kernel with the powers that the energy balance needs. Coordinates
may be driven: their motion comes from signals, and the state holds the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Carrier
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.module import program_ir
from pliant.engine.stepping.layout import StateLayout
from pliant.engine.trace.program import Address, RolledProgram
from pliant.engine.trace.roller import one_kernel
from pliant.engine.trace.structure import constants_from, constants_of, structure_key
from pliant.engine.trace.tape import Node, Tape, tangents
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector, dot

Floats = NDArray[np.float64]
Law = Callable[[Vector, Vector, Vector, Vector], Vector]
"""law(q, v, signals and states of the drive, gains) -> generalised forces (n), rates of those states, and behind them
the powers that the law loses and is supplied from outside; without them it loses nothing and is an ideal source."""


class MovingCarrier(Carrier, Protocol):
    """What carries the constants of a thing that moves, and tells what its integration needs to know."""

    @property
    def rotation_vectors(self) -> tuple[int, ...]:
        """First coordinates of rotation vectors that shorter ones may replace."""
        ...

    def lost_power(self, constants: Sequence[Any], q: Vector, v: Vector) -> Scalar:
        """Power that damping and friction take, on any scalars; constants of its links."""
        ...


class Acting(Protocol):
    """What acts besides the drive: its law gives generalised forces (n,) from its own signals, states and numbers."""

    @property
    def gains(self) -> tuple[float, ...]: ...
    @property
    def channels(self) -> int: ...
    @property
    def state_count(self) -> int:
        """Number of its own continuous states."""
        ...

    @property
    def structure(self) -> Hashable:
        """What of it decides the code of its law: all but its numbers."""
        ...

    def law(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector: ...


@dataclass(frozen=True, slots=True)
class Driving:
    """What acts on a robot.

    law       the drive's law
    gains     numbers that it takes
    channels  signals that it takes
    states    continuous states of the law, then of all loads; they follow all signals
    loads     what acts besides; their numbers, signals and states follow those of the law
    driven    coordinates whose positions, rates and accelerations are the first signals; the law gives their
              accelerations in the place of forces
    structure what decides the code of the law, all but its numbers; None: it is traced for every robot
    held      signals, the first ones, that a computer holds; they are in no table
    """

    law: Law
    gains: Sequence[float] = ()
    channels: int = 0
    states: int = 0
    loads: tuple[Acting, ...] = ()
    driven: tuple[int, ...] = ()
    structure: Hashable = None
    held: int = 0

    @property
    def signals(self) -> int:
        return self.channels + sum(load.channels for load in self.loads)

    @property
    def own_states(self) -> int:
        """Continuous states of the law itself."""
        return self.states - sum(load.state_count for load in self.loads)

    @property
    def numbers(self) -> list[float]:
        """Numbers of the law and of all loads."""
        return [*self.gains, *(x for load in self.loads for x in load.gains)]

    def layout(self, n: int) -> StateLayout:
        """Layout of the state of a robot with n coordinates."""
        return StateLayout(n - len(self.driven), self.states)


def drive_program(tree: MovingCarrier, driving: Driving, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """The drive's kernel: (q, v, signals and states, the robot's constants) -> forces and rates of the states after v.

    With seeds: the tangents of the forces; with the seed z, of the law's states, also those of their rates.
    """
    numbers = driving.numbers
    tape = Tape()
    n = tree.size

    def symbols(array: str, count: int) -> list[Node]:
        return [tape.symbol(Address(array, "own", k)) for k in range(count)]

    q, v, r = symbols("q", n), symbols("v", n), symbols("r", driving.signals + driving.states)
    first, first_gain, first_state = driving.channels, len(driving.gains), driving.signals + driving.own_states
    own = [*r[:first], *r[driving.signals : first_state]]
    gains = symbols("constants", len(numbers))
    found = list(driving.law(q, v, own, gains[:first_gain]))
    f, rates = found[:n], found[n : n + driving.own_states]
    lost, supplied = found[n + driving.own_states :] or (0.0, dot(f, v))
    load: Vector = [0.0] * n
    lost_by_loads: Scalar = 0.0
    supplied_to_loads: Scalar = 0.0
    for each in driving.loads:
        ends = first + each.channels, first_gain + len(each.gains), first_state + each.state_count
        own = [*r[first : ends[0]], *r[first_state : ends[2]]]
        pushed = list(each.law(q, v, own, gains[first_gain : ends[1]]))
        load = [a + b for a, b in zip(load, pushed[:n], strict=True)]
        rates += pushed[n : n + each.state_count]
        powers = pushed[n + each.state_count :] or (0.0, dot(pushed[:n], v))
        lost_by_loads, supplied_to_loads = lost_by_loads + powers[0], supplied_to_loads + powers[1]
        first, first_gain, first_state = ends
    arm = constants_from(tree, symbols("arm", len(constants_of(tree))))
    powers = [supplied, supplied_to_loads, tree.lost_power(arm, q, v) + lost + lost_by_loads]
    if driving.driven:
        # what loads do on driven coordinates their motors take up
        powers[0] = -dot([load[i] for i in driving.driven], [v[i] for i in driving.driven])
        load = [0.0 if i in driving.driven else x for i, x in enumerate(load)]
    f = [a + b for a, b in zip(f, load, strict=True)]
    outputs: list[Scalar] = [*f, *rates, *powers]
    if seeds:
        inputs = {"q": q, "v": v, "z": r[driving.signals :]}
        given = {
            node.index: tape.symbol(Address(f"d{name}", "own", k))
            for name in seeds
            for k, node in enumerate(inputs[name])
        }
        outputs = tangents([*f, *rates] if "z" in seeds else f, given)
    return one_kernel("drive", ("q", "v", "r", "arm"), tape, outputs, numbers, n, seeds)


def _rate_states(program: RolledProgram, driving: Driving, n: int) -> tuple[int, ...]:
    """States of a law that are the rates of other ones, as a model's have them: z_k' = z_j names j."""
    ((kernel,),) = (each.kernels for each in program.passes)
    place = {kernel.tape.symbol(Address("r", "own", driving.signals + j)).index: j for j in range(driving.states)}
    rates = kernel.outputs[n : n + driving.states]
    return tuple(sorted({place[x.index] for x in rates if isinstance(x, Node) and x.index in place}))


MOST_KERNELS = 64
"""Kernels of drives that are kept; the oldest go first."""
_KERNELS: dict[Hashable, DriveKernel] = {}


class DriveKernel:
    """The drive's kernel, and with seeds its tangents; they hold no number of the robot or of the drive.

    rate_states  states of the law that are rates of other ones
    """

    def __init__(self, tree: MovingCarrier, driving: Driving, seeds: tuple[str, ...]) -> None:
        self.programs = [drive_program(tree, driving)]
        self.rate_states = _rate_states(self.programs[0], driving, tree.size)
        if seeds:
            self.programs.append(drive_program(tree, driving, seeds))

    @cached_property
    def digest(self) -> str:
        """Digest of its code."""
        return hashlib.sha256(repr(program_ir(self.programs[0], 1)).encode()).hexdigest()

    @classmethod
    def of(cls, tree: MovingCarrier, driving: Driving, seeds: tuple[str, ...]) -> DriveKernel:
        """The kernel of a robot and its drive; robots of one structure share it."""
        if driving.structure is None:
            return cls(tree, driving, seeds)
        counts = (driving.channels, driving.states, driving.driven, len(driving.gains))
        loads = tuple((load.structure, load.channels, load.state_count, len(load.gains)) for load in driving.loads)
        key = (structure_key(tree), driving.structure, loads, counts, seeds)
        if key not in _KERNELS:
            _KERNELS[key] = cls(tree, driving, seeds)
            while len(_KERNELS) > MOST_KERNELS:
                _KERNELS.pop(next(iter(_KERNELS)), None)
        return _KERNELS[key]


@dataclass(frozen=True, slots=True)
class Split:
    """Which of the n coordinates are driven; the signals begin with their positions, rates and accelerations."""

    n: int
    driven: tuple[int, ...] = ()

    @property
    def moving(self) -> tuple[int, ...]:
        """The others: they are in x."""
        return tuple(k for k in range(self.n) if k not in self.driven)

    def whole(self, w: Flow, parts: Sequence[str], full: str, signals: str) -> list[str]:
        """Arrays of all coordinates, their rates (and accelerations), from those that move."""
        if not self.driven:
            return list(parts)
        out = []
        for level, part in enumerate(parts):
            target = w.at(full, level * self.n)
            for j, k in enumerate(self.moving):
                w.write(w.read(part, j), target, k)
            for j, k in enumerate(self.driven):
                w.write(w.read(signals, level * len(self.driven) + j), target, k)
            out.append(target)
        return out

    def work(self, w: Flow, efforts: Sequence[str], v: str, power: str) -> str:
        """Power of the drives: of the efforts that the motion needs, besides what loads give."""
        for effort, k in zip(efforts, self.driven, strict=True):
            power = w.fadd(power, w.fmul(effort, w.read(v, k)))
        return power
