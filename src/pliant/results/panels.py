"""What the plots of a run show: groups of curves of one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.analysis.vibrations import reach as size_of
from pliant.results.channels import ENERGIES, WORKS
from pliant.results.samples import Floats

if TYPE_CHECKING:
    from pliant.results.result import Result

ROUNDING = 1e-12
"""Of the largest quantity of its kind: what is below this is what is left of a thousand roundings."""
MOST_PASSIVE = 8
"""So many joints without motor are drawn, those that travel most."""
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
        *_some("bending of links between their ends, link axes", "mm", _between(run, links)),
        *_some("deviation from the rigid robot in base axes", "mm", _deflections(run, run.info.frames)),
        *_some("strain", "µm/m", strains),
        *_some("energy and work since the start", "J", _energies(run)),
        *_some("gap of the closed loops", "m or rad", _audible(run, "rad", ("loops.gap",))),
        *_some("energy balance: gained - work + losses", "J", _audible(run, "J", ("energy.balance",))),
    ]


def noise(run: Result, unit: str) -> float:
    """What of a quantity with this unit is rounding: lengths by the size of the robot, forces by the largest one."""
    reach = size_of(run.arm)
    weight = run.robot.mass * float(np.linalg.norm(run.robot.gravity))
    efforts = [float(np.abs(run[name]).max()) for name in run.efforts]
    energies = (*(f"energy.{part}" for part in ENERGIES), *WORKS)
    scale = {
        "m": lambda: reach,
        "N": lambda: max(weight, *efforts, 0.0),
        "N m": lambda: max(weight * reach, *efforts, 0.0),
        "J": lambda: max(float(np.abs(run[name]).max()) for name in energies),
    }
    return ROUNDING * scale.get(unit, lambda: 1.0)()


def _audible(run: Result, unit: str, names: Iterable[str]) -> dict[str, Floats]:
    """Channels that are in the run and above rounding; what is not is zero, and zero needs no plot."""
    present = [name for name in names if name in run]
    level = noise(run, unit) if present else 0.0
    return {name.rpartition(".")[2]: run[name] for name in present if np.abs(run[name]).max() > level}


def _some(title: str, unit: str, curves: dict[str, Floats], dashed: dict[str, Floats] | None = None) -> Iterator[Panel]:
    if curves:
        yield Panel(title, unit, curves, dashed or {})


def _joints(run: Result) -> Iterator[Panel]:
    """Joints with a motor first; the others, which may be many, in panels of their own."""
    inputs = set(run.arm.inputs)
    for title, unit in (("joint angles", "rad"), ("joint shifts", "m")):
        names = [name for name in run.robot.joint_coordinates if run.unit(name) == unit]
        driven = [name for name in names if name in inputs or not inputs]
        passive = [name for name in names if name not in driven]
        desired = {name: run[f"{name}.desired"] for name in driven if f"{name}.desired" in run.channels}
        yield from _some(title, unit, {name: run[name] for name in driven}, desired)
        travel = {name: float(np.ptp(run[name])) for name in passive}
        shown = sorted(passive, key=lambda name: -travel[name])[:MOST_PASSIVE]
        cut = f" ({len(shown)} of {len(passive)}, those that travel most)" if len(shown) < len(passive) else ""
        kept = {name: run[name] for name in passive if name in shown}
        yield from _some(f"{title.replace('joint', 'passive joint')}{cut}", unit, kept)


def _efforts(run: Result) -> Iterator[Panel]:
    for title, unit in (("motor torques", "N m"), ("motor forces", "N")):
        names = [name for name in run.efforts if run.unit(name) == unit]
        # what is rounding is drawn as the zero that it is
        level = noise(run, unit) if names else 0.0
        values = {name.rpartition(".")[0]: _without(run[name], level) for name in names}
        yield from _some(title, unit, values if any(np.any(x) for x in values.values()) else {})


def _deflections(run: Result, names: Iterable[str]) -> dict[str, Floats]:
    """Deflections of links or frames in mm: the components that are not negligible."""
    curves = {}
    level = 1e3 * noise(run, "m")
    for name in names:
        values = _without(1e3 * run[f"{name}.deflection"], level)
        size = np.abs(values).max(axis=0)
        shown = np.flatnonzero(size > NEGLIGIBLE * max(float(size.max()), NEGLIGIBLE))
        curves.update({f"{name} {'xyz'[k]}": values[:, k] for k in shown})
    return curves


def _between(run: Result, links: Iterable[str]) -> dict[str, Floats]:
    """Bending at mid-span in mm of rods of loops, and of other links whose tips show less of it."""
    curves = {}
    level = noise(run, "m")
    for name in links:
        if f"{name}.bending" not in run:
            continue
        bending = run[f"{name}.bending"]
        size = np.abs(bending).max(axis=0)
        # the tip of a rod also moves as its root turns in its hinge
        tip = 0.0 if run.robot.loops else float(np.abs(run[f"{name}.deflection"]).max())
        if size.max() > max(level, tip):
            shown = np.flatnonzero(size > NEGLIGIBLE * size.max())
            curves.update({f"{name} {'xyz'[k]}": 1e3 * bending[:, k] for k in shown})
    return curves


def _without(values: Floats, level: float) -> Floats:
    """Columns that never leave the rounding are zero."""
    return np.where(np.abs(values).max(axis=0) > level, values, 0.0)


def _energies(run: Result) -> dict[str, Floats]:
    """Without those that stay zero; the gravity energy counts from its start."""
    named = {part: run[f"energy.{part}"] for part in ENERGIES} | {name: run[name] for name in WORKS}
    named["stored"] = run.samples.stored[:, 0]
    named["gravity"] = named["gravity"] - named["gravity"][0]
    return {name: values for name, values in named.items() if np.any(values)}
