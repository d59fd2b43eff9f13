"""Files are written where the user means them: never through a link, a pipe or a name that someone foresaw."""

import errno
import os
import re
import stat
import threading

import pytest

import pliant
from pliant import files
from pliant.engine.compile import cache
from pliant.files import locked, open_own, owner_line, write_bytes, write_file, written
from pliant.simulation.checkpoint import CheckpointFile
from pliant.sweeps.journal import LOCK, PLAN, Journal
from pliant.sweeps.work import CaseRow

PLANNED = {"what": 1}
ROW = [CaseRow({"x": 1.0})]


@pytest.fixture
def victim(tmp_path):
    """A file of the user that nothing of ours may touch."""
    path = tmp_path / "victim"
    path.write_text("precious")
    yield path
    assert path.read_text() == "precious"
    assert not path.is_symlink()


@pytest.fixture(params=["as here", "without O_NOFOLLOW"])
def system(request, monkeypatch):
    """This system, and one that cannot open without following links."""
    if request.param != "as here":
        monkeypatch.delattr(os, "O_NOFOLLOW")
        monkeypatch.setattr(files, "_CAREFUL", files._CAREFUL & ~getattr(os, "O_NOFOLLOW", 0))


def put(kind, place, victim):
    """A trap at a place."""
    if kind == "link":
        place.symlink_to(victim)
    elif kind == "link to nothing":
        place.symlink_to(victim.with_name("nowhere"))
    elif kind == "hard link":
        os.link(victim, place)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()


TRAPPED = re.compile("link|pipe|directory")
TRAPS = ["link", "link to nothing", "hard link", "pipe", "folder"]


@pytest.mark.parametrize("trap", TRAPS)
def test_what_is_written_again_is_no_trap(tmp_path, victim, system, trap):
    place = tmp_path / "place"
    put(trap, place, victim)
    with pytest.raises(OSError, match=TRAPPED) as error:
        open_own(place, write=True, create=True)
    assert error.value.filename == str(place)
    with pytest.raises(OSError, match=TRAPPED):
        locked(place)
    with pytest.raises(OSError, match=TRAPPED):
        CheckpointFile.create(place, {})
    assert not (tmp_path / "nowhere").exists()


def test_a_new_file_is_made_under_a_name_that_nobody_foresees(tmp_path, victim, monkeypatch):
    names = []
    for _ in range(3):
        with written(tmp_path / "x.csv") as beside:
            assert beside.suffix == ".csv"
            beside.write_text("whole")
            names.append(beside.name)
    assert len(set(names)) == 3
    # and should somebody foresee it, it is not ours
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "0" * 2 * size)
    beside = tmp_path / f".pliant-{'0' * 16}.tmp.csv"
    beside.symlink_to(victim)
    with pytest.raises(OSError, match="exists") as error:
        write_file(tmp_path / "x.csv", "other")
    assert error.value.filename == str(tmp_path / "x.csv")
    assert beside.is_symlink()
    assert (tmp_path / "x.csv").read_text() == "whole"


def test_predictable_names_of_earlier_versions_are_left_alone(tmp_path, victim):
    (tmp_path / f".x.{os.getpid()}.tmp.csv").symlink_to(victim)
    write_file(tmp_path / "x.csv", "whole")
    assert (tmp_path / "x.csv").read_text() == "whole"


def test_a_trap_laid_while_we_write_is_not_followed(tmp_path, victim):
    def write():
        with written(tmp_path / "x.csv") as beside:
            beside.unlink()
            beside.symlink_to(victim)

    with pytest.raises(OSError, match="link"):
        write()
    assert not (tmp_path / "x.csv").exists()


