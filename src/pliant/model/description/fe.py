"""Links from finite-element programs: files of matrices, nodes, interfaces, and how many modes to keep."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, StrictInt, StrictStr, ValidationInfo, model_validator
from pydantic_core import InitErrorDetails

from pliant.errors import ModelError, show
from pliant.model.description.discretisation import Damping
from pliant.model.description.materials import MaterialOrName
from pliant.model.description.modal import ModalData, damping_matrix
from pliant.model.element import Element, Frozen, Name, of_value, refuse
from pliant.model.units import Length

FILES = ("stiffness", "mass", "nodes")
OPTIONAL = ("unknowns", "mesh")
Nodes = Annotated[tuple[StrictInt, ...], Field(min_length=1)] | StrictStr


class FiniteElementFiles(Element):
    """A link from the matrices of a finite-element program, reduced by Craig and Bampton when it is read.

    The link is free, in SI units; coordinates of nodes are those of the link frame. Nodes are the program's labels, of
    Matrix Market files numbers from 0 in the order of the nodes' file. What is read becomes the link's `modal` data.
    With `mesh` and `material` it bends to second order and knows its stress.
    """

    program: Literal["matrix-market", "abaqus", "calculix", "nastran"] = Field(
        default="matrix-market", description="whose files these are"
    )
    stiffness: str = Field(description="file of the stiffness matrix, relative to this file")
    mass: str = Field(description="file of the mass matrix")
    nodes: str = Field(description="CSV file of the nodes, x, y, z in m, one per line; or the program's input deck")
    unknowns: str | None = Field(default=None, description="of calculix: the .dof file, which says what each row is")
    root: Nodes = Field(description="nodes that are clamped to the link frame: numbers, or the name of a node set")
    frames: Annotated[dict[Name, Nodes], Frozen] = Field(
        description="frames by name, each with the nodes that move with it; tip is needed"
    )
    origins: Annotated[dict[Name, tuple[Length, Length, Length]], Frozen] = Field(
        default_factory=dict, description="origins of frames; default the centroid of the outline of their nodes"
    )
    modes: Annotated[StrictInt, Field(ge=0)] = Field(default=6, description="modes with held frames that are kept")
    mesh: str | None = Field(
        default=None, description="input deck with the tetrahedra of ten nodes that the matrices were made of"
    )
    material: MaterialOrName | None = Field(default=None, description="of the mesh: a common one by name, or in full")
    damping: Damping | None = Field(default=None, description="of the modes of the link itself")
    bending: Literal["linear", "second-order"] | None = Field(
        default=None, description="linear or second-order; default second-order where mesh and material are given"
    )

    _modal: ModalData = PrivateAttr()

    @property
    def modal(self) -> ModalData:
        """What the files say, reduced."""
        return self._modal

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        from pliant.model.readers.fe_programs import reduced_files

        context = info.context if isinstance(info.context, dict) else {}
        folder = Path(context.get("folder") or ".")
        refuse([*self._missing(folder), *self._incomplete()])
        try:
            modal = reduced_files(self, lambda key: os.fspath(folder / getattr(self, key)))
            changes: dict[str, Any] = {} if self.bending is None else {"bending": self.bending}
            if self.damping is not None:
                changes["D_ee"] = damping_matrix(modal, self.damping)
            self._modal = modal.with_changes(**changes) if changes else modal
        except ModelError as error:
            refuse([self._place(problem.element, problem.message) for problem in error.problems])
        return self

    def _missing(self, folder: Path) -> list[InitErrorDetails]:
        out = []
        for key in (*FILES, *OPTIONAL):
            name = getattr(self, key)
            if name is None and key in OPTIONAL:
                continue
            if not name or "\0" in name or not (folder / name).is_file():
                out.append(of_value(key, message=f"is {show(name)}; there is no such file in {folder}"))
        return out

    def _incomplete(self) -> list[InitErrorDetails]:
        out = []
        if (self.program == "calculix") != (self.unknowns is not None):
            of = "needs its .dof file" if self.program == "calculix" else f"has none; {self.program} needs no such file"
            out.append(of_value("unknowns", message=f"of {self.program} {of}"))
        if (self.mesh is None) != (self.material is None):
            missing, given = ("material", "mesh") if self.mesh is not None else ("mesh", "material")
            out.append(of_value(missing, message=f"is not given, but {given} is; second order and stress need both"))
        if self.program == "matrix-market":
            sets = {"root": self.root, **self.frames}
            for name, nodes in sets.items():
                if isinstance(nodes, str):
                    path = ("root",) if name == "root" else ("frames", name)
                    out.append(
                        of_value(*path, message=f"is {show(nodes)}; of Matrix Market files give numbers of nodes")
                    )
        return out

    def _place(self, element: str, message: str) -> InitErrorDetails:
        """A problem of the reduction at the key that it belongs to."""
        key, _, frame = element.partition(" ")
        if key == "frame":
            name = frame.strip("'")
            path: tuple[Any, ...] = ("root",) if name == "root" else ("frames", name)
        else:
            path = (key.rstrip(":"),) if key.rstrip(":") in type(self).model_fields else ()
        named = f"'{getattr(self, key)}' {message}" if key in (*FILES, *OPTIONAL) else message
        return of_value(*path, message=named)
