"""Poses, velocities and Jacobians of a frame, and the pull of a wrench on it: quick for plain states, or any way.

Quick ones walk from the frame to the base as steps of compiled calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.engine.call.steps import CallStep, StepLibrary
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.states import Pose, States, Twist
from pliant.tree.columns import ARM, COLUMNS, POSITION, WayToBase
from pliant.tree.function import Function, declined, quick_property

if TYPE_CHECKING:
    from pliant.engine.call.calls import BuiltIn, Operand, QuickCall

Three = tuple[str, str, str]

WALK = ("links", "table", "coordinates", "flat", "size", "given", "start", "out")
INTEGERS = ("links", "size")
WALK_ROW = 3
"""Entries of a walk's table per link: where its columns begin, how many they are, where their coordinates begin."""
ARM_BEFORE = -3
"""Where a link's arm is, from the begin of its columns."""


def _dot(w: Flow, a: Three, b: Three) -> str:
    return w.fadd(w.fadd(w.fmul(a[0], b[0]), w.fmul(a[1], b[1])), w.fmul(a[2], b[2]))


def _three(w: Flow, base: str, start: str | int) -> Three:
    at = w.at(base, start)
    return w.read(at, 0), w.read(at, 1), w.read(at, 2)


def _cross(w: Flow, a: Three, b: Three) -> Three:
    def entry(i: int, k: int) -> str:
        return w.fsub(w.fmul(a[i], b[k]), w.fmul(a[k], b[i]))

    return entry(1, 2), entry(2, 0), entry(0, 1)


def _walk(w: CallStep, column: Callable[[str, Three, Three], None]) -> None:
    """For every coordinate on the way from a frame to the base: the frame's linear and angular velocity per rate."""
    h = w.held
    r = [w.variable("double", number(0.0)) for _ in range(3)]
    with w.repeat(h["links"]) as k:
        row = w.imul(k, WALK_ROW)
        start, count, first = (w.integer(h["table"], w.iadd(row, i)) for i in range(WALK_ROW))
        arm = tuple(w.get("double", x) for x in r)
        with w.repeat(count) as c:
            at = w.iadd(start, w.imul(c, 6))
            linear, angular = _three(w, h["flat"], at), _three(w, h["flat"], w.iadd(at, 3))
            turned = _cross(w, angular, (arm[0], arm[1], arm[2]))
            moved = tuple(w.fadd(a, b) for a, b in zip(linear, turned, strict=True))
            column(w.integer(h["coordinates"], w.iadd(first, c)), (moved[0], moved[1], moved[2]), angular)
        for x, own in zip(r, _three(w, h["flat"], w.iadd(start, ARM_BEFORE)), strict=True):
            w.put("double", w.fadd(w.get("double", x), own), x)


def _jacobian() -> str:
    """out (6, size) = J."""
    w = CallStep("jacobian", WALK, INTEGERS)
    h = w.held
    with w.repeat(w.imul(h["size"], 6)) as k:
        w.write(number(0.0), h["out"], k)

    def column(coordinate: str, linear: Three, angular: Three) -> None:
        for i, x in enumerate((*linear, *angular)):
            w.write(x, h["out"], w.iadd(w.imul(h["size"], i), coordinate))

    _walk(w, column)
    return w.done


def _twist() -> str:
    """out (6,) = J given."""
    w = CallStep("twist", WALK, INTEGERS)
    h = w.held
    for i in range(6):
        w.write(number(0.0), h["out"], i)

    def column(coordinate: str, linear: Three, angular: Three) -> None:
        rate = w.read(h["given"], coordinate)
        for i, x in enumerate((*linear, *angular)):
            w.increase(h["out"], i, w.fmul(x, rate))

    _walk(w, column)
    return w.done


def _pull() -> str:
    """out (size,) = start + J^T given."""
    w = CallStep("pull", WALK, INTEGERS)
    h = w.held
    force, moment = _three(w, h["given"], 0), _three(w, h["given"], 3)
    with w.repeat(h["size"]) as k:
        w.write(w.read(h["start"], k), h["out"], k)

    def column(coordinate: str, linear: Three, angular: Three) -> None:
        w.increase(h["out"], coordinate, w.fadd(_dot(w, linear, force), _dot(w, angular, moment)))

    _walk(w, column)
    return w.done


WALKS = StepLibrary(
    "walks", dict.fromkeys(("jacobian", "twist", "pull"), WALK), lambda lanes: "".join((_jacobian(), _twist(), _pull()))
)


# ---- poses, velocities and Jacobians of a frame, and the pull of a wrench on it

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
