"""The picture of a move: joints, rates, efforts with their limits, and how the simulated robot follows and rests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.pictures.canvas import head, save
from pliant.results.plots import COLOURS, lines

if TYPE_CHECKING:
    from pliant.moves.optimal_move import OptimalMove


def plot_move(move: OptimalMove, path: Path) -> None:
    """Write a page about a move."""
    from matplotlib.figure import Figure

    arm, run = move.arm, move.replay.result
    figure = Figure(figsize=(11.0, 6.6), facecolor="white")
    cells = figure.subplots(2, 2, gridspec_kw={"hspace": 0.45, "wspace": 0.2, "top": 0.86, "left": 0.07, "right": 0.98})
    joints, rates, efforts, away = cells.ravel()
    at = [arm.names.index(name) for name in arm.inputs]
    times, q, v = move.dense
    lines(joints, times, dict(zip(arm.inputs, q[:, at].T, strict=True)), "joint positions, rad or m")
    lines(rates, times, dict(zip(arm.inputs, v[:, at].T, strict=True)), "joint rates, rad/s or m/s")
    for k, name in enumerate(arm.inputs):
        colour = COLOURS[k % len(COLOURS)]
        style = {"where": "post"} if move.interpolation == "hold" else {}
        draw = efforts.step if style else efforts.plot
        draw(move.time, move.tau[:, k], color=colour, lw=1.3, label=name, **style)
        for limit in move.bounds.effort[:, k]:
            if np.isfinite(limit):
                efforts.axhline(limit, color=colour, lw=0.7, ls=":")
    efforts.set_title("efforts, N m or N (dotted: limits)", loc="left", fontsize=9.5, weight="bold")
    efforts.set_xlabel("time, s")
    efforts.legend(fontsize=7)
    frame = move.replay.frame
    rest = arm.pose(frame, move.end.q).position
    distance = 1e3 * np.linalg.norm(run[f"{frame}.position"] - rest, axis=1)
    away.semilogy(run.time, np.maximum(distance, 1e-9), color="#2563eb", lw=1.3)
    away.axvline(move.duration, color="#64748b", lw=0.8, ls="--")
    away.set_title(f"distance of {frame} from its end in the simulation, mm", loc="left", fontsize=9.5, weight="bold")
    away.set_xlabel("time, s (dashed: the end of the move)")
    for axes in (efforts, away):
        axes.grid(color="#e2e8f0", lw=0.6)
        axes.margins(x=0.01)
    what = "fastest move" if move.objective == "time" else "move of least effort"
    head(
        figure, arm.robot.name, f"{what}: {move.duration:.4g} s; {frame} swings by {move.replay.swing:.1e} m afterwards"
    )
    save(figure, path)
