"""Matrices of Abaqus, CalculiX and Nastran: the same link as from Matrix Market files, and errors in words."""

import numpy as np
import pytest
from scipy.io import mmwrite

import fe_writers as write
from pliant import ModelError, load
from pliant.bodies.stress_data import StressData
from pliant.solid_mechanics.tetrahedra import Elastic, MeshedSolid
from solids import bar_mesh, end

STEEL = "{E: 210 GPa, nu: 0.3, density: 7800}"
ARM = "name: arm\nlinks:\n  - {name: bar, joint: {axis: z}, fe: {KEYS}}\n"
DIGITS = {"abaqus": 1e-9, "calculix": 1e-9, "nastran": 1e-6}
"""Of frequencies: what the digits of a format leave."""


@pytest.fixture(scope="module")
def solid():
    return MeshedSolid(bar_mesh((0.3, 0.03, 0.02), (3, 1, 1)), Elastic(210e9, 0.3, 7800.0))


@pytest.fixture(scope="module")
def folder(solid, tmp_path_factory):
    """All files of all programs; labels of nodes with gaps, unknowns of CalculiX in another order."""
    folder = tmp_path_factory.mktemp("fe")
    mesh = solid.mesh
    labels = 10 + 3 * np.arange(len(mesh.nodes))
    sets = {"ROOT": end(mesh, 0.0), "Tip": end(mesh, 0.3)}
    write.deck(folder / "link.inp", mesh, labels, sets)
    order = np.random.default_rng(0).permutation(3 * len(labels))
    write.dofs(folder / "link.dof", labels, order)
    write.bulk(folder / "link.bdf", mesh, labels)
    np.savetxt(folder / "nodes.csv", mesh.nodes, delimiter=",", fmt="%.17g")
    for A, abaqus, calculix, name in ((solid.K, "k.mtx", "link.sti", "k"), (solid.M, "m.mtx", "link.mas", "m")):
        write.abaqus(folder / abaqus, A, labels)
        write.calculix(folder / calculix, A, order)
        write.op4(folder / f"{name}.op4", A, sparse=name == "m")
        mmwrite(folder / f"{name}-market.mtx", A, precision=17)
    return folder


def numbers(mesh, x, labelled):
    nodes = end(mesh, x)
    return (10 + 3 * nodes if labelled else nodes).tolist()


def keys_of(program, own, **more):
    """The keys of a link of each program."""
    labelled = program != "matrix-market"
    files = {
        "matrix-market": "stiffness: k-market.mtx, mass: m-market.mtx, nodes: nodes.csv",
        "abaqus": "stiffness: k.mtx, mass: m.mtx, nodes: link.inp",
        "calculix": "stiffness: link.sti, mass: link.mas, nodes: link.inp, unknowns: link.dof",
        "nastran": "stiffness: k.op4, mass: m.op4, nodes: link.bdf",
    }[program]
    root, tip = (numbers(own, x, labelled) for x in (0.0, 0.3))
    if program in ("abaqus", "calculix"):
        root, tip = "ROOT", "tip"
    given = {"root": root, "frames": f"{{tip: {tip}}}", "modes": 4, **more}
    return f"program: {program}, {files}, " + ", ".join(f"{key}: {value}" for key, value in given.items())


def link_of(folder, keys):
    (folder / "arm.yaml").write_text(ARM.replace("KEYS", keys))
    return load(folder / "arm.yaml").link("bar").modal


@pytest.mark.parametrize("program", ["abaqus", "calculix", "nastran"])
def test_every_program_gives_the_same_link(folder, solid, program):
    found, wanted = (link_of(folder, keys_of(name, solid.mesh)) for name in (program, "matrix-market"))
    assert found.mass == pytest.approx(wanted.mass, rel=DIGITS[program])
    for key in ("K_ee", "M_ee"):
        A, B = found.array(key), wanted.array(key)
        scale = np.sqrt(np.outer(np.diag(B), np.diag(B)))
        # signs of modes are free
        np.testing.assert_allclose(np.abs(A / scale), np.abs(B / scale), atol=1e4 * DIGITS[program])
        np.testing.assert_allclose(np.diag(A), np.diag(B), rtol=1e2 * DIGITS[program])


