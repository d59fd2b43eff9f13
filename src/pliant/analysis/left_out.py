"""Families of shapes that a beam does not have and that would change what comes out.

A beam whose description names its modes or elements bends as it says, and no other way: without torsion an arm with a
bent elbow sags too little, and no number of further modes tells. Here a robot is compared with its richer twin, whose
beams have every family that their constants allow: how far its tip sags, and its lowest frequencies. What is found is
told with both figures. Beams that are rigid by description stay so.

Shapes of a family that is there may be too few, or too smooth for a stepped beam: links whose static deflection they
miss by some per cent are told as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.modes import ModeSet, vibration_modes
from pliant.bodies.auto_counts import yielding_families
from pliant.bodies.build import beam_in, build_body
from pliant.bodies.shortfall import shortfalls
from pliant.dynamics import Dynamics
from pliant.model.description.beams import NEEDED, OF_ITSELF, Beam
from pliant.model.description.discretisation import Family
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.analysis.statics import Loads
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]
Missing = tuple[str, str]
"""Name of a link, and a family that its beam does not have."""

MOVES = 0.01
"""Change of the sag or of a frequency, relative, from which a family that is left out is told."""
LEAST_SAG = 1e-3
"""Sag over reach below which a change of it is counted against this one: no arm is as stiff as rounding."""
ROUNDING = 1e-9
"""Sag over that of the richer twin below which there is none."""
WATCHED = 3
"""How many of the lowest frequencies are compared."""
NEW = 0.5
"""Part of the energy of a vibration below which those of the robot do not have it."""
MOST_COORDINATES = 120
"""Robots whose richer twin has more coordinates are not compared unasked."""
MODES_ADDED = {"bend_y": 3, "bend_z": 3, "torsion": 1, "axial": 1}
"""Modes of the families that a richer twin adds; of beams of elements as many as elements."""
ADVISED = {"bend_y": 2, "bend_z": 2, "torsion": 1, "axial": 1}
WORDS = {"bend_y": "bending in y", "bend_z": "bending in z", "torsion": "torsion", "axial": "elongation"}


@dataclass(frozen=True)
class _Behaviour:
    """How a robot rests and vibrates: displacement of its tip by bending (3,), m, and its modes."""

    sag: Floats
    modes: ModeSet


def missing_families(robot: Robot, *, all_of_them: bool = False) -> list[Missing]:
    """Families of flexible beams that have no coordinates although what the robot does to the beams asks for them.

    all_of_them  also those that only loads of a user would excite
    """
    yields, out = yielding_families(robot), []
    for link in robot.links:
        if link.name in yields and link.beam is not None:
            beam = beam_in(link, robot)
            has = {name.partition(".")[0] for name in build_body(link, robot).names}
            known = [name for name in OF_ITSELF if all_of_them and beam.knows(NEEDED[name])]
            out += [(link.name, family) for family in known or yields[link.name] if family not in has]
    return out


def with_families(robot: Robot, added: Iterable[Missing]) -> Robot:
    """The robot with some families added to the beams of some links."""
    by_link: dict[str, list[str]] = {}
    for name, family in added:
        by_link.setdefault(name, []).append(family)
    beams = {name: _with(beam_in(robot.link(name), robot), families) for name, families in by_link.items()}
    links = (link.model_copy(update={"beam": beams[link.name]}) if link.name in beams else link for link in robot.links)
    return robot.model_copy(update={"links": tuple(links)})


def _with(beam: Beam, families: list[str]) -> Beam:
    """Of a robot that was checked; nothing else changes."""
    method: Any = beam.elements or beam.lumped
    if method is not None:
        key = "elements" if beam.elements is not None else "lumped"
        return beam.model_copy(update={key: method.model_copy(update=dict.fromkeys(families, True))})
    assert beam.modes is not None
    new = {name: Family(count=MODES_ADDED[name], shape="legendre") for name in families}
    return beam.model_copy(update={"modes": beam.modes.model_copy(update=new)})


def left_out(
    robot: Robot,
    joints: Mapping[str, float] | None = None,
    *,
    locked: bool = True,
    loads: Loads | None = None,
    followers: Loads | None = None,
) -> list[str]:
    """What is left out of the beams of a robot and would change its sag or its lowest frequencies, in words.

    joints     values of the configuration; default: the reference pose
    locked     True: the drives hold the joints
    loads      frame -> force (3,) N, or force and moment (6,), along the axes of the base
    followers  the same along the axes of the frame
    """
    missing = missing_families(robot, all_of_them=bool(loads or followers))
    if not missing:
        return []
    twin = with_families(robot, missing)
    if sum(build_body(link, twin).size for link in twin.links) > MOST_COORDINATES:
        return []
    try:
        now, richer = (
            _behaviour(Dynamics(of, compile="never"), joints or {}, locked, loads, followers) for of in (robot, twin)
        )
    except ValueError:
        # a robot without a state of rest is told of by those who look for one
        return []
    changes = [*_changed_sag(robot, now, richer), *_changed_modes(now, richer), *_new_modes(now, richer)]
    if not changes:
        return []
    return [_words(robot, _taking_part(missing, richer) or missing, changes)]


def too_stiff(robot: Robot) -> list[str]:
    """Links whose shapes miss a part of their static deflection, in words."""
    if sum(build_body(link, robot).size for link in robot.links) > MOST_COORDINATES:
        return []
    return [
        f"the shapes of '{link}' are too stiff: under loads along its {axis} axis, its weight and what it carries, "
        f"it bends {100 * part:.2g} % too little; {_finer(robot.link(link))}"
        for link, axis, part in shortfalls(robot)
    ]


def _finer(link: Link) -> str:
    """What makes shapes of a beam bend as far as they should."""
    beam = link.beam
    assert beam is not None
    if beam.elements is not None:
        return "take more elements"
    if beam.bending == "exact":
        return "take more modes, or one link for each segment" if len(beam.parts()) > 1 else "take more modes"
    return "leave out modes: and shapes that do are chosen, or write elements: or more modes"


@once_per_element
def left_out_of(robot: Robot) -> tuple[str, ...]:
    """The same in the reference pose: told once for all states of a robot, since it takes a second robot to find it."""
    return tuple(left_out(robot))


def _behaviour(
    arm: Dynamics, joints: Mapping[str, float], locked: bool, loads: Loads | None, followers: Loads | None
) -> _Behaviour:
    q = arm.reference_pose()
    for name, value in joints.items():
        q[arm.names.index(name)] = value
    rest = settle(arm, q, loads=loads, followers=followers).q
    straight = rest.copy()
    for member in arm.mechanism.members:
        straight[member.elastic] = 0.0
    sag = arm.pose("tip", rest).position - arm.pose("tip", straight).position
    return _Behaviour(sag, vibration_modes(arm, rest, locked=locked, loads=loads, followers=followers))


def _changed_sag(robot: Robot, now: _Behaviour, richer: _Behaviour) -> Iterator[str]:
    size, other = float(np.linalg.norm(now.sag)), float(np.linalg.norm(richer.sag))
    reach = sum(link.length for link in robot.links)
    if np.linalg.norm(richer.sag - now.sag) > MOVES * max(size, other, LEAST_SAG * reach):
        # what rounding leaves of nothing is nothing
        size = size if size > ROUNDING * other else 0.0
        yield f"bending moves the tip by {1e3 * other:.3g} mm instead of {1e3 * size:.3g} mm"


def _changed_modes(now: _Behaviour, richer: _Behaviour) -> Iterator[str]:
    """The first of the lowest vibrations that the richer robot has at another frequency."""
    common = _common(now, richer)
    for k in _lowest(now.modes):
        # families that nothing couples with a vibration bring others of their own, and leave it as it is
        hertz, twin = float(now.modes.hertz[k]), float(richer.modes.hertz[int(np.argmax(common[k]))])
        if abs(twin / hertz - 1) > MOVES:
            yield f"mode {k + 1} is at {twin:.3g} Hz instead of {hertz:.3g} Hz"
            return


def _new_modes(now: _Behaviour, richer: _Behaviour) -> Iterator[str]:
    """The first vibration among the lowest that the robot does not have at all and that a drive would excite."""
    arm, known = richer.modes.arm, _common(now, richer).sum(axis=0)
    M, drives = arm.mass_matrix(richer.modes.q), [arm.names.index(name) for name in arm.inputs]
    top = max((float(now.modes.hertz[k]) for k in _lowest(now.modes)), default=np.inf)
    for k in _lowest(richer.modes):
        hertz, moved = float(richer.modes.hertz[k]), M[drives] @ richer.modes.shapes[:, k]
        shares = np.abs(moved) ** 2 / M.diagonal()[drives]
        if known[k] < NEW and hertz <= top and shares.max(initial=0.0) > MOVES:
            yield f"joint '{arm.inputs[int(np.argmax(shares))]}' excites a mode at {hertz:.3g} Hz"
            return


def _lowest(modes: ModeSet) -> list[int]:
    return [k for k in range(len(modes)) if modes.squares[k] > 0][:WATCHED]


def _common(now: _Behaviour, richer: _Behaviour) -> Floats:
    """Part of the kinetic energy that each mode of the robot has in common with each of the richer one."""
    arm = richer.modes.arm
    shared = [arm.names.index(name) for name in now.modes.names]
    # all are of unit modal mass
    seen = arm.mass_matrix(richer.modes.q)[shared] @ richer.modes.shapes
    return np.abs(now.modes.shapes.conj().T @ seen) ** 2


def _taking_part(missing: list[Missing], richer: _Behaviour) -> list[Missing]:
    """Of what is missing that which holds a part of the strain energy at rest, or in one of the lowest modes."""
    arm, states = richer.modes.arm, [richer.modes.q, *(richer.modes.shapes[:, k] for k in _lowest(richer.modes))]
    K = np.abs(arm.mechanism.stiffness).diagonal()
    bent = [k for k, name in enumerate(arm.names) if name.count(".") > 1]
    out = []
    for link, family in missing:
        own = [k for k in bent if arm.names[k].startswith(f"{link}.{family}.")]
        energies = [(K * np.abs(state) ** 2) for state in states]
        if any(each[own].sum() > MOVES * each[bent].sum() > 0 for each in energies):
            out.append((link, family))
    return out


def _words(robot: Robot, missing: list[Missing], changes: list[str]) -> str:
    links: dict[str, list[str]] = {}
    for name, family in missing:
        links.setdefault(family, []).append(f"'{name}'")
    what = " and ".join(f"{WORDS[family]} of {', '.join(names)}" for family, names in links.items())
    remedies = dict.fromkeys(_remedy(robot.link(name), family) for name, family in missing)
    is_, it = ("is", "it") if len(missing) == 1 else ("are", "them")
    return f"{what} {is_} left out: with {it} {', '.join(changes)}; {', '.join(remedies)}"


def _remedy(link: Link, family: str) -> str:
    beam = link.beam
    assert beam is not None
    if beam.elements is not None or beam.lumped is not None:
        return f"add {family}: true"
    return f"write modes: with {family}: {ADVISED[family]}" if beam.is_left_open else f"add {family}: {ADVISED[family]}"
