"""Finite elements and lumps, floating bases, ball joints, many bodies, bundled robots."""

from pliant import Beam, Elements, Frame, Friction, Joint, Link, Lumped, Modes, Motor, Rectangle, Robot, Spring, load
from zoo.parts import beam, general_joint, member, part, placement, rigid, rotation, seed


@member
def elements():
    """Two beam elements in all four families, then a reduced one, then a shear-flexible one."""
    links = [
        Link(
            name="full",
            joint=Joint(name="a", axis="y"),
            beam=beam(elements=Elements(number=1, torsion=True, axial=True)),
        ),
        Link(
            name="reduced",
            joint=Joint(name="b", axis="z"),
            beam=beam(0.7, elements=Elements(number=4, bend_z=False, reduce={"craig_bampton": 1})),
        ),
        Link(
            name="shear",
            joint=Joint(name="c", axis="x"),
            beam=Beam(
                length=0.3,
                material="pla",
                section=Rectangle(width=0.02, height=0.03),
                elements=Elements(number=1, bend_y=False, timoshenko=True),
                rotary_inertia=True,
            ),
        ),
    ]
    return Robot(name="elements", links=links)


@member
def lumped():
    """Rigid lumps at nodes after Di Gregorio, with torsion."""
    rng = seed(61)
    links = [
        Link(
            name="one",
            joint=general_joint(rng, "a"),
            beam=beam(lumped=Lumped(nodes=2, torsion=True)),
            frames=(Frame(name="between", x=0.3),),
            payloads=(part(rng, "between"),),
        ),
        Link(name="two", joint=Joint(name="b", axis="y"), beam=beam(0.5, lumped=Lumped(nodes=1, bend_y=False))),
    ]
    return Robot(name="lumped", links=links)


# ---------------------------------------------------------------- floating bases and many bodies


@member
def satellite():
    """A rigid bus in free flight with flexible appendages, one of them with a second link."""
    rng = seed(70)
    corners = tuple(
        Frame(name=f"side{i}", position=rng.uniform(-0.5, 0.5, 3).tolist(), rotation=rotation(rng)) for i in range(3)
    )
    panel = {"beam": beam(1.2, modes=Modes(shape="clamped-free", bend_z=2, torsion=1))}
    links = [
        Link(name="bus", joint=Joint(name="bus", type="free"), rigid=rigid(rng), frames=corners),
        Link(name="left", joint=Joint(name="left_drive", axis="x", parent="bus.side0"), **panel),
        Link(name="right", joint=Joint(type="fixed", parent="bus.side1"), **panel),
        Link(
            name="arm",
            joint=Joint(name="arm_drive", axis="z", parent="bus.side2"),
            beam=beam(modes=Modes(shape="clamped-free", bend_y=1)),
        ),
        Link(name="hand", joint=general_joint(rng, "wrist"), rigid=rigid(rng)),
    ]
    return Robot(name="satellite", links=links, gravity=(0, 0, 0))


@member
def floating_beam():
    """A flexible beam in free flight, placed on both sides of its free joint, under gravity."""
    rng = seed(71)
    links = [
        Link(
            name="hull",
            joint=Joint(name="free", type="free", placement=placement(rng), child_placement=placement(rng)),
            beam=beam(modes=Modes(shape="free-free", bend_y=1, bend_z=1)),
            payloads=(part(rng, "root"),),
        ),
        Link(
            name="crane", joint=general_joint(rng, "slew"), beam=beam(0.6, modes=Modes(shape="clamped-free", bend_y=1))
        ),
    ]
    return Robot(name="floating-beam", links=links, attachment_rotation="xyz")


