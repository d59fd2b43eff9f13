"""A zoo of robots: every kind of link, joint and attachment that the dynamics must handle, 1 to 40 bodies.

Each robot is made through the public classes from a seed of its own. ``ZOO`` maps names to builders;
``robot(name)`` builds once. ``zoo.otherwise`` changes a description without changing its physics.
"""

import numpy as np

from pliant import Joint, Link, Modes, Motor, Placement, Rigid, RigidPart, Robot, Rotation
from pliant.mechanism import assemble
from pliant.tree.lowering import lower

# in this order the robots stand in the list
from zoo import chains, attachments, kinds, bent  # isort: skip
from zoo.attachments import branches
from zoo.otherwise import coordinate_units, in_units, moved, reordered, rigid_twin
from zoo.parts import ZOO, axis, beam, general_joint, inertia, part, placement, rigid, robot, rotation, seed

__all__ = [
    "CLOUDS",
    "FLOATING",
    "RIGID",
    "ZOO",
    "Joint",
    "Link",
    "Modes",
    "Motor",
    "Placement",
    "Rigid",
    "RigidPart",
    "Robot",
    "Rotation",
    "axis",
    "beam",
    "bent",
    "branches",
    "chains",
    "coordinate_units",
    "general_joint",
    "in_units",
    "inertia",
    "kinds",
    "moved",
    "part",
    "placement",
    "reordered",
    "rigid",
    "rigid_twin",
    "robot",
    "rotation",
    "seed",
    "state",
    "tree_of",
]

RIGID = [name for name in ZOO if name.startswith("rigid")]
FLOATING = ["satellite", "floating-beam"]
CLOUDS = {
    "imported": attachments.imported_cloud,
    "imported-bent": attachments.bent_cloud,
    "imported-turned": attachments.turned_cloud,
}


def tree_of(given):
    """The tree of the recursion for a robot."""
    return lower(assemble(given))


def state(arm, number=0):
    """A state and an acceleration of a robot: large joint motion, deflections well beyond the linear range.

    Stiff coordinates move less: their strain forces would drown everything else.
    """
    rng = np.random.default_rng([number, arm.size])
    joints = set(arm.robot.joint_coordinates)
    elastic = np.array([name not in joints for name in arm.names])
    deflection = np.minimum(0.03, 500.0 / np.maximum(np.diag(arm.stiffness), 1.0))
    q = np.where(elastic, deflection, 0.8) * rng.normal(size=arm.size)
    v = np.where(elastic, 0.3, 1.0) * rng.normal(size=arm.size)
    a = np.where(elastic, 1.0, 2.0) * rng.normal(size=arm.size)
    return q, v, a
