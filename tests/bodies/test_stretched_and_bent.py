"""Beams that stretch and bend to second order: their mass matrix against material points."""

import numpy as np
import pytest

from pliant import Beam, Elements, Joint, Link, Modes, Properties, RigidPart, Robot
from pliant.bodies.build import shape_sets
from pliant.dynamics import Dynamics

PANELS, POINTS = 40, 6
AGREES = 1e-6
"""Of the largest entry: panels of the points do not end where elements do."""

BEAM = {"length": 1.2, "properties": Properties(mass_per_length=0.8, EIy=30.0, EIz=20.0, EA=4e3)}
DISCRETE = {
    "modes": {"modes": Modes(shape="clamped-free", bend_y=2, bend_z=1, axial=2)},
    "polynomials": {"modes": Modes(shape="polynomial", bend_y=2, axial=3)},
    "elements": {"elements": Elements(number=2, bend_z=False, axial=True)},
}


def robot(kind, payload):
    link = Link(name="a", joint=Joint(name="j"), beam=Beam(**BEAM, **DISCRETE[kind]), payloads=payload)
    return Robot(name="arm", links=[link])


def material(arm, weight):
    """int phi . Gamma dm of every mode of elongation, point by point, with a mass at the tip."""
    sets = shape_sets(arm.links[0], arm)
    n, length = sum(s.size for s in sets), BEAM["length"]
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)

    def rule(end):
        edges = np.linspace(0.0, end, PANELS + 1)
        half = np.diff(edges) / 2
        return ((edges[:-1] + half)[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()

    def shortening(x):
        at, dx = rule(x)
        out, start = np.zeros((n, n)), 0
        for s in sets:
            if s.family.startswith("bend"):
                slope = s.sample(at).rotation
                out[start : start + s.size, start : start + s.size] = -(slope * dx) @ slope.T
            start += s.size
        return out

    (axial,) = (s for s in sets if s.family == "axial")
    start = sum(s.size for s in sets[: sets.index(axial)])
    x, dx = rule(length)
    x, dm = np.append(x, length), np.append(dx * BEAM["properties"].mass_per_length, weight)
    Gamma = np.array([shortening(at) for at in x])
    return slice(start, start + axial.size), np.einsum("p,kp,pij->kij", dm, axial.sample(x).value, Gamma)


@pytest.mark.parametrize("payload", [(), (RigidPart(mass=0.5),)], ids=["alone", "loaded"])
@pytest.mark.parametrize("kind", DISCRETE)
def test_stretch_and_shortening_share_their_momentum(kind, payload):
    """T has q_phi_dot (int phi . Gamma dm q) . v: an entry of M for each mode of elongation and each of bending."""
    arm = robot(kind, payload)
    model = Dynamics(arm, compile="never")
    axial, wanted = material(arm, sum(part.mass for part in payload))
    n = model.size - 1
    q = 0.05 * np.random.default_rng(1).normal(size=n)
    q[axial] = 0.0
    M = model.mass_matrix(np.r_[0.3, q])[1:, 1:]
    bent = [k for k in range(n) if not axial.start <= k < axial.stop]
    expected = (wanted @ q)[:, bent]
    assert np.abs(expected).max() > 1e-4
    assert M[axial, bent] == pytest.approx(expected, abs=AGREES * np.abs(expected).max())
