"""Compiled evaluators at their border: values as inputs, batches, threads, NumPy, and what is refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zoo
from pliant.dynamics import Dynamics
from pliant.engine.call import replay
from pliant.engine.call.evaluator import Evaluator, Program
from pliant.engine.compile import jit
from pliant.engine.compile.module import module_ir
from pliant.formulations.recursive.recursions import FORWARD, INVERSE, NoInertiaError
from pliant.tree.kinematics import MOTION

TOLERANCE = 1e-11
"""Of the largest entry: the same operations in other registers, contracted differently."""


def close(left, right, tolerance=TOLERANCE):
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    return np.abs(left - right).max(initial=0.0) <= tolerance * max(np.abs(left).max(initial=0.0), 1e-300)


@pytest.fixture(scope="module")
def arm():
    """A small robot with everything: motors, springs, friction, pinned roots."""
    return Dynamics(zoo.robot("pinned"))


@pytest.fixture(scope="module")
def tree_arm():
    """A larger one, in rolled kernels."""
    return Dynamics(zoo.robot("branches-exponential"))


def states(arm, count):
    """Different states, (count, n) each."""
    several = [zoo.state(arm, number) for number in range(count)]
    return (np.array(x) for x in zip(*several, strict=True))


# ---------------------------------------------------------------- one state, many states


def test_long_kernels_are_cut_into_pieces(arm, tree_arm, monkeypatch, tmp_path):
    """What pieces hand on is what one function would have kept: one state, lanes of states, lanes of tangents."""
    robots = (arm, tree_arm)
    inputs = [tuple(states(robot, 9)) for robot in robots]
    expected = [
        (robot.forward(q, v), robot.inverse_derivatives(q[0], v[0], a[0])[0])
        for robot, (q, v, a) in zip(robots, inputs, strict=True)
    ]
    monkeypatch.setattr("pliant.engine.compile.tape_pieces.LONG", 60)
    monkeypatch.setattr("pliant.engine.compile.tape_pieces.PIECE", 25)
    # nothing that was compiled before
    monkeypatch.setattr("pliant.engine.call.evaluator._RECENT", {})
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    for robot, (q, v, a), (accelerations, slopes) in zip(robots, inputs, expected, strict=True):
        program = Program(FORWARD, robot.tree)
        assert "%held = alloca <4 x double>" in module_ir(program.traced, "batch", 4)[0]
        pieces = Evaluator(program)
        assert close(pieces(q[0], v[0], 0 * v[0]), accelerations[0])
        assert close(pieces.batch(q, v, 0 * v), accelerations)
        assert close(Evaluator(Program(INVERSE, robot.tree, ("q",)))(q[0], v[0], a[0]), slopes)


@pytest.mark.parametrize("count", [1, 3, 8, 9, 130])
def test_a_batch_is_its_states(arm, tree_arm, count):
    for robot in (arm, tree_arm):
        q, v, a = states(robot, count)
        tau = np.linspace(-1, 1, count * len(robot.inputs)).reshape(count, -1)
        ours = robot.forward(q, v, tau)
        assert close(ours, [robot.forward(*x) for x in zip(q, v, tau, strict=True)])
        assert close(robot.forces(q, v, a), [robot.forces(*x) for x in zip(q, v, a, strict=True)])


def test_a_batch_of_everything_else(arm):
    q, v, a = states(arm, 5)
    tau, rest = arm.inverse(q, v, a[:, : len(arm.inputs)])
    for k in range(5):
        one = arm.inverse(q[k], v[k], a[k, : len(arm.inputs)])
        assert close(tau[k], one[0])
        assert close(rest[k], one[1])
    assert close(arm.mass_matrix(q), [arm.mass_matrix(x) for x in q])
    assert close(arm.coriolis(q, v), [arm.coriolis(*x) for x in zip(q, v, strict=True)])
    assert close(arm.gravity(q), [arm.gravity(x) for x in q])
    assert close(arm.bias(q, v), [arm.bias(*x) for x in zip(q, v, strict=True)])


def test_a_batch_of_dense_solutions_has_its_efforts(arm):
    q, v, _ = states(arm, 3)
    tau = np.arange(3.0 * len(arm.inputs)).reshape(3, -1)
    assert close(arm.forward(q, v, tau, solver="dense"), arm.forward(q, v, tau), 1e-9)


def test_a_batch_of_a_robot_without_coordinates():
    """Rows without entries are moved in a block, for which there is room."""
    held = {"name": "held", "joint": {"name": "weld", "type": "fixed"}, "rigid": {"mass": 1.0}}
    arm = Dynamics(zoo.Robot(name="held", links=[held]))
    none = np.zeros((5, 0))
    assert arm.forces(none, none, none).shape == (5, 0)
    evaluator = Evaluator(Program(INVERSE, arm.tree))
    assert evaluator.batch(none, none, none).shape == (5, 0)
    (group,) = evaluator._groups
    lanes = jit.lanes()
    *inputs, _, out = (part for part, _ in group._keep[2])
    assert all(part.size >= lanes**2 for part in (*inputs, out))


def test_an_empty_batch(arm):
    nothing = np.zeros((0, arm.size))
    assert arm.forward(nothing, nothing).shape == (0, arm.size)
    assert arm.forces(nothing, nothing, nothing).shape == (0, arm.size)


MATRICES = {
    "mass_matrix": lambda arm, q, v, a: arm.mass_matrix(q),
    "coriolis": lambda arm, q, v, a: arm.coriolis(q, v),
    "by_q": lambda arm, q, v, a: arm.inverse_derivatives(q, v, a).q,
    "by_v": lambda arm, q, v, a: arm.inverse_derivatives(q, v, a).v,
    "by_a": lambda arm, q, v, a: arm.inverse_derivatives(q, v, a).a,
    "bias": lambda arm, q, v, a: arm.bias(q, v),
    "gravity": lambda arm, q, v, a: arm.gravity(q),
}


@pytest.mark.parametrize("what", MATRICES)
def test_built_in_functions_are_the_general_way(arm, tree_arm, what):
    """Plain arrays take a short cut through machine code, batches and lists do not."""
    for robot in (arm, tree_arm):
        q, v, a = zoo.state(robot)
        ours = MATRICES[what](robot, q, v, a)
        batch = MATRICES[what](robot, *(np.array([x, x]) for x in (q, v, a)))
        assert ours.flags.owndata
        assert ours.flags.c_contiguous
        assert close(ours, batch[1])
        assert close(ours, MATRICES[what](robot, q.tolist(), v.tolist(), a.tolist()))


def test_matrices_are_the_callers_own(tree_arm):
    """A second call does not write into the result of the first, and leaves its arguments alone."""
    q = zoo.state(tree_arm)[0]
    first = tree_arm.mass_matrix(q)
    kept, state = first.copy(), q.copy()
    second = tree_arm.mass_matrix(2 * q)
    assert np.array_equal(first, kept)
    assert np.array_equal(q, state)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_of_a_batch(tree_arm, threads):
    q, v, a = states(tree_arm, 8)
    q, v, a = (np.tile(x, (40, 1)) for x in (q, v, a))
    evaluator = Evaluator(Program(INVERSE, tree_arm.tree))
    assert np.array_equal(evaluator.batch(q, v, a, threads=threads), evaluator.batch(q, v, a, threads=1))


def test_callers_in_many_threads(tree_arm):
    """One Dynamics, many threads at once: every caller gets the answer to its own question."""
    q, v, a = states(tree_arm, 16)
    wanted = [(tree_arm.forces(*x), tree_arm.forward(x[0], x[1]), tree_arm.mass_matrix(x[0])) for x in zip(q, v, a)]

    def ask(k):
        i = k % 16
        return i, (
            tree_arm.forces(q[i], v[i], a[i]),
            tree_arm.forward(q[i], v[i]),
            tree_arm.mass_matrix(q[i]),
        )

    with ThreadPoolExecutor(8) as pool:
        for i, found in pool.map(ask, range(400)):
            assert all(np.array_equal(x, y) for x, y in zip(found, wanted[i], strict=True))


def test_a_first_call_from_many_threads():
    """Compilation itself is asked for by several threads at once."""
    arm = Dynamics(zoo.robot("rotary-none"))
    q, v, a = zoo.state(arm)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: arm.forces(q, v, a), range(6)))
    assert all(np.array_equal(x, found[0]) for x in found)


def test_results_are_the_callers_own(arm):
    q, v, a = states(arm, 2)
    first = arm.forces(q[0], v[0], a[0])
    kept = first.copy()
    arm.forces(q[1], v[1], a[1])
    assert np.array_equal(first, kept)
    M = arm.mass_matrix(q[0])
    kept = M.copy()
    arm.mass_matrix(q[1])
    assert np.array_equal(M, kept)


# ---------------------------------------------------------------- other forms of input, other back ends


def test_any_array_like_is_welcome(arm):
    q, v, a = zoo.state(arm)
    wanted = arm.forces(q, v, a)
    strided = np.zeros((arm.size, 3))
    strided[:, 1] = q
    assert np.array_equal(arm.forces(strided[:, 1], v, a), wanted)
    assert np.array_equal(arm.forces(q.tolist(), tuple(v), a), wanted)
    columns = np.asfortranarray([q, q, q])
    assert close(arm.forces(columns, [v] * 3, [a] * 3)[1], wanted)
    whole = np.arange(arm.size)
    assert close(arm.forces(whole, whole, whole), arm.forces(whole.astype(float), whole * 1.0, whole * 1.0))
    big_endian = q.astype(">f8")
    assert np.array_equal(arm.forces(big_endian, v, a), wanted)
    read_only = q.copy()
    read_only.flags.writeable = False
    assert np.array_equal(arm.forces(read_only, v, a), wanted)


FORMS = {
    "byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "single": lambda x: x.astype(np.float32),
    "extended": lambda x: x.astype(np.longdouble),
    "stride": lambda x: np.repeat(x, 2)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "unaligned": lambda x: np.frombuffer(b"?" + x.tobytes(), dtype=np.uint8)[1:].view(float),
    "read only": lambda x: np.frombuffer(x.tobytes()),
    "subclass": lambda x: x.view(np.ma.MaskedArray),
    "objects": lambda x: x.astype(object),
}
CALLS = {
    "forward": lambda arm, q, v, a: arm.forward(q, v, a[: len(arm.inputs)]),
    "forces": lambda arm, q, v, a: arm.forces(q, v, a),
    "energy": lambda arm, q, v, a: arm.energy(q, v),
    "pose": lambda arm, q, v, a: arm.pose(arm.frames[-1], q).position,
    "velocity": lambda arm, q, v, a: arm.velocity(arm.frames[-1], q, v).linear,
    "acceleration": lambda arm, q, v, a: arm.acceleration(arm.frames[-1], q, v, a).linear,
    "jacobian": lambda arm, q, v, a: arm.jacobian(arm.frames[-1], q),
    "inverse": lambda arm, q, v, a: arm.inverse(q, v, a[: len(arm.inputs)]).tau,
    **MATRICES,
}
BY_ACCELERATION = ("forces", "acceleration", "by_q", "by_v", "by_a")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", CALLS)
def test_what_an_array_is_made_of_does_not_matter(arm, what, form):
    """Numbers that single precision holds: read in another byte order they would be tiny, and finite."""
    given = [np.round(64 * x) / 64 + k for k, x in enumerate(zoo.state(arm))]
    wanted = CALLS[what](arm, *given)
    assert close(CALLS[what](arm, *map(FORMS[form], given)), wanted)
    for k in range(3):
        one = [FORMS[form](x) if k == i else x for i, x in enumerate(given)]
        assert close(CALLS[what](arm, *one), wanted)


@pytest.mark.parametrize("what", CALLS)
def test_every_function_names_an_input_that_is_no_number(arm, what):
    given = zoo.state(arm)
    taken = 1 if what in ("pose", "jacobian", "mass_matrix", "gravity") else 2 + (what in BY_ACCELERATION)
    for k in range(taken):
        for bad in (np.nan, np.inf):
            wrong = [x.copy() for x in given]
            wrong[k][1] = bad
            # masses and Jacobians do not depend on rates
            if what not in ("by_a", "by_v") or k == 0:
                with pytest.raises(ValueError, match=rf"{'qva'[k]} of '{arm.names[1]}' is {bad}"):
                    CALLS[what](arm, *wrong)


def test_which_state_of_a_batch_is_no_number(arm):
    q = np.tile(zoo.state(arm)[0], (3, 1))
    q[2, 0] = np.nan
    with pytest.raises(ValueError, match=rf"q of '{arm.names[0]}' is nan in state 2 of the batch"):
        arm.gravity(q)


def test_complex_numbers_are_refused(arm):
    q, v, a = zoo.state(arm)
    with pytest.raises(ValueError, match="q is complex"):
        arm.forces(q + 1j, v, a)


def test_a_call_with_too_few_arrays_is_declined(arm):
    q, v, a = zoo.state(arm)
    assert arm._inverse.quick(q, v) is None
    assert arm._inverse.quick() is None
    assert arm._inverse.quick(q, v, a, a) is None


@pytest.mark.parametrize("name", ["pinned", "rotary-exact-xyz", "satellite"])
def test_numpy_gives_what_the_compiler_gives(name):
    """``compile="never"``: the replayed tape, also for derivatives and batches."""
    compiled, replayed = Dynamics(zoo.robot(name)), Dynamics(zoo.robot(name), compile="never")
    assert "compiled" in repr(compiled)
    assert "NumPy" in repr(replayed)
    q, v, a = zoo.state(compiled)
    assert close(compiled.forces(q, v, a), replayed.forces(q, v, a))
    assert close(compiled.forward(q, v), replayed.forward(q, v), 1e-9)
    for ours, theirs in zip(compiled.inverse_derivatives(q, v, a), replayed.inverse_derivatives(q, v, a), strict=True):
        assert close(ours, theirs)
    assert close(compiled.energy(q, v), replayed.energy(q, v))
    several = [np.tile(x, (3, 1)) for x in (q, v, a)]
    assert close(compiled.forces(*several), replayed.forces(*several))


def test_robots_of_one_structure_share_what_is_replayed(monkeypatch):
    """As they share machine code: the second is not traced, and has its own numbers, gravity and variants."""
    first = zoo.robot("pinned")
    second = first.set("gravity", (0.0, 0.0, -3.7)).set("two.beam.length", 0.83)
    (q, v, a), expected = zoo.state(Dynamics(first)), Dynamics(second)
    monkeypatch.setattr(replay, "_RECENT", {})
    alone = Dynamics(first, compile="never")
    before = alone.forces(q, v, a), alone.gravity(q), alone.inverse_derivatives(q, v, a)[0]
    monkeypatch.setattr(replay, "whole", lambda *_: pytest.fail("traced anew"))
    replayed = Dynamics(second, compile="never")
    assert close(expected.forces(q, v, a), replayed.forces(q, v, a))
    assert close(expected.gravity(q), replayed.gravity(q))
    assert close(expected.inverse_derivatives(q, v, a)[0], replayed.inverse_derivatives(q, v, a)[0])
    assert not close(before[0], replayed.forces(q, v, a), 1e-3)
    # and the first keeps its own
    assert np.array_equal(alone.forces(q, v, a), before[0])
    assert np.array_equal(alone.gravity(q), before[1])
    assert np.array_equal(alone.inverse_derivatives(q, v, a)[0], before[2])


def test_few_replayed_functions_are_kept(monkeypatch):
    monkeypatch.setattr(replay, "_RECENT", {})
    monkeypatch.setattr(replay, "MOST_RECENT", 2)
    for name in ("pinned", "satellite", "rigid-7"):
        robot = Dynamics(zoo.robot(name), compile="never")
        robot.forces(*zoo.state(robot))
    assert len(replay._RECENT) == 2


def test_denormal_numbers_survive_outside(arm):
    """Inside, tiny numbers are flushed to zero; the caller's arithmetic is as before."""
    q, v, a = zoo.state(arm)
    arm.forces(q, v, a)
    arm.forward(np.tile(q, (9, 1)), np.tile(v, (9, 1)))
    tiny = np.array([1e-310])
    assert (tiny * 0.5)[0] > 0.0


