"""A drive and a load that the package does not know, each a class and a line, against an independent integration.

They follow the recipes of CONTRIBUTING.md. What is written here is all that a new kind needs.
"""

import re
from typing import NamedTuple

import numpy as np
import pytest
from pydantic import Field
from scipy.integrate import solve_ivp

from pliant import Dynamics, Study
from pliant.drives.drive import Drive, DriveLaw
from pliant.drives.drive_kinds import DRIVES
from pliant.drives.drive_kinds import register as register_drive
from pliant.errors import ModelError
from pliant.laws import Action, LawState, measured, numbers_in_code
from pliant.loads.load import Load, LoadElement
from pliant.loads.load_kinds import LOADS
from pliant.loads.load_kinds import register as register_load
from pliant.model.units import Number
from pliant.simulation.integrators.compiled import CompiledIntegrator
from pliant.simulation.integrators.integrator import Tolerance
from pliant.simulation.run import Run
from pliant.sweeps.work import SweepJob, run_chunk

# of states of about one: both integrations at a tolerance of 1e-11 or so
INDEPENDENT = 1e-8
# of the energy that is moved: the balance follows the steps
BALANCE = 1e-9


# ---------------------------------------------------------------- a drive: one class of keys, one law


class VelocityLoop(Drive):
    """Motors with a current i on a voltage u = kp (w_d - w) + ki int (w_d - w) dt: L i' = u - R i - k w, tau = k i."""

    kind = "velocity_loop"
    rate: Number = Field(description="desired rate of all inputs after a soft start")
    kp: Number = Field(default=40.0, description="gain of the rate's error, V s")
    ki: Number = Field(default=300.0, description="gain of its integral, V")
    k: Number = Field(default=0.8, description="torque constant, N m/A")
    R: Number = Field(default=0.7, description="resistance, Ohm")
    L: Number = Field(default=0.02, description="inductance, H")

    def bind(self, around, q0):
        return VelocityLaw(around, self)


class VelocityLaw(DriveLaw):
    def __init__(self, around, keys):
        self.B, self.rate = around.arm.B, keys.rate
        self.gains = (keys.kp, keys.ki, keys.k, keys.R, keys.L)
        self.channels = len(around.inputs)
        currents = [LawState(f"current.{name}", "A") for name in around.inputs]
        self.states = (*currents, *(LawState(f"turned.{name}", "rad", 0.01) for name in around.inputs))

    @property
    def structure(self):
        return "velocity loop", numbers_in_code(self.B)

    def signals(self, t):
        return np.repeat(self.rate * (1 - np.exp(-20 * t))[:, None], self.channels, axis=1)

    def efforts(self, q, v, z, signals, gains):
        kp, ki, k, R, L = gains
        m = self.channels
        current, turned = z[:m], z[m:]
        errors = [w_d - w for w_d, w in zip(signals, measured(self.B, v), strict=True)]
        u = [kp * error + ki * x for error, x in zip(errors, turned, strict=True)]
        rates = [(a - R * i - k * w) / L for a, i, w in zip(u, current, measured(self.B, v), strict=True)]
        stored, lost = (sum(i * i for i in current) * x for x in (0.5 * L, R))
        power = sum(a * i for a, i in zip(u, current, strict=True))
        return Action([k * i for i in current], [*rates, *errors], stored, lost, power)


# ---------------------------------------------------------------- a load: one class of keys, one law


class Maxwell(LoadElement):
    """A spring and a dashpot in series between a coordinate and the place where it starts."""

    kind = "maxwell"
    joint: str = Field(description="coordinate on which it acts")
    stiffness: Number = Field(description="of the spring")
    damping: Number = Field(description="of the dashpot")

    def bind(self, arm):
        return MaxwellLaw(self.joint, arm.names.index(self.joint), self.stiffness, self.damping)


class MaxwellLaw(Load):
    """F = k (q - d) with the elongation d of the dashpot, d' = F/c."""

    def __init__(self, name, index, k, c):
        self.index, self.gains = index, (k, c)
        self.states = (LawState(f"dashpot.{name}", "rad"),)

    @property
    def structure(self):
        return "maxwell", self.index

    def efforts(self, q, v, z, signals, gains):
        k, c = gains
        F = k * (q[self.index] - z[0])
        force = [-F if i == self.index else 0.0 for i in range(len(q))]
        return Action(force, [F / c], F * F / (2 * k), F * F / c, supplied=0.0)


@pytest.fixture(autouse=True)
def known():
    """The line that each of them needs."""
    register_drive(VelocityLoop)
    register_load(Maxwell)
    yield
    del DRIVES.kinds["velocity_loop"], LOADS.kinds["maxwell"]


# ---------------------------------------------------------------- what they do

ROBOTS = {"two-link-flexible": ("elbow", 0.1), "four-bar": ("", 0.05)}


