"""Beams in pieces, further names of frames, and loops whose ends are placed or aligned by themselves."""

import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from pliant.errors import ModelError
from pliant.model.description.derived_links import frame_in_base
from pliant.model.readers.library import read_text

ROUNDING = 1e-12

ARM = """
name: arm
links:
  - name: upper
    joint: {{name: shoulder, axis: z}}
    hub: {{mass: 0.5 kg}}
    beam: {{{body}, {method}, {pieces}}}
    frames:
      - {{name: gauge, x: 0.1 m, position: [0, 0, 5 mm]}}
      - {{name: middle, x: 0.3 m, rotation: {{z: 20 deg}}}}
    payloads: [{{frame: middle, mass: 0.2 kg}}, {{mass: 0.3 kg}}]
  - name: fore
    joint: {{name: elbow, axis: z, parent: upper}}
    rigid: {{mass: 1 kg, com: [0.2, 0, 0], inertia: [0, 0.01, 0.01]}}
  - name: camera
    joint: {{name: mount, type: fixed, parent: upper.middle}}
    rigid: {{mass: 0.1 kg}}
pose: {{shoulder: 20 deg, elbow: -30 deg}}
tip: upper.tip
"""
UNIFORM = "length: 0.6 m, material: aluminium, section: {rectangle: {width: 4 mm, height: 40 mm}}"
STEPPED = (
    "material: aluminium, segments: [{length: 0.25 m, section: {rectangle: {width: 6 mm, height: 40 mm}}}, "
    "{length: 0.35 m, section: {rectangle: {width: 6 mm, height: 40 mm}}, "
    "taper_to: {rectangle: {width: 3 mm, height: 20 mm}}}]"
)
ELEMENTS = "elements: {number: 2, bend_y: true}"


def arm(pieces=None, body=UNIFORM, method=ELEMENTS):
    return read_text(
        ARM.format(body=body, method=method, pieces=f"pieces: {pieces}" if pieces else "rotary_inertia: false")
    )


@pytest.mark.parametrize("body", [UNIFORM, STEPPED], ids=["uniform", "tapered"])
@pytest.mark.parametrize("pieces", [2, 3])
def test_pieces_weigh_and_lie_as_the_whole(pieces, body):
    whole, split = arm(body=body), arm(pieces, body)
    names = tuple(f"upper_{k + 1}" for k in range(pieces))
    assert split.link_names == (*names, "fore", "camera")
    assert split.mass == pytest.approx(whole.mass, rel=1e-9)
    assert split.joint_coordinates == whole.joint_coordinates
    for frame in ("upper.root", "upper.tip", "upper", "upper.gauge", "upper.middle", "fore.root", "camera.root"):
        for a, b in zip(frame_in_base(whole, frame), frame_in_base(split, frame), strict=True):
            np.testing.assert_allclose(b, a, atol=ROUNDING)
    assert split.parent_of("fore") == (names[-1], "tip")
    assert split.link(names[0]).hub.mass == 0.5
    assert sum(len(split.link(name).payloads) for name in names) == 2
    # what comes out is an ordinary robot
    assert read_text(split.to_yaml()) == split


def test_a_frame_between_two_pieces_is_the_end_of_the_inner_one():
    assert arm(2).resolve_frame("upper.middle") == ("upper_1", "middle")
    assert arm(3).resolve_frame("upper.middle") == ("upper_2", "middle")
    assert arm(2).link("upper_1").frame("middle").x == pytest.approx(0.3, rel=1e-12)


def test_one_piece_is_the_beam_itself():
    assert arm(1).link_names == arm().link_names


