"""Solids of STEP and STL files, meshed by netgen with tetrahedra of ten nodes (package netgen-mesher).

Curved elements that fold are refined, and refused where that does not help. Lengths of STEP files are read with their
units; STL files have none, so theirs is given.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.files import no_file
from pliant.solid_mechanics.cad_faces import SolidFace, split_faces
from pliant.solid_mechanics.solid_mesh import SolidMesh
from pliant.solid_mechanics.stl_file import enclosed_volume, read_stl

STEP, STL = (".step", ".stp"), (".stl",)
# netgen: middles of edges 01 02 03 12 13 23, corners in the other hand
ORDER = [0, 2, 1, 3, 5, 7, 4, 6, 9, 8]
MILLIMETRE = 1e-3
"""Netgen's own unit for STEP files, whatever theirs is."""
PARTS = 30
"""Elements along the largest extent where the user asks for no size."""
TRIES = ((1.0, 2.0), (1.0, 3.0), (0.5, 3.0), (0.25, 4.0))
"""Part of the size of elements and elements per radius of curvature, until no element folds."""
SAME_VOLUME = 0.02
"""Part by which the mesh may fill another volume than the file: more tells of a lost piece."""


@dataclass(frozen=True, eq=False)
class MeshedPart:
    """A part with its mesh.

    mesh     in m
    faces    by number
    volume   of the CAD file, m^3
    maxh     size of elements that was asked for in the end, m
    refined  how often elements that fold had the mesh refined
    """

    mesh: SolidMesh
    faces: list[SolidFace]
    volume: float
    maxh: float
    refined: int


@dataclass(frozen=True, eq=False)
class CadPart:
    """The geometry of a file.

    volume  m^3
    extent  largest side of its bounding box, m
    names   of its faces, in their order; empty: none
    """

    path: Path
    geometry: Any
    scale: float
    volume: float
    extent: float
    names: list[str]

    def meshed(self, maxh: float | None = None) -> MeshedPart:
        """Mesh with elements of at most some size (m); refined where elements fold. Raises ModelError."""
        size = self.extent / PARTS if maxh is None else maxh
        why = ""
        for k, (part, curvature) in enumerate(TRIES):
            try:
                found = self._generated(part * size, curvature)
            except ModelError as error:
                why = error.problems[0].message
                continue
            if not len(bad := found.mesh.inverted()):
                self._check_volume(found.mesh)
                return MeshedPart(found.mesh, found.faces, self.volume, part * size, k)
            at = ", ".join(f"{x:.4g}" for x in found.mesh.nodes[found.mesh.tets[bad[0], :4]].mean(axis=0))
            why = f"{len(bad)} of {len(found.mesh.tets)} curved elements fold, as the one at ({at}) m"
        raise ModelError(
            Problem(
                self.path.name,
                f"cannot be meshed: {why}, even with elements of {1e3 * size * TRIES[-1][0]:.3g} mm. Give a smaller "
                "maxh, or leave out small details of the part",
            )
        )

    def _check_volume(self, mesh: SolidMesh) -> None:
        if abs(mesh.volume - self.volume) > SAME_VOLUME * self.volume:
            raise ModelError(
                Problem(
                    self.path.name,
                    f"fills {1e6 * self.volume:.6g} cm^3, its mesh {1e6 * mesh.volume:.6g}; they must agree to "
                    f"{SAME_VOLUME:.0%}. Give a smaller maxh",
                )
            )

    def outline(self) -> list[SolidFace]:
        """Faces of a coarse mesh of the surface, for lists."""
        return self.meshed().faces

    def _generated(self, maxh: float, curvature: float) -> MeshedPart:
        with _silenced() as log:
            try:
                mesh = self.geometry.GenerateMesh(maxh=maxh / self.scale, curvaturesafety=curvature)
                mesh.SecondOrder()
            except Exception as error:
                said = log().strip().splitlines()
                why = said[-1].strip() if said else str(error)
                raise ModelError(Problem(self.path.name, f"netgen says '{why[:120]}'")) from None
        tets = np.asarray(mesh.Elements3D().NumPy()["nodes"], dtype=int)[:, ORDER] - 1
        table = mesh.Elements2D().NumPy()
        if not len(tets):
            raise ModelError(Problem(self.path.name, "has no inside that can be filled with elements"))
        places = np.asarray(mesh.Coordinates(), dtype=float) * self.scale
        used, place = np.unique(tets, return_inverse=True)
        renumbered = np.full(len(places), -1)
        renumbered[used] = np.arange(len(used))
        own = SolidMesh(places[used], place.reshape(-1, 10))
        corners = renumbered[np.asarray(table["nodes"], dtype=int)[:, :3] - 1]
        faces = split_faces(own.nodes, own.surface, corners, np.asarray(table["index"], dtype=int), self.names)
        return MeshedPart(own, faces, self.volume, maxh, 0)


def read_part(path: str | os.PathLike[str], *, unit: float = MILLIMETRE) -> CadPart:
    """The solid in a STEP or STL file; raises ModelError.

    unit  length of one unit of an STL file, m
    """
    file = Path(path)
    if file.suffix.lower() not in STEP + STL:
        _refuse(file, f"ends in '{file.suffix}'; CAD files end in {', '.join(STEP + STL)}")
    if wrong := no_file(file):
        _refuse(file, wrong)
    if file.suffix.lower() in STL:
        return _stl_part(file, unit)
    _netgen(file)
    from netgen.occ import OCCGeometry

    with _silenced() as log:
        try:
            geometry = OCCGeometry(os.fspath(file))
            shape = geometry.shape
            solids = list(shape.solids)
        except Exception as error:
            said = log().strip().splitlines()
            _refuse(file, f"cannot be read as a STEP file: {(said[-1] if said else str(error))[:120]}")
    if len(solids) != 1:
        _refuse(file, f"has {len(solids)} solids; a link is one. Fuse them in the CAD program, or write them apart")
    low, high = (np.array([p.x, p.y, p.z]) for p in shape.bounding_box)
    names = [str(face.name or "") for face in shape.faces]
    volume = float(shape.mass) * MILLIMETRE**3
    extent = float((high - low).max()) * MILLIMETRE
    return CadPart(file, geometry, MILLIMETRE, volume, extent, names)


def _stl_part(file: Path, unit: float) -> CadPart:
    try:
        triangles = read_stl(file)
    except ValueError as error:
        _refuse(file, str(error))
    volume = enclosed_volume(triangles, file.name) * unit**3
    _netgen(file)
    from netgen.stl import STLGeometry

    with _silenced():
        geometry = STLGeometry(os.fspath(file))
    extent = float(np.ptp(triangles.reshape(-1, 3), axis=0).max()) * unit
    return CadPart(file, geometry, unit, volume, extent, [])


def _refuse(file: Path, message: str) -> NoReturn:
    raise ModelError(Problem(os.fspath(file), message))


def _netgen(file: Path) -> None:
    try:
        import netgen.meshing
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{file.name}: CAD files need the package netgen-mesher: pip install netgen-mesher"
        ) from None
    netgen.meshing.SetMessageImportance(0)


@contextmanager
def _silenced() -> Iterator[Any]:
    """Keep netgen's own texts away from the user's terminal; gives a function that tells them."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log:
        kept = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in kept:
                os.dup2(log.fileno(), number)

            def said() -> str:
                log.seek(0)
                return log.read().decode("utf-8", "replace")

            yield said
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
