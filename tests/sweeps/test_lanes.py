"""Runs of a sweep in the lanes of vector registers: each as if it were alone."""

import numpy as np
import pytest

import pliant
from pliant.engine.compile import jit
from pliant.engine.stepping.lane_system import LaneSystem
from pliant.simulation.integrators.compiled import STEPS_PER_CALL
from pliant.sweeps import work
from pliant.sweeps.ensemble import structure_key
from pliant.sweeps.work import SweepJob, run_chunk
from small_arms import boom

MASS, OUTPUTS = "arm.payloads[0].mass", ("hinge", "max(arm.deflection)", "peak(hinge.torque)", "final(work)")
# lanes do the same operations in the same order; processors may fuse them otherwise, which steps then follow
SAME = 1e-9


@pytest.fixture(scope="module")
def study():
    robot = boom(mass_per_length=0.53, EI=217.0, payload=0.23, damping={"ratio": 0.01})
    return pliant.Study(
        name="lift",
        robot=robot,
        until=0.4,
        drive={
            "pid": {
                "trajectory": {"quintic": {"to": {"hinge": 0.5}, "duration": 0.15, "start": 0.1}},
                "kp": 53,
                "kd": 2.3,
                "ki": 7.1,
            }
        },
        integrator={"method": "dop853"},
        outputs=pliant.Outputs(step=0.007),
    )


@pytest.fixture
def lanes_used(monkeypatch):
    """How many runs each call of the lanes had."""
    used, call = [], LaneSystem.dop853

    def counted(self, runs):
        used.append(len(runs))
        return call(self, runs)

    monkeypatch.setattr(LaneSystem, "dop853", counted)
    return used


def require_same(together, alone):
    assert together.reason == alone.reason
    assert together.notes == alone.notes
    assert together.values.keys() == alone.values.keys()
    for name, value in alone.values.items():
        np.testing.assert_allclose(together.values[name], value, rtol=SAME, atol=SAME, err_msg=name)


@pytest.mark.parametrize(
    "cases",
    [
        [{MASS: 0.11 + 0.0713 * k} for k in range(7)],
        [{"drive.kp[0]": 41.0 + 17.3 * k, "gravity[2]": -9.7 + 0.31 * k} for k in range(3)],
        [{"until": 0.013 + 0.093 * k} for k in range(4)],
        [{"integrator.tolerance": 10.0 ** -(4 + k)} for k in range(5)],
        [{"pose.hinge": 0.1 * k - 0.23, "drive.trajectory.to.hinge": 0.21 * k} for k in range(3)],
    ],
    ids=["robots", "gains and gravity", "ends", "tolerances", "motions"],
)
def test_cases_in_lanes_are_as_if_they_were_alone(study, cases, lanes_used):
    job = SweepJob(study, "simulate", OUTPUTS)
    together = run_chunk(job, cases)
    assert lanes_used
    assert max(lanes_used) > 1
    del lanes_used[:]
    alone = [job.rows([case])[0] for case in cases]
    assert not lanes_used
    for one, other in zip(together, alone, strict=True):
        assert not one.reason
        require_same(one, other)


def test_a_case_that_diverges_hurts_no_other(study, lanes_used):
    job = SweepJob(study, "simulate", OUTPUTS)
    # what overflows is no step that could be taken
    cases = [{"gravity[2]": g} for g in (-9.3, -1e200, -7.1, -3.3)]
    found = run_chunk(job, cases)
    assert max(lanes_used) > 1
    assert [bool(row.reason) for row in found] == [False, True, False, False]
    for row, case in zip(found, cases, strict=True):
        require_same(row, job.rows([case])[0])


def test_long_runs_come_back_between_their_calls(study, monkeypatch, lanes_used):
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", STEPS_PER_CALL // 200)
    job = SweepJob(study, "simulate", OUTPUTS)
    cases = [{MASS: 0.17 + 0.13 * k} for k in range(3)]
    found = run_chunk(job, cases)
    calls = len(lanes_used)
    monkeypatch.undo()
    # three intervals between the breaks of the motion need a call each
    assert calls > 3
    for row, case in zip(found, cases, strict=True):
        assert not row.reason
        require_same(row, job.rows([case])[0])


def test_robots_of_other_structures_find_their_own_kind(study, lanes_used):
    job = SweepJob(study, "simulate", OUTPUTS)
    # gravity in one direction has fewer terms than in two
    cases = [{"gravity[2]": g, "gravity[0]": x} for g, x in ((-9.7, 0.0), (-9.1, 0.31), (-8.3, 0.0), (-7.9, 0.43))]
    found = run_chunk(job, cases)
    assert set(lanes_used) == {2}
    for row, case in zip(found, cases, strict=True):
        assert not row.reason
        require_same(row, job.rows([case])[0])


def test_other_integrators_go_their_own_way(study, lanes_used):
    fixed = study.with_changes(integrator={"method": "rk4", "step": 1e-3})
    told = []
    found = pliant.sweep(fixed, {MASS: [0.17, 0.3]}, outputs=OUTPUTS, report=lambda at: told.append(at.alone))
    assert not found.failed
    assert not lanes_used
    # and that is told, while it runs and in the table
    assert found.info.alone == {"steps of rk4 are made for one run at a time": 2}
    assert told[-1] in found.info.alone


