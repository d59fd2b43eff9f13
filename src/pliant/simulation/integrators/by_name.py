"""Integrators by their names, in machine code where Python has no part in a step."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from math import inf
from typing import Any

from pliant.engine.stepping.steppers import STEPPERS
from pliant.simulation.integrators.integrator import Floats, Integrator, Settings
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import SCIPY_METHODS, round_step

FIXED_REACH = 1.0
"""Step times fastest rate of the fixed-step methods when no step is given."""


def _found(place: tuple[str, str]) -> Any:
    return getattr(import_module(f"pliant.simulation.integrators.{place[0]}"), place[1])


def needs_step(method: str, settings: Settings) -> bool:
    """Whether a method takes equal steps whose size nobody gave."""
    return method in STEPPERS and STEPPERS[method].fixed and settings.step is None


def ticks_in_steps(method: str, equations: StateEquations) -> bool:
    """Whether the steps of a method end at the ticks of a sampled law and take them, too; else a run does."""
    return equations.drive.in_steps() is not None and method in STEPPERS and find_spec("llvmlite") is not None


def make_integrator(
    method: str, equations: StateEquations, t: float, y: Floats, settings: Settings, fastest: float
) -> Integrator:
    """The integrator of a name, at a state."""
    if needs_step(method, settings):
        settings = replace(settings, step=round_step(FIXED_REACH / max(fastest, 1.0)))
    if method == "gauss" and not equations.count:
        # nothing moves but what is told to: energies alone are integrated
        method = "dop853"
    made: Integrator
    stepper = STEPPERS.get(method)
    if stepper is not None and find_spec("llvmlite") is None:
        # steps of given size are its longest ones
        if stepper.fixed:
            settings = replace(settings, max_step=min(settings.max_step, settings.step or inf))
        made = _found(("scipy_solver", "ScipySolver"))(equations, t, y, settings, stepper.substitute)
    elif stepper is not None:
        from pliant.simulation.integrators import compiled

        law = compiled.compilable(equations)
        made = compiled.CompiledIntegrator(stepper, equations, t, y, settings, law)
    elif method == "sundials":
        made = _found(("sundials", "Sundials"))(equations, t, y, settings)
    else:
        kind = method.removeprefix("scipy:")
        if method == kind or kind not in SCIPY_METHODS:
            raise ValueError(f"method is {method!r}; it is not known")
        made = _found(("scipy_solver", "ScipySolver"))(equations, t, y, settings, kind)
    return made
