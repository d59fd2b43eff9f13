"""Chains of meshed links: convergence to exact beams, loops, passive joints, reactions, sparse and full matrices."""

import numpy as np
import pytest
from scipy.optimize import brentq

from lumped_arms import MATERIAL, quintic_move, two_link_arm
from pliant import Dynamics, ModelError, Robot, equilibrium, load
from pliant.analysis.lumped import lumped_model
from pliant.analysis.lumped.elastic_motion import ElasticState, elastic_motion, frame_displacement, reactions, static
from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.nominal_motion import JointMotion, frame_twist

ORDER = 0.15
"""How far a fitted order may be from two."""
SAME = 1e-8
"""Relative difference of two ways to the same linear equations."""


def at_rest_state(model, motion):
    z = static(model, motion)[None]
    return model.assemble(motion), ElasticState(z, 0 * z, 0 * z)


def orders(errors):
    return np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))


def test_a_clamped_link_converges_to_the_exact_beam_with_order_two():
    """The first link of the Canadarm alone."""
    beam = {"length": 6.0, "properties": {"mass_per_length": 140 / 6, "EIy": 1e5, "EIz": 1e5}}
    exact = []
    for guess in (1.9, 4.7, 7.9):
        root = brentq(lambda b: np.cos(b) * np.cosh(b) + 1, guess - 0.2, guess + 0.2)
        exact.append((root / 6.0) ** 2 * np.sqrt(1e5 / (140 / 6)))
    errors = []
    for nodes in (4, 8, 16):
        link = {**beam, "lumped": {"nodes": nodes, "bend_y": True, "bend_z": False}}
        model = LumpedModel(
            Robot(name="one", gravity=(0, 0, 0), links=[{"name": "a", "joint": {"axis": "z"}, "beam": link}])
        )
        errors.append(natural_frequencies(model, model.at_rest(), 3) / exact - 1)
    np.testing.assert_allclose(orders(np.array(errors)), 2.0, atol=ORDER)
    assert np.abs(errors[-1]).max() < 0.01


@pytest.mark.parametrize("name", ["canadarm", "dualemps"])
def test_a_robot_converges_to_the_recursive_method_with_order_two(name):
    """Locked drives, straight links; the recursive method with many elements stands for exact beams."""
    robot = load(name).with_changes(gravity=(0, 0, 0))
    exact = {
        # many elements, see the verification of these robots
        "canadarm": np.array([0.9325105756, 0.9325105756, 6.9667859]),
        "dualemps": 2 * np.pi * np.array([14.181, 24.525, 45.908]),
    }[name]
    found = np.array([
        natural_frequencies(model, model.at_rest(), 3) for model in (LumpedModel(robot, elements=n) for n in (4, 8, 16))
    ])  # fmt: skip
    # the limit by Richardson's extrapolation, and its order by the three
    np.testing.assert_allclose(np.log2((found[1] - found[0]) / (found[2] - found[1])), 2.0, atol=ORDER)
    np.testing.assert_allclose(found[2] + (found[2] - found[1]) / 3, exact, rtol=5e-5)


def test_sparse_and_full_matrices_are_the_same(monkeypatch):
    """Those of internal forces, too."""
    robot = load("five-bar")
    full = LumpedModel(robot, stiffening=True)
    monkeypatch.setattr(lumped_model, "FULL_SIZE", 0)
    sparse = LumpedModel(robot, stiffening=True)
    motion = full.at_rest()
    motion = full.nominal(
        JointMotion(motion.q[:, full.skeleton.driven], np.array([[2.0, -1.0]]), np.array([[3.0, 5.0]]))
    )
    left = full.equations_at(full.assemble(motion), 0)
    right = sparse.equations_at(sparse.assemble(motion), 0)
    for x, y in zip(left[:3], right[:3], strict=True):
        np.testing.assert_allclose(y.toarray(), x, atol=SAME * np.abs(x).max())
    np.testing.assert_allclose(right.f, left.f, atol=SAME * np.abs(left.f).max())
    runs = []
    for model in (full, sparse):
        start = model.at_rest().q[0, model.skeleton.driven]
        nominal = quintic_move(model, start, [0.2, -0.1], 0.1)
        runs.append(elastic_motion(model, nominal, np.linspace(0.0, 0.02, 5)).state.z)
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-6 * np.abs(runs[0]).max())


