"""Random serial chains of rigid and elastic links, for the linearised equations."""

import numpy as np

from pliant import Beam, Family, Friction, Joint, Link, Modes, Motor, Properties, Rigid, RigidPart, Robot, Spring
from zoo import axis, inertia, part, placement

SHAPES = ("clamped-free", "polynomial", "pinned-pinned")


def chain(seed):
    """A chain of one to three links: any joints, bending, torsion, hubs, payloads, motors, all rotation rules."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    bending = int(rng.integers(count))
    links = [_link(rng, k, bends=k == bending or rng.random() < 0.4) for k in range(count)]
    rule = ("exponential", "cayley", "xyz")[int(rng.integers(3))]
    gravity = rng.normal(size=3) * 6
    return Robot(name=f"chain-{seed}", links=links, attachment_rotation=rule, gravity=gravity.tolist())


def _joint(rng, k):
    kind = ("revolute", "revolute", "prismatic", "fixed")[int(rng.integers(4))] if k else "revolute"
    given = {"name": f"j{k}", "type": kind, "placement": placement(rng)}
    if kind == "fixed":
        return Joint(**given)
    if rng.random() < 0.5:
        given |= {"axis": axis(rng), "child_placement": placement(rng)}
    if rng.random() < 0.5:
        given |= {
            "motor": Motor(rotor_inertia=0.01, gear_ratio=5.0),
            "spring": Spring(stiffness=3.0, rest=0.2, damping=0.3),
            "friction": Friction(viscous=0.2),
        }
    return Joint(**given)


def _link(rng, k, *, bends):
    joint, name = _joint(rng, k), f"link{k}"
    if not bends:
        com = rng.uniform(-0.2, 0.3, 3).tolist()
        body = {"rigid": Rigid(mass=float(rng.uniform(0.5, 2.0)), com=com, inertia=inertia(rng), length=0.4)}
    else:
        body = {"beam": _beam(rng)}
    hub = RigidPart(mass=0.4, com=[0.05, 0.0, 0.02], inertia=inertia(rng, 0.01)) if rng.random() < 0.3 else None
    payloads = [part(rng)] if rng.random() < 0.4 else []
    return Link(name=name, joint=joint, hub=hub, payloads=payloads, **body)


def _beam(rng):
    properties = Properties(mass_per_length=1.3, EIy=40.0, EIz=60.0, GJ=30.0, EA=5e3, rhoIy=0.004, rhoIz=0.007)
    shape = SHAPES[int(rng.integers(3))]
    families = {"bend_y": Family(count=int(rng.integers(1, 3)), shape=shape)}
    if rng.random() < 0.7:
        families["bend_z"] = Family(count=1, shape="clamped-free")
    if rng.random() < 0.6:
        families["torsion"] = Family(count=1, shape="clamped-free")
    rotary = (False, True, "exact")[int(rng.integers(3))]
    return Beam(
        length=float(rng.uniform(0.6, 1.4)), properties=properties, rotary_inertia=rotary, modes=Modes(**families)
    )


def state(robot_size, elastic, seed, bending=0.02):
    """q, v, a of a robot; elastic coordinates and rates small enough to be physical."""
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, robot_size))
    q[elastic] *= bending
    v[elastic] *= bending
    return q, v, a
