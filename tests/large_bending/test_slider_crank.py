"""A slider-crank whose rod bends: geometric stiffening decides; chains of eight linear pieces are the check."""

import numpy as np
import pytest

from pliant import Dynamics, GivenTorque, Robot, simulate

CRANK, ROD, UNTIL = 0.15, 0.3, 0.03
PIECES = 8
SPEED = 124.8
"""rad/s that the flywheel reaches: the rod is pulled to a fifth more stiffness."""
WITHIN = 0.01
"""Of the largest deflection; 0.7 % were seen, as much as eight pieces leave."""
WRONG = 0.3


def slider_crank(bending, **keys):
    """A flywheel drives a slider through a steel rod of 6 mm in the plane."""
    beam = {"length": ROD, "properties": {"mass_per_length": 0.22, "EIz": 12.7}, "bending": bending, **keys}
    crank = {"mass": 0.1, "length": CRANK, "com": [CRANK / 2, 0, 0], "inertia": 1e-4}
    links = [
        {"name": "crank", "joint": {"axis": "z", "motor": {"rotor_inertia": 0.1}}, "rigid": crank},
        {
            "name": "rod",
            "joint": {"name": "pin", "axis": "z", "actuated": False},
            "beam": beam,
            "frames": [{"name": "mid", "x": ROD / 2}],
        },
        {
            "name": "slider",
            "joint": {"name": "slide", "type": "prismatic", "axis": "x", "parent": "base", "actuated": False},
            "rigid": {"mass": 0.033, "inertia": 1e-5},
        },
    ]
    wrist = {"name": "wrist", "type": "revolute", "frames": ["rod.tip", "slider.root"], "planar": "xy"}
    pose = {"crank": 0.0, "pin": 0.0, "slide": CRANK + ROD}
    return Robot(name="slider-crank", gravity=(0, 0, 0), links=links, loops=[wrist], pose=pose)


def deflection(bending, root, middle, tip, **keys):
    """Of the middle of the rod against the line between its pins, over the time in which it is brought to speed."""
    arm = Dynamics(slider_crank(bending, **keys))
    drive = GivenTorque(joints={"crank": f"{0.1 * SPEED * 2 / UNTIL}*sin(pi*t/{UNTIL})^2"})
    run = simulate(arm, until=UNTIL, drive=drive, tolerance=1e-6, output_step=UNTIL / 60, limits="ignore")
    a, m, b = (np.array([arm.pose(frame, q).position[:2] for q in run.q]) for frame in (root, middle, tip))
    along = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
    return along[:, 0] * (m - a)[:, 1] - along[:, 1] * (m - a)[:, 0]


@pytest.fixture(scope="module")
def chain():
    ends = "rod_1.root", f"rod_{PIECES // 2}.tip", f"rod_{PIECES}.tip"
    return deflection("linear", *ends, pieces=PIECES, elements={"number": 1, "bend_z": False})


@pytest.mark.filterwarnings("ignore::pliant.simulation.run.SimulationWarning")
@pytest.mark.parametrize("bending", ["second-order", "linear"])
def test_the_rod_of_a_slider_crank(chain, bending):
    """Clamped shapes: right to second order, a third wrong without."""
    shapes = {"shape": "clamped-free", "bend_y": 3}
    found = deflection(bending, "rod.root", "rod.mid", "rod.tip", modes=shapes)
    error = np.abs(found - chain).max() / np.abs(chain).max()
    assert error < WITHIN if bending == "second-order" else error > WRONG
