"""Static condensation, Craig-Bampton, and constant changes of basis."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant.bodies.beam_modes import assemble, attachment
from pliant.bodies.elements import change_basis, craig_bampton_basis, element_set, static_basis
from pliant.bodies.families import CombinedSet

INTEGRALS = ("first_modal", "beta", "lam", "I_re", "I_ee", "M_ee", "K_ee")


def beam(profile, number=8, families=("bend_y",)):
    sets = [element_set(family, profile, number) for family in families]
    frames = {
        "tip": attachment(sets, profile.length),
        "mid": attachment(sets, 0.4 * profile.length, [0, 0.1, 0.2]),
    }
    return assemble(sets, profile, frames, section_inertia=True)


def frequencies(body):
    return np.sqrt(eigh(body.K_ee, body.M_ee, eigvals_only=True))


@pytest.mark.parametrize("number", [1, 2, 9])
def test_static_condensation_keeps_the_tip_stiffness(number, uniform):
    body = beam(uniform, number)
    V = static_basis(body.K_ee, 2)
    reduced = change_basis(body, V, ("bend_y.1", "bend_y.2"))
    L, EI = 1.3, 19.0
    assert reduced.K_ee == pytest.approx(EI / L**3 * np.array([[12, -6 * L], [-6 * L, 4 * L**2]]), rel=1e-9)
    # free slope: 3 EI / L^3
    K = reduced.K_ee
    assert K[0, 0] - K[0, 1] ** 2 / K[1, 1] == pytest.approx(3 * EI / L**3, rel=1e-9)
    assert reduced.frames["tip"].Phi_d == pytest.approx(np.array([[0, 0], [1, 0], [0, 0]]), abs=1e-12)
    # a uniform beam condensed to its tip is one cubic element
    one = beam(uniform, 1)
    assert reduced.M_ee == pytest.approx(one.M_ee, rel=1e-9)


def test_craig_bampton_keeps_low_frequencies(tapered):
    body = beam(tapered, 20)
    full = frequencies(body)
    previous = np.inf
    for modes in (0, 2, 4, 6):
        V = craig_bampton_basis(body.M_ee, body.K_ee, 2, modes)
        reduced = change_basis(body, V, tuple(f"bend_y.{k + 1}" for k in range(modes + 2)))
        low = frequencies(reduced)
        # a subspace can only stiffen, and more modes bring it nearer
        assert np.all(low >= full[: len(low)] * (1 - 1e-9))
        error = low[0] / full[0] - 1
        assert error <= previous
        previous = error
        if modes == 6:
            assert low[:5] == pytest.approx(full[:5], rel=1e-3)
            assert low[:2] == pytest.approx(full[:2], rel=5e-5)
    fixed = V[:, :6]
    assert fixed.T @ body.M_ee @ fixed == pytest.approx(np.eye(6), abs=1e-9)
    assert not fixed[-2:].any()


def test_all_interior_modes_are_the_full_model(uniform):
    body = beam(uniform, 4)
    V = craig_bampton_basis(body.M_ee, body.K_ee, 2, 6)
    reduced = change_basis(body, V, body.names)
    assert frequencies(reduced) == pytest.approx(frequencies(body), rel=1e-9)
    with pytest.raises(ValueError, match="7 interior modes asked; 6"):
        craig_bampton_basis(body.M_ee, body.K_ee, 2, 7)


def test_change_of_basis_is_the_body_of_the_combined_shapes(tapered):
    rng = np.random.default_rng(3)
    families = ("bend_y", "bend_z", "torsion", "axial")
    sets = [element_set(family, tapered, 3) for family in families]
    blocks = [rng.normal(size=(s.size, 2)) for s in sets]
    combined = [CombinedSet(s, V) for s, V in zip(sets, blocks, strict=True)]
    V = np.zeros((sum(s.size for s in sets), 8))
    row = 0
    for k, block in enumerate(blocks):
        V[row : row + len(block), 2 * k : 2 * k + 2] = block
        row += len(block)
    body = beam(tapered, 3, families)
    direct = assemble(
        combined,
        tapered,
        {"mid": attachment(combined, 0.4 * tapered.length, [0, 0.1, 0.2])},
        section_inertia=True,
    )
    changed = change_basis(body, V, direct.names)
    for name in INTEGRALS:
        expected = getattr(direct, name)
        assert getattr(changed, name) == pytest.approx(expected, abs=1e-12 * np.abs(expected).max()), name
        # zeros between the families survive
        assert not getattr(changed, name)[expected == 0.0].any() or name in (
            "lam",
            "I_re",
            "I_ee",
            "first_modal",
        ), name
    assert changed.frames["mid"].Phi_d == pytest.approx(direct.frames["mid"].Phi_d, abs=1e-12)
    assert changed.mass == body.mass


def test_identity_and_composition(uniform):
    body = beam(uniform, 2, ("bend_y", "bend_z"))
    same = change_basis(body, np.eye(body.size), body.names)
    rng = np.random.default_rng(5)
    A, B = rng.normal(size=(8, 5)), rng.normal(size=(5, 3))
    names = ("a", "b", "c", "d", "e")
    once = change_basis(body, A @ B, names[:3])
    twice = change_basis(change_basis(body, A, names), B, names[:3])
    for name in INTEGRALS:
        assert np.array_equal(getattr(same, name), getattr(body, name)), name
        assert getattr(twice, name) == pytest.approx(
            getattr(once, name), abs=1e-10 * np.abs(getattr(once, name)).max()
        ), name


def test_section_discs_follow_the_basis(uniform):
    rng = np.random.default_rng(2)
    turn = rng.normal(size=(5, 3, 4))
    body = replace(beam(uniform, 2), section_inertia=np.ones((5, 3)), section_turn=turn)
    V = rng.normal(size=(4, 2))
    q = rng.normal(size=2)
    assert change_basis(body, V, ("a", "b")).section_turn @ q == pytest.approx(turn @ (V @ q))
    assert change_basis(beam(uniform, 2), V, ("a", "b")).section_turn.shape == (0, 3, 2)


def test_a_basis_of_the_wrong_shape_is_refused(uniform):
    with pytest.raises(ValueError, match="4 coordinates and 1 names"):
        change_basis(beam(uniform, 2), np.eye(4), ("a",))
