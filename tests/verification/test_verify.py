"""``pliant verify``: verdicts, files, other programs' numbers, and that every part computes."""

import json
import sys
from itertools import islice

import pytest
from typer.testing import CliRunner

from pliant import ModelError, load
from pliant.cli.app import app
from pliant.cli.terminal import FAILED
from pliant.reproduce.claim import Claim
from pliant.verification import benchmark, bending, exudyn_cases, mujoco_cases, published
from pliant.verification import verify as module
from pliant.verification.claims import VerificationPart
from pliant.verification.verify import PARTS, verify

GOOD = Claim("part.good", "a good one", 1.0, 1.0 + 1e-9, 1e-8, "somewhere", "Hz")
BAD = Claim("part.bad", "a bad one", 2.0, 1.0, 1e-3)
MISPRINT = Claim("part.misprint", "a misprint", 1.0, 10.0, 1e-3, wrong="the exponent <is> wrong")


def test_verdicts():
    assert [claim.verdict for claim in (GOOD, BAD, MISPRINT)] == ["agrees", "differs", "known error"]
    # ours must not come to a number that is known to be wrong, and what is not finite is never right
    assert Claim("x", "", 10.0, 10.0, 1e-3, wrong="why").verdict == "differs"
    assert Claim("x", "", float("nan"), 0.0, 1.0).verdict == "differs"
    assert Claim("x", "", float("nan"), 1.0, 1.0, wrong="why").verdict == "differs"
    # relative, but for zero and where it is said
    assert Claim("x", "", 0.5, 0.0, 0.6).deviation == pytest.approx(0.5)
    assert Claim("x", "", 3.0, 2.0, 0.6).deviation == pytest.approx(0.5)
    assert Claim("x", "", 3.0, 2.0, 0.6, absolute=True).deviation == pytest.approx(1.0)


@pytest.fixture
def parts(monkeypatch):
    def give(*claims):
        monkeypatch.setattr(module, "PARTS", (VerificationPart("methods", "A part", lambda: iter(claims)),))

    return give


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Other programs are asked only where a test says so."""
    monkeypatch.setattr(benchmark, "PEERS", {})


METHOD = Claim("methods.dense.canadarm.forces", "forces by dense", 1e-13, 0.0, 1e-10)


def test_the_command_writes_its_page_and_data(parts, tmp_path):
    parts(METHOD)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"another program": {METHOD.case: 2e-12}}))
    done = CliRunner().invoke(app, ["verify", "--out", str(tmp_path), "--beside", str(other)])
    assert done.exit_code == 0, done.output
    data = json.loads((tmp_path / "verification.json").read_text())
    assert data["passed"]
    assert data["claims"]["methods"][0]["verdict"] == "agrees"
    assert {"pliant", "python", "numpy", "compiler", "processor"} <= data["machine"].keys()
    page = (tmp_path / "verification.html").read_text()
    assert "another program" in page
    assert "2e-12" in page
    # what it wrote can be put beside the next one
    again = module.read_beside(tmp_path / "verification.json")
    assert next(iter(again.values()))[METHOD.case] == METHOD.ours


def test_what_differs_is_told_and_fails(parts, tmp_path):
    bad = Claim("methods.dense.canadarm.forces", "forces by dense", 1e-3, 0.0, 1e-10)
    misprint = Claim("methods.dense.canadarm.misprint", "a misprint", 1.0, 10.0, 1e-3, wrong="the exponent <is> wrong")
    parts(bad, misprint)
    done = CliRunner().invoke(app, ["verify", "--out", str(tmp_path)])
    assert done.exit_code == FAILED
    assert "methods.dense.canadarm.forces" in done.output
    assert "the exponent &lt;is&gt; wrong" in (tmp_path / "verification.html").read_text()


def test_nothing_proves_nothing(parts):
    parts()
    assert not verify().passed


def test_wrong_questions_are_told(tmp_path):
    with pytest.raises(ModelError, match="did you mean 'methods'"):
        verify(["method"])
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(ModelError, match="holds no results"):
        module.read_beside(tmp_path / "x.json")


def test_programs_that_are_installed_stand_beside(parts, monkeypatch):
    parts(METHOD)
    there = ("numpy", lambda: {METHOD.case: 3.0, "another.case": 1.0})
    monkeypatch.setattr(benchmark, "PEERS", {"There": there, "Missing": ("no-such-package", dict)})
    ((label, numbers),) = verify().beside.items()
    assert label.startswith("There ")
    assert numbers == {METHOD.case: 3.0}
    assert not verify(peers=False).beside


def test_cases_for_other_programs(parts, tmp_path):
    claims = [*islice(published.claims(), 2), next(bending._elastica()), METHOD]
    parts(*claims)
    done = CliRunner().invoke(app, ["verify", "--out", str(tmp_path), "--cases", str(tmp_path / "cases")])
    assert done.exit_code == 0, done.output
    assert "3 cases and 2 robots" in done.output
    first, _, elastica = json.loads((tmp_path / "cases" / "cases.json").read_text())["cases"]
    assert first["reference"] == pytest.approx(3.5160153, rel=1e-6)
    assert elastica["given"] == {"loads": {"tip": [0.0, 1.0, 0.0]}}
    robot = load(tmp_path / "cases" / elastica["robot"])
    assert robot.links[0].beam.bending == "exact"


@pytest.mark.parametrize(
    ("package", "results", "within"), [("exudyn", exudyn_cases.results, 1e-4), ("mujoco", mujoco_cases.results, 4e-3)]
)
def test_other_programs_come_close(package, results, within):
    """By the size of their elements and segments; where they are installed."""
    pytest.importorskip(package)
    known = {claim.case: claim.theirs for claim in islice(published.claims(), 18)}
    found = {case: x for case, x in results().items() if case in known}
    assert len(found) > 10
    for case, value in found.items():
        assert value == pytest.approx(known[case], rel=within), case


@pytest.mark.parametrize("part", [part for part in PARTS if part.name != "balances"], ids=lambda part: part.name)
def test_every_part_computes(part):
    """The first claims of each; the whole is the business of the command."""
    claims = list(islice(part.claims(), 4))
    assert len({claim.case for claim in claims}) == 4
    assert [claim.case for claim in claims if claim.verdict == "differs"] == []
    assert all(claim.case.startswith(f"{part.name}.") for claim in claims)


def test_without_sympy_it_says_so_before_anything_is_computed(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sympy", None)
    run = CliRunner().invoke(app, ["verify", "--out", str(tmp_path)])
    assert run.exit_code == FAILED
    assert "pip install sympy, or leave them out: --only methods" in " ".join(run.output.split())
