"""Derivatives by parameters of the description: stiffness, length, payload, spring, damping."""

import numpy as np
import pytest

import zoo
from pliant import acceleration_sensitivity, force_sensitivity
from pliant.algorithm import result, run
from pliant.dynamics import Dynamics
from pliant.formulations.recursive.recursions import FORWARD, INVERSE

TOLERANCE = 1e-8
"""Of the largest entry: the other side is a difference of order 8 with a relative step of 1e-2."""

RELATIVE_STEP = 1e-2
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}

CASES = [
    ("clamped-free", "l1.beam.properties.EIz"),
    ("clamped-free", "l1.beam.properties.mass_per_length"),
    ("clamped-free", "l0.beam.length"),
    ("clamped-free", "l2.payloads.0.mass"),
    ("clamped-mass", "lower.beam.length"),
    ("drives", "two.joint.spring.stiffness"),
    ("drives", "one.joint.motor.rotor_inertia"),
    ("drives", "one.joint.friction.coulomb"),
    ("rotary-exact", "bar.beam.properties.rhoIy"),
    ("second-order", "arm.beam.length"),
    ("second-order", "boom.beam.properties.mass_per_length"),
    ("rods-in-a-plane", "one.beam.length"),
    ("rods-in-a-plane", "three.beam.properties.mass_per_length"),
    ("rod-in-space", "rod.beam.properties.GJ"),
]


def with_value(node, path, value):
    """A description with another number at a path."""
    if not path:
        return value
    key, *rest = path
    if isinstance(node, tuple):
        k = int(key)
        return (*node[:k], with_value(node[k], rest, value), *node[k + 1 :])
    return node.with_changes(**{key: with_value(getattr(node, key), rest, value)})


def difference(name, parameter, evaluate):
    """Derivative of evaluate(tree) by differences of rebuilt robots."""
    robot = zoo.robot(name)
    link, *path = parameter.split(".")
    number = robot.link_names.index(link)
    value = robot.links[number]
    for key in path:
        value = value[int(key)] if isinstance(value, tuple) else getattr(value, key)
    step = RELATIVE_STEP * value

    def at(k):
        links = with_value(robot.links, [str(number), *path], value + k * step)
        return evaluate(zoo.tree_of(robot.with_changes(links=links)))

    return sum(w / step * (at(k) - at(-k)) for k, w in WEIGHTS.items())


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_forces_and_accelerations(name, parameter):
    arm = Dynamics(zoo.robot(name))
    q, v, a = zoo.state(arm)
    f = arm.forces(q, v, a)

    def forces(tree):
        return np.array(result(INVERSE, run(INVERSE, tree, {"q": q, "v": v, "a": a})))

    def accelerations(tree):
        return np.array(result(FORWARD, run(FORWARD, tree, {"q": q, "v": v, "f": f * 0.0})))

    wanted = difference(name, parameter, forces)
    ours = force_sensitivity(arm, parameter, q, v, a)
    assert np.abs(ours - wanted).max() <= TOLERANCE * np.abs(wanted).max()

    wanted = difference(name, parameter, accelerations)
    ours = acceleration_sensitivity(arm, parameter, q, v)
    assert np.abs(ours - wanted).max() <= TOLERANCE * np.abs(wanted).max()
