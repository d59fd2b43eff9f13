"""Rigid robots, and chains of links that bend."""

from pliant import (
    Beam,
    Damping,
    Family,
    Friction,
    Joint,
    Link,
    Modes,
    Motor,
    Placement,
    Rectangle,
    RigidPart,
    Robot,
    Rotation,
    Segment,
    Spring,
    Tube,
)
from pliant.model import Rayleigh
from zoo.parts import axis, beam, general_joint, member, part, placement, rigid, seed


def rigid_chain(n, number):
    rng = seed(number)
    links = [Link(name=f"link{i}", joint=general_joint(rng, f"j{i}"), rigid=rigid(rng)) for i in range(n)]
    return Robot(name=f"rigid-{n}", links=links)


@member
def rigid_1():
    return rigid_chain(1, 1)


@member
def rigid_2():
    return rigid_chain(2, 2)


@member
def rigid_7():
    return rigid_chain(7, 7)


@member
def rigid_20():
    return rigid_chain(20, 20)


@member
def rigid_tree():
    """Eighteen bodies: revolute, sliding and fixed joints, several children per link, two roots on the base."""
    rng = seed(30)
    links = []
    for i in range(18):
        kind = ("revolute", "revolute", "prismatic", "revolute", "fixed")[i % 5]
        parent = "base" if i in (0, 11) else f"link{int(rng.integers(max(0, i - 5), i))}"
        joint = {"name": f"j{i}", "type": kind, "parent": parent, "placement": placement(rng)}
        if kind != "fixed":
            joint |= {"axis": axis(rng), "child_placement": placement(rng)}
        links.append(Link(name=f"link{i}", joint=Joint(**joint), rigid=rigid(rng)))
    return Robot(name="rigid-tree", links=links, gravity=(1.0, -3.0, -9.0))


# ---------------------------------------------------------------- flexible chains


@member
def pendulum():
    """One clamped-free beam on an oblique axis."""
    link = Link(
        name="arm",
        joint=Joint(name="hinge", axis=[1.0, 2.0, -0.5], placement=placement(seed(40))),
        beam=beam(modes=Modes(shape="clamped-free", bend_y=2, bend_z=2)),
    )
    return Robot(name="pendulum", links=[link])


@member
def clamped_free():
    """A spatial chain on coordinate axes with general twists, as in the papers."""
    links = []
    for i, twist in enumerate((0.0, 0.7, -1.1)):
        joint = Joint(name=f"j{i}", axis="z", placement=Placement(rotation=Rotation(x=twist)))
        payload = (RigidPart(mass=0.2, frame="tip"),)
        links.append(
            Link(
                name=f"l{i}",
                joint=joint,
                beam=beam(modes=Modes(shape="clamped-free", bend_y=2, bend_z=2)),
                payloads=payload,
            )
        )
    return Robot(name="clamped-free", links=links)


@member
def clamped_mass():
    """Loaded modes, whose load is found from what hangs on them; hub and payload."""
    rng = seed(42)
    modes = Modes(shape="clamped-mass", bend_y=1, bend_z=2)
    links = [
        Link(name="upper", joint=Joint(name="a", axis="-y"), hub=part(rng), beam=beam(modes=modes)),
        Link(
            name="lower",
            joint=Joint(name="b", axis="x"),
            hub=part(rng),
            beam=beam(0.7, modes=modes),
            payloads=(part(rng, "tip"),),
        ),
    ]
    return Robot(name="clamped-mass", links=links)


@member
def pinned():
    """Pinned roots: motor, spring, friction and hub act on the root tangent; children on root and tip."""
    rng = seed(43)
    pinned = Modes(shape="pinned-pinned", bend_y=2, bend_z=1)
    drive = {
        "motor": Motor(rotor_inertia=2e-4, gear_ratio=30),
        "spring": Spring(stiffness=3.0, rest=0.4, damping=0.2),
        "friction": Friction(viscous=0.3, coulomb=0.5, smoothing=0.05),
    }
    links = [
        Link(name="one", joint=Joint(name="a", axis="z", **drive), hub=part(rng), beam=beam(modes=pinned)),
        Link(
            name="two",
            joint=Joint(name="b", axis="-z", parent="one.tip", **drive),
            hub=RigidPart(mass=0.0, inertia=0.02),
            beam=beam(0.8, modes=Modes(shape="pinned-free", bend_y=2)),
            payloads=(part(rng, "tip"),),
        ),
        Link(name="pod", joint=general_joint(rng, "c", parent="one.root"), rigid=rigid(rng)),
    ]
    return Robot(name="pinned", links=links)


