"""Logs of measurements: named channels in SI units over one increasing time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, Problem, did_you_mean, listing
from pliant.identification.log_files import Columns, read_columns
from pliant.model.notebook import html_page
from pliant.model.units import UnitError, parse
from pliant.trajectories.ongoing import TableMotion

Floats = NDArray[np.float64]

TIME_NAMES = ("t", "time", "Time", "TIME", "timestamp", "secs")
GAP = 3.5
"""Times between two samples, in units of the usual one, from which samples are missing."""
UNEVEN = 0.02
"""Part of the usual time between samples by which an even clock may be off."""
WITH_UNIT = re.compile(r"^(?P<name>.*\S)\s*\[(?P<unit>[^\]]*)\]$")


class Gap(NamedTuple):
    """A stretch of time without samples, s."""

    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Log:
    """Measured channels over time.

    name      of the log, as tables and reports show it
    time      s (N,), increasing
    channels  name -> values in SI units (N,); samples that are missing are NaN
    units     name -> SI unit, where it is known
    """

    name: str
    time: Floats
    channels: Mapping[str, Floats]
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.time) < 2 or not np.isfinite(self.time).all() or np.any(np.diff(self.time) <= 0):
            raise ModelError(f"log '{self.name}': the times must be at least two finite numbers that increase")
        for name, values in self.channels.items():
            if values.shape != self.time.shape:
                raise ModelError(
                    f"log '{self.name}': channel '{name}' has {len(values)} samples; it has {len(self)} times"
                )

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        columns: Mapping[str, str | int] | None = None,
        units: Mapping[str, str] | None = None,
        time: str | int | float | None = None,
        comments: str = "#",
        name: str = "",
    ) -> Log:
        """A log from a file.

        path      CSV (also with semicolons, tabs or blanks, and decimal commas), MAT, HDF5 or NPZ
        columns   name of a channel -> name or number (from 1) of its column; default: all columns by their own names.
                  Structures within a MAT or HDF5 file are ``rig.angles``, columns of a table ``rig.angles.2``
        units     name of a channel -> unit in the file, such as "deg" or "mm"; columns such as ``elbow [deg]`` say
                  theirs. Default: SI units
        time      column of the time, or, as a float, the time between two samples in s; default: a column t or time
        comments  what lines begin with that are passed over
        name      of the log; default: that of the file
        """
        file = Path(path)
        found = read_columns(file, comments)
        heads = {_head(each)[0]: each for each in found.values}
        clock, t = _clock(file, found, heads, time)
        own = {name: each for name, each in heads.items() if each != clock}
        if columns is not None:
            own = {name: _column(file, found, heads, wanted) for name, wanted in columns.items()}
        for each in units or {}:
            if each not in own:
                raise ModelError(f"{file}: units name '{each}'; the log has {listing(own)}{did_you_mean(each, own)}")
        channels: dict[str, Floats] = {}
        known: dict[str, str] = {}
        for each, column in own.items():
            factor, unit = _factor(file, each, (units or {}).get(each, _head(column)[1]))
            values = found.values[column]
            if len(values) != len(t):
                if columns is None:
                    # a MAT file has other things in it than samples over this time
                    continue
                raise ModelError(f"{file}: column '{column}' has {len(values)} samples; the time has {len(t)}")
            channels[each] = values * factor
            if unit:
                known[each] = unit
        wrong = np.flatnonzero(~(np.diff(t) > 0))
        if wrong.size:
            k = int(wrong[0]) + 1
            line = found.lines[k] if found.lines else None
            where = "" if line is not None else f" (sample {k + 1})"
            raise ModelError(
                Problem("", f"the time {t[k]:.9g} s is not later than the one before it{where}", str(file), line)
            )
        return cls(name or file.stem, t, channels, known)

    def __getitem__(self, name: str) -> Floats:
        if name not in self.channels:
            raise KeyError(f"log '{self.name}' has no channel '{name}'{did_you_mean(name, self.channels)}")
        return self.channels[name]

    def __contains__(self, name: object) -> bool:
        return name in self.channels

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s"
        return f"Log({self.name!r}, {span}, {len(self)} samples of {', '.join(self.channels)})"

    def _repr_html_(self) -> str:
        rows = [
            (n, self.units.get(n, ""), f"{np.nanmin(x):.4g}", f"{np.nanmax(x):.4g}") for n, x in self.channels.items()
        ]
        return html_page(repr(self), ("channel", "unit", "least", "largest"), rows, list(self.remarks()))

    @property
    def step(self) -> float:
        """Usual time between two samples, s."""
        return float(np.median(np.diff(self.time)))

    @property
    def is_even(self) -> bool:
        """Whether all samples are equally far apart."""
        return bool(np.all(np.abs(np.diff(self.time) - self.step) <= UNEVEN * self.step))

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Stretches of time without samples."""
        places = np.flatnonzero(np.diff(self.time) > GAP * self.step)
        return tuple(Gap(float(self.time[k]), float(self.time[k + 1])) for k in places)

    def resolution(self, name: str) -> float:
        """Smallest change of a channel from sample to sample that is not zero: an encoder's step, if it has one."""
        changes = np.abs(np.diff(self[name]))
        changes = changes[changes > 0]
        return float(changes.min(initial=np.inf)) if changes.size else 0.0

    def remarks(self) -> list[str]:
        """What a user should know before the log is used."""
        out = [f"no samples from {gap.start:.6g} to {gap.end:.6g} s" for gap in self.gaps]
        if not self.is_even and not self.gaps:
            steps = np.diff(self.time)
            out.append(f"samples are {steps.min():.3g} to {steps.max():.3g} s apart")
        for name, values in self.channels.items():
            missing = int(np.isnan(values).sum())
            if missing:
                out.append(f"'{name}' lacks {missing} of {len(self)} samples")
        return out

    def window(self, start: float, end: float, *, from_zero: bool = False) -> Log:
        """The samples from start to end, s; from_zero: their time begins at zero."""
        inside = (self.time >= start) & (self.time <= end)
        if inside.sum() < 2:
            raise ModelError(
                f"log '{self.name}': there are {int(inside.sum())} samples from {start:g} to {end:g} s; "
                f"it goes from {self.time[0]:g} to {self.time[-1]:g} s"
            )
        time = self.time[inside] - (self.time[inside][0] if from_zero else 0.0)
        return replace(self, time=time, channels={n: x[inside] for n, x in self.channels.items()})

    def at(self, name: str, times: Floats) -> Floats:
        """A channel at other times, by straight lines between samples; NaN outside, in gaps and beside missing ones."""
        values, t = self[name], np.asarray(times, dtype=float)
        out: Floats = np.interp(t, self.time, values, left=np.nan, right=np.nan)
        for gap in self.gaps:
            out[(t > gap.start) & (t < gap.end)] = np.nan
        return out

    def resampled(self, step: float) -> Log:
        """The log at times that are equally far apart, s, by straight lines between samples."""
        if not step > 0:
            raise ModelError(f"log '{self.name}': step is {step:g} s; it must be positive")
        times = self.time[0] + step * np.arange(int((self.time[-1] - self.time[0]) / step * (1 + 1e-12)) + 1)
        return replace(self, time=times, channels={name: self.at(name, times) for name in self.channels})

    def motion(self, joints: Sequence[str], *, smooth: Any = None) -> TableMotion:
        """The measured motion of joints, for drives that follow or prescribe it.

        joints  channels, one for each input of the robot in their order
        smooth  filter of what was measured, since two derivatives are taken of it: {"cutoff": 20.0} (Hz) or
                {"noise": 1e-6}; default: none
        """
        columns = np.column_stack([self[name] for name in joints])
        bad = np.isnan(columns).any(axis=1)
        if bad.any():
            raise ModelError(
                f"log '{self.name}': {listing(joints)} lack {int(bad.sum())} samples, the first at "
                f"{self.time[bad][0]:.6g} s; take a window without them"
            )
        given: dict[str, Any] = {} if smooth is None else {"smooth": smooth}
        return TableMotion(time=self.time, positions=columns, **given)


