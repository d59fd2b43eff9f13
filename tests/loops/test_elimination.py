"""The sparse quadratic form against dense algebra, and merged trees against whole ones."""

import numpy as np
import pytest

import zoo
from pliant import Beam, Dynamics, Joint, Link, Loop, Modes, Placement, Properties, Rigid, Robot, Rotation, load
from pliant.algorithm import views
from pliant.formulations.loops.articulated_loops import constrained
from pliant.formulations.loops.closure import close, merged
from pliant.formulations.loops.cuts import Plan, move_frames, plans
from pliant.formulations.loops.elimination import NoPivotError, QuadraticForm, Relation
from pliant.formulations.recursive.recursions import INVERSE, NoInertiaError
from small_arms import linear


def form_of(M, p):
    form = QuadraticForm()
    for i in range(len(p)):
        form.push(i, float(p[i]))
        for j in range(i, len(p)):
            form.add(i, j, float(M[i, j]))
    return form


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.6)
    return A @ A.T + np.eye(6), rng.standard_normal(6), rng


def test_minimum(problem):
    M, p, rng = problem
    form = form_of(M, p)
    for x in rng.permutation(6):
        form.eliminate(int(x))
    found = form.solve(range(6))
    np.testing.assert_allclose([found[k] for k in range(6)], np.linalg.solve(M, -p), rtol=1e-12)


def test_minimum_under_relations(problem):
    """x0 and x3 follow from the others: the same as the reduced dense problem."""
    M, p, rng = problem
    a, b = rng.standard_normal(3), rng.standard_normal(2)
    form = form_of(M, p)
    form.substitute({0: Relation({1: a[0], 2: a[1]}, a[2]), 3: Relation({1: b[0]}, b[1])})
    for x in (4, 1, 5, 2):
        form.eliminate(x)
    found = form.solve(range(6))
    N = np.zeros((6, 4))
    N[[1, 2, 4, 5], range(4)] = 1
    N[0, :2], N[3, 0] = a[:2], b[0]
    d = np.array([a[2], 0, 0, b[1], 0, 0])
    y = np.linalg.solve(N.T @ M @ N, -N.T @ (p + M @ d))
    np.testing.assert_allclose([found[k] for k in range(6)], N @ y + d, rtol=1e-10)


def test_multipliers_and_unknowns_without_inertia(problem):
    """x6 has no inertia of its own; the row of a multiplier determines it."""
    M, p, rng = problem
    J = rng.standard_normal((2, 7))
    form = form_of(M, p)
    for r in range(2):
        for k in range(7):
            form.add(f"l{r}", k, float(J[r, k]))
        form.push(f"l{r}", 0.3 * (r + 1))
    with pytest.raises(NoPivotError):
        form.eliminate(6)
    form.release(6, "l0")
    for x in (*range(6), "l1"):
        form.eliminate(x)
    found = form.solve(range(7))
    K = np.zeros((9, 9))
    K[:6, :6] = M
    K[7:, :7], K[:7, 7:] = J, J.T
    expected = np.linalg.solve(K, -np.concatenate([p, [0], [0.3, 0.6]]))[:7]
    np.testing.assert_allclose([found[k] for k in range(7)], expected, rtol=1e-10)


def test_faint_pivots_move_little():
    """Of x^2/2 p + f x the smallest is at -f/p; with a faint e at -f p / (p^2 + e^2), which ends at zero with p."""
    for p in (3.0, 0.02, 1e-9):
        form = form_of(np.diag([p, 2.0]), np.array([0.5, 0.7]))
        form.eliminate(0, 0.02)
        form.eliminate(1)
        found = form.solve(range(2))
        assert [found[0], found[1]] == pytest.approx([-0.5 * p / (p * p + 4e-4), -0.35], rel=1e-12)


def on_stem(rule, rotary):
    """A bending beam fixed, askew, to a rigid stem, and another one to its root: both merge into the stem."""
    properties = Properties(
        mass_per_length=1.0, EIy=40.0, EIz=60.0, GJ=30.0, EA=5e3, rhoIy=0.004, rhoIz=0.007, rhoJ=0.011
    )
    askew = Placement(position=(0.1, 0.2, -0.1), rotation=[Rotation(x=0.4, y=-0.3)])
    modes = Modes(shape="clamped-free", bend_y=1, bend_z=1, torsion=1)
    links = [
        Link(name="stem", joint=Joint(name="j", parent="base"), rigid=Rigid(mass=1.0, com=(0.1, 0, 0), inertia=0.01)),
        Link(
            name="arm",
            joint=Joint(type="fixed", parent="stem.root", placement=askew),
            # only linear bodies can be joined
            beam=Beam(length=0.8, properties=properties, modes=modes, rotary_inertia=rotary, bending="linear"),
        ),
        Link(name="tool", joint=Joint(name="wrist"), rigid=Rigid(mass=0.3, com=(0.05, 0.02, 0), inertia=1e-3)),
        Link(
            name="fin",
            joint=Joint(type="fixed", parent="arm.root", placement=Placement(rotation=[Rotation(z=1.0)])),
            beam=Beam(
                length=0.3,
                properties=properties,
                modes=Modes(shape="clamped-free", bend_y=1),
                bending="linear",
            ),
        ),
    ]
    return Robot(name="stem", links=links, attachment_rotation=rule)


@pytest.mark.parametrize("rotary", [False, True, "exact"])
@pytest.mark.parametrize("rule", ["exponential", "cayley", "xyz"])
def test_merged_tree_has_the_same_equations(rule, rotary):
    tree = zoo.tree_of(on_stem(rule, rotary))
    short = merged(tree)
    # sections that turn exactly are links of their own on what moves
    discs = [link for link in short.tree.links if ".section" in link.name]
    assert len(short.tree.links) - len(discs) == 2
    assert bool(discs) == (rotary == "exact")
    same_forces(tree, short)


