"""Runs through singular configurations: rates go on as they were, or the run ends in words; it never jumps."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pliant import ConstantRate, Dynamics, Hold, ModelError, PrescribedMotion, Robot, Start, simulate
from pliant.simulation.integrators import compiled
from pliant.simulation.integrators.integrator import IntegrationError
from pliant.simulation.run import Run, SimulationWarning
from pliant.simulation.study import Study

UNTIL = 3.0


def bars(count):
    """The N-four-bar of the IFToMM benchmarks: rods of 1 kg and 1 m, upright at first; flat, its loops are singular."""
    rod = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": [0, 1 / 12, 1 / 12], "length": 1.0}
    links = [{"name": "v0", "joint": {"parent": "base", "actuated": False, "axis": "z"}, "rigid": rod}]
    loops, pose = [], {"v0": np.pi / 2}
    for k in range(1, count + 1):
        parent = "v0.tip" if k == 1 else f"h{k - 1}.tip"
        links.append({"name": f"h{k}", "joint": {"parent": parent, "actuated": False}, "rigid": rod})
        joint = {"parent": "base", "actuated": False, "placement": {"position": [float(k), 0, 0]}}
        links.append({"name": f"v{k}", "joint": joint, "rigid": rod})
        loops.append({"name": f"l{k}", "type": "revolute", "frames": [f"h{k}.tip", f"v{k}.tip"], "planar": "xy"})
        pose |= {f"h{k}": -np.pi / 2 if k == 1 else 0.0, f"v{k}": np.pi / 2}
    return {"name": "bars", "gravity": [0, -9.81, 0], "links": links, "loops": loops, "pose": pose}


@pytest.fixture(scope="module", params=[1, 2])
def linkage(request):
    """The linkage, its rates at the start, and the angle of its cranks over time as one pendulum."""
    count = request.param
    inertia, weight = (count + 1) / 3 + count, 9.81 * ((count + 1) / 2 + count)

    def rates(_, y):
        return [y[1], -weight * np.cos(y[0]) / inertia]

    exact = solve_ivp(rates, (0, UNTIL), [np.pi / 2, -1.0], rtol=1e-11, atol=1e-11, dense_output=True)
    speed = {"v0": -1.0, "h1": 1.0} | {f"v{k}": -1.0 for k in range(1, count + 1)}
    return Dynamics(Robot.model_validate(bars(count))), speed, lambda t: exact.sol(t)[0]


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("method", ["dop853", "gauss", "esdirk", "rk4"])
def test_cranks_go_on_or_the_run_ends_in_words(linkage, method, tolerance):
    """Before, dop853 and gauss went on in another motion, radians away, with no word."""
    arm, speed, angle = linkage
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        run = simulate(arm, until=UNTIL, start=Start(velocity=speed), tolerance=tolerance, method=method)
    # or it says that it is off
    off = np.abs(run["v0"] - angle(run.time)).max()
    assert off < 0.05 or (off < 0.2 and any("the run is off by" in text for text in run.warnings))
    assert np.abs(run["v1"] - run["v0"]).max() < 1e-2
    assert run.time[-1] > 0.7
    if run.time[-1] < UNTIL:
        assert "nearly singular there" in run.info.warnings[0]
        assert "'l1'" in run.info.warnings[0]


@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_resumed_runs_end_where_the_whole_one_does(method, monkeypatch):
    """Cut after every ten steps, within the passage too; before, those went on in another motion, with no word."""
    monkeypatch.setattr(compiled, "STEPS_PER_CALL", 10)
    arm = Dynamics(Robot.model_validate(bars(2)))
    speed = {"v0": -1.0, "h1": 1.0, "v1": -1.0, "v2": -1.0}
    options = {"method": method, "tolerance": 1e-8}
    study = Study(robot=arm.robot, until=UNTIL, start=Start(velocity=speed), integrator=options)

    def goes_on(run, report=None):
        try:
            return not run.go(report)
        except IntegrationError as error:
            run.give_up(error)
            return False

    whole, run, cuts = Run(study, arm), Run(study, arm), 0
    goes_on(whole)
    assert "nearly singular there" in whole.trouble
    while goes_on(run, lambda at: True) and not run.finished:
        memory, samples = run.memory(), run.recorder.samples()
        run, cuts = Run(study, arm), cuts + 1
        run.recall(memory, samples)
    assert cuts > 5
    assert run.trouble == whole.trouble
    assert run.t == whole.t
    np.testing.assert_array_equal(run.integrator.y, whole.integrator.y)


@pytest.mark.filterwarnings("ignore:the run is off by")
@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_a_parallelogram_passes_flat(method):
    arm = Dynamics(Robot.model_validate(bars(1)))
    speed = {"v0": -1.0, "h1": 1.0, "v1": -1.0}
    run = simulate(arm, until=UNTIL, start=Start(velocity=speed), tolerance=1e-8, method=method)
    assert run.time[-1] == UNTIL
    exact = solve_ivp(
        lambda _, y: [y[1], -9.81 * 2 * np.cos(y[0]) / (5 / 3)],
        (0, UNTIL),
        [np.pi / 2, -1.0],
        rtol=1e-11,
        atol=1e-11,
        t_eval=run.time,
    )
    # the row that is lost for the moment costs some digits
    np.testing.assert_allclose(run["v0"], exact.y[0], atol=1e-4)


def test_a_driven_parallelogram_passes_flat():
    given = bars(1)
    given["links"][0]["joint"]["actuated"] = True
    arm = Dynamics(Robot.model_validate(given))
    move = PrescribedMotion(trajectory=ConstantRate(rate={"v0": -2.0}))
    run = simulate(arm, until=3.0, drive=move, start=Start(velocity={"v0": -2.0}), tolerance=1e-8)
    np.testing.assert_allclose(run["v1"], np.pi / 2 - 2 * run.time, atol=1e-6)


@pytest.mark.parametrize("driven", [("v0", "h1", "v1"), ("v0", "v1")])
@pytest.mark.parametrize("method", ["dop853", "scipy:Radau"])
def test_drives_that_follow_each_other_cannot_all_be_prescribed(driven, method):
    given = bars(1)
    for link in given["links"]:
        link["joint"]["actuated"] = link["name"] in driven
    arm = Dynamics(Robot.model_validate(given))
    with pytest.raises(ModelError, match=rf"drive.*: the motions of {', '.join(driven)} cannot all be given"):
        simulate(arm, until=0.1, drive=PrescribedMotion(trajectory=Hold()), method=method)
