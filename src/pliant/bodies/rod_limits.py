"""Whether the stations of an exact beam are enough where it bends far: the same rod with many more beside it.

An exact beam is followed from station to station. Positions are sums over the tangents there, and in space a turn
between two of them is Magnus' series cut after order 4: both errors grow with the turn along the beam. The number of
stations is part of the structure, and cannot follow a state; so the state is looked at, and a warning names the number
that would do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.build import rod_of
from pliant.bodies.rod import Rod, bare_terms
from pliant.model.description.beams import MOST_STATIONS

if TYPE_CHECKING:
    from pliant.bodies.modal_body import ModalBody
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]

COARSE = 0.01
"""Error of the tip, of the length, or of a frequency of the clamped link, from which there is a warning."""
ENOUGH = 0.001
"""Error with the number of stations that is advised."""


def turns_along(rod: Rod, q_e: Floats) -> Floats:
    """How far sections turn from the root to the tip, there and back, rad (states,)."""
    steps = np.concatenate([rod.moments[:, 0], rod.frames["tip"].moments[None, 0]])
    between = np.einsum("jak,sk->sja", steps, q_e)
    return np.asarray(np.linalg.norm(between, axis=2).sum(axis=1))


def station_words(robot: Robot, link: Link, body: ModalBody, q_e: Floats, turn: float, when: str) -> Iterator[str]:
    """What to say about the stations of an exact beam in a state in which its sections turn by so much along it."""
    rod = body.large
    assert isinstance(rod, Rod)
    assert link.beam is not None
    segments = max(len(link.beam.parts()), 1)
    own = -(-len(rod.x) // segments)
    most = min(2 * own + 4, MOST_STATIONS)
    known = _outcome(rod_of(robot, link.name, most), body.K_ee, q_e)
    error = _difference(_outcome(rod, body.K_ee, q_e), known, link.length)
    if error < COARSE:
        return
    for enough in range(own + 1, most + 1):
        found = _outcome(rod_of(robot, link.name, enough), body.K_ee, q_e)
        if _difference(found, known, link.length) < ENOUGH:
            break
    yield (
        f"link '{link.name}' bends so far that its sections turn by {turn:.3g} rad along it{when}; followed at {own} "
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