@pytest.mark.parametrize("name", ["rigid-tree", "fixed", "satellite", "branches-xyz"])
def test_merged_zoo(name):
    tree = zoo.tree_of(zoo.robot(name))
    same_forces(tree, merged(tree))


def same_forces(tree, short):
    rng = np.random.default_rng(1)
    state = {key: 0.05 * rng.standard_normal(tree.size) for key in "qva"}
    order = list(short.order)
    assert sorted(order) == list(range(tree.size))
    whole = np.array(INVERSE.evaluate(tree, {key: x.tolist() for key, x in state.items()}), dtype=float)
    parts = np.array(INVERSE.evaluate(short.tree, {key: x[order].tolist() for key, x in state.items()}), dtype=float)
    np.testing.assert_allclose(parts, whole[order], rtol=1e-11, atol=1e-12 * np.abs(whole).max())


@pytest.mark.parametrize("name", ["dualemps", "three-prs", "closed-frame"])
def test_all_plans_agree(name):
    """Multipliers, cuts, a free platform, and both orders of elimination, on plain numbers."""
    # links that shorten leave fewer ways: their loops hold more coordinates
    arm = Dynamics(linear(load(name)), compile="never")
    short = merged(arm.tree)
    tree, closures = close(short.tree, arm.mechanism, short.order)
    rng = np.random.default_rng(2)
    scale = arm.loops.constraints.column_scale
    q = (arm.assemble() + 0.01 * scale * rng.standard_normal(arm.size))[list(short.order)]
    v, f = rng.standard_normal((2, arm.size))

    def accelerations(plan):
        links = views(tree, {"q": q.tolist(), "v": v.tolist(), "f": f.tolist()})
        move_frames(links)
        return np.array(constrained(links, closures, plan).accelerations, dtype=float)

    links = views(tree, {"q": q.tolist(), "v": v.tolist()})
    move_frames(links)
    found = plans(links, closures)
    assert len(found) >= 2
    expected = accelerations(Plan())
    for plan in found:
        for late in (0, 1, 5):
            a = accelerations(Plan(plan.cuts, plan.solved, late))
            np.testing.assert_allclose(a, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_a_coordinate_without_inertia_that_no_loop_holds():
    robot = Robot(
        name="loose",
        links=[
            Link(name="a", joint=Joint(name="ja", parent="base"), rigid=Rigid(mass=1.0, com=(0.1, 0, 0), length=0.2)),
            Link(name="b", joint=Joint(name="jb", parent="base"), rigid=Rigid(mass=1.0, com=(0.1, 0, 0), length=0.2)),
            Link(name="pointer", joint=Joint(name="needle", parent="a.tip")),
        ],
        loops=[Loop(name="pin", type="spherical", frames=["a.tip", "b.tip"])],
    )
    with pytest.raises(
        NoInertiaError, match="link 'pointer': a coordinate of it moves no inertia and no loop holds it"
    ):
        Dynamics(robot, compile="never").forward(np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("kind", ["spherical", "revolute", "weld"])
@pytest.mark.parametrize("name", ["rigid-tree", "branches-cayley", "drives", "prismatic", "elements", "floating-beam"])
def test_any_closure_on_any_tree(name, kind):
    """Frames of a robot of the zoo held together where they happen to be: recursion against dense algebra."""
    robot = zoo.robot(name)
    links = robot.link_names
    axis = {"axis": (0.3, 1.0, -0.5)} if kind == "revolute" else {}
    loops = [Loop(name="a", type=kind, frames=[f"{links[-1]}.tip", f"{links[len(links) // 2 - 1]}.tip"], **axis)]
    if len(links) > 3:
        loops.append(Loop(name="b", type="spherical", frames=[f"{links[-2]}.tip", "base"]))
    arm = Dynamics(robot.model_copy(update={"loops": tuple(loops)}), compile="never", stabilise=3.0)
    rng = np.random.default_rng(0)
    q, v, f = 0.03 * rng.standard_normal(arm.size), *rng.standard_normal((2, arm.size))
    a = arm.forward(q, v, force=f)
    np.testing.assert_allclose(arm.forward(q, v, force=f, solver="dense"), a, rtol=0, atol=1e-10 * np.abs(a).max())


def test_several_joints_beyond_a_cut():
    """Two pivots about one axis, with a body between them, behind the beam whose tip closes the loop."""
    robot = load("dualemps")
    links = []
    for link in robot.links:
        if link.name == "pivot_25":
            between = Rigid(mass=0.05, com=(0.01, 0.0, 0.0), inertia=(1e-5, 1e-5, 1e-5), length=0.02)
            links.append(
                Link(name="between", joint=Joint(name="q24", parent="block_24.root", actuated=False), rigid=between)
            )
            away = Placement(position=(0.062, 0.0, 0.0))
            link = link.model_copy(
                update={"joint": link.joint.model_copy(update={"parent": "between.tip", "placement": away})}
            )
        links.append(link)
    changed = Robot(name="two-pivots", links=links, loops=robot.loops, pose=robot.pose, gravity=robot.gravity)
    arm = Dynamics(changed, compile="never")
    assert arm.loops.plan().solved
    rng = np.random.default_rng(3)
    q = arm.assemble() + 1e-3 * rng.standard_normal(arm.size)
    v, f = rng.standard_normal((2, arm.size))
    a = arm.forward(q, v, force=f)
    np.testing.assert_allclose(arm.forward(q, v, force=f, solver="dense"), a, rtol=0, atol=1e-10 * np.abs(a).max())
