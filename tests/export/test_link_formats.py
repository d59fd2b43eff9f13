"""Links in the forms of other programs: SID text and interface matrices against an independent table, round trips."""

import re

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from scipy.linalg import eigh

from pliant import Dynamics, Joint, Link, ModelError, Robot, load
from pliant.bodies.modal_form import link_modal
from pliant.export.link_writers import export_link
from pliant.model.readers.interface_form import from_interface_form, interface_form
from pliant.model.readers.sid_text import read_sid, write_sid
from pliant.model.readers.solid_links import modal_data
from pliant.solid_mechanics.reduced_solid import reduced_solid
from solids import REFERENCE, reference_link, reference_solid

SID = REFERENCE["sid_example"]
FORM = REFERENCE["interface_form_example"]
KEYS = (
    "first",
    "first_modal",
    "beta",
    "lam",
    "I_rr",
    "I_re",
    "I_ee",
    "M_ee",
    "K_ee",
    "D_ee",
    "Gamma_first",
    "Gamma_second",
)
SAME = 1e-12
PRINTED = 1e-11
"""The table has twelve digits, and some of its numbers are sums of others."""
BEAM = {
    "length": 0.5,
    "material": "aluminium",
    "section": {"rectangle": {"width": 0.02, "height": 0.03}},
    "modes": {"bend_y": 3, "bend_z": 3, "torsion": 2, "axial": 2},
}


def numbers(text):
    """All entries of a text by matrix and place."""
    found, path = {}, []
    for line in text.splitlines()[1:]:
        row = line.strip()
        if match := re.fullmatch(r"(m[01]\([\d ,]+\))\s*=\s*(\S+)", row):
            found[(*path, match[1].replace(" ", ""))] = float(match[2])
        elif row.startswith("new node"):
            path = [row.partition("=")[2].strip()]
        elif row.startswith("end"):
            path = path[:-1] if row != "end node" else []
        elif "=" not in row and row not in ("part", "new modal", "refmod", "frame"):
            path.append(row)
    return found


def test_a_text_is_written_with_the_numbers_that_were_read():
    found = read_sid(SID["text"])
    again, wanted = numbers(write_sid(found)), numbers(SID["text"])
    assert found.mass == 1.08
    assert again.keys() == wanted.keys() | again.keys()
    sizes = {}
    for (*matrix, _), value in wanted.items():
        sizes[tuple(matrix)] = max(sizes.get(tuple(matrix), 0.0), abs(value))
    for place, value in wanted.items():
        assert again[place] == pytest.approx(value, abs=PRINTED * max(sizes[place[:-1]], 1.0)), place
    assert all(abs(again[place]) < 1e-15 for place in again.keys() - wanted.keys())
    twice = read_sid(write_sid(found))
    for key in KEYS:
        np.testing.assert_allclose(twice.array(key), found.array(key), rtol=SAME, atol=1e-18)


def test_the_dynamics_of_a_text():
    """Elastic forces of the state in the table, which is by SID's own equations: to the square of the deflection."""
    modal, state = read_sid(SID["text"]), SID["state"]
    link = Link(name="b", joint=Joint(name="base", type="free"), modal=modal)
    arm = Dynamics(Robot(name="free", gravity=(0, 0, 0), links=[link]), compile="never")
    q, v, a = np.zeros((3, arm.size))
    q[6:], v[6:], a[6:] = state["q"], state["v"], state["q_acc"]
    linear, angular = [0, 1, 2], [3, 4, 5]
    v[angular], a[linear], a[angular] = state["omega"], state["a_origin"], state["alpha"]
    forces = arm.forces(q, v, a)
    np.testing.assert_allclose(forces[6:], SID["left_side"]["elastic"], rtol=2e-3)
    np.testing.assert_allclose(forces[linear], SID["left_side"]["force"], atol=2e-3 * 113)


def test_interface_matrices_of_a_solid():
    """The bar with two fixed modes: K and M of the table, but for the signs of modes; rigid to rounding."""
    case, solid = reference_solid("bar")
    tip = reference_link("bar", "rigid").interfaces[0]
    modal = modal_data(reduced_solid(solid, np.array(case["root_nodes"]), [tip], held=2))
    form = interface_form(modal)
    np.testing.assert_allclose(form.P, FORM["P"], atol=1e-12)
    K, M = np.array(FORM["K"]), np.array(FORM["M"])
    signs = np.append(np.ones(12), np.sign(form.M[12:, 1:3].sum(axis=1) * M[12:, 1:3].sum(axis=1)))
    flip = np.outer(signs, signs)
    np.testing.assert_allclose(form.K * flip, K, atol=1e-9 * np.abs(K).max())
    np.testing.assert_allclose(form.M * flip, M, atol=1e-9 * np.abs(M).max())
    rigid = np.zeros((14, 6))
    rigid[:6] = rigid[6:12] = np.eye(6)
    rigid[6:9, 3:] = np.cross(np.eye(3), form.P[1, :3]).T
    assert np.abs(form.K @ rigid).max() < 1e-12 * np.abs(form.K).max()
    squares = eigh(form.K, form.M, eigvals_only=True)[6:]
    np.testing.assert_allclose(np.sqrt(squares) / (2 * np.pi), FORM["free_free_hz"], rtol=1e-6)


