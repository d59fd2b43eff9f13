"""(h) Links of many elements: meshing, statics and frequencies with sparse matrices, and how they grow."""

from __future__ import annotations

from report import Goal, Options, Row, Section
from timing import once

from pliant import Robot
from pliant.analysis.lumped.elastic_motion import static
from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.analysis.lumped.lumped_model import LumpedModel

ELEMENTS = 50
LINKS = (5, 10, 20)
FEW = 6
"""Frequencies that are looked for."""
LINEAR = 1.3
"""Growth of time per link that still counts as linear: factors of a chain fill in a little."""


def chain(links: int, elements: int) -> Robot:
    """Bars in space, every second one turned, with all families."""
    beam = {
        "length": 0.5,
        "material": "aluminium",
        "section": {"rectangle": {"width": 0.02, "height": 0.03}},
        "lumped": {"nodes": elements, "bend_y": True, "bend_z": True, "torsion": True, "axial": True},
    }
    joints = [{"name": f"joint{k}", "axis": "zy"[k % 2]} for k in range(links)]
    return Robot(
        name=f"chain of {links}",
        links=[{"name": f"link{k}", "joint": joint, "beam": beam} for k, joint in enumerate(joints)],
        pose={f"joint{k}": 0.3 for k in range(links)},
    )


def measure(options: Options) -> Section:
    section = Section("lumped", "Links of many elements (processor time)")
    cases = {"one link of 200 elements": chain(1, 200)}
    cases |= {f"{n} links of {ELEMENTS} elements": chain(n, ELEMENTS) for n in LINKS}
    before: tuple[int, float, int] | None = None
    for case, robot in cases.items():
        model = LumpedModel(robot)
        rest = model.at_rest()
        entries = model.equations_at(model.assemble(rest), 0).K.nnz
        times = {
            "meshing": once(lambda robot=robot: LumpedModel(robot)),
            "static deflection": once(lambda model=model, rest=rest: static(model, rest)),
            f"{FEW} frequencies": once(lambda model=model, rest=rest: natural_frequencies(model, rest, FEW)),
        }
        for what, seconds in times.items():
            section.add(Row(case, f"{what}, {model.size} displacements", seconds, "s"))
        total = sum(times.values())
        links = len(robot.links)
        if before is not None and links > 1 and before[0] > 1:
            share = Goal("<=", LINEAR)
            smaller = f"{before[0]} links"
            section.add(
                Row(
                    case, "time per link", total / links, "s", smaller, before[1] / before[0], faster=False, goal=share
                ),
                Row(
                    case,
                    "entries per link",
                    entries / links,
                    "",
                    smaller,
                    before[2] / before[0],
                    faster=False,
                    goal=share,
                ),
            )
        before = links, total, entries
    return section
