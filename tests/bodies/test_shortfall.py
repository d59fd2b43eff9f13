"""Shapes that are too stiff: the part of a static deflection that they miss, against Mohr's integral."""

import numpy as np
import pytest

import pliant
from pliant import Beam, Elements, Joint, Link, Modes, Properties, RigidPart, Robot, Segment, build_body
from pliant.analysis.left_out import too_stiff
from pliant.bodies.shortfall import ALLOWED, shortfalls

STEP, LENGTH, LOAD = 16.0, 2.0, 0.5
LIGHT = 1e-7
"""kg/m: the load at the tip is all that bends."""


def stepped(step=STEP, payload=None, **beam):
    """A beam of two halves, the outer one so many times as soft."""
    halves = [
        Segment(length=LENGTH / 2, properties=Properties(mass_per_length=LIGHT, EIz=EI, EIy=EI))
        for EI in (1e3, 1e3 / step)
    ]
    link = Link(
        name="boom",
        joint=Joint(name="j", axis="y"),
        beam=Beam(segments=halves, **beam),
        payloads=[payload or RigidPart(mass=LOAD)],
    )
    return Robot(name="stepped", links=[link])


def mohr(step):
    """Deflection of the tip under 1 N: int (L - x)^2 / EI dx."""
    whole, outer = LENGTH**3 / 3, (LENGTH / 2) ** 3 / 3
    return (whole - outer) / 1e3 + outer / (1e3 / step)


def tip_flexibility(robot):
    body = build_body(robot.links[0], robot)
    row = body.frames["tip"].Phi_d[2]
    return float(row @ np.linalg.solve(body.K_ee, row))


@pytest.mark.parametrize("count", [1, 3, 6])
@pytest.mark.parametrize("shape", ["legendre", "clamped-free", "polynomial"])
def test_the_missing_part_is_that_of_mohrs_integral(shape, count):
    robot = stepped(modes=Modes(shape=shape, bend_z=count))
    expected = 1 - tip_flexibility(robot) / mohr(STEP)
    assert expected > ALLOWED
    ((link, axis, part),) = shortfalls(robot)
    assert (link, axis) == ("boom", "z")
    assert part == pytest.approx(expected, rel=1e-5)


def test_a_moment_counts():
    """A load far beyond the tip turns it: one mode of the bare beam is a poor shape for that."""
    robot = stepped(
        step=1.0, payload=RigidPart(mass=LOAD, com=(1.5, 0.0, 0.0)), modes=Modes(shape="clamped-free", bend_z=1)
    )
    body = build_body(robot.links[0], robot)
    tip = body.frames["tip"]
    # under 1 N at 1.5 m beyond the tip: int (L + 1.5 - x)^2 / EI dx; turns about y lower what is ahead
    row = tip.Phi_d[2] - 1.5 * tip.Phi_r[1]
    true = ((LENGTH + 1.5) ** 3 - 1.5**3) / 3 / 1e3
    expected = 1 - float(row @ np.linalg.solve(body.K_ee, row)) / true
    assert expected > 0.05
    ((_, _, part),) = shortfalls(robot)
    assert part == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "beam",
    [
        {},
        {"elements": Elements(number=4)},
        {"elements": Elements(number=4), "bending": "linear"},
    ],
    ids=["left open", "elements", "linear"],
)
def test_shapes_that_do_are_not_told(beam):
    assert shortfalls(stepped(**beam)) == ()


def test_uniform_beams_with_the_usual_shapes_are_not_told():
    assert shortfalls(stepped(step=1.0, modes=Modes(bend_z=1))) == ()
    assert shortfalls(stepped(step=1.0, modes=Modes(shape="clamped-free", bend_z=1))) == ()
    # pinned shapes deflect together with their joint
    assert shortfalls(stepped(step=1.0, modes=Modes(shape="pinned-free", bend_y=3, bend_z=3))) == ()


def test_words_name_the_link_the_part_and_what_helps():
    robot = stepped(modes=Modes(shape="legendre", bend_z=10))
    (text,) = too_stiff(robot)
    assert text.startswith("the shapes of 'boom' are too stiff: under loads along its z axis")
    assert "bends 17 % too little; leave out modes:" in text
    (text,) = too_stiff(stepped(bending="exact", modes=Modes(shape="legendre", bend_z=4)))
    assert text.endswith("take more modes, or one link for each segment")
    # what is said helps
    assert too_stiff(stepped()) == []


def test_python_is_told_too():
    arm = pliant.Dynamics(stepped(modes=Modes(shape="legendre", bend_z=10)), compile="never")
    with pytest.warns(pliant.analysis.limits.ModelLimitWarning, match="17 % too little"):
        found = pliant.equilibrium(arm)
    assert any("17 % too little" in text for text in found.warnings)
