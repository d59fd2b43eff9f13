"""Stresses at the nodes of a link: what is kept in a file, and invariants of the stress."""

import numpy as np
import pytest

from pliant import ModelError
from pliant.bodies.stress_data import StressData, principal, von_mises

RNG = np.random.default_rng(4)


def data(n=3, N=5, frames=("tip",)):
    return StressData(
        RNG.normal(size=(N, 3)),
        RNG.normal(size=(N, 6, n)),
        RNG.normal(size=(N, 6, 12 + 6 * len(frames))),
        np.arange(N) < 2,
        frames,
        np.array([[0, 1, 2], [2, 3, 4]]),
        250e6,
    )


def test_files_keep_everything(tmp_path):
    given = data()
    given.save(tmp_path / "link.npz")
    read = StressData.load(tmp_path / "link.npz")
    for name in ("points", "modes", "loads", "near_rigid", "triangles"):
        assert np.array_equal(getattr(read, name), getattr(given, name))
    assert read.frames == given.frames
    assert read.yield_strength == given.yield_strength


def test_what_does_not_fit_is_refused(tmp_path):
    given = data()
    with pytest.raises(ModelError, match="loads is 5 x 6 x 18; it must be 5 x 6 x 12"):
        StressData(given.points, given.modes, given.loads, given.near_rigid, ())
    (tmp_path / "no.npz").write_bytes(b"no archive")
    with pytest.raises(ModelError, match="cannot be read as stress data"):
        StressData.load(tmp_path / "no.npz")
    np.savez(tmp_path / "few.npz", points=given.points)
    with pytest.raises(ModelError, match="has no array modes"):
        StressData.load(tmp_path / "few.npz")


def test_equivalent_and_principal_stresses():
    """Invariants of random tensors, and the two states of every textbook: pure shear has sqrt(3) of its stress."""
    s = RNG.normal(size=(20, 6))
    one, two, three = principal(s).T
    of_principal = np.sqrt(((one - two) ** 2 + (two - three) ** 2 + (three - one) ** 2) / 2)
    assert von_mises(s) == pytest.approx(of_principal, rel=1e-12)
    assert (one >= two).all()
    assert (two >= three).all()
    assert one + two + three == pytest.approx(s[:, :3].sum(axis=1), abs=1e-12)
    assert von_mises(np.array([[7.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 2.0, 0]])) == pytest.approx([7.0, 2 * np.sqrt(3)])
