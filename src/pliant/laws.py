"""The contract of laws: what drives and loads do, as one text on any scalars.

A law computes efforts from coordinates, rates, its own states, signals of time and gains. The same text runs on floats
and NumPy columns (whole tables of instants), on tapes (machine code) and on stacked gains (many runs at once).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector, dot

Floats = NDArray[np.float64]


class LawState(NamedTuple):
    """A continuous state of a law; it is integrated, error-controlled, kept and resumed together with the motion.

    name     what it is, such as ``integral.shoulder``; results have it as a channel
    unit     in which it is measured
    initial  value at the start
    scale    its absolute error in a step may be so many times that of the study: 1e5 for pressures in Pa, say
    """

    name: str
    unit: str = ""
    initial: float = 0.0
    scale: float = 1.0


class Action(NamedTuple):
    """What a law does at an instant, on the scalars that it was given.

    efforts   of the inputs (drives), or generalised forces (loads)
    rates     of its own states
    stored    energy that it holds, J: a function of coordinates, states and signals
    lost      power that it turns into heat, W
    supplied  power that comes to it from outside, W: zero for springs and dampers, voltage times current for a motor.
              The balance of energy then fails where stored or lost is wrong. None: an ideal source, which supplies what
              the robot takes and what is lost; what it stores is in no balance
    """

    efforts: Vector
    rates: Vector = []  # noqa: RUF012
    stored: Scalar = 0.0
    lost: Scalar = 0.0
    supplied: Scalar | None = None


class Actions(NamedTuple):
    """What a law does at several instants; rows are instants.

    efforts (rows, efforts), rates (rows, states), stored (rows,), lost (rows,)
    supplied (rows,), or None for an ideal source
    """

    efforts: Floats
    rates: Floats
    stored: Floats
    lost: Floats
    supplied: Floats | None = None

    @property
    def balanced(self) -> Floats:
        """Energy that it holds and that the balance of a run counts, J (rows,): none of an ideal source."""
        return np.zeros(len(self.stored)) if self.supplied is None else self.stored


class Law(ABC):
    """What acts on a known robot.

    gains     numbers that the text takes
    channels  signals of time that the text takes
    states    continuous states of its own
    """

    gains: tuple[float, ...] = ()
    channels: int = 0
    states: tuple[LawState, ...] = ()

    @property
    @abstractmethod
    def structure(self) -> Hashable:
        """Everything that decides the code of the text: all but gains and signals."""

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which it begins, ends or is not smooth."""
        return ()

    @abstractmethod
    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        """The text, on any scalars: coordinates, rates, own states, values of the signals, gains."""

    def signals(self, t: Floats) -> Floats:
        """What of it depends on time alone, at several times (times, channels)."""
        return np.zeros((len(t), self.channels))

    @property
    def state_count(self) -> int:
        """Number of its continuous states."""
        return len(self.states)

    def initial(self) -> Floats:
        """Its states at the start."""
        return np.array([state.initial for state in self.states])

    def at(self, t: float, q: Floats, v: Floats, z: Floats) -> Action:
        """What it does at one instant, on floats."""
        (signals,) = self.signals(np.array([t])).tolist()
        return self.efforts(q.tolist(), v.tolist(), z.tolist(), signals, list(self.gains))

    def along(self, times: Floats, q: Floats, v: Floats, z: Floats) -> Actions:
        """What it does at several instants and states: the text on columns."""
        return on_columns(self, q, v, z, self.signals(times), list(self.gains))


def on_columns(law: Law, q: Floats, v: Floats, z: Floats, signals: Floats, gains: Sequence[Any]) -> Actions:
    """The text of a law on tables (rows, ...); every gain is a number, or has one value per row."""
    columns = [list(np.ascontiguousarray(table.T)) for table in (q, v, z, signals)]
    # rows whose efforts are no numbers tell so themselves
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = law.efforts(columns[0], columns[1], columns[2], columns[3], list(gains))
    rows = len(q)
    energies = (found.stored, found.lost, found.supplied)
    each = (None if x is None else np.broadcast_to(np.asarray(x, dtype=float), rows) for x in energies)
    stored, lost, supplied = each
    assert stored is not None
    assert lost is not None
    return Actions(table_of(found.efforts, rows), table_of(found.rates, rows), stored, lost, supplied)


def table_of(columns: Vector, rows: int) -> Floats:
    """Columns, each of them an array or one number for all rows, as a table (rows, columns)."""
    out = np.empty((rows, len(columns)))
    for k, column in enumerate(columns):
        out[:, k] = column
    return out


def applied(B: Floats, tau: Vector) -> Vector:
    """Generalised forces (n,) of efforts of the inputs."""
    out: Vector = [0.0] * len(B)
    for column, effort in zip(B.T.tolist(), tau, strict=True):
        out = [f + b * effort if b else f for f, b in zip(out, column, strict=True)]
    return out


def measured(B: Floats, x: Vector) -> Vector:
    """What the motors see of coordinates or rates (inputs,)."""
    columns: list[Vector] = B.T.tolist()
    return [dot(column, x) for column in columns]


def numbers_in_code(array: Floats) -> Hashable:
    """A key of an array whose numbers are written into the code."""
    return array.shape, array.tobytes()


def supplied_power(found: Action, v: Vector) -> Scalar:
    """Power that comes to a law from outside, W; its efforts are generalised forces (n,)."""
    return dot(found.efforts, v) + found.lost if found.supplied is None else found.supplied


def flattened(found: Action, v: Vector) -> Vector:
    """Generalised forces and rates, and behind them what is lost and supplied, as compiled steps take them."""
    return [*found.efforts, *found.rates, found.lost, supplied_power(found, v)]
