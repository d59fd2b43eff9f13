"""Robots in other processes: forked in the middle of everything, spawned afresh, and sent there by pickle."""

import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import pliant
import zoo
from pliant.dynamics import Dynamics
from pliant.engine.call import evaluator
from pliant.engine.compile import jit
from pliant.formulations.loops.loops import AssemblyError, SingularConfigurationError

COUNT = 4 * evaluator.GROUP
PATIENCE = 200.0
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
    monkeypatch.setattr(evaluator, "_processors", lambda: 4)
    evaluator._threads.cache_clear()
    # all threads of the parent's pool are there and wait for work
    together = threading.Barrier(4, timeout=PATIENCE)
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


# ---------------------------------------------------------------- pickle


def again(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.fixture(scope="module")
def used():
    """A robot with loops that has done everything, and a run of it."""
    arm = Dynamics("four-bar")
    run = pliant.simulate(arm, until=0.01, output_step=0.001)
    q, v = run.q[-1], run.v[-1]
    for each in (arm.mass_matrix(q), arm.derivatives(q, v), arm.energy(q, v), arm.inverse(q, v, [0.0])):
        assert len(each)
    return arm, run


def test_a_used_robot_is_sent_as_what_it_is_made_of(used):
    arm, run = used
    other = again(arm)
    assert other.names == arm.names
    assert np.array_equal(other.forward(run.q[0], run.v[0]), arm.forward(run.q[0], run.v[0]))


def test_results_of_every_kind(used):
    arm, run = used
    assert run["tip.position"].shape == (len(run), 3)
    copy = again(run)
    assert copy == run
    assert np.array_equal(copy["tip.position"], run["tip.position"])
    q, v = run.q[-1], run.v[-1]
    for thing in (arm.inverse(q, v, [0.0]), arm.energy(q, v), arm.pose("tip", q), arm.derivatives(q, v)):
        assert all(np.array_equal(x, y) for x, y in zip(again(thing), thing, strict=True))
    solution = arm.inverse(q, v, [0.0])
    assert again(solution).names == solution.names
    free = Dynamics("single-flexible-link")
    assert np.array_equal(again(pliant.modes(free)).squares, pliant.modes(free).squares)
    assert np.array_equal(again(pliant.equilibrium(free)).q, pliant.equilibrium(free).q)


@pytest.mark.parametrize(
    "error",
    [
        AssemblyError("it stays open", {"closure": (0.1, 0.2)}),
        SingularConfigurationError("it is singular", ("closure",), 1e9),
        pliant.ModelError("it is wrong"),
    ],
)
def test_errors_come_back_whole(error):
    other = again(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert vars(other) == vars(error)


def test_a_pool_of_processes(used):
    """Robots, what they are asked and what they answer go to and fro; errors too."""
    _, run = used
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(len, run).result(PATIENCE) == len(run)
        with pytest.raises(AssemblyError, match="stays open") as found:
            pool.submit(impossible).result(PATIENCE)
    assert found.value.gaps


def impossible():
    """A four-bar whose coupler is far too short."""
    raise AssemblyError("'closure' stays open by 1 m", {"closure": (1.0, 0.0)})
