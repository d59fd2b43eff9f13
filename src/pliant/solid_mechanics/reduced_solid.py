"""A meshed link reduced to a few coordinates: shapes, integrals over its mass, second order, stress, estimated errors.

Coordinates are those in which the link moves when every frame carries a part of the link's own mass: with them the low
vibrations of the bare link and the static answers to forces and moments at its frames are both right with few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pliant.errors import ModelError, Problem
from pliant.solid_mechanics.clamped_link import ClampedLink, ShapeBasis, truncation_errors
from pliant.solid_mechanics.interfaces import Interface
from pliant.solid_mechanics.mode_words import mode_names
from pliant.solid_mechanics.second_order import SecondOrder, second_order, unit_loads
from pliant.solid_mechanics.solid_mesh import Array, Indices
from pliant.solid_mechanics.stress_recovery import mesh_errors, residual_stress
from pliant.solid_mechanics.tetrahedra import MeshedSolid

MORE = 6
"""Held modes that are found beyond the coordinates wanted: the last ones of a space are rough."""
CARRIED = 0.3
"""Mass at every frame, of the link's own: eight coordinates of a bar then have the bare link's first four frequencies
and those with twice its mass at the tip to 5e-4, and its compliance but for stretch to 4e-3."""
ROUND = 1 / 6
"""Radius of gyration of the bodies at the frames, of the link's extent."""
FIRST_GUESS, MOST_MODES = 16, 200
FEWEST, MORE_PER_FRAME = 8, 4
"""Coordinates of a link with one frame, and more for every further one, where the user asks for no number."""
LOW, RIGHT = 4, 0.01
"""So many frequencies, and what the frames give way to forces and moments, are then right to one per cent."""
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ReducedSolid:
    """A link of few coordinates, in the axes of its mesh.

    names       of the coordinates, in words                       (n)
    basis       orthonormal shapes and their frequencies           (3 N, n)
    motions     d and theta of each frame in the shapes            (F, 6, n)
    second      displacements of second order
    stress      at nodes, of unit coordinates                      Pa    (N, 6, n)
    residual    what coordinates leave out under unit loads        Pa    (N, 6, 12 + 6 F)
    near_rigid  nodes next to the root or a rigid frame, where stress is singular  (N,)
    mesh_error  estimated relative error of each frequency due to the mesh         (n,)
    truncation  estimated relative error of each frequency due to shapes left out  (n,)
    compliance  part of each frame's static compliance that shapes leave out       (F, 6)
    """

    solid: MeshedSolid
    link: ClampedLink
    names: list[str]
    basis: ShapeBasis
    motions: Array
    second: SecondOrder
    stress: Array
    residual: Array
    near_rigid: NDArray[np.bool_]
    mesh_error: Array
    truncation: Array
    compliance: Array


def reduced_solid(
    solid: MeshedSolid,
    root: Indices,
    interfaces: Sequence[Interface],
    *,
    modes: int | None = None,
    below: float | None = None,
    held: int | None = None,
    root_origin: Array | None = None,
    matrices: tuple[csr_array, csr_array] | None = None,
    progress: Progress = lambda stage: None,
) -> ReducedSolid:
    """Reduce a meshed link, clamped at its root.

    modes        coordinates that are kept; default: as `below` says, or as many as low frequencies and statics need
    below        Hz: keep as many as the link has modes below this while it carries some mass at every frame
    held         instead: all coordinates of Craig and Bampton, with so many modes of held frames
    root_origin  where the root is, for the words of the modes; default the link frame's origin
    matrices     K and M of another program for the same nodes; default those of the mesh
    """
    K, M = (solid.K, solid.M) if matrices is None else matrices
    progress("factor")
    link = ClampedLink(K, M, 3, np.asarray(root, dtype=int), interfaces)
    _check_faces(link, len(solid.mesh.nodes))
    link.factor.solve(np.zeros(len(link.inner)))
    progress("modes")
    basis = _chosen(solid, link, modes, below) if held is None else link.basis(held)
    progress("second order")
    loads = unit_loads(solid, link)
    second = second_order(solid, link, basis, loads)
    progress("stress")
    stress, residual = residual_stress(solid, link, basis, loads)
    # re-entrant corners make the estimate of the eigenvalue up to twice too small: it is the bound of the frequency
    errors = mesh_errors(solid, basis.shapes)
    stiff = np.concatenate([link.root, *(face.nodes for face in interfaces if face.kind == "rigid")])
    motions = np.array([link.frame_motion(face, basis.shapes) for face in interfaces])
    masses = np.maximum(np.asarray(solid.scalar_mass.sum(axis=1)).ravel(), 0.0)
    names = mode_names(
        solid.mesh.nodes,
        masses,
        basis.shapes,
        np.zeros(3) if root_origin is None else root_origin,
        interfaces[0].origin,
    )
    wrenches = loads.answers[:, 12:].reshape(len(loads.answers), len(interfaces), 6)
    compliance = np.zeros((len(interfaces), 6))
    for k, face in enumerate(interfaces):
        whole = np.diag(link.frame_motion(face, wrenches[:, k]))
        compliance[k] = 1 - np.einsum("an,an,n->a", motions[k], motions[k], 1 / basis.squares) / whole
    return ReducedSolid(
        solid, link, names, basis, motions, second, stress, residual, solid.mesh.next_to(stiff), errors,
        truncation_errors(link, basis, len(basis.squares)), compliance,
    )  # fmt: skip


