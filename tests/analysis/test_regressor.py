"""Forces as a linear function of parameters, against the inverse dynamics, and what can be told from them."""

import numpy as np
import pytest

import pliant
import zoo
from planar_platforms import three_rrr
from pliant import Friction, Joint, Link, Motor, Rigid, RigidPart, Robot, Spring
from pliant.dynamics import Dynamics

AGREES = 1e-10
"""Of the largest force."""


@pytest.mark.parametrize("name", zoo.RIGID)
def test_parameters_of_rigid_robots_are_all_of_their_forces(name):
    """Newton and Euler per frame and Jacobians of frames share no code with the recursion."""
    arm = Dynamics(zoo.robot(name), compile="never")
    q, v, a = zoo.state(arm)
    found = arm.regressor(q, v, a)
    forces = arm.forces(q, v, a)
    assert found.Y @ found.theta == pytest.approx(forces, abs=AGREES * np.abs(forces).max(), rel=0)


FLEXIBLE = ["clamped-free", "pinned", "branches-exponential", "prismatic", "drives", "rod-in-space"]
"""Robots whose shapes do not depend on what they carry."""


def changed(robot):
    """The robot with other hubs and payloads, friction, motors and springs."""
    links = []
    for link in robot.links:
        parts = {}
        if link.hub is not None:
            parts["hub"] = link.hub.with_changes(mass=1.7 * link.hub.mass + 0.2, com=(0.03, -0.02, 0.01))
        if link.payloads:
            parts["payloads"] = [part.with_changes(mass=0.6 * part.mass, com=(0.1, 0, 0.02)) for part in link.payloads]
        joint = link.joint
        if joint.friction is not None:
            parts["joint"] = joint.with_changes(friction=joint.friction.with_changes(viscous=0.77))
        links.append(link.with_changes(**parts))
    return robot.with_changes(links=links)


@pytest.mark.parametrize("name", FLEXIBLE)
def test_what_is_known_stays_where_parameters_change(name):
    """Forces of another robot differ by Y (theta' - theta), but for what its links' shapes and damping change."""
    robots = [zoo.robot(name), changed(zoo.robot(name))]
    arms = [Dynamics(robot, compile="never") for robot in robots]
    q, v, a = zoo.state(arms[0])
    found = [arm.regressor(q, v, a) for arm in arms]
    forces = [arm.forces(q, v, a) for arm in arms]
    assert np.abs(found[1].theta - found[0].theta).max() > 0.01
    scale = max(np.abs(f).max() for f in forces)
    assert found[1].known == pytest.approx(found[0].known, abs=AGREES * scale, rel=0)
    # the factors of damping are those of each robot: its loaded links
    own = [k for k, each in enumerate(found[0].names) if "damping" not in each]
    moved = found[0].Y[:, own] @ (found[1].theta - found[0].theta)[own]
    lost = [each.Y[:, [k for k in range(len(each.names)) if k not in own]].sum(axis=1) for each in found]
    assert forces[1] - forces[0] == pytest.approx(moved + lost[1] - lost[0], abs=AGREES * scale, rel=0)


def test_a_factor_of_stiffness_is_one_of_the_bending_stiffness():
    """Twice EI in every plane: forces grow by the column of the factor."""
    robot = pliant.load("lin-lewis-rfr")
    arm = Dynamics(robot, compile="never")
    bending = next(link for link in robot.links if link.is_flexible)
    at = f"{bending.name}.beam.properties"
    stiff = arm
    for key in ("EIy", "EIz", "EA", "GJ"):
        if getattr(bending.beam.properties, key):
            stiff = stiff.set(f"{at}.{key}", 2 * getattr(bending.beam.properties, key))
    q, v, a = zoo.state(arm)
    found = arm.regressor(q, v, a)
    own = [k for k, name in enumerate(found.names) if name.endswith(".stiffness")]
    # damping ratios are kept by more damping
    v = np.zeros_like(v)
    more = stiff.forces(q, v, a) - arm.forces(q, v, a)
    assert more == pytest.approx(found.Y[:, own].sum(axis=1), abs=AGREES * np.abs(more).max(), rel=0)


LOOPS = {"3-RRR": lambda: three_rrr(rigid=True), "five-bar": lambda: pliant.load("five-bar")}


