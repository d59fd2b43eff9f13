"""Vectors of a robot by name, the one place where ``{"elbow": 0.5}`` becomes an array, and what is found for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import did_you_mean
from pliant.joints import KINDS
from pliant.model.description.joints import coordinates_of
from pliant.model.units import MEANING, Quantity

Floats = NDArray[np.float64]
States = ArrayLike | Mapping[str, Any]
"""One state (n,), a batch (count, n), or values by name: numbers, arrays over a batch, or text with a unit."""

SHOWN_NAMES = 12


def _most(kind: str) -> int:
    return -len(KINDS[kind].coordinates)


WHOLE = ("universal", *sorted((k for k, kind in KINDS.items() if len(kind.coordinates) > 1), key=_most))
"""Joints with several coordinates, most of them first: a free one has all names of a spherical one, and more."""
RATES = {"q": "", "v": "/s"}
"""What is added to the unit of a coordinate where text with a unit can be read."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The entries of the vectors of a robot.

    robot  name for messages
    names  of the entries (n,)
    units  of the entries, those of positions
    pose   what a position is that is not named (n,); of all other vectors it is zero
    what   an entry is called
    """

    robot: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    pose: Floats
    what: str = "coordinate"

    def states(self, symbol: str, given: States) -> Floats:
        """A vector (n,), or a batch of them, as an array; ``symbol`` says which: q, v, a, tau, force."""
        # arrays first: to ask whether something is a mapping takes longer than all the rest
        if type(given) is np.ndarray or not isinstance(given, Mapping):
            return as_states(symbol, given, len(self.names), self.robot)
        given = {name: x for key, value in given.items() for name, x in self._spread(symbol, key, value)}
        entries = {name: self._number(symbol, name, value) for name, value in given.items()}
        shape = np.broadcast_shapes(*(np.shape(x) for x in entries.values()))
        if len(shape) > 1:
            raise ValueError(f"{symbol} by name has entries of shape {shape}; they must be numbers or (count,)")
        out: Floats = np.zeros((*shape, len(self.names)))
        if symbol == "q":
            out[...] = self.pose
        for name, value in entries.items():
            out[..., self.names.index(name)] = value
        return out

    def _spread(self, symbol: str, key: str, value: Any) -> Iterable[tuple[str, Any]]:
        """The coordinates of a joint that has several, where it is given as a whole: (count,) or (states, count)."""
        names = next((names for kind in WHOLE if {*(names := coordinates_of(key, kind))} <= {*self.names}), ())
        if not names or key in self.names:
            return [(key, value)]
        # a list may hold text with units
        columns = value if isinstance(value, list | tuple) else np.moveaxis(np.asarray(value), -1, 0)
        if isinstance(value, list | tuple) and value and np.ndim(value[0]):
            columns = np.moveaxis(np.asarray(value, dtype=float), -1, 0)
        if len(columns) != len(names):
            parts = ", ".join(names)
            raise ValueError(f"{symbol} of '{key}' has {len(columns)} entries; it needs {len(names)}: {parts}")
        return zip(names, columns, strict=True)

    def _number(self, symbol: str, name: str, value: Any) -> Any:
        if name not in self.names:
            some = ", ".join(self.names[:SHOWN_NAMES]) + (", ..." if len(self.names) > SHOWN_NAMES else "")
            hint = did_you_mean(name, self.names) or f"; it has {some}"
            raise ValueError(f"{symbol}: robot '{self.robot}' has no {self.what} '{name}'{hint}")
        unit = self.units[self.names.index(name)]
        if RATES.get(symbol):
            unit = f"{unit or 1}{RATES[symbol]}"
        if isinstance(value, str) and unit in MEANING:
            from pydantic_core import PydanticCustomError

            try:
                return float(Quantity(unit).read(value, {"units": True}))
            except PydanticCustomError as error:
                raise ValueError(f"{symbol} of '{name}' {error.message()}") from None
        try:
            if value is None or isinstance(value, bool):
                raise TypeError
            return np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"{symbol} of '{name}' is {value!r}; it must be a number") from None

    def require_finite(self, symbol: str, array: Floats) -> None:
        """Name the first entry of a vector, or of a batch, that is no number."""
        bad = np.argwhere(~np.isfinite(np.atleast_2d(array)))
        if len(bad):
            state, entry = bad[0]
            where = f" in state {state} of the batch" if array.ndim == 2 else ""
            value = np.atleast_2d(array)[state, entry]
            raise ValueError(f"{symbol} of '{self.names[entry]}' is {value}{where}; it must be a finite number")

    def by_name(self, vector: ArrayLike, symbol: str = "") -> dict[str, Any]:
        """The entries of a vector (n,) by their names; of a batch (count, n) arrays."""
        array = as_states(symbol or f"the vector of {self.what}s", vector, len(self.names), self.robot)
        return {name: float(x) if array.ndim == 1 else x for name, x in zip(self.names, array.T, strict=True)}


def as_states(name: str, x: ArrayLike, n: int, robot: str) -> Floats:
    """A vector (n,), or a batch of them, as an array."""
    if np.iscomplexobj(x):
        raise ValueError(f"{name} is complex; robot '{robot}' needs real numbers")
    array = np.asarray(x, dtype=float)
    if array.ndim not in (1, 2) or array.shape[-1] != n:
        raise ValueError(f"{name} has shape {array.shape}; robot '{robot}' needs ({n},) or a batch (count, {n})")
    return array


class Pose(NamedTuple):
    """Position (m) and rotation matrix of a frame in the base frame."""

    position: Floats
    rotation: Floats


class Twist(NamedTuple):
    """Velocity of a frame's origin (m/s) and angular velocity (rad/s), base axes."""

    linear: Floats
    angular: Floats


