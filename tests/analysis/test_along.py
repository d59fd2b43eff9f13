"""Strains and stresses along beams against the formulas of bending."""

import numpy as np
import pytest

import pliant
from pliant import Beam, Dynamics, Joint, Link, Material, ModelError, Modes, Properties, Robot, Segment

EXACT = 1e-7
"""Cubic elements carry end loads without error; stations stand 1e-9 of a segment beside its ends."""
STRAINS = 1e-5
"""Eight Legendre strains of a strongly bent rod, relative."""

STEEL = Material(E=200e9, density=7800, nu=0.3)
L, FORCE = 0.8, np.array([0.0, 3.0, -2.0])
SECTIONS = {
    # half width and height, or the half axes of what is round
    "rectangle": ({"rectangle": {"width": 0.02, "height": 0.03}}, (0.010, 0.015)),
    "tube": ({"tube": {"outer": 0.03, "thickness": 0.002}}, (0.015, 0.015)),
    "ellipse": ({"ellipse": {"width": 0.02, "height": 0.03}}, (0.010, 0.015)),
    "box": ({"box": {"width": 0.02, "height": 0.03, "thickness": 0.002}}, (0.010, 0.015)),
}


def arm_of(beam):
    return Dynamics(
        Robot(name="boom", links=[Link(name="arm", joint=Joint(type="fixed"), beam=beam)], gravity=(0, 0, 0)),
        compile="never",
    )


def bar(section, **more):
    usual = {"bending": "linear", "elements": {"number": 2, "bend_y": True, "bend_z": True}}
    return arm_of(Beam(length=L, section=section, material=STEEL, **{**usual, **more}))


@pytest.mark.parametrize("name", SECTIONS)
def test_stress_of_a_cantilever(name):
    section, (y, z) = SECTIONS[name]
    arm = bar(section)
    found = pliant.along(arm, "arm", pliant.equilibrium(arm, loads={"tip": FORCE}).q)
    constants = arm.robot.link("arm").beam.section
    moment = FORCE[:, None] * (L - found.x)
    from_y, from_z = moment[1] * y / constants.Iz, moment[2] * z / constants.Iy
    expected = np.hypot(from_y, from_z) if name in ("tube", "ellipse") else np.abs(from_y) + np.abs(from_z)
    np.testing.assert_allclose(found.stress, expected, atol=EXACT * expected.max())


@pytest.mark.parametrize("down", [1.0, -1.0])
def test_pull_and_bending_of_a_section_with_two_different_sides(down):
    """A flat triangle: the point is twice as far from the axis as the base."""
    base, height, pull = 0.03, 0.02, 300.0
    points = ((-base / 2, 0.0), (base / 2, 0.0), (0.0, height))
    elements = {"number": 1, "bend_y": True, "bend_z": True, "axial": True}
    arm = bar({"polygon": {"points": points}}, elements=elements)
    load = 0.9 * down
    found = pliant.along(arm, "arm", pliant.equilibrium(arm, loads={"tip": [pull, 0, -load]}).q)
    area, second = base * height / 2, base * height**3 / 36
    # bent down, the upper side is pulled
    point, foot = (pull / area + load * L / second * z for z in (2 * height / 3, -height / 3))
    np.testing.assert_allclose(found.stress[0], max(abs(point), abs(foot)), rtol=EXACT)


def test_stress_jumps_where_the_section_does():
    thick, thin = ({"round": {"diameter": d}} for d in (0.02, 0.01))
    segments = [Segment(length=L / 2, section=each) for each in (thick, thin)]
    beam = Beam(segments=segments, material=STEEL, bending="linear", elements={"number": 4, "bend_y": True})
    arm = arm_of(beam)
    found = pliant.along(arm, "arm", pliant.equilibrium(arm, loads={"tip": [0, 3, 0]}).q)
    before, after = found.stress[np.flatnonzero(np.isclose(found.x, L / 2))]
    np.testing.assert_allclose([after / before, before], [8.0, 3 * L / 2 * 32 / (np.pi * 0.02**3)], rtol=EXACT)


def test_stress_at_the_root_of_a_strongly_bent_rod():
    """The moment there is the force times how far it acts from the root, as bent."""
    arm = bar({"round": {"diameter": 0.004}}, bending="exact", elements=None, modes=Modes(shape="legendre", bend_y=8))
    at = pliant.equilibrium(arm, loads={"tip": [0, 12, 0]}).q
    found = pliant.along(arm, "arm", at)
    reach = arm.pose("tip", at).position
    assert reach[0] < 0.8 * L
    np.testing.assert_allclose(found.stress[0], 12 * reach[0] * 32 / (np.pi * 0.004**3), rtol=STRAINS)
    np.testing.assert_allclose(found.position[-1], reach, atol=EXACT * L)


def test_channels_of_a_run():
    arm = bar(SECTIONS["rectangle"][0])
    corner = pliant.Outputs(strains=[{"name": "corner", "link": "arm", "x": 0, "y": -0.010, "z": 0.015}], step=0.01)
    start = {"links": "equilibrium", "loads": {"tip": FORCE.tolist()}}
    run = pliant.run_study(pliant.Study(robot=arm.robot, until=0.05, start=start, outputs=corner))
    stress = run.along("arm").stress
    assert stress.shape == (len(run), len(run.along("arm").x))
    np.testing.assert_allclose(run["arm.stress"], stress.max(axis=1))
    assert run.unit("arm.stress") == "Pa"
    # this corner has the sum of both bendings as long as their signs are those of the load
    np.testing.assert_allclose(stress[0, 0], STEEL.E * abs(run["strain.corner"][0]), rtol=EXACT)


def test_what_is_not_known_is_not_told():
    constants = Properties(mass_per_length=1.0, EIy=10.0, EIz=10.0)
    arm = arm_of(Beam(length=L, properties=constants, modes={"bend_y": 2}))
    assert pliant.along(arm, "arm", arm.q()).stress is None
    run = pliant.simulate(arm.robot, until=0.01)
    assert "arm.stress" not in run.channels
    with pytest.raises(ModelError, match="no flexible beam 'ram'; flexible beams: arm"):
        pliant.along(arm, "ram", arm.q())
