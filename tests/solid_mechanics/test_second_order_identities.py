"""Second-order displacements against direct solutions, the energy of finite strains, and rigid rotations of faces."""

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.solid_mechanics.clamped_link import ClampedLink
from pliant.solid_mechanics.interfaces import hull_centroid, make_interface
from pliant.solid_mechanics.second_order import _followed, second_order, unit_loads
from pliant.solid_mechanics.solid_mesh import checked_mesh, surface_weights
from pliant.solid_mechanics.stress_recovery import residual_stress
from pliant.solid_mechanics.tetrahedra import Elastic, MeshedSolid, symmetric, third_derivative
from solids import bar_mesh, end

STEEL = Elastic(210e9, 0.3, 7800.0)


def green_energy(solid, u):
    """Strain energy of finite displacements (3 N,) of a solid of St. Venant and Kirchhoff."""
    total = 0.0
    for weights, H in solid.strained(u[:, None]):
        e = symmetric(H[0]) + H[0].swapaxes(-1, -2) @ H[0] / 2
        total += 0.5 * np.einsum("g,gij,gij->", weights, e, solid.material.stress(e))
    return total


@pytest.fixture(scope="module")
def bar():
    return MeshedSolid(bar_mesh((0.4, 0.03, 0.02), (4, 1, 1)), STEEL)


def link_of(solid, kind):
    tip = make_interface("tip", solid.mesh.nodes, end(solid.mesh, 0.4), np.array([0.4, 0.004, -0.003]), kind)
    return ClampedLink(solid.K, solid.M, 3, end(solid.mesh, 0.0), [tip])


def test_the_third_derivative_is_that_of_the_energy(bar):
    """By the odd part of the energy along a direction, which is V3 t^3 / 6 and nothing else up to t^4."""
    rng = np.random.default_rng(1)
    u = 1e-3 * rng.normal(size=3 * len(bar.mesh.nodes))
    odd = (green_energy(bar, u) - green_energy(bar, -u)) / 2
    assert third_derivative(bar, u[:, None], u[:, None])[0, 0, 0] / 6 == pytest.approx(odd, rel=1e-9)


