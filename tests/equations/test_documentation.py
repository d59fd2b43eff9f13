"""The page about equations shows what is derived."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def refresh():
    spec = importlib.util.spec_from_file_location("refresh_equations", DOCS / "refresh_equations.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_formulas_of_the_page_are_the_derived_ones(refresh):
    page = (DOCS / "equations.md").read_text(encoding="utf-8")
    assert refresh.filled(page, refresh.derived()) == page


def test_the_page_has_its_pictures(refresh, tmp_path):
    for name, eq in refresh.derived().items():
        assert (DOCS / "pictures" / f"equations-{name}.png").stat().st_size > 5000
        refresh.draw(refresh.formulas(eq), tmp_path / "drawn.png")
        assert (tmp_path / "drawn.png").stat().st_size > 5000


def test_every_kind_of_symbol_is_in_the_table():
    """Letters of the constants of the example arms are explained on the theory page."""
    page = (DOCS / "theory" / "lagrange.md").read_text(encoding="utf-8")
    for symbol in (
        "theta_i",
        "v_i_k",
        "w_i_k",
        "psi_i_k",
        "u_i_k",
        "a_i_k",
        "b_i_k",
        "m_i_k_l",
        "k_i_k_l",
        "phi_i_k",
        "dphi_i_k",
    ):
        assert f"`{symbol}`" in page
