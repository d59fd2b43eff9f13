"""More drives than motions: least efforts, given preloads, and what they do against one another."""

import numpy as np
import pytest

from closed_robots import four_bar, state
from planar_platforms import three_rrr
from pliant import Beam, Elements, Joint, Link, Rectangle
from pliant.dynamics import Dynamics

SAME = 1e-9
"""Of the largest effort or acceleration."""


def driven_twice():
    """The four-bar with a motor at its rocker, too."""
    robot = four_bar()
    links = [
        link.with_changes(joint=link.joint.with_changes(actuated=True)) if link.name == "rocker" else link
        for link in robot.links
    ]
    return robot.with_changes(links=links)


def over_driven_rrr():
    """The 3-RRR with a fourth motor at an elbow, and a whip on its platform."""
    robot = three_rrr(rigid=True)
    links = [
        link.with_changes(joint=link.joint.with_changes(actuated=True)) if link.joint.name == "e2" else link
        for link in robot.links
    ]
    section = Rectangle(width=0.002, height=0.01)
    beam = Beam(length=0.2, material="steel", section=section, elements=Elements(number=1, bend_y=True, bend_z=False))
    links.append(Link(name="whip", joint=Joint(type="fixed", parent="platform.root"), beam=beam))
    return robot.with_changes(links=links)


@pytest.fixture(scope="module", params=[driven_twice, over_driven_rrr], ids=["four-bar", "3-RRR with a whip"])
def arm(request):
    return Dynamics(request.param(), compile="never")


@pytest.fixture
def motion(arm):
    """A state, the accelerations that some efforts give it, and these efforts."""
    q, v = state(arm, speed=0.5)
    tau = np.random.default_rng(2).standard_normal(len(arm.inputs))
    return q, v, arm.forward(q, v, tau, wrenches={"tip": [3, -2, 0, 0, 0, 0.4]}), tau


def test_the_motion_is_that_of_the_efforts(arm, motion):
    q, v, a, given = motion
    push = {"tip": [3, -2, 0, 0, 0, 0.4]}
    driven = [arm.names.index(name) for name in arm.inputs]
    tau = arm.inverse(q, v, a[driven], wrenches=push)[0]
    scale = np.abs(a).max()
    assert arm.forward(q, v, tau, wrenches=push) == pytest.approx(a, abs=SAME * scale, rel=0)
    # least: no part of it works against itself
    inner = arm.internal_efforts(q)
    assert inner.shape == (len(arm.inputs), 1)
    assert inner.T @ tau == pytest.approx([0.0], abs=SAME * np.abs(tau).max())
    assert np.linalg.norm(tau) < np.linalg.norm(given)
    # nearest to the efforts that made the motion are these themselves
    assert arm.inverse(q, v, a[driven], wrenches=push, preload=given)[0] == pytest.approx(given, abs=SAME)
    # a preload of 5 along the inner effort stays, whole
    loaded = arm.inverse(q, v, a[driven], wrenches=push, preload=5 * inner[:, 0])[0]
    assert loaded == pytest.approx(tau + 5 * inner[:, 0], abs=SAME * 5)


def test_inner_efforts_move_nothing(arm):
    q, v = state(arm, speed=0.5)
    inner = arm.internal_efforts(q)[:, 0]
    still, pushed = arm.forward(q, v), arm.forward(q, v, 10 * inner)
    assert pushed == pytest.approx(still, abs=SAME * np.abs(still).max(), rel=0)


def test_two_motors_of_a_four_bar_share_the_power_of_one():
    """tau_1 v_1 + tau_2 v_2 is what one motor alone gives, and least efforts are along their rates."""
    one, two = Dynamics(four_bar(), compile="never"), Dynamics(driven_twice(), compile="never")
    q, v = state(one, speed=0.7)
    a = one.forward(q, v, [0.8])
    tau = two.inverse(q, v, a[[two.names.index(name) for name in two.inputs]])[0]
    rates = v[[two.names.index(name) for name in two.inputs]]
    assert tau @ rates == pytest.approx(0.8 * v[one.names.index("motor")], rel=1e-9)
    assert tau[0] * rates[1] == pytest.approx(tau[1] * rates[0], rel=1e-9)


def test_motions_that_contradict_the_loops_are_refused():
    arm = Dynamics(driven_twice(), compile="never")
    q = arm.assemble(hold=[])
    with pytest.raises(ValueError, match="contradict its loops, which let 1 of them follow"):
        arm.inverse(q, np.zeros(arm.size), [1.0, -50.0])


def test_a_preload_needs_redundant_drives():
    arm = Dynamics(four_bar(), compile="never")
    with pytest.raises(ValueError, match="has no redundant drives"):
        arm.inverse(arm.assemble(), np.zeros(arm.size), [0.0], preload=[1.0])
    assert arm.internal_efforts(arm.assemble()).shape == (1, 0)
