"""Along a bent beam: where its axis is, how it is strained, the largest stress of each section, and the robot unbent.

Deflections are told against the robot as it would be if nothing bent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import Equilibrium
from pliant.analysis.line_forces import RestingLines, line_pushes
from pliant.analysis.link_loads import LinkLoads, acting_of, closing_of, link_loads
from pliant.analysis.statics import FrameLoad, Loads, wrench_force, wrenches
from pliant.bodies.words import BodyWords, OutlinePiece, words_of
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

STATIONS = 41
"""Places along a segment."""
INSIDE = 1e-9
"""How far stations at the ends of a segment stand inside it, as a part of its length: strains jump at steps."""


class AlongBeam(NamedTuple):
    """A beam at stations x (S,), m from its root, for one state or for each of a batch (first axis).

    position  of the axis in the link's own frame, m (..., S, 3)
    strain    u' (stretch), u_y'' and u_z'' (curvatures, 1/m) that its shapes add to the unloaded beam (..., S, 3)
    stress    largest axial stress of each section, Pa (..., S); None where a section or material is not known
    force     N (..., S, 3) that what is outboard exerts on each section, in the section's axes; x: tension
    moment    N m (..., S, 3), the same: x: torsion
    strength  at which the material yields, Pa (S,); None where it is not known
    """

    x: Floats
    position: Floats
    strain: Floats
    stress: Floats | None
    force: Floats
    moment: Floats
    strength: Floats | None = None

    @property
    def utilisation(self) -> Floats | None:
        """Largest axial stress over the yield strength (..., S); None where one of them is not known."""
        return None if self.stress is None or self.strength is None else self.stress / self.strength


def along(
    arm: Dynamics,
    link: str,
    q: States | Equilibrium,
    *,
    v: States | None = None,
    a: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
) -> AlongBeam:
    """Shape, strains, forces, moments and stress along a beam, at one configuration or at each of a batch.

    The stress is that of bending and pull, at the outermost fibre: N / A - y M_z / I_z + z M_y / I_y. Force and moment
    come from equilibrium with all that is outboard of a section, not from the curvature of a few shapes; what loads are
    not named is told by the curvature alone. Shear and torsion are not part of the stress.

    link       name of the beam
    q          an equilibrium, with its loads; or coordinates, or some of them by name
    v, a       rates and accelerations; default zero
    loads      frame -> force (3,) N, or force and moment (6,) N, N m, along the axes of the base
    followers  the same along the axes of the frame
    """
    words = beam_words(arm, link)
    acting = moving_links(arm, q, v=v, a=a, loads=loads, followers=followers)[link]
    found = along_beam(words, acting)
    if arm.labels.states("q", q.q if isinstance(q, Equilibrium) else q).ndim > 1:
        return found
    first = {name: x[0] for name, x in found._asdict().items() if x is not None and name not in ("x", "strength")}
    return found._replace(**first)


def moving_links(
    arm: Dynamics,
    q: States | Equilibrium,
    *,
    v: States | None = None,
    a: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
) -> dict[str, LinkLoads]:
    """Link -> what acts on it, at one state or each of a batch, with the forces of lines and of closures of loops."""
    # the loads of an equilibrium have those of lines among them
    pushed = bool(arm.robot.actuators) and not isinstance(q, Equilibrium)
    if isinstance(q, Equilibrium):
        if loads or followers or v is not None:
            raise ValueError("an equilibrium knows its loads and rates: leave out v, loads and followers")
        given = q
        q, v, loads, followers = given.q, given.v, given.loads, given.followers
    state = arm.labels.states("q", q)
    batch = np.atleast_2d(state)
    rate, turn = (
        np.broadcast_to(np.zeros(arm.size) if x is None else arm.labels.states(name, x), batch.shape).copy()
        for name, x in (("v", v), ("a", a))
    )
    acting = [*wrenches(loads), *wrenches(followers, follows=True)]
    exerted = acting_of(arm, batch, acting)
    pushing = [_pushes(arm, *each) if pushed else [] for each in zip(batch, rate, turn, strict=True)]
    exerted += [(load.frame, np.array([each[k].value for each in pushing])) for k, load in enumerate(pushing[0])]
    if arm.loops.rows:
        f = np.stack([wrench_force(arm, each, [*acting, *own]) for each, own in zip(batch, pushing, strict=True)])
        exerted += closing_of(arm, batch, rate, turn, f, given=False)
    return link_loads(arm, batch, rate, turn, exerted)


def _pushes(arm: Dynamics, q: Floats, v: Floats, a: Floats) -> list[FrameLoad]:
    """What actuators along lines exert on frames at a state; those that hold push as the motion needs."""
    lines = RestingLines(arm)
    at = lines.at(q)
    held = line_pushes(arm, q, v, a)
    rest = lines.rest(at, np.array([held[name] for name in lines.held_names]))
    slowed = [
        own._replace(push=own.push - own.damping * float(line.row @ v)) for own, line in zip(rest, at, strict=True)
    ]
    return lines.wrenches(at, slowed)


def along_beam(words: BodyWords, acting: LinkLoads) -> AlongBeam:
    """Along a beam in the states in which so much acts on it."""
    parts, (x, inside) = words.pieces(), stations_along(words)
    sections, q_e = words.section_forces(inside), acting.q_e
    motion = acting.lift, acting.w, acting.alpha
    force, moment = sections.resultants(q_e, acting.v_e, motion, acting.hung)
    missed = sections.strains(force, moment) - sections.bent.strains(acting.at_once)
    if np.count_nonzero(acting.a_e):
        # shapes left out follow the loads, or loads and vibration: where these jump, what misses less is taken
        shaken = sections.resultants(q_e, acting.v_e, motion, acting.hung, acting.a_e)
        other = sections.strains(*shaken) - sections.bent.strains(acting.bent_by(acting.elastic - acting.shaken))
        weights = np.nan_to_num(np.stack(sections.stiffness[:3], axis=-1))
        sizes = [np.einsum("ksa,sa->k", np.square(np.nan_to_num(each)), weights) for each in (missed, other)]
        less = (sizes[1] < sizes[0])[:, None, None]
        missed = np.where(less, other, missed)
        force, moment = np.where(less, shaken[0], force), np.where(less, shaken[1], moment)
    stress = strength = None
    if _stress_known(words):
        # what the shapes know of the loads is replaced by all of it
        strains = missed + sections.bent.strains(q_e)
        pieces = np.split(strains, len(parts), axis=-2)
        stress = np.concatenate([_stress(part, own) for part, own in zip(parts, pieces, strict=True)], axis=-1)
        if all(part.strength is not None for part in parts):
            strength = np.repeat([float(part.strength or 0.0) for part in parts], STATIONS)
    return AlongBeam(x, sections.bent.line(q_e), sections.bent.strains(q_e), stress, force, moment, strength)


def stations_along(words: BodyWords) -> tuple[Floats, Floats]:
    """Places along a beam, m, and the same a little inside its segments."""
    parts, fractions = words.pieces(), np.linspace(0.0, 1.0, STATIONS)
    starts = np.concatenate([[0.0], np.cumsum([part.length for part in parts])])[:-1]
    x, inside = (
        np.concatenate([start + at * part.length for part, start in zip(parts, starts, strict=True)])
        for at in (fractions, np.clip(fractions, INSIDE, 1 - INSIDE))
    )
    return x, inside


def _stress(part: OutlinePiece, strains: Floats) -> Floats:
    """Largest axial stress of the sections of a piece (..., S), from strains (..., S, 3)."""
    assert part.modulus is not None
    if not part.tapers:
        return part.modulus * part.outermost_strain(0.0, strains)
    fractions = np.linspace(0.0, 1.0, STATIONS)
    sections = [part.outermost_strain(float(at), strains[..., k, :]) for k, at in enumerate(fractions)]
    return part.modulus * np.stack(sections, axis=-1)


def stress_known(arm: Dynamics, link: str) -> bool:
    """Whether every segment of a flexible beam has a material and an outline."""
    own = arm.robot.link(link)
    return own.is_flexible and _stress_known(words_of(own, arm.robot))


def _stress_known(words: BodyWords) -> bool:
    pieces = words.pieces()
    return bool(pieces) and all(part.modulus is not None and part.has_outline() for part in pieces)


def beam_words(arm: Dynamics, link: str) -> BodyWords:
    """The words of a flexible beam; other names are refused."""
    names = [each.name for each in arm.robot.links if each.has_axis and each.is_flexible]
    if link not in names:
        known = ", ".join(names) or "none"
        raise ModelError(f"robot '{arm.robot.name}' has no flexible beam '{link}'; flexible beams: {known}")
    return words_of(arm.robot.link(link), arm.robot)


# ---- unbent


def unbent(arm: Dynamics, q: Floats) -> Floats:
    """The rigid robot at the same joint positions; with loops at those of the drives (..., n).

    Loops that only close because links bend stay open by as little as the other joints can make it.
    """
    return unbending(arm)(q)


def unbending(arm: Dynamics) -> Callable[[Floats], Floats]:
    """``unbent`` of one robot, for many calls."""
    moved, driven = set(arm.robot.joint_coordinates), set(arm.inputs)
    joints = np.array([name in moved for name in arm.names], dtype=bool)
    passive = joints & np.array([name not in driven for name in arm.names], dtype=bool)
    if not passive.any():
        return lambda q: np.where(joints, q, 0.0)
    held = tuple(np.flatnonzero(~passive).tolist())
    return lambda q: arm.loops.closest(np.where(joints, q, 0.0), held)
