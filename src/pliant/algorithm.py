"""What the engine can run: an algorithm is passes over links, and each pass a plain function of one link.

A step sees a link through a view and returns named values, which later steps of the same link, of its parent or of its
children may read. Because a step knows nothing else, the same function runs on floats (``run``, the readable
reference), is traced over the whole tree at once, or is traced once per class of link and called in a loop.

Nothing here knows what a robot is: links are whatever a carrier has, with constants and a place in a tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, final

from pliant.spatial.vectors import Vector

Role = Literal["exact", "alone", "loss", "alike"]
"""What the structure of a field of constants is: exact, where 0 and +-1 are structure (elsewhere only 0 is); alone,
numbers that share no slot with equal ones, so that they can be changed by themselves; loss, alone and taking energy;
alike, a list of things of one structure, whose numbers are zero only where those of all are.
A named tuple of constants may say it of its fields by a method ``roles``."""


@dataclass(slots=True)
class LinkView:
    """One link in one evaluation: structure, constants, its slices of the inputs, stored values, neighbours.

    whole    an input of all links by its name, for what couples links that are no neighbours
    pattern  the constants with slots in the place of numbers, where they are traced
    """

    name: str
    kind: Any
    constants: Any
    inputs: Mapping[str, Vector]
    gravity: Vector
    parent: Any = None
    children: list[Any] = field(default_factory=list)
    store: dict[str, Any] = field(default_factory=dict)
    pattern: Any = None
    whole: Callable[[str], Vector] = lambda name: []

    @property
    def structure(self) -> Any:
        """Its constants for questions that no numbers decide: to make all of them takes long for a large body."""
        return self.link if self.pattern is None else self.pattern

    @property
    def link(self) -> Any:
        """Its constants; those that are made on demand are made once."""
        if callable(self.constants):
            self.constants = self.constants()
        return self.constants


@dataclass(slots=True)
class StationView:
    """One station of a link's body: its place among their constants, what it and the one before it have stored.

    before  None: it is the first, or takes nothing from the one before it
    """

    link: Any
    stations: Sequence[Any]
    place: int
    here: dict[str, Any]
    before: dict[str, Any] | None

    @property
    def station(self) -> Any:
        """Its constants; those of the stations of a large body are made when they are asked for."""
        return self.stations[self.place]


Step = Callable[[Any], dict[str, Any]]
"""A step of a pass: from the view of a link to named values."""
StationStep = Callable[[StationView], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Pass:
    """A step applied to every link, parents first (outward) or children first (inward).

    ``reads`` names what the step takes from the stores of the parent (outward) or the children (inward), and
    ``own`` what it takes from the link's own store.

    A pass may instead have steps of ``stations``, one after the other for all stations of a link's body. They know the
    body and its coordinates alone: links with equal bodies share their code, wherever they hang. A link stores what
    they give as lists.
    """

    name: str
    direction: Literal["outward", "inward"]
    step: Step
    reads: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    stations: tuple[StationStep, ...] = ()


class Carrier(Protocol):
    """What carries the constants of an algorithm: the tree of links, or whatever a method lowers a mechanism to.

    links     parts, each with ``name``, ``kind``, ``constants``, ``numbers`` (the constants with arrays in the place of
              nested lists), ``parent`` and ``start``; a kind has a number of ``coordinates``
    children  for each part, the parts that hang on it
    view      what steps see of a part

    Constants whose parts have stations, such as the elements of a beam, tell ``looped``, the stations where compiled
    code is to be a loop over them (else none), ``chained``, whether what a station is given depends on the one before
    it, and ``looped_part``, the field of the constants that steps of stations know.
    """

    @property
    def size(self) -> int: ...
    @property
    def gravity(self) -> Any: ...
    @property
    def links(self) -> Sequence[Any]: ...
    @property
    def children(self) -> Sequence[tuple[int, ...]]: ...
    @property
    def view(self) -> type[LinkView]: ...


@dataclass(frozen=True, slots=True)
class Algorithm(ABC):
    """What the engine traces: the inputs, and passes over links where the code is to be a loop over them.

    inputs  names of the vectors that it takes
    passes  in order; none: it is traced as a whole
    output  the value that is the result of each link
    """

    name: str
    inputs: tuple[str, ...]
    passes: tuple[Pass, ...]
    output: str

    @property
    def homes(self) -> set[str]:
        """Modules in which its steps are written."""
        steps = (step for each in self.passes for step in (each.step, *each.stations))
        return {type(self).__module__, *(step.__module__ for step in steps)}

    @abstractmethod
    def evaluate(
        self,
        tree: Any,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        """The results of all links, on whatever scalars the inputs hold."""


@final
@dataclass(frozen=True, slots=True)
class PassAlgorithm(Algorithm):
    """An algorithm that is its passes, one after the other."""

    def evaluate(
        self,
        tree: Any,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        return result(self, run(self, tree, inputs, constants, gravity))


class Traced(NamedTuple):
    """A function as the engine takes it: an algorithm, and what carries its constants."""

    algorithm: Algorithm
    carrier: Carrier


def views(
    tree: Carrier,
    inputs: Mapping[str, Sequence[Any]],
    constants: Sequence[Any] | None = None,
    gravity: Vector | None = None,
) -> list[Any]:
    """A view of every link on given inputs; constants and gravity may be replaced (traced, complex, changed)."""
    constants = [link.constants for link in tree.links] if constants is None else constants
    gravity = tree.gravity.tolist() if gravity is None else gravity
    out: list[Any] = []
    for link, values in zip(tree.links, constants, strict=True):
        own = {name: list(x[link.start : link.start + link.kind.coordinates]) for name, x in inputs.items()}
        parent = out[link.parent] if link.parent >= 0 else None
        view = tree.view(link.name, link.kind, values, own, gravity, parent, whole=lambda name: list(inputs[name]))
        if parent is not None:
            parent.children.append(view)
        out.append(view)
    return out


def run(
    algorithm: Algorithm,
    tree: Carrier,
    inputs: Mapping[str, Sequence[Any]],
    constants: Sequence[Any] | None = None,
    gravity: Vector | None = None,
) -> list[Any]:
    """Run all passes over the tree on whatever scalars the inputs hold; the stores hold the results."""
    everything = views(tree, inputs, constants, gravity)
    for each in algorithm.passes:
        for view in everything if each.direction == "outward" else reversed(everything):
            view.store.update(each.step(view))
    return everything


def result(algorithm: Algorithm, everything: Sequence[Any]) -> Vector:
    """The results of all links, in coordinate order."""
    return [x for view in everything for x in view.store[algorithm.output]]
