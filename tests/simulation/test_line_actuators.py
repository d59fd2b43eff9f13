"""Forces on frames as laws: what acts along lines, against Jacobians and equations by hand."""

import numpy as np
import pytest

from boom_robots import rigid_boom
from pliant import Dynamics, Robot, Study, load
from pliant.errors import ModelError
from pliant.loads.lines import robot_forces
from pliant.simulation.run import Run
from pliant.tree.points import FramePoints, PointWrench

# of forces of about a thousand newtons: sums of some hundred products
ROUNDING = 1e-10


@pytest.mark.parametrize("name", ["two-link-flexible", "seven-joint-arm", "canadarm"])
def test_forces_on_places_are_transposed_jacobians(name):
    arm, rng = Dynamics(name), np.random.default_rng(3)
    q, v = arm.reference_pose() + 0.02 * rng.normal(size=arm.size), rng.normal(size=arm.size)
    frames = [arm.frames[k] for k in (0, 2, len(arm.frames) - 1, 2)]
    points = FramePoints(arm.mechanism, [*frames, (0.3, -0.2, 0.1)])
    at = points.at(q.tolist(), v.tolist())
    wrenches = rng.normal(size=(5, 6)) * 100
    found = at.forces([PointWrench(w[:3].tolist(), w[3:].tolist()) for w in wrenches])
    wanted = sum(arm.jacobian(frame, q).T @ w for frame, w in zip(frames, wrenches[:4], strict=True))
    assert np.array(found, dtype=float) == pytest.approx(wanted, abs=ROUNDING * np.abs(wanted).max())
    for frame, motion in zip(frames, at.motions[:4], strict=True):
        assert np.array(motion.p, dtype=float) == pytest.approx(arm.pose(frame, q).position, abs=1e-12)
        assert np.array(motion.v, dtype=float) == pytest.approx(arm.velocity(frame, q, v).linear, abs=1e-12)
    assert at.motions[4].p == [0.3, -0.2, 0.1]


def sprung(stiffness=8e4, damping=300.0, **more):
    """The boom on a spring in the place of its cylinder, beside a joint that has none."""
    robot = rigid_boom()
    del robot["actuators"][0]["cylinder"]
    robot["actuators"][0]["spring"] = {"stiffness": stiffness, "length": 1.9, "damping": damping}
    robot["actuators"][0].update(more)
    return robot


def test_a_spring_along_a_line_swings_as_its_equation_does():
    """Against an integration of one equation in the angle, written by hand."""
    from scipy.integrate import solve_ivp

    run = Run(Study(robot=sprung(), until=2.0, integrator={"tolerance": 1e-10}, outputs={"step": 0.1}))
    run.go()
    found = run.result()
    eye, base = np.array([1.6, -0.15]), np.array([0.6, -1.0])
    J, weight = 400 * 36 / 3 + 500 * 36, (400 * 3 + 500 * 6) * 9.81

    def rates(t, y):
        c, s = np.cos(y[0]), np.sin(y[0])
        d = np.array([c * eye[0] - s * eye[1], s * eye[0] + c * eye[1]]) - base
        turned = np.array([-s * eye[0] - c * eye[1], c * eye[0] - s * eye[1]])
        length = np.hypot(*d)
        lever = d @ turned / length
        push = 8e4 * (1.9 - length) - 300 * lever * y[1]
        return [y[1], (push * lever - weight * c) / J]

    wanted = solve_ivp(rates, (0, 2), [0.2, 0.0], rtol=1e-12, atol=1e-12, t_eval=found.time, method="DOP853").y
    assert found["luff"] == pytest.approx(wanted[0], abs=1e-8)
    assert found["luff.rate"] == pytest.approx(wanted[1], abs=1e-7)
    moved = np.ptp(found["energy.gravity"])
    assert np.abs(found["energy.balance"]).max() < 1e-9 * moved


def test_pushes_reach_the_pins():
    """The pin of the boom carries what the spring and the weight do not balance."""
    run = Run(Study(robot=sprung(), until=0.4, outputs={"step": 0.1}))
    run.go()
    found = run.result()
    arm, k = found.arm, 2
    eye = arm.pose("boom.eye", found.q[k])
    d = eye.position - np.array([0.6, 0.0, -1.0])
    length = np.linalg.norm(d)
    rate = arm.velocity("boom.eye", found.q[k], found.v[k]).linear @ d / length
    push = (8e4 * (1.9 - length) - 300 * rate) * d / length
    com = (400 * 3 + 500 * 6) / 900
    R = eye.rotation
    a, w = found["luff.acceleration"][k], found["luff.rate"][k]
    acceleration = R @ np.array([-com * w * w, 0.0, com * a])
    wanted = 900 * (acceleration + np.array([0, 0, 9.81])) - push
    assert R @ found["luff.reaction"][k][:3] == pytest.approx(wanted, rel=1e-9, abs=1e-6)


def test_lumps_of_an_actuator_are_payloads_at_its_ends(tmp_path):
    robot = sprung(masses=[0.0, 30.0])
    read = Robot.model_validate(robot)
    assert read.mass == pytest.approx(930.0)
    assert [(part.mass, part.frame) for part in read.link("boom").payloads] == [(500.0, None), (30.0, "eye")]
    read.save(tmp_path / "boom.yaml")
    assert load(tmp_path / "boom.yaml") == read
    robot["actuators"][0]["masses"] = [5.0, 30.0]
    with pytest.raises(Exception, match="a mass on the base moves nothing"):
        Robot.model_validate(robot)


def test_ends_beside_frames_become_frames():
    robot = sprung()
    robot["actuators"][0]["frames"][1] = {"frame": "boom.eye", "position": [0.1, 0.0, 0.02]}
    read = Robot.model_validate(robot)
    assert read.actuators[0].frames[1] == "boom.lift_second"
    assert read.link("boom").frame("lift_second").position == pytest.approx((1.7, 0.0, -0.13))


@pytest.mark.parametrize("what", ["forward", "inverse", "derivatives"])
def test_what_does_not_know_lines_refuses_them(what):
    arm = Dynamics(Robot.model_validate(sprung()))
    q = arm.reference_pose()
    given = (q, 0 * q) if what != "inverse" else (q, 0 * q, np.zeros(0))
    with pytest.raises(ModelError, match="has actuators along lines"):
        getattr(arm, what)(*given)


def test_a_force_that_is_given_may_be_that_of_the_lines():
    arm = Dynamics(Robot.model_validate(sprung()))
    q, v = arm.reference_pose(), np.array([0.3])
    force = np.array(robot_forces(arm).at(0.0, q, v, np.zeros(0)).efforts, dtype=float)
    run = Run(Study(robot=arm.robot, until=0.1, start={"v": [0.3]}))
    assert run.equations.rates(0.0, run.equations.start(q, v))[1] == pytest.approx(arm.forward(q, v, force=force)[0])
