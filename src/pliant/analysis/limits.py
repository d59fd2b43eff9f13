"""The one place that knows the limits of the model: what to say about a state of a robot.

A beam of linear bending has small slopes, the force along its axis is small against its buckling load, and it turns
slowly against its first frequency; second-order bending knows axial forces, rotation and larger slopes, but not where a
beam comes to rest that has buckled; exact bending has no such limit, but its stations may be too few. All this is
looked at wherever a state comes out: in checks, equilibria, modes, linear models and runs with their reports.

The axial force enters through its geometric stiffness, G = int N w' w'^T dx with the tension N(x). Against the bending
stiffness K it tells everything at once: G = -K is buckling, and under tension, as in rotation, 1 + max(G/K) is the
factor by which the softest bending would be stiffer than linear bending says. For a rotating beam that is Southwell's
quotient, about 1.2 times the square of the speed over the first frequency.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.analysis.statics import FrameLoad, wrench_force
from pliant.bodies.constants import deflection
from pliant.bodies.sections_along import AxialShapes
from pliant.bodies.words import words_of
from pliant.formulations.loops.closure import normal_of
from pliant.formulations.loops.constraints import end_names
from pliant.formulations.recursive.recursions import HANDED
from pliant.mechanism import LoopEnds, assemble
from pliant.model.description.outline import BASE
from pliant.model.once import once_per_element
from pliant.spatial.vectors import cross

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.mechanism import Member
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]

LARGEST_SLOPE = {"linear": 0.2, "second-order": 0.4}
"""Rotation of a tip (rad) up to which a link bends as its model says."""
NO_SENSE = 1.0
"""Rotation of a tip (rad) from which linear and second-order bending say nothing any more."""
LARGEST_LINEARISED = 0.02
"""Rotation of a tip (rad) up to which equations of first order are within about a percent."""
AXIAL = 0.15
"""Part of the bending stiffness that the axial force may add or take away: 7 % of a frequency."""
OUT_OF_PLANE = 1e-4
"""Part of the robot's size by which a loop in a plane may open across it."""
ODD, FLAT = 0.3, 1e-9
"""Size of coordinates at which all motions of a robot are seen, and part of its size that is none across a plane."""
TURNING = 0.25
"""Rate of a link over its first frequency of bending from which there is a warning: 7 % of a static deflection."""


class ModelLimitWarning(UserWarning):
    """A state at which the model of a robot is no longer that of the robot."""


def tell(texts: Iterable[str], stacklevel: int = 3) -> None:
    """Warn of every text, as said by the caller of the caller."""
    for text in texts:
        warnings.warn(text, ModelLimitWarning, stacklevel=stacklevel)


def state_limits(
    arm: Dynamics,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    tau: ArrayLike | None = None,
    loads: Sequence[FrameLoad] = (),
    when: str = "",
) -> list[str]:
    """What is beyond the limits of the model at a state, in words.

    v, a   rates and accelerations; default: at rest
    tau    efforts of the drives; default: those that the motion needs
    loads  on frames of the robot
    when   added to the place, such as " (at 0.3 s)"
    """
    state = np.asarray(q, dtype=float)
    rates = np.zeros(arm.size) if v is None else np.asarray(v, dtype=float)
    accelerations = np.zeros(arm.size) if a is None else np.asarray(a, dtype=float)
    if not all(np.isfinite(x).all() for x in (state, rates, accelerations)):
        return []
    return [
        *linearised_limits(arm, state, when),
        *slope_limits(arm, state, when),
        *own_limits(arm, state[None], lambda _: when),
        *plane_limits(arm, state[None], lambda _: when),
        *axial_limits(arm, state, rates, accelerations, tau=tau, loads=loads, when=when),
    ]


# ---------------------------------------------------------------- linearised methods


