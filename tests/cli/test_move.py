"""``pliant move`` as a user runs it."""

import pytest

pytest.importorskip("casadi", reason="casadi is not installed")

ROBOT = """\
name: disc
gravity: [0, 0, 0]
links:
- {name: disc, joint: {name: j, axis: z}, rigid: {mass: 1, inertia: [0.4, 0.4, 0.5], length: 0.5}}
"""


def test_a_move_is_found_written_and_drawn(run, tmp_path):
    (tmp_path / "disc.yaml").write_text(ROBOT)
    done = run("move", "disc.yaml", "--to", "j=1.3", "--effort", "j=2", "--intervals", "10", "-o", "out", "--plot",
                  "move.png")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1.14018 s" in done.stdout
    assert "effort of j (100 % of the time)" in done.stdout
    assert (tmp_path / "move.png").stat().st_size > 10_000
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"disc-move-{name}" for name in ("efforts.csv", "feedback.yaml", "motion.csv", "replay.yaml", "robot.yaml")
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--effort", "k=2"], "has no drive 'k'"),
        (["--effort", "j"], "'j' is no number"),
        (["--position", "j=1"], "write it as JOINT=LOW,HIGH"),
        (["--strain", "disc=1e-3"], "write it as LINK,X,Y,Z=VALUE"),
        ([], "j has no limit of its effort"),
    ],
)
def test_wrong_input_in_words(run, tmp_path, options, words):
    (tmp_path / "disc.yaml").write_text(ROBOT)
    done = run("move", "disc.yaml", "--to", "j=1.3", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
