"""Links that bend to second order: their equations have all terms of the robot, unless linear ones are asked for."""

import numpy as np
import pytest

from pliant import Beam, Joint, Link, ModelError, Modes, RigidPart, Robot
from pliant.dynamics import Dynamics
from pliant.formulations.lagrange.equations import equations
from small_arms import linear, properties, rigid

TOLERANCE = 1e-10
"""Of the largest entry: two derivations of the same numbers, some hundred operations each."""


def arm(payload, *, second=False, **families):
    beam = Beam(length=0.8, properties=properties(), modes=Modes(shape="clamped-free", **families))
    links = [Link(name="a", joint=Joint(name="j"), beam=beam, payloads=payload)]
    if second:
        links.append(Link(name="b", joint=Joint(name="k", axis="z"), rigid=rigid(0.4)))
    return Robot(name="arm", gravity=(1.0, -9.81, 2.0), links=links)


POINT = (RigidPart(mass=0.5),)
ROBOTS = {
    "point mass": lambda: arm(POINT, bend_y=2),
    "payload with inertia": lambda: arm((RigidPart(mass=0.5, com=(0.1, 0.02, 0.0), inertia=0.01),), bend_y=1),
    "second link": lambda: arm((), second=True, bend_y=1),
    "two planes and elongation": lambda: arm(POINT, bend_y=1, bend_z=1, axial=1),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_all_terms(name):
    robot = ROBOTS[name]()
    assert {link.beam.bending for link in robot.links if link.beam} == {"second-order"}
    functions, model = equations(robot).functions(), Dynamics(robot, compile="never")
    rng = np.random.default_rng(5)
    q, v = 0.2 * rng.normal(size=(2, model.size))
    for ours, theirs, far in (
        (functions.mass_matrix(q), model.mass_matrix(q), True),
        (functions.coriolis(q, v), model.coriolis(q, v), True),
        (functions.bias(q, v), model.bias(q, v), True),
        (functions.stiffness, model.stiffness, False),
    ):
        assert np.abs(ours - theirs).max() <= TOLERANCE * np.abs(theirs).max()
        little = Dynamics(linear(robot), compile="never")
        if far:
            assert np.abs(little.mass_matrix(q) - model.mass_matrix(q)).max() > 1e-3


def test_linear_equations_are_there_to_be_asked_for():
    robot = ROBOTS["point mass"]()
    eq, model = equations(robot, bending="linear"), Dynamics(linear(robot), compile="never")
    q, v = np.array([0.3, 0.02, -0.01]), np.array([1.0, 0.2, 0.1])
    assert eq.functions().bias(q, v) == pytest.approx(model.bias(q, v), rel=TOLERANCE)
    assert "as asked for; in the robot itself a bends farther" in eq.to("text")
    with pytest.raises(ValueError, match="'as-described' or 'linear'"):
        equations(robot, bending="small")


def test_a_rod_is_derived_for_small_deflections_only():
    far = arm(POINT, bend_y=1)
    exact = far.with_changes(links=[far.links[0].with_changes(beam=far.links[0].beam.with_changes(bending="exact"))])
    with pytest.raises(ModelError, match="bending is exact"):
        equations(exact)
    assert equations(exact, bending="linear").to("text") == equations(far, bending="linear").to("text")


def test_what_would_be_shorter_is_told():
    robot = ROBOTS["two planes and elongation"]()
    assert [way.split()[0] for way in equations(robot).shorter] == ["`attachment_rotation:", "--bending"]
    assert not equations(arm((), bend_y=1), bending="linear").shorter
    with pytest.raises(ModelError, match="attachment_rotation: xyz") as caught:
        equations(robot, most_terms=20)
    assert "pliant export FILE --to listing -o arm.c` after robot.save(FILE)" in str(caught.value)


def test_the_way_out_names_the_file(tmp_path):
    path = tmp_path / "my arm.yaml"
    ROBOTS["second link"]().save(path)
    with pytest.raises(ModelError) as caught:
        equations(str(path), most_terms=20)
    assert f"`pliant export '{path}' --to listing -o my-arm.c`" in str(caught.value)