def linearised_limits(arm: Dynamics, q: Floats, when: str = "") -> Iterator[str]:
    """Deflections beyond those for which a method that is cut after its first order is good."""
    method = arm.method
    if method.order is None:
        return
    M = arm.mass_matrix(q)
    size = np.sqrt(np.abs(np.outer(np.diag(M), np.diag(M))))
    if np.linalg.eigvalsh((M + M.T) / (2.0 * size)).min() <= 0.0:
        yield (
            f"the mass matrix of method '{method.name}' is not positive definite{when}: deflections are too large for "
            "equations that are cut after their first order; method 'recursive' has no such limit"
        )
        return
    for link, member in _flexible(arm):
        turn = float(np.linalg.norm(deflection(member.body, "tip", q[member.elastic])[1]))
        if turn > LARGEST_LINEARISED:
            yield (
                f"the tip of link '{link.name}' turns by {turn:.3g} rad{when}; beyond {LARGEST_LINEARISED} rad method "
                f"'{method.name}', which is linearised, is off by more than a percent; method 'recursive' is not"
            )


# ---------------------------------------------------------------- slopes


def slope_limits(arm: Dynamics, q: Floats, when: str = "") -> Iterator[str]:
    """Links that bend further than their kind of bending holds."""
    for link, member in _flexible(arm):
        turn = float(np.linalg.norm(deflection(member.body, "tip", q[member.elastic])[1]))
        yield from slope_words(link, turn, when)


def slope_words(link: Link, turn: float, when: str = "") -> Iterator[str]:
    """What to say about the turn of a link's tip."""
    words = words_of(link)
    bending = words.bending
    if bending == "exact":
        return
    if turn > NO_SENSE:
        yield (
            f"link '{link.name}' would have to bend until its tip turns by {turn:.3g} rad{when}; beyond {NO_SENSE:g} "
            f"rad {bending} bending says nothing about it: the result means nothing, the link is too soft or its load "
            f"too large; {words.cure_prefix}bending: exact has no such limit"
        )
    elif turn > LARGEST_SLOPE[bending]:
        yield (
            f"link '{link.name}' bends until its tip turns by {turn:.3g} rad{when}; beyond {LARGEST_SLOPE[bending]} "
            f"rad {bending} bending is only a rough model: {words.cures[bending]}"
        )


def own_limits(arm: Dynamics, q: Floats, when: Callable[[int], str]) -> Iterator[str]:
    """What bodies say of their own models at that of some states (states, n) where each is worst."""
    links = {link.name: link for link in arm.robot.links}
    for member in arm.mechanism.members:
        yield from words_of(links[member.name], arm.robot).limits(member.body, q[:, member.elastic], when)


# ---------------------------------------------------------------- loops in a plane


def _across(arm: Dynamics, loop: LoopEnds, q: Floats) -> Floats:
    """How far a loop has opened across its plane at some states (states, n), beside the reference pose, m."""
    first, second = (
        arm.positions([end], np.vstack([q, arm.reference_pose()]))[:, 0] if end else np.zeros(3)
        for end in end_names(arm, loop)
    )
    across = (first - second)[..., normal_of(loop.planar or "")]
    away: Floats = np.abs(across[:-1] - across[-1])
    return away


def plane_limits(arm: Dynamics, q: Floats, when: Callable[[int], str]) -> Iterator[str]:
    """Loops in a plane whose links bend out of it, at the worst of some states (states, n)."""
    for loop in arm.mechanism.loops:
        if loop.planar is None:
            continue
        # nothing leaves the plane of a robot that stays in it at a configuration like no other
        if _across(arm, loop, ODD * np.cos(np.arange(1.0, arm.size + 1.0))[None])[0] < FLAT * arm.loops.extent:
            continue
        away = _across(arm, loop, q)
        k = int(np.argmax(away))
        if away[k] > OUT_OF_PLANE * arm.loops.extent:
            yield (
                f"loop '{loop.name}' opens by {away[k]:.3g} m across its plane {loop.planar}{when(k)}: links bend out "
                "of it, which planar does not hold; leave planar out, and the loop is closed in space"
            )


# ---------------------------------------------------------------- axial forces


class AxialChange(NamedTuple):
    """What the axial force does to the bending stiffness of a link.

    least, most  extreme eigenvalues of G against K: -1 is buckling, +1 twice the bending stiffness
    turning      rate of the link across its axis over its first frequency of bending
    """

    least: float
    most: float
    turning: float


