"""The power that is lost: what friction and damping do in the equations of motion, in Python and in compiled steps."""

import numpy as np
import pytest

import zoo
from pliant.dynamics import Dynamics
from pliant.engine.stepping.driving import Driving
from pliant.engine.stepping.explicit_system import ExplicitSystem
from pliant.engine.stepping.layout import BALANCES, StateLayout

ROUNDING = 1e-11
"""Of the power: forces of inertia and of strain drop out of the difference."""
ROBOTS = ("drives", "pinned", "prismatic", "rotary-exact", "balls")


def lossless(robot):
    """The same robot without dampers, friction and structural damping."""

    def still(link):
        joint, changes = link.joint, {}
        if joint.type in ("revolute", "prismatic", "spherical"):
            spring = joint.spring and joint.spring.with_changes(damping=0.0)
            changes["joint"] = joint.with_changes(friction=None, spring=spring)
        if link.beam is not None:
            changes["beam"] = link.beam.with_changes(damping=None)
        return link.with_changes(**changes)

    return robot.with_changes(links=[still(link) for link in robot.links])


@pytest.fixture(scope="module", params=ROBOTS)
def case(request):
    """A robot, a state in which friction is half developed, and the power of its lossy forces."""
    robot = zoo.robot(request.param)
    arm, ideal = (Dynamics(each, compile="never") for each in (robot, lossless(robot)))
    rng = np.random.default_rng(5)
    q, v, a = 0.1 * rng.normal(size=(3, arm.size))
    return robot, arm, q, v, v @ (arm.forces(q, v, a) - ideal.forces(q, v, a))


def test_what_is_lost_is_the_power_of_the_lossy_forces(case):
    _, arm, q, v, power = case
    assert power > 0
    assert arm.lost_power(q, v) == pytest.approx(power, rel=ROUNDING)
    assert arm.lost_power(np.array([q, q]), np.array([v, -v])) == pytest.approx([power, power], rel=ROUNDING)


def test_compiled_steps_lose_the_same(case):
    robot, _, q, v, power = case
    arm = Dynamics(robot)
    nothing = Driving(lambda q, v, r, gains: [0.0] * len(q))
    system = ExplicitSystem(arm.tree, nothing, arm.traced("forward"))
    slope = system.slope(0.0, np.concatenate([q, v, np.zeros(BALANCES)]))
    assert slope[system.layout.loss] == pytest.approx(power, rel=ROUNDING)


@pytest.mark.parametrize(("count", "states"), [(0, 0), (3, 0), (2, 4)])
def test_the_parts_of_a_state_follow_one_another(count, states):
    at = StateLayout(count, states)
    places = list(range(at.size))
    parts = [places[at.q], places[at.v], places[at.drive], [at.work], [at.loads], [at.loss]]
    assert [k for part in parts for k in part] == places
    assert [len(part) for part in parts[:3]] == [count, count, states]
    assert places[at.rest] == places[at.drive] + places[at.balances]
    assert places[at.balances] == places[at.controlled :] == [at.work, at.loads, at.loss]
    assert at.further == len(places[at.rest])
