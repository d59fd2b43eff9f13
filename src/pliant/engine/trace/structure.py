"""Structure apart from values: which constants of a link are zero, one or equal, and where the others live.

A pattern is the nested shape of a value with every number replaced by a plain float (structural) or a ``Slot``.
Two links with equal patterns share compiled code; their values are inputs of it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from pliant.engine.trace.tape import Node
from pliant.formulations.recursive.link import LinkConstants, Seat

if TYPE_CHECKING:
    from pliant.formulations.recursive.tree import Tree


SHARED_BITS = 46
"""Leading bits in which two constants must agree (up to one unit) to be taken as the same number: 3e-14."""


class Slot(NamedTuple):
    """Position of a value in an array, with its sign."""

    index: int  # type: ignore[assignment]
    sign: float = 1.0


def map_leaves(tree: Any, f: Callable[[Any], Any]) -> Any:
    """Apply f to every leaf of nested lists, tuples, named tuples and dicts; a Slot and None are leaves."""
    if isinstance(tree, Slot) or tree is None:
        return f(tree)
    if isinstance(tree, dict):
        return {key: map_leaves(value, f) for key, value in tree.items()}
    if isinstance(tree, list):
        return [map_leaves(value, f) for value in tree]
    if isinstance(tree, tuple):
        values = [map_leaves(value, f) for value in tree]
        return type(tree)(*values) if hasattr(tree, "_fields") else tuple(values)
    return f(tree)


def freeze(tree: Any) -> Any:
    """A hashable image of a pattern."""
    if isinstance(tree, dict):
        return tuple((key, freeze(value)) for key, value in tree.items())
    if isinstance(tree, (list, tuple)) and not isinstance(tree, Slot):
        return tuple(freeze(value) for value in tree)
    return tree


class ConstantsPattern(NamedTuple):
    """The pattern of a link's constants and the values of its slots."""

    pattern: LinkConstants
    values: list[float]


class _Pool:
    """Values by magnitude: numbers that agree to a few units in the last place share a slot.

    The first one is stored with its sign, the others carry their sign relative to it.
    """

    def __init__(self, values: list[float]) -> None:
        self.values = values
        self.slots: dict[tuple[int, int], int] = {}

    def slot(self, x: float) -> Slot:
        mantissa, exponent = math.frexp(abs(x))
        key = round(math.ldexp(mantissa, SHARED_BITS))
        for near in (key, key - 1, key + 1):
            index = self.slots.get((near, exponent))
            if index is not None:
                return Slot(index, 1.0 if (x > 0) == (self.values[index] > 0) else -1.0)
        self.slots[key, exponent] = len(self.values)
        self.values.append(x)
        return Slot(len(self.values) - 1)


def split_constants(constants: LinkConstants) -> ConstantsPattern:
    """Separate structure and values. Equal magnitudes share a slot; 0 is structural, +-1 only in rotations and shapes.

    Damping and joint constants get slots of their own, so that they can be changed (or set to zero) alone.
    """
    values: list[float] = []
    pool = _Pool(values)

    def rotation(x: float) -> float | Slot:
        return float(x) if abs(x) in (0, 1) else pool.slot(x)

    def shared(x: float) -> float | Slot:
        return pool.slot(x) if x else 0.0

    def alone(x: float) -> float | Slot:
        if not x:
            return 0.0
        values.append(x)
        return Slot(len(values) - 1)

    if not isinstance(constants, LinkConstants):  # type: ignore[unreachable, unused-ignore]
        own = {name: alone if name in constants.roles() else shared for name in constants._fields}
        parts = {name: map_leaves(getattr(constants, name), take) for name, take in own.items()}
        return ConstantsPattern(type(constants)(**parts), values)
    body = constants.body
    pattern = LinkConstants(
        seat=_seat_pattern(constants.seat, rotation, shared),
        joint=map_leaves(constants.joint, alone),
        body=map_leaves(body._replace(D_ee=[]), shared)._replace(D_ee=map_leaves(body.D_ee, alone)),
        motor_row=map_leaves(constants.motor_row, shared),
    )
    return ConstantsPattern(pattern, values)


