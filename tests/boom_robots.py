"""Booms of tests: descriptions of robots, and numbers that independent code computed for them."""

import json
from copy import deepcopy
from pathlib import Path

REFERENCE = json.loads((Path(__file__).parent / "reference" / "data" / "booms.json").read_text())
"""Cylinders on booms, by NumPy and SciPy in two ways each; SI units."""

CYLINDER = {
    "bore": 0.1,
    "rod": 0.056,
    "retracted": 0.95,
    "stroke": 0.9,
    "dead": [0.0005, 0.0005],
    "bulk": 1.2e9,
    "leak": 2e-13,
    "friction": {"viscous": 2000.0, "coulomb": 1500.0, "static": 2500.0, "stribeck": 0.02},
    "valve": {"flow": 0.001, "drop": 35e5, "supply": 200e5, "tank": 10e5, "lag": 0.06},
}
COUNTERBALANCE = {
    "ratio": 3.0,
    "crack": 120e5,
    "span": 30e5,
    "flow": 1e-6 * 35e5**0.5,
    "check": 2e-6 * 35e5**0.5,
    "line": 1e-4,
}
COMMAND = "0.5*(step(t - 0.2) - step(t - 1.2)) - 0.3*(step(t - 2.0) - step(t - 2.6))"


def rigid_boom(**cylinder):
    """A uniform rod of 6 m with 500 kg at its tip, on a cylinder that begins as the reference does."""
    start = REFERENCE["cylinder_rigid_boom"]["start"]
    own = {**deepcopy(CYLINDER), "pressures": [start["pA"], start["pB"]], **cylinder}
    return {
        "name": "boom",
        "links": [
            {
                "name": "boom",
                "joint": {"name": "luff", "type": "revolute", "axis": [0, -1, 0], "actuated": False},
                "rigid": {"mass": 400.0, "com": [3.0, 0, 0], "inertia": [0.0, 1200.0, 1200.0]},
                "frames": [{"name": "eye", "position": [1.6, 0, -0.15]}, {"name": "tip", "position": [6.0, 0, 0]}],
                "payloads": [{"mass": 500.0}],
            }
        ],
        "pose": {"luff": start["theta"]},
        "actuators": [
            {"name": "lift", "frames": [{"frame": "base", "position": [0.6, 0, -1.0]}, "boom.eye"], "cylinder": own}
        ],
    }


def counterbalanced_boom(line=1e-4):
    """The same with a counterbalance valve before a line of so much oil."""
    valve = {**CYLINDER["valve"], "counterbalance": {**COUNTERBALANCE, "line": line}}
    return rigid_boom(valve=valve)


def bending_boom(modes=2, pieces=1, **actuator):
    """A level boom of 6 m, pinned at its root, with 500 kg at its tip and a spring upright under x = 1.5 m."""
    spring = {"stiffness": REFERENCE["oil_spring_boom_frequencies"]["spring"], "length": 1.5}
    return {
        "name": "boom",
        "gravity": [0, 0, 0],
        "links": [
            {
                "name": "boom",
                "joint": {"name": "luff", "type": "revolute", "axis": [0, -1, 0], "actuated": False},
                "beam": {
                    "length": 6.0,
                    "properties": {"EIy": 2e7, "EIz": 2e7, "mass_per_length": 80.0},
                    "modes": {"bend_z": modes},
                    "rotary_inertia": False,
                    "bending": "linear",
                    "pieces": pieces,
                },
                "frames": [{"name": "eye", "x": 1.5}],
                "payloads": [{"mass": 500.0}],
            }
        ],
        "actuators": [
            {"name": "lift", "frames": [{"frame": "base", "position": [1.5, 0, -1.5]}, "boom.eye"],
             **(actuator or {"spring": spring})}
        ],
    }  # fmt: skip
