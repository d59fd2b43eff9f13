"""A kind of body is one module and one registration: every room takes a bar that twists, which none of them names."""

import inspect

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant import Dynamics, Link, ModelError, Robot
from pliant.analysis.limits import state_limits
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.statics import coordinate_sizes
from pliant.bodies.carried import frame_pose
from pliant.bodies.words import words_of
from pliant.cli.app import app
from pliant.model.description.robot import rigid_twin
from pliant.pictures.animation import make_film
from pliant.pictures.drawing import robot_figure
from pliant.pictures.robot_solids import RobotSolids
from pliant.results.result import Result
from twist_bar import ROBOT, TwistBar, known_twist_bars

ROUNDING = 1e-11
"""Of numbers that the same equations give in another order."""
ENERGY = 1e-6
"""Of the energy of a run, whose tolerance is tighter."""


@pytest.fixture(scope="module", autouse=True)
def known():
    with known_twist_bars():
        yield


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bars") / "wringer.yaml"
    path.write_text(ROBOT)
    return path


@pytest.fixture(scope="module")
def arm(file):
    return Dynamics(pliant.load(str(file)))


def test_help_knows_its_key():
    """A link lists its keys and shows them as its arguments, with the new one as before it."""
    shown = str(inspect.signature(Link))
    assert shown.startswith("(*, name, joint, rigid=None")
    assert "twist_bar=None" in shown
    assert "twist_bar" in Link.__doc__


def test_files_know_its_key(file, tmp_path):
    robot = pliant.load(str(file))
    assert robot.link("swing").twist_bar == TwistBar(length=0.8, mass=3.0, radius=0.05, GJ=40.0)
    again = tmp_path / "again.yaml"
    robot.save(again)
    assert pliant.load(str(again)) == robot
    changed = robot.set("swing.twist_bar.GJ", "80 N m^2")
    assert changed.link("swing").twist_bar.GJ == 80.0
    assert "twist_bar" in Robot.model_json_schema()["$defs"]["Link"]["properties"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "mass: 3 kg",
            "mass: -3 kg",
            r"bad.yaml, line 6: links\[0\] 'swing': twist_bar.mass is -3 kg; it must be positive",
        ),
        ("x: 0.4", "x: 1.4", "between 0 and the length 0.8 m"),
        ("    frames", "    rigid: {mass: 1}\n    frames", "at most one of rigid, beam, modal, fe, cad and twist_bar"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, old, new, words):
    path = tmp_path / "bad.yaml"
    path.write_text(ROBOT.replace(old, new, 1))
    with pytest.raises(ModelError, match=words):
        pliant.load(str(path))


def test_dynamics(arm):
    """Forward undoes inverse, energy changes by what acts, and the mass matrix is that of the material points."""
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, arm.size))
    assert arm.names == ("hinge", "swing.twist.1", "neck", "shaft.twist.1")
    assert [arm.mechanism.words[name].unit for name in arm.names] == ["rad"] * 4
    np.testing.assert_allclose(arm.forward(q, v, force=arm.forces(q, v, a)), a, rtol=ROUNDING, atol=ROUNDING)
    # 3 kg at 5 cm: a third of m r^2, and what the joint behind it carries
    alone = Dynamics(arm.robot.with_changes(links=arm.robot.links[:1], tip=None), compile="never")
    assert alone.mass_matrix(np.zeros(2))[1, 1] == pytest.approx(3 * 0.05**2 / 3, rel=ROUNDING)
    kinetic = arm.energy(q, v)[0]
    assert v @ arm.mass_matrix(q) @ v / 2 == pytest.approx(kinetic, rel=ROUNDING)
    step = 1e-6
    moved = [sum(arm.energy(q + h * v, v + h * a)) for h in (step, -step)]
    assert (moved[0] - moved[1]) / (2 * step) == pytest.approx(float(arm.forces(q, v, a) @ v), rel=1e-7)


