"""Hydraulic cylinders: tables of independent code, equations by hand, balances of energy, words of refusal."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from boom_robots import COMMAND, CYLINDER, REFERENCE, counterbalanced_boom, rigid_boom
from pliant import Dynamics, Robot, Study
from pliant.analysis.line_forces import line_pushes
from pliant.errors import ModelError
from pliant.simulation.run import Run
from pliant.sweeps.work import SweepJob, run_chunk

# of the largest value of a column, at a tolerance of 1e-8
INDEPENDENT = 1e-6
# of the energy that is turned over, at a tolerance of 1e-8
BALANCE = 1e-8


def ran(robot, until=3.5, **options):
    data = {"robot": robot, "until": until, "integrator": {"tolerance": 1e-8}, "outputs": {"step": 0.05}}
    run = Run(Study(**{**data, **options}))
    run.go()
    return run


def turned_over(found):
    return np.ptp(found["work.loads"]) + np.ptp(found["energy.gravity"]) + np.ptp(found["dissipated"])


def compare(found, case, channels):
    table = np.array(case["table"])
    rows = np.rint(table[:, 0] / 0.05).astype(int)
    assert found.time[rows] == pytest.approx(table[:, 0], abs=1e-12)
    for k, name in enumerate(channels):
        column = table[:, k + 1]
        assert found[name][rows] == pytest.approx(column, abs=INDEPENDENT * np.abs(column).max()), name


@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_a_cylinder_lifts_a_rigid_boom(method):
    run = ran(rigid_boom(), commands={"lift": COMMAND}, integrator={"method": method, "tolerance": 1e-8})
    found = run.result()
    compare(found, REFERENCE["cylinder_rigid_boom"], ("luff", "luff.rate", "lift.pA", "lift.pB", "lift.u"))
    assert np.abs(found["energy.balance"]).max() < BALANCE * turned_over(found)
    area_A, area_B = (np.pi / 4 * x for x in (0.01, 0.01 - 0.056**2))
    rate = found["lift.rate"]
    dry = (1500 + 1000 / (1 + (rate / 0.02) ** 2)) * np.tanh(rate / 0.002)
    push = found["lift.pA"] * area_A - found["lift.pB"] * area_B - 2000 * rate - dry
    assert found["lift.push"] == pytest.approx(push, rel=1e-9)


def test_a_counterbalance_valve_holds_the_boom():
    options = {"commands": {"lift": COMMAND}, "start": {"states": {"lift.pL": "30 bar"}}}
    runs = {line: ran(counterbalanced_boom(line), **options) for line in (1e-3, 1e-4, 2e-5)}
    found = runs[1e-4].result()
    names = ("luff", "luff.rate", "lift.pL", "lift.pA", "lift.pB", "lift.u")
    compare(found, REFERENCE["cylinder_counterbalance"], names)
    assert np.abs(found["energy.balance"]).max() < BALANCE * turned_over(found)
    # whatever the volume of its line, implicit steps are as long
    steps = [run.integrator.statistics.steps for run in runs.values()]
    assert {run.method for run in runs.values()} == {"esdirk"}
    assert max(steps) < 1.1 * min(steps)


def test_chambers_alone_are_stepped_explicitly():
    assert Run(Study(robot=rigid_boom(), until=3.5, commands={"lift": COMMAND})).method == "dop853"


def test_oil_is_a_spring_where_the_valves_are_shut():
    arm = Dynamics(Robot.model_validate(rigid_boom()))
    found = pliant.modes(arm)
    assert found.hertz[0] == pytest.approx(REFERENCE["cylinder_closed_valve"]["frequency_Hz"], rel=1e-9)
    cylinder = arm.robot.actuators[0].cylinder
    length = np.linalg.norm(arm.pose("boom.eye", arm.reference_pose()).position - np.array([0.6, 0.0, -1.0]))
    wanted = REFERENCE["cylinder_rigid_boom"]["oil_stiffness_at_start_N_per_m"]
    assert -cylinder.spring_of(length).slope == pytest.approx(wanted, rel=1e-12)


def test_equilibrium_and_a_balanced_start_push_alike():
    start = REFERENCE["cylinder_rigid_boom"]["start"]
    areas = np.pi / 4 * np.array([0.01, 0.01 - 0.056**2])
    push = start["pA"] * areas[0] - start["pB"] * areas[1]
    robot = rigid_boom()
    del robot["actuators"][0]["cylinder"]["pressures"]
    arm = Dynamics(Robot.model_validate(robot))
    assert pliant.equilibrium(arm).pushes["lift"] == pytest.approx(push, rel=1e-9)
    assert line_pushes(arm, arm.reference_pose())["lift"] == pytest.approx(push, rel=1e-9)
    run = ran(arm.robot, 0.5, start={"pressures": "balance", "states": {"lift.pB": "30 bar"}})
    found = run.result()
    assert found["lift.pA"][0] == pytest.approx(start["pA"], rel=1e-9)
    # it creeps by its leakage only
    assert np.abs(found["luff"] - 0.2).max() < 5e-5
    with pytest.raises(ModelError, match="both are given"):
        ran(arm.robot, 0.1, start={"pressures": "balance", "states": {"lift.pA": 1e6, "lift.pB": 1e6}})


# ---------------------------------------------------------------- everything at once, by hand

FULL = {
    **deepcopy(CYLINDER),
    "air": 0.005,
    "drain": 1e-13,
    "cushion": {"length": 0.05, "least": 0.05},
    "stops": {"stiffness": 5e7, "loss": 0.2},
    "pressures": [40e5, 60e5],
    "valve": {"flow": 0.001, "drop": 35e5, "tank": 3e5, "lag": 0.02, "rate": 4.0, "overlap": 0.05},
}
# of the largest value: a bounce at a stop multiplies what both integrations leave
BOUNCING = 2e-5
PUMP = {"name": "pump", "pressure": 180e5, "flow": 5e-4, "volume": 1e-3, "droop": 10e5, "feeds": ["push"]}


def slide(cylinder=None, **actuator):
    """A mass of 800 kg on a level slide, pushed by a cylinder along it."""
    base = {"frame": "base", "position": [-1.1 if cylinder is FULL else -1.3, 0, 0]}
    return {
        "name": "slide",
        "links": [
            {
                "name": "mass",
                "joint": {"name": "x", "type": "prismatic", "axis": "x", "actuated": False},
                "rigid": {"mass": 800.0, "com": [0, 0, 0], "inertia": 1.0},
            }
        ],
        "actuators": [
            {"name": "push", "frames": [base, "mass.root"], **(actuator or {"cylinder": cylinder})}
        ],
    }  # fmt: skip


def by_hand(t, y):
    """x, x', pA, pB, u, pS of the slide, from the formulas on paper."""
    x, v, pA, pB, u, pS = y
    AA, AB = np.pi / 4 * 0.01, np.pi / 4 * (0.01 - 0.056**2)
    s, S, k, pT, p0 = 1.1 + x - 0.95, 0.9, 0.001 / np.sqrt(35e5), 3e5, 101325.0

    def bulk(p, air=0.005, K=1.2e9):
        oil, gas = np.exp(-p / K), air * p0 / (p + p0)
        return (oil + gas) / (oil / K + gas / (p + p0))

    def root(dp):
        return dp / (dp * dp + 1e10) ** 0.25

    command = 1.0 if t < 0.8 else -0.8
    a, b = max(u - 0.05, 0.0), max(-u - 0.05, 0.0)
    left_A, left_B = (0.05 + 0.95 * np.clip(d / 0.05, 0, 1) for d in (s, S - s))
    in_A, in_B = k * a * root(pS - pA), k * b * root(pS - pB)
    out_A, out_B = k * b * root(pA - pT) * left_A, k * a * root(pB - pT) * left_B
    leak, drain = 2e-13 * (pA - pB), 1e-13 * (pB - pT)
    dry = (1500 + 1000 / (1 + (v / 0.02) ** 2)) * np.tanh(v / 0.002)
    stop = max(-5e7 * min(s, 0) * (1 - 0.2 * v), 0) - max(5e7 * max(s - S, 0) * (1 + 0.2 * v), 0)
    force = pA * AA - pB * AB - 2000 * v - dry + stop
    pump = np.clip(5e-4 / 10e5 * (180e5 - pS), 0, 5e-4)
    return [
        v,
        force / 800,
        bulk(pA) / (5e-4 + AA * s) * (in_A - out_A - AA * v - leak),
        bulk(pB) / (5e-4 + AB * (S - s)) * (in_B - out_B + AB * v + leak - drain),
        np.clip((command - u) / 0.02, -4, 4),
        1.2e9 / 1e-3 * (pump - in_A - in_B),
    ]


