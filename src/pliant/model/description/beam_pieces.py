"""How a beam is cut into several, welded end to end: into so many equal ones, or at given places."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from pliant.model.element import Element
from pliant.model.units import PositiveLength, WholeNumber

MOST_PIECES = 200


class PieceEnds(Element):
    """Places along a beam where it is cut: at eyes and pads, where forces act inside its span."""

    at: tuple[PositiveLength, ...] = Field(
        min_length=1, max_length=MOST_PIECES - 1, description="distances from the root, in order"
    )


class _PieceForms:
    """The reading of pieces: a whole number, or a mapping with the places of the cuts."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        number = handler.generate_schema(Annotated[int, WholeNumber(1, MOST_PIECES)])
        return core_schema.tagged_union_schema(
            {"number": number, "places": handler.generate_schema(PieceEnds)},
            discriminator=lambda value: "places" if isinstance(value, dict | PieceEnds) else "number",
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number = {"type": "integer", "minimum": 1, "maximum": MOST_PIECES}
        return {"anyOf": [number, handler(PieceEnds.__pydantic_core_schema__)]}


Pieces = Annotated[int | PieceEnds, _PieceForms()]


def piece_ends(pieces: int | PieceEnds, length: float) -> list[float]:
    """Where the pieces of a beam of some length end, from the root; the last one ends at its tip."""
    if isinstance(pieces, PieceEnds):
        return [*pieces.at, length]
    return [length * (k + 1) / pieces for k in range(pieces)]
