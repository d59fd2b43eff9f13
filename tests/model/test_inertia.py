"""Rigid masses: the forms of an inertia, and which of them a body can have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.model import ModelError, Rigid, RigidPart

ROUNDING = 1e-12


def test_forms_of_an_inertia():
    full = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.04]])
    for given_inertia, wanted in [
        (0.1, 0.1 * np.eye(3)),
        ((0.02, 0.03, 0.04), np.diag([0.02, 0.03, 0.04])),
        ((0.02, 0.03, 0.04, 0.001, 0.002, 0.003), full),
        (full, full),
    ]:
        assert np.array_equal(RigidPart(mass=1, inertia=given_inertia).inertia_matrix(), wanted)


def test_first_moment_is_mass_times_centre():
    part = RigidPart(mass=2, first_moment=(1, 0, -3))
    assert part.com == (0.5, 0.0, -1.5)
    assert part.com_vector() == pytest.approx([0.5, 0, -1.5])
    assert part.given() == {"mass": 2.0, "first_moment": (1.0, 0.0, -3.0)}


positions = st.tuples(*[st.floats(-2, 2)] * 3)


@given(st.lists(st.tuples(st.floats(0.1, 5), positions), min_size=4, max_size=8))
def test_every_cloud_of_points_is_a_body(cloud):
    """Mass, centre and inertia of material points pass all checks, about the origin as about the centre."""
    m, r = np.array([p[0] for p in cloud]), np.array([p[1] for p in cloud])
    com = m @ r / m.sum()

    def inertia(points):
        return sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for w, p in zip(m, points, strict=True))

    about_com, about_origin = inertia(r - com), inertia(r)
    here = RigidPart(mass=m.sum(), com=com, inertia=about_com)
    there = RigidPart(mass=m.sum(), first_moment=m @ r, inertia=about_origin, inertia_about="origin")
    scale = max(1.0, np.abs(about_origin).max())
    assert there.inertia_matrix() == pytest.approx(here.inertia_matrix(), abs=ROUNDING * scale)


def test_a_slender_rod_is_a_body():
    Rigid(mass=1, com=(0.5, 0, 0), inertia=(0, 1 / 3, 1 / 3), inertia_about="origin", length=1)


def test_rounded_data_are_a_body():
    """A flat plate, its moments printed with three digits."""
    RigidPart(mass=1, inertia=(0.0333, 0.0521, 0.0855))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"mass": -1}, "mass is -1 kg; it must not be negative"),
        ({"mass": 0, "inertia": 1, "first_moment": (1, 0, 0)}, "first_moment needs a mass"),
        ({"mass": 1, "com": (0, 0, 0), "first_moment": (1, 0, 0)}, "not both"),
        ({"mass": 1, "inertia": -0.1}, "none may be negative"),
        ({"mass": 1, "inertia": (1, 1, 2.1)}, r"none may exceed the sum of the other two"),
        ({"mass": 1, "inertia": (1, 1, 1, 2, 0, 0)}, r"principal moments are \[-1, 1, 3\]"),
        ({"mass": 1, "inertia": np.triu(np.ones((3, 3)))}, "must be symmetric"),
        ({"mass": 1, "inertia": (1, 1)}, "must be one number"),
        ({"mass": 1, "inertia": ((1, 0, 0), (0, 1), (0, 0, 1))}, "must be one number"),
        ({"mass": 1, "inertia": float("nan")}, "must be finite"),
        ({"mass": 1, "inertia": "1 kg m^2"}, "units are read from files only"),
        ({"mass": 1, "com": (1, 0, 0), "inertia": 0.1, "inertia_about": "origin"}, "about the centre of mass"),
        ({"mass": 1, "inertia_about": "tip"}, "it must be 'com' or 'origin'"),
    ],
)
def test_impossible_masses(keys, words):
    with pytest.raises(ModelError, match=words):
        RigidPart(**keys)


def test_a_rigid_link_has_mass():
    with pytest.raises(ModelError, match=r"Rigid: mass is 0 kg; it must be positive \(leave `rigid` out"):
        Rigid(mass=0, inertia=1)


def test_a_hub_may_be_inertia_alone():
    assert RigidPart(mass=0, inertia=0.1).inertia_matrix() == pytest.approx(0.1 * np.eye(3))
