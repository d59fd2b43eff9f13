"""Two solids against numbers of an independent program: frequencies, frames, second order, stress, error estimates."""

import numpy as np
import pytest

from pliant.solid_mechanics.clamped_link import truncation_errors
from pliant.solid_mechanics.second_order import second_order, unit_loads
from pliant.solid_mechanics.stress_recovery import mesh_errors, nodal_stress
from pliant.solid_mechanics.tetrahedra import strain_per_turn
from solids import reference_link, reference_solid

SAME_MESH = 1e-6
"""Both programs have the same mesh and the same elements; printed with nine digits."""
PRINTED = 1e-7
"""Of the largest entry, of tables with eight digits."""
SMOOTHED = 0.01
"""Estimates of the mesh's error, of modes of two slightly different bases."""
names = pytest.mark.parametrize("name", ["bar", "bracket"])


def largest(found, wanted):
    wanted = np.array(wanted)
    return np.abs(np.array(found) - wanted).max() / np.abs(wanted).max()


@names
def test_mass_and_inertia(name):
    case, solid = reference_solid(name)
    r, m = solid.mesh.nodes, solid.scalar_mass
    assert solid.mesh.volume * case["rho"] == pytest.approx(case["mass"], rel=1e-12)
    assert m.sum() == pytest.approx(case["mass"], rel=1e-12)
    first = np.asarray(m.sum(axis=0)).ravel() @ r
    np.testing.assert_allclose(first, case["first_moment"], atol=1e-12)
    S = r.T @ (m @ r)
    np.testing.assert_allclose(np.trace(S) * np.eye(3) - S, case["I_rr_about_origin"], atol=1e-12)


@names
def test_frequencies_and_frames(name):
    case, _ = reference_solid(name)
    rigid, average = (reference_link(name, kind) for kind in ("rigid", "average"))
    np.testing.assert_allclose(rigid.held_modes(6).hz, case["rigid_tip"]["fixed_interface_hz"], rtol=SAME_MESH)
    np.testing.assert_allclose(rigid.basis(8).hz, case["craig_bampton_8_fixed_modes_hz"], rtol=SAME_MESH)
    np.testing.assert_allclose(average.held_modes(8).hz, case["averaged_tip"]["clamped_free_hz"], rtol=SAME_MESH)
    np.testing.assert_allclose(average.basis(8).hz[:8], case["averaged_tip"]["clamped_free_hz"], rtol=SAME_MESH)
    for link, wanted in (
        (rigid, np.linalg.inv(case["rigid_tip"]["stiffness_6x6"])),
        (average, case["averaged_tip"]["compliance_6x6"]),
    ):
        compliance = link.frame_motion(link.interfaces[0], link.wrench_answers())
        assert largest(compliance, wanted) < PRINTED


@names
def test_second_order_displacements(name):
    case, solid = reference_solid(name)
    link, wanted = reference_link(name, "rigid"), case["Gamma_rigid_tip"]
    basis = link.basis(8).first(6)
    found = second_order(solid, link, basis, unit_loads(solid, link))

    def diagonal(A):
        return np.diagonal(A, axis1=-2, axis2=-1)

    assert largest(strain_per_turn(solid, basis.shapes), wanted["slenderness"]) < 1e-5
    assert largest(diagonal(found.first), wanted["first_diag"]) < PRINTED
    assert largest(diagonal(found.second), wanted["second_diag"]) < PRINTED
    frame = np.concatenate([found.moved[0], found.turned[0]])
    assert largest(diagonal(frame), wanted["frame_diag"]) < PRINTED


@names
def test_stress_of_tip_loads(name):
    case, solid = reference_solid(name)
    stress = nodal_stress(solid, reference_link(name, "rigid").wrench_answers())
    for node, wanted in case["stress_unit_tip_loads"]["nodes"].items():
        assert largest(stress[int(node)].T, wanted) < SAME_MESH


@names
def test_error_of_the_mesh(name):
    case, solid = reference_solid(name)
    modes = reference_link(name, "rigid").basis(30).shapes[:, :4]
    np.testing.assert_allclose(mesh_errors(solid, modes), case["zz_energy_error"]["values"], rtol=SMOOTHED)


@names
def test_error_of_modes_left_out(name):
    """One inverse iteration tells what the held modes cost, to a few per cent of it."""
    case, _ = reference_solid(name)
    link = reference_link(name, "rigid")
    few = link.basis(2)
    true = few.hz[:4] / np.array(case["rigid_tip"]["clamped_free_hz"][:4]) - 1
    np.testing.assert_allclose(truncation_errors(link, few, 4), true, rtol=0.12, atol=1e-7)
