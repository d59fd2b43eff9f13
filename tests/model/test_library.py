"""The bundled robots: each loads, has the numbers of its source, and stands where its source says."""

import math

import numpy as np
import pytest

import pliant.model.readers.library as library
from pliant.errors import ModelError
from pliant.model.readers.library import load, read_text, robots

NAMES = [
    "canadarm",
    "cibicik-4dof",
    "closed-frame",
    "de-luca-siciliano",
    "dualemps",
    "five-bar",
    "forestry-crane-rigid",
    "four-bar-rigid",
    "four-bar",
    "lin-lewis-one-link",
    "lin-lewis-rfr",
    "lin-lewis-tank-turret",
    "luffing-boom",
    "panda-strip",
    "quanser-fitted",
    "quanser",
    "seven-joint-arm",
    "single-flexible-link",
    "six-dof",
    "three-prs",
    "two-link-flexible",
]
# sums and products of given numbers
ROUNDING = 1e-12
# the reference poses are given with all digits
REFERENCE = 1e-9

X, Y, Z = np.eye(3)


def families(link):
    """Number of modes of each family of a link."""
    return {name: family.count for name, family in link.beam.modes.families().items()}


# ---------------------------------------------------------------- all of them


def test_the_list_of_robots():
    assert [name for name, _ in robots()] == NAMES
    for robot in robots():
        assert 20 < len(robot.description) < 110, robot.name


@pytest.mark.parametrize("name", NAMES)
def test_every_robot_loads_and_says_what_it_is(name):
    robot = load(name)
    assert robot.name == name
    assert robot.description == dict(robots())[name]
    assert len(robot.source) > 20
    assert any(link.is_flexible for link in robot.links) == (not name.endswith("-rigid"))
    # choices are explained in the file
    text = (library.FOLDER / f"{name}.yaml").read_text()
    assert text.startswith("# ")
    assert text.count("#") >= 4


@pytest.mark.parametrize("name", NAMES)
def test_every_robot_survives_writing_and_reading(name):
    robot = load(name)
    assert read_text(robot.to_yaml()) == robot


@pytest.mark.parametrize("name", NAMES)
def test_tips_are_where_the_lengths_put_them(name, forward):
    """No link floats off: from root to tip is the length of the link, in any pose."""
    robot = load(name)
    for link in robot.links:
        reach = forward(robot, robot.pose, f"{link.name}.tip") - forward(robot, robot.pose, f"{link.name}.root")
        np.testing.assert_allclose(np.linalg.norm(reach[:3, 3]), abs(link.length), atol=ROUNDING)


@pytest.mark.parametrize("name", [name for name in NAMES if load(name).loops])
def test_loops_are_closed_in_the_reference_pose(name, forward):
    robot = load(name)
    for loop in robot.loops:
        first, second = (forward(robot, robot.pose, frame) for frame in loop.frames)
        np.testing.assert_allclose(first[:3, 3], second[:3, 3], atol=ROUNDING)
        if loop.type == "weld":
            np.testing.assert_allclose(first[:3, :3], second[:3, :3], atol=ROUNDING)


# ---------------------------------------------------------------- loading


def test_names_and_paths(tmp_path, monkeypatch):
    file = tmp_path / "arm.yml"
    load("single-flexible-link").save(file)
    assert load(file) == load(str(file)) == load("single-flexible-link")
    monkeypatch.chdir(tmp_path)
    assert load("arm.yml").name == "single-flexible-link"


