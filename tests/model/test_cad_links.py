"""Links from STEP and STL files: faces, mass, frames, errors in words, and a run of a robot that has them."""

import numpy as np
import pytest

pytest.importorskip("netgen")

from cad_parts import box_triangles, drilled_bar
from pliant import Joint, Link, ModelError, Robot, body, load, simulate
from pliant.bodies.stress_data import StressData
from pliant.solid_mechanics.cad_geometry import read_part
from pliant.solid_mechanics.stl_file import write_stl

COARSE = 0.012
SIZE = np.array([0.2, 0.03, 0.02])
VOLUME = SIZE.prod() - np.pi * 0.006**2 * 0.02
ALUMINIUM = 2700.0
BENDING = 3.5160 / (2 * np.pi) * np.sqrt(70e9 * 0.02**2 / 12 / ALUMINIUM) / 0.2**2
"""First frequency of a slender cantilever of that size, Hz."""


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    return drilled_bar(tmp_path_factory.mktemp("cad") / "bar.step", name="end")


@pytest.fixture(scope="module")
def made(step):
    return body(step, root="x=0", tip="end", frames={"hole": "cylinder r=6mm"}, maxh=COARSE)


@pytest.fixture(scope="module")
def meshed(step):
    """One mesh for all tests of words."""
    return read_part(step).meshed(COARSE)


def test_mass_frames_and_beam_theory(made):
    assert made.cad_mass == pytest.approx(ALUMINIUM * VOLUME, rel=1e-6)
    assert made.mass == pytest.approx(made.cad_mass, rel=1e-4)
    modal = made.modal
    np.testing.assert_allclose(modal.frames["tip"].position, [0.2, 0, 0], atol=1e-6)
    np.testing.assert_allclose(modal.frames["hole"].position, [0.1, 0, 0], atol=1e-5)
    assert made.frequencies[0] == pytest.approx(BENDING, rel=0.03)
    assert made.modal.names[:3] == ("bend_z.1", "bend_y.1", "bend_z.2")
    assert made.reduced.mesh_error[0] < 0.02
    assert made.reduced.truncation[:4].max() < 0.01


def test_faces_are_listed(meshed):
    words = {face.words: face.name for face in meshed.faces}
    assert words["plane x=200mm"] == "end"
    assert {"plane x=0mm", "plane y=15mm", "plane z=-10mm", "cylinder r=6mm axis=z"} <= set(words)


ARM = """
name: arm
links:
  - {name: bar, joint: {axis: y}, BODY}
  - {name: next, joint: {parent: bar.hole, axis: y}, rigid: {mass: 0.1}}
"""


UNIT = "I_rr: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n"


@pytest.fixture(scope="module")
def saved(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("link")
    made.save(folder / "bar.yaml")
    return folder


def arm_of(folder, text):
    (folder / "arm.yaml").write_text(ARM.replace("BODY", text))
    return load(folder / "arm.yaml")


def test_a_file_of_a_link_is_read_by_robots(made, saved):
    """The link of a file is the link that was made, in first and second order, with its stress."""
    found = arm_of(saved, "body: bar.yaml").link("bar").modal
    assert found.stress == str(saved / "bar.npz")
    stress = StressData.load(found.stress)
    assert stress.frames == ("tip", "hole")
    assert stress.size == made.modal.size
    assert found.with_changes(stress=None) == made.modal.with_changes(stress=None)
    linear = arm_of(saved, "body: {file: bar.yaml, bending: linear, damping: {ratio: 0.01}}").link("bar").modal
    assert not linear.shortens
    np.testing.assert_allclose(np.diag(linear.array("D_ee")), 0.02 * np.sqrt(np.diag(linear.array("K_ee"))), rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("body: bar2.yaml", r"line 4: links\[0\] 'bar': body is 'bar2.yaml'; there is no such file"),
        ("body: 3", "body is 3; it must be the name of a file"),
        ("body: bar.yaml, rigid: {mass: 1}", "give body or rigid, not both"),
        ("body: {file: bar.yaml, modes: 3}", "body has the key 'modes'"),
        ("body: wrong.yaml", r"wrong.yaml, line 2: .*M_ee"),
    ],
)
def test_wrong_files_of_links_are_named(saved, text, message):
    (saved / "wrong.yaml").write_text(
        "mass: 1\nM_ee: [[1, 2], [3, 4]]\nK_ee: [[1, 0], [0, 1]]\nframes: {tip: {}}\nI_rr: [[1,0,0],[0,1,0],[0,0,1]]\n"
    )
    with pytest.raises(ModelError, match=message):
        arm_of(saved, text)


