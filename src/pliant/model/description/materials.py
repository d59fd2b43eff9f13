"""Materials: elastic moduli and density, the common ones by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from pliant.errors import ModelError, did_you_mean, show
from pliant.model.element import Element, Name, rule
from pliant.model.units import Density, Modulus, Number


class Material(Element):
    """A linear elastic material.

    E        Young's modulus  Pa
    G        shear modulus    Pa      given, or E/(2 (1 + nu)); needed for torsion and shear only
    density  rho              kg/m^3
    yield    strength at which it yields, Pa; `yield_strength` in Python, where yield is a reserved word
    """

    name: Name | None = Field(default=None, description="name of the material")
    E: Modulus = Field(description="Young's modulus")
    G: Modulus | None = Field(default=None, description="shear modulus; or give nu")
    nu: Number | None = Field(default=None, description="Poisson's ratio; or give G")
    density: Density = Field(description="mass per volume")
    yield_strength: Modulus | None = Field(
        default=None, description="stress at which it yields, for utilisations; in files also `yield`"
    )

    @model_validator(mode="before")
    @classmethod
    def _reserved_word(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "yield" not in data:
            return data
        if "yield_strength" in data:
            raise rule("give either yield or yield_strength, which are the same")
        return {("yield_strength" if key == "yield" else key): value for key, value in data.items()}

    @model_validator(mode="after")
    def _shear_modulus(self) -> Material:
        if self.nu is None:
            return self
        if "G" in self.model_fields_set and self.G is not None:
            raise rule("give either G or nu, not both")
        if not -1 < self.nu <= 0.5:
            raise rule("nu is {nu}; Poisson's ratio must lie between -1 and 0.5", nu=self.nu)
        self.__dict__["G"] = self.E / (2 * (1 + self.nu))
        return self


def _common(name: str, E: float, nu: float, density: float) -> Material:
    return Material(name=name, E=E, nu=nu, density=density)


# typical values at room temperature; fibre composites are quasi-isotropic laminates
MATERIALS: dict[str, Material] = {
    material.name or "": material
    for material in (
        _common("aluminium", 70e9, 0.33, 2700.0),
        _common("aluminum", 70e9, 0.33, 2700.0),
        _common("steel", 210e9, 0.30, 7850.0),
        _common("stainless-steel", 193e9, 0.29, 8000.0),
        _common("spring-steel", 206e9, 0.29, 7850.0),
        _common("cast-iron", 110e9, 0.28, 7200.0),
        _common("titanium", 114e9, 0.34, 4430.0),
        _common("magnesium", 45e9, 0.35, 1770.0),
        _common("brass", 100e9, 0.34, 8500.0),
        _common("copper", 120e9, 0.34, 8960.0),
        _common("cfrp", 70e9, 0.30, 1600.0),
        _common("gfrp", 20e9, 0.28, 1900.0),
        _common("pla", 3.5e9, 0.36, 1240.0),
        _common("petg", 2.1e9, 0.38, 1270.0),
        _common("abs", 2.2e9, 0.37, 1050.0),
        _common("nylon", 2.7e9, 0.39, 1140.0),
        _common("acrylic", 3.2e9, 0.37, 1190.0),
    )
}


class _ByNameOrInFull:
    """The reading of ``steel`` and of ``{E: ..., density: ...}``; known ones are written by name."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            self.read,
            handler.generate_schema(Material),
            serialization=core_schema.wrap_serializer_function_ser_schema(
                self.write, info_arg=True, schema=handler.generate_schema(Material)
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        names = {"type": "string", "examples": list(MATERIALS)}
        return {"anyOf": [names, handler(Material.__pydantic_core_schema__)]}

    @staticmethod
    def read(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, str):
            return value
        if isinstance(value, Material | dict):
            return handler(value)
        raise PydanticCustomError(
            "value",
            "is {given}; it must be the name of a material, or its E, G and density",
            {"given": show(value)},
        )

    @staticmethod
    def write(value: Any, handler: Any, info: core_schema.SerializationInfo[Any]) -> Any:
        known = {**MATERIALS, **((info.context or {}).get("materials") or {})}
        if isinstance(value, str):
            return value
        by_name = value.name is not None and known.get(value.name) == value
        return value.name if by_name else handler(value)


MaterialOrName = Annotated[str | Material, _ByNameOrInFull()]


def find_material(name: str, own: Mapping[str, Material] | None = None) -> Material:
    """The user's material of that name, or a common one."""
    known = {**MATERIALS, **(own or {})}
    if name not in known:
        raise ModelError(f"material '{name}' is not known{unknown_material_hint(name, known)}")
    return known[name]


def unknown_material_hint(name: str, known: Iterable[str]) -> str:
    """A proposal for a misspelt name, or the names to choose from."""
    return did_you_mean(name, known) or f"; describe it under `materials:` or use one of {', '.join(sorted(known))}"
