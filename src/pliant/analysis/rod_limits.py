"""Whether the stations of an exact beam are enough where it bends far: the same rod with many more beside it.

An exact beam is followed from station to station. Positions are sums over the tangents there, and in space a turn
between two of them is Magnus' series cut after order 4: both errors grow with the turn along the beam. The number of
stations is part of the structure, and cannot follow a state; so the state is looked at, and the number is told that
would do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.build import rod_of
from pliant.bodies.rod import Rod
from pliant.bodies.rod_build import bare_terms
from pliant.model.description.beams import MOST_STATIONS

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.mechanism import Member
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]

COARSE = 0.01
"""Error of the tip, of the length, or of a frequency of the clamped link, from which it is told."""
ENOUGH = 0.001
"""The same with the number of stations that is told."""
SMALL_TURN = 0.5
"""Turn along a beam (rad) up to which any number of stations does."""


def station_limits(arm: Dynamics, q: Floats, whens: list[str]) -> Iterator[str]:
    """Exact beams whose stations are too few at that of some states (states, n) where they bend most."""
    for member in arm.mechanism.members:
        rod = member.body.large
        if not isinstance(rod, Rod):
            continue
        turns = turns_along(rod, q[:, member.elastic])
        k = int(np.argmax(turns))
        if turns[k] > SMALL_TURN:
            yield from _words(arm.robot, member, rod, q[k, member.elastic], float(turns[k]), whens[k])


def turns_along(rod: Rod, q_e: Floats) -> Floats:
    """How far sections turn from the root to the tip, there and back, rad (states,)."""
    steps = np.concatenate([rod.moments[:, 0], rod.frames["tip"].moments[None, 0]])
    between = np.einsum("jak,sk->sja", steps, q_e)
    return np.asarray(np.linalg.norm(between, axis=2).sum(axis=1))


def _words(robot: Robot, member: Member, rod: Rod, q_e: Floats, turn: float, when: str) -> Iterator[str]:
    segments = max(len(robot.link(member.name).beam.parts()), 1)  # type: ignore[union-attr]
    own = -(-len(rod.x) // segments)
    most = min(2 * own + 4, MOST_STATIONS)
    known = _outcome(rod_of(robot, member.name, most), member.body.K_ee, q_e)
    error = _difference(_outcome(rod, member.body.K_ee, q_e), known, robot.link(member.name).length)
    if error < COARSE:
        return
    for enough in range(own + 1, most + 1):
        found = _outcome(rod_of(robot, member.name, enough), member.body.K_ee, q_e)
        if _difference(found, known, robot.link(member.name).length) < ENOUGH:
            break
    yield (
        f"link '{member.name}' bends so far that its sections turn by {turn:.3g} rad along it{when}; followed at {own} "
        f"stations{'' if segments == 1 else ' per segment'} its shape and its frequencies are {100 * error:.2g} % off: "
        f"write stations: {enough}"
    )


def _outcome(rod: Rod, K: Floats, q_e: Floats) -> tuple[Floats, Floats]:
    """Where the tip is (3,), and frequencies about the bent shape with a clamped root (n,)."""
    from scipy.linalg import eigh

    blocks, _ = bare_terms(rod).inertia(q_e.tolist(), [0.0] * len(q_e), [0.0] * 3)
    M: Floats = np.array(blocks.M_e, dtype=float)
    # the inverse problem: the mass of a direction may vanish, its stiffness does not
    return rod.place("tip", q_e)[0], 1.0 / np.sqrt(np.abs(eigh(M, K, eigvals_only=True))[::-1])


def _difference(found: tuple[Floats, Floats], known: tuple[Floats, Floats], length: float) -> float:
    return max(
        float(np.linalg.norm(found[0] - known[0])) / length, float(np.abs(found[1] / known[1] - 1.0).max(initial=0.0))
    )
