"""Films of a run: GIF, MP4 where ffmpeg is installed, or an HTML page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.results.canvas import GREY, INK, PALE, View, best_view
from pliant.results.film import Film, make_film

if TYPE_CHECKING:
    from pliant.results.result import Result

FILMS = (".gif", ".mp4", ".html")
LONGEST = 20.0
PICTURES_PER_SECOND = 20
RIGID, FLEXIBLE, TRACE = "#475569", "#1d4ed8", "#f59e0b"


def write_animation(run: Result, path: Path, seconds: float | None = None) -> None:
    """Write a film in the format of the file's ending."""
    ending = path.suffix.lower()
    if ending not in FILMS:
        raise ValueError(f"{path}: a film must end in {', '.join(FILMS)}")
    if ending == ".html":
        from pliant.results.report import write_film_page

        write_film_page(run, path)
        return
    if ending == ".mp4" and shutil.which("ffmpeg") is None:
        raise RuntimeError(f"{path}: an MP4 film needs the program ffmpeg, which is not installed; take .gif or .html")
    length = min(run.time[-1], LONGEST) if seconds is None else seconds
    _draw(run, path, max(int(length * PICTURES_PER_SECOND), 2))


def view_of(run: Result, film: Film) -> View:
    """Onto the plane of the motion if there is one, otherwise from a corner."""
    from pliant.results.reference_pose import place_links

    points = np.concatenate([line.bent.reshape(-1, 3) for line in film.lines])
    turning = [item.axis for item in place_links(run.robot).values() if item.link.joint.type == "revolute"]
    return best_view(points, np.reshape(turning, (-1, 3)))


def _draw(run: Result, path: Path, pictures: int) -> None:
    from matplotlib.animation import FFMpegWriter, PillowWriter
    from matplotlib.figure import Figure

    film = make_film(run, pictures)
    view = view_of(run, film)
    figure = Figure(figsize=(6.4, 4.8), facecolor="white")
    axes: Any = figure.add_axes((0.03, 0.03, 0.94, 0.87))
    axes.set_aspect("equal", adjustable="datalim")
    axes.axis("off")
    everything = view.project(np.concatenate([line.bent.reshape(-1, 3) for line in film.lines]))
    axes.plot(*everything.T, ls="none", marker=",", alpha=0.0)
    (trace,) = axes.plot([], [], color=TRACE, lw=1.0)
    strokes = []
    for line in film.lines:
        (ghost,) = axes.plot([], [], color=PALE, lw=1.0, ls="--")
        colour = FLEXIBLE if line.flexible else RIGID
        (stroke,) = axes.plot([], [], color=colour, lw=4.0, solid_capstyle="round")
        strokes.append((line, ghost, stroke))
    figure.text(0.03, 0.94, run.info.name, weight="bold", color=INK)
    clock = figure.text(0.97, 0.94, "", ha="right", color=GREY)
    tip = view.project(film.tip)
    kind: Any = FFMpegWriter if path.suffix.lower() == ".mp4" else PillowWriter
    writer = kind(fps=PICTURES_PER_SECOND)
    with writer.saving(figure, str(path), dpi=90):
        for k, t in enumerate(film.time):
            for line, ghost, stroke in strokes:
                ghost.set_data(*view.project(line.rigid[k]).T)
                stroke.set_data(*view.project(line.bent[k]).T)
            trace.set_data(*tip[: k + 1].T)
            clock.set_text(f"{t:.2f} s")
            writer.grab_frame()
