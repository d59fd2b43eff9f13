"""From the tree of links to the linearised one: the same frames and coordinates, everything elastic expanded.

Bodies and their frames are expanded to first order by their own terms, evaluated on dual numbers. A body is asked only
through its contract, so every kind of body whose terms are smooth has its linearised equations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pliant.algorithm import Role
from pliant.bodies.constants import GROUND, terms_of
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.terms import Body
from pliant.joints.kind import JointDrive
from pliant.mechanism import Mechanism
from pliant.model.once import once_per_element
from pliant.spatial.dual_numbers import Dual, dual_part, real_part
from pliant.spatial.rounding import listed
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector
from pliant.tree.link import Seat
from pliant.tree.lowering import lower
from pliant.tree.tree import Tree, TreeLink


class DualSeat(NamedTuple):
    """The place on the parent's body where a link's joint sits, (45)-(50).

    position  of the section's point in the undeformed parent   (3,)
    offset    from there to the joint frame, turns with it      (3,)
    R0        axes of the joint frame in the undeformed parent  (3, 3)
    angle     of the link's frame about the joint axis at zero joint coordinate
    slides    velocity of the point per unit elastic rate       (3, n)
    angles    theta per unit elastic coordinate                 (3, n)
    turn      the angular velocity is (1 + sum_j theta_j turn_j) theta_dot, (3, 3, 3); zero as printed
    curl      change of ``slides`` per unit elastic coordinate  (n, 3, n); zero for linear shapes
    wind      the same of the angular velocity beyond ``turn``  (n, 3, n); zero but for rods that wind in space
    """

    position: Vector
    offset: Vector
    R0: Matrix
    angle: Scalar
    slides: Matrix
    angles: Matrix
    turn: list[Matrix]
    curl: list[Matrix]
    wind: list[Matrix]

    @staticmethod
    def roles() -> dict[str, Role]:
        """Axes at right angles, unit tip values and rules of rotation are structure."""
        exact: dict[str, Role] = dict.fromkeys(("R0", "slides", "angles", "turn"), "exact")
        return {**exact, "angle": "alone"}


class LinearBody(NamedTuple):
    """A body about its root frame: mass blocks and bias forces to first order in (q, v) = its elastic state.

    With the angular velocity w and small q, v, where k and i run over the elastic coordinates:

    mass                 m
    first, first_modal   m s = first + first_modal q;  force = w x (w x m s + 2 first_modal v) + ...
    E_v1                 E_v = first_modal + sum_i q_i E_v1_i                    (n, 3, n)
    C0, C1               inertia tensor C = C0 + sum_k q_k C1_k                  (3, 3), (n, 3, 3)
    E_w0, E_w1           E_w = E_w0 + sum_i q_i E_w1_i                           (3, n), (n, 3, n)
    M_e0, M_e1           M_e = M_e0 + sum_i q_i M_e1_i                           (n, n), (n, n, n)
    G                    moment = w x C w + sum_k v_k G_k w                      (n, 3, 3)
    N0, N1, L            elastic force k = -w^T (N0_k + sum_i q_i N1_ik) w + sum_i v_i L_ik . w + (K q + D v)_k
    K, D                 stiffness and damping                                   (n, n)
    """

    mass: Scalar
    first: Vector
    first_modal: Matrix
    E_v1: list[Matrix]
    C0: Matrix
    C1: list[Matrix]
    E_w0: Matrix
    E_w1: list[Matrix]
    M_e0: Matrix
    M_e1: list[Matrix]
    G: list[Matrix]
    N0: list[Matrix]
    N1: list[list[Matrix]]
    L: list[Matrix]
    K: Matrix
    D: Matrix

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy."""
        return {"D": "loss"}


class DualConstants(NamedTuple):
    """Seat on the parent, what acts along the joint, the body, and damping that couples links (see LinkConstants)."""

    seat: DualSeat
    drive: JointDrive
    joint: Vector
    body: LinearBody
    drag: Matrix

    @staticmethod
    def roles() -> dict[str, Role]:
        """Damping takes energy."""
        return {"drag": "loss"}


@dataclass(frozen=True, eq=False)
class DualLink(TreeLink):
    """A link of the tree with its linearised constants."""

    expanded: DualConstants | None = None

    @cached_property
    def constants(self) -> DualConstants:  # type: ignore[override]
        """Everything in numbers that the linearised equations read."""
        assert self.expanded is not None
        return self.expanded

    @property
    def numbers(self) -> DualConstants:  # type: ignore[override]
        """The constants that the steps read; here they are lists already."""
        return self.constants


# ---- first-order expansion of bodies and their frames

# angular velocities from whose forces a quadratic form is read: none, the axes, and their sums
PAIRS = ((0, 1), (0, 2), (1, 2))
SPINS = np.array([np.zeros(3), *np.eye(3), *(np.eye(3)[a] + np.eye(3)[b] for a, b in PAIRS)])

