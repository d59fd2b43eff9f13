"""Arrays that built-in functions give again: only those that nobody has, and that are as they were made."""

import ctypes
import gc
import weakref

import numpy as np
import pytest

from pliant.engine.call.calls import QuickCall

SHAPES = [(7,), (2, 3), (2, 2, 2), (1,), (3, 1)]


@pytest.fixture
def doubled():
    """x (3,) -> (2, 3), twice the same row: each call has numbers of its own."""
    call = QuickCall()
    x = call.takes(3)
    call.gives(call.entries(6, np.arange(6), np.tile(np.arange(3), 2), np.ones(1), x).reshape(2, 3))
    return call.built()


def rows(x):
    return np.tile(x, (2, 1))


def test_an_array_that_was_let_go_of_is_given_again(doubled):
    known = {id(doubled(np.ones(3)))}
    for k in range(20):
        last = doubled(np.full(3, float(k)))
        assert np.array_equal(last, rows(np.full(3, float(k))))
        known.add(id(last))
    # the last one is still held while the next is made
    assert len(known) == 2


def test_arrays_that_are_kept_stay_as_they_are(doubled):
    kept = [doubled(np.full(3, float(k))) for k in range(50)]
    assert len({x.ctypes.data for x in kept}) == 50
    assert all(np.array_equal(x, rows(np.full(3, float(k)))) for k, x in enumerate(kept))
    # and after the first two were kept for long, others are given again
    known = {id(doubled(np.ones(3))) for _ in range(10)}
    assert len(known) == 1


HOLDERS = {
    "view": lambda x: x[1:],
    "transposed": lambda x: x.T,
    "memory": memoryview,
    "flat": lambda x: x.flat,
    "in a list": lambda x: [x],
    "pointer": lambda x: x.ctypes.data_as(ctypes.c_void_p),
    "scalar view": lambda x: x[0, 0:1],
}


@pytest.mark.parametrize("how", HOLDERS)
def test_whoever_holds_its_memory_holds_the_array(doubled, how):
    address = {}

    def held():
        x = doubled(np.full(3, 5.0))
        address["of"] = x.ctypes.data
        return HOLDERS[how](x)

    holder = held()
    others = [doubled(np.full(3, float(k))) for k in range(5)]
    assert address["of"] not in [x.ctypes.data for x in others]
    del holder


def locked(x):
    x.flags.writeable = False


def reshaped(x):
    x.shape = (3, 2)


def deepened(x):
    x.shape = (2, 3, 1)


def retyped(x):
    x.dtype = np.int64


def resized(x):
    x.resize((5, 3), refcheck=False)


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
@pytest.mark.parametrize("change", [locked, reshaped, deepened, retyped, resized])
def test_an_array_that_was_changed_is_not_given_again(doubled, change):
    for _ in range(3):
        change(doubled(np.ones(3)))
    for k in range(3):
        found = doubled(np.full(3, float(k)))
        assert found.dtype == float
        assert found.flags.writeable
        assert np.array_equal(found, rows(np.full(3, float(k))))


def test_weak_references_do_not_see_other_numbers(doubled):
    x = doubled(np.full(3, 5.0))
    weak = weakref.ref(x)
    del x
    later = [doubled(np.full(3, float(k))) for k in range(4)]
    assert all(weak() is not y for y in later)
    assert weak() is None or np.array_equal(weak(), rows(np.full(3, 5.0)))


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_go_with_the_call(shape):
    call = QuickCall()
    wanted = np.arange(float(np.prod(shape))).reshape(shape)
    call.gives(wanted)
    built = call.built()
    weak = weakref.ref(built())
    assert np.array_equal(weak(), wanted)
    del built, call
    gc.collect()
    assert weak() is None


def test_a_call_that_declines_keeps_what_it_would_have_given(doubled):
    one = doubled(np.ones(3))
    for _ in range(5):
        assert doubled(np.full(3, np.inf)) is None
    assert np.array_equal(one, rows(np.ones(3)))
    assert np.array_equal(doubled(np.full(3, 2.0)), rows(np.full(3, 2.0)))
