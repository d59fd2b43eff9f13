"""(k) Stresses at the nodes of a link over a run: von Mises at every node and sample, and the largest of each."""

from __future__ import annotations

import numpy as np
from report import Goal, Options, Row, Section
from timing import once

from pliant.analysis.link_stress import NodeStresses
from pliant.bodies.stress_data import StressData

NODES, SAMPLES, COORDINATES = 9000, 1200, 8
SHORT = 1.0
"""Seconds in which an engineer does not wait."""


def measure(options: Options) -> Section:
    section = Section("stress", "Stresses at nodes (processor time)")
    rng = np.random.default_rng(1)
    modes, loads = (rng.normal(size=(NODES, 6, k)) for k in (COORDINATES, 18))
    data = StressData(rng.normal(size=(NODES, 3)), modes, loads, np.zeros(NODES, dtype=bool), ("tip",))
    run = NodeStresses(data, rng.normal(size=(SAMPLES, COORDINATES)), rng.normal(size=(SAMPLES, 18)))
    case = f"{SAMPLES} samples x {NODES} nodes"
    for what, work in (("largest von Mises stress of each sample", run.largest), ("all of them", run.von_mises)):
        section.add(Row(case, what, once(work), "s", "one second", SHORT, faster=False, goal=Goal("<=", 1.0)))
    return section
