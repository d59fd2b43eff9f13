"""Sweeps: right numbers, failures as rows, files, interruption, processes and clusters."""

import errno
import gc
import io
import os
import signal
import tracemalloc
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest

import pliant
from pliant.results import storage
from pliant.sweeps.journal import Journal
from pliant.sweeps.work import CaseRow, SweepJob, run_chunk
from pliant.sweeps.workers import here
from small_arms import boom

PLACE = "arm.payloads[0].mass"
# a sweep calls the same functions in the same order; other processes may use other lanes
SAME = 1e-12
# bytes that twelve cases may leave behind: twelve runs that stay take 2.1 MB; tables that are full sooner or later
# and the interpreter's own lists leave up to 0.1 MB, which differs from machine to machine
KEPT = 500_000


@pytest.fixture(scope="module")
def robot():
    return boom(mass_per_length=0.5, EI=2000.0, payload=0.2)


@pytest.fixture(scope="module")
def study(robot):
    return pliant.Study(
        name="hold", robot=robot, until=0.2, drive={"pid": {"kp": 50, "kd": 2}}, outputs=pliant.Outputs(step=0.01)
    )


def tip_mass(arm):
    """What a user might compute."""
    return {"mass": arm.robot.mass, "row": np.arange(3.0)}


def broken(arm):
    if arm.robot.get(PLACE) > 1:
        raise RuntimeError("too heavy")
    return arm.robot.mass


def deadly(arm, marker):
    """Kills its process once."""
    if arm.robot.get(PLACE) > 1 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return arm.robot.mass


def test_modes_are_those_of_each_robot(robot):
    masses = [0.1, 0.5, 2.0]
    found = pliant.sweep(robot, {PLACE: masses})
    alone = [pliant.modes(pliant.Dynamics(robot.set(PLACE, m))).hertz[0] for m in masses]
    np.testing.assert_allclose(found["frequency.1"], alone, rtol=SAME)
    assert found.unit("frequency.1") == "Hz"


def test_runs_are_those_of_each_study(study):
    found = pliant.sweep(
        study,
        {PLACE: [0.1, 0.4], "drive.kp[0]": [50.0, 80.0]},
        outputs=["max(arm.deflection)", "final(hinge)", "hinge"],
    )
    assert len(found) == 4
    for k in range(4):
        changed = study.with_changes(
            robot=study.robot.set(PLACE, float(found[PLACE][k])),
            drive=pliant.PID(kp=[float(found["drive.kp[0]"][k])], kd=2),
        )
        run = pliant.run_study(changed)
        assert found["max(arm.deflection)"][k] == pytest.approx(run.extreme("arm.deflection").most, rel=SAME)
        np.testing.assert_allclose(found["hinge"][k], run["hinge"], rtol=SAME, atol=SAME)
        assert found["final(hinge)"][k] == pytest.approx(run["hinge"][-1], rel=SAME)
    np.testing.assert_allclose(found.time, run.time, rtol=SAME)
    assert [found.unit(name) for name in ("max(arm.deflection)", "hinge")] == ["m", "rad"]


def test_rest_is_that_of_each_robot(robot):
    found = pliant.sweep(robot, {PLACE: "0.1, 0.5 kg"}, do="equilibrium", outputs=["tip.deflection", "hinge.torque"])
    arm = pliant.Dynamics(robot.set(PLACE, 0.5))
    rest = pliant.equilibrium(arm)
    assert found["hinge.torque"][1] == pytest.approx(rest.tau[0], rel=SAME)
    straight = arm.pose("tip", arm.reference_pose()).position
    bent = arm.pose("tip", rest.q).position - straight
    np.testing.assert_allclose([found[f"tip.deflection.{axis}"][1] for axis in "xyz"], bent, rtol=1e-9, atol=SAME)


def test_a_function_of_the_user(robot):
    found = pliant.sweep(robot, {PLACE: [1.0, 2.0]}, do=tip_mass)
    np.testing.assert_allclose(np.diff(found["mass"]), 1.0)
    assert found["row"].shape == (2, 3)
    assert found.info.action == "tip_mass"