def test_a_link_of_the_user_leads_to_his_file(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_file(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    write_bytes(link, b"own", follow=False)
    assert not link.is_symlink()
    assert real.read_text() == "new"


def test_a_long_name_is_as_good_as_a_short_one(tmp_path):
    long = tmp_path / ("x" * 250 + ".csv")
    write_file(long, "whole")
    assert os.listdir(tmp_path) == [long.name]


def test_threads_write_one_file_in_turns(tmp_path):
    failed = []

    def write(k):
        try:
            for _ in range(20):
                write_file(tmp_path / "x.csv", f"{k}" * 5000)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(set((tmp_path / "x.csv").read_text())) == 1
    assert os.listdir(tmp_path) == ["x.csv"]


# ---------------------------------------------------------------- the folder of a sweep


def journal(tmp_path):
    return Journal(tmp_path / "x.h5", PLANNED)


def begun(tmp_path):
    """The folder of an interrupted sweep."""
    one = journal(tmp_path)
    one.open(resume=False, force=False)
    one.keep(0, ROW)
    one.close()
    return one.folder


@pytest.mark.parametrize("how", [{"resume": True, "force": False}, {"resume": False, "force": True}], ids=str)
@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", [LOCK, PLAN, "00000000.chunk", "00000001.chunk"])
def test_traps_in_the_folder_of_a_sweep_do_no_harm(tmp_path, victim, system, name, trap, how):
    place = begun(tmp_path) / name
    place.unlink(missing_ok=True)
    put(trap, place, victim)
    one = journal(tmp_path)
    try:
        there = one.open(**how)
        assert there <= {0}
        for number in (0, 1):
            one.keep(number, ROW)
            assert one.chunk(number) == ROW
        one.remove()
    except (OSError, pliant.ModelError):
        assert trap == "folder" or name == LOCK
    finally:
        one.close()
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("how", [{"resume": True, "force": False}, {"resume": False, "force": True}, {}], ids=str)
@pytest.mark.parametrize("name", ["thesis.tex", LOCK])
def test_a_foreign_folder_stays_as_it_is(tmp_path, how, name):
    folder = tmp_path / "x.h5.partial"
    folder.mkdir()
    for file in (name, PLAN, "00000000.chunk", "notes"):
        (folder / file).write_text("precious")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(pliant.ModelError, match=r"x\.h5\.partial: this folder holds files that no sweep wrote"):
        journal(tmp_path).open(**{"resume": False, "force": False, **how})
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_files_of_others_in_our_folder_stay(tmp_path):
    folder = begun(tmp_path)
    (folder / "notes").write_text("precious")
    (folder / ".DS_Store").touch()
    (folder / f".pliant-{'0' * 16}.tmp.chunk").touch()
    one = journal(tmp_path)
    assert one.open(resume=True, force=False) == {0}
    one.remove()
    assert sorted(os.listdir(folder)) == [".DS_Store", "notes"]


def test_a_folder_that_is_a_link_is_refused(tmp_path):
    elsewhere = begun(tmp_path).rename(tmp_path / "elsewhere")
    before = sorted(os.listdir(elsewhere))
    (tmp_path / "x.h5.partial").symlink_to(elsewhere)
    for how in ({"resume": True, "force": False}, {"resume": False, "force": True}):
        with pytest.raises(pliant.ModelError, match="this is a link"):
            journal(tmp_path).open(**how)
    assert sorted(os.listdir(elsewhere)) == before
    (tmp_path / "x.h5.partial").unlink()
    (tmp_path / "x.h5.partial").write_text("a file")
    with pytest.raises(pliant.ModelError, match="this is no folder"):
        journal(tmp_path).open(resume=True, force=False)


# ---------------------------------------------------------------- a run on its way, and the cache


@pytest.mark.parametrize("trap", ["link", "link to nothing", "hard link"])
def test_checkpoints_are_not_written_through_links(tmp_path, victim, monkeypatch, trap):
    from pliant.cli.simulation_job import Job

    monkeypatch.chdir(tmp_path)
    put(trap, tmp_path / "x.h5.partial", victim)
    job = Job.prepare("single-link", tmp_path / "x.h5", {"until": 0.01}, resume=False, force=True, python=False)
    with pytest.raises(OSError, match="link") as error:
        job.go(lambda at: False, 1.0)
    assert error.value.errno == errno.ELOOP
    assert not (tmp_path / "nowhere").exists()


def test_the_line_of_the_holder_is_whole(tmp_path):
    with locked(tmp_path / "lock") as stream:
        stream.write(owner_line())
        with pytest.raises(BlockingIOError, match=f"process {os.getpid()} is writing it"):
            locked(tmp_path / "lock")


def test_a_link_is_no_private_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / f"user-{os.geteuid()}").symlink_to(own)
    cache.keep("key", {}, b"code")
    assert cache.fetch("key") is None
    assert os.listdir(own) == []


def test_entries_are_for_their_owner_only(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    cache.keep("key", {"a": 1}, b"code")
    place = cache.private_folder()
    (place / cache.SECRET).chmod(0o644)
    cache.keep("key", {"a": 1}, b"code")
    assert cache.fetch("key") == ({"a": 1}, b"code")
    assert {stat.S_IMODE(file.stat().st_mode) for file in place.iterdir()} == {0o600}
