"""The recipe for an integrator, followed from outside: one class (bogacki_shampine.py) and one registration."""

import numpy as np
import pytest

import pliant
from bogacki_shampine import BogackiShampine
from pliant.engine.stepping.steppers import STEPPERS, register
from pliant.simulation.run import Run
from pliant.sweeps.work import SweepJob, run_chunk
from small_arms import boom

RATE, UNTIL = 3.0, 2.0


@pytest.fixture(autouse=True)
def known():
    """The line that it needs."""
    register(BogackiShampine())
    yield
    del STEPPERS["bs32"]


def wheel():
    joint = pliant.Joint(name="hub", axis="z", spring=pliant.Spring(stiffness=RATE**2))
    body = pliant.Rigid(mass=1.0, inertia=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    link = pliant.Link(name="wheel", joint=joint, rigid=body)
    return pliant.Dynamics(pliant.Robot(name="wheel", gravity=(0.0, 0.0, 0.0), links=[link]))


def test_it_has_its_order_and_follows_its_tolerance():
    arm, errors = wheel(), []
    for count in (80, 160):
        h = UNTIL / count
        options = {"step": h, "max_step": h, "tolerance": 0.1, "absolute": 1e3}
        run = pliant.simulate(arm, until=UNTIL, start={"hub": 1.0}, method="bs32", **options)
        assert run.info.statistics["steps"] == count
        errors.append(abs(run.q[-1, 0] - np.cos(RATE * UNTIL)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3.0, abs=0.1)
    fine, rough = (
        abs(pliant.simulate(arm, until=UNTIL, start={"hub": 1.0}, method="bs32", tolerance=each).q[-1, 0] - np.cos(6.0))
        for each in (1e-8, 1e-5)
    )
    assert fine < 1e-6 < rough < 1e-2


@pytest.mark.parametrize("name", ["single-flexible-link", "four-bar"])
def test_it_runs_with_what_all_integrators_run_with(name):
    """Trees and loops, laws with states, sampled laws, functions of Python, all beside ``dop853``."""
    arm = pliant.Dynamics(name)
    q = arm.assemble()
    move = pliant.Quintic(to={each: q[arm.names.index(each)] + 0.1 for each in arm.inputs}, duration=0.01)
    pid = pliant.PID(trajectory=move, kp=20.0, kd=0.3, ki=10.0)
    k = arm.names.index(arm.inputs[0])
    drives = [pid, pid.with_changes(sampling={"period": 2e-3, "delay": 1e-3}), lambda t, q, v: [-0.3 * v[k]]]
    for drive in drives:
        until = 2e-3 if callable(drive) else 0.01
        options = {
            "until": until,
            "drive": drive,
            "start": pliant.Start(velocity={arm.inputs[0]: 0.5}),
            "limits": "ignore",
        }
        ours = pliant.simulate(arm, method="bs32", tolerance=1e-7, **options)
        exact = pliant.simulate(arm, method="dop853", tolerance=1e-10, **options)
        assert ours.info.method == "bs32"
        assert ours.q == pytest.approx(exact.q, abs=1e-6)


def test_it_resumes_bit_by_bit_and_says_that_it_has_no_lanes():
    robot = boom(mass_per_length=0.53, EI=217.0, payload=0.23)
    study = pliant.Study(name="b", robot=robot, until=0.05, integrator={"method": "bs32"}, outputs={"step": 1e-3})
    whole, part = Run(study), Run(study)
    assert whole.go()
    assert not part.go(lambda progress: progress.t > 0.02) or part.finished
    again = Run(study)
    again.recall({key: np.array(x) for key, x in part.memory().items()}, part.recorder.samples())
    assert again.go()
    assert (again.recorder.samples().q == whole.recorder.samples().q).all()
    rows = run_chunk(SweepJob(study, "simulate", ("hinge",)), [{"arm.payloads[0].mass": x} for x in (0.1, 0.2)])
    assert not any(row.reason for row in rows)


def test_a_name_that_is_not_known_is_refused():
    del STEPPERS["bs32"]
    with pytest.raises(pliant.ModelError, match="bs32"):
        pliant.simulate(wheel(), until=0.1, method="bs32")
    register(BogackiShampine())