def has_axial_limits(robot: Robot) -> bool:
    """Whether there is a link whose bending does not know all about the force along its axis."""
    return any(_has_axial_limits(link) for link in robot.links)


def axial_limits(
    arm: Dynamics,
    q: Floats,
    v: Floats,
    a: Floats,
    *,
    tau: ArrayLike | None = None,
    loads: Sequence[FrameLoad] = (),
    when: str = "",
) -> Iterator[str]:
    """Links whose axial force or rotation changes their bending stiffness more than their kind of bending knows."""
    if not _axial_links(arm):
        return
    f = wrench_force(arm, q, loads)
    if tau is not None:
        f += arm.B @ np.asarray(tau, dtype=float)
    acting = [*loads, *closing_loads(arm, q, v, a, f, given=tau is not None)]
    for changes in axial_changes(arm, q[None], v[None], a[None], acting):
        yield from axial_words(arm, changes, when, loads)


def closing_loads(arm: Dynamics, q: Floats, v: Floats, a: Floats, f: Floats, *, given: bool = True) -> list[FrameLoad]:
    """What the closures of loops exert on their frames, as loads; see ``Dynamics.closing_wrenches``."""
    try:
        return [FrameLoad(frame, w, False, False) for frame, w in arm.closing_wrenches(q, v, a, f, given=given)]
    except np.linalg.LinAlgError:
        # a state that the robot cannot have
        return []


def axial_words(
    arm: Dynamics, changes: dict[str, AxialChange], when: str = "", loads: Sequence[FrameLoad] = ()
) -> Iterator[str]:
    """What to say about links, from what the axial forces do to them."""
    for name, change in changes.items():
        words = words_of(arm.robot.link(name))
        cures = words.cures
        if words.bending == "second-order":
            # ends that loops hold, and loads that follow, have other critical loads: those are seen in the tangent
            if change.least <= -1.0 and not arm.loops.rows and not any(load.follows for load in loads):
                yield (
                    f"link '{name}' is pressed along its axis with {-change.least:.3g} times its buckling load{when}: "
                    "it buckles, and second-order bending does not know where it comes to rest; "
                    f"{cures['second-order'].partition(', or')[0]}"
                )
            continue
        yield from _linear_words(name, change, when, f"; {cures['linear']}")


def _linear_words(name: str, change: AxialChange, when: str, cure: str) -> Iterator[str]:
    """What linear bending does not know."""
    if change.least <= -1.0:
        yield (
            f"link '{name}' is pressed along its axis with {-change.least:.3g} times its buckling load{when}; linear "
            f"bending does not know buckling, and the result means nothing{cure}"
        )
    elif change.least < -AXIAL:
        yield (
            f"link '{name}' is pressed along its axis with {-100 * change.least:.3g} % of its buckling load{when}, "
            f"which makes it softer than linear bending says{cure}"
        )
    if change.turning > TURNING:
        faster = " and diverges from 100 % on" if change.turning < 1.0 else ": it diverges"
        yield (
            f"link '{name}' turns at {100 * change.turning:.3g} % of its first bending frequency{when}; rotation makes "
            f"it {1 + max(change.most, 0.0):.3g} times as stiff, which linear bending does not know{faster}{cure}"
        )
    elif change.most > AXIAL:
        yield (
            f"link '{name}' is pulled along its axis{when} so that it is {1 + change.most:.3g} times as stiff in "
            f"bending as linear bending says: gravity, a load or fast rotation stretch it{cure}"
        )


class RootLoads(NamedTuple):
    """What acts on the links of ``axial_links`` in some states, each (states, links).

    forces  along the axes, that the motion needs at the joints if nothing else acts; no number where there is none
    pulls   along the axes at the roots, outwards: of gravity, less what the motion needs, m/s^2
    spins   squares of the rates at which the axes turn
    """

    forces: Floats
    pulls: Floats
    spins: Floats


def axial_links(arm: Dynamics) -> list[str]:
    """The links whose axial forces are looked at."""
    return [link.name for link, _ in _axial_links(arm)]