def _seat_pattern(seat: Seat, rotation: Callable[[float], Any], shared: Callable[[float], Any]) -> Seat:
    turned = {name: map_leaves(getattr(seat, name), rotation) for name in ("R0", "axes", "Phi_d", "Phi_r")}
    rest: Seat = map_leaves(seat._replace(R0=[], axes=[], Phi_d=[], Phi_r=[]), shared)
    return rest._replace(**turned)


def from_slots(pattern: Any, read: Callable[[int], Any]) -> Any:
    """Replace the slots of a pattern by what ``read(index)`` gives."""

    def leaf(x: Any) -> Any:
        if isinstance(x, Slot):
            return read(x.index) if x.sign > 0 else -read(x.index)
        return x

    return map_leaves(pattern, leaf)


def fill(pattern: Any, value: Any) -> list[float]:
    """The slot values that make a pattern equal to a value of the same shape."""
    found: dict[int, float] = {}

    def walk(p: Any, x: Any) -> None:
        if isinstance(p, Slot):
            found.setdefault(p.index, p.sign * float(x))
        elif isinstance(p, (list, tuple)):
            for inner_p, inner_x in zip(p, x, strict=True):
                walk(inner_p, inner_x)
        elif p != x:
            raise ValueError(f"{x} stands where the structure has {p}")

    walk(pattern, value)
    return [found[k] for k in range(len(found))]


def pack(value: Any, start: int) -> tuple[Any, list[Node]]:
    """Give every traced leaf a slot from ``start`` on (equal nodes share one); plain numbers stay structural."""
    nodes: list[Node] = []
    seen: dict[int, int] = {}

    def leaf(x: Any) -> Any:
        if type(x) is not Node:
            return x
        sign = 1.0
        if x.tape.op[x.index] == "negate":
            x, sign = x.tape.nodes[x.tape.a[x.index]], -1.0
        if x.index not in seen:
            seen[x.index] = start + len(nodes)
            nodes.append(x)
        return Slot(seen[x.index], sign)

    return map_leaves(value, leaf), nodes


def slots(pattern: Any) -> frozenset[int]:
    """All slots of a pattern."""
    if isinstance(pattern, Slot):
        return frozenset((pattern.index,))
    return frozenset().union(*map(slots, pattern)) if isinstance(pattern, (tuple, list)) else frozenset()


_SPLIT: WeakKeyDictionary[Tree, tuple[ConstantsPattern, ...]] = WeakKeyDictionary()


def split_tree(tree: Tree) -> tuple[ConstantsPattern, ...]:
    """Structure and values of every link's constants, found once per tree."""
    if tree not in _SPLIT:
        _SPLIT[tree] = tuple(split_constants(link.constants) for link in tree.links)
    return _SPLIT[tree]


_KEYS: WeakKeyDictionary[Tree, str] = WeakKeyDictionary()


def structure_key(tree: Tree) -> str:
    """A digest of everything that decides the code: kinds, patterns and topology, but no values."""
    if tree not in _KEYS:
        known: dict[Any, int] = {}
        links = []
        for link, split in zip(tree.links, split_tree(tree), strict=True):
            pattern = (link.kind, freeze(split.pattern))
            links.append((known.setdefault(pattern, len(known)), link.parent))
        gravity = tuple(g != 0 for g in tree.gravity.tolist())
        _KEYS[tree] = hashlib.sha256(repr((list(known), links, gravity)).encode()).hexdigest()
    return _KEYS[tree]


def dissipative_slots(tree: Tree) -> list[int]:
    """Positions, in all constants of a tree, of damping and friction: zero there leaves a conservative robot."""
    out: list[int] = []
    start = 0
    for split in split_tree(tree):
        joint = split.pattern.joint
        for pattern in (joint.damping, joint.coulomb, split.pattern.body.D_ee):
            out += [start + k for k in slots(pattern)]
        start += len(split.values)
    return out
