"""Rods in rotation and beside their plane: frequencies of a rotating beam, lateral buckling."""

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant import Beam, Dynamics, Joint, Link, Modes, Properties, RigidPart, Robot
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.limits import ModelLimitWarning

# EI = rhoA = L = 1, hub radius 0: first frequencies by power series in 40 digits, for each speed
FLAP = {3: 4.79727853236, 6: 7.36037301931, 12: 13.1701504875}
LAG = {3: 3.74351189621, 6: 4.26322542019, 12: 5.42704927779}


@pytest.mark.parametrize(("family", "wanted"), [("bend_z", FLAP), ("bend_y", LAG)], ids=["flap", "lag"])
def test_rotating_rod(family, wanted):
    properties = Properties(mass_per_length=1.0, EIy=1.0, EIz=1.0)
    beam = Beam(length=1.0, properties=properties, bending="exact", modes=Modes(shape="legendre", **{family: 6}))
    link = Link(name="blade", joint=Joint(name="hub", axis="z"), beam=beam)
    arm = Dynamics(Robot(name="rotor", gravity=(0, 0, 0), links=[link]), compile="never")
    still = np.zeros(arm.size)
    M = arm.mass_matrix(still)[1:, 1:]
    for speed, frequency in wanted.items():
        v = still.copy()
        v[0] = speed
        # the hub keeps its speed
        K = arm.inverse_derivatives(still, v, still).q[1:, 1:]
        assert np.sqrt(eigh(K, M, eigvals_only=True)[0]) == pytest.approx(frequency, rel=5e-4)


MASS = 1e4
"""Of the load, in masses of the beam."""


def softest(load):
    """The least stiffness of a tall, thin cantilever under a weight at its tip."""
    properties = Properties(mass_per_length=1.0, EIy=1e4, EIz=1.0, GJ=1.0, rhoIy=1e-3, rhoIz=1e-3)
    modes = Modes(shape="legendre", normalise="none", bend_y=4, bend_z=1, torsion=4)
    beam = Beam(length=1.0, properties=properties, bending="exact", modes=modes)
    link = Link(name="strip", joint=Joint(type="fixed", parent="base"), beam=beam, payloads=[RigidPart(mass=MASS)])
    arm = Dynamics(Robot(name="strip", gravity=(0, 0, -load / MASS), links=[link]), compile="never")
    q = equilibrium(arm).q
    still = np.zeros(arm.size)
    return np.linalg.eigvalsh(arm.inverse_derivatives(q, still, still).q)[0]


@pytest.mark.filterwarnings("ignore:the shapes of .strip. are too stiff")  # one of the stiff plane is enough here
@pytest.mark.filterwarnings("ignore:this equilibrium is unstable")  # beyond the critical load it is
def test_lateral_buckling():
    """P L^2 / sqrt(EI GJ) = 4.0126: the strip turns over sideways."""
    assert softest(0.998 * 4.0126) > 0
    with pytest.warns(ModelLimitWarning, match="unstable"):
        assert softest(1.002 * 4.0126) < 0
