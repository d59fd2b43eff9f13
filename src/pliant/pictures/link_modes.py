"""The vibrations of a single link: frequencies and shapes in the coordinates that its description gives it.

The root is held as the shapes of the link hold it. A link with clamped-mass shapes carries the load of these
shapes at its tip; all others are free there. The exact shapes of a uniform beam come out as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.build import build_body, carried, shape_sets
from pliant.bodies.families import ShapeSamples
from pliant.bodies.modal_body import Array
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

STATIONS = 161
# axis of the link about which the tip turns in each family
TURNS_ABOUT = {"bend_y": 2, "bend_z": 1, "torsion": 0, "axial": 0, "shear_y": 2, "shear_z": 1}
ROUNDING = 1e-12
"""Of an inertia, relative to the mass times the square of the length of the link."""


@dataclass(frozen=True, slots=True)
class LinkMode:
    """One natural vibration of a link.

    name       the coordinate of the same number, such as bend_y.1
    family     bend_y, bend_z, torsion, axial, shear_y, shear_z, or mode for modal data
    number     1 for the lowest of its family
    frequency  Hz
    x          stations along the link, m; empty for modal data
    shape      displacement or angle at the stations, of any size
    support    how root and tip are held
    """

    name: str
    family: str
    number: int
    frequency: float
    x: Array
    shape: Array
    support: str

    @property
    def rate(self) -> float:
        """The frequency in rad/s."""
        return 2 * pi * self.frequency


def link_modes(link: Link, robot: Robot) -> tuple[LinkMode, ...]:
    """All natural vibrations that the coordinates of a robot's link can describe, family by family, lowest first."""
    return _modes_of(robot, link.name)


# a table and a picture of the same robot ask for the same links
@once_per_element
def _modes_of(robot: Robot, name: str) -> tuple[LinkMode, ...]:
    link = robot.link(name)
    body = build_body(link, robot)
    if link.beam is None:
        squares = _vibrations(body.K_ee, body.straight_mass)[0] if body.size else np.zeros(0)
        none = np.zeros(0)
        return tuple(
            LinkMode(body.names[k], "mode", k + 1, _hertz(square), none, none, "as given")
            for k, square in enumerate(squares)
        )
    x = np.linspace(0.0, link.beam.length, STATIONS)
    modes: list[LinkMode] = []
    start = 0
    for family in shape_sets(link, robot):
        own = slice(start, start + family.size)
        start += family.size
        support, M_tip = _tip(link, robot, family.family, family.sample(x[-1:]))
        squares, V = _vibrations(body.K_ee[own, own], body.straight_mass[own, own] + M_tip)
        values = _moved(family.family, family.sample(x))
        for k, square in enumerate(squares):
            shape = V[:, k] @ values
            # the sign that the description gives its first coordinate
            sign = np.sign(V[np.argmax(np.abs(V[:, k])), k])
            name = body.names[own][k]
            modes.append(LinkMode(name, family.family, k + 1, _hertz(square), x, sign * shape, support))
    return tuple(modes)


def _tip(link: Link, robot: Robot, family: str, tip: ShapeSamples) -> tuple[str, Array]:
    """The support of a family in words, and the inertia that its tip carries, in its coordinates."""
    n = len(tip.value)
    modes = link.beam.modes if link.beam is not None else None
    if modes is None:
        return "clamped-free", np.zeros((n, n))
    data = modes.resolve(family)
    if data.shape != "clamped-mass":
        return str(data.shape), np.zeros((n, n))
    load = carried(robot, link.name)
    about = TURNS_ABOUT[family]
    mass = load.mass if data.tip_mass == "auto" else float(data.tip_mass or 0.0)
    inertia = float(load.inertia[about, about]) if data.tip_inertia == "auto" else float(data.tip_inertia or 0.0)
    w, psi = tip.value[:, 0], tip.rotation[:, 0]
    # what is left of a point mass far from the place where inertias were added up is rounding
    told = inertia if inertia > ROUNDING * mass * link.length**2 else 0.0
    parts = {"torsion": f"{told:.3g} kg m²", **dict.fromkeys(("axial", "shear_y", "shear_z"), f"{mass:.3g} kg")}
    text = parts.get(family, f"{mass:.3g} kg, {told:.3g} kg m²")
    return f"clamped, tip {text}", mass * np.outer(w, w) + inertia * np.outer(psi, psi)


def _moved(family: str, samples: ShapeSamples) -> Array:
    return samples.rotation if family == "torsion" else samples.value


def _vibrations(K: Array, M: Array) -> tuple[Array, Array]:
    from scipy.linalg import eigh

    squares, V = eigh(K, M)
    return np.maximum(squares, 0.0), V


def _hertz(square: float) -> float:
    return float(np.sqrt(square)) / (2 * pi)
