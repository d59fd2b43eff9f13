"""The methods by name. Each is loaded when it is first asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from pliant.formulations.method import Method

METHODS = {
    "recursive": "pliant.formulations.recursive.method.RecursiveMethod",
    "dense": "pliant.formulations.recursive.dense.DenseMethod",
}


def method_class(name: str) -> type[Method]:
    """The class of a method."""
    if name not in METHODS:
        close = get_close_matches(name, METHODS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"method is {name!r}; it must be one of {', '.join(map(repr, METHODS))}{hint}")
    home, _, own = METHODS[name].rpartition(".")
    found: type[Method] = getattr(import_module(home), own)
    return found
