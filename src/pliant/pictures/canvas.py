"""A picture plane for robots: a parallel projection, solid strokes, and labels that find free places."""

from __future__ import annotations

import io
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.files import mark, written
from pliant.pictures.picture_words import as_written

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

INK, GREY, PALE, PAPER = "#1f2937", "#475569", "#94a3b8", "white"
AXIS_COLOURS = ("#dc2626", "#16a34a", "#2563eb")
RIGID, RIGID_EDGE = "#cbd5e1", "#475569"
FLEXIBLE, FLEXIBLE_EDGE = "#93c5fd", "#1d4ed8"
LOAD, LOAD_EDGE = "#fbbf24", "#92400e"
TRACE = "#f59e0b"

PICTURES = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 160
SCREEN_DOTS = 100
# inches: width of a picture, its heights, the head with the titles, the foot with scale and facts, the margin
WIDTH, LOWEST, HIGHEST, HEAD, FOOT, MARGIN = 9.0, 2.4, 7.0, 0.75, 0.75, 0.75
# extents below this part of the largest one count as flat
FLAT = 1e-6


class Viewpoint(NamedTuple):
    """A direction to look along: ``right`` and ``up`` span the picture."""

    right: Array
    up: Array
    is_flat: bool

    @property
    def towards(self) -> Array:
        """The direction to the eye."""
        return np.cross(self.right, self.up)

    def project(self, points: Array) -> Array:
        """Points (..., 3) in the picture (..., 2)."""
        return np.stack([points @ self.right, points @ self.up], axis=-1)


def straight_view(axis: int) -> Viewpoint:
    """Along a coordinate axis; z is up where it can be seen, otherwise y."""
    e = np.eye(3)
    right, up = {0: (e[1], e[2]), 1: (e[0], e[2]), 2: (e[0], e[1])}[axis]
    return Viewpoint(right, up, is_flat=True)


def corner_view(azimuth: float = -58.0, elevation: float = 20.0) -> Viewpoint:
    """From a raised corner, angles in degrees."""
    a, e = np.radians(azimuth), np.radians(elevation)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    return Viewpoint(right, np.cross(towards, right), is_flat=False)


View = str | tuple[float, float]
"""xy, xz, yz, corner, or azimuth and elevation in degrees."""
VIEWS = ("xy", "xz", "yz", "corner")


def named_view(given: View) -> Viewpoint:
    """The viewpoint that a user names."""
    if isinstance(given, str):
        if given not in VIEWS:
            raise ValueError(f"view is '{given}'; it must be {', '.join(VIEWS)}, or azimuth and elevation in degrees")
        return corner_view() if given == "corner" else straight_view({"yz": 0, "xz": 1, "xy": 2}[given])
    angles = np.asarray(given, dtype=float)
    if angles.shape != (2,) or not np.isfinite(angles).all():
        raise ValueError(f"view is {given!r}; it must be {', '.join(VIEWS)}, or azimuth and elevation in degrees")
    return corner_view(float(angles[0]), float(angles[1]))


def best_view(points: Array, axes: Array) -> Viewpoint:
    """Onto the plane in which the robot moves if there is one, otherwise from a corner.

    ``points`` (n, 3) of the robot, ``axes`` (m, 3) of its revolute joints.
    """
    extent = np.ptp(points, axis=0)
    flat = extent <= FLAT * max(float(extent.max()), 1e-12)
    turning = np.abs(axes).max(axis=0, initial=0.0) > FLAT
    for axis in (2, 1, 0):
        others = [k for k in range(3) if k != axis]
        if flat[axis] and not turning[others].any() and (turning[axis] or not turning.any()):
            return straight_view(axis)
    return corner_view()


