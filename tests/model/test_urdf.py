"""URDF files: kinematics and inertia against the file itself, overlays that make links bend, bad files."""

import contextlib
import math
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pliant
import pliant.model.readers.library as library
from pliant.errors import ModelError, RepairWarning
from pliant.model.readers.library import load
from pliant.model.readers.urdf import parse_urdf
from pliant.model.readers.urdf_overlay import beam_moments, expand_urdf
from pliant.model.readers.urdf_values import LARGEST_FILE

# products of a dozen rotation matrices
ROUNDING = 1e-12

SIX_DOF = library.FOLDER / "six-dof.urdf"

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="ground"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0 0 1.5707963267948966"/>
      <mass value="2"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="fore"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <parent link="ground"/><child link="upper"/>
    <origin xyz="0.1 0 0.3" rpy="0.1 -0.2 0.3"/>
    <axis xyz="0 -1 0"/>
    <limit lower="-1" upper="2" velocity="3" effort="40"/>
    <dynamics damping="0.5" friction="0.25"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/>
    <origin xyz="0 0 0.5" rpy="0 0.4 0"/>
    <axis xyz="1 1 0"/>
    <limit effort="0" velocity="0"/>
  </joint>
</robot>
"""
BEND = {
    "beam": {
        "properties": {"mass_per_length": 1.0, "EIy": 10.0, "EIz": 10.0},
        "modes": {"bend_y": 1, "bend_z": 1},
    }
}


@pytest.fixture
def arm(tmp_path):
    """The small arm above as a file."""
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


def write(folder, text, name="robot.urdf"):
    file = Path(folder) / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


# ---------------------------------------------------------------- what is read


def chain_of(file, homogeneous, turn):
    """The pose of every link as the file says it: origin, then the joint, from the root outwards."""
    root = ElementTree.parse(file).getroot()
    joints = {joint.find("child").get("link"): joint for joint in root.findall("joint")}

    def pose(link, q):
        if link not in joints:
            return np.eye(4)
        joint = joints[link]
        origin, axis = joint.find("origin"), joint.find("axis")
        xyz = [float(word) for word in origin.get("xyz", "0 0 0").split()]
        roll, pitch, yaw = (float(word) for word in origin.get("rpy", "0 0 0").split())
        R = turn((0, 0, 1), yaw) @ turn((0, 1, 0), pitch) @ turn((1, 0, 0), roll)
        T = pose(joint.find("parent").get("link"), q) @ homogeneous(xyz, R)
        if joint.get("type") == "fixed":
            return T
        vector = [float(word) for word in axis.get("xyz").split()]
        return T @ homogeneous(np.zeros(3), turn(vector, q[joint.get("name")]))

    return pose


@pytest.mark.parametrize("file", [SIX_DOF, None], ids=["six-dof", "arm"])
def test_kinematics_are_those_of_the_file(file, arm, forward, homogeneous, turn):
    file = file or arm
    robot = load(file)
    pose = chain_of(file, homogeneous, turn)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = {name: rng.uniform(-2, 2) for name in robot.joint_coordinates}
        for link in robot.link_names:
            np.testing.assert_allclose(forward(robot, q, f"{link}.root"), pose(link, q), atol=ROUNDING)


def test_inertia_is_turned_into_the_axes_of_the_link(arm):
    upper = load(arm).link("upper").rigid
    assert upper.mass == 2
    assert upper.com == (0.0, 0.0, 0.2)
    # a quarter turn about z exchanges x and y and changes the sign of their product
    expected = [[0.2, -0.01, 0.0], [-0.01, 0.1, 0.0], [0.0, 0.0, 0.25]]
    np.testing.assert_allclose(upper.inertia_matrix(), expected, atol=ROUNDING)


def test_joints_carry_limits_and_friction(arm):
    robot = load(arm)
    shoulder, elbow = robot.joint("shoulder"), robot.joint("elbow")
    assert shoulder.axis == "-y"
    assert shoulder.limits.position == (-1, 2)
    assert (shoulder.limits.velocity, shoulder.limits.effort) == (3, 40)
    assert (shoulder.friction.viscous, shoulder.friction.coulomb) == (0.5, 0.25)
    assert elbow.type == "revolute"
    assert elbow.limits is None  # zeros mean that nothing is known
    np.testing.assert_allclose(elbow.axis_vector(), np.array([1, 1, 0]) / math.sqrt(2))


def joint(kind, more="", name="j", parent="a", child="b"):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


LINKS = '<link name="a"/><link name="b"><inertial><mass value="1"/></inertial></link>'


def robot_of(body):
    return f"<robot name='r'>\n{body}\n</robot>"


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        ("revolute", "revolute"),
        ("continuous", "revolute"),
        ("prismatic", "prismatic"),
        ("fixed", "fixed"),
        ("floating", "free"),
    ],
)
def test_joint_types(kind, ours, tmp_path):
    robot = load(write(tmp_path, robot_of(LINKS + joint(kind))))
    assert robot.link("b").joint.type == ours
    assert robot.link_names == ("b",)  # the massless root is the base
    assert robot.parent_of("b") == ("base", "root")


def test_the_default_axis_is_x(tmp_path):
    assert load(write(tmp_path, robot_of(LINKS + joint("revolute")))).joint("j").axis == "x"


def test_a_root_with_mass_is_fixed_to_the_base_or_floats(tmp_path):
    text = robot_of(LINKS.replace('"a"/>', '"a"><inertial><mass value="3"/></inertial></link>') + joint("revolute"))
    file = write(tmp_path, text)
    robot = load(file)
    assert robot.link("a").joint.type == "fixed"
    assert robot.parent_of("b") == ("a", "root")
    free = load(file, {"links": {"a": {"joint": {"type": "free", "name": "float"}}}})
    assert free.joint_coordinates == (
        "float.x",
        "float.y",
        "float.z",
        "float.rx",
        "float.ry",
        "float.rz",
        "j",
    )


def test_a_link_called_base_is_renamed(tmp_path):
    text = robot_of(LINKS + '<link name="base"/>' + joint("revolute") + joint("fixed", name="k", child="base"))
    file = write(tmp_path, text)
    for strict in (False, True):  # not a fault of the file
        with pytest.warns(RepairWarning, match="link 'base': it is called 'base_frame' here"):
            assert load(file, strict=strict).link_names == ("b", "base_frame")


def test_branches_keep_the_order_of_the_file(tmp_path):
    links = "".join(f'<link name="{n}"><inertial><mass value="1"/></inertial></link>' for n in "abcd")
    joints = (
        joint("revolute", name="j1")
        + joint("revolute", name="j2", child="c")
        + joint("revolute", name="j3", parent="b", child="d")
    )
    assert load(write(tmp_path, robot_of(joints + links))).link_names == ("a", "b", "d", "c")


def test_what_belongs_to_simulators_is_passed_over(tmp_path):
    extra = (
        '<link name="b"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
        '<transmission name="t"/><gazebo reference="b"/><material name="blue"/>'
    )
    robot = load(write(tmp_path, robot_of('<link name="a"/>' + extra + joint("revolute"))))
    assert robot.link("b").rigid is None
    assert robot.link("b").visuals == ()


# ---------------------------------------------------------------- overlays


def test_a_bending_link_points_to_the_joint_that_it_carries(arm, forward):
    rigid, bent = load(arm), load(arm, {"links": {"upper": BEND}})
    upper = bent.link("upper")
    assert upper.rigid is None
    assert upper.length == pytest.approx(0.5, rel=1e-15)
    assert bent.parent_of("fore") == ("upper", "tip")
    q = {"shoulder": 0.7, "elbow": -0.4}
    for frame in ("upper.root", "fore.root"):
        np.testing.assert_allclose(forward(bent, q, frame)[:3, 3], forward(rigid, q, frame)[:3, 3], atol=ROUNDING)
    # what follows the bending link is where it was, turned as it was
    np.testing.assert_allclose(forward(bent, q, "fore.root"), forward(rigid, q, "fore.root"), atol=ROUNDING)
    np.testing.assert_allclose(forward(bent, q, "upper.tip")[:3, 3], forward(rigid, q, "fore.root")[:3, 3])
    # a quarter turn leaves exact zeros for the dynamics
    assert set(np.abs(upper.joint.child_placement.matrix()).ravel()) == {0.0, 1.0}


def test_a_link_along_x_is_not_turned(tmp_path):
    text = ARM.replace('xyz="0 0 0.5" rpy="0 0.4 0"', 'xyz="0.5 0 0" rpy="0 0.4 0"')
    robot = load(write(tmp_path, text), {"links": {"upper": {**BEND, "urdf_mass": "replace"}}})
    assert robot.link("upper").joint.child_placement.is_identity
    # the angles of the file are kept as they are
    assert robot.link("fore").joint.placement.rotation[0].rpy == (0.0, 0.4, 0.0)


@pytest.mark.parametrize("length", [0.4999, 0.5, 0.4999999999999999, 0.5001])
def test_a_given_length_is_that_to_the_next_joint(length, arm, forward):
    overlay = {"links": {"upper": {"beam": {**BEND["beam"], "length": length}}}}
    bent, rigid = load(arm, overlay), load(arm)
    q = {"shoulder": 0.2, "elbow": 0.3}
    np.testing.assert_allclose(forward(bent, q, "fore.root"), forward(rigid, q, "fore.root"), atol=ROUNDING)


@pytest.mark.parametrize("beam", [{"length": 0.3}, {"length": 0.8}, {"segments": [{"length": 0.2}, {"length": 0.2}]}])
def test_another_length_contradicts_the_next_joint(beam, arm):
    with pytest.raises(ModelError, match=r"the beam is 0\..* m long, but joint 'elbow' sits at x = 0.5 m of the link"):
        load(arm, {"links": {"upper": {"beam": {**BEND["beam"], **beam}}}})


def test_a_given_child_placement_turns_what_the_file_gives(arm, forward):
    """The same arm in other link axes: poses of the other links and the inertia in space stay the same."""
    place = {"position": [0.1, -0.2, 0.05], "rotation": {"x": 0.3, "z": -0.8}}
    turned = load(arm, {"links": {"upper": {"joint": {"child_placement": place}}}})
    plain = load(arm)
    q = {"shoulder": 0.4, "elbow": 0.9}
    np.testing.assert_allclose(forward(turned, q, "fore.root"), forward(plain, q, "fore.root"), atol=ROUNDING)
    seen = []
    for robot in (turned, plain):
        T, body = forward(robot, q, "upper.root"), robot.link("upper").rigid
        R = T[:3, :3]
        seen.append((T[:3, 3] + R @ body.com_vector(), R @ body.inertia_matrix() @ R.T))
    np.testing.assert_allclose(seen[0][0], seen[1][0], atol=ROUNDING)
    np.testing.assert_allclose(seen[0][1], seen[1][1], atol=ROUNDING)


# parts of a link that together are its inertia: mass, and moments about the axes through its root
WHOLE = {
    "rod": '<origin xyz="0 0 0.25"/><mass value="2"/><inertia ixx="0.05" iyy="0.05" izz="0.004"/>',
    "heavy ends": '<origin xyz="0 0 0.3"/><mass value="8"/><inertia ixx="0.7" iyy="0.65" izz="0.1" ixy="0.02"/>',
    "heavy root": '<origin xyz="0.02 -0.01 0.05"/><mass value="6"/><inertia ixx="0.2" iyy="0.2" izz="0.1" iyz="0.01"/>',
    "all behind": '<origin xyz="0 0 -0.2"/><mass value="6"/><inertia ixx="0.4" iyy="0.4" izz="0.1"/>',
    "all beyond": '<origin xyz="0 0.01 0.6"/><mass value="6"/><inertia ixx="0.5" iyy="0.5" izz="0.1"/>',
}
TAPER = [
    {"length": 0.2, "section": {"round": {"diameter": 0.02}}},
    {"length": 0.3, "section": {"round": {"diameter": 0.02}}, "taper_to": {"round": {"diameter": 0.01}}},
]
BEAMS = {
    "uniform": BEND["beam"] | {"modes": None, "rigid": True},
    "tapered": {"material": "aluminium", "segments": TAPER, "rigid": True},
    "thick": {
        "material": "magnesium",
        "section": {"tube": {"outer": 0.05, "inner": 0.048}},
        "rotary_inertia": True,
        "rigid": True,
    },
}


@pytest.mark.parametrize("beam", BEAMS.values(), ids=BEAMS)
@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_a_beam_keeps_the_mass_of_the_urdf(body, beam, tmp_path):
    """Mass matrix and gravity of the arm are those without the overlay: mass, centre and inertia are the same."""
    old = ARM[ARM.index('<origin xyz="0 0 0.2"') : ARM.index("</inertial>")]
    file = write(tmp_path, ARM.replace(old, body))
    rigid, bent = load(file), load(file, {"links": {"upper": {"beam": {k: v for k, v in beam.items() if v}}}})
    assert bent.mass == pytest.approx(rigid.mass, rel=1e-9)
    frames = {part.frame for part in bent.link("upper").payloads}
    assert frames <= {"root", "tip"}
    arms = [pliant.Dynamics(robot, compile="never") for robot in (rigid, bent)]
    for q in ([0.4, -0.7], [1.2, 0.3]):
        M, M_bent = (arm.mass_matrix(q) for arm in arms)
        np.testing.assert_allclose(M_bent, M, rtol=1e-7)
        g, g_bent = (arm.gravity(q) for arm in arms)
        np.testing.assert_allclose(g_bent, g, rtol=1e-7, atol=1e-9)
    # all three moments of the link, not only that about its joint
    np.testing.assert_allclose(inertia_of(bent.link("upper")), turned_inertia(rigid, bent), rtol=1e-6, atol=1e-8)


def inertia_of(link):
    """Inertia about the root of a link with its payloads, by the definition."""
    m, c, S = beam_moments(link.beam)
    total = S + m * np.outer(c, c)
    for part in link.payloads:
        at = part.com_vector() + [link.length if part.frame == "tip" else 0.0, 0.0, 0.0]
        inertia = part.inertia_matrix()
        total += np.trace(inertia) / 2 * np.eye(3) - inertia + part.mass * np.outer(at, at)
    return np.trace(total) * np.eye(3) - total


def turned_inertia(rigid, bent):
    """Inertia of the URDF's link about its root, in the axes of the bending link."""
    body, R = rigid.link("upper").rigid, bent.link("upper").joint.child_placement.matrix()
    c = body.com_vector()
    about_root = body.inertia_matrix() + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return R.T @ about_root @ R


