"""A picture of an inverse dynamics: path, distances from it, iterations and efforts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.pictures.canvas import head, save
from pliant.results.plots import lines

if TYPE_CHECKING:
    from pliant.analysis.lumped.successive import PathSolution


def plot_inverse(solution: PathSolution, name: str, path: Path, simulated: tuple[Any, Any] | None = None) -> None:
    """Write a page about a solution; ``simulated`` are times and distances of a run on the full model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 6.6), facecolor="white")
    cells = figure.subplots(2, 2, gridspec_kw={"hspace": 0.45, "wspace": 0.2, "top": 0.86, "left": 0.07, "right": 0.98})
    plane, distance, steps, efforts = cells.ravel()
    spans = np.ptp(solution.path, axis=0)
    x, y = np.sort(np.argsort(spans)[-2:])
    plane.plot(solution.path[:, x], solution.path[:, y], color="#64748b", lw=3, alpha=0.4, label="desired")
    plane.plot(solution.reached[:, x], solution.reached[:, y], color="#2563eb", lw=1, label="reached")
    plane.set_aspect("equal", adjustable="datalim")
    plane.set_title(f"path of {solution.frame}, m", loc="left", fontsize=9.5, weight="bold")
    plane.legend(fontsize=7)
    curves = {"model": 1e6 * np.linalg.norm(solution.reached - solution.path, axis=1)}
    lines(distance, solution.times, curves, "distance from the path, micrometres")
    if simulated is not None:
        distance.plot(simulated[0], 1e6 * simulated[1], color="#dc2626", lw=0.9, label="simulated on the full model")
        distance.legend(fontsize=7)
    steps.semilogy([1e3 * at.largest for at in solution.iterations], "o-", color="#2563eb", lw=1.2, ms=4)
    steps.set_title("largest distance over the iterations, mm", loc="left", fontsize=9.5, weight="bold")
    steps.set_xlabel("iteration")
    steps.set_xticks(range(len(solution.iterations)))
    steps.grid(color="#e2e8f0", lw=0.6)
    columns = dict(zip(solution.model.inputs, solution.efforts.T, strict=True))
    lines(efforts, solution.times, columns, "efforts of the drives, N m or N")
    head(figure, name, f"inverse dynamics by successive approximation: {solution.outcome}")
    save(figure, path)
