"""The tip of a robot from a URDF file: the tool frame where one is named so, else the deepest moving leaf."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

# words by which tool frames are called, the clearest first
TOOL_WORDS = (("tcp",), ("tool0", "tool"), ("ee", "eef", "effector", "endeffector"))
_BREAK = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")


class CarryingJoint(Protocol):
    """A joint, as far as the depth of its child asks."""

    @property
    def parent(self) -> str: ...
    @property
    def moves(self) -> bool: ...


def choose_tip(links: list[str], inboard: Mapping[str, CarryingJoint]) -> str:
    """The link that is called tip, of links from the root outwards."""
    depth: dict[str, tuple[int, int]] = {}
    for link in links:
        joint = inboard.get(link)
        moving, steps = depth[joint.parent] if joint is not None else (0, 0)
        depth[link] = (moving + (joint is not None and joint.moves), steps + 1)
    # a frame that never moves is no tool
    tools = [link for link in links if _tool_rank(link) is not None and depth[link][0]]
    if tools:
        return max(tools, key=lambda link: (depth[link][0], -(_tool_rank(link) or 0), depth[link][1]))
    return max(links, key=lambda link: depth[link])


def _tool_rank(name: str) -> int | None:
    parts = {part.lower() for part in _BREAK.split(name)}
    return next((rank for rank, names in enumerate(TOOL_WORDS) if parts & set(names)), None)