def test_the_mass_of_the_urdf_is_given_up_only_where_asked(arm):
    kept, replaced = (load(arm, {"links": {"upper": {**BEND, "urdf_mass": w}}}) for w in ("keep", "replace"))
    assert kept.mass == pytest.approx(load(arm).mass, rel=1e-12)
    assert replaced.link("upper").mass == pytest.approx(0.5, rel=1e-12)
    assert kept == load(arm, {"links": {"upper": BEND}})
    # what the overlay adds comes on top
    loaded = load(arm, {"links": {"upper": {**BEND, "payloads": [{"mass": 3.0}]}}})
    assert loaded.mass == pytest.approx(kept.mass + 3, rel=1e-12)


def test_a_beam_heavier_than_the_link_is_an_error(arm, tmp_path):
    beam = {**BEND["beam"], "properties": {**BEND["beam"]["properties"], "mass_per_length": 5.0}}
    with pytest.raises(ModelError, match=r"the beam weighs 2.5 kg, the whole link of the URDF 2 kg; .* `urdf_mass"):
        load(arm, {"links": {"upper": {"beam": beam}}})
    with pytest.raises(ModelError, match=r"urdf_mass: is 'drop'; it must be 'keep' or 'replace'"):
        load(arm, {"links": {"upper": {**BEND, "urdf_mass": "drop"}}})


