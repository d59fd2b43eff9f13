"""Matrices to look at: labels, textbook numbers, and those of the paper letter by letter."""

import numpy as np
import pytest

from lumped_arms import two_link_arm
from pliant import Dynamics, LumpedModel, ModelError, labelled_matrices
from pliant.analysis.lumped.node_equations import motion_weights
from pliant.analysis.lumped.nominal_motion import JointMotion

STEP = 1e-30
EI, LENGTH = 70e9 * 0.02 * 0.012**3 / 12, 0.5


def moving(model):
    one = np.array([[0.3, 0.5]])
    return model.nominal(JointMotion(one, one * [3.0, -2.0], one * [5.0, 7.0]))


def by_symbol(found):
    return {each.symbol: each for each in found}


def test_the_stiffness_of_an_element_is_that_of_textbooks():
    found = by_symbol(labelled_matrices(LumpedModel(two_link_arm(1, axial=False)), "upper"))
    K = found["K_0"]
    at = [K.rows.index(name) for name in ("root.dy", "root.rz", "1.dy", "1.rz")]
    h = LENGTH
    wanted = EI / h**3 * np.array([
        [12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
        [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h],
    ])  # fmt: skip
    np.testing.assert_allclose(K.values[np.ix_(at, at)], wanted, rtol=1e-9)
    assert K.rows == K.columns
    # half of the bar at the node of its tip, and the tip's lever to the middle of that half
    mass = 2700 * 0.012 * 0.02 * 0.5 / 2
    M = found["M_j"]
    tip = M.rows.index("1.dy")
    np.testing.assert_allclose(M.values[tip, [tip, tip + 1]], [mass, -mass * 0.5 / 4], rtol=1e-12)
    text = str(K)
    assert text.startswith("K_0  stiffness of the first partition (9)\n")
    assert "  1.dy" in text.splitlines()[1]


def test_printed_matrices_are_right_for_an_absolute_rate_of_bodies_that_do_not_turn():
    """(4.2): complex steps of (1) by the rate of the displacement and by gamma, whose inertial derivative is held."""
    robot = two_link_arm(2)
    links = list(robot.links)
    links[1] = links[1].with_changes(payloads=[{"mass": 0.3, "com": [0.02, 0.03, 0.01], "inertia": [1e-3, 2e-3, 3e-3]}])
    model = LumpedModel(robot.with_changes(links=links), variant="printed")
    motion = moving(model)
    node = model.meshes[1].nodes - 1
    found = by_symbol(labelled_matrices(model, f"fore.{node}", motion))
    body, link = model.meshes[1].bodies, model.skeleton.motion(motion)[1]
    m, G, I = body.m[node], body.G[node], body.I[node]  # noqa: E741
    w, w_dot = link.w[0], link.w_dot[0]

    def wrench(rate, delta):
        # (1) with (2), without what does not depend on them
        N_ddot = np.cross(w_dot, delta) + np.cross(w, np.cross(w, delta)) + 2 * np.cross(w, rate[:3])
        W = w + rate[3:]
        force = m * (N_ddot + np.cross(w_dot, G) + np.cross(W, np.cross(W, G)))
        return np.concatenate([force, m * np.cross(G, N_ddot) + I @ w_dot + np.cross(W, I @ W)])

    none = np.zeros(3)
    C = np.array([wrench(1j * STEP * e, none).imag / STEP for e in np.eye(6)]).T
    K = np.array([wrench(np.zeros(6), 1j * STEP * e).imag / STEP for e in np.eye(3)]).T
    np.testing.assert_allclose(found["C_N(w)"].values, C, atol=1e-12 * np.abs(C).max())
    np.testing.assert_allclose(found["K_N(w)"].values[:, :3], K, atol=1e-12 * np.abs(K).max())
    assert not found["K_N(w)"].values[:, 3:].any()
    right = by_symbol(labelled_matrices(model, f"fore.{node}", motion, variant="complete"))
    assert np.abs(right["C_N(w)"].values - C).max() > 0.01 * np.abs(C).max()
    assert "as printed: gamma is absolute" in str(found["C_N(w)"])
    assert found["C_N(w)"].columns == ("dx", "dy", "dz", "rx", "ry", "rz")


def test_the_robots_matrices_hold_its_mass_and_what_its_motion_needs():
    """On a rigid motion of the last link's nodes, f is the effort that the recursion needs of the elbow."""
    robot = two_link_arm(2)
    model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
    motion = moving(model)
    found = by_symbol(labelled_matrices(model, "robot", motion))
    assert found["M_c"].rows == model.names
    # a turn of the fore about the elbow
    shape = np.zeros(model.size)
    for k, name in enumerate(model.names):
        link, node, word = name.split(".")
        if link == "fore":
            shape[k] = {"dx": 0.0, "dy": 0.25 * int(node), "rz": 1.0}[word]
    # its root node turns with the upper arm, so that only what moves with other nodes is left out
    q, v, a = np.zeros((3, arm.size))
    rows = [arm.names.index(name) for name in ("shoulder", "elbow")]
    for x, of in zip((q, v, a), motion, strict=True):
        x[rows] = of[0]
    effort = arm.forces(q, v, a)[rows[1]]
    mesh, link = model.meshes[1], model.skeleton.motion(motion)[1]
    root = model.links[1].F_n.reshape(12, -1, 6)[:, 0, 5]
    of_root = float(motion_weights(link.w, link.w_dot, link.a)[0] @ root)
    assert mesh.nodes == 3
    np.testing.assert_allclose(shape @ found["f_c"].values + of_root, effort, rtol=1e-9)


def test_what_has_no_matrices_is_refused():
    model = LumpedModel(two_link_arm(2))
    with pytest.raises(ModelError, match="there are no matrices of 'uper'; did you mean 'upper'"):
        labelled_matrices(model, "uper")
    with pytest.raises(ModelError, match="link 'upper' has no node 5"):
        labelled_matrices(model, "upper.5")
    many = labelled_matrices(LumpedModel("five-bar", elements=8), "robot")
    assert "too many to print" in str(many[0])
