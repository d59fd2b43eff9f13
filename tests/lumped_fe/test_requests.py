"""What the lumped method is asked acts, or is refused in words."""

import numpy as np
import pytest

from lumped_arms import two_link_arm
from pliant import LumpedModel, ModelError, Robot, frequencies_over_speed, load_study
from pliant.analysis.lumped.elastic_motion import elastic_motion, static
from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.simulation.inverse.inverse_dynamics import inverse_dynamics


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"elements": 0}, "elements is 0; it must be a whole number, at least 1"),
        ({"elements": -1}, "elements is -1; it must be a whole number"),
        ({"elements": 2.5}, "elements is 2.5; it must be a whole number"),
        ({"elements": True}, "elements is true; it must be a whole number"),
        ({"elements": {"upper": 0}}, "elements of link 'upper' is 0"),
        ({"variant": "exact"}, "variant is 'exact'; it must be one of complete, absolute, printed"),
        ({"variant": None}, "variant is empty; it must be one of"),
        ({"stiffening": "yes"}, "stiffening is 'yes'; it must be true, false, or left out"),
    ],
)
def test_models_of_nonsense_are_refused(options, words):
    with pytest.raises(ModelError, match=words):
        LumpedModel(two_link_arm(), **options)


def test_a_model_takes_the_name_of_a_robot():
    assert LumpedModel("five-bar", elements=1).robot.name == "five-bar"
    with pytest.raises(ModelError, match="five-baar"):
        LumpedModel("five-baar")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"band": 0.0}, "band is 0.0; it must be a number above zero, in rad/s"),
        ({"band": float("nan")}, "band is nan"),
        ({"iterations": -1}, "iterations is -1; it must be a whole number, at least 0"),
        ({"tolerance": 0.0}, "tolerance is 0.0; it must be a number above zero, in m"),
        ({"elements": -1}, "elements is -1"),
        ({"variant": "mine"}, "variant is 'mine'"),
        ({"feedback": "all"}, "feedback is 'all'; it must be one of band, static, full"),
        ({"steps": 0}, "steps is 0; it must be a whole number"),
        ({"steps": 1}, "steps is 1; the lowest vibration, of .* Hz, needs at least"),
        ({"frame": "base"}, "frame is 'base', which is fixed to the base"),
        ({"frame": "nowhere"}, "nowhere"),
    ],
)
def test_paths_of_nonsense_are_refused(options, words):
    with pytest.raises(ModelError, match=words):
        inverse_dynamics(load_study("two-link-circle"), method="successive", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"count": 0}, "count is 0; it must be a whole number"),
        ({"speeds": [np.nan]}, "speeds: they must be finite"),
        ({"at": {"shoulder": 0.1, "elbo": 1.0}}, "no actuated joint 'elbo'; did you mean 'elbow'"),
        ({"elements": 0}, "elements is 0"),
    ],
)
def test_speeds_of_nonsense_are_refused(options, words):
    with pytest.raises(ModelError, match=words):
        frequencies_over_speed(two_link_arm(), "shoulder", options.pop("speeds", [1.0]), **options)


def test_a_pose_of_another_size_is_refused():
    with pytest.raises(ModelError, match=r"q has shape \(3,\); robot 'bars' has 2 actuated joints: shoulder, elbow"):
        LumpedModel(two_link_arm()).at_rest([0.0, 0.1, 0.2])


def flexible_joint(mass, stiffness):
    """A bar behind a spring, on a gear without mass."""
    spring = {"spring": {"stiffness": stiffness}} if stiffness else {}
    bar = {"mass": 2.0, "com": [0.25, 0, 0], "inertia": [0, 0.05, 0.05], "length": 0.5}
    links = [
        {"name": "gear", "joint": {"name": "first", "axis": "z", "actuated": False, "spring": {"stiffness": 30.0}}},
        {"name": "bar", "joint": {"name": "second", "axis": "z", "actuated": False, **spring}},
    ]
    links[1 if mass else 0]["rigid"] = bar
    motor = {"name": "rotor", "joint": {"name": "motor", "axis": "z"}}
    return Robot(name="gears", gravity=(0, 0, 0), links=[motor, *links])


@pytest.mark.parametrize("speed", [0.0, 1e-6])
def test_two_springs_in_series_on_a_massless_gear_are_one(speed):
    model = LumpedModel(flexible_joint(mass=True, stiffness=60.0))
    motion = model.at_rest()
    motion.v[0, 0] = speed
    found = natural_frequencies(model, motion)
    np.testing.assert_allclose(found, np.sqrt(20.0 / (0.05 + 2.0 * 0.25**2)), rtol=1e-6)


def test_what_nothing_holds_is_named():
    model = LumpedModel(flexible_joint(mass=False, stiffness=0.0))
    with pytest.raises(ModelError, match="'second' moves no mass and nothing holds it"):
        natural_frequencies(model, model.at_rest())
    with pytest.raises(ModelError, match="no balance along 'second'"):
        static(model, model.at_rest())
    rest = model.at_rest()
    with pytest.raises(ModelError, match=r"neither mass nor stiffness|no balance"):
        elastic_motion(model, lambda t: type(rest)(*(np.repeat(x, len(t), 0) for x in rest)), np.linspace(0, 1, 3))
