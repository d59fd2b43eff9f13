"""What hangs on links: branches, offsets, sliding and driven joints, bodies of other programs."""

import numpy as np

from pliant import Damping, Frame, Friction, Joint, Link, Modes, Motor, Placement, RigidPart, Robot, Spring
from pliant.model import ModalData, ModalFrame
from zoo.parts import axis, beam, general_joint, member, part, placement, rigid, rotation, seed


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


@member
def imported_turned():
    """Modal data of which the tip turns to second order too, with more fields of displacement than are kept."""
    rng = seed(157)
    data, frames = cloud_body(rng, n=4)
    tip = frames["tip"]
    m, r, _, back = turned_cloud()["shell"]
    bent = {
        "Gamma_first": np.einsum("p,paik->aik", m, back),
        "Gamma_second": np.einsum("p,pa,pbik->abik", m, r, back),
    }
    further = {"Gamma": 0.3 * symmetric(seed(159), 3, 4, 4), "Gamma_r": symmetric(seed(160), 3, 4, 4)}
    frames = {"tip": ModalFrame(position=tip.position, Phi_d=tip.Phi_d, Phi_r=tip.Phi_r, **further)}
    links = [
        Link(name="shell", joint=general_joint(rng, "a"), modal=ModalData(**data, **bent, frames=frames)),
        Link(name="tool", joint=general_joint(rng, "b"), rigid=rigid(rng)),
    ]
    return Robot(name="imported-turned", links=links)


def turned_cloud():
    """The points of the body whose tip turns to second order."""
    m, r, phi = cloud(seed(157), n=4)
    return {"shell": (m, r, phi, symmetric(seed(158), len(m), 3, 4, 4))}


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


def cloud_body(rng, n=3):
    """Modal data of a cloud of points: its integrals, straight from their definitions."""
    m, r, phi = cloud(rng, n)

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
