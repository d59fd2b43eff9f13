"""The arm of the simulation benchmark: other programs describe the same motion, and the tables come out."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
UNTIL = 0.5
"""The whole move and a quarter of a second of ringing."""
SAME = 1e-5
"""The benchmark's limit, m; the shortening of the bent bars, which only Exudyn knows, is half of it."""


@pytest.fixture(scope="module")
def arm() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    import ringing_arm

    yield ringing_arm
    sys.path.remove(str(FOLDER))


def test_arm_rings_with_a_few_millimetres(arm):
    tips = arm.tip(2, tolerance=1e-6, until=UNTIL)
    assert tips.shape == (round(UNTIL / arm.UNTIL * arm.SAMPLES) + 1, 2)
    np.testing.assert_allclose(tips[0], [1.1, 0.0], atol=1e-12)
    assert arm.difference(tips, arm.tip(4, tolerance=1e-8, until=UNTIL)) < SAME / 3
    # where the desired motion of a rigid arm would be
    q, _ = arm.RINGING.desired(np.linspace(0.0, UNTIL, len(tips)))
    first, second = q[:, 0], q.sum(axis=1)
    rigid = np.stack([0.6 * np.cos(first) + 0.5 * np.cos(second), 0.6 * np.sin(first) + 0.5 * np.sin(second)], axis=1)
    assert 1e-3 < arm.difference(tips, rigid) < 1e-2


def test_exudyn_moves_alike(arm):
    pytest.importorskip("exudyn", reason="Exudyn is not installed: pip install exudyn")
    import exudyn_arm

    ours = arm.tip(3, tolerance=1e-8, until=UNTIL)
    theirs = exudyn_arm.tip(4, 2500, until=UNTIL)
    assert arm.difference(ours, theirs) < SAME


def test_mujoco_comes_closer_at_second_order(arm):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    import mujoco_arm

    ours = arm.tip(3, tolerance=1e-8, until=UNTIL)
    few, more = (arm.difference(ours, mujoco_arm.tip(n, 5000, until=UNTIL)) for n in (2, 4))
    assert more < 3e-4
    assert few > 2.5 * more


@pytest.mark.parametrize("name", ["exudyn", "mujoco"])
def test_missing_peer_says_how_to_get_it(arm, monkeypatch, name):
    from peers import NoPeerError

    module = __import__(f"{name}_arm")
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NoPeerError, match=f"pip install {name}"):
        module.load()


def test_tables_of_their_own_reach_the_page(arm, tmp_path):
    from page import BEGIN, END, update
    from report import Row, Section, Sheet
    from timing import turns

    taken = turns({"nothing": lambda: lambda: None}, rounds=2)
    assert set(taken) == {"nothing"}
    sheet = Sheet("Errors", ("program", "error, m"), [("Pliant", "5e-06")])
    row = Row("arm", "set-up included", 0.5, "s", "peer", 1.0)
    page = tmp_path / "page.md"
    page.write_text(f"Text\n{BEGIN}\n\nOne machine.\n\n### Other\n\nkept\n\n### Motion\n\nold\n\n{END}\nEnd\n")
    update(page, [Section("simulation", "Motion", [row], ["said once"], [sheet])], tmp_path)
    text = page.read_text()
    for part in ("### Motion", "| Pliant | 5e-06 |", "2.00 x faster", "pictures/work-precision.png", "- said once"):
        assert part in text
    # what was not measured stays, with the machine that it comes from
    assert text.startswith(f"Text\n{BEGIN}\n\n### Other\n\nOne machine.\n\nkept\n\n### Motion\n\nProcessor type")
    assert text.endswith(f"- said once\n\n{END}\nEnd\n")
    update(page, [], tmp_path)
    assert page.read_text() == text
    assert "old" not in text


def test_a_page_that_does_not_exist_is_made_and_one_without_a_place_is_refused(arm, tmp_path, monkeypatch, capsys):
    import run
    from page import BEGIN, END, update
    from report import Row, Section

    section = Section("rigid", "Rigid", [Row("arm", "forward", 0.5, "s", "peer", 1.0)])
    update(tmp_path / "new.md", [section], tmp_path)
    assert (tmp_path / "new.md").read_text().startswith(f"# Figures\n\n{BEGIN}\n\n### Rigid\n")
    (tmp_path / "plain.md").write_text("no marks\n")
    for page, words in (
        ("plain.md", f"has no place for figures: two lines {BEGIN} and {END}"),
        ("none/new.md", "there is no folder"),
        (".", "cannot be read"),
    ):
        monkeypatch.setattr(sys, "argv", ["run.py", "--page", str(tmp_path / page)])
        with pytest.raises(SystemExit):
            run.main()
        assert words in capsys.readouterr().err
    assert (tmp_path / "plain.md").read_text() == "no marks\n"


