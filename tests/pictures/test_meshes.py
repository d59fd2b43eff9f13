"""Meshes of links in drawings: three formats read the same, what cannot be read is told, pictures show them."""

import struct

import numpy as np
import pytest

import pliant
from pliant.model.description.placement import Cylinder, Visual
from pliant.pictures import meshes
from pliant.pictures.drawing import robot_figure
from pliant.pictures.meshes import MeshWarning, link_triangles, visual_triangles
from pliant.pictures.robot_solids import RobotSolids

# a wedge: two sides that share an edge, one of them a quadrilateral in formats that have such
POINTS = np.array([[0, 0, 0], [0.2, 0, 0], [0.2, 0.1, 0], [0, 0.1, 0], [0, 0, 0.3]])
TRIANGLES = POINTS[[[0, 1, 2], [0, 2, 3], [0, 1, 4]]]
SINGLE = 1e-7
"""Rounding of single precision, in which binary STL files hold lengths."""


def binary_stl(folder):
    rows = b"".join(struct.pack("<12fH", *np.zeros(3), *t.ravel(), 0) for t in TRIANGLES)
    return write(folder / "wedge.STL", b"made by a test".ljust(80) + struct.pack("<I", 3) + rows)


def text_stl(folder):
    lines = ["solid wedge"]
    for triangle in TRIANGLES:
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in triangle), "endloop"]
        lines.append("endfacet")
    return write(folder / "wedge.stl", "\n".join([*lines, "endsolid wedge"]).encode())


def obj(folder):
    lines = [f"v {x} {y} {z}" for x, y, z in POINTS] + ["vn 0 0 1", "f 1/1/1 2//1 3 4", "f -5 -4 -1"]
    return write(folder / "wedge.obj", "\n".join(lines).encode())


def collada(folder):
    # half the size in inches, put right by the unit and the scene
    numbers = " ".join(str(x / 2 / 0.0254) for x in POINTS.ravel())
    text = f"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><asset><unit meter="0.0254"/></asset>
    <library_geometries><geometry id="g"><mesh>
      <source id="p"><float_array id="a" count="15">{numbers}</float_array></source>
      <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
      <polylist count="2"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" offset="1"/>
        <vcount>4 3</vcount><p>0 0 1 0 2 0 3 0 0 0 1 0 4 0</p></polylist>
    </mesh></geometry></library_geometries>
    <library_visual_scenes><visual_scene id="s"><node><matrix>2 0 0 0 0 2 0 0 0 0 2 0 0 0 0 1</matrix>
      <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>"""
    return write(folder / "wedge.dae", text.encode())


def write(path, content):
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize("make", [binary_stl, text_stl, obj, collada])
def test_formats_read_the_same(make, tmp_path):
    visual = Visual(mesh=make(tmp_path), scale=(1, 2, 1), position=(0.5, 0, 0), rotation=[{"z": np.pi / 2}])
    x, y, z = np.moveaxis(TRIANGLES, -1, 0)
    expected = np.stack([0.5 - 2 * y, x, z], axis=-1)
    np.testing.assert_allclose(visual_triangles(visual), expected, atol=SINGLE)


def volume(triangles):
    return np.einsum("ni,ni->", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])) / 6


def test_simple_shapes_are_closed_and_of_their_size():
    """Their faces look outwards; a polygon of 24 corners has 1.1 % less area than its circle."""
    assert volume(visual_triangles(Visual(box=(0.1, 0.2, 0.3)))) == pytest.approx(0.006)
    round_one = visual_triangles(Visual(cylinder=Cylinder(radius=0.1, length=0.4)))
    assert volume(round_one) == pytest.approx(np.pi * 0.01 * 0.4, rel=0.012)
    assert volume(visual_triangles(Visual(sphere=0.2))) == pytest.approx(4 / 3 * np.pi * 0.008, rel=0.03)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.stl", b"short", "this is not an STL file, or it is cut short"),
        ("a.obj", b"f 1 2 3", "index"),
        ("a.obj", b"v 0 0 0\nf 1 1 99999999999999999999999", "index 99999999999999999999999; there are 1 points"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nf -1 -2 -3", "index 0; there are 2 points"),
        ("a.obj", b"v 0 0 0\nf 1 1 -9223372036854775809", "index"),
        ("a.dae", b"<COLLADA>", "no element found"),
        ("a.ply", b"ply", "only .stl, .obj, .dae are read"),
        (None, b"", "there is no such file"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_told(name, content, why, tmp_path):
    path = str(tmp_path / "missing.stl") if name is None else write(tmp_path / name, content)
    with pytest.warns(MeshWarning, match=why):
        assert len(visual_triangles(Visual(mesh=path))) == 0


def test_fine_meshes_are_made_coarser():
    fine = visual_triangles(Visual(sphere=0.2))
    coarse = meshes.coarser(fine, 200)
    assert 0 < len(coarse) <= 200 < len(fine)
    np.testing.assert_allclose(np.abs(coarse).max(axis=(0, 1)), 0.2, atol=0.06)


def test_a_drawing_shows_them(tmp_path):
    (tmp_path / "arm.urdf").write_text(
        f"""<robot name="r"><link name="ground"/><link name="arm"><inertial><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
        <visual><geometry><mesh filename="{obj(tmp_path)}"/></geometry></visual></link>
        <joint name="j" type="revolute"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    )
    robot = pliant.load(tmp_path / "arm.urdf")
    assert len(link_triangles(robot.link("arm"))) == 3
    # and so do solids, without bars in their place
    solids = RobotSolids(pliant.Dynamics(robot, compile="never")).solids
    assert [(len(s.faces), s.link) for s in solids if s.kind in ("looks", "rigid")] == [(3, "arm")]
    figure = robot_figure(robot, tmp_path / "arm.png")
    faces = [each for each in figure.axes[0].collections if len(each.get_paths()) == 3]
    assert len(faces) == 1
