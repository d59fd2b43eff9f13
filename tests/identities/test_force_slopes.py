"""Derivatives of the inverse dynamics of rigid trees from composite bodies, against the recursion itself."""

import numpy as np
import pytest

from pliant import Damping, Dynamics, Friction, Joint, Link, Motor, Placement, Rigid, Robot, Rotation, Spring
from pliant.formulations.recursive.recursions import INVERSE
from pliant.tree import slope_calls
from pliant.tree.composite import ARM_SIZE
from pliant.tree.force_columns import FORCE_SLOPES, WITHIN, has_slopes, slope_plan

TOLERANCE = 1e-12
"""Of the largest entry: sums over a dozen links, in another order."""

PARENTS = {
    "chain": [-1, 0, 1, 2, 3, 4, 5],
    # links that do not follow what carries them
    "branches": [-1, 0, 0, 1, -1, 1, 4],
    "floating": [-1, 0, 0, 1, 2, 1, 3],
}
OTHERS = {"floating": {0: "free", 4: "spherical"}}
KINDS = ("revolute", "prismatic", "revolute", "fixed", "revolute", "prismatic", "revolute")
AXES = ("z", "x", "-y", "z", (0.6, 0.0, 0.8), "-z", "-x")


def rigid_robot(name, **more):
    """Full inertias, general placements, motors, springs, dampers and dry friction here and there."""
    parents, others = PARENTS[name], OTHERS.get(name, {})
    random = np.random.default_rng(len(parents) + sum(parents))
    links = []
    for i, (parent, kind, axis) in enumerate(zip(parents, KINDS, AXES, strict=True)):
        kind = others.get(i, kind)
        cloud = random.normal(size=(6, 3)) * (0.1, 0.15, 0.2)
        inertia = sum(0.3 * (p @ p * np.eye(3) - np.outer(p, p)) for p in cloud)
        place = Placement(
            position=tuple(random.normal(size=3) * 0.3), rotation=Rotation(rpy=tuple(random.normal(size=3)))
        )
        acts = {}
        if kind == "spherical":
            acts = {"spring": Spring(stiffness=3.0, damping=0.4)}
        elif kind in ("revolute", "prismatic"):
            acts = {"axis": axis}
            acts |= {"motor": Motor(rotor_inertia=0.002, gear_ratio=5.0)} if i % 3 == 0 else {}
            acts |= {"spring": Spring(stiffness=3.0, rest=0.2, damping=0.4)} if i % 3 == 1 else {}
            acts |= {"friction": Friction(viscous=0.3, coulomb=0.5, smoothing=0.7)} if i % 2 else {}
        links.append(
            Link(
                name=f"l{i}",
                joint=Joint(type=kind, parent=f"l{parent}.root" if parent >= 0 else "base", placement=place, **acts),
                rigid=Rigid(mass=1 + random.random(), com=tuple(cloud[0]), inertia=inertia.tolist()),
            )
        )
    return Robot(name="rigid", links=links, gravity=(1.0, -2.0, -9.0), **more)


@pytest.fixture(scope="module", params=PARENTS)
def arm(request):
    return Dynamics(rigid_robot(request.param))


def state(arm):
    return np.random.default_rng(3).normal(size=(3, arm.size))


def by_complex_steps(arm, q, v, a):
    """Derivatives of the recursion on complex numbers: no differences, no tangents."""
    step, out = 1e-30, []
    for seed in "qva":
        columns = []
        for k in range(arm.size):
            inputs = {"q": q.astype(complex), "v": v.astype(complex), "a": a.astype(complex)}
            inputs[seed][k] += 1j * step
            found = INVERSE.evaluate(arm.tree, {name: x.tolist() for name, x in inputs.items()})
            columns.append(np.imag(found) / step)
        out.append(np.transpose(columns))
    return out


def assert_close(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=TOLERANCE * np.abs(y).max())


