"""Links that bend far in closed loops: a soft bar leans against a stiff one, under its weight and a load on top."""

from functools import cache

import numpy as np
import pytest

import pliant
from pliant import Beam, Dynamics, Elements, Frame, Joint, Link, Loop, Modes, Placement, Properties, Rigid, Robot

SOFT = Properties(mass_per_length=0.3, EIz=1.0)
FEET, LEAN = 1.0, np.pi / 3
"""Distance of the feet, m, and inclination of the bars, rad: an equilateral triangle."""


def frame(weight, **beam):
    """Two bars on hinges, joined at the apex by a hinge."""
    soft, stiff = (
        Joint(name=f"{name}_foot", parent="base", placement=Placement(position=(x, 0, 0)), actuated=False)
        for name, x in (("soft", 0.0), ("stiff", FEET))
    )
    middle = [] if "pieces" in beam else [Frame(name="middle", x=0.5)]
    links = [
        Link(name="soft", joint=soft, beam=Beam(length=1.0, properties=SOFT, **beam), frames=middle),
        Link(name="stiff", joint=stiff, rigid=Rigid(mass=0.3, length=1.0, com=(0.8, 0, 0), inertia=0.02)),
    ]
    apex = Loop(name="apex", type="revolute", frames=["soft.tip", "stiff.tip"], planar="xy")
    pose = {"soft_foot": LEAN, "stiff_foot": np.pi - LEAN}
    robot = Robot(name="A-frame", links=links, loops=[apex], pose=pose, gravity=(0, -9.81 * weight, 0))
    return Dynamics(robot, compile="never")


@cache
def rest(kind, weight=1.0, pieces=1, count=4):
    """Where the middle of the soft bar comes to rest, and the lowest frequency there."""
    if pieces > 1:
        arm = frame(weight, bending=kind, pieces=pieces, elements=Elements(number=1, bend_z=False))
    else:
        arm = frame(weight, bending=kind, modes=Modes(shape="legendre", bend_y=count))
    found = pliant.modes(arm)
    middle = "soft.middle" if pieces == 1 else f"soft_{pieces // 2}.tip"
    return arm.pose(middle, found.q).position[:2], found.frequencies[:1]


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # on purpose
def test_rods_in_a_loop_are_the_limit_of_many_linear_pieces():
    """Where they rest and how they vibrate there; of second order in the length of a piece."""
    known = rest("exact", count=6)
    straight = np.array([np.cos(LEAN), np.sin(LEAN)]) / 2
    assert np.linalg.norm(known[0] - straight) > 0.01
    errors = [[np.linalg.norm(a - b) for a, b in zip(rest("linear", 1.0, n), known, strict=True)] for n in (16, 32)]
    for coarse, fine in zip(*errors, strict=True):
        assert coarse / fine == pytest.approx(4.0, rel=0.1)


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # on purpose
@pytest.mark.parametrize(("kind", "order"), [("linear", 2), ("second-order", 3)])
def test_what_is_left_out_vanishes_with_the_amplitude(kind, order):
    """In a loop too second order is the exact rod to second order; linear bending misses what the stiff bar presses."""
    missing = [np.linalg.norm(rest(kind, w)[0] - rest("exact", w)[0]) for w in (0.1, 0.05)]
    assert np.log2(missing[0] / missing[1]) == pytest.approx(order, abs=0.15)
