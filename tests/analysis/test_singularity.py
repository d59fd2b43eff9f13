"""Singular configurations of planar robots, where closed forms say where they are."""

import numpy as np
import pytest

import pliant
from closed_robots import ALIGNED, five_bar
from planar_platforms import ANGLES, BASE, RADIUS, rrr_bars, rrr_joints, three_rrr
from pliant.dynamics import Dynamics

VANISHES = 1e-9
"""What is left of a sine or determinant at a root that is found to rounding of the step."""


def cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


@pytest.fixture(scope="module")
def rrr():
    return Dynamics(three_rrr(), compile="never")


@pytest.fixture(scope="module")
def bundled():
    return Dynamics("five-bar", compile="never")


def test_the_five_bar_is_singular_where_bars_are_in_line(bundled):
    """Type 1: crank and coupler of a leg in line. Type 2: the two couplers in line."""
    found = pliant.singularities_along(bundled, "left_motor")
    assert sorted(each.types for each in found) == [(1,)] * 4 + [(2,)] * 2
    for each in found:
        q = bundled.by_name(each.q)
        couplers = np.sin(q["left_motor"] + q["left_elbow"] - q["right_motor"] - q["right_elbow"])
        elbows = np.sin(q["left_elbow"]) * np.sin(q["right_elbow"])
        lost, kept = (couplers, elbows) if each.types == (2,) else (elbows, couplers)
        assert abs(lost) < VANISHES
        assert abs(kept) > 1e-3
    # the other motor stays
    assert [each.q[bundled.names.index("right_motor")] for each in found] == pytest.approx([np.pi / 3] * 6, abs=1e-12)


def test_both_determinants_of_the_five_bar_are_those_of_its_bars(bundled):
    """Up to one factor each they are the sine between couplers, and between bars of the legs, everywhere."""
    ratios = []
    for left, right in ((2.0, 1.0), (2.4, 0.7), (1.6, 1.5), (2.9, 1.1)):
        q = bundled.assemble({"left_motor": left, "right_motor": right})
        at, named = bundled.singularity(q), bundled.by_name(q)
        couplers = np.sin(named["left_motor"] + named["left_elbow"] - named["right_motor"] - named["right_elbow"])
        elbows = np.sin(named["left_elbow"]) * np.sin(named["right_elbow"])
        ratios.append((at.parallel.determinant / couplers, at.serial.determinant / elbows))
    assert np.ptp(ratios, axis=0) == pytest.approx(0.0, abs=1e-9 * np.abs(ratios).max())


def test_the_direction_that_two_couplers_in_line_leave():
    """The tool of the five-bar moves across its couplers while the motors hold; both lie along x."""
    arm = Dynamics(five_bar(), compile="never")
    found = arm.singularity(ALIGNED)
    assert found.types == (2,)
    assert abs(found.parallel.direction[1]) > 0.1
    assert found.parallel.direction[0] == pytest.approx(0.0, abs=1e-9)
    rates = found.parallel.rates
    assert [rates["left_motor"], rates["right_motor"]] == pytest.approx([0, 0], abs=1e-9)
    assert abs(rates["left_elbow"]) > 0.1
    assert "moves freely, the drives held" in found.words[0]


def test_a_stretched_leg_of_the_five_bar_loses_its_own_direction():
    """Left crank and coupler in line at 60 deg: the tool cannot move along them, and no motor's push is felt."""
    arm = Dynamics(five_bar(), compile="never")
    way = np.array([np.cos(np.pi / 3), np.sin(np.pi / 3)])
    tool = np.array([-0.1, 0.0]) + 0.55 * way
    d = tool - [0.1, 0.0]
    crank = np.arctan2(d[1], d[0]) - np.arccos((0.25**2 + d @ d - 0.3**2) / (2 * 0.25 * np.hypot(*d)))
    bar = d - 0.25 * np.array([np.cos(crank), np.sin(crank)])
    pose = {
        "left_motor": np.pi / 3,
        "left_elbow": 0.0,
        "right_motor": crank,
        "right_elbow": np.arctan2(bar[1], bar[0]) - crank,
    }
    found = arm.singularity(pose)
    assert found.types == (1,)
    assert abs(found.serial.direction[:2] @ way) / np.linalg.norm(found.serial.direction) == pytest.approx(1, abs=1e-6)