@pytest.mark.parametrize("body", [UNIFORM, STEPPED], ids=["uniform", "tapered"])
def test_pieces_vibrate_as_the_whole(body):
    """Two elements in each of two pieces are four elements: small vibrations are the same, root clamped."""
    frequencies = []
    for robot in (arm(body=body, method="elements: {number: 4, bend_y: true}"), arm(2, body)):
        links = [link.with_changes(payloads=()) for link in robot.links[: len(robot.links) - 2]]
        first = links[0].with_changes(joint=pliant.Joint(name="shoulder", type="fixed"), hub=None)
        bare = pliant.Robot(name="bare", links=[first, *links[1:]], gravity=(0, 0, 0))
        beam = pliant.Dynamics(bare, compile="never")
        squares = eigh(beam.stiffness, beam.mass_matrix(np.zeros(beam.size)), eigvals_only=True)
        frequencies.append(np.sqrt(squares[:3]))
    # tapered elements of the whole are cut at other places
    np.testing.assert_allclose(frequencies[1], frequencies[0], rtol=1e-6 if body is UNIFORM else 2e-3)


def test_names_of_pieces_may_be_taken():
    text = ARM.format(body=UNIFORM, method=ELEMENTS, pieces="pieces: 2").replace("camera", "upper_2")
    with pytest.raises(ModelError, match="there are two links 'upper_2' now that beams are in pieces"):
        read_text(text)


def test_aliases_name_frames():
    robot = read_text(
        ARM.format(body=UNIFORM, method=ELEMENTS, pieces="rotary_inertia: false").replace(
            "tip: upper.tip", "aliases: {hand: fore.tip}\ntip: hand"
        )
    )
    assert robot.resolve_frame("hand") == ("fore", "tip")
    for alias, message in [
        ("{hand: nobody.tip}", "is 'nobody.tip'; there is no link 'nobody'"),
        ("{hand: fore, palm: hand}", "is 'hand', another alias"),
        ("{base: fore}", "'base' means the fixed base already"),
    ]:
        with pytest.raises(ModelError, match=message):
            read_text(
                robot.to_yaml().replace("aliases: {hand: fore.tip}", f"aliases: {alias}").replace("tip: hand", "")
            )


# ---------------------------------------------------------------- ends of loops

FOUR_BAR = """
name: four-bar
links:
  - name: crank
    joint: {{name: drive, axis: z}}
    rigid: {{mass: 1 kg, com: [0.1, 0, 0], inertia: [0, 0.01, 0.01], length: 0.2 m}}
  - name: coupler
    joint: {{name: j2, axis: z, actuated: false}}
    rigid: {{mass: 1 kg, com: [0.25, 0, 0], inertia: [0, 0.02, 0.02], length: 0.5 m}}
  - name: rocker
    joint: {{name: j3, axis: z, actuated: false}}
    rigid: {{mass: 1 kg, com: [0.15, 0, 0], inertia: [0, 0.01, 0.01], length: 0.3 m}}
{extra}
loops:
  - {{name: closing, type: revolute, planar: xy, frames: [rocker.tip, {end}]}}
gravity: [0, -9.81, 0]
pose: {{drive: 60 deg, j2: -40 deg, j3: -90 deg}}
"""


def test_an_anchor_on_the_base_needs_no_link():
    """The same four-bar as with a link written for its ground."""
    ground = "  - {name: ground, joint: {type: fixed, parent: base, placement: {position: [0.45, 0.05, 0]}}}"
    by_hand = read_text(FOUR_BAR.format(extra=ground, end="ground.root"))
    anchored = read_text(FOUR_BAR.format(extra="", end="{frame: base, position: [450 mm, 50 mm, 0]}"))
    arms = [pliant.Dynamics(robot, compile="never") for robot in (by_hand, anchored)]
    states = [arm.assemble() for arm in arms]
    np.testing.assert_allclose(states[0], states[1], atol=1e-9)
    v = np.zeros(3)
    np.testing.assert_allclose(*(arm.forward(q, v, [1.0]) for arm, q in zip(arms, states, strict=True)), rtol=1e-8)
    assert anchored.loops[0].frames == ("rocker.tip", "closing_second.root")
    assert read_text(anchored.to_yaml()) == anchored


def test_an_anchor_beside_a_frame():
    robot = read_text(FOUR_BAR.format(extra="", end="{frame: crank.tip, position: [0, 0.1, 0], rotation: {z: 90 deg}}"))
    assert robot.loops[0].frames[1] == "crank.closing_second"
    frame = robot.link("crank").frame("closing_second")
    np.testing.assert_allclose(frame.vector(), [0.2, 0.1, 0.0], atol=ROUNDING)
    assert frame.matrix()[1, 0] == pytest.approx(1.0, rel=ROUNDING)


