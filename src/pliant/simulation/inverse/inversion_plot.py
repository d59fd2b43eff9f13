"""A page about a stable inversion: path, distances, what the drives do before and after it, efforts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.pictures.canvas import head, save
from pliant.results.plots import lines
from pliant.simulation.inverse.inversion_run import InversionConfirmation, InversionRun


def plot_inversion(run: InversionRun, path: Path, certain: InversionConfirmation | None = None) -> None:
    """Write a page about a stable inversion: its path, distances, drives with their lead, and efforts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 6.6), facecolor="white")
    cells = figure.subplots(2, 2, gridspec_kw={"hspace": 0.45, "wspace": 0.2, "top": 0.86, "left": 0.07, "right": 0.98})
    plane, distance, drives, efforts = cells.ravel()
    eq, times = run.solution.equations, run.times
    wanted, reached = eq.at(times).wanted.positions, run.arm.positions(run.frames, run.states.q)
    rigid_run = None if certain is None else run.as_if_rigid()[0]
    spans = np.ptp(wanted.reshape(-1, 3), axis=0)
    x, y = np.sort(np.argsort(spans)[-2:])
    for k, name in enumerate(run.frames):
        label = "" if len(run.frames) == 1 else f" {name}"
        plane.plot(wanted[:, k, x], wanted[:, k, y], color="#64748b", lw=3, alpha=0.4, label=f"desired{label}")
        plane.plot(reached[:, k, x], reached[:, k, y], lw=1, color="#2563eb", label=f"inverted{label}")
        if rigid_run is not None:
            there = run.arm.pose(name, rigid_run.q).position
            plane.plot(there[:, x], there[:, y], lw=1, color="#dc2626", label=f"as if rigid, simulated{label}")
    plane.set_aspect("equal", adjustable="datalim")
    plane.set_title(f"path of {', '.join(run.frames)}, m", loc="left", fontsize=9.5, weight="bold")
    plane.legend(fontsize=7)
    led = np.linalg.norm(eq.led(eq.at(times), run.states.q), axis=1)
    lines(distance, times, {"inversion": 1e6 * led}, "distance from the path, micrometres")
    if certain is not None:
        label = "simulated on the full model"
        distance.plot(certain.result.time - run.before, 1e6 * certain.distances, color="#dc2626", lw=0.9, label=label)
        distance.legend(fontsize=7)
    rigid = run.path.many(times).q
    columns = dict(zip(run.inputs, (run.motion.q - rigid).T, strict=True))
    lines(drives, times, columns, "drives beside those of the rigid robot, rad or m")
    drives.axvline(run.solution.window[0] - run.lead.time, color="#64748b", lw=0.9, ls=":")
    for cell in (distance, drives, efforts):
        cell.axvspan(*run.solution.window, color="#64748b", alpha=0.08)
    lines(efforts, times, dict(zip(run.inputs, run.efforts.T, strict=True)), "efforts of the drives, N m or N")
    told = "not simulated" if certain is None else f"within {certain.distance:.1e} m on the full model"
    head(figure, run.study.name, f"stable inversion: {told}; the path moves in the grey span")
    save(figure, path)
