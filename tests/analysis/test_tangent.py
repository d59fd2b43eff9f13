"""The linearised equations term by term: forces that close loops, and the slope of dry friction."""

import numpy as np
import pytest

import zoo
from pliant import Joint, Link, Loop, Rigid, Robot, load
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.modes import modes
from pliant.control.linear_model import linearise
from pliant.dynamics import Dynamics

G = 9.81

EIGHTH = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
"""Weights of the central difference of eighth order at 1, 2, 3, 4 steps."""
STEP = 1e-4
"""Scaled step of the differences: truncation and the rounding of stiff accelerations are 1e-13 of the largest one."""
EXACT = 1e-11
"""Of the largest entry: what such differences can tell."""
SOFT = 1e-8
"""Of a square of a frequency: the largest one is 1e5 times the smallest."""
ROUNDING = 1e-12


def held_mass(length=0.7, mass=2.0, rod=0.5):
    """A mass on two slides, held to the origin by a rod: a pendulum whose weight alone has no stiffness."""
    slides = [Joint(name=axis, type="prismatic", axis=axis, actuated=False) for axis in "xy"]
    pin = Joint(name="pin", parent="base", actuated=False)
    links = [
        Link(name="rail", joint=slides[0]),
        Link(name="mass", joint=slides[1], rigid=Rigid(mass=mass)),
        Link(
            name="rod",
            joint=pin,
            rigid=Rigid(mass=rod, com=(length / 2, 0, 0), inertia=rod * length**2 / 12, length=length),
        ),
    ]
    ends = Loop(name="end", type="revolute", frames=["mass", "rod.tip"], planar="xy")
    pose = {"y": -length, "pin": -np.pi / 2}
    return Robot(name="held-mass", links=links, loops=[ends], gravity=(0, -G, 0), pose=pose)


@pytest.mark.parametrize("side", [1.0, -1.0], ids=["hanging", "standing"])
def test_a_mass_on_a_rod_is_a_pendulum(side):
    """Only the force of the rod brings the mass back: omega^2 = g (m + m_rod/2) / (l (m + m_rod/3))."""
    length, mass, rod = 0.7, 2.0, 0.5
    arm = Dynamics(held_mass(length, mass, rod), compile="never")
    q = np.array([0.0, -side * length, -side * np.pi / 2])
    found = modes(arm, q, locked=False)
    assert found.squares == pytest.approx([side * G * (mass + rod / 2) / (length * (mass + rod / 3))], rel=ROUNDING)


def on_loops(arm, q, x, names):
    """The closed configuration near q whose independent coordinates are x away from its own."""
    held = [arm.names.index(name) for name in names]
    moved = q.copy()
    moved[held] += x
    return arm.loops.corrected(moved, np.zeros_like(moved), tuple(held))[0]


def change_of_accelerations(arm, q, tau, names):
    """Derivative of the independent accelerations by the independent coordinates, differences along the loops."""
    held = [arm.names.index(name) for name in names]
    still, scale = np.zeros(arm.size), arm.loops.constraints.column_scale[held]
    columns = []
    for direction, size in zip(np.eye(len(held)), STEP * scale, strict=True):

        def at(step, x=direction * size):
            return arm.forward(on_loops(arm, q, step * x, names), still, tau)[held]

        columns.append(sum(w * (at(k) - at(-k)) for k, w in enumerate(EIGHTH, start=1)) / size)
    return np.array(columns).T


@pytest.fixture(scope="module")
def loaded():
    """A flexible five-bar whose plane stands upright."""
    return Dynamics(load("five-bar").with_changes(gravity=(0.0, -G, 0.0)))


@pytest.mark.parametrize("balanced", [True, False])
def test_a_loaded_loop_is_linearised_along_its_closed_motions(loaded, balanced):
    """Also where the robot is not in balance: accelerations that keep the loops closed turn with it."""
    rest = equilibrium(loaded)
    tau = rest.tau if balanced else rest.tau + [3.0, -2.0]
    model = linearise(loaded, rest.q, tau=tau)
    m = len(model.tangent.names)
    wanted = change_of_accelerations(loaded, rest.q, tau, model.tangent.names)
    assert (np.abs(model.a).max() > 1.0) != balanced
    assert np.abs(model.A[m:, :m] - wanted).max() < EXACT * np.abs(wanted).max()


def test_a_loaded_loop_has_the_stiffness_of_its_forces(loaded):
    """Locked modes are those of small oscillations of the dynamics with the motors' coordinates held."""
    found = modes(loaded)
    names = loaded.independent
    rest = equilibrium(loaded)
    M = loaded.reduced(rest.q, np.zeros(loaded.size)).M
    K = -M @ change_of_accelerations(loaded, rest.q, rest.tau, names)
    assert set(loaded.inputs) <= set(names)
    free = [k for k, name in enumerate(names) if name not in loaded.inputs]
    part = np.ix_(free, free)
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(M[part], K[part])).real)
    assert found.squares == pytest.approx(squares, rel=SOFT)
    # and the forces are not small: without them the softest mode is another one
    weightless = modes(Dynamics("five-bar"))
    assert abs(found.squares[0] / weightless.squares[0] - 1) > 1e-4


@pytest.mark.parametrize("name", ["drives", "pinned"])
@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # any state will do
def test_dry_friction_leaves_nothing_behind_where_it_is_left_out(name):
    """While joints creep, with friction half developed, the model without it is that of a robot that has none."""
    robot = zoo.robot(name)
    links = [
        link.with_changes(joint=link.joint.with_changes(friction=link.joint.friction.with_changes(coulomb=0.0)))
        if link.joint.friction
        else link
        for link in robot.links
    ]
    rough, smooth = (Dynamics(each, compile="never") for each in (robot, robot.with_changes(links=links)))
    rng = np.random.default_rng(3)
    q, v = 0.1 * rng.normal(size=rough.size), 0.002 * rng.normal(size=rough.size)
    with_it, without = (linearise(rough, q, v, dry_friction=dry).tangent.D for dry in (True, False))
    wanted = linearise(smooth, q, v).tangent.D
    assert without == pytest.approx(wanted, rel=0, abs=ROUNDING * np.abs(with_it).max())
    assert np.abs(with_it - wanted).max() > 0.01 * np.abs(wanted).max()
