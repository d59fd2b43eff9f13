"""The elastic motion of a study: beside the nonlinear robot as displacements get small, and an own frame code."""

from functools import cache

import h5py
import numpy as np
import pytest

from lumped_arms import MATERIAL, quintic_move, recursion, two_link_arm
from pliant import (
    Dynamics,
    LumpedModel,
    ModelError,
    Robot,
    Study,
    elastic_run,
    equilibrium,
    frequencies_along,
    load,
    load_study,
)
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.results.storage import seal_problem

ORDER = 0.25
"""How far the order of what linear equations leave out may be from two."""
FINE = {"method": "auto", "tolerance": 1e-9}
ROD = {"nodes": 2, "bend_y": True, "bend_z": True, "axial": False, "torsion": False}


def platform(stiffness):
    """The bundled platform with rods of lumped nodes: a free link that three balls hold."""
    robot = load("three-prs")
    links = []
    for link in robot.links:
        if link.beam is not None:
            beam = {
                "length": 0.5,
                "properties": {"mass_per_length": 0.06, "EIy": 3.0 * stiffness, "EIz": 3.0 * stiffness},
                "lumped": ROD,
            }
            link = link.with_changes(beam=beam)
        links.append(link)
    return robot.with_changes(links=links)


def ball_arm(stiffness):
    """A driven bar, and a bar that hangs on its tip by a ball with spring and damper."""
    beam = {
        "length": 0.4,
        "properties": {"mass_per_length": 1.0, "EIy": 60.0 * stiffness, "EIz": 40.0 * stiffness},
        "lumped": ROD,
    }
    ball = {
        "name": "ball",
        "type": "spherical",
        "placement": {"position": [0.02, 0.01, 0.0], "rotation": {"rpy": [0.2, -0.1, 0.7]}},
        "child_placement": {"position": [0.01, 0.02, -0.01]},
        "spring": {"stiffness": 60.0 * stiffness, "damping": 0.1},
    }
    links = [
        {"name": "a", "joint": {"axis": "z"}, "beam": beam},
        {"name": "b", "joint": ball, "beam": beam, "payloads": [{"mass": 0.2, "inertia": 2e-3}]},
    ]
    return Robot(name="ball", gravity=(0.0, 2.0, -9.81), links=links)


def plane_arm(stiffness):
    stiffer = {**MATERIAL, "E": 70e9 * stiffness}
    return two_link_arm(2, gravity=(0.0, -9.81, 0.0), bending="second-order", material=stiffer, axial=False)


MOVES = {
    "plane": (plane_arm, {"shoulder": 0.5, "elbow": 0.9}),
    "ball": (ball_arm, {"a": 0.3}),
    "platform": (platform, {"rail_1": 0.02, "rail_2": -0.03, "rail_3": 0.01}),
}
PUSH = {
    "plane": [{"frame": "upper.tip", "force": ["2*sin(9*t)", 0, 0]}, {"frame": "tip", "moment": [0, 0, "0.3*t"]}],
    "ball": [{"frame": "b.tip", "force": [0, "2*sin(9*t)", 0.5], "moment": [0.1, 0, 0]}],
    "platform": [{"frame": "platform.tool", "force": ["3*sin(20*t)", 0, 0], "moment": [0, 0.1, 0]}],
}


@cache
def moved(name, stiffness):
    robot, to = MOVES[name]
    drive = {"prescribed": {"trajectory": {"quintic": {"to": to, "duration": 0.25}}}}
    study = Study(
        name=name, robot=robot(stiffness), until=0.3, drive=drive, integrator=FINE, disturbances=PUSH[name],
        start={"links": "equilibrium"},
    )  # fmt: skip
    return elastic_run(study)


