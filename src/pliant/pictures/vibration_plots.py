"""Pictures of vibrations: of the whole robot, of single links, frequencies over the speed of a joint, Bode pictures.

Bode pictures have magnitude and phase of frequency responses over the frequency, measured ones laid over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.families import FAMILIES, family_word
from pliant.bodies.modal_body import Array
from pliant.bodies.words import LinkMode, link_modes
from pliant.pictures.bent_links import BentLinks
from pliant.pictures.canvas import GREY, HEAD, INK, LOAD, PALE, PAPER, best_view, head, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.analysis.lumped.frequencies import SpeedFrequencies
    from pliant.analysis.modes import ModeSet
    from pliant.control.measured_response import MeasuredResponse
    from pliant.dynamics import Dynamics
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

# ---------------------------------------------------------------- natural modes of a whole robot


SHOWN_MODES = 6
COLUMNS = 3
STATIONS = 41
# largest displacement in a picture, as a part of the size of the robot
SWING = 0.12
# of differences, in units of shapes of unit modal mass
MODE_STEP = 1e-5
BLUE = "#1d4ed8"


def draw_modes(arm: Dynamics, modes: ModeSet, path: Path) -> None:
    """Draw the lowest vibrations into a PNG, SVG or PDF file."""
    mode_figure(arm, modes, path)


def mode_figure(arm: Dynamics, modes: ModeSet, path: str | Path | None = None) -> Figure:
    """A picture of the lowest vibrations; written to a file if a path is given."""
    rest = robot_lines(arm, modes.q)
    points = np.concatenate(rest)
    view = best_view(points, joint_axes(arm, modes.q))
    shown = [k for k in range(len(modes)) if modes.squares[k] > 0][:SHOWN_MODES]
    rows = max(1, -(-len(shown) // COLUMNS))
    figure = new_figure(10.5, 0.8 + 3.0 * rows)
    head(figure, arm.robot.name, "natural modes of the whole robot, not to scale")
    flat = view.project(points)
    middle = (flat.min(axis=0) + flat.max(axis=0)) / 2
    half = float(np.ptp(flat, axis=0).max()) * (0.5 + SWING)
    for place, k in enumerate(shown):
        row, column = divmod(place, COLUMNS)
        height = 3.0 / (0.8 + 3.0 * rows)
        axes = figure.add_axes((column / COLUMNS + 0.01, (rows - 1 - row) * height + 0.01, 0.31, 0.86 * height))
        # of a complex shape, its motion when the largest part is at its end
        for colour, width, lines in swings(arm, modes.q, modes.shapes[:, k].real, rest):
            *links, loads = lines
            for line in links:
                axes.plot(*view.project(line).T, color=colour, lw=width, solid_capstyle="round", zorder=1 + width)
            face = LOAD if colour == BLUE else PAPER
            axes.plot(*view.project(loads).T, ls="none", marker="o", ms=7, mfc=face, mec=colour, zorder=1.1 + width)
        axes.set_xlim(middle[0] - half, middle[0] + half)
        axes.set_ylim(middle[1] - half, middle[1] + half)
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set_title(f"{k + 1}:  {modes.hertz[k]:.4g} Hz", fontsize=10, color=INK)
    if path is not None:
        save(figure, Path(path))
    return figure


def swings(arm: Dynamics, q: Array, shape: Array, rest: list[Array]) -> Iterator[tuple[str, float, list[Array]]]:
    """Colour, width and lines of the robot at rest and at the two ends of a motion; displacements are linear."""
    ahead, behind = (robot_lines(arm, q + sign * MODE_STEP * shape) for sign in (1.0, -1.0))
    moved = [(a - b) / (2 * MODE_STEP) for a, b in zip(ahead, behind, strict=True)]
    size = float(np.ptp(np.concatenate(rest), axis=0).max())
    swing = SWING * size / max(max(float(np.abs(d).max(initial=0.0)) for d in moved), 1e-300)
    yield PALE, 1.2, rest
    yield GREY, 1.2, [line - swing * d for line, d in zip(rest, moved, strict=True)]
    yield BLUE, 2.2, [line + swing * d for line, d in zip(rest, moved, strict=True)]


def robot_lines(arm: Dynamics, q: Array) -> list[Array]:
    """Points (k, 3) along every link, and at the end the centres of hubs and payloads, base frame."""
    at, lines = BentLinks(arm, q), []
    for link in arm.robot.links:
        if link.has_axis:
            lines.append(at.axis(link, STATIONS))
            continue
        # from the joint to every frame that something hangs on, or to the tip
        used = [arm.robot.parent_of(child)[1] for child in arm.robot.children_of(link.name)] or ["tip"]
        lines += [np.array([at.position(f"{link.name}.{end}") for end in ("root", frame)]) for frame in used]
    return [*lines, at.loads()]


def joint_axes(arm: Dynamics, q: Array) -> Array:
    """Axes of the revolute joints in the base (m, 3)."""
    at, turning = BentLinks(arm, q), [m for m in arm.mechanism.members if m.joint.kind.symbol.drum]
    return np.array([at.own(member.name).rotation @ member.joint.axis_B for member in turning]).reshape(-1, 3)


# ---------------------------------------------------------------- the mode shapes of the flexible links of a robot, one


# more shapes than this in a panel cannot be told apart
SHOWN_SHAPES = 20
FAMILY_COLOURS = ("#1d4ed8", "#0f766e", "#b45309", "#7c3aed", "#0369a1", "#4d7c0f")
"""Of the families of a beam in their order; those of other bodies take the first."""


def draw_shapes(robot: Robot, path: Path) -> None:
    """Draw the mode shapes of every flexible beam into a PNG, SVG or PDF file."""
    from matplotlib.figure import Figure

    panels: list[list[tuple[Link, list[LinkMode]]]] = []
    for link in robot.links:
        drawn = [mode for mode in link_modes(link, robot) if len(mode.x)]
        if drawn:
            groups = groupby(drawn, key=lambda mode: mode.family)
            panels.append([(link, list(modes)[:SHOWN_SHAPES]) for _, modes in groups])
    columns = max(len(row) for row in panels)
    # inches: rows by their largest number of shapes, with room for titles above and the scale below
    heights = [0.42 * max(len(modes) for _, modes in row) + 1.2 for row in panels]
    width, height = max(4.4 * columns, 6.5), sum(heights) + HEAD
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    head(figure, robot.name, "mode shapes of the single links, each to its own scale")
    bottom = height - HEAD
    for row, row_height in zip(panels, heights, strict=True):
        bottom -= row_height
        for column, (link, modes) in enumerate(row):
            left = column * width / columns + 0.45
            box = (
                left / width,
                (bottom + 0.5) / height,
                1 / columns - 1.35 / width,
                (row_height - 1.1) / height,
            )
            _draw_panel(figure.add_axes(box), link, modes)
    save(figure, path)


def _draw_panel(axes: Axes, link: Link, modes: list[LinkMode]) -> None:
    """The shapes one above the other, the lowest frequency at the bottom, each around its own line."""
    family = modes[0].family
    colour = dict(zip(FAMILIES, FAMILY_COLOURS, strict=True)).get(family, FAMILY_COLOURS[0])
    for level, mode in enumerate(modes):
        u = 0.42 * mode.shape / np.abs(mode.shape).max()
        axes.axhline(level, color=PALE, lw=0.6, zorder=1)
        axes.fill_between(mode.x, level, level + u, color=colour, alpha=0.16, lw=0, zorder=2)
        axes.plot(mode.x, level + u, color=colour, lw=1.7, zorder=3, solid_capstyle="round")
        text: dict[str, Any] = {"va": "center", "fontsize": 8.5, "transform": axes.get_yaxis_transform()}
        axes.text(1.03, level, f"{mode.frequency:.4g} Hz", color=INK, **text)
        axes.text(-0.03, level, f"{mode.number}", color=GREY, ha="right", **text)
    axes.set_xlim(0.0, modes[0].x[-1])
    axes.set_ylim(-0.6, len(modes) - 0.4)
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    title = f"{link.name}: {family_word(family)}"
    axes.annotate(title, (0, 1), (0, 16), fontsize=9.5, color=colour, weight="bold", **above)
    axes.annotate(modes[0].support, (0, 1), (0, 5), fontsize=8, color=GREY, **above)
    axes.set_yticks([])
    axes.set_xlabel("x / m", fontsize=8, labelpad=1, color=GREY)
    axes.tick_params(labelsize=8, colors=GREY, length=3)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(PALE)


# ---------------------------------------------------------------- a picture of natural frequencies over the speed of a


Floats = NDArray[np.float64]

STIFF, SOFT = "#2563eb", "#dc2626"


def draw_speed(
    found: SpeedFrequencies,
    title: str,
    path: Path,
    *,
    unit: tuple[float, str] = (1 / (2 * np.pi), "Hz"),
    speed_unit: tuple[float, str] = (30 / np.pi, "rpm"),
    known: Mapping[str, tuple[Floats, Floats]] | None = None,
) -> None:
    """Write the curves; units are (factor, word), ``known`` are values from elsewhere: speeds and frequencies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.6), facecolor="white")
    axes = figure.subplots(gridspec_kw={"top": 0.84, "left": 0.11, "right": 0.97, "bottom": 0.12})
    speeds = speed_unit[0] * found.speeds
    for k in range(found.stiffened.shape[1]):
        first = not k
        axes.plot(
            speeds, unit[0] * found.stiffened[:, k], color=STIFF, lw=1.5, label="second-order links" if first else None
        )
        axes.plot(
            speeds,
            unit[0] * found.softened[:, k],
            color=SOFT,
            lw=1.2,
            ls="--",
            label="dynamic stiffness alone" if first else None,
        )
    for label, (at, values) in (known or {}).items():
        axes.plot(speed_unit[0] * at, unit[0] * values, "o", mfc="none", mec="#0f172a", ms=5, label=label)
    axes.set_xlabel(f"speed of {found.joint}, {speed_unit[1]}")
    axes.set_ylabel(f"natural frequency, {unit[1]}")
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0.01)
    axes.grid(color="#e2e8f0", lw=0.6)
    axes.legend(fontsize=7)
    head(figure, title, "natural frequencies over the speed of a joint")
    save(figure, path)


