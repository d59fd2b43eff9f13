"""What acts on the links of a robot, against its equations of motion, and forces in sections against closed forms."""

import warnings

import numpy as np
import pytest

import pliant
import zoo
from boom_robots import bending_boom
from closed_robots import four_bar
from pliant import Beam, Dynamics, GivenTorque, Joint, Link, Material, Modes, RigidPart, Robot
from pliant.analysis.along import moving_links
from pliant.analysis.equilibrium import settle
from pliant.analysis.link_loads import link_loads
from pliant.bodies.constants import terms_of

ROUNDING = 1e-9
SECTION = {"rectangle": {"width": 0.02, "height": 0.03}}
STEEL = Material(E=200e9, density=7800, nu=0.3, yield_strength=350e6)
L, RHOA, G = 1.0, 7800 * 0.02 * 0.03, 9.81
Iy, Iz, AREA = 0.02 * 0.03**3 / 12, 0.03 * 0.02**3 / 12, 0.02 * 0.03
BENT = 1e-5
"""Of a beam that bends by 1 mm of 1 m its weight has a part along its sections."""


@pytest.mark.parametrize("name", [name for name in zoo.ZOO if name not in zoo.RIGID])
def test_loads_of_links_are_those_of_the_equations_of_motion(name):
    """Elastic rows: strain, damping and vibration balance the loads; the joint hands on what reactions say."""
    arm = Dynamics(zoo.robot(name), compile="never")
    states = [np.stack([x, 0.5 * x]) for x in zoo.state(arm)]
    q, v, a = states
    forces = arm.forces(q, v, a)
    found = link_loads(arm, q, v, a)
    reactions = [arm.reactions(*state) for state in zip(q, v, a, strict=True)]
    for member in arm.mechanism.members:
        own = found[member.name]
        if member.joint.name in reactions[0]:
            wanted = np.array([each[member.joint.name][:3] for each in reactions])
            np.testing.assert_allclose(own.joint[0], wanted, atol=ROUNDING * np.abs(wanted).max())
        body = member.body
        # motors turn the root of pinned shapes: their part stands on the other side
        if not body.size or body.moves("root"):
            continue
        blocks, _ = terms_of(body, arm.mechanism.rule).inertia(list(own.q_e.T), list(own.v_e.T), list(own.w.T))
        M = np.array([[np.broadcast_to(x, 2) for x in row] for row in blocks.M_e])
        vibrating = np.einsum("ijk,kj->ki", M, a[:, member.elastic])
        balance = own.q_e @ body.K_ee + own.v_e @ body.D_ee + vibrating - own.elastic
        wanted = forces[:, member.elastic]
        # payloads on second-order beams move by a fit
        tolerance = 1e-5 if name == "second-order" else ROUNDING
        np.testing.assert_allclose(balance, wanted, atol=tolerance * np.abs(wanted).max())


def boom(*, joint=None, payload=0.0, gravity=(0, 0, -G), **beam):
    own = Beam(length=L, section=SECTION, material=STEEL, **{"modes": Modes(shape="clamped-free", bend_z=1), **beam})
    carried = [RigidPart(mass=payload)] if payload else []
    link = Link(name="arm", joint=joint or Joint(type="fixed"), beam=own, payloads=carried)
    return Dynamics(Robot(name="boom", links=[link], gravity=gravity), compile="never")


@pytest.mark.parametrize("bending", ["linear", "second-order", "exact"])
def test_root_stress_under_its_own_weight_with_one_mode(bending):
    """w L^2 / 2 over the section modulus; the curvature of the shape alone is 11 % or more below."""
    shape = "legendre" if bending == "exact" else "clamped-free"
    arm = boom(bending=bending, modes=Modes(shape=shape, bend_z=1))
    found = pliant.along(arm, "arm", settle(arm))
    exact = RHOA * G * (L - found.x) ** 2 / 2 * 0.015 / Iy
    np.testing.assert_allclose(found.stress, exact, atol=BENT * exact[0])
    assert STEEL.E * 0.015 * abs(found.strain[0, 2]) < 0.9 * exact[0]
    assert found.utilisation[0] == pytest.approx(exact[0] / 350e6, rel=BENT)
    peak = pliant.stress_peak(arm, "arm", settle(arm))
    assert (peak.value, peak.utilisation) == pytest.approx((exact[0], exact[0] / 350e6), rel=BENT)
    assert np.allclose(peak.place, 0.0, atol=1e-8)


