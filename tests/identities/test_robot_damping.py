"""One damping ratio for all modes of a whole robot: exact, in every path, with passive joints, ties and loops."""

from functools import cache

import numpy as np
import pytest

from pliant import (
    Beam,
    Damping,
    Dynamics,
    Hold,
    Joint,
    Link,
    Mimic,
    Modes,
    PrescribedMotion,
    Properties,
    Rigid,
    RigidPart,
    Robot,
    Spring,
    generate_python,
    linearise,
    load,
    simulate,
)
from pliant.analysis.lumped.mesh import mesh_link
from pliant.analysis.lumped.node_equations import block_diagonal
from pliant.analysis.modes import modes
from pliant.bodies.build import build_body
from pliant.errors import ModelError
from pliant.formulations.robot_damping import LARGEST, damped, obtained, ratios_at

ASKED = 0.01
SAME = 1e-8
"""Of ratios: frequencies of one robot span four decades, and squares of them are subtracted in the modes."""
ROUNDING = 1e-11
"""Of accelerations by two ways."""


def without_own(robot):
    """A weightless robot without friction and the damping that its links came with, 1 % asked of the whole."""
    links = [link.with_changes(joint=link.joint.with_changes(friction=None)) for link in robot.links]
    links = [
        link if link.beam is None else link.with_changes(beam=link.beam.with_changes(damping=None)) for link in links
    ]
    return robot.with_changes(links=links, gravity=(0, 0, 0), damping=Damping(ratio=ASKED))


def passive():
    """A rail, a hinge that follows freely, a sprung one, and a joint tied to the hinge."""
    beam = Beam(length=0.8, properties=Properties(mass_per_length=1.0, EIz=30.0), modes=Modes(bend_y=2))
    links = [
        Link(name="a", joint=Joint(name="rail", type="prismatic", axis="y"), beam=beam, hub=RigidPart(mass=0.5)),
        Link(
            name="b",
            joint=Joint(name="hinge", actuated=False, placement={"rotation": {"z": 0.4}}),
            beam=beam,
            payloads=[RigidPart(mass=0.3, com=(0, 0.1, 0), inertia=0.01)],
        ),
        Link(
            name="c",
            joint=Joint(name="sprung", actuated=False, axis=(0, 0.6, 0.8), spring=Spring(stiffness=40.0)),
            rigid=Rigid(mass=0.4, com=(0.2, 0, 0.1), inertia=(0.01, 0.02, 0.02)),
        ),
        Link(
            name="d",
            joint=Joint(name="tied", parent="b.tip", actuated=False, mimic=Mimic(joint="hinge", ratio=-0.5)),
            beam=beam,
        ),
    ]
    pose = {"hinge": 0.3, "sprung": -0.2, "rail": 0.1}
    return Robot(name="passive", links=links, pose=pose)


@cache
def arm_of(name):
    robot = passive() if name == "passive" else load(name)
    return Dynamics(without_own(robot), compile="never")


ROBOTS = ["two-link-flexible", "six-dof", "lin-lewis-one-link", "passive", "four-bar", "five-bar", "closed-frame"]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_mode_has_the_ratio(name):
    """Chains, pinned shapes on a held motor, passive, sprung and tied joints, loops."""
    arm = arm_of(name)
    found = modes(arm, arm.assemble())
    bends = found.squares > 0
    assert bends.any()
    assert found.damping_ratios[bends] == pytest.approx(ASKED, rel=SAME)
    # what is said in `pliant show`, put together without any compiled function
    omega, ratios = obtained(arm.robot)
    assert omega == pytest.approx(found.frequencies[bends], rel=SAME)
    assert ratios == pytest.approx(ASKED, rel=SAME)