@member
def balls():
    """Spherical joints in a tree: on the base, on a bending link, with a spring and a damper; a body that floats by."""
    rng = seed(73)
    around = {"placement": placement(rng), "child_placement": placement(rng)}
    links = [
        Link(name="first", joint=Joint(name="foot", type="spherical", **around), rigid=rigid(rng)),
        Link(
            name="arm",
            joint=Joint(name="elbow", axis="y", parent="first.root", placement=placement(rng)),
            beam=beam(0.7, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1, torsion=1)),
        ),
        Link(
            name="hand",
            joint=Joint(
                name="wrist",
                type="spherical",
                child_placement=placement(rng),
                spring=Spring(stiffness=3.0, damping=0.2),
                friction=Friction(viscous=0.1),
            ),
            beam=beam(0.4, modes=Modes(shape="clamped-free", bend_y=1)),
        ),
        Link(name="finger", joint=general_joint(rng, "knuckle"), rigid=rigid(rng)),
        Link(name="float", joint=Joint(name="float", type="free", parent="arm.tip", **around), rigid=rigid(rng)),
    ]
    return Robot(name="balls", links=links)


@member
def forty():
    """Forty bodies of few kinds: a trunk of flexible links, each with a rigid arm."""
    rng = seed(72)
    bend = beam(0.4, EIy=400.0, EIz=600.0, modes=Modes(shape="clamped-free", bend_y=1))
    twist, block = placement(rng, 0.1), rigid(rng)
    links = []
    for i in range(20):
        trunk = "base" if i == 0 else f"trunk{i - 1}.tip"
        links.append(
            Link(
                name=f"trunk{i}",
                joint=Joint(name=f"t{i}", axis="z", parent=trunk, placement=twist),
                beam=bend,
            )
        )
        links.append(Link(name=f"arm{i}", joint=Joint(name=f"a{i}", axis="y", parent=f"trunk{i}.tip"), rigid=block))
    return Robot(name="forty", links=links)


@member
def seven_joint_arm():
    return load("seven-joint-arm")


@member
def tank_turret():
    return load("lin-lewis-tank-turret")


@member
def screws():
    """Helical joints about any axes, on the base and on bending links, one left-handed, with drives."""
    rng = seed(74)
    links = [
        Link(
            name="spindle",
            joint=general_joint(
                rng,
                "lead",
                type="helical",
                pitch=0.3,
                motor=Motor(rotor_inertia=0.02, gear_ratio=2),
                spring=Spring(stiffness=2.0, damping=0.1),
            ),
            beam=beam(0.8, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1, torsion=1)),
        ),
        Link(name="nut", joint=general_joint(rng, "nut", type="helical", pitch=-0.7), rigid=rigid(rng)),
        Link(
            name="arm",
            joint=Joint(name="elbow", type="helical", pitch=0.1, axis="-y", friction=Friction(viscous=0.2)),
            beam=beam(0.5, modes=Modes(shape="pinned-pinned", bend_z=1)),
        ),
    ]
    return Robot(name="screws", links=links)


@member
def carts():
    """Planar joints on the base and on a bending link."""
    rng = seed(75)
    around = {"placement": placement(rng), "child_placement": placement(rng)}
    links = [
        Link(name="cart", joint=Joint(name="cart", type="planar", **around), rigid=rigid(rng)),
        Link(
            name="mast",
            joint=general_joint(rng, "mast"),
            beam=beam(0.7, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1, torsion=1)),
        ),
        Link(name="tray", joint=Joint(name="tray", type="planar", **around), rigid=rigid(rng)),
    ]
    return Robot(name="carts", links=links)


@member
def pistons():
    """Cylindrical joints about any axes, on the base and on a bending link."""
    rng = seed(76)
    links = [
        Link(name="rod", joint=general_joint(rng, "rod", type="cylindrical"), rigid=rigid(rng)),
        Link(
            name="arm",
            joint=general_joint(rng, "arm"),
            beam=beam(0.7, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1, torsion=1)),
        ),
        Link(name="sleeve", joint=Joint(name="sleeve", type="cylindrical", axis="-y"), rigid=rigid(rng)),
    ]
    return Robot(name="pistons", links=links)