def test_an_inertia_that_the_beam_exceeds_is_told(tmp_path):
    """A link that is lumped in its middle cannot hold a long beam."""
    lumped = '<origin xyz="0 0 0.25"/><mass value="0.6"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/>'
    old = ARM[ARM.index('<origin xyz="0 0 0.2"') : ARM.index("</inertial>")]
    file = write(tmp_path, ARM.replace(old, lumped))
    with pytest.warns(RepairWarning, match="the inertia of the URDF's link cannot be kept"):
        robot = load(file, {"links": {"upper": BEND}})
    assert robot.link("upper").mass == pytest.approx(0.6, rel=1e-12)
    with pytest.raises(ModelError, match="the inertia of the URDF's link cannot be kept"):
        load(file, {"links": {"upper": BEND}}, strict=True)


def test_a_link_that_is_a_beam_gets_no_parts(tmp_path):
    line = '<origin xyz="0 0 0.25"/><mass value="0.5"/><inertia ixx="0.0104166" iyy="0.0104166" izz="0"/>'
    old = ARM[ARM.index('<origin xyz="0 0 0.2"') : ARM.index("</inertial>")]
    robot = load(write(tmp_path, ARM.replace(old, line)), {"links": {"upper": BEND}})
    assert robot.link("upper").payloads == ()
    # another inertia than that of the beam cannot be kept without mass
    file = write(tmp_path, ARM.replace(old, line.replace("0.0104166", "0.02")))
    with pytest.warns(RepairWarning, match="it changes by 47.9%"):
        load(file, {"links": {"upper": BEND}})


