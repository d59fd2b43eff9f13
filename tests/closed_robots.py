"""Robots with closed loops for the tests, beside the bundled ones."""

import numpy as np

from pliant import Beam, Elements, Friction, Joint, Link, Loop, Modes, Placement, Rectangle, Rigid, Robot, Rotation

PLANE = {"planar": "xy"}


def bar(name, length, joint, **elements):
    """A steel bar, rigid unless elements are given."""
    discretisation = {"elements": Elements(number=1, **elements)} if elements else {"rigid": True}
    section = Rectangle(width=0.01, height=0.02)
    return Link(name=name, joint=joint, beam=Beam(length=length, material="steel", section=section, **discretisation))


def turned(R):
    return Placement(rotation=[Rotation(matrix=np.asarray(R).tolist())]) if R is not None else Placement()


def four_bar(*, lengths=(0.4, 0.12, 0.36, 0.28), R=None, gravity=(0, -9.81, 0), loop=None, pose=None, **elements):
    """Ground, crank, coupler, rocker in a plane that may be turned by R; ``loop`` are keys of its closure."""
    ground, crank, coupler, rocker = lengths
    R0 = np.eye(3) if R is None else np.asarray(R)
    rotation = turned(R).rotation
    far = Placement(position=(R0 @ [ground, 0, 0]).tolist(), rotation=rotation)
    links = [
        bar("crank", crank, Joint(name="motor", parent="base", placement=Placement(rotation=rotation)), **elements),
        bar("coupler", coupler, Joint(name="pin", parent="crank.tip", actuated=False), **elements),
        bar("rocker", rocker, Joint(name="ground_pin", parent="base", placement=far, actuated=False), **elements),
    ]
    closure = Loop(
        name="closure", frames=["coupler.tip", "rocker.tip"], **({"type": "revolute", **PLANE} | (loop or {}))
    )
    angles = {"motor": 1.57, "pin": -1.14, "ground_pin": 1.83} if pose is None else pose
    return Robot(name="four-bar", links=links, gravity=(R0 @ gravity).tolist(), loops=[closure], pose=angles)


def bent_four_bar(**loop):
    """The four-bar with a foreshortened crank, a rod as its coupler and a linear rocker, all soft."""
    given = four_bar(loop=loop)
    section = Rectangle(width=0.002, height=0.02)
    shapes = {"bend_y": 1, "bend_z": 1} if "planar" in loop else {"bend_y": 2}
    kinds = {
        "crank": {"bending": "second-order", "modes": Modes(bend_y=2)},
        "coupler": {"bending": "exact", "modes": Modes(shape="legendre", **shapes)},
        "rocker": {"bending": "linear", "modes": Modes(bend_y=1)},
    }
    links = [
        link.with_changes(beam=Beam(length=link.length, material="steel", section=section, **kinds[link.name]))
        for link in given.links
    ]
    return given.with_changes(links=links)


def five_bar(*, friction=None, **elements):
    """Two cranks of 0.25 m, two couplers of 0.3 m, motors 0.2 m apart, in a horizontal plane."""
    links = []
    for side, x in (("left", -0.1), ("right", 0.1)):
        motor = Joint(name=f"{side}_motor", parent="base", placement=Placement(position=(x, 0, 0)), friction=friction)
        elbow = Joint(name=f"{side}_elbow", parent=f"{side}_crank.tip", actuated=False)
        links += [bar(f"{side}_crank", 0.25, motor, **elements), bar(f"{side}_coupler", 0.3, elbow, **elements)]
    loop = Loop(name="tool", type="revolute", frames=["left_coupler.tip", "right_coupler.tip"], **PLANE)
    pose = {"left_motor": 2.0944, "left_elbow": -1.3717, "right_motor": 1.0472, "right_elbow": 1.3717}
    return Robot(name="five-bar", links=links, loops=[loop], pose=pose)


ALIGNED = {
    "left_motor": np.arctan2(0.15, -0.2),
    "left_elbow": -np.arctan2(0.15, -0.2),
    "right_motor": np.arctan2(0.15, 0.2),
    "right_elbow": np.pi - np.arctan2(0.15, 0.2),
}
"""The five-bar with its couplers in one line: the cranks alone do not hold the tool."""


def pendulum_ring(n=6, *, friction=0.01):
    """A chain of n rigid rods whose ends are both pinned to the ground: a loop with many dependent coordinates."""
    links = [
        Link(
            name=f"rod{i}",
            joint=Joint(
                name=f"j{i}",
                actuated=False,
                friction=Friction(viscous=friction),
                **({"parent": "base"} if not i else {}),
            ),
            rigid=Rigid(mass=0.3, com=(0.1, 0.0, 0.0), inertia=1e-3, length=0.2),
        )
        for i in range(n)
    ]
    pose = {f"j{i}": 2 * np.pi / n for i in range(n)}
    ends = Loop(name="ring", type="revolute", frames=[f"rod{n - 1}.tip", "base"], **PLANE)
    return Robot(name="ring", links=links, loops=[ends], gravity=(0, -9.81, 0), pose=pose)


def state(arm, *, seed=0, size=0.05, speed=1.0):
    """A random state on the constraints of a robot, near its reference pose."""
    rng = np.random.default_rng(seed)
    scale = arm.loops.column_scale
    q = arm.assemble(hold=[]) + size * scale * rng.standard_normal(arm.size)
    return arm.project(q, speed * scale * rng.standard_normal(arm.size))
