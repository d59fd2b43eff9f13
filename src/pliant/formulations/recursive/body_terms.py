"""Body terms of a modal body: the blocks of its mass matrix and its bias forces.

The recursions know a body only through ``body_terms``. Generalised Newton-Euler equations of a free flexible body,
Briot & Khalil (53)-(67), with their corrections: (57) reads beta_k + sum_i lambda_ik q_i, the last term of (67) is
I_ee. Sections whose rotary inertia turns exactly with them are added station by station.
"""

from __future__ import annotations

from typing import NamedTuple

from pliant.formulations.recursive.link import Blocks, BodyConstants, LinkKind
from pliant.spatial.attachment_rotation import section_turn
from pliant.spatial.scalars import Scalar, is_zero
from pliant.spatial.vectors import (
    Matrix,
    Vector,
    add,
    column,
    cross,
    dot,
    plus,
    product,
    scale,
    similar_symmetric,
    times,
    transpose,
    transpose_times,
)


class Bias(NamedTuple):
    """Force, moment about the origin and elastic forces at zero acceleration."""

    force: Vector
    moment: Vector
    elastic: Vector


def body_terms(kind: LinkKind, body: BodyConstants, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
    """Mass matrix at (acceleration of the origin, angular acceleration, q_e_ddot), (64), and bias, (65)-(67)."""
    gradients = inertia_gradients(body, q_e)
    blocks = _blocks(body, q_e, gradients)
    bias = _bias(body, q_e, v_e, w, gradients, blocks.C)
    if body.section_inertia:
        blocks, bias = _with_sections(kind, body, q_e, v_e, w, blocks, bias)
    return blocks, bias


def inertia_gradients(body: BodyConstants, q_e: Vector) -> list[Matrix]:
    """N_k = I_re_k + sum_i q_i I_ee_ik: half the derivative of the inertia tensor by q_k."""
    out = []
    for k, I_re in enumerate(body.I_re):
        N = [list(row) for row in I_re]
        for i, q in enumerate(q_e):
            I_ee = body.I_ee[i][k]
            for a in range(3):
                for b in range(3):
                    if not is_zero(I_ee[a][b]):
                        N[a][b] = N[a][b] + q * I_ee[a][b]
        out.append(N)
    return out


def first_moment(body: BodyConstants, q_e: Vector) -> Vector:
    """MS = int r dm of the deformed body, (56)."""
    return add(body.first, times(body.first_modal, q_e))


def _blocks(body: BodyConstants, q_e: Vector, gradients: list[Matrix]) -> Blocks:
    n = len(q_e)
    m = body.mass
    x, y, z = first_moment(body, q_e)
    inertia = [list(row) for row in body.I_rr]
    for a in range(3):
        for b in range(a, 3):
            for k, q in enumerate(q_e):
                inertia[a][b] = inertia[a][b] + q * (gradients[k][a][b] + body.I_re[k][b][a])
            inertia[b][a] = inertia[a][b]
    E_w = [list(row) for row in body.beta]
    for a in range(3):
        for k in range(n):
            for i, q in enumerate(q_e):
                E_w[a][k] = E_w[a][k] + body.lam[i][k][a] * q
    return Blocks(
        A=[[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]],
        B=[[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]],
        C=inertia,
        E_v=[list(row) for row in body.first_modal],
        E_w=E_w,
        M_e=[list(row) for row in body.M_ee],
    )


def _bias(body: BodyConstants, q_e: Vector, v_e: Vector, w: Vector, gradients: list[Matrix], C: Matrix) -> Bias:
    n = len(q_e)
    turned = [times(N, w) for N in gradients]
    # every Coriolis term carries 2 v_e
    twice = scale(2.0, v_e)
    force = cross(w, add(cross(w, first_moment(body, q_e)), times(body.first_modal, twice)))
    moment = cross(w, times(C, w))
    for rate, u in zip(twice, turned, strict=True):
        moment = add(moment, scale(rate, u))
    elastic: list[Scalar] = []
    for i in range(n):
        gyroscopic: Scalar = 0.0
        for k in range(n):
            gyroscopic = gyroscopic + dot(body.lam[k][i], w) * twice[k]
        s = gyroscopic - dot(w, turned[i])
        s = s + dot(column(body.K_ee, i), q_e) + dot(column(body.D_ee, i), v_e)
        elastic.append(s)
    return Bias(force, moment, elastic)


def _with_sections(
    kind: LinkKind, body: BodyConstants, q_e: Vector, v_e: Vector, w: Vector, blocks: Blocks, bias: Bias
) -> tuple[Blocks, Bias]:
    """Add discs that turn by rot(Phi_r q_e) at stations along the beam, in the link's own axes."""
    n = len(q_e)
    P = body.section_axes
    w_own = transpose_times(P, w)
    C: Matrix = [[0.0] * 3 for _ in range(3)]
    E_w: Matrix = [[0.0] * n for _ in range(3)]
    M_e = [list(row) for row in blocks.M_e]
    moment: Vector = [0.0] * 3
    elastic = list(bias.elastic)
    for moments, Phi_r in zip(body.section_inertia, body.section_turn, strict=True):
        turn = section_turn(kind.rotation, Phi_r, q_e, v_e)
        disc = [[moments[i] if i == j else 0.0 for j in range(3)] for i in range(3)]
        inertia = similar_symmetric(turn.R, disc)
        J = product(turn.T, Phi_r)
        coupling = product(inertia, J)
        spin = add(w_own, turn.omega)
        torque = add(cross(spin, times(inertia, spin)), times(inertia, add(turn.bias, cross(w_own, turn.omega))))
        C, E_w = plus(C, inertia), plus(E_w, coupling)
        moment = add(moment, torque)
        for k in range(n):
            for i in range(k + 1):
                M_e[i][k] = M_e[k][i] = M_e[i][k] + dot(column(J, i), column(coupling, k))
            elastic[k] = elastic[k] + dot(column(J, k), torque)
    C, E_w = product(product(P, C), transpose(P)), product(P, E_w)
    with_discs = blocks._replace(C=plus(blocks.C, C), E_w=plus(blocks.E_w, E_w), M_e=M_e)
    return with_discs, Bias(bias.force, add(bias.moment, times(P, moment)), elastic)


def apply(b: Blocks, a_v: Vector, a_w: Vector, a_e: Vector) -> tuple[Vector, Vector, Vector]:
    """Mass matrix times accelerations, for a single body (A is m times identity)."""
    m = b.A[0][0]
    ms = [b.B[1][2], b.B[2][0], b.B[0][1]]
    force = add(scale(m, a_v), cross(a_w, ms), times(b.E_v, a_e))
    moment = add(cross(ms, a_v), times(b.C, a_w), times(b.E_w, a_e))
    elastic = [dot(column(b.E_v, k), a_v) + dot(column(b.E_w, k), a_w) + dot(b.M_e[k], a_e) for k in range(len(a_e))]
    return force, moment, elastic
