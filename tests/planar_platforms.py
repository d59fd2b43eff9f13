"""Planar parallel robots with closed forms of their geometry: the 3-RRR and the five-bar of the library."""

import numpy as np

from pliant import Beam, Elements, Frame, Joint, Link, Loop, Placement, Rigid, RigidPart, Robot

CRANK, COUPLER, RADIUS, BASE = 0.25, 0.30, 0.10, 0.5
"""Lengths of a 3-RRR: crank, coupler, platform from centre to corner, base from centre to motor, m."""
ANGLES = np.pi / 2 + 2 * np.pi / 3 * np.arange(3)
"""Directions of the motors of a 3-RRR from its centre."""


def three_rrr(*, gravity=(0, -9.81, 0), **changes):
    """Three driven cranks, three couplers, a triangular platform; all bars bend, or none (``rigid``)."""
    rigid = changes.pop("rigid", False)
    motors = BASE * np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(3)])
    corners = RADIUS * np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(3)])
    links = []
    for k in range(3):
        own = {"elements": Elements(number=2, bend_y=True, bend_z=False), "bending": "linear"}
        long = {"elements": Elements(number=2, bend_y=True, bend_z=False, axial=True), "bending": "linear"}
        common = {"material": "aluminium", "section": {"rectangle": {"width": 0.006, "height": 0.03}}}
        links.append(
            Link(
                name=f"crank_{k + 1}",
                joint=Joint(name=f"m{k + 1}", parent="base", placement=Placement(position=motors[k].tolist())),
                hub=RigidPart(mass=0.2, inertia=1e-4),
                beam=Beam(length=CRANK, **common, **({"rigid": True} if rigid else own)),
            )
        )
        links.append(
            Link(
                name=f"coupler_{k + 1}",
                joint=Joint(name=f"e{k + 1}", parent=f"crank_{k + 1}.tip", actuated=False),
                hub=RigidPart(mass=0.05, inertia=1e-5),
                beam=Beam(length=COUPLER, **common, **({"rigid": True} if rigid else long)),
            )
        )
        if k == 0:
            # its frame is the platform's centre, so that p1 is measured from the corner
            links.append(
                Link(
                    name="platform",
                    joint=Joint(
                        name="p1",
                        parent="coupler_1.tip",
                        actuated=False,
                        child_placement=Placement(position=(-corners[0]).tolist()),
                    ),
                    rigid=Rigid(mass=0.6, com=(0.01, 0.02, 0), inertia=(1e-3, 1e-3, 2e-3)),
                    frames=[Frame(name=f"corner_{j + 1}", position=corners[j].tolist()) for j in (1, 2)],
                )
            )
    loops = [
        Loop(name=f"l{k}", type="revolute", frames=[f"coupler_{k}.tip", f"platform.corner_{k}"], planar="xy")
        for k in (2, 3)
    ]
    return Robot(
        name="three-rrr",
        gravity=gravity,
        tip="platform.root",
        links=links,
        loops=loops,
        pose=rrr_joints(0, 0, 0),
        **changes,
    )


def rrr_joints(x, y, turn, elbows=(1, 1, 1)):
    """Joints of the rigid 3-RRR at a pose of its platform, by plane geometry; ``elbows`` choose the sides."""
    found = {}
    for k, angle in enumerate(ANGLES):
        motor = BASE * np.array([np.cos(angle), np.sin(angle)])
        corner = np.array([x, y]) + RADIUS * np.array([np.cos(angle + turn), np.sin(angle + turn)])
        way = corner - motor
        d = np.hypot(*way)
        inner = elbows[k] * np.arccos((CRANK**2 + d**2 - COUPLER**2) / (2 * CRANK * d))
        crank = np.arctan2(way[1], way[0]) + inner
        bar = corner - motor - CRANK * np.array([np.cos(crank), np.sin(crank)])
        coupler = np.arctan2(bar[1], bar[0])
        wrapped = (coupler - crank + np.pi) % (2 * np.pi) - np.pi
        found[f"m{k + 1}"], found[f"e{k + 1}"] = float(crank), float(wrapped)
        if k == 0:
            found["p1"] = float((turn - coupler + np.pi) % (2 * np.pi) - np.pi)
    return found


def rrr_bars(x, y, turn, elbows=(1, 1, 1)):
    """Corners (3, 2), unit vectors along couplers (3, 2) and along cranks (3, 2) of the 3-RRR."""
    joints = rrr_joints(x, y, turn, elbows)
    corners = np.array([x, y]) + RADIUS * np.column_stack([np.cos(ANGLES + turn), np.sin(ANGLES + turn)])
    cranks = np.array([joints[f"m{k}"] for k in (1, 2, 3)])
    couplers = cranks + np.array([joints[f"e{k}"] for k in (1, 2, 3)])
    return corners, *(np.column_stack([np.cos(a), np.sin(a)]) for a in (couplers, cranks))