@pytest.mark.parametrize("body", ["twist_bar", "beam"])
def test_frames_sit_beside_the_section_at_their_place(body):
    bodies = {
        "twist_bar": {"length": 0.8, "mass": 3.0, "radius": 0.05},
        "beam": {"length": 0.8, "properties": {"mass_per_length": 1.0}, "rigid": True},
    }
    frame = {"name": "side", "x": 0.3, "position": [0.02, 0.1, -0.2]}
    link = Link(name="bar", joint={"name": "hinge"}, frames=[frame], **{body: bodies[body]})
    np.testing.assert_allclose(frame_pose(link, "side")[0], [0.32, 0.1, -0.2], atol=1e-15)
    np.testing.assert_allclose(frame_pose(link, "tip")[0], [0.8, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("method", ["dense", "lagrange"])
def test_other_methods(arm, method):
    other, rng = Dynamics(arm.robot, method=method, compile="never"), np.random.default_rng(6)
    q, v, a = 0.3 * rng.normal(size=(3, arm.size))
    np.testing.assert_allclose(other.forces(q, v, a), arm.forces(q, v, a), rtol=1e-9, atol=1e-9)


def test_the_equations_about_a_motion(arm):
    """The lumped method takes its own coordinates: efforts of the drives to first order in them."""
    model, rng = pliant.LumpedModel(arm.robot), np.random.default_rng(6)
    q, v, a = np.zeros((3, arm.size))
    joints = [arm.names.index(name) for name in model.joints]
    q[joints], v[joints], a[joints] = rng.normal(size=(3, len(joints)))
    assembled = model.assemble(JointMotion(*(x[None, joints] for x in (q, v, a))))
    elastic = [arm.names.index(name) for name in model.names]
    K = arm.inverse_derivatives(q, v, a).q
    found = model.equations_at(assembled, 0)
    np.testing.assert_allclose(found.K, K[np.ix_(elastic, elastic)], rtol=1e-9, atol=1e-9 * np.abs(K).max())


def test_modes_of_the_robot(arm):
    """The second bar alone, with its load: sqrt(GJ / (L J)), J of its wall and of what turns about its axis."""
    shaft = arm.robot.link("shaft")
    alone = Dynamics(
        arm.robot.with_changes(links=[shaft.with_changes(joint={"name": "neck"})], gravity=(0, 0, 0), tip=None)
    )
    inertia = 2 * 0.04**2 / 3 + 0.01 + 0.2**2
    found = pliant.modes(alone)
    assert found.hertz[-1] == pytest.approx(np.sqrt(20 / 0.5 / inertia) / (2 * np.pi), rel=ROUNDING)


def test_statics_and_limits(arm):
    rest = pliant.equilibrium(arm)
    assert np.abs(arm.forces(rest.q, np.zeros(4), np.zeros(4))[[1, 3]]).max() < 1e-8
    assert state_limits(arm, rest.q) == []
    assert np.isfinite(coordinate_sizes(arm, rest.q)).all()
    twin = Dynamics(rigid_twin(arm.robot))
    assert twin.names == ("hinge", "neck")
    assert twin.robot.mass == arm.robot.mass


def test_drawings(arm, file, tmp_path):
    drawn = RobotSolids(arm, stations=5)
    bars = [solid for solid in drawn.solids if solid.link == "swing" and solid.kind == "flexible"]
    assert len(bars) == 1
    q = np.array([0.0, 0.6, 0.0, 0.0])
    places, axes = drawn.skeleton.places(q)
    own = drawn.skeleton.beams["swing"].own
    np.testing.assert_allclose(places[own, 0], np.linspace(0, 0.8, 5), atol=1e-12)
    np.testing.assert_allclose(axes[own][-1][2, 1], np.sin(0.6), rtol=1e-12)
    assert len(robot_figure(arm.robot).axes) == 1
    assert make_film(arm, np.arange(2.0), np.stack([q, q])).lines
    assert CliRunner().invoke(app, ["show", str(file), "--plot", str(tmp_path / "robot.svg")]).exit_code == 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("show", ("twisting bar", "radius 50 mm", "GJ N m²", "swing.twist.1")),
        ("check", ("2 joint and 2 elastic coordinates",)),
        ("shapes", ("as given",)),
        ("modes", ("Hz",)),
        ("equilibrium", ("swing", "2.24")),
    ],
)
def test_commands(file, command, words):
    run = CliRunner().invoke(app, [command, str(file)])
    assert run.exit_code == 0, run.output
    assert all(word in run.output for word in words), run.output


def test_a_run(arm, tmp_path):
    run = pliant.simulate(arm.robot, until=0.3, start={"hinge": 0.4, "neck": -0.3}, tolerance=1e-9)
    assert np.abs(run["energy.balance"]).max() < ENERGY
    assert run.channel("swing.twist.1").unit == "rad"
    assert np.ptp(run["swing.twist.1"]) > 0.01
    run.save(tmp_path / "run.h5")
    again = Result.load(tmp_path / "run.h5")
    np.testing.assert_array_equal(again["swing.twist.1"], run["swing.twist.1"])


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda words: words.bent(np.array([0.1])), "no sections along it"),
        (lambda words: words.station(0.1), "no section at x = 0.1 m"),
        (lambda words: words.section_constant("A"), "no constant A of its sections"),
    ],
)
def test_a_body_without_an_axis_says_so(ask, what):
    robot = pliant.load("six-dof")
    with pytest.raises(ModelError, match=rf"links\[0\] 'base_link': its body \(rigid\) has no axis, and so {what}"):
        ask(words_of(robot.links[0], robot))
