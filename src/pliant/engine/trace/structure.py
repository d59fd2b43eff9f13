"""Structure apart from values: which constants of a link are zero, one or equal, and where the others live.

A pattern is the nested shape of a value with every number replaced by a plain float (structural) or a ``Slot``.
Two links with equal patterns share compiled code; their values are inputs of it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Role
from pliant.engine.trace.known_patterns import (
    LONG_LIST,
    SHARED_BITS,
    KnownPattern,
    general_pattern,
    keep_pattern,
    known_patterns,
    note_general,
    row_of,
)
from pliant.engine.trace.tape import Node
from pliant.spatial.rounding import StructuralZeros, structural_zeros

if TYPE_CHECKING:
    from pliant.algorithm import Carrier


class Slot(NamedTuple):
    """Position of a value in an array, with its sign."""

    index: int  # type: ignore[assignment]
    sign: float = 1.0


class ConstantSlot(NamedTuple):
    """Position of a value among the constants of the link that handed it on, with its sign."""

    index: int  # type: ignore[assignment]
    sign: float = 1.0


class Plain(list[Any]):
    """Nested lists of plain numbers alone: nothing in them is ever replaced, so they are handed on as they are.

    Most of the arrays of a large body are zeros.
    """

    __slots__ = ("frozen",)

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.frozen = freeze(values)


class Sparse(list[Any]):
    """A list that is mostly zeros, or mostly arrays of zeros, as a row of a band: others are at its places."""

    __slots__ = ("places",)

    def __init__(self, values: list[Any], places: list[int]) -> None:
        super().__init__(values)
        self.places = places


class Alike(Sequence[Any]):
    """Patterns of things of one structure: that of the first, and how far the slots of the next are from its own.

    Whatever is done to their leaves is done to those that are looked at.
    """

    __slots__ = ("_change", "first", "number", "stride")

    def __init__(self, first: Any, number: int, stride: int, change: Callable[[Any], Any] | None = None) -> None:
        self.first, self.number, self.stride, self._change = first, number, stride, change

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(self.number))]
        own = shifted(self.first, range(self.number)[k] * self.stride)
        return own if self._change is None else map_leaves(own, self._change)

    def changed(self, f: Callable[[Any], Any]) -> Alike:
        """A nested value with its leaves replaced."""
        assert self._change is None
        return Alike(self.first, self.number, self.stride, f)


_KEPT = frozenset((float, Plain, StructuralZeros))
"""What is handed on as it is."""


def map_leaves(tree: Any, f: Callable[[Any], Any]) -> Any:
    """Apply f to the leaves of nested lists, tuples, named tuples and dicts; slots and None are leaves.

    Plain numbers stay as they are: most leaves of a large body are zeros.
    """
    if type(tree) in _KEPT:
        return tree
    if isinstance(tree, (Slot, ConstantSlot)) or tree is None:
        return f(tree)
    if type(tree) is Alike:
        return tree.changed(f)
    if type(tree) is Sparse:
        changed = Sparse(tree, tree.places)
        for k in tree.places:
            changed[k] = map_leaves(tree[k], f)
        return changed
    if isinstance(tree, dict):
        return {key: map_leaves(value, f) for key, value in tree.items()}
    if isinstance(tree, list):
        # a call less for each of very many leaves
        return [x if (kind := type(x)) in _KEPT else f(x) if kind is Slot else map_leaves(x, f) for x in tree]
    if isinstance(tree, tuple):
        values = [map_leaves(value, f) for value in tree]
        return type(tree)(*values) if hasattr(tree, "_fields") else tuple(values)
    return f(tree)


def freeze(tree: Any) -> Any:
    """A hashable image of a pattern."""
    if type(tree) is Plain:
        return tree.frozen
    if type(tree) is StructuralZeros:
        return ("zeros", *tree.shape)
    if type(tree) is Sparse:
        return ("sparse", len(tree), *((k, freeze(tree[k])) for k in tree.places))
    if type(tree) is Alike:
        return ("alike", tree.number, tree.stride, freeze(tree.first))
    if isinstance(tree, dict):
        return tuple((key, freeze(value)) for key, value in tree.items())
    if isinstance(tree, (list, tuple)) and not isinstance(tree, (Slot, ConstantSlot)):
        return tuple([x if type(x) is float or type(x) is Slot else freeze(x) for x in tree])
    # two kinds of slots with equal numbers are different things
    return ("constant", *tree) if isinstance(tree, ConstantSlot) else tree


class PatternKey:
    """What tells a pattern from others: made when it is asked for, and once for all links that share the pattern."""

    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern
        self._digests: dict[Any, str] = {}

    @cached_property
    def frozen(self) -> Any:
        """The pattern as a key."""
        return freeze(self.pattern)

    def digest(self, kind: Any) -> str:
        """Digest of the pattern and the kind of its link."""
        if kind not in self._digests:
            self._digests[kind] = _pattern_digest(kind, self.frozen)
        return self._digests[kind]


class ConstantsPattern(NamedTuple):
    """The pattern of a link's constants, the values of its slots, and its key."""

    pattern: Any
    values: list[float]
    key: PatternKey


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