def test_tiny_states_do_no_harm(arm):
    tiny = np.full(arm.size, 1e-312)
    assert close(arm.forces(tiny, tiny, tiny), arm.forces(0 * tiny, 0 * tiny, 0 * tiny))


# ---------------------------------------------------------------- values are inputs


def changed(stiffness, mass, length):
    """Robots of one structure and different numbers."""
    links = [
        zoo.Link(
            name=f"l{i}",
            joint=zoo.Joint(name=f"j{i}", axis="zy"[i]),
            beam=zoo.beam(
                length, EIy=stiffness, EIz=2 * stiffness, modes=zoo.Modes(shape="clamped-free", bend_y=2, bend_z=1)
            ),
            payloads=(zoo.RigidPart(mass=mass, frame="tip"),),
        )
        for i in range(2)
    ]
    return zoo.tree_of(zoo.Robot(name="changed", links=links))


def test_other_values_need_no_other_code():
    """Stiffness, payload and length of another robot, put into the evaluator of the first."""
    one, other = changed(40.0, 0.2, 0.9), changed(77.0, 0.35, 1.3)
    first, second = Program(FORWARD, one), Program(FORWARD, other)
    assert first._structure == second._structure
    ours, theirs = Evaluator(first), Evaluator(second)
    ours.constants[:] = second.constants
    x = [np.sin(k + np.arange(one.size)) for k in range(3)]
    assert np.array_equal(ours(*x), theirs(*x))
    assert np.array_equal(ours.batch(*(np.tile(y, (5, 1)) for y in x)), theirs.batch(*(np.tile(y, (5, 1)) for y in x)))


