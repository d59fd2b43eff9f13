"""Paths of whole poses and of several frames by successive approximation, confirmed on the nonlinear model."""

import numpy as np
import pytest

from lumped_arms import MATERIAL
from pliant import ModelError, Robot, Study, inverse_dynamics

GOOD = 1e-5
FAST = {"method": "dop853", "tolerance": 1e-8}


def study(links, duration=1.2, gravity=(0.0, -9.81, 0.0), **changes):
    """An arm of bars in the plane, all joints driven."""
    beam = {
        "length": 0.35,
        "material": MATERIAL,
        "section": {"rectangle": {"width": 0.014, "height": 0.02}},
        "lumped": {"nodes": 2, "bend_y": True, "bend_z": False},
        "damping": {"ratio": 0.01},
    }
    names = "abcd"[:links]
    described = [{"name": name, "joint": {"axis": "z"}, "beam": beam} for name in names]
    described[-1]["payloads"] = [{"mass": 0.1}]
    pose = dict(zip(names, (0.3, 0.7, -0.9, 0.8), strict=False))
    robot = Robot(name="arm", gravity=gravity, links=described, pose=pose)
    to = {name: pose[name] + turn for name, turn in zip(names, (0.2, -0.3, 0.25, -0.2), strict=False)}
    drive = {"prescribed": {"trajectory": {"quintic": {"to": to, "duration": duration}}}}
    return Study(name="pose", robot=robot, until=duration + 0.1, drive=drive, integrator=FAST, **changes)


def test_whole_poses_are_kept_and_turns_are_told():
    """By positions alone milliradians stay, which are told; with orientation they go, on the nonlinear model, too."""
    job = study(3)
    by_position = inverse_dynamics(job, method="successive", orientation=False, tolerance=GOOD).confirmed(GOOD)
    by_pose = inverse_dynamics(job, method="successive", orientation=True, tolerance=GOOD).confirmed(GOOD)
    assert by_position.distance < GOOD
    assert by_position.tilt > 5e-4
    assert by_position.tilt == pytest.approx(by_position.run.solution.tilt, rel=0.05)
    assert by_pose.distance < GOOD
    led = by_pose.run.solution.led
    assert led.turned
    # a turn counts by the length of the arm
    assert by_pose.tilt < 1.01 * GOOD / led.length
    # independent of how rows are made: the run's own rotation of the tip beside that of the rigid robot
    q = by_pose.run.path.many(by_pose.result.time).q
    angle = q.sum(axis=1)
    R = by_pose.result["tip.rotation"]
    off = np.arctan2(R[:, 1, 0], R[:, 0, 0]) - angle
    assert np.abs(np.angle(np.exp(1j * off))).max() < 1.01 * GOOD / led.length


def test_several_frames_keep_their_paths():
    """The middle and the tip of an arm with four drives."""
    found = inverse_dynamics(study(4), method="successive", frame=["b.tip", "d.tip"], tolerance=GOOD)
    assert found.solution.iterations[0].largest > 50 * GOOD
    certain = found.confirmed(GOOD)
    assert certain.distance < GOOD
    rigid = found.path.many(certain.result.time).q
    for frame, joints in (("b.tip", 2), ("d.tip", 4)):
        angles = np.cumsum(rigid[:, :joints], axis=1)
        wanted = 0.35 * np.column_stack([np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)])
        position = certain.result[f"{frame}.position"][:, :2]
        assert np.linalg.norm(position - wanted, axis=1).max() < GOOD


def test_poses_that_drives_cannot_lead_are_refused():
    with pytest.raises(ModelError, match="position and orientation of 'tip' have 3 motions, and the 2 drives"):
        inverse_dynamics(study(2), method="successive", orientation=True)
    with pytest.raises(ModelError, match="have 4 motions, and the 3 drives"):
        inverse_dynamics(study(3), method="successive", frame=["b.tip", "c.tip"])


def test_what_no_drive_moves_is_told_and_not_waited_for():
    """Gravity across the plane sags the arm where no drive moves it: the path in the plane converges."""
    sagging = study(2, gravity=(0.0, 0.0, -9.81))
    links = [
        link.with_changes(beam={**link.beam.given(), "lumped": {"nodes": 2, "bend_y": True, "bend_z": True}})
        for link in sagging.robot.links
    ]
    job = sagging.with_changes(robot=sagging.robot.with_changes(links=links))
    found = inverse_dynamics(job, method="successive", tolerance=2 * GOOD)
    certain = found.confirmed(2 * GOOD)
    assert certain.distance < 2 * GOOD
    assert certain.aside > 3e-4
    assert found.solution.aside == pytest.approx(certain.aside, rel=0.02)
