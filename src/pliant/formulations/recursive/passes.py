"""The algorithms as passes over the tree: each pass is a plain function of one link and its neighbours.

A step sees a link through a ``View`` and returns named values, which later steps of the same link, of its parent or
of its children may read. Because a step knows nothing else, the same function runs on floats (``run``, the readable
reference), is traced over the whole tree at once, or is traced once per class of link and called in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pliant.bodies.constants import GROUND
from pliant.bodies.terms import BendingBody, FrameTerms
from pliant.formulations.recursive.articulated import Acceleration, accelerate, articulate
from pliant.formulations.recursive.connection import (
    Connection,
    carried_acceleration,
    connect,
    elastic,
    joint_acceleration,
)
from pliant.formulations.recursive.kinematics import Motion, base_motion, energies, flat_motion, move
from pliant.formulations.recursive.link import LinkConstants, LinkKind
from pliant.formulations.recursive.newton_euler import collect, inertial
from pliant.spatial.scalars import is_zero
from pliant.spatial.vectors import ZERO3, Vector, add, cross, subtract, times

if TYPE_CHECKING:
    from pliant.formulations.recursive.tree import Tree


@dataclass(slots=True)
class LinkView:
    """One link in one evaluation: structure, constants, its slices of the inputs, stored values, neighbours.

    pattern  the constants with slots in the place of numbers, where they are traced
    """

    name: str
    kind: LinkKind
    constants: LinkConstants | Callable[[], LinkConstants]
    inputs: Mapping[str, Vector]
    gravity: Vector
    parent: LinkView | None = None
    children: list[LinkView] = field(default_factory=list)
    store: dict[str, Any] = field(default_factory=dict)
    pattern: LinkConstants | None = None

    @property
    def structure(self) -> LinkConstants:
        """Its constants for questions that no numbers decide: to make all of them takes long for a large body."""
        return self.link if self.pattern is None else self.pattern

    @property
    def link(self) -> LinkConstants:
        """Its constants; those that are made on demand are made once."""
        if callable(self.constants):
            self.constants = self.constants()
        return self.constants

    @property
    def bent(self) -> LinkConstants:
        """Its constants, with the body at the state of the link where that has been found."""
        known, body = self.store.get("bent"), self.link.body
        if not known or not isinstance(body, BendingBody):
            return self.link
        return self.link._replace(body=body.at(known, self.store.get("sums", [])))

    @property
    def q(self) -> Vector:
        return self.inputs["q"]

    @property
    def v(self) -> Vector:
        """Zeros where no rates are given."""
        return self.inputs["v"] if "v" in self.inputs else [0.0] * self.kind.coordinates

    @property
    def force(self) -> Vector:
        """Given forces on its coordinates, less what damping that couples links takes of them."""
        f = self.inputs["f"]
        return subtract(f, self.inputs["drag"]) if "drag" in self.inputs else f

    @property
    def seat_motion(self) -> FrameTerms:
        """Motion of the parent's section on which the link sits, relative to the parent."""
        section = self.link.seat.section
        if self.parent is None:
            return GROUND.frame(section, [], [])
        q_e, v_e = (elastic(self.parent.kind, x) for x in (self.parent.q, self.parent.v))
        return self.parent.bent.body.frame(section, q_e, v_e)

    @property
    def connection(self) -> Connection:
        c: Connection = self.store["connection"]
        return c

    @property
    def parent_acceleration(self) -> Acceleration:
        """Of the parent's frame; gravity is an acceleration of the base."""
        if self.parent is None:
            return Acceleration([-g for g in self.gravity], list(ZERO3), [])
        a: Acceleration = self.parent.store["acceleration"]
        return a

    def handed(self, name: str) -> list[tuple[Any, FrameTerms]]:
        """What the children stored under a name, with where they hang."""
        return [(child.store[name], child.connection.frame) for child in self.children]


@dataclass(slots=True)
class StationView:
    """One station of a link's body: its place among their constants, what it and the one before it have stored.

    before  None: it is the first, or takes nothing from the one before it
    """

    link: LinkView
    stations: Sequence[Any]
    place: int
    here: dict[str, Any]
    before: dict[str, Any] | None

    @property
    def station(self) -> Any:
        """Its constants; those of the stations of a large body are made when they are asked for."""
        return self.stations[self.place]


class NoInertiaError(ValueError):
    """The forward dynamics of a robot are not determined."""


