"""Checkpoints: torn files, and going on as if nothing had happened."""

import numpy as np
import pytest

import pliant
from pliant.simulation.checkpoint import CheckpointFile, read_checkpoint, reserve
from pliant.simulation.integrators.compiled import CompiledIntegrator
from pliant.simulation.run import Run
from pliant.simulation.study import load_study

METHODS = {
    "dop853": {},
    "rk4": {"step": 1e-3},
    "semi-implicit": {"step": 1e-4},
    "generalised-alpha": {"tolerance": 1e-5},
}


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
        ("generalised-alpha", {"tolerance": 1e-6}),
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


def test_writing_goes_on_after_a_torn_record(log):
    path, _, sizes = log
    path.write_bytes(path.read_bytes()[: sizes[1] + 100])
    file = CheckpointFile.reopen(path)
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


def test_space_is_reserved_and_given_back(tmp_path):
    reserve(tmp_path / "run.h5", 100_000)
    assert not list(tmp_path.iterdir())
    with pytest.raises(OSError, match="No such file"):
        reserve(tmp_path / "nowhere" / "run.h5", 1)