def rrr_determinant(x, y, turn, elbows=(1, 1, 1)):
    """Rates of coupler lengths per twist of the platform: zero where the lines of the couplers meet in a point."""
    corners, couplers, _ = rrr_bars(x, y, turn, elbows)
    return float(np.linalg.det(np.column_stack([couplers, cross(corners - [x, y], couplers)])))


def test_the_parallel_determinant_of_the_3_rrr_is_that_of_its_coupler_lines(rrr):
    poses = ((0.0, 0.0, 0.0), (0.05, -0.03, 0.2), (-0.06, 0.04, -0.3), (0.02, 0.07, 0.5))
    found = [rrr.singularity(rrr_joints(*pose)).parallel.determinant / rrr_determinant(*pose) for pose in poses]
    assert found == pytest.approx([found[0]] * 4, rel=1e-9)


def test_the_3_rrr_is_singular_where_three_coupler_lines_meet(rrr):
    found = [each for each in pliant.singularities_along(rrr, "m1") if each.types == (2,)]
    assert len(found) == 2
    for each in found:
        pose = rrr.pose("platform.root", each.q)
        x, y = pose.position[:2]
        turn = np.arctan2(pose.rotation[1, 0], pose.rotation[0, 0])
        q = rrr.by_name(each.q)
        corners = [x, y] + RADIUS * np.column_stack([np.cos(ANGLES + turn), np.sin(ANGLES + turn)])
        angles = np.array([q[f"m{k}"] + q[f"e{k}"] for k in (1, 2, 3)])
        couplers = np.column_stack([np.cos(angles), np.sin(angles)])
        lines = np.column_stack([couplers, cross(corners - [x, y], couplers)])
        assert abs(np.linalg.det(lines)) < VANISHES
        # the platform turns about the point in which they meet
        v, w = each.parallel.direction[:2], each.parallel.direction[5]
        centre = np.array([x, y]) + np.array([-v[1], v[0]]) / w
        assert cross(corners - centre, couplers) == pytest.approx(np.zeros(3), abs=1e-7)


def test_a_stretched_leg_of_the_3_rrr_is_of_type_1(rrr):
    """The first leg stretched: corner 1 as far from its motor as crank and coupler reach."""
    motor = BASE * np.array([np.cos(ANGLES[0]), np.sin(ANGLES[0])])
    corner = motor + 0.55 * (1 - 1e-15) * np.array([np.cos(-1.9), np.sin(-1.9)])
    x, y = corner - RADIUS * np.array([np.cos(ANGLES[0] + 0.1), np.sin(ANGLES[0] + 0.1)])
    found = rrr.singularity(rrr_joints(x, y, 0.1))
    assert found.types == (1,)
    assert found.mobility == found.generic == 3


def test_lengths_decide_conditions_and_not_determinants(rrr):
    short, long = (rrr.singularity(length=length) for length in (0.1, 10.0))
    assert short.length == 0.1
    assert short.parallel.condition == pytest.approx(long.parallel.condition, rel=1e-9)
    assert short.serial.condition < long.serial.condition / 10
    assert np.sign(short.serial.determinant) == np.sign(long.serial.determinant)


def test_a_straight_arm_loses_its_radial_direction():
    arm = Dynamics("two-link-flexible", compile="never")
    found = arm.singularity({"shoulder": 0.3, "elbow": 0.0})
    assert found.types == (1,)
    radial = arm.pose("tip", found.q).position
    assert abs(found.serial.direction[:3] @ radial) == pytest.approx(
        np.linalg.norm(radial) * np.linalg.norm(found.serial.direction), rel=1e-9
    )
    # the rates that leave the tip where it is really do so
    rates = arm.v(found.serial.rates)
    assert np.linalg.norm(arm.jacobian("tip", found.q)[:3] @ rates) < 1e-9


def test_what_cannot_be_asked_is_refused(rrr):
    with pytest.raises(ValueError, match="there is no axis 'ry2'"):
        rrr.singularity(axes=["ry2"])
    with pytest.raises(ValueError, match="the drives of robot 'three-rrr' are m1, m2, m3"):
        pliant.singularities_along(rrr, "e1")
    with pytest.raises(ValueError, match="a number above zero"):
        rrr.singularity(length=-1.0)
