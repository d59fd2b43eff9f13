"""Films of a motion: GIF, or MP4 where ffmpeg is installed; and the moving robot as lines in space.

Lines show every link as it bends, and as it would be if it were rigid.
"""

from __future__ import annotations

import shutil
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.along import unbent
from pliant.files import mark, written
from pliant.joints import KINDS
from pliant.model.description.outline import BASE
from pliant.pictures.bent_links import BentLinks
from pliant.pictures.canvas import (
    FLEXIBLE_EDGE,
    GREY,
    INK,
    LOAD,
    PALE,
    PAPER,
    RIGID,
    RIGID_EDGE,
    TRACE,
    Viewpoint,
    best_view,
    named_view,
)
from pliant.pictures.picture_words import as_written
from pliant.pictures.robot_solids import RobotSolids
from pliant.pictures.solids import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.dynamics import Dynamics
    from pliant.model.description.links import Link
    from pliant.pictures.canvas import View

MOST_PICTURES = 600
LINE_STATIONS = 15
"""Points along a flexible beam."""
SAME_PLACE = 1e-9


class Stroke(NamedTuple):
    """One stroke: points (pictures, points, 3) of the bent robot and of the rigid one, base frame."""

    link: str
    flexible: bool
    bent: Floats
    rigid: Floats


class Film(NamedTuple):
    """Pictures of a run.

    time    of the pictures, s (pictures,)
    q       configurations (pictures, n)
    lines   the strokes
    tip     the path of the tip (pictures, 3)
    loads   centres of hubs and payloads (pictures, parts, 3)
    """

    time: Floats
    q: Floats
    lines: list[Stroke]
    tip: Floats
    loads: Floats

    @property
    def points(self) -> Floats:
        """All points of the bent robot in all pictures (n, 3)."""
        return np.concatenate([line.bent.reshape(-1, 3) for line in self.lines] + [self.tip, self.loads.reshape(-1, 3)])


def make_film(arm: Dynamics, time: Floats, q: Floats, pictures: int = MOST_PICTURES) -> Film:
    """At most so many pictures, evenly spread over the samples: times (N,) and configurations (N, n)."""
    rows = np.unique(np.linspace(0, len(time) - 1, min(pictures, len(time))).round().astype(int))
    q, robot = q[rows], arm.robot
    bent, rigid = BentLinks(arm, q), BentLinks(arm, unbent(arm, q))
    lines = []
    for link in robot.links:
        pairs = zip(_strokes(bent, link), _strokes(rigid, link), strict=True)
        # what leads from the axis to other links does not bend
        lines += [Stroke(link.name, link.is_flexible and k == 0, a, b) for k, (a, b) in enumerate(pairs)]
    # what has no length is not drawn
    seen = [line for line in lines if np.ptp(line.bent, axis=1).max() > SAME_PLACE]
    return Film(time[rows], q, seen, bent.position("tip"), bent.loads())


def exaggerated(arm: Dynamics, q: Floats, factor: float) -> Floats:
    """Configurations (N, n) whose difference from the rigid robot's is so many times as large."""
    if not (np.isfinite(factor) and factor >= 0):
        raise ValueError(f"exaggeration is {factor:g}; it must be a number, not below zero")
    if factor == 1:
        return q
    rigid = unbent(arm, q)
    return np.asarray(rigid + factor * (q - rigid))


def view_of(arm: Dynamics, film: Film) -> Viewpoint:
    """Onto the plane of the motion if there is one, otherwise from a corner."""
    from pliant.pictures.bent_links import place_links

    turning = [item.axis for item in place_links(arm.robot).values() if KINDS[item.link.joint.type].symbol.drum]
    return best_view(film.points, np.reshape(turning, (-1, 3)))


