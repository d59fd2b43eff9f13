"""Links from CAD: a STEP or STL file, the faces of its root and frames, and a material become modal data with stress.

``pliant.body`` does it for programs, ``pliant body`` on the command line, and the key ``cad`` in robot files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from pliant.errors import ModelError, Problem, show
from pliant.files import write_generated
from pliant.model.description.materials import Material, find_material
from pliant.model.description.modal import ModalData
from pliant.model.readers.face_choice import chosen_faces, face_and_point
from pliant.model.readers.solid_links import modal_data, surface_stress
from pliant.model.units import UNITS
from pliant.solid_mechanics.cad_faces import SolidFace
from pliant.solid_mechanics.cad_geometry import MeshedPart, read_part
from pliant.solid_mechanics.interfaces import Interface, Kind, make_interface
from pliant.solid_mechanics.reduced_solid import Progress, ReducedSolid, reduced_solid
from pliant.solid_mechanics.solid_mesh import Array, Indices, SolidMesh
from pliant.solid_mechanics.stress_file import NodalStress, write_stress
from pliant.solid_mechanics.tetrahedra import Elastic, MeshedSolid

SETTLED = 5e-3
"""Relative change of the lowest frequencies below which `converge` stops."""
LOWEST, FINER, MOST_MESHES = 4, 1.5, 5
NO_NU = "needs nu or G, and nu below 0.5"


@dataclass(frozen=True, eq=False)
class SolidBody:
    """A link made of a CAD file.

    modal     its description, as robots have it: Link(modal=body.modal)
    stress    at the nodes of its surface
    reduced   mesh, shapes and estimated errors
    cad_mass  kg, of the volume in the file
    meshes    of `converge`: size of elements (m), unknowns and lowest frequencies (Hz) of every mesh tried
    """

    name: str
    modal: ModalData
    stress: NodalStress
    reduced: ReducedSolid
    cad_mass: float
    maxh: float
    refined: int
    meshes: tuple[tuple[float, int, Array], ...] = ()

    @property
    def mass(self) -> float:
        """kg, of the mesh."""
        return self.modal.mass

    @property
    def frequencies(self) -> Array:
        """Frequencies of the link clamped at its root with free frames, Hz, one for each coordinate."""
        return self.reduced.basis.hz

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the link to a YAML file, which robots name as `body`, with its stress in an .npz file beside it."""
        from pliant.model.readers.yaml_data import plain_text

        file = Path(path)
        beside = file.with_suffix(".npz")
        write_stress(beside, self.stress._asdict())
        data = self.modal.model_dump(mode="json", exclude_unset=True)
        write_generated(file, plain_text({**data, "stress": beside.name}))


def body(
    file: str | os.PathLike[str],
    *,
    root: str,
    tip: str,
    frames: Mapping[str, str] | None = None,
    material: str | Material | Mapping[str, Any] = "aluminium",
    maxh: float | None = None,
    modes: int | None = None,
    below: float | None = None,
    interface: Kind = "rigid",
    origin: Literal["file", "root"] = "file",
    unit: str = "mm",
    converge: bool = False,
    progress: Progress = lambda stage: None,
) -> SolidBody:
    """A flexible link from a STEP or STL file: meshed, clamped at its root, reduced, with second order and stress.

    root, tip  faces: "x=0", "x=600mm", "cylinder r=18mm", a name of the file, "#3"; "x=0.6@0.6,0,0" with an origin.
               An origin that is not given is the centroid of the area
    frames     further frames by name, with their faces
    material   a name, a Material, or its keys
    maxh       largest size of elements, m; default a thirtieth of the part
    modes      coordinates that are kept; default 8, and 4 for every further frame, or as many as the first four
               frequencies and the compliance of the frames need to be right to 1 %
    below      Hz, instead: as many as the link has modes below this
    interface  rigid: faces of frames are rigid; average: frames follow the mean motion of their faces
    origin     of the link frame: that of the file, or the centre of the root's face. Axes are those of the file
    unit       of lengths in an STL file, which has none of its own
    converge   mesh finer until the lowest frequencies change by less than 0.5 %
    progress   called with a word at every stage
    """
    if modes is not None and below is not None:
        _refuse("modes", f"are {modes} and below is {below:g} Hz; give one of them")
    if modes is not None and modes < 1:
        _refuse("modes", f"are {modes}; there must be at least one")
    for word, value in (("maxh", maxh), ("below", below)):
        if value is not None and not (np.isfinite(value) and value > 0):
            _refuse(word, f"is {value:g}; it must be positive")
    if interface not in ("rigid", "average"):
        _refuse("interface", f"is {show(interface)}; it must be rigid or average")
    if origin not in ("file", "root"):
        _refuse("origin", f"is {show(origin)}; it must be file or root")
    named = {"tip": tip, **(frames or {})}
    if "root" in named:
        _refuse("frames", "name a frame 'root', which is the link frame itself; choose another name")
    elastic, strength = elastic_of(material)
    progress("reading")
    part = read_part(file, unit=_unit(unit))
    size, tried = maxh, []
    while True:
        progress("meshing")
        meshed = part.meshed(size)
        progress("matrices")
        made = _made(meshed, elastic, root, named, interface, origin, modes, below, progress)
        tried.append((meshed.maxh, 3 * len(meshed.mesh.nodes), made.basis.hz[:LOWEST]))
        if not converge or len(tried) >= MOST_MESHES or _settled(tried):
            break
        size = meshed.maxh / FINER
    return SolidBody(
        Path(file).stem, modal_data(made), surface_stress(made, strength), made, elastic.density * part.volume,
        meshed.maxh, meshed.refined, tuple(tried),
    )  # fmt: skip


