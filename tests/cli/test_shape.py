"""``pliant shape`` as a user runs it."""

STUDY = """\
robot: two-link-flexible
until: 1 s
start: {position: {shoulder: 20 deg, elbow: 80 deg}, links: equilibrium}
drive:
  prescribed:
    trajectory: {quintic: {to: {shoulder: 30 deg, elbow: 70 deg}, duration: 0.3 s}}
"""


def test_a_shaper_is_recommended_and_written(run, tmp_path):
    (tmp_path / "move.yaml").write_text(STUDY, encoding="utf-8")
    out = run("shape", "move.yaml", "--plot", "shape.png", "--write")
    assert out.returncode == 0, out.stderr
    text = out.stdout
    assert "with held joints (* shaped" in text
    lines = text.splitlines()
    heads = next(line for line in lines if line.startswith("shaper "))
    assert " ".join(heads.split()) == "shaper longer, s mode 1, % mode 2, % frame, % swing, mm left, %"
    kinds = [line.split()[0] for line in lines[lines.index(heads) + 2 :][:9]]
    assert kinds == ["none", "zv", "mzv", "zvd", "ei", "zvdd", "ei2", "ei3", "slower"]
    assert "recommended: zv" in text
    assert "    shaper: zv" in text
    assert (tmp_path / "shape.png").exists()


def test_wrong_options_are_refused_in_words(run, tmp_path):
    (tmp_path / "move.yaml").write_text(STUDY, encoding="utf-8")
    out = run("shape", "move.yaml", "--modes", "one")
    assert out.returncode == 2
    assert "--modes 'one': write numbers of vibrations" in out.stderr
    out = run("shape", "move.yaml", "--modes", "9")
    assert out.returncode == 2
    assert "move.yaml, line 6" in out.stderr
    assert "mode 9: there are" in out.stderr