def test_gravity_is_an_input():
    robot = zoo.robot("branches-exponential")
    here = Evaluator(Program(INVERSE, zoo.tree_of(robot)))
    here.gravity[:] = [0.0, 0.0, -1.62]
    moon = Dynamics(robot.with_changes(gravity=(0, 0, -1.62)))
    q, v, a = zoo.state(moon)
    assert close(here(q, v, a), moon.forces(q, v, a))


def test_a_flexible_structure_is_another_structure():
    one = changed(40.0, 0.2, 0.9)
    planar = zoo.tree_of(zoo.robot("clamped-free"))
    assert Program(FORWARD, one)._structure != Program(FORWARD, planar)._structure


def test_structural_zeros_of_gravity():
    """No gravity at all is a structure; its code must not be the one with gravity."""
    robot = zoo.robot("pendulum")
    with_g, without = (zoo.tree_of(robot.with_changes(gravity=g)) for g in ((0, 0, -9.81), (0, 0, 0)))
    assert Program(INVERSE, with_g)._structure != Program(INVERSE, without)._structure


# ---------------------------------------------------------------- refused


def test_wrong_shapes(arm):
    q, v, a = zoo.state(arm)
    n, m = arm.size, len(arm.inputs)
    with pytest.raises(ValueError, match=rf"q has shape \({n - 1},\); robot 'pinned' needs \({n},\) or a batch"):
        arm.forward(q[:-1], v)
    with pytest.raises(ValueError, match=r"v has shape"):
        arm.forces(q, v[:-1], a)
    with pytest.raises(ValueError, match="they must be the same"):
        arm.forward(q, np.tile(v, (2, 1)))
    with pytest.raises(ValueError, match=rf"tau has shape \({m + 1},\)"):
        arm.forward(q, v, np.zeros(m + 1))
    with pytest.raises(ValueError, match="force has shape"):
        arm.forward(q, v, force=np.zeros(n + 1))
    with pytest.raises(ValueError, match="a has shape"):
        arm.forces(q, v, a[:-1])
    with pytest.raises(ValueError, match="has shape"):
        arm.forward(np.zeros((2, 2, n)), np.zeros((2, 2, n)))
    with pytest.raises(ValueError, match=r"wrench on one\.tip has shape"):
        arm.forward(q, v, wrenches={"one.tip": np.zeros(3)})


