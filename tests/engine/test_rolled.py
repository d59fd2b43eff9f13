"""One kernel per class of link, called in a loop: the numbers and tangents of the robot in one piece."""

import re

import numpy as np
import pytest

import zoo
from pliant import Beam, Joint, Link, Modes, Rectangle, Robot
from pliant.algorithm import result, run
from pliant.bodies.terms import BendingBody
from pliant.dynamics import Dynamics
from pliant.engine.call import evaluator
from pliant.engine.call.evaluator import Evaluator, Program, still_links
from pliant.engine.call.replay import ReplayEvaluator
from pliant.engine.compile.module import module_ir, program_ir
from pliant.engine.trace import roller as rolled_programs
from pliant.engine.trace.roller import counted, rolled, whole
from pliant.engine.trace.structure import from_slots, split_constants
from pliant.engine.trace.tape import count
from pliant.formulations.recursive.recursions import FORWARD, INVERSE, REACTION
from pliant.tree.kinematics import ENERGY, MOTION

TOLERANCE = 1e-10
"""Of the largest entry: the same operations, contracted differently."""

STEP = 1e-30
# the trees below have more coordinates than a vector register has lanes
ALGORITHMS = {each.name: each for each in (FORWARD, INVERSE, ENERGY, MOTION, REACTION)}


@pytest.fixture
def always_rolled(monkeypatch):
    monkeypatch.setattr(evaluator, "UNROLL_BELOW", 0)


def inputs_of(algorithm, arm):
    q, v, a = zoo.state(arm)
    known = {"q": q, "v": v, "a": a, "f": np.cos(np.arange(arm.size))}
    return {name: known[name] for name in algorithm.inputs}


def close(left, right, tolerance=TOLERANCE):
    assert left.shape == right.shape
    return np.abs(left - right).max() <= tolerance * max(np.abs(left).max(), np.abs(right).max())


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda each: each.name)
@pytest.mark.parametrize("name", ["mixed", "branches-cayley", "satellite", "rod-in-space"])
def test_rolled_is_whole(name, algorithm, always_rolled):
    """Compiled kernels in a loop, against the replay of a single tape and against the passes on floats."""
    arm = Dynamics(zoo.robot(name), compile="never")
    inputs = inputs_of(algorithm, arm)
    program = Program(algorithm, arm.tree)
    ours = Evaluator(program)(*inputs.values())
    rods = [link.constants.body for link in arm.tree.links if isinstance(link.constants.body, BendingBody)]
    assert len(program.load("single")[0].rows) == len(arm.tree.links) + sum(len(rod.stations) for rod in rods)
    one_piece = ReplayEvaluator(algorithm, arm.tree)(*inputs.values())
    plain = np.array(result(algorithm, run(algorithm, arm.tree, {k: x.tolist() for k, x in inputs.items()})))
    assert close(ours, one_piece)
    assert close(ours, plain)


def tangent(algorithm, tree, inputs, seed):
    """Derivatives by one input or by all constants, by complex step through the passes."""
    split = [split_constants(link.constants) for link in tree.links]
    values = [np.array(s.values, dtype=complex)[:, None] for s in split]
    if seed == "constants":
        lanes = sum(len(x) for x in values)
        start, stepped = 0, []
        for x in values:
            step = np.zeros((len(x), lanes), dtype=complex)
            step[np.arange(len(x)), start + np.arange(len(x))] = 1j * STEP
            stepped.append(x + step)
            start += len(x)
        values = stepped
        given = {name: list(x[:, None] + np.zeros((1, lanes))) for name, x in inputs.items()}
    else:
        lanes = tree.size
        given = {
            name: list(x[:, None] + (1j * STEP * np.eye(lanes) if name == seed else np.zeros((1, lanes))))
            for name, x in inputs.items()
        }
    constants = [from_slots(s.pattern, lambda k, x=x: x[k]) for s, x in zip(split, values, strict=True)]
    out = result(algorithm, run(algorithm, tree, given, constants))
    return np.array([np.broadcast_to(x, lanes) for x in out]).imag / STEP


# forward dynamics by constants are left out: they take rotations as orthonormal, single entries cannot vary
CASES = [
    *(("satellite", each, seed) for each in ALGORITHMS.values() for seed in each.inputs),
    ("satellite", INVERSE, "constants"),
    ("branches-cayley", INVERSE, "constants"),
    ("branches-cayley", INVERSE, "q"),
    ("branches-cayley", FORWARD, "v"),
    ("branches-cayley", ENERGY, "q"),
    ("rod-in-space", INVERSE, "constants"),
    ("rod-in-space", FORWARD, "q"),
    ("rod-in-space", ENERGY, "v"),
]


@pytest.mark.parametrize(("name", "algorithm", "seed"), CASES, ids=lambda x: getattr(x, "name", x))
def test_rolled_tangents(name, algorithm, seed, always_rolled):
    arm = Dynamics(zoo.robot(name), compile="never")
    inputs = inputs_of(algorithm, arm)
    wanted = tangent(algorithm, arm.tree, inputs, seed)
    evaluate = Evaluator(Program(algorithm, arm.tree, (seed,)))
    # twice: the second call finds the buffers of the first
    for _ in range(2):
        assert close(evaluate(*inputs.values()), wanted)


