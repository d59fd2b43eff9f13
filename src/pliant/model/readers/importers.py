"""Other ways to write a robot, which become ordinary links before the data are checked.

An importer takes the plain data of a robot and the folder of its file, and gives data without its own key; data without
that key it leaves as they are. A new one is a module with such a function, and its line here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

IMPORTERS = (
    ("urdf", "pliant.model.readers.urdf_overlay", "expand_urdf"),
    ("dh", "pliant.model.readers.dh", "expand_dh"),
)
"""Key, module and function, in the order in which they act; modules are loaded when their key is there."""


def imported(data: Any, folder: str = ".") -> Any:
    """The data of a robot with all keys of importers expanded."""
    for key, module, function in IMPORTERS:
        if isinstance(data, dict) and key in data:
            data = getattr(import_module(module), function)(data, folder)
    return data
