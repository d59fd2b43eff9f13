"""Links by their own coordinates among links of nodes: finite elements, modal data, exact and curved rods."""

from pathlib import Path

import numpy as np
import pytest

from lumped_arms import recursion, two_link_arm
from pliant import (
    Dynamics,
    LumpedModel,
    ModelError,
    Robot,
    Study,
    elastic_run,
    frequencies_over_speed,
    inverse_dynamics,
    load,
)
from pliant.analysis.lumped.displacements import AppliedLoads
from pliant.analysis.lumped.elastic_motion import ElasticState, reactions
from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.analysis.lumped.nominal_motion import JointMotion

LATTICE = Path(__file__).parents[2] / "examples" / "05_lattice_arm.yaml"
TOLERANCE = 1e-9
"""Of the largest entry that the motion causes; what is left is rounding of the elastic stiffness."""
DIFFERENCES = 1e-5
"""Of efforts of large random displacements, where the recursion's load is differentiated by differences."""
SECTION = {"mass_per_length": 1.0, "EIy": 3.0, "EIz": 2.0, "GJ": 1.0, "EA": 50.0, "rhoIy": 4e-4, "rhoIz": 6e-4,
           "rhoJ": 1e-3}  # fmt: skip
TUBE = {"mass_per_length": 1.0, "EIy": 300.0, "EIz": 300.0, "GJ": 200.0, "EA": 1e6, "rhoJ": 1e-3}
NODES = {"length": 0.4, "properties": SECTION, "lumped": {"nodes": 2, "bend_y": True, "bend_z": True}}
ROD = {"length": 0.4, "properties": SECTION, "bending": "exact",
       "modes": {"bend_y": 2, "bend_z": 2, "torsion": 1, "axial": 1}}  # fmt: skip
CURVED = {**ROD, "curvature": {"bend_y": [1.5], "bend_z": [0.4]}}
PAYLOAD = {"mass": 0.3, "com": [0.02, 0.03, 0.01], "inertia": [1e-3, 2e-3, 2.5e-3]}
SIDE = {"axis": "y", "placement": {"position": [0.05, 0.02, -0.03], "rotation": {"rpy": [0.3, -0.2, 0.4]}}}
LOOSE = {"actuated": False, "spring": {"stiffness": 3.0}, "child_placement": {"position": [0.1, 0.05, 0.02]}}


def girder_arm():
    """The lattice girder by finite elements, and a tube of nodes on it."""
    robot = load(LATTICE)
    girder, tube = robot.links
    tube = tube.with_changes(
        beam={"length": 0.7, "properties": TUBE, "lumped": NODES["lumped"]},
        hub={"mass": 0.2, "inertia": 1e-3},
    )
    return robot.with_changes(links=[girder, tube], gravity=(1.0, 2.0, -9.81))


def chain(*beams, joint=SIDE):
    joints = ({"axis": "z"}, joint, {"axis": "x"})
    links = [{"name": n, "joint": j, "beam": b} for n, j, b in zip("abc", joints, beams, strict=False)]
    links[0]["hub"] = {"mass": 0.1, "com": [0.0, 0.01, 0.0], "inertia": 1e-3}
    links[0]["frames"] = [{"name": "side", "x": 0.25, "position": [0.01, 0.04, 0.02]}]
    links[-1]["payloads"] = [PAYLOAD]
    return Robot(name="chain", gravity=(1.0, 2.0, -9.81), links=links)


ROBOTS = {
    "finite elements": girder_arm,
    "curved rods": lambda: chain(CURVED, CURVED),
    "a straight rod, then nodes": lambda: chain(ROD, NODES),
    "nodes, then a curved rod": lambda: chain(NODES, CURVED, NODES),
    "a flexible joint on the side": lambda: chain(CURVED, CURVED, joint={**SIDE, **LOOSE, "parent": "a.side"}),
}


