"""Which integrator fits: how fast the fastest motion of the model is, against the motions that matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.modes import modes
from pliant.simulation.equations import Equations
from pliant.simulation.integrators.integrator import Integrator, Settings
from pliant.simulation.study import SCIPY_METHODS, IntegratorOptions, round_step

Floats = NDArray[np.float64]

RELEVANT = 3
"""The lowest frequencies that a motion is taken to excite ..."""
SPREAD = 30.0
"""... unless they are so many times the lowest one."""
EXPLICIT_REACH = 4.0
"""Step times fastest rate that the explicit method can take: its region of stability, with a margin."""
EXPLICIT_STEPS = 50_000
"""So many explicit steps are taken without a second thought."""
STIFF = 300.0
"""Ratio of the fastest to the relevant rate from which implicit steps pay (they follow the relevant ones at second
order, about 75 to a radian)."""
FIXED_REACH = 1.0
"""Step times fastest rate of the fixed-step methods when no step is given."""


@dataclass(frozen=True)
class Speeds:
    """Rates of a model, rad/s: the fastest of all, and the fastest of those that matter."""

    fastest: float
    relevant: float


def speeds(equations: Equations, q: Floats, v: Floats) -> Speeds:
    """Rates of the model linearised at its start, damping and feedback included."""
    arm = equations.arm
    frequencies = modes(arm, q).frequencies
    lowest = frequencies[:RELEVANT]
    relevant = float(lowest[lowest <= SPREAD * lowest[0]].max()) if len(lowest) else inf
    d = arm.inverse_derivatives(q, v, np.zeros(arm.size))
    f_q, f_v = equations.force_derivatives(0.0, q, v)
    m = equations.moving
    part = np.ix_(m, m)
    lower = np.linalg.solve(d.a[part], np.hstack([(f_q - d.q)[part], (f_v - d.v)[part]]))
    A = np.vstack([np.hstack([np.zeros((len(m), len(m))), np.eye(len(m))]), lower])
    fastest = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0)) if len(m) else 0.0
    return Speeds(fastest, relevant)


def choose(options: IntegratorOptions, equations: Equations, q: Floats, v: Floats, until: float) -> tuple[str, str]:
    """The method to use and the reason in words."""
    if options.method != "auto":
        return options.method, "as asked for"
    rate = speeds(equations, q, v)
    if not np.isfinite(rate.fastest):
        return "dop853", "the model could not be linearised at its start"
    steps = rate.fastest * until / EXPLICIT_REACH
    what = f"the fastest motion of the model is {rate.fastest:.4g} rad/s"
    if steps <= EXPLICIT_STEPS:
        return "dop853", f"{what}, which explicit steps of high order follow easily"
    if rate.fastest <= STIFF * rate.relevant:
        return "dop853", f"{what}, only {rate.fastest / rate.relevant:.3g} times what matters ({rate.relevant:.4g})"
    return (
        "generalised-alpha",
        f"{what}, {rate.fastest / rate.relevant:.3g} times what matters ({rate.relevant:.4g} rad/s): the model is "
        f"stiff, and explicit steps would have to be {EXPLICIT_REACH / rate.fastest:.1e} s",
    )


def make_integrator(
    method: str, equations: Equations, t: float, y: Floats, settings: Settings, fastest: float
) -> Integrator:
    """The integrator of a name, at a state; in machine code where Python has no part in a step."""
    from pliant.simulation.integrators.compiled import CompiledDOP853, CompiledGeneralisedAlpha, compilable

    law = compilable(equations) if method in ("dop853", "generalised-alpha") else None
    if law is not None:
        compiled = CompiledDOP853 if method == "dop853" else CompiledGeneralisedAlpha
        return compiled(equations, t, y, settings, law)
    if method == "dop853":
        from pliant.simulation.integrators.dop853 import DOP853

        return DOP853(equations, t, y, settings)
    if method == "generalised-alpha":
        from pliant.simulation.integrators.generalised_alpha import GeneralisedAlpha

        return GeneralisedAlpha(equations, t, y, settings)
    if method in ("rk4", "semi-implicit"):
        from pliant.simulation.integrators.fixed_step import RK4, SemiImplicit

        if settings.step is None:
            settings = replace(settings, step=round_step(FIXED_REACH / max(fastest, 1.0)))
        return (RK4 if method == "rk4" else SemiImplicit)(equations, t, y, settings)
    if method == "sundials":
        from pliant.simulation.integrators.sundials import Sundials

        return Sundials(equations, t, y, settings)
    kind = method.removeprefix("scipy:")
    if method == kind or kind not in SCIPY_METHODS:
        raise ValueError(f"method is {method!r}; it is not known")
    from pliant.simulation.integrators.scipy_solver import ScipySolver

    return ScipySolver(equations, t, y, settings, kind)