ROUNDING = 1e-12
"""Of a body's angular Jacobian: less than this is not left unexplained by its section angles."""


def directions(size: int) -> list[Any]:
    """Elastic coordinates along all directions at once: the dual part is a batch (n, 1)."""
    return [Dual(0.0, unit[:, None]) for unit in np.eye(size)]


def expand_body(terms: Body, size: int) -> LinearBody:
    """The linearised body of a body's terms."""
    n = size
    still = [0.0] * n
    q = directions(n)
    w = [SPINS[:, a] for a in range(3)]
    at_rest, _ = terms.inertia(still, still, [0.0] * 3)
    bent, forces = terms.inertia(q, still, w)
    _, rates = terms.inertia(still, q, w)
    quadratic = _forms(np.array([_spread(real_part(f), (7,)) for f in forces.elastic]).reshape(n, 7))
    moved = np.array([_spread(dual_part(f), (n, 7)) for f in forces.elastic]).reshape(n, n, 7)
    flowing = np.array([_spread(dual_part(f), (n, 7)) for f in rates.elastic]).reshape(n, n, 7)
    moments = np.array([_spread(dual_part(f), (n, 7)) for f in rates.moment])
    values = {
        "mass": at_rest.A[0][0],
        "first": [at_rest.B[1][2], at_rest.B[2][0], at_rest.B[0][1]],
        "first_modal": _real(at_rest.E_v, (3, n)),
        "E_v1": _dual(bent.E_v, (3, n), n),
        "C0": _real(at_rest.C, (3, 3)),
        "C1": _dual(bent.C, (3, 3), n),
        "E_w0": _real(at_rest.E_w, (3, n)),
        "E_w1": _dual(bent.E_w, (3, n), n),
        "M_e0": _real(at_rest.M_e, (n, n)),
        "M_e1": _dual(bent.M_e, (n, n), n),
        # the moment is linear in w: column b belongs to the axis b
        "G": np.moveaxis(moments[:, :, 1:4], 1, 0),
        "N0": -quadratic,
        "N1": -np.moveaxis(_forms(moved), 0, 1),
        "L": np.moveaxis(flowing[:, :, 1:4] - flowing[:, :, :1], 0, 1),
        "K": moved[:, :, 0],
        "D": flowing[:, :, 0],
    }
    return LinearBody(**{name: listed(value) for name, value in values.items()})


def expand_seat(seat: Seat, parent: Body, size: int) -> DualSeat:
    """The linearised place of a joint on a body."""
    n = size
    at_rest = parent.frame(seat.section, [0.0] * n, [0.0] * n)
    bent = parent.frame(seat.section, directions(n), [0.0] * n)
    angles, turn, wind = np.zeros((3, n)), np.zeros((3, 3, 3)), np.zeros((n, 3, n))
    if at_rest.spin is not None and bent.spin is not None and n:
        axes = _real(at_rest.spin.axes, (3, 3))
        angles = axes @ _real(at_rest.spin.angles, (3, n))
        change = np.einsum("iab,cb->iac", _dual(bent.spin.axes, (3, 3), n), axes)
        # the axes change with the section angles: change_i = sum_j angles_ji turn_j; what is left is wind
        turn = (np.linalg.pinv(angles.T) @ change.reshape(n, 9)).reshape(3, 3, 3)
        explained = np.einsum("ji,jab,bk->iak", angles, turn, angles)
        left = _dual(bent.spin.J_w, (3, n), n) - explained
        if np.abs(left).max() > ROUNDING * max(np.abs(explained).max(), 1.0):
            wind = left
    return DualSeat(
        position=_real([at_rest.r], (1, 3))[0].tolist(),
        offset=list(seat.offset),
        R0=[list(row) for row in seat.R0],
        angle=seat.angle,
        slides=_exact(_real(at_rest.J_v, (3, n))),
        angles=_exact(angles),
        turn=_exact(turn),
        curl=listed(_dual(bent.J_v, (3, n), n)),
        wind=listed(wind),
    )


def _exact(a: Array) -> list[Any]:
    """Nested lists without what rounding left beside zeros, ones and halves."""
    nearest = np.rint(2.0 * a) / 2.0
    return listed(np.where(np.abs(a - nearest) < 1e-13, nearest, a) + 0.0)  # type: ignore[no-any-return]


def _spread(x: Any, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.asarray(x, dtype=float), shape)


def _real(rows: Any, shape: tuple[int, int]) -> Array:
    return np.array([[float(real_part(x)) for x in row] for row in rows]).reshape(shape)


def _dual(rows: Any, shape: tuple[int, int], n: int) -> Array:
    """Derivatives of a matrix by every elastic coordinate, (n, *shape)."""
    parts = [[_spread(dual_part(x), (n, 1))[:, 0] for x in row] for row in rows]
    return np.moveaxis(np.array(parts).reshape(*shape, n), -1, 0)


