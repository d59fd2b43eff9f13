"""What is made once for a part of a description: robots and beams do not change, and what was made goes with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from weakref import ReferenceType, ref

if TYPE_CHECKING:
    from pliant.model.element import Element

E = TypeVar("E", bound="Element")
P = ParamSpec("P")
T = TypeVar("T")


def once_per_element(make: Callable[Concatenate[E, P], T]) -> Callable[Concatenate[E, P], T]:
    """Let a function of a robot or a beam, and of hashable options, give the same result again as long as it is there.

    Robots with other numbers share the parts that are the same.
    """
    # by identity: to compare robots takes longer than to find them
    held: dict[int, tuple[ReferenceType[E], dict[Any, T]]] = {}

    @wraps(make)
    def found(element: E, /, *given: P.args, **options: P.kwargs) -> T:
        key = id(element)
        kept = held.get(key)
        if kept is None or kept[0]() is not element:
            kept = held[key] = ref(element, lambda _: held.pop(key, None)), {}
        own, which = kept[1], (given, tuple(options.items())) if options else given
        if which not in own:
            own[which] = make(element, *given, **options)
        return own[which]

    return found
