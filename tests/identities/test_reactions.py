"""What joints transmit under efforts, loads and loops: Newton's law of bodies, and what drives and hinges can give."""

import numpy as np
import pytest

import zoo
from closed_robots import five_bar, four_bar, pendulum_ring, state
from oracle import Oracle
from pliant import Dynamics, Friction, Robot, simulate

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
"""Of accelerations of material points, which are differences, relative to the largest wrench."""

TREES = ("rigid-7", "rigid-tree", "drives", "pinned-oblique", "branches-exponential", "prismatic", "floating-beam")


def oracle(arm):
    return Oracle(arm.robot, arm.names, {m.name: m.body.D_ee for m in arm.mechanism.members}, {})


def compare(found, wanted):
    ours, theirs = np.array([found[joint] for joint in wanted]), np.array(list(wanted.values()))
    size = np.abs(theirs).max()
    np.testing.assert_allclose(ours / size, theirs / size, **CLOSE)


def along_axes(arm, points, q, reactions):
    """What each joint with one axis gives along it: joint -> effort."""
    out = {}
    for part in points.parts:
        joint = part.joint
        if joint.type in ("revolute", "prismatic"):
            axis = joint.child_placement.matrix().T @ joint.axis_vector()
            out[joint.name] = axis @ reactions[joint.name][3 if joint.type == "revolute" else 0 :][:3]
    return out