def test_pull_and_moment_of_a_payload_and_loads():
    """A force, a moment and a payload at the tip of a beam that hangs at an angle; linear, so levers are those told."""
    arm = boom(joint=Joint(name="j", axis="y"), payload=3.0, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1))
    angle, force, moment = 0.4, np.array([5.0, 7.0, -11.0]), np.array([0.3, 0.5, -0.2])
    rest = settle(arm, {"j": angle}, loads={"tip": [*force, *moment]})
    found = pliant.along(arm, "arm", rest)
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    g = R.T @ [0, 0, -G]
    tip, turned = R.T @ force + 3.0 * g, R.T @ moment
    s, line = L - found.x, RHOA * g[:, None]
    wanted_N = tip[0] + line[0] * s
    wanted_Mz = turned[2] + tip[1] * s + line[1] * s**2 / 2
    wanted_My = turned[1] - tip[2] * s - line[2] * s**2 / 2
    # it bends by 2 mm of 1 m
    np.testing.assert_allclose(found.force[:, 0], wanted_N, atol=5e-3 * np.abs(tip).max())
    np.testing.assert_allclose(found.moment[:, 2], wanted_Mz, atol=3e-3 * np.abs(wanted_My).max())
    np.testing.assert_allclose(found.moment[:, 1], wanted_My, atol=3e-3 * np.abs(wanted_My).max())
    fibre = np.abs(wanted_N) / AREA + np.abs(wanted_Mz) * 0.010 / Iz + np.abs(wanted_My) * 0.015 / Iy
    np.testing.assert_allclose(found.stress, fibre, rtol=6e-3, atol=1e-3 * fibre.max())


def test_tension_of_a_rotating_beam():
    """rho A w^2 (L^2 - x^2) / 2 and that of the payload, in steady rotation."""
    arm = boom(joint=Joint(name="j", axis="z"), payload=2.0, gravity=(0, 0, 0))
    rest = settle(arm, rates={"j": 20.0})
    found = pliant.along(arm, "arm", rest)
    wanted = RHOA * 400 * (L**2 - found.x**2) / 2 + 2.0 * 400 * L
    np.testing.assert_allclose(found.force[:, 0], wanted, rtol=1e-8)
    np.testing.assert_allclose(found.stress, wanted / AREA, rtol=1e-8)


def test_what_is_not_named_is_told_by_the_curvature():
    """A tip load that along() does not hear of: its part of the stress is that of the shapes, the weight's is exact."""
    arm = boom(bending="linear", elements={"number": 2, "bend_z": True}, modes=None)
    rest = settle(arm, loads={"tip": [0, 0, -40]})
    blind, told = pliant.along(arm, "arm", rest.q), pliant.along(arm, "arm", rest)
    np.testing.assert_allclose(blind.stress, told.stress, atol=BENT * told.stress[0])
    exact = (40 * L + RHOA * G * L**2 / 2) * 0.015 / Iy
    assert told.stress[0] == pytest.approx(exact, rel=1e-6)


def test_a_coupler_between_pins_of_a_loop():
    """Whatever its shapes can follow: between two pins the moment of its weight is w x (L - x) / 2."""
    arm = Dynamics(four_bar(bend_y=True), compile="never")
    rest = settle(arm)
    found = pliant.along(arm, "coupler", rest)
    across = (arm.link_pose("coupler", rest.q).rotation.T @ [0, -G, 0])[1]
    length = arm.robot.link("coupler").length
    line = arm.robot.link("coupler").beam.at(0.0).mass_per_length * across
    # what is outboard on the section: -w x (L - x) / 2 about z
    wanted = -line * found.x * (length - found.x) / 2
    np.testing.assert_allclose(found.moment[:, 2], wanted, atol=1e-4 * np.abs(wanted).max())
    crank = pliant.along(arm, "crank", rest)
    # the motor holds the crank: its moment at the root, and none at its pin
    assert crank.moment[0, 2] == pytest.approx(-rest.tau[0], rel=1e-6)
    assert abs(crank.moment[-1, 2]) < 1e-6 * abs(crank.moment[0, 2])


