"""Joints: axes, defaults by type, and what a type cannot have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.model import Friction, Joint, Limits, Loop, ModelError, Motor, Spring


@pytest.mark.parametrize(
    ("axis", "vector"),
    [
        ("x", (1, 0, 0)),
        ("y", (0, 1, 0)),
        ("z", (0, 0, 1)),
        ("-x", (-1, 0, 0)),
        ("-z", (0, 0, -1)),
        ((0, 3, 4), (0, 0.6, 0.8)),
    ],
)
def test_axes(axis, vector):
    assert Joint(axis=axis).axis_vector() == pytest.approx(vector)


entries = st.floats(-1e30, 1e30)


@given(st.tuples(entries, entries, entries).filter(any))
def test_an_axis_of_any_length_becomes_a_unit_vector(axis):
    assert np.linalg.norm(Joint(axis=axis).axis_vector()) == pytest.approx(1.0)


def test_defaults():
    joint = Joint(name="elbow")
    assert (joint.type, joint.axis, joint.parent, joint.actuated) == ("revolute", "z", None, True)
    assert joint.placement.is_identity
    assert joint.child_placement.is_identity
    assert joint.coordinates == ("elbow",)


@pytest.mark.parametrize("kind", ["fixed", "free"])
def test_fixed_and_free_joints_are_passive(kind):
    assert not Joint(type=kind).actuated
    with pytest.raises(ModelError, match=f"a {kind} joint cannot be actuated"):
        Joint(type=kind, actuated=True)
    for key, value in {
        "axis": "x",
        "motor": Motor(gear_ratio=2),
        "friction": Friction(viscous=1),
        "spring": Spring(stiffness=1),
        "limits": Limits(velocity=1),
    }.items():
        with pytest.raises(ModelError, match=f"a {kind} joint has no {key}; (leave it out|act on)"):
            Joint(type=kind, **{key: value})


def test_coordinates():
    assert Joint(name="weld", type="fixed").coordinates == ()
    assert Joint(name="float", type="free").coordinates == (
        "float.x",
        "float.y",
        "float.z",
        "float.rx",
        "float.ry",
        "float.rz",
    )


def test_a_gear_squares_the_rotor_inertia():
    assert Motor(rotor_inertia=1e-4, gear_ratio=100).reflected_inertia == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Joint(type="ball"),
            "type is 'ball'; it must be 'revolute', 'prismatic', 'helical', 'cylindrical', 'spherical', 'planar', "
            "'fixed', 'free' or",
        ),
        (lambda: Joint(axis="q"), "must be one of x, y, z, -x, -y, -z or a vector"),
        (lambda: Joint(axis=(0, 0, 0)), "must not be zero"),
        (lambda: Joint(axis=(0, 1)), "has 2 entries"),
        (lambda: Joint(axis=(0, 1, float("inf"))), "must be finite"),
        (lambda: Joint(actuated="yes"), "must be true or false"),
        (lambda: Joint(name="a.b"), "must be a word"),
        (lambda: Joint(name=""), "must be a word"),
        (lambda: Limits(position=(1, -1)), "the first limit must not exceed the second"),
        (lambda: Limits(velocity=0), "must be positive"),
        (lambda: Friction(coulomb=-1), "must not be negative"),
        (lambda: Friction(smoothing=0), "must be positive"),
        (lambda: Spring(stiffness=-1), "must not be negative"),
        (lambda: Motor(gear_ratio=0), "must be positive"),
        (lambda: Loop(name="a", frames=("x.tip",)), "must be a list of 2 frames"),
        (lambda: Loop(name="a", frames=("x", "y"), planar="xz"), "'xy', 'yz' or 'zx'"),
        (lambda: Loop(name="a", type="weld", frames=("x", "y"), axis="x"), "a weld closure has no axis"),
    ],
)
def test_impossible_joints(make, words):
    with pytest.raises(ModelError, match=words):
        make()
