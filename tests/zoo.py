"""A zoo of robots: every kind of link, joint and attachment that the dynamics must handle, 1 to 40 bodies.

Each robot is made through the public classes from a seed of its own. ``ZOO`` maps names to builders;
``robot(name)`` builds once. The functions at the end change a description without changing its physics.
"""

from functools import cache

import numpy as np

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
    Tube,
    load,
)
from pliant.formulations.recursive.lowering import lower
from pliant.mechanism import assemble
from pliant.model import MATERIALS, ModalData, ModalFrame, Rayleigh

ZOO = {}


def member(build):
    """Register a builder under its name, with dashes."""
    ZOO[build.__name__.replace("_", "-")] = build
    return build


@cache
def robot(name):
    """The robot of that name."""
    return ZOO[name]()


def tree_of(given):
    """The tree of the recursion for a robot."""
    return lower(assemble(given))


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


# ---------------------------------------------------------------- rigid robots


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
        {"beam": beam(0.7)},
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


# ---------------------------------------------------------------- attachments


def branches(attachment):
    """A flexible trunk with children at several frames, one frame off the axis and turned."""
    rng = seed(50)
    frames = (
        Frame(name="mid", x=0.45, position=[0.02, 0.05, -0.03], rotation=rotation(rng)),
        Frame(name="far", x=0.8),
    )
    trunk = Link(
        name="trunk",
        joint=general_joint(rng, "t"),
        beam=beam(modes=Modes(shape="clamped-free", bend_y=2, bend_z=1, torsion=1)),
        frames=frames,
        payloads=(part(rng, "far"), RigidPart(mass=0.1, frame="mid")),
    )
    flexible = {"beam": beam(0.5, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1))}
    links = [
        trunk,
        Link(name="a", joint=general_joint(rng, "ja", parent="trunk.mid"), **flexible),
        Link(name="b", joint=general_joint(rng, "jb", parent="trunk.tip"), rigid=rigid(rng)),
        Link(name="c", joint=general_joint(rng, "jc", parent="trunk.root"), rigid=rigid(rng)),
        Link(name="d", joint=general_joint(rng, "jd", parent="a.tip"), rigid=rigid(rng)),
        Link(name="e", joint=general_joint(rng, "je", parent="trunk.mid", type="prismatic"), rigid=rigid(rng)),
    ]
    return Robot(name=f"branches-{attachment}", links=links, attachment_rotation=attachment)


@member
def branches_exponential():
    return branches("exponential")


@member
def branches_cayley():
    return branches("cayley")


@member
def branches_xyz():
    return branches("xyz")


@member
def offset():
    """Joints that sit on a lever behind a flexible tip; the lever turns with the tip."""
    rng = seed(52)
    lever = Placement(position=[0.1, -0.2, 0.15])
    links = [
        Link(
            name="one",
            joint=Joint(name="a", axis="z"),
            beam=beam(modes=Modes(shape="clamped-free", bend_y=1, bend_z=1)),
        ),
        Link(
            name="two",
            joint=Joint(name="b", axis="y", placement=lever),
            beam=beam(0.6, modes=Modes(shape="clamped-free", bend_y=1, torsion=1)),
        ),
        Link(name="three", joint=Joint(name="c", type="prismatic", axis="x", placement=lever), rigid=rigid(rng)),
    ]
    return Robot(name="offset", links=links)


@member
def fixed():
    """Fixed joints: at the base, behind a flexible tip, one after the other, and massless connectors."""
    rng = seed(53)
    links = [
        Link(
            name="mast",
            joint=Joint(type="fixed", placement=placement(rng)),
            beam=beam(modes=Modes(shape="clamped-free", bend_y=1, bend_z=1)),
        ),
        Link(name="bracket", joint=Joint(type="fixed", placement=placement(rng)), rigid=rigid(rng)),
        Link(name="corner", joint=Joint(type="fixed", placement=placement(rng))),
        Link(
            name="arm",
            joint=Joint(name="a", axis="y"),
            beam=beam(0.6, modes=Modes(shape="clamped-free", bend_y=1, torsion=1)),
        ),
        Link(
            name="boom",
            joint=Joint(type="fixed", parent="arm.tip", child_placement=placement(rng)),
            beam=beam(0.4, modes=Modes(shape="clamped-free", bend_z=1)),
        ),
    ]
    return Robot(name="fixed", links=links)


@member
def prismatic():
    """Sliding joints between flexible links, with everything that acts along them."""
    rng = seed(54)
    slide = Joint(
        name="slide",
        type="prismatic",
        axis=axis(rng),
        placement=placement(rng),
        child_placement=placement(rng),
        motor=Motor(rotor_inertia=1e-3, gear_ratio=20),
        spring=Spring(stiffness=40.0, rest=0.1, damping=2.0),
        friction=Friction(viscous=1.0, coulomb=0.7, smoothing=0.1),
    )
    links = [
        Link(
            name="base_arm",
            joint=Joint(name="turn", axis="y"),
            beam=beam(modes=Modes(shape="clamped-free", bend_y=1, bend_z=1)),
        ),
        Link(name="carriage", joint=slide, beam=beam(0.5, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1))),
        Link(name="ram", joint=Joint(name="push", type="prismatic", axis="-x"), rigid=rigid(rng)),
        Link(name="rail", joint=Joint(name="rail", type="prismatic", axis="z", parent="base"), rigid=rigid(rng)),
    ]
    return Robot(name="prismatic", links=links)


