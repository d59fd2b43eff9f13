"""Where one frame sits in another: position and rotation; and what a link looks like at such a place.

Meshes and simple shapes are kept for drawings; the dynamics never ask for them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from pliant.errors import show
from pliant.model.element import Array, Element, Matrix3, Name, Position, Quaternion, Text, rule, three
from pliant.model.units import POSITIVE, Angle, Length, PositiveLength, Quantity

# data printed with four digits must still pass; what passes is made exactly orthonormal
ORTHONORMAL = 1e-3
# sines and cosines of right angles are made exact, because zeros are structure for the dynamics
_SNAP = 1e-15

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def about(axis: str, angle: float) -> Array:
    """The rotation matrix about x, y or z."""
    c, s = _snap(math.cos(angle)), _snap(math.sin(angle))
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    R = np.eye(3)
    R[j, j] = R[k, k] = c
    R[k, j], R[j, k] = s, -s
    return R


def turn_about(axis: Array, angle: float) -> Array:
    """The rotation matrix about a unit vector (3,)."""
    if angle == 0.0:
        return np.identity(3)
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.asarray(np.eye(3) + _snap(math.sin(angle)) * K + (1 - _snap(math.cos(angle))) * K @ K)


def _snap(value: float) -> float:
    nearest = round(value)
    return float(nearest) if abs(value - nearest) < _SNAP else value


class Rotation(Element):
    """One rotation, or several about the axes x, y, z in the written order, each about the moved axes.

    ``Rotation(x=a, z=b)`` is Rx(a) Rz(b). The other keys stand alone.
    """

    x: Angle | None = Field(default=None, description="angle about x")
    y: Angle | None = Field(default=None, description="angle about y")
    z: Angle | None = Field(default=None, description="angle about z")
    rpy: Annotated[tuple[Angle, Angle, Angle], three] | None = Field(
        default=None,
        description="roll, pitch, yaw about the fixed axes x, y, z (URDF): Rz(yaw) Ry(pitch) Rx(roll)",
    )
    quaternion: Quaternion | None = Field(default=None, description="unit quaternion w, x, y, z")
    matrix: Matrix3 | None = Field(default=None, description="rotation matrix, three rows")

    _order: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="wrap")
    @classmethod
    def _keep_order(cls, data: Any, handler: ValidatorFunctionWrapHandler) -> Self:
        rotation: Self = handler(data)
        if isinstance(data, dict):
            order = tuple(key for key in data if getattr(rotation, str(key), None) is not None)
            if not order:
                raise rule("give an angle about x, y or z, or rpy, quaternion or matrix")
            if len(order) > 1 and not set(order) <= set(AXES):
                raise rule("rpy, quaternion and matrix stand alone; write a list of rotations to combine them")
            rotation._order = order
        return rotation

    @field_validator("quaternion")
    @classmethod
    def _unit(cls, q: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if q is not None and abs(math.hypot(*q) - 1) > ORTHONORMAL:
            raise PydanticCustomError(
                "value",
                "is {q}; its norm is {n}, it must be 1",
                {"q": show(list(q)), "n": f"{math.hypot(*q):.6g}"},
            )
        return q

    @field_validator("matrix")
    @classmethod
    def _orthonormal(cls, matrix: Any) -> Any:
        if matrix is not None:
            R = np.array(matrix)
            if np.abs(R @ R.T - np.eye(3)).max() > ORTHONORMAL:
                raise PydanticCustomError("value", "is not a rotation: its rows must be orthogonal unit vectors")
            if np.linalg.det(R) < 0:
                raise PydanticCustomError("value", "is a reflection: its determinant is -1, it must be 1")
        return matrix

    @model_serializer(mode="wrap")
    def _written_order(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data = handler(self)
        return {key: data[key] for key in self._order if key in data}

    def given(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self._order}

    def to_matrix(self) -> Array:
        """The 3x3 rotation matrix R: components in the rotated frame to components in the unrotated one."""
        if self.rpy is not None:
            roll, pitch, yaw = self.rpy
            return about("z", yaw) @ about("y", pitch) @ about("x", roll)
        if self.quaternion is not None:
            return _from_quaternion(np.array(self.quaternion))
        if self.matrix is not None:
            # the nearest rotation to a matrix that was printed with few digits
            U, _, Vt = np.linalg.svd(np.array(self.matrix))
            return _exact_where_given(np.array(self.matrix), U @ Vt)
        R = np.eye(3)
        for axis in self._order:
            R = R @ about(axis, getattr(self, axis))
        return R


def _exact_where_given(given: Array, R: Array) -> Array:
    return given if np.abs(given - R).max() < _SNAP else np.vectorize(_snap)(R)


def _from_quaternion(q: Array) -> Array:
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _as_list(value: Any) -> Any:
    """One rotation is a list of one."""
    return [value] if isinstance(value, dict | Rotation) else value


def _single(value: tuple[Rotation, ...], handler: Any) -> Any:
    data = handler(value)
    return data[0] if len(data) == 1 else data


class _OneAllowed:
    """The JSON schema of a list that may be one entry alone."""

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        many = handler(schema)
        return {"anyOf": [many["items"], many]}


Rotations = Annotated[tuple[Rotation, ...], BeforeValidator(_as_list), WrapSerializer(_single), _OneAllowed()]


class Placement(Element):
    """A frame in another one: shifted by `position`, then turned by the rotations, from left to right."""

    position: Position = Field(default=(0.0, 0.0, 0.0), description="origin of the frame")
    rotation: Rotations = Field(default=(), description="rotation of the frame: a mapping or a list of mappings")

    def vector(self) -> Array:
        """The position as an array (3,)."""
        return np.array(self.position, dtype=float)

    def matrix(self) -> Array:
        """The rotation as an array (3, 3)."""
        R = np.identity(3)
        for rotation in self.rotation:
            R = R @ rotation.to_matrix()
        return R

    @property
    def is_identity(self) -> bool:
        """Whether the two frames coincide."""
        return not any(self.position) and bool(np.array_equal(self.matrix(), np.eye(3)))


class Frame(Placement):
    """A named frame of a link. On a beam it sits at `x` along the axis, shifted from there by `position`."""

    name: Name = Field(description="name of the frame, unique in its link")
    x: Length | None = Field(default=None, description="place along a beam, from the root; beams only")


# ---- visuals


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