def _check_faces(link: ClampedLink, nodes: int) -> None:
    if not len(link.root):
        raise ModelError(Problem("root", "has no nodes; a link is clamped at a face"))
    taken = {int(node): "root" for node in link.root}
    for face in link.interfaces:
        for node in face.nodes:
            if not 0 <= node < nodes:
                raise ModelError(Problem(f"frame '{face.name}'", f"has node {node}; there are nodes 0 to {nodes - 1}"))
            if int(node) in taken:
                raise ModelError(
                    Problem(
                        f"frame '{face.name}'", f"shares node {node} with '{taken[int(node)]}'; faces must be apart"
                    )
                )
            taken[int(node)] = face.name


def _chosen(solid: MeshedSolid, link: ClampedLink, modes: int | None, below: float | None) -> ShapeBasis:
    """The lowest modes of the link that carries some mass at every frame, made orthonormal for the bare link."""
    most = min(MOST_MODES, len(link.inner) - 1)
    tried = (FIRST_GUESS * len(link.interfaces) if modes is None else modes) + MORE
    while True:
        whole = link.basis(min(tried, most))
        squares, V = _carrying(solid, link, whole)
        if modes is not None or below is None or tried >= most:
            break
        if whole.hz[min(tried, most) - 1] > 2 * below:
            break
        tried *= 2
    if modes is not None:
        count = modes
    elif below is not None:
        count = int((squares < (2 * np.pi * below) ** 2).sum())
    else:
        count = _enough(link, whole, V)
    if count < 1:
        lowest = np.sqrt(squares[0]) / (2 * np.pi)
        raise ModelError(
            Problem("below", f"is {below:g} Hz, and the link's first mode is at {lowest:.4g} Hz; raise it")
        )
    if count > len(squares):
        raise ModelError(Problem("modes", f"are {count}; this mesh allows at most {len(squares)}"))
    return link.orthonormal(whole.shapes @ V[:, :count])


def _enough(link: ClampedLink, whole: ShapeBasis, V: Array) -> int:
    """The fewest coordinates with which low frequencies and the answers to forces at the frames are right."""
    P = np.array([link.frame_motion(face, whole.shapes) for face in link.interfaces])
    exact = np.einsum("fan,n,fan->fa", P, 1 / whole.squares, P)
    # of the softest direction: what hardly gives way needs no coordinate
    softest = np.repeat(np.stack([exact[:, :3].max(axis=1), exact[:, 3:].max(axis=1)], axis=1), 3, axis=1)
    fewest = FEWEST + MORE_PER_FRAME * (len(link.interfaces) - 1)
    for count in range(min(fewest, V.shape[1]), V.shape[1]):
        W = V[:, :count]
        K = (W * whole.squares[:, None]).T @ W
        answered = np.einsum("fac,cd,fad->fa", P @ W, np.linalg.inv(K), P @ W)
        M = W.T @ W
        squares = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)[:LOW]
        errors = np.sqrt(squares / whole.squares[:LOW]) - 1
        if (np.abs(errors) < RIGHT).all() and ((exact - answered) / softest < RIGHT).all():
            return count
    return int(V.shape[1])


def _carrying(solid: MeshedSolid, link: ClampedLink, basis: ShapeBasis) -> tuple[Array, Array]:
    """Eigenvalues and vectors of the link that carries some mass at every frame."""
    from scipy.linalg import eigh

    mass = CARRIED * solid.material.density * solid.mesh.volume
    gyration = ROUND * float(np.ptp(solid.mesh.nodes, axis=0).max())
    J = mass * np.array([1.0] * 3 + [gyration**2] * 3)
    M = np.eye(len(basis.squares))
    for face in link.interfaces:
        P = link.frame_motion(face, basis.shapes)
        M += P.T @ (J[:, None] * P)
    return eigh(np.diag(basis.squares), M)  # type: ignore[no-any-return]
