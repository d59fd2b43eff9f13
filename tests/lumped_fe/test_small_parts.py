"""Parts of the lumped method against their definitions: gyroscopic terms as printed, turns of open loops."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.formulations.lumped_fe.closing import gaps
from pliant.formulations.lumped_fe.node_matrices import NodeBodies, node_terms, tilde


def test_the_gyroscopic_term_as_printed_is_the_slope_of_w_cross_I_w():
    """(4.2): a turn at the rate x beside w adds w x (I x) + x x (I w)."""
    rng = np.random.default_rng(1)
    half = rng.normal(size=(1, 3, 3))
    inertia = half @ half.swapaxes(1, 2)
    bodies = NodeBodies(np.zeros((1, 3)), np.array([0.0]), np.zeros((1, 3)), inertia)
    w, x, step = rng.normal(size=3), rng.normal(size=3), 1e-30
    fast = w + 1j * step * x
    slope = np.cross(fast, inertia[0] @ fast).imag / step
    found = node_terms(bodies, w, np.zeros(3), np.zeros(3), "printed").C[0, 3:, 3:] - 2 * inertia[0] @ tilde(w)
    assert found @ x == pytest.approx(slope, rel=1e-12)


def test_the_turn_of_an_open_loop_is_its_angle():
    """The two frames of a welded loop, one turned against the other by a small angle."""
    angle, axis = 1e-4, np.array([0.6, 0.0, 0.8])
    ahead = Rotation.from_rotvec([0.3, -0.5, 0.4]).as_matrix()
    behind = Rotation.from_rotvec(-angle * axis).as_matrix() @ ahead
    poses = {"a": (np.array([[0.1, 0.2, 0.3]]), ahead[None]), "b": (np.array([[0.1, 0.0, 0.3]]), behind[None])}
    skeleton = SimpleNamespace(pose=lambda links, name, place: poses[name])
    loop = SimpleNamespace(ends=(("a", None), ("b", None)), directions=lambda R: np.eye(6)[None])
    (found,) = gaps(skeleton, [loop], [])
    assert found == pytest.approx([0.0, 0.2, 0.0, *(angle * axis)], abs=1e-8 * angle)
