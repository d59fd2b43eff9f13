"""Closures at the three levels: the rate is the derivative of the gap, the acceleration that of the rate."""

import numpy as np
import pytest

import zoo
from closed_robots import four_bar, state
from pliant import Dynamics, Loop, Robot, load

KINDS = {
    "weld": {"type": "weld"},
    "revolute": {"type": "revolute", "axis": (0.3, 1.0, -0.5)},
    "spherical": {"type": "spherical"},
    "prismatic": {"type": "prismatic", "axis": (0.3, 1.0, -0.5)},
    "cylindrical": {"type": "cylindrical", "axis": (0.3, 1.0, -0.5)},
    "helical": {"type": "helical", "axis": (0.3, 1.0, -0.5), "pitch": -0.6},
    "universal": {"type": "universal", "axes": [(1.0, 0.2, 0.0), (0.4, 0.0, 1.0)]},
    "planar": {"type": "planar"},
    "distance": {"type": "distance", "length": 0.7},
    "planar weld": {"type": "weld", "planar": "zx"},
    "planar revolute": {"type": "revolute", "planar": "xy"},
}
ROWS = {
    "weld": ("x", "y", "z", "rx", "ry", "rz"),
    "revolute": ("x", "y", "z", "rx", "ry"),
    "spherical": ("x", "y", "z"),
    "prismatic": ("x", "y", "rx", "ry", "rz"),
    "cylindrical": ("x", "y", "rx", "ry"),
    "helical": ("x", "y", "rx", "ry", "z"),
    "universal": ("x", "y", "z", "rn"),
    "planar": ("z", "rx", "ry"),
    "distance": ("push",),
    "planar weld": ("x", "z", "ry"),
    "planar revolute": ("x", "y"),
}

STEP = 1e-5
DIFFERENCES = 1e-7
"""Relative accuracy of central differences with this step."""


def looped(name, kind, frames):
    loop = Loop(name="loop", frames=frames, **KINDS[kind])
    return Dynamics(zoo.robot(name).model_copy(update={"loops": (loop,)}), compile="never")


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module", params=[("branches-exponential", -1, 2), ("mixed", -1, 0), ("rigid-7", 3, None)])
def arm(request, kind):
    """A spatial robot whose frames are held together, wherever they are."""
    name, i, j = request.param
    links = zoo.robot(name).link_names
    return looped(name, kind, [f"{links[i]}.tip", "base" if j is None else f"{links[j]}.tip"])


@pytest.fixture(scope="module")
def motion(arm):
    rng = np.random.default_rng(1)
    return 0.03 * rng.standard_normal(arm.size), rng.standard_normal(arm.size), rng.standard_normal(arm.size)


def test_rows(arm, kind):
    assert arm.loops.rows == tuple(f"loop.{label}" for label in ROWS[kind])


def test_rate_is_jacobian_times_velocity(arm, motion):
    q, v, _ = motion
    np.testing.assert_allclose(arm.closure_rate(q, v), arm.loops.jacobian(q) @ v, rtol=1e-12, atol=1e-12)


def test_acceleration_is_the_derivative_of_the_rate(arm, motion):
    """Also where the loop is open: the acceleration level does not use that it is closed."""
    q, v, a = motion
    ahead, behind = (arm.closure_rate(q + s * v + s * s / 2 * a, v + s * a) for s in (STEP, -STEP))
    difference = (ahead - behind) / (2 * STEP)
    exact = arm.loops.jacobian(q) @ a + arm.loops.bias(q, v)
    np.testing.assert_allclose(difference, exact, rtol=0, atol=DIFFERENCES * np.abs(exact).max())


def test_jacobian_of_frames(arm, motion, kind):
    """Shifts are differences of the frames' velocities, by code that knows no loops."""
    q, v, _ = motion
    first, second = (arm.robot.loops[0].frames[k] for k in (0, 1))
    moving = [arm.velocity(frame, q, v) if frame != "base" else None for frame in (first, second)]
    relative = moving[0].linear - (0 if moving[1] is None else moving[1].linear)
    rates = dict(zip(ROWS[kind], arm.closure_rate(q, v), strict=True))
    for k, axis in enumerate("xyz" if arm.loops.constraints.closures[0].rows[0].kind == "shift" else ""):
        if axis in rates:
            assert rates[axis] == pytest.approx(relative[k], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["four-bar", "three-prs", "closed-frame", "five-bar", "dualemps"])
