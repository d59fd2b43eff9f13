"""Links from finite-element programs: stiffness and mass matrices with the coordinates of the nodes.

The matrices are read from Matrix Market files, checked (sizes, symmetry, rigid-body motions, mass), and reduced by
Craig and Bampton: the link frame is clamped at the nodes of the root, the nodes of every other frame move as one rigid
interface, and some modes with held interfaces are added. What comes out is the modal data of a link, which every method
takes that takes modal data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from pliant.errors import ModelError, Problem
from pliant.files import no_file
from pliant.model.description.modal import ModalData, ModalFrame
from pliant.model.element import Array
from pliant.model.readers.matrix_market import MatrixFileError, read_matrix
from pliant.solid_mechanics.clamped_link import ClampedLink
from pliant.solid_mechanics.interfaces import WIDE, Interface, hull_centroid

SYMMETRIC = 1e-8
"""Largest difference of a matrix and its transpose, of its largest entry."""
RIGID = 1e-6
"""Largest force of a rigid-body motion, of the stiffness times the motion's displacements."""
SAME_MASS = 1e-6
"""Relative difference of the masses that the three directions move."""
AXES = 3
TURNS = ("dx", "dy", "dz", "rx", "ry", "rz")


@dataclass(frozen=True, eq=False, slots=True)
class FiniteElementLink:
    """A free link of finite elements.

    nodes     (n, 3)  m, in the link frame
    K, M      stiffness and mass, sparse (n d, n d): unknowns node by node
    unknowns  d: 3 (displacements) or 6 (displacements and turns)
    """

    nodes: Array
    K: csr_array
    M: csr_array
    unknowns: int

    @property
    def motions(self) -> Array:
        """Displacements (n d, 6) of unit rigid-body motions about the origin: three shifts, three turns."""
        n, d = len(self.nodes), self.unknowns
        S = np.zeros((n, d, 6))
        S[:, :3, :3] = np.eye(3)
        # turns: e x r
        S[:, :3, 3:] = np.cross(np.eye(3)[None, :, :], self.nodes[:, None, :]).swapaxes(1, 2)
        if d == 6:
            S[:, 3:, 3:] = np.eye(3)
        return S.reshape(n * d, 6)

    @property
    def mass(self) -> float:
        """kg"""
        return float(np.trace(self.rigid_mass[:3, :3]) / 3)

    @property
    def rigid_mass(self) -> Array:
        """Mass matrix (6, 6) of the rigid-body motions."""
        S = self.motions
        return np.asarray(S.T @ (self.M @ S))

    def reduced(
        self,
        root: Sequence[int],
        frames: Mapping[str, Sequence[int]],
        modes: int,
        *,
        names: str = "fixed",
        origins: Mapping[str, Sequence[float]] | None = None,
    ) -> ModalData:
        """Modal data of the link: clamped at the root, with interfaces at the frames.

        root     numbers of the nodes (from 0) that are fixed to the link frame, whose origin is that of the nodes
        frames   frame -> its nodes. A link needs the frame tip
        modes    number of modes with held interfaces
        origins  frame -> its origin (m); default the centroid of the outline of nodes in a plane, of others their mean
        """
        return _reduce(self, root, frames, modes, names, origins or {})


def read_finite_elements(
    stiffness: str | PathLike[str],
    mass: str | PathLike[str],
    nodes: str | PathLike[str],
    *,
    names: Sequence[str] | None = None,
) -> FiniteElementLink:
    """A link from two Matrix Market files and a CSV file of coordinates x, y, z (m), one node per line.

    stiffness, mass  of the free link, 3 or 6 unknowns per node, SI
    nodes            their places in the axes of the link
    names            what errors call the three; default: their paths
    """
    paths = (stiffness, mass, nodes)
    called = tuple(names) if names is not None else tuple(fspath(path) for path in paths)
    K, M = (_matrix(path, name) for path, name in zip(paths[:2], called, strict=False))
    return finite_elements(K, M, _coordinates(nodes, called[2]), names=(called[0], called[1], called[2]))