def test_a_rigid_robot_has_the_efforts_and_reactions_of_the_recursion():
    """Every joint type of the seven-joint arm, moving; beams made rigid."""
    from pliant.model.description.robot import rigid_twin

    robot = rigid_twin(load("seven-joint-arm"))
    model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
    rng = np.random.default_rng(3)
    q, v, a = (rng.normal(size=(1, len(model.inputs))) for _ in range(3))
    motion = model.nominal(JointMotion(q, v, a))
    empty = np.zeros((1, model.size))
    found = reactions(model, model.assemble(motion), ElasticState(empty, empty, empty))
    np.testing.assert_allclose(found.efforts[0], arm.forces(q[0], v[0], a[0]), rtol=1e-9, atol=1e-9)
    wanted = arm.reactions(q[0], v[0], a[0])
    for joint, wrench in wanted.items():
        np.testing.assert_allclose(found.joints[joint][0], wrench, rtol=1e-8, atol=1e-8, err_msg=joint)


def test_static_reactions_of_a_bent_arm_carry_its_weight():
    robot = load("two-link-flexible")
    model = LumpedModel(robot)
    motion = model.at_rest()
    assembled, state = at_rest_state(model, motion)
    found = reactions(model, assembled, state)
    R = assembled.links[0].R[0]
    np.testing.assert_allclose(R @ found.joints["shoulder"][0, :3], [0, 0, 9.81 * robot.mass], atol=1e-9 * robot.mass)
    # friction is zero at rest; left are the squares of deflections of some centimetres
    np.testing.assert_allclose(found.efforts[0], equilibrium(Dynamics(robot, compile="never")).tau, rtol=1e-3)


def test_a_closed_chain_keeps_its_loops_closed_to_first_order():
    model = LumpedModel(load("five-bar"))
    start = model.at_rest().q[0, model.skeleton.driven]
    nominal = quintic_move(model, start, [0.2, -0.1], 0.5)
    times = np.linspace(0.0, 0.2, 41)
    run = elastic_motion(model, nominal, times)
    assembled = model.assemble(nominal(times))
    ends = [frame_displacement(model, assembled, run.state, f"{side}_coupler.tip")[:, :2] for side in ("left", "right")]
    assert np.abs(ends[0]).max() > 1e-5
    assert np.abs(ends[0] - ends[1]).max() < SAME * np.abs(ends[0]).max()


def test_a_passive_joint_with_a_spring_is_a_flexible_joint():
    """A massless virtual link between motor and bar: one frequency sqrt(k / I) of a rigid bar."""
    k, mass, length = 50.0, 1.2, 0.5
    links = [
        {"name": "rotor", "joint": {"name": "motor", "axis": "z"}},
        {
            "name": "bar",
            "joint": {"name": "gear", "axis": "z", "actuated": False, "spring": {"stiffness": k}},
            "rigid": {
                "mass": mass,
                "com": [length / 2, 0, 0],
                "inertia": [0, *(2 * [mass * length**2 / 12])],
                "length": length,
            },
        },
    ]
    model = LumpedModel(Robot(name="flexible joint", gravity=(0, 0, 0), links=links))
    assert model.names == ("gear",)
    found = natural_frequencies(model, model.at_rest())
    np.testing.assert_allclose(found, np.sqrt(k / (mass * length**2 / 3)), rtol=1e-12)


