"""Placements: the forms of a rotation agree with one another and with their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.model import Frame, ModelError, Placement, Rotation

ROUNDING = 1e-14
angles = st.floats(-10, 10)


def R(**keys):
    return Rotation(**keys).to_matrix()


def test_a_rotation_about_each_axis_turns_the_next_axis_into_the_one_after():
    assert np.array_equal(R(x=math.pi / 2) @ [0, 1, 0], [0, 0, 1])
    assert np.array_equal(R(y=math.pi / 2) @ [0, 0, 1], [1, 0, 0])
    assert np.array_equal(R(z=math.pi / 2) @ [1, 0, 0], [0, 1, 0])


@given(angles, angles, angles)
def test_axes_are_applied_in_the_written_order(a, b, c):
    assert R(z=a, x=b, y=c) == pytest.approx(R(z=a) @ R(x=b) @ R(y=c), abs=ROUNDING)
    assert R(y=c, x=b) == pytest.approx(R(y=c) @ R(x=b), abs=ROUNDING)
    listed = Placement(rotation=(Rotation(x=a, y=b), Rotation(z=c)))
    assert listed.matrix() == pytest.approx(R(x=a) @ R(y=b) @ R(z=c), abs=ROUNDING)


@given(angles, angles, angles)
def test_rpy_turns_about_fixed_axes(roll, pitch, yaw):
    assert R(rpy=(roll, pitch, yaw)) == pytest.approx(R(z=yaw) @ R(y=pitch) @ R(x=roll), abs=ROUNDING)


@given(angles, st.sampled_from("xyz"))
def test_quaternions(angle, axis):
    q = [math.cos(angle / 2), *(math.sin(angle / 2) * (axis == other) for other in "xyz")]
    assert R(quaternion=q) == pytest.approx(R(**{axis: angle}), abs=ROUNDING)


@given(angles, angles)
def test_matrices_come_back(a, b):
    given_matrix = R(x=a, z=b)
    assert R(matrix=given_matrix) == pytest.approx(given_matrix, abs=ROUNDING)


def test_a_matrix_with_few_digits_is_made_orthonormal():
    s = 0.7071
    made = R(matrix=[[s, -s, 0], [s, s, 0], [0, 0, 1]])
    assert made @ made.T == pytest.approx(np.eye(3), abs=ROUNDING)
    assert made[2, 0] == pytest.approx(0.0, abs=ROUNDING)


@pytest.mark.parametrize("quarter", range(-4, 5))
@pytest.mark.parametrize("axis", "xyz")
def test_right_angles_are_exact(axis, quarter):
    matrix = R(**{axis: quarter * math.pi / 2})
    assert set(np.abs(matrix).ravel()) == {0.0, 1.0}


def test_order_makes_rotations_differ():
    assert Rotation(x=1, y=2) != Rotation(y=2, x=1)
    assert Rotation(x=1, y=2) == Rotation(x=1, y=2)
    assert Rotation(x=1, y=2).with_changes(y=3) == Rotation(x=1, y=3)
    assert hash(Rotation(x=1, y=2)) == hash(Rotation(x=1, y=2))


def test_placement():
    placement = Placement(position=np.array([1, 2, 3]), rotation={"z": 0.5})
    assert placement.position == (1.0, 2.0, 3.0)
    assert placement.vector() == pytest.approx([1, 2, 3])
    assert placement.rotation == (Rotation(z=0.5),)
    assert not placement.is_identity
    assert Placement().is_identity
    assert Placement(rotation=Rotation(x=0)).is_identity


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "give an angle about x, y or z"),
        ({"rpy": (0, 0, 1), "x": 1}, "stand alone"),
        ({"quaternion": (0, 0, 0, 0)}, "its norm is 0"),
        ({"quaternion": (1, 0, 0)}, "has 3 entries; it must be a list of 4 numbers"),
        ({"matrix": np.diag([1.0, 1.0, -1.0])}, "determinant is -1"),
        ({"matrix": np.ones((3, 3))}, "orthogonal unit vectors"),
        ({"matrix": np.eye(2)}, "has 2 entries; it must be a list of 3 rows"),
        ({"x": math.nan}, "must be finite"),
        ({"roll": 1.0}, "unknown key 'roll'"),
    ],
)
def test_impossible_rotations(keys, words):
    with pytest.raises(ModelError, match=words):
        Rotation(**keys)


def test_a_frame_needs_a_name():
    assert Frame(name="camera", position=(0, 0, 1)).x is None
    with pytest.raises(ModelError, match="Frame: key 'name' is missing"):
        Frame(position=(0, 0, 1))
