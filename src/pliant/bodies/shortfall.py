"""Whether the model of a beam is fine enough: its shapes beside its static deflection, its stations beside many more.

A beam whose description names its modes bends as they allow. Few shapes, or smooth ones on a beam whose section steps,
are too stiff: the link sags too little, and nothing in the result shows it. Here the work that loads across a link do
is compared with that on beam elements which are fine enough to count as exact: its own weight and what it carries in
the reference pose, once along y and once along z. Shapes can only be too stiff, so the difference has one sign.

An exact beam is followed from station to station. Positions are sums over the tangents there, and in space a turn
between two of them is Magnus' series cut after order 4: both errors grow with the turn along the beam. The number of
stations is part of the structure, and cannot follow a state; so the state is looked at, beside the same rod with many
more stations, and a warning names the number that would do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.auto_counts import comparison, family_matrices
from pliant.bodies.build import beam_in, rod_of, shape_sets
from pliant.bodies.carried import mounted
from pliant.bodies.elements import element_set
from pliant.bodies.families import FAMILIES, ShapeSet
from pliant.bodies.profile import beam_profile
from pliant.bodies.rod import Rod, bare_terms
from pliant.model.description.beams import MOST_STATIONS
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.bodies.modal_body import ModalBody
    from pliant.model.description.beams import Beam
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

ALLOWED = 0.03
"""Part of a static deflection that may be missing: a single mode of a bare beam misses 0.029 with a load at its tip."""
ROOT = 1e-9
"""Slope at the root, over the largest one, of shapes that are clamped."""
PLACES = 9
"""Where slopes are looked at."""
AXES = {1: "y", 2: "z"}


class Shortfall(NamedTuple):
    """What is missing of the deflection of a link.

    link  its name
    axis  y or z: the direction of the load
    part  of the true deflection that the shapes do not have
    """

    link: str
    axis: str
    part: float


@once_per_element
def shortfalls(robot: Robot) -> tuple[Shortfall, ...]:
    """Links whose shapes miss more of their static deflection than is allowed, with the worse direction of each."""
    return tuple(_shortfalls(robot))


def _shortfalls(robot: Robot) -> Iterator[Shortfall]:
    for link in robot.links:
        # lumped nodes have the stiffness of elements; a curved axis has no y and z of its own
        if link.beam is None or link.beam.is_curved or link.beam.lumped is not None or not link.is_flexible:
            continue
        if link.name in _held_by_others(robot):
            continue
        beam, sets = beam_in(link, robot), [s for s in shape_sets(link, robot) if not FAMILIES[s.family].shears]
        if sets and all(_is_clamped(each, link.length) for each in sets):
            found = [Shortfall(link.name, name, _missing(link, beam, robot, sets, k)) for k, name in AXES.items()]
            worst = max(found, key=lambda each: each.part)
            if worst.part > ALLOWED:
                yield worst


def _held_by_others(robot: Robot) -> set[str]:
    """Links from which loads do not go down to the base as through locked joints.

    A passive joint on a link, or further out, passes no moment about its axes on, and loops take a part of all forces.
    """
    out: set[str] = set()
    for link in reversed(robot.links):
        parent, _ = robot.parent_of(link.name)
        if link.name in out or (link.joint.coordinates and not link.joint.actuated and link.joint.mimic is None):
            out.add(parent)
    for loop in robot.loops:
        for frame in loop.frames:
            name, _ = robot.resolve_frame(frame)
            while name in robot.link_names:
                out.add(name)
                name, _ = robot.parent_of(name)
    return out


def _is_clamped(shapes: ShapeSet, length: float) -> bool:
    """Pinned shapes deflect together with their joint, and say little by themselves."""
    if not FAMILIES[shapes.family].bends:
        return True
    slopes = np.abs(shapes.sample(np.linspace(0.0, length, PLACES)).rotation)
    return bool(slopes[:, 0].max() <= ROOT * slopes.max())


def _missing(link: Link, beam: Beam, robot: Robot, sets: list[ShapeSet], axis: int) -> float:
    profile, load = beam_profile(beam), mounted(link, robot)
    fine = [element_set(each.family, profile, comparison(profile)) for each in sets]
    now, true = (
        sum(family_matrices(link, beam, each, profile, [load]).yields(load, axis) for each in those)
        for those in (sets, fine)
    )
    return 1 - now / true if true > 0 else 0.0


# ---- rod limits


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
