"""A kind of body that the package does not know: a bar that twists and does not bend.

It follows the recipe of CONTRIBUTING ("Adding a link type") outside of the package: a description, its words, and one
call that registers both.
"""

from contextlib import contextmanager
from typing import ClassVar

import numpy as np
from pydantic import Field

from pliant.bodies.body_kinds import register, unregister
from pliant.bodies.carried import frame_pose
from pliant.bodies.modal_body import Attachment, ModalBody
from pliant.bodies.words import BodyWords, CoordinateWord, TableRow
from pliant.model.element import Element
from pliant.model.units import BendingStiffness, PositiveLength, PositiveMass

CORNERS = 4
"""Mass points around each section."""
SECTIONS = np.polynomial.legendre.leggauss(3)
"""Places along the bar, from -1 to 1, and their weights."""


class TwistBar(Element):
    """A thin-walled bar along x whose sections turn about it, by an angle that grows with x."""

    has_axis: ClassVar[bool] = True

    length: PositiveLength = Field(description="length")
    mass: PositiveMass = Field(description="mass, all at the radius")
    radius: PositiveLength = Field(description="radius of the wall")
    GJ: BendingStiffness | None = Field(default=None, description="torsional stiffness; none: it does not twist")

    @property
    def is_flexible(self):
        return self.GJ is not None

    def section_pose(self, x):
        return np.array([x, 0.0, 0.0]), np.eye(3)

    def stiffened(self):
        return self.model_copy(update={"GJ": None})


class TwistedAxis:
    """Its sections at stations x."""

    def __init__(self, x, length):
        self.x, self.share = np.asarray(x, dtype=float), np.asarray(x, dtype=float) / length

    def line(self, q_e):
        return np.broadcast_to(np.outer(self.x, [1.0, 0.0, 0.0]), (*q_e.shape[:-1], len(self.x), 3))

    def axes(self, q_e):
        angle = self.share * q_e.sum(axis=-1)[..., None]
        c, s, o, e = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
        return np.stack([np.stack(row, axis=-1) for row in ((e, o, o), (o, c, -s), (o, s, c))], axis=-2)

    def strains(self, q_e):
        return np.zeros((*q_e.shape[:-1], len(self.x), 3))


class Wall:
    """Its outline: one piece, round."""

    modulus, tapers = None, False

    def __init__(self, bar):
        self.length, self.radius = bar.length, bar.radius

    def rings(self, fraction):
        angle = 2 * np.pi * np.arange(12) / 12
        return [self.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)]

    def has_outline(self):
        return True


class TwistBarWords(BodyWords):
    """What other rooms ask of it."""

    def constants(self):
        bar, n = self.description, int(self.description.is_flexible)
        frames = {}
        for name in self.link.frame_names:
            p, R = frame_pose(self.link, name)
            turns = np.zeros((3, n))
            turns[0] = p[0] / bar.length
            frames[name] = Attachment(p, R, np.zeros((3, n)), turns)
        bare = ModalBody.from_integrals(
            names=("twist.1",)[:n], mass=0.0, first=np.zeros(3), I_rr=np.zeros((3, 3)), frames=frames,
            **({"K_ee": np.array([[bar.GJ / bar.length]])} if n else {}),
        )  # fmt: skip
        x = np.repeat((SECTIONS[0] + 1) / 2 * bar.length, CORNERS)
        masses = np.repeat(SECTIONS[1] / 2 * bar.mass / CORNERS, CORNERS)
        angle = np.tile(2 * np.pi * np.arange(CORNERS) / CORNERS, len(SECTIONS[0]))
        y, z = bar.radius * np.cos(angle), bar.radius * np.sin(angle)
        phi = (x / bar.length)[:, None] * np.stack([0 * x, -z, y], axis=1)
        return bare.with_mass_points(masses, np.stack([x, y, z], axis=1), phi[:, :, None][:, :, :n])

    def summary(self):
        return "twisting bar" if self.description.is_flexible else "stiff bar"

    def coordinate(self, name):
        return CoordinateWord("rad", "twist of the tip")

    def table_row(self):
        bar = self.description
        return TableRow("twisting bar", ("wall", "GJ N m²"), ("radius ", 1e3 * bar.radius, " mm"), (bar.GJ,))

    def pieces(self):
        return [Wall(self.description)]

    def bent(self, x):
        return TwistedAxis(x, self.description.length)


@contextmanager
def known_twist_bars():
    """While it lasts, links may have the key ``twist_bar``."""
    register("twist_bar", TwistBar, TwistBarWords, "a bar that twists")
    try:
        yield
    finally:
        unregister("twist_bar")


ROBOT = """\
name: wringer
gravity: [0, 0, -9.81]
links:
  - name: swing
    joint: {name: hinge, axis: y}
    twist_bar: {length: 80 cm, mass: 3 kg, radius: 5 cm, GJ: 40 N m^2}
    frames: [{name: middle, x: 0.4}]
  - name: shaft
    joint: {name: neck, axis: z, parent: swing.tip}
    twist_bar: {length: 50 cm, mass: 2 kg, radius: 4 cm, GJ: 20 N m^2}
    payloads: [{mass: 1 kg, com: [0, 0.2, 0], inertia: 0.01 kg m^2}]
"""
