"""Matrices of finite-element programs become links: read by the program's own reader, with second order from a mesh."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from scipy.sparse import csr_array

from pliant.errors import ModelError, Problem, did_you_mean, show
from pliant.model.description.modal import ModalData
from pliant.model.readers.abaqus_files import InputDeck, abaqus_matrix, calculix_matrix, read_deck
from pliant.model.readers.finite_elements import FiniteElementLink, finite_elements, read_finite_elements
from pliant.model.readers.nastran_files import read_bulk, read_op4
from pliant.solid_mechanics.clamped_link import ClampedLink
from pliant.solid_mechanics.interfaces import hull_centroid, make_interface
from pliant.solid_mechanics.solid_mesh import Indices, checked_mesh
from pliant.solid_mechanics.tetrahedra import MeshedSolid

if TYPE_CHECKING:
    from pliant.model.description.fe import FiniteElementFiles

SAME_SOLID = 0.02
"""Part by which mass and strain energy of mesh and matrices may differ."""
BULK = (".bdf", ".nas", ".dat")


class ProgramMatrices(NamedTuple):
    """A free link as a program wrote it; without a deck, nodes are numbers from 0."""

    link: FiniteElementLink
    deck: InputDeck | None


def reduced_files(given: FiniteElementFiles, path: Callable[[str], str]) -> ModalData:
    """The modal data of the files of a link; `path` gives the place of the file of a key."""
    read = _read(given, path)
    sets = {name: _numbers(read, nodes, name) for name, nodes in {"root": given.root, **given.frames}.items()}
    frames = {name: nodes for name, nodes in sets.items() if name != "root"}
    origins = given.origins
    for name in set(origins) - set(frames):
        _refuse("origins", f"name the frame '{name}'; the frames are {', '.join(frames)}")
    if given.mesh is None or given.material is None:
        return read.link.reduced(sets["root"], frames, given.modes, origins=origins)
    return _second_order(given, path, read, sets["root"], frames, origins)


def _read(given: FiniteElementFiles, path: Callable[[str], str]) -> ProgramMatrices:
    if given.program == "matrix-market":
        names = ("stiffness", "mass", "nodes")
        return ProgramMatrices(read_finite_elements(*(path(key) for key in names), names=names), None)
    if given.program == "nastran":
        deck = read_bulk(path("nodes"), "nodes")
        K, M = (read_op4(path(key), key) for key in ("stiffness", "mass"))
        return ProgramMatrices(finite_elements(K, M, deck.places), deck)
    deck = read_deck(path("nodes"), "nodes")
    if given.program == "abaqus":
        both = [abaqus_matrix(path(key), deck, key) for key in ("stiffness", "mass")]
    else:
        both = [calculix_matrix(path(k), path("unknowns"), deck, (k, "unknowns")) for k in ("stiffness", "mass")]
    wide = max(d for _, d in both)
    K, M = (_widened(A, d, wide) for A, d in both)
    return ProgramMatrices(finite_elements(K, M, deck.places), deck)


def _widened(A: csr_array, d: int, wide: int) -> csr_array:
    """A matrix with three unknowns per node as one with six, where the other one has turns."""
    if d == wide:
        return A
    coo = A.tocoo()
    at = [wide * (index // d) + index % d for index in (coo.row, coo.col)]
    size = A.shape[0] // d * wide
    return csr_array((coo.data, (at[0], at[1])), shape=(size, size))


def _numbers(read: ProgramMatrices, nodes: Sequence[int] | str, name: str) -> list[int]:
    """Numbers from 0 of labels or of a node set."""
    what = "root" if name == "root" else f"frame '{name}'"
    if read.deck is None:
        assert not isinstance(nodes, str)
        return list(nodes)
    if isinstance(nodes, str):
        own = read.deck.sets.get(nodes.upper())
        if own is None:
            known = sorted(read.deck.sets)
            hint = did_you_mean(nodes.upper(), known) or f"; it has {', '.join(known[:12]) or 'none'}"
            _refuse(what, f"is {show(nodes)}, which is no node set of the deck{hint}")
        return [int(k) for k in np.unique(own)]
    return [int(k) for k in read.deck.numbers(nodes, what)]


def _second_order(
    given: FiniteElementFiles,
    path: Callable[[str], str],
    read: ProgramMatrices,
    root: list[int],
    frames: Mapping[str, list[int]],
    origins: Mapping[str, Sequence[float]],
) -> ModalData:
    """With the elements of a mesh: own third derivative of the energy, the program's stiffness and mass."""
    from pliant.model.readers.cad_cache import kept_stress
    from pliant.model.readers.cad_links import elastic_of
    from pliant.model.readers.solid_links import modal_data, surface_stress
    from pliant.solid_mechanics.reduced_solid import reduced_solid

    link = read.link
    if link.unknowns != 3:
        _refuse("mesh", "is of tetrahedra, and the matrices have turns among their unknowns; leave mesh out")
    deck = read_bulk(path("mesh"), "mesh") if path("mesh").lower().endswith(BULK) else read_deck(path("mesh"), "mesh")
    _check_nodes(link, deck)
    if not len(deck.tets):
        _refuse("mesh", "has no tetrahedra of ten nodes (C3D10, CTETRA)")
    assert given.material is not None
    elastic, strength = elastic_of(given.material)
    mesh = checked_mesh(link.nodes, deck.tets, "mesh")
    solid = MeshedSolid(mesh, elastic)
    faces = []
    for name, nodes in frames.items():
        own = np.array(nodes)
        origin = np.asarray(origins[name]) if name in origins else hull_centroid(link.nodes[own])
        faces.append(make_interface(name, link.nodes, own, origin))
    _check_same(solid, link, np.array(root))
    reduced = reduced_solid(solid, np.array(root), faces, held=given.modes, matrices=(link.K, link.M))
    first = 3 * np.arange(len(link.nodes))
    stress = surface_stress(reduced, strength)
    digest = hashlib.sha256(repr(given).encode())
    for key in ("stiffness", "mass", "nodes", "mesh"):
        digest.update(Path(path(key)).read_bytes())
    kept = kept_stress(f"fe-{digest.hexdigest()[:32]}", stress)
    more = {} if kept is None else {"stress": kept}
    return modal_data(reduced, mass_matrix=link.M[first][:, first], **more)


