"""Modes and linear models about loaded, bent and steadily rotating states, from exact tangents."""

from functools import cache

import numpy as np
import pytest

import pliant
import pliant.analysis.equilibrium
import pliant.analysis.limits
from pliant import Beam, Damping, Dynamics, Joint, Link, Modes, Properties, RigidPart, Robot

CONVERGED = 5e-4
"""Six Legendre shapes on a rotating beam, relative."""
KINDS = ("second-order", "exact")
ROTATING = {2.0: (4.1373, 22.6149), 12.0: (13.1702, 37.6031)}
"""Speed -> first two flapwise frequencies, both in sqrt(EI / rho A) / L^2, hub radius zero."""


@cache
def blade(bending, count=6, twin=True, payload=0.0, damping=None):
    """A blade of unit length, stiffness and mass on a hub that turns about z; it flaps in z and lags in y."""
    planes = {"bend_y": count, "bend_z": count} if twin else {"bend_y": count}
    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=1.0, EIz=1.0, EIy=1.0),
        bending=bending,
        modes=Modes(shape="legendre", **planes),
        damping=None if damping is None else Damping(ratio=damping),
    )
    beside = [RigidPart(mass=payload, com=(0, 0.05, 0), inertia=1e-3 * payload)] if payload else []
    link = Link(name="blade", joint=Joint(name="hub"), beam=beam, payloads=beside)
    return Dynamics(Robot(name="blade", gravity=(0, 0, 0), links=[link]), compile="never")


@pytest.mark.parametrize("bending", KINDS)
def test_rotating_blade(bending):
    """Flapwise frequencies as published; chord^2 = flap^2 - speed^2, without coupling of the two."""
    arm = blade(bending, count=6 if bending == "second-order" else 5)
    for speed, flap in ROTATING.items():
        found = pliant.modes(arm, v={"hub": speed}, count=4)
        lag, first, lag2, second = found.frequencies
        assert (first, second) == pytest.approx(flap, rel=CONVERGED if bending == "second-order" else 3e-3)
        assert lag**2 == pytest.approx(first**2 - speed**2, rel=1e-8)
        assert lag2**2 == pytest.approx(second**2 - speed**2, rel=1e-8)
        assert found.damping_ratios == pytest.approx(np.zeros(4), abs=1e-12)
        assert found.v[0] == speed


def test_linear_links_lose_their_stiffness_as_they_turn():
    with pytest.warns(pliant.analysis.limits.ModelLimitWarning, match="turns at 340 % of its first bending frequency"):
        found = pliant.modes(blade("linear", count=2), v={"hub": 12.0})
    assert found.squares[0] == pytest.approx(3.516**2 - 144, rel=0.02)


@pytest.mark.parametrize("bending", KINDS)
def test_gyroscopic_modes_are_those_of_the_linear_model(bending):
    """A load beside the axis bends the turning blade; hub free or held, poles are eigenvalues of the state matrix."""
    arm = blade(bending, count=2, twin=False, payload=0.3)
    held = pliant.equilibrium(arm, rates={"hub": 3.0})
    assert np.abs(held.q[1:]).max() > 1e-3
    model = pliant.linearise(arm, held.q, held.v, tau=held.tau)
    assert np.abs(model.a).max() < 1e-8
    found = pliant.modes(arm, held.q, held.v, locked=False)
    # Coriolis forces couple hub and bending: the shapes are complex
    assert np.abs(found.shapes.imag).max() > 1e-3
    poles = np.linalg.eigvals(model.A)
    for frequency in found.frequencies[found.squares > 1e-6]:
        assert np.abs(poles - 1j * frequency).min() < 1e-6 * frequency
    for k, square in enumerate(found.squares):
        p, x, t = 1j * np.sqrt(square), found.shapes[:, k], model.tangent
        assert np.abs((t.M * p**2 + t.D * p + t.K) @ x).max() < 1e-6 * np.abs(t.K @ x).max() + 1e-6
    # by default the state is the steadily rotating one
    again = pliant.modes(arm, v={"hub": 3.0}, locked=False)
    assert again.q == pytest.approx(held.q, abs=1e-9)
    assert again.frequencies == pytest.approx(found.frequencies, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("bending", KINDS)
def test_modes_about_a_loaded_state_are_differences_of_its_forces(bending):
    """A cantilever bent far by a load: K is the derivative of its static forces, the load's included."""
    arm = blade(bending, count=3, twin=False)
    size = 1.0 if bending == "exact" else 0.3
    load = {"tip": size * np.array([-0.8, 1.0, 0, 0, 0, 0.3])}
    found = pliant.modes(arm, loads=load)
    assert found.q == pytest.approx(pliant.analysis.equilibrium.settle(arm, loads=load).q)
    still, h = np.zeros(arm.size), 1e-5

    def force(q):
        return arm.bias(q, still) - arm.jacobian("tip", q).T @ load["tip"]

    K = np.array([(force(found.q + h * e) - force(found.q - h * e)) / (2 * h) for e in np.eye(arm.size)]).T[1:, 1:]
    M = arm.mass_matrix(found.q)[1:, 1:]
    assert found.squares == pytest.approx(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real), rel=1e-6)
    # the load is seen: without it the frequencies about the same state are others
    assert abs(pliant.modes(arm, found.q).squares[0] / found.squares[0] - 1) > 0.01


def test_damping_ratios_about_a_loaded_state():
    """Given for the free rod; tension raises the frequency, the damping stays, its ratio falls as 1/omega."""
    arm = blade("exact", count=3, twin=False, damping=0.02)
    free, pulled = pliant.modes(arm), pliant.modes(arm, loads={"tip": [20.0, 0, 0]})
    assert free.damping_ratios[0] == pytest.approx(0.02, rel=1e-6)
    assert pulled.frequencies[0] > 2 * free.frequencies[0]
    assert pulled.damping_ratios[0] < 0.75 * free.damping_ratios[0]
    M, D = arm.mass_matrix(pulled.q), arm.damping
    x = pulled.shapes[:, 0]
    assert pulled.damping_ratios[0] == pytest.approx(x @ D @ x / (x @ M @ x) / (2 * pulled.frequencies[0]))


def test_complex_modes_are_drawn(tmp_path):
    found = pliant.modes(blade("second-order", count=2, twin=False, payload=0.3), v={"hub": 3.0}, locked=False)
    found.draw(tmp_path / "modes.png")
    assert (tmp_path / "modes.png").stat().st_size > 5000