def test_a_spatial_arm_with_all_families_agrees_with_the_recursion():
    """Torsion and both bending planes, a bent pose: the frequencies of both methods on the same lumped links."""
    from pliant import modes

    bar = {
        "length": 0.4,
        "material": MATERIAL,
        "section": {"rectangle": {"width": 0.01, "height": 0.02}},
        "lumped": {"nodes": 3, "bend_y": True, "bend_z": True, "torsion": True, "axial": True},
    }
    links = [
        {"name": "a", "joint": {"axis": "z"}, "beam": bar},
        {"name": "b", "joint": {"axis": "y"}, "beam": bar, "payloads": [{"mass": 0.3, "com": [0.02, 0.03, 0.01]}]},
    ]
    robot = Robot(name="spatial", gravity=(0, 0, 0), links=links, pose={"a": 0.4, "b": 0.7})
    model = LumpedModel(robot)
    found = natural_frequencies(model, model.at_rest())
    wanted = modes(Dynamics(robot, compile="never"), locked=["a", "b"]).frequencies
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_what_cannot_be_meshed_is_named():
    with pytest.raises(ModelError, match="it is free, and no loop determines how its link moves"):
        LumpedModel(
            Robot(name="f", links=[{"name": "a", "joint": {"type": "free"}, "rigid": {"mass": 1, "inertia": 1}}])
        )
    tied = {"name": "b", "joint": {"mimic": {"joint": "a"}}, "rigid": {"mass": 1, "inertia": 1}}
    free = {"name": "a", "joint": {}, "rigid": {"mass": 1, "inertia": 1, "length": 1}}
    with pytest.raises(ModelError, match="joint 'b': it follows joint 'a'"):
        LumpedModel(Robot(name="t", links=[free, tied]))
    with pytest.raises(ModelError, match="has no link 'uper'"):
        LumpedModel(two_link_arm(), elements={"uper": 3})


@pytest.mark.parametrize("kind", ["spherical", "planar", "cylindrical", "helical", "prismatic", "revolute"])
def test_nominal_motions_of_all_joints_are_those_of_the_rigid_robot(kind):
    """Twist and acceleration of the tip behind a joint at any coordinates, beside the recursive method's."""
    body = {"mass": 1.0, "inertia": 0.1, "com": [0.1, 0.02, 0.0], "length": 0.4}
    place = {"position": [0.05, 0.02, -0.03], "rotation": {"rpy": [0.3, -0.2, 0.4]}}
    axis = {} if kind in ("spherical", "planar") else {"axis": [0.6, 0.0, 0.8]}
    pitch = {"pitch": 0.3} if kind == "helical" else {}
    joint = {"name": "j", "type": kind, **axis, **pitch, "placement": place, "child_placement": place}
    links = [
        {"name": "a", "joint": {"axis": "z"}, "rigid": body},
        {"name": "b", "joint": joint, "rigid": body},
    ]
    robot = Robot(name="pair", links=links)
    model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
    q, v, a = np.random.default_rng(4).normal(size=(3, arm.size))
    links = model.skeleton.motion(JointMotion(q[None], v[None], a[None]), weight=False)
    twist, rate = frame_twist(links, model.skeleton.frame("b.tip"))
    wanted = arm.velocity("b.tip", q, v)
    np.testing.assert_allclose(twist[0], [*wanted.linear, *wanted.angular], atol=1e-12)
    wanted = arm.acceleration("b.tip", q, v, a)
    np.testing.assert_allclose(rate[0], [*wanted.linear, *wanted.angular], atol=1e-11)
    relative = links[1].relative
    # rates of the link in its parent, by which displacements are handed on
    h = 1e-3
    near = [model.skeleton.seats[1].relative(JointMotion(*(x[None] for x in at))) for at in _along(q, v, a, h)]
    for name in "Rp":
        values = [getattr(each, name)[0] for each in near]
        first = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * h)
        second = (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / (12 * h * h)
        np.testing.assert_allclose(getattr(relative, f"{name}_dot")[0], first, atol=1e-9)
        np.testing.assert_allclose(getattr(relative, f"{name}_ddot")[0], second, atol=1e-6)


def _along(q, v, a, h):
    """The motion at five instants."""
    return [(q + t * v + t * t * a / 2, v + t * a, a) for t in h * np.arange(-2, 3)]
