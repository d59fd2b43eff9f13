"""What cannot be derived is refused with the reason and the way that works."""

import sys

import pytest

from pliant import Beam, Joint, Link, ModelError, Modes, Properties, Robot
from pliant.formulations.lagrange.equations import equations


def test_an_unknown_symbol(two_link):
    with pytest.raises(ModelError, match="no symbol 'm_9'"):
        two_link.with_values({"m_9": 1.0})
    with pytest.raises(ModelError, match="did you mean 'lc_2'"):
        two_link.with_numbers(keep=["lc2"])
    with pytest.raises(ModelError, match="no symbol 'theta_7'"):
        two_link.symbol("theta_7")
    with pytest.raises(ModelError, match="did you mean"):
        equations("lin-lewis-rfr", parameters=("mp3",))


def test_an_arm_that_is_too_large():
    with pytest.raises(ModelError, match=r"about [\d,]+ terms, some [\d,]+ pages") as caught:
        equations("two-link-flexible", most_terms=300, bending="linear")
    assert "`pliant export two-link-flexible --to listing" in str(caught.value)


def test_an_arm_that_is_far_too_large_is_refused_soon():
    with pytest.raises(ModelError, match="far more than 2,000 terms") as caught:
        equations("seven-joint-arm", most_terms=2000)
    assert "17 coordinates" in str(caught.value)
    assert "pliant export seven-joint-arm --to listing" in str(caught.value)


def test_a_robot_with_loops():
    with pytest.raises(ModelError, match="closed loops") as caught:
        equations("five-bar")
    assert "pliant export five-bar --to listing" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"rotary_inertia": "exact"}, "rotary_inertia: true"), ({"bending": "exact"}, "bending: linear")],
)
def test_beams_without_closed_form(change, words):
    properties = Properties(mass_per_length=1.0, EIz=1.0, rhoIy=0.1, rhoIz=0.1)
    beam = Beam(length=1.0, properties=properties, modes=Modes(shape="clamped-free", bend_y=1), **change)
    with pytest.raises(ModelError, match=words) as caught:
        equations(Robot(name="arm", links=[Link(name="arm", joint=Joint(name="j"), beam=beam)]))
    assert "links[0] 'arm'" in str(caught.value)


def test_wrong_options(two_link, tmp_path):
    with pytest.raises(ValueError, match="'slope' or 'chord'"):
        equations("lin-lewis-rfr", tip_rotation="tangent")
    with pytest.raises(ValueError, match="'values', 'closed' or 'inside'"):
        equations("lin-lewis-rfr", integrals="exact")
    with pytest.raises(ValueError, match="latex, markdown"):
        two_link.to("word")
    with pytest.raises(ValueError, match=r"must end in one of \.tex"):
        two_link.save(tmp_path / "arm.doc")


def test_without_sympy(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match=r"pip install sympy"):
        equations("lin-lewis-rfr")


def test_an_unknown_robot():
    with pytest.raises(ModelError, match="did you mean 'lin-lewis-rfr'"):
        equations("lin-lewis-rfx")
