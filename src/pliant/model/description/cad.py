"""Links from CAD files: which faces are root and frames, the material, and how finely it is meshed and reduced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, StrictInt, ValidationInfo, model_validator
from pydantic_core import InitErrorDetails

from pliant.errors import ModelError, show
from pliant.model.description.discretisation import Damping
from pliant.model.description.materials import MaterialOrName
from pliant.model.description.modal import ModalData, damping_matrix
from pliant.model.element import Element, Frozen, Name, of_value, refuse
from pliant.model.units import POSITIVE, PositiveLength, Quantity

Frequency = Annotated[float, Quantity("Hz", POSITIVE)]
OWN = ("modes", "below", "root", "unit", "material")
"""Keys that errors of the reduction name."""


class CadFiles(Element):
    """A link from a STEP or STL file: meshed, clamped at its root and reduced when it is read.

    Faces are named as `x=0`, `x=max`, `cylinder r=18mm`, by their names in the file, or by number (`pliant body FILE
    --list-faces`). The link's axes are those of the file. What is made is kept in the user's cache by its content.
    """

    file: str = Field(description="STEP or STL file of one solid, relative to this file")
    root: str = Field(description="face that is clamped to the link frame")
    frames: Annotated[dict[Name, str], Frozen] = Field(
        description="frames by name, each with its face, or FACE@x,y,z with an origin; tip is needed"
    )
    material: MaterialOrName = Field(default="aluminium", description="a common material by name, or in full")
    mesh: PositiveLength | None = Field(
        default=None, description="largest size of elements; default a thirtieth of the part"
    )
    modes: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None, description="coordinates that are kept; default as many as low frequencies and statics need"
    )
    below: Frequency | None = Field(default=None, description="keep the modes below this frequency instead")
    interface: Literal["rigid", "average"] = Field(
        default="rigid", description="rigid: faces of frames are rigid; average: frames follow their mean motion"
    )
    origin: Literal["file", "root"] = Field(
        default="file", description="origin of the link frame: that of the file, or the centre of the root's face"
    )
    unit: str = Field(default="mm", description="unit of lengths in an STL file")
    damping: Damping | None = Field(default=None, description="of the modes of the link itself")
    bending: Literal["linear", "second-order"] | None = Field(
        default=None, description="linear or second-order; default second-order"
    )

    _modal: ModalData = PrivateAttr()

    @property
    def modal(self) -> ModalData:
        """What the file says, reduced."""
        return self._modal

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        from pliant.model.readers.cad_cache import cached_modal

        context = info.context if isinstance(info.context, dict) else {}
        path = Path(context.get("folder") or ".") / self.file
        if not self.file or "\0" in self.file or not path.is_file():
            refuse([of_value("file", message=f"is {show(self.file)}; there is no such file in {path.parent}")])
        if "tip" not in self.frames:
            refuse([of_value("frames", message="has no frame 'tip'; a link needs it")])
        try:
            modal = cached_modal(path, self)
            changes: dict[str, Any] = {} if self.bending is None else {"bending": self.bending}
            if self.damping is not None:
                changes["D_ee"] = damping_matrix(modal, self.damping)
            self._modal = modal.with_changes(**changes) if changes else modal
        except ModelError as error:
            refuse([self._place(problem.element, problem.message) for problem in error.problems])
        except ModuleNotFoundError as error:
            refuse([of_value("file", message=f"is {show(self.file)}; {error}")])
        return self

    def _place(self, element: str, message: str) -> InitErrorDetails:
        """A problem of the mesh or the reduction at the key that it belongs to."""
        key, _, name = element.partition(" ")
        if key == "frame":
            return of_value("frames", name.strip("'"), message=message)
        own = {
            "maxh": "mesh",
            "modes": "modes",
            "below": "below",
            "root": "root",
            "unit": "unit",
            "material": "material",
        }
        return of_value(own.get(key, "file"), message=message)
