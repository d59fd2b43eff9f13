"""Logs of measurements: every kind of file gives the same numbers, and what is wrong is told with its place."""

import h5py
import numpy as np
import pytest
from scipy.io import savemat

import pliant

TIME = np.array([0.0, 0.01, 0.02, 0.03, 0.05])
ELBOW, FORCE = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([0.5, -0.5, 0.25, -0.25, 0.0])


def write(path, kind):
    """The same two channels in a file of a kind; the elbow in degrees, the force in kN."""
    table = np.column_stack([TIME, ELBOW, FORCE])
    if kind in ("comma", "semicolon", "blank", "decimal comma"):
        sign = {"comma": ",", "semicolon": ";", "blank": "  ", "decimal comma": ";"}[kind]
        lines = ["# a rig", sign.join(("t", "elbow", "force"))]
        lines += [sign.join(repr(float(x)) for x in row) for row in table]
        text = "\n".join(lines)
        path = path / "log.csv"
        path.write_text(text.replace(".", ",") if kind == "decimal comma" else text)
        return path, {"elbow": "elbow", "force": "force"}, "t"
    if kind == "mat":
        path = path / "log.mat"
        savemat(path, {"rig": {"clock": TIME, "data": table[:, 1:]}, "note": "text", "gain": 3.0})
        return path, {"elbow": "rig.data.1", "force": "rig.data.2"}, "rig.clock"
    if kind == "hdf5":
        path = path / "log.h5"
        with h5py.File(path, "w") as file:
            file["rig/clock"], file["rig/data"] = TIME, table[:, 1:].T
            file["rig/loop"] = h5py.SoftLink("/rig")
            file["away"] = h5py.ExternalLink("other.h5", "/x")
        return path, {"elbow": "rig.data.1", "force": "rig.data.2"}, "rig.clock"
    path = path / "log.npz"
    np.savez(path, clock=TIME, elbow=ELBOW, force=FORCE)
    return path, {"elbow": "elbow", "force": "force"}, "clock"


@pytest.mark.parametrize("kind", ["comma", "semicolon", "blank", "decimal comma", "mat", "hdf5", "npz"])
def test_all_files_give_the_same_numbers(tmp_path, kind):
    path, columns, clock = write(tmp_path, kind)
    log = pliant.Log.read(path, columns=columns, units={"elbow": "deg", "force": "kN"}, time=clock)
    np.testing.assert_allclose(log.time, TIME, rtol=1e-15)
    np.testing.assert_allclose(log["elbow"], np.deg2rad(ELBOW), rtol=1e-14)
    np.testing.assert_allclose(log["force"], 1e3 * FORCE, rtol=1e-14)
    assert log.units == {"elbow": "rad", "force": "N"}
    assert log.step == pytest.approx(0.01)


def test_units_stand_in_names(tmp_path):
    (tmp_path / "log.csv").write_text("time [ms],elbow [deg],plain\n0,180,1\n10,90,2\n20,0,\n")
    log = pliant.Log.read(tmp_path / "log.csv")
    np.testing.assert_allclose(log.time, [0, 0.01, 0.02], atol=1e-15)
    np.testing.assert_allclose(log["elbow"], [np.pi, np.pi / 2, 0], atol=1e-15)
    assert np.isnan(log["plain"][2])
    assert log.remarks() == ["'plain' lacks 1 of 3 samples"]


def test_columns_by_number_and_samples_by_their_period(tmp_path):
    (tmp_path / "log.txt").write_text("1 2\n3 4\n5 6\n")
    log = pliant.Log.read(tmp_path / "log.txt", columns={"second": 2}, time=0.5)
    np.testing.assert_allclose(log.time, [0, 0.5, 1.0])
    np.testing.assert_allclose(log["second"], [2, 4, 6])


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("t,a\n0,1\n0,2\n", {}, "log.csv, line 3: the time 0 s is not later than the one before it"),
        ("t,a\n0,1\n1\n", {}, "log.csv, line 3: the line has 1 columns; the first 2"),
        ("t,a\n0,1\n1,x\n", {}, "line 3: column 'a' is 'x'; that is no number"),
        ("t,a,a\n0,1,2\n1,2,3\n", {}, "line 1: two columns are called 'a'"),
        ("x,a\n0,1\n1,2\n", {}, "none of its columns is called t or time"),
        ("t,elbow\n0,1\n1,2\n", {"columns": {"q": "elbwo"}}, "there is no column 'elbwo'; did you mean 'elbow'?"),
        ("t,a\n0,1\n1,2\n", {"units": {"a": "parsec"}}, "channel 'a' is in 'parsec', which is no unit that is known"),
        ("t,a\n0,1\n1,2\n", {"units": {"b": "deg"}}, "units name 'b'"),
        ("t [m],a\n0,1\n1,2\n", {}, "the time 't [m]' is in m; it must be a time"),
        ("t,a\n0,1\n,2\n", {}, "the time 't' lacks 1 samples"),
        ("t,a\n0,1\n1,2\n", {"time": -0.1}, "the time between two samples is -0.1 s; it must be positive"),
        ("t\n", {}, "a log has a line of names and at least one line of numbers"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, text, given, words):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(pliant.ModelError) as raised:
        pliant.Log.read(tmp_path / "log.csv", **given)
    assert words in str(raised.value)


def test_files_that_are_none(tmp_path):
    for name in ("log.mat", "log.h5", "log.npz"):
        (tmp_path / name).write_bytes(b"nothing of that kind")
        with pytest.raises(pliant.ModelError, match="it cannot be read as"):
            pliant.Log.read(tmp_path / name)
    (tmp_path / "log.doc").write_text("")
    with pytest.raises(pliant.ModelError, match=r"a log ends in .*; this one in '\.doc'"):
        pliant.Log.read(tmp_path / "log.doc")


def test_gaps_are_seen_and_not_bridged():
    time = np.concatenate([np.arange(10) * 0.1, 3.0 + np.arange(10) * 0.1])
    log = pliant.Log("rig", time, {"a": 2 * time})
    assert [tuple(gap) for gap in log.gaps] == [(pytest.approx(0.9), pytest.approx(3.0))]
    assert not log.is_even
    found = log.at("a", np.array([0.45, 2.0, 3.25, 9.0]))
    np.testing.assert_allclose(found[[0, 2]], [0.9, 6.5])
    assert np.isnan(found[[1, 3]]).all()
    even = log.resampled(0.05)
    assert even.is_even
    inside = ~np.isnan(even["a"])
    np.testing.assert_allclose(even["a"][inside], 2 * even.time[inside], rtol=1e-12)
    assert log.window(3.0, 3.5, from_zero=True).time[0] == 0
    with pytest.raises(pliant.ModelError, match=r"there are 0 samples from 1 to 2 s; it goes from 0 to 3\.9 s"):
        log.window(1, 2)


def test_encoders_show_their_steps():
    time = np.arange(200) * 0.01
    log = pliant.Log("rig", time, {"q": np.floor(np.sin(time) / 0.125) * 0.125, "still": np.ones(200)})
    assert log.resolution("q") == pytest.approx(0.125)
    assert log.resolution("still") == 0


def test_a_motion_lacks_no_samples():
    time = np.arange(20) * 0.01
    log = pliant.Log("rig", time, {"q": time**2, "holed": np.where(time == time[3], np.nan, 1.0)})
    motion = log.motion(["q"])
    assert motion.positions[3] == (pytest.approx(time[3] ** 2),)
    with pytest.raises(pliant.ModelError, match=r"'q' or 'holed' lack 1 samples, the first at 0\.03 s"):
        log.motion(["q", "holed"])