def _check_nodes(link: FiniteElementLink, deck: InputDeck) -> None:
    if deck.places.shape != link.nodes.shape:
        _refuse("mesh", f"has {len(deck.places)} nodes, the matrices {len(link.nodes)}; they must be the same")
    gaps = np.abs(deck.places - link.nodes).max(axis=1)
    if gaps.max() > 1e-6 * float(np.ptp(link.nodes, axis=0).max()):
        k = int(np.argmax(gaps))
        _refuse("mesh", f"has node {deck.labels[k]} at another place than the nodes of the matrices (in m?)")


def _check_same(solid: MeshedSolid, link: FiniteElementLink, root: Indices) -> None:
    """Mass and softness of the mesh must be those of the matrices: the same elements, material and units."""
    mass = solid.material.density * solid.mesh.volume
    if abs(mass / link.mass - 1) > SAME_SOLID:
        _refuse("material", f"gives the mesh {mass:.4g} kg, the mass matrix has {link.mass:.4g} kg; they must agree")
    shape = ClampedLink(link.K, link.M, 3, root, []).held_modes(1).shapes[:, 0]
    ratio = float(shape @ (solid.K @ shape)) / float(shape @ (link.K @ shape))
    if abs(ratio - 1) > SAME_SOLID:
        _refuse(
            "material", f"makes the mesh {ratio:.3g} times as stiff as the matrix in its first mode; they must agree"
        )


def _refuse(name: str, message: str) -> NoReturn:
    raise ModelError(Problem(name, message))
