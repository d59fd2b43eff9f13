"""The power that a robot loses: structural damping of its bodies, dampers and friction of its joints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from pliant.bodies.joint_drive import JointDrive
from pliant.spatial.attitude import attitude
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import Matrix, Vector, dot, times


class Damped(Protocol):
    """A body that loses power as it deforms."""

    def loss(self, v_e: Vector) -> Scalar:
        """What its damping takes."""
        ...


class LossyLink(NamedTuple):
    """What of a link takes energy.

    drive    along its joint
    body     its own damping
    joint    place of the joint's coordinate; None: nothing acts along it
    elastic  places of the elastic coordinates
    turning  places of a rotation vector, whose angular velocity a damper feels; None: there is none
    own      places of all of its coordinates
    drag     damping of them by the rates of all coordinates (own, n); empty without any
    """

    drive: JointDrive
    body: Damped
    joint: int | None
    elastic: slice
    turning: slice | None
    own: slice
    drag: Matrix


def lost_power(links: Iterable[LossyLink], q: Vector, v: Vector) -> Scalar:
    """What all links lose at coordinates q (n,) and their rates v, on any scalars."""
    power: Scalar = 0.0
    for link in links:
        v_e = v[link.elastic]
        power = power + link.body.loss(v_e)
        if link.drag:
            power = power + dot(v[link.own], times(link.drag, v))
        if link.joint is not None:
            power = power + link.drive.power(link.drive.on_motor(v[link.joint], v_e))
        if link.turning is not None and not is_zero(link.drive.damping):
            spin = attitude(q[link.turning], v[link.turning]).omega
            power = power + link.drive.damping * dot(spin, spin)
    return power
