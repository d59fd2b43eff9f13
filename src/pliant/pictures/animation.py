"""Films of a motion: GIF, or MP4 where ffmpeg is installed."""

from __future__ import annotations

import shutil
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.model.files import written
from pliant.pictures.canvas import FLEXIBLE_EDGE, GREY, INK, LOAD, LOAD_EDGE, PALE, PAPER, RIGID_EDGE, TRACE
from pliant.pictures.film import Film, make_film, view_of
from pliant.pictures.words import as_written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.dynamics import Dynamics
    from pliant.pictures.canvas import Viewpoint

Floats = NDArray[np.float64]

FILMS = (".gif", ".mp4", ".html")
LONGEST = 20.0
# pictures per second and dots per inch: a GIF must stay small, an MP4 is small anyhow
QUALITY = {".gif": (20, 90), ".mp4": (30, 150)}
GIF_COLOURS = 64
WIDTH, HEIGHT, HEAD, MARGIN = 6.4, 4.8, 0.5, 0.3


def check_film(path: Path, seconds: float = LONGEST) -> None:
    """Refuse a film that cannot be made."""
    ending = path.suffix.lower()
    if ending not in FILMS:
        raise ValueError(f"{path}: a film must end in {', '.join(FILMS)}")
    if not (isfinite(seconds) and seconds > 0):
        raise ValueError(f"{path}: the film shall last {seconds:g} s; the length must be positive")
    if ending == ".mp4" and shutil.which("ffmpeg") is None:
        raise RuntimeError(f"{path}: an MP4 film needs the program ffmpeg, which is not installed; take .gif or .html")


def draw_film(arm: Dynamics, time: Floats, q: Floats, path: Path, seconds: float, title: str) -> None:
    """Write a GIF or an MP4 of the motion through configurations q (N, n) at times (N,), so many seconds long."""
    check_film(path, seconds)
    ending = path.suffix.lower()
    rate, dots = QUALITY[ending]
    film = make_film(arm, time, q, max(round(seconds * rate), 2))
    scene = _Scene(film, view_of(arm, film), title)
    scene.figure.set_dpi(dots)
    # a run with few samples gives fewer pictures, each shown for longer
    with written(path) as beside:
        if ending == ".gif":
            _write_gif(scene, beside, seconds / len(film.time))
        else:
            _write_mp4(scene, beside, len(film.time) / seconds)


def _write_gif(scene: _Scene, path: Path, each: float) -> None:
    """All pictures take the colours of the last one, in which everything is seen; white stays white."""
    from PIL import Image

    last = len(scene.film.time) - 1
    colours = Image.fromarray(scene.picture(last)).quantize(GIF_COLOURS, Image.Quantize.MAXCOVERAGE)
    plain = Image.Dither.NONE
    pictures = [Image.fromarray(scene.picture(k)).quantize(palette=colours, dither=plain) for k in range(last + 1)]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=round(1000 * each), loop=0)


def _write_mp4(scene: _Scene, path: Path, rate: float) -> None:
    from matplotlib.animation import FFMpegWriter

    writer = FFMpegWriter(fps=rate)  # type: ignore[arg-type]
    with writer.saving(scene.figure, str(path), dpi=scene.figure.dpi):
        for k in range(len(scene.film.time)):
            scene.show(k)
            writer.grab_frame()


class _Scene:
    """A figure with the strokes of a film, moved from picture to picture."""

    def __init__(self, film: Film, view: Viewpoint, title: str) -> None:
        from matplotlib.figure import Figure

        self.film, self.view = film, view
        self.figure: Figure = Figure(figsize=(WIDTH, HEIGHT), facecolor=PAPER)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.axis("off")
        self._fit(axes)
        (self.trace,) = axes.plot([], [], color=TRACE, lw=1.2)
        self.ghosts = [axes.plot([], [], color=PALE, lw=1.0, ls="--")[0] for _ in film.lines]
        round_ends: dict[str, Any] = {"solid_capstyle": "round", "solid_joinstyle": "round"}
        self.strokes = [
            axes.plot([], [], color=FLEXIBLE_EDGE if line.flexible else RIGID_EDGE, lw=4.0, **round_ends)[0]
            for line in film.lines
        ]
        (self.joints,) = axes.plot([], [], ls="none", marker="o", ms=5.5, mfc=PAPER, mec=INK, mew=1.3)
        (self.loads,) = axes.plot([], [], ls="none", marker="o", ms=8.0, mfc=LOAD, mec=LOAD_EDGE, mew=1.0)
        head = 1 - 0.25 / HEIGHT
        self.figure.text(0.3 / WIDTH, head, as_written(title), weight="bold", color=INK, va="center")
        self.clock = self.figure.text(1 - 0.3 / WIDTH, head, "", ha="right", color=GREY, va="center")

    def _fit(self, axes: Any) -> None:
        """Limits that hold the whole motion below the head, to one scale."""
        xy = self.view.project(self.film.points)
        low, high = xy.min(axis=0), xy.max(axis=0)
        free = WIDTH - 2 * MARGIN, HEIGHT - HEAD - 2 * MARGIN
        inch = max(float((high - low)[0]) / free[0], float((high - low)[1]) / free[1], 1e-9)
        x, y = (low + high) / 2
        axes.set_xlim(x - inch * WIDTH / 2, x + inch * WIDTH / 2)
        bottom = y - inch * (HEIGHT - HEAD) / 2
        axes.set_ylim(bottom, bottom + inch * HEIGHT)

    def show(self, k: int) -> None:
        """Set everything to one picture."""
        film, project = self.film, self.view.project
        for line, ghost, stroke in zip(film.lines, self.ghosts, self.strokes, strict=True):
            ghost.set_data(*project(line.rigid[k]).T)
            stroke.set_data(*project(line.bent[k]).T)
        self.trace.set_data(*project(film.tip[: k + 1]).T)
        self.joints.set_data(*project(film.joints[k]).T)
        self.loads.set_data(*project(film.loads[k]).T)
        self.clock.set_text(f"{film.time[k]:.2f} s")

    def picture(self, k: int) -> NDArray[np.uint8]:
        """One picture as red, green and blue (height, width, 3)."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self.show(k)
        canvas: Any = FigureCanvasAgg(self.figure)
        canvas.draw()
        return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