def given(name, method="auto", **options):
    """A study of a robot, written as in a file."""
    arm = Dynamics(name)
    joint = ROBOTS[name][0] or arm.inputs[0]
    data = {
        "name": "new laws",
        "robot": arm.robot,
        "until": ROBOTS[name][1],
        "drive": {"velocity_loop": {"rate": 0.6}},
        "loads": [{"maxwell": {"joint": joint, "stiffness": 40.0, "damping": 3.0}}],
        "integrator": {"method": method, "tolerance": 1e-11},
        "limits": "ignore",
        "outputs": {"step": 0.01},
    }
    return Study(**{**data, **options}), arm, arm.names.index(joint)


def independent(study, arm, index):
    """scipy on the same robot; the laws are written down once more, without the classes above."""
    n, m = arm.size, len(arm.inputs)
    q0, v0 = study.start.state(arm)
    kp, ki, k, R, L, stiffness, damping = 40.0, 300.0, 0.8, 0.7, 0.02, 40.0, 3.0

    def rates(t, y):
        q, v, i, x, d = np.split(y, np.cumsum([n, n, m, m]))
        error = 0.6 * (1 - np.exp(-20 * t)) - arm.B.T @ v
        force = np.zeros(n)
        force[index] = -stiffness * (q[index] - d[0])
        a = arm.forward(q, v, k * i, force=force)
        di = (kp * error + ki * x - R * i - k * (arm.B.T @ v)) / L
        return np.concatenate([v, a, di, error, -force[[index]] / damping])

    y0 = np.concatenate([q0, v0, np.zeros(m), np.full(m, 0.01), np.zeros(1)])
    found = solve_ivp(rates, (0, study.until), y0, method="DOP853", rtol=1e-12, atol=1e-13)
    return found.y[:, -1]


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_new_laws_against_an_independent_integration(name, method):
    study, arm, index = given(name, method)
    run = Run(study, arm)
    run.go()
    # every step was taken by machine code
    assert isinstance(run.integrator, CompiledIntegrator)
    assert not run.integrator.steps_in_python
    result, m = run.result(), len(arm.inputs)
    wanted = independent(study, arm, index)
    names = [f"drive.current.{each}" for each in arm.inputs] + [f"drive.turned.{each}" for each in arm.inputs]
    names.append(f"load.dashpot.{arm.names[index]}")
    states = np.column_stack([result[each] for each in names])
    q, v, z = np.split(wanted, [arm.size, 2 * arm.size])
    assert result.q[-1] == pytest.approx(q, abs=INDEPENDENT)
    assert states[-1] == pytest.approx(z, abs=INDEPENDENT * max(1.0, np.abs(z).max()))
    assert result.v[-1] == pytest.approx(v, abs=INDEPENDENT * max(1.0, np.abs(v).max()) * 100)
    assert result.unit(names[0]) == "A"
    # efforts of the result come from the same text on columns
    assert result.samples.tau == pytest.approx(0.8 * states[:, :m], rel=1e-12)
    # what inductances and the spring hold is part of the balance, and nothing comes to the load from outside
    F = 40.0 * (result.q[:, index] - states[:, -1])
    held = 0.01 * (states[:, :m] ** 2).sum(axis=1) + F**2 / 80.0
    assert result["energy.stored"] == pytest.approx(held, rel=1e-12)
    assert not result["work.loads"].any()
    assert np.abs(result["energy.balance"]).max() < BALANCE * moved(result)


def moved(result):
    """Energy that a run turned over, J."""
    return np.abs(result["work"]).max() + result["dissipated"].max()


class Wrong(NamedTuple):
    """What a law says of its energies, times these factors."""

    stored: float = 1.0
    lost: float = 1.0
    supplied: float = 1.0


