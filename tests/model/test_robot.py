"""Robots: trees, names that fit together, materials, and readable errors from Python as well."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.model import Beam, Frame, Joint, Link, Loop, Material, ModelError, Modes, Rectangle, Rigid, Robot
from pliant.model.element import Element

BEAM = Beam(length=0.5, material="aluminium", section=Rectangle(width=0.003, height=0.04), modes=Modes(bend_y=1))


def link(name, /, **joint):
    return Link(name=name, joint=Joint(**joint), rigid=Rigid(mass=1, length=0.3))


def robot(*links, **keys):
    return Robot(name="test", links=links or (link("upper"), link("fore")), **keys)


def test_parents():
    r = robot(
        Link(name="a", joint=Joint(), rigid=Rigid(mass=1), frames=[Frame(name="side")]),
        link("b"),
        link("c", parent="a"),
        link("d", parent="a.side"),
        link("e"),
        link("f", parent="base"),
    )
    parents = {name: r.parent_of(name) for name in r.link_names}
    assert parents == {
        "a": ("base", "root"),
        "b": ("a", "tip"),
        "c": ("a", "tip"),
        "d": ("a", "side"),
        "e": ("d", "tip"),
        "f": ("base", "root"),
    }
    assert r.children_of("a") == ("b", "c", "d")
    assert r.children_of("base") == ("a", "f")


def test_links_are_sorted_parents_first():
    r = robot(
        link("hand", parent="fore"),
        link("fore", parent="upper.tip"),
        link("upper", parent="base"),
        link("tool", parent="hand"),
    )
    assert r.link_names == ("upper", "fore", "hand", "tool")
    assert r.parent_of("hand") == ("fore", "tip")


def test_a_default_parent_survives_sorting():
    """`second` follows `first` in the written order, although `first` has to wait for its parent."""
    r = robot(link("first", parent="root_link"), link("second"), link("root_link", parent="base"))
    assert r.link_names == ("root_link", "first", "second")
    assert r.parent_of("second") == ("first", "tip")


@settings(max_examples=25)
@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.randoms(use_true_random=False))))
def test_any_order_of_a_tree_gives_the_same_parents(case):
    order, random = case
    parent = {k: random.randrange(k) if k else None for k in range(len(order))}
    links = [link(f"l{k}", parent="base" if parent[k] is None else f"l{parent[k]}") for k in order]
    r = robot(*links)
    seen = {"base"}
    for name in r.link_names:
        above, _ = r.parent_of(name)
        assert above in seen
        assert above == ("base" if parent[int(name[1:])] is None else f"l{parent[int(name[1:])]}")
        seen.add(name)


def test_looking_up():
    r = robot()
    assert r.link("fore").name == "fore"
    assert r.joint("fore") is r.link("fore").joint
    assert r.resolve_frame("upper") == ("upper", "tip")
    assert r.resolve_frame("upper.root") == ("upper", "root")
    assert r.resolve_frame("base") == ("base", "root")
    assert r.joint_coordinates == ("upper", "fore")
    assert r.mass == 2.0
    for call in (r.link, r.parent_of, r.resolve_frame):
        with pytest.raises(ModelError, match="the robot has no link 'uper'; did you mean 'upper'"):
            call("uper")
    with pytest.raises(ModelError, match="has no frame 'top'"):
        r.resolve_frame("upper.top")
    with pytest.raises(ModelError, match="has no joint 'fo'"):
        r.joint("fo")


def test_materials_are_resolved():
    own = Material(E=1e9, G=4e8, density=1000)
    r = robot(
        Link(name="a", joint=Joint(), beam=BEAM.with_changes(material="mine")),
        Link(name="b", joint=Joint(), beam=BEAM),
        materials={"mine": own},
    )
    assert r.links[0].beam.material == own.with_changes(name="mine")
    assert r.links[1].beam.material.name == "aluminium"
    assert pytest.approx(1e9 * 0.003 * 0.04) == r.links[0].beam.at(0.1).EA
    # the shared beam itself keeps the name
    assert BEAM.material == "aluminium"


def test_an_own_material_wins_over_a_common_one():
    r = robot(Link(name="a", joint=Joint(), beam=BEAM), materials={"aluminium": Material(E=1, nu=0.3, density=1)})
    assert r.links[0].beam.material.E == 1


def test_what_a_material_lacks_shows_in_the_robot():
    beam = BEAM.with_changes(material="mine", modes=Modes(torsion=1))
    with pytest.raises(ModelError, match=r"links\[0\] 'a': beam.modes.torsion: torsion needs GJ"):
        robot(Link(name="a", joint=Joint(), beam=beam), materials={"mine": Material(E=1, density=1)})


def test_a_floating_base():
    r = robot(link("hull", type="free"), link("arm"), pose={"hull.z": 1.0, "hull.rx": 0.1, "arm": 0.2})
    assert r.joint_coordinates == ("hull.x", "hull.y", "hull.z", "hull.rx", "hull.ry", "hull.rz", "arm")
    with pytest.raises(ModelError, match="a free joint has no previous link; write its parent"):
        robot(link("a"), link("b", type="free"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Robot(name="x", links=[]), "a robot has 1 to 2000 links"),
        (lambda: Robot(name="", links=[link("a")]), "must be one line of text"),
        (lambda: Robot(name="a\nb", links=[link("a")]), "must be one line of text"),
        (lambda: Robot(name="x", links=link("a")), "must be a list"),
        (lambda: robot(link("a"), link("a")), r"links\[1\] 'a': name is 'a', as of links\[0\]"),
        (lambda: robot(link("a", name="j"), link("b", name="j")), "as of the joint of links"),
        (lambda: robot(link("a", name="b"), link("b")), "as of the joint of links"),
        (lambda: robot(link("a", parent="a")), r"circle \(a -> a\)"),
        (lambda: robot(link("a", parent="c"), link("b"), link("c")), r"circle \(a -> c -> b -> a\)"),
        (lambda: robot(link("a", parent="nobody")), "there is no link 'nobody'"),
        (lambda: robot(link("a", parent="base.top")), "the base has no frame 'top'"),
        (lambda: robot(link("a"), link("b", parent="a.top")), "link 'a' has no frame 'top'"),
        (lambda: robot(link("a"), link("b", parent="a.")), "link 'a' has no frame ''"),
        (lambda: robot(pose={"upper": float("nan")}), "pose.upper is nan; it must be finite"),
        (lambda: robot(pose={"elbow": 1}), "there is no joint coordinate 'elbow'"),
        (lambda: robot(pose={"upper": "30 deg"}), "units are read from files only"),
        (lambda: robot(pose=[1, 2]), "must be a mapping of joint names"),
        (lambda: robot(link("a", type="fixed"), pose={"a": 1}), "there is no joint coordinate 'a'"),
        (lambda: robot(loops=[Loop(name="l", frames=("upper", "nobody"))]), "there is no link 'nobody'"),
        (lambda: robot(loops=[Loop(name="l", frames=("upper", "upper.root"))]), "a loop joins two links"),
        (
            lambda: robot(loops=[Loop(name="l", frames=("upper", "fore")), Loop(name="l", frames=("base", "fore"))]),
            r"loops\[1\] 'l': name is 'l', as of loops\[0\]",
        ),
        (lambda: robot(materials={"a b": Material(E=1, density=1)}), "must be a word"),
        (lambda: robot(gravity=(0, 0)), "gravity has 2 entries"),
        (lambda: robot(attachment_rotation="euler"), "'exponential', 'cayley' or 'xyz'"),
        (lambda: robot(gravty=(0, 0, 0)), "unknown key 'gravty'; did you mean 'gravity'"),
    ],
)
def test_impossible_robots(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_all_problems_come_at_once():
    with pytest.raises(ModelError) as caught:
        Robot.model_validate(
            {
                "name": "x",
                "links": [
                    {"name": "a", "joint": {"axis": "q"}, "rigid": {"mass": -1}},
                    {"name": "a", "joint": {"parent": "nobody"}, "beam": {"lenght": 1, "material": "stel"}},
                ],
                "pose": {"c": 1},
            }
        )
    text = str(caught.value)
    for words in (
        "joint.axis is 'q'",
        "rigid.mass is -1",
        "names must differ",
        "no link 'nobody'",
        "'lenght'",
        "'c'",
        "material 'stel'",
    ):
        assert words in text
    assert text.count("\n") == len(caught.value.problems) - 1


def test_errors_name_the_class_without_a_file():
    with pytest.raises(ModelError) as caught:
        Beam(length=-0.4, material="steel", section=Rectangle(width=1, height=1))
    assert str(caught.value) == "Beam: length is -0.4 m; it must be positive"
    assert caught.value.__cause__ is None


def test_robots_are_immutable_and_hashable():
    r = robot(pose={"upper": 1.0})
    with pytest.raises(ValueError, match="frozen"):
        r.name = "other"
    with pytest.raises(TypeError, match="cannot be changed"):
        r.pose["upper"] = 2.0
    assert len({r, robot(pose={"upper": 1.0}), robot()}) == 2
    assert r.with_changes(pose={}) == robot()
    assert r.pose == {"upper": 1.0}


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_are_equal(twin):
    r = robot(
        Link(name="a", joint=Joint(placement={"rotation": {"y": 1, "x": 2}}), beam=BEAM),
        materials={"mine": Material(E=1, density=1)},
        pose={"a": 0.3},
    )
    again = twin(r)
    assert again == r
    assert hash(again) == hash(r)
    assert np.array_equal(again.links[0].joint.placement.matrix(), r.links[0].joint.placement.matrix())


def test_errors_survive_pickling():
    with pytest.raises(ModelError) as caught:
        robot(link("a"), link("a"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_a_long_chain_is_quick():
    n = 2000
    r = robot(*(link(f"l{k}") for k in range(n)))
    assert r.parent_of(f"l{n - 1}") == (f"l{n - 2}", "tip")


def every_element(kind=Element):
    for sub in kind.__subclasses__():
        yield sub
        yield from every_element(sub)


@pytest.mark.parametrize("kind", sorted(set(every_element()), key=lambda k: k.__name__), ids=lambda k: k.__name__)
def test_every_class_and_key_is_documented(kind):
    assert kind.__doc__
    for key, field in kind.model_fields.items():
        assert field.description, f"{kind.__name__}.{key} has no description"
