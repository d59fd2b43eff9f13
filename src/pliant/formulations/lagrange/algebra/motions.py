"""Where the bodies of a chain are and how they move, in symbols: positions, rotations, Jacobians, their energies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pliant.formulations.lagrange.algebra.chain import (
    BodyChain,
    ChainBody,
    Hinge,
    Shift,
    Slide,
    SymbolicTurn,
    kinetic_energy,
)
from pliant.formulations.lagrange.algebra.link_inertia import Matrix, RigidInertia
from pliant.formulations.lagrange.algebra.series import Series, Vector, add, inner, scaled
from pliant.formulations.lagrange.algebra.system_matrices import on_leaders
from pliant.formulations.lagrange.algebra.turning_sections import Map


@dataclass(frozen=True, slots=True)
class SymbolicMotion:
    """A frame in base axes.

    p    position of its origin           (3,)
    R    columns are its axes             (3, 3)
    J_v  velocity of its origin per rate  (3, n)
    J_w  angular velocity per rate        (3, n)
    """

    label: str
    p: list[Series]
    R: Matrix
    J_v: Matrix
    J_w: Matrix


@dataclass(frozen=True, slots=True)
class _Pose:
    """Position, map of components to base axes, and angular velocity per unit rate of each coordinate."""

    p: list[Series]
    out: Map
    turns: dict[int, list[Series]]


def body_motions(chain: BodyChain) -> list[SymbolicMotion]:
    """The frames of all bodies; of a rigid one at its centre of mass."""
    out = []
    for body, pose in zip(chain.bodies, _poses(chain), strict=True):
        centre = body.inertia.centre if isinstance(body.inertia, RigidInertia) else None
        out.append(_motion(chain, body.label, pose, centre))
    return out


def frame_motion(chain: BodyChain, link: str, frame: str) -> SymbolicMotion:
    """A frame of a link."""
    body = chain.frame(link, frame)
    parent = _poses(chain)[body.parent]
    return _motion(chain, f"{link}.{frame}", _placed(chain, body, chain.bodies[body.parent], parent), None)


def _poses(chain: BodyChain) -> list[_Pose]:
    zero = chain.names.algebra.number(0.0)
    base = _Pose([zero] * 3, list, {})
    out: list[_Pose] = []
    for body in chain.bodies:
        holder = chain.bodies[body.parent] if body.parent >= 0 else None
        out.append(_placed(chain, body, holder, out[body.parent] if holder is not None else base))
    return out


def _placed(chain: BodyChain, body: ChainBody, holder: ChainBody | None, parent: _Pose) -> _Pose:
    """From the frame of a parent through the seat and the steps to that of a body."""
    p, out, turns = parent.p, parent.out, dict(parent.turns)

    def turn(motion: int, axis: Vector) -> None:
        for d, x in enumerate(axis):
            coordinate, share = chain.along_leader(motion, x)
            known = turns.setdefault(coordinate, [x * 0.0 for x in axis])
            turns[coordinate] = [*known[:d], known[d] + share, *known[d + 1 :]]

    if body.seat is not None and holder is not None:
        p = add(p, out(body.seat.r))
        section = body.seat.section
        if section is not None:
            for q, rate in zip(holder.elastic, section.before, strict=True):
                turn(q, out(rate))
            out = _after(out, section.out)
    for step in body.steps:
        match step:
            case Shift(offset):
                p = add(p, out(offset))
            case SymbolicTurn(map_):
                out = _after(out, map_)
            case Hinge(coordinate, axis, map_):
                turn(coordinate, out(axis))
                out = _after(out, map_)
            case Slide(coordinate, axis):
                p = add(p, out(scaled(axis, chain.names.algebra.monomial(coordinate))))
    return _Pose([x.reduced() for x in p], out, turns)


def _after(outer: Map, inner_map: Map) -> Map:
    return lambda x: outer(inner_map(x))


def _motion(chain: BodyChain, label: str, pose: _Pose, centre: Vector | None) -> SymbolicMotion:
    algebra = chain.names.algebra
    zero, one = algebra.number(0.0), algebra.number(1.0)
    coordinates = tuple(chain.names.coordinates)
    p = pose.p if centre is None else [x.reduced() for x in add(pose.p, pose.out(centre))]
    columns = [pose.out([one if i == k else zero for i in range(3)]) for k in range(3)]
    R = [[columns[k][i].reduced() for k in range(3)] for i in range(3)]
    J_v = [[x.by(q).reduced() for q in coordinates] for x in p]
    J_w = [[pose.turns[q][d].reduced() if q in pose.turns else zero for q in coordinates] for d in range(3)]
    return SymbolicMotion(label, p, R, J_v, J_w)


@dataclass(frozen=True, slots=True)
class BodyEnergy:
    """What one body adds: H of its kinetic energy v^T H v / 2, and its potential energy in gravity."""

    label: str
    H: Matrix
    potential: Series


def energies(chain: BodyChain, report: Callable[[float, str], None] = lambda part, text: None) -> list[BodyEnergy]:
    """The energies of all bodies that have mass, one by one; Lin & Lewis (12)-(15), integrated."""
    coordinates = tuple(chain.names.coordinates)
    out = []
    for body in chain.bodies:
        if body.inertia is None:
            continue
        alone = replace(chain, bodies=_only(chain.bodies, body))
        momenta = kinetic_energy(alone, report)
        H = on_leaders(alone, coordinates, ((a, b, x) for (a, b), x in momenta.M.items()))
        H = [[x.reduced() for x in row] for row in H]
        out.append(BodyEnergy(body.label, H, inner(chain.gravity, momenta.first).reduced() * -1.0))
    return out


def _only(bodies: Sequence[ChainBody], body: ChainBody) -> list[ChainBody]:
    return [other if other is body else replace(other, inertia=None) for other in bodies]