@pytest.mark.parametrize("name", MOVES)
def test_the_nonlinear_robot_in_the_limit_of_small_displacements(name):
    """What is left out falls with the square of the displacement; tips, efforts and reactions."""
    sizes, left = [], []
    for stiffness in (4.0, 16.0):
        run = moved(name, stiffness)
        full = run.simulated()
        frame = run.frame("tip")
        exact = np.column_stack([np.interp(run.times, full.time, x) for x in full["tip.position"].T])
        tau = np.column_stack([np.interp(run.times, full.time, x) for x in full.tau.T])
        sizes.append(np.abs(frame.displacement).max())
        left.append((np.abs(frame.reached - exact).max(), np.abs(run.efforts - tau).max()))
    sizes, left = np.array(sizes), np.array(left)
    assert left[1, 0] < 0.01 * sizes[1]
    order = np.log(left[0, 0] / left[1, 0]) / np.log(sizes[0] / sizes[1])
    assert order == pytest.approx(2.0, abs=ORDER)
    # links that are four times as stiff make efforts of squares of their displacements
    assert left[0, 1] > 3.0 * left[1, 1]
    joint = {"plane": "elbow", "ball": "ball", "platform": "hinge_2"}[name]
    wanted = full[f"{joint}.reaction"]
    wanted = np.column_stack([np.interp(run.times, full.time, x) for x in wanted.T])
    found = run.reactions().joints[joint]
    assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


def own_frame(robot, angles, elements, loads):
    """Displacements (2, elements + 1, 3) of a plane frame of two clamped bars by loads on nodes (bar, node) -> 3."""
    length, EI, EA = 0.5, 70e9 * 0.02 * 0.012**3 / 12, 70e9 * 0.02 * 0.012
    h, n = length / elements, 2 * elements + 1
    K, f = np.zeros((3 * n, 3 * n)), np.zeros(3 * n)
    axial, a, b, c, d = EA / h, 12 * EI / h**3, 6 * EI / h**2, 4 * EI / h, 2 * EI / h
    local = np.array([
        [axial, 0, 0, -axial, 0, 0], [0, a, b, 0, -a, b], [0, b, c, 0, -b, d],
        [-axial, 0, 0, axial, 0, 0], [0, -a, -b, 0, a, -b], [0, b, d, 0, -b, c],
    ])  # fmt: skip
    for bar, angle in enumerate(np.cumsum(angles)):
        turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        T = np.kron(np.eye(2), turn)
        for k in range(elements):
            at = 3 * (bar * elements + k) + np.arange(6)
            K[np.ix_(at, at)] += T.T @ local @ T
    for (bar, node), load_ in loads.items():
        f[3 * (bar * elements + node) + np.arange(3)] += load_
    u = np.zeros(3 * n)
    u[3:] = np.linalg.solve(K[3:, 3:], f[3:])
    u = u.reshape(-1, 3)
    return np.stack([u[: elements + 1], u[elements:]])


def test_wrenches_on_nodes_bend_an_arm_as_an_own_frame_code_says():
    """Steady forces and moments on nodes of both bars, joints at rest: all nodes, efforts and what the base carries."""
    robot, elements = two_link_arm(3, pose=(0.3, 0.5)), 3
    hold = {"prescribed": {"trajectory": {"hold": {}}}}
    study = Study(name="hold", robot=robot, until=0.05, drive=hold)
    loads = {(0, 2): [3.0, -2.0, 0.4], (1, 1): [-1.0, 5.0, 0.0], (1, 3): [0.0, 0.0, -0.7]}
    wrenches = {
        f"{('upper', 'fore')[bar]}.{node}": [fx, fy, 0.0, 0.0, 0.0, m] for (bar, node), (fx, fy, m) in loads.items()
    }
    run = elastic_run(study, wrenches=wrenches, stiffening=False, balanced=True)
    wanted = own_frame(robot, (0.3, 0.5), elements, loads)
    for bar, link in enumerate(("upper", "fore")):
        np.testing.assert_allclose(run.nodes(link)[-1][:, [0, 1, 5]], wanted[bar], atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(run.frame("fore.2").displacement[-1, :2], wanted[1, 2, :2], rtol=1e-7)
    base = run.reactions().joints["shoulder"][-1]
    R = run.frame("upper.root").rotation[-1]
    np.testing.assert_allclose(R @ base[:3], [-2.0, -3.0, 0.0], atol=1e-7)
    with pytest.raises(ModelError, match=r"link 'fore' has no node 7; its nodes are 0 \(the root\) to 3"):
        elastic_run(study, wrenches={"fore.7": [1, 0, 0]})
    with pytest.raises(ModelError, match=r"wrenches: 'tip' has \[1, 0\]"):
        elastic_run(study, wrenches={"tip": [1, 0]})


def test_frequencies_along_a_motion_are_those_of_the_linearised_robot():
    """Beside eigenvalues of the recursive method, linearised about the same motion with its speed and acceleration."""
    robot = two_link_arm(2, bending="second-order", axial=False)
    model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
    nominal = quintic_move(model, (0.3, 0.5), (2.0, 1.5), 0.25)
    found = frequencies_along(model, nominal, np.linspace(0.05, 0.2, 4), 3)
    for t, moving in zip(found.times, found.moving, strict=True):
        assembled = model.assemble(nominal(np.array([t])))
        on_y = recursion(model, arm, assembled)[0]
        # pieces that turn with their nodes, which the recursion leaves out
        K = on_y.K[0] + model.beside_recursion(assembled).bodies[0]
        M, C = on_y.M[0], on_y.C[0]
        poles = np.linalg.eigvals(np.block([[0 * M, np.eye(len(M))], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]]))
        np.testing.assert_allclose(moving, np.sort(poles.imag[poles.imag > 0])[:3], rtol=1e-6)
    assert np.abs(found.moving / found.rest - 1).max() > 0.03


