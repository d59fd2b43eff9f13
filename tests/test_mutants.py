"""Mutants are small changes of a module that remain Python, each at the place that it names."""

import ast
from pathlib import Path

import mutants

TEXT = '''
def f(x, y):
    """A - b, which is not physics."""
    z = 0.5 * x - y
    if z < 0.25:
        raise ValueError(f"{x - y} is too small: " + "a" * 2)
    return -z
'''


def test_signs_factors_and_comparisons_are_broken():
    found = list(mutants.mutants_of(Path("f.py"), TEXT))
    assert {(m.line, m.old, m.new) for m in found} == {
        (4, "-", "+"),
        (4, "*", "/"),
        (4, "0.5", "0.75"),
        (5, "<", ">="),
        (5, "0.25", "0.375"),
        (7, "-", "+"),
    }
    for mutant in found:
        broken = mutant.applied(TEXT)
        ast.parse(broken)
        changed = [k for k, (a, b) in enumerate(zip(TEXT.splitlines(), broken.splitlines(), strict=True), 1) if a != b]
        assert changed == [mutant.line]


def test_choices_repeat_and_have_tests():
    some = mutants.chosen(40, 3, "")
    assert some == mutants.chosen(40, 3, "")
    assert some != mutants.chosen(40, 4, "")
    for mutant in some:
        assert all((mutants.ROOT / folder).is_dir() for folder in mutants.nearest(mutant.module))
    assert all((mutants.ROOT / "tests" / folder).is_dir() for folder in mutants.ALL)
