"""The rigid twin that deflections are measured against, also where its joints alone cannot close it."""

import numpy as np
import pytest

from closed_robots import four_bar, state
from pliant import Dynamics, Result, Robot, simulate
from pliant.analysis.along import unbent
from pliant.model.description.robot import rigid_twin

SPACE = {"bend_y": True, "bend_z": True, "torsion": True}
BENNETT = 0.3 * np.sin(np.deg2rad(100)) / np.sin(np.deg2rad(60))
"""Length of the other pair of bars, so that the loop of four hinges in space can move."""
TURN = 60 * np.pi / 180


def three_cranks():
    """A plate on three parallel cranks: two of them would do."""
    beam = {
        "length": 0.2,
        "material": "steel",
        "section": {"rectangle": {"width": 5e-3, "height": 20e-3}},
        "elements": {"number": 1, "bend_y": True, "bend_z": False, "axial": True},
    }
    cranks = [
        {
            "name": f"c{k}",
            "joint": {"name": f"m{k}", "parent": "base", "actuated": k == 1, "placement": {"position": [x, 0, 0]}},
            "beam": beam,
        }
        for k, x in ((1, 0.0), (2, 0.5), (3, 0.2))
    ]
    plate = {
        "name": "plate",
        "joint": {"name": "p", "parent": "c1.tip", "actuated": False},
        "rigid": {"mass": 1.5, "com": [0.25, 0.03, 0], "inertia": 0.04, "length": 0.5},
        "frames": [{"name": "mid", "position": [0.2, 0, 0]}],
    }
    loops = [
        {"name": "a", "type": "revolute", "frames": ["plate.tip", "c2.tip"], "planar": "xy"},
        {"name": "b", "type": "revolute", "frames": ["plate.mid", "c3.tip"], "planar": "xy"},
    ]
    pose = {"m1": 1.2, "p": -1.2, "m2": 1.2, "m3": 1.2}
    return Robot.model_validate(
        {"name": "cranks", "gravity": [0, -9.81, 0], "links": [cranks[0], plate, *cranks[1:]], "loops": loops}
        | {"pose": pose}
    )


def bennett():
    """Four hinges in space whose mobility Grübler's count denies."""

    def bar(name, joint, length, twist):
        beam = {
            "length": length,
            "material": "aluminium",
            "section": {"tube": {"outer": 20e-3, "thickness": 2e-3}},
            "bending": "linear",
            "elements": {"number": 1, **SPACE, "axial": True},
        }
        end = {"name": "end", "x": length, "rotation": {"x": np.deg2rad(twist)}}
        return {"name": name, "joint": joint, "beam": beam, "frames": [end]}

    links = [
        bar("one", {"name": "t1", "parent": "base"}, 0.3, 60),
        bar("two", {"name": "t2", "parent": "one.end", "actuated": False}, BENNETT, 100),
        bar("three", {"name": "t3", "parent": "two.end", "actuated": False}, 0.3, 60),
    ]
    ground = {"frame": "base", "position": [-BENNETT, 0, 0], "rotation": {"x": np.deg2rad(-100)}}
    loop = {"name": "fourth", "type": "revolute", "axis": "z", "frames": ["three.end", ground]}
    pose = {"t1": TURN, "t2": 157.323765 * np.pi / 180, "t3": -TURN}
    return Robot.model_validate(
        {"name": "bennett", "gravity": [0, 0, -9.81], "links": links, "loops": [loop], "pose": pose}
    )


OVERCONSTRAINED = {
    "four-bar in space": lambda: four_bar(loop={"planar": None}, **SPACE),
    "three cranks": three_cranks,
    "bennett": bennett,
}


def test_a_run_is_kept_and_drawn(tmp_path):
    run = simulate(three_cranks(), until=0.01)
    run.save(tmp_path / "run.h5")
    again, frame = Result.load(tmp_path / "run.h5"), run.info.frames[0]
    np.testing.assert_allclose(again[f"{frame}.deflection"], run[f"{frame}.deflection"], atol=1e-15)
    assert run.extreme(f"{frame}.deflection").most > 0
    run.report(tmp_path / "run.html")
    run.plot(tmp_path / "run.png")


