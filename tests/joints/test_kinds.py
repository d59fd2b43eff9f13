"""Every kind of joint keeps its contract, and new ones are what chains of simple ones are."""

import numpy as np
import pytest

import pliant
from pliant.joints import KINDS
from pliant.joints.kind import combined
from pliant.spatial.vectors import FactoredRotation

PITCH = 0.37
STEP = 1e-6
SLOPE_ERROR = 2e-8
"""Of a central difference with that step, for numbers of order one."""
ROUNDING = 1e-12
AXES = [(axis, sign) for axis in range(3) for sign in (1.0, -1.0)]


def kinds():
    """Every kind; those with an axis about each axis of the link."""
    for kind in KINDS.values():
        for axis, sign in AXES if kind.has_axis() else [(2, 1.0)]:
            yield pytest.param(kind(axis, sign), id=f"{kind.name}{axis if kind.has_axis() else ''}{sign:+.0f}")


KINDS_ON_AXES = list(kinds())


def parameters(kind):
    return [PITCH] * len(kind.parameters)


def state(kind, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(-0.9, 0.9, len(kind.coordinates)) for _ in range(3))


def pose(kind, q, angle=0.2):
    """Rotation and position of the own frame in the seat, as arrays."""
    place = kind.place(list(q), angle if kind.turns() else 0.0, parameters(kind))
    R = place.R if place.turn is None else FactoredRotation(None, [place.turn]).to_matrix()
    return np.eye(3) if R is None else np.array(R, dtype=float), np.array(place.p, dtype=float)


def on_path(kind, t, q, v, a):
    return pose(kind, q + v * t + a * t * t / 2)


def derivatives(kind, q, v, a):
    """Velocity, angular velocity and their rates in own axes, seen in the seat, by differences of the place."""

    def twist(t):
        (R0, p0), (R1, p1) = (on_path(kind, t + s, q, v, a) for s in (-STEP, STEP))
        R, _ = on_path(kind, t, q, v, a)
        spin = (R1 - R0) / (2 * STEP) @ R.T
        return (p1 - p0) / (2 * STEP), np.array([spin[2, 1], spin[0, 2], spin[1, 0]])

    h = 1e-4
    rate = [(after - before) / (2 * h) for after, before in zip(twist(h), twist(-h), strict=True)]
    return twist(0.0), rate


@pytest.mark.parametrize("kind", KINDS_ON_AXES)
def test_the_motion_is_that_of_the_place(kind):
    q, v, a = state(kind)
    found = kind.motion(list(q), list(v), 0.2 if kind.turns() else 0.0, parameters(kind))
    R, _ = pose(kind, q)
    (velocity, spin), (acceleration, spun) = derivatives(kind, q, v, a)
    np.testing.assert_allclose(R @ np.array(found.v) + np.array(found.p_rate), velocity, atol=SLOPE_ERROR)
    np.testing.assert_allclose(R @ np.array(found.w), spin, atol=SLOPE_ERROR)
    # accelerations are the bias and what the columns add
    linear, angular = combined(kind.columns(parameters(kind)), kind.along(found.state, list(a)))
    np.testing.assert_allclose(R @ (np.array(found.bias_v) + linear), acceleration, atol=1e-5)
    np.testing.assert_allclose(R @ (np.array(found.bias_w) + angular), spun, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS_ON_AXES)
def test_maps_between_coordinates_and_columns_fit_together(kind):
    q, v, x = state(kind, 1)
    known = kind.motion(list(q), list(v), 0.0, parameters(kind)).state
    y = np.array(state(kind, 2)[0])
    np.testing.assert_allclose(kind.coordinates_of(known, kind.along(known, list(x))), x, atol=ROUNDING)
    np.testing.assert_allclose(kind.efforts(known, kind.forces(known, list(y))), y, atol=ROUNDING)
    # forces work on rates as what is along the columns does
    assert np.dot(kind.forces(known, list(y)), x) == pytest.approx(np.dot(y, kind.along(known, list(x))), abs=ROUNDING)


