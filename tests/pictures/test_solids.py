"""Solids of robots: closed, of the right volume, on the bent sections that the dynamics know."""

import numpy as np
import pytest

import zoo
from pliant import (
    AngleProfile,
    Beam,
    Box,
    ChannelProfile,
    CProfile,
    Curvature,
    Dynamics,
    Elements,
    Ellipse,
    Frame,
    GeneralSection,
    IBeam,
    Joint,
    Link,
    Material,
    Modes,
    Polygon,
    Rectangle,
    RigidPart,
    Robot,
    Round,
    Segment,
    Tube,
    ZProfile,
    equilibrium,
)
from pliant.bodies.words import axial_strain
from pliant.pictures.robot_solids import RobotSolids, joined
from pliant.pictures.solids import ball, bar, block, weight

ROUNDING = 1e-12
"""m: of positions of about one metre."""
INSCRIBED = 0.018
"""A polygon of 20 corners has 1.6 % less area than its circle."""
BALL = 0.08
"""A ball of 16 times 8 faces has less volume than a true one."""
STEEL = Material(E=210e9, nu=0.3, density=7850)
SQUARE = ((0, 0), (0.05, 0), (0.05, 0.05), (0, 0.05))
HOLES = ((0.01, 0.01), (0.02, 0.01), (0.01, 0.02)), ((0.03, 0.03), (0.04, 0.03), (0.04, 0.04), (0.03, 0.04))
HOLED = Polygon(points=SQUARE, holes=HOLES, principal=True)
SECTIONS = {
    "rectangle": Rectangle(width=0.02, height=0.03),
    "round": Round(diameter=0.03),
    "tube": Tube(outer=0.03, inner=0.02),
    "i_beam": IBeam(width=0.03, height=0.04, flange=0.004, web=0.003),
    "ellipse": Ellipse(width=0.02, height=0.03),
    "box": Box(width=0.03, height=0.02, thickness=0.003),
    "channel": ChannelProfile(width=0.03, height=0.04, flange=0.004, web=0.003),
    "angle": AngleProfile(width=0.03, height=0.04, thickness=0.004),
    "c_profile": CProfile(width=0.03, height=0.06, lip=0.012, thickness=0.002),
    "z_profile": ZProfile(width=0.03, height=0.04, thickness=0.004),
    "holes": HOLED,
}
CURVED = ("round", "tube", "ellipse")