def test_the_beam_goes_to_the_joint_that_leads_on(tmp_path):
    """Frames for sensors do not stand in the way."""
    camera = '<link name="camera"/>' + joint("fixed", '<origin xyz="0 0.1 0.2"/>', "mount", "upper", "camera")
    robot = load(write(tmp_path, ARM.replace("</robot>", camera + "</robot>")), {"links": {"upper": BEND}})
    assert robot.link("upper").length == pytest.approx(0.5, rel=1e-15)
    assert robot.parent_of("fore") == ("upper", "tip")
    assert robot.parent_of("camera") == ("upper", "at_mount")


def test_overlay_files_and_mappings_say_the_same(arm, tmp_path):
    text = """
urdf: arm.urdf
name: bent
gravity: [0, 0, 0]
links:
  upper:
    joint: {motor: {rotor_inertia: 1e-3, gear_ratio: 10}}
    hub: {mass: 200 g}
    beam: {properties: {mass_per_length: 1 kg/m, EIz: 10, EIy: 10}, modes: {bend_y: 1, bend_z: 1}}
    frames: [{name: middle, x: 250 mm}]
"""
    file = write(tmp_path, text, "bent.yaml")
    robot = load(file)
    assert robot == load(arm, file)
    assert robot.name == "bent"
    assert robot.gravity == (0, 0, 0)
    upper = robot.link("upper")
    assert upper.joint.motor.reflected_inertia == pytest.approx(0.1)
    assert upper.joint.limits.position == (-1, 2)
    assert upper.frame("middle").x == 0.25
    assert upper.hub.mass == 0.2
    listed = {"links": [{"name": "upper", **BEND}]}
    assert load(arm, listed).link("upper").beam == load(arm, {"links": {"upper": BEND}}).link("upper").beam
    # the robot that came out needs no URDF any more
    robot.save(tmp_path / "alone.yaml")
    assert load(tmp_path / "alone.yaml") == robot


