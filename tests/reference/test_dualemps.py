"""DualEMPS of Briot & Khalil against independent numbers: every matrix of the minimal and the platform model."""

import json
from pathlib import Path

import numpy as np
import pytest

from pliant import Dynamics, Friction, load
from pliant.reproduce.dualemps import frequencies

REFERENCE = json.loads((Path(__file__).parent / "data" / "dualemps.json").read_text())
STATES = {
    f"{state['label']}, {'with' if state['friction'] else 'without'} friction": state
    for state in (*REFERENCE["states"], *REFERENCE["states_no_friction"])
}

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Entry by entry, the latter of the largest entry, as the reference states."""

FORMS = ("recursive", "dense", "minimal", "platform")

# our coordinates by the names of the reference: tip deflection w, slope t and elongation u of each beam
OURS = {f"q{k}": f"q{k}" for k in (11, 12, 21, 22, 25)}
for beam in (13, 16, 23):
    OURS |= {
        f"w{beam}": f"beam_{beam}.bend_y.1",
        f"t{beam}": f"beam_{beam}.bend_y.2",
        f"u{beam}": f"beam_{beam}.axial.1",
    }
# theta is counted from X to Z, which is about -y of the base
PLATFORM = {"X15": "platform_15.root.x", "Z15": "platform_15.root.z", "theta15": "platform_15.root.ry"}
SIGN = {"theta15": -1.0}


def smooth_free(robot, friction):
    """Friction by sign() in the reference: a smoothing too small to be seen, or no friction at all."""
    links = []
    for link in robot.links:
        given = link.joint.friction
        if given is not None:
            sharp = Friction(viscous=given.viscous, coulomb=given.coulomb, smoothing=1e-9) if friction else None
            link = link.model_copy(update={"joint": link.joint.model_copy(update={"friction": sharp})})
        links.append(link)
    return robot.model_copy(update={"links": tuple(links)})


@pytest.fixture(scope="module", params=STATES)
def state(request):
    return STATES[request.param]


@pytest.fixture(scope="module")
def arm(state):
    return Dynamics(smooth_free(load("dualemps"), state["friction"]))


def places(order, names, table=OURS):
    """For each of our names, its place in an order of the reference, and the sign of its direction."""
    theirs = {table.get(name, name): name for name in order}
    return [order.index(theirs[name]) for name in names], np.array([SIGN.get(theirs[name], 1.0) for name in names])


@pytest.fixture(scope="module")
def tree(arm):
    """Places of the tree's coordinates in the reference."""
    return places(REFERENCE["q_t_order"], arm.names)[0]


@pytest.fixture(scope="module")
def motion(state, tree):
    return np.array(state["q_t"])[tree], np.array(state["qd_t"])[tree]


def agrees(ours, theirs):
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=RELATIVE, atol=ABSOLUTE * np.abs(theirs).max())


def test_tree(state, arm, tree, motion):
    q, v = motion
    agrees(arm.bias(q, v), np.array(state["c_tot"])[tree])
    energy = arm.energy(q, v)
    agrees([energy.kinetic, energy.strain], [state["T"], state["V"]])
    if "M_tot" in state:
        agrees(arm.mass_matrix(q), np.array(state["M_tot"])[np.ix_(tree, tree)])


def test_point_p(state, arm, motion):
    position = arm.pose("tool_17.root", motion[0]).position
    agrees(position[[0, 2]], state["P_pos"])


def test_closure(state, arm, tree, motion):
    q, v = motion
    assert np.abs(arm.closure(q)).max() < 1e-15
    assert np.abs(arm.closure_rate(q, v)).max() < 1e-14
    assert arm.loops.rows == ("closure.x", "closure.z", "closure.ry")
    signs = np.array([1.0, 1.0, -1.0])
    agrees(signs * arm.loops.bias(q, v), state["Jdot_qd"])
    if "J" in state:
        agrees(signs[:, None] * arm.loops.jacobian(q), np.array(state["J"])[:, tree])


def test_minimal_model(state, arm, motion):
    """The automatic choice is the paper's description of the robot: the passive joints are dependent."""
    assert arm.dependent == ("q12", "q22", "q25")
    model = arm.reduced(*motion)
    order, _ = places(REFERENCE["q_r_order"], model.names)
    agrees(model.M, np.array(state["M_r"])[np.ix_(order, order)])
    agrees(model.c, np.array(state["c_r"])[order])


def test_platform_model(state, arm, motion):
    """Ends of both legs dependent, the platform's twist independent, (30)-(44)."""
    model = arm.reduced(*motion, platform="platform_15.root")
    order, sign = places(REFERENCE["platform_order"], model.names, OURS | PLATFORM)
    given = state["platform_choice"]
    agrees(model.M * np.outer(sign, sign), np.array(given["M"])[np.ix_(order, order)])
    agrees(model.c * sign, np.array(given["c"])[order])


@pytest.mark.parametrize("form", FORMS)
def test_forward(state, arm, tree, motion, form):
    a = arm.forward(*motion, state["forward"]["tau"], solver=form)
    agrees(a, np.array(state["forward"]["qdd_t"])[tree])


def test_multipliers(state, arm, motion):
    found = arm.multipliers(*motion, state["forward"]["tau"])
    agrees(found * [1.0, 1.0, -1.0], state["forward"]["lam"])


def test_inverse(state, arm, tree, motion):
    tau, others = arm.inverse(*motion, state["inverse"]["qdd_a"])
    agrees(tau, state["inverse"]["tau"])
    passive = [k for k, name in enumerate(arm.names) if name not in arm.inputs]
    agrees(others, np.array(state["inverse"]["qdd_t"])[tree][passive])


@pytest.fixture(scope="module")
def table():
    return frequencies()


def test_frequencies_of_one_element_have_the_printed_digits(table):
    printed = ("14.207", "25.042", "48.156", "91.907", "110.326", "436.197")
    assert tuple(f"{row.one_element:.3f}" for row in table) == printed


def test_converged_frequencies(table):
    """With many elements per beam; the sixth comes down from 436 Hz, towards the measured 163 Hz."""
    printed = ("14.181", "24.525", "45.908", "89.795", "105.371", "188.52")
    for row, digits in zip(table, printed, strict=True):
        assert f"{row.converged:.{len(digits.partition('.')[2])}f}" == digits


def test_paper_beside_them(table):
    """The paper's model column carries the rounding of its table of masses: within 1.2 %, the sixth 3.1 %."""
    for row in table:
        assert row.one_element == pytest.approx(row.paper_model, rel=0.031 if row.mode == 6 else 0.012)


def test_operations():
    """The paper's model has 1555 + 1287 operations; ours must stay below with both models together."""
    arm = Dynamics("dualemps", compile="never")
    forward, inverse = arm.operations("forward"), arm.operations("inverse")
    assert forward.total <= 1050
    assert forward.total + inverse.total < 1555 + 1287