def test_accelerations_must_belong_to_the_states(arm):
    """A batch of states with one acceleration, or with too few, would read beyond the array."""
    q, v, a = states(arm, 4)
    for wrong in (a[0], a[:3]):
        with pytest.raises(ValueError, match=r"a has shape|they must be the same"):
            arm.forces(q, v, wrong)
    with pytest.raises(ValueError, match=r"a has shape|they must be the same"):
        arm.forces(q[0], v[0], a)


def test_the_evaluator_checks_its_batches(arm):
    evaluator = Evaluator(Program(INVERSE, arm.tree))
    q, v, a = states(arm, 4)
    for wrong in (a[0], a[:3], a[:, :-1]):
        with pytest.raises(ValueError):
            evaluator.batch(q, v, wrong)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none(arm, bad):
    q, v, _ = zoo.state(arm)
    wrong = q.copy()
    wrong[2] = bad
    with pytest.raises(ValueError, match=rf"q of '{arm.names[2]}' is {bad}"):
        arm.forward(wrong, v)
    with pytest.raises(ValueError, match=rf"v of '{arm.names[2]}' is {bad}"):
        arm.forward(q, wrong)
    with pytest.raises(ValueError, match=rf"q of '{arm.names[2]}' is {bad}"):
        arm.forward(np.array([q, wrong, q]), np.array([v, v, v]))
    force = np.zeros(arm.size)
    force[0] = bad
    with pytest.raises(ValueError, match=rf"force of '{arm.names[0]}' is {bad}"):
        arm.forward(q, v, force=force)


