"""Robots of one structure as an ensemble: each state has the constants of its own robot, each value is as if alone."""

from copy import copy

import numpy as np
import pytest

import pliant
from pliant.analysis.equilibrium import settle
from pliant.engine.stepping.signal_table import Signals
from pliant.simulation.choice import LinearStart, fastest_rate
from pliant.simulation.integrators.compiled import SignalsRequest
from pliant.simulation.monitoring.checks import AxialRequest, EnergiesRequest
from pliant.simulation.monitoring.extremes import PositionsRequest
from pliant.simulation.outputs import InstantsRequest
from pliant.simulation.run import Run
from pliant.simulation.start import RestRequest
from pliant.sweeps.ensemble import Ensemble, structure_key
from pliant.sweeps.together import Together

# the same operations on the same numbers in other lanes
SAME = 1e-12
# axial forces are eigenvalues of differences of forces
LOOSER = 1e-9
# difference quotients of 1e-6 leave so much of the rounding in a rate
RATE = 1e-8
ROBOTS = 5


def with_mass(mass, length=0.7):
    beam = pliant.Beam(
        length=length, properties=pliant.Properties(mass_per_length=0.53, EIy=37.0, EIz=41.0), modes={"bend_z": 2}
    )
    joint = pliant.Joint(name="hinge", type="revolute", axis="y", actuated=True)
    further = pliant.Joint(
        name="wrist", type="revolute", axis="z", parent="arm.tip", friction={"viscous": 0.1}, spring={"stiffness": 3.0}
    )
    return pliant.Robot(
        name="boom",
        links=[
            pliant.Link(name="arm", joint=joint, beam=beam),
            pliant.Link(
                name="hand",
                joint=further,
                rigid={"length": 0.2, "mass": mass, "com": [0.1, 0.03, 0.0], "inertia": 0.01},
            ),
        ],
    )


@pytest.fixture(scope="module")
def arms():
    return [pliant.Dynamics(with_mass(0.31 + 0.17 * k, 0.7 + 0.031 * k)) for k in range(ROBOTS)]


@pytest.fixture(scope="module")
def ensemble(arms):
    assert len({structure_key(arm) for arm in arms}) == 1
    return Ensemble(arms)


def found_together(requests):
    """Values that are found for all requests at once."""
    Together().find(requests)
    assert all(request.is_known for request in requests)
    return [request.value for request in requests]


CALLS = {
    "forward": lambda arm, q, v, a: arm.forward(q, v, a[..., : len(arm.inputs)]),
    "forces": lambda arm, q, v, a: arm.forces(q, v, a),
    "gravity": lambda arm, q, v, a: arm.gravity(q),
    "energy": lambda arm, q, v, a: np.stack(arm.energy(q, v), axis=-1),
    "position": lambda arm, q, v, a: arm.pose("tip", q).position,
    "velocity": lambda arm, q, v, a: arm.velocity("tip", q, v).linear,
    "acceleration": lambda arm, q, v, a: arm.acceleration("tip", q, v, a).linear,
    "stiffness": lambda arm, q, v, a: arm.force_derivative("q", q, v, a),
    "coriolis": lambda arm, q, v, a: arm.coriolis(q, v),
}


@pytest.mark.parametrize("what", CALLS)
def test_each_state_has_the_constants_of_its_robot(arms, ensemble, what):
    rng = np.random.default_rng(3)
    # robots in a row, of which lanes hold several, and runs of one robot
    who = np.concatenate([rng.integers(0, ROBOTS, 11), np.repeat(np.arange(ROBOTS), 3)])
    q, v, a = 0.1 * rng.standard_normal((3, len(who), ensemble.size))
    with ensemble.of(who):
        found = CALLS[what](ensemble, q, v, a)
    for k, number in enumerate(who):
        alone = CALLS[what](arms[number], q[k], v[k], a[k])
        np.testing.assert_allclose(found[k], alone, rtol=SAME, atol=SAME * np.abs(alone).max())


def test_a_robot_that_is_not_there_is_told(ensemble):
    with ensemble.of(np.array([ROBOTS])), pytest.raises(ValueError, match=f"robots 0 to {ROBOTS - 1}"):
        ensemble.bias(np.zeros((1, ensemble.size)), np.zeros((1, ensemble.size)))


def test_equilibria_are_those_of_each_robot(arms):
    requests = [RestRequest(arm, arm.reference_pose() + 0.1 * k, None) for k, arm in enumerate(arms)]
    for request, found in zip(requests, found_together(requests), strict=True):
        alone = settle(request.arm, request.q).q
        np.testing.assert_allclose(found, alone, rtol=SAME, atol=SAME * np.abs(alone).max())