def force_slopes_of(plan, flat):
    """Derivatives (n, n) by q, v and a from the results of all links; the readable twin of the compiled step."""
    n = len(plan.order)
    by_q, by_v, by_a = (np.zeros((n, n)) for _ in range(3))
    momenta, turned, from_q, from_v = np.zeros((n, 6)), np.zeros((n, 3)), np.zeros((n, 6)), np.zeros((n, 6))
    for start, own, first, last in plan.rows.tolist():
        carried = slice(first, last)
        if own:
            parts = np.split(flat[start + ARM_SIZE :], [6, 12, 18, 24, 27, 33, 39, 39 + WITHIN * own])
            S, once, twice, momenta[first], turned[first], from_q[first], from_v[first], within, _ = parts
            q_up, q_down, v_up, v_down, a_up = within.reshape(own, WITHIN).T
            joint = slice(first, first + own)
            by_q[carried, first] = turned[carried] @ once[3:] + momenta[carried] @ twice
            by_v[carried, first] = turned[carried] @ S[3:] + momenta[carried] @ (2 * once)
            by_q[joint, first] += q_down
            by_v[joint, first] += v_down
            by_q[first, carried], by_v[first, carried] = from_q[carried] @ S, from_v[carried] @ S
            by_q[first, joint] += q_up
            by_v[first, joint] += v_up
            by_a[first, carried] = momenta[carried] @ S
            by_a[first, joint] += a_up
            by_a[carried, first] = by_a[first, carried]
        arm = flat[start : start + ARM_SIZE]
        for wrench in (momenta, from_q, from_v):
            wrench[carried, 3:] += np.cross(arm, wrench[carried, :3])
    across = np.ix_(np.argsort(plan.order), np.argsort(plan.order))
    return tuple(matrix[across] for matrix in (by_q, by_v, by_a))


def test_composite_bodies_give_the_derivatives(arm):
    """Three ways: complex steps through the recursion, the readable sum over the links, the compiled one."""
    assert has_slopes(arm.tree)
    q, v, a = state(arm)
    wanted = by_complex_steps(arm, q, v, a)
    flat = FORCE_SLOPES.evaluate(arm.tree, {"q": q.tolist(), "v": v.tolist(), "a": a.tolist()})
    assert_close(force_slopes_of(slope_plan(arm.tree), np.array(flat)), wanted)
    assert_close(arm._quick_slopes(q, v, a), wanted)


def test_derivatives_of_the_forward_dynamics(arm):
    """They rest on the same steps; differences of the forward dynamics know nothing of them."""
    q, v, a = state(arm)
    tau = a[: len(arm.inputs)]
    by_q, by_v, _ = arm.derivatives(q, v, tau)
    step = 1e-6
    for found, way in ((by_q, (step, 0.0)), (by_v, (0.0, step))):
        ahead, behind = (arm.forward(q + s * way[0] * a, v + s * way[1] * a, tau) for s in (1, -1))
        # central differences of smooth functions, errors of step squared
        np.testing.assert_allclose(found @ a, (ahead - behind) / (2 * step), rtol=0, atol=1e-6 * np.abs(found).max())


def test_damping_of_the_whole_robot_is_in_them(monkeypatch):
    """A matrix of damping couples joints that are far from each other."""
    monkeypatch.setattr(slope_calls, "SEVERAL_LINKS", 0)
    robot = rigid_robot("branches", damping=Damping(ratio=0.02))
    sprung = {"friction": None, "actuated": False, "spring": Spring(stiffness=3.0)}
    links = [
        link if link.joint.type == "fixed" else link.with_changes(joint=link.joint.with_changes(**sprung))
        for link in robot.links
    ]
    arm = Dynamics(robot.with_changes(links=links))
    assert np.count_nonzero(arm.tree.drag) > arm.size
    q, v, a = state(arm)
    wanted = by_complex_steps(arm, q, v, a)
    assert_close(arm.inverse_derivatives(q, v, a), wanted)


def test_links_that_bend_have_tangents():
    assert not has_slopes(Dynamics("two-link-flexible").tree)
