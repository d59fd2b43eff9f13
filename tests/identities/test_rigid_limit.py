"""Without bending the dynamics are those of rigid bodies: Pinocchio's, and those of the rigid twin."""

import numpy as np
import pytest

import zoo
from pliant.dynamics import Dynamics
from pliant.spatial.attitude import attitude

TOLERANCE = 1e-10
"""Of the largest entry: two programs in double precision, up to thirty bodies."""

FLEXIBLE = [name for name in zoo.ZOO if name not in zoo.RIGID and name != "imported"]


def close(left, right, tolerance=TOLERANCE):
    left, right = np.asarray(left), np.asarray(right)
    return np.abs(left - right).max() <= tolerance * max(np.abs(left).max(), np.abs(right).max())


def pinocchio_model(pin, robot):
    """The same robot in Pinocchio: (model, indices of our coordinates in it); motors are armature."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    joints, names, armature = {}, {}, {}

    def inertia(mass, com, tensor):
        return pin.Inertia(mass, np.asarray(com), np.asarray(tensor))

    # link -> (joint of Pinocchio, link frame in it); its algorithms need the joints depth first
    for link in depth_first(robot):
        parent, frame = robot.parent_of(link.name)
        number, M = (0, pin.SE3.Identity()) if parent == "base" else joints[parent]
        if parent != "base":
            place = robot.link(parent).frame(frame)
            along = np.array([place.x or 0.0, 0.0, 0.0]) if robot.link(parent).beam else np.zeros(3)
            M = M * pin.SE3(place.matrix(), along + place.vector())
        joint = link.joint
        M = M * pin.SE3(joint.placement.matrix(), joint.placement.vector())
        child = pin.SE3(joint.child_placement.matrix(), joint.child_placement.vector())
        if joint.type == "fixed":
            M = M * child
        else:
            kinds = {
                "revolute": pin.JointModelRevoluteUnaligned(joint.axis_vector()),
                "prismatic": pin.JointModelPrismaticUnaligned(joint.axis_vector()),
                "spherical": pin.JointModelSpherical(),
                "free": pin.JointModelFreeFlyer(),
            }
            number, M = model.addJoint(number, kinds[joint.type], M, joint.name), child
            for k, name in enumerate(joint.coordinates):
                names[name] = model.joints[number].idx_v + k
                motor = joint.motor
                armature[name] = motor.rotor_inertia * motor.gear_ratio**2 if motor else 0.0
        joints[link.name] = (number, M)
        for mass, com, tensor, at in bodies(link):
            model.appendBodyToJoint(number, inertia(mass, com, tensor), M * pin.SE3(at.matrix(), at.vector()))
    order = [names[name] for name in robot.joint_coordinates]
    rotor = np.array(model.armature)
    rotor[order] = [armature[name] for name in robot.joint_coordinates]
    model.armature = rotor
    return model, order


class Velocities:
    """Their state from ours, v_pin = S v: quaternions, and velocities in the axes of the body that turns any way."""

    def __init__(self, pin, model, robot, q, v):
        self.q, self.S, bias = pin.neutral(model), np.zeros((len(v), len(v))), np.zeros(len(v))
        start = 0
        for joint in (link.joint for link in robot.links if link.joint.coordinates):
            theirs = model.joints[model.getJointId(joint.name)]
            count = len(joint.coordinates)
            own, at = slice(start, start + count), slice(theirs.idx_v, theirs.idx_v + count)
            start += count
            if count == 1:
                self.q[theirs.idx_q], self.S[at, own] = q[own][0], 1.0
                continue
            turn = attitude(q[own][-3:].tolist(), v[own][-3:].tolist())
            R, block, drift = np.array(turn.R), np.array(turn.T), np.array(turn.bias)
            place = pin.Quaternion(R).coeffs()
            if joint.type == "free":
                place = np.concatenate([q[own][:3], place])
                slide = R.T @ v[own][:3]
                block = np.block([[R.T, np.zeros((3, 3))], [np.zeros((3, 3)), block]])
                drift = np.concatenate([-np.cross(turn.omega, slide), drift])
            self.q[theirs.idx_q : theirs.idx_q + len(place)] = place
            self.S[at, own], bias[at] = block, drift
        self.v, self.bias = self.S @ v, bias

    def a(self, a):
        return self.S @ a + self.bias


def depth_first(robot, name="base"):
    for child in robot.children_of(name):
        yield robot.link(child)
        yield from depth_first(robot, child)


def bodies(link):
    """(mass, com, inertia about it, placement) of everything rigid on a link."""
    here = zoo.Placement()
    if link.rigid is not None:
        yield link.rigid.mass, link.rigid.com_vector(), link.rigid.inertia_matrix(), here
    for frame, part in ([("root", link.hub)] if link.hub else []) + [(p.frame or "tip", p) for p in link.payloads]:
        yield part.mass, part.com_vector(), part.inertia_matrix(), link.frame(frame)


@pytest.fixture(scope="module")
def pin():
    return pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is not installed")


def payload_chain():
    """Motors, hubs and payloads on rigid links, a free base and a ball joint."""
    rng = zoo.seed(90)
    links = [
        zoo.Link(
            name="bus",
            joint=zoo.Joint(name="free", type="free", child_placement=zoo.placement(rng)),
            rigid=zoo.rigid(rng),
        ),
        *(
            zoo.Link(
                name=f"l{i}",
                joint=zoo.general_joint(rng, f"j{i}", motor=zoo.Motor(rotor_inertia=1e-4, gear_ratio=40)),
                rigid=zoo.rigid(rng),
                hub=zoo.part(rng),
                payloads=(zoo.part(rng, "tip"),),
            )
            for i in range(3)
        ),
        zoo.Link(
            name="hand",
            joint=zoo.Joint(name="wrist", type="spherical", placement=zoo.placement(rng)),
            rigid=zoo.rigid(rng),
            payloads=(zoo.part(rng, "tip"),),
        ),
        zoo.Link(name="finger", joint=zoo.general_joint(rng, "knuckle"), rigid=zoo.rigid(rng)),
    ]
    return zoo.Robot(name="payload-chain", links=links)


@pytest.mark.parametrize("name", [*zoo.RIGID, "payload-chain"])
def test_rigid_robots_move_as_in_pinocchio(pin, name):
    robot = payload_chain() if name == "payload-chain" else zoo.robot(name)
    arm = Dynamics(robot)
    model, _ = pinocchio_model(pin, robot)
    data = model.createData()
    q, v, a = zoo.state(arm)
    theirs = Velocities(pin, model, robot, q, v)
    S = theirs.S

    M = pin.crba(model, data, theirs.q)
    M = np.triu(M) + np.triu(M, 1).T
    assert close(arm.mass_matrix(q), S.T @ M @ S)
    still = pin.rnea(model, data, theirs.q, theirs.v, theirs.a(0 * a))
    assert close(arm.bias(q, v), S.T @ still)
    assert close(arm.gravity(q), S.T @ pin.computeGeneralizedGravity(model, data, theirs.q))
    forces = pin.rnea(model, data, theirs.q, theirs.v, theirs.a(a))
    assert close(arm.forces(q, v, a), S.T @ forces)
    found = pin.aba(model, data, theirs.q, theirs.v, forces)
    assert close(S @ arm.forward(q, v, force=S.T @ forces) + theirs.bias, found)


@pytest.mark.parametrize("name", ["rigid-7", "rigid-tree"])
def test_derivatives_of_rigid_robots_are_pinocchios(pin, name):
    robot = zoo.robot(name)
    arm = Dynamics(robot)
    model, order = pinocchio_model(pin, robot)
    data = model.createData()
    q, v, a = zoo.state(arm)
    theirs = np.argsort(order)
    at = np.ix_(order, order)
    by_q, by_v, _ = pin.computeRNEADerivatives(model, data, q[theirs], v[theirs], a[theirs])
    ours = arm.inverse_derivatives(q, v, a)
    assert close(ours.q, by_q[at])
    assert close(ours.v, by_v[at])


@pytest.mark.parametrize("name", FLEXIBLE)
def test_an_undeformed_robot_has_the_inertia_of_its_rigid_twin(name):
    """Elastic coordinates at zero and at rest: rows and columns of the joints know nothing of them."""
    arm = Dynamics(zoo.robot(name))
    twin = Dynamics(zoo.rigid_twin(zoo.robot(name)), compile="never")
    q, v, a = zoo.state(twin)
    joints = [arm.names.index(joint) for joint in twin.names]
    if not joints:
        pytest.skip("the robot has no joints")

    def bent(x):
        out = np.zeros(arm.size)
        out[joints] = x
        return out

    assert close(arm.mass_matrix(bent(q))[np.ix_(joints, joints)], twin.mass_matrix(q))
    assert close(arm.bias(bent(q), bent(v))[joints], twin.bias(q, v))
    assert close(arm.forces(bent(q), bent(v), bent(a))[joints], twin.forces(q, v, a))


def test_a_stiff_robot_moves_as_its_rigid_twin():
    """Held in quasi-static balance, the joint accelerations approach the rigid ones as 1 / stiffness."""
    errors = []
    for stiffness in (1e2, 1e3, 1e4):
        links = [
            zoo.Link(
                name=f"l{i}",
                joint=zoo.Joint(name=f"j{i}", axis="zy"[i]),
                beam=zoo.beam(
                    EIy=40 * stiffness, EIz=60 * stiffness, modes=zoo.Modes(shape="clamped-free", bend_y=2, bend_z=2)
                ),
            )
            for i in range(2)
        ]
        robot = zoo.Robot(name="stiff", links=links)
        arm, twin = Dynamics(robot), Dynamics(zoo.rigid_twin(robot), compile="never")
        q, v, tau = np.array([0.4, -0.7]), np.array([0.5, 0.3]), np.array([2.0, -1.0])
        wanted = twin.forward(q, v, tau)
        joints = [arm.names.index(name) for name in twin.names]
        elastic = np.setdiff1d(np.arange(arm.size), joints)
        x, rate = np.zeros(arm.size), np.zeros(arm.size)
        x[joints], rate[joints] = q, v
        # the deflection at which the elastic accelerations vanish, by Newton's method
        for _ in range(6):
            slope = arm.derivatives(x, rate, tau).q[np.ix_(elastic, elastic)]
            x[elastic] -= np.linalg.solve(slope, arm.forward(x, rate, tau)[elastic])
        errors.append(np.abs(arm.forward(x, rate, tau)[joints] - wanted).max())
    assert errors[0] > errors[1] > errors[2]
    assert np.allclose(np.log10(np.array(errors[:-1]) / errors[1:]), 1.0, atol=0.05)
