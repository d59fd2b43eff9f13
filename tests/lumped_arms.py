"""Robots of the tests of the lumped method."""

import numpy as np

from pliant import Robot
from pliant.analysis.lumped.nominal_motion import JointMotion

MATERIAL = {"E": 70e9, "nu": 0.3, "density": 2700.0}


def two_link_arm(nodes=2, gravity=(0.0, 0.0, 0.0), pose=(0.3, 0.5), kind="lumped", axial=True, **beam):
    """The arm of the reference data: two bars in the plane, 12 mm thick in it, 0.25 kg at the tip; linear, as there."""
    bar = {
        "length": 0.5,
        "material": MATERIAL,
        "section": {"rectangle": {"width": 0.012, "height": 0.02}},
        "bending": "linear",
        kind: {"nodes" if kind == "lumped" else "number": nodes, "bend_y": True, "bend_z": False, "axial": axial},
        **beam,
    }
    links = [
        {"name": "upper", "joint": {"name": "shoulder", "axis": "z"}, "beam": bar},
        {"name": "fore", "joint": {"name": "elbow", "axis": "z"}, "beam": bar, "payloads": [{"mass": 0.25}]},
    ]
    return Robot(name="bars", gravity=gravity, links=links, pose={"shoulder": pose[0], "elbow": pose[1]})


def quintic_move(model, start, by, duration=1.0):
    """A nominal motion by quintic profiles."""
    start, by = np.asarray(start), np.asarray(by)

    def at(t):
        s = np.clip(np.asarray(t) / duration, 0.0, 1.0)[:, None]
        return model.nominal(
            JointMotion(
                start + by * s**3 * (10 - 15 * s + 6 * s**2),
                by * 30 * s**2 * (1 - s) ** 2 / duration,
                by * 60 * s * (1 - s) * (1 - 2 * s) / duration**2,
            )
        )

    return at