def bush():
    """A trunk of three links with two arms of five: most links rest while others move."""
    two_modes = zoo.beam(0.7, modes=zoo.Modes(shape="clamped-free", bend_y=1, bend_z=1))
    names = [("trunk", 3, "base"), ("left", 5, "trunk2"), ("right", 5, "trunk2")]
    links = []
    for arm, length, parent in names:
        for i in range(length):
            placement = zoo.Placement(rotation=zoo.Rotation(x=0.4))
            on = f"{arm}{i - 1}" if i else parent
            joint = zoo.Joint(name=f"{arm}_{i}", parent=on, axis="z" if i % 2 else "y", placement=placement)
            links.append(zoo.Link(name=f"{arm}{i}", joint=joint, beam=two_modes))
    return zoo.tree_of(zoo.Robot(name="bush", links=links))


@pytest.mark.parametrize("seed", ["q", "v", "a", "constants"])
def test_links_that_are_only_carried_along(seed):
    """Shorter kernels take over where a block of directions moves neither a link nor its neighbours."""
    tree = bush()
    rng = np.random.default_rng(3)
    inputs = {name: 0.3 * rng.standard_normal(tree.size) for name in INVERSE.inputs}
    program = Program(INVERSE, tree, (seed,))
    evaluate = Evaluator(program)
    wanted = tangent(INVERSE, tree, inputs, seed)
    for _ in range(2):
        assert close(evaluate(*inputs.values()), wanted)
    kernels = [kernel for each in program.traced.passes for kernel in each.kernels]
    assert len(program.traced.parents) == len(tree.links)
    assert all(count([x for _, x in k.still_results]).total <= k.operations.total for k in kernels)


def test_which_links_rest():
    """A chain of five with two directions each, blocks of four: the neighbours of what moves are not at rest."""
    moved = np.repeat(np.arange(5), 2)
    still = still_links(np.arange(-1, 4), moved, 4)
    assert still.tolist() == [[0, 0, 0, 1, 1], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]]


def chain(n):
    link = {"beam": zoo.beam(0.7, modes=zoo.Modes(shape="clamped-free", bend_y=1, bend_z=1))}
    twist = zoo.Placement(rotation=zoo.Rotation(x=0.4))
    links = [zoo.Link(name=f"l{i}", joint=zoo.Joint(name=f"j{i}", axis="z", placement=twist), **link) for i in range(n)]
    return zoo.tree_of(zoo.Robot(name="chain", links=links))


@pytest.mark.parametrize("algorithm", [FORWARD, INVERSE], ids=lambda each: each.name)
def test_the_code_does_not_grow_with_the_robot(algorithm):
    """Chains of 8 and 20 equal links have the same kernels; only the table of offsets is longer."""
    short, long = (rolled(algorithm, chain(n)) for n in (8, 20))
    assert [len(each.kernels) for each in short.passes] == [len(each.kernels) for each in long.passes]
    assert program_ir(short, 1)[0] == program_ir(long, 1)[0]
    assert len(long.parents) == 20


def alternating(n):
    """A chain whose joints turn to and fro: its links are of two classes whose kernels differ in some signs only."""
    beam = zoo.beam(0.7, modes=zoo.Modes(shape="clamped-free", bend_y=2, bend_z=2))
    turns = [zoo.Placement(rotation=zoo.Rotation(x=(-1) ** i * np.pi / 2)) for i in range(n)]
    joints = [zoo.Joint(name=f"j{i}", axis="z", placement=each) for i, each in enumerate(turns)]
    links = [zoo.Link(name=f"l{i}", joint=each, beam=beam) for i, each in enumerate(joints)]
    return zoo.Robot(name="alternating", links=links)


def test_pieces_that_kernels_have_in_common_are_one_function(monkeypatch, always_rolled):
    monkeypatch.setattr("pliant.engine.compile.tape_pieces.LONG", 60)
    monkeypatch.setattr("pliant.engine.compile.tape_pieces.PIECE", 40)
    # no loops: they would take the same operations together in another way
    monkeypatch.setattr("pliant.engine.compile.repeats.WORTHWHILE", 2.0)
    arm = Dynamics(alternating(6), compile="never")
    program = Program(FORWARD, arm.tree)
    text = module_ir(program.traced, "single", 1)[0]
    defined = re.findall(r"define internal void @(\w+_articulate_\d+_\d+)\(", text)
    called = re.findall(r"call void @(\w+_articulate_\d+_\d+)\(", text)
    assert len(defined) == len(set(called)) < 0.8 * len(called)
    inputs = inputs_of(FORWARD, arm)
    plain = np.array(result(FORWARD, run(FORWARD, arm.tree, {k: x.tolist() for k, x in inputs.items()})))
    assert close(Evaluator(program)(*inputs.values()), plain)
    assert close(Evaluator(program).batch(*([x] * 3 for x in inputs.values()))[2], plain)


