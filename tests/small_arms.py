"""Small arms with every kind of joint, link and load."""

from pliant import (
    Beam,
    Damping,
    Elements,
    Family,
    Frame,
    Friction,
    Joint,
    Link,
    Lumped,
    Modes,
    Motor,
    Placement,
    Properties,
    Rectangle,
    Rigid,
    RigidPart,
    Robot,
    Rotation,
    Segment,
    Spring,
    load,
)
from pliant.model import ModalData, ModalFrame

ARMS = {}

VERTICAL = (0.0, -9.81, 0.0)


def arm_of(**options):
    """Register a robot under the name of the function that makes it."""

    def register(make):
        name = make.__name__.replace("_", "-")
        ARMS[name] = lambda: Robot(name=name, **{"gravity": VERTICAL, **options}, links=make())
        return make

    return register


def properties(**changes):
    known = {"mass_per_length": 1.3, "EIy": 40.0, "EIz": 60.0, "GJ": 30.0, "EA": 5e3, "rhoIy": 0.004, "rhoIz": 0.007}
    return Properties(**{**known, **changes})


def beam(length=0.8, **discretisation):
    return Beam(length=length, properties=properties(), **discretisation)


def rigid(mass=1.2, length=0.5, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.03, 0.035)):
    return Rigid(mass=mass, com=com, inertia=inertia, length=length)


def hinge(name, axis="z", **options):
    return Joint(name=name, axis=axis, **options)


DRIVE = {
    "motor": Motor(rotor_inertia=2e-4, gear_ratio=30),
    "spring": Spring(stiffness=3.0, rest=0.4, damping=0.2),
    "friction": Friction(viscous=0.3, coulomb=0.5, smoothing=0.05),
}
LOAD = RigidPart(mass=0.3, com=(0.05, 0.02, 0.0), inertia=(0.001, 0.002, 0.0025))


@arm_of()
def rigid_two_link():
    return [Link(name="a", joint=hinge("j1"), rigid=rigid()), Link(name="b", joint=hinge("j2"), rigid=rigid(0.9, 0.4))]


@arm_of(gravity=(1.0, -9.0, 2.0))
def rigid_spatial():
    inertia = (0.02, 0.03, 0.025, 0.001, -0.002, 0.003)
    return [
        Link(name="a", joint=hinge("j1"), rigid=rigid(inertia=inertia, com=(0.1, 0.05, -0.02))),
        Link(name="b", joint=hinge("j2", "-y"), rigid=rigid(), payloads=(RigidPart(mass=0.4),)),
    ]


@arm_of()
def rigid_driven():
    return [
        Link(name="a", joint=hinge("j1", "-z", **DRIVE), rigid=rigid(com=(0.2, 0.03, 0.0)), hub=LOAD),
        Link(name="b", joint=hinge("j2", actuated=False, friction=Friction(viscous=0.1)), rigid=rigid()),
    ]


@arm_of()
def flexible():
    return [Link(name="a", joint=hinge("j1"), beam=beam(modes=Modes(shape="clamped-free", bend_y=3)))]


@arm_of()
def two_flexible_two_modes():
    damping = Damping(ratio=0.02)
    upper = beam(modes=Modes(shape="clamped-free", bend_y=2), damping=damping)
    fore = beam(0.6, modes=Modes(shape="clamped-mass", bend_y=2), damping=damping)
    return [
        Link(name="a", joint=hinge("j1", **DRIVE), beam=upper, hub=RigidPart(mass=0.5, inertia=0.01)),
        Link(name="b", joint=hinge("j2"), beam=fore, payloads=(RigidPart(mass=0.2, inertia=0.004),)),
    ]


@arm_of()
def flexible_rigid_flexible():
    tip = beam(0.5, modes=Modes(shape="polynomial", bend_y=1, axial=1))
    return [
        Link(name="a", joint=hinge("j1"), beam=beam(modes=Modes(shape="clamped-free", bend_y=1))),
        Link(name="b", joint=hinge("j2"), rigid=rigid()),
        Link(name="c", joint=hinge("j3"), beam=tip, payloads=(LOAD,)),
    ]