def test_few_cases_are_abreast(study, monkeypatch):
    """Each of them is a whole run in memory."""
    alive, most = set(), 0
    set_up, keep = work._SimulatedCase.set_up, work._SimulatedCase.keep

    def begun(self):
        nonlocal most
        alive.add(id(self))
        most = max(most, len(alive))
        return set_up(self)

    def ended(self):
        keep(self)
        alive.discard(id(self))

    monkeypatch.setattr(work._SimulatedCase, "set_up", begun)
    monkeypatch.setattr(work._SimulatedCase, "keep", ended)
    run_chunk(
        SweepJob(study.with_changes(until=0.01), "simulate", ("final(hinge)",)),
        [{MASS: 0.11 + 0.0137 * k} for k in range(2 * work.ABREAST)],
    )
    assert 1 < most <= work.ABREAST
    assert not alive


def test_cases_of_one_robot_have_one_dynamics(study, monkeypatch):
    made, begin = [], work.Run.last_samples

    def counted(self):
        made.append(self.arm)
        return begin(self)

    monkeypatch.setattr(work.Run, "last_samples", counted)
    job = SweepJob(study.with_changes(until=0.01), "simulate", ("final(hinge)",))
    job.rows([{"drive.kp[0]": 41.0 + k} for k in range(3)])
    job.rows([{MASS: 0.17 + 0.13 * k} for k in range(3)])
    assert len(set(map(id, made[:3]))) == 1
    assert len(set(map(id, made))) == 4


def test_joints_without_lanes_are_told(study):
    moved = study.with_changes(
        drive={"prescribed": {"trajectory": {"quintic": {"to": {"hinge": 0.5}, "duration": 0.15}}}}, until=0.2
    )
    found = run_chunk(SweepJob(moved, "simulate", ("final(hinge)",)), [{MASS: 0.17 + 0.13 * k} for k in range(2)])
    assert {row.alone for row in found} == {"joints with a prescribed motion have no lanes"}


def test_robots_with_loops_have_lanes(lanes_used):
    robot = pliant.load("four-bar")
    study = pliant.Study(
        name="turn",
        robot=robot,
        until=0.05,
        drive={"pid": {"trajectory": {"quintic": {"to": {"motor": 0.9}, "duration": 0.04}}, "kp": 21.0, "kd": 0.53}},
        integrator={"method": "dop853"},
        outputs=pliant.Outputs(step=0.005),
    )
    job = SweepJob(study, "simulate", ("motor", "peak(motor.torque)", "max(tip.deflection)"))
    cases = [{"drive.kp[0]": 17.3 + 5.7 * k, "gravity[0]": 0.13 * (k + 1)} for k in range(3)]
    found = run_chunk(job, cases)
    assert max(lanes_used) == min(len(cases), jit.lanes())
    for row, case in zip(found, cases, strict=True):
        assert (row.reason, row.alone) == ("", "")
        require_same(row, job.rows([case])[0])


def test_round_numbers_stay_in_the_lanes(study, lanes_used):
    wrist = pliant.Joint(name="wrist", type="revolute", axis="y", parent="arm.tip", spring={"stiffness": 17.0})
    tool = pliant.Link(name="tool", joint=wrist, rigid={"length": 0.13, "mass": 0.41, "com": [0.07, 0.0, 0.0]})
    longer = study.with_changes(
        robot=study.robot.with_changes(links=[*study.robot.links, tool]),
        until=0.1,
        drive={"pid": {"kp": 53, "kd": 2.3}},
    )
    place = "arm.beam.length"
    # a length of one needs no product, and one that is equal to another number no slot of its own
    cases = [{place: length} for length in (1.0, 0.5, 0.13, 0.71)]
    alone = [structure_key(pliant.Dynamics(longer.robot.set(place, case[place]))) for case in cases]
    assert len(set(alone)) > 1
    job = SweepJob(longer, "simulate", ("hinge", "max(arm.deflection)"))
    found = run_chunk(job, cases)
    assert set(lanes_used) == {min(len(cases), jit.lanes())}
    assert not any(row.reason for row in found)
    # the first by code of its own
    require_same(found[0], job.rows([cases[0]])[0])


def test_sampled_laws_tick_in_lanes(study, lanes_used):
    """Each lane has its own period, delay and end; signals come in blocks of ticks."""
    drive = study.drive.with_changes(sampling={"period": 3e-4, "delay": 2e-4})
    job = SweepJob(study.with_changes(drive=drive), "simulate", OUTPUTS)
    cases = [{MASS: 0.11 + 0.07 * k, "drive.sampling.period": (3 + 0.7 * k) * 1e-4} for k in range(3)]
    cases.append({"until": 0.113, "drive.sampling.delay": 0.0})
    together = run_chunk(job, cases)
    assert max(lanes_used) > 1
    del lanes_used[:]
    for one, other in zip(together, [job.rows([case])[0] for case in cases], strict=True):
        assert not one.reason
        require_same(one, other)
    assert not lanes_used