def test_what_fails_is_a_row_with_its_reason(robot):
    found = pliant.sweep(robot, {PLACE: [0.5, 2.0, 0.7]}, do=broken)
    assert found.failures == [1]
    assert found.reasons[1] == "RuntimeError: too heavy"
    assert np.isnan(found["value"][1])
    assert np.isfinite(found["value"][[0, 2]]).all()
    impossible = pliant.sweep(robot, {PLACE: [0.5, -1.0]})
    assert "must not be negative" in impossible.reasons[1] or "mass" in impossible.reasons[1]


@pytest.mark.parametrize(
    ("vary", "options", "words"),
    [
        ({"arm.payload[0].mass": [1]}, {}, "payload"),
        ({"leg.mass": [1]}, {}, "leg"),
        ({PLACE: [1]}, {"do": "simulate"}, "give a study"),
        ({PLACE: [1]}, {"do": "mode"}, "modes"),
        ({PLACE: [1]}, {"jobs": 0}, "jobs is 0"),
        ({PLACE: [1]}, {"file": "table.txt"}, ".h5 or .parquet"),
        ({PLACE: ["heavy"]}, {}, "heavy"),
    ],
)
def test_wrong_questions_are_told_before_anything_is_computed(robot, vary, options, words):
    with pytest.raises(pliant.ModelError, match=words):
        pliant.sweep(robot, vary, **options)


@pytest.mark.parametrize(
    ("vary", "options", "words"),
    [
        ({"robot": [1]}, {}, "name a place in it"),
        ({"drive.kp[3]": [1]}, {}, "no input 3"),
        ({"drive.kq": [1]}, {}, "kq"),
        ({"until": [1]}, {"outputs": "largest(hinge)"}, "no 'largest'"),
        ({"until": [1]}, {"outputs": "max(hing)"}, "no channel 'hing'; did you mean 'hinge'"),
    ],
)
def test_wrong_places_of_a_study_are_told(study, vary, options, words):
    with pytest.raises(pliant.ModelError, match=words):
        pliant.sweep(study, vary, **options)


@pytest.mark.parametrize("ending", [".h5", ".parquet"])
def test_a_table_comes_back_from_its_file(robot, tmp_path, ending):
    file = tmp_path / f"table{ending}"
    found = pliant.sweep(robot, {PLACE: [0.1, -1.0, 0.3], "gravity[2]": [-9.81]}, file=file)
    assert not list(tmp_path.glob("*.partial"))
    if ending == ".h5":
        back = pliant.Sweep.load(file)
        np.testing.assert_array_equal(back["frequency.1"], found["frequency.1"])
        assert (back.reasons, back.info, back.outputs) == (found.reasons, found.info, found.outputs)
        back.save(tmp_path / "again.h5")
        np.testing.assert_array_equal(pliant.Sweep.load(tmp_path / "again.h5")["frequency.2"], found["frequency.2"])
        assert back.to_xarray()["frequency.1"].dims == ("case",)
    else:
        pandas = pytest.importorskip("pandas")
        table = pandas.read_parquet(file)
        np.testing.assert_array_equal(table["frequency.1"], found["frequency.1"])
        assert table["failed"][1]


def test_a_file_that_is_no_sweep_is_told(tmp_path):
    file = tmp_path / "other.h5"
    file.write_bytes(b"nothing")
    with pytest.raises(pliant.ModelError, match="not an HDF5 file"):
        pliant.Sweep.load(file)


