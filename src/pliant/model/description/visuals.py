"""What a link looks like: meshes and simple shapes, kept for drawings; the dynamics never ask for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from pliant.model.description.placement import Placement
from pliant.model.element import Element, Text, rule, three
from pliant.model.units import POSITIVE, PositiveLength, Quantity

PACKAGE, FILE = "package://", "file://"
Scale = Annotated[float, Quantity("")]
Edge = Annotated[float, Quantity("m", POSITIVE)]


class Cylinder(Element):
    """A round solid along z, its middle at the origin."""

    radius: PositiveLength = Field(description="radius")
    length: PositiveLength = Field(description="length along z")


class Visual(Placement):
    """A shape on a link, placed in the link's frame."""

    mesh: Text | None = Field(default=None, description="file of a mesh")
    scale: Annotated[tuple[Scale, Scale, Scale], three] | None = Field(
        default=None, description="factors on the coordinates of the mesh"
    )
    box: Annotated[tuple[Edge, Edge, Edge], three] | None = Field(default=None, description="edges along x, y, z")
    cylinder: Cylinder | None = Field(default=None, description="a round solid along z")
    sphere: PositiveLength | None = Field(default=None, description="radius of a sphere")

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        shapes = [self.mesh, self.box, self.cylinder, self.sphere]
        if sum(shape is not None for shape in shapes) != 1:
            raise rule("give one of mesh, box, cylinder and sphere")
        return self


def mesh_path(name: str, folder: Path) -> str:
    """The file of a mesh named in a file of a folder; the name itself where no such file is found.

    ``package://PACKAGE/PATH`` is looked for in the folders above, as a folder of the package's name or below one.
    """
    if name.startswith(PACKAGE):
        package, _, rest = name.removeprefix(PACKAGE).partition("/")
        places = [above / package / rest for above in folder.parents]
        places += [above / rest for above in (folder, *folder.parents) if above.name == package]
    else:
        places = [folder / name.removeprefix(FILE)]
    try:
        return next((str(place) for place in places if place.is_file()), name)
    except (OSError, ValueError):
        return name  # what the system cannot even look up