@pytest.mark.parametrize("form", [np.array, list])
def test_a_number_that_is_none_in_one_of_several_arms(form):
    """Arms that share only the base: the bad one is neither the first nor the last."""
    rng = zoo.seed(3)
    links = [
        zoo.Link(name=f"l{i}", joint=zoo.general_joint(rng, f"j{i}", parent="base"), rigid=zoo.rigid(rng))
        for i in range(3)
    ]
    arm = Dynamics(zoo.Robot(name="three", links=links))
    with pytest.raises(ValueError, match="q of 'j1' is nan"):
        arm.forward(form([0.0, np.nan, 0.0]), form([0.0, 0.0, 0.0]))


def test_unknown_frames_and_options(arm):
    q, v, _ = zoo.state(arm)
    with pytest.raises(KeyError, match=r"did you mean 'one\.tip'"):
        arm.pose("one.tipp", q)
    with pytest.raises(ValueError, match="solver is 'sparse'"):
        arm.forward(q, v, solver="sparse")
    with pytest.raises(ValueError, match="compile is 'always'"):
        Dynamics(zoo.robot("pinned"), compile="always")
    two = np.zeros((2, arm.size))
    with pytest.raises(ValueError, match="one state at a time"):
        arm.derivatives(two, two)


def test_kinematics_and_inverse_of_many_states(arm, tree_arm):
    """A batch is each of its states."""
    wrench = np.array([1.0, -2.0, 3.0, 0.3, 0.2, -0.1])
    for robot in (arm, tree_arm):
        q, v, a = states(robot, 4)
        frame, m = robot.frames[-1], len(robot.inputs)
        many = (
            robot.jacobian(frame, q),
            *robot.velocity(frame, q, v),
            *robot.acceleration(frame, q, v, a),
            *robot.inverse(q, v, a[:, :m]),
            robot.forward(q, v, wrenches={frame: np.tile(wrench, (4, 1))}),
        )
        for k, (q_k, v_k, a_k) in enumerate(zip(q, v, a, strict=True)):
            one = (
                robot.jacobian(frame, q_k),
                *robot.velocity(frame, q_k, v_k),
                *robot.acceleration(frame, q_k, v_k, a_k),
                *robot.inverse(q_k, v_k, a_k[:m]),
                robot.forward(q_k, v_k, wrenches={frame: wrench}),
            )
            for whole, part in zip(many, one, strict=True):
                assert close(whole[k], part)


