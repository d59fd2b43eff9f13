"""Robots with links that bend far, at rest: columns, chains of linear pieces, published deflections."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh

from pliant import Beam, Dynamics, Elements, Joint, Link, Modes, Properties, RigidPart, Robot
from pliant.analysis.equilibrium import equilibrium

MASS = 1e4
"""Of the load on a column, in beam masses: the beam's own weight is negligible beside it."""


def column(load, bending, **modes):
    """A column of EI = L = 1 on a fixed foot, under the weight of a tip mass."""
    link = Link(
        name="column",
        joint=Joint(type="fixed", parent="base"),
        beam=Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=1.0), bending=bending, modes=modes),
        payloads=[RigidPart(mass=MASS)],
    )
    return Dynamics(Robot(name="column", gravity=(-load / MASS, 0, 0), links=[link]), compile="never")


def tangent(arm):
    """Mass and stiffness of the straight column, from exact derivatives of its forces."""
    q = np.zeros(arm.size)
    return arm.mass_matrix(q), arm.inverse_derivatives(q, q, q).q


@pytest.mark.parametrize("part", [0.0, 0.5, 0.95])
def test_pinned_column(part):
    """omega = omega_0 sqrt(1 - N / N_cr)."""
    arm = column(part * np.pi**2, "second-order", shape="pinned-pinned", bend_y=2)
    M, K = tangent(arm)
    lowest = eigh(K, M, eigvals_only=True)[0]
    assert np.sqrt(lowest) == pytest.approx(np.pi**2 * np.sqrt(1 - part), rel=5e-3)


@pytest.mark.parametrize("bending", ["second-order", "exact"])
def test_standing_column_buckles(bending):
    """The stiffness vanishes at Euler's load of a cantilever."""

    def softest(load):
        _, K = tangent(column(load, bending, shape="legendre", bend_y=4))
        return np.linalg.eigvalsh(K)[0]

    critical = np.pi**2 / 4
    assert softest(0.999 * critical) > 0
    assert softest(1.001 * critical) < 0


def test_a_linear_column_never_buckles():
    _, K = tangent(column(100.0, "linear", shape="legendre", bend_y=2))
    assert np.linalg.eigvalsh(K)[0] > 0


# ---------------------------------------------------------------- a cantilever that hangs down

SOFT = Properties(mass_per_length=0.3, EIz=1.0)


@cache
def hanging_tip(bending, count=5, weight=1.0):
    """Tip of a soft cantilever with a payload; slope near one with its whole weight."""
    beam = Beam(length=1.0, properties=SOFT, bending=bending, modes=Modes(shape="legendre", bend_y=count))
    joint = Joint(type="fixed", parent="base")
    link = Link(name="arm", joint=joint, beam=beam, payloads=[RigidPart(mass=0.15)])
    arm = Dynamics(Robot(name="arm", gravity=(0, -9.81 * weight, 0), links=[link]), compile="never")
    return arm.pose("arm.tip", equilibrium(arm).q).position


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # on purpose
@pytest.mark.parametrize(("bending", "order"), [("linear", 2), ("second-order", 3)])
def test_what_is_left_out_vanishes_with_the_amplitude(bending, order):
    """Second order agrees with exact links to second order, linear ones to first."""
    missing = [np.linalg.norm(hanging_tip(bending, 4, w) - hanging_tip("exact", 4, w)) for w in (0.04, 0.02)]
    assert np.log2(missing[0] / missing[1]) == pytest.approx(order, abs=0.05)


def pieces_tip(number):
    """The same made of linear pieces, welded tip to root."""
    beam = Beam(length=1.0 / number, properties=SOFT, bending="linear", elements=Elements(number=1, bend_z=False))
    links = [
        Link(
            name=f"piece{i}",
            joint=Joint(type="fixed", parent="base" if i == 0 else f"piece{i - 1}.tip"),
            beam=beam,
            payloads=[RigidPart(mass=0.15)] if i == number - 1 else [],
        )
        for i in range(number)
    ]
    arm = Dynamics(Robot(name="chain", gravity=(0, -9.81, 0), links=links), compile="never")
    return arm.pose(f"piece{number - 1}.tip", equilibrium(arm).q).position


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # on purpose
def test_rods_are_the_limit_of_many_linear_pieces():
    errors = [np.linalg.norm(pieces_tip(n) - hanging_tip("exact")) for n in (16, 32)]
    assert errors[0] < 1.5e-3
    # of second order in the length of a piece
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # on purpose
def test_what_the_other_kinds_miss():
    """Slope near one: second order is better than linear, and both are far off."""
    exact = hanging_tip("exact")
    second, linear = (np.linalg.norm(hanging_tip(kind) - exact) for kind in ("second-order", "linear"))
    assert 0.02 < second < linear
    assert linear > 0.2