@pytest.mark.parametrize("kind", KINDS_ON_AXES)
def test_rates_are_columns_of_the_twist(kind):
    q, v, _ = state(kind, 3)
    known = kind.motion(list(q), list(v), 0.0, parameters(kind))
    rng = np.random.default_rng(4)
    seat = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R = seat @ pose(kind, q, 0.0)[0]
    found = kind.rates(known.state, seat.tolist(), R.tolist(), parameters(kind))
    total = [sum(x * np.array(part) for x, part in zip(v, parts, strict=True)) for parts in zip(*found, strict=True)]
    if not len(v):
        assert found == []
        return
    np.testing.assert_allclose(total[0], R @ np.array(known.v) + seat @ np.array(known.p_rate), atol=ROUNDING)
    np.testing.assert_allclose(total[1], R @ np.array(known.w), atol=ROUNDING)


@pytest.mark.parametrize("kind", KINDS_ON_AXES)
def test_axes_are_columns(kind):
    columns = np.array(kind.columns(parameters(kind))).reshape(-1, 6)
    assert len(columns) == len(kind.coordinates)
    if kind.axes is not None:
        np.testing.assert_array_equal(columns, np.eye(6)[list(kind.axes)])


@pytest.mark.parametrize(
    "kind", [kind() for kind in KINDS.values() if kind.rotation_vector is None], ids=lambda k: k.name
)
def test_elementary_motions_make_the_place(kind):
    """Turns and slides one after the other, the first outermost."""
    from pliant.model.description.placement import turn_about

    q, _, _ = state(kind, 5)
    R, p = np.eye(3), np.zeros(3)
    for motion in kind.elementary(parameters(kind)):
        axis = np.eye(3)[2 if motion.axis is None else motion.axis]
        x = motion.factor * q[motion.coordinate]
        p = p if motion.turns else p + R @ (x * axis)
        R = R @ turn_about(axis, x) if motion.turns else R
    expected = pose(kind, q, 0.0)
    np.testing.assert_allclose(R, expected[0], atol=ROUNDING)
    np.testing.assert_allclose(p, expected[1], atol=ROUNDING)


# ---------------------------------------------------------------- beside chains of simple joints


BODY = {"mass": 1.3, "com": [0.1, -0.2, 0.05], "inertia": [0.02, 0.03, 0.025], "length": 0.4}
STRIP = {
    "length": 0.8,
    "material": "aluminium",
    "section": {"rectangle": {"width": 0.004, "height": 0.03}},
    "modes": {"shape": "clamped-free", "bend_y": 1, "bend_z": 1, "torsion": 1},
}
SEAT = {"position": [0.1, 0.2, -0.1], "rotation": {"x": 0.4, "y": -0.3}}
CHILD = {"position": [0.05, -0.1, 0.2], "rotation": {"z": 0.5, "x": 0.2}}


def on_beam(*links):
    """A robot with a beam that swings, then some links."""
    beam = {"name": "boom", "joint": {"name": "slew", "axis": [1, 2, 0.5]}, "beam": STRIP}
    return pliant.Dynamics(pliant.Robot.model_validate({"name": "arm", "links": [beam, *links]}))


