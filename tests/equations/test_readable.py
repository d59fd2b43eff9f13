"""What people read: the textbook's form of small arms, pages and their tables."""

import re
import xml.etree.ElementTree as ET

import pytest
import sympy

from pliant import Beam, Joint, Link, Modes, Properties, RigidPart, Robot
from pliant.formulations.lagrange.equations import ENDINGS, FORMATS, equations
from pliant.formulations.lagrange.typesetting.expression import (
    Name,
    Product,
    Sum,
    product_of,
    to_latex,
    to_mathml,
    to_sympy,
    to_text,
)
from pliant.reproduce.lin_lewis import textbook_two_link, two_link_arm

TEXTBOOK = """
M[1,1] = m_1*lc_1**2 + m_2*(l_1**2 + lc_2**2 + 2*l_1*lc_2*cos(theta_2)) + I_1 + I_2
M[1,2] = m_2*lc_2*(lc_2 + l_1*cos(theta_2)) + I_2
M[2,2] = m_2*lc_2**2 + I_2
D[1,1] = -m_2*l_1*lc_2*sin(theta_2)*theta_2_dot
D[1,2] = -m_2*l_1*lc_2*sin(theta_2)*(theta_1_dot + theta_2_dot)
D[2,1] = m_2*l_1*lc_2*sin(theta_2)*theta_1_dot
G[1] = m_1*g*lc_1*cos(theta_1) + m_2*g*(l_1*cos(theta_1) + lc_2*cos(theta_1 + theta_2))
G[2] = m_2*g*lc_2*cos(theta_1 + theta_2)
"""

# one flexible link with one clamped mode and a tip mass: every book on flexible arms has these
ONE_LINK = """
M[1,1] = rho_1*l_1**3/3 + m_1_1_1*v_1_1**2 + mp_1*(l_1**2 + phi_1_1**2*v_1_1**2)
M[1,2] = mp_1*l_1*phi_1_1 + b_1_1
M[2,2] = mp_1*phi_1_1**2 + m_1_1_1
D[1,1] = (m_1_1_1*v_1_1 + mp_1*phi_1_1**2*v_1_1)*v_1_1_dot
D[1,2] = (m_1_1_1*v_1_1 + mp_1*phi_1_1**2*v_1_1)*theta_1_dot
D[2,1] = -(m_1_1_1*v_1_1 + mp_1*phi_1_1**2*v_1_1)*theta_1_dot
U[2,2] = k_1_1_1
"""


