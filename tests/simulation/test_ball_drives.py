"""Drives of joints with several coordinates: universal ones are driven, others are refused with the cure."""

import numpy as np
import pytest

from pliant import (
    PID,
    ComputedTorque,
    Disturbance,
    Dynamics,
    GivenTorque,
    Joint,
    Link,
    Mimic,
    ModelError,
    PrescribedMotion,
    Quintic,
    Rigid,
    Robot,
    Spring,
    simulate,
)

MOVE = Quintic(to={"u_1": 0.5, "u_2": -0.3}, duration=0.2)
EXACT = 1e-7
"""Angle (rad) at the end of a run at a tolerance of 1e-8."""
BALANCED = 1e-5
"""Energy balance, J, of motions with some 10 J at a tolerance of 1e-8."""


def body(link, **joint):
    given = Rigid(mass=1.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.25), length=0.5)
    return Link(name=link, joint=Joint(**joint), rigid=given)


@pytest.fixture(scope="module")
def arm():
    return Dynamics(Robot(name="r", links=[body("a", name="u", type="universal", actuated=True)]))


@pytest.fixture(scope="module")
def mixed():
    """A passive joint, one that follows, a ball and a driven joint."""
    links = [
        body("a", name="a", axis="y"),
        body("b", name="loose", actuated=False),
        body("c", name="behind", mimic=Mimic(joint="a")),
        body("d", name="ball", type="spherical"),
    ]
    return Robot(name="mixed", links=links)


@pytest.mark.parametrize(
    "drive",
    [
        PrescribedMotion(trajectory=MOVE),
        ComputedTorque(trajectory=MOVE, kp=400, kd=40),
        PID(trajectory=MOVE, kp=2e5, kd=2e3, gravity="measured"),
    ],
    ids=lambda drive: type(drive).__name__,
)
def test_a_universal_joint_follows_a_trajectory(arm, drive):
    run = simulate(arm, until=0.2, drive=drive)
    near = 1e-3 if isinstance(drive, PID) else EXACT
    assert np.abs(run.q[-1] - [0.5, -0.3]).max() <= near
    assert np.abs(run["energy.balance"]).max() <= BALANCED
    assert {"u_1.torque", "u_2.torque"} <= set(run.channels)


def test_torques_act_along_each_turn_of_a_universal_joint(arm):
    run = simulate(arm, until=0.05, drive=GivenTorque(joints={"u_1": "3*sin(40*t)", "u_2": 0.5}))
    assert run["u_1.torque"] == pytest.approx(3 * np.sin(40 * run.time))
    assert run.q == pytest.approx(
        simulate(
            arm,
            until=0.05,
            disturbances=[Disturbance(joint="u_1", effort="3*sin(40*t)"), Disturbance(joint="u_2", effort=0.5)],
        ).q,
        abs=EXACT,
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ball.rx", "spherical joint, which has no drive; hold it by its spring, act on its link by a moment"),
        ("ball", "'ball' belongs to a spherical joint"),
        ("behind", "'behind' follows 'a'; drive that one"),
        ("loose", "'loose' has no drive; write `actuated: true` into its joint"),
        ("bal", "has no actuated joint 'bal'"),
    ],
)
def test_what_has_no_drive_is_told_with_the_cure(mixed, name, words):
    with pytest.raises(ModelError, match=words):
        simulate(mixed, until=0.1, drive=PID(trajectory=Quintic(to={name: 0.5}, duration=0.1), kp=1, kd=1))


def test_the_cures_of_a_ball_work():
    """Held by its spring against a moment m on a frame: the rotation vector that it comes to rest at is m / k."""
    joint = Joint(name="ball", type="spherical", spring=Spring(stiffness=50.0, damping=20.0))
    link = Link(name="a", joint=joint, rigid=Rigid(mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.2, 0.25)))
    moment = np.array([3.0, -2.0, 1.0])
    load = Disturbance(frame="a.root", moment=tuple(moment))
    run = simulate(Robot(name="held", links=[link], gravity=(0, 0, 0)), until=8.0, disturbances=[load])
    assert run.q[-1] == pytest.approx(moment / 50.0, abs=EXACT)
