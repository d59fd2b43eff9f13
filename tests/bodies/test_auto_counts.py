"""Beams about which nothing is written: they bend, with as many shapes as their robot asks for."""

import numpy as np
import pytest

import pliant
from pliant import (
    Beam,
    Elements,
    Frame,
    Joint,
    Link,
    Loop,
    ModelError,
    Modes,
    Placement,
    Properties,
    RigidPart,
    Robot,
    Round,
    Segment,
    Tube,
    build_body,
)
from pliant.bodies.auto_counts import ERROR, FREQUENCY_ERROR
from pliant.bodies.build import damping_ratios, frequencies
from pliant.model.description.robot import rigid_twin

TUBE = {"length": 1.0, "material": "aluminium", "section": Tube(outer=0.04, thickness=0.0015)}


def link(name="a", payloads=(), frames=(), joint=None, **beam):
    joint = joint or Joint(name=f"{name}_joint")
    return Link(name=name, joint=joint, beam=Beam(**{**TUBE, **beam}), payloads=payloads, frames=frames)


def robot(*links, **changes):
    return Robot(name="r", links=list(links), **changes)


def counts(of, name):
    names = build_body(of.link(name), of).names
    return {family: sum(n.startswith(family) for n in names) for family in ("bend_y", "bend_z", "torsion", "axial")}


def right_angle(**beam):
    """Two tubes at a right angle in a horizontal plane, 2 kg at the tip."""
    fore = link("f", payloads=[RigidPart(mass=2.0)], **beam)
    return robot(link("u", **beam), fore, pose={"f_joint": np.pi / 2})


def test_a_beam_bends_of_itself():
    body = build_body(link())
    assert body.size > 0
    at = Beam(**TUBE).at(0.0)
    # the clamped-free beam: 1.8751^2 and 4.6941^2; its sections turn, which counts by less than a percent
    first = np.array([1.8751040687, 4.6940911330]) ** 2 * np.sqrt(float(at.EIz / at.mass_per_length))
    found = frequencies(body)
    np.testing.assert_allclose(found[::2][:2], first, rtol=FREQUENCY_ERROR)


def test_two_tubes_at_a_right_angle_twist():
    """The payload turns the first tube about its axis: bending alone sags by a third of it."""
    own = right_angle()
    assert counts(own, "u")["torsion"] >= 1
    arm = pliant.Dynamics(own, compile="never")
    fine = pliant.Dynamics(right_angle(elements=Elements(number=6, torsion=True)), compile="never")
    sags, hertz = [], []
    for each in (arm, fine):
        found = pliant.equilibrium(each)
        sags.append(each.pose("tip", found.q).position)
        hertz.append(pliant.modes(each).hertz[:3])
    np.testing.assert_allclose(sags[0][2], sags[1][2], rtol=ERROR)
    np.testing.assert_allclose(hertz[0], hertz[1], rtol=FREQUENCY_ERROR)
    assert -1e3 * sags[0][2] == pytest.approx(19.17, abs=0.01)


def test_torsion_is_there_in_a_straight_pose_too():
    straight = right_angle().with_changes(pose={})
    assert counts(straight, "u")["torsion"] == 1
    assert counts(straight, "f")["torsion"] == 0


def test_what_nothing_twists_has_no_torsion():
    heavy = [RigidPart(mass=5.0)]
    assert counts(robot(link(payloads=heavy)), "a") == {"bend_y": 2, "bend_z": 2, "torsion": 0, "axial": 0}
    aside = [RigidPart(mass=5.0, com=(0.0, 0.2, 0.0))]
    assert counts(robot(link(payloads=aside)), "a")["torsion"] == 1


def test_a_light_load_asks_for_more_than_a_heavy_one():
    heavy, light = (robot(link(payloads=[RigidPart(mass=m)])) for m in (20.0, 1e-3))
    assert counts(heavy, "a")["bend_y"] < counts(light, "a")["bend_y"]


def test_loops_stretch_their_links():
    joints = [Joint(name="left"), Joint(name="right", parent="base", placement=Placement(position=(1.0, 0.0, 0.0)))]
    left, right = (link(name, joint=joint) for name, joint in zip("lr", joints, strict=True))
    pose = {"left": np.pi / 3, "right": 2 * np.pi / 3}
    for options, families in (({}, {"bend_z", "torsion"}), ({"planar": "xy"}, set())):
        loop = Loop(name="pin", type="revolute", frames=("l.tip", "r.tip"), **options)
        closed = robot(left, right, loops=[loop], pose=pose)
        found = {family for family, n in counts(closed, "l").items() if n}
        assert {"bend_y", "axial"} <= found
        assert found & {"bend_z", "torsion"} <= families


STEP = [Segment(length=0.4, section=Round(diameter=0.04)), Segment(length=0.6, section=Round(diameter=0.02))]
TAPER = [Segment(length=1.0, section=Round(diameter=0.04), taper_to=Round(diameter=0.02))]