def volume(solid, positions, axes):
    """From the closed surface, positive if its triangles look outside."""
    a, b, c = np.moveaxis(solid.vertices(positions, axes)[solid.faces], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6


def is_closed(solid):
    """Every side of a triangle is that of one other, which runs the other way."""
    sides = np.concatenate([solid.faces[:, [k, (k + 1) % 3]] for k in range(3)])
    there = {tuple(side) for side in sides.tolist()}
    return len(there) == len(sides) and all((b, a) in there for a, b in there)


def one_beam(beam, **more):
    return Dynamics(
        Robot(name="beam", links=[Link(name="bar", joint=Joint(axis="z"), beam=beam, **more)]), compile="never"
    )


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_is_swept_to_the_volume_of_its_beam(name):
    section = SECTIONS[name]
    arm = one_beam(Beam(length=0.8, section=section, material=STEEL, rigid=True))
    drawn = RobotSolids(arm)
    solid = next(s for s in drawn.solids if s.kind == "rigid")
    assert is_closed(solid)
    true = section.A * 0.8
    found = volume(solid, *drawn.skeleton.places(arm.reference_pose()))
    assert found == pytest.approx(true, rel=INSCRIBED if name in CURVED else 1e-9)
    # principal axes along y and z, the centroid on the axis: products vanish
    assert abs(np.mean(solid.offsets[:, 0])) < ROUNDING


def test_a_taper_is_as_heavy_as_its_beam():
    parts = (
        Segment(length=0.3, section=Rectangle(width=0.03, height=0.05), taper_to=Rectangle(width=0.02, height=0.02)),
        Segment(length=0.5, section=Box(width=0.03, height=0.02, thickness=0.003)),
    )
    arm = one_beam(Beam(segments=parts, material=STEEL, modes=Modes(bend_y=1)))
    drawn = RobotSolids(arm)
    beams = [s for s in drawn.solids if s.kind == "flexible"]
    places = drawn.skeleton.places(arm.reference_pose())
    # between stations the outline is straight; the product of two tapers is not
    assert 7850 * sum(volume(s, *places) for s in beams) == pytest.approx(arm.robot.links[0].beam.mass, rel=2e-3)


def test_constants_show_their_radii_of_gyration():
    arm = one_beam(Beam(length=1.0, section=GeneralSection(A=1e-4, Iy=9e-8, Iz=4e-8), material=STEEL, rigid=True))
    solid = next(s for s in RobotSolids(arm).solids if s.kind == "rigid")
    assert np.abs(solid.offsets).max(axis=0) == pytest.approx([0.0, 2 * 0.02, 2 * 0.03])


def test_simple_solids():
    eye, origin = np.eye(3)[None], np.zeros((1, 3))
    for solid, true, off in (
        (block("", "load", np.array([1.0, 2.0, 3.0])), 6.0, 1e-12),
        (ball("", "load", 1.0), 4 / 3 * np.pi, BALL),
        (bar("", "joint", np.array([[0.0, 0.0, 0.0], [0.3, 0.4, 1.2]]), 0.1, (0, 0)), np.pi * 0.01 * 1.3, 0.03),
    ):
        assert is_closed(solid)
        assert volume(solid, origin, eye) == pytest.approx(true, rel=off)


def test_a_load_has_the_inertia_that_it_shows():
    """A box of 2 kg, turned."""
    edges, R = np.array([0.3, 0.2, 0.1]), zoo.general_joint(np.random.default_rng(3), "j").placement.matrix()
    inertia = 2.0 / 12 * R @ np.diag((edges**2).sum() - edges**2) @ R.T
    solid, axes = weight("", 2.0, inertia, 0.01)
    corners = (solid.offsets @ axes.T) @ R
    assert np.ptp(corners, axis=0) == pytest.approx(edges)
    point, _ = weight("", 1.0, np.zeros((3, 3)), 0.01)
    assert np.linalg.norm(point.offsets, axis=1).max() == pytest.approx((3 / (4 * np.pi * 7850)) ** (1 / 3))


LOADED = {
    "boom": (30.0, Box(width=0.4, height=0.6, thickness=0.01), RigidPart(mass=4e3, inertia=(8e3, 6e4, 6e4)), 2e4),
    "small": (0.2, Rectangle(width=0.006, height=0.003), RigidPart(mass=3.0), 2.0),
}
HIDDEN = 0.21
"""Part of a beam that loads may hide together; balls are drawn with corners."""


@pytest.mark.parametrize("name", LOADED)
def test_loads_do_not_hide_their_beam(name):
    length, section, hub, mass = LOADED[name]
    places = [Frame(name=f"at{k}", x=k * length / 4) for k in (1, 2, 3)]
    payloads = [RigidPart(mass=mass, frame=frame.name) for frame in places]
    arm = one_beam(
        Beam(length=length, section=section, material=STEEL), hub=hub, frames=tuple(places), payloads=tuple(payloads)
    )
    loads = [np.ptp(solid.offsets, axis=0) for solid in RobotSolids(arm).solids if solid.kind == "load"]
    assert len(loads) == 4
    assert sum(size[0] for size in loads) < HIDDEN * length
    # and they are seen beside it
    assert min(size.max() for size in loads) > 0.02 * length
    # the hub of the boom stays as slender as its inertia says
    if name == "boom":
        true = np.ptp(weight("", hub.mass, np.diag([8e3, 6e4, 6e4]), 0.01)[0].offsets, axis=0)
        assert np.sort(loads[0]) / loads[0].max() == pytest.approx(np.sort(true) / true.max())


# ---------------------------------------------------------------- bent robots


@pytest.fixture(scope="module")
def bent():
    """Two beams on general joints with torsion, a hub and a payload, and a few bent configurations."""
    rng = np.random.default_rng(5)
    modes = {"modes": Modes(bend_y=2, bend_z=1, torsion=1, axial=1)}
    links = [
        Link(
            name=f"bar{i}",
            joint=zoo.general_joint(rng, f"j{i}"),
            beam=zoo.beam(0.8, **modes),
            hub=RigidPart(mass=1.0),
            payloads=(RigidPart(mass=0.5, com=(0.0, 0.1, 0.0), inertia=0.02),),
        )
        for i in range(2)
    ]
    arm = Dynamics(Robot(name="two", links=links), compile="never")
    q = rng.uniform(-0.05, 0.05, (3, arm.size))
    return arm, q, RobotSolids(arm)


def test_places_are_where_the_dynamics_say(bent):
    arm, q, drawn = bent
    skeleton = drawn.skeleton
    at = skeleton.at(q)
    positions, axes = at.moved()
    for name, places in skeleton.beams.items():
        ends = positions[:, places.own][:, [0, -1]]
        for k, frame in enumerate(("root", "tip")):
            pose = arm.pose(f"{name}.{frame}", q)
            assert ends[:, k] == pytest.approx(pose.position, abs=ROUNDING)
            assert axes[:, places.own][:, -k] == pytest.approx(pose.rotation, abs=ROUNDING)
    for solid in drawn.solids:
        assert is_closed(solid), solid
    loads = joined(drawn.solids, ("load",))
    tip = arm.pose("bar1.tip", q)
    centre = tip.position + tip.rotation @ (0.0, 0.1, 0.0)
    last = [s for s in drawn.solids if s.kind == "load" and s.link == "bar1"][1]
    assert last.vertices(positions, axes).mean(axis=1) == pytest.approx(centre, abs=ROUNDING)
    assert len(loads.offsets) > len(last.offsets)


def test_without_bending_nothing_is_shifted(bent):
    arm, q, drawn = bent
    straight = np.where(np.isin(arm.names, arm.robot.joint_coordinates), q, 0.0)
    at = drawn.skeleton.at(straight)
    assert np.abs(at.shifts).max() < ROUNDING
    assert np.abs(at.turns).max() < ROUNDING
    # twice the bending is twice the way from there
    whole, rest = drawn.skeleton.at(q), drawn.skeleton.at(q).moved(0.0)[0]
    assert whole.moved(2.0)[0] - rest == pytest.approx(2 * (whole.moved()[0] - rest), abs=ROUNDING)
    assert rest == pytest.approx(at.moved()[0], abs=ROUNDING)


def test_fibres_are_strained_as_the_beam_says(bent):
    arm, q, drawn = bent
    link, places = arm.robot.link("bar1"), drawn.skeleton.beams["bar1"]
    solid = next(s for s in drawn.solids if s.link == "bar1" and s.kind == "flexible")
    strains = solid.fibres(drawn.skeleton.strains(q))
    for v in (0, 37, len(solid.offsets) - 1):
        x = places.bent.x[solid.places[v] - places.own.start]
        expected = axial_strain(link, arm.robot, (x, *solid.offsets[v, 1:]), q[:, places.elastic])
        assert strains[:, v] == pytest.approx(expected, rel=1e-9)


def test_the_stress_of_a_cantilever_is_that_of_the_books():
    """A force F at the tip: F L c / I at the root, pressed on the side to which it bends, nothing at the tip."""
    F, L, width, height = 50.0, 1.0, 0.02, 0.03
    beam = {"length": L, "section": Rectangle(width=width, height=height), "material": STEEL}
    link = Link(name="bar", joint=Joint(type="fixed"), beam=Beam(elements=Elements(number=2), bending="linear", **beam))
    arm = Dynamics(Robot(name="cantilever", links=[link], gravity=(0, 0, 0)), compile="never")
    found = equilibrium(arm, loads={"tip": [0.0, F, 0.0]})
    drawn = RobotSolids(arm)
    solid = next(s for s in drawn.solids if s.kind == "flexible")
    stress = solid.modulus * solid.fibres(drawn.skeleton.strains(found.q))
    expected = -F * L * (width / 2) / (height * width**3 / 12)
    for ends, bending in ((solid.places.min(), expected), (solid.places.max(), 0.0)):
        for side in (1.0, -1.0):
            corners = (solid.places == ends) & (np.sign(solid.offsets[:, 1]) == side)
            assert stress[corners] == pytest.approx(side * bending, abs=1e-6 * abs(expected))


def test_sections_of_an_exact_beam_follow_its_axis():
    """A hook that is curved before it is bent: the axis runs along the first axis of its sections."""
    shapes = {"modes": Modes(bend_y=2, bend_z=2, torsion=1), "curvature": Curvature(bend_y=1.5)}
    arm = one_beam(zoo.beam(0.8, bending="exact", stations=24, **shapes))
    q = np.random.default_rng(2).uniform(-0.1, 0.1, arm.size)
    positions, axes = RobotSolids(arm, 161).skeleton.places(q)
    own = slice(2, 163)
    along = np.diff(positions[own], axis=0)
    between = (axes[own][1:, :, 0] + axes[own][:-1, :, 0]) / 2
    # by the trapezoidal rule, of second order in the distance of the places
    assert along / (0.8 / 160) == pytest.approx(between, abs=1e-4)
    assert np.ptp(axes[own][:, :, 0], axis=0).max() > 0.5


def test_loops_stay_closed_however_far_they_are_bent():
    arm = Dynamics("five-bar", compile="never")
    q = arm.assemble(arm.reference_pose() + 0.002 * ~np.isin(arm.names, arm.robot.joint_coordinates), bend=False)
    drawn = RobotSolids(arm)
    loop = arm.robot.loops[0]
    frames = map(arm.robot.resolve_frame, loop.frames)
    ends = [drawn.skeleton.frame_place(arm.robot.link(link), frame) for link, frame in frames]
    for by in (0.0, 1.0, 20.0):
        a, b = drawn.skeleton.at(q).moved(by)[0][ends]
        assert a == pytest.approx(b, abs=1e-9)