def finite_elements(
    K: Any, M: Any, nodes: ArrayLike, *, names: tuple[str, str, str] = ("stiffness", "mass", "nodes")
) -> FiniteElementLink:
    """A link from matrices (full or sparse) and coordinates (n, 3), checked.

    K, M   stiffness (N/m) and mass (kg) of the free link, 3 or 6 unknowns per node, node by node
    nodes  places x, y, z in m (n, 3)
    names  what errors call the three
    """
    places = np.asarray(nodes, dtype=float)
    if places.ndim != 2 or places.shape[1] != 3 or not np.isfinite(places).all():
        _refuse(names[2], f"have the shape {places.shape}; they must be rows of three finite coordinates")
    n = len(places)
    matrices = [_real(name, csr_array(A)) for name, A in zip(names, (K, M), strict=False)]
    for name, A in zip(names, matrices, strict=False):
        _check_matrix(name, A, n)
    unknowns = matrices[0].shape[0] // n
    if matrices[0].shape != matrices[1].shape:
        _refuse(names[1], f"is {matrices[1].shape[0]} wide, the stiffness {matrices[0].shape[0]}; they must be alike")
    link = FiniteElementLink(places, matrices[0], matrices[1], unknowns)
    _check_rigid_motions(link, names[0])
    _check_mass(link, names[1])
    return link


# ---------------------------------------------------------------- checks


def _refuse(element: str, message: str) -> NoReturn:
    raise ModelError(Problem(element, message))


def _matrix(path: str | PathLike[str], name: str) -> csr_array:
    try:
        return read_matrix(path)
    except MatrixFileError as error:
        _refuse(name, str(error))


def _real(name: str, A: csr_array) -> csr_array:
    if np.iscomplexobj(A) and A.imag.count_nonzero():
        _refuse(name, "has complex entries; damping is given apart, and stiffness and mass are real")
    return (A.real if np.iscomplexobj(A) else A).astype(float)


def _coordinates(path: str | PathLike[str], name: str) -> Array:
    rows: list[list[float]] = []
    wrong = no_file(path)
    if wrong:
        _refuse(name, f"cannot be read: {wrong}")
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        _refuse(name, f"cannot be read: {error}")
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        try:
            row = [float(x) for x in line.replace(";", ",").split(",")]
        except ValueError:
            row = []
            if not rows and number == next(k for k, text in enumerate(lines, 1) if text and text[0] != "#"):
                # titles of the columns
                continue
        if len(row) != AXES or not np.isfinite(row).all():
            _refuse(name, f"has '{line[:40]}' in line {number}; it must be x, y, z of a node in m")
        rows.append(row)
    return np.array(rows, dtype=float).reshape(-1, AXES)


def _check_matrix(name: str, A: csr_array, nodes: int) -> None:
    if A.shape[0] != A.shape[1]:
        _refuse(name, f"is {A.shape[0]} x {A.shape[1]}; it must be square")
    if A.shape[0] not in (3 * nodes, 6 * nodes):
        _refuse(
            name,
            f"is {A.shape[0]} wide and there are {nodes} nodes; it must have 3 (displacements) or 6 (displacements and "
            "turns) rows per node, node by node. Supports must not be taken out of it: the link is free",
        )
    if not np.isfinite(A.data).all():
        _refuse(name, "has entries that are not finite")
    size = float(np.abs(A.data).max(initial=0.0))
    difference = abs(A - A.T).tocoo()
    if difference.nnz and difference.data.max() > SYMMETRIC * size:
        k = int(np.argmax(difference.data))
        i, j = int(difference.row[k]), int(difference.col[k])
        _refuse(
            name,
            f"is not symmetric: entries ({i + 1}, {j + 1}) and ({j + 1}, {i + 1}) differ by {difference.data[k]:.3g}. "
            "A file of one triangle must say 'symmetric' in its first line",
        )
    diagonal = A.diagonal()
    if (diagonal < 0).any():
        k = int(np.argmin(diagonal))
        _refuse(name, f"has the negative diagonal entry {diagonal[k]:.3g} in row {k + 1}")