@pytest.mark.parametrize("kind", ["rigid", "average"])
def test_the_energy_stays_quadratic(bar, kind):
    """Along u = phi q + Gamma q^2 / 2, solved directly at all nodes, the energy has no cubic part; integrals agree.

    One coordinate keeps a third of its own cubic energy, so its share is taken into account.
    """
    link = link_of(bar, kind)
    basis = link.basis(2).first(1)
    loads = unit_loads(bar, link)
    found = second_order(bar, link, basis, loads)
    n = bar.K.shape[0]
    # forces -V3(phi, phi, .) at all unknowns, by columns of unit displacements
    phi = basis.shapes
    forces = -np.concatenate([third_derivative(bar, phi, np.eye(n)[:, k : k + 90])[0, 0] for k in range(0, n, 90)])
    tip = link.interfaces[0]
    theta = link.frame_motion(tip, phi)[3:, 0]
    G = np.zeros((n // 3, 3))
    if kind == "rigid":
        G[tip.nodes] = np.cross(theta, np.cross(theta, tip.levers))
        forces -= bar.K @ G.ravel()
        # moments of the face's own forces along its turned levers
        f = (bar.K @ phi[:, 0]).reshape(-1, 3)[tip.nodes]
        A = f.T @ tip.levers
        moment = -2 * ((A + A.T) / 2 - np.trace(A) * np.eye(3)) @ theta
        forces += spread_moment(tip, moment, n)
    direct = link.answer(forces[:, None])[:, 0] + G.ravel()
    # the coordinate keeps 1/3 of its own part
    cubic = -(forces @ phi[:, 0]) / basis.squares[0]
    direct += phi[:, 0] * (1 - 1 / 3) * cubic
    M = bar.M @ direct
    np.testing.assert_allclose(found.first[:, 0, 0], M.reshape(-1, 3).sum(axis=0), rtol=0, atol=1e-7 * abs(M).sum())
    energies = [
        green_energy(bar, q * phi[:, 0] + q**2 / 2 * direct) - basis.squares[0] * q**2 / 2 for q in (1e-4, -1e-4)
    ]
    plain = [green_energy(bar, q * phi[:, 0]) - basis.squares[0] * q**2 / 2 for q in (1e-4, -1e-4)]
    if kind == "average":
        assert abs(energies[0] - energies[1]) < 1e-3 * abs(plain[0] - plain[1])


def spread_moment(tip, moment, n):
    """Nodal forces with this moment about the frame and no resultant force."""
    out = np.zeros((n // 3, 3))
    out[tip.nodes] = np.einsum("ami,a->mi", tip.fit[3:], moment)
    return out.ravel()


def test_a_turned_face_is_followed_by_an_average(bar):
    """Nodes of a face that turns as a rigid body to second order: its frame has that motion, whatever its origin."""
    face = link_of(bar, "average").interfaces[0]
    rng = np.random.default_rng(3)
    turns, moved, turned = rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2)), rng.normal(size=(3, 2, 2))
    moved, turned = (A + A.swapaxes(1, 2) for A in (moved, turned))
    values = np.zeros((6, 2, 2))
    for i, j in np.ndindex(2, 2):
        inward = [np.cross(turns[:, a], np.cross(turns[:, b], face.levers)) for a, b in ((i, j), (j, i))]
        u = moved[:, i, j] + np.cross(turned[:, i, j], face.levers) + (inward[0] + inward[1]) / 2
        values[:, i, j] = np.einsum("ami,mi->a", face.fit, u)
    found = _followed(face, turns, values)
    assert np.abs(values[:3] - moved).max() > 1e-5
    assert np.abs(values[3:] - turned).max() > 0.1
    np.testing.assert_allclose(found[0], moved, atol=1e-12)
    np.testing.assert_allclose(found[1], turned, atol=1e-12)


def test_a_spinning_bar_needs_the_residual_stress():
    """Modes below stretch carry none of the pull; with the residual the middle of the bar has rho w^2 (L^2 - x^2)/2."""
    solid = MeshedSolid(bar_mesh((0.5, 0.02, 0.04), (10, 1, 2)), Elastic(70e9, 0.33, 2700.0))
    tip = make_interface("tip", solid.mesh.nodes, end(solid.mesh, 0.5), np.array([0.5, 0, 0]), "average")
    link = ClampedLink(solid.K, solid.M, 3, end(solid.mesh, 0.0), [tip])
    basis = link.basis(8).first(8)
    modes, loads = residual_stress(solid, link, basis, unit_loads(solid, link))
    omega = 300.0
    # centrifugal forces M omega^2 (x, y, 0): columns of r_x e_x and r_y e_y
    f = np.zeros(18)
    f[3], f[3 + 3 + 1] = omega**2, omega**2
    q = basis.shapes.T @ (unit_loads(solid, link).forces @ f[:12]) / basis.squares
    middle = int(np.argmin(np.linalg.norm(solid.mesh.nodes - [0.25, 0, 0], axis=1)))
    exact = 2700 * omega**2 * (0.5**2 - 0.25**2) / 2
    assert abs(modes[middle, 0] @ q) < 0.01 * exact
    assert modes[middle, 0] @ q + loads[middle, 0] @ f == pytest.approx(exact, rel=5e-3)


def test_an_element_inside_out_is_named(bar):
    tets = bar.mesh.tets.copy()
    tets[3, [0, 1]] = tets[3, [1, 0]]
    with pytest.raises(ModelError, match=r"1 of 24 elements.*element 3.*Refine the mesh"):
        checked_mesh(bar.mesh.nodes, tets)


def test_origins_are_centroids_of_areas_not_means_of_nodes():
    mesh = bar_mesh((0.2, 0.04, 0.02), (2, 2, 2))
    nodes = mesh.nodes.copy()
    # a graded mesh: nodes crowd at one side
    nodes[:, 1] = np.sinh(40 * (nodes[:, 1] + 0.02)) / np.sinh(1.6) * 0.04 - 0.02
    own, weights = surface_weights(nodes, mesh.triangles_of(end(mesh, 0.2)))
    straight = nodes[own]
    assert abs(straight[:, 1].mean()) > 1e-3
    assert abs(weights @ straight[:, 1]) / weights.sum() < 1e-9
    np.testing.assert_allclose(hull_centroid(straight), [0.2, 0, 0], atol=1e-12)