def test_everything_at_once_is_as_on_paper():
    """Air, overlap, a limited spool, a pump at its limit, cushions and a stop."""
    robot = {**slide(FULL), "supplies": [PUMP]}
    run = ran(robot, 4.0, commands={"push": "1 - 1.8*step(t - 0.8)"}, integrator={"method": "dop853"})
    found = run.result()
    wanted = np.zeros((6, 0))
    y = [0.0, 0.0, 40e5, 60e5, 0.0, 180e5]
    for span in ((0.0, 0.8), (0.8, 4.0)):
        times = found.time[(found.time >= span[0] - 1e-9) & (found.time <= span[1] + 1e-9)]
        part = solve_ivp(by_hand, span, y, method="LSODA", rtol=1e-10, atol=1e-9, t_eval=np.clip(times, *span)).y
        wanted, y = np.hstack([wanted[:, : -1 if wanted.size else None], part]), part[:, -1]
    for name, column in zip(("x", "x.rate", "push.pA", "push.pB", "push.u", "pump.p"), wanted, strict=True):
        assert found[name] == pytest.approx(column, abs=BOUNCING * np.abs(column).max()), name
    assert found["push.length"].min() < 0.95
    assert found["pump.p"].min() < 100e5
    assert np.abs(found["energy.balance"]).max() < BALANCE * turned_over(found)
    assert any("'push' is at the end of its stroke" in text for text in found.warnings)