def _strokes(at: BentLinks, link: Link) -> list[Floats]:
    """The axis of a link, then what leads from its frames to the links on it and to the ends of loops."""
    robot, name = at.robot, link.name
    root = at.position(f"{name}.root")
    if link.has_axis and link.is_flexible:
        axis = at.axis(link, LINE_STATIONS)
    else:
        axis = np.stack([root, at.position(f"{name}.tip")], axis=1)
    out = [axis]
    for child in robot.children_of(name):
        frame = at.position(f"{name}.{robot.parent_of(child)[1]}")
        # a body with an axis is drawn to the place that carries the child, any other from its root
        foot = frame if link.has_axis else root
        out.append(_way(at, foot, child))
    if not link.has_axis:
        ends = [robot.resolve_frame(frame) for loop in robot.loops for frame in loop.frames]
        out += [np.stack([root, at.position(f"{name}.{frame}")], axis=1) for on, frame in ends if on == name]
    if robot.parent_of(name)[0] == BASE:
        out.append(_way(at, np.zeros_like(root), name))
    return out


def _way(at: BentLinks, foot: Floats, name: str) -> Floats:
    """From a place on what carries a link to its root; along the rail of a sliding joint."""
    joint = at.robot.link(name).joint
    root = at.position(f"{name}.root")
    if not KINDS[joint.type].symbol.rail:
        return np.stack([foot, root], axis=1)
    parent, frame = at.robot.parent_of(name)
    begin = joint.placement.vector()
    if parent == BASE:
        rail = np.broadcast_to(begin, root.shape)
    else:
        pose = at.pose(f"{parent}.{frame}")
        rail = pose.position + pose.rotation @ begin
    return np.stack([foot, rail, root], axis=1)


Floats = NDArray[np.float64]

FILMS = (".gif", ".mp4", ".html")
LONGEST = 20.0
# pictures per second and dots per inch: a GIF must stay small, an MP4 is small anyhow
QUALITY = {".gif": (20, 90), ".mp4": (30, 150)}
GIF_COLOURS = 64
STATIONS, TRIANGLES = 13, 1500
"""Sections along a beam, and triangles of the meshes of a link."""
PAINT: dict[Kind, str] = {
    "flexible": FLEXIBLE_EDGE,
    "rigid": PALE,
    "joint": RIGID_EDGE,
    "load": LOAD,
    "looks": RIGID,
    "ground": GREY,
}
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


def draw_film(
    arm: Dynamics,
    time: Floats,
    q: Floats,
    path: Path,
    seconds: float,
    title: str,
    *,
    view: View | None = None,
    size: tuple[int, int] | None = None,
    exaggeration: float = 1.0,
) -> None:
    """Write a GIF or an MP4 of the motion through configurations q (N, n) at times (N,), so many seconds long.

    view          xy, xz, yz, corner, or azimuth and elevation in degrees; default: what shows the motion best
    size          width and height, pixels
    exaggeration  factor of what bending does
    """
    check_film(path, seconds)
    ending = path.suffix.lower()
    rate, dots = QUALITY[ending]
    film = make_film(arm, time, exaggerated(arm, q, exaggeration), max(round(seconds * rate), 2))
    # widths of lines and letters are those of a page of the usual height
    width, height = (WIDTH, HEIGHT) if size is None else (HEIGHT * size[0] / size[1], HEIGHT)
    if exaggeration != 1:
        title = f"{title}, bending {exaggeration:g} times"
    looks = view_of(arm, film) if view is None else named_view(view)
    scene = _Scene(film, _Faces(arm, film, looks), title, width, height)
    scene.figure.set_dpi(dots if size is None else size[1] / HEIGHT)
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
    pictures[0].save(
        path, save_all=True, append_images=pictures[1:], duration=round(1000 * each), loop=0, comment=mark()
    )


def _write_mp4(scene: _Scene, path: Path, rate: float) -> None:
    from matplotlib.animation import FFMpegWriter

    writer = FFMpegWriter(fps=rate, metadata={"comment": mark()})  # type: ignore[arg-type]
    with writer.saving(scene.figure, str(path), dpi=scene.figure.dpi):
        for k in range(len(scene.film.time)):
            scene.show(k)
            writer.grab_frame()


