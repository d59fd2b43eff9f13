"""Walks from a frame to the base as steps of compiled calls: Jacobians, twists, and the pull of a wrench."""

from __future__ import annotations

from collections.abc import Callable

from pliant.engine.call.steps import CallStep, StepLibrary
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number

Three = tuple[str, str, str]

WALK = ("links", "table", "coordinates", "flat", "size", "given", "start", "out")
INTEGERS = ("links", "size")
WALK_ROW = 3
"""Entries of a walk's table per link: where its columns begin, how many they are, where their coordinates begin."""
ARM = -3
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
        for x, own in zip(r, _three(w, h["flat"], w.iadd(start, ARM)), strict=True):
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