def split_constants(constants: Any) -> ConstantsPattern:
    """Separate structure and values. Equal magnitudes share a slot (not in long lists); 0 is structural, and words are.

    A named tuple of constants may say of its fields what they are: see ``Role``.
    """
    values: list[float] = []
    pool = _Pool(values)

    def exact(x: float) -> float | Slot:
        return float(x) if abs(x) in (0, 1) else pool.slot(x)

    def shared(x: float) -> float | Slot:
        return pool.slot(x) if x else 0.0

    def alone(x: float) -> float | Slot:
        if not x:
            return 0.0
        values.append(x)
        return Slot(len(values) - 1)

    def alike(nodes: list[Any]) -> Alike:
        """Patterns of things of one structure: the values of one stand before those of the next."""
        numbers: list[list[float]] = []
        first = common(nodes, numbers)
        values.extend(x for own in zip(*numbers, strict=True) for x in own)
        return Alike(first, len(nodes), len(numbers))

    def common(nodes: list[Any], numbers: list[list[float]]) -> Any:
        """The pattern of the first; the numbers of all that are not zero in all of them are added."""
        if isinstance(nodes[0], (list, tuple)):
            parts = [common(list(each), numbers) for each in zip(*nodes, strict=True)]
            return type(nodes[0])(*parts) if hasattr(nodes[0], "_fields") else parts
        if isinstance(nodes[0], str) or not any(nodes):
            return nodes[0]
        numbers.append(nodes)
        return Slot(len(values) + len(numbers) - 1)

    def split(node: Any, rule: Callable[[float], float | Slot]) -> Any:
        if isinstance(node, str):
            return node
        if hasattr(node, "_fields"):
            roles = _roles(node)
            rules = {name: exact if role == "exact" else alone for name, role in roles.items()}
            return type(node)(
                *(
                    alike(x) if x and roles.get(name) == "alike" else split(x, rules.get(name, shared))
                    for name, x in zip(node._fields, node, strict=True)
                )
            )
        if type(node) is StructuralZeros:
            return node
        if not isinstance(node, list):
            return rule(node)
        if node and type(node[0]) is float and not any(node):
            return structural_zeros(len(node))
        if rule == shared and len(node) >= LONG_LIST:
            rule = alone
        if len(node) >= LONG_LIST and (places := _few_places(node)) is not None:
            row = Sparse(node, places)
            for k in places:
                row[k] = split(node[k], rule)
            return row
        # zeros are structure to every rule
        parts = [(rule(x) if x else 0.0) if type(x) is float else split(x, rule) for x in node]
        return Plain(parts) if all(type(x) in _KEPT for x in parts) else parts

    pattern = split(constants, shared)
    return ConstantsPattern(pattern, values, PatternKey(pattern))


