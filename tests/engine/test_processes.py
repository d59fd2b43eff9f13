"""Robots in other processes: forked in the middle of everything, spawned afresh, and sent there by pickle."""

import multiprocessing
import os
import threading

import numpy as np
import pytest

import zoo
from pliant.dynamics import Dynamics
from pliant.engine.backends import evaluator, jit

COUNT = 4 * evaluator.GROUP
PATIENCE = 60.0
"""Seconds after which a child is taken to wait for ever."""

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")


@pytest.fixture(scope="module")
def arm():
    return Dynamics(zoo.robot("rotary-none"))


def many(arm):
    """States enough for several threads."""
    return np.tile(zoo.state(arm)[0], (COUNT, 1))


def accelerations(arm, q, answer):
    answer.put(arm.forward(q, 0 * q)[-1].tobytes())


def answer_of(how, arm, q):
    """What a child process computes; it is ended if it does not come back."""
    context = multiprocessing.get_context(how)
    answer = context.Queue()
    child = context.Process(target=accelerations, args=(arm, q, answer))
    child.start()
    try:
        return np.frombuffer(answer.get(timeout=PATIENCE))
    finally:
        child.kill()
        child.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_batch_in_a_fork_after_one_in_its_parent(arm, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    evaluator._threads.cache_clear()
    # all threads of the parent's pool are there and wait for work
    together = threading.Barrier(4)
    list(evaluator._threads().map(lambda _: together.wait(), range(4)))
    q = many(arm)
    here = arm.forward(q, 0 * q)
    assert np.array_equal(answer_of("fork", arm, q), here[-1])
    assert np.array_equal(arm.forward(q, 0 * q), here)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_compiles(arm):
    """Its locks are held by a thread that the child does not have."""
    q = many(arm)
    here = arm.forward(q, 0 * q)
    held, done = threading.Event(), threading.Event()

    def compile_slowly():
        with jit._LOCK, evaluator._RECENT_LOCK:
            held.set()
            done.wait(PATIENCE)

    other = threading.Thread(target=compile_slowly)
    other.start()
    held.wait()
    try:
        fresh = Dynamics(zoo.robot("rotary-none"))
        evaluator._RECENT.clear()
        assert np.array_equal(answer_of("fork", fresh, q), here[-1])
    finally:
        done.set()
        other.join()


def test_a_batch_in_a_spawned_process(arm):
    q = many(arm)
    assert np.array_equal(answer_of("spawn", arm, q), arm.forward(q, 0 * q)[-1])
