"""The forms of the constrained dynamics agree; everything that trees have works on robots with loops."""

import numpy as np
import pytest

from closed_robots import bent_four_bar, five_bar, four_bar, pendulum_ring, state
from pliant import Dynamics, Joint, Link, Loop, Modes, Robot, load
from pliant.analysis.sensitivity import acceleration_sensitivity
from pliant.model import Beam, Rectangle

ELEMENTS = {"bend_y": True, "bend_z": True, "torsion": True, "axial": True}
ROBOTS = {
    **{name: name for name in ("four-bar", "four-bar-rigid", "five-bar", "three-prs", "closed-frame", "dualemps")},
    "rigid five-bar": five_bar(),
    "bending in space": four_bar(loop={"planar": None}, **ELEMENTS),
    "ring": pendulum_ring(),
    "bent far": bent_four_bar(),
    "bent far in space": bent_four_bar(planar=None),
}
WITH_PLATFORM = ("three-prs", "closed-frame", "dualemps")

AGREE = 1e-10
"""Of the largest acceleration, between forms that share no code but the tree's own equations."""


@pytest.fixture(scope="module", params=ROBOTS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def arm(name):
    """In plain code, which costs less here than the machine code that ``compiled`` has."""
    return Dynamics(ROBOTS[name], compile="never")


@pytest.fixture(scope="module")
def compiled(name):
    return Dynamics(ROBOTS[name])


@pytest.fixture(scope="module", params=[0, 1])
def motion(request, arm):
    return state(arm, seed=request.param, size=0.03)


@pytest.fixture(scope="module")
def tau(arm):
    return np.random.default_rng(5).standard_normal(len(arm.inputs))


def close(a, b, tolerance=AGREE):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(np.abs(b).max(initial=0.0), 1e-300))


def test_forms_agree(name, arm, motion, tau):
    a = arm.forward(*motion, tau)
    for form in ("dense", "minimal", *(("platform",) if name in WITH_PLATFORM else ())):
        close(arm.forward(*motion, tau, solver=form), a)


def test_accelerations_keep_the_loops_closed(arm, motion, tau):
    q, v = motion
    a = arm.forward(q, v, tau)
    J = arm.loops.jacobian(q)
    assert np.abs(J @ a + arm.loops.bias(q, v)).max() <= AGREE * np.abs(J).max() * np.abs(a).max()


def test_equations_of_motion_hold_with_the_multipliers(arm, motion, tau):
    """M a + h = B tau + J^T lambda."""
    q, v = motion
    a, force = arm.forward(q, v, tau), arm.multipliers(q, v, tau)
    left = arm.forces(q, v, a)
    scale = (
        np.abs(arm.mass_matrix(q)) @ np.abs(a)
        + np.abs(arm.bias(q, v))
        + np.abs(arm.loops.jacobian(q).T) @ np.abs(force)
    )
    assert np.all(np.abs(left - arm.B @ tau - arm.loops.jacobian(q).T @ force) <= AGREE * scale.max())


def test_inverse_gives_the_efforts_back(arm, motion, tau):
    q, v = motion
    a = arm.forward(q, v, tau)
    driven = [arm.names.index(name) for name in arm.inputs]
    found, others = arm.inverse(q, v, a[driven])
    close(others, np.delete(a, driven), 1e-9)
    scale = max(np.abs(arm.forces(q, v, a)).max(), np.abs(tau).max(initial=0.0))
    np.testing.assert_allclose(found, tau, rtol=0, atol=1e-9 * scale)


def test_reduced_model(arm, motion, tau):
    q, v = motion
    model = arm.reduced(q, v)
    assert len(model.names) == arm.size - arm.loops.rank
    close(model.M, model.M.T, 1e-13)
    assert np.linalg.eigvalsh(model.M).min() > 0
    kept = [k for k, row in enumerate(arm.loops.rows) if row not in arm.loops.redundant]
    np.testing.assert_allclose(arm.loops.jacobian(q)[kept] @ model.N, 0, atol=1e-10 * np.abs(model.N).max())
    # independent rates give back the whole velocity of a closed state
    close(model.N @ v[[arm.names.index(name) for name in model.names]], v)


