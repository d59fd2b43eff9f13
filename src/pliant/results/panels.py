"""What the plots of a run show: groups of curves of one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.results.channels import ENERGIES, WORKS
from pliant.results.samples import Floats

if TYPE_CHECKING:
    from pliant.results.result import Result

NEGLIGIBLE = 1e-9
"""Components below this part of the largest one are not drawn."""


class Panel(NamedTuple):
    """Curves over time by name; dashed curves belong to those of the same name."""

    title: str
    unit: str
    curves: dict[str, Floats]
    dashed: dict[str, Floats]

    @property
    def heading(self) -> str:
        """Title, unit, and what dashes mean."""
        return f"{self.title}, {self.unit}{' (dashed: desired)' if self.dashed else ''}"


def panels(run: Result) -> list[Panel]:
    """All that have curves, in the order in which they are read."""
    links = [link.name for link in run.robot.links if link.is_flexible]
    strains = {strain.name: 1e6 * run[f"strain.{strain.name}"] for strain in run.info.strains}
    return [
        *_joints(run),
        *_efforts(run),
        *_some("deflection of the link tips in link axes", "mm", _deflections(run, links)),
        *_some("deviation from the rigid robot in base axes", "mm", _deflections(run, run.info.frames)),
        *_some("strain", "µm/m", strains),
        *_some("energy and work since the start", "J", _energies(run)),
        *_some("gap of the closed loops", "m or rad", {name: run[name] for name in ("loops.gap",) if name in run}),
        Panel("energy balance: gained - work + losses", "J", {"error": run["energy.balance"]}, {}),
    ]


def _some(title: str, unit: str, curves: dict[str, Floats], dashed: dict[str, Floats] | None = None) -> Iterator[Panel]:
    if curves:
        yield Panel(title, unit, curves, dashed or {})


def _joints(run: Result) -> Iterator[Panel]:
    for title, unit in (("joint angles", "rad"), ("joint shifts", "m")):
        names = [name for name in run.robot.joint_coordinates if run.unit(name) == unit]
        desired = {name: run[f"{name}.desired"] for name in names if f"{name}.desired" in run.channels}
        yield from _some(title, unit, {name: run[name] for name in names}, desired)


def _efforts(run: Result) -> Iterator[Panel]:
    for title, unit in (("motor torques", "N m"), ("motor forces", "N")):
        names = [name for name in run.efforts if run.unit(name) == unit]
        yield from _some(title, unit, {name.rpartition(".")[0]: run[name] for name in names})


def _deflections(run: Result, names: Iterable[str]) -> dict[str, Floats]:
    """Deflections of links or frames in mm: the components that are not negligible."""
    curves = {}
    for name in names:
        values = 1e3 * run[f"{name}.deflection"]
        size = np.abs(values).max(axis=0)
        shown = np.flatnonzero(size > NEGLIGIBLE * max(float(size.max()), NEGLIGIBLE))
        curves.update({f"{name} {'xyz'[k]}": values[:, k] for k in shown})
    return curves


def _energies(run: Result) -> dict[str, Floats]:
    """Without those that stay zero; the gravity energy counts from its start."""
    named = {part: run[f"energy.{part}"] for part in ENERGIES} | {name: run[name] for name in WORKS}
    named["gravity"] = named["gravity"] - named["gravity"][0]
    return {name: values for name, values in named.items() if np.any(values)}