def test_overview_tells_costs_and_the_row_furthest_from_its_goal(arm, tmp_path):
    from before import WAITS, compared
    from page import BEGIN, END, update
    from report import Goal, Row, Section
    from run import SECTIONS

    assert {wait.section for wait in WAITS} <= set(SECTIONS)
    ahead = Goal(">=", 1.0)
    mass = [
        Row(f"chain of {n}", "mass matrix, compiled loop", ours, "ns", "crba", 4.0, goal=ahead)
        for n, ours in ((2, 2), (7, 5))
    ]
    pose = Row("chain of 7", "arm.pose, from Python", 3.0, "ns", "forwardKinematics", 2.0, goal=Goal(">=", 0.5))
    cold = Row(
        "first run of the README", "whole process, empty cache", 3.0, "s", "imports", 1.0, False, Goal("<=", 4.0)
    )
    overview = compared([Section("rigid", "Rigid", [*mass, pose]), Section("latency", "Wait", [cold])])
    (sheet,) = overview.sheets
    assert [(line[0], *line[3:]) for line in sheet.lines] == [
        ("pose", "1.5", "≤ 2", "met"),
        ("mass matrix, 2 to 50 links", "1.25", "≤ 1", "**missed**"),
        ("cold process", "3", "≤ 4", "met"),
    ]
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n\n### Other\n\nkept\n\n{END}\n")
    update(page, [overview], tmp_path)
    assert page.read_text().index(overview.title) < page.read_text().index("### Other")


def test_every_section_is_there(arm):
    from run import SECTIONS

    assert [name for name in SECTIONS if not (FOLDER / f"bench_{name}.py").is_file()] == []


def test_sections_can_be_loaded_and_published_times_are_there(arm, monkeypatch):
    from run import SECTIONS

    loaded = {name: __import__(f"bench_{name}") for name in SECTIONS}
    assert all(callable(module.measure) for module in loaded.values())
    # the rows of the papers' runs without the runs
    monkeypatch.setattr(loaded["simulation"], "_seconds", lambda *_, **__: 1.0)
    rows = loaded["simulation"]._bundled(1.0)
    assert len(rows) == 6
    assert all(row.ratio > 0 for row in rows)
    assert sum(row.goal is not None for row in rows) == 3
    assert len(loaded["simulation"]._lasting()) == len(loaded["simulation"].FALLS)


def test_compilation_is_measured_with_an_empty_cache(arm):
    import bench_flexible

    from pliant import Dynamics

    seconds, size, _ = bench_flexible._compiled(Dynamics("two-link-flexible"), rounds=1)
    assert seconds > 0
    assert size > 100


def test_a_section_that_fails_leaves_the_others(arm, monkeypatch, tmp_path):
    import bench_counts
    import bench_lumped
    import run
    from report import Section

    def broken(options):
        raise KeyError(2)

    # processes of their own would not know what is changed here
    monkeypatch.setattr(run, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    monkeypatch.setattr(bench_lumped, "measure", broken)
    monkeypatch.setattr(bench_counts, "measure", lambda options: Section("counts", "Operations"))
    monkeypatch.setattr(sys, "argv", ["run.py", "lumped", "counts", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="not measured, see above: lumped"):
        run.main()
    assert "Operations" in (tmp_path / "bench.json").read_text()


def test_batches_are_measured_by_what_lanes_attain(arm):
    """Registers that take twice as long as single numbers attain half of their lanes."""
    from bench_batch import IN_CACHE, MANY, Races
    from lane_peak import PRODUCTS, independent

    from pliant.engine.compile import jit

    independent(jit.lanes())(1)
    races = object.__new__(Races)
    single, gain = 400.0, 0.4 * jit.lanes()
    races.times = dict.fromkeys(("calls", "some", "one core", "two cores"), 1.0)
    races.times |= {"number": 3.0 * PRODUCTS, "register": 6.0 * PRODUCTS, "single": single}
    races.times |= {"batch": IN_CACHE * single / gain, "many": MANY * single / gain}
    races._products = 50
    rows = races.rows("arm")
    assert [row.ratio for row in rows[:2]] == pytest.approx([gain, 0.8])
    assert [row.met for row in rows[:2]] == [None, True]
    # 50 products at 6 ns for all lanes
    assert rows[2].reference_value == pytest.approx(300.0 / jit.lanes())