def _check_rigid_motions(link: FiniteElementLink, name: str) -> None:
    """A free link moves and turns without strain."""
    S = link.motions
    forces, size = np.abs(link.K @ S), np.abs(link.K) @ np.abs(S)
    words = ("shift along x", "shift along y", "shift along z", "turn about x", "turn about y", "turn about z")
    for k, word in enumerate(words):
        worst = float(forces[:, k].max() / max(size[:, k].max(), np.finfo(float).tiny))
        if worst > RIGID:
            row = int(np.argmax(forces[:, k]))
            _refuse(
                name,
                f"resists a {word} of the whole link (by {worst:.1e} of its forces, most in row {row + 1}, at node "
                f"{row // link.unknowns}). Export it without supports; check that the nodes are in m and in the "
                "order of the rows, and that turns are in rad",
            )


def _check_mass(link: FiniteElementLink, name: str) -> None:
    masses = np.diag(link.rigid_mass)[:3]
    if not masses.min() > 0:
        _refuse(name, f"moves the masses {_numbers(masses)} kg along x, y and z; they must be positive")
    if np.ptp(masses) > SAME_MASS * masses.max():
        _refuse(name, f"moves the masses {_numbers(masses)} kg along x, y and z; a body has one mass")
    if np.linalg.eigvalsh(link.rigid_mass)[0] < -SAME_MASS * masses.max():
        _refuse(name, "gives the rigid link a negative inertia")


def _numbers(values: Array) -> str:
    return ", ".join(f"{x:.6g}" for x in values)


# ---------------------------------------------------------------- reduction


def _reduce(
    link: FiniteElementLink,
    root: Sequence[int],
    frames: Mapping[str, Sequence[int]],
    modes: int,
    names: str,
    origins: Mapping[str, Sequence[float]],
) -> ModalData:
    sets = {"root": list(root), **{name: list(nodes) for name, nodes in frames.items()}}
    _check_sets(link, sets)
    centres = {name: hull_centroid(link.nodes[sets[name]]) for name in frames}
    for name, place in origins.items():
        if name not in frames:
            _refuse("origins", f"name the frame '{name}'; the frames are {', '.join(frames)}")
        centres[name] = np.asarray(place, dtype=float)
    faces = [
        Interface(name, np.array(sets[name]), link.nodes[sets[name]] - centres[name], centres[name]) for name in frames
    ]
    held = ClampedLink(link.K, link.M, link.unknowns, np.array(sets["root"]), faces)
    if modes > len(held.inner):
        _refuse("modes", f"are {modes}; the {len(held.inner)} inner unknowns allow no more")
    # scaled to the link's mass, then one shape for each motion of a frame
    V = np.concatenate([np.sqrt(link.mass) * held.held_modes(modes).shapes, held.constraint_modes], axis=1)
    labels = [f"{name}.{word}" for name in frames for word in TURNS]
    return _modal_data(link, V, sets, centres, (*(f"{names}.{k + 1}" for k in range(modes)), *labels), modes)


def _check_sets(link: FiniteElementLink, sets: Mapping[str, list[int]]) -> None:
    if "tip" not in sets:
        _refuse("frames", f"are {', '.join(n for n in sets if n != 'root') or 'none'}; a link needs the frame tip")
    taken: dict[int, str] = {}
    extent = float(np.ptp(link.nodes, axis=0).max())
    for name, nodes in sets.items():
        if not nodes or min(nodes) < 0 or max(nodes) >= len(link.nodes):
            _refuse(f"frame '{name}'", f"has the nodes {nodes[:6]}; they must be among 0 to {len(link.nodes) - 1}")
        for node in nodes:
            if node in taken:
                _refuse(f"frame '{name}'", f"shares node {node} with frame '{taken[node]}'")
            taken[node] = name
        offsets = link.nodes[nodes] - link.nodes[nodes].mean(axis=0)
        spread = np.linalg.svd(offsets, compute_uv=False) if len(nodes) > 2 else np.zeros(2)
        if link.unknowns == 3 and not spread[1] > WIDE * extent:
            _refuse(f"frame '{name}'", "its nodes lie on a line, which shows no turn about it; take nodes of a face")


