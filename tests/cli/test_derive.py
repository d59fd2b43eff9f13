"""``pliant derive`` as a user runs it."""

import pytest


@pytest.fixture
def run(run):
    """``pliant derive ARGUMENTS...``"""
    return lambda *arguments: run("derive", *arguments)


def test_text_on_the_terminal(run):
    done = run("lin-lewis-rfr")
    assert done.returncode == 0
    assert "M[4,4] = m_3*lc_3**2 + mp_3*l_3**2 + I_3" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "start"), [("arm.tex", r"\documentclass"), ("arm.c", "/* Equations"), ("arm.md", "# Eq")]
)
def test_files_by_their_endings(run, tmp_path, name, start):
    done = run("lin-lewis-rfr", "-o", name)
    assert done.returncode == 0
    assert "4 coordinates" in done.stdout
    assert (tmp_path / name).read_text().startswith(start)


def test_format_and_numbers(run):
    done = run("lin-lewis-rfr", "--format", "python", "--numbers")
    assert done.returncode == 0
    assert "PARAMETERS = {\n}" in done.stdout
    compile(done.stdout, "arm.py", "exec")


def test_keep_and_closed_and_chord(run):
    done = run("lin-lewis-rfr", "--keep", "mp_3", "--tip-rotation", "chord")
    assert done.returncode == 0
    assert "mp_3*(" in done.stdout
    assert "m_1" not in done.stdout
    closed = run("lin-lewis-rfr", "--closed", "-f", "markdown")
    assert "closed form" in closed.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("dualemps",), "pliant export dualemps --to listing"),
        (("canadarm", "--most-terms", "1000"), "terms"),
        (("lin-lewis-rfr", "--keep", "mp"), "did you mean 'mp_3'"),
        (("lin-lewis-rfr", "-o", "arm.doc"), "--format"),
        (("lin-lewis-rfr", "-o", "nowhere/arm.tex"), "does not exist"),
        (("no-such-robot",), "there is no robot"),
    ],
)
def test_wrong_input(run, arguments, words):
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_without_sympy(process, tmp_path):
    """A package of that name that cannot be imported stands for one that is not there."""
    (tmp_path / "sympy.py").write_text("raise ImportError('none here')\n")
    done = process("derive", "lin-lewis-rfr")
    assert done.returncode == 1
    assert "pip install sympy" in done.stderr
    assert "Traceback" not in done.stderr


def test_lengths_as_symbols(run):
    done = run("lin-lewis-rfr", "--inside", "--bending", "linear")
    assert done.returncode == 0
    assert "EIz_2" in done.stdout
    assert "belong to the ratio of the load" in done.stdout
    # the inertia of the first joint stays readable, also with all digits of the numbers in it
    for text, most in ((done.stdout, 800), (run("lin-lewis-rfr").stdout, 700)):
        first = next(line for line in text.splitlines() if line.startswith("M[1,1]"))
        assert len(first) < most
    both = run("lin-lewis-rfr", "--inside", "--closed")
    assert both.returncode == 2
    assert "--inside and --closed" in both.stderr


def test_first_order_and_small_terms(run):
    done = run("lin-lewis-rfr", "--order", "1")
    assert done.returncode == 0
    assert "linear in the elastic coordinates, as asked for; terms: M " in done.stdout
    rates = [x for name in ("shoulder", "elbow", "wrist", "forearm.bend_y.1") for x in ("--within", f"{name}.rate=1")]
    short = run("lin-lewis-rfr", "--neglect", "1e-2", "--within", "forearm.bend_y.1=20mm", *rates)
    assert short.returncode == 0, short.stderr
    assert "no entry of M is wrong by more than 0.0" in short.stdout
    assert "-0.02 to 0.02 m" in short.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--neglect", "1e-3"), "give both"),
        (("--neglect", "1e-3", "--within", "elbow"), "write it as NAME=0.02"),
        (("--neglect", "1e-3", "--within", "elbov=1"), "elbov"),
        (("--neglect", "1e-3", "--within", "elbow=1"), "has no limits"),
    ],
)
def test_boxes_that_are_none(run, arguments, words):
    done = run("lin-lewis-rfr", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_steps(run, tmp_path):
    done = run("lin-lewis-rfr", "--steps", "-o", "class.tex")
    assert done.returncode == 0
    assert "Step 2.3: Jacobians of hand" in (tmp_path / "class.tex").read_text()
    code = run("lin-lewis-rfr", "--steps", "-f", "c")
    assert code.returncode == 2
    assert "--steps is for pages" in code.stderr
