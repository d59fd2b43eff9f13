"""Beams whose constants stand in a table along their axis, against integrals and stepped beams."""

from itertools import pairwise

import numpy as np
import pytest

from pliant import Beam, Dynamics, Joint, Link, ModelError, Robot, load
from pliant.analysis.equilibrium import settle
from pliant.analysis.modes import vibration_modes
from pliant.bodies.build import build_body

X = (0.0, 0.5, 0.8, 2.0)
MASS = (6.0, 5.0, 3.0, 1.0)
EIY, EIZ, GJ = (900.0, 700.0, 300.0, 100.0), (400.0, 400.0, 200.0, 60.0), (300.0, 200.0, 100.0, 50.0)
INERTIA = (0.02, 0.015, 0.01, 0.004)
TABLE = {"x": X, "mass_per_length": MASS, "EIy": EIY, "EIz": EIZ, "GJ": GJ, "rhoJ": INERTIA}


def robot_of(beam, gravity=(0, 0, -9.81)):
    return Robot(name="blade", gravity=gravity, links=[Link(name="blade", joint=Joint(type="fixed"), beam=beam)])


def integral(f):
    """Over the blade, with panels between the rows."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    total = 0.0
    for a, b in pairwise(X):
        x = (a + b) / 2 + (b - a) / 2 * nodes
        total += (b - a) / 2 * weights @ f(x)
    return total


def test_mass_and_static_deflection_are_integrals():
    """Mass and moments of the rows; the tip under a force moves by F int (L - x)^2 / EI dx."""
    beam = Beam(table=TABLE, bending="linear", elements={"number": 12, "bend_y": True, "bend_z": True})
    arm = Dynamics(robot_of(beam, (0, 0, 0)), compile="never")
    body = arm.mechanism.members[0].body
    rows = [integral(lambda x, k=k: x**k * np.interp(x, X, MASS)) for k in range(2)]
    assert (body.mass, body.first[0], beam.length) == pytest.approx((*rows, 2.0), rel=1e-12)
    rest = settle(arm, loads={"tip": [0, 3.0, -5.0]})
    tip = arm.pose("tip", rest.q).position
    # an element's constants are those of the rows, its shape is a cubic
    assert tip[1] == pytest.approx(3.0 * integral(lambda x: (2 - x) ** 2 / np.interp(x, X, EIZ)), rel=2e-3)
    assert tip[2] == pytest.approx(-5.0 * integral(lambda x: (2 - x) ** 2 / np.interp(x, X, EIY)), rel=2e-3)


@pytest.mark.parametrize("bending", ["linear", "second-order", "exact"])
def test_frequencies_are_those_of_many_uniform_steps(bending):
    """Forty uniform segments with the constants of their middles."""
    shape = {"shape": "legendre", "bend_y": 4, "bend_z": 4, "torsion": 3}
    known = {key: TABLE[key] for key in TABLE if key != "x"}
    ends = np.linspace(0, 2.0, 41)
    middles = (ends[1:] + ends[:-1]) / 2
    steps = [
        {"length": 0.05, "properties": {key: float(np.interp(x, X, row)) for key, row in known.items()}}
        for x in middles
    ]
    more = {"stations": 4} if bending == "exact" else {}
    table = robot_of(Beam(table=TABLE, bending=bending, modes=shape, **more))
    stepped = robot_of(Beam(segments=steps, bending="linear", modes=shape), (0, 0, 0))
    found, wanted = (
        vibration_modes(Dynamics(each.with_changes(gravity=(0, 0, 0)), compile="never"), count=6).hertz
        for each in (table, stepped)
    )
    np.testing.assert_allclose(found, wanted, rtol=4e-3)


def test_equal_rows_are_a_uniform_beam():
    rows = {key: [values[0]] * 4 for key, values in TABLE.items() if key != "x"}
    modes = {"modes": {"bend_y": 2, "bend_z": 2, "torsion": 1}}
    table, plain = (
        build_body(robot_of(Beam(**given, **modes)).links[0])
        for given in (
            {"table": {"x": X, **rows}},
            {"length": 2.0, "properties": {key: values[0] for key, values in rows.items()}},
        )
    )
    for key in ("M_ee", "K_ee", "I_rr"):
        np.testing.assert_allclose(getattr(table, key), getattr(plain, key), rtol=1e-9, atol=1e-9)


def test_pieces_cut_a_table():
    """Two beams, welded where a row is not: the same mass, and a frequency of the same blade."""
    modes = {"shape": "legendre", "bend_z": 4}
    robots = [robot_of(Beam(table=TABLE, pieces=pieces, modes=modes), (0, 0, 0)) for pieces in (1, 2)]
    whole, cut = (Dynamics(robot, compile="never") for robot in robots)
    assert sum(m.body.mass for m in cut.mechanism.members) == pytest.approx(
        whole.mechanism.members[0].body.mass, rel=1e-12
    )
    first = [vibration_modes(arm, count=1).hertz[0] for arm in (whole, cut)]
    # each piece has its own shapes: it is softer
    assert 0.99 * first[0] < first[1] < first[0]


BLADE = """
name: blade
links:
  - name: blade
    joint: {type: fixed}
    beam: {table: {file: blade.csv}, modes: {bend_z: 2}}
"""


def test_a_table_in_a_file(tmp_path):
    keys = ("x", "mass_per_length", "EIy")
    lines = [",".join(keys), *(",".join(str(TABLE[key][k]) for key in keys) for k in range(4))]
    (tmp_path / "blade.csv").write_text("# from a program\n" + "\n".join(lines) + "\n")
    (tmp_path / "blade.yaml").write_text(BLADE)
    robot = load(tmp_path / "blade.yaml")
    beam = robot.links[0].beam
    assert beam.length == 2.0
    assert float(beam.at(0.65).EIy) == pytest.approx(500.0)
    # what is written is read again
    (tmp_path / "again.yaml").write_text(robot.to_yaml())
    again = load(tmp_path / "again.yaml").links[0].beam
    assert float(again.at(1.1).mass_per_length) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": (0.1, 0.5, 0.8, 2.0)}, "begins at 0.1 m; the root is at 0"),
        ({"x": (0.0, 0.5, 0.4, 2.0)}, "has 0.4 m in row 3 after 0.5 m; places must rise"),
        ({"EIy": (1.0, 2.0)}, "table.EIy has 2 numbers; x has 4"),
        ({"x": (0.0,)}, "has 1 places; a table has 2 to 500 rows"),
        ({"mass_per_length": ()}, "is missing; a beam has mass"),
        ({"GJ": (1.0, -2.0, 3.0, 4.0)}, "must be positive"),
    ],
)
def test_wrong_tables_are_refused(changes, words):
    with pytest.raises(ModelError, match=words):
        Beam(table={**TABLE, **changes}, modes={"bend_z": 2})


def test_one_source_of_constants():
    with pytest.raises(ModelError, match=r"give one of section .* or table; properties and table are given"):
        Beam(table=TABLE, properties={"mass_per_length": 1.0, "EIy": 1.0}, length=1.0, modes={"bend_z": 1})
    ends = {"properties": {"mass_per_length": 1.0, "EIy": 1.0}, "properties_to": {"mass_per_length": 1.0}}
    with pytest.raises(ModelError, match="EIy is known at one end only"):
        Beam(segments=[{"length": 1.0, **ends}], modes={"bend_z": 1})