def test_a_robot_names_a_cad_file(step, tmp_path, monkeypatch):
    """Made once, then taken from the cache by content; damping and bending need no new mesh."""
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bar.step").write_bytes(step.read_bytes())
    keys = "cad: {file: bar.step, root: x=0, frames: {tip: end, hole: cylinder r=6mm}, mesh: 12 mm, modes: 8"
    first = arm_of(tmp_path, f"{keys}}}").link("bar").modal
    assert first.size == 8
    assert StressData.load(first.stress).size == 8
    monkeypatch.setattr("pliant.model.readers.cad_links.read_part", None)
    again = arm_of(tmp_path, f"{keys}, bending: linear, damping: {{ratio: 0.02}}}}").link("bar").modal
    assert not again.shortens
    assert again.array("D_ee").any()
    np.testing.assert_array_equal(again.array("K_ee"), first.array("K_ee"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("file: bar.stp, root: x=0, frames: {tip: x=max}", "file is 'bar.stp'; there is no such file"),
        ("file: bar.step, root: x=0, frames: {end: x=max}", "has no frame 'tip'"),
        ("file: bar.step, root: x=1, frames: {tip: x=max}", "cad.root is x=1; plane faces across x are at 0, 200 mm"),
        ("file: bar.step, root: x=0, frames: {tip: x=1}", "frames.tip is x=1; plane faces"),
        ("file: bar.step, root: x=0, frames: {tip: x=max}, material: {E: 70 GPa, nu: 0.3}", "'density' is missing"),
        ("file: bar.step, root: x=0, frames: {tip: x=max}, below: 3 kg", "below"),
    ],
)
def test_wrong_keys_of_cad_links_are_named(step, tmp_path, monkeypatch, meshed, keys, message):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pliant.solid_mechanics.cad_geometry.CadPart.meshed", lambda part, maxh=None: meshed)
    (tmp_path / "bar.step").write_bytes(step.read_bytes())
    with pytest.raises(ModelError, match=message):
        arm_of(tmp_path, f"cad: {{{keys}}}")


def test_frames_that_follow_their_faces(step):
    """Soft frames leave the face free: lower frequencies, the same frames."""
    rigid, average = (
        body(step, root="x=0", tip="x=max@0.2,0,0", maxh=COARSE, modes=8, interface=kind)
        for kind in ("rigid", "average")
    )
    assert (average.frequencies[:4] <= rigid.frequencies[:4] * (1 + 1e-3)).all()
    np.testing.assert_allclose(average.frequencies[:4], rigid.frequencies[:4], rtol=0.02)


def test_the_origin_of_a_link_may_be_its_root(step, monkeypatch, meshed):
    monkeypatch.setattr("pliant.solid_mechanics.cad_geometry.CadPart.meshed", lambda part, maxh=None: meshed)
    moved = body(step, root="x=200mm", tip="x=0", maxh=COARSE, modes=8, origin="root")
    np.testing.assert_allclose(moved.modal.frames["tip"].position, [-0.2, 0, 0], atol=1e-6)


def test_units_of_a_step_file_are_read(step, tmp_path):
    """The same numbers declared as metres are a part a thousand times as long."""
    text = step.read_text()
    assert "SI_UNIT(.MILLI.,.METRE.)" in text
    (tmp_path / "large.step").write_text(text.replace("SI_UNIT(.MILLI.,.METRE.)", "SI_UNIT($,.METRE.)"))
    assert read_part(tmp_path / "large.step").volume == pytest.approx(1e9 * VOLUME, rel=1e-6)


