"""Lin & Lewis, section 4.2: eigenvalues of the one-link arm, zeros of its tip, the mode of the appendix."""

import json
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant import Beam, Modes
from pliant.dynamics import Dynamics

REFERENCE = json.loads((Path(__file__).parent / "data" / "lin_lewis.json").read_text())

SIX_DIGITS = 5e-6
"""The computed eigenvalues are given with six digits."""


def dense(arm):
    """M and K of the undeformed arm, joint first."""
    return arm.mass_matrix(np.zeros(arm.size)), arm.stiffness


@pytest.fixture(scope="module")
def arm():
    return Dynamics("lin-lewis-one-link")


def two_modes(shape, normalise="none"):
    robot = pliant.load("lin-lewis-one-link")
    (link,) = robot.links
    modes = Modes(shape=shape, normalise=normalise, bend_y=2)
    beam = Beam(length=link.beam.length, properties=link.beam.properties, modes=modes)
    return Dynamics(robot.with_changes(links=[link.with_changes(beam=beam)]))


def test_eigenvalues(arm):
    """[M^-1]_FF U_FF, the rigid coordinate kept: per second squared, whatever the unit of length."""
    M, K = dense(arm)
    values = np.sort(np.linalg.eigvals(np.linalg.inv(M)[1:, 1:] @ K[1:, 1:]).real)
    assert values == pytest.approx(REFERENCE["eigenvalues"]["computed"], rel=SIX_DIGITS)
    assert values[0] == pytest.approx(2320.6445, abs=1e-4)
    # the paper truncates to three digits
    for value, printed in zip(values[1:], REFERENCE["eigenvalues"]["printed"][1:], strict=True):
        digit = 10.0 ** (np.floor(np.log10(printed)) - 2)
        assert 0 <= value - printed < digit * (1 + 1e-9)


def test_eigenvalues_without_the_rigid_coordinate(arm):
    """M_FF^-1 U_FF of pinned-pinned sines: k^4 times the first."""
    M, K = dense(arm)
    values = np.sort(np.linalg.eigvals(np.linalg.solve(M[1:, 1:], K[1:, 1:])).real)
    k = np.arange(1, 16)
    assert values == pytest.approx(REFERENCE["eigenvalues"]["M_FF_inverse_U_FF"] * k**4, rel=1e-8)


def transmission_zeros(arm, output):
    """Zeros s of output (n,) from the drive: the pencil s^2 M + K with input and output appended."""
    from scipy.linalg import eig

    M, K = dense(arm)
    n = len(M)
    A, E = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    A[:n, :n], E[:n, :n] = -K, M
    A[:n, n], A[n, :n] = arm.B[:, 0], output
    squares = eig(A, E, right=False)
    finite = squares[np.isfinite(squares) & (np.abs(squares) < 1e9)]
    return np.sort(finite.real), np.abs(finite.imag).max()


def test_zeros_of_the_clamped_arm_are_imaginary():
    """The rigid coordinate as output: with clamped modes that is the motor angle."""
    arm = two_modes("clamped-free")
    squares, imaginary = transmission_zeros(arm, np.array([1.0, 0.0, 0.0]))
    assert imaginary == pytest.approx(0.0, abs=1e-6)
    zeros = np.sqrt(-squares[::-1])
    assert zeros == pytest.approx(REFERENCE["zeros"]["clamped_free_imaginary"], rel=1e-6)
    # the paper rounds M to five decimals
    assert zeros == pytest.approx(REFERENCE["zeros"]["printed_clamped_free"], rel=5e-4)


def test_zeros_of_the_pinned_arm_are_real():
    """The rigid coordinate is now the angle of the chord, that is the tip: not minimum phase."""
    arm = two_modes("pinned-pinned")
    squares, imaginary = transmission_zeros(arm, np.array([1.0, 0.0, 0.0]))
    assert imaginary == pytest.approx(0.0, abs=1e-6)
    assert np.sqrt(squares) == pytest.approx(REFERENCE["zeros"]["pinned_pinned_real"], rel=1e-6)


def test_the_motor_drives_the_root_tangent(arm):
    length = arm.robot.links[0].beam.length
    assert arm.B[:, 0] == pytest.approx([1.0, *(np.arange(1, 16) * np.pi / length)], rel=1e-12)


def test_appendix_mode():
    """The loaded mode of the rigid-flexible-rigid arm: its integrals as the appendix prints them."""
    mode = REFERENCE["appendix_mode"]
    arm = Dynamics("lin-lewis-rfr", compile="never")
    (link,) = (link for link in arm.tree.links if link.name == "forearm")
    beam = arm.robot.link("forearm").beam
    rho, L = beam.properties.mass_per_length, beam.length
    tip = link.body.frames["tip"]
    # the paper rounds sigma to four decimals
    assert tip.Phi_d[1, 0] == pytest.approx(mode["phi_L"], rel=3e-4)
    assert link.body.first_modal[1, 0] / rho / L == pytest.approx(mode["int_phi_over_L"], rel=3e-4)
    assert link.body.beta[2, 0] / rho / L**2 == pytest.approx(mode["int_yphi_over_L2"], rel=3e-4)
    assert tip.Phi_r[2, 0] * L / tip.Phi_d[1, 0] == pytest.approx(mode["L_dphi_L_over_phi_L"], rel=1e-4)