def test_the_same_text_runs_without_machine_code():
    robot = {**slide(FULL), "supplies": [PUMP]}
    fast, slow = (
        ran(robot, 0.1, commands={"push": 1.0}, compile=compile, outputs={"step": 0.01}).result()
        for compile in (True, False)
    )
    for name in ("x", "push.pA", "pump.p", "energy.stored"):
        assert fast[name] == pytest.approx(slow[name], rel=1e-7, abs=1e-9)


# ---------------------------------------------------------------- commands


def test_a_controller_of_the_length_brings_it_there():
    control = {"length": 1.45, "kp": 20.0, "ki": 40.0, "limit": 1.0}
    cylinder = {**CYLINDER, "pressures": [40e5, 64e5]}
    found = ran(slide(cylinder), 5.0, commands={"push": control}).result()
    assert found["push.length"][-1] == pytest.approx(1.45, abs=1e-3)
    assert np.abs(found["push.u"]).max() <= 1.0
    assert np.isfinite(found["push.integral"]).all()


def test_a_commanded_force_has_its_limit_and_its_lag():
    force = {"limit": 400.0, "lag": 0.1}
    found = ran(slide(force=force), 2.0, commands={"push": "600 N"}).result()
    t = found.time
    assert found["push.force"] == pytest.approx(400 * (1 - np.exp(-t / 0.1)), abs=1e-5)
    assert found["x"] == pytest.approx(0.5 * (t**2 / 2 - 0.1 * (t - 0.1 * (1 - np.exp(-t / 0.1)))), abs=1e-8)
    assert np.abs(found["energy.balance"]).max() < 1e-8 * np.ptp(found["work.loads"])


@pytest.mark.parametrize("exponent", [1.0, 1.4])
def test_a_gas_spring_keeps_its_energy(exponent):
    gas = {"force": 900.0, "length": 1.3, "column": 0.2, "exponent": exponent}
    robot = slide(gas=gas)
    robot["links"][0]["joint"]["spring"] = {"stiffness": 4000.0, "rest": 0.0}
    found = ran(robot, 1.0).result()
    assert found["push.push"] == pytest.approx(900 * (0.2 / (0.2 + found["x"])) ** exponent, rel=1e-12)
    assert np.abs(found["energy.balance"]).max() < 1e-8 * np.ptp(found["energy.kinetic"])


# ---------------------------------------------------------------- sweeps, resumption


def test_cases_of_a_sweep_stand_in_lanes():
    study = Study(
        robot=rigid_boom(), until=0.3, commands={"lift": "0.5*step(t - 0.1)"}, outputs={"step": 0.05},
        integrator={"method": "dop853", "tolerance": 1e-8},
    )  # fmt: skip
    cases = [{"lift.cylinder.bore": 0.1 + 0.01 * k, "lift.cylinder.leak": 1e-13 * (1 + k)} for k in range(3)]
    job = SweepJob(study, "simulate", ("final(luff)", "max(lift.pA)", "final(dissipated)"))
    together, alone = run_chunk(job, cases), [job.rows([case])[0] for case in cases]
    for one, other in zip(together, alone, strict=True):
        assert not one.reason
        for key, value in other.values.items():
            assert one.values[key] == pytest.approx(value, rel=1e-7, abs=1e-9), key


