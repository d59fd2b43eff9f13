"""Compiled code on disk: found again, never trusted when damaged, shared by processes, and never needed."""

import os
import subprocess
import sys

import numpy as np
import pytest

import zoo
from pliant.dynamics import Dynamics
from pliant.engine.call import calls, evaluator
from pliant.engine.call.evaluator import Evaluator, Program
from pliant.engine.compile import cache, jit
from pliant.formulations.recursive.recursions import INVERSE


@pytest.fixture(autouse=True, scope="module")
def border():
    """What all robots share is there before anything is counted."""
    calls._border()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    place = tmp_path / "cache"
    monkeypatch.setenv("PLIANT_CACHE", str(place))
    monkeypatch.setattr(evaluator, "_RECENT", {})
    return place


@pytest.fixture
def compilations(monkeypatch):
    """Counts calls of the compiler."""
    counts = []
    compile_it = jit.machine_code

    def counted(*arguments, **options):
        counts.append(1)
        return compile_it(*arguments, **options)

    monkeypatch.setattr(jit, "machine_code", counted)
    return counts


def evaluate():
    """Inverse dynamics of a small robot, with everything new but the disk."""
    evaluator._RECENT.clear()
    tree = zoo.tree_of(zoo.robot("rotary-none"))
    x = [np.sin(k + np.arange(tree.size)) for k in range(3)]
    return Evaluator(Program(INVERSE, tree))(*x)


def entries(folder):
    return sorted(folder.glob("*/*.bin"))


def test_robots_of_one_structure_share_code_in_memory(folder, compilations):
    """Without any disk in between, and each with numbers of its own."""
    first = evaluate()
    for entry in entries(folder):
        entry.unlink()
    tree = zoo.tree_of(zoo.robot("rotary-none"))
    x = [np.sin(k + np.arange(tree.size)) for k in range(3)]
    assert np.array_equal(Evaluator(Program(INVERSE, tree))(*x), first)
    assert len(compilations) == 1
    heavier = Evaluator(Program(INVERSE, tree))
    heavier.constants *= 2
    assert not np.array_equal(heavier(*x), first)
    assert np.array_equal(Evaluator(Program(INVERSE, tree))(*x), first)


def test_the_second_time_nothing_is_compiled(folder, compilations):
    first = evaluate()
    assert len(compilations) == 1
    assert len(entries(folder)) == 1
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 1


def test_other_modes_and_seeds_are_other_entries(folder, compilations):
    tree = zoo.tree_of(zoo.robot("rotary-none"))
    for seeds, mode in (((), "single"), ((), "batch"), (("q",), "jacobian"), (("v",), "jacobian")):
        Program(INVERSE, tree, seeds).load(mode)
    assert len(entries(folder)) == 4
    assert len(compilations) == 4


def test_values_do_not_matter_for_the_entry(folder, compilations):
    """Robots that differ in numbers only share their code."""
    for EI in (10.0, 20.0):
        link = zoo.Link(
            name="a", joint=zoo.Joint(), beam=zoo.beam(0.8, EIz=EI, modes=zoo.Modes(shape="clamped-free", bend_y=2))
        )
        arm = Dynamics(zoo.Robot(name="one", links=[link]))
        arm.bias(np.ones(3), np.ones(3))
    assert len(compilations) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: b"another" + content,
        lambda content: content[:60] + bytes([content[60] ^ 1]) + content[61:],
        lambda content: content[:-5] + b"\xff" * 5,
        lambda content: b"\x00" * len(content),
    ],
    ids=["empty", "head only", "last byte", "half", "shifted", "bit", "tail", "zeros"],
)
def test_a_damaged_entry_is_made_anew(folder, compilations, damage):
    first = evaluate()
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 2
    # and the entry is good again
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 2


def test_an_entry_that_is_a_folder(folder, compilations):
    first = evaluate()
    (entry,) = entries(folder)
    entry.unlink()
    entry.mkdir()
    assert np.array_equal(evaluate(), first)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_folder_that_cannot_be_written(folder, compilations):
    folder.mkdir()
    folder.chmod(0o500)
    try:
        first = evaluate()
        assert np.array_equal(evaluate(), first)
    finally:
        folder.chmod(0o700)
    assert len(compilations) == 2
    assert not entries(folder)


def test_a_folder_that_is_a_file(tmp_path, monkeypatch, compilations):
    place = tmp_path / "taken"
    place.write_text("not a folder")
    monkeypatch.setenv("PLIANT_CACHE", str(place))
    first = evaluate()
    assert np.array_equal(evaluate(), first)
    assert place.read_text() == "not a folder"


def test_a_folder_in_a_place_that_does_not_exist(monkeypatch, compilations):
    monkeypatch.setenv("PLIANT_CACHE", "/proc/no/such/place")
    assert np.isfinite(evaluate()).all()


