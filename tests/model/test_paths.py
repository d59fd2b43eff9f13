"""Places in a robot: one language for reading, changing, sweeps and sensitivities."""

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, Material, ModelError, RigidPart, Robot, Round, Spring
from pliant.model.paths import steps_of, with_value


@pytest.fixture(scope="module")
def robot():
    steel = Material(name="own", E=200e9, G=77e9, density=7800)
    bar = Beam(length=0.8, material="own", section=Round(diameter=0.02))
    return Robot(
        name="places",
        materials={"own": steel},
        links=[
            Link(name="upper", joint=Joint(name="shoulder", axis="z", spring=Spring(stiffness=3.0)), beam=bar),
            Link(name="rail", joint=Joint(type="prismatic", axis="x", spring=Spring(stiffness=40.0)), beam=bar),
            Link(
                name="hand",
                joint=Joint(type="free", parent="base"),
                payloads=(RigidPart(mass=0.5), RigidPart(mass=0.25)),
            ),
        ],
        pose={"shoulder": 0.3, "hand.rx": 0.1},
    )


@pytest.mark.parametrize("path", ["hand.payloads[1].mass", "hand.payloads.1.mass", "hand.payloads[-1].mass"])
def test_both_ways_of_writing_an_index(robot, path):
    assert robot.get(path) == 0.25
    changed = robot.set(path, 2.0)
    assert [part.mass for part in changed.link("hand").payloads] == [0.5, 2.0]
    assert changed.mass == pytest.approx(robot.mass + 1.75)
    # the first robot is as it was
    assert robot.get(path) == 0.25


PLACES = {
    "shoulder.spring.stiffness": 3.0,
    "upper.joint.spring.stiffness": 3.0,
    "upper.beam.section.diameter": 0.02,
    "upper.beam.section.round.diameter": 0.02,
    "materials.own.E": 200e9,
    "pose.hand.rx": 0.1,
    "gravity[2]": -9.81,
}


@pytest.mark.parametrize("path", PLACES)
def test_what_is_set_is_there(robot, path):
    assert robot.get(path) == PLACES[path]
    value = 1.25 * PLACES[path]
    assert robot.set(path, value).get(path) == value
    assert with_value(robot, path, value, check=False).get(path) == value


def test_beams_follow_their_material(robot):
    """A material changes where it is described and in everything that is made of it."""
    softer = robot.set("materials.own.E", 100e9)
    for name in ("upper", "rail"):
        assert softer.link(name).beam.at(0.0).EIz == pytest.approx(robot.link(name).beam.at(0.0).EIz / 2)
    assert softer.get("upper.beam.material.E") == 100e9


def test_text_has_a_unit(robot):
    assert robot.set("hand.payloads[0].mass", "200 g").get("hand.payloads[0].mass") == pytest.approx(0.2)
    assert robot.set("pose.shoulder", "90 deg").pose["shoulder"] == pytest.approx(np.pi / 2)
    # what a sliding joint holds is read as lengths and forces
    assert robot.set("rail.joint.spring.stiffness", "2 N/mm").get("rail.joint.spring.stiffness") == pytest.approx(2e3)
    with pytest.raises(ModelError, match="its unit is wrong"):
        robot.set("hand.payloads[0].mass", "2 m")


def test_parts_come_and_go(robot):
    assert robot.set("shoulder.spring", None).joint("shoulder").spring is None
    assert robot.set("rail.hub", RigidPart(mass=3.0)).link("rail").hub.mass == 3.0
    with pytest.raises(ModelError, match="nothing is given there yet"):
        robot.set("rail.hub.mass", 3.0)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("uper.beam.length", "did you mean 'upper'"),
        ("upper.beam.lenght", "did you mean 'length'"),
        ("hand.payloads[2].mass", "there is no entry '2' in a list of 2"),
        ("hand.payloads[0].mass.x", "has no parts"),
        ("upper..length", "write it like"),
        ("rail.hub.mass", "nothing is given there"),
        ("wobble", "it has upper, rail, hand"),
    ],
)
def test_wrong_places_are_told(robot, path, told):
    with pytest.raises(ModelError) as error:
        robot.get(path)
    assert told in str(error.value)


def test_a_wrong_value_is_refused_where_it_stands(robot):
    with pytest.raises(ModelError, match=r"links\[2\] 'hand': payloads\[0\].mass is -1"):
        robot.set("hand.payloads[0].mass", -1.0)


def test_words_of_a_path():
    assert steps_of("a.b[0][1].c") == ("a", "b", "0", "1", "c")


def test_robots_are_short_in_words_and_pages(robot):
    assert repr(robot).startswith("Robot('places', 3 links, 2 flexible, ")
    page = robot._repr_html_()
    assert "<td>rail</td>" in page
    assert "&lt;" in robot.set("description", "<b>")._repr_html_()


def test_bundled_robots_can_be_changed():
    """A description with DH tables, loops and materials stays usable."""
    for name, _ in pliant.robots():
        robot = pliant.load(name)
        assert robot.set("gravity", (0.0, 0.0, -1.62)).set("gravity", robot.gravity) == robot
