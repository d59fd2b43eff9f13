"""The decoupled natural orthogonal complement (DeNOC) of Mohan & Saha, as explicit matrices with names.

Twists of the links t_i = (velocity of the origin, angular velocity, elastic rates), in the axes of each link, follow
from the rates of the coordinates by t = N_l N_d q_dot with N_l block lower triangular (twist propagation A_ij, (15))
and N_d block diagonal (joint propagation P_i). The inertia matrix is I = N_d^T N_l^T M N_l N_d + motors and has the
analytical factors I = U D U^T of (34) to (38), so that I^-1 = U^-T D^-1 U^-1. These dense forms explain and check the
recursive ones; they are not the fast path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import views
from pliant.errors import did_you_mean
from pliant.formulations.method import MethodError
from pliant.formulations.recursive.recursions import collect
from pliant.model.notebook import html_page
from pliant.spatial.vectors import ZERO3, Matrix
from pliant.tree.kinematics import BEND, CONNECT
from pliant.tree.link import Acceleration, Wrench, carried_acceleration, joint_acceleration

if TYPE_CHECKING:
    from pliant.tree.tree import Tree, TreeView

Array = NDArray[np.float64]

MASSLESS = 1e-14
"""Share of a link's inertia with locked joints below which what is left with free ones is rounding."""

PATTERNS = {
    "N_l": "twist propagation, (15)",
    "N_d": "joint propagation, (13)",
    "M": "masses of the free links, (24a)",
    "I": "inertia matrix, (31)",
    "U": "upper factor, (35)",
    "D": "diagonal factor, (35)",
    "I^-1": "inverse U^-T D^-1 U^-1",
}
"""Matrices with a pattern of blocks, and what they are."""


@dataclass(frozen=True, eq=False, slots=True)
class DenocLink:
    """One link of the recursion: its place in the large matrices, and its own small ones.

    With k = 6 + elastic coordinates of the link and n_i coordinates of its own (joint, then elastic):

    name, joint      of the link and of the joint that carries it, "" for a part that is fixed to its parent
    parent           index of the link that carries it; -1: the base
    coordinates      names of its own coordinates
    own              where these stand in q, and its rows in U and D
    rows             where its twist stands in t, and its rows in N_l and N_d
    R_DB, p_DB       the link's own frame B, as described, in the frame D of its twist
    A                A_{i,p}   (k, 6 + n_e of the parent)  twist that the parent's twist causes; (k, 0) on the base
    P                P_i       (k, n_i)  twist that the own coordinates' rates cause
    M                M_i       (k, k)    mass matrix of the free link (24a)
    gamma            gamma_i   (k,)      wrench of the free link without acceleration (24b): centrifugal and Coriolis,
                                         strain and structural damping
    twist_rate       (k,)                t_dot where the coordinates are not accelerated; gravity accelerates the base
    motors           (n_i, n_i)          inertia of the joint's motor on the motor angle
    joint_forces     (n_i,)              springs, dampers and friction of the joint, and damping that couples links
    composite        M~_i      (k, k)    inertia of the link and all behind it, joints locked (32)
    articulated      M^_i      (k, k)    inertia of the link and all behind it, joints free (38)
    psi_hat, psi     Psi^_i = M^_i P_i and Psi_i = Psi^_i I^_i^-1   (k, n_i)  (37)
    I_hat            I^_i = P_i^T Psi^_i + motors   (n_i, n_i)   block of D (36)
    """

    name: str
    joint: str
    parent: int
    coordinates: tuple[str, ...]
    own: slice
    rows: slice
    R_DB: Array
    p_DB: Array
    A: Array
    P: Array
    M: Array
    gamma: Array
    twist_rate: Array
    motors: Array
    joint_forces: Array
    composite: Array
    articulated: Array
    psi_hat: Array
    psi: Array
    I_hat: Array


