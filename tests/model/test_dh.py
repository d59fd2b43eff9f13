"""Denavit-Hartenberg tables against the product of their own matrices, and their errors."""

import contextlib
import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.errors import ModelError
from pliant.model.description.robot import Robot
from pliant.model.readers.dh import expand_dh
from pliant.model.readers.library import read_text

# products of a dozen rotation matrices
ROUNDING = 1e-12

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
BEAM = {"properties": {"mass_per_length": 1.0, "EIy": 10.0, "EIz": 10.0}, "modes": {"bend_y": 1}}
BODIES = {
    "beam": {"beam": BEAM},
    "rigid": {"rigid": {"mass": 1.0, "inertia": 0.1}},
    "massless": {},
}


def robot_of(convention, rows, links, **more):
    """The robot of a table; links by name."""
    listed = [{"name": name, **copy.deepcopy(body)} for name, body in links.items()]
    data = {"name": "table", "dh": {"convention": convention, "rows": rows}, "links": listed, **more}
    return Robot(**expand_dh(data))


def random_table(rng, convention, n=5):
    """Rows with random numbers, joint types and bodies, and the joint values of a random pose."""
    rows, links, q = [], {}, {}
    for i in range(n):
        kind = rng.choice(["beam", "rigid", "massless"])
        joint = rng.choice(["revolute", "revolute", "prismatic", "fixed"])
        row = {"link": f"l{i}", "joint": f"j{i}", "type": str(joint)}
        row |= {key: float(rng.uniform(-3, 3)) for key in ("alpha", "theta")}
        if convention == "modified":
            row |= {key: float(rng.uniform(-1, 1)) for key in ("b", "d", "r", "gamma")}
        else:
            row["a"] = float(rng.uniform(0.1, 1))
            row["d" if convention == "standard" else "b"] = float(rng.uniform(-1, 1))
        body = copy.deepcopy(BODIES[str(kind)])
        if kind == "beam" and convention == "modified":
            body["beam"]["length"] = float(rng.uniform(0.1, 1))
        rows.append(row)
        links[f"l{i}"] = body
        q[f"j{i}"] = float(rng.uniform(-2, 2))
    return rows, links, q


@pytest.fixture(scope="module")
def product(turn, homogeneous):
    """The matrices of the three conventions as the books print them."""

    def Rx(angle):
        return homogeneous(np.zeros(3), turn(X, angle))

    def Rz(angle):
        return homogeneous(np.zeros(3), turn(Z, angle))

    def Tx(x):
        return homogeneous((x, 0.0, 0.0))

    def Tz(z):
        return homogeneous((0.0, 0.0, z))

    def matrix(convention, row, q):
        turning, sliding = row["type"] == "revolute", row["type"] == "prismatic"
        theta = row["theta"] + (q if turning else 0.0)
        slide = q if sliding else 0.0
        if convention == "standard":
            return Rz(theta) @ Tz(row["d"] + slide) @ Tx(row["a"]) @ Rx(row["alpha"])
        if convention == "saha":
            return Rz(theta) @ Tz(row["b"] + slide) @ Tx(row["a"]) @ Rx(row["alpha"])
        before = Rz(row["gamma"]) @ Tz(row["b"]) @ Rx(row["alpha"]) @ Tx(row["d"])
        return before @ Rz(theta) @ Tz(row["r"] + slide)

    return matrix


@pytest.mark.parametrize("convention", ["standard", "modified", "saha"])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_table_is_the_product_of_its_matrices(convention, seed, product, forward, turn):
    rows, links, q = random_table(np.random.default_rng(seed), convention)
    robot = robot_of(convention, rows, links)
    expected = np.eye(4)
    for i, row in enumerate(rows):
        expected = expected @ product(convention, row, q[f"j{i}"])
        link = robot.link(f"l{i}")
        if convention == "modified":
            pose = forward(robot, q, f"l{i}.root")
        elif convention == "standard" and link.beam is not None:
            # behind a beam the twist belongs to the next joint, and to the frame `end` of the last link
            pose = forward(robot, q, f"l{i}.tip")
            pose[:3, :3] = pose[:3, :3] @ turn(X, row["alpha"])
            if i == len(rows) - 1:
                np.testing.assert_allclose(forward(robot, q, f"l{i}.end"), pose, atol=ROUNDING)
        else:
            pose = forward(robot, q, f"l{i}.tip")
        np.testing.assert_allclose(pose, expected, atol=ROUNDING)