@arm_of()
def pinned_driven():
    """A pinned root: motor, spring, friction and hub turn with its tangent."""
    link = beam(modes=Modes(shape="pinned-pinned", bend_y=2))
    return [Link(name="a", joint=hinge("j1", **DRIVE), beam=link, hub=LOAD, payloads=(LOAD,))]


@arm_of()
def pinned_turned():
    """The same with a link frame that is turned behind the joint: its axis is no axis of the link."""
    turned = hinge("j1", **DRIVE, child_placement=Placement(rotation=Rotation(x=0.4)))
    return [Link(name="a", joint=turned, beam=beam(modes=Modes(shape="pinned-pinned", bend_y=1)), payloads=(LOAD,))]


@arm_of()
def stretching_and_twisting():
    """All four families, with the inertia of the sections."""
    modes = Modes(shape="polynomial", bend_y=1, bend_z=1, torsion=1, axial=1)
    return [Link(name="a", joint=hinge("j1"), beam=beam(modes=modes, rotary_inertia=True))]


def two_planes(name, rule):
    def make():
        link = {"beam": beam(modes=Modes(shape="clamped-free", bend_y=1, bend_z=1))}
        load = (RigidPart(mass=0.2, inertia=0.004),)
        links = [
            Link(name="a", joint=hinge("j1"), **link),
            Link(name="b", joint=hinge("j2", "y"), **link, payloads=load),
        ]
        return Robot(name=name, attachment_rotation=rule, links=links[: 2 if rule == "xyz" else 1] + (
            [] if rule == "xyz" else [Link(name="b", joint=hinge("j2", "y"), rigid=rigid())]
        ))  # fmt: skip

    ARMS[name] = make


two_planes("two-planes-xyz", "xyz")
two_planes("two-planes-exponential", "exponential")
two_planes("two-planes-cayley", "cayley")


@arm_of(gravity=(0.0, 0.0, -9.81))
def gantry():
    """Two slides and a flexible pendulum."""
    return [
        Link(name="x", joint=Joint(name="d1", type="prismatic", axis="x"), rigid=Rigid(mass=2.0)),
        Link(name="z", joint=Joint(name="d2", type="prismatic", axis="-z", **DRIVE), rigid=rigid(com=(0.0, 0.0, 0.1))),
        Link(
            name="pendulum",
            joint=hinge("j", "y", parent="z.root"),
            beam=beam(modes=Modes(shape="clamped-free", bend_z=2)),
        ),
    ]


@arm_of()
def welded():
    """A tool welded to a bent tip, and an angle between its axis and the beam's."""
    fixed = Joint(name="weld", type="fixed", placement=Placement(position=(0.1, 0.05, 0.0), rotation=Rotation(z=0.3)))
    return [
        Link(name="a", joint=hinge("j1"), beam=beam(modes=Modes(shape="clamped-free", bend_y=2))),
        Link(name="tool", joint=fixed, rigid=rigid()),
    ]


@arm_of(gravity=(0.0, 0.0, -9.81))
def twisted():
    """A twist of 0.7 rad between two axes, and a link frame away from its joint."""
    second = hinge(
        "j2",
        placement=Placement(rotation=Rotation(x=0.7)),
        child_placement=Placement(position=(0.0, 0.1, 0.0), rotation=Rotation(y=0.5)),
    )
    return [Link(name="a", joint=hinge("j1"), rigid=rigid()), Link(name="b", joint=second, rigid=rigid(0.7))]


@arm_of()
def branching():
    """Two children: one on the tip, one on a frame beside the middle of the beam."""
    frames = (Frame(name="mid", x=0.4, position=(0.0, 0.03, 0.0)),)
    return [
        Link(name="a", joint=hinge("j1"), beam=beam(modes=Modes(shape="clamped-free", bend_y=2)), frames=frames),
        Link(name="b", joint=hinge("j2", parent="a.tip"), rigid=rigid()),
        Link(name="c", joint=hinge("j3", parent="a.mid"), rigid=rigid(0.4, 0.3)),
    ]


