"""A page about an elastic motion: displacements, turns, efforts and natural frequencies along it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.pictures.canvas import head, new_figure, save
from pliant.results.plots import COLOURS, lines
from pliant.results.result import Result

if TYPE_CHECKING:
    from pliant.simulation.inverse.elastic_run import ElasticRun

CURVES = 4
"""Natural frequencies that are drawn."""


def plot_elastic(run: ElasticRun, path: Path, frames: Sequence[str], full: Result | None = None) -> None:
    """Write the page; dashes are the efforts that were given, rest at the same poses, and the full model."""
    figure = new_figure(11.0, 6.6)
    cells = figure.subplots(2, 2, gridspec_kw={"hspace": 0.45, "wspace": 0.2, "top": 0.86, "left": 0.07, "right": 0.98})
    moved, turned, efforts, frequencies = cells.ravel()
    at = {name: run.frame(name) for name in frames}
    several = len(at) > 1
    curves = {
        f"{name} {axis}" if several else axis: 1e3 * at[name].displacement[:, k]
        for name in at
        for k, axis in enumerate("xyz")
    }
    lines(moved, run.times, curves, "displacement by bending, mm" if several else f"displacement of {frames[0]}, mm")
    if full is not None and "tip" in at:
        for k in range(3):
            exact = 1e3 * (full["tip.position"][:, k] - np.interp(full.time, run.times, at["tip"].position[:, k]))
            moved.plot(full.time, exact, color=COLOURS[k], lw=0.9, ls="--", alpha=0.7)
    turns = {name: 1e3 * np.linalg.norm(motion.turn, axis=1) for name, motion in at.items()}
    lines(turned, run.times, turns, "turn by bending, mrad")
    columns = dict(zip(run.inputs, run.efforts.T, strict=True))
    given = None if run.given is None else dict(zip(run.inputs, run.given.T, strict=True))
    lines(efforts, run.times, columns, f"efforts, N m or N{' (dashed: given)' if given else ''}", given)
    found = run.frequencies(CURVES)
    names = [f"{k + 1}" for k in range(found.moving.shape[1])]
    hertz = [dict(zip(names, (x / (2 * np.pi)).T, strict=True)) for x in (found.moving, found.rest)]
    lines(frequencies, found.times, hertz[0], "natural frequencies, Hz (dashed: at rest)", hertz[1])
    beside = "; dashed: the full nonlinear model" if full is not None else ""
    head(figure, run.study.name, f"robot {run.model.robot.name}: elastic motion beside the nominal one{beside}")
    save(figure, path)
