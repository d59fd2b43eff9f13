"""Links that bend far."""

from pliant import Damping, Elements, Frame, Joint, Link, Lumped, Modes, Motor, RigidPart, Robot
from zoo.parts import beam, general_joint, member, part, rigid, rotation, seed


@member
def second_order():
    """Foreshortened modes, elements and lumps in a tree, on joints beside their axes, with parts of every kind."""
    rng = seed(80)
    side = Frame(name="side", x=0.5, position=[0.0, 0.1, -0.05], rotation=rotation(rng))
    bent = {"bending": "second-order"}
    links = [
        Link(
            name="arm",
            joint=general_joint(rng, "a"),
            beam=beam(modes=Modes(shape="clamped-mass", bend_y=2, bend_z=1, torsion=1), **bent),
            frames=(side,),
            payloads=(part(rng, "side"), RigidPart(mass=0.4, frame="side"), RigidPart(mass=0.3)),
        ),
        Link(
            name="boom",
            joint=Joint(name="b", axis="z", parent="arm.tip"),
            beam=beam(0.6, elements=Elements(number=2, bend_z=False), **bent, damping=Damping(ratio=0.02)),
        ),
        Link(
            name="fin",
            joint=general_joint(rng, "c", parent="arm.side"),
            beam=beam(0.5, lumped=Lumped(nodes=2, bend_y=False), **bent),
        ),
    ]
    return Robot(name="second-order", links=links)


@member
def rods_in_a_plane():
    """Two exact links in a plane, a linear one between them."""
    exact = {"bending": "exact", "stations": 11}
    links = [
        Link(
            name="one",
            joint=Joint(name="a", axis="z"),
            hub=RigidPart(mass=0.5, inertia=0.01),
            beam=beam(modes=Modes(shape="legendre", bend_y=2, normalise="tip"), **exact, damping=Damping(ratio=0.02)),
            payloads=(RigidPart(mass=0.4),),
        ),
        Link(name="two", joint=Joint(name="b", axis="z"), beam=beam(0.5, modes=Modes(bend_y=1))),
        Link(
            name="three",
            joint=Joint(name="c", axis="z"),
            beam=beam(0.7, modes=Modes(shape="clamped-free", bend_y=2), rotary_inertia=True, **exact),
            payloads=(RigidPart(mass=0.2, com=[0.05, 0.02, 0], inertia=0.002),),
        ),
    ]
    return Robot(name="rods-in-a-plane", links=links, gravity=(0, -9.81, 0))


@member
def rod_in_space():
    """One rod with all six strains, on a joint beside its axis, with a link on its side.

    Five stations: its points are those of the true rod to 1e-11.
    """
    rng = seed(81)
    side = Frame(name="side", x=0.6, position=[0.0, 0.1, -0.05], rotation=rotation(rng))
    strains = dict.fromkeys(("bend_y", "bend_z", "torsion", "axial", "shear_y", "shear_z"), 1)
    modes = Modes(shape="legendre", normalise="tip", **strains)
    links = [
        Link(
            name="rod",
            joint=general_joint(rng, "a", motor=Motor(rotor_inertia=0.05)),
            hub=part(rng),
            beam=beam(modes=modes, bending="exact", stations=5, kGAy=4e3, kGAz=3e3),
            frames=(side,),
            payloads=(part(rng, "side"), RigidPart(mass=0.3)),
        ),
        Link(name="end", joint=general_joint(rng, "b", parent="rod.side"), rigid=rigid(rng)),
    ]
    return Robot(name="rod-in-space", links=links)