@arm_of()
def tapered():
    wide, narrow = Rectangle(width=0.012, height=0.04), Rectangle(width=0.006, height=0.03)
    segments = (Segment(length=0.4, section=wide, taper_to=narrow), Segment(length=0.3, section=narrow))
    link = Beam(material="aluminium", segments=segments, modes=Modes(shape="clamped-free", bend_y=2))
    return [Link(name="a", joint=hinge("j1"), beam=link), Link(name="b", joint=hinge("j2"), rigid=rigid())]


@arm_of()
def of_elements():
    link = beam(elements=Elements(number=2, bend_y=True, bend_z=False))
    return [Link(name="a", joint=hinge("j1"), beam=link), Link(name="b", joint=hinge("j2"), rigid=rigid())]


@arm_of()
def of_lumps():
    link = beam(lumped=Lumped(nodes=2, bend_y=True, bend_z=False))
    return [Link(name="a", joint=hinge("j1"), beam=link, payloads=(RigidPart(mass=0.3),))]


@arm_of()
def of_user_shapes():
    shapes = Family(shape="user", expressions=("1 - cos(pi*x/(2*L))", "x^2*exp(-x/L)/L^2"))
    return [
        Link(name="a", joint=hinge("j1"), beam=beam(modes=Modes(shape="clamped-free", bend_y=shapes))),
        Link(name="b", joint=hinge("j2"), rigid=rigid()),
    ]


@arm_of()
def of_modal_data():
    """Arrays from elsewhere that do not come from one set of second moments."""
    shapes = {"Phi_d": ((0.0,), (1.0,), (0.1,)), "Phi_r": ((0.0,), (0.0,), (1.4,))}
    data = ModalData(
        mass=1.0,
        first=(0.4, 0.0, 0.0),
        I_rr=((0.02, 0.0, 0.0), (0.0, 0.25, 0.0), (0.0, 0.0, 0.26)),
        first_modal=((0.0,), (0.4,), (0.02,)),
        beta=((0.0,), (0.01,), (0.3,)),
        I_re=(((0.03, 0.0, 0.0), (-0.3, 0.0, 0.0), (0.0, 0.0, 0.02)),),
        M_ee=((0.5,),),
        K_ee=((80.0,),),
        D_ee=((0.3,),),
        frames={"tip": ModalFrame(position=(0.8, 0.0, 0.0), **shapes)},
        length=0.8,
    )
    return [Link(name="a", joint=hinge("j1"), modal=data), Link(name="b", joint=hinge("j2"), rigid=rigid())]


@arm_of(gravity=(0.0, 0.0, -9.81))
def floating():
    """A free body with a flexible antenna."""
    return [Link(name="body", joint=Joint(name="free", type="free"), rigid=Rigid(mass=3.0, inertia=(0.1, 0.2, 0.3)))]


for bundled in ("lin-lewis-rfr", "lin-lewis-tank-turret", "single-flexible-link", "de-luca-siciliano"):
    ARMS[bundled] = lambda name=bundled: load(name)


def linear(robot):
    """The robot with beams of linear bending, whose equations `pliant derive` writes."""
    links = [
        link if link.beam is None else link.with_changes(beam=link.beam.with_changes(bending="linear"))
        for link in robot.links
    ]
    return robot.with_changes(links=links)


def boom(mass_per_length, EI, payload, **of_beam):
    """One beam of a metre on a driven hinge, with a payload at its tip."""
    constants = Properties(mass_per_length=mass_per_length, EIy=EI, EIz=EI)
    beam = Beam(length=1.0, properties=constants, modes={"bend_z": 2}, **of_beam)
    joint = Joint(name="hinge", type="revolute", axis="y", actuated=True)
    link = Link(name="arm", joint=joint, beam=beam, payloads=[{"frame": "tip", "mass": payload}])
    return Robot(name="boom", links=[link])