@cache
def _shown() -> type[Figure]:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that a notebook shows without pyplot."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", dpi=SCREEN_DOTS)
            return buffer.getvalue()

    return ShownFigure


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, inches, which a notebook shows."""
    return _shown()(figsize=(width, height), facecolor=PAPER)


class Canvas:
    """A figure that fits some points; lengths are metres, symbols have a fixed size on paper."""

    def __init__(self, view: Viewpoint, points: Array) -> None:
        self.view = view
        xy = view.project(points)
        low, high = xy.min(axis=0), xy.max(axis=0)
        middle, span = (low + high) / 2, np.maximum(high - low, 1e-6)
        free_width, free_height = WIDTH - 2 * MARGIN, HIGHEST - 2 * MARGIN
        self.metres_per_inch = float(max(span[0] / free_width, span[1] / free_height))
        height = float(np.clip(span[1] / self.metres_per_inch + 2 * MARGIN, LOWEST, HIGHEST))
        whole = height + HEAD + FOOT
        self.figure: Figure = new_figure(WIDTH, whole)
        self.axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self.axes.axis("off")
        # the drawing sits between head and foot
        left = middle[0] - WIDTH / 2 * self.metres_per_inch
        bottom = middle[1] - (height / 2 + FOOT) * self.metres_per_inch
        self.axes.set_xlim(left, left + WIDTH * self.metres_per_inch)
        self.axes.set_ylim(bottom, bottom + whole * self.metres_per_inch)
        self._labels: list[tuple[Array, str, dict[str, Any]]] = []
        self._taken: list[Array] = []

    @property
    def unit(self) -> float:
        """The size of a symbol in metres."""
        return 0.4 * self.metres_per_inch

    def stroke(self, points: Array, *, colour: str, fill: str, width: float, order: float) -> None:
        """A rounded tube along points (n, 3), ``width`` in typographic points."""
        xy = self.view.project(np.asarray(points))
        style: dict[str, Any] = {"solid_capstyle": "round", "solid_joinstyle": "round"}
        self.axes.plot(*xy.T, color=colour, lw=width, zorder=order, **style)
        self.axes.plot(*xy.T, color=fill, lw=width - 2.4, zorder=order + 0.05, **style)
        self._taken.append(xy)

    def bar(self, ends: Array, *, colour: str, fill: str, width: float, order: float) -> None:
        """A tube with straight ends between two points."""
        xy = self.view.project(np.asarray(ends))
        direction = xy[1] - xy[0]
        inset = 1.2 / 72 * self.metres_per_inch * direction / max(float(np.hypot(*direction)), 1e-12)
        inner = np.array([xy[0] + inset, xy[1] - inset])
        self.axes.plot(*xy.T, color=colour, lw=width, zorder=order, solid_capstyle="butt")
        self.axes.plot(*inner.T, color=fill, lw=width - 2.4, zorder=order + 0.01, solid_capstyle="butt")
        self._taken.append(xy)

    def thin(
        self, points: Array, *, colour: str, width: float, dash: str = "-", order: float = 1.0, clear: bool = False
    ) -> None:
        """A thin line that labels may cross, unless it is kept clear of them."""
        xy = self.view.project(np.asarray(points))
        self.axes.plot(*xy.T, color=colour, lw=width, ls=dash, zorder=order)
        if clear:
            self._taken.append(xy)

    def patch(self, corners: Array, *, colour: str, alpha: float = 1.0, hatch: str = "", order: float = 0.5) -> None:
        """A filled polygon with corners (n, 3); labels keep off a hatched one."""
        from matplotlib.patches import Polygon

        style: dict[str, Any] = {
            "facecolor": colour,
            "edgecolor": PALE if hatch else "none",
            "hatch": hatch,
            "lw": 0.0,
        }
        xy = self.view.project(corners)
        self.axes.add_patch(Polygon(xy, alpha=alpha, zorder=order, **style))
        if hatch:
            self._taken.append(np.concatenate([xy, xy[:1]]))

    def facets(self, triangles: Array, *, colour: str, order: float = 0.3) -> None:
        """Triangles (n, 3, 3) shaded by how they face the eye, the far ones first."""
        from matplotlib.collections import PolyCollection
        from matplotlib.colors import to_rgb

        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        size = np.linalg.norm(normals, axis=1)
        shown = size > 0
        facing = np.abs(normals[shown] @ self.view.towards) / size[shown]
        far_first = np.argsort(triangles[shown].mean(axis=1) @ self.view.towards)
        shade = 1.0 - (1.0 - np.array(to_rgb(colour))) * (1.0 - 0.6 * facing[:, None])
        faces = PolyCollection(
            list(self.view.project(triangles[shown])[far_first]),
            facecolors=shade[far_first],
            edgecolors="face",
            linewidths=0.2,
            zorder=order,
            rasterized=True,
        )
        self.axes.add_collection(faces, autolim=False)

    def mark(self, point: Array, marker: str, *, points: float, face: str, edge: str = INK, order: float = 4.0) -> None:
        """A symbol of a size in typographic points."""
        x, y = self.view.project(np.asarray(point))
        self.axes.plot([x], [y], marker=marker, ms=points, mfc=face, mec=edge, mew=1.3, ls="none", zorder=order)
        ring = points / 2 / 72 * self.metres_per_inch
        self._taken.append(np.array([[x - ring, y], [x + ring, y], [x, y - ring], [x, y + ring]]))

    def arrow(self, start: Array, end: Array, *, colour: str, width: float, order: float) -> None:
        """An arrow between two points, left out where one looks along it."""
        a, b = self.view.project(np.asarray(start)), self.view.project(np.asarray(end))
        if np.hypot(*(b - a)) > 0.25 * np.linalg.norm(end - start):
            self._flat_arrow(a, b, colour, width, order)
            self._taken.append(np.array([a, b]))

    def label(self, point: Array, text: str, **style: Any) -> None:
        """A text near a point; where exactly is decided when everything else is drawn."""
        self._labels.append((self.view.project(np.asarray(point)), text, {"fontsize": 8.5, "color": INK, **style}))

    def place_labels(self) -> None:
        """Put every label where it covers least: not on symbols, not on other labels, near its point."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=2.5, foreground=PAPER)]
        renderer = FigureCanvasAgg(self.figure).get_renderer()  # type: ignore[no-untyped-call]
        inch = self.metres_per_inch
        busy = np.concatenate([np.empty((0, 2)), *(_dense(xy, inch / 15) for xy in self._taken)])
        boxes: list[Array] = []
        for xy, text, style in self._labels:
            drawn = self._text(xy, text, zorder=6, path_effects=halo, **style)
            extent = drawn.get_window_extent(renderer)
            half = np.array([extent.width, extent.height]) / 2 / self.figure.dpi * inch
            centre = self._free_place(xy, half, busy, boxes)
            drawn.set_position((float(centre[0]), float(centre[1])))
            boxes.append(np.array([centre - half, centre + half]))

    def _free_place(self, xy: Array, half: Array, busy: Array, boxes: list[Array]) -> Array:
        """The centre, around a point, of the box of a given half size that covers least."""
        inch, (left, right) = self.metres_per_inch, self.axes.get_xlim()
        best, best_cost = xy, np.inf
        for reach in np.array([0.11, 0.17, 0.24, 0.34, 0.46]) * inch:
            for angle in np.radians(np.arange(90.0, 450.0, 15.0)):
                centre = xy + np.array([np.cos(angle), np.sin(angle)]) * (reach + half)
                # strokes are wide: keep half of the widest away from their middle lines
                low, high = centre - half - 0.07 * inch, centre + half + 0.07 * inch
                overlap = sum(_overlap(low, high, box) for box in boxes) / inch**2
                covered = np.count_nonzero(((busy > low) & (busy < high)).all(axis=1))
                outside = low[0] < left or high[0] > right
                cost = 400.0 * overlap + 4.0 * covered + 6.0 * reach / inch + 1e6 * outside
                if cost < best_cost:
                    best, best_cost = centre, cost
        return best

    def corner(self, gravity: Array) -> None:
        """Axes of the base, direction of gravity and a scale bar, in the lower left corner."""
        inch = self.metres_per_inch
        corner = np.array([self.axes.get_xlim()[0], self.axes.get_ylim()[0]])
        for axis, colour, name in zip(np.eye(3), AXIS_COLOURS, "xyz", strict=True):
            self._direction(corner + np.array([0.55, 0.35]) * inch, self.view.project(axis), colour, name)
        if np.any(gravity):
            self._gravity(corner + np.array([1.25, 0.5]) * inch, gravity / np.linalg.norm(gravity))
        bar = _round_length(1.2 * inch)
        start = corner + np.array([1.75, 0.32]) * inch
        self.axes.plot([start[0], start[0] + bar], [start[1]] * 2, color=INK, lw=2, solid_capstyle="butt")
        for end in (0.0, bar):
            self.axes.plot([start[0] + end] * 2, start[1] + np.array([-0.04, 0.04]) * inch, color=INK, lw=1)
        text = f"{bar:g} m" if bar >= 1 else f"{1000 * bar:g} mm"
        self._text(start + np.array([bar / 2, 0.14 * inch]), text, fontsize=8, color=INK)

    def _gravity(self, place: Array, down: Array) -> None:
        """An arrow, or its head or feathers where it points out of the picture or into it."""
        out = float(down @ self.view.towards)
        if abs(out) < 0.99:
            flat = self.view.project(down)
            self._direction(place - 0.18 * self.metres_per_inch * flat, flat, INK, "g")
            return
        self.axes.plot(*place, marker="o", ms=9, mfc=PAPER, mec=INK, mew=1.1)
        self.axes.plot(*place, marker="." if out > 0 else "x", ms=5, color=INK, mew=1.1)
        self._text(place - np.array([0.0, 0.17]) * self.metres_per_inch, "g", fontsize=8, color=INK)

    def titles(self, title: str, subtitle: str, facts: str) -> None:
        """Name and description above, a line of facts below."""
        head(self.figure, title, subtitle)
        height = self.figure.get_figheight()
        self.figure.text(
            1 - 0.3 / WIDTH, 0.33 / height, as_written(facts), fontsize=8.5, color=GREY, va="center", ha="right"
        )

    def _direction(self, start: Array, direction: Array, colour: str, name: str) -> None:
        """A named arrow in the corner, left out where one looks along it."""
        seen = float(np.hypot(*direction))
        if seen < 0.1:
            return
        end = start + 0.36 * self.metres_per_inch * direction
        self._flat_arrow(start, end, colour, 1.3, 5.0)
        self._text(end + 0.1 * self.metres_per_inch * direction / seen, name, color=colour, fontsize=8)

    def _flat_arrow(self, start: Array, end: Array, colour: str, width: float, order: float) -> None:
        style = {"arrowstyle": "-|>", "color": colour, "lw": width, "mutation_scale": 7}
        ends = {"shrinkA": 0, "shrinkB": 0}
        self.axes.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops={**style, **ends}, zorder=order)

    def _text(self, at: Array, text: str, **style: Any) -> Text:
        return self.axes.text(float(at[0]), float(at[1]), text, ha="center", va="center", **style)