@pytest.mark.parametrize("name", ["two-link-flexible", "four-bar"])
def test_poles_of_the_linear_model(name):
    """s = omega (-zeta +- i sqrt(1 - zeta^2)) once the motors are held: D couples no two modes."""
    arm = arm_of(name)
    t = linearise(arm, arm.assemble()).tangent
    # held motors: motions along which B does no work
    Z = np.linalg.svd(t.B.T)[2][np.linalg.matrix_rank(t.B) :].T
    M, D, K = (Z.T @ x @ Z for x in (t.M, t.D, t.K))
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, np.hstack([K, D]))]])
    poles = np.linalg.eigvals(A)
    assert -poles.real / np.abs(poles) == pytest.approx(ASKED, rel=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_it_takes_energy_and_leaves_rigid_motions_alone(name):
    arm = arm_of(name)
    D, joints = arm.mechanism.drag, arm.mechanism.joints
    assert np.linalg.eigvalsh(D).min() > -1e-10 * np.abs(D).max()
    springs = {m.start for m in arm.mechanism.driven_members if m.joint.drive.stiffness}
    plain = [k for k in joints if k not in springs]
    assert not D[plain].any()


def test_a_tree_has_the_textbook_matrix():
    """D = M Phi diag(2 zeta omega) Phi^T M on the elastic coordinates, the joints held."""
    arm = arm_of("two-link-flexible")
    elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
    M = arm.mass_matrix(arm.reference_pose())[np.ix_(elastic, elastic)]
    K = arm.stiffness[np.ix_(elastic, elastic)]
    from scipy.linalg import eigh

    squares, Phi = eigh(K, M)
    expected = M @ Phi @ np.diag(2 * ASKED * np.sqrt(squares)) @ Phi.T @ M
    assert arm.damping[np.ix_(elastic, elastic)] == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())


# ---------------------------------------------------------------- the same in every path


def state_of(arm, seed=0):
    rng = np.random.default_rng(seed)
    q = arm.reference_pose()
    q[arm.mechanism.joints] += 0.1 * rng.standard_normal(len(arm.mechanism.joints))
    q = arm.assemble(q + 1e-3 * rng.standard_normal(arm.size) * (q == 0), bend=True)
    return arm.project(q, rng.standard_normal(arm.size))


@pytest.mark.parametrize("name", ["two-link-flexible", "four-bar", "passive"])
def test_forward_and_inverse_know_it(name):
    """Against the robot without damping, whose forces it takes: in the recursion, dense, inverse, derivatives."""
    arm = arm_of(name)
    bare = Dynamics(arm.robot.with_changes(damping=None), compile="never")
    q, v = state_of(arm)
    lost = arm.mechanism.drag @ v
    assert np.abs(lost).max() > 0
    a = arm.forward(q, v)
    assert a == pytest.approx(bare.forward(q, v, force=-lost), abs=ROUNDING * np.abs(a).max())
    assert a == pytest.approx(arm.forward(q, v, solver="dense"), abs=1e-8 * np.abs(a).max())
    assert arm.bias(q, v) == pytest.approx(bare.bias(q, v) + lost, abs=ROUNDING * np.abs(lost).max())
    by_v = arm.inverse_derivatives(q, v, a).v - bare.inverse_derivatives(q, v, a).v
    assert by_v == pytest.approx(arm.mechanism.drag, abs=ROUNDING * np.abs(arm.mechanism.drag).max())
    # conservative functions leave it out
    assert arm.coriolis(q, v) == pytest.approx(bare.coriolis(q, v), abs=ROUNDING)
    given = np.zeros(len(arm.inputs))
    every = arm.inverse(q, v, given)
    back = arm.forward(q, v, every.tau)
    driven = [arm.names.index(joint) for joint in arm.inputs]
    assert back[driven] == pytest.approx(given, abs=1e-9 * np.abs(a).max())


@pytest.mark.parametrize("method", ["dense", "lagrange", "dual_screw"])
def test_other_methods_have_it(method):
    arm = arm_of("two-link-flexible")
    other = Dynamics(arm.robot, method=method, compile="never")
    bare = Dynamics(arm.robot.with_changes(damping=None), method=method, compile="never")
    q, v = state_of(arm)
    lost = arm.mechanism.drag @ v
    a = other.forward(q, v)
    assert a == pytest.approx(bare.forward(q, v, force=-lost), abs=ROUNDING * np.abs(a).max())
    assert other.bias(q, v) - bare.bias(q, v) == pytest.approx(lost, abs=ROUNDING * np.abs(lost).max())


def test_exported_code_has_it(tmp_path):
    arm = arm_of("two-link-flexible")
    file = generate_python(arm, tmp_path / "arm.py", functions=("forward", "bias"))
    code = {}
    exec(compile(file.read_text(), str(file), "exec"), code)
    q, v = state_of(arm)
    tau = np.array([0.3, -0.2])
    a = arm.forward(q, v, tau)
    assert code["forward"](q, v, arm.B @ tau) == pytest.approx(a, abs=ROUNDING * np.abs(a).max())


