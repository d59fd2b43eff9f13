"""Tables over time, one column per joint, in CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, Problem, did_you_mean, show
from pliant.files import no_file

Floats = NDArray[np.float64]

TIME_COLUMNS = ("t", "time")


def read_joint_table(file: str, inputs: Sequence[str], missing: Floats, what: str) -> tuple[Floats, Floats]:
    """Times and rows (in the order of the inputs) of a CSV file; joints without a column have the missing value."""

    def fail(message: str, line: int | None = None) -> ModelError:
        return ModelError(Problem("", message, file, line))

    wrong = no_file(file)
    if wrong:
        raise fail(wrong)
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
        table = [(i, row) for i, row in enumerate(csv.reader(lines), start=1) if row and not row[0].startswith("#")]
    except UnicodeDecodeError as error:
        raise fail(f"byte {error.start} is no UTF-8 text; a table of {what} is plain text") from None
    except csv.Error as error:
        raise fail(f"the table cannot be read: {error}") from None
    if len(table) < 3:
        raise fail(f"a table of {what} needs a line of names and at least two lines of numbers")
    head = [name.strip() for name in table[0][1]]
    if head[0] not in TIME_COLUMNS:
        raise fail(f"the first column is '{head[0]}'; it must be 't', the time in s", table[0][0])
    for name in head[1:]:
        if name not in inputs:
            hint = did_you_mean(name, inputs) or f"; it has {', '.join(inputs)}"
            raise fail(f"column '{name}': the robot has no actuated joint of that name{hint}", table[0][0])
    values: list[list[float]] = []
    for line, row in table[1:]:
        try:
            numbers = [float(x) for x in row]
        except ValueError:
            raise fail(f"{show(','.join(row))} is not a line of numbers", line) from None
        if len(numbers) != len(head) or not all(map(math.isfinite, numbers)):
            raise fail(f"the line has {len(numbers)} finite numbers at most; it needs {len(head)}", line)
        if values and numbers[0] <= values[-1][0]:
            raise fail(f"the time {numbers[0]:g} s is not later than the one before it", line)
        values.append(numbers)
    data = np.array(values)
    rows = np.tile(missing, (len(data), 1))
    for k, name in enumerate(head[1:], start=1):
        rows[:, list(inputs).index(name)] = data[:, k]
    return data[:, 0], rows
