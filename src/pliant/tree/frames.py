"""Frames: where all links are, how each moves by the coordinates next to it, and what follows on the way to the base.

The columns of a link are its velocities per unit rate of its parent's elastic coordinates and of its own joint. Those
of a frame follow by walking from it to the base: the velocity of a link's point carries over to the frame by the arm r
between them, v + w x r, and r grows by one arm per link, so nothing large is ever subtracted. Poses, velocities,
Jacobians and the pull of a wrench are quick for plain states, as steps of compiled calls, or found any way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Pass, PassAlgorithm, views
from pliant.bodies.constants import GROUND
from pliant.engine.call.steps import CallStep, StepLibrary
from pliant.engine.compile.flow import Flow
from pliant.engine.compile.llvm_ir import number
from pliant.model.once import quick_property
from pliant.spatial.vectors import (
    ZERO3,
    Matrix,
    Vector,
    add,
    column,
    cross,
    identity3,
    product,
    times,
    transpose_times,
    zeros,
)
from pliant.states import Pose, States, Twist
from pliant.tree.function import Function, declined
from pliant.tree.kinematics import CONNECT, FOLLOW, MOVE, Motion
from pliant.tree.link import LinkConstants, joint_motion, orient, own_offset, pass_down, project, seat_axes
from pliant.tree.lowering import lower_with_frames
from pliant.tree.tree import TreeView

if TYPE_CHECKING:
    from pliant.engine.call.calls import BuiltIn, Operand, QuickCall
    from pliant.mechanism import Mechanism
    from pliant.tree.tree import Tree

ROTATION, POSITION, ARM, COLUMNS = 0, 9, 12, 15
"""Where a link's results begin: rotation and position in the base, the arm from its parent, its columns."""
COLUMN = 6
"""Velocity of the link's origin and angular velocity, base axes."""


class LinkPlace(NamedTuple):
    """Pose of a link in the base."""

    R: Matrix
    p: Vector


def _place(view: TreeView) -> dict[str, Any]:
    up: LinkPlace = LinkPlace(identity3(), list(ZERO3)) if view.parent is None else view.parent.store["place"]
    kind, link, q = view.kind, view.link, view.q
    parent = view.parent
    bends = 0 if parent is None else parent.kind.size
    body = GROUND if parent is None else parent.bent.body
    frame = body.frame(link.seat.section, [] if parent is None else parent.kind.elastic(parent.q), [0.0] * bends)
    joint = joint_motion(kind, link, q, [0.0] * len(q))
    s = own_offset(link.seat, joint.place, frame.R)
    R = product(up.R, orient(link.seat, joint.place, frame.R).to_matrix())
    columns: list[tuple[Vector, Vector]] = []
    J_w = zeros(3, bends) if frame.spin is None else frame.spin.J_w
    for e in range(bends):
        spin = column(J_w, e)
        columns.append((times(up.R, add(column(frame.J_v, e), cross(spin, s))), times(up.R, spin)))
    columns += kind.joint.rates(joint.state, product(up.R, seat_axes(link.seat, frame.R)), R, link.joint)
    arm = times(up.R, add(frame.r, s))
    place = LinkPlace(R, add(up.p, arm))
    return {"place": place, "arm": arm, "columns": columns}


def _placed(view: TreeView) -> dict[str, Any]:
    place: LinkPlace = view.store["place"]
    flat = [x for row in place.R for x in row] + place.p + view.store["arm"]
    return {"result": flat + [x for v, w in view.store["columns"] for x in (*v, *w)]}


PLACE = Pass("place", "outward", _place, reads=("place", "bent"))
PLACES = PassAlgorithm(
    "places",
    ("q",),
    (FOLLOW, PLACE, Pass("placed", "outward", _placed, own=("place", "arm", "columns"))),
    "result",
)
"""For every link: rotation, position, arm, columns."""


class WayLink(NamedTuple):
    """A link on the way from a frame to the base: where its results begin, and the coordinates of its columns."""

    start: int
    coordinates: tuple[int, ...]


