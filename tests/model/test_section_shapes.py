"""Sections by their outline: against closed forms, printed factors and thin-walled theory, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest

from pliant.model import (
    AngleProfile,
    Beam,
    Box,
    ChannelProfile,
    CProfile,
    Ellipse,
    ModelError,
    Polygon,
    Rectangle,
    Round,
    Segment,
    Tube,
    ZProfile,
)
from pliant.model.readers.library import read_text

ROUNDING = 1e-12
# what the finite elements promise for torsion and shear
SOLVED = 1e-3
KEYS = ("A", "Iy", "Iz", "J", "ky", "kz")


def circle(radius, n=64):
    """A polygon with the area of a circle."""
    angle = 2 * np.pi * np.arange(n) / n
    radius *= np.sqrt(2 * np.pi / n / np.sin(2 * np.pi / n))
    return [(radius * np.cos(a), radius * np.sin(a)) for a in angle]


def rectangle(width, height, y=0.0, z=0.0):
    return [(y + a * width / 2, z + b * height / 2) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def turned(points, angle):
    c, s = np.cos(angle), np.sin(angle)
    return [(c * y - s * z, s * y + c * z) for y, z in points]


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize(
    ("polygon", "known"),
    [
        (Polygon(points=rectangle(0.01, 0.03)), Rectangle(width=0.01, height=0.03)),
        (Polygon(points=rectangle(0.01, 0.03, y=1.0, z=-2.0)), Rectangle(width=0.01, height=0.03)),
        (Polygon(points=turned(rectangle(0.01, 0.03), 0.3), principal=True), Rectangle(width=0.01, height=0.03)),
        (Polygon(points=circle(0.02)), Round(diameter=0.04)),
        (Polygon(points=[(2 * y, z) for y, z in circle(0.02)]), Ellipse(width=0.08, height=0.04)),
        (Polygon(points=circle(0.02), holes=[circle(0.015)]), Tube(outer=0.04, inner=0.03)),
        (Ellipse(width=0.02, height=0.02), Round(diameter=0.02)),
    ],
    ids=["rectangle", "elsewhere", "turned", "circle", "ellipse", "ring", "round ellipse"],
)
def test_polygons_of_known_shapes(polygon, known):
    for key in KEYS:
        assert getattr(polygon, key) == pytest.approx(getattr(known, key), rel=3 * SOLVED), key


def test_an_equilateral_triangle():
    """Saint-Venant's closed form, J = sqrt(3) a^4 / 80; both directions alike."""
    triangle = Polygon(points=[(0, 0), (0.1, 0), (0.05, 0.05 * np.sqrt(3))])
    assert pytest.approx(np.sqrt(3) * 0.1**4 / 80, rel=SOLVED) == triangle.J
    assert triangle.Iy == pytest.approx(triangle.Iz, rel=1e-9)
    assert triangle.Iy == pytest.approx(np.sqrt(3) * 0.1**4 / 96, rel=ROUNDING)
    assert triangle.ky == pytest.approx(triangle.kz, rel=SOLVED)


@pytest.mark.parametrize(("corners", "factor"), [(6, 0.133), (8, 0.130)])
def test_torsion_of_a_regular_polygon(corners, factor):
    """Printed factors of A d^2 (d: inscribed circle), Timoshenko & Goodier, Theory of Elasticity, section 109."""
    angle = 2 * np.pi * (np.arange(corners) + 0.5) / corners
    polygon = Polygon(points=np.column_stack([np.cos(angle), np.sin(angle)]).tolist())
    d = 2 * np.cos(np.pi / corners)
    assert polygon.J / (polygon.A * d**2) == pytest.approx(factor, abs=6e-4)


def test_torsion_of_a_right_triangle():
    """0.0261 a^4, as printed for the isosceles right triangle (Young & Budynas, Roark's Formulas)."""
    triangle = Polygon(points=[(0, 0), (1, 0), (0, 1)], principal=True)
    assert pytest.approx(0.0261, abs=5e-5) == triangle.J
    assert abs(np.degrees(triangle.turn)) == pytest.approx(45, rel=1e-9)
    # second moments about the axes of symmetry: a^4/24 and a^4/72
    assert sorted([triangle.Iy, triangle.Iz]) == pytest.approx([1 / 72, 1 / 24], rel=1e-9)