def test_a_planar_joint_is_two_slides_and_a_turn():
    planar = on_beam(
        {"name": "cart", "joint": {"type": "planar", "placement": SEAT, "child_placement": CHILD}, "rigid": BODY}
    )
    chain = on_beam(
        {"name": "one", "joint": {"name": "x", "type": "prismatic", "axis": "x", "placement": SEAT}},
        {"name": "two", "joint": {"name": "y", "type": "prismatic", "axis": "y", "parent": "one.root"}},
        {"name": "cart", "joint": {"name": "angle", "parent": "two.root", "child_placement": CHILD}, "rigid": BODY},
    )
    assert planar.names[-3:] == ("cart.x", "cart.y", "cart.angle")
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-0.4, 0.4, planar.size) for _ in range(3))
    np.testing.assert_allclose(planar.forces(q, v, a), chain.forces(q, v, a), atol=ROUNDING)
    np.testing.assert_allclose(planar.pose("cart.tip", q).position, chain.pose("cart.tip", q).position, atol=ROUNDING)
    np.testing.assert_allclose(planar.jacobian("cart.tip", q), chain.jacobian("cart.tip", q), atol=ROUNDING)
    force = rng.normal(size=planar.size)
    tau = np.zeros(1)
    found = planar.forward(q, v, tau, force=force)
    expected = chain.forward(q, v, np.zeros(len(chain.inputs)), force=force)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axis", ["z", "-x", [1, -2, 0.7]])
def test_a_screw_is_a_turn_that_a_slide_follows(axis):
    lead = PITCH / (2 * np.pi)
    motor = {"rotor_inertia": 0.01, "gear_ratio": 3.0}
    spring = {"stiffness": 0.7, "damping": 0.05}
    joint = {"name": "turn", "axis": axis, "motor": motor, "spring": spring, "child_placement": CHILD}
    screw = on_beam(
        {"name": "nut", "joint": {**joint, "type": "helical", "pitch": PITCH, "placement": SEAT}, "rigid": BODY}
    )
    follows = {"joint": "turn", "ratio": lead}
    chain = on_beam(
        {
            "name": "way",
            "joint": {"name": "slide", "type": "prismatic", "axis": axis, "placement": SEAT, "mimic": follows},
        },
        {"name": "nut", "joint": {**joint, "parent": "way.root"}, "rigid": BODY},
    )
    rng = np.random.default_rng(1)
    q, v = (rng.uniform(-0.4, 0.4, screw.size) for _ in range(2))

    def with_slide(x):
        return np.array([*x[:-1], lead * x[-1], x[-1]])

    tau = rng.normal(size=2)
    found = screw.forward(q, v, tau)
    expected = chain.forward(with_slide(q), with_slide(v), tau)
    np.testing.assert_allclose(with_slide(found), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        screw.pose("nut.tip", q).position, chain.pose("nut.tip", with_slide(q)).position, atol=ROUNDING
    )
    np.testing.assert_allclose(screw.energy(q, v).total, chain.energy(with_slide(q), with_slide(v)).total, rtol=1e-12)


def test_a_screw_under_its_own_weight_falls_as_a_formula_says():
    """m g lead = (J + m lead^2) q'' of a nut on an upright spindle."""
    lead, m, J = PITCH / (2 * np.pi), 2.0, 0.03
    nut = {
        "name": "nut",
        "joint": {"type": "helical", "pitch": PITCH, "axis": "z"},
        "rigid": {"mass": m, "inertia": [J, J, J]},
    }
    arm = pliant.Dynamics(pliant.Robot.model_validate({"name": "nut", "links": [nut]}))
    (found,) = arm.forward([0.3], [0.0], [0.0])
    assert found == pytest.approx(-m * 9.81 * lead / (J + m * lead**2), rel=1e-12)


SMALL = {
    "helical": {"type": "helical", "pitch": PITCH, "axis": [0.6, 0, 0.8]},
    "cylindrical": {"type": "cylindrical", "axis": [0.6, 0, 0.8]},
    "planar": {"type": "planar"},
}


