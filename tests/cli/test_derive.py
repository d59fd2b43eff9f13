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