def some_motion(model, seed=0):
    rng = np.random.default_rng(seed)
    q, v, a = (rng.normal(size=(1, len(model.joints))) for _ in range(3))
    return JointMotion(q, 3 * v, 5 * a)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_equations_are_those_of_the_recursion(name):
    """Linearised about the same motion under a load; efforts of displacements that obey the equations, too."""
    robot = ROBOTS[name]()
    model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
    frame, wrench = ("a.tip", "girder.middle")[name == "finite elements"], np.array([3.0, -2.0, 4.0, 0.3, 0.5, -0.2])
    loads = AppliedLoads(((model.skeleton.frame(frame), wrench[None]),))
    assembled = model.assemble(some_motion(model), loads)
    wanted, given, D = recursion(model, arm, assembled, {frame: wrench})
    found, bodies = model.equations_at(assembled, 0), model.beside_recursion(assembled).bodies[0]
    still = JointMotion(assembled.motion.q, 0 * assembled.motion.v, 0 * assembled.motion.a)
    moves = found.K - model.equations_at(model.assemble(still), 0).K
    scale = np.abs(moves).max()
    for x, y in zip((found.M, found.C, found.f), (wanted.M, wanted.C, wanted.f), strict=True):
        assert np.abs(x - y[0]).max() < TOLERANCE * max(np.abs(y).max(), scale)
    # of the recursion's load by differences of fourth order
    assert np.abs(found.K - wanted.K[0] - bodies).max() < 1e-7 * scale + 1e-14 * np.abs(found.K).max()
    y, rate = np.random.default_rng(5).normal(size=(2, model.size))
    second = -np.linalg.solve(found.M, found.C @ rate + found.K @ y + found.f)
    q, v = D[0][0] @ y, D[0][0] @ rate + D[1][0] @ y
    a = D[0][0] @ second + 2 * D[1][0] @ rate + D[2][0] @ y
    rows = [arm.names.index(name) for name in model.inputs]
    efforts = (given.f[0] + given.M[0] @ a + given.C[0] @ v + given.K[0] @ q)[rows]
    got = reactions(model, assembled, ElasticState(y[None], rate[None], second[None])).efforts[0]
    np.testing.assert_allclose(got, efforts, atol=DIFFERENCES * np.abs(efforts).max())


def arc(modes=5):
    """A clamped arc of a quarter of a circle, which bends and stretches in its plane."""
    beam = {
        "length": 0.5, "curvature": {"bend_y": [np.pi]}, "bending": "exact",
        "properties": {"mass_per_length": 0.8, "EIy": 40.0, "EIz": 40.0, "GJ": 30.0, "EA": 4e4, "rhoJ": 1e-4},
        "modes": {"bend_y": modes, "bend_z": 0, "torsion": 0, "axial": modes, "shape": "legendre"},
    }  # fmt: skip
    return Robot(name="arc", gravity=(0.0, 0.0, 0.0), links=[{"name": "arc", "joint": {"axis": "z"}, "beam": beam}])


def own_arc(count, force):
    """Tip displacement (3,) under a force and frequencies of the arc by an own code of straight frame elements."""
    radius, EI, EA, mu = 1 / np.pi, 40.0, 4e4, 0.8
    angle = np.linspace(0.0, np.pi / 2, count + 1)
    x, y = radius * np.sin(angle), radius * (1 - np.cos(angle))
    K, M = np.zeros((2, 3 * count + 3, 3 * count + 3))
    for k in range(count):
        h = np.hypot(x[k + 1] - x[k], y[k + 1] - y[k])
        c, s = (x[k + 1] - x[k]) / h, (y[k + 1] - y[k]) / h
        T = np.kron(np.eye(2), np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]))
        axial, a, b, d, e = EA / h, 12 * EI / h**3, 6 * EI / h**2, 4 * EI / h, 2 * EI / h
        local = np.array([
            [axial, 0, 0, -axial, 0, 0], [0, a, b, 0, -a, b], [0, b, d, 0, -b, e],
            [-axial, 0, 0, axial, 0, 0], [0, -a, -b, 0, a, -b], [0, b, e, 0, -b, d],
        ])  # fmt: skip
        mass = mu * h / 420 * np.array([
            [140, 0, 0, 70, 0, 0], [0, 156, 22 * h, 0, 54, -13 * h], [0, 22 * h, 4 * h * h, 0, 13 * h, -3 * h * h],
            [70, 0, 0, 140, 0, 0], [0, 54, 13 * h, 0, 156, -22 * h], [0, -13 * h, -3 * h * h, 0, -22 * h, 4 * h * h],
        ])  # fmt: skip
        at = 3 * k + np.arange(6)
        K[np.ix_(at, at)] += T.T @ local @ T
        M[np.ix_(at, at)] += T.T @ mass @ T
    K, M = K[3:, 3:], M[3:, 3:]
    f = np.zeros(len(K))
    f[-3:] = force
    squares = np.linalg.eigvals(np.linalg.solve(M, K)).real
    return np.linalg.solve(K, f)[-3:], np.sqrt(np.sort(squares))


