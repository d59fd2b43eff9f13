"""Lin & Lewis in symbols: the four examples, the appendix, and the planar reference arms by derived equations."""

import json
from pathlib import Path

import numpy as np
import pytest
import sympy

from pliant import Beam, Joint, Link, Modes, Properties, Rigid, RigidPart, Robot
from pliant.formulations.lagrange.equations import equations
from pliant.reproduce import lin_lewis

DATA = Path(__file__).parent / "data"
PUBLISHED = json.loads((DATA / "lin_lewis.json").read_text())
PLANAR = {case["name"]: case for case in json.loads((DATA / "planar_arms.json").read_text())["cases"]}

REFERENCE = 1e-9
"""Of the largest entry of each array, as the reference states."""

SIX_DIGITS = 5e-6
"""The computed eigenvalues are given with six digits."""


# ---------------------------------------------------------------- reference arms


def robot_of(case):
    links = []
    for i, given in enumerate(case["links"]):
        joint = Joint(name=f"theta{i + 1}", axis="z")
        payload = (RigidPart(mass=case["payload"]["m"]),) if i == len(case["links"]) - 1 else ()
        if given["type"] == "R":
            inertia = (0.0, given["Ic"], given["Ic"])
            body = {"rigid": Rigid(mass=given["m"], com=(given["lc"], 0, 0), inertia=inertia, length=given["L"])}
        else:
            modes = Modes(shape=given["modes"].replace("_", "-"), bend_y=given["n_modes"], normalise="none")
            properties = Properties(mass_per_length=given["rhoA"], EIz=given["EI"])
            body = {"beam": Beam(length=given["L"], properties=properties, modes=modes)}
        links.append(Link(name=f"link{i + 1}", joint=joint, payloads=payload, **body))
    return Robot(name=case["name"], links=links, gravity=(*case["gravity"], 0.0))


@pytest.mark.parametrize("name", PLANAR)
def test_planar_arms(name):
    """Brute-force numbers of arms with rigid and flexible links in any order: every matrix, every state."""
    case = PLANAR[name]
    eq = equations(robot_of(case), bending="linear")
    functions = eq.functions()
    ours = {c.robot_name: i for i, c in enumerate(eq.coordinates)}
    order = []
    for reference in case["q_order"]:
        link, _, mode = reference.removeprefix("v").partition("_")
        order.append(ours[reference if reference.startswith("theta") else f"link{link}.bend_y.{mode}"])
    square = np.ix_(order, order)

    def agrees(found, expected):
        expected = np.array(expected)
        return np.abs(found - expected).max() <= REFERENCE * max(np.abs(expected).max(), REFERENCE)

    assert agrees(functions.stiffness[square], case["K"])
    assert agrees(functions.B[order], case["B"])
    for state in case["states"]:
        q, v = np.zeros(len(order)), np.zeros(len(order))
        q[order], v[order] = state["q"], state["qd"]
        assert agrees(functions.mass_matrix(q)[square], state["M"])
        assert agrees(functions.coriolis(q, v)[square], state["C"])
        assert agrees((functions.coriolis(q, v) @ v)[order], state["h"])
        assert agrees(functions.gravity(q)[order], state["G"])


# ---------------------------------------------------------------- 4.1 and 4.2


def test_rigid_arm_is_the_textbook():
    eq = equations(lin_lewis.two_link_arm())
    book = lin_lewis.textbook_two_link(eq)
    for letter in "MDG":
        assert sympy.expand(getattr(eq, letter) - book[letter]).is_zero_matrix


@pytest.fixture(scope="module")
def matrices():
    return {n: lin_lewis.one_link_matrices(n) for n in lin_lewis.MODE_NUMBERS}


def test_eigenvalues(matrices):
    values = matrices[15].eigenvalues
    assert values[0] == pytest.approx(2320.6445, abs=5e-5)
    assert values == pytest.approx(PUBLISHED["eigenvalues"]["computed"], rel=SIX_DIGITS)
    assert list(lin_lewis.CORRECTED) == PUBLISHED["eigenvalues"]["printed"]
    # the paper truncates to three digits
    for value, printed in zip(values[1:], lin_lewis.CORRECTED[1:], strict=True):
        digit = 10.0 ** (np.floor(np.log10(printed)) - 2)
        assert 0 <= value - printed < digit * (1 + 1e-9)


def test_eigenvalues_as_the_text_describes_them(matrices):
    k = np.arange(1, 16)
    assert matrices[15].literal == pytest.approx(PUBLISHED["eigenvalues"]["M_FF_inverse_U_FF"] * k**4, rel=1e-8)


