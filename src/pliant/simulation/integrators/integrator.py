"""The interface of all integrators: a state goes in, pieces of a dense solution and step statistics come out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.engine.stepping.layout import BALANCES
from pliant.errors import ModelError
from pliant.simulation.requests import Request
from pliant.simulation.state_equations import StateEquations

Floats = NDArray[np.float64]

NO_TIMES: Floats = np.zeros(0)
SMALLEST_STEP = 10
"""A step of fewer units in the last place of the time makes no progress."""


class IntegrationError(RuntimeError):
    """The solution cannot be continued; what was computed before is kept."""


@dataclass(slots=True)
class Statistics:
    """What an integrator did."""

    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    matrices: int = 0
    smallest_step: float = inf
    largest_step: float = 0.0

    def accepted(self, h: float) -> None:
        """Count one step of size h."""
        self.steps += 1
        self.smallest_step = min(self.smallest_step, h)
        self.largest_step = max(self.largest_step, h)

    def as_dict(self) -> dict[str, float]:
        """Names to numbers."""
        return asdict(self)

    @classmethod
    def from_array(cls, kept: Floats) -> Statistics:
        """The numbers in their order; counts stay whole."""
        steps, rejected, evaluations, matrices = (int(x) for x in kept[:4])
        return cls(steps, rejected, evaluations, matrices, float(kept[4]), float(kept[5]))


class Piece(ABC):
    """The solution between two times; ``knots`` are the ends of the steps in it."""

    start: float
    end: float

    @property
    def knots(self) -> Floats:
        return np.array([self.start, self.end])

    @abstractmethod
    def __call__(self, t: ArrayLike) -> Floats:
        """The state at times within the piece: (size,) for one time, (times, size) for several."""

    @property
    @abstractmethod
    def knot_states(self) -> Floats:
        """The states at the knots (knots, size), as they are known without interpolation."""

    @property
    @abstractmethod
    def knot_rates(self) -> Floats:
        """Rates of the states at the knots (knots, size), as the equations have them inside the piece."""


@dataclass(frozen=True)
class Tolerance:
    """What error of a step is allowed: absolute (size,) + relative |y|; infinite for what is not controlled."""

    relative: float
    absolute: Floats

    @classmethod
    def of(
        cls,
        equations: StateEquations,
        relative: float,
        absolute: float | None = None,
        groups: Mapping[str, float] | None = None,
    ) -> Tolerance:
        """Tolerances of coordinates and of their rates; groups are ``joints``, ``elastic`` or patterns of names.

        States of drives and loads have their own scales, and their names may be in groups, too.
        """
        common = 0.01 * relative if absolute is None else absolute
        names = [equations.arm.names[i] for i in equations.moving]
        joints = set(equations.arm.robot.joint_coordinates)
        values, states = np.full(len(names), common), equations.law_states
        own = np.array([common * state.scale for state in states])
        for group, value in (groups or {}).items():
            hits = [i for i, name in enumerate(names) if _belongs(name, group, joints)]
            of_laws = [i for i, state in enumerate(states) if fnmatchcase(state.name, group)]
            if not hits and not of_laws and group not in ("joints", "elastic"):
                raise ModelError(f"tolerance of '{group}': no coordinate has such a name")
            values[hits] = value
            own[of_laws] = value
        layout = equations.layout
        every = np.full(layout.size, common)
        every[layout.q] = every[layout.v] = values
        every[layout.drive] = own
        # the energies follow the motion; they steer the step only where every motion is prescribed
        if layout.size > BALANCES:
            every[layout.balances] = inf
        return cls(relative, every)

    def norm(self, error: Floats, before: Floats, after: Floats) -> float:
        """Root mean square of the weighted error; at most 1 is good."""
        scaled = error / (self.absolute + self.relative * np.maximum(np.abs(before), np.abs(after)))
        return float(np.sqrt(scaled @ scaled / max(len(scaled) - BALANCES, 1)))


def _belongs(name: str, group: str, joints: set[str]) -> bool:
    if group == "joints":
        return name in joints
    return name not in joints if group == "elastic" else fnmatchcase(name, group)


FIRST_STEP = 1e-4


@dataclass(frozen=True)
class Settings:
    """What every integrator takes into account.

    step      size of fixed steps; first step of the others, if given
    max_step  largest step
    radius    spectral radius at infinite frequency (generalised-alpha): 1 no numerical damping, 0 the most
    """

    tolerance: Tolerance
    step: float | None = None
    max_step: float = inf
    radius: float = 0.8

    @property
    def first_step(self) -> float:
        """First step of methods that choose their steps themselves, s."""
        return min(FIRST_STEP, self.max_step) if self.step is None else self.step


class Integrator(ABC):
    """Advances y from its current time; the state is in ``t`` and ``y``."""

    name: str

    def __init__(self, equations: StateEquations, t: float, y: Floats, settings: Settings) -> None:
        self.equations, self.settings = equations, settings
        self.t, self.y = t, y
        self.statistics = Statistics()

    @abstractmethod
    def advance(self, until: float, wanted: Floats = NO_TIMES) -> Piece:
        """Go on by one or more steps, not beyond ``until``, and give the solution on the way.

        ``wanted`` are times at which the piece will be asked for sure, for methods that can make use of it.
        """

    def signals(self, until: float) -> Request[Any] | None:
        """What the next steps need of the signals of the drive, which may be found with those of other runs."""
        return None

    def call(self, until: float, wanted: Floats = NO_TIMES) -> Request[Any] | None:
        """The call of machine code that ``advance`` makes, if it may be made in a lane beside those of other runs."""
        return None

    @abstractmethod
    def restart(self, t: float, y: Floats) -> None:
        """Take another state, or the same one after a jump of the equations."""

    def retake(self, y: Floats, carried: Callable[[Floats], Floats]) -> None:
        """Take the same state in other coordinates; ``carried`` gives accelerations of the moving ones in them."""
        self.restart(self.t, y)

    @property
    @abstractmethod
    def step(self) -> float:
        """The size of the next step, as far as it is known."""

    @property
    def steps_in_python(self) -> bool:
        """Whether Python has a part in its steps."""
        return True

    def memory(self) -> dict[str, Any]:
        """What must be kept to go on exactly as if nothing had happened."""
        return {"t": np.array(self.t), "y": self.y, "statistics": np.array([*self.statistics.as_dict().values()])}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what ``memory`` gave."""
        self.t, self.y = float(memory["t"]), np.array(memory["y"])
        self.statistics = Statistics.from_array(memory["statistics"])

    def linear_model(self, t: float, y: Floats, f: Floats) -> Floats | None:
        """A of x' = A x for coordinates and rates near a state with its rates, if the method knows it; else None."""
        return None

    @property
    def errors(self) -> Floats | None:
        """The largest error of each moving coordinate so far, if the method carries its errors along; else None."""
        return None

    def rates(self, t: float, y: Floats) -> Floats:
        """f(t, y), counted."""
        self.statistics.evaluations += 1
        # a trial step may diverge; it is then refused for what came out, not for how
        with np.errstate(over="ignore", invalid="ignore"):
            return self.equations.rates(t, y)


