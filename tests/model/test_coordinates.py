"""Names, units and reference values of coordinates stand once, whoever asks."""

import numpy as np
import pytest

import pliant
from pliant.bodies.carried import carried
from pliant.pictures.bent_links import place_links

ROUNDING = 1e-12


def follower(ratio=-2.0, offset=0.5):
    """An arm whose second joint follows the first, with a heavy hand on it."""
    follows = {"joint": "shoulder", "ratio": ratio, "offset": offset}
    beam = {
        "length": 1.0,
        "material": "aluminium",
        "section": {"rectangle": {"width": 0.005, "height": 0.04}},
        "modes": {"shape": "clamped-mass", "bend_y": 1},
    }
    hand = {"mass": 3.0, "com": [0.8, 0, 0], "inertia": [0.1, 0.2, 0.2], "length": 1.2}
    links = [
        {"name": "upper", "joint": {"name": "shoulder"}, "beam": beam},
        {"name": "hand", "joint": {"name": "elbow", "mimic": follows}, "rigid": hand},
    ]
    return pliant.Robot.model_validate({"name": "arm", "links": links, "pose": {"shoulder": 0.7}})


def test_a_follower_is_drawn_where_it_is():
    robot = follower()
    arm = pliant.Dynamics(robot)
    drawn = place_links(robot)["hand"].frame("tip").p
    np.testing.assert_allclose(drawn, arm.pose("hand.tip", arm.reference_pose()).position, atol=ROUNDING)


def test_the_load_of_a_link_is_that_of_the_reference_pose():
    """What shapes with a tip mass are made for: a hand that follows as one that stands there by itself."""
    robot = follower()
    standing = robot.reference_coordinates()["elbow"]
    links = [robot.links[0], robot.links[1].with_changes(joint=pliant.Joint(name="elbow"))]
    alone = pliant.Robot(name="arm", links=links, pose={"shoulder": 0.7, "elbow": standing})
    found, expected = (carried(each, "upper") for each in (robot, alone))
    assert found.mass == pytest.approx(expected.mass)
    np.testing.assert_allclose(found.first, expected.first, atol=ROUNDING)
    np.testing.assert_allclose(found.inertia, expected.inertia, atol=ROUNDING)
    a, b = (pliant.Dynamics(each).mechanism.member("upper").body for each in (robot, alone))
    np.testing.assert_allclose(a.M_ee, b.M_ee, rtol=1e-12)


def rod():
    beam = {
        "length": 1.0,
        "material": "steel",
        "section": {"round": {"diameter": 0.005}},
        "bending": "exact",
        "modes": {"shape": "legendre", "normalise": "none", "bend_y": 2, "torsion": 1},
    }
    return pliant.Dynamics(
        pliant.Robot.model_validate({"name": "rod", "links": [{"name": "rod", "joint": {"name": "hub"}, "beam": beam}]})
    )


def test_the_unit_of_a_curvature_is_that_of_its_channel():
    arm = rod()
    assert arm.mechanism.words["rod.bend_y.1"].unit == "1/m"
    assert arm.mechanism.words["rod.torsion.1"].unit == "rad/m"
    curved = arm.pose("rod.tip", {"rod.bend_y.1": "0.5 1/m"}).position
    np.testing.assert_allclose(curved, arm.pose("rod.tip", {"rod.bend_y.1": 0.5}).position, atol=ROUNDING)
    rates = [arm.velocity("rod.tip", arm.reference_pose(), {"rod.bend_y.1": x}).linear for x in ("2 1/m/s", 2.0)]
    np.testing.assert_allclose(*rates, atol=ROUNDING)
    with pytest.raises(ValueError, match="1/m"):
        arm.pose("rod.tip", {"rod.bend_y.1": "1 mm"})
