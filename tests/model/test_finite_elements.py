"""Links from matrices of a finite-element program: checks, reduction, and agreement with a beam of elements."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmread, mmwrite
from scipy.linalg import block_diag, eigh
from scipy.sparse import csr_array

from lumped_arms import MATERIAL
from pliant import Beam, Dynamics, Joint, Link, ModelError, Robot, build_body, load, modes
from pliant.analysis.lumped.mesh import first_partition, second_partition
from pliant.analysis.lumped.node_equations import block_diagonal
from pliant.bodies.build import frequencies
from pliant.bodies.profile import beam_profile
from pliant.model.readers.finite_elements import finite_elements, read_finite_elements

LENGTH, ELEMENTS = 0.5, 6
FAMILIES = ("bend_y", "bend_z", "torsion", "axial")
BAR = {
    "length": LENGTH,
    "material": MATERIAL,
    "section": {"rectangle": {"width": 0.012, "height": 0.02}},
    "bending": "linear",
}
LUMPED = {"nodes": ELEMENTS, "bend_y": True, "bend_z": True, "torsion": True, "axial": True}
WRITTEN = 1e-11
"""Files of matrices have 13 digits."""
SAME = 1e-8
"""Relative: both sides are the same lumped beam, one as matrices from outside."""


def matrices():
    """K, M and nodes of a bar with lumped nodes, as a program would export them."""
    profile = beam_profile(Beam(**BAR))
    x = np.linspace(0.0, LENGTH, ELEMENTS + 1)
    K = first_partition(profile, x, FAMILIES, timoshenko=False)
    bodies = second_partition(profile, x, sections=True)
    return K, block_diagonal(bodies.mass_matrices()), bodies.x


def robot_of(**link):
    return Robot(name="one", gravity=(0, 0, -9.81), links=[Link(name="bar", joint=Joint(axis="z"), **link)])


def test_a_file_of_matrices_is_the_beam_it_was_made_from(tmp_path):
    K, M, nodes = matrices()
    mmwrite(tmp_path / "k.mtx", K)
    mmwrite(tmp_path / "m.mtx", M)
    np.savetxt(tmp_path / "nodes.csv", nodes, delimiter=",", header="x,y,z", comments="")
    link = read_finite_elements(tmp_path / "k.mtx", tmp_path / "m.mtx", tmp_path / "nodes.csv")
    assert link.mass == pytest.approx(2700 * 0.012 * 0.02 * LENGTH)
    # all inner unknowns kept: nothing is lost but the choice of coordinates
    whole = link.reduced([0], {"tip": [ELEMENTS]}, modes=6 * (ELEMENTS - 1))
    arms = [
        Dynamics(robot_of(modal=whole), compile="never"),
        Dynamics(robot_of(beam={**BAR, "lumped": LUMPED}), compile="never"),
    ]
    found, wanted = (modes(arm, locked=["bar"]).frequencies for arm in arms)
    np.testing.assert_allclose(found[:12], wanted[:12], rtol=SAME)
    q = np.zeros(arms[0].size)
    for left, right in zip(
        arms[0].mass_matrix(q)[:1, :1], arms[1].mass_matrix(np.zeros(arms[1].size))[:1, :1], strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=SAME)


def test_few_modes_are_enough_for_the_low_frequencies():
    K, M, nodes = matrices()
    link = finite_elements(K, M, nodes)
    few, whole = (
        modes(
            Dynamics(robot_of(modal=link.reduced([0], {"tip": [ELEMENTS]}, modes=k)), compile="never"), locked=["bar"]
        )
        for k in (4, 6 * (ELEMENTS - 1))
    )
    np.testing.assert_allclose(few.frequencies[:4], whole.frequencies[:4], rtol=1e-2)


def test_modes_of_a_reduction_are_orthogonal():
    """Exactly: rounding between them would make every mode act on every other."""
    K, M, nodes = matrices()
    link = finite_elements(K, M, nodes)
    data = link.reduced([0], {"tip": [ELEMENTS]}, modes=6)
    mass, stiffness = data.array("M_ee"), data.array("K_ee")
    for A in (mass, stiffness):
        assert np.count_nonzero(A[:6, :6]) == 6
    assert not stiffness[:6, 6:].any()
    np.testing.assert_allclose(np.diag(mass)[:6], link.mass, rtol=SAME)
    # what interfaces and modes have in common stays
    assert mass[:6, 6:].any()


def broken(K=None, M=None, nodes=None):
    given = matrices()
    return tuple(own if other is None else other for own, other in zip(given, (K, M, nodes), strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K, M, x: (K + csr_array(([1e3], ([0], [7])), shape=K.shape), M, x), r"not symmetric: entries \(1, 8\)"),
        (
            lambda K, M, x: (K + csr_array(([1e5], ([1], [1])), shape=K.shape), M, x),
            "resists a shift along y.*without supports",
        ),
        (lambda K, M, x: (K, M, x[:, [1, 0, 2]]), "resists a turn about"),
        (lambda K, M, x: (K[6:, 6:], M[6:, 6:], x), "36 wide and there are 7 nodes.*link is free"),
        (lambda K, M, x: (K, M * 0, x), "masses 0, 0, 0 kg"),
        (lambda K, M, x: (K, M + csr_array(([1.0], ([0], [0])), shape=M.shape), x), "a body has one mass"),
        (lambda K, M, x: (-K, M, x), "negative diagonal entry"),
        (lambda K, M, x: (K, M, x[:, :2]), "rows of three finite coordinates"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    with pytest.raises(ModelError, match=message):
        finite_elements(*change(*matrices()))


@pytest.mark.parametrize(
    ("root", "frames", "modes_", "message"),
    [
        ([0], {"end": [6]}, 2, "a link needs the frame tip"),
        ([0], {"tip": [9]}, 2, "among 0 to 6"),
        ([0], {"tip": [0]}, 2, "shares node 0 with frame 'root'"),
        ([0], {"tip": [6]}, 99, "30 inner unknowns"),
    ],
)
def test_frames_that_do_not_fit_are_named(root, frames, modes_, message):
    link = finite_elements(*matrices())
    with pytest.raises(ModelError, match=message):
        link.reduced(root, frames, modes_)


def test_a_file_that_is_no_matrix_is_named(tmp_path):
    (tmp_path / "k.mtx").write_text("1 2 3\n")
    with pytest.raises(ModelError, match=r"k.mtx.*no Matrix Market file"):
        read_finite_elements(tmp_path / "k.mtx", tmp_path / "k.mtx", tmp_path / "k.mtx")


@pytest.mark.parametrize(("word", "family"), [("dx", "axial"), ("dy", "bend_y")])
def test_a_deformed_link_has_the_inertia_of_the_deformed_beam(word, family):
    """Integrals of first and second order in the shapes: the hub feels where the mass has gone."""
    K, M, nodes = matrices()
    data = finite_elements(K, M, nodes).reduced([0], {"tip": [ELEMENTS]}, modes=0)
    outside = Dynamics(robot_of(modal=data), compile="never")
    # matrices from outside know no foreshortening
    inside = Dynamics(robot_of(beam={**BAR, "lumped": LUMPED, "bending": "linear"}), compile="never")
    size = 0.05
    q = np.zeros(outside.size)
    q[outside.names.index(f"bar.tip.{word}")] = size
    # the same static shape in the coordinates of the lumped beam
    component = {"dx": 0, "dy": 1}[word]
    inner, tip = np.arange(6, 6 * ELEMENTS), 6 * ELEMENTS + component
    dense = K.toarray()
    u = np.zeros(6 * (ELEMENTS + 1))
    u[tip] = size
    u[inner] = -np.linalg.solve(dense[np.ix_(inner, inner)], dense[inner, tip] * size)
    shape = u.reshape(-1, 6)[1:]
    values = shape[:, 0] if family == "axial" else shape[:, [1, 5]].ravel()
    p = np.zeros(inside.size)
    first = inside.names.index(f"bar.{family}.1")
    p[first : first + len(values)] = values
    gained, wanted = (
        arm.mass_matrix(x)[0, 0] - arm.mass_matrix(0 * x)[0, 0] for arm, x in ((outside, q), (inside, p))
    )  # fmt: skip
    # turning half elements, which the lumped masses leave out, are a small part of it
    assert gained == pytest.approx(wanted, rel=0.05)


EXAMPLE = Path(__file__).parents[2] / "examples" / "05_lattice_arm.yaml"
GIRDER = 5e-3
"""Four modes and the interfaces of two frames, beside all 84 unknowns of the girder."""


@pytest.fixture(scope="module")
def girder():
    """K, M and nodes of the example."""
    spec = importlib.util.spec_from_file_location("lattice", EXAMPLE.with_suffix(".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def arm():
    return load(EXAMPLE)


def test_a_robot_file_names_the_matrices(girder, arm, tmp_path):
    """The clamped girder vibrates as the whole mesh does; what is read is modal data that need no file."""
    K, M, _ = girder.matrices()
    body = build_body(arm.link("girder"), arm)
    exact = np.sqrt(eigh(K[12:, 12:], M[12:, 12:], eigvals_only=True)[:3])
    np.testing.assert_allclose(frequencies(body)[:3], exact, rtol=GIRDER)
    assert arm.link("girder").fe is None
    arm.save(tmp_path / "arm.yaml")
    assert load(tmp_path / "arm.yaml") == arm


def test_the_files_of_the_example_are_what_its_script_writes(girder, tmp_path):
    girder.write(tmp_path)
    for name in ("stiffness.mtx", "mass.mtx"):
        kept, written = (
            mmread(folder / name, spmatrix=False).toarray() for folder in (EXAMPLE.with_suffix(""), tmp_path)
        )
        # where stiff bars cancel, an entry is the rounding of what belongs to its two unknowns
        scale = np.sqrt(np.outer(kept.diagonal(), kept.diagonal()))
        np.testing.assert_allclose(written / scale, kept / scale, rtol=0, atol=WRITTEN)


@pytest.mark.parametrize(("method", "error"), [("dense", 1e-9), ("dual_screw", 1e-4)])
def test_such_a_link_serves_the_other_methods(arm, method, error):
    """Exact ones to rounding, the linearised one to the square of the displacements."""
    q, v = 1e-5 * np.random.default_rng(1).normal(size=(2, 22))
    right, found = (Dynamics(arm, method=each, compile="never").forces(q, v, v) for each in ("recursive", method))
    np.testing.assert_allclose(found, right, atol=error * np.abs(right).max())


def test_damping_of_the_modes_of_such_a_link(arm):
    modal = arm.link("girder").modal
    M, K, D = (modal.array(key) for key in ("M_ee", "K_ee", "D_ee"))
    squares, V = eigh(K, M)
    np.testing.assert_allclose(np.diag(V.T @ D @ V), 0.02 * np.sqrt(squares), rtol=1e-8)


def test_a_mesh_that_hangs_on_nothing_is_refused(girder):
    """One node more, which no element holds; and a turn that nothing resists."""
    K, M, nodes = girder.matrices()
    wide = [block_diag(A, np.eye(6) * own) for A, own in ((K, 0.0), (M, 1.0))]
    link = finite_elements(*wide, np.vstack([nodes, [0.3, 0.4, 0.0]]))
    with pytest.raises(ModelError, match="leaves node 14 loose"):
        link.reduced([0, 1], {"tip": [12, 13]}, 2)
