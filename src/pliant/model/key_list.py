"""The keys of an element with their units and meanings, as ``help()`` lists them."""

from __future__ import annotations

from inspect import Parameter, Signature
from textwrap import wrap
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pliant.model.units import Quantity

WIDTH = 100


def key_list(kind: type[BaseModel]) -> str:
    """One entry per key: name, unit, default, meaning."""
    lines = ["Keys:"]
    for name, field in kind.model_fields.items():
        unit = _unit(field)
        facts = [f"[{unit}]"] if unit else []
        facts += ["required"] if field.is_required() else [f"default {field.default!r}"] if _plain(field) else []
        head = f"    {' '.join([name, *facts[:1]]) if unit else name}"
        told = "; ".join(filter(None, [field.description or "", *facts[1 if unit else 0 :]]))
        lines += wrap(f"{head}: {told}", WIDTH, subsequent_indent=" " * 8)
    return "\n".join(lines)


def key_signature(kind: type[BaseModel]) -> Signature:
    """The keys of an element and their defaults, as a call shows them."""
    return Signature(
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.is_required() else field.get_default(call_default_factory=True),
            )
            for name, field in kind.model_fields.items()
        ]
    )


def _plain(field: FieldInfo) -> bool:
    return isinstance(field.default, str | int | float | bool) and field.default != ""


def _unit(field: FieldInfo) -> str:
    found = list(dict.fromkeys(_units([*field.metadata, field.annotation])))
    return " or ".join(found)


def _units(parts: Any) -> list[str]:
    """Units of all quantities in an annotation; parts of an element have their own list."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, Quantity):
            out += [unit for unit in (part.unit, part.sliding) if unit]
        elif not isinstance(part, type):
            # what Annotated carries beside its type is among its metadata
            out += _units([*get_args(part), *getattr(part, "__metadata__", ())])
            number = getattr(part, "number", None) or getattr(part, "reading", None)
            out += _units([number]) if isinstance(number, Quantity) else []
    return out
