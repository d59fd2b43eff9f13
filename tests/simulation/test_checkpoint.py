"""Checkpoints: torn files, and going on as if nothing had happened."""

import os

import numpy as np
import pytest

import pliant
from pliant.simulation.checkpoint import CheckpointFile, Space, holder, read_checkpoint
from pliant.simulation.integrators.compiled import CompiledIntegrator
from pliant.simulation.run import Run
from pliant.simulation.study import load_study

METHODS = {
    "dop853": {},
    "gauss": {},
    "rk4": {"step": 1e-3},
    "semi-implicit": {"step": 1e-4},
    "generalised-alpha": {"tolerance": 1e-5},
    "esdirk": {"tolerance": 1e-6},
}


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Runs look up every few steps: short ones can be cut in their midst."""
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 7)


def study(method, **options):
    return load_study("single-link", changes={"until": 0.06, "integrator": {"method": method, **options}})


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_is_the_same_to_the_last_bit(tmp_path, method):
    options = METHODS[method]
    whole = Run(study(method, **options))
    whole.go()

    first = Run(study(method, **options))
    log = CheckpointFile.create(tmp_path / "run.partial", {"name": "x"})
    assert not first.go(lambda at: at.t > 0.031)
    assert first.t < whole.t
    log.append(first.recorder.fresh(), first.memory(), first.happenings)
    log.close()
    kept = read_checkpoint(tmp_path / "run.partial")
    second = Run(study(method, **options))
    second.recall(kept.memory, kept.samples, kept.happenings)
    assert second.t == first.t
    assert second.go()
    assert second.recorder.samples() == whole.recorder.samples()
    assert second.integrator.statistics == whole.integrator.statistics


@pytest.mark.parametrize("method", ["scipy:LSODA", "scipy:DOP853"])
def test_solvers_with_a_history_go_on_within_their_tolerance(method):
    whole, first, second = (Run(study(method)) for _ in range(3))
    whole.go()
    first.go(lambda at: at.t > 0.031)
    second.recall(first.memory(), first.recorder.samples())
    second.go()
    assert np.allclose(second.recorder.samples().q, whole.recorder.samples().q, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("dop853", {"tolerance": 1e-8}),
        ("gauss", {"max_step": 3e-3}),
        ("generalised-alpha", {"tolerance": 1e-6}),
        ("esdirk", {"tolerance": 1e-11}),
        ("rk4", {"step": 1e-3}),
        ("semi-implicit", {"step": 1e-3}),
    ],
)
def test_runs_in_machine_code_go_on_to_the_last_bit(method, options):
    """They come back after some thousand steps."""
    changes = {"until": 4.0, "integrator": {"method": method, **options}}
    whole, first, second = (Run(load_study("canadarm", changes=changes)) for _ in range(3))
    whole.go()
    assert isinstance(whole.integrator, CompiledIntegrator)
    assert not first.go(lambda at: True)
    assert 0 < first.t < 4.0
    memory, samples = first.memory(), first.recorder.samples()
    # what goes on must not change what was kept
    first.go()
    second.recall(memory, samples)
    second.go()
    assert second.recorder.samples() == whole.recorder.samples()
    assert second.integrator.statistics == whole.integrator.statistics


@pytest.fixture
def log(tmp_path):
    """A file with three checkpoints, and the times that they reached."""
    path = tmp_path / "run.partial"
    run = Run(study("dop853"))
    file = CheckpointFile.create(path, {"name": "x"})
    reached, sizes = [], []
    for t in (0.02, 0.03, 0.04):
        run.go(lambda at, t=t: at.t > t)
        file.append(run.recorder.fresh(), run.memory(), run.happenings)
        reached.append(run.t)
        sizes.append(path.stat().st_size)
    file.close()
    return path, reached, sizes


def test_a_torn_record_is_left_out(log):
    path, reached, sizes = log
    assert read_checkpoint(path).memory["integrator/t"] == reached[2]
    whole = path.read_bytes()
    for cut in (sizes[2] - 1, (sizes[1] + sizes[2]) // 2, sizes[1] + 3):
        path.write_bytes(whole[:cut])
        kept = read_checkpoint(path)
        assert kept.memory["integrator/t"] == reached[1]
        assert kept.samples.time[-1] <= reached[1]
    # a byte that a failing disk turned
    path.write_bytes(whole[: sizes[2] - 10] + b"\xff" * 10)
    assert read_checkpoint(path).memory["integrator/t"] == reached[1]


def test_whatever_follows_the_last_record_is_left_out(log):
    """A file that was made longer, noise, a record of another file or a repeated one: all checkpoints are whole."""
    path, reached, sizes = log
    whole = path.read_bytes()
    last = whole[sizes[1] :]
    noise = np.random.default_rng(0).bytes(500)
    for tail in (bytes(64), bytes(10_000), noise, last, last[:40] + noise, whole, b"REC\n"):
        path.write_bytes(whole + tail)
        kept = read_checkpoint(path)
        assert kept.memory["integrator/t"] == reached[2]
        file = CheckpointFile.reopen(path, kept)
        assert path.stat().st_size == sizes[2]
        file.close()


def test_every_byte_of_a_record_counts(log):
    """Mark, kind, number, length, digest and content: with any of them changed the record before it is the last."""
    path, reached, sizes = log
    whole = path.read_bytes()
    random = np.random.default_rng(1)
    for place in (*range(sizes[1], sizes[1] + 60), *random.integers(sizes[1], sizes[2], size=20)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << random.integers(8))]) + whole[place + 1 :])
        assert read_checkpoint(path).memory["integrator/t"] == reached[1]


def test_a_record_out_of_order_ends_the_file(log):
    """Without the one before it the samples would have a gap."""
    path, reached, sizes = log
    whole = path.read_bytes()
    path.write_bytes(whole[: sizes[0]] + whole[sizes[1] :])
    assert read_checkpoint(path).memory["integrator/t"] == reached[0]


def test_only_one_process_writes_a_file(log):
    path, _, _ = log
    assert not holder(path)
    kept = read_checkpoint(path)
    file = CheckpointFile.reopen(path, kept)
    assert holder(path) == f"process {os.getpid()} is writing it"
    with pytest.raises(BlockingIOError, match=f"process {os.getpid()} is writing it"):
        CheckpointFile.reopen(path, kept)
    with pytest.raises(BlockingIOError, match="is writing it"):
        CheckpointFile.create(path, {})
    file.close()
    assert not holder(path)
    assert read_checkpoint(path).end == kept.end


def test_a_run_keeps_the_method_that_it_began_with():
    """With another end `auto` would now choose another one."""
    first, second = (Run(load_study("single-link", changes={"until": until})) for until in (0.06, 0.12))
    first.go()
    second.choice = "generalised-alpha", "stiff"
    second.recall(first.memory(), first.recorder.samples())
    assert second.method == first.method == "dop853"
    assert second.reason == first.reason
    second.go()
    assert second.t == 0.12


FILED = """
robot: single-flexible-link
until: 20 ms
drive: {DRIVE}
"""


@pytest.mark.parametrize(
    ("drive", "file", "before", "after"),
    [
        ("given: {file: tau.csv}", "tau.csv", "t,shoulder\n0,1\n1,1\n", "t,shoulder\n0,1\n1,2\n"),
        (
            "prescribed: {trajectory: {table: {file: q.csv}}}",
            "q.csv",
            "t,shoulder\n0,0\n1,0.1\n",
            "t,shoulder\n0,0\n1,0.2\n",
        ),
        (
            "callback: {function: 'law.py:law'}",
            "law.py",
            "law = lambda t, q, v: [1.0]\n",
            "law = lambda t, q, v: [2.0]\n",
        ),
    ],
    ids=["torques", "positions", "python"],
)
def test_a_run_goes_on_with_the_files_that_it_began_with(tmp_path, drive, file, before, after):
    (tmp_path / file).write_text(before)
    (tmp_path / "own.yaml").write_text(FILED.replace("DRIVE", drive))

    def made():
        return Run(load_study(tmp_path / "own.yaml", python=True))

    first = made()
    first.go(lambda at: at.t > 0.001)
    memory, samples = first.memory(), first.recorder.samples()
    made().recall(memory, samples)
    (tmp_path / file).write_text(after)
    with pytest.raises(pliant.ModelError, match=f"{file} has changed since the run began"):
        made().recall(memory, samples)


def test_writing_goes_on_after_a_torn_record(log):
    path, _, sizes = log
    path.write_bytes(path.read_bytes()[: sizes[1] + 100])
    file = CheckpointFile.reopen(path, read_checkpoint(path))
    assert path.stat().st_size == sizes[1]
    file.append(None, {"integrator/t": 7.0}, [])
    file.close()
    assert read_checkpoint(path).memory["integrator/t"] == 7.0


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "run.partial"
    path.write_bytes(b"something else")
    with pytest.raises(pliant.ModelError, match="not a file of checkpoints"):
        read_checkpoint(path)
    with pytest.raises(pliant.ModelError, match="no such file"):
        read_checkpoint(tmp_path / "nothing")
    CheckpointFile.create(path, {}).close()
    with pytest.raises(pliant.ModelError, match="no checkpoint yet"):
        read_checkpoint(path)


def test_space_is_really_taken_and_given_back(tmp_path):
    def taken():
        return os.statvfs(tmp_path).f_bfree

    size, before = 30_000_000, taken()
    space = Space(tmp_path / "run.h5", size)
    block = os.statvfs(tmp_path).f_bsize
    # other programs write to this disk too
    assert before - taken() > size / block / 2
    assert not list(tmp_path.iterdir())
    space.release()
    assert before - taken() < size / block / 2
    with pytest.raises(OSError, match="No such file"):
        Space(tmp_path / "nowhere" / "run.h5", 1)


@pytest.mark.parametrize("looks", [False, True], ids=["kept", "looked at"])
@pytest.mark.parametrize(("name", "until"), [("seven-joint", 0.5), ("two-link", 0.3)])
def test_extremes_do_not_depend_on_where_a_run_was_cut(monkeypatch, name, until, looks):
    """Steps near a cut are looked at together with those behind it; a result in between changes nothing."""
    if name == "two-link":
        # in several groups
        monkeypatch.setattr("pliant.simulation.monitoring.extremes.PENDING", 700)
        monkeypatch.setattr("pliant.simulation.monitoring.extremes.WORTH", 1)
    study = load_study(name, changes={"until": until, "integrator": {"method": "dop853"}})
    whole = Run(study)
    whole.go()
    wanted = dict(whole.result().info.extremes)
    for cut in (0.1, 0.117, 0.21):
        first, second = (Run(study) for _ in range(2))
        assert not first.go(lambda at, cut=cut: at.t > cut)
        if looks:
            first.result()
        second.recall(first.memory(), first.recorder.samples())
        second.go()
        assert dict(second.result().info.extremes) == wanted
        # and one that merely went on
        first.go()
        assert dict(first.result().info.extremes) == wanted