class FrameAcceleration(NamedTuple):
    """Acceleration of a frame's origin (m/s^2) and angular acceleration (rad/s^2), base axes."""

    linear: Floats
    angular: Floats


class Energies(NamedTuple):
    """Kinetic energy, strain energy of links and joint springs, potential of gravity (J)."""

    kinetic: float
    strain: float
    gravity: float

    @property
    def total(self) -> float:
        """Their sum, J."""
        return self.kinetic + self.strain + self.gravity


class Momentum(NamedTuple):
    """Linear momentum (kg m/s) and angular momentum about the base's origin (kg m^2/s)."""

    linear: Floats
    angular: Floats


class InverseDerivatives(NamedTuple):
    """Derivatives of the generalised forces by q, v and a (n, n); the last is the mass matrix."""

    q: Floats
    v: Floats
    a: Floats


class _Solved(NamedTuple):
    tau: Floats
    others: Floats


class InverseSolution(_Solved):
    """What inverse dynamics find; ``tau, others = arm.inverse(...)`` takes it apart.

    tau     efforts of the actuated joints ``inputs``, N m or N
    others  accelerations of all other coordinates ``names``
    """

    __slots__ = ()
    inputs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _solution, (self.inputs, self.names, *self)

    @property
    def by_name(self) -> dict[str, Floats]:
        """Efforts by joint and accelerations by coordinate."""
        entries = ((self.inputs, self.tau), (self.names, self.others))
        return {name: x for names, vector in entries for name, x in zip(names, vector.T, strict=True)}


@lru_cache(maxsize=64)
def solutions_of(inputs: tuple[str, ...], names: tuple[str, ...]) -> type[InverseSolution]:
    """The solutions of a robot: its names are the type's, so that one more solution is no more than a tuple."""
    named = {"__slots__": (), "__module__": __name__, "__doc__": InverseSolution.__doc__}
    return type(InverseSolution.__name__, (InverseSolution,), {**named, "inputs": inputs, "names": names})


def _solution(inputs: tuple[str, ...], names: tuple[str, ...], tau: Floats, others: Floats) -> InverseSolution:
    return solutions_of(inputs, names)(tau, others)