def beam_robot(**keys):
    return Robot(name="arm", links=[Link(name="beam", joint=Joint(axis="z"), beam={**BEAM, **keys})])


def test_a_beam_goes_out_and_comes_back(tmp_path):
    """As interface matrices and as text: the same free vibrations, and second order to the last digit."""
    robot = beam_robot()
    modal = link_modal(robot, "beam")
    form = interface_form(modal)
    back = from_interface_form(form.P, form.K, form.M, form.D)
    for one, other in ((modal, back),):
        wanted, found = (eigh(m.array("K_ee"), m.array("M_ee"), eigvals_only=True) for m in (one, other))
        np.testing.assert_allclose(found, wanted, rtol=1e-8)
    assert back.mass == pytest.approx(modal.mass)
    np.testing.assert_allclose(back.array("I_rr"), modal.array("I_rr"), atol=1e-12)
    text = read_sid(write_sid(modal))
    for key in ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "M_ee", "K_ee", "Gamma_first"):
        np.testing.assert_allclose(text.array(key), modal.array(key), atol=1e-14)
    # the link in the text moves as the beam does, with rotation and second order
    arms = [
        Dynamics(beam_robot()),
        Dynamics(Robot(name="arm", links=[Link(name="beam", joint=Joint(axis="z"), modal=text)])),
    ]
    q, v = 1e-3 * np.random.default_rng(0).normal(size=(2, arms[0].size))
    v[0] = 5.0
    wanted, found = (arm.forces(q, v, v) for arm in arms)
    # turning sections are linear in the text
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("ending", ["mat", "sid"])
def test_robots_name_files_of_other_programs(tmp_path, ending):
    robot = beam_robot()
    export_link(robot, "beam", tmp_path / f"beam.{ending}", {"mat": "simscape", "sid": "sid"}[ending])
    (tmp_path / "arm.yaml").write_text(f"name: arm\nlinks:\n  - {{name: b, joint: {{axis: z}}, body: beam.{ending}}}\n")
    found, wanted = load(tmp_path / "arm.yaml").link("b").modal, link_modal(robot, "beam")
    low, high = (eigh(m.array("K_ee"), m.array("M_ee"), eigvals_only=True) for m in (found, wanted))
    np.testing.assert_allclose(low, high, rtol=1e-8)
    assert found.shortens == (ending == "sid")


def test_arrays_for_newton(tmp_path):
    export_link(beam_robot(), "beam", tmp_path / "b.npz", "newton")
    data = np.load(tmp_path / "b.npz")
    assert list(data["interface_names"]) == ["root", "tip"]
    # samples of a rigid motion move rigidly
    motion = np.zeros(len(data["mass_matrix"]))
    motion[:3] = motion[6:9] = [1.0, 2.0, 3.0]
    np.testing.assert_allclose(data["recovery_matrix"] @ motion, [1, 2, 3, 1, 2, 3])


def test_what_has_no_such_form_is_named(tmp_path):
    few = beam_robot(modes={"bend_y": 2})
    with pytest.raises(ModelError, match="do not move the 6 directions of the frames tip independently"):
        export_link(few, "beam", tmp_path / "x.mat", "simscape")
    with pytest.raises(ModelError, match="no link 'boom'"):
        export_link(few, "boom", tmp_path / "x.sid", "sid")
    with pytest.raises(ModelError, match="bends exactly"):
        export_link(beam_robot(bending="exact"), "beam", tmp_path / "x.sid", "sid")
    with pytest.raises(ModelError, match="format is 'ansys'"):
        export_link(few, "beam", tmp_path / "x.sid", "ansys")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("m0( 1, 1)    = 0.27", "m0( 1, 1)    = abc", r"has 'm0\( 1, 1\)    = abc' in line"),
        ("m0( 1, 1)    = 0.27", "m0( 9, 1)    = 0.27", r"mdCM has the entry m0\(9, 1\) before line"),
        (
            "nelastq        = 2",
            "nelastq        = 3",
            "derivatives by 2 coordinates; there are 3|must be",
        ),
        ("        Ke\n", "        Kx\n", "has no Ke"),
        ("            mass           = 1.08\n", "", "no refmod with mass"),
    ],
)
def test_a_wrong_text_is_named(old, new, message):
    assert old in SID["text"]
    with pytest.raises(ModelError, match=message):
        read_sid(SID["text"].replace(old, new, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("K"), "has no K"),
        (lambda d: d["K"].__setitem__((0, 1), 1e9), r"K is not symmetric: entries \(1, 2\)"),
        (lambda d: d["K"].__setitem__((0, 0), 1e9), "resists the rigid motion dx"),
        (lambda d: d.__setitem__("M", d["M"][:9, :9]), "must be square with 6 rows"),
    ],
)
def test_wrong_matrices_are_named(tmp_path, change, message):
    data = {key: np.array(FORM[key]) for key in "PKM"}
    change(data)
    savemat(tmp_path / "b.mat", data)
    assert loadmat(tmp_path / "b.mat")
    (tmp_path / "arm.yaml").write_text("name: arm\nlinks:\n  - {name: b, joint: {axis: z}, body: b.mat}\n")
    with pytest.raises(ModelError, match=message):
        load(tmp_path / "arm.yaml")