def test_compiled_and_plain_code_agree(arm, compiled, motion, tau):
    close(compiled.forward(*motion, tau), arm.forward(*motion, tau))
    np.testing.assert_allclose(compiled.closure(motion[0]), arm.closure(motion[0]), atol=1e-14)


def test_batches(compiled, motion, tau):
    arm = compiled
    q = np.stack([motion[0], arm.assemble(hold=[])])
    v = np.stack([motion[1], np.zeros(arm.size)])
    efforts = np.stack([tau, -tau])
    one_by_one = np.array([arm.forward(*x) for x in zip(q, v, efforts, strict=True)])
    close(arm.forward(q, v, efforts), one_by_one)
    close(arm.forward(q, v, efforts, solver="dense"), one_by_one)
    assert arm.closure(q).shape == (2, len(arm.loops.rows))
    if len(tau):
        given = one_by_one[:, [arm.names.index(name) for name in arm.inputs]]
        found, others = arm.inverse(q, v, given)
        assert found.shape == efforts.shape
        assert others.shape == (2, arm.size - len(tau))


def test_derivatives(arm, motion, tau):
    """Exact derivatives against central differences, along random directions of q and v."""
    q, v = motion
    exact = arm.derivatives(q, v, tau)
    rng = np.random.default_rng(6)
    scale = arm.loops.constraints.column_scale
    step = 1e-6
    for _ in range(3):
        dq, dv = scale * rng.standard_normal(arm.size), scale * rng.standard_normal(arm.size)
        ahead, behind = (arm.forward(q + s * dq, v + s * dv, tau) for s in (step, -step))
        close((ahead - behind) / (2 * step), exact.q @ dq + exact.v @ dv, 1e-4)
    dtau = rng.standard_normal(len(arm.inputs))
    change = arm.forward(q, v, tau + dtau) - arm.forward(q, v, tau - dtau)
    np.testing.assert_allclose(change, 2 * exact.tau @ dtau, rtol=0, atol=AGREE * np.abs(arm.forward(q, v, tau)).max())


def test_forces_and_wrenches(arm, motion):
    q, v = motion
    frame = arm.frames[-1]
    wrench = np.array([1.0, -2.0, 0.5, 0.1, 0.2, -0.3])
    force = arm.jacobian(frame, q).T @ wrench
    close(arm.forward(q, v, wrenches={frame: wrench}), arm.forward(q, v, force=force))


@pytest.mark.parametrize("robot", ["dualemps", "three-prs", "closed-frame", "five-bar"])
def test_stabilised_accelerations(robot):
    """In all forms J a + J' v = -2 k rate - k^2 gap, also where loops are closed by a cut."""
    k = 20.0
    arm = Dynamics(robot, compile="never", stabilise=k)
    q, v = state(arm, size=0.01)
    rng = np.random.default_rng(7)
    q = q + 1e-4 * arm.loops.constraints.column_scale * rng.standard_normal(arm.size)
    v = v + 1e-2 * arm.loops.constraints.column_scale * rng.standard_normal(arm.size)
    a = arm.forward(q, v)
    close(arm.forward(q, v, solver="dense"), a)
    free = Dynamics(robot, compile="never")
    expected = -2 * k * arm.closure_rate(q, v) - k**2 * arm.closure(q)
    found = arm.loops.jacobian(q) @ a + free.loops.bias(q, v)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(a).max())


def test_motors_on_pinned_modes():
    """A motor that also acts on the root slope of its link: the inverse goes the dense way."""

    def link(name, joint, **how):
        section = Rectangle(width=0.01, height=0.02)
        return Link(name=name, joint=joint, beam=Beam(length=0.3, material="steel", section=section, **how))

    pinned, clamped = Modes(shape="pinned-pinned", bend_y=2), Modes(shape="clamped-free", bend_y=1)
    links = [
        link("left", Joint(name="motor", parent="base"), modes=pinned),
        link("fore", Joint(name="elbow", parent="left.tip", actuated=False), modes=clamped),
        link("rod", Joint(name="pin", actuated=False), rigid=True),
    ]
    loop = Loop(name="pin", type="revolute", frames=["rod.tip", "base"], planar="xy")
    pose = {"motor": 0.0, "elbow": 2 * np.pi / 3, "pin": 2 * np.pi / 3}
    arm = Dynamics(Robot(name="triangle", links=links, loops=[loop], pose=pose), compile="never")
    assert np.count_nonzero(arm.B) > 1
    q, v = state(arm, size=0.01)
    a = arm.forward(q, v, [0.7])
    close(arm.forward(q, v, [0.7], solver="dense"), a)
    tau, others = arm.inverse(q, v, a[:1])
    np.testing.assert_allclose(tau, [0.7], rtol=1e-8)
    close(others, a[1:], 1e-9)