def _head(name: str) -> tuple[str, str]:
    """Name and unit of a column that is called ``elbow [deg]``."""
    found = WITH_UNIT.match(name)
    return (found["name"], found["unit"].strip()) if found else (name, "")


def _column(file: Path, found: Columns, heads: Mapping[str, str], wanted: str | int) -> str:
    """A column by its name or its number from 1."""
    names = list(found.values)
    if isinstance(wanted, int):
        if not 1 <= wanted <= len(names):
            raise ModelError(f"{file}: there is no column {wanted}; it has {len(names)}")
        return names[wanted - 1]
    if wanted in found.values:
        return wanted
    if wanted in heads:
        return heads[wanted]
    raise ModelError(
        f"{file}: there is no column '{wanted}'{did_you_mean(wanted, names) or f'; it has {listing(names)}'}"
    )


def _clock(file: Path, found: Columns, heads: Mapping[str, str], time: str | int | float | None) -> tuple[str, Floats]:
    """Name of the column of the time (empty: there is none) and the times, s."""
    if isinstance(time, float):
        if not time > 0 or not np.isfinite(time):
            raise ModelError(f"{file}: the time between two samples is {time:g} s; it must be positive")
        length = max(len(values) for values in found.values.values())
        return "", time * np.arange(length, dtype=np.float64)
    if time is None:
        known = [heads[name] for name in TIME_NAMES if name in heads]
        if not known:
            raise ModelError(
                f"{file}: none of its columns is called t or time; it has {listing(found.values)}: say which one is "
                "the time, or how far apart the samples are, in s"
            )
        time = known[0]
    column = _column(file, found, heads, time)
    factor, unit = _factor(file, "time", _head(column)[1])
    if unit not in ("", "s"):
        raise ModelError(f"{file}: the time '{column}' is in {unit}; it must be a time")
    values = found.values[column] * factor
    if not np.isfinite(values).all():
        raise ModelError(f"{file}: the time '{column}' lacks {int((~np.isfinite(values)).sum())} samples")
    return column, values


# dimensions of logs that have a name; others are shown by their base units
_NAMED = ("m", "m/s", "m/s^2", "rad", "rad/s", "rad/s^2", "s", "N", "N m", "Pa", "kg", "Hz", "1/m", "m^3/s")


def _factor(file: Path, channel: str, unit: str) -> tuple[float, str]:
    """What a value in a unit is multiplied with, and the SI unit."""
    if unit in ("", "-", "1"):
        return 1.0, ""
    if unit == "%":
        return 0.01, ""
    try:
        factor, dimension = parse(f"1 {unit}")
    except UnitError as error:
        raise ModelError(
            f"{file}: channel '{channel}' is in '{unit}', which is no unit that is known: {error}"
        ) from None
    for each in _NAMED:
        if parse(f"1 {each}")[1] == dimension:
            return factor / parse(f"1 {each}")[0], each
    return factor, f"SI of {unit}"
