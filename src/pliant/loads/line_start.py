"""Where actuators along lines begin: states by name, pressures that balance the pose, lengths within their strokes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pydantic_core import PydanticCustomError

from pliant.analysis.line_forces import RestingLines, line_pushes
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, Problem, did_you_mean
from pliant.laws import Floats, LawState
from pliant.model.description.actuators import Actuator
from pliant.model.units import Quantity


def first_states(
    arm: Dynamics, q0: Floats, states: tuple[LawState, ...], given: Mapping[str, float | str], *, balance: bool
) -> dict[str, float]:
    """First values of states of actuators by name, where they are not those of the robot's description.

    states   those that there are
    given    values of a study, with units in text
    balance  whether pressures balance the pose q0 (n,)
    """
    require_strokes(arm, q0)
    known = {state.name: state for state in states}
    out: dict[str, float] = {}
    for name, value in given.items():
        if name not in known:
            hint = did_you_mean(name, known) or (f"; there are {', '.join(known)}" if known else "; there are none")
            problem = f"no actuator has a state '{name}'{hint}"
            raise ModelError(Problem("", problem, path=("states", name)))
        try:
            out[name] = float(
                Quantity(known[name].unit if known[name].unit in UNITS else "").read(value, {"units": True})
            )
        except PydanticCustomError as error:
            raise ModelError(Problem("", error.message(), path=("states", name))) from None
    if balance:
        pushes = line_pushes(arm, q0)
        for actuator in arm.robot.actuators:
            if actuator.name in pushes:
                found = balanced(actuator, pushes[actuator.name], {k: out.get(k, known[k].initial) for k in known}, out)
                out |= {name: value for name, value in found.items() if name in known and name not in out}
    return out


UNITS = ("Pa", "N", "m")


def balanced(actuator: Actuator, push: float, now: Mapping[str, float], given: Mapping[str, float]) -> dict[str, float]:
    """States of an actuator in which it pushes so much at rest.

    now    all states by name
    given  those that a study asks for: they stay
    """
    cylinder, name = actuator.cylinder, actuator.name
    if cylinder is None:
        return {f"{name}.force": push}
    area_A, area_B = cylinder.areas
    a, b, line = f"{name}.pA", f"{name}.pB", f"{name}.pL"
    if a in given and b in given:
        raise ModelError(f"pressures: balance finds a pressure of '{name}', and both are given; leave one out")
    p_A = (push + now[b] * area_B) / area_A
    if a in given or p_A < cylinder.tank:
        p_B = (now[a] * area_A - push) / area_B
        if p_B < 0.0:
            raise ModelError(
                f"'{name}' pushes {push:.4g} N in this pose; no pressure of B does that with A at {now[a]:.4g} Pa"
            )
        return {b: p_B, line: now[a]}
    return {a: p_A, line: p_A}


def require_strokes(arm: Dynamics, q0: Floats) -> None:
    """Refuse a first configuration (n,) in which an actuator is shorter or longer than it can be."""
    lines = RestingLines(arm)
    for actuator, line in zip(lines.actuators, lines.at(q0), strict=True):
        bounds = actuator.pushes.range()
        if bounds is not None and not bounds[0] <= line.length <= bounds[1]:
            span = (
                f"{bounds[0]:.4g} to {bounds[1]:.4g} m" if np.isfinite(bounds[1]) else f"longer than {bounds[0]:.4g} m"
            )
            raise ModelError(
                f"actuator '{actuator.name}' is {line.length:.4g} m long at the start; it can be {span}: begin in "
                "another pose, or change retracted, stroke or the places of its ends"
            )