def entries(text):
    return dict(re.findall(r"^(\w\[[\d,]+\]) = (.*)$", text, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def rigid():
    return equations(two_link_arm())


@pytest.fixture(scope="module")
def one_link():
    beam = Beam(
        length=1.0, properties=Properties(mass_per_length=0.5, EIz=3.0), modes=Modes(shape="clamped-free", bend_y=1)
    )
    link = Link(name="arm", joint=Joint(name="hub"), beam=beam, payloads=(RigidPart(mass=0.2),))
    return equations(Robot(name="one-link", links=[link]), bending="linear")


def test_the_rigid_two_link_arm_reads_like_the_textbook(rigid):
    found = entries(rigid.to("text"))
    for name, expected in entries(TEXTBOOK).items():
        assert found[name] == expected
    assert "D[2,2]" not in found


def test_the_rigid_two_link_arm_is_the_textbook_term_by_term(rigid):
    book = textbook_two_link(rigid)
    for letter in "MDG":
        assert sympy.expand(getattr(rigid, letter) - book[letter]).is_zero_matrix


def test_the_single_flexible_link_reads_like_the_textbook(one_link):
    found = entries(one_link.to("text"))
    for name, expected in entries(ONE_LINK).items():
        assert found[name] == expected


def test_symbolic_skewness(rigid, one_link):
    """dM/dt - 2 D is skew, as an identity between symbols."""
    for eq in (rigid, one_link):
        n = len(eq.q)
        rate = sum((eq.M.diff(q) * v for q, v in zip(eq.q, eq.v, strict=True)), sympy.zeros(n, n))
        W = sympy.expand(rate - 2 * eq.D)
        assert sympy.expand(W + W.T).is_zero_matrix


def test_christoffel_symbols(one_link):
    M, q = one_link.M, one_link.q
    for i in range(2):
        for j in range(2):
            for k in range(2):
                expected = (sympy.diff(M[i, j], q[k]) + sympy.diff(M[i, k], q[j]) - sympy.diff(M[j, k], q[i])) / 2
                assert sympy.expand(one_link.christoffel(i, j, k) - expected) == 0


def test_matrices_are_explicit_in_the_coordinates(two_link):
    """No abbreviation is left in the SymPy matrices, so that they can be differentiated."""
    eq = equations("two-link-flexible", bending="linear")
    known = {c.name for c in eq.constants} | {str(s) for s in (*eq.q, *eq.v)}
    for matrix in (eq.M, eq.D, eq.G, eq.U, eq.F, eq.B, eq.bias):
        assert {str(s) for s in matrix.free_symbols} <= known
    assert [short.name for short, _ in eq.abbreviations()] == ["y_1", "y_2", "alpha_1"]
    assert two_link.abbreviations() == []


def test_generalised_forces(rigid):
    assert list(rigid.Q) == list(rigid.tau)


def test_constants_explain_themselves(rigid):
    inertia = next(c for c in rigid.constants if c.name == "I_2")
    assert (inertia.value, inertia.unit, inertia.latex) == (0.008, "kg m^2", "I_{2}")
    assert "fore" in inertia.meaning
    assert rigid.values["l_1"] == 0.5
    # only what occurs is listed: I_xx of a plane link does not
    assert set(rigid.values) == {"m_1", "m_2", "l_1", "lc_1", "lc_2", "I_1", "I_2", "g"}


def test_plain_text_can_be_read_back(rigid, one_link):
    for eq in (rigid, one_link):
        for name, text in entries(eq.to("text")).items():
            letter, (i, *k) = name[0], [int(x) - 1 for x in name[2:-1].split(",")]
            matrix = getattr(eq, letter)
            ours = matrix[i, k[0]] if k else matrix[i]
            assert sympy.expand(sympy.sympify(text, locals={"I_1": sympy.Symbol("I_1")}) - ours) == 0


def math_of(latex_document):
    """The formulas of a LaTeX document, one per line of its align environments and tables."""
    bodies = re.findall(r"\\begin\{align\*\}(.*?)\\end\{align\*\}", latex_document, flags=re.DOTALL)
    lines = [line for body in bodies for line in body.split(r"\\")]
    return [line.replace("&=", "=").replace("&", "").strip() for line in lines] + re.findall(
        r"\$(.*?)\$", latex_document
    )


MOST_LINES = 60
"""The parser takes some hundredths of a second for a line."""


@pytest.mark.parametrize("robot", ["lin-lewis-rfr", "lin-lewis-tank-turret", "two-link-flexible"])
def test_latex_is_well_formed(robot):
    """Every formula passes the parser of matplotlib's mathtext, which knows this part of LaTeX."""
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    document = equations(robot, integrals="closed", bending="linear").to("latex")
    assert document.startswith(r"\documentclass")
    assert document.rstrip().endswith(r"\end{document}")
    for environment in ("document", "align*", "longtable"):
        assert document.count(rf"\begin{{{environment}}}") == document.count(rf"\end{{{environment}}}")
    lines = math_of(document)
    for line in lines[:: max(1, len(lines) // MOST_LINES)]:
        # an opening parenthesis may be closed on another line, and signs may start one
        text = line.replace(r"\bigl(", "(").replace(r"\bigr)", ")").replace(r"\quad", "")
        assert text.count("{") == text.count("}")
        parser.parse(f"${text}$")


def test_long_entries_are_broken_into_lines():
    document = equations("lin-lewis-rfr").to("latex")
    visible = [len(re.sub(r"\\[a-zA-Z]+|[{}_^\\ ]", "", line)) for line in math_of(document)]
    assert max(visible) < 200


def test_html_is_one_well_formed_page(rigid):
    for eq in (rigid, equations("lin-lewis-rfr")):
        page = eq.to("html")
        body = page.replace("<!doctype html>", "").replace('<meta charset="utf-8">', "")
        root = ET.fromstring(body)
        assert len(root.findall(".//math")) > 10
        assert "<script" not in page
        assert "http" not in page


def test_markdown_has_all_parts(rigid):
    page = rigid.to("markdown")
    for part in ("Inertia M", "Coriolis and centrifugal terms D", "Gravity G", "Inputs B", "Constants"):
        assert f"## {part}" in page
    assert page.count("$$") % 2 == 0
    assert r"l_{c2}" in page


def test_every_format_is_a_file(rigid, tmp_path):
    for ending, form in ENDINGS.items():
        path = tmp_path / f"arm{ending}"
        rigid.save(path)
        assert path.read_text(encoding="utf-8") == rigid.to(form)
    assert set(ENDINGS.values()) == set(FORMATS)


# ---------------------------------------------------------------- expressions

x, y = Name("x_1", "x_{1}"), Name("dphi_1", r"\phi'_{1}")


def test_products_in_a_chosen_order():
    square = product_of(2, y, x, x)
    assert to_text(square) == "2*dphi_1*x_1**2"
    assert to_latex(square) == r"2 \, \phi'_{1} \, x_{1}^{2}"
    assert to_sympy(square) == 2 * sympy.Symbol("dphi_1") * sympy.Symbol("x_1") ** 2


def test_a_prime_and_a_power_do_not_meet():
    assert to_latex(product_of(1, y, y)) == r"{\phi'}_{1}^{2}"


def test_numbers():
    assert to_text(Product(0.125, ((x, 1),))) == "0.125*x_1"
    assert to_latex(Product(1.25e-7, ((x, 1),))) == r"1.25 \cdot 10^{-7} \, x_{1}"
    assert to_text(Sum(())) == to_latex(Sum(())) == "0"
    assert to_mathml(Sum(())) == "<mn>0</mn>"


def test_a_sum_that_starts_with_a_minus_changes_its_sign():
    difference = Sum((product_of(-1, x), product_of(1, y)))
    assert to_text(product_of(1, x, difference)) == "-x_1*(x_1 - dphi_1)"


def test_the_heading_of_linear_equations_says_what_the_robot_has_beyond():
    eq = equations("single-flexible-link", bending="linear")
    for form in FORMATS:
        assert "as asked for" in eq.to(form)
        assert "stiffen or soften" in eq.to(form)
    for robot, bending in (("lin-lewis-one-link", "linear"), ("single-flexible-link", "as-described")):
        assert not equations(robot, bending=bending).scope
    # numbers keep the heading
    assert eq.with_numbers().scope == eq.scope


def test_notebooks_show_symbols_with_their_values(one_link):
    page = one_link._repr_html_()
    for known in one_link.coordinates:
        assert f"<td>{known.name}</td><td></td><td>{known.unit}</td><td>coordinate {known.robot_name}</td>" in page
    assert "<td>tau_1</td><td></td><td>N m</td><td>effort of hub</td>" in page
    for known in one_link.constants:
        assert f"<td>{known.name}</td><td>{known.value:.6g}</td>" in page
    # what the robot has beyond these equations
    assert "small deflections" in page