def test_saha_twists_the_bending_axes_and_standard_does_not(forward, turn):
    links = {"beam": BODIES["beam"], "hand": BODIES["rigid"]}
    for convention, shift in (("standard", "d"), ("saha", "b")):
        rows = [{"link": "beam", "a": 1.0, "alpha": 0.5, shift: 0.2}, {"link": "hand", "a": 0.3}]
        robot = robot_of(convention, rows, links)
        twist = turn(X, 0.5 if convention == "saha" else 0.0)
        np.testing.assert_allclose(forward(robot, {}, "beam.root")[:3, :3], twist, atol=ROUNDING)
        np.testing.assert_allclose(forward(robot, {}, "hand.root")[:3, :3], turn(X, 0.5), atol=ROUNDING)


def test_the_joint_axis_is_z_before_the_offset():
    rows = [{"link": "a", "joint": "slide", "type": "prismatic", "d": 0.3, "theta": 0.2, "a": 1.0}]
    joint = robot_of("standard", rows, {"a": BODIES["rigid"]}).link("a").joint
    assert (joint.name, joint.type, joint.axis) == ("slide", "prismatic", "z")
    assert joint.placement.is_identity
    assert joint.child_placement.position == (0.0, 0.0, 0.3)


def test_lengths_are_filled_in_from_a():
    rows = [{"link": "beam", "a": "600 mm"}, {"link": "bar", "a": -0.25}, {"link": "stub"}]
    links = {"beam": BODIES["beam"], "bar": BODIES["rigid"], "stub": BODIES["rigid"]}
    robot = robot_of("saha", rows, links)
    assert [link.length for link in robot.links] == [0.6, -0.25, 0.0]


def test_segments_count_as_length():
    segment = {"length": 0.5, "properties": BEAM["properties"]}
    body = {"beam": {"segments": [segment, segment], "modes": {"bend_y": 1}}}
    assert robot_of("standard", [{"link": "beam", "a": 1.0}], {"beam": body}).link("beam").length == 1.0
    with pytest.raises(ModelError, match=r"a is 2 m but the beam in links is 1 m long; they must agree"):
        robot_of("standard", [{"link": "beam", "a": 2.0}], {"beam": body})


# ---------------------------------------------------------------- Khalil: trees, loops, sigma, mu

TREE = """
name: tree
dh:
  convention: modified
  rows:
    - {index: 11, antecedent: 0,      sigma: 1, mu: 1, link: cart, joint: q11}
    - {index: 12, antecedent: 11,     sigma: 0, mu: 0, alpha: pi/2, link: bar, joint: q12}
    - {index: 13, antecedent: 12,     sigma: 2, mu: 0, d: 0.4 m, link: rod}
    - {index: 21, antecedent: cart,   sigma: 0, d: 0.5 m, alpha: 90 deg, link: crank, joint: q21}
    - {frame: cut, antecedent: 13, d: 0.3 m, theta: 30 deg, r: 10 mm, alpha: 90 deg}
    - {frame: pin, antecedent: crank, d: 0.9 m}
links:
  - {name: cart, rigid: {mass: 1}}
  - {name: bar, beam: {length: 0.8 m, properties: {mass_per_length: 1, EIz: 1}, modes: {bend_y: 1}}}
  - {name: rod, rigid: {mass: 1}, joint: {name: weld}}
  - {name: crank, beam: {length: 0.8 m, properties: {mass_per_length: 1, EIz: 1}, modes: {bend_y: 1}}}
loops:
  - {name: closure, type: revolute, frames: [rod.cut, crank.pin]}
"""


def test_antecedents_make_a_tree():
    robot = read_text(TREE)
    assert robot.parent_of("cart") == ("base", "root")
    assert robot.parent_of("bar") == ("cart", "root")
    assert robot.parent_of("crank") == ("cart", "root")
    assert [link.joint.type for link in robot.links] == ["prismatic", "revolute", "fixed", "revolute"]
    assert [link.joint.actuated for link in robot.links] == [True, False, False, True]
    assert robot.link("rod").joint.name == "weld"


def test_a_joint_inside_a_beam_gets_a_frame_there():
    robot = read_text(TREE)
    assert robot.parent_of("rod") == ("bar", "at_rod")
    assert robot.link("bar").frame("at_rod").x == 0.4