def test_an_unknown_name_gets_a_proposal_and_the_list():
    with pytest.raises(ModelError) as error:
        load("candarm")
    message = str(error.value)
    assert message.startswith("there is no robot 'candarm'; did you mean 'canadarm'?")
    assert all(name in message for name in NAMES)


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        ("arm.yaml", "arm.yaml: there is no such file"),
        ("canadarm.yaml", "canadarm.yaml: there is no such file; did you mean 'canadarm'?"),
        ("no/such/arm", "no/such/arm: there is no such file"),
        (".", ".: this is a folder; name one robot file"),
        ("", "there is no robot ''; bundled robots: canadarm, "),
        ("a" * 5000, "there is no robot"),
        ("a\0b", "there is no robot"),
        ("a\0b.yaml", "there is no such file"),
        (None, "loaded by its name or path, not by empty"),
        (b"canadarm", "not by b'canadarm'"),
        (7, "not by 7"),
    ],
)
def test_what_cannot_be_loaded(robot, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as error:
        load(robot)
    assert message in str(error.value)


def test_other_endings_and_misplaced_overlays(tmp_path):
    file = tmp_path / "arm.txt"
    file.write_text("name: arm")
    with pytest.raises(ModelError, match=r"must end in one of \.yaml, \.yml, \.urdf"):
        load(file)
    with pytest.raises(ModelError, match="an overlay needs a URDF file"):
        load("canadarm", {"links": {}})


# ---------------------------------------------------------------- canadarm
# Mohan & Saha, table 2, and the first state of the project's reference set for this arm


def test_canadarm_has_the_numbers_of_table_2():
    robot = load("canadarm")
    assert robot.gravity == (0, 0, 0)
    assert robot.joint_coordinates == ("shoulder", "elbow", "wrist")
    for link, a, m in zip(robot.links, (6, 7, 2), (140, 85, 95), strict=True):
        assert link.length == a
        assert link.mass == pytest.approx(m, rel=1e-15)
        assert (link.beam.properties.EIy, link.beam.properties.EIz) == (1e5, 1e5)
        assert families(link) == {"bend_y": 2, "bend_z": 2}
        assert link.beam.modes.shape == "clamped-free"


def test_canadarm_stands_where_the_reference_says(forward, turn, homogeneous):
    robot = load("canadarm")
    q = [-0.878938, 0.141752, 0.00145875, -0.0314698, -0.00235517, -1.04351, 0.039643, -0.00201678, 0.145212]
    q += [5.2017e-05, 0.877096, -0.000927813, 2.38184e-05, 0.000754594, -3.54375e-05]
    # clamped-free modes with tip values +2, -2; L times their tip slopes
    value, slope = np.array([2.0, -2.0]), np.array([2.75301096934507, -9.561556820423265])
    joints, tips = {}, {}
    for link, own in zip(robot.links, np.reshape(q, (3, 5)), strict=True):
        joints[link.joint.name] = own[0]
        y, z = own[1:3], own[3:5]
        phi = np.array([0.0, -slope @ z, slope @ y]) / link.length
        tips[link.name] = homogeneous([0.0, value @ y, value @ z], turn(phi, np.linalg.norm(phi)))
    expected = [
        [0.5693908951104817, 0.8217694450445234, 0.02211306755066988, 3.2706264272057197],
        [-0.821632948456592, 0.5680104679405054, 0.047785000999640136, -12.819912056442842],
        [0.02670779990587027, -0.04537716938311705, 0.9986128408562367, 0.24421838642008525],
    ]
    np.testing.assert_allclose(forward(robot, joints, "hand.tip", tips)[:3], expected, atol=REFERENCE)


# ---------------------------------------------------------------- lin-lewis


def test_one_link_has_the_converted_numbers():
    """Section 4.2 in inch, lbf and second; the tip mass is 0.1 lbf s^2/in."""
    inch, lbf = 0.0254, 4.4482216152605
    (link,) = load("lin-lewis-one-link").links
    assert link.length == pytest.approx(47 * inch, rel=ROUNDING)
    assert link.beam.properties.EIz == pytest.approx(4120 * lbf * inch**2, rel=ROUNDING)
    assert link.beam.properties.mass_per_length == pytest.approx(2.54e-4 * 0.14 * lbf / inch**2, rel=ROUNDING)
    assert link.payloads[0].mass == pytest.approx(0.1 * lbf / inch, rel=ROUNDING)
    assert families(link) == {"bend_y": 15}
    assert (link.beam.modes.shape, link.beam.modes.normalise) == ("pinned-pinned", "none")


def test_one_link_has_the_printed_eigenvalues():
    """Eigenvalues of [M^-1]_FF U_FF with sin(k pi x/L), from the numbers of the file alone."""
    (link,) = load("lin-lewis-one-link").links
    L, rhoA, EI = link.length, link.beam.properties.mass_per_length, link.beam.properties.EIz
    k = np.arange(1, 16)
    M = np.diag(np.r_[rhoA * L**3 / 3 + link.payloads[0].mass * L**2, np.full(15, rhoA * L / 2)])
    M[0, 1:] = M[1:, 0] = rhoA * L**2 * -((-1.0) ** k) / (k * math.pi)
    U = np.diag(EI * (k * math.pi / L) ** 4 * L / 2)
    found = np.sort(np.linalg.eigvals(np.linalg.inv(M)[1:, 1:] @ U).real)
    printed = [3.70e4, 1.87e5, 5.92e5, 1.44e6, 2.99e6, 5.55e6, 9.47e6, 1.51e7, 2.31e7, 3.38e7, 4.79e7, 6.60e7]
    printed += [8.88e7, 1.17e8]
    assert found[0] == pytest.approx(2320.6445, abs=5e-5)
    # the others are printed with three digits, truncated
    ratio = found[1:] / printed
    assert np.all((ratio >= 1) & (ratio < 1.01))


def test_tank_turret_bends_both_ways_and_lifts_the_barrel(forward):
    robot = load("lin-lewis-tank-turret")
    assert [link.is_flexible for link in robot.links] == [False, True]
    assert families(robot.link("barrel")) == {"bend_y": 2, "bend_z": 2}
    muzzle = forward(robot, {"elevation": math.pi / 2}, "barrel.tip")
    np.testing.assert_allclose(muzzle[:3, 3], [0.1, 0, 0.2 + 47 * 0.0254], atol=ROUNDING)
    level = forward(robot, {"azimuth": math.pi / 2}, "barrel.tip")
    np.testing.assert_allclose(level[:3, 3], [0, 0.1 + 47 * 0.0254, 0.2], atol=ROUNDING)
    # y of the barrel is up
    np.testing.assert_allclose(level[:3, 1], Z, atol=ROUNDING)


def test_rfr_has_the_mode_of_the_appendix():
    """b = 0.912224 solves the clamped beam with a tip mass for the ratio of the masses of the file."""
    robot = load("lin-lewis-rfr")
    assert [link.is_flexible for link in robot.links] == [False, True, False]
    family = robot.link("forearm").beam.modes.resolve("bend_y")
    assert (family.count, family.shape, family.normalise, family.tip_inertia) == (
        1,
        "clamped-mass",
        "none",
        0,
    )
    assert family.tip_mass == pytest.approx(robot.link("hand").mass, rel=ROUNDING)
    mu, b = family.tip_mass / robot.link("forearm").mass, 0.912224
    assert mu == pytest.approx(4.096182227, rel=1e-9)
    c, s, ch, sh = math.cos(b), math.sin(b), math.cosh(b), math.sinh(b)
    residual = 1 + c * ch + mu * b * (c * sh - s * ch)
    # six printed digits of b; the slope of the residual is about -8
    assert abs(residual) < 8 * 5e-7


# ---------------------------------------------------------------- cibicik 4-DOF
# Cibicik & Egeland, table I; boundary masses and normalisation of the project's reference set


def test_cibicik_has_the_numbers_of_table_1():
    robot = load("cibicik-4dof")
    rho, A, E, G = 7850, 707e-6, 210e9, 80.8e9
    column, boom, jib, tool = robot.links
    assert (column.mass, tool.mass) == (15.5, 3.56)
    assert (boom.length, jib.length, tool.length) == (2.0, 1.8, 0.24)
    for link in (boom, jib):
        p = link.beam.properties
        assert p.mass_per_length == pytest.approx(rho * A, rel=ROUNDING)
        assert p.EIy == p.EIz == pytest.approx(E * 181132e-12, rel=ROUNDING)
        assert pytest.approx(G * 362265e-12, rel=ROUNDING) == p.GJ
        assert p.rhoIy == p.rhoIz == pytest.approx(rho * 181132e-12, rel=ROUNDING)
        assert p.rhoJ == pytest.approx(rho * 362265e-12, rel=ROUNDING)
        assert link.beam.rotary_inertia == "exact"
        assert families(link) == {"bend_y": 2, "bend_z": 2, "torsion": 2}
        assert {f.normalise for f in link.beam.modes.families().values()} == {"tip"}
    np.testing.assert_allclose(tool.rigid.inertia, [0.001533, 0.017386, 0.017035])
    assert tool.rigid.com == (0.124, 0, 0)
    assert column.rigid.inertia_matrix()[2, 2] == 0.018586
    assert robot.attachment_rotation == "xyz"
    assert robot.gravity == (0, 0, -9.81)
    assert robot.pose == pytest.approx({"q1": 0, "q2": math.pi / 6, "q3": 2 * math.pi / 3, "q4": math.pi / 6})


def test_cibicik_modes_carry_what_follows():
    robot = load("cibicik-4dof")
    for name, mu in (("boom", 1.2207236101226138), ("jib", 0.35635956680290415)):
        link = robot.link(name)
        for family in ("bend_y", "bend_z"):
            modes = link.beam.modes.resolve(family)
            assert modes.tip_mass / link.mass == pytest.approx(mu, rel=ROUNDING)
            assert modes.tip_inertia == 0


def test_cibicik_frames_are_those_of_the_paper(forward, turn):
    """R01 = Rz(q1), R12 = Rx(-pi/2) Rz(-pi/2) Rz(q2), R23 = Rz(q3), R34 = Rz(q4); lengths along z1 and x."""
    robot = load("cibicik-4dof")
    q = {"q1": 0.3, "q2": -0.7, "q3": 1.1, "q4": 0.4}
    R01 = turn(Z, q["q1"])
    R02 = R01 @ turn(X, -math.pi / 2) @ turn(Z, -math.pi / 2) @ turn(Z, q["q2"])
    R03 = R02 @ turn(Z, q["q3"])
    R04 = R03 @ turn(Z, q["q4"])
    p2 = 0.26 * Z
    p3 = p2 + 2.0 * R02[:, 0]
    p4 = p3 + 1.8 * R03[:, 0]
    for name, p, R in (("boom", p2, R02), ("jib", p3, R03), ("tool", p4, R04)):
        pose = forward(robot, q, f"{name}.root")
        np.testing.assert_allclose(pose[:3, 3], p, atol=ROUNDING)
        np.testing.assert_allclose(pose[:3, :3], R, atol=ROUNDING)
    np.testing.assert_allclose(forward(robot, q, "tool.tip")[:3, 3], p4 + 0.24 * R04[:, 0], atol=ROUNDING)
    column = forward(robot, q, "column.root") @ np.r_[robot.link("column").rigid.com, 1]
    np.testing.assert_allclose(column[:3], [0, 0, 0.131], atol=ROUNDING)


def test_cibicik_point_of_the_reference(forward, turn, homogeneous):
    """The point x = 0.7 m of link 3 in the first state of the reference set, with its deflections."""
    robot = load("cibicik-4dof")
    q = [
        -1.95,
        1.2999,
        1.4147,
        0.80424,
        -0.0023429,
        -0.00038752,
        0.0057205,
        3.9884e-06,
        0.0087253,
        2.8897e-05,
    ]
    q += [-0.0030428, 8.3171e-06, 0.0035468, 5.6442e-05, -0.0042732, 5.8311e-05]
    torsion, y, z = np.reshape(q[4:10], (3, 2))
    slope = np.array([0.740122456314575, 12.413511629589019])
    section = turn(X, torsion.sum()) @ turn(Y, -slope @ z) @ turn(Z, slope @ y)
    tips = {"boom": homogeneous([0, y.sum(), z.sum()], section)}
    x = 0.7
    psi = []
    for beta, sigma, tip in (
        (1.498590109679446, 0.7753041647187382, 1.4022808739259396),
        (4.163036524115281, 1.0110732268982494, -0.6803433540542443),
    ):
        s = beta * x / 1.8
        psi.append((np.cosh(s) - np.cos(s) - sigma * (np.sinh(s) - np.sin(s))) / tip)
    joints = dict(zip(("q1", "q2", "q3", "q4"), q[:4], strict=True))
    jib = forward(robot, joints, "jib.root", tips)
    point = jib @ np.r_[x, np.dot(psi, q[12:14]), np.dot(psi, q[14:16]), 1]
    expected = [-0.8138916350168333, -2.0602627682755292, 0.15103477167114765]
    np.testing.assert_allclose(point[:3], expected, atol=REFERENCE)


# ---------------------------------------------------------------- dualemps
# Briot & Khalil, tables 1 and 2 with their corrections, and the state S1 of the project's reference set


def test_dualemps_has_the_numbers_of_tables_1_and_2():
    robot = load("dualemps")
    rows = {
        "carriage_1": (95.196, 0.0, 0.0),
        "root_12": (0.843, 0.004, 7.06e-4),
        "block_14": (0.396, 0.030, 0.003),
        "tool_17": (0.177, 0.006, 2.56e-4),
        "carriage_2": (95.196, 0.0, 0.0),
        "root_22": (0.843, 0.004, 7.06e-4),
        "block_24": (0.190, 0.011, 9.44e-4),
    }
    for name, (m, mx, zz) in rows.items():
        body = robot.link(name).rigid
        assert body.mass == m
        assert body.mass * body.com[0] == pytest.approx(mx, rel=ROUNDING)
        about_origin = body.inertia_matrix()[2, 2] + m * body.com[0] ** 2
        assert about_origin == pytest.approx(zz, rel=ROUNDING)
    for name, length in (("beam_13", 0.4505), ("beam_16", 0.14), ("beam_23", 0.4505)):
        beam = robot.link(name).beam
        here = beam.at(0.0)
        assert beam.length == length
        assert here.mass_per_length == pytest.approx(2800 * 2e-4, rel=ROUNDING)
        assert here.EIz == pytest.approx(74e9 * 2.6666666666666673e-10, rel=ROUNDING)
        assert pytest.approx(74e9 * 2e-4, rel=ROUNDING) == here.EA
        assert beam.elements.number == 1
        assert beam.families == ("bend_y", "axial")
    # table 2 rounds the beams' own masses
    assert robot.link("beam_13").mass == pytest.approx(0.252, abs=5e-4)
    assert robot.link("beam_16").mass == pytest.approx(0.078, abs=5e-4)


def test_dualemps_joints_are_driven_and_rub_as_printed():
    robot = load("dualemps")
    assert robot.joint_coordinates == ("q11", "q12", "q21", "q22", "q25")
    printed = {
        "q11": (25, 250),
        "q12": (0.02, 0.08),
        "q21": (25, 250),
        "q22": (0.02, 0.08),
        "q25": (0.01, 0.005),
    }
    for name, (fs, fv) in printed.items():
        joint = robot.joint(name)
        assert (joint.friction.coulomb, joint.friction.viscous) == (fs, fv)
        assert joint.actuated == (name in ("q11", "q21"))
    assert [robot.joint(name).type for name in ("q11", "q21")] == ["prismatic", "prismatic"]


def test_dualemps_stands_where_the_reference_says(forward, turn, homogeneous):
    robot = load("dualemps")
    q = {
        "q11": 0.08,
        "q12": 1.4358229090367447,
        "q21": 0.17,
        "q22": 2.1460684108631334,
        "q25": -0.6892455018263887,
    }
    # u, w, t of the reference: elongation, deflection and slope at the tip
    bent = {
        "beam_13": (2e-05, 0.0035, 0.012),
        "beam_16": (-1e-05, -0.0015, -0.018),
        "beam_23": (-3e-05, -0.0025, -0.009),
    }
    tips = {name: homogeneous([u, w, 0], turn(Z, t)) for name, (u, w, t) in bent.items()}
    P = forward(robot, q, "tool_17.root", tips)
    np.testing.assert_allclose(P[[0, 2], 3], [0.10293059102178573, 0.8784182747244997], atol=REFERENCE)
    assert P[1, 3] == pytest.approx(0, abs=ROUNDING)  # the plane of motion is x-z
    assert math.atan2(P[2, 0], P[0, 0]) == pytest.approx(1.4298229090367447, abs=REFERENCE)
    X15, Z15, theta15 = 0.07629708496287138, 0.675160294672031, 1.4478229090367447
    for frame in robot.loops[0].frames:
        pose = forward(robot, q, frame, tips)
        np.testing.assert_allclose(pose[[0, 2], 3], [X15, Z15], atol=REFERENCE)
        assert math.atan2(pose[2, 0], pose[0, 0]) == pytest.approx(theta15, abs=REFERENCE)


def test_dualemps_gravity_does_no_work():
    """Gravity is along y, normal to the plane of the axes and of everything that moves."""
    robot = load("dualemps")
    assert robot.gravity[0] == robot.gravity[2] == 0
    assert robot.loops[0].planar == "zx"


# ---------------------------------------------------------------- the others


def test_de_luca_siciliano_has_the_published_numbers():
    """De Luca & Siciliano 1991: masses, inertias and loads of the two links."""
    robot = load("de-luca-siciliano")
    one, two = robot.links
    for link in (one, two):
        assert link.length == 0.5
        assert link.beam.properties.mass_per_length == 0.2
        assert link.beam.properties.EIz == 1
        assert link.beam.mass == pytest.approx(0.1, rel=ROUNDING)
        assert families(link) == {"bend_y": 2}
    assert one.hub.inertia_matrix()[2, 2] == 0.1
    assert (two.hub.mass, two.hub.inertia_matrix()[2, 2]) == (1, 0.1)
    assert (two.payloads[0].mass, two.payloads[0].inertia_matrix()[2, 2]) == (0.1, 0.0005)
    first, second = (link.beam.modes.resolve("bend_y") for link in robot.links)
    M_L = two.mass
    J_L = 0.1 * 0.5**2 / 3 + 0.1 + 0.0005 + 0.1 * 0.5**2
    assert first.tip_mass == pytest.approx(M_L, rel=ROUNDING) == 1.2
    assert first.tip_inertia == pytest.approx(J_L, rel=ROUNDING) == pytest.approx(0.1338333, abs=5e-8)
    assert (second.tip_mass, second.tip_inertia) == (0.1, 0.0005)
    assert {first.normalise, second.normalise} == {"mass"}


def test_everyday_arms_stretch_out_as_described(forward):
    two = load("two-link-flexible")
    np.testing.assert_allclose(forward(two, {}, "forearm.tip")[:3, 3], [1.1, 0, 0], atol=ROUNDING)
    raised = forward(two, {"shoulder": math.pi / 2}, "forearm.tip")
    np.testing.assert_allclose(raised[:3, 3], [0, 0, 1.1], atol=ROUNDING)
    seven = load("seven-joint-arm")
    assert len(seven.joint_coordinates) == 7
    assert [link.name for link in seven.links if link.is_flexible] == ["upper_arm", "forearm"]
    reach = 0.12 + 0.8 + 0.1 + 0.7 + 0.08 + 0.09
    np.testing.assert_allclose(forward(seven, {}, "hand.tip")[:3, 3], [reach, 0, 0.4], atol=ROUNDING)
    lifted = forward(seven, {"shoulder_pitch": math.pi / 2}, "hand.tip")
    np.testing.assert_allclose(lifted[:3, 3], [0, 0, 0.4 + reach], atol=ROUNDING)


def test_five_bar_closes_at_the_tool(forward):
    robot = load("five-bar")
    assert all(link.is_flexible for link in robot.links)
    tool = forward(robot, robot.pose, "left_coupler.tip")[:3, 3]
    height = 0.25 * math.sin(2 * math.pi / 3) + math.sqrt(0.3**2 - (0.1 + 0.125) ** 2)
    np.testing.assert_allclose(tool, [0, height, 0], atol=ROUNDING)


def test_six_dof_keeps_the_masses_and_places_of_its_urdf(forward):
    bent, rigid = load("six-dof"), load(library.FOLDER / "six-dof.urdf")
    assert [link.name for link in bent.links if link.is_flexible] == ["upper_arm", "forearm"]
    for link in rigid.links:
        own = bent.link(link.name)
        gripper = sum(part.mass for part in own.payloads) if link.name == "tool" else 0.0
        assert own.mass - gripper == pytest.approx(link.mass, abs=5e-4)
    q = {name: 0.3 * (i + 1) for i, name in enumerate(rigid.joint_coordinates)}
    np.testing.assert_allclose(forward(bent, q, "tool.tip"), forward(rigid, q, "tool.tip"), atol=ROUNDING)


@pytest.mark.parametrize("name", [robot.name for robot in robots()])
def test_bundled_robots_say_which_shapes_they_have(name):
    """Their numbers must not change with the default shape."""
    for link in load(name).links:
        if link.beam is not None and link.beam.modes is not None:
            modes = link.beam.modes
            families = [getattr(modes, family) for family in modes.families()]
            assert "shape" in modes.model_fields_set or all(family.shape is not None for family in families)