# ---- bode plot


Complexes = NDArray[np.complex128]

COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2")


def draw_bode(
    hertz: Floats,
    curves: Mapping[str, Complexes],
    title: str,
    path: Path,
    *,
    measured: MeasuredResponse | None = None,
) -> None:
    """Write the curves, by their labels, as one picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.6), facecolor="white")
    above, below = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"top": 0.86, "left": 0.12, "right": 0.97, "bottom": 0.1, "hspace": 0.08}
    )
    for k, (label, values) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        above.plot(hertz, decibels(values), color=colour, lw=1.4, label=label)
        below.plot(hertz, phase(values), color=colour, lw=1.4)
    if measured is not None:
        dots = {"ls": "", "marker": "o", "ms": 3, "mfc": "none", "mec": "#0f172a"}
        above.plot(measured.hertz, decibels(measured.value), label="measured", **dots)
        below.plot(measured.hertz, phase(measured.value), **dots)
    above.set_xscale("log")
    above.set_ylabel("magnitude, dB")
    below.set_ylabel("phase, deg")
    below.set_xlabel("frequency, Hz")
    for axes in (above, below):
        axes.grid(color="#e2e8f0", lw=0.6, which="both")
        axes.margins(x=0.0)
    above.legend(fontsize=7)
    head(figure, title, "frequency response: output per unit of effort")
    save(figure, path)


def decibels(values: Complexes) -> Floats:
    """20 log10 of the magnitude; zeros have none."""
    with np.errstate(divide="ignore"):
        return np.asarray(20 * np.log10(np.abs(values)))


def phase(values: Complexes) -> Floats:
    """Degrees without jumps of a whole turn, the first between -180 and 180."""
    return np.asarray(np.rad2deg(np.unwrap(np.angle(values))))
