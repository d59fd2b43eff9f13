"""Things that are said by one key, or whose refusal says what to write."""

import numpy as np
import pytest

import pliant
from pliant import (
    Beam,
    ConstantRate,
    Joint,
    Link,
    ModelError,
    Modes,
    Rectangle,
    Rigid,
    RigidPart,
    Robot,
    Segment,
    Study,
    Trapezoidal,
    Tube,
)

TUBE = {"material": "steel", "section": Tube(outer=0.05, thickness=0.002)}


def test_hoses_and_cables_weigh_and_bear_nothing():
    plain, loaded = Beam(length=2.0, **TUBE), Beam(length=2.0, **TUBE, added_mass=3.5)
    assert loaded.mass == pytest.approx(plain.mass + 7.0)
    assert loaded.at(1.0).EIz == plain.at(1.0).EIz
    assert pliant.build_body(Link(name="a", joint=Joint(name="j"), beam=loaded)).mass == pytest.approx(loaded.mass)


def test_added_mass_of_segments_and_of_the_whole_add_up():
    parts = [Segment(length=1.0, **TUBE), Segment(length=0.5, **TUBE, added_mass=2.0)]
    bare = Beam(segments=[part.with_changes(added_mass=0.0) for part in parts])
    whole = Beam(segments=parts, added_mass=1.0)
    assert whole.mass == pytest.approx(bare.mass + 1.5 + 1.0)
    cut = Robot(name="r", links=[Link(name="a", joint=Joint(name="j"), beam=whole.with_changes(pieces=3))])
    assert cut.mass == pytest.approx(whole.mass)
    read = Beam.model_validate({"length": "2 m", **TUBE, "added_mass": "35 kg/m"}, context={"units": True})
    assert read.added_mass == 35.0


def test_a_payload_may_weigh_nothing():
    arm = Link(name="a", joint=Joint(name="j"), rigid=Rigid(mass=1.0, inertia=0.1), payloads=[RigidPart(mass=2.0)])
    robot = Robot(name="r", links=[arm]).set("a.payloads[0].mass", 0.0)
    bare = Robot(name="r", links=[arm.with_changes(payloads=[])])
    M = [pliant.Dynamics(each, compile="never").mass_matrix([0.3]) for each in (robot, bare)]
    np.testing.assert_allclose(M[0], M[1])


def test_a_robot_that_falls_is_told_so():
    bus = Link(name="bus", joint=Joint(type="free", name="float"), rigid=Rigid(mass=100.0, inertia=10.0))
    panel = Link(name="panel", joint=Joint(type="fixed", name="weld", parent="bus.root"), beam=Beam(length=2.0, **TUBE))
    arm = pliant.Dynamics(Robot(name="satellite", links=[bus, panel]), compile="never")
    with pytest.raises(pliant.NoEquilibriumError, match=r"free joint 'float', and gravity makes .* gravity: "):
        pliant.equilibrium(arm)


def test_bending_and_shear_need_inertia_of_the_sections():
    section = Rectangle(width=0.02, height=0.02)
    modes = Modes(shape="legendre", bend_y=2, shear_y=2)
    beam = Beam(length=1.0, material="steel", section=section, bending="exact", modes=modes)
    link = Link(name="a", joint=Joint(name="j"), beam=beam)
    with pytest.raises(ModelError, match="write rotary_inertia: true"):
        pliant.build_body(link)
    assert pliant.build_body(link.with_changes(beam=beam.with_changes(rotary_inertia=True))).size == 4


def test_an_inertia_that_no_body_has_comes_with_the_nearest():
    with pytest.raises(ModelError, match=r"nearest that a body can have is inertia: \[0.025, 0.025, 0.05,"):
        Rigid(mass=1.0, inertia=(0.01, 0.01, 0.05))
    Rigid(mass=1.0, inertia=(0.025, 0.025, 0.05, 0, 0, 0))


def test_a_study_takes_a_robot_as_a_mapping():
    written = {"name": "r", "links": [{"name": "a", "joint": {"name": "j"}, "rigid": {"mass": "2 kg", "inertia": 0.1}}]}
    assert Study(robot=written, until=1.0).robot.mass == 2.0
    with pytest.raises(ModelError, match="is 3; it must be a robot, or a mapping of its keys"):
        Study(robot=3, until=1.0)


def test_ramps_say_whether_they_are_times_or_parts_of_one():
    """A part of the duration of trapezoidal profiles, seconds of a steady rate."""
    with pytest.raises(ModelError, match=r"ramp is 1; it is the part of the duration that each ramp takes"):
        Trapezoidal(to={"a": 1.0}, duration=4.0, ramp=1.0)
    assert "ramp: part of the duration that each ramp takes" in Trapezoidal.__doc__
    assert "ramp [s]: time in which the rate rises from zero" in ConstantRate.__doc__
