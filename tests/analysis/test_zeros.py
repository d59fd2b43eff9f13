"""Zeros of linear models: the slewing beam, and the definition itself."""

import numpy as np
import pytest

from pliant import Beam, Damping, Elements, Joint, Link, Modes, Properties, Robot
from pliant.control.linear_model import linearise
from pliant.control.zeros import zeros
from pliant.dynamics import Dynamics

# slewing link, rhoA = EI = L = 1, torque at the hub (PUBLISHED.md, item 6)
HUB = np.array([1.8751040687, 4.6940911330]) ** 2
TIP = np.array([11.18664, 60.45170])


def slewing(bending="linear", **discretisation):
    """Straight and without weight, so that all kinds of bending have the same linear model; linear is made fastest."""
    own = Properties(mass_per_length=1.0, EIz=1.0)
    beam = Beam(length=1.0, properties=own, bending=bending, **discretisation)
    arm = Dynamics(
        Robot(name="slewing", gravity=(0, 0, 0), links=[Link(name="arm", joint=Joint(name="hub"), beam=beam)]),
        compile="never",
    )
    return linearise(arm, np.zeros(arm.size))


def positive(values):
    return np.sort(values[(values.real > 1e-9) | ((np.abs(values.real) <= 1e-9) & (values.imag > 0))])


@pytest.mark.parametrize(("count", "bending"), [(5, "second-order"), (10, "linear")])
def test_hub_angle_zeros_of_clamped_modes_are_the_clamped_frequencies(count, bending):
    found = zeros(slewing(bending, modes=Modes(shape="clamped-free", bend_y=count)), "hub")
    assert len(found) == 2 * count
    assert np.sort(found.imag[found.imag > 0])[:2] == pytest.approx(HUB, rel=1e-9)
    assert np.abs(found.real).max() < 1e-9


def test_hub_angle_zeros_of_pinned_modes_converge_to_them():
    """The hub angle is the motor angle there; the error falls with the number of modes."""
    errors = []
    for count in (10, 20, 40):
        found = zeros(slewing(modes=Modes(shape="pinned-free", bend_y=count)), "hub.motor")
        errors.append(np.sort(found.imag[found.imag > 0])[:2] / HUB - 1)
    assert np.all(errors[0] > 1.8 * errors[1])
    assert np.all(errors[1] > 1.8 * errors[2])
    assert errors[2] == pytest.approx(0.0, abs=0.011)


def test_tip_zeros_are_real():
    """Elements converge with order four; extrapolated they give the published zeros."""
    found = []
    for number in (10, 20, 40):
        values = zeros(slewing(elements=Elements(number=number, bend_z=False)), "tip.y", "hub")
        assert len(values) == 4 * number
        found.append(np.sort(values.real[values.real > 0])[:2])
        assert np.abs(values.imag[np.abs(values.real) < 100]).max() < 1e-6
    order = np.log2((found[1] - found[0]) / (found[2] - found[1]))
    assert order == pytest.approx([4.0, 4.0], abs=0.1)
    limit = found[2] + (found[2] - found[1]) / 15
    assert limit == pytest.approx(TIP, abs=6e-6)


def test_tip_zeros_of_modes_converge():
    clamped = zeros(slewing(modes=Modes(shape="clamped-free", bend_y=20)), "tip.y")
    assert np.sort(clamped.real[clamped.real > 0])[:2] == pytest.approx(TIP, rel=3e-5)
    pinned = zeros(slewing(modes=Modes(shape="pinned-free", bend_y=40)), "tip.y")
    assert np.sort(pinned.real[pinned.real > 0])[:2] == pytest.approx(TIP, rel=2e-3)


def test_a_zero_blocks_its_signal():
    """C (s - A)^-1 B vanishes at every zero, with damping too."""
    for damping in (None, Damping(ratio=0.05)):
        model = slewing(modes=Modes(shape="clamped-free", bend_y=3), damping=damping)
        for output in ("hub", "tip.y"):
            own = model.with_outputs(output)
            found = zeros(model, output, "hub")
            assert len(found) == 6
            for s in found:
                gain = own.C @ np.linalg.solve(s * np.eye(8) - own.A, own.B)
                beside = own.C @ np.linalg.solve(1.1 * s * np.eye(8) - own.A, own.B)
                assert abs(gain[0, 0]) < 1e-7 * abs(beside[0, 0])


def test_damping_moves_zeros_to_the_left():
    damped = zeros(slewing(modes=Modes(shape="clamped-free", bend_y=3), damping=Damping(ratio=0.05)), "hub")
    plain = zeros(slewing(modes=Modes(shape="clamped-free", bend_y=3)), "hub")
    assert np.all(damped.real < 0)
    assert np.sort(np.abs(damped)) == pytest.approx(np.sort(np.abs(plain)), rel=1e-9)


def test_against_python_control():
    control = pytest.importorskip("control")
    model = slewing(modes=Modes(shape="clamped-free", bend_y=2)).with_outputs("tip.y")
    theirs = control.zeros(model.to_control())
    finite = theirs[np.abs(theirs) < 1e5]
    assert np.sort_complex(finite) == pytest.approx(np.sort_complex(zeros(model, "tip.y")), rel=1e-6, abs=1e-6)


def test_several_inputs_and_outputs():
    """Both joint angles kept: what is left are the locked modes."""
    from pliant.analysis.modes import modes

    arm = Dynamics("de-luca-siciliano", compile="never")
    model = linearise(arm, np.zeros(arm.size))
    found = zeros(model, ("joint_1", "joint_2"))
    assert np.sort(found.imag[found.imag > 0]) == pytest.approx(modes(arm, np.zeros(arm.size)).frequencies, rel=1e-8)


def test_which_input():
    model = linearise(Dynamics("two-link-flexible", compile="never"))
    assert len(zeros(model, "elbow")) == 10
    with pytest.raises(ValueError, match="give input="):
        zeros(model, "tip.x")
    with pytest.raises(ValueError, match="did you mean 'elbow'"):
        zeros(model, "tip.x", "elbo")
    with pytest.raises(ValueError, match="as many of each"):
        zeros(model, ("tip.x", "tip.z"), "elbow")
    # a plane arm does not leave its plane
    with pytest.raises(ValueError, match="do not move"):
        zeros(model, "tip.y", "elbow")
