"""Poses, velocities and Jacobians of a frame, and the pull of a wrench on it: quick for plain states, or any way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.states import Pose, States, Twist
from pliant.tree.columns import ARM, COLUMNS, POSITION, WayToBase
from pliant.tree.function import Function, declined, quick_property
from pliant.tree.walk_steps import WALKS

if TYPE_CHECKING:
    from pliant.engine.call.calls import BuiltIn, Operand, QuickCall

Floats = NDArray[np.float64]


class FramesByName(dict[str, "FrameCalls"]):
    """Frames by the names under which they are asked for, each made at its first time."""

    def __init__(self, make: Callable[[str], FrameCalls]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> FrameCalls:
        made = self[name] = self._make(name)
        return made


class FrameCalls:
    """A frame of a robot: the places of all links are evaluated, and the way from the frame to the base is walked."""

    def __init__(self, places: Function, path: WayToBase) -> None:
        self.places, self.path = places, path

    # ---- any states

    def pose(self, q: States) -> Pose:
        """Position and rotation, of one state or of each of a batch."""
        return Pose(*self.path.pose(self.places(q)))

    def jacobian(self, q: States) -> Floats:
        """J (6, n)."""
        return self.path.jacobian(self.places(q))

    # ---- plain arrays of one state; None for all else

    @quick_property
    def quick_pose(self) -> BuiltIn:
        """(q) -> pose."""
        if not self.places.is_quick:
            return declined
        call, flat, _ = self._begin()
        own = flat[self.path.start : self.path.start + ARM]
        call.gives(own[POSITION:], own[:POSITION].reshape(3, 3))
        return call.built(Pose)

    @quick_property
    def quick_jacobian(self) -> BuiltIn:
        """(q) -> J (6, n)."""
        if not self.places.is_quick:
            return declined
        call, flat, nothing = self._begin()
        out = np.zeros((6, self.path.size))
        self._walk(call, "jacobian", flat, nothing, nothing, out)
        call.gives(out)
        return call.built()

    @quick_property
    def quick_twist(self) -> BuiltIn:
        """(q, v) -> twist."""
        if not self.places.is_quick:
            return declined
        call, flat, nothing = self._begin()
        out = np.zeros(6)
        self._walk(call, "twist", flat, call.takes(self.path.size), nothing, out)
        call.gives(out[:3], out[3:])
        return call.built(Twist)

    @quick_property
    def quick_pull(self) -> BuiltIn:
        """(q, wrench, forces) -> forces and those that the wrench adds to them (n,)."""
        if not self.places.is_quick:
            return declined
        call, flat, _ = self._begin()
        wrench, start = call.takes(6), call.takes(self.path.size, optional=True)
        out = np.zeros(self.path.size)
        self._walk(call, "pull", flat, wrench, start, out)
        call.gives(out)
        return call.built()

    def _begin(self) -> tuple[QuickCall, Floats, Floats]:
        from pliant.engine.call.calls import QuickCall

        call = QuickCall()
        return call, call.evaluates(self.places.evaluator, call.takes(self.path.size)), np.zeros(0)

    def _walk(self, call: QuickCall, step: str, flat: Floats, given: Operand, start: Operand, out: Floats) -> None:
        rows: list[int] = []
        coordinates: list[int] = []
        for each in self.path.steps:
            rows += [each.start + COLUMNS, len(each.coordinates), len(coordinates)]
            coordinates += each.coordinates
        tables = {"table": np.array(rows, dtype=np.int64), "coordinates": np.array(coordinates, dtype=np.int64)}
        sizes = {"links": len(self.path.steps), "size": self.path.size}
        call.does(WALKS, step, **sizes, **tables, flat=flat, given=given, start=start, out=out)