def test_a_joint_that_the_overlay_fixes_loses_its_motion(arm):
    robot = load(arm, {"links": {"fore": {"joint": {"type": "fixed"}}, "upper": {"joint": {"type": "fixed"}}}})
    assert robot.joint_coordinates == ()
    assert robot.link("upper").joint.limits is None


@pytest.mark.parametrize(
    ("links", "line", "message"),
    [
        ("{uper: {}}", 2, "links 'uper': arm.urdf has no link of that name; did you mean 'upper'?"),
        ("{upper: 3}", 2, "links: 'upper': 3 is not a link"),
        ("[3]", 2, "3 is not a link"),
        ("7", 2, "links: is 7; next to urdf it must be a mapping by name"),
        ("{upper: {bean: {}}}", 2, "links[0] 'upper': unknown key 'bean'; did you mean 'beam'?"),
        ("\n  upper:\n    beam: {length: -1, properties: {mass_per_length: 1}}", 4, "length is -1 m"),
        ("{upper: {beam: {properties: {mass_per_length: 1}}, joint: 3}}", 2, "joint is 3"),
        ("{fore: {beam: {properties: {mass_per_length: 1}}}}", 2, "key 'length' is missing"),
        ("{upper: {joint: {child_placement: {position: [0]}}}}", 2, "child_placement.position has 1 entries"),
    ],
)
def test_bad_overlays(links, line, message, arm, tmp_path):
    file = write(tmp_path, f"urdf: arm.urdf\nlinks: {links}\n", "bent.yaml")
    with pytest.raises(ModelError) as error:
        load(file)
    assert message in str(error.value)
    assert f"bent.yaml, line {line}: " in str(error.value)


