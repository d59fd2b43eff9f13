"""The largest stress in each link, where and when: in sections of beams, and at the nodes of links of any shape.

Beams tell the largest axial stress of their sections, see ``along``. Links with stress data tell von Mises stresses at
their nodes: sigma = modes q_e + loads f with the inertia of the link as its own frame accelerates it, and the wrenches
of all that hangs on its frames. Nodes next to rigid or clamped faces are left out unless they are asked for: there the
stress of a finer mesh is always larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.along import along_beam, moving_links, stress_known
from pliant.analysis.link_loads import LinkLoads
from pliant.bodies.modal_body import hat
from pliant.bodies.stress_data import INERTIA_LOADS, StressData, principal
from pliant.bodies.words import BodyWords, words_of
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.analysis.equilibrium import Equilibrium
    from pliant.analysis.statics import Loads
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

TOGETHER = 4_000_000
"""Numbers of stress that are found at once: more of them leave the processor's cache."""
# equivalent stress is the length of these five combinations of xx, yy, zz, xy, yz, zx
_DEVIATOR = np.zeros((5, 6))
_DEVIATOR[0, :3] = 1.0, -0.5, -0.5
_DEVIATOR[1, 1:3] = np.sqrt(0.75), -np.sqrt(0.75)
_DEVIATOR[(2, 3, 4), (3, 4, 5)] = np.sqrt(3.0)


class StressPeak(NamedTuple):
    """The largest stress in a link over some states.

    value        von Mises stress at a node, or axial stress of a beam's section, Pa
    state        number of the state in which it occurs
    place        in the link's own frame, undeformed, m (3,)
    principal    principal stresses there, largest first, Pa (3,); None for a beam
    strength     yield strength there, Pa; None where it is not known
    """

    value: float
    state: int
    place: Floats
    principal: Floats | None
    strength: float | None

    @property
    def utilisation(self) -> float | None:
        """Stress over yield strength; None where that is not known."""
        return None if self.strength is None else self.value / self.strength


