"""Measured frequency responses from CSV files, and how far a model is from them."""

from __future__ import annotations

import csv
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError
from pliant.files import content_of

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

MOST_BYTES = 50_000_000
"""Of a file with a measured response."""
HEADS = {
    ("frequency [hz]", "magnitude", "phase [deg]"): "polar",
    ("frequency [hz]", "magnitude [db]", "phase [deg]"): "decibels",
    ("frequency [hz]", "real", "imaginary"): "plain",
}
"""First lines of such files."""


class MeasuredResponse(NamedTuple):
    """A frequency response that was measured.

    hertz  frequencies (k,), increasing
    value  output per unit of input (k,)
    """

    hertz: Floats
    value: Complexes

    def difference(self, model: Complexes) -> float:
        """Root mean square of the differences of magnitude in decibels to a model's response (k,)."""
        ratio = np.abs(model) / np.maximum(np.abs(self.value), 1e-300)
        return float(np.sqrt(np.mean((20 * np.log10(np.maximum(ratio, 1e-300))) ** 2)))


def read_response(path: str | PathLike[str]) -> MeasuredResponse:
    """A measured response from a CSV file with three columns.

    path  of the file. Its first line is one of: ``frequency [Hz],magnitude,phase [deg]``;
          ``frequency [Hz],magnitude [dB],phase [deg]``; ``frequency [Hz],real,imaginary``
    """
    text = content_of(path, MOST_BYTES).decode("utf-8-sig", errors="replace")
    rows = [row for row in csv.reader(text.splitlines()) if row]
    head = tuple(cell.strip().lower() for cell in rows[0]) if rows else ()
    if head not in HEADS:
        known = "; ".join(",".join(each) for each in HEADS)
        raise ModelError(f"{path}, line 1: the columns are {','.join(head) or 'missing'}; they must be one of: {known}")
    numbers = []
    for line, row in enumerate(rows[1:], 2):
        try:
            values = [float(cell) for cell in row]
        except ValueError:
            values = []
        if len(values) != 3 or not np.isfinite(values).all():
            raise ModelError(f"{path}, line {line}: {','.join(row)[:60]}; it must be three finite numbers")
        numbers.append(values)
    hertz, first, second = np.array(numbers).reshape(-1, 3).T
    if not len(hertz) or np.any(np.diff(hertz) <= 0) or np.any(hertz < 0):
        raise ModelError(f"{path}: the frequencies must be there, not negative, and increase")
    if HEADS[head] == "plain":
        return MeasuredResponse(hertz, first + 1j * second)
    size = 10 ** (first / 20) if HEADS[head] == "decibels" else first
    return MeasuredResponse(hertz, size * np.exp(1j * np.deg2rad(second)))
