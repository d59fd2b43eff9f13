"""The entire functions c_k of a squared angle (k from 2 on is used), on every kind of scalar and back end."""

import shutil
import subprocess
from math import factorial

import numpy as np
import pytest

from pliant import Joint, Link, Rigid, Robot
from pliant.dynamics import Dynamics
from pliant.spatial.scalars import STUMPFF_FAR, stumpff, stumpff_beyond

ANGLES = (0.0, 1e-9, 1.0, 4.4, 4.6, 7.0, 9.0, 12.0, 40.0)

PRECISE = 1e-13
"""Relative to the angle squared, by which rounding of lower functions grows."""


def series(k, s):
    """c_k with as many digits as the series needs."""
    from fractions import Fraction

    exact, total = Fraction(s), Fraction(0)
    term = Fraction(1, factorial(k))
    n = 0
    while abs(term) > Fraction(1, 10**40) or n < s:
        total += term
        n += 1
        term *= -exact / ((2 * n + k) * (2 * n + k - 1))
    return float(total)


@pytest.mark.parametrize("k", range(2, 10))
def test_values_of_all_angles(k):
    squares = np.array([x * x for x in ANGLES])
    exact = np.array([series(k, float(s)) for s in squares])
    tolerance = PRECISE / factorial(k)
    assert stumpff(k, squares) == pytest.approx(exact, abs=tolerance)
    assert stumpff(k, squares + 0j).real == pytest.approx(exact, abs=tolerance)
    for s, value in zip(squares, exact, strict=True):
        assert stumpff(k, float(s)) == pytest.approx(value, abs=tolerance)
        assert stumpff(k, complex(s)) == pytest.approx(value, abs=tolerance)


@pytest.mark.parametrize("k", range(2, 8))
def test_slopes_by_complex_steps(k):
    for angle in (1.0, 4.4, 4.6, 9.0):
        s = angle * angle
        slope = stumpff(k, s + 1e-30j).imag / 1e-30
        assert slope == pytest.approx((k * stumpff(k + 2, s) - stumpff(k + 1, s)) / 2, rel=1e-11, abs=1e-15)


def test_series_and_sines_meet():
    from math import cos, sin, sqrt

    for k in range(2, 8):
        values = {"s": STUMPFF_FAR, "cos": cos, "sin": sin, "sqrt": sqrt}
        assert eval(stumpff_beyond(k), values) == pytest.approx(stumpff(k, STUMPFF_FAR), rel=1e-12)


# ---------------------------------------------------------------- robots


@pytest.fixture(scope="module")
def body():
    rigid = Rigid(mass=1.0, com=(0.1, 0.2, 0.0), inertia=(0.01, 0.02, 0.03), length=0.5)
    return Robot(name="tumbling", links=[Link(name="a", joint=Joint(name="j", type="free"), rigid=rigid)])


def states():
    rng = np.random.default_rng(1)
    for angle in ANGLES:
        axis = rng.normal(size=3)
        yield np.r_[0.1, 0.2, 0.3, angle * axis / np.linalg.norm(axis)], rng.normal(size=6)


def rotation(theta):
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(theta).as_matrix()


@pytest.mark.parametrize("compile", ["never", "auto"])
def test_poses_of_any_rotation_vector(body, compile):
    arm = Dynamics(body, compile=compile)
    known = list(states())
    for q, _ in known:
        assert arm.pose("a", q).rotation == pytest.approx(rotation(q[3:]), abs=PRECISE * (1.0 + q[3:] @ q[3:]))
    # near and far in neighbouring lanes
    several = arm.pose("a", np.array([q for q, _ in known])).rotation
    for R, (q, _) in zip(several, known, strict=True):
        assert pytest.approx(rotation(q[3:]), abs=PRECISE * (1.0 + q[3:] @ q[3:])) == R


def test_motion_is_that_of_the_shorter_vector(body):
    """The same body with the same twist, written by a rotation vector that is two turns longer."""
    from pliant.spatial.attitude import attitude

    arm = Dynamics(body)
    theta = np.array([0.4, -0.5, 0.3])
    size = np.linalg.norm(theta)
    long = theta * (1.0 + 4.0 * np.pi / size)
    rng = np.random.default_rng(2)
    v = rng.normal(size=6)
    short_at = attitude(list(theta), list(v[3:]))
    rate = attitude(list(long), [0.0] * 3).solve(short_at.omega)
    q, w = np.r_[np.zeros(3), long], np.r_[v[:3], rate]
    a, b = arm.forward(np.r_[np.zeros(3), theta], v, []), arm.forward(q, w, [])
    long_at = attitude(list(long), list(rate))
    angular = [np.array(at.T) @ acc[3:] + at.bias for at, acc in ((short_at, a), (long_at, b))]
    assert angular[0] == pytest.approx(angular[1], abs=1e-10)
    assert a[:3] == pytest.approx(b[:3], abs=1e-10)


def test_written_code_knows_large_angles(body, tmp_path):
    from pliant.export.python import generate_python

    arm = Dynamics(body)
    module = {}
    exec(generate_python(arm, tmp_path / "body.py", ("mass_matrix",), frames=()).read_text(), module)
    known = [q for q, _ in states()]
    for q in known:
        assert np.array(module["mass_matrix"](q.tolist())) == pytest.approx(arm.mass_matrix(q), abs=1e-9)
    batch = module["mass_matrix"](list(np.array(known).T), lib=np)
    assert np.array([[np.broadcast_to(x, len(known))[-1] for x in row] for row in batch]) == pytest.approx(
        arm.mass_matrix(known[-1]), abs=1e-9
    )


def test_written_c_knows_large_angles(tmp_path):
    from pliant.engine.compile.c_code import stumpff_function

    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    calls = "".join(f'printf("%.17g\\n", stumpff{k}({a * a!r}));' for k in (4, 5) for a in ANGLES)
    functions = "".join(stumpff_function(k) for k in (4, 5))
    (tmp_path / "c.c").write_text(f"#include <math.h>\n#include <stdio.h>\n{functions}int main(void) {{{calls}}}\n")
    subprocess.run([compiler, "c.c", "-o", "c", "-lm"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "c"], capture_output=True, text=True, check=True).stdout.split()
    assert list(map(float, printed)) == pytest.approx([series(k, a * a) for k in (4, 5) for a in ANGLES], abs=1e-15)
