"""Largest values are those of the motion, not those of its samples."""

import copy
import pickle

import numpy as np
import pytest

from pliant import PID, Dynamics, Event, Quintic, Start, load_study, simulate
from pliant.results.result import Result
from pliant.simulation.monitoring import extremes
from pliant.simulation.monitoring.checks import allowed_ranges
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import Run, SimulationWarning, run_study
from pliant.simulation.study import IntegratorOptions, Study

SAME = 1e-4
"""Extremes of a motion whose step ends lie elsewhere, relative; coarse samples miss by percents."""


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible")


@pytest.fixture(scope="module")
def released(arm):
    """Two links that fall and bend, sampled coarsely and finely."""
    return {n: simulate(arm, until=0.6, output_step=0.6 / n, limits="ignore") for n in (7, 6000)}


def test_coarse_samples_give_the_same_extremes(released):
    coarse, fine = released[7], released[6000]
    name = "upper.deflection"
    size = np.linalg.norm(fine[name], axis=1)
    found = coarse.extreme(name)
    assert found == fine.extreme(name)
    assert found.most == pytest.approx(size.max(), rel=SAME)
    assert found.most_at == pytest.approx(fine.time[size.argmax()], abs=2e-3)
    assert np.linalg.norm(coarse[name], axis=1).max() < 0.99 * found.most


def test_joints_have_both_ends(released):
    fine = released[6000]
    joint = "elbow"
    found = released[7].extreme(joint)
    assert found.least == pytest.approx(fine[joint].min(), rel=SAME)
    assert found.most == pytest.approx(fine[joint].max(), abs=SAME)


@pytest.fixture(scope="module")
def driven(arm):
    """The same arm moved by motors with feedback, whose torques have sharp peaks."""
    shoulder, elbow = arm.reference_pose()[arm.mechanism.joints]
    move = Quintic(to={"shoulder": shoulder + 0.02, "elbow": elbow - 0.02}, duration=0.1)
    drive, still = PID(trajectory=move, kp=400.0, kd=20.0), Start(links="equilibrium")
    return {n: simulate(arm, until=0.2, drive=drive, start=still, output_step=0.2 / n) for n in (7, 4000)}


@pytest.mark.parametrize("name", ["shoulder.torque", "tip.deflection"])
def test_efforts_and_deviations_are_followed_too(driven, name):
    coarse, fine = driven[7], driven[4000]
    values = fine[name] if fine[name].ndim == 1 else np.linalg.norm(fine[name], axis=1)
    found = coarse.extreme(name)
    assert found.most == pytest.approx(values.max(), rel=SAME)
    seen = coarse[name] if coarse[name].ndim == 1 else np.linalg.norm(coarse[name], axis=1)
    assert seen.max() < (1 - 10 * SAME) * found.most
    if name.endswith("torque"):
        assert found.least == pytest.approx(values.min(), rel=SAME)


def test_other_channels_are_those_of_the_samples(released):
    run = released[7]
    found = run.extreme("energy.kinetic")
    assert found.most == run["energy.kinetic"].max()
    assert found.most_at == run.time[run["energy.kinetic"].argmax()]
    tip = run.extreme("tip.position")
    assert tip.most == pytest.approx(np.linalg.norm(run["tip.position"], axis=1).max())


@pytest.mark.filterwarnings("ignore:the run is off by")
@pytest.mark.parametrize("method", ["dop853", "rk4", "generalised-alpha", "scipy:DOP853"])
def test_every_method_is_followed(arm, released, method):
    run = simulate(arm, until=0.2, method=method, output_step=0.1, tolerance=1e-7, limits="ignore")
    fine = released[6000]
    name = "upper.deflection"
    size = np.linalg.norm(fine[name], axis=1)[fine.time <= 0.2]
    assert run.extreme(name).most == pytest.approx(size.max(), rel=2e-3)


def test_an_event_ends_them(arm):
    joint = "shoulder"
    stop = Event(quantity=joint, below=0.9)
    run = simulate(arm, until=0.6, output_step=0.3, events=[stop], limits="ignore")
    assert run.time[-1] < 0.6
    found = run.extreme(joint)
    assert found.least == pytest.approx(run[joint][-1], rel=1e-9)
    assert found.least_at == pytest.approx(run.time[-1])


def test_they_are_kept_in_files_and_over_interruptions(arm, released, tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 10)
    study = Study(robot=arm.robot, until=0.6, limits="ignore", outputs=Outputs(step=0.6 / 7))
    first = Run(study, arm)
    assert not first.go(lambda at: at.t > 0.25)
    assert first.t < study.until
    first.recorder.fresh()
    second = Run(study, arm)
    second.recall(first.memory(), first.recorder.samples())
    second.go()
    whole, resumed = released[7].info.extremes, second.result().info.extremes
    assert resumed.keys() == whole.keys()
    for name in whole:
        assert resumed[name].most == pytest.approx(whole[name].most, rel=SAME, abs=1e-9)
    released[7].save(tmp_path / "run.h5")
    assert Result.load(tmp_path / "run.h5").info.extremes == whole