# ---------------------------------------------------------------- thin walls


def test_a_thin_box():
    """Bredt's formula; and Cowper's thin-walled square tube, k = 20/48 without Poisson's ratio."""
    t = 1e-3
    box = Box(width=0.1, height=0.2, thickness=t)
    w, h = 0.1 - t, 0.2 - t
    assert pytest.approx(2 * t * w**2 * h**2 / (w + h), rel=5e-3) == box.J
    square = Box(width=0.1, height=0.1, thickness=t / 2)
    assert (square.ky, square.kz) == pytest.approx((20 / 48, 20 / 48), rel=5e-3)
    assert pytest.approx(0.1 * 0.2 - (0.1 - 2 * t) * (0.2 - 2 * t), rel=ROUNDING) == box.A
    assert box.Iy == pytest.approx((0.1 * 0.2**3 - (0.1 - 2 * t) * (0.2 - 2 * t) ** 3) / 12, rel=ROUNDING)


def test_a_box_of_thick_walls_is_nearly_solid():
    box, solid = Box(width=0.02, height=0.03, thickness=0.0099), Rectangle(width=0.02, height=0.03)
    # the slit that is left lies along z: a force along y has to go around it
    for key in ("A", "Iy", "Iz", "J", "kz"):
        assert getattr(box, key) == pytest.approx(getattr(solid, key), rel=5e-3), key
    assert box.ky < 0.9 * solid.ky


def thin_walled(path, t):
    """A, second moments (2, 2), J and shear flexibility of an open line of walls, by integrals along it."""
    points = []
    for p, q in pairwise(path):
        s = (np.arange(2000) + 0.5)[:, None] / 2000
        points.append((np.array(p) + (np.array(q) - np.array(p)) * s, np.linalg.norm(np.array(q) - np.array(p)) / 2000))
    r = np.vstack([part for part, _ in points])
    ds = np.concatenate([np.full(2000, step) for _, step in points])
    A = t * ds.sum()
    r = r - (r * ds[:, None]).sum(axis=0) * t / A
    S = t * np.einsum("i,ia,ib->ab", ds, r, r)
    # shear flow of a unit force: -S^-1 times the first moment up to s
    Q = t * np.cumsum(r * ds[:, None], axis=0) @ np.linalg.inv(S)
    flexibility = np.einsum("i,ia,ib->ab", ds, Q, Q) / t
    return A, S, t**3 / 3 * ds.sum(), flexibility


T = 0.001
PROFILES = {
    "channel": (
        ChannelProfile(width=0.05, height=0.1, flange=T, web=T),
        [(0.05 - T / 2, 0), (0, 0), (0, 0.1 - T), (0.05 - T / 2, 0.1 - T)],
    ),
    "angle": (AngleProfile(width=0.05, height=0.08, thickness=T), [(0.05 - T / 2, 0), (0, 0), (0, 0.08 - T / 2)]),
    "c": (
        CProfile(width=0.05, height=0.1, lip=0.015, thickness=T),
        [
            (0.05 - T, 0.015 - T / 2),
            (0.05 - T, 0),
            (0, 0),
            (0, 0.1 - T),
            (0.05 - T, 0.1 - T),
            (0.05 - T, 0.085 - T / 2),
        ],
    ),
    "z": (
        ZProfile(width=0.05, height=0.1, thickness=T),
        [(-0.05 + T / 2, 0), (0, 0), (0, 0.1 - T), (0.05 - T / 2, 0.1 - T)],
    ),
}