def rods(stations, links=2):
    """Rods that bend both ways and twist, one on the other."""
    modes = zoo.Modes(shape="legendre", bend_y=2, bend_z=2, torsion=1)
    beam = zoo.beam(0.7, modes=modes, bending="exact", stations=stations)
    joints = [zoo.Joint(name=f"j{i}", axis="zy"[i % 2]) for i in range(links)]
    return zoo.Robot(
        name="rods", links=[zoo.Link(name=f"r{i}", joint=each, beam=beam) for i, each in enumerate(joints)]
    )


@pytest.mark.parametrize("seeds", [(), ("q",)], ids=["values", "tangents"])
def test_the_code_does_not_grow_with_the_stations(seeds):
    """A rod's stations are a loop over the first and all others; only the momenta of a station know all of them."""
    short, long = (rolled(INVERSE, zoo.tree_of(rods(n)), seeds) for n in (4, 8))
    of_stations = [each for each in short.passes if "bend" in each.name]
    assert [len(each.kernels) for each in short.passes] == [len(each.kernels) for each in long.passes]
    assert [len(each.kernels) for each in of_stations] == [3, 3]
    code = [sum(k.operations.total for each in program.passes for k in each.kernels) for program in (short, long)]
    assert code[1] <= 1.7 * code[0]
    assert long.operations.total >= 2.0 * short.operations.total


@pytest.mark.parametrize("seed", ["q", "v", "constants"])
def test_stations_rest_with_their_link(seed):
    """Blocks of directions that move one rod of three leave the stations of the others as they are."""
    tree = zoo.tree_of(rods(3, links=3))
    rng = np.random.default_rng(4)
    inputs = {name: 0.2 * rng.standard_normal(tree.size) for name in INVERSE.inputs}
    evaluate = Evaluator(Program(INVERSE, tree, (seed,)))
    wanted = tangent(INVERSE, tree, inputs, seed)
    for _ in range(2):
        assert close(evaluate(*inputs.values()), wanted)


@pytest.mark.parametrize(("algorithm", "seed"), [(FORWARD, ""), (INVERSE, "v"), (INVERSE, "q"), (FORWARD, "v")])
def test_damping_that_couples_links(algorithm, seed, always_rolled):
    """A link takes the rates of all: also of those that a block of directions moves far away from it."""
    rng = np.random.default_rng(5)
    tree = chain(8)
    D = rng.standard_normal((tree.size, tree.size))
    tree = tree.with_drag(D @ D.T)
    inputs = {name: 0.2 * rng.standard_normal(tree.size) for name in algorithm.inputs}
    program = Program(algorithm, tree, (seed,) if seed else ())
    ours = Evaluator(program)(*inputs.values())
    one_piece = ReplayEvaluator(algorithm, tree, program.seeds)(*inputs.values())
    assert close(ours, one_piece)
    assert len(program.traced.parents) == len(tree.links)


@pytest.mark.parametrize("algorithm", [FORWARD, INVERSE], ids=lambda each: each.name)
def test_kernels_know_the_structural_zeros(algorithm):
    """Zeros travel along the chain: the loop costs hardly more than the tape of the whole robot."""
    tree = zoo.tree_of(zoo.robot("clamped-free"))
    one_piece, by_link = whole(algorithm, tree).operations, rolled(algorithm, tree).operations
    assert one_piece.total <= by_link.total <= 1.05 * one_piece.total


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda each: each.name)
@pytest.mark.parametrize("seeds", [(), ("q",)])
def test_no_kernel_reads_what_it_writes(algorithm, seeds):
    """Results go to memory as soon as they are known."""
    tree = Dynamics(zoo.robot("mixed"), compile="never").tree
    for program in (rolled(algorithm, tree, seeds), whole(algorithm, tree, seeds)):
        kernels = [kernel for each in program.passes for kernel in each.kernels]
        assert kernels
        for kernel in kernels:
            written = {address for address, _ in (*kernel.results, *kernel.still_results)}
            assert not written & {*kernel.reads(), *kernel.saved.values()}


def test_small_robots_are_one_kernel():
    tree = zoo.tree_of(zoo.robot("pendulum"))
    assert len(Program(FORWARD, tree).traced.passes) == 1
    assert len(Program(FORWARD, zoo.tree_of(zoo.robot("forty"))).traced.passes) == 3


def test_robots_of_one_structure_share_their_counts(monkeypatch):
    """Operations are counted once for a structure, and as the tape of the whole robot has them."""

    def tree(length, modes):
        section = Rectangle(width=0.02, height=0.03)
        beam = Beam(length=length, material="aluminium", section=section, modes=Modes(bend_y=modes))
        return zoo.tree_of(Robot(name="arm", links=[Link(name="arm", joint=Joint(), beam=beam)]))

    one, two = (whole(FORWARD, tree(1.0, modes)).operations for modes in (1, 2))
    assert one != two
    for modes, operations in ((1, one), (2, two)):
        assert counted(FORWARD, tree(1.0, modes)) == operations
    monkeypatch.setattr(rolled_programs, "whole", lambda *_: pytest.fail("traced again"))
    assert counted(FORWARD, tree(1.3, 2)) == two
