"""The equations of small arms, derived once."""

from functools import cache

import pytest

from pliant.dynamics import Dynamics
from pliant.formulations.lagrange.equations import equations
from small_arms import ARMS, linear


@cache
def derived(name):
    """A robot, its equations as functions, and the recursive dynamics."""
    robot = linear(ARMS[name]())
    eq = equations(robot)
    return eq, eq.functions(), Dynamics(robot, compile="never")


@pytest.fixture(params=ARMS)
def case(request):
    return derived(request.param)


@pytest.fixture(scope="session")
def two_link():
    """The equations of the rigid two-link arm."""
    return derived("rigid-two-link")[0]