@dataclass(frozen=True)
class NodeStresses:
    """Stresses at the nodes of a link in some states, from its elastic coordinates and what acts on it.

    q_e    elastic coordinates       (states, n)
    loads  as StressData has them    (states, 12 + 6 F)
    """

    data: StressData
    q_e: Floats
    loads: Floats

    def tensor(self, state: int) -> Floats:
        """Stresses xx, yy, zz, xy, yz, zx at all nodes in one state (N, 6), Pa."""
        return self.data.at(self.q_e[state], self.loads[state])

    def principal(self, state: int) -> Floats:
        """Principal stresses at all nodes in one state (N, 3), largest first, Pa."""
        return principal(self.tensor(state))

    def von_mises(self, state: int | None = None) -> Floats:
        """Equivalent stresses (states, N), or in one state (N,), Pa."""
        chosen = slice(None) if state is None else slice(state, state + 1 or None)
        found = np.concatenate([np.sqrt(squares) for _, squares in self._squares(chosen)])
        return found if state is None else found[0]

    def largest(self, *, near_rigid: bool = False) -> tuple[Floats, NDArray[np.int64]]:
        """Largest equivalent stress of each state, Pa (states,), and its node; nodes next to rigid faces on request."""
        values, nodes = np.zeros(len(self.q_e)), np.zeros(len(self.q_e), dtype=np.int64)
        hidden = self.data.near_rigid
        for rows, squares in self._squares(slice(None)):
            if not near_rigid and not hidden.all():
                squares[:, hidden] = -1.0
            at = squares.argmax(axis=1)
            nodes[rows], values[rows] = at, np.sqrt(np.maximum(squares[np.arange(len(at)), at], 0.0))
        return values, nodes

    def _squares(self, chosen: slice) -> Iterator[tuple[slice, Floats]]:
        """Squares of equivalent stresses (some states, N), some states at a time."""
        x = np.concatenate([self.q_e, self.loads], axis=1)[chosen]
        N = len(self.data.points)
        both = np.concatenate([self.data.modes, self.data.loads], axis=2)
        A = np.ascontiguousarray(np.moveaxis(_DEVIATOR @ both, 1, 0).reshape(5 * N, -1).T)
        rows = max(TOGETHER // (5 * N), 1)
        for start in range(0, len(x), rows):
            part = (x[start : start + rows] @ A).reshape(-1, 5, N)
            yield slice(start, start + len(part)), np.einsum("kdn,kdn->kn", part, part)


def nodal_stress(link: str, data: StressData, acting: LinkLoads) -> NodeStresses:
    """The stresses of a link at its nodes in the states in which so much acts on it."""
    states = len(acting.q_e)
    f = np.zeros((states, INERTIA_LOADS + 6 * len(data.frames)))
    f[:, :3] = -acting.lift
    field = hat(acting.alpha) + hat(acting.w) @ hat(acting.w)
    # column 3 + 3a + b: along b with the place along a
    f[:, 3:INERTIA_LOADS] = -np.swapaxes(field, 1, 2).reshape(states, 9)
    for each in acting.hung:
        if each.frame == "root":
            continue
        if each.frame not in data.frames:
            raise ModelError(
                f"link '{link}': something hangs on its frame '{each.frame}', but its stress data know loads on "
                f"{', '.join(data.frames) or 'no frame'} only; make them again with this frame"
            )
        own = INERTIA_LOADS + 6 * data.frames.index(each.frame)
        f[:, own : own + 3] += each.force
        f[:, own + 3 : own + 6] += each.moment
    return NodeStresses(data, acting.q_e, f)


def has_stress(arm: Dynamics, link: str) -> bool:
    """Whether stresses of a link are known: those of a beam's sections, or at nodes."""
    own = arm.robot.link(link)
    return own.is_flexible and (stress_known(arm, link) or words_of(own, arm.robot).stress_data is not None)


class LinkStresses(NamedTuple):
    """The largest stress of a link in each of some states.

    values    Pa (states,): von Mises at nodes, axial of a beam's sections
    places    in the link's own frame, undeformed, m (states, 3)
    strength  yield strength there, Pa (states,); None where it is not known
    nodes     numbers of the nodes (states,); None for a beam
    left_out  nodes next to rigid faces that do not count
    """

    values: Floats
    places: Floats
    strength: Floats | None
    nodes: NDArray[np.int64] | None
    left_out: int


def stresses_of(arm: Dynamics, link: str, acting: LinkLoads, *, near_rigid: bool = False) -> LinkStresses:
    """The largest stress of a link in the states in which so much acts on it."""
    words = words_of(arm.robot.link(link), arm.robot)
    if (data := words.stress_data) is not None:
        values, nodes = nodal_stress(link, data, acting).largest(near_rigid=near_rigid)
        strength = np.full(len(values), data.yield_strength) if data.yield_strength else None
        out = 0 if near_rigid or data.near_rigid.all() else int(np.count_nonzero(data.near_rigid))
        return LinkStresses(values, data.points[nodes], strength, nodes, out)
    found = along_beam(words, acting)
    if found.stress is None:
        raise ModelError(
            f"link '{link}': its stress is not known; a beam needs a section and a material, others stress data"
        )
    share = found.stress if found.strength is None else found.stress / found.strength
    at = share.argmax(axis=1)
    rows, places = np.arange(len(at)), np.zeros((len(at), 3))
    places[:, 0] = found.x[at]
    strength = None if found.strength is None else found.strength[at]
    return LinkStresses(found.stress[rows, at], places, strength, None, 0)


def stress_peak(
    arm: Dynamics,
    link: str,
    q: States | Equilibrium,
    *,
    v: States | None = None,
    a: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
    near_rigid: bool = False,
) -> StressPeak:
    """The largest stress in a link, at an equilibrium, at one configuration or over a batch.

    link        name of a link with stress data, or of a beam with sections and material
    q           an equilibrium, with its loads; or coordinates, or some of them by name
    v, a        rates and accelerations; default zero
    loads       frame -> force (3,) N, or force and moment (6,) N, N m, along the axes of the base
    followers   the same along the axes of the frame
    near_rigid  whether nodes next to rigid or clamped faces count, where stress is singular
    """
    if link not in arm.robot.link_names or not has_stress(arm, link):
        known = [each.name for each in arm.robot.links if has_stress(arm, each.name)]
        raise ModelError(
            f"robot '{arm.robot.name}' has no link '{link}' whose stress is known; known: {', '.join(known) or 'none'}"
        )
    acting = moving_links(arm, q, v=v, a=a, loads=loads, followers=followers)[link]
    return peak_of(arm, link, acting, stresses_of(arm, link, acting, near_rigid=near_rigid))


def peak_of(arm: Dynamics, link: str, acting: LinkLoads, found: LinkStresses) -> StressPeak:
    """The largest of the stresses of a link, with its principal values where it has nodes."""
    k = int(found.values.argmax())
    turned = None
    data = words_of(arm.robot.link(link), arm.robot).stress_data
    if found.nodes is not None and data is not None:
        turned = nodal_stress(link, data, acting).principal(k)[found.nodes[k]]
    strength = None if found.strength is None else float(found.strength[k])
    return StressPeak(float(found.values[k]), k, found.places[k], turned, strength)


def yields(words: BodyWords) -> bool:
    """Whether the yield strength of a link is known wherever its stress is."""
    if (data := words.stress_data) is not None:
        return bool(data.yield_strength)
    pieces = words.pieces()
    return bool(pieces) and all(part.strength is not None for part in pieces)