@pytest.mark.parametrize(
    ("program", "mesh"), [("abaqus", "link.inp"), ("nastran", "link.bdf"), ("matrix-market", "link.inp")]
)
def test_a_mesh_brings_second_order_and_stress(folder, solid, program, mesh, monkeypatch, tmp_path):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    keys = keys_of(program, solid.mesh, mesh=mesh, material=STEEL)
    found = link_of(folder, keys)
    assert found.shortens
    assert found.size == 10
    assert StressData.load(found.stress).size == 10
    # along the bar, by the first mode: -int w'^2 of a cantilever with unit modal mass
    assert found.array("Gamma_first")[0, 0, 0] < 0
    assert not link_of(folder, f"{keys}, bending: linear").shortens


def test_origins_of_frames_are_given(folder, solid):
    found = link_of(folder, keys_of("abaqus", solid.mesh, origins="{tip: [310 mm, 0, 0]}"))
    np.testing.assert_allclose(found.frames["tip"].position, [0.31, 0, 0])


@pytest.mark.parametrize(
    ("program", "keys", "message"),
    [
        ("abaqus", {"root": "BASE"}, "root is 'BASE', which is no node set of the deck; it has ROOT, TIP"),
        ("abaqus", {"root": [11, 12]}, "has node 11, which the deck does not have"),
        ("matrix-market", {"root": "ROOT"}, "of Matrix Market files give numbers of nodes"),
        ("abaqus", {"mesh": "link.inp"}, "material is not given, but mesh is"),
        ("abaqus", {"mesh": "link.inp", "material": "aluminium"}, "gives the mesh .* kg, the mass matrix has"),
        ("abaqus", {"mesh": "link.inp", "material": "{E: 100 GPa, nu: 0.3, density: 7800}"}, "0.476 times as stiff"),
        ("abaqus", {"unknowns": "link.dof"}, "abaqus needs no such file"),
        ("abaqus", {"origins": "{hand: [0, 0, 0]}"}, "name the frame 'hand'"),
        ("nastran", {"mesh": "k.mtx", "material": STEEL}, "mesh.*has no \\*NODE"),
    ],
)
def test_wrong_keys_are_named(folder, solid, program, keys, message):
    with pytest.raises(ModelError, match=message):
        link_of(folder, keys_of(program, solid.mesh, **keys))


@pytest.mark.parametrize(
    ("program", "file", "old", "new", "message"),
    [
        ("abaqus", "k.mtx", "\n", "\n-1,1, 10,1, 2.0\n", "internal node -1 in row 2"),
        ("abaqus", "k.mtx", "\n", "\n10,1, 11,1, 2.0\n", "has node 11, which the deck"),
        ("abaqus", "k.mtx", "\n", "\n10,7, 10,1, 2.0\n", "direction that is not 1 to 6 in row 2"),
        ("abaqus", "k.mtx", "\n", "\n10,1, 10, 2.0\n", "in row 2; it must be 5 numbers"),
        ("abaqus", "link.inp", "*NODE, NSET=ALL\n", "*NODE, NSET=ALL\n5, 1.0, 2.0\n", "has '5, 1.0, 2.0' in line 5"),
        ("calculix", "link.dof", ".1\n", "\n", "it must be node.direction"),
        ("calculix", "link.dof", "", None, "misses 1 of .* unknowns, as direction . of node .* holds them"),
        ("calculix", "link.sti", "\n", "\n1 9999 2.0\n", r"has the entry \(1, 9999\) in row 2"),
        ("nastran", "k.op4", "1P,5E16.9\n", "1P,5E16.9\n  x.1\n", "in line 2, which is no row"),
        ("nastran", "link.bdf", "GRID,13,,", "GRID,13,2,", "coordinate system 2 in line"),
        ("nastran", "k.op4", "", "\0", "binary OUTPUT4"),
    ],
)
def test_wrong_files_are_named(folder, solid, tmp_path, program, file, old, new, message):
    for each in folder.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    text = (tmp_path / file).read_text()
    if new is None:
        text = text[text.index("\n") + 1 :]
    elif new == "\0":
        text = "\0" + text
    else:
        text = text.replace(old, new, 1)
    (tmp_path / file).write_text(text)
    with pytest.raises(ModelError, match=message):
        link_of(tmp_path, keys_of(program, solid.mesh))