def test_an_interrupted_sweep_goes_on_without_repeating_anything(robot, tmp_path, monkeypatch):
    file = tmp_path / "table.h5"
    vary = {PLACE: np.linspace(0.1, 2, 24)}
    whole = pliant.sweep(robot, vary)
    with pytest.raises(pliant.SweepInterruptedError, match=r"of 24 cases; .*table\.h5\.partial"):
        pliant.sweep(robot, vary, file=file, report=lambda at: at.done >= 9)
    with pytest.raises(pliant.ModelError, match="interrupted sweep"):
        pliant.sweep(robot, vary, file=file)
    with pytest.raises(pliant.ModelError, match=r"has changed since .*values"):
        pliant.sweep(robot, {PLACE: np.linspace(0.1, 3, 24)}, file=file, resume=True)
    kept = sorted((tmp_path / "table.h5.partial").glob("*.chunk"))
    # a chunk that was only half on the disk is computed again
    kept[0].write_bytes(kept[0].read_bytes()[:-5])
    computed = []
    monkeypatch.setattr(
        "pliant.sweeps.workers.run_chunk", lambda job, cases: computed.extend(cases) or run_chunk(job, cases)
    )
    found = pliant.sweep(robot, vary, file=file, resume=True)
    assert 0 < len(computed) <= 24 - 9 + 3
    np.testing.assert_array_equal(found["frequency.1"], whole["frequency.1"])
    assert len(pliant.sweep(robot, vary, file=file, resume=True)) == 24


def test_a_chunk_is_there_whole_or_not_at_all(tmp_path):
    journal = Journal(tmp_path / "x.h5", {"a": 1})
    assert journal.open(resume=False, force=False) == set()
    journal.keep(2, [CaseRow({"x": 1.0, "y": np.arange(3.0)}, "", ("note",))])
    whole = (journal.folder / "00000002.chunk").read_bytes()
    # damaged, in the place of another one, and of another sweep
    for name, content in (("3", b"0" * 64 + b"\n[]"), ("4", whole), ("5", whole[:-1])):
        (journal.folder / f"0000000{name}.chunk").write_bytes(content)
    journal.close()
    assert journal.open(resume=True, force=False) == {2}
    (row,) = journal.chunk(2)
    assert (row.values["x"], row.notes) == (1.0, ("note",))
    with pytest.raises(pliant.ModelError, match=r"00000004.*computes its cases anew"):
        journal.chunk(4)
    journal.close()
    other = Journal(tmp_path / "x.h5", {"a": 2})
    (journal.folder / "plan.json").write_bytes(b"{")
    assert other.open(resume=True, force=False) == set()
    other.close()


def test_two_processes_cannot_write_one_sweep(tmp_path, robot):
    journal = Journal(tmp_path / "x.h5", {"a": 1})
    journal.open(resume=False, force=False)
    for options in ({}, {"resume": True}, {"force": True}):
        with pytest.raises(pliant.ModelError, match=rf"x\.h5\.partial: process {os.getpid()} is writing it"):
            pliant.sweep(robot, {PLACE: [1.0]}, file=tmp_path / "x.h5", **options)
    journal.remove()
    assert not list(tmp_path.iterdir())


@pytest.fixture
def table(robot, tmp_path):
    file = tmp_path / "table.h5"
    pliant.sweep(robot, {PLACE: [0.1, -1.0, 0.3]}, do=tip_mass, file=file)
    return file


@pytest.mark.parametrize("place", [100, 700, 3000, -10])
def test_a_changed_table_is_not_loaded(table, place):
    content = bytearray(table.read_bytes())
    content[place] ^= 1
    table.write_bytes(content)
    with pytest.raises(pliant.ModelError, match=r"damaged|does not hold a sweep"):
        pliant.Sweep.load(table)


def test_a_table_that_changes_while_it_is_read_is_told(table):
    found = pliant.Sweep.load(table)
    pliant.Sweep.load(table).save(table)
    with pytest.raises(pliant.ModelError, match="has changed since it was opened"):
        found["mass"]


def forge(table, change):
    image = io.BytesIO(table.read_bytes()[storage.SEAL_SIZE :])
    with h5py.File(image, "r+") as file:
        change(file)
    table.write_bytes(storage.sealed(image.getvalue(), "sweep"))


def huge(file):
    del file["time"]
    file.create_dataset("time", (2**45,), dtype="f8", chunks=(2**20,))


