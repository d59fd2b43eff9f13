"""Equations of motion without small terms, with bounds of what that changes over a box of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isfinite, pi
from typing import TYPE_CHECKING

import numpy as np

from pliant.errors import ModelError, did_you_mean
from pliant.formulations.lagrange.algebra.bounds import Interval, Neglected, StateBox, neglect

if TYPE_CHECKING:
    from pliant.formulations.lagrange.algebra.symbols import Coordinate
    from pliant.formulations.lagrange.equations import Equations

Limits = float | tuple[float, float]


def neglecting(
    eq: Equations, tolerance: float, q: Mapping[str, Limits], v: Mapping[str, float]
) -> tuple[Equations, Neglected]:
    """The equations without small terms, and how wrong they can be in the box."""
    if not 0.0 < tolerance < 1.0:
        raise ModelError(f"the tolerance is {tolerance!r}; it must lie between 0 and 1")
    if eq.system.closure is not None:
        raise ModelError(f"'{eq.robot}' has closed loops, over which errors of single terms spread; there is no bound")
    for name in (*q, *v):
        _known(eq, name)
    positions = {i: _limits(c, q) for i, c in zip(eq.system.coordinates, eq.coordinates, strict=True)}
    rates = {i: _rate(c, v) for i, c in zip(eq.system.coordinates, eq.coordinates, strict=True)}
    outside = {v for x in eq.system.all_series() for v in x.variables()}
    for i, (_, high) in positions.items():
        if high == inf and i in outside:
            raise ModelError(f"'{eq.names.coordinates[i].robot_name}' has no limits, and is no angle of cosines alone")
    box = StateBox(eq.names, positions, rates, {i: c.value for i, c in eq.table.items()})
    middle = [0.0 if high == inf else 0.5 * (low + high) for low, high in positions.values()]
    diagonal = np.sqrt(np.diag(eq.functions().mass_matrix(middle)))
    found = neglect(eq.system, box, tolerance, np.outer(diagonal, diagonal))
    error = found.M / np.outer(diagonal, diagonal)
    before, after = found.terms
    limits = "; ".join(
        f"{c.robot_name} {_words(positions[i], c.unit)}, rate up to {rates[i]:g}"
        for i, c in zip(eq.system.coordinates, eq.coordinates, strict=True)
    )
    words = (
        f"Without small terms, as asked for: {after:,} of {before:,} terms. With {limits}, and the values below,",
        f"no entry of M is wrong by more than {error.max():.2g} of sqrt(M_ii M_jj), no row of D v by more than "
        f"{found.h.max():.2g} and none of G by more than {found.G.max():.2g} (N or N m).",
    )
    return replace(eq, system=found.system, neglected=(*eq.neglected, *words)), found


def _words(limits: Interval, unit: str) -> str:
    return "at any angle" if limits[1] == inf else f"{limits[0]:g} to {limits[1]:g} {unit}"


def _known(eq: Equations, name: str) -> None:
    names = {c.robot_name for c in eq.coordinates}
    if name not in names:
        hint = did_you_mean(name, names) or f"; there are {', '.join(sorted(names))}"
        raise ModelError(f"the equations of '{eq.robot}' have no coordinate '{name}'{hint}")


def _limits(coordinate: Coordinate, given: Mapping[str, Limits]) -> Interval:
    found = given.get(coordinate.robot_name)
    if found is None:
        if coordinate.elastic or coordinate.unit != "rad":
            raise ModelError(
                f"'{coordinate.robot_name}' has no limits; a bound needs those of every coordinate but joint angles"
            )
        return (-inf, inf)
    low, high = (-abs(found), abs(found)) if isinstance(found, (int, float)) else found
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise ModelError(
            f"the limits of '{coordinate.robot_name}' are {low} and {high}; the first must be the lower one"
        )
    # cosines and sines of more than a turn are bounded by one
    return (low, high) if coordinate.unit != "rad" or high - low < 2 * pi or coordinate.elastic else (-inf, inf)


def _rate(coordinate: Coordinate, given: Mapping[str, float]) -> float:
    if coordinate.robot_name not in given:
        raise ModelError(
            f"'{coordinate.robot_name}' has no largest rate; a bound of D v needs those of all coordinates"
        )
    rate = abs(float(given[coordinate.robot_name]))
    if not isfinite(rate):
        raise ModelError(f"the largest rate of '{coordinate.robot_name}' is {rate}; it must be a number")
    return rate