@pytest.mark.parametrize("path", ["3", "none.urdf", "''", "[arm.urdf]", '"\\0"', "."])
def test_a_urdf_that_is_not_there(path, arm, tmp_path):
    with pytest.raises(ModelError, match=r"cannot be read|no such file|must be the path of a URDF file"):
        load(write(tmp_path, f"urdf: {path}\n", "bent.yaml"))


# ---------------------------------------------------------------- bad files

MASS = '<inertial><mass value="{}"/><inertia ixx="{}" iyy="1" izz="1"/></inertial>'


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (LINKS + joint("revolute", '<mimic joint="k" multiplier="0"/>'), 2, "joint 'j': ratio is 0; a joint that"),
        (LINKS + joint("revolute", '<mimic joint="k" offset="x"/>'), 2, "offset of <mimic> is 'x'; it must be a fin"),
        (
            LINKS + joint("revolut"),
            2,
            "type is 'revolut'; it must be 'revolute', 'continuous', 'prismatic', ",
        ),
        (LINKS + "\n" + joint("revolute", parent="c"), 3, "joint 'j': there is no link 'c'"),
        (
            LINKS + joint("revolute") + "\n" + joint("fixed", name="k"),
            3,
            "link 'b' is the child of joint 'j' already",
        ),
        (
            LINKS + joint("revolute") + joint("revolute", name="k", parent="b", child="a"),
            2,
            "all links have parents: a circle",
        ),
        (LINKS, 2, "'a' or 'b' have no parent; exactly one link may"),
        (
            LINKS + '\n<link name="a"/>' + joint("fixed"),
            3,
            "link 'a': the name is taken by the link of line 2",
        ),
        (LINKS + '<joint name="j" type="fixed"><parent link="a"/></joint>', 2, 'has no <child link="..."/>'),
        (LINKS + joint("revolute", '<axis xyz="0 0 0"/>'), 2, "joint 'j': axis is"),
        (
            LINKS + joint("revolute", '<axis xyz="0 0"/>'),
            2,
            "xyz of <axis> is '0 0'; it must be three finite",
        ),
        (
            LINKS + joint("revolute", '<origin rpy="0 nan 0"/>'),
            2,
            "rpy of <origin> is '0 nan 0'; it must be three",
        ),
        (
            LINKS + joint("revolute", '\n<limit effort="x"/>'),
            3,
            "effort of <limit> is 'x'; it must be a finite",
        ),
        (
            '<link name="a">' + MASS.format(-1, 1) + "</link>",
            2,
            "link 'a': mass is -1.0 kg; it must be positive",
        ),
        (
            '<link name="a">' + MASS.format("1e999", 1) + "</link>",
            2,
            "value of <mass> is '1e999'; it must be a finite",
        ),
        ('<link name="a"><inertial><mass/></inertial></link>', 2, "<mass> has no value"),
        ("<link/>", 2, "link: has no name"),
        ('<link name="-+"/>', 2, "link '-+': name is '-+'; it must be a word"),
        ("", 1, "there is no <link>"),
    ],
)
def test_bad_files_name_element_and_line(body, line, message, tmp_path):
    file = write(tmp_path, robot_of(body))
    with pytest.raises(ModelError) as error:
        load(file)
    assert message in str(error.value)
    assert f"robot.urdf, line {line}: " in str(error.value)


def test_a_circle_beside_the_tree(tmp_path):
    ring = '<link name="c"/><link name="d"/>' + joint("fixed", name="k", parent="c", child="d")
    ring += joint("fixed", name="l", parent="d", child="c")
    with pytest.raises(ModelError, match="link 'c': its parents go in a circle"):
        load(write(tmp_path, robot_of(LINKS + joint("revolute") + ring)))


