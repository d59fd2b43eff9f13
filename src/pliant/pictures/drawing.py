"""A robot in its reference pose: links, joints, frames, loads, loops, and the way its links swing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.bodies.words import link_modes, words_of
from pliant.joints import KINDS
from pliant.pictures.bent_links import FramePose, PlacedLink, place_links
from pliant.pictures.canvas import (
    AXIS_COLOURS,
    FLEXIBLE,
    FLEXIBLE_EDGE,
    INK,
    LOAD,
    LOAD_EDGE,
    PALE,
    PAPER,
    RIGID,
    RIGID_EDGE,
    Canvas,
    best_view,
    polygon,
    save,
)
from pliant.pictures.meshes import link_triangles
from pliant.pictures.picture_words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

LOOP = "#be185d"
LOOKS = "#94a3b8"
# amplitude of the pale swing of a flexible link, as a part of its length
TUBE = 0.6
"""Part of the line of an actuator that its tube is."""
SWING = 0.08
# part of a beam that the symbols of its joint and its hub may hide, and the least part of their usual size
HIDDEN, LEAST = 0.4, 0.35
HUB, PAYLOAD = 17.0, 12.0
# points with which a pitch circle and a curved link are drawn
CIRCLE_POINTS, CURVE_POINTS = 60, 41


def draw_robot(robot: Robot, path: Path) -> None:
    """Draw a robot in its reference pose into a PNG, SVG or PDF file."""
    robot_figure(robot, path)


def robot_figure(robot: Robot, path: str | Path | None = None) -> Figure:
    """A picture of a robot in its reference pose; written to a file if a path is given."""
    placed = place_links(robot)
    looks = np.concatenate([np.zeros((0, 3, 3)), *(item.own(link_triangles(item.link)) for item in placed.values())])
    actuators = _actuator_lines(robot, placed)
    lines = [*(line for item in placed.values() for line in _lines(robot, placed, item)), *actuators.values()]
    points = np.concatenate([np.zeros((1, 3)), *lines])
    if len(looks):
        points = np.concatenate([points, looks.min(axis=(0, 1))[None], looks.max(axis=(0, 1))[None]])
    turning = [item.axis for item in placed.values() if KINDS[item.link.joint.type].symbol.drum]
    canvas = Canvas(best_view(points, np.reshape(turning, (-1, 3))), points)
    if len(looks):
        canvas.facets(looks, colour=LOOKS)
    for item in placed.values():
        _draw_swing(canvas, robot, item)
        _draw_body(canvas, robot, placed, item)
        _draw_loads(canvas, item)
    for item in placed.values():
        _draw_joint(canvas, robot, item)
        _draw_frames(canvas, robot, item)
    _draw_actuators(canvas, robot, actuators)
    _draw_loops(canvas, robot, placed)
    _draw_gears(canvas, robot, placed)
    canvas.place_labels()
    canvas.corner(np.array(robot.gravity))
    canvas.titles(robot.name, robot.description, facts(robot))
    if path is not None:
        save(canvas.figure, Path(path))
    return canvas.figure


def _actuator_lines(robot: Robot, placed: dict[str, PlacedLink]) -> dict[str, Array]:
    """Both ends of every actuator along a line, by name."""
    return {
        each.name: np.array(
            [placed[p.partition(".")[0]].frame(p.partition(".")[2]).p if isinstance(p, str) else p for p in each.places]
        )
        for each in robot.actuators
    }


def _draw_actuators(canvas: Canvas, robot: Robot, lines: dict[str, Array]) -> None:
    """A tube from the first end, and a rod that comes out of it, with pins at both ends."""
    for name, line in lines.items():
        middle = line[0] + TUBE * (line[1] - line[0])
        canvas.stroke(line, colour=RIGID_EDGE, fill=PAPER, width=3.0, order=2.7)
        canvas.stroke(np.array([line[0], middle]), colour=RIGID_EDGE, fill=RIGID, width=7.0, order=2.8)
        for end in line:
            canvas.mark(end, "o", points=4.0, face=PAPER, order=2.9)
        canvas.label(middle, name, color=RIGID_EDGE)


def facts(robot: Robot) -> str:
    """Numbers of links and joints and the mass, in one line."""
    flexible = sum(link.is_flexible for link in robot.links)
    parts = [
        f"{counted(len(robot.links), 'link')}, {flexible} flexible",
        counted(len(robot.joint_coordinates), "joint coordinate"),
        f"{robot.mass:.4g} kg",
    ]
    if robot.loops:
        parts.append(counted(len(robot.loops), "closed loop"))
    if robot.actuators:
        parts.append(counted(len(robot.actuators), "actuator"))
    return "  ·  ".join(parts)


def _lines(robot: Robot, placed: dict[str, PlacedLink], item: PlacedLink) -> list[Array]:
    """The strokes that make up a link: its axis first, then what leads to its frames and its children."""
    link, own = item.link, item.own
    lines = [own(_axis(link))] if link.length else []
    used = [robot.parent_of(child) + (child,) for child in robot.children_of(link.name)]
    ends = [(frame, placed[child].joint.p) for _, frame, child in used]
    ends += [(name, item.frame(name).p) for name in link.frame_names]
    for name, end in ends:
        frame = link.frame(name)
        foot = own(_point(link, frame.x if frame.x is not None else link.length if name == "tip" else 0.0))
        if np.linalg.norm(end - foot) > 1e-9:
            lines.append(np.array([foot, end]))
    if np.linalg.norm(own.p - item.joint.p) > 1e-9 and not KINDS[link.joint.type].symbol.floats:
        lines.append(np.array([item.joint.p, own.p]))
    return lines


def _point(link: Link, x: float) -> Array:
    """A point on the axis of a link."""
    return link.section_pose(x)[0]


def _axis(link: Link) -> Array:
    """The axis of a link (points, 3): two points, or many where it is curved."""
    curved = words_of(link).is_curved
    return np.array([_point(link, x) for x in np.linspace(0.0, link.length, CURVE_POINTS if curved else 2)])


def _draw_body(canvas: Canvas, robot: Robot, placed: dict[str, PlacedLink], item: PlacedLink) -> None:
    fill, edge = (FLEXIBLE, FLEXIBLE_EDGE) if item.link.is_flexible else (RIGID, RIGID_EDGE)
    for k, line in enumerate(_lines(robot, placed, item)):
        axis = k == 0 and item.link.length
        if axis or not item.link.is_flexible:
            canvas.stroke(line, colour=edge, fill=fill, width=8.0, order=2.0)
        else:
            canvas.stroke(line, colour=RIGID_EDGE, fill=RIGID, width=6.0, order=1.9)
    if item.link.mass or item.link.length:
        middle = item.own(_point(item.link, item.link.length / 2))
        canvas.label(middle, item.link.name, color=edge, weight="bold")


def _draw_swing(canvas: Canvas, robot: Robot, item: PlacedLink) -> None:
    """A pale area between the two ends of the first vibration of each bending family."""
    for first in link_modes(item.link, robot):
        if first.aside is None or first.number > 1:
            continue
        amplitude = SWING * item.link.length * first.shape / np.abs(first.shape).max()
        poses = [item.link.section_pose(x) for x in first.x]
        aside = np.array([a * R[:, first.aside] for a, (_, R) in zip(amplitude, poses, strict=True)])
        line = np.array([p for p, _ in poses])
        edges = item.own(np.stack([line + aside, line - aside]))
        canvas.patch(np.concatenate([edges[0], edges[1][::-1]]), colour=FLEXIBLE_EDGE, alpha=0.13)
        for edge in edges:
            canvas.thin(edge, colour=FLEXIBLE_EDGE, width=0.6, clear=True)


def _symbols(canvas: Canvas, item: PlacedLink) -> float:
    """Size of the symbols of a link against the usual one: a short beam is seen between them."""
    if not item.link.has_axis:
        return 1.0
    points = 72 * item.link.length / canvas.metres_per_inch
    return float(np.clip(HIDDEN * points / HUB, LEAST, 1.0))


def _draw_loads(canvas: Canvas, item: PlacedLink) -> None:
    size = _symbols(canvas, item)
    parts = [(item.link.hub, "root")] if item.link.hub else []
    for part, frame in [*parts, *((payload, payload.frame or "tip") for payload in item.link.payloads)]:
        place = item.frame(frame)
        centre = place(part.com_vector())
        if np.linalg.norm(centre - place.p) > 1e-9:
            canvas.thin(np.array([place.p, centre]), colour=LOAD_EDGE, width=1.2, order=2.5)
        hub = part is item.link.hub
        canvas.mark(centre, "o", points=size * (HUB if hub else PAYLOAD), face=LOAD, edge=LOAD_EDGE, order=2.6)
        if not hub and part.mass:
            canvas.label(centre, f"{part.mass:.3g} kg", color=LOAD_EDGE)


def _draw_joint(canvas: Canvas, robot: Robot, item: PlacedLink) -> None:
    size = _symbols(canvas, item)
    joint, place, unit = item.link.joint, item.joint, size * canvas.unit
    kind = KINDS[joint.type]
    symbol, is_held = kind.symbol, not kind.coordinates
    face = INK if joint.actuated else PAPER
    grounded = robot.parent_of(item.link.name)[0] not in robot.link_names
    # a rail on the base is seen as such
    if grounded and (symbol.drum or symbol.ball or is_held or not canvas.view.is_flat):
        _draw_ground(canvas, item)
    axis = item.axis
    along = abs(float(axis @ canvas.view.towards))
    if symbol.rail:
        way = joint.limits.position if joint.limits is not None and kind.slides() else None
        low, high = way or (-0.9 * unit, 0.9 * unit)
        canvas.thin(place.p + np.outer([low, high], axis), colour=PALE, width=3.5, order=1.5)
    if symbol.drum:
        if along < 0.95:
            # the axis is seen from the side: a short drum along it
            drum = place.p + np.outer([-0.30, 0.30], axis) * unit
            canvas.thin(place.p + np.outer([-0.65, 0.65], axis) * unit, colour=INK, width=0.9, dash="-.", order=3.9)
            canvas.bar(drum, colour=INK, width=11.0 * size, fill=face, order=4.0)
        else:
            canvas.mark(place.p, "o", points=10.5 * size, face=PAPER, order=4.0)
            canvas.mark(place.p, "o", points=4.0 * size, face=face, order=4.1)
    elif symbol.rail:
        slider = item.own.p
        canvas.bar(slider + np.outer([-0.28, 0.28], axis) * unit, colour=INK, width=15.0 * size, fill=PAPER, order=4.0)
        for sign in (-1, 1):
            canvas.arrow(slider, slider + sign * 0.75 * unit * axis, colour=INK, width=1.0, order=4.1)
    elif symbol.plate:
        canvas.patch(polygon(item.own.p, axis, 0.5 * unit, 4), colour=PALE, order=3.9)
        canvas.mark(item.own.p, "o", points=6 * size, face=PAPER, order=4.0)
    elif symbol.floats:
        canvas.mark(item.own.p, "o", points=13 * size, face="none", order=4.0)
        canvas.mark(item.own.p, "x", points=6 * size, face=INK, order=4.1)
    elif symbol.ball:
        canvas.mark(place.p, "o", points=15 * size, face=PAPER, order=4.0)
        canvas.mark(place.p, "o", points=9 * size, face=PALE, order=4.1)
    if not is_held:
        canvas.label(place.p if symbol.drum or symbol.ball else item.own.p, joint.name or "")


def _draw_ground(canvas: Canvas, item: PlacedLink) -> None:
    """A hatched plate behind the joint; seen from a corner it lies level, with a post up to the joint."""
    if canvas.view.is_flat:
        foot, normal = item.joint.p, canvas.view.towards
    else:
        foot, normal = item.held.p, np.array([0.0, 0.0, 1.0])
        if np.linalg.norm(item.joint.p - foot) > 1e-9:
            canvas.stroke(np.array([foot, item.joint.p]), colour=RIGID_EDGE, fill=RIGID, width=8.0, order=1.8)
    canvas.patch(polygon(foot, normal, 0.8 * canvas.unit, 4), colour="#e2e8f0", hatch="////", order=0.4)


def _draw_frames(canvas: Canvas, robot: Robot, item: PlacedLink) -> None:
    _draw_triad(canvas, item.own, 0.75 * _symbols(canvas, item) * canvas.unit)
    # a frame that carries a joint is seen by its joint
    busy = {robot.parent_of(child)[1] for child in robot.children_of(item.link.name)}
    for name in item.link.frame_names:
        if name not in ("root", "tip") and name not in busy:
            place = item.frame(name)
            canvas.mark(place.p, "D", points=5, face=PAPER, edge=RIGID_EDGE, order=4.2)
            canvas.label(place.p, name, color=RIGID_EDGE, style="italic")


def _draw_triad(canvas: Canvas, pose: FramePose, length: float) -> None:
    for axis, colour in zip(pose.R.T, AXIS_COLOURS, strict=True):
        canvas.arrow(pose.p, pose.p + length * axis, colour=colour, width=1.2, order=4.5)


def _draw_loops(canvas: Canvas, robot: Robot, placed: dict[str, PlacedLink]) -> None:
    for loop in robot.loops:
        ends = _positions(robot, placed, loop.ends)
        canvas.thin(ends, colour=LOOP, width=1.6, dash=":", order=4.6)
        for end in ends:
            canvas.mark(end, "o", points=15, face="none", edge=LOOP, order=4.6)
        canvas.label(ends[0], f"{loop.name} ({loop.type})", color=LOOP)


def _draw_gears(canvas: Canvas, robot: Robot, placed: dict[str, PlacedLink]) -> None:
    """The pitch circles of meshing wheels, where their radii are known."""
    of_joint = {item.link.joint.name: item for item in placed.values()}
    for name, mimic in robot.mimics.items():
        radii = None if mimic.gear is None else mimic.gear.pitch_radii
        for joint, radius in zip((name, mimic.joint), radii or (), strict=False):
            item = of_joint[joint]
            circle = polygon(item.joint.p, item.axis, radius, CIRCLE_POINTS)
            canvas.thin(np.vstack([circle, circle[:1]]), colour=INK, width=1.0, dash="-.", order=3.8)


def _positions(robot: Robot, placed: dict[str, PlacedLink], frames: Iterable[str]) -> Array:
    found = [robot.resolve_frame(reference) for reference in frames]
    return np.array([placed[link].frame(frame).p if link in placed else np.zeros(3) for link, frame in found])
