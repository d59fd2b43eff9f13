"""(i) Links that bend far: operations, time and compilation of exact links; a soft arm in motion against Exudyn.

The two programs do not describe quite the same soft arm: Exudyn's elements stretch, our links need not. Each is
therefore measured against the refined motion of its own physics: rods without and with stretch. That the latter is
Exudyn's own limit, and how far stretch moves the tip, is in the table. On the ringing arm, where stretch moves nothing,
exact links must meet Exudyn's refined motion itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import exudyn_arm
import numpy as np
import ringing_arm
from compiled import program_of, single
from peers import NoPeerError
from report import Goal, Options, Row, Section, Sheet, alone, digits
from ringing_arm import RINGING, SOFT, Floats, PlanarArm, difference
from robots import state
from timing import once, race, turns

import pliant
from pliant import Dynamics
from pliant.engine.compile import jit
from pliant.engine.compile.module import module_ir
from pliant.formulations.recursive.recursions import FORWARD

FASTER = Goal(">=", 20.0)
COMPILE = Goal("<=", 1.0)
MET = Goal(">=", 1.0)
WANTED = 1500.0
"""Wanted for the forward dynamics of two planar links with four strains each, ns."""
FLOOR_LIMIT = 1e-6
"""Distance of the exact ringing arm from Exudyn's refined one, m."""
NOTED = {"planar 2 x 4": 4757, "2 + 2 + 2": 7559, "3 + 3 + 3": 12796}
"""Operations of a first version: of the planar arm, and of one more link in space."""


@dataclass(frozen=True, slots=True)
class Level:
    """An accuracy (m) and settings that reach it.

    Ours: strains per bar and the tolerance of implicit steps. Exudyn's: elements, steps and Newton's tolerance.
    Of Exudyn's the one that takes least time counts.
    """

    limit: float
    strains: tuple[int, int]
    tolerance: float
    theirs: tuple[tuple[int, int, float], ...]


# searched: 3 to 6 strains, both kinds of shapes, explicit and implicit steps; 8 to 48 elements, 5000 to 80000 steps,
# tolerances 1e-3 to 1e-6; errors of elements and of steps differ in sign: the best settings are those where they make
# up for each other
LEVELS = (
    Level(1e-4, (4, 4), 8e-6, ((11, 7000, 1e-3), (12, 8000, 1e-4), (13, 9000, 1e-4))),
    Level(1e-5, (4, 5), 5e-7, ((18, 30000, 1e-5), (19, 38000, 1e-5))),
)
EXACT: dict[str, Any] = {"bending": "exact", "shape": "legendre"}


def measure(options: Options) -> Section:
    section = Section("large", "Links that bend far")
    section.add(*_evaluations(options))
    section.add(*_motion(section))
    section.add(*_floor(section))
    return section


# ---------------------------------------------------------------- one evaluation


def rods(links: int, *, planar: bool, **strains: int) -> pliant.Robot:
    """A chain of equal rods; in space the joints turn about z and y in turn."""
    properties = pliant.Properties(mass_per_length=1.0, EIy=20.0, EIz=30.0, GJ=20.0, rhoIy=5e-3, rhoIz=5e-3)
    modes = pliant.Modes(shape="legendre", **strains)
    beam = pliant.Beam(length=1.0, properties=properties, bending="exact", modes=modes)
    axes = ["z" if planar or k % 2 == 0 else "y" for k in range(links)]
    return pliant.Robot(
        name="rods",
        links=tuple(
            pliant.Link(name=f"rod{k}", joint=pliant.Joint(name=f"joint{k}", axis=axis), beam=beam)
            for k, axis in enumerate(axes)
        ),
    )


def _evaluations(options: Options) -> list[Row]:
    rows = []
    spatial = {"2 + 2 + 2": 2, "3 + 3 + 3": 3}
    families = ("bend_y", "bend_z", "torsion")
    cases = {"planar 2 x 4": (True, {"bend_y": 4})}
    cases.update({name: (False, dict.fromkeys(families, n)) for name, n in spatial.items()})
    for name, (planar, strains) in cases.items():
        arm = Dynamics(rods(2, planar=planar, **strains))
        compile_time = once(partial(_compile, arm), rounds=2)
        program = program_of(FORWARD, arm.tree)
        operations = program.operations.total
        if not planar:
            # what one more link costs
            operations = Dynamics(rods(3, planar=False, **strains)).operations().total - operations
        work, _ = single(program, state(arm.size, scale=0.1))
        nanoseconds = race({name: work}, options.seconds)[name]
        case = f"two rods, {name} strains"
        rows += [
            Row(case, "operations", operations, "", "first version", NOTED[name], faster=False),
            _evaluate(case, nanoseconds, planar=planar),
            Row(case, "compile", compile_time, "s", "one second", 1.0, faster=False, goal=COMPILE),
        ]
    return rows


