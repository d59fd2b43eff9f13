"""Every option acts or is refused in words: odd values, and options that nothing would read."""

import pytest

import pliant
from pliant import Dynamics, ModelError
from pliant.sweeps.variation import make_cases

MASS = "forearm.payloads[0].mass"
SWEEP = ("sweep", "two-link-flexible", "--jobs", "1", "-o", "s.h5")
REFUSED = {
    "buckling up to nothing": (
        ("buckling", "two-link-flexible", "--force", "tip=0,0,-1", "--most", "0"),
        "most is 0; it must be a positive number",
    ),
    "buckling up to no number": (
        ("buckling", "two-link-flexible", "--force", "tip=0,0,-1", "--most", "nan"),
        "most is nan; it must be a positive number",
    ),
    "buckling the other way": (
        ("buckling", "two-link-flexible", "--force", "tip=0,0,-1", "--most", "-3"),
        "turn the loads round",
    ),
    "no load": (("buckling", "canadarm", "--most", "5"), "'canadarm' has no gravity, and no load is given"),
    "loads of zero": (("buckling", "two-link-flexible", "--force", "tip=0,0,0"), "all loads that shall grow are zero"),
    "finer links under load": (
        ("modes", "two-link-flexible", "--load", "tip=0,0,-5", "--convergence"),
        "--convergence: finer links are compared at rest and without loads; leave --load out",
    ),
    "finer rigid links": (
        ("modes", "four-bar-rigid", "--free", "--convergence"),
        "'four-bar-rigid' has no link that could be finer",
    ),
    "a negative seed": (
        (*SWEEP, "--vary", f"{MASS}=0..2", "--sample", "random:2", "--seed", "-1"),
        "seed is -1; it must be a whole number from 0 on",
    ),
    "a seed of nothing": (
        (*SWEEP, "--vary", f"{MASS}=1,2", "--sample", "zip", "--seed", "3"),
        "seed is 3, but sample is 'zip', which draws nothing",
    ),
    "a place twice": ((*SWEEP, "--vary", f"{MASS}=1", "--vary", f"{MASS}=2"), f"--vary {MASS} is given twice"),
    "a file as a folder": (("inverse", "two-link-circle", "-o", "a.txt"), "a.txt: this is a file"),
    "a band that is none": (
        ("inverse", "two-link-circle", "--method", "successive", "--band", "nan"),
        "--band is nan; it must be a number above",
    ),
    "a frame that nothing reads": (
        ("export", "two-link-flexible", "--to", "c", "-o", "e.c", "--function", "forward", "--frame", "tip"),
        "--frame: forward asks for no frame; it is for pose, jacobian and deflection",
    ),
    "a port without a scene": (("view", "a.h5", "-o", "a.html", "--port", "9000"), "--port is that of the scene"),
    "channels of a film": (
        ("view", "a.h5", "-o", "a.gif", "--channels", "tip.z"),
        "--channels: a film takes none; it is for plots and tables",
    ),
    "a list and a study": (("simulate", "single-link", "--list", "--until", "3"), "leave single-link, --until out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_odd_options_are_refused_in_words(run, tmp_path, case):
    words, expected = REFUSED[case]
    (tmp_path / "a.txt").write_text("mine")
    (tmp_path / "a.h5").write_text("")
    done = run(*words)
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, told
    assert "Traceback" not in told
    assert expected in told
    assert (tmp_path / "a.txt").read_text() == "mine"


def test_a_sweep_of_which_nothing_is_left_says_so(run):
    done = run(*SWEEP, "--vary", f"{MASS}=1,2", "--keep", "frequency.99")
    assert done.returncode == 1
    assert "every case failed" in done.stderr
    assert "no 'frequency.99' in the modes" in done.stderr


def test_equilibria_show_no_rounding(run):
    """An arm that stands or hangs is not bent."""
    done = run("equilibrium", "two-link-flexible", "--off")
    assert done.returncode == 0
    assert "e-1" not in done.stdout.partition("tip deflection")[2]


def test_python_refuses_the_same():
    arm = Dynamics("two-link-flexible", compile="never")
    with pytest.raises(ValueError, match="until is 0; it must be a positive number"):
        pliant.load_path(arm, {"tip": [0, 0, -1]}, until=0.0)
    with pytest.raises(ValueError, match="most is inf"):
        pliant.buckling(arm, {"tip": [0, 0, -1]}, most=float("inf"))
    with pytest.raises(ModelError, match="draws nothing"):
        make_cases({"a": [1, 2]}, seed=1)