def test_a_curved_link_bends_and_swings_as_an_own_frame_code_says():
    # so small that it does not stiffen
    force = np.array([3e-3, -5e-3, 2e-4])
    tip, frequencies = own_arc(120, force)
    hold = {"prescribed": {"trajectory": {"hold": {}}}}
    study = Study(name="hold", robot=arc(), until=0.02, drive=hold)
    run = elastic_run(study, wrenches={"tip": [*force[:2], 0, 0, 0, force[2]]}, balanced=True)
    moved = np.append(run.frame("tip").displacement[-1, :2], run.frame("tip").turn[-1, 2])
    # straight elements of the own code are chords, their error falls with the square of their length
    np.testing.assert_allclose(moved, tip, rtol=3e-4)
    model = LumpedModel(arc())
    np.testing.assert_allclose(natural_frequencies(model, model.at_rest(), 3), frequencies[:3], rtol=2e-3)
    np.testing.assert_allclose(run.nodes("arc")[-1, 1, :2], moved[:2], rtol=1e-12)


def test_a_link_of_finite_elements_moves_as_the_nonlinear_robot():
    """In the limit of small displacements: what is left falls with their square."""
    sizes, left = [], []
    for stiffness in (1.0, 4.0):
        robot = girder_arm()
        girder, tube = robot.links
        K = (stiffness * np.array(girder.modal.array("K_ee"))).tolist()
        girder = girder.with_changes(modal={**girder.modal.given(), "K_ee": K})
        beam = {**tube.beam.given(), "properties": {**TUBE, "EIy": 300.0 * stiffness, "EIz": 300.0 * stiffness}}
        robot = robot.with_changes(links=[girder, tube.with_changes(beam=beam)])
        drive = {"prescribed": {"trajectory": {"quintic": {"to": {"shoulder": 0.4, "elbow": -0.4}, "duration": 0.4}}}}
        study = Study(
            name="swing", robot=robot, until=0.5, drive=drive, start={"links": "equilibrium"},
            integrator={"method": "auto", "tolerance": 1e-9},
        )  # fmt: skip
        run = elastic_run(study)
        full = run.simulated()
        exact = np.column_stack([np.interp(run.times, full.time, x) for x in full["tip.position"].T])
        at = run.frame("tip")
        sizes.append(np.abs(at.displacement).max())
        left.append(np.abs(at.reached - exact).max())
    assert left[1] < 0.01 * sizes[1]
    assert np.log(left[0] / left[1]) / np.log(sizes[0] / sizes[1]) == pytest.approx(2.0, abs=0.3)


def test_a_path_of_finite_elements_is_kept():
    """By successive approximation, confirmed on the nonlinear model."""
    robot = load(LATTICE).with_changes(gravity=(0.0, 0.0, 0.0))
    drive = {"prescribed": {"trajectory": {"quintic": {"to": {"shoulder": 0.3, "elbow": -0.3}, "duration": 0.8}}}}
    study = Study(name="path", robot=robot, until=0.9, drive=drive)
    found = inverse_dynamics(study, method="successive", tolerance=5e-6, elements=2)
    assert found.solution.iterations[0].largest > 5e-5
    assert found.confirmed(5e-6).distance < 5e-6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"variant": "printed"}, "its equations are complete, and there are no others"),
        ({"stiffening": False}, "what internal forces do to it is part of its equations"),
        ({"elements": {"girder": 3}}, "it has no elements whose number could be given"),
    ],
)
def test_what_own_coordinates_cannot_be_is_refused(options, words):
    with pytest.raises(ModelError, match=f"link 'girder': .*{words}"):
        LumpedModel(load(LATTICE), **options)


def test_what_needs_nodes_is_refused():
    with pytest.raises(ModelError, match="whose dynamic stiffness stands not alone"):
        frequencies_over_speed(load(LATTICE), "shoulder", [1.0])
    hold = {"prescribed": {"trajectory": {"hold": {}}}}
    with pytest.raises(ModelError, match="leave second_order out"):
        elastic_run(Study(name="hold", robot=load(LATTICE), until=0.05, drive=hold), second_order=True)
    damped = chain(ROD, NODES).with_changes(damping={"ratio": 0.01})
    with pytest.raises(ModelError, match="a damping ratio of the whole robot couples"):
        LumpedModel(damped)
    assert LumpedModel(two_link_arm(2)).names[0] == "upper.1.dx"
