"""Links from a finite-element program, as a robot file names them: matrices, nodes, interfaces, and how many modes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, PrivateAttr, StrictInt, ValidationInfo, model_validator

from pliant.errors import ModelError, show
from pliant.model.description.discretisation import Damping
from pliant.model.description.modal import ModalData
from pliant.model.element import Array, Element, Frozen, Name, of_value, refuse

if TYPE_CHECKING:
    from pydantic_core import InitErrorDetails

    from pliant.model.readers.finite_elements import FiniteElementLink

FILES = ("stiffness", "mass", "nodes")
Nodes = Annotated[tuple[StrictInt, ...], Field(min_length=1)]


class FiniteElementFiles(Element):
    """A link from the matrices of a finite-element program, reduced by Craig and Bampton when it is read.

    The link is free: 3 or 6 unknowns per node, node by node, in SI units. Nodes are counted from 0, in the order of
    their file; their coordinates are those of the link frame. What is read becomes the link's `modal` data.
    """

    stiffness: str = Field(description="Matrix Market file of the stiffness matrix, relative to this file")
    mass: str = Field(description="Matrix Market file of the mass matrix")
    nodes: str = Field(description="CSV file of the nodes, x, y, z in m, one per line")
    root: Nodes = Field(description="numbers of the nodes that are clamped to the link frame")
    frames: Annotated[dict[Name, Nodes], Frozen] = Field(
        description="frames by name, each with the nodes that move with it; tip is needed"
    )
    modes: Annotated[StrictInt, Field(ge=0)] = Field(default=6, description="modes with held frames that are kept")
    damping: Damping | None = Field(default=None, description="of the modes of the link itself")

    _modal: ModalData = PrivateAttr()

    @property
    def modal(self) -> ModalData:
        """What the files say, reduced."""
        return self._modal

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        context = info.context if isinstance(info.context, dict) else {}
        folder = Path(context.get("folder") or ".")
        refuse(self._missing(folder))
        try:
            link = self._link(folder)
            modal = link.reduced(self.root, self.frames, self.modes)
            self._modal = modal if self.damping is None else modal.with_changes(D_ee=_damping(modal, self.damping))
        except ModelError as error:
            refuse([self._place(problem.element, problem.message) for problem in error.problems])
        return self

    def _missing(self, folder: Path) -> list[InitErrorDetails]:
        out = []
        for key in FILES:
            name = getattr(self, key)
            if not name or "\0" in name or not (folder / name).is_file():
                out.append(of_value(key, message=f"is {show(name)}; there is no such file in {folder}"))
        return out

    def _link(self, folder: Path) -> FiniteElementLink:
        from pliant.model.readers.finite_elements import read_finite_elements

        return read_finite_elements(*(os.fspath(folder / getattr(self, key)) for key in FILES), names=FILES)

    def _place(self, element: str, message: str) -> InitErrorDetails:
        """A problem of the reduction at the key that it belongs to."""
        key, _, frame = element.partition(" ")
        if key == "frame":
            name = frame.strip("'")
            path: tuple[Any, ...] = ("root",) if name == "root" else ("frames", name)
        else:
            path = (key,) if key in type(self).model_fields else ()
        named = f"'{getattr(self, key)}' {message}" if key in FILES else message
        return of_value(*path, message=named)


def _damping(modal: ModalData, given: Damping) -> list[list[float]]:
    """D (n, n): a ratio of every mode of the clamped link, or Rayleigh's factors."""
    from scipy.linalg import eigh

    M, K = modal.array("M_ee"), modal.array("K_ee")
    if given.rayleigh is not None:
        D = given.rayleigh.mass * M + given.rayleigh.stiffness * K
    else:
        squares, V = eigh(K, M)
        MV: Array = M @ V
        D = MV * (2 * float(given.ratio or 0.0) * np.sqrt(np.maximum(squares, 0.0))) @ MV.T
    return np.asarray((D + D.T) / 2).tolist()  # type: ignore[no-any-return]