@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_runs_go_on_to_the_last_bit(method, monkeypatch):
    monkeypatch.setattr("pliant.simulation.integrators.compiled.STEPS_PER_CALL", 10)
    integrator = {"method": method, "tolerance": 1e-7}
    study = Study(robot=counterbalanced_boom(1e-3), until=0.3, commands={"lift": 0.3}, integrator=integrator)
    whole, first, second = (Run(study) for _ in range(3))
    whole.go()
    assert not first.go(lambda at: True)
    memory, samples = first.memory(), first.recorder.samples()
    second.recall(memory, samples)
    second.go()
    assert second.recorder.samples() == whole.recorder.samples()


# ---------------------------------------------------------------- words


def test_pressures_below_zero_are_told():
    cylinder = {**CYLINDER, "pressures": [5e5, 80e5]}
    found = ran(slide(cylinder), 0.3, start={"v": [-1.5]}, commands={"push": 0.0}).result()
    assert found["push.pB"].min() < 0
    assert any("pressure pB of 'push' is below that of the surroundings" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rod": 0.2}, "it must be thinner than the bore of 0.1 m"),
        ({"cushion": {"length": 0.6}}, "more than half of the stroke"),
        ({"valve": {**CYLINDER["valve"], "lag": None, "rate": 2.0}}, "has no rate; give lag too"),
        ({"valve": {"flow": 1e-3}}, "it has no supply: write supply: 200 bar"),
        ({"friction": {"coulomb": 10.0, "static": 5.0}}, "friction at rest is not less than in motion"),
        ({"dead": [0.0, 1e-3]}, "dead"),
        ({"pressures": [-1e5, 0.0]}, "must not be negative"),
        ({"bulk": "1 kg"}, "bulk"),
    ],
)
def test_what_is_wrong_in_a_cylinder_is_said(change, words):
    with pytest.raises(ModelError, match=words):
        Study(robot=rigid_boom(**change), until=1.0)


def test_a_start_beyond_the_stroke_is_refused():
    with pytest.raises(ModelError, match=r"actuator 'lift' is .* m long at the start; it can be 0.95 to 1.85 m"):
        Run(Study(robot=rigid_boom(), until=1.0, start={"position": {"luff": 1.4}}))


def test_wrong_commands_are_said():
    robot = rigid_boom()
    for commands, words in (
        ({"lfit": 1.0}, "no actuator 'lfit'; did you mean 'lift'"),
        ({"lift": "3 kN"}, "its unit is wrong"),
        ({"lift": "sin(q)"}, "cannot be read"),
    ):
        with pytest.raises(ModelError, match=words):
            Study(robot=robot, until=1.0, commands=commands)
    with pytest.raises(ModelError, match=r"no actuator has a state 'lift\.pC'"):
        Run(Study(robot=robot, until=1.0, start={"states": {"lift.pC": 1.0}}))
    with pytest.raises(ModelError, match="the robot has no actuators"):
        Run(Study(robot=pliant.load("two-link-flexible"), until=1.0, start={"pressures": "balance"}))


# ---------------------------------------------------------------- published


def test_a_published_forestry_crane_has_the_same_plateaus():
    """Pressures at full opening over the angle, up and down; the published run drifts by its valve gain."""
    run = Run(pliant.load_study("forestry-crane"))
    run.go()
    found = run.result()
    hinge, time = found["lift_hinge"], found.time
    way = {10.0: (time > 1.5) & (time < 6.4), -10.0: (time > 10.5) & (time < 14.9)}
    compared = 0
    for _, opening, theta, rate, p_A, p_B, stroke_rate, *_ in REFERENCE["published_patu655_lift_boom"]["table"]:
        on = way[opening]
        order = np.argsort(hinge[on])
        if not hinge[on].min() < theta < hinge[on].max():
            continue
        at = {
            name: np.interp(theta, hinge[on][order], found[name][on][order])
            for name in ("lift.pA", "lift.pB", "lift.rate", "lift_hinge.rate")
        }
        assert at["lift.pA"] == pytest.approx(p_A, rel=4e-3)
        assert at["lift.pB"] == pytest.approx(p_B, rel=4e-3)
        assert at["lift.rate"] == pytest.approx(stroke_rate, rel=5e-3)
        assert at["lift_hinge.rate"] == pytest.approx(rate, rel=1.5e-2)
        compared += 1
    assert compared >= 8
