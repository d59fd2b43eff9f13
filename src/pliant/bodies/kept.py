"""What was made of a part of a link is kept with it: a robot that is described again is not built again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.element import Element

# of what was made of a beam, for other loads and frames, the latest; those of a robot go with it
MOST_KEPT = 12
# beams of which what was made is found by their numbers, too
MOST_ALIKE = 32
T = TypeVar("T")


def kept(part: Element, *key: Any, make: Callable[[], T]) -> T:
    """What was made of a part of a link with the same further values, or else is made now; the latest few are kept."""
    held = _made_of(part)
    # other threads may look for the same
    found: T | None = held.pop(key, None)
    if found is None:
        found = make()
    _keep(held, key, found, MOST_KEPT)
    return found


def _keep(held: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Put a value behind all others; the oldest go."""
    held[key] = value
    while len(held) > most:
        held.pop(next(iter([*held])), None)


@once_per_element
def _made_of(part: Element) -> dict[Any, Any]:
    """By what else it depends on, the latest last; beams of equal numbers share it while they are among the latest."""
    # bodies of elements and of data may be large, and go with what describes them; functions may know more than numbers
    modes = getattr(part, "modes", None)
    if modes is None or any(not isinstance(f, str) for m in modes.families().values() for f in m.expressions or ()):
        return {}
    made = _ALIKE.pop(part, {})
    _keep(_ALIKE, part, made, MOST_ALIKE)
    return made


_ALIKE: dict[Element, dict[Any, Any]] = {}
