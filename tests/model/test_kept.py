"""What is put together for a robot is put together once, and goes with the robot."""

import gc
import weakref

import numpy as np
import pytest

import pliant
from pliant.bodies import build
from pliant.mechanism import assemble
from pliant.model.description.robot import rigid_twin
from pliant.model.readers.library import read_text
from pliant.tree.lowering import lower, lower_with_frames


def own_robot():
    """One whose parts no other test has: of a bundled robot the latest few bodies of the whole process are kept."""
    return read_text(pliant.load("two-link-flexible").to_yaml())


def test_the_same_robot_has_the_same_mechanism_and_trees():
    robot = pliant.load("two-link-flexible")
    first, second = pliant.Dynamics(robot, compile="never"), pliant.Dynamics(robot, compile="never")
    assert first.mechanism is second.mechanism
    assert first.tree is second.tree is lower(first.mechanism)
    assert lower_with_frames(first.mechanism) is lower_with_frames(second.mechanism)
    assert lower(first.mechanism, discs=False) is not first.tree


def test_other_numbers_make_another_mechanism():
    robot = pliant.load("two-link-flexible")
    other = robot.with_changes(gravity=(0.0, 0.0, -1.6))
    assert assemble(other) is not assemble(robot)
    assert assemble(other).gravity.tolist() == [0.0, 0.0, -1.6]


def test_nobody_changes_what_others_have():
    arm = pliant.Dynamics("two-link-flexible", compile="never")
    for array in (arm.B, arm.mechanism.pose, arm.mechanism.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1.0
    pose = arm.reference_pose()
    pose[:] = 1.0
    assert not np.array_equal(pose, arm.reference_pose())


def test_what_was_kept_goes_with_the_robot():
    # bundled robots stay
    robot = pliant.load("two-link-flexible").with_changes(name="its own")
    mechanism = weakref.ref(assemble(robot))
    tree = weakref.ref(lower(mechanism()))
    del robot
    gc.collect()
    assert mechanism() is None
    assert tree() is None


def test_robots_with_other_numbers_share_what_is_the_same():
    robot = own_robot()
    other = robot.set("forearm.payloads[0].mass", 0.7)
    assert [link.beam for link in other.links] == [link.beam for link in robot.links]
    assert all(a.beam is b.beam for a, b in zip(other.links, robot.links, strict=True))
    stiff, other_stiff = (assemble(rigid_twin(each)).members for each in (robot, other))
    assert all(a.body.I_rr is b.body.I_rr for a, b in zip(stiff, other_stiff, strict=True))
    # shapes with a mass at the tip know the payload
    assert not np.array_equal(assemble(other).members[1].body.M_ee, assemble(robot).members[1].body.M_ee)
    longer = robot.set("forearm.beam.length", 0.6)
    assert longer.link("upper").beam is robot.link("upper").beam
    assert longer.link("forearm").beam.parts()[0].length == 0.6


@pytest.mark.parametrize(("place", "value"), [("forearm.payloads[0].mass", 0.7), ("forearm.beam.length", 0.6)])
def test_what_is_shared_is_what_a_robot_alone_would_have(place, value):
    robot = own_robot()
    assemble(rigid_twin(robot))
    assemble(robot)
    changed = robot.set(place, value)
    read_again = read_text(changed.to_yaml())
    for make in (lambda each: each, rigid_twin):
        for own, alone in zip(assemble(make(changed)).members, assemble(make(read_again)).members, strict=True):
            for name in ("mass", "first", "I_rr", "M_ee", "K_ee", "D_ee"):
                np.testing.assert_array_equal(getattr(own.body, name), getattr(alone.body, name), err_msg=name)


def test_frames_on_a_shared_beam_are_those_of_the_link():
    beam = pliant.Beam(
        length=1.0, properties=pliant.Properties(mass_per_length=0.5, EIy=20.0, EIz=20.0), modes={"bend_y": 1}
    )
    joint = pliant.Joint(name="hinge", type="revolute", axis="z")
    plain = pliant.Link(name="arm", joint=joint, beam=beam)
    marked = pliant.Link(name="arm", joint=joint, beam=beam, frames=[{"name": "mid", "x": 0.5}])
    assert plain.beam is marked.beam
    bodies = [assemble(pliant.Robot(name="one", links=[link])).members[0].body for link in (plain, marked)]
    assert [sorted(body.frames) for body in bodies] == [["root", "tip"], ["mid", "root", "tip"]]


@pytest.mark.parametrize(
    ("place", "value"), [("gravity", [0.0, 0.0, -1.6]), ("shoulder.motor.rotor_inertia", 1e-4), ("pose.shoulder", 0.3)]
)
def test_bodies_are_shared_by_what_they_depend_on(place, value):
    robot = own_robot()
    first, other = assemble(robot).members, assemble(robot.set(place, value)).members
    assert all(a.body is b.body for a, b in zip(first, other, strict=True))


def test_a_load_that_comes_back_finds_its_body():
    robot = own_robot()
    light, heavy, again = (assemble(robot.set("forearm.payloads[0].mass", m)).members for m in (0.3, 0.9, 0.3))
    for a, b, c in zip(light, heavy, again, strict=True):
        assert a.body is c.body
        assert not np.array_equal(a.body.M_ee, b.body.M_ee)
        assert not np.array_equal(a.body.D_ee, b.body.D_ee)


def test_what_is_kept_of_a_beam_does_not_grow_with_its_loads():
    robot = own_robot()
    for mass in np.linspace(0.1, 1.0, 2 * build.MOST_KEPT):
        assemble(robot.set("forearm.payloads[0].mass", float(mass)))
    assert len(build._made_of(robot.link("forearm").beam)) == build.MOST_KEPT


def test_parts_that_did_not_change_are_not_checked_again(monkeypatch):
    robot = own_robot()
    # the first change checks what was read
    robot.set("forearm.payloads[0].mass", 0.6)

    def refused(beam):
        raise RuntimeError(f"a beam of {beam.length} m is checked")

    monkeypatch.setattr(pliant.Beam, "missing_constants", refused)
    assert robot.set("forearm.payloads[0].mass", 0.7).mass == pytest.approx(robot.mass + 0.2)
    with pytest.raises(RuntimeError, match=r"0\.55 m"):
        robot.set("forearm.beam.length", 0.55)


def test_parts_that_nobody_checked_are_checked():
    robot = own_robot()
    wrong = robot.link("forearm").payloads[0].model_copy(update={"inertia": -1.0})
    with pytest.raises(pliant.ModelError, match="none may be negative"):
        robot.set("forearm.payloads", [wrong])
    empty = robot.link("forearm").beam.model_copy(update={"section": None})
    with pytest.raises(pliant.ModelError, match="give one of section"):
        robot.set("forearm.beam", empty)