@pytest.mark.parametrize("kind", SMALL)
def test_closed_forms_know_it(kind):
    """The symbolic equations of a link on such a joint, with a swinging one behind it, beside the recursion."""
    links = [
        {"name": "one", "joint": {"name": "a", "placement": {"position": [0.1, 0, 0.2]}, **SMALL[kind]}, "rigid": BODY},
        {
            "name": "two",
            "joint": {"name": "b", "axis": "y"},
            "rigid": {"mass": 0.4, "com": [0.2, 0, 0], "inertia": 0.01},
        },
    ]
    robot = pliant.Robot.model_validate({"name": kind, "links": links})
    arm, closed = pliant.Dynamics(robot), pliant.Dynamics(robot, method="lagrange")
    rng = np.random.default_rng(2)
    q, v, a = (rng.uniform(-0.5, 0.5, arm.size) for _ in range(3))
    np.testing.assert_allclose(closed.forces(q, v, a), arm.forces(q, v, a), atol=ROUNDING)
    np.testing.assert_allclose(closed.mass_matrix(q), arm.mass_matrix(q), atol=ROUNDING)


def test_a_screw_in_a_loop_opens_a_jack():
    """A scissor jack: the spindle's angle lifts the top by the law of cosines; virtual work gives its torque."""
    half, lead = 0.3, 0.004 / (2 * np.pi)
    bar = {"mass": 1e-3, "com": [half / 2, 0, 0], "inertia": [1e-8, 1e-5, 1e-5], "length": half}
    # a slider on the base, moved by the spindle, and two bars that meet at the load
    links = [
        {
            "name": "nut",
            "joint": {"name": "spindle", "type": "helical", "pitch": 0.004, "axis": "x", "parent": "base"},
            "rigid": {"mass": 1e-3, "inertia": 1e-6},
        },
        {
            "name": "roller",
            "joint": {"name": "free", "axis": "x", "parent": "nut.root", "actuated": False},
            "rigid": {"mass": 1e-3, "inertia": 1e-6},
        },
        {
            "name": "right",
            "joint": {"name": "r", "axis": "-y", "parent": "roller.root", "actuated": False},
            "rigid": bar,
        },
        {
            "name": "left",
            "joint": {"name": "l", "axis": "-y", "parent": "base", "actuated": False},
            "rigid": bar,
            "payloads": [{"mass": 10.0}],
        },
    ]
    loop = {"name": "top", "type": "spherical", "frames": ["right.tip", "left.tip"]}
    angle = 0.4 / lead
    pose = {"spindle": angle, "r": np.arccos(-2 / 3), "l": np.arccos(2 / 3)}
    robot = pliant.Robot.model_validate({"name": "jack", "links": links, "loops": [loop], "pose": pose})
    arm = pliant.Dynamics(robot)
    q = arm.reference_pose()
    x = lead * q[0]
    height = arm.pose("left.tip", q).position[2]
    assert height == pytest.approx(np.sqrt(half**2 - (x / 2) ** 2), abs=1e-9)
    # the load does the work of the torque: tau = m g dz/dangle
    tau = arm.inverse(q, 0 * q, np.zeros(1)).tau
    expected = 10.0 * 9.81 * (-x / 4 / height) * lead
    assert tau[0] == pytest.approx(expected, rel=2e-3)


# ---------------------------------------------------------------- words


def test_a_screw_needs_a_pitch():
    with pytest.raises(pliant.ModelError, match="a helical joint needs pitch: way along the axis for a whole turn"):
        pliant.Joint(type="helical")
    with pytest.raises(pliant.ModelError, match="a revolute joint has no pitch; leave it out"):
        pliant.Joint(type="revolute", pitch=0.1)


def test_a_pitch_may_have_a_unit_and_comes_back(tmp_path):
    link = "links: [{name: nut, joint: {type: helical, pitch: 5 mm}, rigid: {mass: 1.0}}]"
    (tmp_path / "nut.yaml").write_text(f"name: nut\n{link}\n")
    robot = pliant.load(tmp_path / "nut.yaml")
    assert robot.links[0].joint.parameters == (0.005,)
    robot.save(tmp_path / "again.yaml")
    assert pliant.load(tmp_path / "again.yaml") == robot


def test_a_planar_joint_has_no_drive():
    with pytest.raises(pliant.ModelError, match="a planar joint has no motor; act on its link by forces"):
        pliant.Joint(type="planar", motor={"rotor_inertia": 1.0})
