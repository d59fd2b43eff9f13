"""Arrays of zeros that know it."""

import pickle

import numpy as np
import pytest

from pliant.spatial.rounding import StructuralZeros, filled, nested, structural_zeros


def banded(*shape):
    """An array with something beside its first diagonal only."""
    out = np.zeros(shape)
    for k in range(shape[0] - 1):
        out[k, k + 1] = 1.0 + k
    return out


@pytest.mark.parametrize(
    "a",
    [np.zeros(4), np.zeros((3, 0)), np.zeros((2, 3, 3)), np.eye(3), banded(5, 5), banded(6, 6, 3, 3), banded(4, 4, 3)],
)
def test_lists_are_those_of_the_array(a):
    lists = nested(a)
    assert lists == a.tolist()
    back = filled(lists)
    assert back.shape == a.shape
    assert (back == a).all()


def test_zeros_are_one_object_and_stay_zero():
    empty = nested(banded(6, 6, 3, 3))
    assert type(empty[0][0]) is StructuralZeros
    assert empty[0][0] is empty[5][2] is structural_zeros(3, 3)
    assert pickle.loads(pickle.dumps(empty))[0][0] is structural_zeros(3, 3)
    with pytest.raises(TypeError, match="shared"):
        empty[0][0][0] = [1.0, 1.0, 1.0]
