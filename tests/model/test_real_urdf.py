"""What real URDF files hold: bad inertias, strange names, tied joints, planar and floating ones, meshes, tools."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant
from pliant.errors import ModelError, RepairWarning
from pliant.model.description.derived_links import tie_matrix
from pliant.model.description.inertia import Rigid, nearest_inertia
from pliant.model.readers.library import load, read_text
from pliant.model.readers.urdf import parse_urdf
from pliant.model.readers.urdf_overlay import choose_tip
from pliant.model.readers.urdf_values import words

# products of a few rotation matrices
ROUNDING = 1e-12

BODY = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'


def link(name, inside=BODY):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="revolute", more=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


def write(folder, body, name="robot.urdf"):
    file = folder / name
    file.write_text(f"<robot name='r'>\n{body}\n</robot>")
    return file


def inertial(mass, *moments):
    values = "".join(
        f' {key}="{m}"' for key, m in zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), moments, strict=False)
    )
    return f'<inertial><mass value="{mass}"/><inertia{values}/></inertial>'


# ---------------------------------------------------------------- repairs, told or refused


@pytest.mark.parametrize(
    ("body", "element", "fault", "remedy"),
    [
        (
            link("b", inertial(1, *[1e-6] * 6)),
            "link 'b'",
            "none may exceed the sum",
            "the nearest that a body can have",
        ),
        (link("b", inertial(1, -1, 1, 1)), "link 'b'", "none may be negative", "the nearest that a body can have"),
        (link("b", inertial(0, 1, 1, 1)), "link 'b'", "mass is 0 kg, but its", "it is a frame without mass"),
        (link("b", "<inertial/>"), "link 'b'", "inertial has no <mass>", "it is a frame without mass"),
        (link("b") + link("c.0/x") + joint("k", "b", "c.0/x"), "link 'c.0/x'", "it must be a word", "'c_0_x' here"),
        (link("b") + link("c") + joint("k.1", "b", "c"), "joint 'k.1'", "it must be a word", "called 'k_1' here"),
        (
            link("b", "<visual><geometry><sphere radius='0'/></geometry></visual>"),
            "link 'b'",
            "<visual>: sphere is 0",
            "it is not drawn",
        ),
        (
            link("b") + link("c") + joint("k", "b", "c", more='<limit lower="2" upper="1"/>'),
            "joint 'k'",
            "limits.position is [2.0, 1.0]",
            "this limit is left out",
        ),
        (
            link("b") + link("c") + joint("k", "b", "c", more='<dynamics damping="-1"/>'),
            "joint 'k'",
            "friction.viscous is -1.0",
            "it is left out",
        ),
        (
            link("b") + link("c") + joint("k", "b", "c", more='<mimic joint="nobody"/>'),
            "joint 'k'",
            "it mimics 'nobody', but there is no moving joint",
            "it has a coordinate of its own",
        ),
        (
            link("b") + link("c") + joint("k", "b", "c", more='<mimic joint="k"/>'),
            "joint 'k'",
            "they follow each other",
            "it has a coordinate of its own",
        ),
    ],
)
def test_repairs_are_told_and_strict_refuses(body, element, fault, remedy, tmp_path):
    file = write(tmp_path, link("a") + "\n" + body + joint("j", "a", "b"))
    with pytest.warns(RepairWarning) as told:
        robot = load(file)
    (repair,) = told[0].message.repairs
    text = str(repair)
    assert (repair.element, repair.line) == (element, 3)
    assert fault in text
    assert remedy in text
    assert text in str(told[0].message)
    # the robot is sound now, and says so without a word
    robot.save(tmp_path / "sound.yaml")
    assert load(tmp_path / "sound.yaml") == robot
    with pytest.raises(ModelError) as refused:
        load(file, strict=True)
    assert fault in str(refused.value)
    assert "line 3" in str(refused.value)
    # a robot file says the same
    (tmp_path / "strict.yaml").write_text("urdf: robot.urdf\nstrict: true\n")
    with pytest.raises(ModelError, match="line 3"):
        load(tmp_path / "strict.yaml")


def test_a_sound_file_is_read_without_a_word(tmp_path):
    infinite = '<limit lower="-1" upper="1" effort="inf" velocity="inf"/>'
    robot = load(write(tmp_path, link("a") + link("b") + joint("j", "a", "b", more=infinite)))
    assert robot.joint("j").limits.position == (-1, 1)
    assert robot.joint("j").limits.effort is None


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_the_nearest_inertia_is_one_of_a_body(entries):
    xx, yy, zz, xy, xz, yz = entries
    wrong = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    mended = nearest_inertia(wrong)
    if np.abs(mended).max() > 1e-9:
        Rigid(mass=1.0, inertia=mended.tolist())
    # what is right stays as it is
    np.testing.assert_allclose(nearest_inertia(mended), mended, atol=ROUNDING)
    # no other inertia of three point masses on the principal axes is nearer in second moments

    def second(inertia):
        return np.trace(inertia) / 2 * np.eye(3) - inertia

    rng = np.random.default_rng(0)
    for _ in range(5):
        points = rng.normal(size=(3, 4))
        other = points @ points.T
        assert np.linalg.norm(second(mended) - second(wrong)) <= np.linalg.norm(other - second(wrong)) + ROUNDING


def test_dummy_inertias_have_a_known_remedy():
    """Six equal entries are a rod of moments 0, 0, 3; the nearest body is a disc of 1.5, 1.5, 3."""
    np.testing.assert_allclose(np.linalg.eigvalsh(nearest_inertia(np.ones((3, 3)))), [1.5, 1.5, 3.0], atol=ROUNDING)


def test_names_stay_apart():
    given = ["a.b", "a_b", "a/b", "base", "é", "x" * 200, "x" * 150]
    ours = words(given)
    assert ours["a_b"] == "a_b"
    assert ours["é"] == "é"
    assert ours["base"] == "base_frame"
    assert len(set(ours.values())) == len(given)
    assert all(len(name) <= 100 for name in ours.values())


def test_an_overlay_may_use_the_names_of_the_file(tmp_path):
    body = link("a") + link("b.0") + link("c") + joint("j", "a", "b.0")
    body += joint("k", "b.0", "c", more='<origin xyz="0.4 0 0"/>')
    file = write(tmp_path, body)
    with pytest.warns(RepairWarning):
        robot = load(file, {"links": {"b.0": {"hub": {"mass": 1.0}}}})
    assert robot.link("b_0").hub.mass == 1.0


# ---------------------------------------------------------------- joints that follow others


def finger_hand(tmp_path, first="", second=""):
    body = link("a") + link("b") + link("c") + link("d")
    body += joint("lead", "a", "b") + joint("one", "b", "c", "prismatic", first) + joint("two", "c", "d", more=second)
    return write(tmp_path, body)


def test_joints_that_mimic(tmp_path):
    one = '<mimic joint="lead" multiplier="-0.5" offset="0.25"/>'
    two = '<mimic joint="one" multiplier="2"/><dynamics damping="0.1"/>'
    file = finger_hand(tmp_path, one, two)
    robot = load(file)
    assert robot.joint("one").mimic == pliant.Mimic(joint="lead", ratio=-0.5, offset=0.25)
    assert not robot.joint("one").actuated
    # the second follows the first, which follows the leader
    assert robot.ties == {"one": ("lead", -0.5, 0.25), "two": ("lead", -1.0, 0.5)}
    T, q_0 = tie_matrix(robot.joint_coordinates, robot.ties)
    u = np.array([0.3])
    np.testing.assert_allclose(T @ u + q_0, [0.3, 0.1, 0.2], atol=ROUNDING)
    assert read_text(robot.to_yaml()) == robot


def test_a_fixed_joint_mimics_nothing(tmp_path):
    body = link("a") + link("b") + link("c") + joint("j", "a", "b")
    body += joint("k", "b", "c", "fixed", '<mimic joint="j"/>')
    assert load(write(tmp_path, body)).ties == {}


# ---------------------------------------------------------------- planar and floating joints


@pytest.mark.parametrize("axis", ["1 0 0", "0 1 0", "0 0 1", "0 0 -1", "1 2 -0.5"])
def test_a_planar_joint_slides_in_its_plane_and_turns_about_its_normal(axis, tmp_path, forward, turn):
    place = f'<origin xyz="1 2 3" rpy="0 0 0.5"/><axis xyz="{axis}"/>'
    robot = load(write(tmp_path, link("a", "") + link("b") + joint("j", "a", "b", "planar", place)))
    assert robot.joint_coordinates == ("j_x", "j_y", "j_turn")
    n = np.array([float(x) for x in axis.split()])
    n /= np.linalg.norm(n)
    R_0 = turn((0, 0, 1), 0.5)
    q = {"j_x": 0.3, "j_y": -0.2, "j_turn": 0.7}
    T = forward(robot, q, "b.root")
    moved = R_0.T @ (T[:3, 3] - [1, 2, 3])
    assert n @ moved == pytest.approx(0.0, abs=ROUNDING)
    assert np.linalg.norm(moved) == pytest.approx(np.hypot(0.3, 0.2), rel=ROUNDING)
    np.testing.assert_allclose(T[:3, :3], R_0 @ turn(n, 0.7), atol=ROUNDING)
    # the directions of the plane and its normal are right-handed
    along = [R_0.T @ (forward(robot, {key: 1.0}, "b.root")[:3, 3] - [1, 2, 3]) for key in ("j_x", "j_y")]
    np.testing.assert_allclose(np.cross(*along), n, atol=ROUNDING)


def test_a_floating_joint_on_a_moving_link(tmp_path, forward):
    body = link("a", "") + link("b") + link("c") + joint("j", "a", "b", more='<axis xyz="0 0 1"/>')
    body += joint("k", "b", "c", "floating", '<origin xyz="1 0 0"/>')
    robot = load(write(tmp_path, body))
    assert robot.joint_coordinates == ("j", "k.x", "k.y", "k.z", "k.rx", "k.ry", "k.rz")
    T = forward(robot, {"j": np.pi / 2, "k.x": 0.5, "k.y": 0.25}, "c.root")
    np.testing.assert_allclose(T[:3, 3], [-0.25, 1.5, 0.0], atol=ROUNDING)


def test_a_floating_joint_behind_fixed_ones_is_free(tmp_path, forward):
    """A root with mass, a fixed link, then the floating one."""
    body = link("a") + link("b") + link("c") + joint("j", "a", "b", "fixed", '<origin xyz="0 0 1" rpy="0 0 0.5"/>')
    body += joint("k", "b", "c", "floating", '<origin xyz="1 0 0"/>')
    robot = load(write(tmp_path, body))
    assert robot.joint("k").type == "free"
    np.testing.assert_allclose(forward(robot, {}, "c.root")[:3, 3], [np.cos(0.5), np.sin(0.5), 1.0], atol=ROUNDING)


# ---------------------------------------------------------------- what links look like


def visual(shape, origin=""):
    return f"<visual>{origin}<geometry>{shape}</geometry></visual>"


def test_meshes_and_shapes_are_kept(tmp_path):
    package = tmp_path / "arm_description"
    (package / "meshes").mkdir(parents=True)
    (package / "urdf").mkdir()
    mesh = package / "meshes" / "b.stl"
    mesh.write_text("solid")
    shapes = (
        visual('<mesh filename="package://arm_description/meshes/b.stl" scale="0.001 0.001 0.001"/>')
        + visual('<mesh filename="package://elsewhere/c.dae"/>', '<origin xyz="0 0 1"/>')
        + visual('<box size="1 2 3"/>')
        + visual('<cylinder radius="0.1" length="2"/>')
        + visual('<sphere radius="0.5"/>')
        + "<visual/>"
    )
    robot = load(write(package / "urdf", link("a", "") + link("b", BODY + shapes) + joint("j", "a", "b")))
    found, kept, box, cylinder, sphere = robot.link("b").visuals
    assert found.mesh == str(mesh)
    assert found.scale == (0.001, 0.001, 0.001)
    assert kept.mesh == "package://elsewhere/c.dae"
    assert kept.position == (0, 0, 1)
    assert box.box == (1, 2, 3)
    assert (cylinder.cylinder.radius, cylinder.cylinder.length) == (0.1, 2)
    assert sphere.sphere == 0.5
    robot.save(tmp_path / "saved.yaml")
    assert load(tmp_path / "saved.yaml") == robot


def test_shapes_turn_with_the_link_frame(tmp_path, forward):
    """A link that bends has other axes; what is drawn stays where it is."""
    sphere = visual('<sphere radius="0.1"/>', '<origin xyz="0.1 0.2 0.3" rpy="0.3 0 0"/>')
    body = link("a", "") + link("b", BODY + sphere) + link("c") + joint("j", "a", "b")
    file = write(tmp_path, body + joint("k", "b", "c", more='<origin xyz="0 0.3 0.4"/>'))
    beam = {"properties": {"mass_per_length": 1.0, "EIz": 1.0}, "modes": {"bend_y": 1}}
    seen = []
    for robot in (load(file), load(file, {"links": {"b": {"beam": beam, "urdf_mass": "replace"}}})):
        (shape,) = robot.link("b").visuals
        T = forward(robot, {"j": 0.4}, "b.root")
        seen.append((T[:3, 3] + T[:3, :3] @ shape.vector(), T[:3, :3] @ shape.matrix()))
    np.testing.assert_allclose(seen[0][0], seen[1][0], atol=ROUNDING)
    np.testing.assert_allclose(seen[0][1], seen[1][1], atol=ROUNDING)


# ---------------------------------------------------------------- the tip


def test_the_tip_is_the_deepest_moving_leaf_not_the_last_link(tmp_path):
    body = link("a") + link("b") + link("c") + link("camera", "") + joint("j", "a", "b") + joint("k", "b", "c")
    file = write(tmp_path, body + joint("cam", "a", "camera", "fixed"))
    assert load(file).link_names[-1] == "camera"
    assert load(file).tip == "c.tip"
    assert load(file, {"tip": "b"}).tip == "b"


@pytest.mark.parametrize(
    ("names", "tool"),
    [
        (("hand_tcp", "finger"), "hand_tcp"),
        (("flange", "tool0"), "tool0"),
        (("EndEffector", "finger"), "EndEffector"),
        (("ee_link", "tool0"), "tool0"),
        (("wheel", "knee"), "finger"),
        (("stool", "feet"), "finger"),
    ],
)
def test_a_tool_frame_is_known_by_its_name(names, tool):
    """Two frames on the hand, before the moving finger."""
    body = link("a") + link("hand") + "".join(link(name, "") for name in dict.fromkeys((*names, "finger")))
    body += joint("j", "a", "hand") + "".join(
        joint(f"to_{name}", "hand", name, "fixed") for name in names if name != "finger"
    )
    urdf = parse_urdf(f"<robot>{body}{joint('grip', 'hand', 'finger')}</robot>".encode(), "r.urdf")
    assert choose_tip(list(urdf.links), urdf.inboard) == tool


def test_a_tool_that_does_not_move_is_no_tip(tmp_path):
    body = link("a") + link("b") + link("tool_rack", "") + joint("j", "a", "b")
    assert load(write(tmp_path, body + joint("k", "a", "tool_rack", "fixed"))).tip == "b.tip"


# ---------------------------------------------------------------- files of other kinds


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("arm.urdf.xacro", '<robot xmlns:xacro="x"><xacro:arm/></robot>', "xacro arm.urdf.xacro > arm.urdf"),
        ("arm.xacro", '<robot xmlns:xacro="x"><xacro:arm/></robot>', "xacro arm.xacro > arm.urdf"),
        ("scene.xml", "<mujoco/>", "this is a MuJoCo model (MJCF), which is not read; convert it to URDF"),
        ("arm.sdf", "<sdf/>", "this is an SDF model"),
    ],
)
def test_other_formats_are_told_what_to_do(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ModelError) as error:
        load(tmp_path / name)
    assert message in str(error.value)


def test_a_urdf_may_be_called_xml(tmp_path):
    file = write(tmp_path, link("a", "") + link("b") + joint("j", "a", "b"), "robot.xml")
    assert load(file).link_names == ("b",)
