"""C of a robot whose bodies are of a kind that the package does not know."""

import pytest

from pliant import Dynamics, Robot
from pliant.model.readers.library import read_document
from twist_bar import ROBOT, known_twist_bars

TOLERANCE = 1e-12
"""Of the largest entry: the same operations, but for the compiler's contractions and the library's sine."""


@pytest.fixture
def twisting(tmp_path):
    path = tmp_path / "wringer.yaml"
    path.write_text(ROBOT)
    with known_twist_bars():
        yield Dynamics(read_document(path).build(Robot), compile="never")


@pytest.mark.parametrize("function", ["forward", "mass_matrix", "pose"])
def test_equals_the_engine(twisting, build, expected, error, function):
    inputs, out = expected(twisting, function)
    assert error(build(twisting, function)(function, out.shape, *inputs), out) < TOLERANCE
