"""Moments of products that closed forms are written with, against their definitions on vectors."""

import numpy as np
import pytest

from pliant.formulations.lagrange.algebra import link_inertia as bodies

A, B = np.random.default_rng(5).normal(size=(2, 4, 3))
PRODUCTS = np.einsum("ka,kb->ab", A, B)
"""Sum of a^p b^q over some points."""


def test_crossed_moments():
    wanted = np.cross(A, B).sum(axis=0)
    assert bodies._cross(PRODUCTS.tolist()) == pytest.approx(wanted, rel=1e-12)
    assert bodies._numeric_cross(PRODUCTS[None])[0] == pytest.approx(wanted, rel=1e-12)


def test_moments_of_inertia():
    """The symmetric part of a~^T b~, which is (a.b) 1 - b a^T."""
    whole = sum((a @ b) * np.eye(3) - np.outer(b, a) for a, b in zip(A, B, strict=True))
    assert np.array(bodies._inertia(PRODUCTS.tolist())) == pytest.approx((whole + whole.T) / 2, rel=1e-12)
