"""The four-joint arm of Cibicik & Egeland linearised: the strict, the printed and the symmetric rules, and velocities.

Three ways to the printed rule: the reference, the compiled variant from integrals, the procedure section by section.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant import Frame
from pliant.dynamics import Dynamics
from pliant.formulations.dual_screw.dual_inertia import mass_matrix
from pliant.formulations.dual_screw.dual_lowering import expand
from pliant.formulations.dual_screw.dual_methods import VARIANTS, bias
from pliant.formulations.dual_screw.printed_procedure import PrintedArm

REFERENCE = json.loads((Path(__file__).parent / "data" / "dual_screw_arm.json").read_text())
TOLERANCE = 1e-9
"""Of the largest entry of each array, as the reference states."""
RULES = {"L": "strict", "Ls": "symmetric", "D": "literal", "Ds": "literal-symmetric"}
STATES = range(len(REFERENCE["states"]))


@pytest.fixture(scope="module")
def arm():
    return Dynamics(pliant.load("cibicik-4dof"), compile="never")


@pytest.fixture(scope="module")
def layout(arm):
    """Index of each coordinate of the reference: q1..q4, then per link torsion, xy, xz."""
    names = ["q1", "q2", "q3", "q4"]
    for link in ("boom", "jib"):
        names += [f"{link}.{family}.{k}" for family in ("torsion", "bend_y", "bend_z") for k in (1, 2)]
    return [arm.names.index(name) for name in names]


@pytest.fixture(scope="module")
def printed(arm):
    return PrintedArm(arm.robot, arm.mechanism)


def state(arm, layout, number):
    q, u = np.zeros(arm.size), np.zeros(arm.size)
    q[layout], u[layout] = REFERENCE["states"][number]["q"], REFERENCE["states"][number]["u"]
    return q, u


def agrees(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return np.abs(ours - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), TOLERANCE)


@pytest.mark.parametrize("number", STATES)
@pytest.mark.parametrize("rule", RULES)
def test_linear_rules(arm, layout, rule, number):
    wanted, variant = REFERENCE["states"][number][rule], VARIANTS[RULES[rule]]
    q, u = state(arm, layout, number)
    tree = expand(arm.mechanism, printed=variant.printed)
    constants, gravity = [link.constants for link in tree.links], tree.gravity.tolist()
    M = np.array(mass_matrix(tree.links, constants, q.tolist(), variant.orders))
    assert agrees(M[np.ix_(layout, layout)], wanted["M"])
    strain = (arm.stiffness @ q)[layout]
    h = np.array(bias(tree.links, constants, gravity, q.tolist(), u.tolist()))[layout]
    g = np.array(bias(tree.links, constants, gravity, q.tolist(), [0.0] * arm.size))[layout] - strain
    found = {"h": h, "g": g, "c": h - g - strain}
    for name in found.keys() & wanted.keys():
        assert agrees(found[name], wanted[name]), name


@pytest.mark.parametrize("number", STATES)
def test_printed_procedure(arm, layout, printed, number):
    """M, C and gravity by projection matrices in Jacobian and projecting form, and the inputs of (127)."""
    wanted = REFERENCE["states"][number]["D"]
    q, u = state(arm, layout, number)
    M, C, g = printed.matrices(q, u)
    both = np.ix_(layout, layout)
    assert agrees(M[both], wanted["M"])
    assert agrees(C[both], wanted["C"])
    assert agrees((C @ u)[layout], wanted["c"])
    assert agrees(g[layout], wanted["g"])
    assert agrees(printed.inputs(q)[layout], wanted["B_torque_eq127"])


@pytest.mark.parametrize("number", STATES)
def test_velocity_of_a_section(arm, layout, printed, number):
    """Dual twists of the section at x of the second boom, exact and linearised, in both axes."""
    wanted = REFERENCE["states"][number]["velocity_3e"]
    q, u = state(arm, layout, number)
    twist, R = printed.section_twist("jib", REFERENCE["x_velocity"], arm.robot, q, u)
    section = wanted["dual_twist_section"]
    assert agrees(twist, np.concatenate([section[k] for k in ("w_real", "w_dual", "v_real", "v_dual")]))
    for axes, v in (("3", twist[6:]), ("0", R.matrix @ twist[6:])):
        assert agrees(v[:3], wanted[f"v_lin_frame{axes}_order0"])
        assert agrees(v[3:], wanted[f"v_lin_frame{axes}_order1"])
    jib = next(link for link in printed.links if link.member.name == "jib")
    w = (jib.P @ u)[:6]
    assert agrees(w[:3], wanted["w03_lin_frame3_order0"])
    assert agrees(w[3:], wanted["w03_lin_frame3_order1"])


@pytest.fixture(scope="module")
def marked():
    """The arm with a frame at x of the second boom."""
    robot = pliant.load("cibicik-4dof")
    at = Frame(name="mark", x=REFERENCE["x_velocity"])
    links = [link.with_changes(frames=(at,)) if link.name == "jib" else link for link in robot.links]
    return Dynamics(robot.with_changes(links=links), compile="never")


@pytest.mark.parametrize("number", STATES)
def test_exact_velocity(marked, layout, number):
    wanted = REFERENCE["states"][number]["velocity_3e"]
    q, u = state(marked, layout, number)
    R = marked.link_pose("jib", q).rotation
    assert agrees(marked.pose("jib.mark", q).position, wanted["p_frame0"])
    v = marked.velocity("jib.mark", q, u).linear
    assert agrees(v, wanted["v_exact_frame0"])
    assert agrees(R.T @ v, wanted["v_exact_frame3"])
    assert agrees(R.T @ marked.velocity("jib.root", q, u).angular, wanted["w03_exact_frame3"])


GROWTH = 100.0
"""1/s: the printed model grows by a factor e in less than a hundredth of a second."""


def test_the_printed_model_is_unstable_and_the_symmetric_one_is_not(arm, layout):
    """Undamped small motions about a bent state, joints on springs: M x'' + K x = 0."""
    q, _ = state(arm, layout, 0)
    K = arm.stiffness + np.diag(np.isin(np.arange(arm.size), layout[:4]) * 1000.0)
    growth = {}
    for method in ("dual_screw_literal", "dual_screw", "dual_screw_frozen"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            M = Dynamics(arm.robot, method=method, compile="never").mass_matrix(q)
        squares = np.linalg.eigvals(np.linalg.solve(M, K)).astype(complex)
        growth[method] = np.abs(np.sqrt(-squares).real).max()
    assert growth["dual_screw_literal"] > GROWTH
    assert growth["dual_screw"] < TOLERANCE * GROWTH
    assert growth["dual_screw_frozen"] < TOLERANCE * GROWTH
