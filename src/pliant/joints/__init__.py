"""Kinds of joints, one module each."""

from __future__ import annotations

from pliant.joints.cylindrical import Cylindrical
from pliant.joints.distance import Distance
from pliant.joints.fixed import Fixed
from pliant.joints.free import Free
from pliant.joints.helical import Helical
from pliant.joints.kind import JointKind
from pliant.joints.planar import Planar
from pliant.joints.prismatic import Prismatic
from pliant.joints.revolute import Revolute
from pliant.joints.rows import ClosureKind
from pliant.joints.spherical import Spherical
from pliant.joints.universal import Universal

EVERY: tuple[type[ClosureKind], ...] = (
    Revolute,
    Prismatic,
    Helical,
    Cylindrical,
    Spherical,
    Universal,
    Planar,
    Fixed,
    Free,
    Distance,
)
"""A line for each kind."""

KINDS: dict[str, type[JointKind]] = {kind.name: kind for kind in EVERY if issubclass(kind, JointKind)}
"""Kinds of joints of links by their names, as files write them."""

CLOSURES: dict[str, type[ClosureKind]] = {kind.closes: kind for kind in EVERY if kind.closes}
"""Kinds that close loops, by the type of a loop."""
