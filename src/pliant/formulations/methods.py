"""The methods by name. Each is loaded when it is first asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from pliant.formulations.method import Method

METHODS = {
    "recursive": "pliant.formulations.recursive.method.RecursiveMethod",
    "dense": "pliant.formulations.recursive.dense.DenseMethod",
    "dual_screw": "pliant.formulations.dual_screw.method.DualScrewMethod",
    "dual_screw_frozen": "pliant.formulations.dual_screw.method.FrozenDualScrewMethod",
    "lagrange": "pliant.formulations.lagrange.method.LagrangeMethod",
    "lumped_fe": "pliant.formulations.lumped_fe.method.LumpedMethod",
}
FOR_STUDY = {"dual_screw_literal": "pliant.formulations.dual_screw.method.LiteralDualScrewMethod"}
"""Approximations as papers print them, not fit for use: they warn and say why."""


def method_class(name: str) -> type[Method]:
    """The class of a method."""
    homes = METHODS | FOR_STUDY
    if name not in homes:
        close = get_close_matches(name, METHODS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"method is {name!r}; it must be one of {', '.join(map(repr, METHODS))}{hint}")
    home, _, own = homes[name].rpartition(".")
    found: type[Method] = getattr(import_module(home), own)
    return found