@member
def pinned_oblique():
    """A pinned root whose joint axis is no axis of the link."""
    rng = seed(44)
    joint = general_joint(rng, "a", motor=Motor(rotor_inertia=0.05), spring=Spring(stiffness=2.0, rest=-0.3))
    modes = Modes(shape="pinned-pinned", bend_y=1, bend_z=1, torsion=Family(count=1, shape="pinned-free"))
    return Robot(name="pinned-oblique", links=[Link(name="bar", joint=joint, hub=part(rng), beam=beam(modes=modes))])


@member
def families():
    """Polynomials in all four families, general joints."""
    rng = seed(45)
    modes = Modes(shape="polynomial", bend_y=1, bend_z=2, torsion=1, axial=1)
    links = [Link(name=f"l{i}", joint=general_joint(rng, f"j{i}"), beam=beam(0.8, modes=modes)) for i in range(2)]
    return Robot(name="families", links=links)


def rotary(rule, attachment="exponential"):
    rng = seed(46)
    modes = Modes(shape="polynomial", bend_y=1, bend_z=1, torsion=1)
    if rule is False:
        modes = Modes(shape="polynomial", bend_y=1, bend_z=1)
    links = [
        Link(
            name="bar",
            joint=general_joint(rng, "a"),
            beam=beam(0.6, modes=modes, rotary_inertia=rule, damping=Damping(ratio=0.05)),
        ),
        Link(name="end", joint=general_joint(rng, "b"), rigid=rigid(rng)),
    ]
    return Robot(name=f"rotary-{rule}", links=links, attachment_rotation=attachment)


@member
def rotary_none():
    return rotary(False)


@member
def rotary_linear():
    return rotary(True)


@member
def rotary_exact():
    return rotary("exact")


@member
def rotary_exact_xyz():
    return rotary("exact", "xyz")


@member
def mixed():
    """Different numbers of modes from link to link, among them none."""
    rng = seed(47)
    kinds = [
        {"beam": beam(modes=Modes(shape="clamped-free", bend_y=1))},
        {"beam": beam(0.5, modes=Modes(shape="clamped-free", bend_y=2, bend_z=1, torsion=1))},
        {"rigid": rigid(rng)},
        {"beam": beam(0.7, rigid=True)},
        {"beam": beam(0.6, modes=Modes(shape="clamped-free", bend_z=3))},
    ]
    links = [Link(name=f"l{i}", joint=general_joint(rng, f"j{i}"), **kind) for i, kind in enumerate(kinds)]
    return Robot(name="mixed", links=links)


@member
def tapered():
    """A stepped and tapered tube with torsion, then a rectangle."""
    tube = [Tube(outer=d, thickness=0.004) for d in (0.03, 0.05)]
    segments = (
        Segment(length=0.3, section=tube[1], taper_to=tube[0]),
        Segment(length=0.4, section=tube[0]),
    )
    links = [
        Link(
            name="tube",
            joint=Joint(name="a", axis="y"),
            beam=Beam(
                material="petg", segments=segments, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1, torsion=1)
            ),
        ),
        Link(
            name="strip",
            joint=Joint(name="b", axis="z"),
            beam=Beam(
                length=0.5,
                material="abs",
                section=Rectangle(width=0.01, height=0.03),
                modes=Modes(shape="clamped-free", bend_y=2),
                damping=Damping(rayleigh=Rayleigh(mass=0.1, stiffness=0.01)),
            ),
        ),
    ]
    return Robot(name="tapered", links=links)