def test_surfaces_of_triangles(tmp_path):
    for name, unit, size in (("box.stl", "mm", 1e3 * SIZE), ("inch.stl", "in", SIZE / 0.0254)):
        write_stl(tmp_path / name, box_triangles(size))
        made = body(tmp_path / name, root="x=min", tip="x=max", maxh=0.03, modes=4, unit=unit)
        assert made.mass == pytest.approx(ALUMINIUM * SIZE.prod(), rel=1e-6)
        assert made.frequencies[0] == pytest.approx(BENDING, rel=0.03)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"tip": "x=210mm"}, r"frame 'tip': is x=210mm; plane faces across x are at 0, 200 mm, none at 210"),
        ({"tip": "#99"}, "is face #99; the part has the faces 1, 2"),
        ({"tip": "rim"}, "'rim', which is no face of the part; its names are end"),
        ({"tip": "cylinder r=9mm"}, r"the part's cylinders are #\d cylinder r=6mm axis=z"),
        ({"tip": "x=2kg"}, "'2kg' is no length"),
        ({"tip": "x=0"}, "frame 'tip': is the root's own face"),
        ({"material": {"E": 70e9, "nu": 0.3}}, "'density' is missing"),
        ({"material": {"E": 70e9, "density": 2700}}, "needs nu or G"),
        ({"material": "unobtainium"}, "'unobtainium' is not known"),
        ({"modes": 3, "below": 100.0}, "give one of them"),
        ({"below": 1.0}, "the link's first mode is at"),
        ({"frames": {"root": "x=0"}}, "name a frame 'root'"),
        ({"unit": "kg"}, "unit of length"),
    ],
)
def test_wrong_input_is_named(step, keys, message, monkeypatch, meshed):
    monkeypatch.setattr("pliant.solid_mechanics.cad_geometry.CadPart.meshed", lambda part, maxh=None: meshed)
    with pytest.raises(ModelError, match=message):
        body(step, **{"root": "x=0", "tip": "x=max", **keys})


def test_an_open_surface_is_named(tmp_path):
    triangles = box_triangles()
    write_stl(tmp_path / "open.stl", triangles[1:])
    with pytest.raises(ModelError, match=r"open.stl: is no closed surface: 3 edges .* has one triangle"):
        body(tmp_path / "open.stl", root="x=min", tip="x=max")
    write_stl(tmp_path / "fin.stl", np.concatenate([triangles, triangles[:1] * [1, 1, 2]]))
    with pytest.raises(ModelError, match="no closed surface"):
        body(tmp_path / "fin.stl", root="x=min", tip="x=max")
    write_stl(tmp_path / "inside.stl", triangles[:, ::-1])
    with pytest.raises(ModelError, match="face inwards"):
        body(tmp_path / "inside.stl", root="x=min", tip="x=max")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.step", b"no step file", "cannot be read as a STEP file|has 0 solids"),
        ("a.stl", b"nothing", "not an STL file"),
        ("a.dwg", b"", "ends in '.dwg'"),
    ],
)
def test_what_is_no_cad_file_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=message):
        body(tmp_path / name, root="x=0", tip="x=1")
    with pytest.raises(ModelError, match="no such file"):
        body(tmp_path / "missing.step", root="x=0", tip="x=1")


def test_two_solids_are_no_link(tmp_path):
    from netgen.occ import Box, Compound, Pnt

    parts = Compound([Box(Pnt(0, 0, 0), Pnt(10, 10, 10)), Box(Pnt(20, 0, 0), Pnt(30, 10, 10))])
    parts.WriteStep(str(tmp_path / "two.step"))
    with pytest.raises(ModelError, match="has 2 solids; a link is one"):
        body(tmp_path / "two.step", root="x=0", tip="x=0.03")


def test_without_the_mesher_the_message_says_what_to_install(step, monkeypatch):
    import sys

    for name in [n for n in sys.modules if n.partition(".")[0] == "netgen"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "netgen", None)
    with pytest.raises(ModuleNotFoundError, match="pip install netgen-mesher"):
        body(step, root="x=0", tip="x=max")


def test_a_two_link_arm_falls_and_keeps_its_energy(step):
    """Links of a CAD file that bend to second order, and a joint on the tip: the balance closes at each tolerance."""
    modal = body(step, root="x=0", tip="end", maxh=0.05, modes=8).modal
    links = [
        Link(name="upper", joint=Joint(axis="y"), modal=modal),
        Link(name="lower", joint=Joint(parent="upper.tip", axis="y"), modal=modal),
    ]
    run = simulate(Robot(name="arm", links=links), until=0.02, tolerance=1e-11, method="dop853", limits="ignore")
    moved = np.ptp(run["energy.kinetic"])
    assert np.abs(run["energy.balance"]).max() < 1e-9 * moved