@pytest.mark.parametrize("segments", [STEP, TAPER], ids=["step", "taper"])
def test_sections_that_change_are_followed(segments):
    """The tip under a load, by integrals over the moment, and frequencies of many elements."""
    load = [RigidPart(mass=3.0, inertia=0.02)]
    beam = {"segments": segments, "material": "steel"}
    own = Robot(name="r", links=[Link(name="a", joint=Joint(name="j"), beam=Beam(**beam), payloads=load)])
    arm = pliant.Dynamics(own, compile="never")
    q = pliant.equilibrium(arm, loads={"tip": (0.0, 0.0, 10.0)}).q - pliant.equilibrium(arm).q
    x, weights = np.polynomial.legendre.leggauss(40)
    bent = 0.0
    for start, part in zip(Beam(**beam).breakpoints, segments, strict=False):
        places = start + part.length * (x + 1) / 2
        bent += part.length / 2 * weights @ (10.0 * (1.0 - places) ** 2 / Beam(**beam).at(places).EIy)
    tip = arm.mechanism.members[0].body.frames["tip"].Phi_d @ q[arm.mechanism.members[0].elastic]
    assert tip[2] == pytest.approx(bent, rel=2 * ERROR)
    fine = own.with_changes(
        links=[own.links[0].with_changes(beam=Beam(**beam, elements=Elements(number=12, torsion=True)))]
    )
    exact = pliant.modes(pliant.Dynamics(fine, compile="never"), count=4).hertz
    np.testing.assert_allclose(pliant.modes(arm, count=4).hertz, exact, rtol=FREQUENCY_ERROR)
    assert arm.size < 20


@pytest.mark.parametrize("bending", ["linear", "second-order", "exact"])
def test_every_kind_of_bending_has_its_shapes(bending):
    arm = pliant.Dynamics(robot(link(bending=bending, payloads=[RigidPart(mass=1.0)])), compile="never")
    sag = arm.pose("tip", pliant.equilibrium(arm).q).position[2]
    at = Beam(**TUBE).at(0.0)
    expected = 9.81 * (1.0 / 3 + float(at.mass_per_length) / 8) / float(at.EIy)
    assert -sag == pytest.approx(expected, rel=ERROR)


def test_a_rigid_beam_says_so():
    assert build_body(link(rigid=True)).size == 0
    stiff = rigid_twin(right_angle())
    assert all(each.beam.rigid for each in stiff.links)
    assert pliant.Dynamics(stiff, compile="never").size == 2
    with pytest.raises(ModelError, match="at most one of modes, elements, lumped and rigid"):
        link(rigid=True, modes=Modes(bend_y=1))


def test_a_beam_without_stiffness_cannot_bend():
    bare = Properties(mass_per_length=1.0)
    with pytest.raises(ModelError, match=r"bending stiffness is not known; .* or write rigid: true"):
        Beam(length=1.0, properties=bare)
    assert not Beam(length=1.0, properties=bare, rigid=True).is_flexible


def test_only_what_is_known_bends():
    assert Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=3.0)).families == ("bend_y",)
    # a material of the robot is known when the robot is there
    own = robot(link(material="own"), materials={"own": {"E": 1e9, "density": 1000.0}})
    assert "torsion" not in own.link("a").beam.families


def test_counts_of_single_families_are_left_open():
    given = robot(link(modes=Modes(bend_y=1, bend_z="auto"), payloads=[RigidPart(mass=0.1)]))
    assert counts(given, "a")["bend_y"] == 1
    assert counts(given, "a")["bend_z"] >= 1
    with pytest.raises(ModelError, match="count is auto; the shape user has one mode per expression"):
        Modes(shape="user", expressions=("x^2",), bend_y="auto")
    with pytest.raises(ModelError, match="must be a whole number from 0 to 100 or auto"):
        Modes(bend_y="many")


def test_files_keep_saying_nothing(tmp_path):
    given = right_angle()
    assert "modes" not in given.to_yaml()
    given.save(tmp_path / "arm.yaml")
    again = pliant.load(tmp_path / "arm.yaml")
    assert again == given
    assert counts(again, "u") == counts(given, "u")
    # what is carried decides anew
    assert counts(given.set("f.payloads[0].mass", 200.0), "f")["bend_y"] == 2


def test_damping_and_frames_of_chosen_shapes():
    """Frames that carry something are followed, too, and a ratio of damping is that of the loaded link."""
    middle = Frame(name="middle", x=0.4)
    own = robot(link(payloads=[RigidPart(mass=3.0, frame="middle")], frames=[middle], damping={"ratio": 0.02}))
    assert damping_ratios(own.link("a"), own) == pytest.approx(0.02)
    fine = robot(link(payloads=[RigidPart(mass=3.0, frame="middle")], frames=[middle], elements=Elements(number=8)))
    found, exact = (pliant.modes(pliant.Dynamics(each, compile="never"), count=2).hertz for each in (own, fine))
    np.testing.assert_allclose(found, exact, rtol=FREQUENCY_ERROR)