def _forms(values: Array) -> Array:
    """Symmetric matrices (..., 3, 3) of quadratic forms known at SPINS (..., 7)."""
    f = values - values[..., :1]
    out = np.zeros((*values.shape[:-1], 3, 3))
    for a in range(3):
        out[..., a, a] = f[..., 1 + a]
    for k, (a, b) in enumerate(PAIRS):
        out[..., a, b] = out[..., b, a] = 0.5 * (f[..., 4 + k] - f[..., 1 + a] - f[..., 1 + b])
    return out


# ---- from the tree of links to the linearised one


@once_per_element
def expand(mechanism: Mechanism, *, printed: bool = False) -> Tree:
    """First-order expansion of every link of a mechanism's tree, at rest and straight.

    printed  whether angular velocities of sections are theta_dot and section inertia does not turn, as in the paper
    """
    tree = lower(mechanism, discs=False)
    bodies = regrouped(tree)
    terms: list[Body] = [terms_of(body, link.rule) for body, link in zip(bodies, tree.links, strict=True)]
    links: list[TreeLink] = []
    for i, link in enumerate(tree.links):
        parent: Body = GROUND if link.parent < 0 else terms[link.parent]
        size = 0 if link.parent < 0 else tree.links[link.parent].kind.size
        seat = expand_seat(link.seat, parent, size)
        body = printed_body(bodies[i], link.rule) if printed else expand_body(terms[i], link.kind.size)
        if printed:
            seat = seat._replace(turn=np.zeros((3, 3, 3)).tolist())
        given = {each.name: getattr(link, each.name) for each in fields(link)}
        links.append(
            DualLink(
                **given, expanded=DualConstants(seat, link.drive, list(link.parameters), body, link.constants.drag)
            )
        )
    return replace(tree, links=tuple(links))


def regrouped(tree: Tree) -> list[ModalBody]:
    """The bodies with the mass of each link, and of all that it carries, moved to the section that it sits on.

    A point mass there moves as one at the link's origin, which is the same point: the equations stay the same, and
    links without mass need fewer operations. It must not move on if the origin slides or swings on the section.
    """
    bodies = [link.body for link in tree.links]
    for i, link in reversed(list(enumerate(tree.links))):
        # bodies that bend far keep their own mass, and their sections move on curves
        far = [bodies[k].large is not None for k in (i, link.parent) if k >= 0]
        if (link.kind.held and not _turns_alone(link)) or any(link.seat.offset) or any(far):
            continue
        if link.parent >= 0:
            section = link.seat.section
            place, shapes = np.array([section.position]), np.array([section.Phi_d]).reshape(1, 3, -1)
            mass = np.array([bodies[i].mass])
            bodies[link.parent] = bodies[link.parent].with_mass_points(mass, place, shapes)
        # on the base it rests
        bodies[i] = replace(bodies[i], mass=0.0)
    return bodies


def _turns_alone(link: TreeLink) -> bool:
    """Whether a link's origin rests on its seat."""
    screw = link.kind.joint.screw(link.parameters)
    return screw is not None and not screw[1]


def printed_body(body: ModalBody, rule: str) -> LinearBody:
    """A body whose section inertia keeps the axes of the link, as the inertia matrix (107) has it."""
    n = body.size
    linear = expand_body(terms_of(body.without_discs(), rule), n)
    if not len(body.section_inertia):
        return linear
    P = body.section_axes
    # J a + w x J w of every section with w = w_0 + phi v: J is constant in link axes, (104)
    J = np.einsum("ab,sb,cb->sac", P, body.section_inertia, P)
    phi = np.einsum("ab,sbk->sak", P, body.section_turn)
    Jphi = np.einsum("sab,sbk->sak", J, phi)
    # w x (J phi_k) + phi_k x J w + J (w x phi_k), as a matrix on w
    hat = _hats()
    each = (
        -np.einsum("sck,cab->skab", Jphi, hat)
        + np.einsum("sck,cab,sbd->skad", phi, hat, J)
        - np.einsum("sab,sck,cbd->skad", J, phi, hat)
    )
    # phi_k . (w x J w) = -w^T N_k w
    N = np.einsum("sck,cde,sef->kdf", phi, hat, J)
    changes = {
        "C0": J.sum(axis=0),
        "E_w0": Jphi.sum(axis=0),
        "M_e0": np.einsum("sak,sai->ki", phi, Jphi),
        "G": each.sum(axis=0),
        "N0": 0.5 * (N + np.swapaxes(N, 1, 2)),
        "L": np.einsum("sak,siab->ikb", phi, each),
    }
    sums = {name: (np.array(getattr(linear, name)) + value).tolist() for name, value in changes.items()}
    return linear._replace(**sums)


def _hats() -> Array:
    """hat[c] = e_c~, so that a~ = sum_c a_c hat[c]."""
    out = np.zeros((3, 3, 3))
    for c, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        out[c, a, b], out[c, b, a] = -1.0, 1.0
    return out