@pytest.mark.parametrize("name", OVERCONSTRAINED)
def test_the_unbent_robot_is_the_rigid_one_at_the_same_drives(name):
    robot = OVERCONSTRAINED[name]()
    arm, rigid = (Dynamics(each, compile="never") for each in (robot, rigid_twin(robot)))
    q = np.array([state(arm, seed=seed, size=1e-3)[0] for seed in range(3)])
    straight = unbent(arm, q)
    assert np.abs(arm.closure(straight)).max() < 1e-12
    np.testing.assert_allclose(straight[0], unbent(arm, q[0]), atol=1e-12)
    for bent, found in zip(q, straight, strict=True):
        start = {name: x for name, x in arm.by_name(bent).items() if name in rigid.names}
        wanted = rigid.assemble(rigid.q(start))
        np.testing.assert_allclose([arm.by_name(found)[name] for name in rigid.names], wanted, atol=1e-9)


def test_drives_that_only_bending_lets_move_leave_the_smallest_gap():
    """Both sides of a four-bar driven, 0.02 rad apart from where rigid bars would close."""
    robot = four_bar(bend_y=True, bend_z=False)
    links = [
        link.model_copy(update={"joint": link.joint.model_copy(update={"actuated": True})})
        if link.joint.name == "ground_pin"
        else link
        for link in robot.links
    ]
    arm = Dynamics(robot.model_copy(update={"links": tuple(links)}), compile="never")
    q = arm.assemble(hold=[])
    q[arm.names.index("ground_pin")] += 0.02
    straight = unbent(arm, q)
    k = arm.names.index("pin")

    def gap(angle):
        other = straight.copy()
        other[k] = angle
        return np.linalg.norm(arm.closure(other))

    assert gap(straight[k]) > 1e-3
    assert gap(straight[k]) <= min(gap(straight[k] + 1e-4), gap(straight[k] - 1e-4))


def test_states_that_are_no_numbers_stay_none():
    arm = Dynamics(three_cranks(), compile="never")
    q = np.vstack([arm.assemble(), np.full(arm.size, np.nan)])
    straight = unbent(arm, q)
    np.testing.assert_allclose(straight[0], arm.assemble(), atol=1e-12)
    assert np.isnan(straight[1]).any()


def test_what_cannot_be_closed_is_as_near_as_it_gets():
    """Beside states that close, a crank so far out that coupler and rocker do not meet."""
    arm = Dynamics(four_bar(lengths=(0.4, 0.3, 0.15, 0.12)), compile="never")
    loops, motor = arm.loops, (arm.names.index("motor"),)
    near = arm.assemble({"motor": 0.3})
    states = np.array([near, near])
    states[1, motor] = 2.5
    found = loops.closest(states, motor)
    gaps = np.linalg.norm(loops.gaps(found), axis=1)
    assert gaps[0] < 1e-9
    # coupler and rocker in line, between the ends of crank and ground
    between = np.linalg.norm([0.4 - 0.3 * np.cos(2.5), 0.3 * np.sin(2.5)]) - 0.15 - 0.12
    assert gaps[1] == pytest.approx(between, rel=1e-3)


def test_rows_that_follow_from_others_are_looked_at():
    """Of a loop of rigid bars in space half of the rows follow from the others: an open one shows in them, too."""
    arm = Dynamics(four_bar(loop={"planar": None}), compile="never")
    loops = arm.loops
    q = np.array([arm.assemble({"motor": x}) for x in (1.4, 1.6)])
    v = np.zeros_like(q)
    assert loops.redundant
    assert loops._holds(q, v)
    assert not loops._holds(q + [[0, 0, 0], [0, 1e-3, 0]], v)
    assert not loops._holds(q, v + [[0, 1e-3, 0], [0, 0, 0]])