@pytest.mark.parametrize("count", [2, 5, 10])
def test_fewer_modes_are_blocks_of_more(matrices, count):
    assert lin_lewis.nesting_error(matrices[15], matrices[count]) < 1e-13


def test_zeros_of_the_clamped_arm():
    found = lin_lewis.one_link_zeros("clamped-free")
    assert np.abs(found.real).max() < 1e-9
    assert np.sort(found.imag[found.imag > 0]) == pytest.approx([1.09144, 76.9535], rel=5e-6)


def test_zeros_of_the_pinned_arm():
    """Real, not the printed complex quadruple: still not minimum phase."""
    found = lin_lewis.one_link_zeros("pinned-pinned")
    assert np.abs(found.imag).max() < 1e-9
    assert np.sort(found.real) == pytest.approx([-163.961, -56.424, 56.424, 163.961], rel=5e-6)


def test_zeros_from_the_derived_matrices(matrices):
    """The zero dynamics once more, from the symbolic M, U and B: theta kept at zero by the torque."""
    eq = equations(lin_lewis.one_link(2))
    functions = eq.functions()
    M, U, B = functions.mass_matrix(np.zeros(3)), functions.stiffness, functions.B[:, 0]
    # eliminate the torque with the joint's row
    L = np.hstack([-B[1:, None], np.eye(2)])
    squares = np.linalg.eigvals(np.linalg.solve(L @ M[:, 1:], -L @ U[:, 1:]))
    assert np.sort(np.sqrt(squares.real)) == pytest.approx([56.423985, 163.960699], rel=1e-7)


# ---------------------------------------------------------------- 4.3 and 4.4


def test_turret_zeros():
    """Clamped shapes: on the imaginary axis. Pinned shapes: some on the right."""
    clamped, pinned = (lin_lewis.turret_zeros(shape) for shape in ("clamped-free", "pinned-pinned"))
    assert np.abs(clamped.real).max() < 1e-8
    assert pinned.real.max() > 50


def test_turret_bends_in_both_directions():
    eq = equations(lin_lewis.turret())
    assert [c.name for c in eq.coordinates] == ["theta_1", "theta_2", "v_2_1", "v_2_2", "w_2_1", "w_2_2"]
    # azimuth couples with horizontal bending, elevation with vertical bending
    zero = dict.fromkeys(eq.q, 0)
    M = eq.M.subs(zero)
    assert M[0, 4] != 0
    assert M[1, 2] != 0
    assert M[0, 2] == M[1, 4] == 0


def test_appendix_is_reproduced_up_to_its_misprints():
    for name, (difference, _) in lin_lewis.appendix_differences().items():
        assert difference == 0, name


def test_appendix_as_printed_differs_exactly_where_it_is_corrected():
    eq = equations("lin-lewis-rfr", tip_rotation="chord")
    for entry in lin_lewis.appendix(eq).values():
        assert (sympy.expand(entry.correction) == 0) == (entry.why == "")


def test_appendix_integrals():
    expected = PUBLISHED["appendix_mode"]
    found = lin_lewis.appendix_integrals()
    keys = {
        "phi_L": "phi_L",
        "int_phi": "int_phi_over_L",
        "int_y_phi": "int_yphi_over_L2",
        "int_phi_phi": "int_phi2_over_L",
    }
    for ours, theirs in keys.items():
        assert found[ours] == pytest.approx(expected[theirs], abs=2e-15)


def test_chord_against_slope():
    """ERRATA: the chord is 72.6, 20.9, 12.7 % of the true angle; it stiffens the arm."""
    assert [abs(r) for r in lin_lewis.chord_ratios()] == pytest.approx([0.726, 0.209, 0.127], abs=6e-4)
    study = lin_lewis.chord_study()
    assert study.slope / study.chord == pytest.approx(1.49345, rel=1e-4)
    assert study.chord_hertz[0] > 1.05 * study.slope_hertz[0]


def test_the_command_writes_everything(tmp_path, capsys):
    from rich.console import Console

    lin_lewis.main(tmp_path, Console(width=120))
    printed = capsys.readouterr().out
    for words in ("2320.64", "±j1.09144, ±j76.9535", "±56.424, ±163.961", "72.6 %"):
        assert words in printed
    written = {path.name for path in tmp_path.iterdir()}
    assert {"rigid-two-link.tex", "rigid-flexible-rigid.tex", "tank-turret.html"} <= written
