"""Events, limits, stops and disturbances, on motions that are known by heart."""

import numpy as np
import pytest

import pliant
from pliant.drives.given import GivenTorque
from pliant.dynamics import Dynamics
from pliant.loads.disturbance import Disturbance
from pliant.loads.stops import Stops
from pliant.simulation.monitoring.events import Event
from pliant.simulation.run import SimulationWarning, simulate
from pliant.simulation.start import Start

MASS = 2.0
PUSH = GivenTorque(joints={"slide": 4.0})


def slider(**joint):
    """A mass on a rail without friction or gravity."""
    link = pliant.Link(
        name="cart",
        joint=pliant.Joint(name="slide", type="prismatic", axis="x", **joint),
        rigid=pliant.Rigid(mass=MASS, com=(0, 0, 0), inertia=0.1),
    )
    return Dynamics(pliant.Robot(name="rail", gravity=(0, 0, 0), links=[link]))


def test_a_threshold_stops_the_run_at_its_instant():
    """x = t^2 under 4 N: 0.49 m at 0.7 s."""
    run = simulate(slider(), until=2.0, drive=PUSH, events=[Event(quantity="slide", above=0.49)])
    assert run.time[-1] == pytest.approx(0.7, abs=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.49, abs=1e-9)
    assert run.finished
    assert "stopped at 0.7 s: slide above 0.49" in run.info.ended


def test_thresholds_are_recorded():
    events = [
        Event(quantity="slide.rate", above=1.0, action="record"),
        Event(name="far", quantity="cart.x", above=0.25, action="record"),
        Event(quantity="slide", below=-1.0),
    ]
    run = simulate(slider(), until=1.0, drive=PUSH, events=events)
    assert {name for _, name, _ in run.info.events} == {"far", "slide.rate above 1"}
    assert [t for t, _, _ in run.info.events] == pytest.approx([0.5, 0.5], abs=1e-9)
    assert run.time[-1] == 1.0


def test_a_wrong_quantity_is_named():
    with pytest.raises(pliant.ModelError, match=r"events\[0\].quantity is 'slid', which .* did you mean 'slide'"):
        simulate(slider(), until=1.0, events=[Event(quantity="slid", above=1.0)])


@pytest.mark.parametrize("method", ["dop853", "generalised-alpha", "rk4"])
def test_a_robot_at_rest_leaks_no_energy(method, recwarn):
    """Its energies are nothing but the errors that the tolerance allows."""
    tolerance = 1e-6
    run = simulate("five-bar", until=0.2, method=method, tolerance=tolerance)
    assert not run.warnings
    # the energy of rates as large as the tolerance; 3e-16 to 2e-15 of 5e-13 were seen on several processors
    assert run["energy.total"].max() < tolerance**2 * np.trace(run.arm.mass_matrix(run.q[0])) / 2


def test_a_leak_is_told():
    # linear links bear a step that is too long for a while; links that shorten would throw the run off
    robot = pliant.load("two-link-flexible").set("upper.beam.bending", "linear").set("forearm.beam.bending", "linear")
    with pytest.warns(SimulationWarning):
        run = simulate(robot, until=1.0, method="rk4", step=4e-3, limits="ignore")
    assert "the energy balance is off by" in run.warnings[-1]


def test_limits():
    arm = slider(limits={"position": (-1.0, 0.25), "velocity": 0.9})
    with pytest.warns(SimulationWarning) as caught:
        simulate(arm, until=1.0, drive=PUSH)
    assert len(caught) == 2
    assert "goes to 1 m at 1 s, beyond its limit of 0.25 m" in str(caught[0].message)
    assert "moves at 2 m/s at 1 s, above its limit of 0.9 m/s" in str(caught[1].message)
    simulate(arm, until=1.0, drive=PUSH, limits="ignore")
    stopped = simulate(slider(limits={"position": (-1.0, 0.25)}), until=1.0, drive=PUSH, limits="stop")
    assert stopped.time[-1] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("loss", [0.0, 0.4])
def test_a_stop_throws_the_cart_back(loss):
    """Without loss it comes back as fast as it went; a stop of Hunt & Crossley takes what it is told to."""
    arm = slider(limits={"position": (-5.0, 0.5)})
    moving = Start(velocity={"slide": 1.0})
    run = simulate(arm, until=1.0, start=moving, stops=Stops(stiffness=1e4, loss=loss), limits="ignore")
    assert run.q.max() < 0.53
    # between steps the spring of the stop is known as well as the place of the cart: 100 N times some 1e-9 m
    assert np.abs(run["energy.balance"]).max() < 1e-6
    if loss:
        assert -1.0 < run.v[-1, 0] < -0.5
        assert run["dissipated"][-1] > 0.1
    else:
        assert run["energy.stored"].max() == pytest.approx(1.0, rel=1e-2)
        assert run.v[-1, 0] == pytest.approx(-1.0, abs=1e-6)


def test_a_push_within_a_window():
    """6 N for 0.1 s give 2 kg a speed of 0.3 m/s, and do the work that they must."""
    push = Disturbance(frame="cart", force=[6.0, 1.0, 0.0], start=0.2, end=0.3)
    run = simulate(slider(), until=0.5, disturbances=[push])
    assert run.v[-1, 0] == pytest.approx(0.3, abs=1e-9)
    assert run["work.loads"][-1] == pytest.approx(0.5 * MASS * 0.09, abs=1e-9)
    effort = Disturbance(joint="slide", effort="3 + 0*t", start=0.2, end=0.4)
    assert simulate(slider(), until=0.5, disturbances=[effort]).v[-1, 0] == pytest.approx(0.3, abs=1e-9)


def test_a_wrong_disturbance_is_refused():
    with pytest.raises(pliant.ModelError, match="either frame with force or moment"):
        Disturbance(frame="tip")
    with pytest.raises(pliant.ModelError, match="before it begins"):
        Disturbance(joint="slide", effort=1.0, start=2.0, end=1.0)
    with pytest.raises(pliant.ModelError, match="no coordinate 'slid'"):
        simulate(slider(), until=1.0, disturbances=[Disturbance(joint="slid", effort=1.0)])