def elsewhere(file):
    del file["varied/0"]
    file["varied/0"] = h5py.ExternalLink("other.h5", "/varied/0")


def elsewhere_too(file):
    del file["outputs"]
    file["outputs"] = h5py.ExternalLink("/dev/stdin", "/outputs")


def short(file):
    del file["notes"]
    file["notes"] = np.array([b"x"])


def no_subject(file):
    del file["subject"]


@pytest.mark.parametrize("change", [huge, elsewhere, elsewhere_too, short, no_subject])
def test_a_forged_table_is_refused_in_words(table, change):
    forge(table, change)
    with pytest.raises(pliant.ModelError, match="damaged"):
        pliant.Sweep.load(table)


def test_a_finished_file_of_another_sweep_is_not_taken_for_this_one(table, robot):
    with pytest.raises(pliant.ModelError, match="holds another sweep"):
        pliant.sweep(robot, {PLACE: [0.2]}, do=tip_mass, file=table, resume=True)


def test_a_full_disk_loses_no_case(robot, tmp_path, monkeypatch):
    file, vary = tmp_path / "table.h5", {PLACE: [0.1, 0.2, 0.3]}

    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))

    monkeypatch.setattr("pliant.sweeps.sweep.save_hdf5", full)
    with pytest.raises(OSError, match="No space left"):
        pliant.sweep(robot, vary, file=file)
    monkeypatch.undo()
    monkeypatch.setattr("pliant.sweeps.workers.run_chunk", full)
    assert len(pliant.sweep(robot, vary, file=file, resume=True)) == 3
    # and what does not fit is told at the first chunk, not at the last
    monkeypatch.undo()
    monkeypatch.setattr("pliant.sweeps.sweep.SPARE", 2**62)
    with pytest.raises(OSError, match=r"table2\.h5"):
        pliant.sweep(robot, vary, file=tmp_path / "table2.h5")


def test_memory_does_not_grow_with_the_cases(study):
    """What is kept for a robot goes with it."""
    job = SweepJob(study, "simulate", ("final(hinge)",))

    def robots_after(cases):
        found = run_chunk(job, [{PLACE: float(mass)} for mass in np.linspace(0.1, 0.5, cases)])
        assert not any(row.reason for row in found)
        del found
        gc.collect()
        return sum(isinstance(thing, pliant.Robot) for thing in gc.get_objects())

    few = robots_after(2)
    tracemalloc.start()
    robots_after(12)
    before = tracemalloc.get_traced_memory()[0]
    assert robots_after(12) == few
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < KEPT


def test_runs_of_a_sweep_follow_what_is_asked_and_warn_as_always(study):
    heavy = study.with_changes(until=0.6, robot=study.robot.set("arm.beam.properties.EIy", 1.5))
    with pytest.warns(pliant.SimulationWarning):
        alone = pliant.run_study(heavy)
    for outputs in ("final(hinge)", "max(arm.deflection)", ()):
        found = pliant.sweep(heavy, {PLACE: [0.2]}, outputs=outputs)
        assert found.notes[0] == "; ".join(alone.warnings) != ""


def test_processes_give_the_same_table_though_one_is_killed(robot, tmp_path):
    vary = {PLACE: [0.5, 1.5, 0.7, 0.9]}
    found = pliant.sweep(robot, vary, do=partial(deadly, marker=tmp_path / "once"), jobs=2)
    assert (tmp_path / "once").exists()
    assert not found.failed
    np.testing.assert_allclose(found["value"] - found["value"][0], np.array(vary[PLACE]) - 0.5, atol=SAME)


def own_mass(arm):
    return arm.robot.get(PLACE)


def always_deadly(arm):
    """Ends its process for one value, whoever computes it."""
    if abs(arm.robot.get(PLACE) - LETHAL) < SAME:
        os._exit(9)
    return arm.robot.get(PLACE)


LETHAL = 1.5


def lethal_cases():
    """So many cases that chunks hold several of them; one of them kills."""
    masses = np.linspace(0.1, 0.9, 34).tolist()
    return [*masses[:7], LETHAL, *masses[7:]]