class DenocStep(NamedTuple):
    """One link's numbers in the solution of I q_ddot = phi, (39) to (42); links from the tips inward, then outward.

    phi        (n_i,)  generalised forces of the link's own coordinates
    eta_bar    (k,)    what the links that it carries pass inward
    phi_hat    (n_i,)  step A: U^-1 phi
    eta        (k,)    what it passes inward itself: Psi_i phi_hat_i + eta_bar_i
    phi_tilde  (n_i,)  step B: D^-1 phi_hat
    mu_bar     (k,)    acceleration of the link where its own coordinates are not accelerated
    q_ddot     (n_i,)  step C: U^-T phi_tilde
    """

    phi: Array
    eta_bar: Array
    phi_hat: Array
    eta: Array
    phi_tilde: Array
    mu_bar: Array
    q_ddot: Array


@dataclass(frozen=True, eq=False)
class Denoc:
    """The matrices of Mohan & Saha of an open tree at a state; n coordinates, T entries of twists.

    links        a ``DenocLink`` for each row of blocks, parents first; parts on frames that bend and sections
                 that turn exactly are links without coordinates
    names        of the coordinates

    N_l          (T, T)   twist propagation: block (i, j) is A_ij, zero unless link j carries link i
    N_d          (T, n)   joint propagation, diag(P_i)
    M            (T, T)   diag(M_i)
    gamma        (T,)     gamma_i one below the other
    motors       (n, n)   inertia of the motors
    U, D         (n, n)   I = U D U^T, U unit upper and D block diagonal, blocks as ``links``
    inertia      (n, n)   I: the mass matrix
    inverse      (n, n)   U^-T D^-1 U^-1
    solve(phi)            accelerations of generalised forces phi, link by link: steps A, B, C
    pattern(NAME)         which blocks of a matrix there are, by their symbols
    bias         (n,)     h = N_d^T N_l^T (M t_dot + gamma) + joint forces: (33) with gamma, which the paper leaves out
    """

    links: tuple[DenocLink, ...]
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Denoc({len(self.links)} links, {len(self.names)} coordinates, twists of {self._entries} entries)"

    def _repr_html_(self) -> str:
        rows = [
            (
                link.name,
                link.joint,
                "base" if link.parent < 0 else self.links[link.parent].name,
                ", ".join(link.coordinates),
                _span(link.own),
                _span(link.rows),
            )
            for link in self.links
        ]
        return html_page(
            repr(self), ("link", "joint", "carried by", "coordinates", "rows of U, D", "rows of N_l"), rows
        )

    # ---- blocks by name

    def __getitem__(self, name: str) -> DenocLink:
        """A link by its name; sections that turn exactly are found in ``links``."""
        for link in self.links:
            if link.name == name:
                return link
        known = list(dict.fromkeys(link.name for link in self.links))
        hint = did_you_mean(name, known) or f"; links: {', '.join(known)}"
        raise KeyError(f"there is no link '{name}'{hint}")

    def A(self, i: str, j: str) -> Array:
        """A_ij: the twist of link i per unit twist of link j, which carries it; 1 for i = j, else zero."""
        return self.N_l[self[i].rows, self[j].rows]

    def block(self, matrix: Array, i: str, j: str) -> Array:
        """Rows of link i and columns of link j of U, D, the inertia or its inverse."""
        return np.asarray(matrix[self[i].own, self[j].own])

    # ---- twists

    @property
    def _entries(self) -> int:
        return self.links[-1].rows.stop if self.links else 0

    @cached_property
    def N_l(self) -> Array:
        """Twist propagation (T, T)."""
        out = np.eye(self._entries)
        for link in self.links:
            if link.parent >= 0:
                # A_{i,p} times the parent's whole row
                above = self.links[link.parent].rows
                out[link.rows, : above.stop] = link.A @ out[above, : above.stop]
        return out

    @cached_property
    def N_d(self) -> Array:
        """Joint propagation (T, n)."""
        out = np.zeros((self._entries, len(self.names)))
        for link in self.links:
            out[link.rows, link.own] = link.P
        return out

    @cached_property
    def M(self) -> Array:
        """Masses of the free links (T, T)."""
        out = np.zeros((self._entries, self._entries))
        for link in self.links:
            out[link.rows, link.rows] = link.M
        return out

    @property
    def gamma(self) -> Array:
        """Wrenches of the free links without acceleration (T,)."""
        return np.concatenate([np.zeros(0), *(link.gamma for link in self.links)])

    @property
    def twist_rate(self) -> Array:
        """Rates of the twists (T,) where no coordinate is accelerated; gravity is an acceleration of the base."""
        return np.concatenate([np.zeros(0), *(link.twist_rate for link in self.links)])

    # ---- the inertia matrix and its factors

    @cached_property
    def motors(self) -> Array:
        """Inertia of the motors on their angles (n, n)."""
        return self._diagonal([link.motors for link in self.links])

    @cached_property
    def inertia(self) -> Array:
        """I = N_d^T N_l^T M N_l N_d + motors (n, n)."""
        N = self.N_l @ self.N_d
        return N.T @ self.M @ N + self.motors

    @cached_property
    def U(self) -> Array:
        """Unit upper triangular blocks U_ij = P_i^T A_ji^T Psi_j (36); (37) has Psi_i in the place of Psi_j."""
        out = np.eye(len(self.names))
        for j in self.links:
            for i in self._carriers(j):
                out[i.own, j.own] = i.P.T @ self.N_l[j.rows, i.rows].T @ j.psi
        return out

    @cached_property
    def D(self) -> Array:
        """diag(I^_i) (n, n)."""
        return self._diagonal([link.I_hat for link in self.links])

    @cached_property
    def inverse(self) -> Array:
        """I^-1 = U^-T D^-1 U^-1 (n, n)."""
        from scipy.linalg import solve_triangular

        n = len(self.names)
        if not n:
            return np.zeros((0, 0))
        below = solve_triangular(self.U, np.eye(n), unit_diagonal=True)
        over = self._diagonal([np.asarray(np.linalg.inv(link.I_hat), dtype=float) for link in self.links])
        return np.asarray(below.T @ over @ below)

    @property
    def bias(self) -> Array:
        """h (n,): the generalised forces of a motion in which no coordinate is accelerated."""
        forces = np.concatenate([np.zeros(0), *(link.joint_forces for link in self.links)])
        return np.asarray(self.N_d.T @ (self.N_l.T @ (self.M @ self.twist_rate + self.gamma)) + forces)

    # ---- the recursion, step by step

    def solve(self, phi: Array) -> tuple[DenocStep, ...]:
        """Accelerations of generalised forces phi (n,) by the three steps of (39) to (42), for each link.

        (39) has eta_i where eta_bar_i is meant: eta_i itself depends on what is sought.
        """
        phi = np.asarray(phi, dtype=float)
        if phi.shape != (len(self.names),):
            raise ValueError(f"phi has shape {phi.shape}; it must be ({len(self.names)},), a force per coordinate")
        eta_bar = [np.zeros(len(link.M)) for link in self.links]
        inward: list[tuple[Array, Array]] = [(np.zeros(0), np.zeros(0))] * len(self.links)
        for i, link in reversed(list(enumerate(self.links))):
            phi_hat = phi[link.own] - link.P.T @ eta_bar[i]
            eta = link.psi @ phi_hat + eta_bar[i]
            inward[i] = phi_hat, eta
            if link.parent >= 0:
                eta_bar[link.parent] = eta_bar[link.parent] + link.A.T @ eta
        out: list[DenocStep] = []
        mu: list[Array] = []
        for i, link in enumerate(self.links):
            phi_hat, eta = inward[i]
            phi_tilde = np.asarray(np.linalg.solve(link.I_hat, phi_hat) if len(phi_hat) else phi_hat)
            mu_bar = link.A @ mu[link.parent] if link.parent >= 0 else np.zeros(len(link.M))
            q_ddot = phi_tilde - link.psi.T @ mu_bar
            mu.append(link.P @ q_ddot + mu_bar)
            out.append(DenocStep(phi[link.own], eta_bar[i], phi_hat, eta, phi_tilde, mu_bar, q_ddot))
        return tuple(out)

    # ---- patterns

    def pattern(self, matrix: str) -> list[list[str]]:
        """Symbols of the blocks of a matrix, a row for each link; "" where nothing stands by structure.

        matrix  N_l, N_d, M, I, U, D or I^-1; links without coordinates have no block in I, U, D and I^-1
        """
        if matrix not in PATTERNS:
            hint = did_you_mean(matrix, PATTERNS) or f"; matrices: {', '.join(PATTERNS)}"
            raise KeyError(f"there is no matrix '{matrix}'{hint}")
        return [
            [self._symbol(matrix, i, j) for j in self._shown(matrix, columns=True)]
            for i in self._shown(matrix, columns=False)
        ]

    def pattern_links(self, matrix: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Links (from 0) to which rows and columns of ``pattern`` belong."""
        return tuple(self._shown(matrix, columns=False)), tuple(self._shown(matrix, columns=True))

    def _shown(self, matrix: str, *, columns: bool) -> list[int]:
        twists = matrix in ("N_l", "M") or (matrix == "N_d" and not columns)
        return [k for k, link in enumerate(self.links) if twists or link.coordinates]

    def _symbol(self, matrix: str, i: int, j: int) -> str:
        carried = self.links[j] in self._carriers(self.links[i])
        carries = self.links[i] in self._carriers(self.links[j])
        own = f"{i + 1}{j + 1}" if max(i, j) < 9 else f"{i + 1},{j + 1}"
        if matrix in ("N_d", "M", "D"):
            return {"N_d": "P", "M": "M", "D": "I^"}[matrix] + f"_{i + 1}" if i == j else ""
        if matrix == "N_l":
            return "1" if i == j else f"A_{own}" if carried else ""
        if matrix == "U":
            return "1" if i == j else f"U_{own}" if carries else ""
        if matrix == "I":
            return f"I_{own}" if i == j or carried or carries else ""
        return f"W_{own}" if self._moves(i) & self._moves(j) else ""

    def _moves(self, i: int) -> set[int]:
        """The link and those between it and the base that have coordinates."""
        ways = {id(link) for link in (self.links[i], *self._carriers(self.links[i])) if link.coordinates}
        return {k for k, link in enumerate(self.links) if id(link) in ways}

    def _carriers(self, link: DenocLink) -> Sequence[DenocLink]:
        """The links between a link and the base."""
        out: list[DenocLink] = []
        while link.parent >= 0:
            link = self.links[link.parent]
            out.append(link)
        return out

    def _diagonal(self, blocks: Sequence[Array]) -> Array:
        out = np.zeros((len(self.names), len(self.names)))
        for link, block in zip(self.links, blocks, strict=True):
            out[link.own, link.own] = block
        return out


def denoc(tree: Tree, q: Array, v: Array) -> Denoc:
    """The matrices of a tree at coordinates q (n,) and rates v (n,)."""
    links = views(tree, {"q": list(map(float, q)), "v": list(map(float, v))})
    starts = np.concatenate([[0], np.cumsum([6 + link.kind.size for link in tree.links])]).astype(int)
    found = [_free(view) for view in links]
    count = len(links)
    composite, articulated = ([part["M"].copy() for part in found] for _ in range(2))
    factors: list[dict[str, Array]] = [{} for _ in links]
    for i in reversed(range(count)):
        A, P, parent = found[i]["A"], found[i]["P"], tree.links[i].parent
        # (36), (37)
        psi_hat = articulated[i] @ P
        I_hat = P.T @ psi_hat + found[i]["motors"]
        _check(tree, i, P.T @ composite[i] @ P + found[i]["motors"], I_hat)
        psi = np.asarray(np.linalg.solve(I_hat, psi_hat.T).T, dtype=float) if P.shape[1] else psi_hat
        factors[i] = {"psi_hat": psi_hat, "psi": psi, "I_hat": I_hat}
        if parent >= 0:
            # (32), (38) with A_{i+1,i} on both sides
            composite[parent] += A.T @ composite[i] @ A
            articulated[parent] += A.T @ (articulated[i] - psi_hat @ psi.T) @ A
    out = []
    for i, link in enumerate(tree.links):
        rows = slice(int(starts[i]), int(starts[i + 1]))
        whole: dict[str, Any] = {**found[i], **factors[i], "composite": composite[i], "articulated": articulated[i]}
        place = (link.name, link.joint, link.parent, link.coordinates, link.own, rows, link.R_DB, link.p_DB)
        out.append(DenocLink(*place, **whole))
    return Denoc(tuple(out), tree.coordinates)


def _check(tree: Tree, i: int, locked: Array, I_hat: Array) -> None:
    """Refuse a link whose coordinates nothing resists: its block of D has no inverse."""
    link = tree.links[i]
    if not link.coordinates:
        return
    size = np.sqrt(np.diagonal(locked))
    scaled = I_hat / np.outer(size, size) if size.all() else np.zeros_like(I_hat)
    if float(np.linalg.eigvalsh(scaled)[0]) <= MASSLESS:
        raise MethodError(
            f"link '{link.name}': no mass resists {', '.join(link.coordinates)} while the joints behind it are free, "
            "so that U, D and the inverse do not exist for the open tree; give it a mass, or its joint a motor inertia"
        )


def _free(view: TreeView) -> dict[str, Array]:
    """Matrices of a link alone; its connection and acceleration stay in its store for its children."""
    view.store.update(BEND.step(view))
    view.store.update(CONNECT.step(view))
    kind, link, c = view.kind, view.bent, view.connection
    still = [0.0] * kind.coordinates
    a_v, a_w = carried_acceleration(c, *view.parent_acceleration)
    view.store["acceleration"] = Acceleration(a_v, a_w, [0.0] * kind.size)
    blocks, bias = link.body.inertia(kind.elastic(view.q), kind.elastic(view.v), c.w)
    nothing = Wrench(list(ZERO3), list(ZERO3), [0.0] * kind.size)
    forces, _ = collect(kind, link, view.q, view.v, still, c, nothing, [])
    motors = np.zeros((kind.coordinates, kind.coordinates))
    if kind.is_driven:
        row = np.array([1.0, *link.drive.row])
        motors = link.drive.inertia * np.outer(row, row)
    n, B = kind.size, _matrix(blocks.B, 3)
    E_v, E_w = _matrix(blocks.E_v, n), _matrix(blocks.E_w, n)
    M = [[_matrix(blocks.A, 3), B, E_v], [B.T, _matrix(blocks.C, 3), E_w], [E_v.T, E_w.T, _matrix(blocks.M_e, n)]]
    return {
        "A": _propagation(view),
        "P": _joint_propagation(view),
        "M": np.block(M),
        "gamma": np.array([*bias.force, *bias.moment, *bias.elastic], dtype=float),
        "twist_rate": np.array([*a_v, *a_w, *[0.0] * kind.size], dtype=float),
        "motors": motors,
        "joint_forces": np.array(forces, dtype=float) + (np.array(view.drag, dtype=float) if view.drag else 0.0),
    }


def _propagation(view: TreeView) -> Array:
    """A_{i,p}: the twist of a link that its parent's twist causes; elastic rates of the link are its own."""
    if view.parent is None:
        return np.zeros((6 + view.kind.size, 0))
    c = view.connection
    R, r, s = np.array(c.R, dtype=float).T, np.array(c.r, dtype=float), np.array(c.s, dtype=float)
    n = view.parent.kind.size
    slide = _matrix(c.frame.J_v, n)
    turn = np.zeros((3, n)) if c.frame.spin is None else _matrix(c.frame.spin.J_w, n)
    A = np.zeros((6 + view.kind.size, 6 + n))
    A[:3] = R @ np.hstack([np.eye(3), -_hat(r + s), slide - _hat(s) @ turn])
    A[3:6] = R @ np.hstack([np.zeros((3, 3)), np.eye(3), turn])
    return A


def _joint_propagation(view: TreeView) -> Array:
    """P_i: the twist that the link's own coordinates cause."""
    kind = view.kind
    P = np.zeros((6 + kind.size, kind.coordinates))
    for k in range(kind.held):
        unit = np.eye(kind.held)[k].tolist()
        P[:6, k] = np.concatenate(joint_acceleration(kind, view.link, view.connection, unit))
    P[6:, kind.coordinates - kind.size :] = np.eye(kind.size)
    return P


def _matrix(rows: Matrix, columns: int) -> Array:
    return np.array(rows, dtype=float).reshape(len(rows), columns)


def _hat(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _span(places: slice) -> str:
    return f"{places.start}:{places.stop}" if places.stop > places.start else ""