@dataclass
class HermitePiece(Piece):
    """A step whose ends are known with their rates: cubic for all, fifth degree for the coordinates.

    y0, y1 states and f0, f1 rates at the ends; ``count`` coordinates stand first, their rates next.
    """

    start: float
    end: float
    y0: Floats
    y1: Floats
    f0: Floats
    f1: Floats
    count: int = field(default=0)

    @property
    def knot_states(self) -> Floats:
        return np.stack([self.y0, self.y1])

    @property
    def knot_rates(self) -> Floats:
        return np.stack([self.f0, self.f1])

    def __call__(self, t: ArrayLike) -> Floats:
        times = np.atleast_1d(np.asarray(t, dtype=float))
        h = self.end - self.start
        s = ((times - self.start) / h)[:, None]
        out = hermite(s, h, self.y0, self.y1, self.f0, self.f1, self.count)
        return out[0] if np.ndim(t) == 0 else out


def hermite(s: Floats, h: ArrayLike, y0: Floats, y1: Floats, f0: Floats, f1: Floats, count: int) -> Floats:
    """The states at fractions s (times, 1) of steps of size h, between ends that may differ from row to row."""
    r, n = 1 - s, count
    h = np.asarray(h)
    out: Floats = (1 + 2 * s) * r * r * y0 + s * s * (3 - 2 * s) * y1 + h * s * r * (r * f0 - s * f1)
    if n:
        q0, q1, v0, v1 = y0[..., :n], y1[..., :n], y0[..., n : 2 * n], y1[..., n : 2 * n]
        a0, a1 = f0[..., n : 2 * n], f1[..., n : 2 * n]
        out[:, :n] = (
            r**3 * (1 + 3 * s + 6 * s * s) * q0
            + s**3 * (1 + 3 * r + 6 * r * r) * q1
            + h * (s * r**3 * (1 + 3 * s) * v0 - r * s**3 * (1 + 3 * r) * v1)
            + h * h / 2 * (s**2 * r**3 * a0 + r**2 * s**3 * a1)
        )
    return out
