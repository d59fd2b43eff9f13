"""``pliant denoc``: patterns of blocks, and two rods whose numbers are found by hand."""

import pytest
from typer.testing import CliRunner

from pliant import Dynamics
from pliant.cli.app import app
from pliant.formulations.method import MethodError

ROD = "rigid: {mass: 3, com: [0.5, 0, 0], inertia: [0, 0.25, 0.25], length: 1}"
RODS = f"""
name: two-rods
gravity: [0, 0, 0]
links:
  - {{name: upper, joint: {{name: shoulder, axis: z}}, {ROD}}}
  - {{name: fore, joint: {{name: elbow, axis: z}}, {ROD}}}
"""


def ask(*words):
    return CliRunner().invoke(app, ["denoc", *words])


@pytest.fixture
def rods(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rods.yaml").write_text(RODS)


def test_two_rods_by_hand(rods):
    """Rods of 3 kg and 1 m at a right angle: I = [5 1; 1 1], so U_12 = 1 and D = diag(4, 1)."""
    done = ask("rods.yaml", "--at", "elbow=90deg", "--effort", "shoulder=6", "--effort", "elbow=2", "--hand")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    for text in (
        "U, (35) [ 1 1 ] [ 0 1 ]",
        "D, (35) [ 4 0 ] [ 0 1 ]",
        "I = U D U^T [ 5 1 ] [ 1 1 ]",
        "I^-1 = U^-T D^-1 U^-1 [ 0.25 -0.25 ] [ -0.25 1.25 ]",
        "I^_1 = P_1^T Psi^_1, (36) [ 4 ]",
        # U^-1 (6, 2) = (4, 2); D^-1: (1, 2); U^-T: (1, 1)
        "step A, link 1: phi^ = phi - P^T eta_bar = [4]",
        "step B, link 2: phi~ = I^^-1 phi^ = [2]",
        "step C, link 2: q_ddot = phi~ - Psi^T mu_bar = [1]",
        "I = U D U^T: to 1e-12 of the largest entry of I",
    ):
        assert text in said, text


def test_patterns_of_a_chain_and_of_a_tree(rods, tmp_path):
    done = ask("rods.yaml", "--plot", "p.png")
    assert "[     1     . ]\n  [  A_21     1 ]" in done.stdout
    assert (tmp_path / "p.png").stat().st_size > 10_000
    # two arms on the ground know nothing of each other
    text = RODS.replace("{name: elbow, axis: z}", "{name: elbow, axis: z, parent: base}")
    (tmp_path / "pair.yaml").write_text(text.replace("two-rods", "pair"))
    assert "I^-1, inverse U^-T D^-1 U^-1\n  [  W_11     . ]\n  [     .  W_22 ]" in ask("pair.yaml").stdout


def test_an_open_tree_is_told():
    assert "closed loops" in ask("four-bar-rigid").stderr


def test_what_has_no_mass_is_refused():
    """The pivot that closes the DualEMPS is massless: its open tree has no inverse."""
    arm = Dynamics("dualemps", compile="never")
    with pytest.raises(MethodError, match="link 'pivot_25': no mass resists q25"):
        arm.denoc(arm.reference_pose())


def test_a_robot_that_cannot_move(rods, tmp_path):
    link = "{name: post, joint: {type: fixed}, rigid: {mass: 3, com: [0.5, 0, 0], inertia: 0.1, length: 1}}"
    (tmp_path / "post.yaml").write_text(f"name: post\nlinks: [{link}]\n")
    done = ask("post.yaml", "--hand", "--plot", "post.png")
    assert done.exit_code == 0, done.output
    assert "nothing to solve" in done.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("seven-joint-arm", "--hand"), "coordinates; numbers of up to 16 are printed"),
        (("luffing-boom", "--hand"), "actuators along lines ('lift')"),
        (("rods.yaml", "--effort", "shoulder=1"), "give --hand, too"),
        (("rods.yaml", "--hand", "--effort", "shoulder=much"), "write it as JOINT=VALUE"),
        (("rods.yaml", "--hand", "--effort", "sholder=1"), "shoulder"),
        (("rods.yaml", "--plot", "x.bmp"), "a picture must end in"),
    ],
)
def test_what_is_refused(rods, words, why):
    done = ask(*words)
    assert done.exit_code == 2, done.output
    assert why in done.stderr
