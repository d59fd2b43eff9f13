"""Integrators by name: what studies, the choice of a method and warnings know of them, and what makes their steps."""

from __future__ import annotations

from pliant.engine.stepping.dormand_prince import DormandPrince
from pliant.engine.stepping.esdirk import KennedyCarpenter
from pliant.engine.stepping.gauss import Gauss
from pliant.engine.stepping.generalised_alpha import GeneralisedAlpha
from pliant.engine.stepping.runge_kutta import RungeKutta
from pliant.engine.stepping.semi_implicit import SemiImplicit
from pliant.engine.stepping.stepper import Stepper

STEPPERS: dict[str, Stepper] = {
    DormandPrince.name: DormandPrince(),
    Gauss.name: Gauss(),
    KennedyCarpenter.name: KennedyCarpenter(),
    GeneralisedAlpha.name: GeneralisedAlpha(),
    RungeKutta.name: RungeKutta(),
    SemiImplicit.name: SemiImplicit(),
}
"""Name -> integrator; ``register`` adds one."""


def register(stepper: Stepper) -> Stepper:
    """Let studies know a further integrator by its name; one of the same name gives way to it."""
    STEPPERS[stepper.name] = stepper
    return stepper
