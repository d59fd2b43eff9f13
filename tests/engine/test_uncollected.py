"""Searches for dead cycles rest during a trace, and go on as before."""

import gc
import sys
import threading

import pytest

from pliant.engine.call.uncollected import end_all, uncollected


@pytest.fixture(params=[True, False], ids=["searching", "resting"])
def before(request):
    was_on = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_on else gc.disable)()


def test_it_is_as_before(before):
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() == before


def test_errors_end_it(before):
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled() == before


def test_threads_end_in_any_order(before):
    inside, done = threading.Event(), threading.Event()

    def longer():
        with uncollected():
            inside.set()
            done.wait()

    thread = threading.Thread(target=longer)
    with uncollected():
        thread.start()
        inside.wait()
    assert not gc.isenabled()
    done.set()
    thread.join()
    assert gc.isenabled() == before


def test_a_fork_ends_it(before):
    with uncollected():
        end_all()
        assert gc.isenabled() == before
    # the end of what began before it changes nothing
    assert gc.isenabled() == before


def test_many_threads_leave_it_as_it_was(before):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def often():
        for _ in range(50):
            with uncollected():
                pass

    try:
        for _ in range(40):
            threads = [threading.Thread(target=often) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert gc.isenabled() == before
    finally:
        sys.setswitchinterval(interval)