def test_gap_changes_at_its_rate_where_the_loop_is_closed(name):
    arm = Dynamics(name, compile="never")
    q, v = state(arm)
    difference = (arm.closure(q + STEP * v) - arm.closure(q - STEP * v)) / (2 * STEP)
    np.testing.assert_allclose(difference, arm.loops.jacobian(q) @ v, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loop", [{"type": "weld", "planar": None}, {"planar": None}], ids=["weld", "revolute"])
def test_gap_of_turns_is_the_derivative_of_the_gap_in_space(loop):
    """Turns and tilts of a closed loop whose links bend in all directions."""
    elements = {"bend_y": True, "bend_z": True, "torsion": True, "axial": True}
    arm = Dynamics(four_bar(loop=loop, **elements), compile="never")
    if loop.get("type") == "weld":
        # a weld of four welded angles closes only where it was described: start there
        q = arm.reference_pose()
        q, _ = arm.project(arm.assemble(q, hold=[], bend=True), np.ones(arm.size))
    else:
        q, _ = state(arm, size=0.01)
    assert np.abs(arm.closure(q)).max() < 1e-12
    u = np.random.default_rng(0).standard_normal(arm.size)
    difference = (arm.closure(q + STEP * u) - arm.closure(q - STEP * u)) / (2 * STEP)
    np.testing.assert_allclose(difference, arm.loops.jacobian(q) @ u, rtol=0, atol=1e-6 * np.abs(difference).max())


def test_opposite_turn_is_not_closed():
    """Frames that are turned by half a revolution are as far apart as they can be, not together."""
    arm = Dynamics(load("dualemps"), compile="never")
    q = arm.assemble()
    q[arm.names.index("q25")] += np.pi - 1e-3
    assert abs(arm.closure(q)[2]) > 1e3


def test_open_by_tells_metres_and_radians():
    arm = Dynamics(load("dualemps"), compile="never")
    q = arm.assemble()
    q[arm.names.index("q25")] += 0.5
    distance, angle = arm.loops.constraints.open_by(q)["closure"]
    assert distance < 1e-15
    assert angle == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "dualemps", "three-prs", "closed-frame"])
def test_a_state_that_is_nearly_closed_is_corrected(name):
    """Gap and rates end at rounding, for one state and for a batch, and coordinates that are held stay."""
    arm = Dynamics(name)
    q, v = state(arm, size=1e-3)
    rng = np.random.default_rng(3)
    scale = 1e-5 * arm.loops.constraints.column_scale
    Q, V = (x + scale * rng.standard_normal((4, arm.size)) for x in (q, v))
    held = tuple(arm.names.index(x) for x in arm.inputs)
    for driven in ((), held):
        near, rates = arm.loops.corrected(Q, V, driven)
        assert np.abs(arm.closure(near)).max() < 1e-14
        assert np.abs(arm.closure_rate(near, rates)).max() < 1e-13
        assert np.abs((near - Q) / scale).max() < 100
        assert np.array_equal(near[:, driven], Q[:, driven])
        one = arm.loops.corrected(Q[1], V[1], driven)
        np.testing.assert_allclose(one, [near[1], rates[1]], rtol=0, atol=1e-13)


def test_further_forces_and_decaying_gaps_in_the_inverse():
    """Efforts of the inverse with other forces give the same accelerations forward, closed or not."""
    arm = Dynamics("dualemps")
    loops = arm.loops.stabilised()
    assert loops.stabilise > 0
    assert arm.loops.stabilise == 0
    q, v = state(arm, size=1e-4)
    q = q + 1e-6
    force = np.random.default_rng(1).standard_normal(arm.size)
    tau, a = loops.inverse(q, v, np.array([1.0, -2.0]), force)
    forward = loops.forward(q, v, arm.B @ tau + force)
    np.testing.assert_allclose(a, forward, rtol=0, atol=1e-10 * np.abs(a).max())
    dense = loops.forward_dense("dense", q, v, arm.B @ tau + force)
    np.testing.assert_allclose(a, dense, rtol=0, atol=1e-9 * np.abs(a).max())


@pytest.mark.parametrize("kind", ["constant", "varying", "twisted"])
def test_aligned_frames_of_curved_beams(kind):
    """An arch of two curved beams, welded to the ground at its far foot: closed as it is described."""
    angle, radius = 2 * np.pi / 3, 2.0
    length = radius * angle / 2
    curvature = {
        "constant": {"bend_y": -1 / radius},
        "varying": {"bend_y": [-1 / radius, -1 / radius, -1 / radius]},
        "twisted": {"bend_y": -1 / radius, "torsion": 0.3},
    }[kind]
    properties = {"mass_per_length": 1.0, "EIz": 1e4, "EIy": 1e4}
    modes = {"shape": "legendre", "bend_y": 2}
    beam = {"length": length, "properties": properties, "bending": "exact", "curvature": curvature, "modes": modes}
    first = {"name": "a", "joint": {"type": "fixed", "placement": {"rotation": {"z": angle / 2}}}, "beam": beam}
    links = [first, {"name": "b", "joint": {"type": "fixed"}, "beam": beam}]
    tip = Dynamics(Robot.model_validate({"name": "arch", "links": links}), compile="never")
    foot = tip.pose("b.tip", tip.q()).position
    if kind != "twisted":
        np.testing.assert_allclose(foot, [2 * radius * np.sin(angle / 2), 0, 0], atol=1e-12)
    ends = ["b.tip", {"frame": "base", "position": foot.tolist()}]
    for type in ("weld", "revolute"):
        loop = {"name": "foot", "type": type, "frames": ends, "align": True}
        arm = Dynamics(Robot.model_validate({"name": "arch", "links": links, "loops": [loop]}), compile="never")
        np.testing.assert_allclose(arm.closure(arm.q()), 0, atol=1e-12)
