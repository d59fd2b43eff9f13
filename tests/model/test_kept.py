"""What is put together for a robot is put together once, and goes with the robot."""

import gc
import weakref

import numpy as np
import pytest

import pliant
from pliant.formulations.recursive.lowering import lower, lower_with_frames
from pliant.mechanism import assemble


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