def root_loads(arm: Dynamics, handed: Floats) -> RootLoads:
    """From what all links of the tree are handed and how they move (states, tree links, HANDED)."""
    known = {link.joint or link.name: k for k, link in enumerate(arm.tree.links) if link.joint or link.body.mass}
    out = RootLoads(*np.full((3, len(handed), len(_axial_links(arm))), np.nan))
    for i, (link, member) in enumerate(_axial_links(arm)):
        k = known.get(member.joint.name or link.name, known.get(link.name))
        if k is None:
            continue
        out.forces[:, i] = handed[:, k, :3] @ arm.tree.links[k].R_DB[:, 0]
        index, seat = arm.tree.frames[f"{link.name}.root"]
        axis: Floats = np.array(seat.R0)[:, 0]
        r: Floats = np.add(seat.section.position, seat.offset)
        w, a_v, a_w = np.split(handed[:, index, 6:], 3, axis=1)
        # along the axis: a_v + a_w x r + w x (w x r)
        along, square = w @ axis, np.einsum("ki,ki->k", w, w)
        bent = along * (w @ r) - square * float(r @ axis)
        out.pulls[:, i] = -(a_v @ axis + a_w @ cross(r.tolist(), axis.tolist()) + bent)
        # about its own axis alone: nothing, but for rounding
        out.spins[:, i] = np.maximum(square - along**2, 0.0)
    return out


def _axial_links(arm: Dynamics) -> list[tuple[Link, Member]]:
    return [
        (link, member)
        for link, member in _flexible(arm)
        if _has_axial_limits(link) and not member.joint.kind.symbol.floats
    ]


def axial_changes(
    arm: Dynamics,
    q: Floats,
    v: Floats,
    a: Floats,
    loads: Sequence[FrameLoad] = (),
    each: Sequence[Sequence[FrameLoad]] = (),
) -> list[dict[str, AxialChange]]:
    """For each of some states (states, n) link -> what its axial force does, of beams whose bending is not exact and
    of modal data; nothing where the state is one that the robot cannot have.

    loads  on frames in all states, with those of the closures of loops
    each   further ones in each state
    """
    found: list[dict[str, AxialChange]] = [{} for _ in q]
    if not _axial_links(arm):
        return found
    rows, known = _root_loads(arm, q, v, a)
    of_this = np.zeros(len(rows), dtype=np.int64)
    acting = [[*loads, *(each[k] if each else ())] for k in rows]
    for k, changes in zip(rows, axial_changes_of([arm], of_this, q[rows], known, acting), strict=True):
        found[k] = changes
    return found


def axial_changes_of(
    arms: Sequence[Dynamics],
    who: NDArray[np.int64],
    q: Floats,
    known: RootLoads,
    loads: Sequence[Sequence[FrameLoad]] = (),
) -> list[dict[str, AxialChange]]:
    """What axial forces do, from what the motion needs at the roots in states of several robots with links of one kind.

    who    the robot of each state (states,)
    loads  on its frames in each state

    Raises ValueError where they cannot be looked at together.
    """
    found: list[dict[str, AxialChange]] = [{} for _ in q]
    for i, (link, _) in enumerate(_axial_links(arms[0]) if len(q) else ()):
        root = known.forces[:, i]
        if np.isnan(root).any():
            if len(arms) > 1:
                raise ValueError(f"link '{link.name}' has no axial force in some states")
            continue
        own = RootLoads(root, known.pulls[:, i], known.spins[:, i])
        for changes, change in zip(found, _changes(arms, who, link.name, own, q, loads), strict=True):
            changes[link.name] = change
    return found


def _root_loads(arm: Dynamics, q: Floats, v: Floats, a: Floats) -> tuple[list[int], RootLoads]:
    """The numbers of the states that the robot can have, and what acts in them."""
    rows, handed = list[int](), list[Floats]()
    for k, state in enumerate(zip(q, v, a, strict=True)):
        try:
            handed.append(arm.handed(*state))
        except (FloatingPointError, np.linalg.LinAlgError):
            continue
        rows.append(k)
    links = len(arm.tree.links)
    return rows, root_loads(arm, np.array(handed).reshape(-1, links, HANDED))