def test_a_weld_is_aligned_in_the_reference_pose():
    text = FOUR_BAR.format(extra="", end="{frame: base, position: [0.45, 0.05, 0]}").replace(
        "revolute, planar: xy", "weld"
    )
    plain, aligned = read_text(text), read_text(text.replace("type: weld", "type: weld, align: true"))
    turns = []
    for robot in (plain, aligned):
        first, second = (frame_in_base(robot, end)[1] for end in robot.loops[0].frames)
        turns.append(np.abs(first - second).max())
    assert turns[0] > 0.5
    assert turns[1] == pytest.approx(0.0, abs=ROUNDING)
    # the place stays, the loop is as it would be written by hand, and says no more that it was aligned
    np.testing.assert_allclose(frame_in_base(aligned, aligned.loops[0].frames[1])[0], [0.45, 0.05, 0], atol=ROUNDING)
    assert not aligned.loops[0].align
    assert read_text(aligned.to_yaml()) == aligned


def test_alignment_on_a_beam_keeps_its_place():
    text = """
name: frame
links:
  - {name: left, joint: {name: a, axis: z},
     beam: {length: 1, properties: {mass_per_length: 1, EIz: 1}, modes: {bend_y: 1}}}
  - {name: right, joint: {name: b, axis: z, parent: base, placement: {position: [1, 0, 0]}},
     beam: {length: 1, properties: {mass_per_length: 1, EIz: 1}, modes: {bend_y: 1}}}
loops: [{name: top, frames: [left, right], align: true}]
pose: {a: 60 deg, b: 120 deg}
"""
    robot = read_text(text)
    assert robot.loops[0].frames == ("left", "right.top_second")
    assert robot.link("right").frame("top_second").x == 1.0
    R = [frame_in_base(robot, end)[1] for end in robot.loops[0].frames]
    np.testing.assert_allclose(R[0], R[1], atol=ROUNDING)


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("frames: [rocker.tip, {frame: nobody, position: [0, 0, 0]}]", "there is no link 'nobody'"),
        ("frames: [rocker.tip, {position: [0, 0, 0]}]", "key 'frame' is missing"),
        ("frames: [rocker.tip, {frame: base, position: [0, 0]}]", "position has 2 entries"),
        ("frames: [rocker.tip, 3]", "is 3; it must be a frame such as left.tip"),
        ("type: spherical, align: true, frames: [rocker.tip, base]", "a spherical closure leaves its frames free"),
    ],
)
def test_bad_ends(loop, message):
    text = FOUR_BAR.format(extra="", end="base")
    start, end = text.index("type: revolute"), text.index("}\ngravity")
    with pytest.raises(ModelError, match=message):
        read_text(text[:start] + loop + text[end:])


def test_strains_are_asked_for_by_the_old_name():
    """A gauge at a place along the whole beam reads the strain of the piece that is there."""
    from pliant.simulation.outputs import Outputs, StrainPoint
    from pliant.simulation.study import Study

    split = arm(3)
    places = {"root": 0.0, "inner": 0.15, "joint": 0.2, "outer": 0.5}
    gauges = [StrainPoint(name=name, link="upper", x=x, y=0.002) for name, x in places.items()]
    study = Study(robot=split, until=0.01, outputs=Outputs(strains=gauges))
    found = {point.name: point.on(split) for point in study.outputs.strains}
    assert [found[name].link for name in places] == ["upper_1", "upper_1", "upper_1", "upper_3"]
    assert [found[name].x for name in places] == pytest.approx([0.0, 0.15, 0.2, 0.1], abs=ROUNDING)
    with pytest.raises(ModelError, match=r"0\.61 m; the beam is 0\.6 m long"):
        Study(robot=split, until=0.01, outputs=Outputs(strains=[StrainPoint(name="far", link="upper", x=0.61)]))