def test_an_acceleration_alone_changes_frequencies():
    """A bar that begins to turn: the Euler force makes the stiffness unsymmetric, and both planes swing together."""
    model = LumpedModel(two_link_arm(2, axial=True))

    def nominal(t):
        still = np.zeros((len(t), 2))
        return model.nominal(JointMotion(still + [0.3, 0.5], still, still + [4e3, 0.0]))

    found = frequencies_along(model, nominal, [0.0], 2)
    M, _, K, _ = model.equations_at(model.assemble(nominal(np.zeros(1))), 0)
    squares = np.linalg.eigvals(np.linalg.solve(M, K))
    np.testing.assert_allclose(found.moving[0], np.sort(np.sqrt(squares.astype(complex)).real)[:2], rtol=1e-7)
    assert np.abs(found.moving - found.rest).max() > 1e-3 * found.rest.max()


def test_a_run_is_written_and_drawn(tmp_path):
    run = elastic_run(load_study("two-link-circle", changes={"until": 0.8}), steps=300)
    assert run.model.names[0].startswith("upper.1.")
    run.save(tmp_path / "run.h5", ("tip", "upper.2"))
    run.to_csv(tmp_path / "run.csv")
    run.plot(tmp_path / "run.svg")
    assert not seal_problem(tmp_path / "run.h5", "elastic motion")
    with h5py.File(tmp_path / "run.h5") as file:
        np.testing.assert_array_equal(file["channels/fore.1.turn"], run.nodes("fore")[:, 1, 3:])
        np.testing.assert_array_equal(file["channels/upper.2.displacement"], run.frame("upper.2").displacement)
        assert file["channels/elbow.effort"].attrs["unit"] == b"N m or N"
    head, *rows = (tmp_path / "run.csv").read_text().splitlines()
    columns = head.split(",")
    assert columns[0] == "time [s]"
    assert len(rows) == 301
    last = np.array(rows[-1].split(","), dtype=float)
    assert last[columns.index("tip.displacement.y [m]")] == run.frame("tip").displacement[-1, 1]


def test_large_turns_are_told():
    soft = {**MATERIAL, "E": 2e9}
    robot = two_link_arm(2, gravity=(0.0, -9.81, 0.0), material=soft, axial=False)
    hold = {"prescribed": {"trajectory": {"hold": {}}}}
    study = Study(name="hang", robot=robot, until=0.05, drive=hold, start={"links": "equilibrium"})
    told = "\n".join(elastic_run(study, steps=50).warnings)
    assert "link 'upper' turns by" in told
    assert "`pliant simulate` takes the nonlinear robot" in told


def test_dry_friction_that_vibrations_reverse_is_told():
    study = load_study("dualemps-circle", changes={"until": 0.4})
    told = "\n".join(elastic_run(study).warnings)
    assert "joint 'q25': its dry friction is that of the nominal rate, and vibrations turn it the other way" in told
    assert not elastic_run(load_study("five-bar-circle", changes={"until": 0.3}), steps=300).warnings


