"""One of several kinds of elements, written in a file as a mapping with one key: ``{quintic: {...}}``."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.errors import did_you_mean, listing, show
from pliant.model.element import Element, one_key_schema, refuse

E = TypeVar("E", bound=Element)


class OneOf:
    """The pydantic reading of an element whose kind is the only key; elements themselves are taken as they are."""

    def __init__(self, what: str, *kinds: type[Element]) -> None:
        self.what = what
        self.kinds: dict[str, type[Element]] = {str(getattr(kind, "kind")): kind for kind in kinds}  # noqa: B009

    def register(self, kind: type[E]) -> type[E]:
        """Know a further kind; one of the same name gives way to it."""
        self.kinds[str(getattr(kind, "kind"))] = kind  # noqa: B009
        return kind

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        choices: dict[Any, core_schema.CoreSchema] = {
            name: core_schema.no_info_before_validator_function(_unwrap, handler.generate_schema(kind))
            for name, kind in self.kinds.items()
        }
        union = core_schema.tagged_union_schema(choices, discriminator=_kind) if choices else core_schema.any_schema()

        def read(value: Any, known: core_schema.ValidatorFunctionWrapHandler, info: core_schema.ValidationInfo) -> Any:
            name = _kind(self._check(value))
            # kinds that were registered after the schema was made
            return known(value) if name in choices else _alone(self.kinds[name], _unwrap(value), info.context)

        return core_schema.with_info_wrap_validator_function(
            read,
            union,
            serialization=core_schema.plain_serializer_function_ser_schema(_written, info_arg=True),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        # without any, those that are registered later
        return one_key_schema(self.kinds, handler) if self.kinds else {"type": "object"}

    def _check(self, value: Any) -> Any:
        if isinstance(value, tuple(self.kinds.values())):
            return value
        kinds = listing(self.kinds) if self.kinds else "of a kind that is registered first"
        if not isinstance(value, dict) or len(value) != 1:
            raise PydanticCustomError(
                "value",
                "is {given}; it must be a mapping with one key, one of {kinds}",
                {"given": show(value), "kinds": kinds},
            )
        kind = next(iter(value))
        if kind not in self.kinds:
            raise PydanticCustomError(
                "rule",
                "unknown {what} '{kind}'; it must be {kinds}{hint}",
                {"what": self.what, "kind": str(kind)[:40], "kinds": kinds, "hint": did_you_mean(kind, self.kinds)},
            )
        return value


def _alone(kind: type[Element], value: Any, context: Any) -> Element:
    """An element of a kind, with the places of what is wrong as they are of other kinds."""
    if isinstance(value, kind):
        return value
    try:
        found: Element = kind.__pydantic_validator__.validate_python(value, context=context)
    except ValidationError as error:
        refuse(
            InitErrorDetails(
                type=PydanticCustomError(each["type"], "{text}", {**each.get("ctx", {}), "text": each["msg"]}),
                loc=(str(getattr(kind, "kind")), *each["loc"]),  # noqa: B009
                input=each["input"],
            )
            for each in error.errors(include_url=False)
        )
        raise
    return found


def _kind(value: Any) -> str:
    return str(value.kind) if isinstance(value, Element) and hasattr(value, "kind") else str(next(iter(value)))


def _unwrap(value: Any) -> Any:
    # a kind without any keys may be written as `hold:`
    return (next(iter(value.values())) or {}) if isinstance(value, dict) else value


def _written(value: Any, info: Any) -> dict[str, Any]:
    inner = value.model_dump(mode=info.mode, exclude_unset=info.exclude_unset)
    return {value.kind: inner}
