"""The list of robots, and random parts to make them of."""

from functools import cache

import numpy as np

from pliant import Beam, Joint, Placement, Properties, Rigid, RigidPart, Rotation

ZOO = {}


def member(build):
    """Register a builder under its name, with dashes."""
    ZOO[build.__name__.replace("_", "-")] = build
    return build


@cache
def robot(name):
    """The robot of that name."""
    return ZOO[name]()


# ---------------------------------------------------------------- random parts


def seed(n):
    return np.random.default_rng(1000 + n)


def inertia(rng, size=0.02):
    """A full inertia tensor that some body has."""
    A = rng.normal(size=(3, 3)) * np.sqrt(size)
    second = A @ A.T
    return (np.trace(second) * np.eye(3) - second).tolist()


def rotation(rng):
    """A random rotation of any size."""
    quaternion = rng.normal(size=4)
    return Rotation(quaternion=(quaternion / np.linalg.norm(quaternion)).tolist())


def placement(rng, reach=0.3):
    return Placement(position=rng.uniform(-reach, reach, 3).tolist(), rotation=rotation(rng))


def axis(rng):
    """A joint axis that is no coordinate axis."""
    return rng.normal(size=3).tolist()


def rigid(rng, length=0.4):
    mass = float(rng.uniform(0.5, 2.0))
    return Rigid(mass=mass, com=rng.uniform(-0.2, 0.3, 3).tolist(), inertia=inertia(rng), length=length)


def part(rng, frame=None, mass=0.3):
    """A rigid part with offset and inertia."""
    return RigidPart(mass=mass, com=rng.uniform(-0.1, 0.1, 3).tolist(), inertia=inertia(rng, 0.004), frame=frame)


def beam(length=1.0, *, rhoA=1.3, EIy=40.0, EIz=60.0, GJ=30.0, EA=5e3, rhoIy=0.004, rhoIz=0.007, **others):
    """A uniform soft beam, linear unless said otherwise; section inertia large enough to matter."""
    properties = {"mass_per_length": rhoA, "EIy": EIy, "EIz": EIz, "GJ": GJ, "EA": EA, "rhoIy": rhoIy, "rhoIz": rhoIz}
    properties.update({key: others.pop(key) for key in ("kGAy", "kGAz") if key in others})
    return Beam(length=length, properties=Properties(**properties), **{"bending": "linear", **others})


def general_joint(rng, name, **options):
    """A revolute joint with general axis and placements on both sides."""
    general = {"placement": placement(rng), "child_placement": placement(rng), "axis": axis(rng)}
    return Joint(name=name, **{**general, **options})
