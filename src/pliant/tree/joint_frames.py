"""The free choice in the frames of rigid links, used to make the joints cheap.

A rigid link's dynamics frame may be turned about its own joint axis. Turned so that its x axis is the common normal to
the next joint axis (as Denavit and Hartenberg place it), the step between the two joints is a twist about x and a turn
about z: two turns about coordinate axes instead of a full rotation matrix.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.bodies.modal_body import Array, is_same_frame, reframe
from pliant.spatial.rounding import clean
from pliant.tree.link import Seat
from pliant.tree.tree import TreeLink

Z = 2
NOWHERE = np.zeros(3)
PARALLEL = 1e-12
"""Sine of the twist below which two joint axes count as parallel."""


def about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def split_zxz(R: Array) -> tuple[float, float, float]:
    """(a, alpha, c) with R = Rz(a) Rx(alpha) Rz(c)."""
    if np.hypot(R[0, 2], R[1, 2]) < PARALLEL:
        return 0.0, 0.0 if R[2, 2] > 0 else np.pi, float(np.arctan2(R[1, 0], R[0, 0]))
    alpha = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    return float(np.arctan2(R[0, 2], -R[1, 2])), float(alpha), float(np.arctan2(R[2, 0], R[2, 1]))


def align_frames(
    links: list[TreeLink], frames: dict[str, tuple[int, Seat]]
) -> tuple[list[TreeLink], dict[str, tuple[int, Seat]]]:
    """Turn the frames of rigid links onto the common normals of their joints."""
    links, frames = list(links), dict(frames)
    for i, link in enumerate(links):
        if link.kind.size == 0 and link.kind.joint.has_axis() and link.kind.joint.axis != Z:
            _turn(links, frames, i, _axis_to_z(link.kind.joint.axis))
            links[i] = replace(links[i], kind=replace(link.kind, joint=replace(link.kind.joint, axis=Z)))
    for i, link in enumerate(links):
        child = _next_joint(links, i)
        if child is None or link.kind.size or not link.kind.joint.has_axis():
            continue
        normal, _, _ = split_zxz(np.array(links[child].seat.R0))
        _turn(links, frames, i, about_z(-normal))
    for i, link in enumerate(links):
        if link.parent >= 0 and link.kind.joint.turns() and link.kind.joint.axis == Z:
            _factor(links, i)
    return links, frames


def _next_joint(links: list[TreeLink], i: int) -> int | None:
    """The first joint about or along z that hangs on a link."""
    for k, link in enumerate(links):
        if link.parent == i and link.kind.joint.has_axis() and link.kind.joint.axis == Z:
            return k
    return None


def _axis_to_z(axis: int) -> Array:
    """A cyclic change of axes that brings a coordinate axis to z."""
    return np.roll(np.eye(3), Z - axis, axis=0)


def _turn(links: list[TreeLink], frames: dict[str, tuple[int, Seat]], i: int, R: Array) -> None:
    """Express link i in axes turned by R: a vector r becomes R r."""
    if is_same_frame(R, NOWHERE):
        return
    link = links[i]
    body = reframe(link.body, R, NOWHERE)
    seat = link.seat._replace(R0=clean(np.array(link.seat.R0) @ R.T))
    links[i] = replace(link, body=body, seat=seat, R_DB=R @ link.R_DB, p_DB=R @ link.p_DB)
    for k, other in enumerate(links):
        if other.parent == i:
            links[k] = replace(other, seat=_seat_in(R, other.seat))
    for name, (at, frame) in frames.items():
        if at == i:
            frames[name] = (at, _seat_in(R, frame))


def _seat_in(R: Array, seat: Seat) -> Seat:
    """A seat on a rigid body whose axes were turned."""
    section = seat.section._replace(position=clean(R @ seat.section.position))
    return seat._replace(section=section, offset=clean(R @ seat.offset), R0=clean(R @ np.array(seat.R0)))


def _factor(links: list[TreeLink], i: int) -> None:
    """Put the turn about z that ends a seat's rotation into its angle."""
    link = links[i]
    R0: Array = np.array(link.seat.R0)
    if link.seat.section.turns:
        return
    # only a seat on the common normal is a twist about x and a turn about z
    normal, _, turn = split_zxz(R0)
    if abs(np.sin(normal)) > PARALLEL or abs(turn) < PARALLEL:
        return
    links[i] = replace(link, seat=link.seat._replace(R0=clean(R0 @ about_z(-turn)), angle=turn))