@member
def drives():
    """Motors, springs with rest, dampers and dry friction on rigid and flexible links; a passive joint."""
    rng = seed(55)

    def drive(scale):
        return {
            "motor": Motor(rotor_inertia=1e-4 * scale, gear_ratio=50),
            "spring": Spring(stiffness=5.0 * scale, rest=0.2 * scale, damping=0.1),
            "friction": Friction(viscous=0.4, coulomb=0.3 * scale, smoothing=0.02),
        }

    links = [
        Link(name="one", joint=general_joint(rng, "a", **drive(1.0)), rigid=rigid(rng)),
        Link(
            name="two",
            joint=general_joint(rng, "b", actuated=False, **drive(2.0)),
            beam=beam(modes=Modes(shape="clamped-free", bend_y=2), damping=Damping(ratio=0.02)),
        ),
        Link(name="three", joint=Joint(name="c", axis="-x", **drive(0.5)), rigid=rigid(rng)),
    ]
    return Robot(name="drives", links=links)


@member
def imported():
    """A body with modal data of no symmetry at all, and one behind its tip."""
    rng = seed(56)
    data, frames = cloud_body(rng)
    links = [
        Link(name="shell", joint=general_joint(rng, "a"), modal=ModalData(**data, frames=frames)),
        Link(name="tool", joint=general_joint(rng, "b"), rigid=rigid(rng)),
    ]
    return Robot(name="imported", links=links)


@member
def imported_bent():
    """Modal data of second order: the points of the body move by any quadratic forms, more than a beam has."""
    rng = seed(57)
    data, frames = cloud_body(rng)
    tip = frames["tip"]
    m, r, _, back = bent_cloud()["shell"]
    bent = {
        "Gamma_first": np.einsum("p,paik->aik", m, back),
        "Gamma_second": np.einsum("p,pa,pbik->abik", m, r, back),
    }
    frames = {"tip": ModalFrame(position=tip.position, Phi_d=tip.Phi_d, Phi_r=tip.Phi_r, Gamma=TIP_GAMMA)}
    links = [
        Link(name="shell", joint=general_joint(rng, "a"), modal=ModalData(**data, **bent, frames=frames)),
        Link(name="tool", joint=general_joint(rng, "b"), rigid=rigid(rng)),
    ]
    return Robot(name="imported-bent", links=links)


def symmetric(rng, *shape):
    A = rng.normal(size=shape)
    return A + np.swapaxes(A, -1, -2)


TIP_GAMMA = symmetric(seed(59), 3, 3, 3)


def bent_cloud():
    """The same points with their second-order displacements."""
    m, r, phi = cloud(seed(57))
    return {"shell": (m, r, phi, symmetric(seed(58), len(m), 3, 3, 3))}


def cloud(rng, n=3, count=40):
    """Masses, positions and shapes of material points, taken from the generator first."""
    return rng.uniform(0.01, 0.05, count), rng.uniform(-0.5, 0.5, (count, 3)), rng.normal(size=(count, 3, n))


def imported_cloud():
    """The material points of the imported body."""
    return {"shell": cloud(seed(56))}


def cloud_body(rng):
    """Modal data of a cloud of points: its integrals, straight from their definitions."""
    m, r, phi = cloud(rng)
    n = phi.shape[2]

    def cross(a, b):
        return np.cross(a, b)

    def tensor(a, b):
        return np.einsum("p,p,xy->xy", m, (a * b).sum(1), np.eye(3)) - np.einsum("p,px,py->xy", m, b, a)

    shape = [phi[:, :, k] for k in range(n)]
    A = rng.normal(size=(n, n))
    data = {
        "mass": float(m.sum()),
        "first": m @ r,
        "first_modal": np.einsum("p,pdk->dk", m, phi),
        "beta": np.array([m @ cross(r, shape[k]) for k in range(n)]).T,
        "lam": np.array([[m @ cross(shape[k], shape[i]) for i in range(n)] for k in range(n)]),
        "I_rr": tensor(r, r),
        "I_re": np.array([tensor(r, shape[k]) for k in range(n)]),
        "I_ee": np.array([[tensor(shape[i], shape[k]) for k in range(n)] for i in range(n)]),
        "M_ee": np.einsum("p,pdi,pdk->ik", m, phi, phi),
        "K_ee": 50.0 * (A @ A.T + np.eye(n)),
        "D_ee": 0.1 * (A.T @ A),
    }
    tip = ModalFrame(position=[0.4, 0.1, 0.0], Phi_d=rng.normal(size=(3, n)), Phi_r=rng.normal(size=(3, n)))
    return data, {"tip": tip}


# ---------------------------------------------------------------- elements and lumps


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