def test_without_a_home(monkeypatch):
    """No PLIANT_CACHE, no home folder: still no error."""
    for name in ("PLIANT_CACHE", "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cache.fetch("anything") is None
    cache.keep("anything", {}, b"")


def test_the_oldest_entries_go_first(folder, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 3500)
    for k in range(4):
        cache.keep(f"entry{k}", {"k": k}, bytes(1000))
        os.utime(cache.private_folder() / f"entry{k}.bin", (1000 + k, 1000 + k))
    cache.keep("last", {"k": 9}, bytes(1000))
    names = [path.stem for path in entries(folder)]
    assert "last" in names
    assert "entry0" not in names
    assert sum(path.stat().st_size for path in entries(folder)) <= 3500


def test_no_rests_are_left(folder):
    evaluate()
    assert sorted(path.suffix for path in cache.private_folder().iterdir()) == ["", ".bin"]


# ---------------------------------------------------------------- whose code it is


def test_an_entry_under_another_name_is_not_run(folder, compilations):
    """Its digest covers its key: code of one robot put in the place of another would read beyond its buffers."""
    first = evaluate()
    (entry,) = entries(folder)
    for seeds, mode in (((), "batch"), (("q",), "jacobian")):
        evaluator._RECENT.clear()
        Program(INVERSE, zoo.tree_of(zoo.robot("rotary-none")), seeds).load(mode)
    code = {path: path.read_bytes() for path in entries(folder)}
    for path in code:
        other = next(content for name, content in code.items() if name != path)
        path.write_bytes(other)
    compilations.clear()
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 1
    assert entry.read_bytes()[40:] == code[entry][40:]


def signed_without_the_secret(entry):
    """What anyone can make who knows how entries are made."""
    import hashlib
    import hmac

    payload = entry.read_bytes()[40:]
    digest = hmac.digest(bytes(32), entry.stem.encode() + b"\n" + payload, hashlib.sha256)
    entry.write_bytes(cache.MAGIC + digest + payload)


def by_link(entry):
    """The content is right, but it lies where another may change it."""
    elsewhere = entry.parent.parent / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)


def by_pipe(entry):
    entry.unlink()
    os.mkfifo(entry)


ODD = {
    "no secret": lambda entry: (entry.parent / cache.SECRET).unlink(),
    "short secret": lambda entry: (entry.parent / cache.SECRET).write_bytes(b"short"),
    "secret seen by others": lambda entry: (entry.parent / cache.SECRET).chmod(0o640),
    "entry written by others": lambda entry: entry.chmod(0o660),
    "another secret": signed_without_the_secret,
    "link": by_link,
    "pipe": by_pipe,
}


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("how", ODD)
def test_what_may_be_anothers_is_made_anew(folder, compilations, how):
    first = evaluate()
    (entry,) = entries(folder)
    ODD[how](entry)
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 2
    # and from then on it is our own again
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 2


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_folders_and_files_are_private(folder):
    evaluate()
    place = cache.private_folder()
    assert place.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_folder_that_others_can_write_is_not_used(folder, compilations):
    first = evaluate()
    cache.private_folder().chmod(0o770)
    assert np.array_equal(evaluate(), first)
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 3


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["folder", "entry", "secret"])
def test_files_of_another_user_are_not_used(folder, compilations, what):
    first = evaluate()
    place = cache.private_folder()
    os.chown({"folder": place, "entry": entries(folder)[0], "secret": place / cache.SECRET}[what], 12345, 12345)
    assert np.array_equal(evaluate(), first)
    assert len(compilations) == 2


@pytest.mark.parametrize("given", ["", "relative/place"])
def test_a_cache_is_never_in_the_working_folder(tmp_path, monkeypatch, given):
    monkeypatch.delenv("PLIANT_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, given)
    assert cache.folder().is_absolute()
    assert cache.folder().is_relative_to(tmp_path)


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, zoo
from pliant.dynamics import Dynamics
arm = Dynamics(zoo.robot("rotary-none"))
q, v, a = zoo.state(arm)
for _ in range(3):
    arm = Dynamics(zoo.robot("rotary-none"))
    f = arm.forces(q, v, a)
print(f.tobytes().hex())
"""


def test_processes_share_a_cache(folder, tmp_path):
    """Two processes compile, write and read the same entries at the same time."""
    tests = os.path.dirname(os.path.dirname(zoo.__file__))
    start = [sys.executable, "-c", SCRIPT, tests]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    arm = Dynamics(zoo.robot("rotary-none"))
    assert outputs[0][0].strip() == arm.forces(*zoo.state(arm)).tobytes().hex()
    assert not list(folder.glob("*.tmp"))


def test_a_relative_home_is_none(tmp_path, monkeypatch):
    """Else a cache would lie in whatever folder a program is started in."""
    for name in ("PLIANT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "rel")
    monkeypatch.chdir(tmp_path)
    cache.keep("key", {}, b"code")
    assert cache.fetch("key") is None
    assert os.listdir(tmp_path) == []


def test_code_depends_on_what_is_traced_alone():
    """Machine code of the recursion outlives changes of pages, readers and pictures, and not one of its own."""
    homes = {*INVERSE.homes, "pliant.tree.tree"}
    decides = {str(path.relative_to(cache.PACKAGE)) for path in cache.closure({*homes, *cache._engine()})}
    assert {"formulations/recursive/recursions.py", "bodies/rod_terms.py", "engine/trace/tape.py"} <= decides
    rooms = {name.split("/")[0] for name in decides}
    assert [name for name in decides if name.startswith("model")] == ["model/once.py"]
    assert not rooms & {"simulation", "analysis", "pictures", "results", "cli", "export"}
    assert not any(name.startswith(("formulations/lagrange", "analysis/")) for name in decides)


def test_a_change_of_a_traced_module_is_seen(tmp_path, monkeypatch):
    (tmp_path / "home.py").write_text("from pliant.part import f\n")
    (tmp_path / "part.py").write_text("f = 1\n")
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    monkeypatch.setattr(cache, "_engine", lambda: ())

    def digest():
        for each in (cache._source_digest, cache._imported, cache._file):
            each.cache_clear()
        return cache.source_digest(["pliant.home"])

    before = digest()
    assert digest() == before
    (tmp_path / "part.py").write_text("f = 2\n")
    assert digest() != before


@pytest.fixture(autouse=True)
def known_sources():
    """What was found in another folder is forgotten."""
    yield
    for each in (cache._source_digest, cache._imported, cache._file):
        each.cache_clear()