def test_what_a_controller_leads_is_compared_with_the_same_motion():
    """A controller with a trajectory: the joints of the full model move as here, not as the controller lets them."""
    run = elastic_run(load_study("two-link", changes={"until": 0.3}))
    full = run.simulated()
    np.testing.assert_allclose(full["elbow"][-1], run.motion.q[-1, run.model.joints.index("elbow")], atol=1e-9)
    exact = np.column_stack([np.interp(run.times, full.time, x) for x in full["tip.position"].T])
    assert np.abs(run.frame("tip").reached - exact).max() < 0.05 * np.abs(run.frame("tip").displacement).max()


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"drive": None}, {"nominal": "path"}, "its drive has no trajectory that the joints could follow"),
        ({"start": {"shape": {"upper.bend_y.1": 0.1}}}, {}, "start.shape: the elastic motion begins with straight"),
        ({}, {"nominal": "rigid", "wrenches": {"tip": [1, 0, 0]}}, "wrenches on nodes do not move the rigid robot"),
        ({}, {"nominal": "stiff"}, "nominal is 'stiff'"),
        ({"stops": {}}, {}, "stops push where joints pass their limits"),
        ({"disturbances": [{"joint": "upper.bend_y.1", "effort": 1.0}]}, {}, "a shape of a link"),
    ],
)
def test_what_has_no_meaning_is_refused(changes, options, words):
    hold = {"prescribed": {"trajectory": {"hold": {}}}}
    study = Study(name="hold", robot=two_link_arm(2), until=0.05, drive=hold).with_changes(**changes)
    with pytest.raises(ModelError, match=words):
        elastic_run(study, **options)


# ---- joints of several coordinates


def test_a_platform_that_balls_hold_sags_as_in_equilibrium():
    model = LumpedModel("three-prs", elements=4)
    arm = Dynamics("three-prs", compile="never")
    rest = equilibrium(arm)
    hold = {"prescribed": {"trajectory": {"hold": {}}}}
    study = Study(name="hold", robot="three-prs", until=0.05, drive=hold, start={"links": "equilibrium"})
    run = elastic_run(study, elements=4)
    assert "platform.rx" in {model.skeleton.joints[k] for k in model.skeleton.passive}
    np.testing.assert_allclose(run.efforts[-1], rest.tau, rtol=1e-6)
    sag = arm.pose("platform.tool", rest.q).position - run.frame("platform.tool").position[-1]
    np.testing.assert_allclose(run.frame("platform.tool").displacement[-1], sag, atol=1e-3 * np.abs(sag).max())


def test_a_free_link_that_loops_do_not_hold_is_refused():
    robot = load("three-prs")
    loose = robot.with_changes(loops=robot.loops[:2])
    with pytest.raises(ModelError, match="joint 'platform': it is free, and no loop determines how its link moves"):
        LumpedModel(loose).at_rest()


def test_a_turned_ball_with_a_spring_is_refused():
    robot = ball_arm(1.0).with_changes(pose={"ball.rx": 0.3})
    with pytest.raises(ModelError, match=r"it is spherical with a spring, and turned by 0\.3 rad"):
        LumpedModel(robot).assemble(LumpedModel(robot).at_rest())


def test_a_massless_motor_moves_as_one_with_a_rotor():
    """Prescribed motion: a rotor changes nothing but the effort, by its inertia times the acceleration."""
    inertia = 0.02

    def study(motor):
        links = [
            {"name": "rotor", "joint": {"name": "motor", "axis": "z", **motor}},
            {
                "name": "bar",
                "joint": {"name": "gear", "actuated": False, "spring": {"stiffness": 40.0, "damping": 0.05}},
                "beam": {"length": 0.5, "material": MATERIAL, "section": {"rectangle": {"width": 0.01, "height": 0.02}},
                         "lumped": {"nodes": 2, "bend_y": True, "bend_z": False}},
            },
        ]  # fmt: skip
        drive = {"prescribed": {"trajectory": {"quintic": {"to": {"motor": 0.4}, "duration": 0.3}}}}
        robot = Robot(name="gear", gravity=(0.0, 0.0, 0.0), links=links)
        return Study(name="gear", robot=robot, until=0.3, drive=drive, integrator=FINE)

    bare, heavy = elastic_run(study({})), elastic_run(study({"motor": {"rotor_inertia": inertia}}))
    full = bare.simulated()
    np.testing.assert_allclose(bare.frame("tip").displacement, heavy.frame("tip").displacement, atol=1e-12)
    change = heavy.efforts - bare.efforts
    np.testing.assert_allclose(change, inertia * bare.motion.a[:, :1], atol=1e-9)
    exact = np.column_stack([np.interp(bare.times, full.time, x) for x in full["tip.position"].T])
    assert np.abs(bare.frame("tip").reached - exact).max() < 0.02 * np.abs(bare.frame("tip").displacement).max()
