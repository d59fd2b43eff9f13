"""What a drive follows, as piecewise polynomials of time that compiled code evaluates itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number

Floats = NDArray[np.float64]

SIGNAL_ERROR = 1e-11
"""Of the largest value of a channel."""
MOST_PIECES = 4096
DEGREE = 9
"""Of the polynomials."""


class RoughSignalError(ValueError):
    """A signal that polynomials cannot follow."""


@lru_cache
def _chebyshev(degree: int) -> tuple[Floats, Floats]:
    """From values at Chebyshev nodes to centred monomials, well conditioned at low degrees; where to ask for values.

    The places are fractions of a piece: the nodes, then some between them, where an interpolant is worst.
    """
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    return np.linalg.inv(np.vander(nodes, degree + 1)), np.array([*(nodes + 1) / 2, 0.03, 0.41, 0.92])


def places_of(start: float, stop: float, pieces: int, degree: int = DEGREE) -> Floats:
    """Times at which a fit asks for values (pieces, places)."""
    places: Floats = start + (stop - start) / pieces * (np.arange(pieces)[:, None] + _chebyshev(degree)[1])
    return places


@dataclass(frozen=True, slots=True)
class Signals:
    """Channels as polynomials on equal pieces of time: coefficients (pieces, channels, degree + 1), highest first."""

    start: float
    piece: float
    coefficients: Floats

    @classmethod
    def zero(cls, channels: int) -> Signals:
        return cls(0.0, 1.0, np.zeros((1, channels, 1)))

    @classmethod
    def fit(
        cls, f: Callable[[Floats], Floats], start: float, stop: float, *, pieces: int = 64, degree: int = DEGREE
    ) -> Signals:
        """Fit f(t (k,)) -> (k, channels) by Chebyshev interpolation, with more pieces until it is good everywhere.

        Raises RoughSignalError where f has kinks or jumps.
        """
        inverse, _ = _chebyshev(degree)
        while pieces <= MOST_PIECES:
            width = (stop - start) / pieces
            places = places_of(start, stop, pieces, degree)
            values = f(places.ravel())
            if (values == values[0]).all():
                return cls(start, stop - start, values[:1, :, None].copy())
            values = values.reshape(*places.shape, -1)
            signals = cls(start, width, np.moveaxis(inverse @ values[:, : degree + 1], 1, 2).copy())
            wanted, check = values[:, degree + 1 :].reshape(-1, signals.channels), places[:, degree + 1 :].ravel()
            scale = np.abs(wanted).max(initial=0.0, axis=0)
            if np.all(np.abs(signals(check) - wanted) <= SIGNAL_ERROR * np.maximum(scale, 1e-12)):
                return signals
            pieces *= 4
        raise RoughSignalError(f"a signal is not smooth between {start:g} s and {stop:g} s")

    @classmethod
    def fit_each(
        cls, values: Floats, start: float, stop: float, pieces: int, degree: int = DEGREE
    ) -> list[Signals | None]:
        """What ``fit`` finds with so many pieces for several functions, from their values (functions, places, channels)
        at ``places_of``; None for those that need more."""
        inverse, fractions = _chebyshev(degree)
        count, _, channels = values.shape
        constant = (values == values[:, :1]).all(axis=(1, 2)).tolist()
        by_piece = values.reshape(count, pieces, -1, channels)
        coefficients = np.moveaxis(inverse @ by_piece[:, :, : degree + 1], 2, 3)
        wanted = np.moveaxis(by_piece[:, :, degree + 1 :], 2, 3)
        scale = np.abs(wanted).max(initial=0.0, axis=(1, 3), keepdims=True)
        # highest powers first
        found = coefficients @ np.vander(2 * fractions[degree + 1 :] - 1, degree + 1).T
        good = (np.abs(found - wanted) <= SIGNAL_ERROR * np.maximum(scale, 1e-12)).all(axis=(1, 2, 3)).tolist()
        return [
            cls(start, stop - start, own[:1, :, None].copy())
            if is_constant
            else (cls(start, (stop - start) / pieces, each.copy()) if is_good else None)
            for own, each, is_constant, is_good in zip(values, coefficients, constant, good, strict=True)
        ]

    @property
    def channels(self) -> int:
        return int(self.coefficients.shape[1])

    @property
    def table(self) -> Floats:
        """As the compiled code reads it."""
        return np.concatenate([[self.start, self.piece], self.coefficients.ravel()])

    def __call__(self, t: Floats) -> Floats:
        """Values (len(t), channels)."""
        t = np.atleast_1d(np.asarray(t, dtype=float))
        k = np.clip(((t - self.start) / self.piece).astype(int), 0, len(self.coefficients) - 1)
        s = 2 * ((t - self.start) / self.piece - k) - 1
        out = np.zeros((len(t), self.channels))
        for j in range(self.coefficients.shape[2]):
            out = out * s[:, None] + self.coefficients[k, :, j]
        return out


def signals_ir() -> str:
    """``signals(table, pieces, channels, terms, t, r)``: table holds start, piece, then the coefficients."""
    w = Flow()
    place = w.fdiv(w.fsub("%t", w.read("%table", 0)), w.read("%table", 1))
    k = w.let(f"fptosi double {w.fmax(place, number(0.0))} to i64")
    last = w.iadd("%pieces", -1)
    k = w.let(f"select i1 {w.iless(k, last)}, i64 {k}, i64 {last}")
    s = w.fsub(w.fmul(number(2.0), w.fsub(place, w.let(f"sitofp i64 {k} to double"))), number(1.0))
    row = w.imul(k, "%channels")
    with w.repeat("%channels") as c:
        first = w.iadd(w.imul(w.iadd(row, c), "%terms"), 2)
        value = w.variable("double", number(0.0))
        w.put("double", number(0.0), value)
        with w.repeat("%terms") as j:
            coefficient = w.read("%table", w.iadd(first, j))
            w.put("double", w.fadd(w.fmul(w.get("double", value), s), coefficient), value)
        w.write(w.get("double", value), "%r", c)
    arguments = "ptr %table, i64 %pieces, i64 %channels, i64 %terms, double %t, ptr %r"
    return w.text("signals", arguments, attributes="internal")
