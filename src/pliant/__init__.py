"""Pliant: dynamics of robots whose links bend. The public names, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """Public name -> module, read from the stub that type checkers read too."""
    with open(f"{__file__}i", encoding="utf-8") as stub:
        # from MODULE import NAME as NAME
        return {name: module for _, module, _, name, *_ in (line.split() for line in stub if line.startswith("from "))}


_HOME_OF = _homes()
__all__ = [*_HOME_OF, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'pliant' has no attribute '{name}'")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
