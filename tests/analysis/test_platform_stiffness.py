"""Stiffness of a frame against equilibria under small loads, and against formulas of beams."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turn

import pliant
from planar_platforms import three_rrr
from pliant import Beam, Joint, Link, Modes, Properties, Robot
from pliant.analysis.equilibrium import settle
from pliant.dynamics import Dynamics

AGREES = 1e-8
"""Part of the largest compliance by which two differences of equilibria, extrapolated, may be off."""


def by_equilibria(arm, q, frame, loads=None, size=1.0):
    """Compliance (6, 6) from equilibria under loads on a frame, central differences and Richardson's step."""
    rest = settle(arm, q, loads=loads)

    def column(k, h):
        ends = []
        for sign in (1, -1):
            extra = np.zeros(6)
            extra[k] = sign * h
            given = {name: np.array(w, dtype=float) for name, w in (loads or {}).items()}
            given[frame] = given.get(frame, np.zeros(6)) + extra
            ends.append(arm.pose(frame, settle(arm, rest.q, loads=given).q))
        up, down = ends
        turn = Turn.from_matrix(up.rotation @ down.rotation.T).as_rotvec()
        return np.concatenate([up.position - down.position, turn]) / (2 * h)

    steps = size * np.array([1.0] * 3 + [0.1] * 3)
    return np.column_stack([(4 * column(k, h) - column(k, 2 * h)) / 3 for k, h in enumerate(steps)])


SCENES = {
    "3-RRR": (three_rrr, {"m1": -2.2}, "platform.root", {"platform.corner_2": [3.0, -4.0, 0, 0, 0, 0.5]}, 0.2),
    "five-bar": (lambda: pliant.load("five-bar"), {"left_motor": 2.0}, "tip", None, 0.02),
    "arm": (
        lambda: pliant.load("two-link-flexible"),
        {"elbow": 0.6},
        "tip",
        {"tip": [2.0, 1.0, -3.0, 0.1, 0, 0]},
        0.05,
    ),
    "four-bar": (lambda: pliant.load("four-bar"), None, "tip", None, 0.05),
}


@pytest.mark.parametrize("scene", SCENES)
def test_it_is_what_equilibria_under_small_loads_say(scene):
    robot, q, frame, loads, size = SCENES[scene]
    arm = Dynamics(robot())
    found = arm.platform_stiffness(q, frame=frame, loads=loads)
    per_length = np.array([1.0] * 3 + [1.0 / found.length] * 3)
    scaled = np.outer(per_length, per_length)
    expected = by_equilibria(arm, q, frame, loads, size) * scaled
    assert found.compliance * scaled == pytest.approx(expected, abs=AGREES * np.abs(expected).max(), rel=0)


L, EI = 1.2, 30.0


def cantilever(**joint):
    beam = Beam(
        length=L,
        properties=Properties(mass_per_length=0.5, EIz=EI, EIy=4 * EI),
        modes=Modes(shape="polynomial", bend_y=2, bend_z=2),
    )
    link = Link(name="arm", joint=Joint(name="hub", **joint), beam=beam)
    return Dynamics(Robot(name="cantilever", gravity=(0, 0, 0), links=[link]), compile="never")


def test_a_clamped_beam_has_the_stiffness_of_the_tables():
    """Two polynomials bend exactly as end loads do: 12 EI/L^3, 6 EI/L^2, 4 EI/L with the other axis held."""
    found = cantilever().platform_stiffness()
    y, rz, z, ry = 1, 5, 2, 4
    K = found.stiffness
    assert [K[y, y], K[y, rz], K[rz, rz]] == pytest.approx([12 * EI / L**3, -6 * EI / L**2, 4 * EI / L], rel=1e-9)
    assert [K[z, z], K[z, ry], K[ry, ry]] == pytest.approx(4 * np.array([12 / L**3, 6 / L**2, 4 / L]) * EI, rel=1e-9)
    # it neither stretches nor twists
    assert np.isinf(K[[0, 3], [0, 3]]).all()
    softest, way = found.principal()[0]
    assert softest == pytest.approx(3 * EI / L**3, rel=1e-9)
    assert abs(way[1]) == pytest.approx(1.0, abs=1e-9)


def test_axes_that_are_held_and_are_no_axes_of_the_base_are_refused():
    found = cantilever().platform_stiffness({"hub": 0.5})
    assert found.rigid.shape == (6, 2)
    with pytest.raises(ValueError, match="no axes of the base"):
        _ = found.stiffness


def test_a_weight_on_top_takes_stiffness_away():
    """A rigid pole on a spring, upright: k - m g l is left of the spring, and hanging k + m g l."""
    pole = Link(
        name="pole",
        joint=Joint(name="pivot", axis="z", actuated=False, spring={"stiffness": 40.0, "rest": np.pi / 2}),
        rigid={"mass": 2.0, "com": (0.5, 0, 0), "inertia": 0.1, "length": 0.5},
    )
    for down, left in ((-9.81, 40.0 - 9.81), (9.81, 40.0 + 9.81)):
        arm = Dynamics(Robot(name="pole", gravity=(0, down, 0), links=[pole], pose={"pivot": np.pi / 2}))
        assert 1 / arm.platform_stiffness().compliance[5, 5] == pytest.approx(left, rel=1e-9)


def test_what_nothing_holds_is_named():
    with pytest.raises(pliant.LooseError, match="hub moves freely while the drives hold"):
        cantilever(actuated=False).platform_stiffness()


def test_a_drive_of_a_rigid_robot_leaves_nothing_to_give_way():
    found = Dynamics(three_rrr(rigid=True), compile="never").platform_stiffness()
    assert np.abs(found.compliance).max() == 0.0
    assert np.isinf(np.diag(found.stiffness)).all()