class WayToBase:
    """The way from a frame to the base.

    start  where the results of the frame begin
    steps  the frame itself first
    """

    def __init__(self, tree: Tree, starts: list[int], link: int) -> None:
        self.start, self.size = starts[link], tree.size
        self.steps: list[WayLink] = []
        while link >= 0:
            self.steps.append(WayLink(starts[link], column_coordinates(tree, link)))
            link = tree.links[link].parent

    def position(self, flat: Floats) -> Floats:
        """Position (..., 3) of the frame, from the results of all links."""
        return flat[..., self.start + POSITION : self.start + ARM]

    def pose(self, flat: Floats) -> tuple[Floats, Floats]:
        """Position (..., 3) and rotation (..., 3, 3) of the frame, from the results of all links."""
        own = flat[..., self.start : self.start + ARM]
        return own[..., POSITION:].copy(), own[..., :POSITION].reshape(*own.shape[:-1], 3, 3).copy()

    def jacobian(self, flat: Floats) -> Floats:
        """J (..., 6, n) of the frame, from the results of all links."""
        J = np.zeros((*flat.shape[:-1], 6, self.size))
        for coordinate, v, w, r in self._walk(flat):
            J[..., :3, coordinate] = v + np.cross(w, r)
            J[..., 3:, coordinate] = w
        return J

    def _walk(self, flat: Floats) -> Iterator[tuple[int, Floats, Floats, Floats]]:
        r = np.zeros((*flat.shape[:-1], 3))
        for start, coordinates in self.steps:
            for k, coordinate in enumerate(coordinates):
                own = start + COLUMNS + COLUMN * k
                yield coordinate, flat[..., own : own + 3], flat[..., own + 3 : own + 6], r
            r = r + flat[..., start + ARM : start + COLUMNS]


def column_coordinates(tree: Tree, link: int) -> tuple[int, ...]:
    """The coordinates of a link's columns: its parent's elastic ones and those of its own joint."""
    own = tree.links[link]
    joint = range(own.start, own.elastic.start)
    if own.parent < 0:
        return tuple(joint)
    bends = tree.links[own.parent].elastic
    return (*range(bends.start, bends.stop), *joint)


def paths(tree: Tree) -> Callable[[int], WayToBase]:
    """The ways from the links of a tree to the base."""
    starts = running(COLUMNS + COLUMN * len(column_coordinates(tree, link)) for link in range(len(tree.links)))
    return lambda link: WayToBase(tree, starts, link)


def running(sizes: Iterable[int]) -> list[int]:
    """Where parts of some sizes begin."""
    return [0, *accumulate(sizes)]


class FrameLink(NamedTuple):
    """A tree with a massless link at every frame, and which of these it is."""

    tree: Tree
    link: int


def frame_link(mechanism: Mechanism, frame: str) -> FrameLink:
    """Where a frame is: LINK.FRAME, LINK (its tip) or tip."""
    tree = lower_with_frames(mechanism)
    member, name = mechanism.frame(frame)
    first = len(tree.links) - len(tree.frames)
    return FrameLink(tree, first + list(tree.frames).index(f"{mechanism.members[member].name}.{name}"))


def frame_forces(
    place: FrameLink,
    q: Vector,
    force: Vector,
    moment: Vector,
    constants: Sequence[LinkConstants] | None = None,
    *,
    follows: bool = False,
) -> Vector:
    """On all coordinates (n,), of a force and a moment on a frame, along base axes or (follows) its own."""
    tree, tip = place
    links = views(tree, {"q": q, "v": [0.0] * tree.size}, constants, [0.0] * 3)
    carriers = [tip]
    while tree.links[carriers[-1]].parent >= 0:
        carriers.append(tree.links[carriers[-1]].parent)
    for each in (FOLLOW, CONNECT, MOVE):
        for i in reversed(carriers):
            links[i].store.update(each.step(links[i]))
    motion: Motion = links[tip].store["motion"]
    still: Vector = [0.0] * links[tip].kind.size
    own = force, moment, still
    if not follows:
        own = transpose_times(motion.R, force), transpose_times(motion.R, moment), still
    out: Vector = [0.0] * tree.size
    for i in carriers:
        view, start = links[i], tree.links[i].start
        part = project(view.kind, view.link, view.connection, *own)
        out[start : start + len(part)] = part
        if view.parent is not None:
            own = pass_down(view.connection, view.parent.kind.size, *own[:2])
    return out


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
    """Frames by the names under which they are asked for, each made at its first time.

    tree    with its frames as links
    path    the ways from the links of the tree to the base
    places  of all links
    """

    def __init__(self, mechanism: Mechanism, tree: Tree, path: Callable[[int], WayToBase], places: Function) -> None:
        super().__init__()
        self.mechanism, self.path, self.places = mechanism, path, places
        # LINK.FRAME -> its link in the tree
        self._links = {name: len(tree.links) - len(tree.frames) + k for k, name in enumerate(tree.frames)}

    def __missing__(self, name: str) -> FrameCalls:
        made = self[name] = FrameCalls(self.places, self.path(self.link(name)))
        return made

    def link(self, name: str) -> int:
        """The link of the tree that a frame is."""
        member, frame = self.mechanism.frame(name)
        return self._links[f"{self.mechanism.members[member].name}.{frame}"]


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
