"""Modal data of a meshed link: what the reduction of a solid becomes as a description, with the file of its stress."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.model.description.modal import ModalData, ModalFrame
from pliant.solid_mechanics.reduced_solid import ReducedSolid
from pliant.solid_mechanics.solid_mesh import Array
from pliant.solid_mechanics.stress_file import NodalStress


def mass_integrals(nodes: Array, scalar_mass: Any, shapes: Array) -> dict[str, Array]:
    """All integrals over the mass that modal data have, of shapes (N, 3, n) and a mass matrix of one direction.

    Second moments int a b^T dm are found once, of positions and shapes alike.
    """
    n = shapes.shape[2]
    fields = np.concatenate([nodes[:, :, None], shapes], axis=2)
    flat = fields.reshape(len(nodes), -1)
    gram = (flat.T @ np.asarray(scalar_mass @ flat)).reshape(3, n + 1, 3, n + 1)
    second = np.einsum("aibk->ikab", gram)
    lumped = np.asarray(scalar_mass.sum(axis=1)).ravel()
    trace, eye = np.einsum("ikaa->ik", second), np.eye(3)
    tensor = trace[..., None, None] * eye - second.swapaxes(-1, -2)
    turned = second - second.swapaxes(-1, -2)
    cross = np.stack([turned[..., 1, 2], turned[..., 2, 0], turned[..., 0, 1]], axis=-1)
    return {
        "first": lumped @ nodes,
        "first_modal": np.einsum("m,mak->ak", lumped, shapes),
        "beta": cross[0, 1:].T,
        "lam": cross[1:, 1:],
        "I_rr": (tensor[0, 0] + tensor[0, 0].T) / 2,
        "I_re": tensor[0, 1:],
        "I_ee": tensor[1:, 1:],
    }


def modal_data(reduced: ReducedSolid, *, mass_matrix: Any | None = None, **more: Any) -> ModalData:
    """The description of a reduced link.

    mass_matrix  of one direction (N, N), of another program; default that of the mesh
    more         further keys, as stress and D_ee
    """
    nodes, basis = reduced.solid.mesh.nodes, reduced.basis
    scalar = reduced.solid.scalar_mass if mass_matrix is None else mass_matrix
    n = len(basis.squares)
    frames = {}
    for face, motion, moved, turned in zip(
        reduced.link.interfaces, reduced.motions, reduced.second.moved, reduced.second.turned, strict=True
    ):
        frames[face.name] = ModalFrame(
            position=tuple(face.origin.tolist()), Phi_d=_rows(motion[:3]), Phi_r=_rows(motion[3:]),
            Gamma=_rows(moved), Gamma_r=_rows(turned),
        )  # fmt: skip
    tip = next(face for face in reduced.link.interfaces if face.name == "tip")
    integrals = mass_integrals(nodes, scalar, basis.shapes.reshape(-1, 3, n))
    return ModalData(
        names=tuple(reduced.names),
        mass=float(scalar.sum()),
        length=float(np.linalg.norm(tip.origin)),
        M_ee=_rows(np.eye(n)),
        K_ee=_rows(np.diag(basis.squares)),
        Gamma_first=_rows(reduced.second.first),
        Gamma_second=_rows(reduced.second.second),
        frames=frames,
        **{key: _rows(value) for key, value in integrals.items()},
        **more,
    )


def surface_stress(reduced: ReducedSolid, yield_strength: float = 0.0) -> NodalStress:
    """Stress at the nodes of the surface, where bodies are stressed most, with the triangles to draw it on."""
    triangles = reduced.solid.mesh.surface
    own, place = np.unique(triangles, return_inverse=True)
    six = place.reshape(-1, 6)
    # four flat triangles for each curved one: corners 0 1 2, middles 3 (01), 4 (12), 5 (02)
    flat = six[:, [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]].reshape(-1, 3)
    frames = tuple(face.name for face in reduced.link.interfaces)
    return NodalStress(
        reduced.solid.mesh.nodes[own], reduced.stress[own], reduced.residual[own], reduced.near_rigid[own], frames,
        flat, yield_strength,
    )  # fmt: skip


def _rows(A: Array) -> Any:
    """An array as a description takes it."""
    return np.asarray(A, dtype=float)
