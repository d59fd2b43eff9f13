"""Where a place given in a link's own frame is attached to that link, in plain data (before validation).

Tables and URDF files give the next joint in the frame of the link before it. A rigid link carries it at its
root; a bending one at the section that is really there: tip, root, or a frame made for it on the beam.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import PydanticCustomError

from pliant.model.units import Quantity

Plain = dict[str, Any]

# places along a beam that agree to this fraction of its length are the same place
SAME = 1e-9
_BODIES = ("beam", "rigid", "modal", "fe", "cad")


def quantity(value: Any, unit: str) -> float:
    """A plain number or one with a unit, in SI; raises PydanticCustomError with the reason."""
    return float(Quantity(unit).read(value, {"units": True}))


def body_of(link: Mapping[str, Any]) -> str | None:
    """Which of beam, rigid, modal, fe and cad a link has."""
    return next((key for key in _BODIES if isinstance(link.get(key), Mapping)), None)


def bends(link: Mapping[str, Any]) -> bool:
    """Whether the tip of a link may move relative to its root."""
    return body_of(link) in ("beam", "modal", "fe", "cad")


def length_of(link: Mapping[str, Any]) -> float | None:
    """The length of a link, None where it is not given or cannot be read (the reader says why)."""
    body = body_of(link)
    part = link[body] if body else {}
    segments = part.get("segments")
    try:
        if "length" not in part and isinstance(segments, list):
            return sum(quantity(segment["length"], "m") for segment in segments)
        return quantity(part["length"], "m")
    except (PydanticCustomError, KeyError, TypeError):
        return None


def seat(link: Mapping[str, Any], position: Sequence[float], name: str) -> tuple[str, list[float], Plain | None]:
    """The frame of a link that carries a place: its name, the place seen from it, and the frame if it is new.

    The link must have a length when it bends. `name` is for the new frame.
    """
    x, y, z = position
    if not bends(link):
        return "root", [x, y, z], None
    length = length_of(link)
    if length is None:
        raise ValueError("a bending link needs a length to carry something")
    if x <= length * SAME:
        return "root", [x, y, z], None
    if x > length * (1 - SAME):
        return "tip", [x - length if x > length * (1 + SAME) else 0.0, y, z], None
    return name, [0.0, y, z], {"name": name, "x": x}


def placement(position: Sequence[float], rotation: list[Plain]) -> Plain:
    """The plain data of a placement, without what is zero."""
    out: Plain = {}
    if any(position):
        out["position"] = [float(p) for p in position]
    if rotation:
        out["rotation"] = rotation if len(rotation) > 1 else rotation[0]
    return out


def line_of(node: Any, key: Any = None) -> int | None:
    """The line of a mapping or of one of its keys, counted from one, if the data know it (as ruamel's do)."""
    marks = getattr(node, "lc", None)
    if marks is None:
        return None
    try:
        return int(marks.key(key)[0]) + 1
    except (KeyError, TypeError, AttributeError):
        return int(marks.line) + 1
