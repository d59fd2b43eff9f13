"""How far natural frequencies are off because the shapes of beams are few, estimated without a finer model.

A mode phi of frequency omega is held in motion by inertia forces omega^2 M phi. In the sections of its beams these need
a moment that is known from equilibrium with all that is outboard; what shapes show of it is EI times their curvature.
The energy of the difference, over that of the mode,

    delta = int (M - EI kappa)^2 / EI dx / omega^2 (unit modal mass),

is what one inverse iteration K^-1 M phi adds to the compliance: by the quotient of Grammel omega^2 falls to
omega^2 / (1 + delta). Of few shapes it is nearly all of the error, of modes whose neighbours are left out most of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.along import STATIONS, stations_along
from pliant.analysis.link_loads import LinkLoads, closing_of, link_loads
from pliant.analysis.statics import coordinate_sizes
from pliant.bodies.section_forces import Hung
from pliant.bodies.words import BodyWords, words_of

if TYPE_CHECKING:
    from pliant.analysis.modes import ModeSet

Floats = NDArray[np.float64]

SMALL = 1e-6
"""Motion (reach, or rad) of differences of closing forces."""
FAMILIES = ("axial", "bend_y", "bend_z", "torsion")


def mode_errors(found: ModeSet, count: int | None = None) -> Floats:
    """How much the frequencies of the lowest modes are too high, as parts of them (count,), NaN where nobody knows.

    Beams tell it; links of modal data count as exact, rigid links are. Robots in rotation or with actuators along
    lines, modes without stiffness and unstable ones are not told of.
    """
    arm = found.arm
    errors = np.full(len(found) if count is None else min(count, len(found)), np.nan)
    told = [k for k in range(len(errors)) if found.squares[k] > 0]
    bending = {m.name: words_of(m.link, arm.robot) for m in arm.mechanism.members if m.body.size}
    beams = [m for m in arm.mechanism.members if m.name in bending and bending[m.name].has_axis]
    # a body with an axis that does not know its sections tells nothing
    known = beams and all(bending[m.name].knows_sections for m in beams)
    if not told or not known or arm.robot.actuators or np.iscomplexobj(found.shapes):
        return errors
    shapes, squares = np.asarray(found.shapes[:, told], dtype=float).T, found.squares[told]
    masses = np.einsum("ki,ij,kj->k", shapes, arm.mass_matrix(found.q), shapes)
    a = -squares[:, None] * shapes
    q, still = np.broadcast_to(found.q, a.shape).copy(), np.zeros_like(a)
    closing = _closing(found, shapes, a)
    none = [(frame, np.zeros_like(wrench)) for frame, wrench in closing]
    moving, resting = link_loads(arm, q, still, a, closing), link_loads(arm, q, still, still, none)
    total = np.zeros(len(told))
    for member in beams:
        words = bending[member.name]
        total += _missed(words, moving[member.name], resting[member.name], *(x[:, member.elastic] for x in (a, shapes)))
    errors[told] = np.sqrt(1.0 + total / (squares * masses)) - 1.0
    return errors


def _closing(found: ModeSet, shapes: Floats, a: Floats) -> list[tuple[str, Floats]]:
    """Wrenches of the closures of loops in each mode at unit motion, base axes; none without loops."""
    arm = found.arm
    if not arm.loops.rows:
        return []
    sizes = np.abs(shapes / coordinate_sizes(arm, found.q)).max(axis=1)
    step = (SMALL / np.maximum(sizes, np.finfo(float).tiny))[:, None]
    still = np.zeros_like(shapes)
    sides = [closing_of(arm, found.q + h * shapes, still, h * a, still, given=False) for h in (step, -step)]
    return [(frame, (one - sides[1][k][1]) / (2 * step)) for k, (frame, one) in enumerate(sides[0])]


def _missed(words: BodyWords, moving: LinkLoads, resting: LinkLoads, a_e: Floats, shapes: Floats) -> Floats:
    """int (M - EI kappa)^2 / EI dx of a beam in each mode, and the same of its other families."""
    _, inside = stations_along(words)
    sections = words.section_forces(inside)
    motion = tuple(
        b - c
        for b, c in zip((moving.lift, moving.w, moving.alpha), (resting.lift, resting.w, resting.alpha), strict=True)
    )
    # in the state itself: what rest needs is no part of the vibration
    hung = [
        Hung(b.frame, b.place, b.force - c.force, b.moment - c.moment)
        for b, c in zip(moving.hung, resting.hung, strict=True)
    ]
    force, moment = sections.resultants(moving.q_e, moving.v_e, (motion[0], motion[1], motion[2]), hung, a_e)
    strains = sections.strains(force, moment) - sections.bent.strains(shapes)
    twists = moment[..., 0] / sections.stiffness[3] - sections.bent.twists(shapes)
    differences = np.concatenate([strains, twists[..., None]], axis=-1)
    # Simpson's rule on each segment
    weights = np.ones(STATIONS)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    lengths = np.repeat([part.length for part in words.pieces()], STATIONS)
    weights = np.tile(weights, len(lengths) // STATIONS) * lengths / (3 * (STATIONS - 1))
    has = {family.name for family in words.families}
    total = np.zeros(len(shapes))
    for k, name in enumerate(FAMILIES):
        if name in has:
            total += np.square(differences[..., k]) @ (weights * sections.stiffness[k])
    return total