class _Faces:
    """The solids of a robot in the pictures of a film: the triangles that face the eye, the far ones first."""

    def __init__(self, arm: Dynamics, film: Film, view: Viewpoint) -> None:
        from matplotlib.colors import to_rgb

        self.view = view
        drawn = RobotSolids(arm, STATIONS, TRIANGLES)
        self.solids = [(solid, np.array(to_rgb(PAINT[solid.kind]))) for solid in drawn.solids if len(solid.faces)]
        self.positions, self.axes = drawn.skeleton.places(film.q)

    def corners(self) -> Floats:
        """All of them, in all pictures (n, 3)."""
        every = [solid.vertices(self.positions, self.axes).reshape(-1, 3) for solid, _ in self.solids]
        return np.concatenate(every)

    def at(self, k: int) -> tuple[Floats, Floats]:
        """Corners in the picture (n, 3, 2) and colours (n, 3) at one instant."""
        places = self.positions[k], self.axes[k]
        triangles = np.concatenate([solid.vertices(*places)[solid.faces] for solid, _ in self.solids])
        colours = np.concatenate([np.tile(colour, (len(solid.faces), 1)) for solid, colour in self.solids])
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        facing = normals @ self.view.towards / np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
        seen = np.flatnonzero(facing > 0)
        seen = seen[np.argsort(triangles[seen].mean(axis=1) @ self.view.towards)]
        return self.view.project(triangles[seen]), colours[seen] * (0.6 + 0.4 * facing[seen, None])


class _Scene:
    """A figure with the strokes and the faces of a film, moved from picture to picture."""

    def __init__(self, film: Film, faces: _Faces, title: str, width: float, height: float) -> None:
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        self.film, self.faces, self.view = film, faces, faces.view
        self.width, self.height = width, height
        self.figure: Figure = Figure(figsize=(width, height), facecolor=PAPER)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.axis("off")
        self._fit(axes)
        (self.trace,) = axes.plot([], [], color=TRACE, lw=1.2)
        self.ghosts = [axes.plot([], [], color=PALE, lw=1.0, ls="--")[0] for _ in film.lines]
        round_ends: dict[str, Any] = {"solid_capstyle": "round", "solid_joinstyle": "round"}
        self.strokes = [
            axes.plot([], [], color=FLEXIBLE_EDGE if line.flexible else PALE, lw=1.6, **round_ends)[0]
            for line in film.lines
        ]
        # beams that are thinner than a line are still seen
        self.solids: Any = PolyCollection([], linewidths=0.2, zorder=3)
        axes.add_collection(self.solids, autolim=False)
        head = 1 - 0.25 / height
        self.figure.text(0.3 / width, head, as_written(title), weight="bold", color=INK, va="center")
        self.clock = self.figure.text(1 - 0.3 / width, head, "", ha="right", color=GREY, va="center")

    def _fit(self, axes: Any) -> None:
        """Limits that hold the whole motion below the head, to one scale."""
        xy = self.view.project(np.concatenate([self.film.points, self.faces.corners()]))
        low, high = xy.min(axis=0), xy.max(axis=0)
        free = self.width - 2 * MARGIN, self.height - HEAD - 2 * MARGIN
        inch = max(float((high - low)[0]) / free[0], float((high - low)[1]) / free[1], 1e-9)
        x, y = (low + high) / 2
        axes.set_xlim(x - inch * self.width / 2, x + inch * self.width / 2)
        bottom = y - inch * (self.height - HEAD) / 2
        axes.set_ylim(bottom, bottom + inch * self.height)

    def show(self, k: int) -> None:
        """Set everything to one picture."""
        film, project = self.film, self.view.project
        for line, ghost, stroke in zip(film.lines, self.ghosts, self.strokes, strict=True):
            ghost.set_data(*project(line.rigid[k]).T)
            stroke.set_data(*project(line.bent[k]).T)
        self.trace.set_data(*project(film.tip[: k + 1]).T)
        corners, colours = self.faces.at(k)
        self.solids.set_verts(list(corners))
        self.solids.set_facecolor(colours)
        self.solids.set_edgecolor(colours)
        self.clock.set_text(f"{film.time[k]:.2f} s")

    def picture(self, k: int) -> NDArray[np.uint8]:
        """One picture as red, green and blue (height, width, 3)."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self.show(k)
        canvas: Any = FigureCanvasAgg(self.figure)
        canvas.draw()
        return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