def _modal_data(
    link: FiniteElementLink,
    V: Array,
    sets: Mapping[str, list[int]],
    centres: Mapping[str, Array],
    names: tuple[str, ...],
    modes: int,
) -> ModalData:
    S, MV = link.motions, link.M @ V
    rigid = link.rigid_mass
    second = _second_moments(link, V)
    trace = np.einsum("ikaa->ik", second)
    eye = np.eye(3)
    lam = np.stack([second[..., 1, 2] - second[..., 2, 1], second[..., 2, 0] - second[..., 0, 2],
                    second[..., 0, 1] - second[..., 1, 0]], axis=-1)  # fmt: skip
    frames = {}
    for k, name in enumerate(n for n in sets if n != "root"):
        at = modes + 6 * k + np.arange(6)
        Phi = np.zeros((6, len(names)))
        Phi[np.arange(6), at] = 1.0
        frames[name] = ModalFrame(position=tuple(centres[name].tolist()), Phi_d=_rows(Phi[:3]), Phi_r=_rows(Phi[3:]))
    return ModalData(
        names=names,
        mass=link.mass,
        length=float(np.linalg.norm(centres["tip"])),
        first=_rows((rigid[3:, :3] @ eye)[[2, 0, 1], [1, 2, 0]]),
        first_modal=_rows(S[:, :3].T @ MV),
        beta=_rows(S[:, 3:].T @ MV),
        lam=_rows(lam[1:, 1:]),
        I_rr=_rows((rigid[3:, 3:] + rigid[3:, 3:].T) / 2),
        I_re=_rows(trace[0, 1:, None, None] * eye - np.swapaxes(second[0, 1:], -1, -2)),
        I_ee=_rows(trace[1:, 1:, None, None] * eye - np.swapaxes(second[1:, 1:], -1, -2)),
        M_ee=_rows(_orthogonal(V.T @ MV, modes)),
        K_ee=_rows(_orthogonal(V.T @ (link.K @ V), modes, apart=True)),
        frames=frames,
    )


def _rows(A: Array) -> Any:
    """An array as a description takes it."""
    return np.asarray(A, dtype=float)


def _orthogonal(A: Array, modes: int, *, apart: bool = False) -> Array:
    """A symmetric matrix of the shapes without what rounding left between the modes, which come first.

    apart  there is nothing between modes and moved interfaces: these shapes are static
    """
    out = (A + A.T) / 2
    out[:modes, :modes] = np.diag(np.diag(out)[:modes])
    if apart:
        out[:modes, modes:] = out[modes:, :modes] = 0.0
    return np.asarray(out)


def _second_moments(link: FiniteElementLink, V: Array) -> Array:
    """int phi_i^a phi_k^b dm (p + 1, p + 1, 3, 3), field 0 the position itself.

    Solids have one scalar mass matrix for all directions. With turns among the unknowns the displacements alone carry
    the mass, lumped at the nodes: exact for lumped matrices, and in the limit of a fine mesh for others.
    """
    n, d = len(link.nodes), link.unknowns
    first = d * np.arange(n)
    blocks = [link.M[first + a][:, first + a] for a in range(3)]
    scalar = (blocks[0] + blocks[1] + blocks[2]) / 3
    if d == 6:
        whole = np.asarray(scalar.sum(axis=1)).ravel()
        scalar = csr_array((whole, (np.arange(n), np.arange(n))), shape=(n, n))
    fields = np.concatenate([link.nodes[:, :, None], V.reshape(n, d, -1)[:, :3]], axis=2)
    flat = fields.reshape(n, -1)
    gram = (flat.T @ (scalar @ flat)).reshape(3, fields.shape[2], 3, fields.shape[2])
    return np.asarray(np.einsum("aibk->ikab", gram))
