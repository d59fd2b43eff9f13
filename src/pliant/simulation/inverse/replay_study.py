"""A computed motion of the drives as tables, and as studies that run it on the full model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.files import write_generated, written
from pliant.loads.disturbance import Disturbance
from pliant.simulation.start import Start
from pliant.simulation.study import Study
from pliant.trajectories.signals import signal

Floats = NDArray[np.float64]

STIFFNESS = 0.5
"""Bandwidth of the feedback beside the feed-forward, as a part of the lowest natural frequency; damped by ..."""
DAMPING = 0.7
KEPT = ("disturbances", "loads", "stops", "integrator", "dynamics", "compile")
"""Keys of a study that its replay has, too."""


def output_files(folder: Path, name: str) -> dict[str, Path]:
    """The files that ``Replay.write`` writes."""
    tables = {kind: folder / f"{name}-{kind}.csv" for kind in ("motion", "efforts", "reactions")}
    return tables | {kind: folder / f"{name}-{kind}.yaml" for kind in ("robot", "prescribed", "feed-forward")}


@dataclass(frozen=True, eq=False)
class Replay:
    """What drives do, sampled.

    study      its disturbances and loads act
    times      s (N,), from zero
    motion     (N, inputs) of the driven coordinates
    motors     (N, inputs) what the motors see, which pinned shapes add to
    efforts    (N, inputs)
    reactions  column name -> (N,)
    start      the first state
    gains      (inputs,) of a slow loop around each drive: per position and per rate
    table      keys of the tables of positions besides their file
    """

    study: Study
    inputs: tuple[str, ...]
    times: Floats
    motion: Floats
    motors: Floats
    efforts: Floats
    reactions: Mapping[str, Floats]
    start: Start
    gains: tuple[Floats, Floats]
    table: Mapping[str, str]

    def write(self, folder: Path, name: str) -> list[Path]:
        """Motion, efforts and reactions as tables, and two studies that run them on the full model."""
        files = output_files(folder, name)
        _write_table(files["motion"], self.times, self._columns(self.motion))
        _write_table(files["efforts"], self.times, self._columns(self.efforts))
        _write_table(files["reactions"], self.times, self.reactions)
        seen = files["motion"]
        if not np.array_equal(self.motors, self.motion):
            seen = folder / f"{name}-motors.csv"
            _write_table(seen, self.times, self._columns(self.motors))
        write_generated(files["robot"], self.study.robot.to_yaml())
        kp, kd = (", ".join(f"{joint}: {x:.6g}" for joint, x in zip(self.inputs, g, strict=True)) for g in self.gains)
        head = self._head(files["robot"].name)
        write_generated(
            files["prescribed"],
            f"# the drives move exactly as computed; the frame must keep its path\nname: {name}-prescribed\n{head}"
            f"drive:\n  prescribed:\n    {self._trajectory(files['motion'])}\n",
        )
        write_generated(
            files["feed-forward"],
            f"# the efforts as computed, and a slow loop around each drive\nname: {name}-feed-forward\n{head}"
            f"drive:\n  feed_forward:\n    {self._trajectory(seen)}\n    model: given\n"
            f"    torques: {{file: {files['efforts'].name}, interpolation: cubic}}\n"
            f"    kp: {{{kp}}}\n    kd: {{{kd}}}\n",
        )
        return list(files.values())

    def _columns(self, rows: Floats) -> dict[str, Floats]:
        return dict(zip(self.inputs, rows.T, strict=True))

    def _trajectory(self, file: Path) -> str:
        keys = "".join(f", {key}: {value}" for key, value in self.table.items())
        return f"trajectory: {{table: {{file: {file.name}{keys}}}}}"

    def _head(self, robot: str) -> str:
        q, v = (", ".join(f"{x:.17g}" for x in values or ()) for values in (self.start.q, self.start.v))
        data = self.study.with_changes().to_data()
        kept = "".join(f"{key}: {json.dumps(data[key])}\n" for key in KEPT if data.get(key))
        return f"robot: {robot}\nuntil: {self.times[-1]:.17g} s\nstart: {{q: [{q}], v: [{v}]}}\nlimits: ignore\n{kept}"


def slow_gains(arm: Dynamics, q: Floats, frequency: float) -> tuple[Floats, Floats]:
    """Feedback gains (inputs,) of a slow, well damped loop around each drive of the rigid robot.

    frequency  rad/s: the lowest vibration
    """
    M = arm.B.T @ arm.mass_matrix(q) @ arm.B
    w = STIFFNESS * frequency
    return np.diag(M) * w**2, 2 * DAMPING * w * np.diag(M)


def delayed(given: Sequence[Disturbance], lead: float) -> tuple[Disturbance, ...]:
    """Disturbances that come later by a lead; what acts from the start on acts during it as in its first instant."""
    if not lead:
        return tuple(given)
    out = list[Disturbance]()
    for each in given:
        end = None if each.end is None else each.end + lead
        numbers = [x for x in (*(each.force or ()), *(each.moment or ()), each.effort) if x is not None]
        varies = any(isinstance(x, str) for x in numbers)
        if each.start > 0:
            out.append(_changed(each, lambda x: _later(x, lead), start=each.start + lead, end=end))
        elif not varies:
            out.append(each.with_changes(end=end))
        else:
            out.append(_changed(each, lambda x: signal(x)(0.0), start=0.0, end=lead))
            out.append(_changed(each, lambda x: _later(x, lead), start=lead, end=end))
    return tuple(out)


def _changed(each: Disturbance, change: Any, *, start: float, end: float | None) -> Disturbance:
    parts: dict[str, Any] = {}
    for key in ("force", "moment"):
        value = getattr(each, key)
        if value is not None:
            parts[key] = tuple(change(x) for x in value)
    if each.effort is not None:
        parts["effort"] = change(each.effort)
    return each.with_changes(**parts, start=start, end=end)


def _later(x: float | str, lead: float) -> float | str:
    """A signal that comes later."""
    return re.sub(r"\bt\b", f"(t - {lead:.17g})", x) if isinstance(x, str) else x


def _write_table(path: Path, times: Floats, columns: Mapping[str, Floats]) -> None:
    """Columns over time, so that every digit comes back."""
    rows = np.column_stack([times, *columns.values()])
    with written(path) as beside:
        np.savetxt(beside, rows, fmt="%.17g", delimiter=",", header=",".join(["t", *columns]), comments="")
