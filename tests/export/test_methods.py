"""Exports ask the method for its functions."""

import numpy as np
import pytest

import zoo
from pliant import Dynamics, generate_python

ROUNDING = 1e-12
"""Of the largest entry: the same operations, in another order."""


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible", method="lagrange")


def test_the_functions_of_a_method(arm, tmp_path):
    """The generated code gives what the method computes."""
    space = {}
    exec(generate_python(arm, tmp_path / "arm.py").read_text(encoding="utf-8"), space)
    q, v, a = zoo.state(arm)
    found = {
        "forward": (space["forward"](q, v, arm.B @ [1.0, 2.0]), arm.forward(q, v, [1.0, 2.0])),
        "inverse": (space["inverse"](q, v, a), arm.forces(q, v, a)),
        "bias": (space["bias"](q, v), arm.bias(q, v)),
        "mass_matrix": (space["mass_matrix"](q), arm.mass_matrix(q)),
    }
    for name, (code, own) in found.items():
        size = np.abs(own).max()
        assert np.abs(np.asarray(code).reshape(own.shape) - own).max() <= ROUNDING * size, name
    assert "jacobian" not in space


def test_what_a_method_does_not_export(arm, tmp_path):
    with pytest.raises(
        ValueError, match=r"'forward', 'inverse', 'bias', 'mass_matrix' can be exported, not pose.*'recur"
    ):
        generate_python(arm, tmp_path / "arm.py", functions=("pose",))