def _changes(
    arms: Sequence[Dynamics],
    who: NDArray[np.int64],
    name: str,
    known: RootLoads,
    q: Floats,
    loads: Sequence[Sequence[FrameLoad]],
) -> list[AxialChange]:
    """Extreme eigenvalues of the geometric stiffness against the stiffness of bending, for each state (states,)."""
    root, pull, spin = known
    links, alongs = [arm.robot.link(name) for arm in arms], [_along_axis(arm.robot, name) for arm in arms]
    x, weights, rhoA = (_padded([getattr(each, key) for each in alongs])[who] for key in ("x", "weights", "rhoA"))
    hub = np.array([link.hub.mass if link.hub is not None else 0.0 for link in links])[who]
    outward = weights * rhoA * (pull[:, None] + spin[:, None] * x)
    # what moves beyond the root pulls it outwards, but for what lies between it and x
    N = -(root + hub * pull)[:, None] - (np.cumsum(outward, axis=1) - outward / 2)
    for k, acting in enumerate(loads):
        for end, force in _loads_beyond(arms[who[k]], links[who[k]], q[k], acting):
            axis = arms[who[k]].pose(f"{name}.root", q[k]).rotation[:, 0]
            N[k] += np.where(x[k] <= end, float(axis @ force), 0.0)
    least, most = np.zeros(len(q)), np.zeros(len(q))
    for planes in zip(*(each.slopes for each in alongs), strict=True):
        slope = _padded(planes)[who]
        squares = np.linalg.eigvalsh((slope * (weights * N)[:, None, :]) @ slope.swapaxes(1, 2))
        least, most = np.minimum(least, squares[:, 0]), np.maximum(most, squares[:, -1])
    turning = np.sqrt(spin) / np.array([each.slowest for each in alongs])[who]
    return [AxialChange(*each) for each in zip(least.tolist(), most.tolist(), turning.tolist(), strict=True)]


def _padded(arrays: Sequence[Floats]) -> Floats:
    """Arrays along beams as one; places that some of them do not have weigh nothing."""
    most = max(array.shape[-1] for array in arrays)
    out = np.zeros((len(arrays), *arrays[0].shape[:-1], most))
    for target, array in zip(out, arrays, strict=True):
        target[..., : array.shape[-1]] = array
    return out


def _loads_beyond(
    arm: Dynamics, link: Link, q: Floats, loads: Sequence[FrameLoad]
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Place along a link at which a load enters it, and the force in base axes, of loads on it and what it carries."""
    for load in loads:
        index, frame = arm.mechanism.frame(load.frame)
        name = arm.mechanism.members[index].name
        while name not in (link.name, BASE):
            name, frame = arm.robot.parent_of(name)
        if name == link.name:
            R = arm.pose(load.frame, q).rotation if load.follows else np.eye(3)
            yield _place(arm, link, frame), R @ load.value[:3]


def _place(arm: Dynamics, link: Link, frame: str) -> float:
    """Where a frame sits along a beam."""
    member = next(each for each in arm.mechanism.members if each.name == link.name)
    return float(member.body.frames[frame].position[0]) if frame in member.body.frames else link.length


def _flexible(arm: Dynamics) -> Iterator[tuple[Link, Member]]:
    """Links with elastic coordinates and how they stand in the mechanism."""
    members = {member.name: member for member in arm.mechanism.members}
    for link in arm.robot.links:
        if link.is_flexible and members[link.name].body.size:
            yield link, members[link.name]


@once_per_element
def _has_axial_limits(link: Link) -> bool:
    """Whether the bending of a link knows forces along its axis not at all, or not to the end."""
    return words_of(link).has_axial_limits


@once_per_element
def _along_axis(robot: Robot, name: str) -> AxialShapes:
    """What the axial force of a link acts on."""
    body = next(member.body for member in assemble(robot).members if member.name == name)
    return words_of(robot.link(name), robot).axial_shapes(body)