@pytest.mark.parametrize("name", ["two-link-flexible", "four-bar"])
def test_a_compiled_run_loses_what_it_should(name):
    """The lowest mode, let go, decays by the logarithmic decrement, and the energy account closes."""
    arm = Dynamics(arm_of(name).robot)
    start = arm.assemble()
    lowest = modes(arm, start, count=1)
    omega, shape = lowest.frequencies[0], lowest.shapes[:, 0]
    shape = shape * 1e-5 / np.abs(shape).max()
    period = 2 * np.pi / omega
    run = simulate(
        arm, until=3 * period, drive=PrescribedMotion(trajectory=Hold()), start=(start, shape * omega), tolerance=1e-9
    )
    energy = run["energy.total"] - arm.energy(start, np.zeros(arm.size)).total
    assert energy[-1] / energy[0] == pytest.approx(np.exp(-2 * ASKED * 2 * np.pi * 3), rel=1e-3)
    assert run["dissipated"][-1] == pytest.approx(energy[0] - energy[-1], rel=1e-5)


# ---------------------------------------------------------------- what it is not


def test_links_with_their_own_damping_keep_it():
    own = load("two-link-flexible")
    robot = own.with_changes(damping=Damping(ratio=0.05))
    for link, before in zip(robot.links, own.links, strict=True):
        assert np.array_equal(build_body(link, robot).D_ee, build_body(before, own).D_ee)
    assert Dynamics(robot, compile="never").mechanism.drag is None


def test_it_is_refused_where_it_would_couple_too_much():
    beam = Beam(
        length=1.0, properties=Properties(mass_per_length=1.0, EIz=30.0, EIy=20.0), modes=Modes(bend_y=40, bend_z=40)
    )
    links = [Link(name=name, joint=Joint(name=f"{name}_joint"), beam=beam) for name in "ab"]
    with pytest.raises(ModelError, match=f"162 coordinates.*{LARGEST} are the most: give the ratio to its beams"):
        Dynamics(Robot(name="fine", links=links, damping=Damping(ratio=0.01)), compile="never")


def test_nodes_have_the_ratio_of_the_loaded_link():
    """The method of nodes takes a link's own ratio, with what the link carries, and refuses that of a whole robot."""
    payload = RigidPart(mass=2.0, inertia=0.01)
    beam = Beam(
        length=1.0, properties=Properties(mass_per_length=1.0, EIz=30.0), elements={"number": 3, "bend_z": False}
    )
    link = Link(name="arm", joint=Joint(name="hub"), beam=beam.with_changes(damping=Damping(ratio=ASKED)))
    robot = Robot(name="loaded", links=[link.with_changes(payloads=[payload])], gravity=(0, 0, 0))
    mesh = mesh_link(robot.links[0], robot)
    spread = mesh.spread()[:, 6:]
    from scipy.linalg import eigh

    M = (spread.T @ block_diagonal(mesh.bodies.mass_matrices()) @ spread).toarray()
    K, D = ((spread.T @ x @ spread).toarray() for x in (mesh.K0, mesh.D0))
    squares, V = eigh(K, M)
    assert np.diag(V.T @ D @ V) / (2 * np.sqrt(squares)) == pytest.approx(ASKED, rel=1e-6)
    whole = robot.with_changes(damping=Damping(ratio=ASKED), links=[link.with_changes(beam=beam)])
    with pytest.raises(ModelError, match="a damping ratio of the whole robot couples the nodes of all links"):
        mesh_link(whole.links[0], whole)


@pytest.mark.parametrize("name", ["cibicik-4dof", "three-prs"])
def test_its_structure_does_not_change_with_the_last_digits(name):
    """What rounding leaves of a coupling is no coupling: other numbers would be compiled again."""
    robot = without_own(load(name))
    beam = next(link for link in robot.links if link.beam is not None)
    lengths = beam.beam.length * np.array([1.01, 1.05, 1.1, 1.17])
    patterns = [damped(robot.set(f"{beam.name}.beam.length", float(length))).drag != 0 for length in lengths]
    for other in patterns[1:]:
        np.testing.assert_array_equal(other, patterns[0])


def test_other_poses_have_other_ratios_and_a_run_says_so():
    """The matrix is that of the reference pose; the modes of the robot elsewhere, damped by it, tell the same."""
    robot = without_own(load("two-link-flexible"))
    arm = Dynamics(robot)
    far = {"shoulder": 0.0, "elbow": 0.0}
    expected = modes(arm, far).damping_ratios[:3]
    assert max(expected) > 1.5 * ASKED
    assert ratios_at(robot, arm.q(far)) == pytest.approx(expected, rel=1e-6)
    words = "the damping ratio of 0.01 is that of the reference pose: .* its lowest vibrations have 0.0079 to 0.015"
    with pytest.warns(UserWarning, match=words):
        simulate(arm, drive=PrescribedMotion(trajectory=Hold()), start=far, until=0.01)
