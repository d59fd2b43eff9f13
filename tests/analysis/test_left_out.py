"""Families of shapes that a robot does not have and that would change what comes out."""

import numpy as np
import pytest

import pliant
from pliant import (
    Beam,
    Elements,
    Joint,
    Link,
    Lumped,
    Modes,
    Properties,
    Rectangle,
    RigidPart,
    Robot,
    Tube,
    load,
    robots,
)
from pliant.analysis.convergence import convergence
from pliant.analysis.left_out import left_out, missing_families, with_families
from pliant.analysis.limits import ModelLimitWarning

TUBE = Tube(outer=0.04, thickness=0.0015)


def right_angle(gravity=(0.0, 0.0, -9.81), section=TUBE, **beam):
    """Two tubes at a right angle in a horizontal plane, 2 kg at the tip."""

    def part(name, payload=()):
        body = Beam(length=1.0, material="aluminium", section=section, **beam)
        return Link(name=name, joint=Joint(name=f"{name}_joint"), beam=body, payloads=payload)

    links = [part("upper"), part("fore", [RigidPart(mass=2.0)])]
    return Robot(name="angle", gravity=gravity, pose={"fore_joint": np.pi / 2}, links=links)


@pytest.mark.parametrize(
    ("beam", "remedy"),
    [
        ({"modes": Modes(bend_y=2, bend_z=2)}, "add torsion: 1"),
        ({"modes": Modes(bend_y=2, bend_z=2, torsion=0)}, "add torsion: 1"),
        ({"elements": Elements(number=2)}, "add torsion: true"),
        ({"lumped": Lumped(nodes=3)}, "add torsion: true"),
        ({"modes": Modes(bend_y=2, bend_z=2), "bending": "linear"}, "add torsion: 1"),
    ],
    ids=["modes", "none of them", "elements", "lumped", "linear"],
)
def test_missing_torsion_is_told_with_what_it_changes(beam, remedy):
    (text,) = left_out(right_angle(**beam))
    assert text.startswith("torsion of 'upper' is left out: with it bending moves the tip by 19.2 mm instead of 6.7")
    assert "is at 3." in text
    assert text.endswith(remedy)


def test_nothing_is_told_where_nothing_is_missing():
    assert left_out(right_angle()) == []
    assert left_out(right_angle(modes=Modes(bend_y=2, bend_z=2, torsion=1))) == []
    assert left_out(right_angle(rigid=True)) == []


def test_the_plane_in_which_the_load_acts():
    (text,) = left_out(right_angle(modes=Modes(bend_y=2)))
    assert text.startswith("bending in z of 'upper', 'fore' and torsion of 'upper' are left out: with them bending")
    assert "19.2 mm instead of 0 mm" in text


def test_an_arm_in_its_plane_misses_nothing():
    """Gravity in the plane of an arm that bends in it only: what leaves the plane is never excited."""
    assert missing_families(right_angle(gravity=(0.0, -9.81, 0.0), modes=Modes(bend_y=2)))
    assert left_out(right_angle(gravity=(0.0, -9.81, 0.0), modes=Modes(bend_y=2))) == []


def test_drives_excite_what_gravity_does_not():
    """A turret shakes its boom sideways; the boom bends up and down only."""
    boom = Beam(length=2.0, material="steel", section=Rectangle(width=0.02, height=0.06), modes=Modes(bend_z=2))
    turret = Link(name="turret", joint=Joint(name="turn"), rigid=pliant.Rigid(mass=5.0, inertia=(0.1, 0.1, 0.1)))
    lift = Link(name="boom", joint=Joint(name="lift", axis="y"), beam=boom, payloads=[RigidPart(mass=3.0)])
    (text,) = left_out(Robot(name="crane", links=[turret, lift]))
    assert "bending in y of 'boom' is left out: with it joint 'turn' excites a mode at" in text


def test_loads_of_a_user_ask_for_every_family():
    bar = Beam(length=1.0, material="steel", section=TUBE)
    arm = Robot(
        name="bar",
        gravity=(0, 0, 0),
        links=[
            Link(
                name="bar",
                joint=Joint(name="j"),
                beam=bar,
                payloads=[RigidPart(mass=3.0)],
                frames=[pliant.Frame(name="side", x=1.0, position=(0.0, 0.3, 0.0))],
            )
        ],
        tip="bar.side",
    )
    assert left_out(arm) == []
    (text,) = left_out(arm, loads={"bar.side": (0.0, 0.0, 50.0)})
    assert text.startswith("torsion of 'bar' is left out: with it bending moves the tip by ")
    assert text.endswith("write modes: with torsion: 1")


def test_python_is_told_too():
    arm = pliant.Dynamics(right_angle(modes=Modes(bend_y=2, bend_z=2)), compile="never")
    with pytest.warns(ModelLimitWarning, match="torsion of 'upper' is left out"):
        assert any("torsion of 'upper'" in text for text in pliant.equilibrium(arm).warnings)
    with pytest.warns(ModelLimitWarning, match="torsion of 'upper' is left out"):
        assert any("torsion of 'upper'" in text for text in pliant.modes(arm).warnings)


def test_constants_that_are_not_known_are_not_guessed():
    beam = Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=100.0), modes=Modes(bend_y=2))
    planar = Robot(name="planar", links=[Link(name="a", joint=Joint(name="j"), beam=beam)])
    assert missing_families(planar) == []


def test_a_richer_twin_has_what_was_missing():
    given = right_angle(modes=Modes(bend_y=1))
    assert missing_families(with_families(given, missing_families(given))) == []


def test_convergence_adds_what_is_left_out():
    """More modes of the same families stay at the wrong frequency; the last row has them all."""
    found = convergence(right_angle(modes=Modes(bend_y=2, bend_z=2)), count=2, levels=1, families=True)
    assert [each.families for each in found] == [False, False, True]
    assert found[1].hertz == pytest.approx([4.181, 6.268], abs=1e-3)
    assert found[2].hertz == pytest.approx([3.696, 4.181], abs=1e-3)


@pytest.mark.parametrize("name", [robot.name for robot in robots()])
def test_bundled_robots_leave_out_nothing_that_counts(name):
    if len(missing_families(load(name))) < 4:
        assert left_out(load(name)) == []