def _compile(arm: Dynamics) -> bytes:
    """From the links to machine code, nothing known before."""
    program = program_of(FORWARD, arm.tree)
    text, _ = module_ir(program.traced, program.mode, jit.lanes())
    return jit.machine_code(text)


def _evaluate(case: str, nanoseconds: float, *, planar: bool) -> Row:
    if not planar:
        return Row(case, "evaluate", nanoseconds, "ns")
    return Row(case, "evaluate", nanoseconds, "ns", "wanted", WANTED, goal=MET)


# ---------------------------------------------------------------- motion


def _refined(arm: PlanarArm, elements: int, steps: int) -> Floats:
    """Exudyn's motion; its method is of second order, so that a third of the last change is left."""
    coarse, fine = (exudyn_arm.tip(elements, n, tolerance=1e-6, arm=arm) for n in (steps, 2 * steps))
    return np.asarray(fine + (fine - coarse) / 3)


def _motion(section: Section) -> list[Row]:
    ours = ringing_arm.tip(7, tolerance=1e-9, arm=SOFT, **EXACT)
    # two more digits than are asked for: 8e-7 m with three modes of stretch
    stretched = ringing_arm.tip(7, tolerance=1e-8, arm=SOFT, stretch=2, **EXACT)
    try:
        refined = _refined(SOFT, 24, 40000)
    except NoPeerError as missing:
        section.notes.append(f"{missing}; no comparison of motions")
        return []
    rows, lines = [], []
    for level in LEVELS:
        our = {"method": "esdirk", "tolerance": level.tolerance, "arm": SOFT, "spare": 1, **EXACT}
        settings = {"Pliant": f"{level.strains[0]} and {level.strains[1]} strains, esdirk, {level.tolerance:.0e}"}
        ready = {"Pliant": partial(ringing_arm.prepare, level.strains, **our)}
        known = {"Pliant": ours}
        for elements, steps, newton in level.theirs:
            name = f"Exudyn, {elements} x {steps}"
            settings[name] = f"{elements} ANCF elements per link, {steps} steps, Newton {newton:.0e}"
            ready[name] = partial(exudyn_arm.prepare, elements, steps, tolerance=newton, arm=SOFT)
            known[name] = stretched
        errors = {name: difference(ready[name]()(), known[name]) for name in ready}
        times = turns(ready, 3)
        for name, (prepared, run) in times.items():
            shown = (digits(1e3 * x) for x in (prepared, run, prepared + run))
            lines.append((f"{level.limit:.0e}", name.split(",")[0], settings[name], f"{errors[name]:.1e}", *shown))
        spent = {name: sum(times[name]) for name in times}
        good = [name for name in spent if name != "Pliant" and errors[name] <= level.limit]
        best = min(good or [name for name in spent if name != "Pliant"], key=lambda name: spent[name])
        peer = f"Exudyn, {settings[best]} (error {errors[best]:.0e} m)"
        what = f"set-up included, error {errors['Pliant']:.0e} m"
        case = f"soft arm to {level.limit:.0e} m"
        rows.append(Row(case, what, spent["Pliant"], "s", peer, spent[best], goal=FASTER))
    columns = ("wanted, m", "program", "settings", "tip error, m", "set-up, ms", "run, ms", "both, ms")
    turned = ringing_arm.slopes(5, tolerance=1e-6, arm=SOFT, **EXACT)
    slopes = " and ".join(f"{slope:.2f}" for slope in turned.values())
    title = f"soft arm, {SOFT.until:g} s, slopes to {slopes} rad; refined motions"
    apart = (
        f"with and without stretch {difference(ours, stretched):.1e} m apart, "
        f"with stretch {difference(stretched, refined):.1e} m from Exudyn's"
    )
    section.sheets.append(Sheet(f"{title} {apart}", columns, lines))
    return rows


def _floor(section: Section) -> list[Row]:
    """How close the ringing arm comes to Exudyn's, refined, for each kind of bending."""
    try:
        common = _refined(RINGING, 8, 40000)
    except NoPeerError:
        return []
    kinds = ("linear", "second-order", "exact")
    floors = {kind: difference(ringing_arm.tip(5, tolerance=1e-10, bending=kind), common) for kind in kinds}
    lines = [(kind, f"{floor:.1e}") for kind, floor in floors.items()]
    section.sheets.append(Sheet("ringing arm, five modes per link", ("bending", "distance from Exudyn, m"), lines))
    return [
        Row(f"ringing arm, {kind} links", "distance from Exudyn", floors[kind], "m", "wanted", FLOOR_LIMIT, goal=MET)
        for kind in ("second-order", "exact")
    ]


if __name__ == "__main__":
    alone(measure)
