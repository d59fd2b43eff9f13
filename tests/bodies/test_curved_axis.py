"""Inertia of curved beams against clouds of their material points."""

import numpy as np
import pytest

from pliant import Beam, Rectangle
from pliant.bodies.build import curved_inertia
from pliant.model.description.beams import undeformed_pose

GAUSS = np.polynomial.legendre.leggauss(24)


@pytest.mark.parametrize("sections", [True, False])
def test_a_bent_bar_has_the_inertia_of_its_points(sections):
    """Points of a thick bar: along its axis by Gauss, across it at the places of two Gauss points."""
    beam = Beam(
        length=0.9,
        material="steel",
        section=Rectangle(width=0.12, height=0.2),
        curvature={"bend_y": 1.7, "bend_z": -0.6},
        bending="exact",
        modes={"bend_y": 1, "bend_z": 1},
    )
    mass, first, about = curved_inertia(beam, section_inertia=sections)
    wide, high = (np.array([-1, 1]) * x / np.sqrt(12) for x in (0.12, 0.2)) if sections else ([0.0], [0.0])
    wanted, moment, total = np.zeros((3, 3)), np.zeros(3), 0.0
    for x, weight in zip(*GAUSS, strict=True):
        p, R = undeformed_pose(beam, 0.45 * (1 + x))
        for y in wide:
            for z in high:
                dm = 0.45 * weight * 7850 * 0.12 * 0.2 / (len(wide) * len(high))
                r = p + R @ [0.0, y, z]
                total, moment = total + dm, moment + dm * r
                wanted += dm * (r @ r * np.eye(3) - np.outer(r, r))
    assert mass == pytest.approx(total, rel=1e-10)
    assert first == pytest.approx(moment, rel=0, abs=1e-10 * np.abs(moment).max())
    assert about == pytest.approx(wanted, rel=0, abs=1e-10 * np.abs(wanted).max())