@pytest.mark.parametrize("name", TREES)
def test_loads_on_trees(name):
    arm = Dynamics(zoo.robot(name), compile="never")
    points, rng = oracle(arm), np.random.default_rng(5)
    q, v, _ = zoo.state(arm, 1)
    tau = rng.normal(size=len(arm.inputs))
    links = [arm.robot.links[k].name for k in (0, len(arm.robot.links) // 2, -1)]
    wrenches = {f"{link}.tip": rng.normal(size=6) for link in dict.fromkeys(links)}
    a = arm.forward(q, v, tau, wrenches=wrenches)
    found = arm.reactions(q, v, a, tau, wrenches=wrenches)
    compare(found, points.joint_wrenches(q, v, a, wrenches.items()))
    compare(arm.reactions(q, v, a, wrenches=wrenches), found)
    # a drive gives what it gives, less rotor, spring and friction; pinned shapes turn the root against the axis
    if name in ("rigid-7", "rigid-tree", "drives", "prismatic"):
        given = arm.B @ tau - points.drive_forces(q, v, a)
        for joint, effort in along_axes(arm, points, q, found).items():
            assert effort == pytest.approx(given[arm.names.index(joint)], rel=1e-5, abs=1e-5)


def closed_arm(kind):
    if kind == "ring":
        return Dynamics(pendulum_ring(friction=0.3), compile="never")
    if kind == "five-bar":
        robot = five_bar(friction=Friction(viscous=0.3), bend_y=True, bend_z=False, axial=True)
        return Dynamics(robot, compile="never")
    if kind == "four-bar in space":
        return Dynamics(four_bar(loop={"planar": None}, bend_y=True, bend_z=True, torsion=True), compile="never")
    return Dynamics(kind, compile="never")


@pytest.mark.parametrize("kind", ["ring", "five-bar", "four-bar in space", "three-prs", "closed-frame"])
def test_loads_on_loops(kind):
    """Bodies are balanced with the forces of the closures, and hinges give what drives and friction give, no more."""
    arm = closed_arm(kind)
    points, rng = oracle(arm), np.random.default_rng(6)
    joints, J = arm.mechanism.joints, arm.loops.jacobian
    q, v, a = 1e-3 * rng.standard_normal((3, arm.size))
    q, v[joints], a[joints] = arm.assemble(hold=[]) + 1e-3 * q, rng.standard_normal(len(joints)), 1.0
    tau, multipliers = rng.normal(size=len(arm.inputs)), rng.normal(size=len(arm.loops.rows))
    links = [arm.robot.links[k].name for k in (0, -1)]
    wrenches = {f"{link}.tip": rng.normal(size=6) for link in links}
    # what else must act for this motion, so that the closures give just this
    force = arm.forces(q, v, a) - arm.B @ tau - J(q).T @ multipliers
    force -= sum(arm.jacobian(frame, q).T @ wrench for frame, wrench in wrenches.items())
    found = arm.reactions(q, v, a, tau, force=force, wrenches=wrenches)
    closing = arm.loops.closing_wrenches(q, multipliers)
    compare(found, points.joint_wrenches(q, v, a, [*wrenches.items(), *closing]))
    given, size = arm.B @ tau + force - points.drive_forces(q, v, a), max(np.abs(x).max() for x in found.values())
    for joint, effort in along_axes(arm, points, q, found).items():
        assert effort == pytest.approx(given[arm.names.index(joint)], rel=1e-5, abs=1e-5 * size)


def test_a_held_platform_carries_its_load():
    """At rest the rails hold the weight of the whole robot and the load, whatever the legs do."""
    arm = Dynamics("three-prs", compile="never")
    q, still, wrench = arm.assemble(), np.zeros(arm.size), {"platform.root": [0, 0, -1000.0, 0, 0, 0]}
    tau = arm.inverse(q, still, np.zeros(len(arm.inputs)), wrenches=wrench).tau
    a = arm.forward(q, still, tau, wrenches=wrench)
    np.testing.assert_allclose([a[arm.names.index(name)] for name in arm.inputs], 0, atol=1e-6)
    on_base = [link for link in arm.robot.links if arm.robot.parent_of(link.name)[0] == "base"]
    found = arm.reactions(q, still, a, tau, wrenches=wrench)
    upward = sum(arm.link_pose(link.name, q).rotation @ found[link.joint.name or link.name][:3] for link in on_base)
    mass, momentum = oracle(arm), np.zeros(3)
    momentum = mass.masses @ (mass.accelerations(q, still, a) - mass.gravity)
    np.testing.assert_allclose(upward, momentum + [0, 0, 1000.0], rtol=1e-6, atol=1e-5)
    assert arm.reactions(q, still, a, wrenches=wrench)["rail_1"] == pytest.approx(found["rail_1"], abs=1e-6)


def test_a_motion_that_does_not_belong_to_its_efforts_is_refused():
    arm = Dynamics(five_bar(), compile="never")
    q, v = state(arm)
    a = arm.forward(q, v, [1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"a is not the motion of robot 'five-bar' .* lacks .* N m; take a from forward"
    ):
        arm.reactions(q, v, a, [1.0, 3.0])


def test_inverse_dynamics_take_loads():
    for arm in (
        Dynamics(five_bar(bend_y=True, bend_z=False), compile="never"),
        Dynamics("two-link-flexible", compile="never"),
    ):
        q, v = state(arm, size=1e-3)
        frame = f"{arm.robot.links[-1].name}.tip"
        wrenches, wanted = {frame: [3.0, -4.0, 5.0, 0.1, 0.2, 0.3]}, np.array([0.3, -0.4])
        tau, others = arm.inverse(q, v, wanted, wrenches=wrenches)
        a = arm.forward(q, v, tau, wrenches=wrenches)
        np.testing.assert_allclose([a[arm.names.index(name)] for name in arm.inputs], wanted, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose([a[arm.names.index(name)] for name in arm.others], others, rtol=1e-6, atol=1e-5)
        force = arm.jacobian(frame, q).T @ wrenches[frame]
        np.testing.assert_allclose(arm.inverse(q, v, wanted, force=force).tau, tau, rtol=1e-10)


# ---------------------------------------------------------------- runs


def held_bar(**beam):
    body = {"beam": {"length": 1.0, "material": "steel", "section": {"rectangle": {"width": 2e-3, "height": 2e-2}}}}
    body["beam"] |= {"modes": {"bend_y": 2}, **beam}
    return Robot.model_validate(
        {"name": "bar", "gravity": [0, 0, 0], "links": [{"name": "bar", "joint": {"name": "j"}, **body}]}
    )


def test_runs_keep_what_acts_on_frames(tmp_path):
    """A bar that its drive holds, pulled sideways at its tip: the joint gives all of it back."""
    run = simulate(
        held_bar(),
        until=0.02,
        drive={"prescribed": {"trajectory": {"hold": {}}}},
        disturbances=[{"frame": "tip", "force": [0, 1, 0]}],
    )
    reaction = run["j.reaction"]
    points = oracle(run.arm)
    for k in (0, len(run) // 2, -1):
        wrenches = [("bar.tip", [0, 1, 0, 0, 0, 0])]
        a = run.quantities.accelerations[k]
        compare({"j": reaction[k]}, points.joint_wrenches(run.q[k], run.v[k], a, wrenches))
    run.save(tmp_path / "run.h5")
    again = type(run).load(tmp_path / "run.h5")
    np.testing.assert_allclose(again["j.reaction"], reaction, atol=1e-12)


EULER = np.pi**2 / 4 * 210e9 * 2e-2 * (2e-3) ** 3 / 12
"""Buckling load of the bar, clamped at its root."""


@pytest.mark.filterwarnings("ignore:link 'bar' is pressed")
@pytest.mark.parametrize(("pulse", "warned"), [((0.0, None), True), ((0.005, 0.006), True), (None, False)])
def test_a_load_beyond_buckling_is_told(pulse, warned):
    loads = [{"frame": "tip", "force": [-3 * EULER, 0, 0], "start": pulse[0], "end": pulse[1]}] if pulse else []
    robot = held_bar(bending="linear")
    run = simulate(robot, until=0.01, drive={"prescribed": {"trajectory": {"hold": {}}}}, disturbances=loads)
    assert any("times its buckling load" in text for text in run.warnings) is warned