def test_accelerations_are_the_rates_of_velocities(arm):
    """Of every frame, against a difference of sixth order along the motion."""
    q, v, a = zoo.state(arm)
    stencil = {-3: -1 / 60, -2: 3 / 20, -1: -3 / 4, 1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    h = 1e-2 / np.abs(v).max()
    for frame in arm.frames:
        rate = 0.0
        for k, weight in stencil.items():
            t = k * h
            # positions and rates of a motion with constant accelerations
            rate = rate + weight / h * np.hstack(arm.velocity(frame, q + t * v + t * t / 2 * a, v + t * a))
        found = np.hstack(arm.acceleration(frame, q, v, a))
        assert np.abs(found - rate).max() <= 1e-8 * np.abs(found).max()


def test_poses_and_energies_of_many_states(arm, tree_arm):
    for robot in (arm, tree_arm):
        q, v, _ = states(robot, 5)
        for frame in robot.frames:
            many = robot.pose(frame, q)
            one = [robot.pose(frame, x) for x in q]
            assert close(many.position, [pose.position for pose in one])
            assert close(many.rotation, [pose.rotation for pose in one])
        energies, momenta = robot.energy(q, v), robot.momentum(q, v)
        pairs = list(zip(q, v, strict=True))
        assert close(np.array(energies).T, [robot.energy(*pair) for pair in pairs])
        assert close(energies.total, [robot.energy(*pair).total for pair in pairs])
        assert close(momenta.angular, [robot.momentum(*pair).angular for pair in pairs])


def test_a_joint_that_moves_nothing():
    """Inverse dynamics exist, forward dynamics do not; the error names the link and the remedy."""
    rng = zoo.seed(5)
    links = [
        zoo.Link(name="arm", joint=zoo.Joint(name="a"), rigid=zoo.rigid(rng)),
        zoo.Link(name="ghost", joint=zoo.Joint(name="b")),
    ]
    arm = Dynamics(zoo.Robot(name="ghosts", links=links))
    q = np.zeros(2)
    assert arm.forces(q, q, q).shape == (2,)
    with pytest.raises(NoInertiaError, match=r"link 'ghost'.*moves no inertia.*payload or its motor"):
        arm.forward(q, q)
    # a motor gives it some
    motor = zoo.Joint(name="b", motor=zoo.Motor(rotor_inertia=1e-3))
    alive = Dynamics(zoo.Robot(name="alive", links=[links[0], zoo.Link(name="ghost", joint=motor)]))
    assert np.isfinite(alive.forward(q, q)).all()


def test_a_configuration_without_inertia():
    """A point mass that slides through the axis: singular there, and only there."""
    links = [
        zoo.Link(name="turn", joint=zoo.Joint(name="a", axis="z")),
        zoo.Link(name="slide", joint=zoo.Joint(name="b", type="prismatic", axis="x"), rigid=zoo.Rigid(mass=1.0)),
    ]
    arm = Dynamics(zoo.Robot(name="centre", links=links))
    assert np.isfinite(arm.forward([0.0, 0.5], [0.0, 0.0])).all()
    with pytest.raises(FloatingPointError, match=r"'centre' are not finite: a moves without any inertia"):
        arm.forward(np.zeros(2), np.zeros(2))


def test_a_robot_without_coordinates():
    link = zoo.Link(name="r", joint=zoo.Joint(type="fixed"), rigid=zoo.rigid(zoo.seed(6)))
    arm = Dynamics(zoo.Robot(name="rock", links=[link]))
    nothing = np.zeros(0)
    assert arm.forward(nothing, nothing).shape == (0,)
    assert arm.mass_matrix(nothing).shape == (0, 0)
    assert arm.energy(nothing, nothing).kinetic == 0.0
    assert arm.pose("r.root", nothing).position == pytest.approx(np.zeros(3))


def test_motion_of_every_link(tree_arm):
    """The motion program gives pose and velocity of all links at once (18 numbers each)."""
    q, v, _ = zoo.state(tree_arm)
    found = Evaluator(Program(MOTION, tree_arm.tree))(q, v)
    assert found.shape == (18 * len(tree_arm.tree.links),)