@pytest.mark.parametrize("robot", LOOPS)
def test_efforts_of_loops_are_those_of_the_inverse_dynamics(robot):
    arm = Dynamics(LOOPS[robot](), compile="never")
    rng = np.random.default_rng(4)
    q, v = arm.project(arm.assemble(), rng.standard_normal(arm.size) * arm.loops.column_scale)
    solved = arm.inverse(q, v, rng.standard_normal(len(arm.inputs)))
    a = arm.forward(q, v, solved[0])
    found = arm.regressor(q, v, a)
    efforts = found.efforts @ found.theta + found.known_efforts
    assert efforts == pytest.approx(solved[0], abs=AGREES * np.abs(solved[0]).max(), rel=0)
    # of a batch, each state the same
    again = arm.regressor(*(np.array([x, x]) for x in (q, v, a)))
    assert again.efforts[1] == pytest.approx(found.efforts, abs=AGREES * np.abs(found.efforts).max())


LENGTH = 0.5


def two_bars():
    links = [
        Link(
            name="a",
            joint=Joint(name="j1", motor=Motor(rotor_inertia=0.02)),
            rigid=Rigid(mass=1, com=(0.2, 0.01, 0), inertia=0.1, length=LENGTH),
        ),
        Link(
            name="b",
            joint=Joint(
                name="j2",
                friction=Friction(viscous=0.1, coulomb=0.3, smoothing=0.01),
                spring=Spring(stiffness=2.0, rest=0.1),
            ),
            rigid=Rigid(mass=1, com=(0.2, 0.03, 0), inertia=0.1, length=LENGTH),
            payloads=[RigidPart(mass=0.4, inertia=0.01, com=(0.06, 0.04, 0.02))],
        ),
    ]
    return Robot(name="two", gravity=(0, -9.81, 0), links=links)


def test_base_parameters_of_two_bars_are_those_of_the_books():
    """Planar 2R: first moments, inertias with what the second mass adds, l and l^2 of it; rotor 1 with inertia 1."""
    found = pliant.base_parameters(Dynamics(two_bars(), compile="never"))
    words = {found.words(k) for k in range(found.rank)}
    assert {f"a.mx + {LENGTH} b.m", "a.my", f"a.Izz + {LENGTH**2} b.m + j1.rotor", "b.mx", "b.my", "b.Izz"} <= words
    assert {"j1.viscous", "j2.rotor", "j2.viscous", "j2.coulomb", "j2.stiffness", "j2.preload"} <= words
    assert found.rank == len(words) == 12
    assert "a.m" in found.idle
    k = found.names.index("b.mx")
    assert found.values[k] == pytest.approx(1 * 0.2 + 0.4 * (LENGTH + 0.06))
    # about the elbow: both inertias, and both masses at the squares of their distances
    far = (LENGTH + 0.06) ** 2 + 0.04**2
    about = 0.1 + 1 * (0.2**2 + 0.03**2) + 0.01 + 0.4 * far
    assert found.values[found.names.index("b.Izz")] == pytest.approx(about)
    assert found.values[found.names.index("j2.preload")] == pytest.approx(-0.2)


def test_the_number_of_base_parameters_is_gautiers():
    """7 n - 4 inertial ones of a general arm of n revolute joints; rotors but the first, and viscous friction."""
    arm = Dynamics(zoo.robot("rigid-7"), compile="never")
    assert pliant.base_parameters(arm).rank == (7 * 7 - 4) + 6 + 7


def test_they_are_found_again_from_a_motion():
    arm = Dynamics(two_bars(), compile="never")
    base = pliant.base_parameters(arm)
    rng = np.random.default_rng(1)
    q, v, a = (rng.standard_normal((300, arm.size)) for _ in range(3))
    tau = arm.forces(q, v, a)
    noisy = tau + 1e-3 * rng.standard_normal(tau.shape)
    exact, found = base.fit(q, v, a, tau), base.fit(q, v, a, noisy)
    assert exact.values == pytest.approx(base.values, abs=1e-9)
    assert found.residual == pytest.approx(1e-3, rel=0.1)
    assert (np.abs(found.values - base.values) < 4 * found.errors).all()
    assert found.errors.max() < 1e-2
    with pytest.raises(ValueError, match="of the 12 base parameters"):
        base.fit(q, 0 * v, 0 * a, tau)