def lost_one(found, masses):
    assert list(found.failures) == [7]
    assert found.reasons[7] == "the process that computed this died several times"
    others = [k for k in range(len(masses)) if k != 7]
    np.testing.assert_allclose(found["value"][others], np.array(masses)[others], atol=SAME)


def test_a_case_that_kills_its_process_is_the_only_one_that_is_lost(robot, tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.sweeps.workers.ATTEMPTS", 1)
    masses = lethal_cases()
    lost_one(pliant.sweep(robot, {PLACE: masses}, do=always_deadly, jobs=2, file=tmp_path / "table.h5"), masses)


def test_a_case_that_kills_its_worker_is_the_only_one_that_is_lost(robot, tmp_path):
    distributed = pytest.importorskip("distributed")
    masses = lethal_cases()
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # otherwise each task is tried three times more
        cluster.scheduler.allowed_failures = 0
        found = pliant.sweep(robot, {PLACE: masses}, do=always_deadly, cluster=client, file=tmp_path / "table.h5")
    lost_one(found, masses)


@pytest.mark.parametrize("jobs", [(1, 3), (3, 1)], ids=str)
def test_other_numbers_of_processes_go_on_with_a_sweep(robot, tmp_path, monkeypatch, jobs):
    """Chunks of small sweeps are as small as their workers are many; those that are there keep their size."""
    file, vary = tmp_path / "table.h5", {PLACE: np.linspace(0.1, 0.9, 40).tolist()}
    # the same process computes, whatever is asked for
    monkeypatch.setattr("pliant.sweeps.sweep.processes", lambda job, todo, count: here(job, todo))
    with pytest.raises(pliant.SweepInterruptedError):
        pliant.sweep(robot, vary, do=own_mass, jobs=jobs[0], file=file, report=lambda at: True)
    done: list[float] = []

    def counted(arm):
        done.append(1)
        return arm.robot.get(PLACE)

    counted.__qualname__ = own_mass.__qualname__
    found = pliant.sweep(robot, vary, do=counted, jobs=jobs[1], file=file, resume=True)
    assert 0 < len(done) < len(vary[PLACE])
    np.testing.assert_allclose(found["value"], vary[PLACE], atol=SAME)


def test_a_cluster_loses_nothing_though_a_worker_is_killed(robot, tmp_path):
    distributed = pytest.importorskip("distributed")
    vary = {PLACE: [0.5, 1.5, 0.7, 0.9]}
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        do = partial(deadly, marker=tmp_path / "once")
        found = pliant.sweep(robot, vary, do=do, cluster=client, file=tmp_path / "table.h5")
    assert (tmp_path / "once").exists()
    assert not found.failed
    np.testing.assert_allclose(found["value"] - found["value"][0], np.array(vary[PLACE]) - 0.5, atol=SAME)


@pytest.mark.parametrize(
    "vary",
    [
        {PLACE: [0.1, 0.2]},
        {PLACE: [0.1, 0.2, 0.3], "gravity[2]": [-9.81, -1.6]},
        {PLACE: "0..1", "gravity[2]": "-9..-1"},
    ],
    ids=["curve", "family", "scattered"],
)
def test_every_kind_of_sweep_is_drawn(robot, tmp_path, vary):
    sample = "latin:4" if isinstance(vary[PLACE], str) else None
    found = pliant.sweep(robot, vary, sample=sample)
    found.plot(tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 5000
    found.to_csv(tmp_path / "sweep.csv")
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == len(found) + 1
    assert PLACE in found._repr_html_()


def test_histories_and_many_places_are_drawn(study, tmp_path):
    vary = {PLACE: "0.1..1", "drive.kp[0]": "20..60", "drive.kd": "1..3"}
    found = pliant.sweep(study, vary, sample="latin:4", outputs=["hinge", "max(arm.deflection)"])
    figure = found.plot(tmp_path / "fan.svg")
    assert len(figure.axes) == 2
