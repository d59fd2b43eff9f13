"""How points of a bent solid move to second order: u = Phi q + q^T Gamma q / 2, such that its energy stays quadratic.

K Gamma_ij = -V3(phi_i, phi_j, .) with the root held and the frames free (static modal derivatives). Nobody needs Gamma
at all nodes: integrals over the mass and motions of frames are linear functionals l of it, and l . Gamma_ij =
-V3(phi_i, phi_j, K^-1 l). So 12 inertia loads and 6 unit wrenches of each frame are solved for, whatever the number of
coordinates. The same static answers carry the stress that modes leave out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.solid_mechanics.clamped_link import ClampedLink, ShapeBasis
from pliant.solid_mechanics.interfaces import Interface
from pliant.solid_mechanics.solid_mesh import Array
from pliant.solid_mechanics.tetrahedra import MeshedSolid, strain_per_turn, third_derivative

INERTIA = 12
"""Loads of inertia: three uniform accelerations M e_a, nine fields M (r_a e_b) in column 3 + 3 a + b."""


class UnitLoads(NamedTuple):
    """Static answers of a link to unit loads, its root held and its frames free.

    forces   (unknowns, 12)        nodal forces of the inertia loads
    answers  (unknowns, 12 + 6 F)  displacements of the inertia loads, then of each frame's force and moment
    """

    forces: Array
    answers: Array

    def work(self, link: ClampedLink, shapes: Array) -> Array:
        """Work of each unit load in each shape (12 + 6 F, n)."""
        frames = (link.frame_motion(face, shapes) for face in link.interfaces)
        return np.concatenate([self.forces.T @ shapes, *frames])


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Displacements of second order of a link with n coordinates.

    first   int Gamma dm       kg     (3, n, n)
    second  int r_a Gamma_b dm kg m   (3, 3, n, n)
    moved   Gamma of frames    m      (F, 3, n, n)
    turned  Gamma_r of frames  rad    (F, 3, n, n)
    """

    first: Array
    second: Array
    moved: Array
    turned: Array


def unit_loads(solid: MeshedSolid, link: ClampedLink) -> UnitLoads:
    """The 12 inertia loads and the wrenches of all frames."""
    n = len(solid.mesh.nodes)
    fields = np.zeros((n, 3, INERTIA))
    for b in range(3):
        fields[:, b, b] = 1.0
        for a in range(3):
            fields[:, b, 3 + 3 * a + b] = solid.mesh.nodes[:, a]
    forces = np.asarray(link.M @ fields.reshape(3 * n, INERTIA))
    return UnitLoads(forces, np.concatenate([link.answer(forces), link.wrench_answers()], axis=1))


def second_order(solid: MeshedSolid, link: ClampedLink, basis: ShapeBasis, loads: UnitLoads) -> SecondOrder:
    """Integrals and frames of Gamma; every triple of coordinates gets its share of the cubic energy.

    Where Gamma has parts along kept shapes the plain derivative would cancel the cubic energy three times over. The
    shares go by strain per turn: stiff shapes give way, soft ones carry the turn.
    """
    n, count = basis.shapes.shape[1], loads.answers.shape[1]
    both = np.concatenate([loads.answers, basis.shapes], axis=1)
    V3 = third_derivative(solid, basis.shapes, both)
    for face in link.interfaces:
        if face.kind == "rigid":
            V3 += _of_rigid_face(link, face, basis.shapes, both, loads.forces)
    cubic = V3[:, :, count:]
    s = strain_per_turn(solid, basis.shapes) ** 2
    kept = s / (s[:, None, None] + s[None, :, None] + s)
    # (i, j, k): what Gamma_ij must not do along shape k
    back = (1 - kept) * cubic / basis.squares
    values = -V3[:, :, :count] + back @ loads.work(link, basis.shapes).T
    values = np.moveaxis((values + values.swapaxes(0, 1)) / 2, 2, 0)
    frames = [
        _followed(face, link.frame_motion(face, basis.shapes)[3:], values[INERTIA + 6 * k : INERTIA + 6 * k + 6])
        for k, face in enumerate(link.interfaces)
    ]
    return SecondOrder(
        values[:3],
        values[3:INERTIA].reshape(3, 3, n, n),
        np.array([frame[0] for frame in frames]),
        np.array([frame[1] for frame in frames]),
    )


def _of_rigid_face(link: ClampedLink, face: Interface, modes: Array, others: Array, forces: Array) -> Array:
    """What the second-order motion theta x (theta x s)/2 of a rigid face adds to V3 (n, n, L)."""
    turns, other_turns = link.frame_motion(face, modes)[3:], link.frame_motion(face, others)[3:]
    own = np.zeros_like(others)
    own[:, : forces.shape[1]] = forces
    held, held_others = (_lever_forms(link, face, A) for A in (link.K @ modes, link.K @ others - own))
    out = np.einsum("ai,lab,bj->ijl", turns, held_others, turns, optimize=True)
    mixed = np.einsum("aj,iab,bl->ijl", turns, held, other_turns, optimize=True)
    return np.asarray(out + mixed + mixed.swapaxes(0, 1))


def _lever_forms(link: ClampedLink, face: Interface, forces: Array) -> Array:
    """Q (k, 3, 3) with theta^T Q theta = forces on the face . theta x (theta x s): sym A - tr A, A = sum f s^T."""
    f = np.asarray(forces).reshape(-1, link.d, forces.shape[1])[face.nodes][:, :3]
    A = np.einsum("mik,mj->kij", f, face.levers)
    return np.asarray((A + A.swapaxes(1, 2)) / 2 - np.trace(A, axis1=1, axis2=2)[:, None, None] * np.eye(3))


def _followed(face: Interface, turns: Array, values: Array) -> tuple[Array, Array]:
    """Gamma and Gamma_r (3, n, n) of a frame of its values (6, n, n).

    Those of an average are linear fits of displacements; the turn that they belong to is that of a finite rotation.
    """
    moved, turned = values[:3], values[3:]
    if face.kind == "rigid":
        return moved, turned
    mean, S = face.mean_lever, face.spread
    inertia = np.trace(S) * np.eye(3) - S
    crossed = np.cross(turns.T[:, None], (S @ turns).T[None])  # theta_i x S theta_j (n, n, 3)
    fitted = turned + np.einsum("ab,ijb->aij", np.linalg.inv(inertia), (crossed + crossed.swapaxes(0, 1)) / 2)
    # theta_i x (theta_j x mean), symmetric in i and j
    dots = np.einsum("ai,bj,b->ija", turns, turns, mean)
    lever = (dots + dots.swapaxes(0, 1)) / 2 - (turns.T @ turns)[..., None] * mean
    back = np.cross((turned - fitted).transpose(1, 2, 0), mean) - lever
    return moved + back.transpose(2, 0, 1), fitted