def head(figure: Figure, title: str, subtitle: str) -> None:
    """The two lines above a picture."""
    width, height = figure.get_size_inches()
    title, subtitle = as_written(title), as_written(subtitle)
    figure.text(0.3 / width, 1 - 0.32 / height, title, fontsize=14, weight="bold", color=INK, va="center")
    figure.text(0.3 / width, 1 - 0.57 / height, subtitle, fontsize=9, color=GREY, va="center")


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's ending; the same picture gives the same file."""
    from matplotlib import rc_context

    ending = path.suffix.lower()
    if ending not in PICTURES:
        raise ValueError(f"{path}: a picture must end in {', '.join(PICTURES)}")
    about: dict[str, dict[str, str | None]] = {
        ".png": {"Software": mark()},
        ".svg": {"Creator": mark(), "Date": None},
        ".pdf": {"Creator": mark(), "CreationDate": None},
    }
    with rc_context({"svg.hashsalt": "pliant"}), written(path) as beside:
        figure.savefig(beside, dpi=DOTS_PER_INCH, metadata=about.get(ending))


def polygon(centre: Array, normal: Array, radius: float, corners: int) -> Array:
    """The corners (n, 3) of a regular polygon in space, its first side level where that can be."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    v = np.cross(normal, helper)
    v /= np.linalg.norm(v)
    u = np.cross(v, normal)
    angles = 2 * np.pi * (np.arange(corners) + 0.5) / corners
    ring: Array = centre + radius * (np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v)
    return ring


def _dense(xy: Array, step: float) -> Array:
    """Points on a polyline at small distances."""
    parts = [xy[:1]]
    for a, b in pairwise(xy):
        n = max(int(np.hypot(*(b - a)) / step), 1)
        parts.append(a + (b - a) * (np.arange(1, n + 1) / n)[:, None])
    return np.concatenate(parts)


def _overlap(low: Array, high: Array, box: Array) -> float:
    sides = np.minimum(high, box[1]) - np.maximum(low, box[0])
    return float(np.prod(np.maximum(sides, 0.0)))


def _round_length(largest: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is not longer."""
    decade = 10.0 ** np.floor(np.log10(largest))
    return float(max(k for k in (1, 2, 5, 10) if k * decade <= largest * 1.0001) * decade)
