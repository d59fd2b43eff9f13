"""``pliant buckling`` as a user runs it."""

import pytest

COLUMN = """
name: mast
gravity: [0, 0, 0]
links:
  - name: mast
    joint: {type: fixed}
    beam:
      length: 1 m
      properties: {mass_per_length: 1 kg/m, EIz: 1 N m^2}
      bending: second-order
      modes: {shape: legendre, bend_y: 6}
"""


@pytest.fixture
def mast(tmp_path):
    (tmp_path / "mast.yaml").write_text(COLUMN, encoding="utf-8")
    return "mast.yaml"


def test_factor_and_picture(run, mast, tmp_path):
    done = run("buckling", mast, "--force", "tip=-1,0,0", "--plot", "mast.png")
    assert done.returncode == 0, done.stderr
    assert "mast: buckles at 2.4674 times the loads (bifurcation), mostly along mast.bend_y.1" in done.stdout
    assert (tmp_path / "mast.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--force", "tip=up"), "write it as FRAME=FX,FY,FZ"),
        (("--force", "tipp=1,0,0"), "no frame 'tipp'"),
    ],
)
def test_wrong_input(run, mast, arguments, words):
    done = run("buckling", mast, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_modes_and_equilibria_of_rotating_and_loaded_robots(run, mast, tmp_path):
    turning = COLUMN.replace("{type: fixed}", "{name: hub}")
    (tmp_path / "blade.yaml").write_text(turning, encoding="utf-8")
    done = run("modes", "blade.yaml", "--rate", "hub=12")
    assert done.returncode == 0, done.stderr
    assert "hub turns at 12 rad/s" in done.stdout
    # chordwise: sqrt(13.1702^2 - 12^2)
    assert "5.428" in done.stdout
    assert "hub turns at 12" in run("equilibrium", "blade.yaml", "--rate", "hub=12").stdout
    assert "falls" in run("modes", mast, "--load", "tip=-3,0,0").stdout
    assert "no coordinate 'hubb'; did you mean 'hub'" in run("modes", "blade.yaml", "--rate", "hubb=1").stderr
