"""What is made once and kept: functions of robots, beams and mechanisms, and built-in functions of objects.

Descriptions and mechanisms do not change, and what was made of them goes with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import ReferenceType, ref

E = TypeVar("E")
P = ParamSpec("P")
T = TypeVar("T")


def once_per_element(make: Callable[Concatenate[E, P], T]) -> Callable[Concatenate[E, P], T]:
    """Let a function of a robot, beam or mechanism, and of hashable options, give its result again while that is there.

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


def quick_property(make: Callable[[Any], Callable[..., Any]]) -> cached_property[Callable[..., Any]]:
    """A built-in function of an object, made at its first call for one state; batches, which it declines, make none."""
    name = make.__name__

    def begin(self: Any) -> Callable[..., Any]:
        def first(*given: Any) -> Any:
            if any(getattr(x, "ndim", 1) > 1 for x in given):
                return None
            # in place of this function
            built = self.__dict__[name] = make(self)
            return built(*given)

        return first

    begin.__doc__ = make.__doc__
    return cached_property(begin)