def _few_places(node: list[Any]) -> list[int] | None:
    """Where a list is not zero, if that is at few places of it."""
    if type(node[0]) is float:
        places = [k for k, x in enumerate(node) if x]
    else:
        places = [k for k, x in enumerate(node) if type(x) is not StructuralZeros]
    return places if places and 2 * len(places) < len(node) else None


def from_slots(pattern: Any, read: Callable[[int], Any], read_constant: Callable[[int], Any] | None = None) -> Any:
    """Replace the slots of a pattern by what ``read(index)`` gives, those of constants by ``read_constant(index)``."""

    def leaf(x: Any) -> Any:
        if type(x) is Slot:
            return read(x.index) if x.sign > 0 else -read(x.index)
        if type(x) is ConstantSlot:
            assert read_constant is not None
            return read_constant(x.index) if x.sign > 0 else -read_constant(x.index)
        return x

    return map_leaves(pattern, leaf)


def fill(pattern: Any, value: Any) -> list[float]:
    """The slot values that make a pattern equal to a value of the same shape."""
    found: dict[int, float] = {}

    def walk(p: Any, x: Any) -> None:
        if isinstance(p, Slot):
            found.setdefault(p.index, p.sign * float(x))
        elif isinstance(p, (list, tuple, Alike)):
            for inner_p, inner_x in zip(p, x, strict=True):
                walk(inner_p, inner_x)
        elif p != x and (p or x):
            # nothing at all is split into a zero
            raise ValueError(f"{x} stands where the structure has {p}")

    walk(pattern, value)
    return [found[k] for k in range(len(found))]


def pack(value: Any, start: int, constant: Callable[[Node], int | None]) -> tuple[Any, list[Node]]:
    """Give every traced leaf a slot from ``start`` on (equal nodes share one); plain numbers stay structural.

    A leaf that is one of the link's own constants, ``constant(node)``, is read from there and not stored again.
    """
    nodes: list[Node] = []
    seen: dict[int, int] = {}

    def leaf(x: Any) -> Any:
        if type(x) is not Node:
            return x
        sign = 1.0
        if x.tape.op[x.index] == "negate":
            x, sign = x.tape.nodes[x.tape.a[x.index]], -1.0
        own = constant(x)
        if own is not None:
            return ConstantSlot(own, sign)
        if x.index not in seen:
            seen[x.index] = start + len(nodes)
            nodes.append(x)
        return Slot(seen[x.index], sign)

    return map_leaves(value, leaf), nodes


def shifted(pattern: Any, shift: int, *, stride: int = 1, constants: int = 0) -> Any:
    """A pattern whose slots are a stride apart and further by a shift, those of constants by another one."""

    def leaf(x: Any) -> Any:
        if type(x) is Slot:
            return Slot(stride * x.index + shift, x.sign)
        return ConstantSlot(x.index + constants, x.sign) if type(x) is ConstantSlot else x

    return map_leaves(pattern, leaf) if shift or stride != 1 or constants else pattern


def slots(pattern: Any) -> frozenset[int]:
    """All slots of a pattern but those of constants."""
    if isinstance(pattern, Slot):
        return frozenset((pattern.index,))
    return frozenset().union(*map(slots, pattern)) if isinstance(pattern, (tuple, list)) else frozenset()


_SPLIT: WeakKeyDictionary[Carrier, tuple[ConstantsPattern, ...]] = WeakKeyDictionary()
_SPLIT_LINKS: WeakKeyDictionary[Any, ConstantsPattern] = WeakKeyDictionary()


def split_tree(tree: Carrier) -> tuple[ConstantsPattern, ...]:
    """Structure and values of every link's constants, found once per tree, and once for a link of several trees."""
    if tree not in _SPLIT:
        _SPLIT[tree] = tuple(_split_link(link) for link in tree.links)
    return _SPLIT[tree]


def _split_link(link: Any) -> ConstantsPattern:
    if link not in _SPLIT_LINKS:
        _SPLIT_LINKS[link] = _split_as_before(link)
    return _SPLIT_LINKS[link]