@pytest.mark.parametrize(("section", "path"), PROFILES.values(), ids=PROFILES)
def test_thin_profiles(section, path):
    """Corners are counted once too much or too little: a few thicknesses in the length of the walls."""
    A, S, J, flexibility = thin_walled(path, T)
    R = np.array([[np.cos(section.turn), -np.sin(section.turn)], [np.sin(section.turn), np.cos(section.turn)]])
    S, flexibility = R @ S @ R.T, R @ flexibility @ R.T
    assert S[0, 1] == pytest.approx(0.0, abs=2e-3 * np.trace(S))
    corner = 0.03
    assert pytest.approx(A, rel=corner) == section.A
    assert (section.Iz, section.Iy) == pytest.approx((S[0, 0], S[1, 1]), rel=corner)
    assert pytest.approx(J, rel=corner) == section.J
    assert (1 / section.ky, 1 / section.kz) == pytest.approx((A * flexibility[0, 0], A * flexibility[1, 1]), rel=corner)


def test_a_rolled_angle():
    """L 50 x 50 x 5 of EN 10056-1: A 4.80 cm^2, principal moments 17.4 and 4.55 cm^4; its toes are rounded."""
    angle = AngleProfile(width=0.05, height=0.05, thickness=0.005)
    assert pytest.approx(4.80e-4, rel=0.02) == angle.A
    assert sorted([angle.Iy, angle.Iz]) == pytest.approx([4.55e-8, 17.4e-8], rel=0.03)
    assert abs(np.degrees(angle.turn)) == pytest.approx(45, rel=1e-9)


# ---------------------------------------------------------------- scaling and tapers

EVERY = {
    "box": Box(width=0.04, height=0.06, thickness=0.003),
    "ellipse": Ellipse(width=0.04, height=0.06),
    "channel": ChannelProfile(width=0.04, height=0.06, flange=0.004, web=0.003),
    "angle": AngleProfile(width=0.04, height=0.06, thickness=0.004),
    "c_profile": CProfile(width=0.04, height=0.06, lip=0.012, thickness=0.002),
    "z_profile": ZProfile(width=0.04, height=0.06, thickness=0.003),
    "polygon": Polygon(points=rectangle(0.03, 0.05)),
}


@pytest.mark.parametrize("section", EVERY.values(), ids=EVERY)
def test_unit_scaling(section):
    large = type(section)(**{k: (1000 * np.array(v)).tolist() for k, v in section.given().items()})
    for key, power in zip(KEYS, (2, 4, 4, 4, 0, 0), strict=True):
        assert getattr(large, key) == pytest.approx(1000**power * getattr(section, key), rel=1e-9)


@pytest.mark.parametrize("section", EVERY.values(), ids=EVERY)
def test_a_similar_taper_scales(section):
    """All dimensions shrink alike: areas by the square, moments by the fourth power, at every place."""
    small = type(section)(**{k: (0.5 * np.array(v)).tolist() for k, v in section.given().items()})
    s = np.array([0.0, 0.3, 0.77, 1.0])
    along = section.constants(small, s)
    for key, power in zip(KEYS, (2, 4, 4, 4, 0, 0), strict=True):
        expected = getattr(section, key) * (1 - s / 2) ** power
        np.testing.assert_allclose(getattr(along, key), expected, rtol=1e-9)


def test_a_tapered_box():
    """Only the height changes: area and second moments by their own formulas, torsion and shear by solved sections."""
    root, tip = Box(width=0.04, height=0.08, thickness=0.003), Box(width=0.04, height=0.03, thickness=0.003)
    s = np.array([0.13, 0.5, 0.81])
    along = root.constants(tip, s)
    for k, t in enumerate(s):
        here = Box(width=0.04, height=0.08 - 0.05 * t, thickness=0.003)
        for key in KEYS:
            assert getattr(along, key)[k] == pytest.approx(getattr(here, key), rel=SOLVED), (key, t)
    part = Segment(length=0.5, section=root, taper_to=tip, material="steel")
    assert Beam(segments=[part]).mass == pytest.approx(7850 * 0.5 * (root.A + tip.A) / 2, rel=0.01)