def list_faces(file: str | os.PathLike[str], *, unit: str = "mm", maxh: float | None = None) -> list[SolidFace]:
    """The faces of a part, to choose roots and frames from."""
    return read_part(file, unit=_unit(unit)).meshed(maxh).faces


def _unit(name: str) -> float:
    if name not in UNITS or UNITS[name][1] != UNITS["m"][1]:
        _refuse("unit", f"is {show(name)}; it must be a unit of length, such as mm")
    return UNITS[name][0]


def elastic_of(given: str | Material | Mapping[str, Any]) -> tuple[Elastic, float]:
    """E, nu and density of a material, and its yield strength (0: not known)."""
    if isinstance(given, str):
        own = find_material(given)
    else:
        own = given if isinstance(given, Material) else Material.model_validate(given, context={"units": True})
    name = f"material '{own.name}'" if own.name else "material"
    nu = own.nu if own.nu is not None or own.G is None else own.E / (2 * own.G) - 1
    if nu is None or not -1 < nu < 0.5:
        _refuse(name, f"{NO_NU}; a solid bends, shears and thickens")
    if not own.density > 0:
        _refuse(name, f"has the density {own.density:g} kg/m^3; a link needs mass, so it must be positive")
    return Elastic(own.E, nu, own.density), float(getattr(own, "yield_strength", None) or 0.0)


def _made(
    meshed: MeshedPart,
    elastic: Elastic,
    root: str,
    named: Mapping[str, str],
    interface: Kind,
    origin: str,
    modes: int | None,
    below: float | None,
    progress: Progress,
) -> ReducedSolid:
    nodes, _, root_origin = _face_nodes(meshed, root, "root")
    shift = root_origin if origin == "root" else np.zeros(3)
    mesh = SolidMesh(meshed.mesh.nodes - shift, meshed.mesh.tets)
    faces: list[Interface] = []
    for name, text in named.items():
        own, weights, place = _face_nodes(meshed, text, f"frame '{name}'")
        free = ~np.isin(own, nodes)
        if not free.all() and not free.any():
            _refuse(f"frame '{name}'", "is the root's own face; choose another")
        # edges that a frame shares with the root are clamped
        own, weights = own[free], weights[free]
        # corners of straight triangles stand for no area; an average needs none of them
        kept = weights > 1e-12 * weights.max() if interface == "average" else np.ones(len(own), dtype=bool)
        given = weights[kept] if interface == "average" else None
        faces.append(make_interface(name, mesh.nodes, own[kept], place - shift, interface, given))
    solid = MeshedSolid(mesh, elastic)
    return reduced_solid(
        solid, nodes, faces, modes=modes, below=below, root_origin=root_origin - shift, progress=progress
    )


def _face_nodes(meshed: MeshedPart, text: str, what: str) -> tuple[Indices, Array, Array]:
    """Nodes of chosen faces, the area of each, and the frame's origin."""
    face, point = face_and_point(text, what)
    chosen = chosen_faces(face, meshed.faces, what)
    triangles = np.concatenate([one.triangles for one in chosen])
    whole = replace(chosen[0], triangles=triangles)
    return whole.nodes, whole.weights, whole.centroid if point is None else point


def _settled(tried: list[tuple[float, int, Array]]) -> bool:
    if len(tried) < 2:
        return False
    before, now = tried[-2][2], tried[-1][2]
    return bool((np.abs(now / before - 1) < SETTLED).all())


def _refuse(element: str, message: str) -> NoReturn:
    raise ModelError(Problem(element, message))