def test_frame_rows_mark_the_closure_of_a_loop(forward, turn):
    robot = read_text(TREE)
    cut = robot.link("rod").frame("cut")
    np.testing.assert_allclose(cut.position, [0.3, -0.01, 0.0], atol=ROUNDING)
    np.testing.assert_allclose(cut.matrix(), turn(X, math.pi / 2) @ turn(Z, math.pi / 6), atol=ROUNDING)
    # a frame behind the end of a beam sits on its tip section
    pin = robot.link("crank").frame("pin")
    assert pin.x == 0.8
    np.testing.assert_allclose(pin.position, [0.1, 0.0, 0.0], atol=ROUNDING)
    assert robot.loops[0].frames == ("rod.cut", "crank.pin")


def test_places_on_a_beam_go_to_tip_root_or_beyond():
    rows = [{"link": "beam", "joint": "j"}]
    links = {"beam": {"beam": {**BEAM, "length": 1.0}}}
    for name, d, frame, position in (
        ("end", 1.0, "tip", (0.0, 0.0, 0.1)),
        ("far", 1.25, "tip", (0.25, 0.0, 0.1)),
        ("start", 0.0, "root", (0.0, 0.0, 0.1)),
        ("back", -0.5, "root", (-0.5, 0.0, 0.1)),
    ):
        rows.append({"link": name, "antecedent": "beam", "d": d, "b": 0.1})
        links[name] = {}
        robot = robot_of("modified", rows, links)
        assert robot.parent_of(name) == ("beam", frame)
        assert robot.link(name).joint.placement.position == pytest.approx(position)


def test_a_named_frame_may_carry_a_row():
    links = {"hub": {"frames": [{"name": "side", "position": [0.0, 1.0, 0.0]}]}, "arm": {}}
    for convention in ("standard", "modified"):
        rows = [{"link": "hub"}, {"link": "arm", "antecedent": "hub.side"}]
        assert robot_of(convention, rows, links).parent_of("arm") == ("hub", "side")


def test_the_drive_stays_in_links():
    body = {**BODIES["rigid"], "joint": {"friction": {"viscous": 2.0}, "actuated": False}}
    joint = robot_of("modified", [{"link": "a", "joint": "q", "mu": 0}], {"a": body}).link("a").joint
    assert joint.friction.viscous == 2.0
    assert not joint.actuated


# ---------------------------------------------------------------- purity and errors


def test_the_data_are_not_changed():
    rows, links, _ = random_table(np.random.default_rng(1), "standard")
    data = {
        "dh": {"convention": "standard", "rows": rows},
        "links": [{"name": n, **b} for n, b in links.items()],
    }
    before = copy.deepcopy(data)
    assert "dh" not in expand_dh(data)
    assert data == before


@pytest.mark.parametrize("data", [{}, {"links": []}, None, 3, "dh"])
def test_data_without_a_table_come_back_as_they_are(data):
    assert expand_dh(data) is data


def file_with(row, convention="standard", link="{name: arm, rigid: {mass: 1}}"):
    return f"""name: bad
dh:
  convention: {convention}
  rows:
    - {row}
links:
  - {link}
"""