def test_all_problems_come_at_once(tmp_path):
    body = LINKS + "\n" + joint("helix") + "\n" + joint("screw", name="k", child="c")
    with pytest.raises(ModelError) as error:
        load(write(tmp_path, robot_of(body)))
    assert sorted(problem.line for problem in error.value.problems) == [3, 4, 4]


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;">]>
<robot name="&c;"/>
"""
SECRET = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n<robot name="&x;"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "line 2: document types and entities are not read"),
        (SECRET, "line 1: document types and entities are not read"),
        ('<robot name="&nothing;"/>', "line 1: this is not XML: undefined entity"),
        ("<robot>\n<link></robot>", "line 2: this is not XML: mismatched tag"),
        ("", "this is not XML: no element found"),
        ("name: robot", "line 1: this is not XML"),
        ("<sdf/>", "the outermost element is <sdf>; a URDF file has <robot>"),
        ("<mujoco/>", "this is a MuJoCo model (MJCF), which is not read; convert it to URDF"),
        ("<arm/>", "the outermost element is <arm>; a URDF file has <robot>"),
        (
            '<?xml version="1.0" encoding="martian"?><robot/>',
            "line 1: the encoding cannot be read: unknown encoding: martian",
        ),
        ('<?xml version="1.0" encoding="utf-7"?><robot/>', "encoding"),
        (b"\xff\xfe\x00", "this is not XML"),
        ("<robot>" + "<a>" * 200 + "</a>" * 200 + "</robot>", "nested more than 100 deep"),
        ('<robot xmlns:xacro="x"><xacro:arg name="a"/></robot>', "xacro robot.urdf > expanded-robot.urdf"),
        ('<robot xmlns:xacro="x"/>', "the xacro that it was made from only defines macros"),
    ],
)
def test_files_that_are_not_urdf(text, message, tmp_path):
    with pytest.raises(ModelError, match=r"robot\.urdf") as error:
        load(write(tmp_path, text))
    assert message in str(error.value)


def test_a_huge_file_is_refused(tmp_path):
    file = tmp_path / "huge.urdf"
    with file.open("wb") as stream:
        stream.truncate(LARGEST_FILE * 3)
    with pytest.raises(ModelError, match="at most 20 MB are read"):
        load(file)


def test_too_many_links_are_refused(tmp_path):
    with pytest.raises(ModelError, match="there are 2001 links; a robot has at most 2000"):
        load(write(tmp_path, robot_of('<link name="a"/>' * 2001)))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_model_error(content):
    with pytest.raises(ModelError):
        parse_urdf(content, "noise.urdf")


pieces = st.sampled_from(
    [
        "<robot>", "</robot>", "<link name='a'>", "</link>", "<link name='b'/>", "<inertial>", "</inertial>",
        "<mass value='1'/>", "<mass value='x'/>", "<inertia ixx='1' iyy='1' izz='1'/>",
        "<origin xyz='0 0 1'/>",
        "<joint name='j' type='revolute'>", "</joint>", "<parent link='a'/>", "<child link='b'/>", "<axis/>",
        "<limit lower='1' effort='-1'/>", "<dynamics friction='1'/>", "<mimic/>", "<mimic joint='j'/>",
        "<joint name='k' type='planar'>", "<visual>", "</visual>", "<geometry>", "</geometry>", "<sphere radius='0'/>",
        "<mesh filename='package://x/y.stl'/>", "<origin rpy='a b c'/>",
    ]
)  # fmt: skip


@given(st.lists(pieces, max_size=25))
def test_any_tags_give_a_robot_or_a_model_error(tags):
    with contextlib.suppress(ModelError):
        parse_urdf("".join(tags).encode(), "noise.urdf", strict=len(tags) % 2 == 0)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["x", "1 m", "fixed", "tip"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["beam", "length", "joint", "child_placement", "position", "type"]), inner)
    ),
    max_leaves=8,
)
parts = st.sampled_from(["beam", "joint", "rigid", "modal", "frames", "hub", "payloads", "name"])


@given(st.dictionaries(parts, plain), plain)
def test_any_overlay_gives_data_or_a_model_error(upper, fore):
    with contextlib.suppress(ModelError), warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        expand_urdf({"urdf": str(SIX_DOF), "links": {"upper_arm": upper, "forearm": fore}})