def test_sections_are_read_from_files_and_written():
    sections = [
        "box: {width: 40 mm, height: 60 mm, thickness: 3 mm}",
        "ellipse: {width: 40 mm, height: 60 mm}",
        "channel: {width: 40 mm, height: 60 mm, flange: 4 mm, web: 3 mm}",
        "angle: {width: 40 mm, height: 60 mm, thickness: 3 mm}",
        "c_profile: {width: 40 mm, height: 60 mm, lip: 12 mm, thickness: 2 mm}",
        "z_profile: {width: 40 mm, height: 60 mm, thickness: 2 mm}",
        "polygon: {points: [[0, 0], [30 mm, 0], [30 mm, 50 mm], [0, 50 mm]], "
        "holes: [[[10 mm, 10 mm], [20 mm, 10 mm], [20 mm, 40 mm], [10 mm, 40 mm]]]}",
    ]
    links = "".join(
        f"  - {{name: l{i}, joint: {{}}, beam: {{length: 1, material: steel, section: {{{text}}}, "
        "elements: {number: 1, bend_y: true, timoshenko: true, torsion: true}}}\n"
        for i, text in enumerate(sections)
    )
    robot = read_text(f"name: arm\nlinks:\n{links}")
    assert read_text(robot.to_yaml()) == robot
    assert [link.beam.section.kind for link in robot.links] == [text.partition(":")[0] for text in sections]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Box(width=0.02, height=0.03, thickness=0.01),
            "thickness is 0.01 m; it must be less than half the",
        ),
        (
            lambda: ChannelProfile(width=0.02, height=0.03, flange=0.02, web=0.001),
            "flange is 0.02 m; it must be less",
        ),
        (
            lambda: ChannelProfile(width=0.02, height=0.03, flange=0.002, web=0.02),
            "web is 0.02 m; it must be less",
        ),
        (lambda: AngleProfile(width=0.02, height=0.03, thickness=0.02), "must be less than the width 0.02 m"),
        (lambda: CProfile(width=0.02, height=0.03, lip=0.02, thickness=0.001), "lip is 0.02 m; it must be less than h"),
        (lambda: ZProfile(width=0.02, height=0.03, thickness=0.02), "must be less than half the height"),
        (lambda: Polygon(points=[(0, 0), (1, 0)]), "give 3 to 200 different points"),
        (lambda: Polygon(points=[(0, 0), (1, 0), (0, 0)]), "give 3 to 200 different points"),
        (lambda: Polygon(points=[(0, 0), (1, 1), (1, 0), (0, 1)]), "its lines cross at"),
        (lambda: Polygon(points=rectangle(1, 1), holes=[rectangle(1, 1, 3)]), "holes must lie inside the outline"),
        (lambda: Polygon(points=rectangle(1, 1), holes=[rectangle(0.5, 2)]), "holes must lie inside the outline"),
        (lambda: Polygon(points=turned(rectangle(1, 2), 0.3)), "turn the points by -17.1887 deg about x, or write pri"),
        (lambda: Polygon(points=[(0,), (1, 0), (1, 1)]), "it must be a list of 2 numbers"),
    ],
)
def test_impossible_outlines(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_a_taper_between_different_polygons():
    root, tip = Polygon(points=rectangle(1, 2)), Polygon(points=circle(0.5, 8))
    with pytest.raises(ModelError, match="the same number of points"):
        root.constants(tip, np.array([0.5]))


def test_lines_that_cross_are_found_where_they_do():
    """Two outlines: apart, one through the other, and one whose lines meet the other's only beyond their ends."""
    from pliant.model.sections.section_solver import crossing

    square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]

    def beside(dx, dy):
        # turned, so that no line is parallel to one of the square
        return [(dx + 1.0, dy), (dx + 2.0, dy + 1.1), (dx + 0.9, dy + 2.0), (dx, dy + 0.8)]

    assert crossing([square]) is None
    for dx in (-3.0, 0.0, 3.0):
        for dy in (-3.0, 3.0):
            assert crossing([square, beside(dx, dy)]) is None
    x, y = crossing([square, beside(1.5, 0.2)])
    # on the right side of the square, between two corners of the other
    assert x == pytest.approx(2.0, abs=1e-12)
    assert 0.2 < y < 2.2
    bow = [(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)]
    assert crossing([bow]) == pytest.approx([1.0, 1.0], abs=1e-12)
