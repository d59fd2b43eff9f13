"""Reference numbers and beams shared by the tests of the bodies."""

import json
from pathlib import Path

import pytest

from pliant.bodies.profile import BeamPiece, BeamProfile, SectionData

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def published():
    """What others printed: roots, tip-mass table, De Luca & Siciliano."""
    return json.loads((DATA / "published.json").read_text())


@pytest.fixture(scope="session")
def reference_modes():
    """Modes of the project's reference set."""
    return json.loads((DATA / "reference_modes.json").read_text())


@pytest.fixture(scope="session")
def exact_roots():
    """Forty roots of each frequency equation, as strings of 25 digits."""
    return json.loads((DATA / "beam_roots.json").read_text())


@pytest.fixture(scope="session")
def exact_shapes():
    """Eigenfunctions and their derivatives in high precision."""
    return json.loads((DATA / "beam_shapes.json").read_text())


@pytest.fixture(scope="session")
def uniform():
    """A uniform beam with every section constant different."""
    data = SectionData(
        rhoA=1.7, rhoIy=0.003, rhoIz=0.005, EIy=11.0, EIz=19.0, EA=8e4, GJ=7.0, GAy=6e3, GAz=5e3
    )  # fmt: skip
    return BeamProfile.uniform(1.3, data)


@pytest.fixture(scope="session")
def tapered():
    """A step, then a taper: mass and stiffness vary as those of a solid rectangle."""

    def taper(s):
        h = 1.0 - 0.4 * s
        return SectionData(
            rhoA=1.2 * h,
            rhoIy=0.002 * h**3,
            rhoIz=0.004 * h,
            EIy=9.0 * h**3,
            EIz=15.0 * h,
            EA=5e4 * h,
            GJ=4.0 * h**3,
        )

    root = SectionData(rhoA=2.0, rhoIy=0.004, rhoIz=0.006, EIy=14.0, EIz=21.0, EA=9e4, GJ=6.0)
    return BeamProfile((BeamPiece(0.35, root), BeamPiece(0.8, taper)))