@pytest.mark.parametrize(
    ("law", "wrong"),
    [
        (VelocityLaw, Wrong(stored=-1.0)),
        (VelocityLaw, Wrong(lost=-1.0)),
        (VelocityLaw, Wrong(supplied=-1.0)),
        (MaxwellLaw, Wrong(stored=-1.0)),
        (MaxwellLaw, Wrong(lost=-1.0)),
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_the_balance_fails_where_a_law_says_wrong_energies(law, wrong, compiled, monkeypatch):
    right = law.efforts

    def efforts(self, *given):
        found = right(self, *given)
        factors = zip(("stored", "lost", "supplied"), wrong, strict=True)
        return found._replace(**{name: getattr(found, name) * factor for name, factor in factors})

    monkeypatch.setattr(law, "efforts", efforts)
    monkeypatch.setattr(law, "structure", property(lambda self: (law.__name__, wrong)))
    study, arm, _ = given("two-link-flexible", "dop853")
    run = Run(study, arm if compiled else Dynamics(arm.robot, compile="never"))
    run.go()
    result = run.result()
    assert np.abs(result["energy.balance"]).max() > 1e-4 * moved(result)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_ideal_source_is_supplied_what_the_robot_takes_and_what_is_lost(compiled, monkeypatch):
    """A law that does not say what comes in: its own energy is in no balance, its losses are."""
    right = VelocityLaw.efforts
    monkeypatch.setattr(VelocityLaw, "efforts", lambda self, *given: right(self, *given)._replace(supplied=None))
    monkeypatch.setattr(VelocityLaw, "structure", property(lambda self: "ideal source"))
    study, arm, index = given("two-link-flexible", "dop853")
    run = Run(study, arm if compiled else Dynamics(arm.robot, compile="never"))
    run.go()
    result = run.result()
    F = 40.0 * (result.q[:, index] - result["load.dashpot.elbow"])
    assert result["energy.stored"] == pytest.approx(F**2 / 80.0, rel=1e-12)
    assert np.abs(result["energy.balance"]).max() < BALANCE * moved(result)


@pytest.mark.parametrize("name", ROBOTS)
def test_without_machine_code_the_same_text_runs_on_floats(name):
    study, arm, _ = given(name, "dop853")
    fast, slow = Run(study, arm), Run(study, Dynamics(arm.robot, compile="never"))
    for run in (fast, slow):
        run.go()
    assert slow.integrator.steps_in_python
    assert not fast.integrator.steps_in_python
    found, wanted = fast.result().samples, slow.result().samples
    for part in ("q", "states", "work"):
        assert getattr(found, part) == pytest.approx(getattr(wanted, part), abs=INDEPENDENT)


@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_runs_with_new_laws_go_on_to_the_last_bit(method, monkeypatch):
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 10)
    study, arm, _ = given("two-link-flexible", method, integrator={"method": method, "tolerance": 1e-7})
    whole, first, second = (Run(study, arm) for _ in range(3))
    whole.go()
    assert not first.go(lambda at: True)
    assert 0 < first.t < study.until
    memory, samples = first.memory(), first.recorder.samples()
    first.go()
    second.recall(memory, samples)
    second.go()
    assert second.recorder.samples() == whole.recorder.samples()
    assert second.integrator.statistics == whole.integrator.statistics


def test_cases_of_a_sweep_stand_in_lanes():
    """Each with its own gains of drive and load, as if it were alone."""
    study, _, _ = given("two-link-flexible", "dop853", integrator={"method": "dop853", "tolerance": 1e-8})
    outputs = ("max(elbow)", "final(drive.current.elbow)", "final(load.dashpot.elbow)", "final(dissipated)")
    cases = [{"drive.kp": 30.0 + 5 * k, "loads[0].stiffness": 20.0 + 9 * k} for k in range(3)]
    job = SweepJob(study, "simulate", outputs)
    together, alone = run_chunk(job, cases), [job.rows([case])[0] for case in cases]
    for one, other in zip(together, alone, strict=True):
        assert not one.reason
        for key, value in other.values.items():
            assert one.values[key] == pytest.approx(value, rel=1e-7, abs=1e-9), key
    assert len({row.values["final(drive.current.elbow)"] for row in together}) == len(cases)


def test_what_is_wrong_in_them_is_said_with_its_place():
    with pytest.raises(ModelError, match=r"drive\.velocity_loop: unknown key 'rates'; did you mean 'rate'\?"):
        given("two-link-flexible", drive={"velocity_loop": {"rates": 0.6}})
    with pytest.raises(ModelError, match=r"unknown load 'maxwel'; it must be 'contact' or 'maxwell'"):
        given("two-link-flexible", loads=[{"maxwel": {}}])


def test_states_of_laws_have_tolerances_of_their_own():
    """Their scale times that of the study, or what a group of names says."""
    study, arm, _ = given("two-link-flexible", integrator={"absolute": 1e-9, "groups": {"load.*": 1e-5}})
    run = Run(study, arm)
    own = run.settings.tolerance.absolute[run.equations.layout.drive]
    assert own == pytest.approx([1e-9, 1e-9, 1e-9, 1e-9, 1e-5], rel=1e-12)
    run.equations.drive.states = tuple(state._replace(scale=100.0) for state in run.equations.drive.states)
    own = Tolerance.of(run.equations, 1e-8, 1e-9).absolute[run.equations.layout.drive]
    assert own == pytest.approx([1e-7, 1e-7, 1e-7, 1e-7, 1e-9], rel=1e-12)
    # by any pattern, without the beginning of their names too
    run = Run(given("two-link-flexible", integrator={"absolute": 1e-9, "groups": {"*dashpot*": 1e-5}})[0], arm)
    assert run.settings.tolerance.absolute[run.equations.layout.drive][-1] == pytest.approx(1e-5, rel=1e-12)
    for pattern in ("load.x", "*.pressure"):
        with pytest.raises(ModelError, match=rf"tolerance of '{re.escape(pattern)}': no coordinate has such a name"):
            Run(given("two-link-flexible", integrator={"groups": {pattern: 1e-5}})[0], arm)