def _split_as_before(link: Any) -> ConstantsPattern:
    """The constants of a link by a pattern that was found before, or anew."""
    laid_out = row_of(link.numbers)
    if laid_out is None:
        return split_constants(link.constants)
    key, row = laid_out
    general = general_pattern(key)
    if general is not None and (values := general.values(row, general=True)) is not None:
        return ConstantsPattern(general.found.pattern, values, general.found)
    for known in known_patterns(key):
        values = known.values(row)
        if values is not None:
            note_general(key, known)
            return ConstantsPattern(known.found.pattern, values, known.found)
    new = split_constants(link.constants)
    learnt = KnownPattern(new.key, new.pattern, len(row))
    if learnt.fits and learnt.values(row) == new.values:
        keep_pattern(key, learnt)
    return new


@lru_cache(maxsize=256)
def _pattern_digest(kind: Any, frozen: Any) -> str:
    """A digest of a pattern: other robots of one structure have the same, and to compare is faster than to write."""
    return hashlib.sha256(repr((kind, frozen)).encode()).hexdigest()


_KEYS: WeakKeyDictionary[Carrier, str] = WeakKeyDictionary()


def structure_key(tree: Carrier) -> str:
    """A digest of everything that decides the code: kinds, patterns and topology, but no values."""
    if tree not in _KEYS:
        known: dict[Any, int] = {}
        links = []
        for link, split in zip(tree.links, split_tree(tree), strict=True):
            pattern = split.key.digest(link.kind)
            links.append((known.setdefault(pattern, len(known)), link.parent))
        gravity = tuple(g != 0 for g in tree.gravity.tolist())
        _KEYS[tree] = hashlib.sha256(repr((list(known), links, gravity)).encode()).hexdigest()
    return _KEYS[tree]


def dissipative_slots(tree: Carrier) -> list[int]:
    """Positions, in all constants of a tree, of damping and friction: zero there leaves a conservative robot."""
    out: list[int] = []
    start = 0
    for split in split_tree(tree):
        out += [start + k for k in _losses(split.pattern)]
        start += len(split.values)
    return out


def _roles(node: Any) -> dict[str, Role]:
    found: dict[str, Role] = node.roles() if hasattr(node, "roles") else {}
    return found


def _losses(pattern: Any) -> frozenset[int]:
    """Slots of the fields that take energy."""
    if not hasattr(pattern, "_fields"):
        return frozenset()
    own = (slots(getattr(pattern, name)) for name, role in _roles(pattern).items() if role == "loss")
    return frozenset().union(*own, *(_losses(part) for part in pattern))


_NUMBERS: WeakKeyDictionary[Carrier, NDArray[np.float64]] = WeakKeyDictionary()
_LAST: WeakKeyDictionary[Carrier, tuple[tuple[float, ...], list[Any]]] = WeakKeyDictionary()
"""Numbers that were put into a tree's constants last, and what came of them."""


def constants_of(tree: Carrier) -> NDArray[np.float64]:
    """The numbers, in an array of the caller's own; every program of a tree asks for them."""
    if tree not in _NUMBERS:
        _NUMBERS[tree] = np.fromiter(chain.from_iterable(split.values for split in split_tree(tree)), dtype=float)
    return _NUMBERS[tree].copy()


def numbers_of(tree: Carrier) -> tuple[float, ...]:
    """Numbers of a tree's constants as a hashable key."""
    return tuple(constants_of(tree).tolist())


def constants_from(tree: Carrier, numbers: Sequence[Any]) -> list[Any]:
    """The constants of every link with other values, or traced ones: all of the numbers in their order."""
    # laws on floats ask for the same ones in every evaluation of a run
    plain = set(map(type, numbers)) == {float}
    if plain and (known := _LAST.get(tree)) and known[0] == tuple(numbers):
        return known[1]
    out, start = [], 0
    for split in split_tree(tree):
        out.append(from_slots(split.pattern, numbers[start : start + len(split.values)].__getitem__))
        start += len(split.values)
    if plain:
        _LAST[tree] = tuple(numbers), out
    return out
