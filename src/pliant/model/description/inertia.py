"""Rigid masses: hubs, payloads and rigid links; inertias that no body can have, and the nearest that one can."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import PydanticCustomError, core_schema

from pliant.errors import show
from pliant.model.element import Array, Element, Moment3, Name, Position, of_value, refuse, rule
from pliant.model.once import once_per_element
from pliant.model.units import POSITIVE, Length, Mass, Quantity


def nearest_inertia(inertia: Array) -> Array:
    """The inertia (3, 3) of a body nearest to a given one: no second moment of mass is negative.

    A body has ``I = tr(S) 1 - S`` with its second moments ``S = int r r^T dm``, which cannot be negative in any
    direction; negative ones are set to zero.
    """
    symmetric = (inertia + inertia.T) / 2
    second = np.trace(symmetric) / 2 * np.eye(3) - symmetric
    moments, axes = np.linalg.eigh(second)
    positive = axes * np.maximum(moments, 0.0) @ axes.T
    nearest: Array = np.trace(positive) * np.eye(3) - positive
    return (nearest + nearest.T) / 2


# published inertias are rounded to about three digits
TRIANGLE = 5e-3
DEFINITE = 1e-6
SYMMETRIC = 1e-6
UNIT = np.eye(3)

Row = tuple[float, float, float]
InertiaValue = float | Row | tuple[float, float, float, float, float, float] | tuple[Row, Row, Row]


class _InertiaForms:
    """The reading of the four forms of an inertia: one number, three, six, or a 3x3 matrix."""

    number = Quantity("kg m^2")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number = self.number.__get_pydantic_json_schema__(schema, handler)

        def list_of(items: dict[str, Any], n: int) -> dict[str, Any]:
            return {"type": "array", "items": items, "minItems": n, "maxItems": n}

        return {"anyOf": [number, list_of(number, 3), list_of(number, 6), list_of(list_of(number, 3), 3)]}

    def read(self, value: Any, info: core_schema.ValidationInfo[Any]) -> InertiaValue:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, list | tuple):
            return self._number(value, info)
        rows = [isinstance(row, list | tuple) for row in value]
        if len(value) == 3 and all(rows) and all(len(row) == 3 for row in value):
            return tuple(tuple(self._number(entry, info) for entry in row) for row in value)  # type: ignore[return-value]
        if len(value) in (3, 6) and not any(rows):
            return tuple(self._number(entry, info) for entry in value)  # type: ignore[return-value]
        raise PydanticCustomError(
            "value",
            "is {given}; it must be one number, [xx, yy, zz], [xx, yy, zz, xy, xz, yz] or a 3x3 matrix",
            {"given": show(value)},
        )

    def _number(self, value: Any, info: core_schema.ValidationInfo[Any]) -> float:
        return float(self.number.read(value, info.context))


class RigidMass(Element):
    """Mass, centre of mass and inertia, in the axes of the frame that carries them."""

    mass: Mass = Field(description="mass")
    com: Position = Field(default=(0.0, 0.0, 0.0), description="centre of mass")
    first_moment: Moment3 | None = Field(default=None, description="mass times centre of mass, instead of com")
    inertia: Annotated[InertiaValue, _InertiaForms()] = Field(
        default=0.0, description="one number, [xx, yy, zz], [xx, yy, zz, xy, xz, yz] or a 3x3 matrix"
    )
    inertia_about: Literal["com", "origin"] = Field(default="com", description="reference point of the inertia")

    @model_validator(mode="after")
    def _physical(self) -> Self:
        self._check()
        return self

    @once_per_element
    def _check(self) -> None:
        """A part of another robot as well was checked with that one."""
        if self.first_moment is not None:
            if "com" in self.model_fields_set:
                raise rule("give either com or first_moment, not both")
            if self.mass == 0 and any(self.first_moment):
                raise rule("first_moment needs a mass")
            if self.mass > 0:
                self.__dict__["com"] = tuple(s / self.mass for s in self.first_moment)
        self._check_inertia()

    def _check_inertia(self) -> None:
        if isinstance(self.inertia, float):
            size = abs(self.inertia)
        else:
            given = self._given_inertia()
            size = float(np.abs(given).max())
            if np.abs(given - given.T).max() > SYMMETRIC * size:
                refuse([of_value("inertia", message=f"is {show(self.inertia)}; it must be symmetric")])
        # 1e-9 of mass times distance squared guards the shift to the centre of mass against rounding
        scale = size + 1e-3 * self.mass * sum(x * x for x in self.com)
        least, middle, most = self._principal_moments()
        if least < -DEFINITE * scale:
            self._refuse_moments(" about the centre of mass; none may be negative")
        if most - least - middle > TRIANGLE * scale:
            self._refuse_moments("; none may exceed the sum of the other two")

    def _principal_moments(self) -> list[float]:
        """Principal moments of inertia about the centre of mass, the smallest first."""
        if isinstance(self.inertia, float) and (self.inertia_about == "com" or not any(self.com)):
            return [self.inertia] * 3
        moments: list[float] = np.linalg.eigvalsh(self.inertia_matrix()).tolist()
        return moments

    def _refuse_moments(self, why: str) -> None:
        moments = ", ".join(f"{m:.4g}" for m in self._principal_moments())
        near = nearest_inertia(self.inertia_matrix())
        six = ", ".join(f"{near[i, k]:.6g}" for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        remedy = f": the nearest that a body can have is inertia: [{six}] about com"
        message = f"is {show(self.inertia)}; its principal moments are [{moments}]{why}{remedy}"
        refuse([of_value("inertia", message=message)])

    def _given_inertia(self) -> Array:
        """The inertia as given, about its own reference point."""
        values = np.array(self.inertia, dtype=float)
        if values.ndim == 0:
            return values * UNIT
        if values.shape == (6,):
            xx, yy, zz, xy, xz, yz = values
            return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return np.diag(values) if values.ndim == 1 else values

    def com_vector(self) -> Array:
        """The centre of mass as an array (3,)."""
        return np.array(self.com, dtype=float)

    @once_per_element
    def inertia_matrix(self) -> Array:
        """The inertia about the centre of mass as an array (3, 3)."""
        given = self._given_inertia()
        found = (given + given.T) / 2
        if self.inertia_about != "com":
            c = self.com_vector()
            found = found - self.mass * (c @ c * UNIT - np.outer(c, c))
        # whoever has the same part has the same array
        found.flags.writeable = False
        return found


class RigidPart(RigidMass):
    """A rigid mass on a link: a hub at its root, or a payload at one of its frames."""

    frame: Name | None = Field(default=None, description="frame of the link that carries a payload; default tip")


_LinkMass = Annotated[float, Quantity("kg", POSITIVE, remedy=" (leave `rigid` out for a massless connector)")]


class Rigid(RigidMass):
    """A rigid link; its tip frame sits at `length` on the x axis of the link."""

    mass: _LinkMass = Field(description="mass; leave `rigid` out for a massless connector")
    length: Length = Field(default=0.0, description="place of the tip frame on the x axis")