def test_operations_are_those_of_the_solution(arm):
    counted = arm.operations("forward")
    assert 0 < counted.total < 6500


def test_arrow_shape():
    """Each further leg of the same kind costs the same: no product of the legs' sizes."""
    three = Dynamics("three-prs", compile="never").operations("forward").total
    robot = load("three-prs")
    gone = {"carriage_3", "rod_3"}
    links = tuple(link for link in robot.links if link.name not in gone)
    pose = {key: value for key, value in robot.pose.items() if key != "hinge_3"}
    two = (
        Dynamics(robot.with_changes(links=links, loops=robot.loops[:2], pose=pose), compile="never")
        .operations("forward")
        .total
    )
    one = (
        Dynamics(
            robot.with_changes(
                links=tuple(link for link in links if link.name not in ("carriage_2", "rod_2")),
                loops=robot.loops[:1],
                pose={key: value for key, value in pose.items() if key != "hinge_2"},
            ),
            compile="never",
        )
        .operations("forward")
        .total
    )
    assert three - two == pytest.approx(two - one, rel=0.25)


@pytest.mark.parametrize(
    "parameter", ["coupler.beam.length", "coupler.payloads.0.mass", "crank.joint.motor.rotor_inertia"]
)
def test_sensitivity_by_a_parameter(parameter):
    """A length changes the closure as well; against differences of whole robots."""
    arm = Dynamics("four-bar", compile="never")
    q, v = state(arm)
    exact = acceleration_sensitivity(arm, parameter, q, v, [0.2])
    value = arm.robot.get(parameter)
    step = 1e-4 * value
    ahead, behind = (
        Dynamics(arm.robot.set(parameter, value + s), compile="never").forward(q, v, [0.2]) for s in (step, -step)
    )
    close((ahead - behind) / (2 * step), exact, 1e-6)


def test_reactions_do_not_depend_on_where_the_loop_is_cut():
    """The pin between crank and coupler: a joint of the tree, or the closure of the loop."""
    arm = Dynamics(four_bar(), compile="never")
    q, v = state(arm)
    links = {link.name: link for link in arm.robot.links}
    hung = Joint(name="pin", parent="rocker.tip", actuated=False)
    coupler = links["coupler"].model_copy(update={"joint": hung})
    closure = Loop(name="closure", type="revolute", frames=["coupler.tip", "crank.tip"], planar="xy")
    other = Dynamics(
        Robot(
            name="other",
            links=[links["crank"], links["rocker"], coupler],
            loops=[closure],
            gravity=arm.robot.gravity,
        ),
        compile="never",
    )
    # the coupler points the other way there: its angle is counted from the rocker
    crank, pin, ground = q
    angle = crank + pin - ground + np.pi
    rate = v[0] + v[1] - v[2]
    q2, v2 = np.array([crank, ground, angle]), np.array([v[0], v[2], rate])
    assert np.abs(other.closure(q2)).max() < 1e-13
    a = arm.forward(q, v, [0.4])
    a2 = other.forward(q2, v2, [0.4])
    np.testing.assert_allclose(a2[:2], a[[0, 2]], rtol=1e-9)
    on_coupler = arm.reactions(q, v, a)["pin"]
    R = arm.pose("coupler.root", q).rotation
    np.testing.assert_allclose((R @ on_coupler[:3])[:2], other.multipliers(q2, v2, [0.4]), rtol=1e-8)
    # and the closure of the one is the joint of the other
    R2 = other.pose("coupler.root", q2).rotation
    np.testing.assert_allclose(
        (R2 @ other.reactions(q2, v2, a2)["pin"][:3])[:2], arm.multipliers(q, v, [0.4]), rtol=1e-8
    )
    # passive joints transmit no moment about their axis
    assert abs(on_coupler[5]) < 1e-12