@pytest.mark.parametrize(
    ("row", "convention", "line", "message"),
    [
        (
            "{link: arm, alfa: 0}",
            "standard",
            5,
            "dh.rows[0] 'arm': unknown key 'alfa'; did you mean 'alpha'?",
        ),
        ("{link: arm, r: 0}", "standard", 5, "unknown key 'r'; a standard row has link, joint"),
        ("{link: arm, b: 1 m, d: 1 m}", "saha", 5, "unknown key 'd'"),
        ("{link: arn}", "standard", 5, "link 'arn' does not stand in links; did you mean 'arm'?"),
        ("{joint: j}", "standard", 5, "dh.rows[0]: key 'link' is missing"),
        ("{link: arm, a: 3 deg}", "standard", 5, "a is '3 deg'; its unit is wrong: it must be a length"),
        ("{link: arm, theta: .nan}", "standard", 5, "theta is nan rad; it must be finite"),
        (
            "{link: arm, type: revolut}",
            "standard",
            5,
            "type is 'revolut'; it must be revolute or prismatic or",
        ),
        ("{link: arm, sigma: 3}", "modified", 5, "sigma is 3; it must be 0 or 1 or 2"),
        ("{link: arm, sigma: true}", "modified", 5, "sigma is true; it must be 0 or 1 or 2"),
        ("{link: arm, sigma: 1, type: fixed}", "modified", 5, "sigma says prismatic and type says fixed"),
        ("{link: arm, sigma: 2, mu: 1}", "modified", 5, "mu is 1; a fixed joint cannot be driven"),
        ("{link: arm, antecedent: 7}", "modified", 5, "antecedent 7 is unknown; it must be 0, base"),
        ("{link: arm, antecedent: arm}", "modified", 5, "antecedent 'arm' is the row's own link"),
        ("{link: arm, antecedent: 1}", "modified", 5, "antecedent 1 is the row's own link"),
        (
            "{link: arm, antecedent: [1]}",
            "modified",
            5,
            "antecedent is [1]; it must be a whole number or a name",
        ),
        ("{link: 3}", "modified", 5, "link is 3; it must be a name"),
        ("{link: arm, frame: cut}", "modified", 5, "a row moves a link or marks a frame"),
        ("{frame: cut}", "modified", 5, "a frame row needs a link as antecedent"),
        ("upper", "standard", 5, "dh.rows[0]: is 'upper'; it must be a mapping such as"),
        ("{link: arm}", "denavit", 3, "convention is 'denavit'; it must be 'standard', 'modified' or 'saha'"),
        ("{link: arm}", "standrad", 3, "did you mean 'standard'?"),
    ],
)
def test_errors_name_row_and_line(row, convention, line, message):
    with pytest.raises(ModelError) as error:
        read_text(file_with(row, convention), "arm.yaml")
    assert message in str(error.value)
    assert f"arm.yaml, line {line}: " in str(error.value)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("{name: arm, joint: {axis: x}}", "the joint of links 'arm' gives axis too; the dh table decides"),
        ("{name: arm, joint: {name: other}}", "joint is 'j' here and 'other' in links"),
        ("{name: arm, frames: [{name: tip}]}", "link 'arm' has a frame 'tip' already"),
        ("{name: arm, rigid: {mass: 1, length: 2 m}}", "a is 1 m but the rigid in links is 2 m long"),
    ],
)
def test_what_links_and_table_both_say(link, message):
    with pytest.raises(ModelError, match="line 5") as error:
        read_text(file_with("{link: arm, joint: j, a: 1 m}", link=link))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("dh: 3", "dh: is 3; it must be a mapping with convention and rows"),
        ("dh: {convention: saha}", "rows is empty; it must be a list with one row per joint"),
        ("dh: {convention: saha, rows: {}}", "rows is {}; it must be a list"),
        ("dh: {convention: saha, rows: [{link: arm}], colour: red}", "unknown key 'colour'"),
    ],
)
def test_a_block_that_is_no_table(block, message):
    with pytest.raises(ModelError) as error:
        read_text(f"name: bad\n{block}\nlinks: [{{name: arm}}]\n")
    assert message in str(error.value)
    assert "line 2" in str(error.value)


def test_all_problems_come_at_once():
    rows = "{link: arm, a: x, alfa: 1}\n    - {link: leg}\n    - {link: arm}"
    with pytest.raises(ModelError) as error:
        read_text(file_with(rows))
    assert {problem.line for problem in error.value.problems} == {5}
    with pytest.raises(ModelError) as error:
        read_text(file_with("{link: arm}\n    - {link: leg}\n    - {link: arm}"))
    assert {problem.line for problem in error.value.problems} == {6, 7}


def test_links_that_are_wrong_are_the_readers_business():
    with pytest.raises(ModelError, match="links is 3"):
        read_text("name: bad\ndh: {convention: saha, rows: [{link: a}]}\nlinks: 3\n")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.sampled_from(["arm", "tip", "1 m", "base", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["link", "frame", "a", "mu"]), inner),
    max_leaves=6,
)
keys = st.sampled_from(["link", "frame", "joint", "type", "sigma", "mu", "index", "antecedent", "a", "d", "alpha", "r"])


@given(
    st.sampled_from(["standard", "modified", "saha"]),
    st.lists(st.dictionaries(keys, plain), max_size=4),
    plain,
)
def test_any_table_gives_data_or_a_model_error(convention, rows, body):
    data = {
        "dh": {"convention": convention, "rows": rows},
        "links": [{"name": "arm", "beam": body, "joint": body}, {"name": "leg", "frames": body, "rigid": {}}],
    }
    with contextlib.suppress(ModelError):
        expand_dh(data)