def study_of(arm, until=0.4):
    """The arm that falls, with a motor that holds."""
    drive = PID(trajectory=Quintic(to={"elbow": -0.4}, duration=0.3), kp=40.0, kd=4.0)
    return Study(robot=arm.robot, until=until, drive=drive, limits="ignore", outputs=Outputs(step=0.1))


def test_extremes_that_nobody_asks_for_are_not_looked_for(arm):
    """They come when they are asked for, all of them, and are those that would have been found at once."""
    study = study_of(arm)
    late = Run(study, arm)
    late.go()
    result, steps = late.result(), late.extremes._kept
    assert steps > 0
    # warnings are told from a bound where that is enough
    slope = result.extreme("upper.slope")
    assert late.extremes._kept == 0
    assert result.extreme("shoulder.torque").most > 0
    assert result.extreme("upper.slope") == slope
    at_once = Run(study, arm, follow=late.extremes.names)
    at_once.go()
    whole = at_once.result().info.extremes
    assert result.info.extremes.keys() == whole.keys() == set(late.extremes.names)
    for name, found in result.info.extremes.items():
        assert found == pytest.approx(whole[name], rel=1e-9, abs=1e-12), name
    assert pickle.loads(pickle.dumps(result)).info.extremes == result.info.extremes


def test_what_was_told_of_a_part_does_not_change_when_the_run_goes_on(arm):
    run = Run(study_of(arm), arm)
    assert not run.go(lambda at: at.t > 0.1)
    part, until = run.result(), run.t
    run.go()
    assert run.result().extreme("shoulder").least < part.extreme("shoulder").least
    assert all(found.most_at <= until and found.least_at <= until for found in part.info.extremes.values())


def test_a_run_that_goes_on_without_a_sample_has_its_own_extremes(arm):
    short = IntegratorOptions(max_step=1e-4)
    run = Run(study_of(arm, 1.0).with_changes(outputs=Outputs(step=1.0), integrator=short), arm)
    assert not run.go(lambda at: at.t > 0.1)
    before, reached = run.result(), run.t
    assert not run.go(lambda at: at.t > reached + 0.1)
    assert len(run.result()) == len(before)
    assert run.t > reached
    assert run.result().extreme("shoulder").least < before.extreme("shoulder").least


def test_a_look_that_was_interrupted_is_taken_again(arm, monkeypatch):
    """What is left of the motion is there until all of it was looked at."""
    runs = [Run(study_of(arm), arm) for _ in range(2)]
    for run in runs:
        run.go()
    whole, asked = (run.result() for run in runs)
    search = extremes.search_together

    def interrupted(requests):
        monkeypatch.setattr(extremes, "search_together", search)
        raise KeyboardInterrupt

    monkeypatch.setattr(extremes, "search_together", interrupted)
    with pytest.raises(KeyboardInterrupt):
        asked.extreme("tip.deflection")
    assert asked.info.extremes == whole.info.extremes
    assert copy.deepcopy(asked.info.extremes) == dict(whole.info.extremes)


def test_much_is_looked_at_at_once(arm, monkeypatch):
    """A result does not keep all steps of a long run."""
    monkeypatch.setattr("pliant.simulation.monitoring.extremes.WAITING", 100)
    run = Run(study_of(arm), arm)
    run.go()
    assert run.result().extreme("tip.deflection").most > 0
    assert run.extremes._kept == 0


@pytest.mark.parametrize("name", ["canadarm", "two-link", "single-link"])
def test_what_cannot_leave_its_range_is_told_without_a_look(name):
    """The bound is one: what was found is never beyond it, and it is not far off."""
    run = Run(load_study(name, changes={"until": 0.5}))
    run.go()
    ranges, followed = allowed_ranges(run.arm), run.extremes
    slopes = [name for name in ranges if name.endswith(".slope")]
    names = [*slopes, *run.arm.robot.joint_coordinates]
    parts = followed._moved.parts
    assert sum(len(part.times) for part in parts) > 10
    found = followed.extremes()
    followed._moved.parts = parts
    for each in names:
        size = max(abs(found[each].least), abs(found[each].most))
        assert each in followed.near({each: (-size * (1 - 1e-9), size * (1 - 1e-9))})
        assert each not in followed.near({each: (-20 * size, 20 * size)})
        # what is not followed is near
        assert followed.near({"nothing": (-1.0, 1.0)}) == {"nothing"}


def test_slopes_that_are_not_near_wait_for_a_question():
    result = run_study(load_study("two-link", changes={"until": 0.3}))
    late = result.info.extremes
    assert not any(name.endswith(".slope") for name in late._known)
    assert result.extreme("upper.slope").most > 0
    with pytest.warns(SimulationWarning, match="tip turns by"):
        simulate("single-flexible-link", until=0.1, start=Start(shape={"arm.bend_y.1": 0.5}), limits="ignore")
