"""(p) Booms on hydraulic cylinders: runs against real time, and implicit against explicit steps where oil is stiff.

The crane is a boom of three bending modes that a cylinder with a counterbalance valve luffs up and down; its line holds
so little oil that pressures follow ten thousand times as fast as the boom swings.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from report import Goal, Options, Row, Section
from timing import turns

import pliant

REAL_TIME = Goal(">=", 100.0)
STEPS = Goal("<=", 1.1)
COMMAND = "0.5*(step(t - 1) - step(t - 3)) - 0.3*(step(t - 6) - step(t - 8))"
UNTIL = 10.0
LINES = (1e-3, 1e-4, 2e-5)


def boom(line: float | None = 1e-4, modes: int = 3) -> pliant.Robot:
    """A boom of 6 m with 500 kg at its tip; line: oil before its counterbalance valve, m^3, None: without one."""
    valve: dict[str, Any] = {"flow": 1e-3, "drop": 35e5, "supply": 200e5, "tank": 10e5, "lag": 0.06}
    if line is not None:
        valve["counterbalance"] = {
            "ratio": 3.0, "crack": 120e5, "span": 30e5, "flow": 1.87e-3, "check": 3.74e-3, "line": line
        }  # fmt: skip
    cylinder = {
        "bore": 0.1, "rod": 0.056, "retracted": 0.95, "stroke": 0.9, "dead": [5e-4, 5e-4], "leak": 2e-13,
        "friction": {"viscous": 2000.0, "coulomb": 1500.0, "static": 2500.0}, "valve": valve,
    }  # fmt: skip
    link = {
        "name": "boom",
        "joint": {"name": "luff", "axis": [0, -1, 0], "actuated": False},
        "beam": {
            "length": 6.0,
            "properties": {"EIy": 2e7, "EIz": 2e7, "mass_per_length": 400.0 / 6.0},
            "modes": {"bend_z": modes},
            "damping": {"ratio": 0.01},
        },
        "frames": [{"name": "eye", "x": 1.6, "position": [0, 0, -0.15]}],
        "payloads": [{"mass": 500.0}],
    }
    lift = {
        "name": "lift",
        "frames": [{"frame": "base", "position": [0.6, 0, -1.0]}, "boom.eye"],
        "cylinder": cylinder,
    }
    return pliant.Robot.model_validate({"name": "boom", "links": [link], "actuators": [lift], "pose": {"luff": 0.2}})


def simulated(arm: pliant.Dynamics, **options: Any) -> pliant.Result:
    """The run of all cases."""
    start = pliant.Start(links="equilibrium", pressures="balance", states={"lift.pB": 3e6})
    return pliant.simulate(
        arm, until=UNTIL, start=start, commands={"lift": COMMAND}, output_step=0.01, **{"tolerance": 1e-6, **options}
    )


def measure(options: Options) -> Section:
    section = Section("booms", "Booms on hydraulic cylinders (processor time of a run)")
    arms = {line: pliant.Dynamics(boom(line)) for line in LINES}
    chambers = pliant.Dynamics(boom(None))
    runs = {
        "chambers alone, dop853": partial(simulated, chambers),
        "counterbalance valve, line of 0.1 l, esdirk": partial(simulated, arms[1e-4]),
        "the same, dop853": partial(simulated, arms[1e-4], method="dop853"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pliant.SimulationWarning)
        for run in runs.values():
            run()
        spent = {what: sum(pair) for what, pair in turns({k: partial(_prepared, f) for k, f in runs.items()}).items()}
        steps = {line: int(simulated(arm).info.statistics["steps"]) for line, arm in arms.items()}
    for what, seconds in spent.items():
        goal = None if what == "the same, dop853" else REAL_TIME
        section.add(Row("luffing boom, 3 modes", what, 1e3 * seconds, "ms", "real time", 1e3 * UNTIL, goal=goal))
    for line in LINES[1:]:
        what = f"steps with a line of {1e3 * line:g} l"
        section.add(
            Row("stiff oil", what, steps[line], "", "1 l", steps[LINES[0]], faster=False, goal=STEPS)
        )  # fmt: skip
    return section


def _prepared(run: Any) -> Any:
    return run