def test_stress_in_a_run_is_that_of_a_finer_model():
    """A driven arm with a payload: one mode against five."""

    def run(**beam):
        arm = boom(joint=Joint(name="j", axis="y"), payload=1.0, damping={"ratio": 0.02}, **beam)
        drive = GivenTorque(joints={"j": "-35 - 20*sin(10*t)"})
        outputs = {"step": 0.01}
        return pliant.run_study(
            pliant.Study(robot=arm.robot, until=0.4, drive=drive, start={"links": "equilibrium"}, outputs=outputs)
        )

    few = run(modes=Modes(shape="clamped-mass", bend_z=1))
    fine = run(modes=Modes(shape="clamped-mass", bend_z=5))
    assert few["arm.stress"].max() == pytest.approx(fine["arm.stress"].max(), rel=0.01)
    old = STEEL.E * 0.015 * np.abs(few.along("arm").strain[:, 0, 2])
    miss = np.abs(few["arm.stress"] - fine["arm.stress"]).max()
    assert np.abs(old - fine["arm.stress"]).max() > 3 * miss


@pytest.mark.parametrize("bending", ["linear", "second-order", "exact"])
def test_sections_at_the_root_hand_on_what_the_joint_gives(bending):
    """With all that rates do: a beam that turns about two axes while it vibrates, its elastic accelerations zero."""
    shape = "legendre" if bending == "exact" else "clamped-free"
    carrier = Link(name="post", joint=Joint(name="i", axis="z"), rigid={"mass": 1.0, "inertia": 0.1, "length": 0.3})
    beam = Beam(
        length=L, section=SECTION, material=STEEL, bending=bending, modes=Modes(shape=shape, bend_y=2, bend_z=2)
    )
    robot = Robot(name="boom", links=[carrier, Link(name="arm", joint=Joint(name="j", axis="y"), beam=beam)])
    arm = Dynamics(robot, compile="never")
    rng = np.random.default_rng(5)
    joints = np.isin(arm.names, robot.joint_coordinates)
    q, v, a = (np.where(joints, 1.0, size) * rng.normal(size=(3, arm.size)) for size in (0.01, 0.5, 0.0))
    found = pliant.along(arm, "arm", q, v=v, a=a)
    acting = link_loads(arm, q, v, a)["arm"]
    force, moment = acting.joint
    # second-order bodies move back by a fit that is linear in the place
    close = 3e-3 if bending == "second-order" else 1e-6
    np.testing.assert_allclose(found.force[:, 0], -force, atol=1e-6 * np.abs(force).max())
    np.testing.assert_allclose(found.moment[:, 0], -moment, atol=close * np.abs(moment).max())
    # vibration matters here
    still = pliant.along(arm, "arm", q, v=np.where(joints, v, 0.0), a=a)
    assert np.abs(still.moment[:, 0] + moment).max() > 0.01 * np.abs(moment).max()


def sprung():
    """A flexible arm of two links whose tip hangs on a spring from the base."""
    robot = pliant.load("two-link-flexible")
    data = {key: getattr(robot, key) for key in robot.model_fields_set}
    frames = [{"frame": "base", "position": [0.2, 0.4, 0.3]}, f"{robot.links[1].name}.tip"]
    line = {"name": "line", "frames": frames, "spring": {"stiffness": 200.0, "length": 0.5, "damping": 3.0}}
    return Robot.model_validate({**data, "actuators": [line]})


def lifted():
    """A boom that a cylinder holds under its weight."""
    force = {"force": {}}
    return Robot.model_validate({**bending_boom(**force), "gravity": [0, 0, -9.81]})


@pytest.mark.parametrize("robot", [sprung, lifted], ids=["spring", "cylinder"])
def test_lines_push_on_links_where_a_robot_rests(robot):
    """What acts on the elastic coordinates of a link at rest is its strain; the same where pushes must be found."""
    arm = Dynamics(robot(), compile="never")
    rest = settle(arm)
    told, found = moving_links(arm, rest), moving_links(arm, rest.q)
    for name, own in told.items():
        K = own.member.body.K_ee
        size = max(np.abs(own.q_e @ K).max(initial=0.0), 1e-9)
        np.testing.assert_allclose(own.elastic, own.q_e @ K, atol=1e-6 * size)
        np.testing.assert_allclose(found[name].elastic, own.elastic, atol=1e-5 * size)


def test_a_released_beam_is_not_stressed_at_once():
    """A straight bar that is let go on a hinge: elements, whose root turns fast at first, beside six modes."""

    def run(**beam):
        arm = boom(joint=Joint(name="j", axis="y"), **beam)
        return pliant.simulate(arm.robot, until=0.03, limits="ignore")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, fine = run(modes=None, elements={"number": 3, "bend_z": True}), run(modes=Modes(bend_z=5))
    most = fine["arm.stress"].max()
    assert few["arm.stress"][0] < 0.1 * most
    assert few["arm.stress"].max() == pytest.approx(most, rel=0.1)