MOVES = {
    "quintic": {"quintic": {"to": {"hinge": 0.5}, "duration": 0.3}},
    "hold": {"hold": {"to": {"hinge": 0.2}}},
    "sequence": {
        "sequence": {"parts": [{"trapezoidal": {"to": {"hinge": 0.5}, "duration": 0.3}}, {"hold": {"duration": 0.1}}]}
    },
    "spline": {"spline": {"times": [0.0, 0.2, 0.3], "points": [{"hinge": 0.0}, {"hinge": 0.3}, {"hinge": 0.1}]}},
}


def runs(arms, move="quintic", disturbances=(), **drive):
    for k, arm in enumerate(arms):
        yield Run(
            pliant.Study(
                name="lift",
                robot=arm.robot,
                until=0.5,
                drive={
                    "pid": {
                        "trajectory": MOVES[move],
                        "kp": 31.0 + k,
                        "kd": 2.3,
                        "gravity": "desired",
                        **drive,
                    }
                },
                disturbances=disturbances,
                integrator={"method": "dop853"},
            ),
            arm,
        )


@pytest.mark.parametrize("drive", [{}, {"ki": 7.1, "saturate": True}, {"gravity": "measured"}], ids=str)
def test_rates_and_efforts_are_those_of_each_run(arms, drive):
    some, rng = list(runs(arms, **drive)), np.random.default_rng(5)
    requests = [LinearStart(run.equations, run.q0, run.v0) for run in some]
    expected = [fastest_rate(run.equations, run.q0, run.v0) for run in some]
    # states of drives are moved for each run alone
    if not some[0].equations.states:
        assert found_together(requests) == pytest.approx(expected, rel=RATE)
    times = np.sort(rng.uniform(0.0, 0.5, 7))
    requests = [InstantsRequest(run.equations, times, rng.standard_normal((7, run.equations.size))) for run in some]
    expected = [copy(request).value for request in requests]
    for found, alone in zip(found_together(requests), expected, strict=True):
        np.testing.assert_allclose(found.tau, alone.tau, rtol=SAME, atol=SAME * np.abs(alone.tau).max())
        np.testing.assert_allclose(found.reference, alone.reference, rtol=SAME)


PUSH = {"frame": "tip", "force": [0.0, 3.0, "20 * t"], "start": 0.02, "end": 0.2}


def signals(equations):
    """What machine code follows: that of the drive, then that of loads."""
    law = equations.law
    return lambda t: np.hstack([law.signals(t), *(load.signals(equations.clocks(t)) for load in equations.loads)])


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("further", [{}, {"ki": 7.1, "disturbances": [PUSH]}], ids=["plain", "integral and push"])
def test_what_drives_follow_is_fitted_for_all_runs(arms, move, further):
    some, rng = list(runs(arms[:3], move, **further)), np.random.default_rng(5)
    for run in some:
        run.equations.enter(0.05, 0.1)
    requests = [SignalsRequest(run.equations, signals(run.equations), 0.05, 0.1, 2) for run in some]
    times = np.sort(rng.uniform(0.05, 0.1, 7))
    requests += [InstantsRequest(run.equations, times, rng.standard_normal((7, run.equations.size))) for run in some]
    expected = [copy(request).value for request in requests]
    for found, alone in zip(found_together(requests), expected, strict=True):
        if isinstance(alone, Signals):
            assert (found.start, found.piece) == (alone.start, alone.piece)
            found, alone = (found.coefficients,), (alone.coefficients,)
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(one, other, rtol=SAME, atol=SAME * np.abs(other).max(initial=0.0))


def test_loops_and_numpy_are_in_no_ensemble(arms):
    assert structure_key(pliant.Dynamics("four-bar")) is None
    assert structure_key(pliant.Dynamics(arms[0].robot, compile="never")) is None


def test_places_energies_and_axial_forces_are_those_of_each_robot(arms):
    rng = np.random.default_rng(7)
    states = [0.1 * rng.standard_normal((3, 4, arm.size)) for arm in arms]
    requests = [PositionsRequest(arm, ("arm.tip", "tip"), q) for arm, (q, _, _) in zip(arms, states, strict=True)]
    requests += [EnergiesRequest(arm, q, v) for arm, (q, v, _) in zip(arms, states, strict=True)]
    none = np.zeros((4, 0))
    requests += [
        AxialRequest(arm, q, v, f[:, : len(arm.inputs)], none) for arm, (q, v, f) in zip(arms, states, strict=True)
    ]
    alone = [copy(request).value for request in requests]
    for found, expected in zip(found_together(requests), alone, strict=True):
        if isinstance(expected, list):
            assert [each.keys() for each in found] == [{"arm"}] * len(expected)
            found, expected = ([tuple(each["arm"]) for each in x] for x in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=LOOSER, atol=SAME * np.abs(expected).max())
