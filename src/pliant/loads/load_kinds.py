"""Kinds of loads by name, as studies list them under ``loads``; disturbances and stops have keys of their own."""

from __future__ import annotations

from typing import Annotated

from pliant.loads.contact import Contact
from pliant.loads.load import LoadElement
from pliant.model.tagged import OneOf

LOADS = OneOf("load", Contact)
"""The kinds of loads that studies know under ``loads``; ``register`` adds one."""


def register(kind: type[LoadElement]) -> type[LoadElement]:
    """Let studies know a further kind of load by its ``kind``; also as a decorator of its class."""
    return LOADS.register(kind)


AnyLoad = Annotated[LoadElement, LOADS]
