"""Names of any letters in LaTeX documents, and notes on the functions in them."""

import shutil
import subprocess

import pytest

from pliant import Beam, Frame, Joint, Link, Modes, Properties, Rigid, Robot
from pliant.formulations.lagrange.algebra.symbols import latex_index, latex_text
from pliant.formulations.lagrange.equations import equations


@pytest.fixture(scope="module")
def odd():
    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=1.0, EIy=2.0, EIz=2.0),
        modes=Modes(shape="clamped-free", bend_y=1, bend_z=1),
        bending="linear",
    )
    links = [
        Link(name="αrm_1", joint=Joint(name="J-θ"), beam=beam, frames=(Frame(name="mid_μ", x=0.5),)),
        Link(
            name="ляжка",
            joint=Joint(name="k_2", parent="αrm_1.mid_μ"),
            rigid=Rigid(mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.01),
        ),
    ]
    return equations(Robot(name="Rob{ω}t 50% & more", links=links), bending="linear")


def test_letters():
    assert latex_text("a_{θ} λ ü") == r"a\_\{$\theta$\} $\lambda$ ü"
    assert latex_text("Ω Α ж") == r"$\Omega$ $\mathrm{A}$ $\mathrm{U436}$"
    assert latex_index("mid_{μ}é") == r"mid\_\{\mu \}e"


def test_documents_have_only_what_pdflatex_knows(odd):
    document = odd.to("latex")
    assert all(ord(letter) < 0x250 for letter in document)
    depth = 0
    for line in document.replace(r"\{", "").replace(r"\}", ""):
        depth += (line == "{") - (line == "}")
        assert depth >= 0
    assert depth == 0


def test_pdflatex(odd, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex")
    odd.save(tmp_path / "odd.tex")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "odd.tex"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_functions_of_the_squared_angle_are_defined(odd):
    for form in ("latex", "markdown"):
        assert r"$c_4 = \frac{x^2/2 - 1 + \cos x}{x^4}$" in odd.to(form)
    for form in ("html", "text"):
        assert "c_1 = sin(x)/x" in odd.to(form)
    assert "c_k(s)" not in equations("lin-lewis-rfr").to("text")


def test_notes_are_formulas():
    """Dry friction is no text in letters of a typewriter on a page of formulas."""
    document = equations("two-link-flexible", bending="linear").to("latex")
    assert r"$f_c \tanh(r/\varepsilon)$" in document
    assert "tanh(r/eps)" not in document
