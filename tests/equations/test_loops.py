"""Small loops in closed form against the model that closes them."""

import numpy as np
import pytest
import sympy

from pliant import Dynamics, ModelError
from pliant.formulations.lagrange.code.printed import LANGUAGES
from pliant.formulations.lagrange.equations import equations

ROUNDING = 1e-9
"""Of accelerations, relative: loops are closed to rounding of their positions."""


def call(eq, expression, q, v):
    values = eq.values
    free = sorted(expression.free_symbols - set(eq.q) - set(eq.v), key=str)
    function = sympy.lambdify([*eq.q, *eq.v, *free], expression, modules="numpy")
    return np.array(function(*q, *v, *(values[str(s)] for s in free)), dtype=float)


@pytest.fixture(scope="module")
def rigid():
    return equations("four-bar-rigid")


def states(name, count=3):
    """States that satisfy the loop."""
    arm = Dynamics(name, compile="never")
    rng = np.random.default_rng(2)
    for _ in range(count):
        q = arm.reference_pose() + 0.05 * rng.normal(size=arm.size) * np.array(["bend" not in x for x in arm.names])
        yield arm, *arm.project(q, rng.normal(size=arm.size))


def test_rigid_four_bar(rigid):
    """Accelerations of all joints from the equation of the crank alone."""
    loop = rigid.closure
    assert [rigid.coordinates[i].robot_name for i in loop.dependent] == ["crank_pin", "ground_pin"]
    reduced = loop.reduced
    for arm, q, v in states("four-bar-rigid"):
        assert np.abs(call(rigid, loop.gap, q, v)).max() < 1e-12
        assert np.abs(call(rigid, loop.J, q, v) @ v).max() < 1e-12
        M, h, B, Z, z = (call(rigid, x, q, v) for x in (reduced.M, reduced.h, reduced.B, reduced.Z, reduced.z))
        assert Z[:, 0] * v[0] == pytest.approx(v, rel=1e-9)
        tau = np.array([0.7])
        a = Z @ np.linalg.solve(M, B @ tau - h[:, 0]) + z[:, 0]
        theirs = arm.forward(q, v, tau)
        assert np.abs(a - theirs).max() < ROUNDING * np.abs(theirs).max()


def test_multipliers_of_the_flexible_four_bar():
    """Open equations with the rows of the closure, solved together, are those of the robot."""
    eq = equations("four-bar", bending="linear")
    module = {}
    exec(LANGUAGES["python"].text(eq), module)
    from pliant import load
    from small_arms import linear

    arm = Dynamics(linear(load("four-bar")), compile="never")
    rng = np.random.default_rng(4)
    q, v = arm.project(arm.reference_pose() + 0.01 * rng.normal(size=7), rng.normal(size=7))
    M, J = np.array(module["mass_matrix"](q)), np.array(module["closure_jacobian"](q))
    right = np.array(module["input_matrix"]())[:, 0] * 0.5 - np.array(module["bias"](q, v))
    whole = np.block([[M, -J.T], [J, np.zeros((2, 2))]])
    a = np.linalg.solve(whole, np.r_[right, -np.array(module["closure_bias"](q, v))])[:7]
    theirs = arm.forward(q, v, [0.5])
    assert np.abs(np.array(module["closure"](q))).max() < 1e-12
    assert np.abs(a - theirs).max() < 1e-8 * np.abs(theirs).max()


def test_positions_of_the_four_bar(rigid):
    """Both assemblies, with the loop closed: one of them is the reference pose, by its crank angle alone."""
    values = {sympy.Symbol(name): x for name, x in rigid.values.items()}
    arm = Dynamics("four-bar-rigid", compile="never")
    pose = arm.reference_pose()
    crank, *_ = rigid.q
    found = []
    for branch in (1, -1):
        solved = rigid.closure.positions(branch)
        angles = [float(x.subs(values).subs(crank, pose[0])) for x in solved.values()]
        q = np.array([pose[0], *angles])
        assert np.abs(call(rigid, rigid.closure.gap, q, q)).max() < 1e-12
        found.append(q)
    assert min(np.abs(np.angle(np.exp(1j * (q - pose)))).max() for q in found) < 1e-9
    with pytest.raises(ModelError, match="branch"):
        rigid.closure.positions(0)


def test_pages_and_code_tell_of_the_loop(rigid):
    text = rigid.to("text")
    assert "cut open at rocker_pin.x, rocker_pin.y" in text
    first = next(line for line in text.splitlines() if line.startswith("c[1] = "))
    assert sympy.sympify(first.partition(" = ")[2]) == rigid.closure.gap[0]
    assert "= B tau + J^T lambda" in text
    for form in ("latex", "markdown", "html", "c", "fortran", "matlab", "julia", "mathematica"):
        assert "losure" in rigid.to(form)


def test_what_loops_do_not_have(rigid):
    with pytest.raises(ModelError, match="has no closed loop"):
        _ = equations("lin-lewis-rfr").closure
    with pytest.raises(ModelError, match="pliant export dualemps"):
        equations("dualemps")
    with pytest.raises(ModelError, match="there is no bound"):
        rigid.neglecting(1e-3, {}, dict.fromkeys(("motor", "crank_pin", "ground_pin"), 1.0))
    with pytest.raises(ModelError, match="in numbers"):
        rigid.zero_dynamics()