# ---------------------------------------------------------------- links that bend far


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


RIGID = [name for name in ZOO if name.startswith("rigid")]
FLOATING = ["satellite", "floating-beam"]
CLOUDS = {"imported": imported_cloud, "imported-bent": bent_cloud}


# ---------------------------------------------------------------- states


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


# ---------------------------------------------------------------- the same physics, described otherwise


def with_parents(given):
    """The links of a robot with their parents written out."""
    links = []
    for link in given.links:
        parent, frame = given.parent_of(link.name)
        joint = link.joint.with_changes(parent="base" if parent == "base" else f"{parent}.{frame}")
        links.append(link.with_changes(joint=joint))
    return links


def reordered(given, number=0):
    """The links in another order."""
    links = with_parents(given)
    return given.with_changes(links=[links[i] for i in np.random.default_rng(number).permutation(len(links))])


def moved(given, R, p):
    """The whole robot elsewhere: base placements and gravity turned by R, placements shifted by p."""
    links = []
    for link in with_parents(given):
        joint = link.joint
        if joint.parent == "base":
            place = Placement(
                position=R @ joint.placement.vector() + p,
                rotation=Rotation(matrix=(R @ joint.placement.matrix()).tolist()),
            )
            link = link.with_changes(joint=joint.with_changes(placement=place))
        links.append(link)
    return given.with_changes(links=links, gravity=(R @ np.array(given.gravity)).tolist())


def rigid_twin(given):
    """The same robot with links that do not bend; the inertia of the sections stays where it was on."""
    links = []
    for link in given.links:
        if link.beam is not None:
            sections = bool(link.beam.rotary_inertia) or "torsion" in link.beam.families
            keep = {k: v for k, v in link.beam.given().items() if k not in ("modes", "elements", "lumped", "damping")}
            link = link.with_changes(beam=Beam(**{**keep, "rotary_inertia": sections}))
        links.append(link)
    return given.with_changes(links=links)


# exponents of metre and kilogram in the keys of a description
DIMENSIONS = {
    **dict.fromkeys(("length", "position", "com", "x", "gravity", "width", "height", "outer", "thickness"), (1, 0)),
    **dict.fromkeys(("mass", "tip_mass"), (0, 1)),
    **dict.fromkeys(("inertia", "tip_inertia", "rotor_inertia"), (2, 1)),
    "mass_per_length": (-1, 1),
    **dict.fromkeys(("EIy", "EIz", "GJ"), (3, 1)),
    **dict.fromkeys(("EA", "kGAy", "kGAz", "rhoIy", "rhoIz", "rhoJ"), (1, 1)),
    **dict.fromkeys(("E", "G"), (-1, 1)),
    "density": (-3, 1),
}
REVOLUTE = dict.fromkeys(("stiffness", "damping", "viscous", "coulomb"), (2, 1))
SLIDING = {
    **dict.fromkeys(("stiffness", "damping", "viscous"), (0, 1)),
    "coulomb": (1, 1),
    **dict.fromkeys(("smoothing", "rest"), (1, 0)),
    "gear_ratio": (-1, 0),
}


def in_units(given, metre, kilogram):
    """The description with its numbers in other units: a length of 1 m is written as ``metre``, and so on."""
    data = {**given.model_dump(exclude_unset=True), "gravity": given.gravity}

    def factor(dimension):
        return metre ** dimension[0] * kilogram ** dimension[1]

    def walk(value, key, known):
        if key in ("rotation", "rayleigh", "modal"):
            return value
        if key == "material" and isinstance(value, str):
            material = MATERIALS[value]
            value = {"E": material.E, "G": material.G, "density": material.density}
        if isinstance(value, dict):
            if "axis" in value or "actuated" in value or "type" in value:
                known = SLIDING if value.get("type") == "prismatic" else REVOLUTE
            return {k: walk(v, k, known) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [walk(v, key, known) for v in value]
        dimension = known.get(key, DIMENSIONS.get(key))
        number = isinstance(value, float | int) and not isinstance(value, bool)
        return value * factor(dimension) if number and dimension else value

    return Robot.model_validate(walk(data, "", {}))


def coordinate_units(arm, metre):
    """What 1 of each coordinate becomes in other units: lengths change, angles do not."""
    out = []
    kinds = {}
    for link in arm.robot.links:
        joint = link.joint
        for name in joint.coordinates:
            slides = joint.type == "prismatic" or name.endswith((".x", ".y", ".z"))
            kinds[name] = metre if slides else 1.0
        nodal = link.beam is not None and (link.beam.elements or link.beam.lumped)
        for name in arm.names:
            if not name.startswith(f"{link.name}.") or name in kinds:
                continue
            family, number = name.removeprefix(f"{link.name}.").rsplit(".", 1)
            turns = family == "torsion"
            if nodal and family.startswith("bend"):
                modes = nodal.reduce.modes if isinstance(nodal, Elements) else 0
                turns = int(number) > modes and (int(number) - modes) % 2 == 0
            kinds[name] = 1.0 if turns else metre
    for name in arm.names:
        out.append(kinds[name])
    return np.array(out)
