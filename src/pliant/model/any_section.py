"""A section in a file: a mapping with one key, its kind."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, GetJsonSchemaHandler, Tag, WrapSerializer
from pydantic_core import PydanticCustomError, core_schema

from pliant.errors import did_you_mean, listing, show
from pliant.model.element import one_key_schema
from pliant.model.section_shapes import AngleProfile, Box, ChannelProfile, CProfile, Polygon, ZProfile
from pliant.model.sections import Ellipse, GeneralSection, IBeam, Rectangle, Round, Section, Tube

SECTIONS: dict[str, type[Section]] = {
    section.kind: section
    for section in (
        *(Rectangle, Box, Tube, Round, Ellipse, IBeam),
        *(ChannelProfile, AngleProfile, CProfile, ZProfile, Polygon, GeneralSection),
    )
}


def _check_kind(value: Any) -> Any:
    """A section in a file is a mapping with one key, the kind."""
    kinds = listing(SECTIONS)
    if isinstance(value, Section):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise PydanticCustomError(
            "value",
            "is {given}; it must be a mapping with one key, one of {kinds}, for example {example}",
            {"given": show(value), "kinds": kinds, "example": "{round: {diameter: 20 mm}}"},
        )
    kind = next(iter(value))
    if kind not in SECTIONS:
        raise PydanticCustomError(
            "rule",
            "unknown section '{kind}'; it must be {kinds}{hint}",
            {"kind": str(kind)[:40], "kinds": kinds, "hint": did_you_mean(kind, SECTIONS)},
        )
    return value


def _kind(value: Any) -> str:
    return value.kind if isinstance(value, Section) else str(next(iter(value)))


def _unwrap(value: Any) -> Any:
    return value if isinstance(value, Section) else next(iter(value.values()))


def _wrap(value: Section, handler: Any) -> dict[str, Any]:
    return {value.kind: handler(value)}


class _OneKey:
    """The JSON schema of the form with the kind as the only key."""

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return one_key_schema(SECTIONS, handler)


AnySection = Annotated[
    Annotated[Rectangle, BeforeValidator(_unwrap), Tag("rectangle")]
    | Annotated[Tube, BeforeValidator(_unwrap), Tag("tube")]
    | Annotated[Round, BeforeValidator(_unwrap), Tag("round")]
    | Annotated[Ellipse, BeforeValidator(_unwrap), Tag("ellipse")]
    | Annotated[Box, BeforeValidator(_unwrap), Tag("box")]
    | Annotated[IBeam, BeforeValidator(_unwrap), Tag("i_beam")]
    | Annotated[ChannelProfile, BeforeValidator(_unwrap), Tag("channel")]
    | Annotated[AngleProfile, BeforeValidator(_unwrap), Tag("angle")]
    | Annotated[CProfile, BeforeValidator(_unwrap), Tag("c_profile")]
    | Annotated[ZProfile, BeforeValidator(_unwrap), Tag("z_profile")]
    | Annotated[Polygon, BeforeValidator(_unwrap), Tag("polygon")]
    | Annotated[GeneralSection, BeforeValidator(_unwrap), Tag("general")],
    Discriminator(_kind),
    BeforeValidator(_check_kind),
    WrapSerializer(_wrap),
    _OneKey(),
]
