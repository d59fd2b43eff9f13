"""Stress of parts with known answers: a bent bar, a hole in a plate, a flanged tube of the reference table."""

from pathlib import Path

import numpy as np
import pytest

from pliant.solid_mechanics.clamped_link import ClampedLink
from pliant.solid_mechanics.interfaces import make_interface
from pliant.solid_mechanics.stress_recovery import nodal_stress
from pliant.solid_mechanics.tetrahedra import Elastic, MeshedSolid
from solids import REFERENCE, bar_mesh, end

PARTS = REFERENCE["geometry_cases"]


def test_a_bent_bar_has_the_stress_of_a_beam():
    """M c / I in the middle of a bar with a force at its tip, within 0.5 %."""
    solid = MeshedSolid(bar_mesh((0.5, 0.02, 0.04), (20, 2, 4)), Elastic(70e9, 0.33, 2700.0))
    tip = make_interface("tip", solid.mesh.nodes, end(solid.mesh, 0.5), np.array([0.5, 0, 0]))
    link = ClampedLink(solid.K, solid.M, 3, end(solid.mesh, 0.0), [tip])
    stress = nodal_stress(solid, link.wrench_answers()[:, [2]])[..., 0]
    middle = int(np.argmin(np.linalg.norm(solid.mesh.nodes - [0.25, 0, 0.02], axis=1)))
    assert stress[middle, 0] == pytest.approx(-0.25 * 0.02 / (0.02 * 0.04**3 / 12), rel=5e-3)


def test_a_hole_raises_the_stress_of_a_plate():
    """0.25 x 0.05 x 0.005 m with a hole of 20 mm, pulled: 3.74 times the mean stress in the plane, within 3 %."""
    pytest.importorskip("netgen")
    from netgen.occ import Box, Cylinder, OCCGeometry, Pnt, Z

    from pliant.solid_mechanics.cad_geometry import CadPart

    shape = Box(Pnt(0, -25, -2.5), Pnt(250, 25, 2.5)) - Cylinder(Pnt(125, 0, -10), Z, r=10, h=20)
    for face in shape.faces:
        if abs(face.center.x - 125) < 1 and face.mass < 400:
            face.maxh = 2.0
    part = CadPart(Path("plate.step"), OCCGeometry(shape), 1e-3, shape.mass * 1e-9, 0.25, [])
    mesh = part.meshed(0.02).mesh
    solid = MeshedSolid(mesh, Elastic(210e9, 0.3, 7800.0))
    tip = make_interface("tip", mesh.nodes, end(mesh, 0.25), np.array([0.25, 0, 0]))
    link = ClampedLink(solid.K, solid.M, 3, end(mesh, 0.0), [tip])
    stress = nodal_stress(solid, link.wrench_answers()[:, [0]])[:, 0, 0]
    beside = np.abs(mesh.nodes[:, 0] - 0.125) < 0.03
    case = PARTS["plate_with_hole"]
    assert stress[beside].max() * 0.05 * 0.005 == pytest.approx(case["Howland_gross"], rel=0.03)


def test_a_flanged_tube_vibrates_as_finer_meshes_do(tmp_path):
    """STEP to link with 26 000 unknowns: the first five frequencies within 1 % of the limit of fine meshes."""
    pytest.importorskip("netgen")
    from cad_parts import flanged_tube
    from pliant import body

    case = PARTS["flanged_tube"]
    made = body(flanged_tube(tmp_path / "tube.step"), root="x=0", tip="x=600mm")
    assert made.cad_mass == pytest.approx(case["mass_exact"], rel=1e-6)
    assert made.mass == pytest.approx(case["mass_exact"], rel=1e-3)
    np.testing.assert_allclose(made.frequencies[:5], case["limit_estimate_hz"][:5], rtol=0.01)
    words = [name.partition(".")[0] for name in made.modal.names[:6]]
    assert words == ["bend_z", "bend_y", "torsion", "bend_z", "bend_y", "oval"]
    # what it says of itself holds
    assert (made.frequencies[:5] / np.array(case["limit_estimate_hz"][:5]) - 1 < made.reduced.mesh_error[:5]).all()
