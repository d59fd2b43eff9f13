"""What is made once for a robot: robots do not change, and what was made goes with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from weakref import ReferenceType, ref

if TYPE_CHECKING:
    from pliant.model.robot import Robot

P = ParamSpec("P")
T = TypeVar("T")


def once_per_robot(make: Callable[Concatenate[Robot, P], T]) -> Callable[Concatenate[Robot, P], T]:
    """Let a function of a robot and of hashable options give the same result again, as long as the robot is there."""
    # by identity: to compare robots takes longer than to find them
    held: dict[int, tuple[ReferenceType[Robot], dict[Any, T]]] = {}

    @wraps(make)
    def found(robot: Robot, /, *given: P.args, **options: P.kwargs) -> T:
        key = id(robot)
        kept = held.get(key)
        if kept is None or kept[0]() is not robot:
            kept = held[key] = ref(robot, lambda _: held.pop(key, None)), {}
        own, which = kept[1], (given, tuple(options.items()))
        if which not in own:
            own[which] = make(robot, *given, **options)
        return own[which]

    return found
