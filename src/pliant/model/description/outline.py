"""The skeleton of a robot: who carries whom, and whether all names fit together.

It is taken from the raw data, valid or not, so that wrong names are reported together with wrong values.
What cannot be read is left out of the checks; the classes themselves report it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from pydantic_core import InitErrorDetails

from pliant.errors import did_you_mean
from pliant.joints import KINDS
from pliant.model.description.joints import CROSS, RACK, coordinates_of
from pliant.model.description.materials import MATERIALS, unknown_material_hint
from pliant.model.element import Element, Path, at, of_value, peek
from pliant.model.once import once_per_element

BASE = "base"
MOST_LINKS = 2000


@dataclass(frozen=True, slots=True)
class LinkOutline:
    """What the checks of names need of one link."""

    name: str | None
    joint: str | None
    type: str
    parent: str | None
    frames: frozenset[str]
    materials: tuple[tuple[Path, str], ...]
    follows: str | None
    by_gear: bool

    @classmethod
    def of(cls, link: Any) -> Self:
        name, joint = _text(peek(link, "name")), peek(link, "joint")
        frames = {"root", "tip"}
        frames.update(filter(None, (_text(peek(frame, "name")) for frame in _items(peek(link, "frames")))))
        for own in (peek(peek(link, key), "frames") for key in ("modal", "fe", "cad")):
            if isinstance(own, dict):
                frames.update(key for key in own if isinstance(key, str))
        return cls(
            name=name,
            joint=_text(peek(joint, "name")) or name,
            type=_text(peek(joint, "type")) or "revolute",
            parent=_text(peek(joint, "parent")),
            frames=frozenset(frames),
            materials=tuple(_material_names(peek(link, "beam"))),
            follows=_text(peek(peek(joint, "mimic"), "joint")),
            by_gear=peek(peek(joint, "mimic"), "gear") is not None,
        )


@once_per_element
def _own_outline(link: Element) -> LinkOutline:
    """Outline of a link which another robot may have as well."""
    return LinkOutline.of(link)


@dataclass(frozen=True)
class Outline:
    """The links by their place in the list, the frames of the loops, and the names of the pose."""

    links: tuple[LinkOutline, ...]
    loops: tuple[tuple[str | None, tuple[str | None, ...]], ...]
    pose: tuple[str, ...]
    modes: tuple[tuple[str, str], ...]
    tip: str | None
    materials: tuple[str, ...]
    aliases: dict[str, str]

    @classmethod
    def of(cls, robot: Any) -> Self:
        loops = _items(peek(robot, "loops"))[:MOST_LINKS]
        pose, own, aliases = peek(robot, "pose"), peek(robot, "materials"), peek(robot, "aliases")
        return cls(
            links=tuple(
                _own_outline(link) if isinstance(link, Element) else LinkOutline.of(link)
                for link in _items(peek(robot, "links"))[:MOST_LINKS]
            ),
            loops=tuple(
                (_text(peek(loop, "name")), tuple(_end(frame) for frame in _items(peek(loop, "frames"))))
                for loop in loops
            ),
            pose=tuple(str(key) for key in pose) if isinstance(pose, dict) else (),
            modes=_names_of_modes(peek(robot, "assembly")),
            tip=_text(peek(robot, "tip")),
            materials=(*MATERIALS, *(str(key) for key in own)) if isinstance(own, dict) else tuple(MATERIALS),
            aliases={str(k): str(v) for k, v in aliases.items()} if isinstance(aliases, dict) else {},
        )

    @property
    def lengths(self) -> frozenset[str]:
        """The joint coordinates that are lengths."""
        known = ((link.joint, KINDS[link.type]) for link in self.links if link.joint is not None and link.type in KINDS)
        return frozenset(
            f"{joint}{each.suffix}" for joint, kind in known for each in kind.coordinates if each.unit == "m"
        )

    @property
    def coordinates(self) -> list[str]:
        """The names of the joint coordinates."""
        names: list[str] = []
        for link in self.links:
            if link.joint is not None:
                names.extend(coordinates_of(link.joint, link.type))
        return names

    @cached_property
    def _index(self) -> dict[str, int]:
        """The place of the first link of each name."""
        places: dict[str, int] = {}
        for i, link in enumerate(self.links):
            if link.name is not None and link.name != BASE:
                places.setdefault(link.name, i)
        return places

    def parent(self, i: int) -> tuple[str, str]:
        """The link and the frame that carry a link; the previous link's tip when nothing is said."""
        reference = self.links[i].parent
        if reference is None:
            return (self.links[i - 1].name or "", "tip") if i else (BASE, "root")
        reference = self.aliases.get(reference, reference)
        name, _, frame = reference.partition(".")
        return name, frame or ("root" if name == BASE else "tip")

    def tree_order(self) -> list[int]:
        """The links with parents before their children, otherwise in the written order."""
        children: dict[str, list[int]] = {}
        for i in range(len(self.links)):
            children.setdefault(self.parent(i)[0], []).append(i)
        # the first link that can be placed comes next, as in the written order
        ready = children.get(BASE, []).copy()
        order = []
        while ready:
            i = heapq.heappop(ready)
            order.append(i)
            for child in children.get(str(self.links[i].name), ()):
                heapq.heappush(ready, child)
        return order

    # ------------------------------------------------------------ the checks

    def problems(self) -> Iterator[InitErrorDetails]:
        """All names that do not fit together."""
        yield from self._duplicates()
        yield from self._parents()
        yield from self._cycles()
        yield from self._loops()
        yield from self._ties()
        yield from self._pose()
        yield from self._tip()
        yield from self._materials()
        yield from self._aliases()

    def _aliases(self) -> Iterator[InitErrorDetails]:
        if not self.links:
            return
        for name, reference in self.aliases.items():
            if reference in self.aliases:
                yield of_value("aliases", name, message=f"is '{reference}', another alias; name the frame itself")
            elif name == BASE:
                yield at("aliases", name, message="'base' means the fixed base already")
            elif (problem := self._unknown_frame(reference)) is not None:
                yield of_value("aliases", name, message=problem)

    def _duplicates(self) -> Iterator[InitErrorDetails]:
        links: dict[str, int] = {}
        joints: dict[str, int] = {}
        for i, link in enumerate(self.links):
            if link.name is not None and links.setdefault(link.name, i) != i:
                yield of_value(
                    "links",
                    i,
                    "name",
                    message=f"is '{link.name}', as of links[{links[link.name]}]; names must differ",
                )
            elif link.joint is not None and joints.setdefault(link.joint, i) != i:
                other = joints[link.joint]
                message = f"is '{link.joint}', as of the joint of links[{other}]; names must differ"
                yield of_value("links", i, "joint", "name", message=message)
        loops: dict[str, int] = {}
        for i, (name, _) in enumerate(self.loops):
            if name is not None and loops.setdefault(name, i) != i:
                yield of_value(
                    "loops", i, "name", message=f"is '{name}', as of loops[{loops[name]}]; names must differ"
                )

    def _unknown_frame(self, reference: str) -> str | None:
        """What is wrong with ``LINK.FRAME``, ``LINK``, ``base`` or an alias."""
        if reference in self.aliases:
            return None  # what it stands for is checked by itself
        name, dot, frame = reference.partition(".")
        if name == BASE:
            return None if frame in ("", "root") else f"is '{reference}'; the base has no frame '{frame}'"
        index = self._index.get(name)
        if index is None:
            names = [link.name for link in self.links if link.name is not None]
            hint = did_you_mean(name, [*names, BASE]) or f"; links: {', '.join(names[:20])}"
            return f"is '{reference}'; there is no link '{name}'{hint}"
        frames = self.links[index].frames
        if dot and frame not in frames:
            hint = did_you_mean(frame, sorted(frames)) or f"; its frames: {', '.join(sorted(frames))}"
            return f"is '{reference}'; link '{name}' has no frame '{frame}'{hint}"
        return None

    def _parents(self) -> Iterator[InitErrorDetails]:
        for i, link in enumerate(self.links):
            if link.parent is None:
                if i and link.type in KINDS and KINDS[link.type].symbol.floats:
                    message = "a free joint has no previous link; write its parent, for example parent: base"
                    yield at("links", i, "joint", "type", message=message)
                continue
            if (problem := self._unknown_frame(link.parent)) is not None:
                yield of_value("links", i, "joint", "parent", message=problem)

    def _cycles(self) -> Iterator[InitErrorDetails]:
        """Chains of parents that come back to themselves, each reported once."""
        done: set[int] = set()
        for start in range(len(self.links)):
            chain: dict[int, None] = {}
            i: int | None = start
            while i is not None and i not in done and i not in chain:
                chain[i] = None
                i = self._index.get(self.parent(i)[0])
            if i is not None and i in chain:
                places = list(chain)
                cycle = [*places[places.index(i) :], i]
                names = " -> ".join(str(self.links[k].name) for k in cycle)
                message = (
                    f"the parents go in a circle ({names}); one link must start from the base, "
                    "and a closed chain is described under `loops:`"
                )
                yield at("links", i, "joint", message=message)
            done.update(chain)

    def _loops(self) -> Iterator[InitErrorDetails]:
        if not self.links:
            return
        for i, (_, frames) in enumerate(self.loops):
            good = []
            for k, reference in enumerate(frames[:2]):
                if reference is None:
                    continue
                problem = self._unknown_frame(reference)
                if problem is not None:
                    yield of_value("loops", i, "frames", k, message=problem)
                else:
                    good.append(self.aliases.get(reference, reference).partition(".")[0])
            if len(good) == 2 and good[0] == good[1]:
                yield at("loops", i, "frames", message=f"both frames belong to '{good[0]}'; a loop joins two links")

    def _ties(self) -> Iterator[InitErrorDetails]:
        """Joints that follow what is not there, does not move by one coordinate, or follows them in turn."""
        leaders = {link.joint: link.follows for link in self.links if link.joint is not None and link.follows}
        types = {link.joint: link.type for link in self.links if link.joint is not None}
        # the two turns of a universal joint are joints of their own
        types |= {
            turn: "revolute" for name, kind in types.items() if kind == CROSS for turn in coordinates_of(name, kind)
        }
        for i, link in enumerate(self.links):
            if link.follows is None:
                continue
            place, leader = ("links", i, "joint", "mimic", "joint"), link.follows
            if leader not in types:
                hint = did_you_mean(leader, types) or f"; joints: {', '.join(list(types)[:20])}"
                yield of_value(*place, message=f"is '{leader}'; there is no joint of that name{hint}")
            elif types[leader] not in KINDS or not KINDS[types[leader]].is_driven():
                turns = f": {' or '.join(coordinates_of(leader, CROSS))}" if types[leader] == CROSS else ""
                message = f"is '{leader}', a {types[leader]} joint; one that turns or slides can be followed{turns}"
                yield of_value(*place, message=message)
            elif link.by_gear and KINDS[types[leader]].slides():
                yield of_value(*place, message=f"is '{leader}', a {types[leader]} joint, which has no wheel; {RACK}")
            else:
                chain = [str(link.joint)]
                while (after := leaders.get(chain[-1])) is not None and after not in chain:
                    chain.append(after)
                # a circle is told once for every joint on it
                if after == chain[0]:
                    yield of_value(*place, message=f"goes in a circle ({' -> '.join([*chain, chain[0]])})")

    def _pose(self) -> Iterator[InitErrorDetails]:
        if not self.links:
            return
        known = self.coordinates
        follows = {link.joint: link.follows for link in self.links if link.follows}
        places = [("pose", name) for name in self.pose]
        for *place, name in (*places, *(("assembly", "modes", mode, name) for mode, name in self.modes)):
            if name in follows:
                yield at(*place, name, message=f"joint '{name}' follows '{follows[name]}'; give that one")
            elif name not in known:
                hint = did_you_mean(name, known) or f"; joints: {', '.join(known[:20])}"
                yield at(*place, name, message=f"there is no joint coordinate '{name}'{hint}")

    def _tip(self) -> Iterator[InitErrorDetails]:
        if self.tip is None or not self.links:
            return
        if self.aliases.get(self.tip, self.tip).partition(".")[0] == BASE:
            yield of_value("tip", message=f"is '{self.tip}'; it must be a frame of a link")
        elif (problem := self._unknown_frame(self.tip)) is not None:
            yield of_value("tip", message=problem)

    def _materials(self) -> Iterator[InitErrorDetails]:
        for i, link in enumerate(self.links):
            for place, name in link.materials:
                if name not in self.materials:
                    message = f"material '{name}' is not known{unknown_material_hint(name, self.materials)}"
                    yield at("links", i, *place, message=message)


def _material_names(beam: Any) -> Iterator[tuple[Path, str]]:
    """The names of materials in a beam, each with its place in the link."""
    if (name := _text(peek(beam, "material"))) is not None:
        yield ("beam", "material"), name
    for i, segment in enumerate(_items(peek(beam, "segments"))):
        if (name := _text(peek(segment, "material"))) is not None:
            yield ("beam", "segments", i, "material"), name


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _end(value: Any) -> str | None:
    """The frame at an end of a loop, also of a place beside it."""
    return _text(value) if isinstance(value, str) else _text(peek(value, "frame"))


def _items(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()


def _names_of_modes(assembly: Any) -> tuple[tuple[str, str], ...]:
    """Assembly modes, each with the names of its joints."""
    modes = peek(assembly, "modes")
    given = modes.items() if isinstance(modes, dict) else ()
    return tuple((str(mode), str(name)) for mode, pose in given if isinstance(pose, dict) for name in pose)
