"""What a run says of links that bend far: deflections and slopes of the truly bent line."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from pliant import Beam, Dynamics, Joint, Link, Modes, Properties, Robot
from pliant.results.channels import Quantities, coordinate_channels
from pliant.results.samples import Samples

# positions and rotations by two ways through the same functions
ROUNDING = 1e-12


@pytest.mark.parametrize("bending", ["linear", "second-order", "exact"])
def test_deflection_and_slope_are_those_of_the_tip(bending):
    properties = Properties(mass_per_length=1.0, EIy=2.0, EIz=3.0, GJ=2.0, rhoIy=5e-3, rhoIz=5e-3)
    modes = Modes(shape="legendre", bend_y=2, bend_z=2, torsion=1)
    link = Link(
        name="rod",
        joint=Joint(name="hub", axis="z"),
        beam=Beam(length=1.0, properties=properties, bending=bending, modes=modes),
    )
    arm = Dynamics(Robot(name="arm", links=[link]), compile="never")
    q = np.random.default_rng(2).normal(scale=0.3, size=(4, arm.size))
    q[:, 0] = 0.0
    none = np.zeros((4, 0))
    found = Quantities(arm.robot, Samples(np.zeros(4), q, none, none, none, none, none), arm)
    straight = arm.pose("rod.tip", np.zeros(arm.size))
    bent = arm.pose("rod.tip", q)
    np.testing.assert_allclose(found.tip_deflection("rod"), bent.position - straight.position, atol=ROUNDING)
    for turn, R in zip(found.tip_slope("rod"), bent.rotation, strict=True):
        np.testing.assert_allclose(Rotation.from_rotvec(turn).as_matrix(), R @ straight.rotation.T, atol=ROUNDING)


def test_units_of_strains():
    """Legendre strains that are not normalised are curvatures, twist per length and stretch."""
    properties = Properties(mass_per_length=1.0, EIz=3.0, GJ=2.0, EA=1e3, rhoIy=5e-3, rhoIz=5e-3)
    modes = Modes(shape="legendre", normalise="none", bend_y=1, torsion=1, axial=1)
    beam = Beam(length=1.0, properties=properties, bending="exact", modes=modes)
    robot = Robot(name="arm", links=[Link(name="rod", joint=Joint(name="hub"), beam=beam)])
    arm = Dynamics(robot, compile="never")
    none = np.zeros((1, 0))
    zero = np.zeros((1, arm.size))
    given = Quantities(robot, Samples(np.zeros(1), zero, zero, none, none, none, none), arm)
    channels = {channel.name: channel for channel in coordinate_channels(given)}
    units = {name: channels[f"rod.{name}"].unit for name in ("bend_y.1", "torsion.1", "axial.1")}
    assert units == {"bend_y.1": "1/m", "torsion.1": "rad/m", "axial.1": ""}
    assert [channels[f"rod.{name}.rate"].unit for name in ("bend_y.1", "axial.1")] == ["1/(m s)", "1/s"]
    assert channels["hub.acceleration"].unit == "rad/s^2"
    assert "curvature" in channels["rod.bend_y.1"].meaning
    lengths = robot.links[0].with_changes(beam=beam.with_changes(modes=Modes(bend_y=1)))
    assert pliant.Dynamics(robot.with_changes(links=[lengths])).mechanism.words["rod.bend_y.1"].unit == "m"
