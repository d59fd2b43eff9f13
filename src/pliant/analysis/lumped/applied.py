"""Forces from outside: wrenches on frames and efforts on joints, along a nominal motion.

A wrench keeps its direction in the base. Its generalised force on the displacements is that of undisplaced directions,
as everything in the equations of the nodes; where internal forces stiffen, it is one of the forces that cause them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.analysis.lumped.displacements import RootMap, frame_map
from pliant.analysis.lumped.mesh import FramePlace
from pliant.analysis.lumped.node_equations import Floats
from pliant.analysis.lumped.nominal_motion import LinkMotion, cross
from pliant.mechanism import BASE

if TYPE_CHECKING:
    from pliant.analysis.lumped.lumped_model import LumpedModel


@dataclass(frozen=True, eq=False, slots=True)
class AppliedLoads:
    """What acts from outside at some instants.

    wrenches  link and place of a frame, and force and moment (times, 6) on it, base axes
    efforts   joint coordinate, by its place -> effort along it (times,), N m or N
    """

    wrenches: tuple[tuple[tuple[int, FramePlace], Floats], ...] = ()
    efforts: Mapping[int, Floats] = field(default_factory=dict)

    def at(self, t: int) -> AppliedLoads:
        """Those of one instant."""
        wrenches = tuple((end, w[t : t + 1]) for end, w in self.wrenches)
        return AppliedLoads(wrenches, {k: x[t : t + 1] for k, x in self.efforts.items()})


NO_LOADS = AppliedLoads()

Loading = Callable[[Floats], AppliedLoads]
"""What acts at times (k,)."""


class PlacedWrench(NamedTuple):
    """A wrench (times, 6) on a frame in the axes of its link, at the node that holds it, and its lever (3,)."""

    link: int
    place: FramePlace
    wrench: Floats
    lever: Floats


def placed(model: LumpedModel, links: list[LinkMotion], loads: AppliedLoads) -> Iterator[PlacedWrench]:
    """The wrenches on links; one on the base moves nothing."""
    for (link, place), wrench in loads.wrenches:
        if link != BASE:
            R = links[link].R
            own = np.hstack([np.einsum("tji,tj->ti", R, wrench[:, k : k + 3]) for k in (0, 3)])
            lever = place.p - model.meshes[link].bodies.x[place.node]
            own[:, 3:] += cross(lever[None], own[:, :3])
            yield PlacedWrench(link, place, own, lever)


def generalised(model: LumpedModel, links: list[LinkMotion], roots: list[RootMap], loads: AppliedLoads) -> Floats:
    """Forces of the loads on the displacements y of the open tree (times, y)."""
    out = np.zeros((len(links[0].p), model.numbering.size))
    for end, wrench in loads.wrenches:
        columns, U = frame_map(model.skeleton, model.numbering, roots, links, end)
        out[:, columns] += np.einsum("tij,ti->tj", U[0], wrench)
    for seat, passive in zip(model.skeleton.seats, model.numbering.joint, strict=True):
        if passive is not None and seat.coordinate is not None:
            out[:, passive] += loads.efforts.get(seat.coordinate, 0.0)
    return out
