"""Kinds of joints, one module each."""

from __future__ import annotations

from pliant.joints.fixed import Fixed
from pliant.joints.free import Free
from pliant.joints.helical import Helical
from pliant.joints.kind import JointKind
from pliant.joints.planar import Planar
from pliant.joints.prismatic import Prismatic
from pliant.joints.revolute import Revolute
from pliant.joints.spherical import Spherical

KINDS: dict[str, type[JointKind]] = {
    kind.name: kind for kind in (Revolute, Prismatic, Helical, Spherical, Planar, Fixed, Free)
}
"""Every kind by its name, as files write it."""
