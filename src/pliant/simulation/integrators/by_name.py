"""Integrators by their names, in machine code where Python has no part in a step."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from pliant.engine.stepping.steppers import STEPPERS
from pliant.simulation.integrators.integrator import Floats, Integrator, Settings
from pliant.simulation.state_equations import StateEquations
from pliant.simulation.study import SCIPY_METHODS, round_step

FIXED_REACH = 1.0
"""Step times fastest rate of the fixed-step methods when no step is given."""

IN_PYTHON, COMPILED = 0, 1
STEPPED = {
    "dop853": (("dop853", "DOP853"), ("compiled", "CompiledDOP853")),
    "gauss": (("gauss", "Gauss"), ("compiled_gauss", "CompiledGauss")),
    "esdirk": (("esdirk", "ESDIRK"), ("compiled", "CompiledESDIRK")),
    "generalised-alpha": (("generalised_alpha", "GeneralisedAlpha"), ("compiled", "CompiledGeneralisedAlpha")),
    "rk4": (("fixed_step", "RK4"), ("compiled", "CompiledRK4")),
    "semi-implicit": (("fixed_step", "SemiImplicit"), ("compiled", "CompiledSemiImplicit")),
}
"""Name -> module and class, in Python and in machine code; they are imported when they are asked for."""


def _found(place: tuple[str, str]) -> Any:
    return getattr(import_module(f"pliant.simulation.integrators.{place[0]}"), place[1])


def make_integrator(
    method: str, equations: StateEquations, t: float, y: Floats, settings: Settings, fastest: float
) -> Integrator:
    """The integrator of a name, at a state."""
    if method in STEPPERS and STEPPERS[method].fixed and settings.step is None:
        settings = replace(settings, step=round_step(FIXED_REACH / max(fastest, 1.0)))
    if method == "gauss" and not equations.count:
        # nothing moves but what is told to: energies alone are integrated
        method = "dop853"
    law = None
    if method in STEPPERS:
        from pliant.simulation.integrators.compiled import compilable

        law = compilable(equations)
    made: Integrator
    if law is not None:
        made = _found(STEPPED[method][COMPILED])(equations, t, y, settings, law)
    elif method in STEPPERS:
        made = _found(STEPPED[method][IN_PYTHON])(equations, t, y, settings)
    elif method == "sundials":
        made = _found(("sundials", "Sundials"))(equations, t, y, settings)
    else:
        kind = method.removeprefix("scipy:")
        if method == kind or kind not in SCIPY_METHODS:
            raise ValueError(f"method is {method!r}; it is not known")
        made = _found(("scipy_solver", "ScipySolver"))(equations, t, y, settings, kind)
    return made
