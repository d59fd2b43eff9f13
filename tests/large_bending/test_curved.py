"""Beams that are curved or twisted before any load acts, from model files; and all six strains of a rod."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import pliant
from pliant import Dynamics
from pliant.algorithm import result, run
from pliant.analysis.equilibrium import equilibrium
from pliant.bodies.words import centre_line
from pliant.model.description.beams import undeformed_pose
from pliant.tree.kinematics import ENERGY

POWER = 1e-9
"""Of the largest power: rounding of some thousand operations."""

BEND = """
name: bend
gravity: [0, 0, 0]
links:
  - name: arch
    joint: {type: fixed, parent: base}
    beam:
      length: 25*pi m
      bending: exact
      curvature: {bend_y: 1/100 rad/m}
      properties:
        {mass_per_length: 1, EIy: 1e7/12, EIz: 1e7/12, GJ: 5e6/6, EA: 1e7, kGAy: 5e6, kGAz: 5e6, rhoIy: 0.1, rhoIz: 0.1}
      modes: {shape: legendre, normalise: none, bend_y: 5, bend_z: 5, torsion: 5, axial: 5, shear_y: 5, shear_z: 5}
"""
# tip of the 45-degree bend of Bathe & Bolourchi under 600 out of its plane, by shooting, with stretch and shear
TIP = [47.150438573630936, 15.684800534039667, 53.47485879182782]


def read(tmp_path, text):
    file = tmp_path / "robot.yaml"
    file.write_text(text)
    return pliant.load(str(file))


def test_forty_five_degree_bend(tmp_path):
    """All six strains; without stretch and shear the tip is 6e-3 away."""
    arm = Dynamics(read(tmp_path, BEND), compile="never")
    start = arm.pose("arch.tip", np.zeros(arm.size)).position
    assert start == pytest.approx([70.71067811865476, 29.28932188134524, 0.0], rel=1e-8)
    found = equilibrium(arm, loads={"arch.tip": [0, 0, 600, 0, 0, 0]})
    assert arm.pose("arch.tip", found.q).position == pytest.approx(TIP, abs=2e-4)


# ---------------------------------------------------------------- tapers and curvature along a list

HOOK = """
name: hook
gravity: [0, 0, 0]
links:
  - name: shaft
    joint: {type: fixed, parent: base}
    beam:
      material: {E: 1 GPa, density: 1000}
      bending: exact
      segments:
        - {length: 0.4 m, section: {round: {diameter: 20 mm}}, taper_to: {round: {diameter: 10 mm}}}
      modes: {shape: legendre, normalise: none, bend_y: 6}
  - name: hook
    joint: {type: fixed, parent: shaft.tip}
    beam:
      length: 0.6 m
      material: {E: 1 GPa, density: 1000}
      section: {round: {diameter: 10 mm}}
      bending: exact
      curvature: {bend_y: [0, 1, 3]}
      stations: 12
      modes: {shape: legendre, normalise: none, bend_y: 4}
"""
LOAD = np.array([0.5, 1.0])


def shot(load):
    """Tip of the hook in its plane: moment and slope integrated from the root, the moment at the tip is zero."""

    def diameter(x):
        return 0.02 - 0.01 * min(x / 0.4, 1.0)

    def bent(x):
        return np.interp((x - 0.4) / 0.6, [0, 0.5, 1], [0, 1, 3]) if x > 0.4 else 0.0

    def rates(x, y):
        _, _, slope, moment = y
        t = np.array([np.cos(slope), np.sin(slope)])
        stiffness = 1e9 * np.pi * diameter(x) ** 4 / 64
        return [*t, bent(x) + moment / stiffness, -(t[0] * load[1] - t[1] * load[0])]

    def end(moment):
        y = np.array([0.0, 0.0, 0.0, moment])
        for a, b in ((0.0, 0.4), (0.4, 0.7), (0.7, 1.0)):
            y = solve_ivp(rates, (a, b), y, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        return y

    return end(fsolve(lambda m: end(m[0])[3], [load[1]])[0])


def test_a_tapered_hook(tmp_path):
    """A tapered rod, and one whose curvature is given by a list, welded: against shooting."""
    robot = read(tmp_path, HOOK)
    arm = Dynamics(robot, compile="never")
    found = equilibrium(arm, loads={"hook.tip": [*LOAD, 0, 0, 0, 0]})
    *tip, slope, _ = shot(LOAD)
    pose = arm.pose("hook.tip", found.q)
    assert pose.position[:2] == pytest.approx(tip, abs=1e-5)
    assert np.arctan2(pose.rotation[1, 0], pose.rotation[0, 0]) == pytest.approx(slope, abs=1e-4)
    # what is drawn is where the dynamics are
    own = arm.link_pose("hook", found.q)
    tip = centre_line(robot.link("hook"), robot, found.q[6:], np.array([0.6]))[0]
    assert own.position + own.rotation @ tip == pytest.approx(pose.position, abs=1e-12)


# ---------------------------------------------------------------- geometry and energy

TWISTED = """
name: twisted
links:
  - name: rod
    joint: {name: a, axis: [1, 2, 3], parent: base}
    hub: {mass: 0.2, com: [0.05, 0, 0], inertia: 0.001}
    beam:
      length: 1 m
      bending: exact
      stations: 7
      curvature: {bend_y: 0.6, bend_z: [-0.5, 0.3], torsion: 1.2}
      properties:
        {mass_per_length: 1.3, EIy: 4, EIz: 6, GJ: 3, EA: 50, kGAy: 20, kGAz: 30, rhoIy: 0.004, rhoIz: 0.007}
      modes: {shape: legendre, normalise: none, bend_y: 2, bend_z: 1, torsion: 1, axial: 1, shear_y: 1, shear_z: 1}
      damping: {rayleigh: {stiffness: 0.01}}
    frames: [{name: side, x: 0.6 m, position: [0, 0.1, -0.05], rotation: {x: 40 deg}}]
    payloads: [{mass: 0.3, frame: side, com: [0.02, 0, 0.03], inertia: 0.002}, {mass: 0.4}]
  - name: end
    joint: {name: b, axis: y, parent: rod.side}
    rigid: {mass: 0.5, com: [0.1, 0, 0], inertia: 0.01}