Step = Callable[[LinkView], dict[str, Any]]
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

    links     parts, each with ``kind``, ``constants``, ``numbers`` (the constants with arrays in the place of nested
              lists), ``parent`` and ``start``
    children  for each part, the parts that hang on it
    """

    @property
    def size(self) -> int: ...
    @property
    def gravity(self) -> Any: ...
    @property
    def links(self) -> Sequence[Any]: ...
    @property
    def children(self) -> Sequence[tuple[int, ...]]: ...


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Passes in order, the inputs that they take and the value that is the result of each link."""

    name: str
    inputs: tuple[str, ...]
    passes: tuple[Pass, ...]
    output: str

    def evaluate(
        self,
        tree: Any,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        """The results of all links, on whatever scalars the inputs hold."""
        return result(self, run(self, tree, inputs, constants, gravity))


def _bend(view: StationView) -> dict[str, Any]:
    link, structure = view.link, view.link.structure.body
    assert isinstance(structure, BendingBody)
    if not structure.holds_frames:
        return {"bent": None}
    body = link.link.body
    assert isinstance(body, BendingBody)
    before = None if view.before is None else view.before["bent"]
    return {"bent": body.bend(view.station, before, elastic(link.kind, link.q), elastic(link.kind, link.v))}


def _load(view: StationView) -> dict[str, Any]:
    link, body = view.link, view.link.link.body
    assert isinstance(body, BendingBody)
    before = None if view.before is None else view.before["sums"]
    state = elastic(link.kind, link.q), elastic(link.kind, link.v)
    return {"sums": body.load(view.station, view.here["bent"], link.store["bent"], before, *state)}


def follow(steps: Sequence[StationStep]) -> Step:
    """Steps of stations as one of the link: all stations in turn, for each step."""

    def step(view: LinkView) -> dict[str, Any]:
        body = view.link.body
        if not isinstance(body, BendingBody):
            return {}
        stores: list[dict[str, Any]] = [{} for _ in range(len(body.stations))]
        for each in steps:
            for k, here in enumerate(stores):
                here.update(each(StationView(view, body.stations, k, here, stores[k - 1] if k else None)))
            view.store.update({name: [here[name] for here in stores] for name in stores[0]})
        return {name: view.store[name] for name in stores[0]}

    return step


def _stations(name: str, *steps: StationStep) -> Pass:
    return Pass(name, "outward", follow(steps), stations=steps)


def _connect(view: LinkView) -> dict[str, Any]:
    w = list(ZERO3) if view.parent is None else view.parent.connection.w
    return {"connection": connect(view.kind, view.link, view.q, view.v, view.seat_motion, w)}


def _articulate(view: LinkView) -> dict[str, Any]:
    try:
        handed, factors = articulate(
            view.kind, view.bent, view.q, view.v, view.force, view.connection, view.handed("handed")
        )
    except ZeroDivisionError:
        raise NoInertiaError(
            f"link '{view.name}': a coordinate of it moves no inertia, so its acceleration is not determined; "
            "give the link, its payload or its motor some"
        ) from None
    return {"handed": handed, "factors": factors}


def _accelerate(view: LinkView) -> dict[str, Any]:
    out, acceleration = accelerate(view.kind, view.connection, view.store["factors"], view.parent_acceleration)
    return {"result": out, "acceleration": acceleration}


def _inertial(view: LinkView) -> dict[str, Any]:
    connection = _connect(view)["connection"]
    wrench, acceleration = inertial(
        view.kind, view.bent, view.q, view.v, view.inputs["a"], connection, view.parent_acceleration
    )
    return {"connection": connection, "wrench": wrench, "acceleration": acceleration}


def _collect(view: LinkView) -> dict[str, Any]:
    out, reaction = collect(
        view.kind,
        view.link,
        view.q,
        view.v,
        view.inputs["a"],
        view.connection,
        view.store["wrench"],
        view.handed("reaction"),
    )
    if "drag" in view.inputs:
        out = add(out, view.inputs["drag"])
    return {"result": out, "reaction": reaction}


def _move_out(view: LinkView) -> dict[str, Any]:
    return {"result": flat_motion(view.store["motion"])}


def _carry(view: LinkView) -> dict[str, Any]:
    """The acceleration of a link whose coordinates have the accelerations a."""
    a = view.inputs["a"]
    a_v, a_w = carried_acceleration(view.connection, *view.parent_acceleration)
    linear, angular = joint_acceleration(view.kind, view.connection, a)
    return {"acceleration": Acceleration(add(a_v, linear), add(a_w, angular), elastic(view.kind, a))}


def _carry_out(view: LinkView) -> dict[str, Any]:
    m, a = view.store["motion"], view.store["acceleration"]
    return {"result": [*flat_motion(m), *view.connection.w, *a.a_v, *a.a_w]}


def _joint_wrench(view: LinkView) -> dict[str, Any]:
    """What the joint transmits, force and moment on the link at its origin, and how that moves, all in own axes."""
    c, reaction, a = view.connection, view.store["reaction"], view.store["acceleration"]
    moment = reaction.moment
    if not all(is_zero(x) for x in c.s):
        moment = subtract(moment, cross(c.s, reaction.force))
    return {"result": [*c.rotation.back(reaction.force), *c.rotation.back(moment), *c.w, *a.a_v, *a.a_w]}


def _gather(view: LinkView) -> dict[str, Any]:
    values = _collect(view)
    return {"reaction": values["reaction"]}


def _move(view: LinkView) -> dict[str, Any]:
    up: Motion = base_motion() if view.parent is None else view.parent.store["motion"]
    return {"motion": move(view.kind, view.link, view.q, view.v, view.seat_motion, up)}


def _energies(view: LinkView) -> dict[str, Any]:
    e = energies(view.kind, view.bent, view.q, view.v, view.store["motion"], view.gravity)
    return {"result": [e.kinetic, e.elastic, e.gravity, *e.linear, *e.angular]}


FOLLOW = _stations("follow", _bend)
"""What frames need of bodies that have stations; for others it is empty, and costs nothing."""
BEND = _stations("bend", _bend, _load)
"""What inertia needs of them too."""
CONNECT = Pass("connect", "outward", _connect, reads=("connection", "bent"))
MOVE = Pass("move", "outward", _move, reads=("motion", "bent"))
FORWARD = Algorithm(
    "forward",
    ("q", "v", "f"),
    (
        BEND,
        CONNECT,
        Pass("articulate", "inward", _articulate, reads=("handed", "connection"), own=("connection", "bent", "sums")),
        Pass("accelerate", "outward", _accelerate, reads=("acceleration",), own=("connection", "factors")),
    ),
    "result",
)
INVERSE = Algorithm(
    "inverse",
    ("q", "v", "a"),
    (
        BEND,
        Pass("inertial", "outward", _inertial, reads=("connection", "acceleration", "bent"), own=("bent", "sums")),
        Pass("collect", "inward", _collect, reads=("reaction", "connection"), own=("connection", "wrench")),
    ),
    "result",
)
ENERGY = Algorithm(
    "energy",
    ("q", "v"),
    (
        BEND,
        MOVE,
        Pass("energies", "outward", _energies, own=("motion", "bent", "sums")),
    ),
    "result",
)


MOTION = Algorithm(
    "motion",
    ("q", "v"),
    (
        FOLLOW,
        MOVE,
        Pass("output", "outward", _move_out, own=("motion",)),
    ),
    "result",
)
FRAMES = Algorithm(
    "frames",
    INVERSE.inputs,
    (
        FOLLOW,
        CONNECT,
        Pass("carry", "outward", _carry, reads=("acceleration",), own=("connection",)),
        MOVE,
    ),
    "motion",
)
"""Motion and acceleration of every link for given q, v and a; gravity is an acceleration of the base."""
ACCELERATION = Algorithm(
    "acceleration",
    INVERSE.inputs,
    (*FRAMES.passes, Pass("output", "outward", _carry_out, own=("connection", "motion", "acceleration"))),
    "result",
)
REACTION = Algorithm(
    "reaction",
    ("q", "v", "a"),
    (
        *INVERSE.passes[:2],
        Pass("gather", "inward", _gather, reads=("reaction", "connection"), own=("connection", "wrench")),
        Pass("output", "outward", _joint_wrench, own=("connection", "reaction", "acceleration")),
    ),
    "result",
)
HANDED = 15
"""Results of REACTION for a link: force and moment of its joint, rate of turning, accelerations; gravity is an
acceleration of the base."""


def views(
    tree: Tree,
    inputs: Mapping[str, Sequence[Any]],
    constants: Sequence[LinkConstants] | None = None,
    gravity: Vector | None = None,
) -> list[LinkView]:
    """A view of every link on given inputs; constants and gravity may be replaced (traced, complex, changed)."""
    constants = [link.constants for link in tree.links] if constants is None else constants
    gravity = tree.gravity.tolist() if gravity is None else gravity
    out: list[LinkView] = []
    for link, values in zip(tree.links, constants, strict=True):
        own = {name: list(x[link.start : link.start + link.kind.coordinates]) for name, x in inputs.items()}
        if values.drag and "v" in inputs:
            own["drag"] = times(values.drag, list(inputs["v"]))
        parent = out[link.parent] if link.parent >= 0 else None
        view = LinkView(link.name, link.kind, values, own, gravity, parent)
        if parent is not None:
            parent.children.append(view)
        out.append(view)
    return out


def run(
    algorithm: Algorithm,
    tree: Tree,
    inputs: Mapping[str, Sequence[Any]],
    constants: Sequence[LinkConstants] | None = None,
    gravity: Vector | None = None,
) -> list[LinkView]:
    """Run all passes over the tree on whatever scalars the inputs hold; the stores hold the results."""
    everything = views(tree, inputs, constants, gravity)
    for each in algorithm.passes:
        for view in everything if each.direction == "outward" else reversed(everything):
            view.store.update(each.step(view))
    return everything


def result(algorithm: Algorithm, everything: Sequence[LinkView]) -> Vector:
    """The results of all links, in coordinate order."""
    return [x for view in everything for x in view.store[algorithm.output]]
