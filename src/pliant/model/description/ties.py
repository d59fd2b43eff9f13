"""Joints that follow other joints: every tied coordinate by the free one that leads it.

A joint may follow one that follows a third. Here each tie is written by the coordinate at the end of that chain,
``q = ratio q_leader + offset``, so that all tied coordinates go at once: with the free ones u,
``q = T u + q_0``, ``v = T du/dt``, and ``T^T M T`` is the inertia that the free ones feel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pliant.model.description.joints import Mimic
from pliant.model.element import Array


class Tie(NamedTuple):
    """``q = ratio q_leader + offset`` (SI units of the two joints); the leader is a free coordinate."""

    leader: str
    ratio: float
    offset: float


def resolve_ties(mimics: Mapping[str, Mimic]) -> dict[str, Tie]:
    """The tie of every joint that follows another, by the leader at the end of its chain."""
    ties: dict[str, Tie] = {}
    for name, mimic in mimics.items():
        leader, ratio, offset = mimic.joint, mimic.ratio, mimic.offset
        # chains are short and known to end
        while leader in mimics:
            inner = mimics[leader]
            offset += ratio * inner.offset
            ratio *= inner.ratio
            leader = inner.joint
        ties[name] = Tie(leader, ratio, offset)
    return ties


def tie_matrix(names: Sequence[str], ties: Mapping[str, Tie]) -> tuple[Array, Array]:
    """T (n, free) and q_0 (n,) with ``q = T u + q_0`` for coordinates in the order of `names`."""
    free = [name for name in names if name not in ties]
    place = {name: k for k, name in enumerate(free)}
    T, q_0 = np.zeros((len(names), len(free))), np.zeros(len(names))
    for i, name in enumerate(names):
        tie = ties.get(name)
        T[i, place[tie.leader if tie else name]] = tie.ratio if tie else 1.0
        q_0[i] = tie.offset if tie else 0.0
    return T, q_0