"""


@pytest.fixture(scope="module")
def twisted(tmp_path_factory):
    return Dynamics(read(tmp_path_factory.mktemp("twisted"), TWISTED), compile="never")


def test_places_of_an_unloaded_rod(twisted):
    """Frames of the dynamics against the curve alone."""
    link = twisted.robot.link("rod")
    own = twisted.link_pose("rod", np.zeros(twisted.size))
    for name in ("side", "tip"):
        frame = link.frame(name)
        p, R = undeformed_pose(link.beam, frame.x)
        pose = twisted.pose(f"rod.{name}", np.zeros(twisted.size))
        # the curve is taken in steps, of second order
        assert own.rotation.T @ (pose.position - own.position) == pytest.approx(p + R @ frame.vector(), abs=1e-5)
        assert own.rotation.T @ pose.rotation == pytest.approx(R @ frame.matrix(), abs=1e-5)


@pytest.mark.parametrize("number", range(3))
def test_power_of_all_six_strains(twisted, number):
    """The energy of a curved, twisted rod changes by the power of its motor and its damping, at any state."""
    rng = np.random.default_rng(number)
    n = twisted.size
    q, v = 0.4 * rng.normal(size=n), rng.normal(size=n)
    tau = rng.normal(size=len(twisted.inputs))
    a = twisted.forward(q, v, tau)
    step = 1e-30
    parts = run(ENERGY, twisted.tree, {"q": list(q + 1j * step * v), "v": list(v + 1j * step * a)})
    rate = np.imag(np.reshape(result(ENERGY, parts), (-1, 9))[:, :3].sum()) / step
    power = tau @ twisted.B.T @ v - v @ twisted.damping @ v
    size = abs(v @ twisted.mass_matrix(q) @ a)
    assert rate == pytest.approx(power, abs=POWER * size)


def test_a_rigid_twin_keeps_the_shape(twisted):
    """A curved beam without modes: mass, centre and inertia of the curve."""
    link = twisted.robot.link("rod")
    kept = {key: value for key, value in link.beam.given().items() if key in ("length", "properties", "curvature")}
    rigid = link.with_changes(beam=pliant.Beam(**kept, rigid=True, rotary_inertia=True))
    arm = Dynamics(twisted.robot.with_changes(links=[rigid, *twisted.robot.links[1:]]), compile="never")
    n = twisted.size
    joints = [twisted.names.index(name) for name in arm.names]
    M = twisted.mass_matrix(np.zeros(n))[np.ix_(joints, joints)]
    assert arm.mass_matrix(np.zeros(arm.size)) == pytest.approx(M, rel=1e-5)


@pytest.mark.parametrize(("family", "towards"), [("bend_y", 1), ("bend_z", 2)])
def test_curvature_is_towards_its_axis(family, towards):
    """A quarter of a circle: as the family bends with a positive coordinate."""
    kept = {"length": 1.0, "properties": pliant.Properties(mass_per_length=1.0, EIy=1.0, EIz=1.0), "bending": "exact"}
    beam = pliant.Beam(**kept, curvature={family: np.pi / 2}, modes={"shape": "legendre", family: 1})
    p, R = undeformed_pose(beam, 1.0)
    wanted = np.zeros(3)
    wanted[[0, towards]] = 2 / np.pi
    assert p == pytest.approx(wanted, abs=1e-12)
    assert R[:, 0] == pytest.approx(np.eye(3)[towards], abs=1e-12)
    joint = pliant.Joint(type="fixed", parent="base")
    arm = Dynamics(pliant.Robot(name="arc", links=[pliant.Link(name="arc", joint=joint, beam=beam)]), compile="never")
    start, bent = (arm.pose("arc.tip", np.array([x])).position for x in (0.0, 1e-3))
    assert start == pytest.approx(wanted, abs=1e-3)
    assert bent[towards] > start[towards]
